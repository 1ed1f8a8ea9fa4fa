"""Columns to integer codes: the one place where values become numbers.

Arrow dictionaries do the work. Integers of a compact range (row numbers, most ids) go through a table of the range
instead, which is several times as fast and needs no sort; long columns of texts through a hash table of our own
(:mod:`~faircrowd.exact.text_codes`); Python objects of mixed types through a dict. Of long columns of texts or objects
in memory with few distinct ones (groups, labels), only these are encoded.
"""

from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from faircrowd._kernels import kernel
from faircrowd._threads import for_rows_in_threads
from faircrowd.errors import InputError
from faircrowd.exact.text_codes import encode_texts, read_only
from faircrowd.votes.lookup import is_missing, plain
from faircrowd.votes.vocabulary import Codes, Column, Vocabulary, as_objects

__all__ = ["encode", "keep_used", "nested_values"]

_MISSING_TEXT_TYPES = {"NoneType", "float", "NAType", "NaTType"}
"""Types of what may stand for a missing text (a float if it is NaN)."""

_MANY_ROWS = 1 << 16
_FEW_VALUES = 1 << 8
_ROWS_AT_A_TIME = 1 << 12


def encode(column: Column) -> tuple[Codes, Vocabulary]:
    """Encode a column.

    Parameters
    ----------
    column : ndarray, pyarrow.Array or pyarrow.ChunkedArray
        An ndarray of dtype object may hold any hashable values, mixed.

    Returns
    -------
    codes : ndarray of int32
        Position of each row's value in the vocabulary, -1 where it is missing (null or NaN).
    vocabulary : Vocabulary
        The values that occur, each as it came, in canonical order.
    """
    if isinstance(column, np.ndarray):
        if column.dtype.kind in "UO" and (coded := _encode_few(column)) is not None:
            return coded
        if column.dtype.kind not in "biufSUMm":
            objects = column.astype(object, copy=False)
            texts = _text_column(objects)
            return _encode_objects(objects) if texts is None else encode(texts)
        column = column.astype(column.dtype.newbyteorder("="), copy=False)
        if column.dtype.kind in "iu" and (coded := _encode_range([column])) is not None:
            return coded
        column = pa.array(column, from_pandas=True)
    elif pa.types.is_integer(column.type) and column.null_count == 0:
        chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
        if (coded := _encode_range([chunk.to_numpy() for chunk in chunks])) is not None:
            return coded
    if pa.types.is_nested(column.type) and not pa.types.is_run_end_encoded(column.type):
        raise nested_values(column.type)
    if len(column) >= _MANY_ROWS and (pa.types.is_string(column.type) or pa.types.is_large_string(column.type)):
        codes, texts = encode_texts(column)
        return codes, Vocabulary(texts)
    try:
        return _encode_arrow(column)
    except pa.ArrowNotImplementedError:  # a type that Arrow can hold but not sort
        return _encode_objects(as_objects(column.to_pylist()))


def nested_values(kind: object) -> InputError:
    """Return the error for a column of lists, maps or records."""
    return InputError(f"A column holds nested values ({kind}); ids and labels must be plain.")


def keep_used(codes: Codes, vocabulary: Vocabulary) -> tuple[Codes, Vocabulary, NDArray[np.int64]]:
    """Drop the values that no code uses; also return the dropped positions. Codes of -1 stay."""
    used = np.zeros(len(vocabulary) + 1, dtype=np.bool_)
    _mark_used(codes, used)  # -1 marks the extra place at the end
    used = used[:-1]
    if used.all():
        return codes, vocabulary, np.empty(0, dtype=np.int64)
    renumbered = np.append((np.cumsum(used) - 1).astype(np.int32), np.int32(-1))
    return renumbered[codes], vocabulary.take(np.flatnonzero(used)), np.flatnonzero(~used)


@kernel
def _mark_used(codes: Codes, used: NDArray[np.bool_]) -> None:
    """Mark the codes that occur, until all of them have."""
    left = used.size - 1
    for i in range(codes.size):
        if not used[codes[i]]:
            used[codes[i]] = True
            left -= codes[i] >= 0
            if left == 0:
                return


# Integers of a compact range


