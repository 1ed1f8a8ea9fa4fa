"""Standard output for JSON alone: what else is written there, also by compiled libraries, goes to standard error."""

import io
import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, TextIO

__all__ = ["json_only", "print_json"]

_OUTPUT, _ERRORS = 1, 2
"""The file descriptors of standard output and standard error."""

_kept: list[TextIO] = []
"""Where JSON is written while standard output is set aside; the last counts."""


@contextmanager
def json_only() -> Iterator[None]:
    """Send what is written to standard output to standard error, but for :func:`print_json`.

    Both ``sys.stdout`` and file descriptor 1 are redirected, the latter for libraries written in C, other threads and
    processes that are started meanwhile.
    """
    shown = sys.stdout
    if shown is None:  # closed by the caller, as with >&-
        yield
        return
    shown.flush()
    is_process_output = _descriptor(shown) == _OUTPUT
    saved = _redirected() if is_process_output or _is_open(_OUTPUT) else None
    own = shown
    if is_process_output and saved is not None:
        own = io.TextIOWrapper(
            os.fdopen(os.dup(saved), "wb"), encoding=shown.encoding, errors=shown.errors, write_through=True
        )
    _kept.append(own)
    sys.stdout = sys.stderr if sys.stderr is not None else io.StringIO()
    try:
        yield
        own.flush()
    finally:
        _kept.pop()
        sys.stdout = shown
        if saved is not None:
            os.dup2(saved, _OUTPUT)
            os.close(saved)
        if own is not shown:
            with suppress(OSError):
                own.close()


def print_json(value: Any) -> None:
    """Print a value as JSON, with escapes where the output cannot show a character."""
    out = _kept[-1] if _kept else sys.stdout
    if out is None:  # closed by the caller, as with >&-
        return
    is_utf8 = (out.encoding or "utf-8").lower().replace("-", "") == "utf8"
    out.write(json.dumps(value, ensure_ascii=not is_utf8, allow_nan=False) + "\n")
    out.flush()  # a server prints where it listens, and goes on


def _redirected() -> int:
    """Redirect file descriptor 1 to standard error, or to nowhere if that is closed; return a copy of what it was."""
    saved = os.dup(_OUTPUT)
    if _is_open(_ERRORS):
        os.dup2(_ERRORS, _OUTPUT)
        return saved
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, _OUTPUT)
    os.close(nowhere)
    return saved


def _descriptor(stream: TextIO) -> int | None:
    try:
        return stream.fileno()
    except (OSError, AttributeError, ValueError):  # a stream in memory
        return None


def _is_open(descriptor: int) -> bool:
    try:
        os.fstat(descriptor)
    except OSError:
        return False
    return True
