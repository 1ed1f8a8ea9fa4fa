"""The best randomized labels, against flips done one by one from a sorted list."""

from typing import Any

import numpy as np
import pytest

from faircrowd import make_fair
from faircrowd.fair.thresholds.relaxed import RelaxedThresholds, relaxed_thresholds, rule_tied_fraction
from faircrowd.fair.thresholds.sorted_group import SortedGroup, count_below_cost, make_sorted_group
from faircrowd.fair.tolerances import SLACK, TIE

COSTS = {
    "untied": ([-0.75, -0.625, -0.25, -0.125], [-0.5, -0.375, 0.0625, 0.1875, 0.3125, 0.4375, 0.6875, 0.75]),
    "tied": ([-0.5, -0.5, -0.5, -0.25], [-0.5, -0.25, -0.25, 0.25, 0.25, 0.25, 0.25, 0.5]),
    "alike": ([-0.25] * 4, [0.25] * 4),
    "zero": ([-0.5, 0.0, 0.0, 0.5], [0.0, 0.0, 0.25, 0.25]),
    "few": ([-0.5], [0.25]),
    "large alone": ([-0.5, -0.25, -0.125, -0.0625, -0.03125, -0.03125, 0.25, 0.5], [0.75, 0.875]),
    "large and small": ([-0.5, -0.25, -0.25, -0.25, -0.125, -0.125, 0.25, 0.5], [0.25, 0.5]),
}


def groups_of(name: str, weight: float = 0.0) -> tuple[SortedGroup, SortedGroup]:
    """Return the falling and the rising group; the tasks of the falling group have this weight, if any."""
    falling, rising = (np.array(costs) for costs in COSTS[name])
    weights = [np.full(falling.size, weight), np.ones(rising.size)] if weight else [None, None]
    total = float(falling.size * (weight or 1.0) + rising.size)
    own = int(np.sum(falling <= 0)), int(np.sum(rising < 0))
    return make_sorted_group(falling, weights[0], own[0], total), make_sorted_group(rising, weights[1], own[1], total)


def flipped(falling: SortedGroup, rising: SortedGroup, epsilon: float) -> tuple[list[float], float, float]:
    """Do the flips with the lowest prices, of equals those of the smaller group, until the gap is epsilon.

    Return the number of labels 1 of each group, their value, and the price of the last flip.
    """
    flips = [(-falling.share * cost, falling.share, 0, falling) for cost in falling.costs[: falling.own_count].tolist()]
    flips += [(rising.share * cost, rising.share, 1, rising) for cost in rising.costs[rising.own_count :].tolist()]
    counts = [float(falling.own_count), float(rising.own_count)]
    value = sum(
        -float(group.costs[: group.own_count].mean()) * group.own_count * group.share / group.n_tasks
        for group in (falling, rising)
        if group.own_count
    )
    left, last = falling.own_count / falling.n_tasks - rising.own_count / rising.n_tasks - epsilon, 0.0
    for price, _, a, group in sorted(flips, key=lambda flip: flip[:3]):
        if left < 1e-12:
            break
        part = min(1.0, left * group.n_tasks)
        counts[a] += part if a else -part
        left, last = left - part / group.n_tasks, price
        value -= price * part / group.n_tasks
    return counts, value, last


@pytest.mark.parametrize("name", COSTS)
@pytest.mark.parametrize("weight", [0.0, 0.25, 4.0], ids=["plain", "light", "heavy"])
@pytest.mark.parametrize("falling_group", [0, 1])
def test_the_cheapest_flips_that_leave_epsilon(name: str, weight: float, falling_group: int) -> None:
    falling, rising = groups_of(name, weight)
    own = falling.own_count / falling.n_tasks - rising.own_count / rising.n_tasks
    sign = 1 if falling_group else -1
    for epsilon in (0.0, own / 8, own / 3, own / 2, own * 0.9375):
        relaxed = relaxed_thresholds((rising, falling) if falling_group else (falling, rising), epsilon)
        counts, value, price = flipped(falling, rising, epsilon)
        assert relaxed.signed_gap == pytest.approx(sign * epsilon, abs=1e-12)
        assert relaxed.multiplier == pytest.approx(sign * price, abs=1e-12)
        assert relaxed.value == pytest.approx(value, abs=1e-12)
        assert relaxed.value <= relaxed.bound <= value + 1e-12
        for group, a, count in ((falling, falling_group, counts[0]), (rising, 1 - falling_group, counts[1])):
            assert relaxed.n_certain[a] + relaxed.tied_fraction[a] * relaxed.n_tied[a] == pytest.approx(count, abs=1e-9)
            assert 0.0 <= relaxed.tied_fraction[a] <= 1.0
            assert relaxed.n_tied[a] or relaxed.tied_fraction[a] == (1.0 if a == falling_group else 0.0)  # no flip
            at = (-relaxed.multiplier if a else relaxed.multiplier) / group.share
            ends = count_below_cost(group, at - 1e-12, False), count_below_cost(group, at + 1e-12, True)
            if price > 0:
                assert (relaxed.n_certain[a], relaxed.n_certain[a] + relaxed.n_tied[a]) == ends
            else:  # of the flips that cost nothing, only those needed are done
                assert ends[0] <= relaxed.n_certain[a] <= relaxed.n_certain[a] + relaxed.n_tied[a] <= ends[1]


