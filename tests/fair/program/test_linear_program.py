"""The linear program over atoms against one over all tasks without centres."""

import numpy as np
import pytest

from fair import optima
from faircrowd.fair.program.atoms import Atoms
from faircrowd.fair.program.dual import dual_value
from faircrowd.fair.program.linear_program import Program, _negligible, solve_linear_program
from faircrowd.fair.rate_constraint import RateParity


def some(n: int, n_classes: int = 3, n_groups: int = 3, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    group = np.append(np.arange(n_groups), rng.integers(0, n_groups, n - n_groups)).astype(np.int32)
    gains = rng.dirichlet(np.ones(n_classes), n)
    gains[:, -1] += 0.4 * group / n_groups
    return gains, rng.integers(1, 5, n).astype(float), group


def rates_of(found: Program, mass: np.ndarray, group: np.ndarray, decided: np.ndarray, whole: np.ndarray) -> np.ndarray:
    rates = decided.copy()
    np.add.at(rates, group, mass[:, None] * found.fractions)
    return rates / whole[:, None]


def solved(
    gains: np.ndarray, mass: np.ndarray, group: np.ndarray, epsilon: float, n_groups: int = 3
) -> tuple[Program, np.ndarray]:
    whole = np.bincount(group, weights=mass, minlength=n_groups)
    decided = np.zeros((n_groups, gains.shape[1]))
    found = solve_linear_program(
        gains, mass, group, np.ones(gains.shape, dtype=bool), decided, whole, RateParity(epsilon)
    )
    assert found is not None
    return found, rates_of(found, mass, group, decided, whole)


@pytest.mark.parametrize("epsilon", [0.0, 0.07, 1.0])
@pytest.mark.parametrize("scale", [1.0, 1e-6, 1e9])
def test_value_gap_and_multipliers(epsilon: float, scale: float) -> None:
    gains, mass, group = some(40)
    found, rates = solved(gains, scale * mass, group, epsilon)
    np.testing.assert_allclose(found.fractions.sum(axis=1), 1.0, atol=1e-12)
    assert found.fractions.min() >= 0
    assert np.ptp(rates, axis=0).max() <= epsilon + 1e-9
    optimum = optima.best_randomized(gains, group, epsilon, mass)
    value = (mass[:, None] * gains * found.fractions).sum() / mass.sum()
    assert value == pytest.approx(optimum, abs=1e-9)
    np.testing.assert_allclose(found.multipliers.sum(axis=0), 0.0, atol=1e-9)
    bound = dual_value(
        Atoms(gains, mass, group), np.bincount(group, weights=mass), found.multipliers, RateParity(epsilon)
    )
    assert bound == pytest.approx(optimum, abs=1e-9)


def test_decided_atoms_and_allowed_labels() -> None:
    gains, mass, group = some(30)
    whole = np.bincount(group, weights=mass)
    allowed = np.random.default_rng(3).uniform(size=gains.shape) < 0.7
    allowed[np.arange(30), np.arange(30) % 3] = True
    label = np.arange(30) % 3
    beforehand = np.arange(30) < 8
    decided = np.zeros((3, 3))
    np.add.at(decided, (group[beforehand], label[beforehand]), mass[beforehand])
    left = ~beforehand
    found = solve_linear_program(gains[left], mass[left], group[left], allowed[left], decided, whole, RateParity(0.05))
    assert found is not None
    assert not found.fractions[~allowed[left]].any()
    assert np.ptp(rates_of(found, mass[left], group[left], decided, whole), axis=0).max() <= 0.05 + 1e-9
    # The same where what is not allowed is dear.
    dear = np.where(allowed, gains, -50.0)
    dear[beforehand] = np.where(np.arange(3) == label[beforehand][:, None], 0.0, -50.0)
    optimum = optima.best_randomized(dear, group, 0.05, mass)
    value = (mass[left, None] * gains[left] * found.fractions).sum() / mass.sum()
    assert value == pytest.approx(optimum, abs=1e-9)


def test_there_may_be_no_solution() -> None:
    gains, mass, group = np.eye(2), np.ones(2), np.array([0, 1], dtype=np.int32)
    decided = np.zeros((2, 2))
    whole = np.ones(2)
    assert solve_linear_program(gains, mass, group, np.eye(2, dtype=bool), decided, whole, RateParity(0.5)) is None
    found = solve_linear_program(gains, mass, group, np.eye(2, dtype=bool), decided, whole, RateParity(1.0))
    assert found is not None
    assert found.fractions.tolist() == [[1, 0], [0, 1]]
    none = np.empty(0)
    nothing = (np.empty((0, 2)), none, none.astype(np.int32), np.empty((0, 2), dtype=bool))
    assert solve_linear_program(*nothing, np.eye(2), whole, RateParity(0.5)) is None
    assert solve_linear_program(*nothing, np.eye(2), whole, RateParity(1.0)) is not None


def test_atoms_that_weigh_nothing_get_their_best_label() -> None:
    """The best at the prices, which here outweigh their gains; of those that are allowed."""
    gains, mass, group = some(30)
    plain, _ = solved(gains, mass, group, 0.05)
    whole = np.bincount(group, weights=mass)
    prices = plain.multipliers * mass.sum() / whole[:, None]
    assert np.ptp(prices, axis=1).min() > 0.01
    extra = 0.6 * prices
    allowed = np.ones((33, 3), dtype=bool)
    allowed[32, prices[2].argmin()] = False
    found = solve_linear_program(
        np.vstack([gains, extra]),
        np.append(mass, np.full(3, 1e-13)),
        np.append(group, [0, 1, 2]).astype(np.int32),
        allowed,
        np.zeros((3, 3)),
        whole,
        RateParity(0.05),
    )
    assert found is not None
    np.testing.assert_allclose(found.multipliers, plain.multipliers, atol=1e-8)
    wanted = [prices[0].argmin(), prices[1].argmin(), prices[2].argsort()[1]]
    np.testing.assert_array_equal(found.fractions[30:], np.eye(3)[wanted])


def test_a_group_of_tiny_atoms_and_one_that_is_decided() -> None:
    """All of a group weighs nothing beside what is decided of it; the gap is that of the others."""
    gains = np.array([[0.9, 0.1], [0.8, 0.2], [0.3, 0.7], [0.4, 0.6]])
    mass = np.array([1e-12, 1e-12, 1.0, 1.0])
    group = np.array([0, 0, 1, 1], dtype=np.int32)
    decided, whole = np.array([[1.0, 1.0], [0.0, 0.0]]), np.array([2.0, 2.0])
    found = solve_linear_program(gains, mass, group, np.ones((4, 2), dtype=bool), decided, whole, RateParity(0.0))
    assert found is not None
    assert found.fractions[:2].tolist() == [[1, 0], [1, 0]]
    np.testing.assert_allclose(found.fractions[2:].sum(axis=0), [1, 1], atol=1e-9)


def test_what_weighs_next_to_nothing() -> None:
    """They and all lighter ones of their group, together up to 1e-11."""
    parts = np.array([0.5, 6e-12, 0.5, 4e-12, 2e-12, 0.5, 1e-11, 1.1e-11, 0.5])
    group = np.array([0, 0, 1, 0, 0, 1, 1, 2, 2], dtype=np.int32)
    assert _negligible(parts, group, 3).tolist() == [0, 0, 0, 1, 1, 0, 1, 0, 0]
    assert _negligible(np.array([1e-12, 1.0]), np.array([0, 2], dtype=np.int32), 3).tolist() == [1, 0]
    assert _negligible(np.array([1.0, 1e-12]), np.array([0, 2], dtype=np.int32), 3).tolist() == [0, 1]