def _encode_range(pieces: list[NDArray[Any]]) -> tuple[Codes, Vocabulary] | None:
    """Encode integers, in pieces, by a table over their range; None if the range is much longer than the column."""
    pieces = [piece for piece in pieces if piece.size]
    if not pieces:
        return None
    size = sum(piece.size for piece in pieces)
    low, high = min(int(piece.min()) for piece in pieces), max(int(piece.max()) for piece in pieces)
    if high - low > 4 * size + 1024 or high - low >= 2**31 - 1 or high > 2**63 - 1:
        return None
    kind = pieces[0].dtype
    # Unsigned integers are below 2**63, by the line above; signed arithmetic stays in integers.
    pieces = [read_only(piece.view(np.int64) if kind == np.uint64 else piece) for piece in pieces]
    rank = np.zeros(high - low + 1, dtype=np.int32)
    n_present = 0  # values from the lowest on that are known to occur
    for piece in pieces:
        n_present = _mark_present(piece, low, rank, n_present)
    present = np.flatnonzero(rank) + low
    _rank_present(rank)
    codes, start = np.empty(size, dtype=np.int32), 0
    for piece in pieces:
        looked_up = codes[start : start + piece.size]
        for_rows_in_threads(partial(_look_up_rows, piece, low, rank, looked_up), piece.size)
        start += piece.size
    return codes, Vocabulary(pa.array(present.astype(kind)))


@kernel
def _mark_present(values: NDArray[np.int64], low: int, rank: NDArray[np.int32], n_present: int) -> int:
    """Mark the values that occur, until all of the range have; return up to where all have."""
    for start in range(0, values.size, _ROWS_AT_A_TIME):
        if n_present == rank.size:
            break
        for i in range(start, min(start + _ROWS_AT_A_TIME, values.size)):
            rank[values[i] - low] = 1
        while n_present < rank.size and rank[n_present]:
            n_present += 1
    return n_present


@kernel
def _rank_present(rank: NDArray[np.int32]) -> None:
    count = 0
    for i in range(rank.size):
        present = rank[i]
        rank[i] = count
        count += present


def _look_up_rows(values: NDArray[np.int64], low: int, rank: NDArray[np.int32], codes: Codes, rows: slice) -> None:
    _look_up(values[rows], low, rank, codes[rows])


@kernel
def _look_up(values: NDArray[np.int64], low: int, rank: NDArray[np.int32], codes: Codes) -> None:
    for i in range(values.size):
        codes[i] = rank[values[i] - low]


# Few distinct values in many rows


def _encode_few(column: NDArray[Any]) -> tuple[Codes, Vocabulary] | None:
    """Encode a long column of texts of fixed width, or of objects, by its first rows of each; None if these are many.

    Objects are told apart by their addresses: equal ones at different addresses get their code from the encoding of
    what was told apart.
    """
    if column.ndim != 1 or column.size < _MANY_ROWS or column.itemsize == 0 or not column.flags.c_contiguous:
        return None
    rows = read_only(np.frombuffer(column, dtype=np.uint32)).reshape(column.size, -1)
    first, codes = np.empty(_FEW_VALUES, dtype=np.int64), np.empty(column.size, dtype=np.int32)
    n_found = _code_rows(rows, first, codes)
    if n_found < 0:
        return None
    of_first, vocabulary = encode(column[first[:n_found]])
    return of_first[codes], vocabulary


@kernel
def _code_rows(rows: NDArray[np.uint32], first: NDArray[np.int64], codes: Codes) -> int:
    """Give each distinct row a number by a hash table, write the first row of each; return how many, -1 if too many."""
    slots = np.full(4 * first.size, -1, np.int32)
    last_slot = np.uint64(slots.size - 1)
    n_found = 0
    for i in range(rows.shape[0]):
        mixed = np.uint64(0)
        for j in range(rows.shape[1]):
            mixed = (mixed ^ np.uint64(rows[i, j])) * np.uint64(0x9E3779B97F4A7C15)
        slot = (mixed >> np.uint64(40)) & last_slot
        while True:
            code = slots[slot]
            if code < 0:
                if n_found == first.size:
                    return -1
                slots[slot] = code = n_found
                first[n_found] = i
                n_found += 1
                break
            is_same = True
            for j in range(rows.shape[1]):
                is_same &= rows[i, j] == rows[first[code], j]
            if is_same:
                break
            slot = (slot + np.uint64(1)) & last_slot
        codes[i] = code
    return n_found


# Arrow


