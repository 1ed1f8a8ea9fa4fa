"""Atoms against a dictionary of rows."""

from typing import Any

import numpy as np
import pytest

from faircrowd import make_fair
from faircrowd.errors import SolverError
from faircrowd.exact.hashing import mix
from faircrowd.fair.objective import make_gain
from faircrowd.fair.program import atoms
from faircrowd.fair.program.atoms import (
    Atoms,
    DecidedTasks,
    atom_hashes,
    collect,
    join,
    merge,
    order_by_group,
    sum_products,
)
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
    decided = DecidedTasks(np.ones((3, 3)), 2.0)
    mass = np.arange(200) / 4
    found = join(gains, group, mass, decided)
    assert rows_of(found) == summed(gains, group, mass)
    assert (np.diff(found.hashes.astype(object)) > 0).all()
    assert found.of_task is None
    assert found.decided is decided
    assert join(gains, group, mass).decided is None


def test_joined_atoms_are_joined_to_the_same() -> None:
    """Also if equal ones follow each other: these are not in order yet."""
    gains, group = some()
    once = join(gains, group, np.arange(200) / 4)
    twice = join(once.gains, once.group, once.mass)
    for found, wanted in zip(twice[:5], once[:5], strict=True):
        np.testing.assert_array_equal(found, wanted)
    doubled = join(
        *(np.repeat(rows, 2, axis=0) for rows in once[:1]), np.repeat(once.group, 2), np.repeat(once.mass, 2)
    )
    np.testing.assert_array_equal(doubled.gains, once.gains)
    np.testing.assert_array_equal(doubled.mass, 2 * once.mass)


@pytest.mark.parametrize("n_groups", [3, 1 << 16, (1 << 16) + 1])
def test_rows_in_the_order_of_groups(n_groups: int) -> None:
    group = np.random.default_rng(0).integers(0, n_groups, 500).astype(np.int32)
    group[7] = n_groups - 1
    assert order_by_group(group, n_groups).tolist() == sorted(range(500), key=lambda i: group[i])


def test_atoms_that_are_collected_and_a_sample_of_them() -> None:
    gains, group = some()
    problem, gain = read_posterior(gains, group), make_gain("accuracy", 3)
    every = rows_of(collect(problem, gain))
    assert every == summed(gains, group, np.ones(200)) == rows_of(collect(problem, gain, one_in=1))
    for one_in in (2, 3):
        found = collect(problem, gain, one_in=one_in)
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
    monkeypatch.setattr(atoms, "atom_hashes", lambda gains, group, salt=0: np.full(group.size, 9, dtype=np.uint64))


def test_different_tasks_of_one_hash_are_never_merged(monkeypatch: pytest.MonkeyPatch) -> None:
    same_hash(monkeypatch)
    gains = np.array([[0.5, 0.5], [0.5, 0.5], [0.25, 0.75], [0.25, 0.5], [0.25, 0.5], [0.5, 0.5], [0.5, 0.5]])
    group = np.array([0, 0, 0, 0, 1, 1, 1], dtype=np.int32)
    found = merge(gains, group, None)
    assert found.of_task.tolist() == [0, 0, 1, 2, 3, 4, 4]
    assert found.mass.tolist() == [2, 1, 1, 1, 2]
    np.testing.assert_array_equal(found.gains[found.of_task], gains)


