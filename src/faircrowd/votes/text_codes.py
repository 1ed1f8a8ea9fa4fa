"""Long columns of texts to codes: a hash table per thread, and a sort by the bytes that follow what all texts share.

Arrow's dictionaries wait for memory three times in each row of a column with many distinct texts. Here the places of a
few hundred rows are fetched together before the rows are looked at, by two threads that share the texts by their hash.
Codes are places in the sorted vocabulary, so neither the threads nor the order of rows can be seen in them.
"""

from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, NamedTuple

import numba
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from faircrowd.votes.vocabulary import Codes, Vocabulary

__all__ = ["encode_texts"]

_THREADS = 2
"""A power of two. Each thread hashes every text, so that more of them would gain little."""

_BATCH = 512
"""Rows whose places in memory are fetched together."""


class _Texts(NamedTuple):
    """Texts in one piece of memory: text ``i`` is ``data[offsets[i]:offsets[i + 1]]``."""

    data: NDArray[np.uint8]
    offsets: NDArray[np.int64]

    def take(self, rows: NDArray[Any]) -> pa.LargeStringArray:
        """Return the texts of some rows."""
        memory = pa.py_buffer(self.offsets), pa.py_buffer(self.data)
        return pa.LargeStringArray.from_buffers(self.offsets.size - 1, *memory).take(pa.array(rows))


def encode_texts(column: pa.Array | pa.ChunkedArray) -> tuple[Codes, Vocabulary]:
    """Encode a column of type string or large_string, as :func:`faircrowd.votes.encode.encode` does.

    Examples
    --------
    >>> encode_texts(pa.array(["b", None, "a", "b"]))
    (array([ 1, -1,  0,  1], dtype=int32), Vocabulary(2: 'a', 'b'))
    """
    kind, is_valid = column.type, None
    if column.null_count:
        is_valid = column.is_valid().to_numpy(zero_copy_only=False)
        column = column.drop_null()
    texts = _joined(column)
    codes = np.empty(len(column), dtype=np.int32)
    with ThreadPoolExecutor(_THREADS) as pool:
        list(pool.map(partial(_find_first_rows, texts, codes), range(_THREADS)))
    rows = np.flatnonzero(codes == np.arange(codes.size, dtype=np.int32)).astype(np.int32)
    rows = rows[_sorted_order(texts, rows)]
    values = texts.take(rows)
    place = np.empty(codes.size, dtype=np.int32)
    place[rows] = np.arange(rows.size, dtype=np.int32)
    np.take(place, codes, out=codes, mode="clip")  # the other modes copy what they write to
    if is_valid is not None:
        known, codes = codes, np.full(is_valid.size, -1, dtype=np.int32)
        codes[is_valid] = known
    return codes, Vocabulary(values.cast(kind) if values.nbytes < 2**31 else values)


def _joined(column: pa.Array | pa.ChunkedArray) -> _Texts:
    """Return texts, of which none is missing, in one piece of memory (of at least one byte)."""
    chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
    width = np.int32 if pa.types.is_string(column.type) else np.int64
    bounds = [
        np.frombuffer(chunk.buffers()[1], dtype=width)[chunk.offset : chunk.offset + len(chunk) + 1]
        for chunk in chunks
        if len(chunk)
    ]
    offsets = np.zeros(len(column) + 1, dtype=np.int64)
    data = np.zeros(max(sum(int(bound[-1]) - int(bound[0]) for bound in bounds), 1), dtype=np.uint8)
    row, place = 0, 0
    for chunk, bound in zip(filter(len, chunks), bounds, strict=True):
        start, stop = int(bound[0]), int(bound[-1])
        np.add(bound[1:], np.int64(place - start), out=offsets[row + 1 : row + bound.size])
        if stop > start:
            data[place : place + stop - start] = np.frombuffer(chunk.buffers()[2], dtype=np.uint8)[start:stop]
        row, place = row + len(chunk), place + stop - start
    return _Texts(data, offsets)


