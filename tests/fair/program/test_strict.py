"""Labels that keep epsilon exactly, against all of them."""

import itertools
from typing import Any

import numpy as np
import pytest

from faircrowd.fair.program import strict
from faircrowd.fair.program.atoms import Atoms
from faircrowd.fair.program.relaxed import Relaxed, solve_relaxed
from faircrowd.fair.program.strict import best_counts_of_free_atoms, strict_counts
from faircrowd.fair.rate_constraint import RateParity


def some(seed: int, n_classes: int = 2, masses: tuple[float, ...] = (1, 2, 1, 3, 2, 1)) -> tuple[Atoms, np.ndarray]:
    rng = np.random.default_rng(seed)
    group = np.array([0, 0, 1, 1, 0, 1], dtype=np.int32)
    gains = rng.dirichlet(np.ones(n_classes), 6)
    gains[:, -1] += 0.4 * group
    atoms = Atoms(gains, np.array(masses, dtype=float), group)
    return atoms, np.bincount(group, weights=atoms.mass)


def best_of_all(atoms: Atoms, mass: np.ndarray, epsilon: float) -> float:
    rows = [
        [np.array(row) for row in itertools.product(range(int(m) + 1), repeat=atoms.gains.shape[1]) if sum(row) == m]
        for m in atoms.mass
    ]
    best = -np.inf
    for chosen in itertools.product(*rows):
        counts = np.array(chosen)
        if gap(atoms, mass, counts) <= epsilon + 1e-12:
            best = max(best, (counts * atoms.gains).sum() / mass.sum())
    return float(best)


def gap(atoms: Atoms, mass: np.ndarray, counts: np.ndarray) -> float:
    totals = np.zeros((mass.size, counts.shape[1]))
    np.add.at(totals, atoms.group, counts)
    return float(np.ptp(totals / mass[:, None], axis=0).max())


def assert_best(found: strict.StrictCounts, atoms: Atoms, mass: np.ndarray, epsilon: float, best: float) -> None:
    assert gap(atoms, mass, found.counts) <= epsilon + 1e-9
    np.testing.assert_array_equal(found.counts.sum(axis=1), atoms.mass)
    assert found.counts.min() >= 0
    assert (found.counts * atoms.gains).sum() / mass.sum() == pytest.approx(best, abs=1e-9)
    assert found.bound == pytest.approx(best, abs=1e-8)


