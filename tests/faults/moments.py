"""Run commands in separate processes in which a fault happens at a chosen moment. Not a test; used by tests here.

A moment is a call that touches the folder given on the command line: Python announces each with an audit event before
it happens. The libraries are loaded once, and each run is a fork of that process, so that many moments cost little.
Runs are read from the standard input, one per line, and answered the same way::

    {"arguments": ["aggregate", ...], "fault": "kill", "at": 7, "start": "/a/folder/to/copy"}

Faults are ``look`` (record which files exist at each moment, as a process killed then would leave), ``kill``,
``interrupt``, or the name of an error, from the moment on.
"""

import errno
import hashlib
import io
import json
import os
import resource
import shutil
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any, NoReturn

EVENTS = ("open", "os.rename", "os.mkdir", "os.rmdir", "os.remove", "os.link", "os.chown", "os.listdir")
EVENTS += ("exchange", "read")  # ours: Python does not announce what C does


def tree(place: Path) -> dict[str, str]:
    """Return every file below a folder with its hash, and every subfolder."""
    found = {}
    for path in sorted(place.rglob("*")):
        name = path.relative_to(place).as_posix()
        found[name] = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "folder"
    return found


class Moments:
    """Count the moments of a run, and cause the fault."""

    def __init__(self, place: Path, fault: str | None, at: int, near: str) -> None:
        self.place, self.fault, self.at, self.near = place, fault, at, near
        self.count, self.looking = 0, threading.local()
        self.one_at_a_time = threading.RLock()  # files are also opened in threads
        self.exchange: int | None = None
        self.moved: int | None = None
        self.states: list[dict[str, str]] = []

    def __call__(self, event: str, arguments: tuple[Any, ...]) -> None:
        if getattr(self.looking, "now", False) or event not in EVENTS or not self._is_near(event, arguments):
            return
        with self.one_at_a_time:
            self._happen(event, arguments)

    def _happen(self, event: str, arguments: tuple[Any, ...]) -> None:
        self.count += 1
        if event == "exchange":
            self.exchange = self.count
        elif event == "os.rename":
            self.moved = self.count
        if self.fault == "look":
            self.looking.now = True
            state = tree(self.place)
            if not self.states or self.states[-1] != state:
                self.states.append(state)
            self.looking.now = False
        elif self.fault in ("kill", "interrupt") and self.count == self.at:
            os.kill(os.getpid(), signal.SIGKILL if self.fault == "kill" else signal.SIGINT)
        elif self.fault in errno.errorcode.values() and self.count >= self.at and _needs_space(event, arguments):
            number = getattr(errno, self.fault)
            raise OSError(number, os.strerror(number))

    def _is_near(self, event: str, arguments: tuple[Any, ...]) -> bool:
        if event in ("os.remove", "os.rmdir") and arguments[1] != -1:  # inside a folder that is being removed
            return self.near == str(self.place)
        paths = [os.fsdecode(given) for given in arguments if isinstance(given, str | bytes)]
        return any(path.startswith(self.near) for path in paths)


def _needs_space(event: str, arguments: tuple[Any, ...]) -> bool:
    if event == "open":
        return isinstance(arguments[2], int) and bool(arguments[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT))
    return event in ("os.mkdir", "os.link")


def run(place: Path, given: dict[str, Any]) -> dict[str, Any]:
    """Fork a process that runs a command; return its exit code, its output, and the files it left."""
    if not given.get("keep"):
        for path in place.iterdir():
            shutil.rmtree(path)
        (place / "tmp").mkdir()
        if given.get("start"):
            shutil.copytree(given["start"], place / "out")
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err, tempfile.TemporaryFile() as found:
        child = os.fork()
        if child == 0:
            _child(place, given, out.fileno(), err.fileno(), found.fileno())
        status = os.waitpid(child, 0)[1]
        texts = []
        for file in (out, err, found):
            file.seek(0)
            texts.append(file.read().decode())
    counted = json.loads(texts[2] or "{}")
    return {"code": os.waitstatus_to_exitcode(status), "out": texts[0], "err": texts[1], "tree": tree(place), **counted}


def _child(place: Path, given: dict[str, Any], out: int, err: int, found: int) -> NoReturn:
    from faircrowd.cli import main
    from faircrowd.storage import publish
    from faircrowd.votes.readers import reader, shared

    os.dup2(out, 1)
    os.dup2(err, 2)
    tempfile.tempdir = str(place / "tmp")
    limit, most = resource.getrlimit(resource.RLIMIT_FSIZE)
    if "file_size" in given:
        resource.setrlimit(resource.RLIMIT_FSIZE, (given["file_size"], most))
    moments = Moments(place, given.get("fault"), given.get("at", 0), given.get("near", str(place)))
    sys.addaudithook(moments)
    publish._exchange = _announced("exchange", publish._exchange)
    shared.open_file = reader.open_file = _announced("read", shared.open_file)
    sys.argv = ["faircrowd", *given["arguments"]]
    code: Any = 99
    try:
        main()
    except SystemExit as end:
        code = end.code
    moments.looking.now = True
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, most))
    sys.stdout.flush()
    sys.stderr.flush()
    counted = {"count": moments.count, "exchange": moments.exchange, "moved": moments.moved, "states": moments.states}
    os.write(found, json.dumps(counted).encode())
    os._exit(code)


def _announced(event: str, call: Callable[..., Any]) -> Callable[..., Any]:
    def announced(*paths: Path) -> Any:
        sys.audit(event, *map(str, paths))
        return call(*paths)

    return announced


def load(warm_up: list[str]) -> None:
    """Load what commands load, once, and stop the clock, so that runs can be compared by their bytes."""
    import importlib
    import pkgutil

    time.perf_counter = lambda: 0.0
    import jinja2  # noqa: F401
    import vl_convert  # noqa: F401

    import faircrowd
    from faircrowd.cli.app import run as run_command

    for module in pkgutil.walk_packages(faircrowd.__path__, "faircrowd."):
        if "spark" not in module.name and "__main__" not in module.name:
            importlib.import_module(module.name)
    with redirect_stdout(io.StringIO()):
        code = run_command(warm_up)  # compiled kernels are loaded at their first call
    if code:
        sys.exit(code)


if __name__ == "__main__":
    load(sys.argv[2:])
    for line in sys.stdin:
        print(json.dumps(run(Path(sys.argv[1]), json.loads(line))), flush=True)  # noqa: T201
