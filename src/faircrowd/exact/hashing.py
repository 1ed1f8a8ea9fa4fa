"""Seeded hashes of task ids: a number for each id that depends on the id and a seed alone.

Ties between tasks are broken by these numbers, and random decisions are drawn from them, so that neither depends on
the order of rows, the process, or Python's own hash.
"""

from collections.abc import Callable
from typing import Any, Protocol, Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from faircrowd._kernels import inner_kernel, kernel

__all__ = ["Ids", "draw", "mix", "task_keys", "uniforms"]

_ZERO = ord("0")


class Ids(Protocol):
    """Task ids that are looked up by number; :class:`~faircrowd.votes.Vocabulary` is one implementation."""

    @property
    def is_mixed(self) -> bool:
        """Whether ids of several types occur."""

    @property
    def values(self) -> Any:
        """The ids as an Arrow array."""

    def take(self, codes: NDArray[np.int64]) -> Self:
        """Return the ids with these numbers."""

    def to_list(self) -> list[Any]:
        """Return the ids as Python values."""

    def __len__(self) -> int:
        """Return the number of ids."""


def task_keys(tasks: Ids, codes: NDArray[np.int64], random_state: int) -> NDArray[np.uint64]:
    """Return a 64-bit hash for each of the tasks with these numbers, from the text of its id and a seed.

    An id is hashed as text, so that the integer 7 and the text "7" have the same hash on every engine.
    """
    chosen = tasks.take(codes)
    keys, seed = np.empty(len(chosen), dtype=np.uint64), np.uint64(random_state % 2**64)
    if tasks.is_mixed:
        # Where types are mixed, 2 and "2" are two tasks.
        texts = pa.array([_text(value) for value in chosen.to_list()], type=pa.large_string())
    elif pa.types.is_int64(chosen.values.type) and len(chosen) and (numbers := chosen.values.to_numpy()).min() >= 0:
        _hash_numbers(numbers, seed, keys)
        return keys
    else:
        is_bytes = pa.types.is_binary(chosen.values.type) or pa.types.is_large_binary(chosen.values.type)
        texts = chosen.values.cast(pa.large_binary() if is_bytes else pa.large_string())
    if len(texts) == 0:
        return keys
    offsets = np.frombuffer(texts.buffers()[1], dtype=np.int64)[texts.offset : texts.offset + len(texts) + 1]
    data = texts.buffers()[2]
    characters = np.frombuffer(data, dtype=np.uint8) if data is not None else np.empty(0, dtype=np.uint8)
    _hash_texts(offsets, characters, seed, keys)
    return keys


def _text(value: object) -> str:
    return value if isinstance(value, str) else f"{type(value).__name__} {value}"


def uniforms(keys: NDArray[np.uint64]) -> NDArray[np.float64]:
    """Return a number in [0, 1) for each hash, with 53 random bits."""
    return np.asarray((keys >> np.uint64(11)).astype(np.float64) * 2.0**-53)


def draw(chances: NDArray[np.float64], hashes: Callable[[NDArray[np.int64]], NDArray[np.uint64]]) -> NDArray[np.int32]:
    """Draw a class for each task with these probabilities; ``hashes`` returns the hashes of the tasks of some rows."""
    classes: NDArray[np.int32] = np.argmax(chances, axis=1).astype(np.int32)
    unsure = np.flatnonzero(chances.max(axis=1) < 1.0)
    u = uniforms(hashes(unsure))
    steps = np.cumsum(chances[unsure], axis=1)
    classes[unsure] = np.minimum((u[:, None] >= steps).sum(axis=1), chances.shape[1] - 1)
    return classes


@kernel
def mix(x: np.uint64) -> np.uint64:
    """Mix the bits of a 64-bit number (the finaliser of splitmix64)."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


@inner_kernel
def _add(key: np.uint64, character: np.uint64) -> np.uint64:
    return (key ^ np.uint64(character)) * np.uint64(0x100000001B3)  # FNV-1a


@kernel
def _hash_texts(
    offsets: NDArray[np.int64], characters: NDArray[np.uint8], seed: np.uint64, keys: NDArray[np.uint64]
) -> None:
    start = mix(seed + np.uint64(0x9E3779B97F4A7C15))
    for i in range(keys.size):
        key = np.uint64(0xCBF29CE484222325) ^ start
        for j in range(offsets[i], offsets[i + 1]):
            key = _add(key, characters[j])
        keys[i] = mix(key + start)


@kernel
def _hash_numbers(numbers: NDArray[np.int64], seed: np.uint64, keys: NDArray[np.uint64]) -> None:
    """Hash the digits of integers; the hash of all digits but the last two is reused while these stay the same."""
    start = mix(seed + np.uint64(0x9E3779B97F4A7C15))
    empty = np.uint64(0xCBF29CE484222325) ^ start
    ten, zero = np.uint64(10), np.uint64(_ZERO)
    digits = np.empty(20, np.uint8)
    last, shared = np.uint64(0), empty
    for i in range(keys.size):
        number = np.uint64(numbers[i])
        hundreds = number // np.uint64(100)
        if hundreds != last:
            last, rest, n = hundreds, hundreds, 0
            while rest:
                digits[n] = zero + rest % ten
                rest //= ten
                n += 1
            shared = empty
            for j in range(n - 1, -1, -1):
                shared = _add(shared, digits[j])
        key = _add(shared, zero + number // ten % ten) if number >= ten else shared
        keys[i] = mix(_add(key, zero + number % ten) + start)