def test_a_gap_within_epsilon_stays() -> None:
    falling, rising = groups_of("untied")
    for epsilon in (0.75, 0.75 - SLACK / 2, 0.75 - SLACK, 1.0):
        expected = RelaxedThresholds((4, 2), (0, 0), (0.0, 0.0), 0.0, -0.75, 2.625 / 12, 2.625 / 12)
        assert relaxed_thresholds((falling, rising), epsilon) == expected
    assert relaxed_thresholds((rising, falling), 0.75).signed_gap == 0.75
    assert relaxed_thresholds((falling, rising), 0.75 - 3 * SLACK).multiplier != 0.0


def test_fewer_labels_change_in_the_smaller_group() -> None:
    """Flips of the two tasks and of the four tasks have the same price."""
    small, large = np.full(2, 1 / 4), np.full(4, 1 / 8)
    for costs, own, sizes in (((-small, large), (2, 0), (2, 4)), ((-large, small), (4, 0), (4, 2))):
        groups = [make_sorted_group(part, None, count, 6.0) for part, count in zip(costs, own, strict=True)]
        found = relaxed_thresholds((groups[0], groups[1]), 0.5)
        label_1 = [round(found.tied_fraction[a] * found.n_tied[a], 12) for a in (0, 1)]
        assert label_1 == ([1.0, 0.0] if sizes[0] == 2 else [4.0, 1.0])
        assert found.n_tied == sizes


def at_threshold(costs: list[float], certain: int, tied: int, fraction: float, a: int = 0) -> Any:
    """Return the tied fraction at a threshold of cost 0.25 (-0.25 for group 1) in a group of half of all tasks."""
    group = make_sorted_group(np.array(costs), None, 0, 2.0 * len(costs))
    return rule_tied_fraction(
        group, RelaxedThresholds((certain, certain), (tied, tied), (fraction, fraction), 0.125, 0.0, 0.0, 0.0), a
    )


def test_the_fraction_of_tied_tasks_with_label_1() -> None:
    costs = [-0.5, 0.0, 0.25, 0.25, 0.5]
    assert at_threshold(costs, 2, 2, 0.3) == 0.3
    assert at_threshold([-0.5, 0.0, 0.3, 0.5], 2, 0, 0.0) is None
    assert at_threshold([-cost for cost in reversed(costs)], 1, 2, 0.3, a=1) == 0.3


@pytest.mark.parametrize("a", [0, 1])
def test_tasks_nearer_to_the_threshold_than_rounding_are_tied(a: int) -> None:
    """One is just better, one just worse, two are at it; those a little farther away are not tied."""
    near, far = 0.9 * TIE, 1.1 * TIE
    at = -0.25 if a else 0.25
    costs = [at - 0.1, at - far, at - near, at, at, at + near, at + far, at + 0.1]
    assert at_threshold(costs, 3, 2, 0.5, a=a) == pytest.approx((1 + 1) / 4)
    assert at_threshold(costs, 3, 2, 0.25, a=a) == pytest.approx((1 + 0.5) / 4)
    assert at_threshold(costs, 3, 2, 1.0, a=a) == pytest.approx(3 / 4)
    for just in (near, TIE):
        assert at_threshold([at - just, at, at + 0.1], 1, 1, 0.0, a=a) == pytest.approx(1 / 2)
        assert at_threshold([at - 0.1, at, at + just], 1, 1, 1.0, a=a) == pytest.approx(1 / 2)
    assert at_threshold([at - 0.1, at - near, at + 0.1], 2, 0, 0.0, a=a) == 1.0
    assert at_threshold([at - 0.1, at + near, at + 0.1], 1, 0, 0.0, a=a) == 0.0


@pytest.mark.parametrize("decision", ["deterministic", "randomized"])
def test_near_tasks_of_negligible_weight_are_not_tied(decision: str) -> None:
    p = np.array([0.9, 0.7, 0.8, 0.6, 0.3 + 0.3 * TIE, 0.2])
    fair = make_fair(
        np.stack([1 - p, p], axis=1),
        np.array([1, 1, 1, 0, 0, 0]),
        epsilon=0.4,
        decision=decision,
        sample_weight=[1, 1, 1, 1.5, 1e-17, 1.5],
    )
    assert all(group == 1 for group, _ in fair.rule.ties)
    assert fair.probabilities[:3, 1].mean() - fair.probabilities[[3, 5], 1].mean() == pytest.approx(0.4)


def test_tasks_tied_in_the_solution_stay_tied() -> None:
    """The threshold may not be at the tied tasks, for instance where a flip costs nothing."""
    assert at_threshold([-0.5, 0.0, 0.25, 0.25, 0.5], 1, 2, 0.5) == pytest.approx(1 / 3)
    assert at_threshold([-0.5, 0.0, 0.25, 0.25, 0.5], 3, 2, 0.5) == pytest.approx(2 / 3)
