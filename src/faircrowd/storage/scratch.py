"""Folders of one process, found and removed by a later one if that process was killed."""

import os
import re
import shutil
import signal
import tempfile
import threading
import time
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

from faircrowd._checks import warn
from faircrowd.errors import LeftoverWarning

__all__ = ["HIDDEN", "Scratch", "clear_left", "remove_left", "uninterrupted"]

HIDDEN = ".faircrowd-"
"""How a folder among the user's files begins."""
_PREFIX = "faircrowd-"
_LOCK = ".lock"
_NEW = 60
"""For so many seconds after its last change, a folder without a lock may be one that is made, or removed, right now."""


class Scratch:
    """A new folder, named after this process and locked while it lives.

    Parameters
    ----------
    where : path, optional
        The folder to make it in; by default where the system has temporary files.
    prefix : str
    """

    def __init__(self, where: str | os.PathLike[str] | None = None, prefix: str = _PREFIX) -> None:
        process = os.getpid()
        try:
            with uninterrupted():
                self.path = Path(tempfile.mkdtemp(prefix=f"{prefix}{process}-{_started(process) or 0}-", dir=where))
                self._held = (self.path, _locked(self.path / _LOCK, os.O_CREAT), process)
                # A Ctrl-C that comes before someone holds this object, or removes the folder, leaves nothing either.
                self._end = weakref.finalize(self, _remove_at_end, *self._held)
        except BaseException:
            if hasattr(self, "_end"):
                self.remove()
            raise

    def remove(self, *, at_end: bool = False) -> None:
        """Remove the folder and all that is in it; at the end of an object's life nobody could take up a Ctrl-C."""
        with uninterrupted(drop=at_end):
            if self._end.detach() is not None:
                _remove(*self._held)


def remove_left(where: str | os.PathLike[str] | None = None, prefix: str = _PREFIX) -> str | None:
    """Remove the folders that killed processes of the same user left; return a line that says so, if there were any."""
    parent = Path(where or tempfile.gettempdir())
    left = [path for path in parent.glob(f"{prefix}*") if _is_left(path, prefix)]
    for path in left:
        shutil.rmtree(path, ignore_errors=True)
    if not left:
        return None
    what = "a folder that a killed run" if len(left) == 1 else f"{len(left)} folders that killed runs"
    return f"removed {what} left in {parent}"


def clear_left(where: str | os.PathLike[str] | None = None, prefix: str = _PREFIX) -> None:
    """Remove the folders that killed processes left, and warn if there were any."""
    if (line := remove_left(where, prefix)) is not None:
        warn(line, LeftoverWarning)


@contextmanager
def uninterrupted(*, drop: bool = False) -> Iterator[None]:
    """Let Ctrl-C wait until the end of the block, or drop it."""
    before = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or before is None:  # None: not Python's to take
        yield
        return
    came: list[int] = []

    def later(number: int, frame: FrameType | None) -> None:
        came.append(number)

    signal.signal(signal.SIGINT, later)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        if came and not drop:
            signal.raise_signal(signal.SIGINT)


def _remove_at_end(path: Path, lock: int | None, process: int) -> None:
    with uninterrupted(drop=True):
        _remove(path, lock, process)


def _remove(path: Path, lock: int | None, process: int) -> None:
    if os.getpid() != process:  # a fork: the folder is not its own
        return
    shutil.rmtree(path, ignore_errors=True)
    if lock is not None:
        os.close(lock)


def _is_left(path: Path, prefix: str) -> bool:
    found = re.fullmatch(rf"{re.escape(prefix)}(\d+)-(\d+)-\w+", path.name, re.ASCII)
    if found is None or not hasattr(os, "getuid"):
        return False
    try:
        facts = path.stat()
        if path.is_symlink() or not path.is_dir() or facts.st_uid != os.getuid():
            return False
    except OSError:  # another run removes it now
        return False
    if found[2] != "0" and _started(int(found[1])) == found[2]:
        return False
    # Where the process cannot be seen (another container, another system than Linux), it still holds the lock.
    lock = _locked(path / _LOCK)
    if lock is None:
        return not (path / _LOCK).exists() and time.time() - facts.st_mtime > _NEW
    os.close(lock)
    return True


def _locked(path: Path, flags: int = 0) -> int | None:
    """Lock a file until it is closed or the process ends; return its descriptor, None if another has the lock."""
    try:
        import fcntl

        descriptor = os.open(path, os.O_RDWR | flags, 0o600)
    except (ImportError, OSError):
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        return None
    return descriptor


def _started(process: int) -> str | None:
    """Return when a process started, in ticks of its system; None if there is none to be seen."""
    try:
        text = Path(f"/proc/{process}/stat").read_text(encoding="ascii", errors="replace")
    except OSError:
        return None
    return text[text.rindex(")") :].split()[20]  # field 22; the name before it may hold anything
