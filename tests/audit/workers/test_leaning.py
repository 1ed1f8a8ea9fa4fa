"""Leanings and shrunken gaps of workers, against loops over workers, labels and pairs of groups."""

from itertools import combinations

import numpy as np
import pytest

from faircrowd.audit.intervals import newcombe
from faircrowd.audit.workers.leaning import _cells, _tests, compare, judge
from faircrowd.audit.workers.shrinkage import normal_prior, shrunken_gaps
from faircrowd.audit.workers.significance import benjamini_hochberg, fisher_tests
from faircrowd.audit.workers.worker_counts import range_over_groups


def counts_of(seed: int, *shape: int) -> np.ndarray:
    """Votes of workers, of whom some missed a group or all of them."""
    counts = np.random.default_rng(seed).integers(0, 8, shape)
    counts[0] = 0
    counts[1, :, 0] = 0
    counts[2, :, 1:] = 0
    counts[3, 0] *= 40
    return counts


@pytest.mark.parametrize("shape", [(7, 1, 2, 2), (7, 2, 3, 2), (7, 1, 3, 3), (7, 3, 2, 3)])
def test_differences_and_their_intervals(shape: tuple[int, ...]) -> None:
    counts = counts_of(1, *shape)
    found, bare = compare(counts, 0.9), compare(counts)
    labels = [1] if shape[3] == 2 else range(shape[3])
    cells = [(s, k, a, b) for s in range(shape[1]) for k in labels for a, b in combinations(range(shape[2]), 2)]
    for w, table in enumerate(counts):
        votes = table.sum(axis=2)
        known = [(s, k, a, b) for s, k, a, b in cells if votes[s, a] and votes[s, b]]
        if not known:
            assert np.isnan([found.gap[w], found.low[w], found.high[w], bare.gap[w]]).all()
            assert (found.truth[w], found.label[w], found.more[w], found.less[w]) == (-1, -1, -1, -1)
            continue
        tables = [(table[s, a, k], votes[s, a], table[s, b, k], votes[s, b]) for s, k, a, b in known]
        differences = [x / n - y / m for x, n, y, m in tables]
        wide = [newcombe(*cell, 1 - 0.1 / (2 * len(cells) - 1)) for cell in tables]
        nearest = [max(float(low), -float(high), 0.0) for low, high in wide]
        ends = [max(-float(low), float(high)) for low, high in (newcombe(*cell, 0.9) for cell in tables)]
        assert found.gap[w] == bare.gap[w] == max(map(abs, differences))
        assert found.low[w] == pytest.approx(max(nearest), abs=1e-15)
        assert found.high[w] == pytest.approx(max(ends) if len(known) == len(cells) else 1, abs=1e-15)
        for leaning, keys in ((found, nearest), (bare, [0] * len(known))):
            surest = max(range(len(known)), key=lambda i, keys=keys: (keys[i], abs(differences[i]), -i))
            s, k, *groups = known[surest]
            more, less = groups if differences[surest] >= 0 else groups[::-1]
            place = leaning.truth[w], leaning.label[w], leaning.more[w], leaning.less[w]
            assert place == (s, k, more, less)
    assert np.isnan([bare.low, bare.high, bare.p_value, bare.q_value, bare.shrunken]).all()


def test_less_than_a_vote_is_none() -> None:
    counts = np.array([[[[0.5, 0.25], [3.0, 1.0]]], [[[0.5, 0.5], [3.0, 1.0]]]])
    np.testing.assert_array_equal(compare(counts).gap, [np.nan, 0.25])


def test_groups_nobody_voted_in_are_not_compared() -> None:
    counts = counts_of(2, 6, 1, 3, 2)
    counts[:, :, 1] = 0
    found, want = compare(counts, 0.9), compare(counts[:, :, [0, 2]], 0.9)
    for name in ("gap", "low", "high", "label"):
        np.testing.assert_array_equal(getattr(found, name), getattr(want, name))
    once = counts.copy()
    once[4, 0, 1, 0] = 1  # one vote of one worker: a gap could be hidden there
    assert (compare(once, 0.9).high[3:] == 1).sum() >= 2


