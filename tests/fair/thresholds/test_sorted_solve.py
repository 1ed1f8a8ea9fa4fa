"""Groups sorted task by task, against numpy on few tasks."""

from typing import Any

import numpy as np
import pytest

from faircrowd.fair.objective import f1_gain, make_gain
from faircrowd.fair.tasks.problem import Problem
from faircrowd.fair.tasks.read_posterior import read_posterior
from faircrowd.fair.thresholds.relaxed import Split
from faircrowd.fair.thresholds.sorted_solve import best_labels, draw_law, sort_groups

P = np.array([0.5, 0.875, 0.125, 0.5, 0.75, 0.25, 1.0, 0.5, 0.0])
GROUP = np.array([0, 1, 0, 1, 0, 1, 0, 0, 1])
WEIGHTS = np.array([1.0, 2.0, 4.0, 1.0, 2.0, 1.0, 1.0, 3.0, 1.0])
EVIDENCE = np.array([1, 5, 5, 5, 5, 5, 5, 2, 5])
GAINS = [[1.0, -0.5], [-2.0, 0.5]]


def problem_of(*, weighted: bool = False, odds: bool = False, ties: str = "first") -> Problem:
    posterior = np.stack([1 - P, P], axis=1)
    with np.errstate(divide="ignore"):
        logs = np.log(posterior) if odds else None
    weights = WEIGHTS if weighted else None
    return read_posterior(posterior, GROUP, sample_weight=weights, log_posterior=logs, evidence=EVIDENCE, ties=ties)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("odds", [False, True])
@pytest.mark.parametrize("ties", ["first", "last"])
@pytest.mark.parametrize("objective", ["accuracy", GAINS, "f1"], ids=["accuracy", "gains", "f1"])
def test_sides_hold_costs_in_order(weighted: bool, odds: bool, ties: str, objective: Any) -> None:
    gain, group = f1_gain(1.0) if objective == "f1" else make_gain(objective, 2), GROUP
    found = sort_groups(problem_of(weighted=weighted, odds=odds, ties=ties), gain, 3)
    worth = np.stack([1 - P, P], axis=1) @ gain.matrix + gain.offset
    cost = worth[:, 0] - worth[:, 1]
    weights = WEIGHTS if weighted else np.ones(P.size)
    assert found.base == pytest.approx(np.average(worth[:, 0], weights=weights), abs=1e-12)
    for a, side in enumerate(found.sides):
        costs = np.sort(cost[group == a])
        np.testing.assert_allclose(side.costs, costs, atol=1e-12)
        assert side.own == np.sum(costs <= 0 if ties == "last" else costs < 0)
        assert side.total == weights.sum()
        assert side.share == pytest.approx(weights[group == a].sum() / weights.sum())
        assert side.weights.size == (side.n if weighted else 0)
        if found.order is None:
            assert not weighted
            continue
        rows = found.order[a]
        assert sorted(rows) == np.flatnonzero(group == a).tolist()
        np.testing.assert_array_equal(side.weights, weights[rows])
        np.testing.assert_allclose(cost[rows], costs, atol=1e-12)
    if found.order is not None:  # of the two at 0.5 that of more votes is first
        assert found.order[0].tolist().index(7) + 1 == found.order[0].tolist().index(0)


def test_equal_tasks_are_in_the_order_of_a_seeded_hash() -> None:
    p = np.full(40, 0.75)
    problem = read_posterior(np.stack([1 - p, p], axis=1), np.arange(40) % 2, sample_weight=np.arange(40) % 3 + 1.0)
    orders = [sort_groups(problem, make_gain("accuracy", 2), seed).order for seed in (0, 0, 1)]
    first, again, other = (order[0].tolist() for order in orders if order is not None)
    assert first == again != other
    assert sorted(first) == list(range(0, 40, 2))


def test_labels_and_law_follow_the_order() -> None:
    problem = problem_of(weighted=True)
    found = sort_groups(problem, make_gain("accuracy", 2), 0)
    assert found.order is not None
    labels = best_labels(problem, found, 1.0)
    assert labels.dtype == np.int32
    assert labels.tolist() == (P > 0.5).astype(int).tolist()
    law = draw_law(problem, found, Split((1, 2), (2, 1), (0.25, 0.75), 0.0, 0.0, 0.0, 0.0))()
    expected = np.zeros(P.size)
    for rows, chances in zip(found.order, ([1.0, 0.25, 0.25, 0.0, 0.0], [1.0, 1.0, 0.75, 0.0]), strict=True):
        expected[rows] = chances
    np.testing.assert_array_equal(law, np.stack([1 - expected, expected], axis=1))
