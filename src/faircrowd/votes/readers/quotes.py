"""Quotes of CSV and TSV that are not closed: such a quote would take the rows after it for one value.

Arrow opens a quote at the start of a value only; two quotes inside stand for one, and what follows the closing quote
belongs to the value. A file that ends inside a quote is refused. So is one in which a quoted value has line breaks and
goes on after its closing quote, as happens where a quote is left open and the next one that opens closes it; and one in
which every line that a quoted value takes part of would be a row of its own: it has as many columns as the header, and
its first one is made of the same kinds of characters as that of the row.
"""

import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from threading import Event
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from faircrowd._kernels import inner_kernel, kernel
from faircrowd.errors import FileError
from faircrowd.votes.readers.reader import Source
from faircrowd.votes.readers.shared import BLOCK_BYTES

__all__ = ["check_quotes", "watched_quotes"]

_QUOTE = b'"'
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_FIRST_LINE = re.compile(rb"[\r\n]*[^\r\n]+[\r\n]")
_RETURN = 13

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
    columns : int
        Of the header; 0 before its end.
    outside, inside : int
        Delimiters of the line so far: those between values, and those inside a quote that is open.
    has_long : bool
        Whether the row has a value with line breaks.
    are_rows : bool
        Whether each line of such a row, but for the last, would be a row of its own.
    first, first_of_line : int
        Kinds of characters of the first value of the row, and of what would be the first value of a line in quotes.
    swallowed_line : int
        Where a row ends of which each line would be a row of its own; 0 if there is none.
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
    columns: int = 0
    outside: int = 0
    inside: int = 0
    has_long: bool = False
    are_rows: bool = True
    first: int = 0
    first_of_line: int = 0
    swallowed_line: int = 0

    @property
    def is_found(self) -> bool:
        """Whether a quote was closed where it should not be, and the scan has stopped."""
        return self.broken_line > 0 or self.swallowed_line > 0

    @property
    def is_broken(self) -> bool:
        """Whether a quote is open, was closed inside a value, or holds rows."""
        return self.state == _QUOTED or self.is_found

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
        # Without a quote, all that matters is the header, a row with a quote before, and the row that the text ends in.
        scan, start = self, 0
        if self.has_long or not self.columns:
            line = _FIRST_LINE.match(text)
            start = line.end() if line else len(text)
            scan = scan.after(text[:start], delimiter)
        if scan.is_found:
            return scan
        last = max(text.rfind(b"\n"), text.rfind(b"\r")) + 1
        if last > start:
            scan, start = _Scan(columns=scan.columns, after_return=text[last - 1] == _RETURN), last
        return scan.after(text[start:], delimiter)


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
    if found.swallowed_line:
        lines = found.swallowed_line - found.opened_line
        raise FileError(
            f"{source.path}: the quote that opens in {where} ends in line {found.swallowed_line:,}, and would take the "
            f"{'row' if lines == 1 else f'{lines:,} rows'} after it for a part of its value: each of these lines has "
            f"{found.columns:,} columns, as the header has. Was it left open? If so, {advice[:-1]}; if it is meant, "
            "give the table as Parquet or JSON lines."
        )
    if found.broken_line:
        raise FileError(
            f"{source.path}: the quote that opens in {where} ends in line {found.broken_line:,} inside another value; "
            f"was it left open? If so, {advice}"
        )
    raise FileError(f"{source.path} ends inside a quote: the one that opens in {where} is not closed; {advice}")


def _scanned(source: Source, delimiter: str, stop: Event | None, *, counts: bool = False) -> _Scan:
    """Return the scan at the end of a file, or where it is broken.

    Blocks without a quote cost one search; their lines and rows are not counted unless the caller asks for it. A small
    file without a quote needs no more than that search, so that nobody waits until the scan is compiled.
    """
    scan = _Scan()
    with source.open() as stream:
        text, following = stream.read(BLOCK_BYTES).removeprefix(_BYTE_ORDER_MARK), stream.read(BLOCK_BYTES)
        if not (counts or following or _QUOTE in text):
            return scan
        while text and not scan.is_found and not (stop is not None and stop.is_set()):
            scan = scan.after(text, ord(delimiter), counts=counts)
            text, following = following, stream.read(BLOCK_BYTES)
    return scan if scan.is_broken else scan.after(b"\n", ord(delimiter), counts=counts)  # the last row ends here


@inner_kernel
def _kind(character: int) -> int:
    """Return 1 for a digit, 2 for a letter or a byte that is not ASCII, and 4 for anything else."""
    if 48 <= character <= 57:
        return 1
    return 2 if 65 <= character <= 90 or 97 <= character <= 122 or character > 127 else 4


@kernel
def _follow(
    text: NDArray[np.uint8], delimiter: int, scan: _Scan
) -> tuple[int, int, int, bool, bool, bool, int, int, int, int, int, int, bool, bool, int, int, int]:
    """Return a scan after more text; it stops where a quote was closed where it should not be."""
    state, line, row, has_content, after_return, is_long, opened_line, opened_row, broken_line = scan[:9]
    columns, outside, inside, has_long, are_rows, first, first_of_line, swallowed_line = scan[9:]
    for i in range(text.size):
        character = text[i]
        if character > 44 and character != delimiter and (state == _PLAIN or state == _QUOTED):  # noqa: SIM109 - quicker
            # Most characters: no quote (34), line feed (10), carriage return (13) or delimiter, and nothing to change.
            after_return = False
            if state == _PLAIN and outside == 0 and not has_long:
                first |= _kind(character)
            elif is_long and inside == 0 and state == _QUOTED:
                first_of_line |= _kind(character)
            continue
        is_break = character == 10 or character == 13
        is_new = is_break and not (character == 10 and after_return)
        line += is_new
        after_return = character == 13
        if state == _QUOTED:
            if is_new:
                are_rows &= outside + inside + 1 == columns and (not is_long or first in (0, first_of_line))
                is_long, has_long, outside, inside, first_of_line = True, True, 0, 0, 0
            elif character == 34:
                state = _CLOSED
            elif character == delimiter:
                inside += 1
            elif is_long and inside == 0 and not is_break:
                first_of_line |= _kind(character)
            continue
        if state == _CLOSED:
            if character == 34:
                state = _QUOTED
                continue
            if is_long and not is_break and character != delimiter:
                broken_line = line
                break
            outside, inside = outside + inside if is_long else outside, 0
            is_long = False
        if is_break:
            if has_long and are_rows and columns > 1 and outside + 1 == columns and first in (0, first_of_line):
                swallowed_line = line - is_new
                break
            if has_content and columns == 0:
                columns = outside + 1
            row += has_content
            has_content, state = False, _START
            outside, inside, has_long, are_rows, first, first_of_line = 0, 0, False, True, 0, 0
            continue
        has_content = True
        if character == delimiter:
            state = _START
            outside += 1
        elif character == 34 and state == _START:
            state, is_long, opened_line, opened_row = _QUOTED, False, line, row
        else:
            state = _PLAIN
            if outside == 0 and not has_long and character != 34:
                first |= _kind(character)
    where = state, line, row, has_content, after_return, is_long, opened_line, opened_row, broken_line
    return (*where, columns, outside, inside, has_long, are_rows, first, first_of_line, swallowed_line)
