"""JSON of any size: whole documents, lines, and the items of an array one by one."""

import codecs
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa

from faircrowd.errors import FileError
from faircrowd.votes.exports.answers import Record
from faircrowd.votes.readers.jsonl import JSONL, json_records
from faircrowd.votes.readers.reader import Source
from faircrowd.votes.readers.shared import explained, open_file

__all__ = ["document", "items", "lines"]

PIECE = 1 << 24
"""Bytes of an array that are read at once."""
_LONGEST_ITEM = 1 << 28
"""Characters of the longest item of an array."""
_BETWEEN = re.compile(r"[ \t\r\n]*")
_LARGEST_DOCUMENT = 1 << 30


def document(text: bytes, where: str) -> Any:
    """Return the value of a JSON text.

    Raises
    ------
    FileError
        If it is not JSON in UTF-8, is nested too deeply, or has a number of thousands of digits.
    """
    if len(text) > _LARGEST_DOCUMENT:
        raise FileError(
            f"{where} is one JSON value of {len(text):,} bytes, and at most {_LARGEST_DOCUMENT:,} are read."
        )
    try:
        return json.loads(text.decode("utf-8-sig"))
    except UnicodeDecodeError:
        raise FileError(f"{where} is not UTF-8 text; save it as UTF-8 (for example with iconv).") from None
    except json.JSONDecodeError as error:
        at = f"line {error.lineno}, column {error.colno}"
        raise FileError(f"{where} is not JSON: {error.msg} in {at}; was it cut? Export it again.") from None
    except (ValueError, RecursionError) as error:
        raise _too_much(where, error) from None


def lines(path: Path) -> Iterator[Record]:
    """Yield the objects of a file of JSON lines."""
    with explained(path):
        yield from json_records(Source(path, JSONL))


def items(path: Path) -> Iterator[Record]:
    """Yield the objects of a JSON array one by one, while the file is read: it may be larger than memory.

    Raises
    ------
    FileError
        If the file is not JSON, or holds something else than objects.
    """
    for number, item in enumerate(_parts(path), start=1):
        if not isinstance(item, dict):
            raise FileError(f"{path}: item {number:,} of the array is no JSON object, but {str(item)[:40]!r}.")
        yield item


def _parts(path: Path) -> Iterator[Any]:
    """Yield the values of a JSON array.

    ``text`` holds what is read and not yet parsed, from ``place`` on. A value that cannot be parsed may only be cut by
    the end of ``text``: then more is read, until it can be, or the file ends.
    """
    parse = json.JSONDecoder().raw_decode
    decode = codecs.getincrementaldecoder("utf-8-sig")().decode
    text, place, line, number = "", 0, 1, 0
    with explained(path), open_file(path) as stream:
        is_end = False
        more = PIECE
        while True:
            if not is_end:
                line += text.count("\n", 0, place)
                read = stream.read(more)
                is_end = not read
                text, place = text[place:] + decode(read, is_end), 0
            while True:
                at = _BETWEEN.match(text, place)
                place = at.end() if at else place
                if place == len(text):
                    break
                mark, expected = text[place], "[" if number == 0 else ",]"
                if mark not in expected:
                    raise _not_json(path, f"{' or '.join(expected)} is expected", line + text.count("\n", 0, place))
                if mark == "]":
                    _check_end(path, text[place + 1 :], stream)
                    return
                start = _BETWEEN.match(text, place + 1)
                begin = start.end() if start else place + 1
                if number == 0 and text[begin : begin + 1] == "]":
                    return
                try:
                    value, end = parse(text, begin)
                    if end == len(text) and not is_end:
                        break  # a number may go on
                except json.JSONDecodeError as error:
                    if not is_end and len(text) - begin < _LONGEST_ITEM:
                        break  # cut by the end of what was read
                    raise _not_json(path, error.msg, line + error.lineno - 1) from None
                except (ValueError, RecursionError) as error:
                    raise _too_much(str(path), error) from None
                yield value
                number, place = number + 1, end
            if is_end:
                raise _not_json(path, "the array does not end", line + text.count("\n"))
            more = max(PIECE, len(text) - place)  # a long item is not parsed again for each piece of it


def _check_end(path: Path, rest: str, stream: pa.NativeFile) -> None:
    while True:
        if rest.strip():
            raise _not_json(path, f"there is more after the end of the array: {rest.strip()[:20]!r}", None)
        if not (read := stream.read(PIECE)):
            return
        rest = read.decode("utf-8", "replace")


def _not_json(path: Path, what: str, line: int | None) -> FileError:
    where = "" if line is None else f" in line {line:,}"
    return FileError(f"{path} is not JSON: {what}{where}; was it cut? Export it again.")


def _plain(error: Exception) -> str:
    return " ".join(str(error).split())[:120]


def _too_much(where: str, error: Exception) -> FileError:
    if isinstance(error, RecursionError):
        return FileError(f"{where}: its lists are nested too deeply to be an export.")
    return FileError(f"{where} holds a number that cannot be read: {_plain(error)}.")
