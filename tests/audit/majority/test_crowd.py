"""How leanings add up in the majority: against every outcome, scipy, and bounds that must hold."""

import itertools
import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

import faircrowd as fc
from faircrowd.audit.majority.bounds import eta, majority_gap_bound, majority_gap_bound_as_printed
from faircrowd.audit.majority.growing_crowd import majority_curve
from faircrowd.audit.majority.majority_gap import crowd_gap, majority_rates
from faircrowd.audit.majority.poisson_binomial import add_up, poisson_binomial, survival
from faircrowd.errors import InputError, OptionError
from strategies import examples

RATES = st.one_of(st.sampled_from([0.0, 0.5, 1.0]), st.floats(0, 1))


def every_outcome(rates: np.ndarray) -> np.ndarray:
    """The law of the count by all 2^R outcomes."""
    law = np.zeros(rates.size + 1)
    for outcome in itertools.product((0, 1), repeat=rates.size):
        law[sum(outcome)] += math.prod(p if y else 1 - p for p, y in zip(rates, outcome, strict=True))
    return law


def random_crowd(rng: np.random.Generator, n_voters: int) -> np.ndarray:
    """Rates of voters in two groups, of many kinds: anything, near 0 or 1, all alike, hardly different."""
    kind = rng.integers(4)
    if kind == 0:
        return rng.random((n_voters, 2))
    if kind == 1:
        return rng.beta(0.2, 0.2, (n_voters, 2))
    if kind == 2:
        return np.tile(rng.random(2), (n_voters, 1))
    return np.clip(rng.random(2) + rng.normal(0, 0.05, (n_voters, 2)), 0, 1)


@given(st.lists(RATES, max_size=9))
def test_law_of_the_count_is_that_of_all_outcomes(rates: list[float]) -> None:
    law = poisson_binomial(rates)
    np.testing.assert_allclose(law, every_outcome(np.array(rates)), rtol=1e-12, atol=1e-300)
    assert law.sum() == pytest.approx(1, abs=1e-14)


def test_groups_are_columns_and_tails_keep_their_digits() -> None:
    rates = np.column_stack([np.full(200, 0.01), np.full(200, 0.5)])
    law = poisson_binomial(rates)
    assert law.shape == (201, 2)
    for a, p in enumerate((0.01, 0.5)):
        np.testing.assert_allclose(law[:, a], binom.pmf(np.arange(201), 200, p), rtol=1e-10, atol=1e-290)
    np.testing.assert_allclose(survival(rates, 60), binom.sf(59, 200, [0.01, 0.5]), rtol=1e-10)
    assert survival([0.3, 0.4], 3) == 0
    assert survival([0.3, 0.4], -1) == pytest.approx(1)


def test_cutting_the_ends_of_a_law_loses_next_to_nothing() -> None:
    rates = np.random.default_rng(0).uniform(0.2, 0.7, 3000)
    cut, whole = np.zeros(3001), np.zeros(3001)
    low, high = add_up(rates, cut, 1e-25)
    add_up(rates, whole, 0.0)
    assert np.abs(cut - whole).sum() < 1e-20
    assert high - low < 700
    assert not cut[:low].any()
    assert not cut[high + 1 :].any()


@pytest.mark.parametrize("bad", [[[0.5, np.nan]], [[1.2, 0.1]], [["a", "b"]], 0.5])
def test_rates_that_are_none_are_refused(bad: object) -> None:
    with pytest.raises(OptionError, match="Rates"):
        majority_rates(bad)


@given(st.integers(1, 8), st.integers(0, 2**32 - 1))
def test_majority_is_that_of_all_outcomes(n_voters: int, seed: int) -> None:
    rates = np.random.default_rng(seed).random((n_voters, 3))
    found = majority_rates(rates)
    laws = np.array([every_outcome(column) for column in rates.T])
    counts = np.arange(n_voters + 1)
    strict, loose = laws @ (counts > n_voters / 2), laws @ (counts >= n_voters / 2)
    np.testing.assert_allclose(found.strict, strict, atol=1e-14)
    np.testing.assert_allclose(found.loose, loose, atol=1e-14)
    assert found.gap_strict == pytest.approx(np.ptp(strict), abs=1e-14)
    assert found.gap_loose == pytest.approx(np.ptp(loose), abs=1e-14)


