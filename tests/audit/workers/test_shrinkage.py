"""Shrunken gaps: against the text of the module one worker at a time, and against the truth."""

import numpy as np
import pytest

from audit.workers.crowds import counts_of
from faircrowd.audit.workers.leaning import judge
from faircrowd.audit.workers.shrinkage import normal_prior, shrunken_gaps


def shrunken(counts: np.ndarray) -> list[float]:
    """The shrunken gaps of one stratum by the formulas of the module, worker by worker."""
    gaps = [np.nan] * len(counts)
    votes = counts.sum(axis=2)
    found = [a for a in range(votes.shape[1]) if votes[:, a].any()]
    for k in range(counts.shape[2]):
        hits = counts[:, :, k]
        crowd = hits.sum() / votes.sum()
        off, variance = [], []
        for w in range(len(counts)):
            voted = [a for a in found if votes[w, a]]
            voted = voted if len(voted) > 1 else []  # one group alone has no difference
            rates = {a: hits[w, a] / votes[w, a] for a in voted}
            q = (hits[w].sum() + 2 * crowd) / (votes[w].sum() + 2)
            own = {a: q * (1 - q) / votes[w, a] for a in voted}
            m = len(voted)
            off.append({a: rates[a] - sum(rates.values()) / m for a in voted})
            variance.append({a: own[a] * (1 - 2 / m) + sum(own.values()) / m**2 for a in voted})
        everywhere = [w for w in range(len(counts)) if len(off[w]) == len(found)]
        learns = 0 < crowd < 1 and len(found) > 1 and len(everywhere) > 1
        for a in found if learns else ():
            parts = (np.array([part[w][a] for w in everywhere]) for part in (off, variance))
            mean, between = normal_prior(*parts)
            for w in range(len(counts)):
                if a in off[w]:
                    variance[w][a] = mean, between / (between + variance[w][a])
        for w in range(len(counts)):
            if learns and off[w]:
                centre = sum(mean for mean, _ in variance[w].values()) / len(off[w])
                off[w] = {
                    a: mean - centre + share * (off[w][a] - (mean - centre)) for a, (mean, share) in variance[w].items()
                }
            if len(off[w]) > 1:
                gaps[w] = np.fmax(gaps[w], max(off[w].values()) - min(off[w].values()))
    return gaps


CASES = {
    "some missed groups": counts_of(4, 9, 1, 3, 3)[:, 0],
    "two groups": counts_of(5, 9, 1, 2, 2)[:, 0],
    "a group without votes": counts_of(6, 9, 1, 4, 2)[:, 0] * np.array([1, 0, 1, 1])[:, None],
    "a label nobody gives": counts_of(7, 9, 1, 2, 3)[:, 0] * np.array([1, 0, 1]),
    "one group": counts_of(8, 9, 1, 2, 2)[:, 0] * np.array([0, 1])[:, None],
    "one worker in all groups": np.array([[[2, 1], [1, 3]], [[0, 0], [4, 1]], [[3, 1], [0, 0]]]),
    "two workers in all groups": np.array([[[2, 1], [1, 3]], [[1, 0], [4, 1]], [[3, 1], [0, 0]]]),
    "a group of one vote": np.array([[[2, 1], [1, 3], [0, 1]], [[1, 5], [4, 1], [0, 0]], [[3, 1], [2, 2], [0, 0]]]),
}


@pytest.mark.parametrize("name", CASES)
def test_gaps_are_shrunken_as_the_text_says(name: str) -> None:
    counts = CASES[name]
    counts = counts[counts.sum(axis=(1, 2)) > 0]
    np.testing.assert_allclose(shrunken_gaps(counts[:, None]), shrunken(counts), atol=1e-13)


def test_the_largest_gap_over_strata_counts_and_nobody_has_one_without_votes() -> None:
    counts = counts_of(9, 8, 2, 2, 2)
    both = [shrunken_gaps(counts[:, [s]]) for s in (0, 1)]
    np.testing.assert_array_equal(shrunken_gaps(counts), np.fmax(*both))
    assert np.isnan(shrunken_gaps(np.zeros((2, 1, 2, 2), dtype=np.int64))).all()


def test_a_prior_is_that_of_its_formula() -> None:
    values, variances = np.array([0.1, 0.5, -0.2, 0.9]), np.array([0.01, 0.02, 0.04, 0.01])
    weights = 1 / variances
    mean = np.average(values, weights=weights)
    excess = (weights * (values - mean) ** 2).sum() - 3
    between = excess / (weights.sum() - (weights**2).sum() / weights.sum())
    assert normal_prior(values, variances) == pytest.approx(
        (np.average(values, weights=1 / (variances + between)), between)
    )


def test_prior_by_hand() -> None:
    mean, variance = normal_prior(np.array([0.0, 1.0]), np.array([0.1, 0.1]))
    # Q = 2 * 10 * .25 = 5; (5 - 1) / (20 - 200 / 20) = .4
    assert (mean, variance) == pytest.approx((0.5, 0.4))
    assert normal_prior(np.array([0.4, 0.5]), np.array([1.0, 3.0])) == pytest.approx((0.425, 0.0))


def test_two_groups_shrink_the_difference_itself() -> None:
    rng = np.random.default_rng(1)
    n = rng.integers(1, 40, (30, 2))
    ones = rng.binomial(n, rng.uniform(0.2, 0.8, (30, 2)))
    crowd_rate = ones.sum() / n.sum()
    pooled = (ones.sum(axis=1) + 2 * crowd_rate) / (n.sum(axis=1) + 2)
    difference = ones[:, 1] / n[:, 1] - ones[:, 0] / n[:, 0]
    variance = pooled * (1 - pooled) * (1 / n[:, 0] + 1 / n[:, 1])
    mean, between = normal_prior(difference, variance)
    want = mean + between / (between + variance) * (difference - mean)
    counts = np.stack([n - ones, ones], axis=2)[:, None]
    np.testing.assert_allclose(shrunken_gaps(counts), np.abs(want), atol=1e-12)


def test_shrunken_gaps_are_nearer_the_truth() -> None:
    rng = np.random.default_rng(2)
    lean = rng.normal(0.1, 0.08, 400)
    n = rng.integers(2, 30, (400, 3))
    rates = np.clip(0.5 + lean[:, None] * [-0.5, 0.0, 0.5], 0.01, 0.99)
    ones = rng.binomial(n, rates)
    ones[:, 2] = np.where(n[:, 2] < 4, 0, ones[:, 2])
    n[:, 2] = np.where(n[:, 2] < 4, 0, n[:, 2])  # some have not voted in every group
    counts = np.stack([n - ones, ones], axis=2)[:, None]
    seen = n[:, 2] > 0
    truth = np.abs(lean)
    raw, shrunken = judge(counts, 0.95).gap, shrunken_gaps(counts)
    assert np.mean((shrunken - truth)[seen] ** 2) < 0.1 * np.mean((raw - truth)[seen] ** 2)
    assert np.isfinite(shrunken).all()


def test_nothing_to_shrink_toward() -> None:
    alone = np.array([[[[2, 8], [5, 1]]]])
    np.testing.assert_allclose(shrunken_gaps(alone), [0.8 - 1 / 6])
    nobody_says_one = np.array([[[[2, 0], [5, 0]]], [[[3, 0], [4, 0]]], [[[3, 0], [0, 0]]]])
    np.testing.assert_allclose(shrunken_gaps(nobody_says_one), [0, 0, np.nan])
