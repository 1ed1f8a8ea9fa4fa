"""A real Label Studio server in a virtual environment of its own: started, asked over HTTP, and ended."""

import json
import os
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PROJECT = Path(__file__).parent.parent.parent
SECRET = "5e1f" * 10
CONFIGURATION = (
    '<View><Text name="text" value="$text"/><Choices name="better" toName="text"><Choice value="1"/><Choice value="2"/>'
    '</Choices><Rating name="severity" toName="text"/></View>'
)


def label_studio() -> Path | None:
    """Return the program, if it is installed: ``make test-platforms`` does so; LABEL_STUDIO names another."""
    found = Path(os.environ.get("LABEL_STUDIO", PROJECT / ".venv-label-studio" / "bin" / "label-studio"))
    return found if found.exists() else None


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@dataclass
class LabelStudio:
    """A running server."""

    url: str

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        headers = {"Authorization": f"Token {SECRET}", "Content-Type": "application/json"}
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data, headers, method=method)  # noqa: S310
        try:
            with urllib.request.urlopen(request, timeout=120) as response:  # noqa: S310
                content = response.read()
        except urllib.error.HTTPError as error:
            raise AssertionError(f"{method} {path}: {error.code} {error.read()[:1000]!r}") from None
        return json.loads(content) if content else None

    def export(self, project: int, path: Path) -> Path:
        """Write the JSON export of a project, as its export page does."""
        found = self.ask("GET", f"/api/projects/{project}/export?exportType=JSON&download_all_tasks=true")
        path.write_text(json.dumps(found), encoding="utf-8")
        return path


@contextmanager
def running(program: Path, folder: Path) -> Iterator[LabelStudio]:
    """Start a server with an empty database on this machine alone, and end it."""
    port = free_port()
    settings = {
        "LABEL_STUDIO_BASE_DATA_DIR": str(folder / "data"),
        "LABEL_STUDIO_USERNAME": "owner@example.com",
        "LABEL_STUDIO_PASSWORD": "only-for-this-test",
        "LABEL_STUDIO_USER_TOKEN": SECRET,
        "LABEL_STUDIO_ENABLE_LEGACY_API_TOKEN": "true",
        "COLLECT_ANALYTICS": "false",
        "LATEST_VERSION_CHECK": "false",
        "USE_DEFAULT_BANNED_SUBNETS": "false",  # webhooks and backends on this machine
    }
    (folder / "data").mkdir(parents=True, exist_ok=True)
    command = [str(program), "start", "--no-browser", "--internal-host", "127.0.0.1", "--port", str(port)]
    unset = ("PYTHONPATH", "PYTHONHOME")
    clean = {name: value for name, value in os.environ.items() if name not in unset}
    with (folder / "server.log").open("wb") as log:
        process = subprocess.Popen(command, env={**clean, **settings}, stdout=log, stderr=log, cwd=folder)
    url = f"http://127.0.0.1:{port}"
    try:
        end = time.monotonic() + 600
        while not _is_up(url):
            text = (folder / "server.log").read_text(errors="replace")[-2000:]
            assert process.poll() is None, text
            assert time.monotonic() < end, text
            time.sleep(1)
        yield LabelStudio(url)
    finally:
        process.terminate()
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _is_up(url: str) -> bool:
    try:
        with urllib.request.urlopen(f"{url}/health", timeout=5) as response:  # noqa: S310
            return bool(response.status == 200)
    except OSError:
        return False