def _encode_arrow(column: pa.Array | pa.ChunkedArray) -> tuple[Codes, Vocabulary]:
    if pa.types.is_null(column.type):
        return np.full(len(column), -1, dtype=np.int32), Vocabulary(column.slice(0, 0))
    coded = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
    if isinstance(coded, pa.ChunkedArray):
        coded = coded.unify_dictionaries().combine_chunks()
        if isinstance(coded, pa.ChunkedArray):  # no chunk at all
            coded = pa.concat_arrays(coded.chunks) if coded.num_chunks else pa.array([], type=coded.type)
    codes = coded.indices.cast(pa.int32()).fill_null(-1).to_numpy(zero_copy_only=False)
    # A dictionary that came with the data may repeat values, hold nulls, or hold values that no row has.
    inner, vocabulary = _sorted(coded.dictionary)
    codes, vocabulary, _ = keep_used(np.append(inner, np.int32(-1))[codes], vocabulary)
    return codes, vocabulary


def _sorted(values: pa.Array) -> tuple[Codes, Vocabulary]:
    """Sort a dictionary's values; also return the place of each old position in the new order."""
    if pa.types.is_dictionary(values.type):
        values = values.cast(values.type.value_type)
    if pa.types.is_string_view(values.type):
        values = values.cast(pa.large_string())
    if pa.types.is_floating(values.type):
        values = pc.if_else(pc.is_nan(values), pa.scalar(None, values.type), pc.add(values, 0.0))  # no -0.0
    order = pc.sort_indices(values).to_numpy()  # nulls last
    values = values.take(pa.array(order))
    n_valid = len(values) - values.null_count
    values = values.slice(0, n_valid)
    place = np.full(len(order), -1, dtype=np.int32)
    if len(values) > 1 and (repeated := np.asarray(pc.equal(values[1:], values[:-1]))).any():
        first = np.concatenate([[True], ~repeated.astype(bool)])
        place[order[:n_valid]] = np.cumsum(first) - 1
        return place, Vocabulary(values.filter(pa.array(first)))
    place[order[:n_valid]] = np.arange(n_valid, dtype=np.int32)
    return place, Vocabulary(values)


# Python objects


def _text_column(column: NDArray[np.object_]) -> pa.Array | None:
    """Return a column of texts (and missing values) as Arrow; None if it holds anything else."""
    if not {kind.__name__ for kind in set(map(type, column))} <= {"str", *_MISSING_TEXT_TYPES}:
        return None
    try:
        return pa.array(column, type=pa.large_string(), from_pandas=True)
    except UnicodeEncodeError as error:
        raise _not_text(error) from None
    except (pa.ArrowInvalid, pa.ArrowTypeError):  # a float that is a number
        return None


def _encode_objects(column: NDArray[np.object_]) -> tuple[Codes, Vocabulary]:
    """Encode Python values; values of different types differ: 1, True and "1" are three."""
    try:
        found = [None if is_missing(value) else plain(value) for value in column]
        values = {(type(value), value): value for value in found if value is not None}
        for kind, value in values:
            if kind is str:
                value.encode()
    except UnicodeEncodeError as error:
        raise _not_text(error) from None
    except TypeError as error:
        raise InputError(f"Ids and labels must be hashable values ({error}).") from None
    except ValueError:
        raise InputError("A column holds arrays; ids and labels must be plain values.") from None
    ordered = _ordered(list(values.values()))
    place = {(type(value), value): code for code, value in enumerate(ordered)}
    codes = (-1 if value is None else place[type(value), value] for value in found)
    vocabulary = Vocabulary.of(ordered) if ordered else Vocabulary(as_objects([]))
    return np.fromiter(codes, dtype=np.int32, count=len(found)), vocabulary


def _not_text(error: UnicodeEncodeError) -> InputError:
    return InputError(
        f"A value holds half a character, {error.object[error.start]!r}, which no file can hold; correct the text."
    )


def _ordered(values: list[Any]) -> list[Any]:
    if len({type(value) for value in values}) == 1 and not isinstance(values[0], frozenset):  # sets: a partial order
        try:
            return sorted(values)
        except TypeError:
            pass
    return sorted(values, key=_mixed_order)


def _mixed_order(value: object) -> tuple[str, float, str]:
    number = float(max(-1e300, min(1e300, value))) if isinstance(value, int | float) else 0.0
    text = str(sorted(map(repr, value))) if isinstance(value, frozenset) else str(value)
    return type(value).__name__, number, text
