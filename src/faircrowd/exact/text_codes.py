"""Long columns of texts to codes: a hash table per thread, and a sort by the bytes that follow what all texts share.

Arrow's dictionaries wait for memory several times in each row of a column with many distinct texts. Here the places of
a few hundred rows are fetched together before the rows are looked at, by two threads that share the texts by their
hash. Codes are places in the sorted vocabulary, so neither the threads nor the order of rows can be seen in them.
"""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from faircrowd._kernels import kernel
from faircrowd._threads import available_threads

__all__ = ["encode_texts", "read_only", "text_memory"]

_THREADS = 2
"""A power of two. Each thread hashes every text, so that more of them would gain little; fewer take turns."""

_BATCH = 512
"""Rows whose places in memory are fetched together."""


@dataclass
class _Found:
    """The distinct texts that a thread has found, numbered as they came.

    The arrays may be longer than what is used of them. They are made by numpy, not by the kernel, as numpy asks for
    large pages of memory.

    Attributes
    ----------
    slots : ndarray of uint64
        The hash table: the high half of a text's hash, and the text's number + 1; 0 where there is none.
    data : ndarray of uint8
    offsets : ndarray of int64
        Text ``i`` is ``data[offsets[i]:offsets[i + 1]]``.
    count : int
    """

    slots: NDArray[np.uint64] = field(default_factory=lambda: np.zeros(1 << 12, dtype=np.uint64))
    data: NDArray[np.uint8] = field(default_factory=lambda: np.empty(1 << 14, dtype=np.uint8))
    offsets: NDArray[np.int64] = field(default_factory=lambda: np.zeros(1 << 11, dtype=np.int64))
    count: int = 0

    @property
    def n_bytes(self) -> int:
        """Number of bytes of all texts."""
        return int(self.offsets[self.count])

    def grow(self) -> None:
        """Make room for more texts in the array that has too little."""
        if _is_full(self.count, self.slots):
            old, self.slots = self.slots, np.zeros(2 * self.slots.size, dtype=np.uint64)
            _move_slots(old, self.slots)
        elif self.count + _BATCH >= self.offsets.size:
            self.offsets = np.concatenate([self.offsets, np.empty_like(self.offsets)])
        else:
            self.data = np.concatenate([self.data, np.empty_like(self.data)])


def encode_texts(column: pa.Array | pa.ChunkedArray) -> tuple[NDArray[np.int32], pa.Array]:
    """Return the codes of a column of type string or large_string, -1 where a text is missing, and the sorted texts.

    Examples
    --------
    >>> codes, texts = encode_texts(pa.array(["b", None, "a", "b"]))
    >>> codes, texts.to_pylist()
    (array([ 1, -1,  0,  1], dtype=int32), ['a', 'b'])
    """
    kind, is_valid = column.type, None
    if column.null_count:
        is_valid = column.is_valid().to_numpy(zero_copy_only=False)
        column = column.drop_null()
    codes = np.empty(len(column), dtype=np.int32)
    with ThreadPoolExecutor(min(available_threads(), _THREADS)) as pool:
        found = list(pool.map(partial(_find_texts, column, codes), range(_THREADS)))
    texts, counts = _joined(found), [some.count for some in found]
    del found
    order = _sorted_order(texts)
    values = texts.take(pa.array(order))
    rank = np.empty(order.size, dtype=np.int32)
    rank[order] = np.arange(order.size, dtype=np.int32)
    place = np.empty((max(counts), _THREADS), dtype=np.int32)
    for thread, start in enumerate(np.cumsum([0, *counts[:-1]])):
        place[: counts[thread], thread] = rank[start : start + counts[thread]]
    np.take(place.ravel(), codes, out=codes, mode="clip")  # the other modes copy what they write to
    if is_valid is not None:
        known, codes = codes, np.full(is_valid.size, -1, dtype=np.int32)
        codes[is_valid] = known
    return codes, values.cast(kind) if values.nbytes < 2**31 else values


def text_memory(texts: pa.Array) -> tuple[NDArray[np.uint8], NDArray[Any]]:
    """Return the bytes of an array of type string or large_string, and where in them each text starts and ends."""
    _, offsets, data = texts.buffers()
    width = np.int32 if pa.types.is_string(texts.type) else np.int64
    if offsets is None or not len(texts):
        return read_only(np.empty(0, dtype=np.uint8)), read_only(np.zeros(1, dtype=width))
    of_texts = np.frombuffer(offsets, dtype=width)[texts.offset : texts.offset + len(texts) + 1]
    characters = np.empty(0, dtype=np.uint8) if data is None else np.frombuffer(data, dtype=np.uint8)
    return read_only(characters), read_only(of_texts)


def read_only(values: NDArray[Any]) -> NDArray[Any]:
    """Return an array that may not be written to: one compiled kernel serves those that may and those that may not."""
    values = values.view()
    values.flags.writeable = False
    return values


def _find_texts(column: pa.Array | pa.ChunkedArray, codes: NDArray[np.int32], thread: int) -> _Found:
    """Return the distinct texts of a thread; write ``number * threads + thread`` to the codes of their rows."""
    found, start = _Found(), 0
    for chunk in column.chunks if isinstance(column, pa.ChunkedArray) else [column]:
        characters, bounds = text_memory(chunk)
        of_chunk, row = codes[start : start + len(chunk)], 0
        while row < len(chunk):
            memory = found.slots, found.data, found.offsets, found.count
            row, found.count = _number_texts(characters, bounds, row, thread, *memory, of_chunk)
            if row < len(chunk):
                found.grow()
        start += len(chunk)
    found.slots = np.empty(0, dtype=np.uint64)  # the largest array, and no longer needed
    return found


