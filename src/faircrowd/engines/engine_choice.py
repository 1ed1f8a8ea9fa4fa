"""In memory or streamed: the engine is chosen by the size of the file and the free memory."""

import importlib.util
import re
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa

from faircrowd._types import PathOrText
from faircrowd.engines.free_memory import free_memory
from faircrowd.errors import FaircrowdError, OptionError
from faircrowd.storage.content_hash import content_bytes
from faircrowd.votes.exports import open_votes
from faircrowd.votes.readers.shared import ending_of

__all__ = ["Choice", "check_run", "choose_engine", "memory_to_regroup", "parse_size"]

_UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "KI": 2**10, "MI": 2**20, "GI": 2**30, "TI": 2**40}
_SMALLEST_LIMIT = 500 * 10**6
"""The least memory that a user may allow."""
_PROGRAM_BYTES = 300 * 10**6
"""Memory of Python and its libraries."""
_BYTES_PER_ROW, _BYTES_PER_BYTE, _BYTES_PER_COMPRESSED_BYTE = 64, 6, 25
"""Peak memory of a run in memory, per row of Parquet, per byte of text and per byte of compressed text."""
_BYTES_PER_BYTE_OF_EXPORT = 1
"""The same of an export, which is parsed piece by piece, and of which little is a vote (docs/platforms.md)."""
_BYTES_PER_TASK, _BYTES_PER_TASK_AND_CLASS = 32, 32
"""What a stream holds in memory per task besides its id, and per task and class (docs/scale.md)."""
_LEAST_TO_REGROUP, _MOST_TO_REGROUP = 256 * 10**6, 1500 * 10**6
"""Bounds of the memory that the sort of a stream gets."""


class Choice(NamedTuple):
    """An engine, the reason in one line, and whether users should see it: not if memory simply suffices."""

    engine: str
    why: str
    is_news: bool


def choose_engine(path: PathOrText, memory_limit: int | None = None, *, format: str | None = None) -> Choice:
    """Choose ``memory`` if the run fits there, else ``stream``.

    Parameters
    ----------
    path : path
        A file of votes.
    memory_limit : int, optional
        Bytes that may be used; by default half of what is free.
    format : str, optional
        The format of the file, as in :func:`faircrowd.read_votes`.
    """
    needed = _memory_needed(path, format)
    limit = memory_limit or free_memory() // 2
    numbers = f"a run on {path} takes about {_shown(needed)} of memory, {_shown(limit)} may be used"
    if needed <= limit:
        return Choice("memory", f"engine memory: {numbers}", is_news=False)
    if importlib.util.find_spec("duckdb") is None:
        return Choice(
            "memory", f"engine memory: {numbers}, but streaming needs pip install 'faircrowd[stream]'", is_news=True
        )
    return Choice("stream", f"engine stream: {numbers} (engine='memory' overrides)", is_news=True)


def check_run(n_tasks: int, n_classes: int, id_bytes: int, memory_limit: int | None = None) -> None:
    """Raise if a stream of this many tasks takes more memory than it may; the votes are on disk and do not count.

    Parameters
    ----------
    n_tasks, n_classes : int
    id_bytes : int
        Memory of the ids of the tasks.
    memory_limit : int, optional
        Bytes that may be used; by default what is free.
    """
    needed = _PROGRAM_BYTES + id_bytes + n_tasks * (_BYTES_PER_TASK + _BYTES_PER_TASK_AND_CLASS * n_classes)
    limit = memory_limit or free_memory()
    if needed > limit:
        raise OptionError(
            f"{n_tasks:,} tasks of {n_classes:,} classes take about {_shown(needed)} of memory, {_shown(limit)} may be "
            f"used; {'raise memory_limit, or ' if memory_limit else ''}use engine='spark'."
        )


def memory_to_regroup(limit: int) -> int:
    """Return the part of a run's memory that the sort may take."""
    return min(max(int(0.6 * (limit - _PROGRAM_BYTES)), _LEAST_TO_REGROUP), _MOST_TO_REGROUP)


def parse_size(text: str) -> int:
    """Return a size such as 2GB, 500MB or 1.5GiB in bytes.

    Examples
    --------
    >>> parse_size("2GB"), parse_size("512 MiB")
    (2000000000, 536870912)
    """
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([KMGT]I?)?B?\s*", text.upper(), re.ASCII)
    size = 0 if found is None else int(float(found[1]) * _UNITS[found[2] or ""])
    if size < _SMALLEST_LIMIT:
        raise OptionError(f"memory_limit={text!r} must be a size of at least 500MB, such as 2GB.")
    return size


def _memory_needed(path: PathOrText, format: str | None) -> int:
    """Return the memory of a run; 0 where the file cannot be read: the reader reports why."""
    try:
        source = open_votes(path, format=format)
        if source.reader.count_rows is not None:
            return _PROGRAM_BYTES + source.reader.count_rows(source) * _BYTES_PER_ROW
        size = content_bytes(source.path)
    except (OSError, pa.ArrowException, FaircrowdError):
        return 0
    _, is_compressed = ending_of(Path(path))
    if source.reader.is_export:
        return _PROGRAM_BYTES + size * (_BYTES_PER_COMPRESSED_BYTE if is_compressed else _BYTES_PER_BYTE_OF_EXPORT)
    return _PROGRAM_BYTES + size * (_BYTES_PER_COMPRESSED_BYTE if is_compressed else _BYTES_PER_BYTE)


def _shown(size: float) -> str:
    return f"{size / 1e9:.2g} GB" if size >= 1e8 else f"{size / 1e6:.2g} MB"
