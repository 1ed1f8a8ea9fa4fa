"""The frontier over one limit: each point is what make_fair gives for that limit, and what is impossible is named."""

import pickle
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest

from faircrowd import make_fair
from faircrowd.constraints import ChangeBudget, Constraint, DemographicParity, RateRange, RateRatio, ReviewBudget
from faircrowd.errors import InfeasibleError, OptionError
from faircrowd.fair.general.least_relaxation import tightest_limit
from faircrowd.fair.general.limit_frontier import limits_to_try, varied


def tasks(n: int = 240, classes: int = 2, seed: int = 4) -> tuple[pd.DataFrame, pd.DataFrame]:
    rng = np.random.default_rng(seed)
    groups = pd.DataFrame({"sex": np.arange(n) % 2, "region": rng.integers(0, 3, n)})
    posterior = rng.dirichlet(np.ones(classes), n)
    posterior[:, 1] += 0.3 * groups["sex"].to_numpy() + 0.1 * groups["region"].to_numpy()
    posterior = np.round(posterior / posterior.sum(axis=1, keepdims=True), 2)
    posterior[:, 0] = 1 - posterior[:, 1:].sum(axis=1)
    return pd.DataFrame(np.clip(posterior, 0, 1)), groups


LISTS: dict[str, tuple[list[Constraint], int]] = {
    "parity, and a budget": ([DemographicParity(0.2, group="sex"), ChangeBudget(0.15)], 0),
    "the budget": ([DemographicParity(0.05, group="sex"), ChangeBudget(0.3)], 1),
    "a ratio": ([RateRatio(0.9, group="region", label=1), DemographicParity(0.1, group="sex")], 0),
    "a floor": ([RateRange(low=0.5, group="sex", label=1), ChangeBudget(0.4)], 0),
    "reviews": ([DemographicParity(0.02, group="sex"), ReviewBudget(0.05)], 1),
}


@pytest.mark.parametrize("name", LISTS)
@pytest.mark.parametrize("decision", ["deterministic", "randomized"])
def test_each_point_is_what_make_fair_gives(name: str, decision: str) -> None:
    constraints, number = LISTS[name]
    posterior, groups = tasks()
    fair = make_fair(posterior, groups, constraints=constraints, decision=decision, random_state=3)
    points = fair.frontier_over(number)
    assert len(points) > 3
    assert constraints[number].level in [point.limit for point in points]
    for point in points:
        asked = [one.with_level(point.limit) if c == number else one for c, one in enumerate(constraints)]
        if not point.can_hold:
            assert point[1:8] == (None,) * 7
            with pytest.raises(InfeasibleError):
                make_fair(posterior, groups, constraints=asked)
            continue
        alone = make_fair(posterior, groups, constraints=asked, decision=decision, random_state=3)
        c = alone.certificate
        assert (point.level, point.value, point.bound) == (c.constraints[number].level, c.value, c.bound)
        assert (point.believed_accuracy, point.changed, point.reviewed) == (c.believed_accuracy, c.changed, c.reviewed)
        assert point.randomized == alone.solved.best.value
        assert point.kept == c.kept


@pytest.mark.parametrize("name", LISTS)
def test_relaxing_a_limit_never_costs(name: str) -> None:
    constraints, number = LISTS[name]
    points = make_fair(*tasks(classes=3), constraints=constraints).frontier_over(number)
    best = [point.randomized for point in points if point.randomized is not None]
    best = best[::-1] if constraints[number].is_floor else best
    assert all(later >= before - 1e-9 for before, later in pairwise(best))
    for point in points:
        if point.value is not None and point.bound is not None:
            assert not point.kept or point.value <= point.bound + 1e-2


def test_the_loosest_limit_asks_for_nothing() -> None:
    posterior, groups = tasks()
    for constraints, number in LISTS.values():
        loosest = 0.0 if constraints[number].is_floor else 1.0
        fair = make_fair(posterior, groups, constraints=constraints)
        points = fair.frontier_over(number)
        last = points[0] if constraints[number].is_floor else points[-1]
        free = fair.frontier_over(number, [loosest])[0]
        assert last.randomized == pytest.approx(free.randomized, abs=1e-9)


def test_the_tightest_limit_is_where_impossible_begins() -> None:
    posterior, groups = tasks()
    constraints = [DemographicParity(0.3, group="sex"), ChangeBudget(0.1)]
    fair = make_fair(posterior, groups, constraints=constraints)
    first = tightest_limit(fair.problem, 0)
    assert first is not None
    assert first in limits_to_try(fair.problem, 0)
    below, at = fair.frontier_over("parity", [first - 0.001, first])
    assert (below.can_hold, at.can_hold) == (False, True)
    assert tightest_limit(make_fair(posterior, groups, constraints=constraints[:1]).problem, 0) is None


def test_strict_labels_are_those_of_their_own_limit() -> None:
    posterior, groups = tasks(120)
    fair = make_fair(posterior, groups, constraints=[DemographicParity(0.04, group="sex")], strict=True)
    (own,) = fair.frontier_over(0, [0.04])
    assert (own.level, own.value) == (fair.certificate.constraints[0].level, fair.certificate.value)


def test_what_can_be_varied() -> None:
    listed = [RateRange(0.1, 0.6, label=1, group=()), DemographicParity(0.1, group="sex"), ChangeBudget(0.5)]
    assert [varied(listed, which) for which in (None, 1, "parity", "parity(sex)", "parity(sex) <= 0.1", 2)] == [
        1,
        1,
        1,
        1,
        1,
        2,
    ]
    for which, message in ((0, "has two"), (3, "not one of"), (-1, "not one of"), ("ratio", "not one of")):
        with pytest.raises(OptionError, match=message):
            varied(listed, which)
    with pytest.raises(OptionError, match="more than one of"):
        varied([*listed, DemographicParity(0.1, group="region")], "parity")
    with pytest.raises(OptionError, match="no single limit"):
        varied(listed[:1])
    with pytest.raises(OptionError, match="levels must be a number from 0 to 1"):
        make_fair(*tasks(), constraints=listed[1:]).frontier_over(0, [1.5])


def test_a_frontier_is_a_tuple_that_knows_its_constraint() -> None:
    p = np.array([0.9, 0.8, 0.7, 0.6, 0.4, 0.3, 0.2, 0.1])
    asked = [DemographicParity(0.5), ChangeBudget(0.25)]
    result = make_fair(np.stack([1 - p, p], axis=1), [1, 1, 1, 1, 0, 0, 0, 0], constraints=asked)
    frontier = result.frontier_over("parity", [0.25, 0.5, 1.0])
    assert isinstance(frontier, tuple)
    assert frontier == tuple(frontier)
    assert (frontier.text, frontier.objective, frontier.limits) == ("parity <= 0.5", "accuracy", (0.25, 0.5, 1.0))
    assert frontier.impossible == (0.25,)
    again = pickle.loads(pickle.dumps(frontier))  # noqa: S301 - our own bytes
    assert again == frontier
    assert again.constraint == frontier.constraint
    assert repr(again) == repr(frontier)
