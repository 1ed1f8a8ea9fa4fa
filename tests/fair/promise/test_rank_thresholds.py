"""Thresholds at ranks: the law of their rates, the rule that has them, and the promise by simulation."""

import os

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import beta, dirichlet, kstest

from faircrowd import make_fair
from faircrowd.errors import OptionError
from faircrowd.fair.objective import make_gain
from faircrowd.fair.promise import rank_thresholds
from faircrowd.fair.promise.held_out import split
from faircrowd.fair.promise.rank_thresholds import (
    LEARNED,
    chance_of_gap,
    chance_within,
    promise_by_ranks,
    ranks_needed,
    ranks_of,
)
from faircrowd.fair.rule import FairRule
from faircrowd.fair.tasks.problem import Problem
from faircrowd.fair.tasks.read_posterior import read_posterior

REPEATS, POPULATION = (2000, 8000) if os.environ.get("FAIRCROWD_SLOW") else (120, 2000)
"""Samples from which a rule is made, and tasks they are drawn from; FAIRCROWD_SLOW=1 draws more, from more."""


def ruled(
    problem: Problem, ranks: list[list[int]], gains: object, seed: int, rivals: np.ndarray | None = None
) -> FairRule:
    """Return the rule of these ranks."""
    gain = make_gain(gains, problem.n_classes)
    rates = np.array(ranks) / np.sum(ranks, axis=1, keepdims=True)
    aim = rank_thresholds._Aim(rates, np.zeros(rates.shape) if rivals is None else rivals, gain)
    return rank_thresholds._rule(problem, np.array(ranks), aim, problem.sizes, 0.05, seed)


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


def test_ranks_make_the_rates_and_keep_what_never_happens() -> None:
    rates = np.array([[1.0, 0.0], [0.0, 1.0], [1 - 1e-9, 1e-9], [1e-9, 1 - 1e-9], [0.5, 0.5]])
    assert ranks_of(rates, np.full(5, 9))[:, 1].tolist() == [0, 10, 1, 9, 5]
    assert ranks_of(np.full((1, 5), 0.2), np.array([2])).tolist() == [[1, 1, 1, 0, 0]]  # more classes than tasks
    rng = np.random.default_rng(0)
    for n_classes in (2, 3, 7):
        rates = rng.dirichlet(np.full(n_classes, 0.3), 40)
        rates[rates < 0.01] = 0.0
        rates /= rates.sum(axis=1, keepdims=True)
        sizes = rng.integers(20, 500, 40)
        found = ranks_of(rates, sizes)
        assert (found.sum(axis=1) == sizes + 1).all()
        assert ((found == 0) == (rates == 0)).all()
        assert (np.abs(found - rates * (sizes + 1)[:, None]) <= 1).all()


@pytest.mark.parametrize("epsilon", [0.2, 0.25])
@pytest.mark.parametrize(
    "ranks",
    [[[30, 40, 31], [32, 30, 39]], [[20, 70, 5, 6], [15, 75, 5, 6], [30, 61, 5, 5]], [[50, 50, 1], [51, 50, 0]]],
)
def test_the_bound_of_many_classes_is_near_the_probability(ranks: list[list[int]], epsilon: float) -> None:
    rng = np.random.default_rng(0)
    drawn = np.zeros((len(ranks), 100_000, len(ranks[0])))
    for a, row in enumerate(np.array(ranks)):
        drawn[a][:, row > 0] = dirichlet(row[row > 0]).rvs(100_000, random_state=rng)
    within = (np.ptp(drawn, axis=0).max(axis=1) <= epsilon).mean()
    bound = chance_of_gap(np.array(ranks), epsilon)
    assert bound <= within + 0.006
    assert 1 - bound <= 2 * (1 - within) + 0.006  # twice: two classes that mirror each other, and a rare one


def test_two_classes_that_occur_are_as_two_classes() -> None:
    ranks = np.array([[40, 0, 61], [35, 0, 66]])
    alone = chance_within(ranks[:, 2], np.array([100, 100]), 0.1)
    assert chance_of_gap(ranks, 0.1) == chance_of_gap(ranks[:, [0, 2]], 0.1) == alone
    assert chance_of_gap(np.array([[0, 11, 0], [0, 21, 0]]), 0.0) == 1


