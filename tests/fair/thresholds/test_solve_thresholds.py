"""From a problem to labels, for tasks with weights: labels and probabilities by hand, and what the solver claims."""

import numpy as np
import pytest

from faircrowd.fair.objective import make_gain
from faircrowd.fair.tasks.read_posterior import read_posterior
from faircrowd.fair.thresholds.relaxed import RelaxedThresholds
from faircrowd.fair.thresholds.solve import solve_thresholds, weighted_probabilities
from faircrowd.fair.thresholds.sorted_group import sort_groups
from faircrowd.fair.whole_tasks.allowance import TO_THE_LETTER

P = np.array([0.5, 0.875, 0.125, 0.5, 0.75, 0.25, 1.0, 0.5, 0.0])
GROUP = np.array([0, 1, 0, 1, 0, 1, 0, 0, 1])
WEIGHTS = np.array([1.0, 2.0, 4.0, 1.0, 2.0, 1.0, 1.0, 3.0, 1.0])
EVIDENCE = np.array([1, 5, 5, 5, 5, 5, 5, 2, 5])


def test_labels_and_probabilities_follow_the_order_of_each_group() -> None:
    problem = read_posterior(np.stack([1 - P, P], axis=1), GROUP, sample_weight=WEIGHTS, evidence=EVIDENCE)
    found = sort_groups(problem, make_gain("accuracy", 2), 0)
    assert found.order is not None
    labels = solve_thresholds(problem, make_gain("accuracy", 2), 1.0, TO_THE_LETTER, 0).labels
    assert labels.dtype == np.int32
    assert labels.tolist() == (P > 0.5).astype(int).tolist()
    relaxed = RelaxedThresholds((1, 2), (2, 1), (0.25, 0.75), 0.0, 0.0, 0.0, 0.0)
    found_probabilities = weighted_probabilities(problem, found, relaxed)()
    expected = np.zeros(P.size)
    for rows, probabilities in zip(found.order, ([1.0, 0.25, 0.25, 0.0, 0.0], [1.0, 1.0, 0.75, 0.0]), strict=True):
        expected[rows] = probabilities
    np.testing.assert_array_equal(found_probabilities, np.stack([1 - expected, expected], axis=1))


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("decision", ["deterministic", "randomized"])
@pytest.mark.parametrize("epsilon", [0.0, 1.0])
def test_only_an_optimal_solution_is_called_exact(weighted: bool, decision: str, epsilon: float) -> None:
    problem = read_posterior(np.stack([1 - P, P], axis=1), GROUP, sample_weight=WEIGHTS if weighted else None)
    allowed = TO_THE_LETTER if decision == "deterministic" else ()
    found = solve_thresholds(problem, make_gain("accuracy", 2), epsilon, allowed, 0)
    assert found.optimal == (not weighted or decision == "randomized")
    assert found.optimal or "exact" not in found.solver
