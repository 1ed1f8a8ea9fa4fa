"""In memory or by stream: chosen from the size of the file and the free memory."""

import importlib.util
import os
import re
from pathlib import Path
from typing import NamedTuple

import pyarrow.parquet

from faircrowd.engines.free_memory import free_memory
from faircrowd.errors import OptionError

__all__ = ["Choice", "check_run", "choose_engine", "memory_to_regroup", "parse_size"]

_UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "KI": 2**10, "MI": 2**20, "GI": 2**30, "TI": 2**40}
_LEAST = 500 * 10**6
_PROGRAM = 300 * 10**6
"""Memory of Python and its libraries."""
_A_ROW, _A_BYTE, _A_COMPRESSED_BYTE = 64, 6, 25
"""Memory that a run in memory takes at its peak: a row of Parquet, a byte of text, a byte of compressed text."""
_A_TASK, _A_TASK_AND_CLASS = 32, 32
"""What a stream holds of a task besides its id, and of a task and class (docs/scale.md)."""
_REGROUP_LEAST, _REGROUP_MOST = 256 * 10**6, 1500 * 10**6


class Choice(NamedTuple):
    """An engine, the reason for it in a line, and whether that is worth saying: memory that suffices is not."""

    engine: str
    why: str
    is_news: bool


def choose_engine(path: str | os.PathLike[str], memory_limit: int | None = None) -> Choice:
    """Choose ``memory`` if the run fits there, else ``stream``.

    Parameters
    ----------
    path : path
        A file of votes.
    memory_limit : int, optional
        Bytes that may be used; by default half of what is free.
    """
    needed = _needed(Path(path))
    limit = memory_limit or free_memory() // 2
    numbers = f"a run on {path} takes about {_shown(needed)} of memory, {_shown(limit)} may be used"
    if needed <= limit:
        return Choice("memory", f"engine memory: {numbers}", is_news=False)
    if importlib.util.find_spec("duckdb") is None:
        return Choice(
            "memory", f"engine memory: {numbers}, but streaming needs pip install 'faircrowd[stream]'", is_news=True
        )
    return Choice("stream", f"engine stream: {numbers} (--engine memory overrides)", is_news=True)


def check_run(n_tasks: int, n_classes: int, id_bytes: int, memory_limit: int | None = None) -> None:
    """Raise if a stream of so many tasks takes more memory than it may; the votes do not count, they lie on disk.

    Parameters
    ----------
    id_bytes : int
        What the ids of the tasks take.
    memory_limit : int, optional
        Bytes that may be used; by default what is free.
    """
    needed = _PROGRAM + id_bytes + n_tasks * (_A_TASK + _A_TASK_AND_CLASS * n_classes)
    limit = memory_limit or free_memory()
    if needed > limit:
        raise OptionError(
            f"{n_tasks:,} tasks of {n_classes:,} classes take about {_shown(needed)} of memory, {_shown(limit)} may be "
            f"used; {'raise --memory-limit, or ' if memory_limit else ''}use --engine spark."
        )


def memory_to_regroup(limit: int) -> int:
    """Return the part of a run's memory that the sort may take."""
    return min(max(int(0.6 * (limit - _PROGRAM)), _REGROUP_LEAST), _REGROUP_MOST)


def parse_size(text: str) -> int:
    """Return a size such as 2GB, 500MB or 1.5GiB in bytes.

    Examples
    --------
    >>> parse_size("2GB"), parse_size("512 MiB")
    (2000000000, 536870912)
    """
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([KMGT]I?)?B?\s*", text.upper(), re.ASCII)
    size = 0 if found is None else int(float(found[1]) * _UNITS[found[2] or ""])
    if size < _LEAST:
        raise OptionError(f"--memory-limit {text!r} must be a size of at least 500MB, such as 2GB.")
    return size


def _needed(path: Path) -> int:
    endings = [ending.lower() for ending in path.suffixes]
    try:
        if endings[-1:] in ([".parquet"], [".pq"]):
            return _PROGRAM + int(pyarrow.parquet.read_metadata(path).num_rows) * _A_ROW
        size = path.stat().st_size
    except (OSError, pyarrow.ArrowException):
        return 0  # the reader says what is wrong
    return _PROGRAM + size * (_A_COMPRESSED_BYTE if endings[-1:] in ([".gz"], [".bz2"], [".zst"]) else _A_BYTE)


def _shown(size: float) -> str:
    return f"{size / 1e9:.2g} GB" if size >= 1e8 else f"{size / 1e6:.2g} MB"
