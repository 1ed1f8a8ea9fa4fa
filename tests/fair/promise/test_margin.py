"""The margin: its inequality by simulation, and the promise it makes for learned rules."""

import math
import os

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import beta

from faircrowd import make_fair
from faircrowd.errors import OptionError
from faircrowd.fair.promise.margin import _sum_tail, margin_for

REPEATS = 1000 if os.environ.get("FAIRCROWD_SLOW") else 60
"""Samples from which a rule is learned; FAIRCROWD_SLOW=1 draws more."""


@pytest.mark.parametrize("sizes", [(40, 40), (30, 2000), (5000, 7)])
@pytest.mark.parametrize("log_front", [(math.log(2), math.log(2)), (12.0, 80.0), (200.0, 60.0)])
@pytest.mark.parametrize("factor", [1.001, 1.05, 1.3])
def test_tail_of_a_sum_equals_quadrature(sizes: tuple, log_front: tuple, factor: float) -> None:
    (n, m), (c, d) = sizes, log_front
    start, other = math.sqrt(c / (2 * n)), math.sqrt(d / (2 * m))
    at = factor * (start + other)
    end = at - other

    def inside(x: float) -> float:
        return 4 * n * x * math.exp(c - 2 * n * x * x + min(d - 2 * m * (at - x) ** 2, 0))

    near = end - 5 / math.sqrt(m)
    expected = quad(inside, start, end, points=[near] if near > start else None, limit=500, epsabs=0)[0]
    expected += math.exp(c - 2 * n * end**2)
    assert float(_sum_tail(at, n, c, m, d)) == pytest.approx(expected, rel=1e-6)
    assert float(_sum_tail(at / factor, n, c, m, d)) == pytest.approx(1, rel=1e-12)
    assert float(_sum_tail(0.99 * at / factor, n, c, m, d)) == 1


def test_the_margin_is_close_to_the_errors_of_all_thresholds() -> None:
    """The largest errors of two groups' rates, over all thresholds, exceed it with nearly the probability asked for."""
    rng = np.random.default_rng(1)
    sizes, repeats = (100, 250), 4000
    errors = np.zeros(repeats)
    for n in sizes:
        p = np.sort(rng.random((repeats, n)), axis=1)
        steps = np.arange(n)
        errors += np.maximum((steps + 1) / n - p, p - steps / n).max(axis=1)
    exceeded = np.mean(errors > margin_for(sizes, 2, 0.1, 0.9).margin)
    assert 0.06 < exceeded < 0.1


def test_errors_of_all_corners_of_three_classes() -> None:
    """Three classes: for no prices are the sample's rates further from the population's than the margin allows."""
    rng = np.random.default_rng(2)
    n, distributions = 400, ([1.0, 2.0, 0.7], [2.0, 1.0, 1.0])
    margin = margin_for([n, n], 3, 0.1, 0.9).margin
    prices = rng.normal(0, 0.3, (300, 3))
    wholes = [rates(rng.dirichlet(distribution, 50_000), prices) for distribution in distributions]
    largest = []
    for _ in range(30):
        errors = [
            rates(rng.dirichlet(distribution, n), prices) - whole
            for distribution, whole in zip(distributions, wholes, strict=True)
        ]
        largest.append(np.abs(errors[0][:, None] - errors[1][None]).max())
    assert max(largest) < margin
    assert max(largest) > 0.3 * margin


def rates(posterior: np.ndarray, prices: np.ndarray) -> np.ndarray:
    """Share of each class under each row of prices."""
    labels = [np.argmax(posterior - price, axis=1) for price in prices]
    return np.array([np.bincount(given, minlength=3) / given.size for given in labels])


