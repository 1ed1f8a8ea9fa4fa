"""A line for people who wait while kernels are compiled: once for each installation, in the first run.

numba keeps what it has compiled beside the modules, so that later runs load it. Nobody is told where nobody waits: in a
program, in a pipeline of CI, with ``--json``, or if ``FAIRCROWD_QUIET`` is set.
"""

import os
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

__all__ = ["is_ours", "listen_to_numba", "tell_of_compiling"]

_LINE = "faircrowd: compiling for this machine, which only the first run of this kind does (10 seconds or more) ..."
_PATIENCE = 1.0
"""Seconds of compiling that are not worth a line."""

_is_told: Callable[[], bool] | None = None


def tell_of_compiling(is_told: Callable[[], bool]) -> None:
    """Set who decides whether there is anybody to tell; by default, people at a prompt or a notebook are told."""
    global _is_told
    _is_told = is_told


def listen_to_numba() -> None:
    """Begin to listen; call it where numba is imported."""
    from numba.core import event

    class Listener(event.Listener):
        def on_start(self, event: Any) -> None:
            _compiling.begin(is_ours(event.data))

        def on_end(self, event: Any) -> None:
            _compiling.end(is_ours(event.data))

    if not _compiling.is_heard:
        _compiling.is_heard = True
        event.register("numba:compile", Listener())  # type: ignore[no-untyped-call]


def is_ours(data: Any) -> bool:
    """Return whether a kernel of faircrowd is compiled, not one of the user's own."""
    with suppress(Exception):
        return str(data["dispatcher"].py_func.__module__).partition(".")[0] == "faircrowd"
    return False


def _is_interactive() -> bool:
    """Return whether somebody waits at a prompt, or in a notebook."""
    return hasattr(sys, "ps1") or "ipykernel" in sys.modules


class _Compiling:
    """Adds up how long kernels take, and says so once it is worth a line.

    Examples
    --------
    >>> said, seconds = [], iter([0.0, 0.7, 1.0, 1.8, 2.0])
    >>> compiling = _Compiling(lambda: next(seconds), said.append)
    >>> for _ in range(2):
    ...     compiling.begin(True), compiling.end(True), len(said)
    (None, None, 0)
    (None, None, 0)
    >>> compiling.begin(True), len(said)
    (None, 1)
    """

    def __init__(
        self, clock: Callable[[], float] = time.monotonic, write: Callable[[str], object] | None = None
    ) -> None:
        self.is_heard = False
        self._clock, self._write = clock, write
        self._depth, self._since, self._total, self._is_done = 0, 0.0, 0.0, False

    def begin(self, ours: bool) -> None:
        """Note that a kernel is being compiled; one kernel may compile another."""
        if not ours:
            return
        if self._depth == 0:
            self._since = self._clock()
            if self._total > _PATIENCE and not self._is_done:
                self._tell()
        self._depth += 1

    def end(self, ours: bool) -> None:
        """Note that it is done."""
        if ours and self._depth:
            self._depth -= 1
            if self._depth == 0:
                self._total += self._clock() - self._since

    def _tell(self) -> None:
        self._is_done = True
        if self._write is not None:
            self._write(_LINE)
            return
        is_quiet = any(map(os.environ.get, ("CI", "FAIRCROWD_QUIET"))) or sys.stderr is None
        if not is_quiet and (_is_told or _is_interactive)():
            with suppress(OSError, ValueError):
                sys.stderr.write(f"{_LINE}\n")
                sys.stderr.flush()


_compiling = _Compiling()