def _sorted_order(texts: _Texts, rows: NDArray[np.int32]) -> NDArray[Any]:
    """Return the order of distinct texts by code point, which is that of their bytes."""
    keys = _sort_keys(texts, rows)
    order = np.argsort(keys)
    keys = keys[order]
    is_tied = np.zeros(order.size + 1, dtype=bool)
    np.equal(keys[1:], keys[:-1], out=is_tied[1:-1])
    tied = np.flatnonzero(is_tied[1:] | is_tied[:-1])
    if tied.size:  # these lie between the same others, in whatever order
        values = texts.take(rows[order[tied]])
        order[tied] = order[tied][pc.sort_indices(values).to_numpy()]
    return order


@numba.njit(cache=True, nogil=True)
def _sort_keys(texts: _Texts, rows: NDArray[np.int32]) -> NDArray[np.uint64]:
    """Return the first eight bytes of each text after the bytes that all of them begin with, as a number."""
    data, offsets = texts
    keys = np.zeros(rows.size, np.uint64)
    if rows.size == 0:
        return keys
    first = offsets[rows[0]]
    shared = offsets[rows[0] + 1] - first
    for row in rows:
        start = offsets[row]
        shared = min(shared, offsets[row + 1] - start)
        for k in range(shared):
            if data[start + k] != data[first + k]:
                shared = k
                break
    for i in range(rows.size):
        start, stop = offsets[rows[i]] + shared, offsets[rows[i] + 1]
        key = np.uint64(0)
        for k in range(8):
            key = (key << np.uint64(8)) | np.uint64(data[start + k] if start + k < stop else 0)
        keys[i] = key
    return keys


@numba.njit(cache=True, nogil=True)
def _find_first_rows(texts: _Texts, first_row: Codes, thread: int) -> None:
    """Write, for each row whose text is this thread's, the first row that has the same text."""
    data, offsets = texts
    low, high, one = np.uint64(0xFFFFFFFF), np.uint64(0xFFFFFFFF00000000), np.uint64(1)
    slots = np.zeros(1 << 12, np.uint64)  # the high half of a hash, and a row + 1; 0 where there is none
    last_slot = np.uint64(slots.size - 1)
    rows, hashes = np.empty(_BATCH, np.int64), np.empty(_BATCH, np.uint64)
    fetched = np.empty(_BATCH, np.uint8)
    n_found, row = 0, 0
    while row < first_row.size:
        size = 0
        while size < _BATCH and row < first_row.size:
            mixed = np.uint64(0xCBF29CE484222325)
            for k in range(offsets[row], offsets[row + 1]):
                mixed = (mixed ^ np.uint64(data[k])) * np.uint64(0x9E3779B97F4A7C15)
            mixed = (mixed ^ (mixed >> np.uint64(32))) * np.uint64(0xD6E8FEB86659FD93)
            mixed ^= mixed >> np.uint64(32)
            rows[size], hashes[size] = row, mixed
            size += np.int64(mixed & np.uint64(_THREADS - 1)) == thread
            row += 1
        if 2 * (n_found + size) > slots.size:
            old, slots = slots, np.zeros(4 * slots.size, np.uint64)
            last_slot = np.uint64(slots.size - 1)
            for there in old:
                if there != 0:
                    slot = (there >> np.uint64(32)) & last_slot
                    while slots[slot] != 0:
                        slot = (slot + one) & last_slot
                    slots[slot] = there
        for i in range(size):  # no row waits for another here, so that memory answers many at a time
            there = slots[(hashes[i] >> np.uint64(32)) & last_slot]
            fetched[i] = data[max(offsets[np.int64(there & low)] - 1, 0)]
        for i in range(size):
            this, start, tag = rows[i], offsets[rows[i]], hashes[i] & high
            length = offsets[this + 1] - start
            slot = (tag >> np.uint64(32)) & last_slot
            while True:
                there = slots[slot]
                if there == 0:
                    slots[slot] = tag | np.uint64(this + 1)
                    first_row[this] = this
                    n_found += 1
                    break
                other = np.int64(there & low) - 1
                if there & high == tag and offsets[other + 1] - offsets[other] == length:
                    k = 0
                    while k < length and data[start + k] == data[offsets[other] + k]:
                        k += 1
                    if k == length:
                        first_row[this] = other
                        break
                slot = (slot + one) & last_slot
