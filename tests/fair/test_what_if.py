"""What each epsilon gives: the numbers of the labels that ``make_fair`` returns for it, counted by hand."""

from typing import Any

import numpy as np
import pytest

from faircrowd import make_fair
from faircrowd.fair.what_if import Choice, choices

RNG = np.random.default_rng(11)
P = (lambda p: np.stack([1 - p, p], axis=1))(RNG.random(60))
WIDE = RNG.dirichlet([1.0, 1.0, 0.5], 60)
TWO = (RNG.random(60) < 0.3 + 0.4 * P[:, 1]).astype(int)
THREE = RNG.integers(0, 3, 60)
WEIGHTS = RNG.integers(1, 5, 60).astype(float)
TRUTH = np.where(RNG.random(60) < 0.2, -1, RNG.integers(-2, 2, 60)).astype(np.int32)

CASES: dict[str, tuple[Any, Any, dict[str, Any]]] = {
    "two classes and groups": (P, TWO, {}),
    "three classes": (WIDE, TWO, {}),
    "three groups": (P, THREE, {}),
    "weights": (P, TWO, {"sample_weight": WEIGHTS}),
    "three classes of weights": (WIDE, THREE, {"sample_weight": WEIGHTS}),
    "gains": (P, TWO, {"objective": [[1.0, -0.5], [0.0, 2.0]]}),
    "f1": (P, TWO, {"objective": "f1"}),
    "randomized": (WIDE, TWO, {"decision": "randomized", "random_state": 3}),
    "f1, randomized": (P, TWO, {"objective": "f1", "decision": "randomized"}),
    "strict": (WIDE, THREE, {"strict": True}),
    "strict, two classes and groups": (P, TWO, {"strict": True}),
    "strict f1": (P, TWO, {"strict": True, "objective": "f1"}),
}


@pytest.mark.parametrize("name", CASES)
def test_choices_are_the_labels_of_each_epsilon(name: str) -> None:
    posterior, group, asked = CASES[name]
    own, n_classes = posterior.argmax(axis=1), posterior.shape[1]
    result = make_fair(posterior, group, epsilon=0.07, **asked)
    epsilons = [0.3, 0.0, 0.07, 0.02, 1.0]
    found = choices(result, epsilons, TRUTH)
    assert [choice.epsilon for choice in found] == epsilons
    weights = asked.get("sample_weight", np.ones(60))
    bounds = dict[float, float]()
    is_strict = asked.get("strict", False)
    for choice in sorted(found, key=lambda choice: -choice.epsilon):
        has_thresholds = n_classes == 2 and group.max() == 1  # elsewhere strict labels take too long
        mine = {**asked, "strict": is_strict and (has_thresholds or choice.epsilon == 0.07)}
        fair = make_fair(posterior, group, epsilon=choice.epsilon, **mine)
        moved = np.zeros((group.max() + 1, n_classes, n_classes), dtype=int)
        np.add.at(moved, (group, own, fair.labels), 1)
        np.testing.assert_array_equal(choice.moved, moved)
        assert choice.changed == (fair.labels != own).sum() == fair.certificate.changed
        for a in range(group.max() + 1):
            rates = [np.average(fair.labels[group == a] == k, weights=weights[group == a]) for k in range(n_classes)]
            np.testing.assert_allclose(choice.rates[a], rates, atol=1e-12)
        assert choice.gap == pytest.approx(np.ptp(choice.rates, axis=0).max(), abs=1e-12)
        trusted = posterior[np.arange(60), fair.labels]
        assert choice.believed_accuracy == pytest.approx(np.average(trusted, weights=weights), abs=1e-12)
        assert choice.real_accuracy == pytest.approx((fair.labels == TRUTH)[TRUTH != -1].mean(), abs=1e-12)
        c = fair.certificate  # to the bit
        assert (choice.gap, choice.value, choice.believed_accuracy) == (c.gap, c.value, c.believed_accuracy)
        bounds[choice.epsilon] = c.bound
        assert choice.bound == pytest.approx(min(bounds.values()), abs=1e-12)
        if mine["strict"]:
            assert choice.gap <= choice.epsilon + 1e-12
        if n_classes == 2:
            np.testing.assert_array_equal(choice.thresholds, fair.rule.thresholds)
        else:
            assert choice.thresholds is None


@pytest.mark.parametrize("name", ["two classes and groups", "three classes", "gains", "f1"])
def test_no_labels_within_epsilon_are_above_the_frontier(name: str) -> None:
    posterior, group, asked = CASES[name]
    result = make_fair(posterior, group, epsilon=1.0, **asked)
    frontier = result.frontier
    for choice in choices(result, np.linspace(0, float(frontier.gap[0]), 12).tolist()):
        bound = frontier.at(min(max(choice.gap, choice.epsilon), 1.0)).value
        assert choice.value <= bound + (1e-9 if frontier.exact else 1e-3)  # lines between points of a sweep


def test_a_truth_that_is_not_known_is_no_real_accuracy() -> None:
    result = make_fair(P, TWO, epsilon=0.1)
    assert choices(result, [0.1], np.full(60, -1, np.int32))[0].real_accuracy is None
    assert choices(result, [0.1])[0].real_accuracy is None


def test_labels_that_stay_are_not_changed() -> None:
    moved = np.array([[[5, 1], [2, 7]], [[2, 0], [3, 4]]])
    choice = Choice(0.1, 0.1, 0.5, 0.5, 0.5, np.zeros((2, 2)), moved)
    assert (choice.changed, choice.changed_in_groups.tolist()) == (6, [3, 3])


@pytest.mark.parametrize("objective", ["accuracy", "f1"])
@pytest.mark.parametrize("seed", range(12))
def test_bounds_never_fall_as_epsilon_rises(objective: str, seed: int) -> None:
    """What no labels within an epsilon exceed, none within a smaller one do."""
    rng = np.random.default_rng(seed)
    p = rng.choice(np.arange(0.02, 1, 0.03), 47)
    group = (rng.random(47) < 0.3 + 0.5 * p).astype(int)
    result = make_fair(np.stack([1 - p, p], axis=1), group, epsilon=1.0, objective=objective)
    epsilons = rng.permutation([0.0, 0.01, 0.02, 0.03, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.5])
    found = sorted(choices(result, epsilons), key=lambda choice: choice.epsilon)
    assert np.all(np.diff([choice.bound for choice in found]) >= 0)
    kept = [choice for choice in found if choice.gap <= choice.epsilon + 1e-12]
    assert all(one.value <= other.bound + 1e-9 for one in kept for other in found if other.epsilon >= one.epsilon)
