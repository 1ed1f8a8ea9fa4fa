"""Integer counts against every rounding of small cases."""

import itertools

import numpy as np
import pytest

from fair.program.test_least_loss_moves import best_by_program
from faircrowd.fair.program import rounding
from faircrowd.fair.program.atoms import Atoms, DecidedTasks
from faircrowd.fair.program.relaxed import Relaxed, solve_relaxed
from faircrowd.fair.program.rounding import _rounded_totals, round_counts
from faircrowd.fair.rate_constraint import RateParity


def gap(counts: np.ndarray, mass: np.ndarray) -> float:
    return float(np.ptp(counts / mass[:, None], axis=0).max())


def roundings(totals: np.ndarray, mass: np.ndarray) -> list[np.ndarray]:
    """All integer counts near these that make up the groups."""
    floor = np.floor(totals + 1e-7)
    rows = []
    for row, size in zip(floor, mass, strict=True):
        steps = itertools.product((-1, 0, 1, 2), repeat=row.size)
        rows.append([row + step for step in steps if (row + step).sum() == size and (row + step).min() >= 0])
    return [np.array(chosen) for chosen in itertools.product(*rows)]


TOTALS = [
    ([[2.5, 2.5, 0.0], [3.5, 2.25, 1.25]], [5, 7], 0.1),
    ([[0.4, 3.6], [2.8, 5.2]], [4, 8], 0.0),
    ([[0.4, 3.6], [2.8, 5.2]], [4, 8], 0.3),
    ([[1.9999999999, 2.0000000001], [2.0, 2.0]], [4, 4], 0.05),
    ([[0.5, 0.5], [1.5, 1.5], [4.5, 1.5]], [1, 3, 6], 0.02),
    ([[10.5, 10.5], [16.0, 16.0]], [21, 32], 0.004),  # no rounding keeps it
]


@pytest.mark.parametrize(("totals", "sizes", "epsilon"), TOTALS)
def test_targets_exceed_epsilon_as_little_as_can_be_and_then_gain_the_most(
    totals: list[list[float]], sizes: list[int], epsilon: float
) -> None:
    real, mass = np.array(totals), np.array(sizes, dtype=float)
    prices = np.random.default_rng(1).normal(size=real.shape)
    found = _rounded_totals(real, mass, prices, RateParity(epsilon))
    assert found.sum(axis=1).tolist() == sizes
    assert found.min() >= 0
    rivals = roundings(real, mass)
    excess = min(max(gap(rival, mass) - epsilon, 0.0) for rival in rivals)
    assert gap(found, mass) <= epsilon + excess + 1e-6
    best = max((prices * r).sum() for r in rivals if gap(r, mass) <= epsilon + excess + 1e-6)
    assert (prices * found).sum() == pytest.approx(best, abs=1e-6)


def test_an_excess_is_dearer_than_any_price() -> None:
    """And a count may fall by one below its floor, or rise by two above, but not below nothing."""
    real, mass = np.array([[1.5, 1.5, 3.0], [0.5, 2.5, 3.0]]), np.array([6.0, 6.0])
    prices = np.array([[5.0, -5.0, 0.0], [-5.0, 5.0, 0.0]])
    found = _rounded_totals(real, mass, prices, RateParity(0.0))
    assert gap(found, mass) == 0
    wide = _rounded_totals(real, mass, prices, RateParity(1.0))
    assert wide.tolist() == [[3, 0, 3], [0, 4, 2]]


def some(n: int = 40, n_groups: int = 3, seed: int = 0) -> tuple[Atoms, np.ndarray]:
    rng = np.random.default_rng(seed)
    group = np.append(np.arange(n_groups), rng.integers(0, n_groups, n - n_groups)).astype(np.int32)
    gains = rng.dirichlet(np.ones(3), n)
    gains[:, -1] += 0.3 * group
    mass = rng.integers(1, 5, n).astype(float)
    return Atoms(gains, mass, group), np.bincount(group, weights=mass)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("epsilon", [0.05, 0.11])
