"""Quotes of CSV and TSV that are not closed: such a quote would take the rows after it for one value.

Arrow opens a quote at the start of a value only; two quotes inside stand for one, and what follows the closing quote
belongs to the value. A file that ends inside a quote is refused. So is one in which a quoted value has line breaks and
goes on after its closing quote, as happens where a quote is left open and the next one that opens closes it.
"""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from threading import Event
from typing import NamedTuple

import numba
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from faircrowd.errors import FileError
from faircrowd.votes.readers.reader import Source
from faircrowd.votes.readers.shared import BLOCK_BYTES

__all__ = ["check_quotes", "watched_quotes"]

_QUOTE = b'"'
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"

_START, _PLAIN, _QUOTED, _CLOSED = range(4)
"""Where in a value the scan is: before it, inside it, inside its quotes, or after a quote that may close it."""


class _Scan(NamedTuple):
    """Where a scan is in the text.

    Attributes
    ----------
    state : int
    line, row : int
        Lines begun, and rows ended, the header among them; empty lines are not rows.
    has_content : bool
        Whether the row has any character yet.
    after_return : bool
        Whether the last character was a carriage return, so that a line feed does not begin another line.
    is_long : bool
        Whether the value in quotes has a line break.
    opened_line, opened_row : int
        Where the last quote was opened.
    broken_line : int
        Where a value with line breaks goes on after its closing quote; 0 if there is none.
    """

    state: int = _START
    line: int = 1
    row: int = 0
    has_content: bool = False
    after_return: bool = False
    is_long: bool = False
    opened_line: int = 0
    opened_row: int = 0
    broken_line: int = 0

    @property
    def is_broken(self) -> bool:
        """Whether a quote is open, or was closed inside a value."""
        return self.state == _QUOTED or self.broken_line > 0

    def after(self, text: bytes, delimiter: int, *, counts: bool = True) -> "_Scan":
        r"""Return the scan after more text.

        Examples
        --------
        >>> scan = _Scan().after(b'task,label\n1,"b\n2,c\n', ord(","))
        >>> scan.is_broken, scan.opened_row, scan.opened_line
        (True, 1, 2)
        """
        if not text:
            return self
        if counts or self.state not in (_START, _PLAIN) or _QUOTE in text:
            return _Scan(*_follow(np.frombuffer(text, dtype=np.uint8), delimiter, self))
        starts = text[-1] in b"\r\n" or text[-1] == delimiter
        return self._replace(state=_START if starts else _PLAIN)


@contextmanager
def watched_quotes(source: Source, delimiter: str) -> Iterator[None]:
    """While a text file is read, follow its quotes in another thread; raise at the end if one was left open.

    An error of the parser is raised only if all quotes are closed: one that is open explains the error better.
    """
    stop = Event()
    with ThreadPoolExecutor(1) as pool:
        checking = pool.submit(check_quotes, source, delimiter, stop)
        try:
            yield
        except pa.ArrowInvalid:
            checking.result()
            raise
        except BaseException:
            stop.set()
            raise
        checking.result()


def check_quotes(source: Source, delimiter: str, stop: Event | None = None) -> None:
    """Raise if a quote of a text file is not closed, and name the row where it opens.

    Parameters
    ----------
    source : Source
    delimiter : str
    stop : threading.Event, optional
        Ends the search when it is set.
    """
    if not _scanned(source, delimiter, stop).is_broken:
        return
    found = _scanned(source, delimiter, stop, counts=True)
    row = f"row {found.opened_row:,}" if found.opened_row else "the header"
    where = f"{row} (line {found.opened_line:,})"
    advice = "close it there, or write a quote that belongs to a value as two, inside quotes."
    if found.broken_line:
        raise FileError(
            f"{source.path}: the quote that opens in {where} ends in line {found.broken_line:,} inside another value; "
            f"was it left open? If so, {advice}"
        )
    raise FileError(f"{source.path} ends inside a quote: the one that opens in {where} is not closed; {advice}")


def _scanned(source: Source, delimiter: str, stop: Event | None, *, counts: bool = False) -> _Scan:
    """Return the scan at the end of a file, or where it is broken.

    Blocks without a quote cost one search; their lines and rows are not counted unless the caller asks for it.
    """
    scan, is_first = _Scan(), True
    with source.open() as stream:
        while (text := stream.read(BLOCK_BYTES)) and not scan.broken_line and not (stop is not None and stop.is_set()):
            if is_first:
                text, is_first = text.removeprefix(_BYTE_ORDER_MARK), False
            scan = scan.after(text, ord(delimiter), counts=counts)
    return scan


@numba.njit(cache=True, nogil=True)
def _follow(
    text: NDArray[np.uint8], delimiter: int, scan: _Scan
) -> tuple[int, int, int, bool, bool, bool, int, int, int]:
    """Return a scan after more text; it stops where a value with line breaks goes on after its closing quote."""
    state, line, row, has_content, after_return, is_long, opened_line, opened_row, broken_line = scan
    for i in range(text.size):
        character = text[i]
        if character > 44 and character != delimiter and (state == _PLAIN or state == _QUOTED):  # noqa: SIM109 - quicker
            # Most characters: no quote (34), line feed (10), carriage return (13) or delimiter, and nothing to change.
            after_return = False
            continue
        is_break = character == 10 or character == 13
        if is_break and not (character == 10 and after_return):
            line += 1
        after_return = character == 13
        if state == _QUOTED:
            is_long |= is_break
            if character == 34:
                state = _CLOSED
            continue
        if state == _CLOSED:
            if character == 34:
                state = _QUOTED
                continue
            if is_long and not is_break and character != delimiter:
                broken_line = line
                break
        if is_break:
            row += has_content
            has_content, state = False, _START
            continue
        has_content = True
        if character == delimiter:
            state = _START
        elif character == 34 and state == _START:
            state, is_long, opened_line, opened_row = _QUOTED, False, line, row
        else:
            state = _PLAIN
    return state, line, row, has_content, after_return, is_long, opened_line, opened_row, broken_line