@pytest.mark.parametrize("levels", [None, 4, 1])
@pytest.mark.parametrize("ranks", [(7, 55), (1, 60), (40, 1), (0, 61), (20, 30)])
@pytest.mark.parametrize("gains", ["accuracy", [[1.0, 0.0], [0.0, 3.0]], [[0.0, 1.0], [1.0, 0.0]]])
def test_the_rule_labels_as_many_held_out_tasks(levels: int | None, ranks: tuple[int, int], gains: object) -> None:
    """Ties or not, gains that rise or fall with the posterior: exactly the tasks up to the rank get label 1."""
    p = np.random.default_rng(3).random(100)
    p = p if levels is None else np.round(p * levels) / levels
    problem = read_posterior(np.stack([1 - p, p], axis=1), np.repeat([0, 1], [40, 60]))
    rule = ruled(problem, [[41 - ranks[0], ranks[0]], [61 - ranks[1], ranks[1]]], gains, 5)
    assert rule.in_turn is None
    labels = rule.label_codes(problem)
    assert np.bincount(problem.group, labels).tolist() == [min(k, n) for k, n in zip(ranks, (40, 60), strict=True)]
    surplus = np.diff(make_gain(gains, 2).of(problem.posterior), axis=1)[:, 0]
    for a in (0, 1):
        given, other = (surplus[(problem.group == a) & (labels == k)] for k in (1, 0))
        assert given.min(initial=np.inf) >= other.max(initial=-np.inf)


@pytest.mark.parametrize("levels", [None, 6, 2])
@pytest.mark.parametrize("ranks", [(10, 20, 5, 6), (41, 0, 0, 0), (0, 0, 0, 41), (0, 30, 0, 11), (1, 1, 38, 1)])
@pytest.mark.parametrize("gains", ["accuracy", np.arange(16.0).reshape(4, 4) ** 2 % 7])
def test_each_label_has_as_many_held_out_tasks(levels: int | None, ranks: tuple[int, ...], gains: object) -> None:
    rng = np.random.default_rng(2)
    p = rng.dirichlet(np.ones(4), 80) if levels is None else rng.multinomial(levels, np.full(4, 0.25), 80) / levels
    problem = read_posterior(p, np.repeat([0, 1], 40))
    rule = ruled(problem, [list(ranks), [11, 10, 10, 10]], gains, 5, rng.normal(0, 0.2, (2, 4)))
    labels = rule.label_codes(problem)
    for a, row in enumerate((ranks, (11, 10, 10, 10))):
        found = np.bincount(labels[problem.group == a], minlength=4)
        missing = np.array(row) - found  # one task fewer than the parameters: that of the first label that has any
        assert missing.sum() == 1
        assert missing[np.flatnonzero(row)[0]] == 1


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("levels", [None, 3])
def test_the_rate_in_the_population_has_its_law(levels: int | None, n_classes: int) -> None:
    """Also where most tasks are tied: the tie is broken by numbers that are uniform."""
    rng = np.random.default_rng(8)
    whole = rng.dirichlet(np.linspace(2, 3, n_classes), POPULATION)
    if levels is not None:
        whole = np.array([rng.multinomial(levels, p) for p in whole]) / levels
    ranks = [[20, 6], [6, 30]] if n_classes == 2 else [[14, 6, 6], [6, 20, 10]]
    rivals = rng.normal(0, 0.1, (2, n_classes)) if levels is None else None
    found = []
    for seed in range(400):
        problem = read_posterior(whole[rng.integers(0, POPULATION, 60)], np.repeat([0, 1], [25, 35]))
        rule = ruled(problem, ranks, "accuracy", seed, rivals)
        found.append([rule.probabilities(whole, np.full(POPULATION, a, np.int32)).mean(axis=0) for a in (0, 1)])
    for a, row in enumerate(ranks):
        for k, rank in enumerate(row):
            assert kstest(np.array(found)[:, a, k], beta(rank, sum(row) - rank).cdf).pvalue > 1e-3


@pytest.mark.parametrize(
    ("shapes", "sizes", "levels"),
    [
        (((3, 2), (2, 3)), (300, 300), None),
        (((3, 2), (2, 3)), (250, 900), 6),
        (((6, 0.3), (6, 0.6)), (150, 150), None),
        (((0.3, 6), (0.6, 6)), (150, 150), None),
        (((3, 2), (2, 3), (2, 4), (2, 2)), (500, 450, 500, 600), None),
        (((1, 2, 0.7), (2, 1, 1)), (400, 350), None),
        (((1, 2, 0.7), (2, 1, 1)), (350, 400), 3),
        (((1, 2, 0.7, 1), (2, 1, 1, 2), (1, 1, 1, 2)), (400, 400, 400), None),
    ],
    ids=["even", "uneven and tied", "rare", "common", "four groups", "3 classes", "3 classes, tied", "4 classes"],
)
def test_a_promise_fails_as_rarely_as_it_says(shapes: tuple, sizes: tuple[int, ...], levels: int | None) -> None:
    rng = np.random.default_rng(5)
    wholes = [rng.dirichlet(shape, POPULATION) for shape in shapes]
    if levels is not None:
        wholes = [np.array([rng.multinomial(levels, p) for p in whole]) / levels for whole in wholes]
    group = np.repeat(np.arange(len(sizes)), sizes)
    gain = make_gain("accuracy", len(shapes[0]))
    repeats = REPEATS if len(sizes) * len(shapes[0]) == 4 else REPEATS // 3
    wrong = []
    for i in range(repeats):
        sample = np.concatenate([whole[rng.integers(0, POPULATION, n)] for whole, n in zip(wholes, sizes, strict=True)])
        found, rule = promise_by_ranks(read_posterior(sample, group), gain, 0.1, 0.9, i)
        assert rule is not None
        assert 0 <= found.tightened <= 0.1
        rates = [rule.probabilities(w, np.full(POPULATION, a, np.int32)).mean(axis=0) for a, w in enumerate(wholes)]
        wrong.append(np.ptp(rates, axis=0).max() > 0.1)
    # At most .1, by a test of the simulation's own noise at four standard deviations.
    assert np.mean(wrong) <= 0.1 + 4 * np.sqrt(0.1 * 0.9 / repeats)


