"""What all readers share: which paths are refused, compression, limits, types of text cells, wording of errors."""

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from faircrowd._checks import check_path, few, suggestion
from faircrowd._threads import available_threads
from faircrowd.errors import FileError
from faircrowd.exact.text_codes import text_memory

__all__ = [
    "BLOCK_BYTES",
    "COMPRESSIONS",
    "MISSING",
    "PLAIN_INTEGER",
    "MixedValues",
    "checked_path",
    "ending_of",
    "explained",
    "open_file",
    "plain_integers",
    "read_head",
]

MISSING = ("", "NaN", "nan", "<NA>")
"""Cells of a text file that stand for a missing value."""

PLAIN_INTEGER = r"(0|-?[1-9][0-9]{0,17})"
"""How an integer is written plainly: ``7`` or ``-3``, not ``007``, ``+7`` or ``7.0``."""

_MOST_DIGITS = 18
"""Of such an integer."""

_ZERO, _NINE = np.frombuffer(b"09", dtype=np.uint8)

COMPRESSIONS = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd"}
"""Compression by the last ending of a file's name."""

_PACKED = {**COMPRESSIONS, ".tgz": "gzip", ".tbz2": "bz2"}
"""The same with short endings of archives, such as that of ``job.tgz`` for ``job.tar.gz``."""

BLOCK_BYTES = 1 << 24
"""Text files are parsed in blocks of this size; no row may be longer."""


class MixedValues(Exception):  # noqa: N818 - no error, but a sign to read in another way
    """A column cannot be given in blocks of one type; its values can, as JSON texts."""


def checked_path(path: str | os.PathLike[str]) -> Path:
    """Return a path that can be read; raise with a reason if there is nothing to read."""
    if not os.fspath(path):
        raise FileError("The path of a file to read is empty.")  # as a Path it would be the folder one is in
    path = Path(path)
    check_path(path)
    try:
        size = path.stat().st_size
    except (FileNotFoundError, NotADirectoryError, ValueError):
        if path.is_symlink():
            raise FileError(f"{path} is a link to {os.readlink(path)}, which does not exist.") from None
        near = [other.name for other in path.parent.iterdir()] if path.parent.is_dir() else []
        raise FileError(f"There is no file {path}.{suggestion(path.name, near)}") from None
    except OSError as error:
        raise FileError(f"{few([str(path)])} cannot be read: {error.strerror}.") from None
    if not path.is_dir() and not path.is_file():
        raise FileError(f"{path} is a pipe or a device; votes are read twice, so save them in a file.")
    if path.is_file() and size == 0:
        raise FileError(f"{path} is empty (0 bytes); a header and at least one row are needed.")
    return path


def ending_of(path: Path) -> tuple[str, bool]:
    """Return the ending that names the format, in lower case, and whether a compression follows it.

    Examples
    --------
    >>> ending_of(Path("votes.CSV.gz")), ending_of(Path("votes.parquet"))
    (('.csv', True), ('.parquet', False))
    """
    endings = [ending.lower() for ending in path.suffixes]
    is_compressed = endings[-1:] != [] and endings[-1] in COMPRESSIONS
    return "".join(endings[-2:-1] if is_compressed else endings[-1:]), is_compressed


def open_file(path: Path) -> pa.NativeFile:
    """Open a file as a stream of bytes, decompressed if its name ends like a compressed file."""
    return pa.input_stream(str(path), compression=_PACKED.get(path.suffix.lower()))


def read_head(path: Path) -> bytes:
    """Return the first block of a text file; raise if it is not UTF-8 text."""
    with open_file(path) as stream:
        head: bytes = stream.read(BLOCK_BYTES)
    if b"\0" in head:
        raise FileError(f"{path} holds NUL bytes; it is not text, or it is UTF-16: save it as UTF-8.")
    return head


def plain_integers(path: Path, name: str, column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Turn a column of texts into integers if every value is written as a plain integer."""
    if not (pa.types.is_string(column.type) or pa.types.is_large_string(column.type)):
        column = column.cast(pa.string())  # a dictionary, or a column without any value
    if any(_has_nul(chunk) for chunk in column.chunks):
        raise FileError(f"{path}: column {name!r} holds NUL bytes; remove them, or save the file again.")
    filled = [chunk for chunk in column.chunks if chunk.null_count < len(chunk)]
    if not filled or not _are_plain_integers(filled[0]):
        return column
    with ThreadPoolExecutor(available_threads()) as pool:
        if not all(pool.map(_are_plain_integers, filled[1:])):
            return column
        return pa.chunked_array(pool.map(lambda chunk: chunk.cast(pa.int64()), column.chunks), type=pa.int64())


def _has_nul(texts: pa.Array) -> bool:
    """Return whether a text holds a NUL byte; the memory of all texts is searched first, as that is quicker."""
    data = texts.buffers()[2]
    if data is None or np.frombuffer(data, dtype=np.uint8).all():
        return False
    return bool(pc.any(pc.match_substring(texts, "\0")).as_py())


def _are_plain_integers(texts: pa.Array) -> bool:
    """Return whether all texts but the missing ones match :data:`PLAIN_INTEGER`.

    Digits alone are settled without the pattern, which takes ten times as long.
    """
    texts = texts.drop_null()
    characters, bounds = text_memory(texts)
    lengths = np.diff(bounds)
    is_short = lengths.size > 0 and lengths.min() > 0 and lengths.max() <= _MOST_DIGITS
    if is_short and (characters[bounds[0] : bounds[-1]] - _ZERO <= _NINE - _ZERO).all():  # below "0" it wraps around
        return bool(((characters[bounds[:-1]] != _ZERO) | (lengths == 1)).all())
    return pc.all(pc.match_substring_regex(texts, f"^{PLAIN_INTEGER}$")).as_py() is not False


@contextmanager
def explained(path: Path) -> Iterator[None]:
    """Turn what Arrow reports about a broken file into one sentence."""
    try:
        yield
    except MemoryError:
        raise
    except (UnicodeDecodeError, pa.ArrowException, OSError) as error:
        text = " ".join(str(error).split())
        if isinstance(error, UnicodeDecodeError) or (isinstance(error, pa.ArrowException) and "UTF8" in text):
            raise FileError(f"{path} is not UTF-8 text; save it as UTF-8 (for example with iconv).") from None
        if "Empty CSV" in text:
            text = "it has no rows; a header and at least one row are needed"
        elif "straddling object" in text or "block size" in text.lower():
            text = f"a row is longer than {BLOCK_BYTES >> 20} MB, or a quote is not closed"
        raise FileError(f"{path} cannot be read: {text[:300]}") from None
