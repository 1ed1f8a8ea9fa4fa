"""Chunks: some rows of the source as arrays, so that votes leave Java once and are never shuffled one by one.

A chunk holds up to a million rows that lie together: the ids of their tasks, the values that occur in each column, and
where these stand (:func:`cut`). The values of all chunks come to the driver, which numbers them (:func:`values_of`).
Then each chunk is split by task into as many parts as there will be partitions, with the driver's codes
(:func:`split`); a part is one row of Spark, and :func:`faircrowd.engines.spark.blocks.pack` joins those of a partition.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from faircrowd.engines.spark.codes import Lookup
from faircrowd.engines.spark.garbage import spare_loaded_objects
from faircrowd.errors import FaircrowdError
from faircrowd.exact.hashing import task_keys
from faircrowd.votes.encode import encode, keep_used
from faircrowd.votes.groups import intersect
from faircrowd.votes.vocabulary import Codes, Vocabulary

__all__ = [
    "CHUNKS",
    "PARTS",
    "SEVERAL",
    "Joined",
    "Sets",
    "code_type",
    "cut",
    "from_stream",
    "ids_of",
    "join_parts",
    "place_keys",
    "split",
    "stream_of",
    "typed",
    "values_of",
]

CHUNKS = "ids binary, codes binary, values array<binary>, counts array<bigint>"
"""Columns of chunks; ``counts`` are the number of rows, and of those that lack each of the columns that may not."""
PARTS = "place int, ids binary, tasks binary, workers binary, labels binary, group binary, truth binary"
"""Columns of parts; ``place`` is a key of their partition (see :func:`place_keys`)."""
SEVERAL = -2
"""The code of a group or true label of which a task has several."""
_ROWS = 1 << 20
_BYTES = 1 << 28
_SEED_OF_PLACES = 2**63 + 1
"""Not a seed that users choose: the hashes that break ties should not tell the partition."""

Sets = Mapping[str, Sequence[str]]
"""Names of columns that are coded together, by what they stand for: worker, label, group, truth."""


class _Coded(NamedTuple):
    """Codes of the rows, and the table of the values that they stand for."""

    codes: Codes
    values: pa.Table


@spare_loaded_objects
def cut(batches: Iterable[pa.RecordBatch], *, sets: Sets, needed: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """Turn rows into chunks. Rows without one of the ``needed`` (task, worker, label) are counted and left out."""
    held: list[pa.RecordBatch] = []
    rows = size = 0
    for batch in batches:
        held.append(batch)
        rows, size = rows + batch.num_rows, size + batch.nbytes
        if rows >= _ROWS or size >= _BYTES:
            yield _chunk(held, sets, needed)
            held, rows, size = [], 0, 0
    if held:
        yield _chunk(held, sets, needed)


def _chunk(held: list[pa.RecordBatch], sets: Sets, needed: Sequence[str]) -> pa.RecordBatch:
    rows = pa.Table.from_batches(held)
    coded = {role: _code(rows, names) for role, names in {"task": ["task"], **sets}.items()}
    counts, is_complete = [rows.num_rows], np.ones(rows.num_rows, dtype=np.bool_)
    for role in needed:
        lacks = is_complete & (coded[role].codes < 0)
        counts.append(int(np.count_nonzero(lacks)))
        is_complete &= ~lacks
    if sum(counts[1:]):
        coded = {role: _Coded(codes[is_complete], values) for role, (codes, values) in coded.items()}
    values = []
    for role in sets:
        codes, table = coded[role]
        values.append(_streamed(table.append_column("count", _column(_counts(codes, table.num_rows)))))
    task = coded.pop("task")
    codes = pa.table({"task": _column(task.codes), **{role: _column(one.codes) for role, one in coded.items()}})
    row = {
        "ids": stream_of(pa.concat_arrays(task.values.column(0).chunks)),
        "codes": _streamed(codes),
        "values": values,
        "counts": counts,
    }
    kinds = (pa.binary(), pa.binary(), pa.list_(pa.binary()), pa.list_(pa.int64()))
    return pa.record_batch(
        {name: pa.array([value], kind) for (name, value), kind in zip(row.items(), kinds, strict=True)}
    )


@spare_loaded_objects
def values_of(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield the values of each set of a chunk with their counts, then the counts of its rows.

    Rows of a set have its number in the column ``set`` and are null in the columns of other sets; the counts of rows
    are numbered after the sets.
    """
    for batch in batches:
        for streams, counts in zip(batch.column("values"), batch.column("counts"), strict=True):
            tables = [_table(stream.as_buffer()) for stream in streams.values]
            kinds = [field for table in tables for field in table.schema if field.name != "count"]
            of_rows = pa.table({"count": counts.values})
            for number, table in enumerate([*tables, of_rows]):
                is_set = number < len(tables)
                numbers = np.full(table.num_rows, number) if is_set else number + np.arange(table.num_rows)
                columns = [
                    table.column(kind.name) if kind.name in table.column_names else pa.nulls(len(table), kind.type)
                    for kind in kinds
                ]
                names = ["set", *(kind.name for kind in kinds), "count"]
                found = pa.table([_column(numbers.astype(np.int32)), *columns, table.column("count")], names)
                yield from found.filter(pc.greater(found.column("count"), 0)).combine_chunks().to_batches()