@pytest.mark.parametrize("first", [200, 6, 2, 1], ids=["all", "just all", "some", "one"])
@pytest.mark.parametrize("epsilon", [0.0, 0.1, 0.3])
def test_the_best_of_all_whole_counts(first: int, epsilon: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(strict, "_FIRST_OPEN_ATOMS", first)
    for seed in (1, 2):
        atoms, mass = some(seed)
        relaxed = solve_relaxed(atoms, mass, RateParity(epsilon))
        assert_best(
            strict_counts(atoms, mass, relaxed, RateParity(epsilon)),
            atoms,
            mass,
            epsilon,
            best_of_all(atoms, mass, epsilon),
        )


def test_three_classes(monkeypatch: pytest.MonkeyPatch) -> None:
    atoms, mass = some(3, 3, (1, 2, 1, 1, 1, 1))
    relaxed = solve_relaxed(atoms, mass, RateParity(0.2))
    best = best_of_all(atoms, mass, 0.2)
    for first in (200, 2):
        monkeypatch.setattr(strict, "_FIRST_OPEN_ATOMS", first)
        assert_best(strict_counts(atoms, mass, relaxed, RateParity(0.2)), atoms, mass, 0.2, best)


def test_without_time_all_tasks_get_the_label_that_gains_the_most() -> None:
    atoms, mass = some(1, 3)
    relaxed = solve_relaxed(atoms, mass, RateParity(0.1))
    label = int(np.argmax([(atoms.mass * atoms.gains[:, k]).sum() for k in range(3)]))
    found = strict_counts(atoms, mass, relaxed, RateParity(0.1), seconds=0.0)
    np.testing.assert_array_equal(found.counts, atoms.mass[:, None] * np.eye(3)[label])
    assert found.bound == relaxed.bound


def opened(
    monkeypatch: pytest.MonkeyPatch, answers: list[Any], atoms: Atoms, mass: np.ndarray, relaxed: Relaxed
) -> tuple[strict.StrictCounts, list[list[int]]]:
    """Solve with given answers of the program; return the solution and which atoms were open each time."""
    asked: list[list[int]] = []

    def program(*given: Any) -> Any:
        asked.append(np.flatnonzero(given[2]).tolist())
        assert 0 < given[5] <= 60
        return answers[len(asked) - 1]

    monkeypatch.setattr(strict, "best_counts_of_free_atoms", program)
    return strict_counts(atoms, mass, relaxed, RateParity(0.1)), asked


def spaced(n: int) -> tuple[Atoms, np.ndarray, np.ndarray]:
    """Atoms of margins 0, 1/64, 2/64, ... in another order, of one task each; and that order."""
    order = np.random.default_rng(0).permutation(n)
    gains = np.zeros((n, 2))
    gains[order, 0] = 1.0
    gains[order, 1] = 1.0 - np.arange(n) / 64
    return Atoms(gains, np.ones(n), np.arange(n, dtype=np.int32) % 2), np.array([n / 2, n / 2]), order


def losing(n: int, order: np.ndarray, atoms: list[int]) -> np.ndarray:
    """Counts with label 0, but for these atoms."""
    counts = np.tile([1, 0], (n, 1))
    counts[order[atoms]] = [0, 1]
    return counts


def test_atoms_are_let_in_until_no_other_can_gain(monkeypatch: pytest.MonkeyPatch) -> None:
    n = 40
    atoms, mass, order = spaced(n)
    relaxed = Relaxed(np.zeros((n, 2)), np.zeros((2, 2)), 1.0, 1.0, "given")
    monkeypatch.setattr(strict, "_FIRST_OPEN_ATOMS", 2)
    # Nothing fits: four times as many. Then a loss of 12/64: atoms up to that margin, 13 of them, at least twice as
    # many as before. Then one of 10/64, within the 16 that are open: nothing is left to gain.
    answers = [None, (losing(n, order, [5, 7]), 0.5), (losing(n, order, [10]), 0.75)]
    found, asked = opened(monkeypatch, answers, atoms, mass, relaxed)
    assert asked == [sorted(order[:size].tolist()) for size in (2, 8, 16)]
    np.testing.assert_array_equal(found.counts, answers[2][0])
    assert found.bound == 1 - 10 / 64 / n  # not below the value
    # A loss of 20/64 needs 21 atoms, more than twice 8.
    answers = [None, (losing(n, order, [20]), 0.5), (losing(n, order, [20]), 2.0)]
    found, asked = opened(monkeypatch, answers, atoms, mass, relaxed)
    assert [len(rows) for rows in asked] == [2, 8, 21]
    assert found.bound == 1.0  # not above the randomized bound
    # A loss as large as a margin just outside: it must be let in; and all atoms are the last.
    answers = [(losing(n, order, [2]), 0.9), (losing(n, order, [39]), 0.9), (losing(n, order, [3]), 0.999)]
    found, asked = opened(monkeypatch, answers, atoms, mass, relaxed)
    assert [len(rows) for rows in asked] == [2, 4, 40]
    assert found.bound == 0.999


def test_no_solution_with_all_atoms_open_leaves_the_best_so_far(monkeypatch: pytest.MonkeyPatch) -> None:
    n = 12
    atoms, mass, _ = spaced(n)
    relaxed = Relaxed(np.zeros((n, 2)), np.zeros((2, 2)), 1.0, 1.0, "given")
    monkeypatch.setattr(strict, "_FIRST_OPEN_ATOMS", 4)
    found, asked = opened(monkeypatch, [None, None], atoms, mass, relaxed)
    assert [len(rows) for rows in asked] == [4, 12]
    np.testing.assert_array_equal(found.counts, np.tile([1, 0], (n, 1)))  # one label for all
    # One that is better than a single label is kept when time, or the solver, gives up later.
    flat = Atoms(np.array([[1.0, 0.0], [0.0, 1.0]] * 6), np.ones(n), atoms.group)
    mixed = np.array([[1, 0], [0, 1]] * 5 + [[1, 0], [1, 0]])
    found, asked = opened(monkeypatch, [(mixed, 0.95), None], flat, mass, relaxed)
    assert [len(rows) for rows in asked] == [4, 12]
    np.testing.assert_array_equal(found.counts, mixed)
    assert found.bound == 1.0
    worse = np.array([[0, 1], [1, 0]] * 6)
    found, _ = opened(monkeypatch, [(worse, 0.95), None], flat, mass, relaxed)
    assert gap(flat, mass, found.counts) == 0


def test_a_program_with_closed_atoms() -> None:
    """They keep their best label, and count."""
    atoms, mass = some(2)
    best = atoms.gains.argmax(axis=1)
    free = np.array([True, True, False, True, False, True])
    start = np.rint(atoms.mass[:, None] * np.eye(2)[best]).astype(np.int64)
    found = best_counts_of_free_atoms(atoms, mass, free, start, RateParity(0.3), 10.0)
    assert found is not None
    counts, bound = found
    closed = ~free
    np.testing.assert_array_equal(counts[closed], (atoms.mass[:, None] * np.eye(2)[best])[closed])
    assert gap(atoms, mass, counts) <= 0.3 + 1e-9
    value = (counts * atoms.gains).sum() / mass.sum()
    assert bound == pytest.approx(value, abs=1e-8)
    dear = np.where(np.eye(2)[best].astype(bool) | free[:, None], atoms.gains, -50.0)
    assert value == pytest.approx(best_of_all(atoms._replace(gains=dear), mass, 0.3), abs=1e-9)
    shut = np.zeros(6, dtype=bool)
    shut[0] = True
    apart = atoms._replace(gains=np.where(atoms.group[:, None] == [0, 1], 1.0, 0.0))
    start = np.rint(atoms.mass[:, None] * np.eye(2)[apart.gains.argmax(axis=1)]).astype(np.int64)
    assert best_counts_of_free_atoms(apart, mass, shut, start, RateParity(0.1), 10.0) is None