@given(st.integers(1, 7), st.integers(0, 2**32 - 1))
@settings(max_examples=examples(15))
def test_curve_is_the_mean_over_all_crowds_of_a_size(n_workers: int, seed: int) -> None:
    rates = np.random.default_rng(seed).random((n_workers, 2))
    curve = majority_curve(rates)
    assert curve.sizes.tolist() == list(range(1, n_workers + 1))
    for j, size in enumerate(curve.sizes):
        crowds = [majority_rates(rates[list(c)]) for c in itertools.combinations(range(n_workers), size)]
        np.testing.assert_allclose(curve.strict[j], np.mean([crowd.strict for crowd in crowds], axis=0), atol=1e-13)
        np.testing.assert_allclose(curve.loose[j], np.mean([crowd.loose for crowd in crowds], axis=0), atol=1e-13)
    assert curve.mean_gap == pytest.approx(np.abs(rates[:, 0] - rates[:, 1]).mean())
    assert curve.gap_strict[-1] == pytest.approx(majority_rates(rates).gap_strict, abs=1e-13)


def test_aligned_leanings_add_up_and_opposite_ones_cancel() -> None:
    aligned = majority_curve([[0.45, 0.55]] * 15)
    assert (np.diff(aligned.gap_strict[::2]) > 0).all()  # odd sizes; even ones have ties
    opposite = majority_curve([[0.45, 0.55], [0.55, 0.45]] * 8, sizes=[1, 16])
    np.testing.assert_allclose(opposite.gap_strict, 0, atol=1e-15)
    assert opposite.mean_gap == pytest.approx(0.1)


@pytest.mark.parametrize("sizes", [[0], [3], [1.5]])
def test_sizes_of_no_crowd_are_refused(sizes: list[float]) -> None:
    with pytest.raises(OptionError, match="sizes"):
        majority_curve([[0.1, 0.2]] * 2, sizes=sizes)


def small_crowd(seed: int, n_tasks: int = 30, n_workers: int = 7) -> tuple[pd.DataFrame, dict[int, str]]:
    rng = np.random.default_rng(seed)
    rows = [
        (task, worker, int(rng.integers(2)))
        for task in range(n_tasks)
        for worker in rng.permutation(n_workers)[: rng.integers(1, n_workers + 1)]
    ]
    return pd.DataFrame(rows, columns=["task", "worker", "label"]), {task: "ab"[task % 2] for task in range(n_tasks)}


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=examples(12))
def test_implied_gap_averages_the_law_of_each_tasks_voters(seed: int) -> None:
    frame, groups = small_crowd(seed)
    rng = np.random.default_rng(seed)
    votes = fc.read_votes(frame, sensitive_features=groups)
    truth = rng.integers(0, 2, votes.n_tasks).astype(np.int32)
    truth[4:9] = -1
    rates = rng.random((7, 2, 2))
    known = votes.workers.to_list()
    for given_truth in (False, True):
        implied: dict[str, list[list[float]]] = {"a": [], "b": []}
        observed: dict[str, list[list[bool]]] = {"a": [], "b": []}
        for task, of_task in frame.groupby("task"):
            if given_truth and truth[task] < 0:
                continue
            group = groups[task]
            own = rates[of_task["worker"], "ab".index(group), truth[task] if given_truth else 0]
            law, n = every_outcome(own), len(of_task)
            counts = np.arange(n + 1)
            implied[group].append([law[counts > n / 2].sum(), law[counts >= n / 2].sum()])
            ones = of_task["label"].sum()
            observed[group].append([ones > n / 2, ones >= n / 2])
        used = rates[known] if given_truth else rates[known][:, :, 0]
        found = crowd_gap(votes, used, truth=truth if given_truth else None)
        want = np.array([np.mean(implied[a], axis=0) for a in "ab"])
        seen = np.array([np.mean(observed[a], axis=0) for a in "ab"])
        np.testing.assert_allclose([found.implied.strict, found.implied.loose], want.T, atol=1e-12)
        np.testing.assert_allclose([found.observed.strict, found.observed.loose], seen.T, atol=1e-12)
    own_gap = np.abs(rates[frame["worker"], 0, 0] - rates[frame["worker"], 1, 0])
    assert crowd_gap(votes, rates[known][:, :, 0]).mean_gap == pytest.approx(own_gap.mean())