@pytest.mark.parametrize("rates", [(0.5, 0.5), (0.9, 0.1), (0.4, 0.4, 0.2), (0.25, 0.25, 0.25, 0.25), (0.7, 0.3, 0.0)])
@pytest.mark.parametrize("n_groups", [2, 3])
def test_needed_is_the_least_that_is_enough(rates: tuple[float, ...], n_groups: int) -> None:
    same = np.tile(rates, (n_groups, 1))
    needed = ranks_needed(same, 0.1, 0.95)
    assert needed is not None

    def chance(n: int) -> float:
        return chance_of_gap(ranks_of(same, np.full(n_groups, n - int(n * LEARNED))), 0.1)

    assert chance(needed) >= 0.95 > chance(needed - 1)
    assert ranks_needed(same, 0.0, 0.95) is None


def test_any_rates_of_three_classes_need_fewer_than_1500_tasks() -> None:
    needed = [ranks_needed(np.tile(r, (2, 1)), 0.05, 0.95) for r in np.random.default_rng(0).dirichlet([2, 2, 2], 20)]
    assert max(n or 0 for n in needed) < 1500
    assert ranks_needed(np.full((2, 3), 1 / 3), 0.05, 0.95) < 1500  # type: ignore[operator]


@pytest.mark.parametrize("n_classes", [2, 3])
def test_as_many_tasks_as_needed_are_promised(n_classes: int) -> None:
    """What the message says is enough is enough, if the tasks are of the same kind."""
    rng = np.random.default_rng(1)
    few = rng.dirichlet(np.ones(n_classes), 80)
    with pytest.raises(OptionError, match=r"about [0-9,]+ tasks in each group would be enough") as caught:
        make_fair(few, np.repeat([0, 1], 40), epsilon=0.1, confidence=0.95)
    needed = int(str(caught.value).split("about ")[1].split(" ")[0].replace(",", ""))
    many = rng.dirichlet(np.ones(n_classes), 2 * needed + 60)
    fair = make_fair(many, np.repeat([0, 1], needed + 30), epsilon=0.1, confidence=0.95)
    assert fair.promise is not None
    assert fair.promise.enough
    assert (fair.promise.method, fair.promise.needed) == ("ranks", None)


@pytest.mark.parametrize(("n_classes", "worst"), [(2, 958), (3, 1271), (5, 1271)])
def test_groups_that_cannot_be_split_need_as_many_as_the_worst_rates(n_classes: int, worst: int) -> None:
    posterior = np.eye(n_classes)[[0, 1, 0, 1, 1]]
    with pytest.raises(
        OptionError, match=rf"about {worst:,} tasks in each group would be enough, and the smallest has"
    ):
        make_fair(posterior, [0, 0, 1, 1, 1], epsilon=0.05, confidence=0.95)


def test_the_rule_of_many_classes_comes_from_the_held_out_tasks() -> None:
    """As many held-out tasks have each label as its rate in the best labels of the others says."""
    rng = np.random.default_rng(4)
    posterior = np.concatenate([rng.dirichlet([1, 2, 0.7], 700), rng.dirichlet([2, 1, 1], 700)])
    problem = read_posterior(posterior, np.repeat([0, 1], 700))
    fair = make_fair(posterior, np.repeat([0, 1], 700), epsilon=0.1, confidence=0.9, random_state=3)
    parts = split(problem, LEARNED, 3)
    assert fair.promise is not None
    assert parts is not None
    best = make_fair(
        parts.learned.posterior, parts.learned.group, epsilon=fair.promise.tightened, decision="randomized"
    )
    aimed = [best.probabilities[parts.learned.group == a].mean(axis=0) for a in (0, 1)]
    labels = fair.rule.label_codes(parts.held_out)
    found = [np.bincount(labels[parts.held_out.group == a], minlength=3) / 560 for a in (0, 1)]
    np.testing.assert_allclose(found, aimed, atol=2 / 560)
    assert fair.rule.in_turn is not None
    gains = (fair.rule.probabilities(posterior, problem.group) * posterior).sum(axis=1).mean()
    assert gains >= fair.certificate.value - 0.01  # nearly as good as the best labels
