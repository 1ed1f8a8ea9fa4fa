"""Packed blocks: all votes of some tasks as one row of Spark, and the blocks that kernels see of them.

A row holds only bytes, so that it moves between Spark and Python in a few copies: the ids of its tasks (an Arrow
stream), the offsets of their votes (int32), workers (int32), and labels, groups and true labels in the smallest
type that holds their codes. In ``group`` and ``gold``, -1 means that none is known, and -2 that there are several.
"""

from collections.abc import Callable, Iterable, Iterator
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from faircrowd.engines.local import Block
from faircrowd.engines.spark.chunks import code_type, from_stream, join_parts, stream_of, typed
from faircrowd.engines.spark.garbage import spare_loaded_objects
from faircrowd.errors import OptionError
from faircrowd.votes.layout import Grouped, moved, places_by_task, repeated_votes, sort_inside_tasks, sort_repeated
from faircrowd.votes.vocabulary import Codes, Vocabulary

__all__ = ["SCHEMA", "Named", "Piece", "View", "empty_block", "pack", "pieces"]

SCHEMA = "ids binary, offsets binary, workers binary, labels binary, group binary, gold binary, repeated int"
"""Columns of packed blocks; the last is the number of votes that repeat the task and worker of another."""
_VOTES_PER_ROW = 1 << 18
"""A row of packed blocks has at most about this many votes."""


class View(NamedTuple):
    """What kernels see of packed blocks.

    Attributes
    ----------
    by_group, with_gold, with_ids : bool
        Whether kernels see the groups, the known true labels, and the ids of the tasks.
    votes : int
        Rows are joined until they hold this many votes, because each block costs a kernel's statistics.
    worker, label, group : ndarray of int32, optional
        New codes in place of those that are packed.
    """

    by_group: bool
    with_gold: bool
    with_ids: bool
    votes: int
    worker: Codes | None = None
    label: Codes | None = None
    group: Codes | None = None

    @property
    def columns(self) -> list[str]:
        """The columns that are needed."""
        more = {"gold": self.with_gold, "ids": self.with_ids}
        return ["offsets", "workers", "labels", "group", *(name for name, wanted in more.items() if wanted)]


class Piece(NamedTuple):
    """A block, and the groups and ids of its tasks (no ids where they are not wanted)."""

    block: Block
    group: Codes
    ids: Vocabulary | None


class Named(NamedTuple):
    """A function by name: it is looked up where it runs, so that its compiled version is found there too."""

    module: str
    name: str

    @classmethod
    def of(cls, function: Callable[..., Any]) -> "Named":
        """Name a function of a module; other functions cannot be sent."""
        named = cls(function.__module__, function.__name__)
        if getattr(import_module(named.module), named.name, None) is not function:
            raise OptionError(f"{named.name} must be a function of a module: it is looked up by name where it runs.")
        return named

    def find(self) -> Callable[..., Any]:
        """Return the function."""
        found: Callable[..., Any] = getattr(import_module(self.module), self.name)
        return found


@spare_loaded_objects
def pack(batches: Iterable[pa.RecordBatch], *, sizes: dict[str, int]) -> Iterator[pa.RecordBatch]:
    """Pack the parts of a partition (see :mod:`faircrowd.engines.spark.chunks`), which hold all votes of its tasks.

    ``sizes`` are the numbers of codes; that of groups is missing where no groups are known. Parts without workers are
    facts of tasks; those of tasks without votes are left out.
    """
    joined = join_parts(batches, sizes)
    if joined is None:
        return
    ids, task = joined.ids, joined.task
    kinds = {name: code_type(size) for name, size in {"group": 1, **sizes}.items()}
    offsets, place = places_by_task(task, len(ids))
    votes = Grouped(offsets, moved(joined.worker, place), moved(joined.label, place))
    sort_inside_tasks(votes)
    aside = repeated_votes(votes, keep="first")
    if aside.any():
        sort_repeated(votes)
    repeated = np.concatenate([[0], np.cumsum(aside)])
    cuts = np.searchsorted(offsets, np.arange(0, offsets[-1], _VOTES_PER_ROW)).tolist()
    for a, b in zip(cuts, [*cuts[1:], len(ids)], strict=True):
        if a == b:  # a task with more votes than a row should have
            continue
        start, stop = offsets[a], offsets[b]
        row = {
            "ids": stream_of(typed(Vocabulary(ids.values[a:b]), joined.id_type)),
            "offsets": (offsets[a : b + 1] - start).astype(np.int32).tobytes(),
            "workers": votes.worker[start:stop].tobytes(),
            "labels": votes.label[start:stop].astype(kinds["label"]).tobytes(),
            "group": joined.group[a:b].astype(kinds["group"]).tobytes(),
            "gold": joined.truth[a:b].astype(kinds["label"]).tobytes(),
        }
        columns = {name: pa.array([value], pa.binary()) for name, value in row.items()}
        yield pa.record_batch({**columns, "repeated": pa.array([repeated[stop] - repeated[start]], pa.int32())})


def pieces(batches: Iterable[pa.RecordBatch], view: View) -> Iterator[Piece]:
    """Yield the blocks of packed rows, joined until each has as many votes as the view asks for."""
    waiting: list[dict[str, Any]] = []
    held = 0
    for batch in batches:
        columns = {name: batch.column(name) for name in view.columns}
        for i in range(batch.num_rows):
            waiting.append({name: column[i].as_buffer() for name, column in columns.items()})
            held += waiting[-1]["workers"].size // 4
            if held >= view.votes:
                yield _joined(waiting, view)
                waiting, held = [], 0
    if waiting:
        yield _joined(waiting, view)


def empty_block() -> Block:
    """Return a block without tasks: what a kernel returns for it has the types and shapes of its results."""
    nothing = np.empty(0, dtype=np.int32)
    return Block(0, np.zeros(1, dtype=np.int64), nothing, nothing, nothing, nothing)


def _joined(rows: list[dict[str, Any]], view: View) -> Piece:
    """Return the block of some packed rows. Tasks are not numbered in Spark: ``first`` is always 0."""
    tasks = [row["offsets"].size // 4 - 1 for row in rows]
    votes = [row["workers"].size // 4 for row in rows]
    offsets = np.zeros(sum(tasks) + 1, dtype=np.int64)
    at = before = 0
    for row, n_tasks, n_votes in zip(rows, tasks, votes, strict=True):
        offsets[at + 1 : at + n_tasks + 1] = before + np.frombuffer(row["offsets"], np.int32)[1:]
        at, before = at + n_tasks, before + n_votes

    def codes(name: str, counts: list[int], new: Codes | None = None) -> Codes:
        # A copy: Arrow's memory is read-only, for which numba would compile every kernel once more.
        parts = (
            np.frombuffer(row[name], f"i{row[name].size // count}") for row, count in zip(rows, counts, strict=True)
        )
        joined = np.concatenate([part.astype(np.int32) for part in parts])
        return joined if new is None else new[joined]

    nothing = np.empty(0, dtype=np.int32)
    group = codes("group", tasks, view.group)
    block = Block(
        0,
        offsets,
        codes("workers", votes, view.worker),
        codes("labels", votes, view.label),
        group if view.by_group else nothing,
        codes("gold", tasks, None if view.label is None else np.append(view.label, np.int32(-1)))
        if view.with_gold
        else nothing,
    )
    ids = Vocabulary(pa.concat_arrays([from_stream(row["ids"]) for row in rows])) if view.with_ids else None
    return Piece(block, group, ids)
