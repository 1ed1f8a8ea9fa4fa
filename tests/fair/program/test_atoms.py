"""Atoms against a dictionary of rows."""

from typing import Any

import numpy as np
import pytest

from faircrowd.errors import FaircrowdError
from faircrowd.fair.objective import make_gain
from faircrowd.fair.program import atoms
from faircrowd.fair.program.atoms import Atoms, Rest, atom_hashes, collect, joined, merge
from faircrowd.fair.tasks.read_posterior import read_posterior


def some(n: int = 200) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(n)
    return rng.multinomial(4, [0.5, 0.3, 0.2], n) / 4, rng.integers(0, 3, n).astype(np.int32)


def rows_of(found: Atoms) -> dict[Any, float]:
    rows = [(int(a), *row) for a, row in zip(found.group, found.gains.tolist(), strict=True)]
    assert len(set(rows)) == len(rows)
    return dict(zip(rows, found.mass.tolist(), strict=True))


def summed(gains: np.ndarray, group: np.ndarray, weights: Any) -> dict[Any, float]:
    sums: dict[Any, float] = {}
    for row, a, weight in zip(gains.tolist(), group.tolist(), weights, strict=True):
        sums[a, *row] = sums.get((a, *row), 0.0) + weight
    return sums


@pytest.mark.parametrize("weights", [None, np.arange(200) % 8 + 0.5], ids=["equal", "weights"])
def test_equal_tasks_of_a_group_are_one_atom(weights: Any) -> None:
    gains, group = some()
    found = merge(gains, group, weights)
    assert rows_of(found) == summed(gains, group, np.ones(200) if weights is None else weights)
    np.testing.assert_array_equal(found.gains[found.of_task], gains)
    np.testing.assert_array_equal(found.group[found.of_task], group)
    np.testing.assert_array_equal(found.hashes, atom_hashes(found.gains, found.group))
    assert (np.diff(found.hashes.astype(object)) > 0).all()


def test_pieces_are_joined() -> None:
    gains, group = some()
    rest = Rest(np.ones((3, 3)), 2.0)
    mass = np.arange(200) / 4
    found = joined(gains, group, mass, rest)
    assert rows_of(found) == summed(gains, group, mass)
    assert (np.diff(found.hashes.astype(object)) > 0).all()
    assert found.of_task is None
    assert found.rest is rest
    assert joined(gains, group, mass).rest is None


def test_atoms_that_are_collected_and_a_sample_of_them() -> None:
    gains, group = some()
    problem, gain = read_posterior(gains, group), make_gain("accuracy", 3)
    every = rows_of(collect(problem, gain))
    assert every == summed(gains, group, np.ones(200)) == rows_of(collect(problem, gain, 1))
    for one_in in (2, 3):
        found = collect(problem, gain, one_in)
        assert (found.hashes % np.uint64(one_in) == 0).all()
        kept = rows_of(found)
        assert 0 < len(kept) < len(every)
        chosen = {
            row for row in every if atom_hashes(np.array([row[1:]]), np.array([row[0]], np.int32))[0] % one_in == 0
        }
        assert kept == {row: every[row] for row in chosen}


def test_a_hash_depends_on_group_and_gains_alone() -> None:
    gains, group = some()
    hashes = atom_hashes(gains, group)
    np.testing.assert_array_equal(atom_hashes(gains[::-1], group[::-1]), hashes[::-1])
    np.testing.assert_array_equal(atom_hashes(np.asfortranarray(gains), group), hashes)
    assert np.unique(hashes).size == len(summed(gains, group, np.ones(200)))
    # Solvers see atoms in this order: it is the same in every version.
    assert atom_hashes(np.array([[0.25, 0.75]]), np.array([1], np.int32)).tolist() == [1885711346610379115]


def same_hash(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(atoms, "atom_hashes", lambda gains, group: np.full(group.size, 9, dtype=np.uint64))


def test_different_tasks_of_one_hash_are_never_merged(monkeypatch: pytest.MonkeyPatch) -> None:
    same_hash(monkeypatch)
    gains = np.array([[0.5, 0.5], [0.5, 0.5], [0.25, 0.75], [0.25, 0.5], [0.25, 0.5], [0.5, 0.5], [0.5, 0.5]])
    group = np.array([0, 0, 0, 0, 1, 1, 1], dtype=np.int32)
    found = merge(gains, group, None)
    assert found.of_task.tolist() == [0, 0, 1, 2, 3, 4, 4]
    assert found.mass.tolist() == [2, 1, 1, 1, 2]
    np.testing.assert_array_equal(found.gains[found.of_task], gains)


def test_one_hash_of_different_tasks_is_refused_where_labels_go_by_it(monkeypatch: pytest.MonkeyPatch) -> None:
    same_hash(monkeypatch)
    for gains in ([[0.5, 0.5], [0.25, 0.75]], [[0.5, 0.5], [0.25, 0.75], [0.125, 0.875]]):
        n = len(gains)
        with pytest.raises(FaircrowdError, match="different posteriors have one hash; change any of them"):
            joined(np.array(gains), np.zeros(n, dtype=np.int32), np.ones(n))
    assert joined(np.array([[0.5, 0.5]] * 2), np.zeros(2, dtype=np.int32), np.ones(2)).mass.tolist() == [2.0]


def test_the_last_two_of_several_hashes_may_not_be_equal(monkeypatch: pytest.MonkeyPatch) -> None:
    hashes = np.array([3, 5, 5], dtype=np.uint64)
    monkeypatch.setattr(atoms, "atom_hashes", lambda gains, group: hashes)
    with pytest.raises(FaircrowdError, match="one hash"):
        joined(np.eye(3), np.zeros(3, dtype=np.int32), np.ones(3))
