"""Moves of tasks between labels against all labellings, and against a linear program that knows no prices."""

import itertools

import numpy as np
import pytest
from scipy.optimize import linprog

from faircrowd.fair.program import least_loss_moves
from faircrowd.fair.program.least_loss_moves import move_to_totals


def start(gains: np.ndarray, mass: np.ndarray, prices: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the best counts under prices, and the margins of the best labels."""
    scores = gains - prices
    counts = np.zeros(gains.shape, dtype=np.int64)
    counts[np.arange(mass.size), scores.argmax(axis=1)] = mass
    ranked = np.sort(scores, axis=1)
    return counts, ranked[:, -1] - ranked[:, -2]


def moved(
    gains: np.ndarray, counts: np.ndarray, wanted: np.ndarray, prices: np.ndarray, margin: np.ndarray
) -> np.ndarray | None:
    """Return the counts after the moves, with atoms of another group between those of the group; None if none exist."""
    n_atoms, n_classes = gains.shape
    members = 2 * np.arange(n_atoms)
    all_gains, all_counts = np.full((2 * n_atoms, n_classes), 0.5), np.ones((2 * n_atoms, n_classes), dtype=np.int64)
    all_margins = np.zeros(2 * n_atoms)
    all_gains[members], all_counts[members], all_margins[members] = gains, counts, margin
    before = all_counts.copy()
    is_found = move_to_totals(all_gains, all_counts, members, counts.sum(axis=0), wanted, prices, all_margins)
    changed = np.flatnonzero((all_counts != before).any(axis=1))
    assert np.isin(changed, members if is_found else []).all()
    return all_counts[members] if is_found else None


def best_by_program(gains: np.ndarray, mass: np.ndarray, wanted: np.ndarray) -> float:
    n_atoms, n_classes = gains.shape
    of_atom = np.kron(np.eye(n_atoms), np.ones(n_classes))
    of_class = np.kron(np.ones(n_atoms), np.eye(n_classes))
    found = linprog(-gains.ravel(), A_eq=np.vstack([of_atom, of_class]), b_eq=np.concatenate([mass, wanted]))
    return float(-found.fun)


def all_counts(size: int, n_classes: int) -> list[tuple[int, ...]]:
    return [row for row in itertools.product(range(size + 1), repeat=n_classes) if sum(row) == size]


@pytest.mark.parametrize("seed", range(5))
def test_no_counts_gain_more(seed: int) -> None:
    rng = np.random.default_rng(seed)
    mass = np.array([2, 1, 3])
    gains, prices = rng.uniform(size=(3, 3)), rng.uniform(-0.3, 0.3, 3)
    counts, margin = start(gains, mass, prices)
    for wanted in all_counts(6, 3):
        found = moved(gains, counts, np.array(wanted), prices, margin)
        assert found is not None
        assert found.min() >= 0
        assert found.sum(axis=1).tolist() == mass.tolist()
        assert found.sum(axis=0).tolist() == list(wanted)
        rivals = itertools.product(*(all_counts(int(m), 3) for m in mass))
        best = max((gains * rows).sum() for rows in map(np.array, rivals) if rows.sum(axis=0).tolist() == list(wanted))
        assert (gains * found).sum() == pytest.approx(best, abs=1e-12)


@pytest.mark.parametrize("n_classes", [2, 3, 6])
@pytest.mark.parametrize("few", [10, 60, 1000])
def test_many_atoms_as_by_a_linear_program(n_classes: int, few: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where the nearest atoms alone cannot show the optimum."""
    monkeypatch.setattr(least_loss_moves, "_FEW_ATOMS", few)
    rng = np.random.default_rng(n_classes)
    gains, mass = rng.dirichlet(np.ones(n_classes), 80), rng.integers(1, 4, 80)
    prices = rng.uniform(-0.2, 0.2, n_classes)
    counts, margin = start(gains, mass, prices)
    for n_moved in (1, 3, 25):
        wanted = counts.sum(axis=0)
        for _ in range(n_moved):
            source = rng.choice(np.flatnonzero(wanted > 0))
            wanted[source] -= 1
            wanted[rng.integers(n_classes)] += 1
        found = moved(gains, counts, wanted, prices, margin)
        assert found is not None
        assert found.sum(axis=0).tolist() == wanted.tolist()
        assert found.sum(axis=1).tolist() == mass.tolist()
        assert (gains * found).sum() == pytest.approx(best_by_program(gains, mass, wanted), abs=1e-9)


def test_tasks_go_in_chains() -> None:
    """From the first label to the third it is cheaper over the second: one task to it, and another one from it."""
    gains = np.array([[0.5, 0.49, 0.0], [0.0, 0.5, 0.48]])
    counts, margin = start(gains, np.array([4, 5]), np.zeros(3))
    found = moved(gains, counts, np.array([2, 5, 2]), np.zeros(3), margin)
    assert found is not None
    assert found.tolist() == [[2, 2, 0], [0, 3, 2]]


def test_there_may_be_no_such_counts() -> None:
    gains, counts = np.zeros((2, 2)), np.array([[2, 0], [0, 1]])
    for wanted in ([-1, 4], [1, 1], [3, 1]):
        assert moved(gains, counts, np.array(wanted), np.zeros(2), np.zeros(2)) is None
    none = np.empty((0, 2))
    assert moved(none, none.astype(np.int64), np.array([1, 0]), np.zeros(2), np.empty(0)) is None
    assert moved(none, none.astype(np.int64), np.array([0, 0]), np.zeros(2), np.empty(0)) is not None