def test_rounded_counts_are_near_the_randomized_solution(seed: int, epsilon: float) -> None:
    atoms, mass = some(seed=seed)
    relaxed = solve_relaxed(atoms, mass, RateParity(epsilon))
    counts = round_counts(atoms, mass, relaxed, RateParity(epsilon))
    np.testing.assert_array_equal(counts.sum(axis=1), atoms.mass)
    assert counts.min() >= 0
    totals = np.zeros((3, 3))
    np.add.at(totals, atoms.group, counts)
    real = np.zeros((3, 3))
    np.add.at(real, atoms.group, atoms.mass[:, None] * relaxed.fractions)
    least = min(gap(rival, mass) for rival in roundings(real, mass))
    assert gap(totals, mass) <= max(epsilon, least) + 1e-6
    assert np.abs(totals - real).max() <= 2
    # At these totals no other counts gain more, group by group.
    for a in range(3):
        own = atoms.group == a
        best = best_by_program(atoms.gains[own], atoms.mass[own], totals[a])
        assert (counts[own] * atoms.gains[own]).sum() >= best - 1e-9


def randomized(atoms: Atoms, mass: np.ndarray, fractions: np.ndarray) -> Relaxed:
    return Relaxed(fractions, np.zeros((mass.size, fractions.shape[1])), 0.0, 0.0, "given")


def test_whole_fractions_are_kept() -> None:
    """Also those that are whole to within what a solver leaves."""
    atoms, mass = some(9)
    fractions = np.eye(3)[np.arange(9) % 3]
    assert (
        round_counts(atoms, mass, randomized(atoms, mass, fractions), RateParity(0.0))
        == fractions * atoms.mass[:, None]
    ).all()
    atoms = atoms._replace(mass=np.full(9, 4.0))
    mass = np.bincount(atoms.group, weights=atoms.mass)
    fractions[3] = [0.25, 0.75, 0.0]
    fractions[4] = [1 - 1e-9, 0.0, 1e-9]
    found = round_counts(atoms, mass, randomized(atoms, mass, fractions), RateParity(0.0))
    np.testing.assert_array_equal(found, np.rint(4 * fractions))


def test_a_split_atom_is_moved_to_the_counts_of_its_group() -> None:
    """With tasks that were counted beforehand: their labels stay, and count."""
    gains = np.array([[0.5, 0.5], [0.6, 0.4], [0.9, 0.1], [0.5, 0.5], [0.2, 0.8]])
    atoms = Atoms(gains, np.array([3.0, 1.0, 1.0, 3.0, 1.0]), np.array([0, 0, 0, 1, 1], dtype=np.int32))
    fractions = np.array([[0.5, 0.5], [1.0, 0.0], [1.0, 0.0], [0.5, 0.5], [0.0, 1.0]])
    decided = DecidedTasks(np.array([[0.0, 5.0], [3.0, 3.0]]), 0.0)
    mass = np.array([10.0, 10.0])
    found = round_counts(atoms._replace(decided=decided), mass, randomized(atoms, mass, fractions), RateParity(0.0))
    totals = decided.mass.copy()
    np.add.at(totals, atoms.group, found)
    assert totals.sum(axis=1).tolist() == [10, 10]
    assert totals[0].tolist() == totals[1].tolist()
    assert found[[1, 2, 4]].tolist() == [[1, 0], [1, 0], [0, 1]]


def test_atoms_of_wider_margins_move_where_split_ones_are_too_few(monkeypatch: pytest.MonkeyPatch) -> None:
    """A target that the split atom alone cannot meet; the nearest others go along, and no more than are needed."""
    gains = np.array([[0.5, 0.5], [0.52, 0.48], [0.9, 0.1], [0.95, 0.05]])
    atoms = Atoms(gains, np.ones(4), np.zeros(4, dtype=np.int32))
    fractions = np.array([[0.5, 0.5], [1.0, 0.0], [1.0, 0.0], [1.0, 0.0]])
    for wanted, moved in (
        ([2, 2], [[0, 1], [0, 1], [1, 0], [1, 0]]),
        ([0, 4], [[0, 1]] * 4),
        ([3, 1], [[0, 1], [1, 0], [1, 0], [1, 0]]),
    ):
        monkeypatch.setattr(rounding, "_rounded_totals", lambda *_, wanted=wanted: np.array([wanted]))
        found = round_counts(atoms, np.array([4.0]), randomized(atoms, np.array([4.0]), fractions), RateParity(0.0))
        assert found.tolist() == moved