@pytest.mark.parametrize("shape", [(7, 1, 2, 2), (7, 2, 3, 2), (7, 1, 3, 3)])
def test_tests_are_of_each_group_against_the_others(shape: tuple[int, ...]) -> None:
    counts = counts_of(3, *shape)
    assert _cells(counts) == [(s, k) for s in range(shape[1]) for k in ([1] if shape[3] == 2 else range(shape[3]))]
    p_value, least = _tests(counts)
    for w, table in enumerate(counts):
        tests = []
        for s, k in _cells(counts):
            for a in [1] if shape[2] == 2 else range(shape[2]):
                rest = np.delete(table[s], a, axis=0).sum(axis=0)
                tests.append(fisher_tests(table[s, a, k], table[s, a].sum(), rest[k], rest.sum()))
        made = max(sum(float(test.least) < 1 for test in tests), 1)
        assert p_value[w] == min(made * min(float(test.p_value) for test in tests), 1)
        assert least[w] == made * min(float(test.least) for test in tests)
    found = judge(counts, 0.9)
    np.testing.assert_array_equal(found.p_value, np.where(np.isnan(found.gap), np.nan, p_value))
    np.testing.assert_array_equal(found.q_value, benjamini_hochberg(np.where(least <= 1 - 0.9, found.p_value, np.nan)))
    np.testing.assert_array_equal(found.shrunken, shrunken_gaps(counts))
    assert np.isnan(judge(counts, 0.9, shrink=False).shrunken).all()


def test_who_could_just_be_tested() -> None:
    # Two votes against one: the least p-value is 1/3.
    counts = np.array([[[[0, 2], [1, 0]]]])
    least = float(_tests(counts)[1][0])
    assert least == pytest.approx(1 / 3)
    assert np.isnan(judge(counts, 1 - least + 1e-9).q_value[0])
    assert judge(counts, 1 - least - 1e-9).q_value[0] == pytest.approx(1 / 3)


def shrunken(counts: np.ndarray) -> list[float]:
    """The shrunken gaps of one stratum by the text of the module, a worker at a time."""
    gaps = [np.nan] * len(counts)
    votes = counts.sum(axis=2)
    found = [a for a in range(votes.shape[1]) if votes[:, a].any()]
    for k in range(counts.shape[2]):
        hits = counts[:, :, k]
        crowd = hits.sum() / votes.sum()
        off, variance = [], []
        for w in range(len(counts)):
            voted = [a for a in found if votes[w, a]]
            voted = voted if len(voted) > 1 else []  # one group alone has nothing to differ from
            rates = {a: hits[w, a] / votes[w, a] for a in voted}
            q = (hits[w].sum() + 2 * crowd) / (votes[w].sum() + 2)
            own = {a: q * (1 - q) / votes[w, a] for a in voted}
            m = len(voted)
            off.append({a: rates[a] - sum(rates.values()) / m for a in voted})
            variance.append({a: own[a] * (1 - 2 / m) + sum(own.values()) / m**2 for a in voted})
        everywhere = [w for w in range(len(counts)) if len(off[w]) == len(found)]
        learns = 0 < crowd < 1 and len(found) > 1 and len(everywhere) > 1
        for a in found if learns else ():
            law = (np.array([part[w][a] for w in everywhere]) for part in (off, variance))
            mean, between = normal_prior(*law)
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


def test_the_largest_gap_over_strata_is_taken_and_nobody_is_no_worker() -> None:
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


def test_spread_is_of_the_rates_that_are_known() -> None:
    rates = np.array([[0.25, 0.75, np.nan], [np.nan, 0.5, np.nan], [0.5, 0.5, 0.25], [np.nan] * 3])
    np.testing.assert_array_equal(range_over_groups(rates, axis=1), [0.5, np.nan, 0.25, np.nan])
    np.testing.assert_array_equal(range_over_groups(rates, axis=0), [0.25, 0.25, np.nan])
