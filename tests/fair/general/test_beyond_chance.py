"""What chance explains: limits that hold in the population are rarely said to be broken, broken ones are found."""

import numpy as np
import pytest

from faircrowd.constraints import Constraint, DemographicParity, EqualOpportunity, RateRange, RateRatio
from faircrowd.fair.general.beyond_chance import level_on_tasks
from faircrowd.fair.general.constrained_solve import pose
from faircrowd.fair.objective import make_gain
from faircrowd.fair.tasks.read_posterior import read_posterior
from faircrowd.votes import Vocabulary
from faircrowd.votes.groups import Grouped

KINDS: dict[str, tuple[Constraint, Constraint]] = {
    # kept in the population, to the letter; and broken by .2 or more
    "difference": (DemographicParity(0.2, group="g", label=1), DemographicParity(0.0, group="g", label=1)),
    "ratio": (RateRatio(0.6, group="g", label=1), RateRatio(1.0, group="g", label=1)),
    "range": (RateRange(high=0.5, group="g", label=1), RateRange(high=0.2, group="g", label=1)),
    "truth": (EqualOpportunity(0.2, group="g", label=1), EqualOpportunity(0.0, group="g", label=1)),
}


def beyond(constraint: Constraint, n: int, seed: int) -> float:
    """Draw tasks of two groups of which 30% and 50% get label 1, whatever their posterior is."""
    rng = np.random.default_rng(seed)
    group = rng.integers(0, 2, n).astype(np.int32)
    labels = (rng.random(n) < np.where(group == 0, 0.3, 0.5)).astype(np.int32)
    p = rng.random(n)
    columns = {"g": Grouped(group, Vocabulary.of([0, 1]), {})}
    problem = read_posterior(np.stack([1 - p, p], axis=1), None, without_groups=True)
    posed = pose(problem, [constraint], columns, make_gain("accuracy", 2))
    found = level_on_tasks(posed, 0, labels)
    rates = [labels[group == a].mean() for a in (0, 1)]
    if isinstance(constraint, DemographicParity):
        assert found.level == pytest.approx(np.ptp(rates))
    return found.excess_at_least


@pytest.mark.parametrize("kind", KINDS)
def test_limits_that_hold_are_rarely_said_to_be_broken(kind: str) -> None:
    kept, broken = KINDS[kind]
    false_alarms = sum(beyond(kept, 300, seed) > 0 for seed in range(200))
    assert false_alarms <= 10  # 5% at most; Bonferroni makes it fewer
    assert sum(beyond(broken, 2000, seed) > 0 for seed in range(20)) == 20


def test_a_rate_of_nothing_is_not_certain() -> None:
    """No label among ten tasks of a group does not prove that its rate is 0."""
    group = np.repeat([0, 1], [10, 1000]).astype(np.int32)
    labels = np.where(group == 0, 0, np.arange(1010) % 10 == 0).astype(np.int32)
    columns = {"g": Grouped(group, Vocabulary.of([0, 1]), {})}
    problem = read_posterior(np.full((1010, 2), 0.5), None, without_groups=True)
    posed = pose(problem, [DemographicParity(0.02, group="g", label=1)], columns, make_gain("accuracy", 2))
    found = level_on_tasks(posed, 0, labels)
    assert found.level == pytest.approx(0.1)
    assert found.excess_at_least < 0
