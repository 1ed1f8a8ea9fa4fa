"""Thresholds at ranks: the law of their rates, the rule that has them, and the promise by simulation."""

import os

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import beta, kstest

from faircrowd import make_fair
from faircrowd.errors import OptionError
from faircrowd.fair.objective import make_gain
from faircrowd.fair.promise import rank_thresholds
from faircrowd.fair.promise.rank_thresholds import LEARNED, chance_within, ranks_needed, ranks_of
from faircrowd.fair.tasks.read_posterior import read_posterior

REPEATS = 2000 if os.environ.get("FAIRCROWD_SLOW") else 120
"""Samples from which a rule is made; FAIRCROWD_SLOW=1 draws more."""


@pytest.mark.parametrize("epsilon", [0.03, 0.2, 0.6])
@pytest.mark.parametrize(
    ("ranks", "sizes"),
    [((30, 40), (100, 90)), ((1, 5), (3, 400)), ((5, 5, 5, 5), (5, 5, 5, 5)), ((2, 9, 4), (9, 9, 9))],
)
def test_the_chance_equals_quadrature(ranks: tuple[int, ...], sizes: tuple[int, ...], epsilon: float) -> None:
    laws = [beta(k, n + 1 - k) for k, n in zip(ranks, sizes, strict=True)]

    def inside(r: float, a: int) -> float:
        rest = [law.cdf(r + epsilon) - law.cdf(r) for b, law in enumerate(laws) if b != a]
        return float(laws[a].pdf(r) * np.prod(rest))

    expected = sum(quad(inside, 0, 1, args=(a,), points=[1 - epsilon], limit=200)[0] for a in range(len(laws)))
    assert chance_within(np.array(ranks), np.array(sizes), epsilon) == pytest.approx(expected, abs=1e-5)


def test_rates_that_are_certain() -> None:
    sizes = np.array([10, 20])
    assert chance_within(np.array([0, 0]), sizes, 0.0) == 1
    assert chance_within(np.array([0, 21]), sizes, 0.9) == 0
    assert chance_within(np.array([0, 3]), sizes, 0.2) == pytest.approx(beta.cdf(0.2, 3, 18))
    assert chance_within(np.array([11, 3]), sizes, 0.2) == pytest.approx(beta.sf(0.8, 3, 18))
    assert chance_within(np.array([0, 21]), sizes, 1.0) == 1
    assert ranks_of(np.array([0.0, 1.0, 1e-9, 1 - 1e-9, 0.5]), np.full(5, 9)).tolist() == [0, 10, 1, 9, 5]


@pytest.mark.parametrize("levels", [None, 4, 1])
@pytest.mark.parametrize("ranks", [(7, 55), (1, 60), (40, 1), (0, 61), (20, 30)])
@pytest.mark.parametrize("gains", ["accuracy", [[1.0, 0.0], [0.0, 3.0]], [[0.0, 1.0], [1.0, 0.0]]])
def test_the_rule_labels_as_many_held_out_tasks(levels: int | None, ranks: tuple[int, int], gains: object) -> None:
    """Ties or not, gains that rise or fall with the posterior: exactly the tasks up to the rank get label 1."""
    p = np.random.default_rng(3).random(100)
    p = p if levels is None else np.round(p * levels) / levels
    problem = read_posterior(np.stack([1 - p, p], axis=1), np.repeat([0, 1], [40, 60]))
    gain = make_gain(gains, 2)
    rule = rank_thresholds._rule(problem, np.array(ranks), gain, problem.sizes, 0.05, 5)
    labels = rule.label_codes(problem)
    assert np.bincount(problem.group, labels).tolist() == [min(k, n) for k, n in zip(ranks, (40, 60), strict=True)]
    surplus = np.diff(gain.of(problem.posterior), axis=1)[:, 0]
    for a in (0, 1):
        given, other = (surplus[(problem.group == a) & (labels == k)] for k in (1, 0))
        assert given.min(initial=np.inf) >= other.max(initial=-np.inf)


