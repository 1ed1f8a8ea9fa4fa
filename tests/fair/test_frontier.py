"""The frontier against solutions one by one, and against counts by hand."""

from typing import Any

import numpy as np
import pytest

from fair import optima
from faircrowd import make_fair
from faircrowd.errors import OptionError
from faircrowd.fair.frontier import Frontier, _accuracy_gained, _traced, sweep, trace_frontier, value_at_gap
from faircrowd.fair.objective import Gain, make_gain
from faircrowd.fair.tasks.read_posterior import read_posterior
from faircrowd.fair.tasks.spark_problem import SparkProblem

pytestmark = pytest.mark.filterwarnings("ignore:.*fewer than 10 tasks:faircrowd.errors.DataWarning")

RNG = np.random.default_rng(8)
GROUP = np.append(np.arange(3), RNG.integers(0, 2, 37))
P = RNG.dirichlet([1.0, 1.5], 40) * 0.7 + 0.3 * np.eye(2)[(GROUP > 0).astype(int)]
WIDE = RNG.dirichlet([1.0, 2.0, 0.7], 40)
WEIGHTS = RNG.integers(1, 5, 40) / 2
TWO = np.minimum(GROUP, 1)
GAINS = [[2.0, -1.0], [-3.0, 1.5]]


# Points between vertices.


@pytest.fixture
def curve() -> Frontier:
    gap = np.array([0.5, 0.375, 0.25, 0.25, 0.0])
    return Frontier(gap, np.array([1.0, 0.9, 0.8, 0.7, 0.1]), np.arange(5.0), np.linspace(0.9, 0.5, 5), 0.0, exact=True)


def test_between_vertices_the_curve_is_a_line(curve: Frontier) -> None:
    assert tuple(curve.at(0.25)) == (0.25, 0.8, 2.0, 0.7)  # the better of two vertices of one gap
    for epsilon in (0.0, 0.1, 0.2499, 0.2501, 0.3, 0.375, 0.4, 0.4999):
        found = curve.at(epsilon)
        assert found.gap == epsilon
        rows = slice(3, None) if epsilon < 0.25 else slice(0, 3)
        for name in ("value", "changed", "believed_accuracy"):
            line = np.interp(-epsilon, -curve.gap[rows], getattr(curve, name)[rows])
            assert getattr(found, name) == pytest.approx(line, abs=1e-12)


def test_beyond_the_gap_of_free_labels_nothing_changes(curve: Frontier) -> None:
    for epsilon in (0.5, 0.7, 1.0):
        assert tuple(curve.at(epsilon)) == (0.5, 1.0, 0.0, 0.9)
    for wrong in (-0.1, 1.1):
        with pytest.raises(OptionError, match="epsilon must be a number from 0 to 1"):
            curve.at(wrong)


def test_believed_accuracy_under_its_earlier_name(curve: Frontier) -> None:
    assert curve.accuracy is curve.believed_accuracy
    assert curve.at(0.25).accuracy == 0.7


def test_labels_without_a_gap_are_a_frontier_of_one_point() -> None:
    found = make_fair([[0.2, 0.8], [0.3, 0.7]], [0, 1], epsilon=0.1).frontier
    assert tuple(found.at(0.0)) == (0.0, 0.75, 0.0, 0.75)
    assert found.exact


# The whole curve.


