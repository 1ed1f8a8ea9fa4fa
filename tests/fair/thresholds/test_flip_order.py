"""Flips in the order of their cost, against a sorted list of all of them."""

import math

import numpy as np
import pytest

from faircrowd.fair.thresholds.flip_order import flip_path, price_of
from faircrowd.fair.thresholds.sorted_group import Side, make_side

COSTS = {
    "untied": ([-0.875, -0.625, -0.25, -0.125], [-0.5, -0.375, 0.0625, 0.1875, 0.3125, 0.4375, 0.6875, 0.75]),
    "tied": ([-0.5, -0.5, -0.5, -0.25], [-0.5, -0.25, -0.25, 0.25, 0.25, 0.25, 0.25, 0.5]),
    "alike": ([-0.25] * 4, [0.25] * 4),
    "few": ([-0.5], [0.25]),
    "smaller rises": ([-0.5, -0.25, -0.25, -0.25, -0.125, -0.125, 0.25, 0.5], [0.25, 0.5]),
}


def sides_of(name: str) -> tuple[Side, Side]:
    falls, rises = (np.array(costs) for costs in COSTS[name])
    total = float(falls.size + rises.size)
    return tuple(make_side(costs, None, int(np.sum(costs < 0)), total) for costs in (falls, rises))


def flips_of(falls: Side, rises: Side) -> list[tuple[float, float, float]]:
    """All flips, cheapest first: their price, and the rates that they take and give; of equals the smaller group's."""
    down = [(-falls.share * cost, falls.share, 1 / falls.n, 0.0) for cost in falls.costs[: falls.own].tolist()]
    up = [(rises.share * cost, rises.share + 1e-9, 0.0, 1 / rises.n) for cost in rises.costs[rises.own :].tolist()]
    return [(price, fall, rise) for price, _, fall, rise in sorted(down + up)]


@pytest.mark.parametrize("name", COSTS)
def test_the_price_is_that_of_the_last_flip_needed(name: str) -> None:
    falls, rises = sides_of(name)
    flips = flips_of(falls, rises)
    closed = np.cumsum([fall + rise for _, fall, rise in flips])
    needs = [0.0, 1e-6, *closed.tolist(), *(closed - 1e-6).tolist(), *(closed[:-1] + 1e-6).tolist()]
    for need in needs:
        price = flips[int(np.searchsorted(closed, need))][0]
        below = [(fall > 0, rise > 0) for cost, fall, rise in flips if cost < price]
        at = [(fall > 0, rise > 0) for cost, fall, rise in flips if cost == price]
        expected = price, *(sum(each[a] for each in some) for a in (0, 1) for some in (below, at))
        assert price_of(falls, rises, need) == expected


def test_more_than_all_flips_has_no_price() -> None:
    falls, rises = sides_of("untied")
    assert price_of(falls, rises, 2.0) == (math.inf, 4, 0, 6, 0)


@pytest.mark.parametrize("name", COSTS)
@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
def test_a_path_goes_from_flip_to_flip_until_there_is_no_gap(name: str, weighted: bool) -> None:
    falls, rises = sides_of(name)
    if weighted:  # rates are then looked up, and costs have other prices
        falls = make_side(falls.costs, np.full(falls.n, 3.0), falls.own, 3.0 * falls.n + rises.n)
        rises = make_side(rises.costs, np.full(rises.n, 1.0), rises.own, falls.total)
    marked = [falls.own / falls.n, rises.own / rises.n]
    value = sum(-float(side.costs[: side.own].sum()) * side.share / side.n for side in (falls, rises))
    share = falls.share * marked[0] + rises.share * marked[1]
    points = [(marked[0] - marked[1], value, 0.0, share)]
    for number, (price, fall, rise) in enumerate(flips_of(falls, rises), start=1):
        gap, value, _, share = points[-1]
        if gap <= 1e-12:
            break
        part = min(1.0, gap / (fall + rise))
        step = part * (fall + rise)
        points.append(
            (
                gap - step,
                value - price * step,
                number - 1 + part,
                share - part * (falls.share * fall - rises.share * rise),
            )
        )
    found = np.stack(flip_path(falls, rises, points[0][0]), axis=1)
    assert found.tolist() == [pytest.approx(point, abs=1e-12) for point in points]
    assert found[-1, 0] == 0.0


def test_a_path_without_a_gap_is_a_point() -> None:
    side = make_side(np.array([-0.5, 0.5]), None, 1, 4.0)
    assert [part.tolist() for part in flip_path(side, side, 0.0)] == [[0.0], [0.25], [0.0], [0.5]]


def test_a_rate_that_rounds_above_one_is_above_that_of_all_tasks() -> None:
    """The other group has no labels left to flip."""
    falls = make_side(np.array([-0.5, 0.75]), np.ones(2), 1, 4.0)._replace(rates=np.array([0.0, 1 + 2.0**-52, 1.0]))
    rises = make_side(np.array([0.125, 0.125]), np.ones(2), 0, 4.0)
    gaps, _, changed, _ = flip_path(falls, rises, float(falls.rates[1]))
    assert gaps.tolist() == [1 + 2.0**-52, 0.5 + 2.0**-52, 2.0**-52, 0.0]
    assert changed.tolist() == pytest.approx([0, 1, 2, 2])
