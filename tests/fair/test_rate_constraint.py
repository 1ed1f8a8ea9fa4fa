"""Demographic parity: its rows, its dual cost and its coordinates, against plain formulas."""

from collections.abc import Iterator

import numpy as np
import pytest
from scipy.optimize import check_grad, linprog

from fair.label_parity import LabelParity
from faircrowd.errors import OptionError
from faircrowd.fair.gap import gap_of, within
from faircrowd.fair.make import solve_problem
from faircrowd.fair.rate_constraint import (
    CONSTRAINTS,
    RateParity,
    make_constraint,
    prices_of,
    rates_of,
    register,
)
from faircrowd.fair.tasks.read_posterior import read_posterior
from faircrowd.fair.tolerances import SLACK


def some_rates(seed: int, n_groups: int = 3, n_classes: int = 4) -> np.ndarray:
    return np.random.default_rng(seed).dirichlet(np.ones(n_classes), n_groups)


def test_rates_are_counts_over_the_size_of_the_group() -> None:
    counts, sizes = np.array([[1, 2, 1], [0, 5, 5]]), np.array([4.0, 10.0])
    assert rates_of(counts, sizes).tolist() == [[0.25, 0.5, 0.25], [0.0, 0.5, 0.5]]


def test_prices_are_multipliers_over_the_share_of_the_group() -> None:
    multipliers = np.array([[1.0, 2.0], [3.0, -4.0]])
    np.testing.assert_allclose(prices_of(multipliers, np.array([1.0, 3.0])), [[4, 8], [4, -16 / 3]])


@pytest.mark.parametrize("seed", range(5))
def test_the_gap_is_the_largest_difference_of_two_groups(seed: int) -> None:
    rates = some_rates(seed)
    wanted = max(abs(a[k] - b[k]) for a in rates for b in rates for k in range(4))
    assert gap_of(rates) == wanted
    parity = RateParity(0.1)
    assert parity.excess(rates) == wanted - 0.1
    for epsilon in (wanted, wanted - SLACK / 2, wanted + 1e-9):
        assert within(wanted, epsilon)
        assert parity.with_epsilon(epsilon).is_kept(rates)
    assert not within(wanted, wanted - 2 * SLACK)
    assert not parity.with_epsilon(wanted - 2 * SLACK).is_kept(rates)


@pytest.mark.parametrize("seed", range(5))
def test_rows_have_a_solution_where_the_constraint_is_kept(seed: int) -> None:
    """The best centre of a class is the middle of its rates."""
    rates = some_rates(seed)
    centres = (rates.max(axis=0) + rates.min(axis=0)) / 2
    for epsilon, kept in ((gap_of(rates) + 1e-12, True), (gap_of(rates) - 1e-6, False)):
        rows = RateParity(epsilon).rows(3, 4)
        assert rows.on_rates.shape == (12, 12)
        assert rows.on_centres.shape == (12, 4)
        values = rows.on_rates @ rates.ravel() + rows.on_centres @ centres
        assert bool(((rows.lower <= values) & (values <= rows.upper)).all()) is kept
        np.testing.assert_allclose(values.reshape(3, 4), rates - centres, atol=1e-15)


def test_relief_is_how_bounds_move_with_epsilon() -> None:
    low, high = RateParity(0.1).rows(2, 3), RateParity(0.4).rows(2, 3)
    np.testing.assert_allclose(high.upper - low.upper, 0.3 * low.relief)
    np.testing.assert_allclose(low.lower - high.lower, 0.3 * low.relief)


@pytest.mark.parametrize("seed", range(3))
def test_the_dual_cost_is_what_rates_within_the_constraint_can_gain(seed: int) -> None:
    """The most that multipliers that add up to 0 gain by rates of a gap of epsilon, around any centre."""
    parity = RateParity(0.3)
    multipliers = parity.from_free_coordinates(np.random.default_rng(seed).normal(size=8), 3, 4)
    corners = 0.15 * np.sign(multipliers)
    assert gap_of(corners) == pytest.approx(0.3)
    assert parity.dual_cost(multipliers) == pytest.approx((multipliers * corners).sum())


def test_free_coordinates_go_there_and_back() -> None:
    parity, free = RateParity(0.1), np.arange(6.0)
    multipliers = parity.from_free_coordinates(free, 3, 3)
    np.testing.assert_array_equal(multipliers.sum(axis=0), 0.0)
    np.testing.assert_array_equal(parity.free_coordinates(multipliers), free)
    np.testing.assert_array_equal(parity.rate_multipliers(np.arange(9.0), 3, 3), np.arange(9.0).reshape(3, 3))