@pytest.mark.parametrize("objective", ["accuracy", GAINS], ids=["accuracy", "gains"])
@pytest.mark.parametrize("flipped", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_exact_curve_is_the_best_of_randomized_labels(objective: Any, flipped: bool, weighted: bool) -> None:
    group, weights = 1 - TWO if flipped else TWO, WEIGHTS if weighted else None
    gain = make_gain(objective, 2)
    found = trace_frontier(read_posterior(P, group, sample_weight=weights), gain, 0)
    assert (found.exact, found.optimality_gap, found.gap[-1]) == (True, 0.0, 0.0)
    gains = gain.of(P)
    for epsilon in (0.0, 0.05, 0.2):
        assert found.at(epsilon).value == pytest.approx(
            optima.best_randomized(gains, group, epsilon, weights), abs=1e-9
        )
    free = gains.argmax(axis=1)
    assert found.gap[0] == pytest.approx(abs(np.subtract(*(
        np.average(free[group == a], weights=None if weights is None else weights[group == a]) for a in (0, 1)
    ))))  # fmt: skip
    assert found.value[0] == pytest.approx(np.average(gains.max(axis=1), weights=weights))
    assert found.believed_accuracy[0] == pytest.approx(np.average(P[np.arange(40), free], weights=weights))
    assert (found.changed[0], found.changed[1]) == (0.0, 1.0)


def test_accuracy_follows_from_what_labels_gain() -> None:
    """A label 1 of posterior p adds 2 p - 1 to the accuracy."""
    offset = np.array([0.25, -0.5])
    gain = Gain("gains", np.array(GAINS), offset)
    labels = np.arange(40) % 3 == 0
    worth = gain.of(P)
    value = float((worth[labels, 1] - worth[labels, 0]).sum() / 40)
    found = _accuracy_gained(np.array([value]), np.array([labels.mean()]), gain)
    assert found[0] == pytest.approx((2 * P[labels, 1] - 1).sum() / 40, abs=1e-12)
    flat = Gain("gains", np.array([[1.0, 2.0], [2.0, 3.0]]), offset)
    assert np.isnan(_accuracy_gained(np.array([0.5, 0.25]), np.array([0.5, 0.25]), flat)).tolist() == [True, True]


@pytest.mark.parametrize("weighted", [False, True])
def test_a_traced_curve_sums_up_its_solutions(weighted: bool) -> None:
    weights = WEIGHTS if weighted else None
    problem = read_posterior(WIDE, GROUP, sample_weight=weights)
    gain = make_gain("accuracy", 3)
    solutions = list(sweep(problem, gain, 0, [0.3, 0.1]))
    solutions[1] = solutions[1]._replace(bound=solutions[1].value + 0.25)
    found = _traced(problem, iter(solutions))
    assert not found.exact
    assert found.optimality_gap == pytest.approx(0.25)
    assert found.gap.tolist() == [0.3, 0.1]
    w = np.ones(40) if weights is None else weights
    for i, at in enumerate(solutions):
        assert found.value[i] == at.value
        accuracy = sum(w[t] * at.probabilities[t, k] * WIDE[t, k] for t in range(40) for k in range(3)) / w.sum()
        assert found.believed_accuracy[i] == pytest.approx(accuracy)
        assert found.changed[i] == pytest.approx(sum(1 - at.probabilities[t, at.unconstrained[t]] for t in range(40)))
        best = optima.best_randomized(WIDE, GROUP, at.epsilon, weights)
        assert at.value == pytest.approx(best, abs=1e-7)


@pytest.mark.parametrize("objective", ["accuracy", "f1", GAINS], ids=["accuracy", "f1", "gains"])
def test_a_sweep_goes_from_the_gap_of_free_labels_to_none(objective: Any) -> None:
    gain = make_gain(objective, 2)
    problem = read_posterior(P, GROUP)
    found = list(sweep(problem, gain, 0))
    free = {
        "accuracy": P.argmax(axis=1),
        "gains": gain.of(P).argmax(axis=1),
        "f1": make_fair(P, GROUP, epsilon=1.0, objective="f1", decision="randomized").labels,
    }[gain.name]
    assert len(found) == 21
    widest = optima.gap(free, GROUP, 2)
    np.testing.assert_allclose([at.epsilon for at in found], widest * np.arange(20, -1, -1) / 20, atol=1e-12)
    for at in found[::10]:
        np.testing.assert_array_equal(at.unconstrained, free)
        rates = np.array([at.probabilities[a == GROUP].mean(axis=0) for a in range(3)])
        assert np.ptp(rates, axis=0).max() <= at.epsilon + 1e-9
        worth = (
            problem.expected_tally(at.probabilities, at.gain).values(at.gain)[1]
            if gain.name == "f1"
            else (gain.of(P) * at.probabilities).sum(axis=1).mean()
        )
        assert at.value == pytest.approx(worth, abs=1e-9)
        assert at.value <= at.bound + 1e-9


def test_frontiers_are_of_tasks_in_memory() -> None:
    with pytest.raises(OptionError, match="The frontier is for tasks in memory"):
        trace_frontier(SparkProblem(None), make_gain("accuracy", 2), 0)  # type: ignore[arg-type]


def test_f1_of_two_groups_is_traced() -> None:
    found = trace_frontier(read_posterior(P[:12], TWO[:12]), make_gain("f1", 2), 0)
    assert not found.exact
    assert found.gap.size == 21


# Real accuracy.

TRUTH = np.where(RNG.random(40) < 0.1, -1, RNG.integers(-2, 2, 40)).astype(np.int32)
FEW_VOTES = np.round(P * 4) / 4  # many tied tasks, also at a half


@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["plain", "weights"])
@pytest.mark.parametrize("posterior", [P, FEW_VOTES], ids=["distinct", "tied"])
@pytest.mark.parametrize("objective", ["accuracy", GAINS], ids=["accuracy", "gains"])
@pytest.mark.parametrize("flipped", [False, True])
def test_real_accuracy_is_that_of_the_best_randomized_labels(
    flipped: bool, objective: Any, posterior: np.ndarray, weights: np.ndarray | None
) -> None:
    """At every epsilon, against the rule solved for it alone."""
    group, known = 1 - TWO if flipped else TWO, TRUTH != -1
    asked: dict[str, Any] = {"objective": objective, "sample_weight": weights}
    result = make_fair(posterior, group, epsilon=0.1, **asked)
    found = result.frontier_against(TRUTH)
    assert result.frontier.real_accuracy is None
    assert found.real_accuracy is not None
    for epsilon in (0.0, 0.01, 0.07, 0.2, float(found.gap[found.gap.size // 2]), float(found.gap[0])):
        alone = make_fair(posterior, group, epsilon=epsilon, decision="randomized", **asked).probabilities
        right = np.where(TRUTH >= 0, alone[np.arange(40), TRUTH], 0.0)[known]
        wanted = np.average(right, weights=None if weights is None else weights[known])
        assert value_at_gap(found.gap, found.real_accuracy, epsilon) == pytest.approx(wanted, abs=1e-12)


def test_real_accuracy_of_three_classes_is_that_of_each_solution() -> None:
    truth = RNG.integers(-2, 3, 40).astype(np.int32)
    found = make_fair(WIDE, GROUP, epsilon=0.1).frontier_against(truth)
    assert found.real_accuracy is not None
    for i in (0, 10, 20):
        alone = make_fair(WIDE, GROUP, epsilon=float(found.gap[i]), decision="randomized").probabilities
        right = np.where(truth >= 0, alone[np.arange(40), truth], 0.0)[truth != -1]
        assert found.real_accuracy[i] == pytest.approx(right.mean(), abs=1e-9)


def test_no_truth_is_no_real_accuracy() -> None:
    assert make_fair(P, TWO, epsilon=0.1).frontier_against(np.full(40, -1, np.int32)).real_accuracy is None
