"""Post_TD: how many labels are flipped, which may be, and that all of these are equally likely."""

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import faircrowd as fc
from baselines.crowds import crowd_judgement, two
from faircrowd.baselines import PostTD
from faircrowd.errors import InputError


def fitted(labels: np.ndarray, group: np.ndarray, epsilon: float, seed: int = 0) -> PostTD:
    return PostTD(epsilon=epsilon, random_state=seed).fit(two(labels * 0.8 + 0.1), sensitive_features=group)


def test_flips_by_hand() -> None:
    # Rates 6/10 and 1/5: a gap of .4. (.4 - .1) * 10 * 5 / 15 = 1 flip each way leaves 5/10 and 2/5.
    group = np.repeat([0, 1], [10, 5])
    labels = np.array([1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0])
    fair = fitted(labels, group, 0.1)
    change = fair.labels_ - labels
    assert sorted(change[group == 0]) == [-1] + [0] * 9
    assert sorted(change[group == 1]) == [0] * 4 + [1]
    assert fair.outcome_.gap_before == pytest.approx(0.4)
    assert fair.outcome_.gap == pytest.approx(0.1)
    assert (fair.outcome_.changed, fair.outcome_.converged) == (2, True)
    # The two flips cost .8 each of the posterior, of 15 tasks.
    assert fair.outcome_.believed_accuracy_before == pytest.approx(0.9)
    assert fair.outcome_.believed_accuracy == pytest.approx(0.9 - 1.6 / 15)


def test_candidates_that_stand_last_in_their_group_are_found() -> None:
    # Positions counted over the six candidates, applied to the whole group, would find no label to flip.
    group = np.repeat([0, 1], [20, 20])
    labels = np.repeat([0, 1, 0], [14, 6, 20])
    fair = fitted(labels, group, 0.0)
    assert (fair.labels_[:14] == 0).all()
    assert fair.labels_[14:20].sum() == 3
    assert fair.labels_[20:].sum() == 3
    assert fair.outcome_.gap == 0.0


@given(st.lists(st.tuples(st.integers(0, 1), st.integers(0, 1)), min_size=2, max_size=40), st.floats(0, 1))
def test_properties_of_the_flips(tasks: list[tuple[int, int]], epsilon: float) -> None:
    group, labels = np.array([*tasks, (0, 0), (1, 1)]).T
    sizes = np.bincount(group)
    rates = np.bincount(group, weights=labels) / sizes
    gap, high = abs(rates[1] - rates[0]), int(rates[1] > rates[0])
    fair = fitted(labels, group, epsilon)
    change = fair.labels_ - labels
    wanted = math.ceil((gap - epsilon - 1e-13) * sizes[0] * sizes[1] / sizes.sum()) if gap > epsilon else 0
    # Equally many down in the higher group and up in the lower; there are always enough candidates.
    assert (change[group == high] <= 0).all()
    assert (change[group != high] >= 0).all()
    assert -change[group == high].sum() == change[group != high].sum() == wanted
    step = 1 / sizes[0] + 1 / sizes[1]
    after = np.bincount(group, weights=fair.labels_) / sizes
    if wanted:
        assert epsilon - step - 1e-9 < after[high] - after[1 - high] <= epsilon + 1e-9
    assert fair.outcome_.converged == (fair.outcome_.gap <= epsilon + 1e-12)


def test_overshoot_in_tiny_groups_is_not_converged() -> None:
    fair = fitted(np.array([1, 0, 0, 1, 1]), np.array([0, 0, 0, 1, 1]), 0.6)
    assert fair.outcome_.gap_before == pytest.approx(2 / 3)
    assert fair.outcome_.gap == pytest.approx(1 / 6)
    fair = fitted(np.array([1, 1, 0, 1, 1]), np.array([0, 0, 0, 1, 1]), 0.3)
    assert fair.outcome_.gap == pytest.approx(0.5)
    assert not fair.outcome_.converged


def test_any_candidate_is_as_likely_as_any_other() -> None:
    group, labels = np.repeat([0, 1], [30, 30]), np.repeat([1, 0, 1, 0], [20, 10, 5, 25])
    n_seeds = 500
    flipped = sum((fitted(labels, group, 0.1, seed).labels_ != labels).astype(int) for seed in range(n_seeds))
    flips = math.ceil(0.4 * 15)
    for candidates in (np.arange(20), np.arange(35, 60)):
        chance = flips / candidates.size
        spread = math.sqrt(n_seeds * chance * (1 - chance))
        assert flipped[candidates].sum() == n_seeds * flips
        assert (np.abs(flipped[candidates] - n_seeds * chance) < 4.5 * spread).all()
    assert flipped[20:35].sum() == 0


def test_the_choice_does_not_depend_on_the_order_of_rows() -> None:
    rng = np.random.default_rng(1)
    posterior = pd.DataFrame(two(rng.random(200)), index=pd.Index([f"t{i}" for i in range(200)], name="task"))
    group = pd.Series(np.repeat(["a", "b"], 100), index=posterior.index)
    posterior.loc[group == "b", :] = posterior.loc[group == "b", ::-1].to_numpy() ** np.array([2, 0.5])
    posterior = posterior.div(posterior.sum(axis=1), axis=0)
    one = PostTD(epsilon=0.02).fit(posterior, sensitive_features=group).labels_
    order = rng.permutation(200)
    other = PostTD(epsilon=0.02).fit(posterior.iloc[order], sensitive_features=group).labels_
    pd.testing.assert_series_equal(one.iloc[order], other)


class FirstVote:
    """An aggregator that gives labels and nothing else."""

    def fit_predict(self, data: pd.DataFrame) -> pd.Series:
        self.seen_ = len(data)
        return data.groupby("task")["label"].first().rename("agg_label")


def test_an_aggregator_of_labels_without_probabilities_is_enough() -> None:
    crowd = fc.simulate_crowd(300, random_state=2)
    fair = PostTD(FirstVote(), epsilon=0.02).fit(crowd.votes, sensitive_features=crowd.sensitive_features)
    first = FirstVote().fit_predict(crowd.votes)
    assert fair.estimator_.seen_ == len(crowd.votes)
    assert fair.outcome_.gap <= 0.02 < fair.outcome_.gap_before
    assert fair.outcome_.changed == (fair.labels_ != first.loc[fair.labels_.index]).sum()
    assert fair.outcome_.believed_accuracy_before == 1.0


def test_missing_labels_are_refused() -> None:
    class Unsure(FirstVote):
        def fit_predict(self, data: pd.DataFrame) -> pd.Series:
            return super().fit_predict(data).astype(float).mask(lambda labels: labels.index == 0)

    crowd = fc.simulate_crowd(50, random_state=2)
    with pytest.raises(InputError, match="1 tasks without a label"):
        PostTD(Unsure()).fit(crowd.votes, sensitive_features=crowd.sensitive_features)


@pytest.mark.real
def test_crowd_judgement_reaches_every_epsilon(data_folder) -> None:
    crowd = crowd_judgement(data_folder)
    votes = fc.read_votes(crowd.votes)
    for epsilon in (0.01, 0.05, 0.1):
        outcome = PostTD(fc.MajorityVote(), epsilon).fit(votes, sensitive_features=crowd.groups).outcome_
        assert outcome.gap_before == pytest.approx(0.193, abs=5e-4)
        assert epsilon - 1 / 200 < outcome.gap <= epsilon
