"""Two classes by one sort, against a linear program over all tasks."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fair import optima
from faircrowd.fair.program import relaxed
from faircrowd.fair.program.atoms import Atoms, merge
from faircrowd.fair.program.dual import dual_value
from faircrowd.fair.program.relaxed import solve_relaxed
from faircrowd.fair.program.two_class_relaxed import TwoClassSolution, solve_two_classes
from faircrowd.fair.rate_constraint import RateParity


def some(seed: int, n: int = 60, n_groups: int = 4, votes: int | None = None, weights: bool = False) -> Atoms:
    """Posteriors that lean by group; shares of a few votes if asked, so that many are tied."""
    rng = np.random.default_rng(seed)
    group = np.append(np.arange(n_groups), rng.integers(0, n_groups, n - n_groups)).astype(np.int32)
    p = rng.beta(1 + group / n_groups, 1.5)
    p = p if votes is None else rng.binomial(votes, p) / votes
    return merge(np.stack([1 - p, p], axis=1), group, rng.exponential(size=n) ** 3 if weights else None)


def assert_optimal(found: TwoClassSolution, atoms: Atoms, epsilon: float) -> None:
    mass = np.bincount(atoms.group, weights=atoms.mass)
    rates = np.zeros((mass.size, 2))
    np.add.at(rates, atoms.group, atoms.mass[:, None] * found.fractions)
    assert np.ptp(rates[:, 1] / mass) <= epsilon + 1e-12
    assert found.fractions.min() >= 0
    np.testing.assert_allclose(found.fractions.sum(axis=1), 1)
    value = float((atoms.mass[:, None] * found.fractions * atoms.gains).sum() / mass.sum())
    optimum = optima.best_randomized(atoms.gains, atoms.group, epsilon, atoms.mass)
    assert value == pytest.approx(optimum, abs=1e-9)
    np.testing.assert_allclose(found.multipliers.sum(axis=0), 0, atol=1e-12)
    bound = dual_value(atoms, mass, found.multipliers, RateParity(epsilon))
    assert bound == pytest.approx(value, abs=1e-12)


@pytest.mark.parametrize("votes", [None, 3])
@pytest.mark.parametrize("weights", [False, True])
@pytest.mark.parametrize("epsilon", [0.0, 0.03, 0.2])
@given(seed=st.integers(0, 10**6), n_groups=st.integers(2, 9))
def test_the_optimum_with_its_proof(seed: int, n_groups: int, epsilon: float, weights: bool, votes: int | None) -> None:
    atoms = some(seed, n_groups=n_groups, votes=votes, weights=weights)
    mass = np.bincount(atoms.group, weights=atoms.mass)
    assert_optimal(solve_two_classes(atoms, mass, epsilon), atoms, epsilon)


def test_gains_that_are_not_probabilities() -> None:
    """As of F1: the first label gains nothing, the second less than nothing or more."""
    atoms = some(3)
    atoms = atoms._replace(gains=np.stack([np.zeros(60), 2 * atoms.gains[:, 1] - 0.7], axis=1))
    assert_optimal(solve_two_classes(atoms, np.bincount(atoms.group, weights=atoms.mass), 0.05), atoms, 0.05)


def test_rates_that_keep_epsilon_are_left_alone() -> None:
    atoms = some(1)
    found = solve_two_classes(atoms, np.bincount(atoms.group, weights=atoms.mass), 1.0)
    assert (found.fractions.argmax(axis=1) == atoms.gains.argmax(axis=1)).all()
    assert not found.multipliers.any()


def test_few_tasks_are_split() -> None:
    """No more than one in each group, and none in the group that determines the centre."""
    atoms = some(7, n=400, n_groups=20)
    found = solve_two_classes(atoms, np.bincount(atoms.group, weights=atoms.mass), 0.01)
    split = atoms.group[found.fractions.max(axis=1) < 1]
    assert 0 < split.size < 20
    assert np.unique(split).size == split.size


def test_many_atoms_of_two_classes_need_no_linear_program(monkeypatch: pytest.MonkeyPatch) -> None:
    atoms = some(5, n=400, n_groups=6)
    mass, parity = np.bincount(atoms.group, weights=atoms.mass), RateParity(0.02)
    found = solve_relaxed(atoms, mass, parity)
    assert found.solver == "one sort of 400 atoms"
    monkeypatch.setattr(relaxed, "_MAX_ATOMS_AT_ONCE", 400)
    program = solve_relaxed(atoms, mass, parity)
    assert program.solver == "linear program over 400 atoms"
    np.testing.assert_allclose(found.fractions, program.fractions, atol=1e-7)
    prices = found.multipliers[:, 1] - found.multipliers[:, 0]
    np.testing.assert_allclose(prices, program.multipliers[:, 1] - program.multipliers[:, 0], atol=1e-9)
    assert (found.value, found.bound) == pytest.approx((program.value, program.bound), abs=1e-10)


def test_a_sort_that_proves_nothing_is_not_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    atoms = some(5, n=400, n_groups=6)
    mass, parity = np.bincount(atoms.group, weights=atoms.mass), RateParity(0.02)
    nothing = TwoClassSolution(np.full((400, 2), 0.5), np.zeros((6, 2)))
    monkeypatch.setattr(relaxed, "solve_two_classes", lambda *_: nothing)
    found = solve_relaxed(atoms, mass, parity)
    assert found.solver.startswith("smoothed dual")
    assert found.bound - found.value <= 1e-10
