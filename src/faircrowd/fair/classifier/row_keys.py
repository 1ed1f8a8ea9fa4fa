"""A number for each row of features that depends on its values alone.

A row that is tied between two labels gets one of them by this number, so that its label does not depend on the order of
rows, on the rows beside it, or on the call: equal rows have equal labels.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from faircrowd.errors import InputError
from faircrowd.exact.hashing import mix, task_keys
from faircrowd.fair.tasks.read_posterior import RowNumbers
from faircrowd.votes import Vocabulary
from faircrowd.votes.encode import encode
from faircrowd.votes.frames import column_of, frame_of, is_frame
from faircrowd.votes.vocabulary import Codes, Column, as_objects

__all__ = ["KeyedRows", "row_keys"]

_MISSING = 0x9AE16A3B2F90404F
"""The key of a missing cell."""


def row_keys(rows: object, random_state: int = 0) -> NDArray[np.uint64]:
    """Return a 64-bit hash of each row of a table of features: a frame, an array, a sparse matrix or a list.

    Zeros add nothing, so that a sparse matrix and the array that it stands for have the same keys; so do numbers of
    different types that are equal.

    Examples
    --------
    >>> a, b = row_keys([[1.5, 0.0], [0.0, 1.5]])
    >>> bool(a == b), bool(a == row_keys(np.array([[1.5, 0]], dtype=np.float32))[0])
    (False, True)
    """
    seed = _mixed(np.array([random_state % 2**64], dtype=np.uint64))[0]
    table: Any = rows
    if hasattr(table, "tocsr"):
        return _mixed(_sparse_sums(table.tocsr()) ^ seed)
    columns: list[Column] | None = None
    if is_frame(table):
        frame = frame_of(table)
        columns = [column_of(frame, name) for name in frame.columns]
    else:
        array = table if isinstance(table, np.ndarray) else _array(table)
        array = array.reshape(len(array), math.prod(array.shape[1:]))
        if array.dtype.kind not in "biuf":
            columns = [array[:, j] for j in range(array.shape[1])]
    if columns is None:
        sums = np.zeros(len(array), dtype=np.uint64)
        for j in range(array.shape[1]):
            sums += _numbers(array[:, j].astype(np.float64), j)
    else:
        sums = np.zeros(len(columns[0]) if columns else 0, dtype=np.uint64)
        for j, column in enumerate(columns):
            sums += _cells(column, j)
    return _mixed(sums ^ seed)


class KeyedRows(RowNumbers):
    """Rows as tasks: messages call them 0, 1, ..., and what depends on their ids depends on their keys.

    Examples
    --------
    >>> rows = KeyedRows(np.array([7, 9, 7], dtype=np.uint64))
    >>> rows.some([0, 2]), len(set(rows.take(np.array([0, 1, 2])).to_list()))
    ([0, 2], 3)
    """

    def __init__(self, keys: NDArray[np.uint64]) -> None:
        super().__init__(keys.size)
        order = np.argsort(keys, kind="stable")
        first = np.flatnonzero(np.diff(keys[order], prepend=~keys[order[:1]]) != 0)
        number = np.empty(keys.size, dtype=np.uint64)  # of a row among those that are equal
        number[order] = np.arange(keys.size) - np.repeat(first, np.diff(np.append(first, keys.size)))
        object.__setattr__(self, "_ids", (_mixed(keys + number) >> np.uint64(1)).astype(np.int64))  # the base is frozen

    def take(self, codes: NDArray[Any]) -> Vocabulary:
        """Return the ids of some rows, which are hashed."""
        return Vocabulary(pa.array(self._ids[codes]))  # type: ignore[attr-defined]

    def some(self, codes: Sequence[int] | NDArray[Any]) -> list[Any]:
        """Return the numbers of some rows, which are shown."""
        return list(np.asarray(codes).tolist())


def _array(values: Any) -> NDArray[Any]:
    """Return nested lists as an array; rows of different lengths, or of no kind that numpy knows, as objects."""
    try:
        return np.asarray(values)
    except (TypeError, ValueError):
        return as_objects(list(values))


def _cells(column: Column, place: int) -> NDArray[np.uint64]:
    """Return what a column of a frame adds to the keys: numbers as numbers, anything else by its text."""
    if isinstance(column, np.ndarray) and column.dtype.kind in "biuf":
        return _numbers(column.astype(np.float64), place)
    try:
        codes, values = encode(column)
    except (TypeError, InputError):  # cells that are lists or dicts
        cells = column.tolist() if isinstance(column, np.ndarray) else column.to_pylist()
        codes, values = encode(as_objects([repr(cell) for cell in cells]))
    return _of_codes(codes, values, place)


def _of_codes(codes: Codes, values: Vocabulary, place: int) -> NDArray[np.uint64]:
    listed = values.to_list()
    if all(isinstance(value, bool | int | float) for value in listed):
        found = _numbers(np.array(listed, dtype=np.float64), place)
    else:
        found = _mixed(task_keys(values, np.arange(len(values)), 0) ^ _mark(place))
    return np.append(found, _mixed(np.array([_MISSING], dtype=np.uint64) ^ _mark(place)))[codes]


def _numbers(values: NDArray[np.float64], place: int | NDArray[np.int64]) -> NDArray[np.uint64]:
    """Return what numbers of a column add to the keys: 0 adds nothing, and all NaN the same."""
    bits = np.where(np.isnan(values), np.uint64(_MISSING), values.view(np.uint64))
    return np.where(values == 0, np.uint64(0), _mixed(bits ^ _mark(place)))


def _sparse_sums(matrix: Any) -> NDArray[np.uint64]:
    added = _numbers(np.asarray(matrix.data, dtype=np.float64), np.asarray(matrix.indices, dtype=np.int64))
    ends = np.concatenate([np.zeros(1, dtype=np.uint64), np.cumsum(added, dtype=np.uint64)])
    return np.asarray(ends[matrix.indptr[1:]] - ends[matrix.indptr[:-1]])  # modulo 2 ** 64


def _mark(place: int | NDArray[np.int64]) -> NDArray[np.uint64]:
    """Return what tells a column from others."""
    return _mixed(np.atleast_1d(np.asarray(place, dtype=np.uint64)) + np.uint64(1))


def _mixed(numbers: NDArray[np.uint64]) -> NDArray[np.uint64]:
    plain: Any = getattr(mix, "py_func", mix)  # numpy's arrays need no compiled loop
    return np.asarray(plain(numbers + np.uint64(0x9E3779B97F4A7C15)))
