"""A local HTTP server that behaves as Label Studio and Argilla do, and fails where a test asks it to."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

SECRET = "0123456789abcdef0123456789abcdef"  # noqa: S105 - of a server that lives for a test
QUESTION = "11111111-1111-1111-1111-111111111111"
DATASET = "22222222-2222-2222-2222-222222222222"


@dataclass
class FakePlatform:
    """What the server has, and what it was asked.

    Attributes
    ----------
    failures : list of int or str
        How the next requests fail: a status, ``"drop"`` (the connection breaks before anything is done) or
        ``"drop after"`` (it breaks after).
    known : set of str
        The labels that are not dropped.
    """

    predictions: list[dict[str, Any]] = field(default_factory=list)
    records: dict[str, dict[str, Any]] = field(default_factory=dict)
    failures: list[int | str] = field(default_factory=list)
    fails_on: Callable[[str, str], bool] = lambda method, path: True
    known: set[str] = field(default_factory=lambda: {"1", "2"})
    asked: list[tuple[str, str]] = field(default_factory=list)
    echo: bool = False
    location: str = ""
    url: str = ""

    def answer(self, method: str, path: str, query: dict[str, list[str]], body: Any) -> tuple[int, Any]:
        if path == "/api/token/refresh":
            return (200, {"access": "access-" * 5}) if body == {"refresh": "a.b." + SECRET} else (401, {})
        if path == "/api/projects/3/":
            return 200, {"id": 3, "title": "crowd"}
        if path == "/api/predictions/":
            return 200, self.predictions
        if path.startswith("/api/predictions/") and method == "PATCH":
            number = int(path.split("/")[3])
            next(one for one in self.predictions if one["id"] == number).update(body)
            return 200, {}
        if path == "/api/projects/3/import/predictions":
            kept = [one for one in body if one["result"][0]["value"]["choices"][0] in self.known]
            self.predictions += [{"id": len(self.predictions) + n, **one} for n, one in enumerate(kept)]
            return 201, {"created": len(kept)}
        if path == f"/api/v1/datasets/{DATASET}/questions":
            return 200, {"items": [{"id": QUESTION, "name": "better"}]}
        if path == f"/api/v1/datasets/{DATASET}/records":
            start = int(query["offset"][0])
            return 200, {"items": list(self.records.values())[start : start + 2], "total": len(self.records)}
        if path == f"/api/v1/datasets/{DATASET}/records/bulk":
            for item in body["items"]:
                found = next(one for one in self.records.values() if one["id"] == item["id"])
                found["suggestions"] = item["suggestions"]
            return 200, {"items": body["items"]}
        return 404, {"detail": "no such page"}


class _Handler(BaseHTTPRequestHandler):
    platform: FakePlatform

    def _any(self) -> None:
        parts = urlsplit(self.path)
        self.platform.asked.append((self.command, parts.path))
        content = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        failure: int | str | None = None
        if self.platform.failures and self.platform.fails_on(self.command, parts.path):
            failure = self.platform.failures.pop(0)
        if failure == "drop":
            self.connection.close()
            return
        body = json.loads(content) if content else None
        allowed = f"Token {SECRET}", f"Bearer {'access-' * 5}"
        is_known = self.headers.get("Authorization") in allowed or self.headers.get("X-Argilla-Api-Key") == SECRET
        if isinstance(failure, int):
            status, value = failure, {"detail": f"failed for {self.headers.get('Authorization')}"}
        elif not is_known and parts.path != "/api/token/refresh":
            status, value = 401, {"detail": "who are you?"}
        else:
            status, value = self.platform.answer(self.command, parts.path, parse_qs(parts.query), body)
        if failure == "drop after":
            self.connection.close()
            return
        text = json.dumps(value).encode()
        self.send_response(status)
        if status == 429:
            self.send_header("Retry-After", "7")
        if status == 302:
            self.send_header("Location", self.platform.location)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    do_GET = do_POST = do_PUT = do_PATCH = _any  # noqa: N815 - names of http.server

    def log_message(self, *_: Any) -> None:
        pass


@contextmanager
def fake_platform(**state: Any) -> Iterator[FakePlatform]:
    platform = FakePlatform(**state)
    handler = type("Handler", (_Handler,), {"platform": platform})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        platform.url = f"http://127.0.0.1:{server.server_port}"
        try:
            yield platform
        finally:
            server.shutdown()
            thread.join()