def test_implied_gap_of_independent_votes_is_the_observed_one() -> None:
    rng = np.random.default_rng(3)
    n_tasks, rates = 40_000, rng.random((5, 2))
    group = rng.integers(0, 2, n_tasks)
    label = (rng.random((n_tasks, 5)) < rates[:, group].T).astype(int)
    frame = pd.DataFrame(
        {"task": np.repeat(np.arange(n_tasks), 5), "worker": np.tile(np.arange(5), n_tasks), "label": label.ravel()}
    )
    votes = fc.read_votes(frame, sensitive_features=dict(enumerate(group.tolist())))
    found = crowd_gap(votes, rates)
    np.testing.assert_allclose(found.implied.strict, majority_rates(rates).strict, atol=1e-12)
    np.testing.assert_allclose(found.implied.strict, found.observed.strict, atol=0.015)  # four standard errors


def test_what_cannot_be_added_up_is_said() -> None:
    frame, groups = small_crowd(0)
    votes = fc.read_votes(frame, sensitive_features=groups)
    rates = np.full((7, 2), 0.5)
    with pytest.raises(InputError, match="no groups"):
        crowd_gap(fc.read_votes(frame), rates)
    with pytest.raises(OptionError, match=r"shape \(7, 2\)"):
        crowd_gap(votes, rates[1:])
    with pytest.raises(InputError, match="lacks the rate") as lacking:
        crowd_gap(votes, np.where(np.arange(7)[:, None] == 3, np.nan, rates))
    theirs = frame.loc[frame["worker"] == 3, "task"].unique()
    few_tasks = ", ".join(map(repr, votes.tasks.some(votes.tasks.code_of(np.sort(theirs)[:5]))))
    assert few_tasks in str(lacking.value)
    with pytest.raises(InputError, match="two classes"):
        crowd_gap(votes.with_classes(fc.votes.Vocabulary.of([0, 1, 2])), rates)
    with pytest.raises(InputError, match="no task with a known truth"):
        crowd_gap(votes, np.full((7, 2, 2), 0.5), truth=np.where(votes.group == 0, 1, -1))
    with pytest.raises(InputError, match="coded from 0 to 1"):
        crowd_gap(votes, np.full((7, 2, 2), 0.5), truth=np.full(votes.n_tasks, 2))


def test_eta_is_the_maximum_of_its_function() -> None:
    x = np.linspace(0.3, 0.5, 200_001)
    series = sum((x**k / math.factorial(k)) ** 2 for k in range(30))
    assert eta() == pytest.approx((np.sqrt(2 * x) * np.exp(-2 * x) * series).max(), abs=1e-11)


@pytest.mark.parametrize("n_voters", range(1, 16))
def test_corrected_bound_holds(n_voters: int) -> None:
    rng = np.random.default_rng(n_voters)
    for _ in range(300):
        rates = random_crowd(rng, n_voters)
        exact, bound = majority_rates(rates), majority_gap_bound(rates)
        assert max(exact.gap_strict, exact.gap_loose) <= bound.value + 1e-12
        assert bound.vacuous == (bound.value >= 1)


@pytest.mark.parametrize("n_voters", [1, 2, 3, 4, 7, 8])
def test_printed_bound_fails_where_the_other_voters_hardly_vary(n_voters: int) -> None:
    # One voter leans; the others are sure and split evenly, but for one who is nearly sure in even crowds.
    sure = [[float(r % 2)] * 2 for r in range(n_voters - 1)]
    if n_voters % 2 == 0:
        sure[-1] = [0.9, 0.9]
    rates = [[0.45, 0.55], *sure]
    exact = majority_rates(rates)
    gap = max(exact.gap_strict, exact.gap_loose)
    assert gap > 1.05 * majority_gap_bound_as_printed(rates).value
    assert gap <= majority_gap_bound(rates).value + 1e-12


def test_bounds_by_hand() -> None:
    one = [[0.4, 0.6]]  # nobody else votes: the majority's gap is the voter's own
    assert majority_gap_bound(one).value == pytest.approx(0.2)
    assert majority_rates(one).gap_strict == pytest.approx(0.2)
    assert majority_gap_bound_as_printed(one).value == pytest.approx(0.46882235549 * 0.2 / math.sqrt(0.24))
    sure = [[0.0, 1.0]] * 3
    assert majority_gap_bound(sure).vacuous
    assert majority_gap_bound_as_printed(sure).value == math.inf
    same = [[0.0, 0.0]] * 3
    assert majority_gap_bound(same).value == majority_gap_bound_as_printed(same).value == 0
    three = np.array([[0.2, 0.3, 0.6], [0.5, 0.5, 0.7]])
    pairs = [majority_gap_bound(three[:, list(pair)]).value for pair in itertools.combinations(range(3), 2)]
    assert majority_gap_bound(three).value == pytest.approx(max(pairs))
