"""The solution with a coin, against flips done one by one from a sorted list."""

from typing import Any

import numpy as np
import pytest

from faircrowd import make_fair
from faircrowd.fair.thresholds.relaxed import Split, relaxed_split, tied_part
from faircrowd.fair.thresholds.sorted_group import Side, make_side, rank_of
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


def sides_of(name: str, weight: float = 0.0) -> tuple[Side, Side]:
    """The group that must fall, and the one that must rise; the first one's tasks of this weight."""
    falls, rises = (np.array(costs) for costs in COSTS[name])
    weights = [np.full(falls.size, weight), np.ones(rises.size)] if weight else [None, None]
    total = float(falls.size * (weight or 1.0) + rises.size)
    own = int(np.sum(falls <= 0)), int(np.sum(rises < 0))
    return make_side(falls, weights[0], own[0], total), make_side(rises, weights[1], own[1], total)


def flipped(falls: Side, rises: Side, epsilon: float) -> tuple[list[float], float, float]:
    """Flip the cheapest a unit of gap, of equals those of the smaller group, until the gap is epsilon.

    Return how many tasks of each group are then marked, what that is worth, and the price of the last flip.
    """
    flips = [(-falls.share * cost, falls.share, 0, falls) for cost in falls.costs[: falls.own].tolist()]
    flips += [(rises.share * cost, rises.share, 1, rises) for cost in rises.costs[rises.own :].tolist()]
    marked = [float(falls.own), float(rises.own)]
    value = sum(
        -float(side.costs[: side.own].mean()) * side.own * side.share / side.n for side in (falls, rises) if side.own
    )
    left, last = falls.own / falls.n - rises.own / rises.n - epsilon, 0.0
    for price, _, a, side in sorted(flips, key=lambda flip: flip[:3]):
        if left < 1e-12:
            break
        part = min(1.0, left * side.n)
        marked[a] += part if a else -part
        left, last = left - part / side.n, price
        value -= price * part / side.n
    return marked, value, last


@pytest.mark.parametrize("name", COSTS)
@pytest.mark.parametrize("weight", [0.0, 0.25, 4.0], ids=["plain", "light", "heavy"])
@pytest.mark.parametrize("up", [0, 1])
def test_the_cheapest_flips_that_leave_epsilon(name: str, weight: float, up: int) -> None:
    falls, rises = sides_of(name, weight)
    own = falls.own / falls.n - rises.own / rises.n
    sign = 1 if up else -1
    for epsilon in (0.0, own / 8, own / 3, own / 2, own * 0.9375):
        split = relaxed_split((rises, falls) if up else (falls, rises), epsilon)
        marked, value, price = flipped(falls, rises, epsilon)
        assert split.gap == pytest.approx(sign * epsilon, abs=1e-12)
        assert split.beta == pytest.approx(sign * price, abs=1e-12)
        assert split.value == pytest.approx(value, abs=1e-12)
        assert split.value <= split.bound <= value + 1e-12
        for side, a, count in ((falls, up, marked[0]), (rises, 1 - up, marked[1])):
            assert split.sure[a] + split.omega[a] * split.tied[a] == pytest.approx(count, abs=1e-9)
            assert 0.0 <= split.omega[a] <= 1.0
            assert split.tied[a] or split.omega[a] == (1.0 if a == up else 0.0)  # as without a flip
            at = (-split.beta if a else split.beta) / side.share
            ends = rank_of(side, at - 1e-12, False), rank_of(side, at + 1e-12, True)
            if price > 0:
                assert (split.sure[a], split.sure[a] + split.tied[a]) == ends
            else:  # a flip that costs nothing is undone by none
                assert ends[0] <= split.sure[a] <= split.sure[a] + split.tied[a] <= ends[1]


def test_a_gap_within_epsilon_stays() -> None:
    falls, rises = sides_of("untied")
    for epsilon in (0.75, 0.75 - SLACK / 2, 0.75 - SLACK, 1.0):
        expected = Split((4, 2), (0, 0), (0.0, 0.0), 0.0, -0.75, 2.625 / 12, 2.625 / 12)
        assert relaxed_split((falls, rises), epsilon) == expected
    assert relaxed_split((rises, falls), 0.75).gap == 0.75
    assert relaxed_split((falls, rises), 0.75 - 3 * SLACK).beta != 0.0


def test_fewer_labels_change_in_the_smaller_group() -> None:
    """Flips of the two tasks and of the four cost the same a unit of gap."""
    small, large = np.full(2, 1 / 4), np.full(4, 1 / 8)
    for costs, own, sizes in (((-small, large), (2, 0), (2, 4)), ((-large, small), (4, 0), (4, 2))):
        sides = [make_side(part, None, count, 6.0) for part, count in zip(costs, own, strict=True)]
        found = relaxed_split((sides[0], sides[1]), 0.5)
        marked = [round(found.omega[a] * found.tied[a], 12) for a in (0, 1)]
        assert marked == ([1.0, 0.0] if sizes[0] == 2 else [4.0, 1.0])
        assert found.tied == sizes


def at_threshold(costs: list[float], sure: int, tied: int, omega: float, a: int = 0) -> Any:
    """Return the part marked at a threshold of cost 0.25 (-0.25 for group 1), that of half of all tasks."""
    side = make_side(np.array(costs), None, 0, 2.0 * len(costs))
    return tied_part(side, Split((sure, sure), (tied, tied), (omega, omega), 0.125, 0.0, 0.0, 0.0), a)


def test_the_part_marked_of_tied_tasks() -> None:
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
def test_near_tasks_that_weigh_nothing_are_not_tied(decision: str) -> None:
    marked = np.array([0.9, 0.7, 0.8, 0.6, 0.3 + 0.3 * TIE, 0.2])
    fair = make_fair(
        np.stack([1 - marked, marked], axis=1),
        np.array([1, 1, 1, 0, 0, 0]),
        epsilon=0.4,
        decision=decision,
        sample_weight=[1, 1, 1, 1.5, 1e-17, 1.5],
    )
    assert all(group == 1 for group, _ in fair.rule.ties)
    assert fair.probabilities[:3, 1].mean() - fair.probabilities[[3, 5], 1].mean() == pytest.approx(0.4)


def test_what_the_solution_itself_splits_is_tied() -> None:
    """A threshold may lie beside the tasks of a coin, as where a flip costs nothing."""
    assert at_threshold([-0.5, 0.0, 0.25, 0.25, 0.5], 1, 2, 0.5) == pytest.approx(1 / 3)
    assert at_threshold([-0.5, 0.0, 0.25, 0.25, 0.5], 3, 2, 0.5) == pytest.approx(2 / 3)
