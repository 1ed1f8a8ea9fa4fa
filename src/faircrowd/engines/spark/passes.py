"""What runs on the executors: a kernel over the packed blocks of a partition."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from faircrowd.engines.spark.blocks import Named, Piece, View, pieces
from faircrowd.engines.spark.garbage import spare_loaded_objects
from faircrowd.errors import InputError

__all__ = [
    "COUNTS",
    "PARTS",
    "SUMS",
    "NamedSteps",
    "Steps",
    "add_sums",
    "gather_rows",
    "join_sums",
    "make_rows",
    "run_steps",
    "sum_rows",
    "too_much",
]

SUMS = "array int, cells binary, sums binary"
PARTS = "array int, part binary"
COUNTS = -1
"""The number of the array with the number of tasks per group."""
Function: TypeAlias = Callable[..., NDArray[Any]]
Steps: TypeAlias = tuple[tuple[Function, tuple[object, ...]], ...]
"""A kernel, and functions of what it returns, each with its further arguments."""
NamedSteps: TypeAlias = tuple[tuple[Named, tuple[object, ...]], ...]
"""The same, by name: as they are sent to executors."""


@spare_loaded_objects
def sum_rows(
    batches: Iterable[pa.RecordBatch], *, kernel: Named, parameters: tuple[object, ...], view: View, n_groups: int
) -> Iterator[pa.RecordBatch]:
    """Sum a kernel over a partition."""
    function = kernel.find()
    tasks = np.zeros(n_groups, dtype=np.int64)
    total: list[NDArray[np.int64]] = []
    for piece in pieces(batches, view):
        tasks += np.bincount(piece.group, minlength=n_groups)
        part = function(*_seen(piece, view.with_ids), *parameters)
        if total:
            for so_far, new in zip(total, part, strict=True):
                so_far += new
        else:
            total = list(part)
    yield _batch([tasks, *(part.reshape(-1) for part in total)])


@spare_loaded_objects
def join_sums(batches: Iterable[pa.RecordBatch], *, sizes: list[int]) -> Iterator[pa.RecordBatch]:
    """Add up the sums of several partitions; ``sizes`` are those of the arrays, the tasks per group first."""
    tasks, *total = (np.zeros(size, dtype=np.int64) for size in sizes)
    for batch in batches:
        add_sums(batch, tasks, total)
    yield _batch([tasks, *total])


def add_sums(rows: pa.Table | pa.RecordBatch, tasks: NDArray[np.int64], total: list[NDArray[np.int64]]) -> None:
    """Add rows of sums to the tasks per group and to arrays."""
    for number, cells, sums in zip(*(rows.column(name) for name in ("array", "cells", "sums")), strict=True):
        into = tasks if number.as_py() == COUNTS else total[number.as_py()].reshape(-1)
        place, values = (np.frombuffer(part.as_buffer(), np.int64) for part in (cells, sums))
        into[place if place.size else slice(values.size)] += values


def _batch(arrays: list[NDArray[np.int64]]) -> pa.RecordBatch:
    packed = [_packed(part) for part in arrays]
    return pa.record_batch(
        {
            "array": pa.array(range(COUNTS, COUNTS + len(arrays)), pa.int32()),
            "cells": pa.array([cells for cells, _ in packed], pa.binary()),
            "sums": pa.array([sums for _, sums in packed], pa.binary()),
        }
    )


@spare_loaded_objects
def gather_rows(
    batches: Iterable[pa.RecordBatch],
    *,
    kernel: Named,
    parameters: tuple[object, ...],
    view: View,
    n_groups: int,
    max_bytes: int,
) -> Iterator[pa.RecordBatch]:
    """Yield the arrays of a kernel, block by block."""
    function = kernel.find()
    size = 0
    for piece in pieces(batches, view):
        made = [np.ascontiguousarray(part) for part in function(*_seen(piece, view.with_ids), *parameters)]
        size += sum(part.nbytes for part in made)
        if size > max_bytes:
            raise InputError(too_much(kernel.name, size, max_bytes))
        parts = [np.bincount(piece.group, minlength=n_groups).astype(np.int64), *made]
        yield pa.record_batch(
            {
                "array": pa.array(range(COUNTS, COUNTS + len(parts)), pa.int32()),
                "part": pa.array([part.tobytes() for part in parts], pa.binary()),
            }
        )


@spare_loaded_objects
def make_rows(
    batches: Iterable[pa.RecordBatch], *, steps: NamedSteps, view: View, ids: bool, names: tuple[str, ...]
) -> Iterator[pa.RecordBatch]:
    """Make one row per task; ``ids`` is whether the kernel sees the ids too."""
    found = tuple((function.find(), arguments) for function, arguments in steps)
    for piece in pieces(batches, view):
        assert piece.ids is not None  # noqa: S101 - the view asks for them
        made = np.ascontiguousarray(run_steps(found, piece, ids))
        columns = {names[0]: pa.array(made.reshape(-1))}
        if len(names) > 1:
            columns = {name: pa.array(np.ascontiguousarray(made[:, i])) for i, name in enumerate(names)}
        elif made.ndim == 2:
            offsets = pa.array(np.arange(len(made) + 1, dtype=np.int32) * made.shape[1])
            columns = {names[0]: pa.ListArray.from_arrays(offsets, columns[names[0]])}
        yield pa.record_batch({"task": piece.ids.values, "group": pa.array(piece.group), **columns})


def run_steps(steps: Steps, piece: Piece, ids: bool) -> NDArray[Any]:
    """Return the result of a kernel and of the functions after it for a block."""
    (kernel, parameters), *more = steps
    made = kernel(*_seen(piece, ids), *parameters)
    for function, arguments in more:
        made = function(made, *arguments)
    return made


def too_much(name: str, size: int, max_bytes: int) -> str:
    """Return the message that a kernel returns more than the driver takes."""
    return (
        f"{name} returns more than {size / 1e6:,.0f} MB to the driver, and {max_bytes / 1e6:,.0f} MB are allowed; "
        "gather fewer tasks, use emit, or raise result_bytes and spark.driver.maxResultSize."
    )


def _seen(piece: Piece, ids: bool) -> tuple[object, ...]:
    """Return what a kernel is called with before its parameters."""
    return (piece.block, piece.ids) if ids else (piece.block,)


def _packed(part: NDArray[np.int64]) -> tuple[bytes, bytes]:
    """Return the cells that are not zero and their sums; where these are many, no cells and all the sums."""
    cells = np.flatnonzero(part)
    return (cells.tobytes(), part[cells].tobytes()) if 2 * cells.size < part.size else (b"", part.tobytes())
