"""Seeded hashes of ids, against the arithmetic of FNV-1a and splitmix64 in plain integers."""

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from faircrowd.exact.hashing import draw, mix, task_keys, uniforms
from faircrowd.votes import Vocabulary

ALL = 2**64 - 1


def mixed(x: int) -> int:
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9 & ALL
    x = (x ^ (x >> 27)) * 0x94D049BB133111EB & ALL
    return x ^ (x >> 31)


def hashed(text: bytes, seed: int) -> int:
    start = mixed((seed + 0x9E3779B97F4A7C15) & ALL)
    key = 0xCBF29CE484222325 ^ start
    for character in text:
        key = (key ^ character) * 0x100000001B3 & ALL
    return mixed((key + start) & ALL)


def keys(values: list[Any], seed: int) -> list[int]:
    vocabulary = Vocabulary.of(values)
    return task_keys(vocabulary, np.arange(len(values)), seed).tolist()


@pytest.mark.filterwarnings("ignore:overflow")
def test_mixing_is_splitmix64() -> None:
    """The first numbers of its generator from seed 1234567, as published with it."""
    state, found = 1234567, []
    for _ in range(3):
        state = (state + 0x9E3779B97F4A7C15) & ALL
        found.append(int(mix(np.uint64(state))))
        assert found[-1] == mixed(state)
    assert found == [6457827717110365317, 3203168211198807973, 9817491932198370423]


@pytest.mark.filterwarnings("ignore:overflow")
@pytest.mark.parametrize("seed", [0, 7, 2**64 - 1, 2**64 + 7])
@pytest.mark.parametrize(
    "numbers",
    [
        [0, 1, 9, 10, 11, 99, 100, 101, 999, 1000, 2**63 - 1],
        [199, 200, 5, 205, 7, 12, 20012, 20013],
        [3, -1, 100],
    ],
    ids=["rising", "mixed", "negative"],
)
def test_an_integer_is_hashed_as_its_text(numbers: list[int], seed: int) -> None:
    wanted = [hashed(str(number).encode(), seed % 2**64) for number in numbers]
    assert keys(numbers, seed) == wanted
    assert keys([str(number) for number in numbers], seed) == wanted


@pytest.mark.filterwarnings("ignore:overflow")
def test_texts_bytes_and_mixed_ids() -> None:
    texts = ["a", "b", "", "ä", "task 17"]
    assert keys(texts, 3) == [hashed(text.encode(), 3) for text in texts]
    for kind in (pa.binary(), pa.large_binary()):
        raw = Vocabulary(pa.array([b"a", b"\xff", b""], type=kind))
        assert task_keys(raw, np.array([2, 1, 0]), 3).tolist() == [hashed(b, 3) for b in (b"", b"\xff", b"a")]
    assert keys([2, "2", 0.5], 3) == [hashed(text, 3) for text in (b"int 2", b"2", b"float 0.5")]
    assert keys([""], 3) == [hashed(b"", 3)]


@pytest.mark.parametrize("values", [["a", "b"], [1, 2], [-1, 2], [1, "a"]])
def test_no_tasks_have_no_hashes(values: list[Any]) -> None:
    assert task_keys(Vocabulary.of(values), np.empty(0, dtype=np.int64), 1).tolist() == []


def test_uniforms_have_53_bits() -> None:
    given = np.array([0, 2**11 - 1, 2**11, 2**63, ALL], dtype=np.uint64)
    assert uniforms(given).tolist() == [0.0, 0.0, 2.0**-53, 0.5, 1 - 2.0**-53]


def test_classes_are_drawn_by_their_probabilities() -> None:
    chances = np.array([[0.0, 1.0, 0.0], *[[0.25, 0.5, 0.25]] * 5, [0.5, 0.0, 0.5], [0.5, 0.25, 0.125]])
    u = [0.0, 0.25 - 2.0**-53, 0.25, 0.75, 1 - 2.0**-53, 0.5, 1 - 2.0**-53]
    asked = []

    def of(rows: np.ndarray) -> np.ndarray:
        asked.extend(rows.tolist())
        return np.array([int(x * 2**53) << 11 for x in u], dtype=np.uint64)

    drawn = draw(chances, of)
    assert asked == [1, 2, 3, 4, 5, 6, 7]  # no hash is computed for a task with a certain label
    assert drawn.tolist() == [1, 0, 0, 1, 2, 2, 2, 2]
    assert drawn.dtype == np.int32