def learned_gaps(confidence: float | None, n: int, epsilon: float, tied: bool) -> np.ndarray:
    """Learn thresholds from samples of two groups; return the gap of each in the population."""
    rng = np.random.default_rng(5)
    levels, distributions = np.linspace(0.05, 0.95, 7), np.array([[5, 4, 3, 3, 2, 1, 1], [1, 2, 3, 3, 4, 4, 2]]) / 19
    shapes = ((2.0, 3.0), (3.0, 2.0))
    asked = epsilon if confidence is None else margin_for([n, n], 2, epsilon, confidence).tightened
    gaps = []
    for _ in range(REPEATS):
        parts = [rng.choice(levels, n, p=distributions[a]) if tied else rng.beta(*shapes[a], n) for a in (0, 1)]
        p = np.concatenate(parts)
        rule = make_fair(np.stack([1 - p, p], axis=1), np.repeat([0, 1], n), epsilon=asked).rule
        found = []
        for a in (0, 1):
            threshold = rule.thresholds[a]
            if tied:
                weight = rule.ties.get((a, (0, 1)), (0.5, 0.5))[1]
                at = np.abs(levels - threshold) < 1e-9
                found.append(distributions[a] @ np.where(at, weight, levels > threshold))
            else:
                found.append(beta.sf(threshold, *shapes[a]))
        gaps.append(abs(found[1] - found[0]))
    return np.array(gaps)


@pytest.mark.parametrize("tied", [False, True], ids=["continuous", "tied"])
def test_the_population_gap_of_a_learned_rule_stays_within_epsilon(tied: bool) -> None:
    n, epsilon = 1500, 0.1
    assert margin_for([n, n], 2, epsilon, 0.9).enough
    assert np.mean(learned_gaps(None, n, epsilon, tied) > epsilon) > 0.3
    assert np.mean(learned_gaps(0.9, n, epsilon, tied) > epsilon) < 0.1