@pytest.mark.parametrize("levels", [None, 3])
def test_the_rate_in_the_population_has_its_law(levels: int | None) -> None:
    """Also where most tasks are tied: the tie is broken by numbers that are uniform."""
    rng = np.random.default_rng(8)
    pool = rng.beta(2, 3, 5000)
    pool = pool if levels is None else np.round(pool * levels) / levels
    whole = np.stack([1 - pool, pool], axis=1)
    found = []
    for seed in range(400):
        sample = whole[rng.integers(0, 5000, 60)]
        problem = read_posterior(sample, np.repeat([0, 1], [25, 35]))
        rule = rank_thresholds._rule(problem, np.array([6, 30]), make_gain("accuracy", 2), problem.sizes, 0.1, seed)
        found.append([rule.probabilities(whole, np.full(5000, a, np.int32))[:, 1].mean() for a in (0, 1)])
    assert kstest(np.array(found)[:, 0], beta(6, 20).cdf).pvalue > 1e-3
    assert kstest(np.array(found)[:, 1], beta(30, 6).cdf).pvalue > 1e-3


@pytest.mark.parametrize(
    ("shapes", "sizes", "levels"),
    [
        (((2, 3), (3, 2)), (300, 300), None),
        (((2, 3), (3, 2)), (250, 900), 6),
        (((0.3, 6), (0.6, 6)), (150, 150), None),
        (((6, 0.3), (6, 0.6)), (150, 150), None),
        (((2, 3), (3, 2), (4, 2), (2, 2)), (500, 450, 500, 600), None),
    ],
    ids=["even", "uneven and tied", "rare", "common", "four groups"],
)
def test_a_promise_fails_as_rarely_as_it_says(shapes: tuple, sizes: tuple[int, ...], levels: int | None) -> None:
    rng = np.random.default_rng(5)
    pools = [rng.beta(*shape, 20_000) for shape in shapes]
    pools = [p if levels is None else np.round(p * levels) / levels for p in pools]
    wholes = [np.stack([1 - p, p], axis=1) for p in pools]
    group = np.repeat(np.arange(len(sizes)), sizes)
    wrong = []
    for i in range(REPEATS):
        sample = np.concatenate([whole[rng.integers(0, 20_000, n)] for whole, n in zip(wholes, sizes, strict=True)])
        fair = make_fair(sample, group, epsilon=0.1, confidence=0.9, random_state=i)
        assert fair.certificate.gap <= fair.certificate.epsilon + 1 / min(sizes)
        rates = [fair.rule.probabilities(w, np.full(20_000, a, np.int32))[:, 1].mean() for a, w in enumerate(wholes)]
        wrong.append(np.ptp(rates) > 0.1)
    # At most .1, by a test of the simulation's own noise at four standard deviations.
    assert np.mean(wrong) <= 0.1 + 4 * np.sqrt(0.1 * 0.9 / REPEATS)


@pytest.mark.parametrize("rate", [0.5, 0.1])
@pytest.mark.parametrize("n_groups", [2, 3])
def test_needed_is_the_least_that_is_enough(rate: float, n_groups: int) -> None:
    needed = ranks_needed(np.full(n_groups, rate), 0.1, 0.95)

    def chance(n: int) -> float:
        sizes = np.full(n_groups, n - int(n * LEARNED))
        return chance_within(ranks_of(np.full(n_groups, rate), sizes), sizes, 0.1)

    assert chance(needed) >= 0.95 > chance(needed - 1)
    assert ranks_needed(np.full(2, 0.5), 0.0, 0.95) is None


def test_as_many_tasks_as_needed_are_promised() -> None:
    """What the message says is enough is enough, if the tasks are of the same kind."""
    rng = np.random.default_rng(1)
    p = rng.random(80)
    with pytest.raises(OptionError, match=r"about [0-9,]+ tasks in each group would be enough") as caught:
        make_fair(np.stack([1 - p, p], axis=1), np.repeat([0, 1], 40), epsilon=0.1, confidence=0.95)
    needed = int(str(caught.value).split("about ")[1].split(" ")[0].replace(",", ""))
    p = rng.random(2 * needed + 60)
    fair = make_fair(np.stack([1 - p, p], axis=1), np.repeat([0, 1], needed + 30), epsilon=0.1, confidence=0.95)
    assert fair.promise.enough
    assert (fair.promise.method, fair.promise.needed) == ("ranks", None)