@spare_loaded_objects
def ids_of(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield the ids of the tasks of each chunk that have a row left in it, each once."""
    for batch in batches:
        for ids, codes in zip(batch.column("ids"), batch.column("codes"), strict=True):
            found = np.unique(_table(codes.as_buffer()).column("task").to_numpy())
            yield pa.record_batch({"task": from_stream(ids.as_buffer()).take(pa.array(found))})


@spare_loaded_objects
def split(
    batches: Iterable[pa.RecordBatch], *, sets: Sets, lookups: Mapping[str, Lookup], keys: NDArray[np.int32]
) -> Iterator[pa.RecordBatch]:
    """Split chunks by task, with codes of the driver in place of their own; ``keys`` are those of the places."""
    kinds = {role: code_type(lookup.size) for role, lookup in lookups.items()}
    for batch in batches:
        for row in range(batch.num_rows):
            (chunk,) = batch.slice(row, 1).to_pylist()
            ids, codes = from_stream(chunk["ids"]), _table(chunk["codes"])
            # Tasks by their place, then rows by the place of their task.
            place = (task_keys(Vocabulary(ids), np.arange(len(ids)), _SEED_OF_PLACES) % np.uint64(keys.size)).astype(
                np.min_scalar_type(keys.size)
            )
            order = np.argsort(place, kind="stable")
            new = np.empty(len(ids), dtype=np.int32)
            new[order] = np.arange(len(ids), dtype=np.int32)
            task = codes.column("task").to_numpy()
            of_row = np.argsort(place[task], kind="stable")
            tasks_until, rows_until = (
                np.searchsorted(sorted_places, np.arange(keys.size + 1))
                for sorted_places in (place[order], place[task][of_row])
            )
            ids, task = ids.take(pa.array(order)), new[task[of_row]]
            columns = {
                role: _recoded(codes.column(role).to_numpy()[of_row], _table(stream), lookups[role]).astype(kinds[role])
                for role, stream in zip(sets, chunk["values"], strict=True)
            }
            rows = []
            for at in np.flatnonzero(np.diff(rows_until)).tolist():
                (first, last), (start, stop) = tasks_until[at : at + 2], rows_until[at : at + 2]
                parts = {role: column[start:stop].tobytes() for role, column in columns.items()}
                rows.append(
                    {
                        "place": keys[at],
                        "ids": stream_of(ids.slice(first, last - first)),
                        "tasks": (task[start:stop] - np.int32(first)).tobytes(),
                        "workers": parts.get("worker"),
                        "labels": parts.get("label"),
                        "group": parts.get("group"),
                        "truth": parts.get("truth"),
                    }
                )
            yield pa.RecordBatch.from_pylist(rows, _PARTS)


class Joined(NamedTuple):
    """Votes of some tasks in any order, and what is known of these tasks.

    Attributes
    ----------
    ids : Vocabulary
        The tasks in canonical order.
    id_type : pyarrow.DataType
        The type that the ids have in their column.
    task, worker, label : ndarray of int32
        One code per vote.
    group, truth : ndarray of int32
        One code per task, -1 where it has none, -2 where it has several; without groups 0.
    """

    ids: Vocabulary
    id_type: pa.DataType
    task: Codes
    worker: Codes
    label: Codes
    group: Codes
    truth: Codes


def join_parts(batches: Iterable[pa.RecordBatch], sizes: Mapping[str, int]) -> Joined | None:
    """Join the parts of a partition; return None if it has no vote."""
    parts = [part for batch in batches for part in batch.to_pylist()]
    if all(part["workers"] is None for part in parts):
        return None
    ids = [from_stream(part["ids"]) for part in parts]
    codes, vocabulary = encode(pa.chunked_array(ids))
    starts = np.cumsum([0, *map(len, ids)])[:-1]
    tasks = [codes[start:][np.frombuffer(part["tasks"], np.int32)] for start, part in zip(starts, parts, strict=True)]

    def column(name: str, what: str) -> tuple[Codes, Codes]:
        """Return the tasks of the rows that have a column, and the column."""
        kind, nothing = code_type(sizes.get(what, 1)), codes[:0]
        found = [(task, part[name]) for task, part in zip(tasks, parts, strict=True) if part[name] is not None]
        values = [np.frombuffer(cell, kind).astype(np.int32) for _, cell in found]
        return np.concatenate([nothing, *(task for task, _ in found)]), np.concatenate([nothing, *values])

    task, worker = column("workers", "worker")
    _, label = column("labels", "label")
    task, known, unused = keep_used(task, vocabulary)
    new = np.full(len(vocabulary), -1, dtype=np.int32)  # of tasks that have only facts
    new[np.delete(np.arange(len(vocabulary)), unused)] = np.arange(len(known), dtype=np.int32)
    truth = _fact(new, len(known), *column("truth", "label"))
    group = _fact(new, len(known), *column("group", "group")) if "group" in sizes else np.zeros_like(truth)
    return Joined(known, ids[0].type, task, worker, label, group, truth)


def _fact(new: Codes, n_tasks: int, task: Codes, values: Codes) -> Codes:
    """Return the one code that the rows of each task have, -1 where they have none, -2 where they have several.

    ``new`` are the numbers of the tasks in place of those in ``task``, -1 for tasks without votes.
    """
    known = (values >= 0) & (new[task] >= 0)
    task, values = new[task[known]], values[known]
    most, least = np.full(n_tasks, -1, np.int32), np.full(n_tasks, np.iinfo(np.int32).max, np.int32)
    np.maximum.at(most, task, values)
    np.minimum.at(least, task, values)
    return np.where((most >= 0) & (least != most), np.int32(SEVERAL), most)


def place_keys(n_places: int) -> NDArray[np.int32]:
    """Return a number for each place that Spark's hash sends there, so that each partition gets one place.

    ``repartition(n, column)`` sends a row to the remainder of the hash of its column. The hash is Murmur3 with the
    seed 42 (:func:`pyspark.sql.functions.hash`). Were it another, partitions would differ in size, but every task
    would still be in one of them.
    """
    found = np.full(n_places, -1, dtype=np.int32)
    start = 0
    while (found < 0).any():
        numbers = np.arange(start, start + 16 * n_places, dtype=np.int32)
        places = _murmur3(numbers) % n_places
        found[places[::-1]] = np.where(found[places[::-1]] < 0, numbers[::-1], found[places[::-1]])
        start += numbers.size
    return found


def _murmur3(numbers: NDArray[np.int32]) -> NDArray[np.int64]:
    """Return Murmur3 of 32-bit integers, one block each, with the seed 42, as signed integers."""

    def turned(x: NDArray[np.uint32], by: int) -> NDArray[np.uint32]:
        return (x << np.uint32(by)) | (x >> np.uint32(32 - by))

    x = turned(numbers.view(np.uint32) * np.uint32(0xCC9E2D51), 15) * np.uint32(0x1B873593)
    x = turned(x ^ np.uint32(42), 13) * np.uint32(5) + np.uint32(0xE6546B64)
    x ^= np.uint32(4)
    x = (x ^ (x >> np.uint32(16))) * np.uint32(0x85EBCA6B)
    x = (x ^ (x >> np.uint32(13))) * np.uint32(0xC2B2AE35)
    return (x ^ (x >> np.uint32(16))).view(np.int32).astype(np.int64)


def stream_of(ids: pa.Array) -> bytes:
    """Return ids as an Arrow stream."""
    return _streamed(pa.table({"task": ids}))


def from_stream(stream: bytes | pa.Buffer) -> pa.Array:
    """Return the ids of an Arrow stream."""
    return pa.ipc.open_stream(stream).read_next_batch().column(0)


def typed(values: Vocabulary, kind: pa.DataType) -> pa.Array:
    """Return values as an Arrow array of the type that their column has."""
    return pa.array(values.values, kind) if values.is_mixed else values.values.cast(kind)


def code_type(size: int) -> "np.dtype[Any]":
    """Return the smallest type that holds this many codes, -1 and -2."""
    return np.dtype(np.min_scalar_type(-max(size, 2)))


def _code(rows: pa.Table, names: Sequence[str]) -> _Coded:
    """Code the values of a column (of several: the combinations that occur); each keeps the type that it had."""
    coded = [encode(rows.column(name)) for name in names]
    kinds = [rows.schema.field(name).type for name in names]
    if len(coded) == 1:
        ((codes, vocabulary),), (kind,) = coded, kinds
        return _Coded(codes, pa.table({names[0]: typed(vocabulary, kind)}))
    codes, combinations = intersect(coded)
    parts = list(zip(*combinations.to_list(), strict=True)) or [()] * len(names)
    columns = {name: pa.array(part, kind) for name, part, kind in zip(names, parts, kinds, strict=True)}
    return _Coded(codes, pa.table(columns))


def _recoded(codes: Codes, values: pa.Table, lookup: Lookup) -> Codes:
    """Return the driver's codes of the values that the codes of a chunk stand for, -1 for those that are missing."""
    places = lookup.find(values)
    if (places[_counts(codes, values.num_rows) > 0] < 0).any():
        raise FaircrowdError("Values of a column were not found again: does the source change?")
    return np.append(places, np.int32(-1))[codes]


def _counts(codes: Codes, n_values: int) -> NDArray[np.int64]:
    return np.bincount(codes + 1, minlength=n_values + 1)[1:]


def _column(values: NDArray[np.generic]) -> pa.Array:
    return pa.array(values)


def _streamed(table: pa.Table) -> bytes:
    """Return a table as an Arrow stream of one batch."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as stream:
        for batch in table.combine_chunks().to_batches() or [pa.RecordBatch.from_pylist([], table.schema)]:
            stream.write_batch(batch)
    return bytes(sink.getvalue())


def _table(stream: bytes | pa.Buffer) -> pa.Table:
    return pa.ipc.open_stream(stream).read_all()


_PARTS = pa.schema(
    [("place", pa.int32()), *((name, pa.binary()) for name in ("ids", "tasks", "workers", "labels", "group", "truth"))]
)