def test_the_population_gap_of_three_classes() -> None:
    rng = np.random.default_rng(9)
    distributions, n = ([1.0, 2.0, 0.7], [2.0, 1.0, 1.0]), 400
    margin = margin_for([n, n], 3, 0.3, 0.9)
    assert margin.enough
    wholes = [rng.dirichlet(distribution, 50_000) for distribution in distributions]
    for _ in range(REPEATS // 10):
        sample = np.concatenate([rng.dirichlet(distribution, n) for distribution in distributions])
        rule = make_fair(sample, np.repeat([0, 1], n), epsilon=margin.tightened).rule
        found = [rates(whole, rule.prices[[a]]) for a, whole in enumerate(wholes)]
        assert np.abs(found[0] - found[1]).max() < 0.3


def test_properties_of_the_margin() -> None:
    base = margin_for([500, 800], 2, 0.2, 0.95)
    assert base.enough
    assert base.tightened == pytest.approx(0.2 - base.margin)
    assert base.margin < sum(math.sqrt(math.log(4 / 0.05) / (2 * n)) for n in (500, 800))  # each group on its own
    assert margin_for([800, 500], 2, 0.2, 0.95).margin == pytest.approx(base.margin, abs=1e-11)
    assert margin_for([500, 900], 2, 0.2, 0.95).margin < base.margin
    assert margin_for([500, 800, 10**6], 2, 0.2, 0.95).margin > base.margin
    assert margin_for([500, 800], 2, 0.2, 0.99).margin > base.margin
    several = [margin_for([500, 800], k, 0.2, 0.95).margin for k in (2, 3, 4, 6)]
    assert several == sorted(several)


def tail(n: int, n_classes: int, x: float) -> float:
    """Return the bound on how often the shares of a group err by more than x, as the module states it."""
    r = n_classes - 2
    front = (2 if n_classes == 2 else 2 * n_classes) * (n + 1) ** r
    room = x - r / n
    return min(1.0, front * math.exp(-2 * (n - r) * room**2)) if room > 0 else 1.0


@pytest.mark.parametrize("sizes", [(60, 200), (90, 150, 400)])
@pytest.mark.parametrize("n_classes", [2, 3, 5])
def test_the_margin_is_the_least_by_the_stated_inequality(sizes: tuple[int, ...], n_classes: int) -> None:
    """For two groups each error is cut into small steps, and the chance of a sum is added up over them."""
    margin = margin_for(sizes, n_classes, 0.1, 0.9).margin
    steps = np.linspace(0.0, margin, 4001)

    def exceeded(m: float) -> tuple[float, float]:
        below = above = 0.0
        for i, n in enumerate(sizes):
            for other in sizes[i + 1 :]:
                tails = np.array([tail(n, n_classes, x) for x in steps])
                rest = np.array([tail(other, n_classes, m - x) for x in steps])
                mass = tails[:-1] - tails[1:]
                below, above = below + tails[-1] + mass @ rest[:-1], above + tails[-1] + mass @ rest[1:]
        return below, above

    low, high = exceeded(margin)
    assert low <= 0.1 <= high
    assert high - low < 0.02
    assert np.mean([low, high]) == pytest.approx(0.1, rel=1e-3)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_words(n_classes: int) -> None:
    found = margin_for([90_000, 90_000], n_classes, 0.05, 0.95)
    assert str(found) == (
        f"a gap of at most {found.tightened:.4g} on these tasks keeps the gap of all tasks like them within 0.05, with "
        "0.95 confidence"
    )
    assert found.inequality.startswith("Dvoretzky-Kiefer-Wolfowitz with Massart's constant")
    assert ("in the other 1, for all prices of 3 classes" in found.inequality) == (n_classes == 3)
    assert ("for all thresholds at once" in found.inequality) == (n_classes == 2)


@pytest.mark.parametrize(("n_groups", "n_classes"), [(2, 2), (4, 2), (2, 5)])
def test_needed_is_the_least_that_is_enough(n_groups: int, n_classes: int) -> None:
    small = margin_for([50] * n_groups, n_classes, 0.05, 0.95)
    assert not small.enough
    assert small.tightened == 0
    assert f"about {small.needed:,} tasks in each group would be enough" in str(small)
    assert margin_for([small.needed] * n_groups, n_classes, 0.05, 0.95).enough
    assert not margin_for([small.needed - 1] * n_groups, n_classes, 0.05, 0.95).enough


def test_nothing_can_be_promised_for_epsilon_zero_or_of_a_handful_of_tasks() -> None:
    none = margin_for([10**6, 10**6], 2, 0.0, 0.95)
    assert (none.enough, none.needed) == (False, None)
    assert "no number of tasks would be enough" in str(none)
    with np.errstate(all="raise"):
        for sizes, n_classes in (([1, 3], 5), ([3, 900], 5), ([900, 3], 5), ([1, 1], 2)):
            assert margin_for(sizes, n_classes, 0.5, 0.95).margin == 1
    assert margin_for([4, 10**9], 5, 0.5, 0.95).margin > 0.75  # three of the four tasks are left out
    whole = margin_for([1, 3], 2, 1.0, 0.95)
    assert (whole.enough, whole.tightened, whole.needed) == (True, 0, 1)  # no gap exceeds 1


@pytest.mark.parametrize(("epsilon", "many"), [(3.6e-6, True), (2.6e-6, False)])
def test_more_than_a_million_millions_of_tasks_are_no_number(epsilon: float, many: bool) -> None:
    needed = margin_for([10, 10], 2, epsilon, 0.95).needed
    assert (needed is not None) is many
    assert needed is None or 2**38 < needed < 2**39


@pytest.mark.parametrize(
    "wrong",
    [
        {"group_sizes": [10]},
        {"group_sizes": []},
        {"group_sizes": [10, 0]},
        {"n_classes": 1},
        {"epsilon": 1.5},
        {"epsilon": -0.5},
        {"confidence": 1},
        {"confidence": 0.2},
    ],
)
def test_bad_arguments(wrong: dict) -> None:
    given = {"group_sizes": [10, 10], "n_classes": 2, "epsilon": 0.1, "confidence": 0.9, **wrong}
    with pytest.raises(OptionError, match=next(iter(wrong))):
        margin_for(**given)