def test_the_smooth_dual_cost_has_its_gradient_and_is_near() -> None:
    parity, width = RateParity(0.3), 1e-2
    free = np.random.default_rng(0).normal(size=6) / 10

    def value(x: np.ndarray) -> float:
        return parity.smooth_dual_cost(parity.from_free_coordinates(x, 3, 3), width)[0]

    def slope(x: np.ndarray) -> np.ndarray:
        return parity.free_gradient(parity.smooth_dual_cost(parity.from_free_coordinates(x, 3, 3), width)[1])

    assert check_grad(value, slope, free) < 1e-6
    exact = parity.dual_cost(parity.from_free_coordinates(free, 3, 3))
    assert exact <= value(free) <= exact + 9 * 0.15 * width


@pytest.mark.parametrize(
    ("n_groups", "n_classes", "expected"),
    [(2, 2, True), (3, 2, False), (2, 3, False), (1, 2, False), (2, 1, False), (3, 3, False)],
)
def test_two_groups_and_two_classes_have_thresholds(n_groups: int, n_classes: int, expected: bool) -> None:
    assert RateParity(0.1).has_thresholds(n_groups, n_classes) is expected


@pytest.fixture
def label_parity() -> Iterator[str]:
    """A constraint as solvers of demographic parity see it, registered."""
    name = "label-parity"
    register(name, lambda epsilon: LabelParity(epsilon, label=2))
    yield name
    del CONSTRAINTS[name]


def best_value(gains: np.ndarray, group: np.ndarray, epsilon: float, label: int) -> float:
    """Solve the linear program over all tasks, with a row for each pair of groups."""
    n_tasks, n_classes = gains.shape
    rows = []
    for a in range(3):
        for b in range(3):
            row = np.zeros((n_tasks, n_classes))
            row[group == a, label] += 1 / (group == a).sum()
            row[group == b, label] -= 1 / (group == b).sum()
            rows.append(row.ravel())
    once = np.kron(np.eye(n_tasks), np.ones(n_classes))
    found = linprog(-gains.ravel() / n_tasks, rows, np.full(9, epsilon), once, np.ones(n_tasks), bounds=(0, 1))
    return float(-found.fun)


@pytest.mark.parametrize("seed", range(3))
def test_a_new_constraint_is_one_class_and_one_line(label_parity: str, seed: int) -> None:
    random = np.random.default_rng(seed)
    posterior, group = random.dirichlet(np.ones(4), 240), random.integers(3, size=240)
    posterior[group == 0] = posterior[group == 0][:, [0, 1, 3, 2]] ** [1, 1, 2, 1]
    posterior /= posterior.sum(axis=1, keepdims=True)
    asked = {"objective": "accuracy", "decision": "randomized", "random_state": 0}
    problem = read_posterior(posterior, group)
    result = solve_problem(problem, epsilon=0.02, constraint=label_parity, **asked)  # type: ignore[arg-type]
    assert result.solved.bound == pytest.approx(best_value(posterior, group, 0.02, 2), abs=1e-9)
    rates = np.array([result.solved.probabilities[group == a].mean(axis=0) for a in range(3)])
    assert np.ptp(rates[:, 2]) <= 0.02 + 1e-9 < gap_of(rates)  # the other labels are free
    frontier = result.frontier
    assert frontier.value[-1] <= frontier.value[0]
    parity = solve_problem(problem, epsilon=0.02, **asked)  # type: ignore[arg-type]
    assert parity.solved.bound < result.solved.bound


def test_a_gap_of_epsilon_and_the_slack_is_kept() -> None:
    assert within(SLACK, 0.0)
    assert not within(np.nextafter(SLACK, 1), 0.0)
    assert within(0.0, 0.0)
    assert RateParity(0.0).is_kept(np.array([[0.5, 0.5], [0.5, 0.5]]))
    assert gap_of([[0.1, 0.2, 0.7], [0.3, 0.2, 0.5], [0.0, 0.9, 0.1]]) == pytest.approx(0.7)


def test_constraints_by_name() -> None:
    assert make_constraint("parity", 0.25) == RateParity(0.25)
    with pytest.raises(OptionError, match="constraint='odds' is not known"):
        make_constraint("odds", 0.1)


def test_the_largest_objective_of_the_rows_is_the_dual_cost() -> None:
    """What multipliers gain at most within the rows, by HiGHS: rates and centres are both free numbers."""
    parity = RateParity(0.2)
    multipliers = parity.from_free_coordinates(np.array([0.3, -0.1, 0.5, 0.2, -0.7, 0.1]), 3, 3)
    rows = parity.rows(3, 3)
    both = np.hstack([rows.on_rates.toarray(), rows.on_centres.toarray()])
    gained = -np.append(multipliers.ravel(), np.zeros(3))
    found = linprog(gained, np.vstack([both, -both]), np.append(rows.upper, -rows.lower), bounds=(None, None))
    assert -found.fun == pytest.approx(parity.dual_cost(multipliers))