@pytest.mark.parametrize("bad_salts", [1, 3])
def test_atoms_of_one_hash_are_hashed_again(bad_salts: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """With another salt, until all differ; what is merged is the same."""
    plain = atom_hashes

    def hashes(gains: np.ndarray, group: np.ndarray, salt: int = 0) -> np.ndarray:
        found = plain(gains, group, salt)
        return found % np.uint64(5) if salt < bad_salts else found

    gains, group = some()
    mass = np.arange(200) / 4
    monkeypatch.setattr(atoms, "atom_hashes", hashes)
    found = join(gains, group, mass)
    assert found.salt == bad_salts
    assert rows_of(found) == summed(gains, group, mass)
    np.testing.assert_array_equal(found.hashes, plain(found.gains, found.group, bad_salts))
    assert join(gains[:1], group[:1], mass[:1]).salt == 0


def test_salts_give_other_hashes() -> None:
    gains, group = some()
    every = [set(atom_hashes(gains, group, salt).tolist()) for salt in range(4)]
    assert len(set.union(*every)) == sum(map(len, every))


def test_the_last_two_of_several_hashes_may_not_be_equal(monkeypatch: pytest.MonkeyPatch) -> None:
    hashes = np.array([3, 5, 5], dtype=np.uint64)
    monkeypatch.setattr(atoms, "atom_hashes", lambda gains, group, salt=0: hashes + np.array([0, 0, salt], np.uint64))
    assert join(np.eye(3), np.zeros(3, dtype=np.int32), np.ones(3)).salt == 1


def test_hashes_that_never_differ_are_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    same_hash(monkeypatch)
    for gains in ([[0.5, 0.5], [0.25, 0.75]], [[0.5, 0.5], [0.25, 0.75], [0.125, 0.875]]):
        n = len(gains)
        with pytest.raises(SolverError, match="keep having the same hash"):
            join(np.array(gains), np.zeros(n, dtype=np.int32), np.ones(n))
    assert join(np.array([[0.5, 0.5]] * 2), np.zeros(2, dtype=np.int32), np.ones(2)).mass.tolist() == [2.0]


def colliding() -> np.ndarray:
    """Two posteriors of three classes that have the same hash: the last digits of one are chosen for it."""
    rng = np.random.default_rng(0)
    n = 1 << 18
    rows = np.stack([rng.uniform(0.05, 0.35, n), np.zeros(n), np.full(n, 0.6)], axis=1)
    rows[:, 1] = 0.4 - rows[:, 0]
    # The hash mixes the bits of one number after another: what the first two leave behind meets those of the third.
    bits = rows.view(np.uint64)
    start = int(np.uint64(0x9E3779B97F4A7C15))
    left = np.array([mix(np.uint64(start))] * n)
    for k in range(2):
        left = np.array([mix(key) for key in left ^ bits[:, k]], dtype=np.uint64)
    order = np.argsort(left, kind="stable")
    place = int(np.argmin(np.diff(left[order])))
    pair = rows[order[[place, place + 1]]]
    ends = left[order[place]] ^ left[order[place + 1]]
    pair.view(np.uint64)[1, 2] = pair.view(np.uint64)[0, 2] ^ ends
    return pair


def test_labels_of_a_crowd_with_two_posteriors_of_one_hash(monkeypatch: pytest.MonkeyPatch) -> None:
    """As those of a crowd whose posteriors differ in the last digit, in one piece and in several."""
    pair = colliding()
    group = np.zeros(2, dtype=np.int32)
    assert np.unique(atom_hashes(pair, group)).size == 1
    np.testing.assert_allclose(pair.sum(axis=1), 1.0, atol=1e-6)
    assert np.unique(atom_hashes(pair, group, 1)).size == 2
    rng = np.random.default_rng(1)
    others = rng.dirichlet(np.ones(3), 60)
    posterior = np.vstack([np.repeat(pair, 20, axis=0), others])
    groups = np.append(np.zeros(40, dtype=int), np.arange(60) % 3)
    near = posterior.copy()
    near[:20, 0] = np.nextafter(near[:20, 0], 1.0)
    for decision in ("deterministic", "randomized"):
        asked: dict[str, Any] = {"epsilon": 0.02, "decision": decision}
        found, wanted = make_fair(posterior, groups, **asked), make_fair(near, groups, **asked)
        np.testing.assert_array_equal(found.labels, wanted.labels)
        np.testing.assert_allclose(found.probabilities, wanted.probabilities, atol=1e-7)
        assert found.certificate.bound == pytest.approx(wanted.certificate.bound, abs=1e-9)
        with monkeypatch.context() as patched:
            patched.setattr("faircrowd.fair.tasks.problem._TASKS_PER_PIECE", 7)
            np.testing.assert_array_equal(make_fair(posterior, groups, **asked).labels, found.labels)


@pytest.mark.parametrize("n_atoms", [0, 1, 7, 13_107, 13_108, 30_001, 200_003])
@pytest.mark.parametrize("n_classes", [2, 3, 5])
def test_products_are_added_up_in_pieces_to_the_bits_of_one_sum(n_atoms: int, n_classes: int) -> None:
    rng = np.random.default_rng(n_atoms)
    parts, gains = rng.random((2, n_atoms, n_classes))
    weight = rng.random(n_atoms)
    assert sum_products(parts, weight, gains) == (parts * weight[:, None] * gains).sum()
    counts = rng.integers(0, 9, (n_atoms, n_classes))
    assert sum_products(counts, np.ones(1), gains) == (counts * gains).sum()