def _joined(found: list[_Found]) -> pa.LargeStringArray:
    """Return the texts of all threads, one thread after the other."""
    offsets, before = [np.zeros(1, dtype=np.int64)], 0
    for some in found:
        offsets.append(some.offsets[1 : some.count + 1] + before)
        before += some.n_bytes
    data = np.concatenate([some.data[: some.n_bytes] for some in found])
    memory = pa.py_buffer(np.concatenate(offsets)), pa.py_buffer(data)
    return pa.LargeStringArray.from_buffers(sum(some.count for some in found), *memory)


def _sorted_order(texts: pa.LargeStringArray) -> NDArray[Any]:
    """Return the order of distinct texts by code point, which is that of their bytes."""
    keys = _sort_keys(*text_memory(texts))
    order = np.argsort(keys)
    keys = keys[order]
    is_tied = np.zeros(order.size + 1, dtype=bool)
    np.equal(keys[1:], keys[:-1], out=is_tied[1:-1])
    tied = np.flatnonzero(is_tied[1:] | is_tied[:-1])
    if tied.size:  # those with one key lie together, and so keep their places when all that are tied are sorted
        order[tied] = order[tied][pc.sort_indices(texts.take(pa.array(order[tied]))).to_numpy()]
    return order


@kernel
def _sort_keys(data: NDArray[np.uint8], offsets: NDArray[np.int64]) -> NDArray[np.uint64]:
    """Return the first eight bytes of each text after the bytes that all of them begin with, as a number."""
    keys = np.zeros(offsets.size - 1, np.uint64)
    shared = offsets[1] - offsets[0] if keys.size else 0
    for i in range(keys.size):
        start = offsets[i]
        shared = min(shared, offsets[i + 1] - start)
        for k in range(shared):
            if data[start + k] != data[k]:  # the first text starts at 0
                shared = k
                break
    for i in range(keys.size):
        start, stop = offsets[i] + shared, offsets[i + 1]
        for k in range(8):
            keys[i] = (keys[i] << np.uint64(8)) | np.uint64(data[start + k] if start + k < stop else 0)
    return keys


@kernel
def _is_full(count: int, slots: NDArray[np.uint64]) -> bool:
    """Return whether a hash table would be half full after another batch."""
    return 2 * (count + _BATCH) > slots.size


@kernel
def _move_slots(old: NDArray[np.uint64], new: NDArray[np.uint64]) -> None:
    """Move the content of a hash table to a larger one, which is empty."""
    for there in old:
        if there != 0:
            slot = (there >> np.uint64(32)) & np.uint64(new.size - 1)
            while new[slot] != 0:
                slot = (slot + np.uint64(1)) & np.uint64(new.size - 1)
            new[slot] = there


@kernel
def _number_texts(
    characters: NDArray[np.uint8],
    bounds: NDArray[Any],
    row: int,
    thread: int,
    slots: NDArray[np.uint64],
    data: NDArray[np.uint8],
    offsets: NDArray[np.int64],
    count: int,
    codes: NDArray[np.int32],
) -> tuple[int, int]:
    """Give numbers to the texts of a thread from a row on; return the row where room ran out, and the new count."""
    low, half, last_slot = np.uint64(0xFFFFFFFF), np.uint64(32), np.uint64(slots.size - 1)
    rows, hashes, fetched = np.empty(_BATCH, np.int64), np.empty(_BATCH, np.uint64), np.empty(_BATCH, np.uint8)
    while row < codes.size:
        begin, size, n_bytes = row, 0, 0
        while size < _BATCH and row < codes.size:
            mixed = np.uint64(0xCBF29CE484222325)
            for k in range(bounds[row], bounds[row + 1]):
                mixed = (mixed ^ np.uint64(characters[k])) * np.uint64(0x9E3779B97F4A7C15)
            mixed = (mixed ^ (mixed >> half)) * np.uint64(0xD6E8FEB86659FD93)
            mixed ^= mixed >> half
            rows[size], hashes[size] = row, mixed
            is_own = np.int64(mixed & np.uint64(_THREADS - 1)) == thread
            size += is_own
            n_bytes += is_own * (bounds[row + 1] - bounds[row])
            row += 1
        if _is_full(count, slots) or count + _BATCH >= offsets.size or offsets[count] + n_bytes >= data.size:
            return begin, count
        for i in range(size):  # no row waits for another here, so that memory answers many at a time
            there = slots[(hashes[i] >> half) & last_slot]
            fetched[i] = data[max(offsets[np.int64(there & low)] - 1, 0)]
        for i in range(size):
            start = bounds[rows[i]]
            length = bounds[rows[i] + 1] - start
            tag = hashes[i] >> half
            slot = tag & last_slot
            while True:
                there = slots[slot]
                number = np.int64(there & low) - 1
                if there == 0:
                    number = np.int64(count)
                    count += 1
                    slots[slot] = (tag << half) | np.uint64(count)
                    for k in range(length):
                        data[offsets[number] + k] = characters[start + k]
                    offsets[count] = offsets[number] + length
                    break
                if there >> half == tag and offsets[number + 1] - offsets[number] == length:
                    k = 0
                    while k < length and characters[start + k] == data[offsets[number] + k]:
                        k += 1
                    if k == length:
                        break
                slot = (slot + np.uint64(1)) & last_slot
            codes[rows[i]] = number * _THREADS + thread
    return row, count
