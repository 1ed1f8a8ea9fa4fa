"""Properties of every baseline: parameters, frames, order of rows, bad input, and never above the exact optimum."""

from collections.abc import Callable
from dataclasses import FrozenInstanceError
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import faircrowd as fc
from baselines.crowds import simulated, two
from faircrowd.baselines import FairTD, PostTD, SmoothedFairCrowd
from faircrowd.errors import InputError, NotFittedError, OptionError

MAKERS: dict[str, Callable[..., Any]] = {
    "post": lambda **options: PostTD(fc.MajorityVote(), **options),
    "printed": lambda **options: SmoothedFairCrowd(fc.MajorityVote(), **options),
    "published": lambda **options: SmoothedFairCrowd(fc.MajorityVote(), protocol="published", **options),
    "fair-td": FairTD,
}
every = pytest.mark.parametrize("make", MAKERS.values(), ids=list(MAKERS))


@every
@pytest.mark.parametrize("epsilon", [0.01, 0.1])
@pytest.mark.filterwarnings("ignore::faircrowd.errors.ConvergenceWarning")
def test_believed_accuracy_is_never_above_that_of_the_exact_rule_at_the_same_gap(make, epsilon) -> None:
    for seed in range(3):
        crowd = simulated(400, seed=seed)
        outcome = make(epsilon=epsilon).fit(crowd.votes, sensitive_features=crowd.groups).outcome_
        exact = fc.FairCrowd(fc.MajorityVote(), epsilon=outcome.gap)
        exact.fit(crowd.votes, sensitive_features=crowd.groups)
        assert exact.certificate_.gap <= outcome.gap + 1e-12
        assert exact.certificate_.believed_accuracy >= outcome.believed_accuracy - 1e-12


@given(st.lists(st.tuples(st.integers(0, 1), st.integers(0, 10)), min_size=2, max_size=40), st.floats(0, 0.5))
def test_never_above_the_exact_bound(tasks: list[tuple[int, int]], epsilon: float) -> None:
    group, tenths = np.array([*tasks, (0, 3), (1, 8)]).T
    posterior = two(tenths / 10)
    for rule in (PostTD(), SmoothedFairCrowd(), SmoothedFairCrowd(protocol="published")):
        outcome = rule.set_params(epsilon=epsilon).fit(posterior, sensitive_features=group).outcome_
        exact = fc.make_fair(posterior, group, epsilon=outcome.gap).certificate
        assert outcome.believed_accuracy <= exact.value + 1e-12


@pytest.mark.parametrize("protocol", ["printed", "published"])
def test_never_above_the_exact_bound_with_many_classes(protocol: str) -> None:
    crowd = simulated(300, n_classes=3)
    rule = SmoothedFairCrowd(fc.MajorityVote(), 0.05, protocol=protocol)
    outcome = rule.fit(crowd.votes, sensitive_features=crowd.groups).outcome_
    exact = fc.make_fair(rule.probas_, crowd.groups, epsilon=outcome.gap).certificate
    assert outcome.believed_accuracy <= exact.bound + 1e-12


@every
def test_the_record_is_that_of_the_labels(make) -> None:
    crowd = simulated()
    model = make(epsilon=0.05).fit(crowd.votes, sensitive_features=crowd.groups)
    before = fc.MajorityVote().fit(crowd.votes)
    outcome = model.outcome_
    rates = model.labels_.groupby(crowd.groups).mean()
    assert outcome.gap == pytest.approx(np.ptp(rates), abs=1e-12)
    assert outcome.gap_before == pytest.approx(np.ptp(before.labels_.groupby(crowd.groups).mean()), abs=1e-12)
    assert outcome.changed == (model.labels_ != before.labels_).sum() > 0
    shares = before.probas_.to_numpy()
    labels = model.labels_.to_numpy()
    assert outcome.believed_accuracy == pytest.approx(shares[np.arange(labels.size), labels].mean())
    assert outcome.believed_accuracy_before == pytest.approx(shares.max(axis=1).mean())
    assert (outcome.epsilon, outcome.tasks) == (0.05, 400)
    assert outcome.to_dict()["gap"] == outcome.gap
    with pytest.raises(FrozenInstanceError):
        outcome.gap = 0.0


@every
def test_the_order_of_rows_does_not_matter(make) -> None:
    crowd = simulated()
    one = make(epsilon=0.05).fit(crowd.votes, sensitive_features=crowd.groups)
    shuffled = crowd.votes.sample(frac=1, random_state=3)
    other = make(epsilon=0.05).fit(shuffled, sensitive_features=crowd.groups.sample(frac=1, random_state=4))
    pd.testing.assert_series_equal(one.labels_, other.labels_)
    assert one.outcome_ == other.outcome_


@every
def test_polars_in_polars_out(make) -> None:
    crowd = simulated(100)
    votes = pl.DataFrame({name: crowd.votes[name].to_numpy() for name in crowd.votes})
    groups = pl.DataFrame({"task": crowd.groups.index.to_numpy(), "group": crowd.groups.to_numpy()})
    labels = make(epsilon=0.1).fit_predict(votes, sensitive_features=groups)
    expected = make(epsilon=0.1).fit_predict(crowd.votes, sensitive_features=crowd.groups)
    assert isinstance(labels, pl.DataFrame)
    assert labels["agg_label"].to_list() == expected.to_list()


@every
def test_parameters(make) -> None:
    model = make(epsilon=0.2)
    assert model.get_params()["epsilon"] == 0.2
    assert model.set_params(epsilon=0.3, random_state=7) is model
    assert type(model)(**model.get_params(deep=False)).get_params() == model.get_params()
    with pytest.raises(OptionError, match=r"Invalid parameter 'epsilom' for estimator"):
        model.set_params(epsilom=0.1)


@every
def test_bad_input(make) -> None:
    crowd = simulated(60)
    with pytest.raises(NotFittedError, match=r"call fit\(votes, sensitive_features"):
        make().labels_  # noqa: B018
    with pytest.raises(InputError, match="group of each task"):
        make().fit(crowd.votes)
    with pytest.raises(InputError, match="all tasks are of group"):
        make().fit(crowd.votes, sensitive_features=crowd.groups * 0)
    with pytest.raises(InputError, match="is for two groups, but there are 3"):
        make().fit(crowd.votes, sensitive_features=crowd.groups.where(crowd.groups.index > 9, 2))
    for options in ({"epsilon": -0.1}, {"epsilon": 2}, {"random_state": -1}):
        with pytest.raises(OptionError, match=next(iter(options))):
            make(**options).fit(crowd.votes, sensitive_features=crowd.groups)


@pytest.mark.parametrize("make", [MAKERS["post"], MAKERS["fair-td"]], ids=["post", "fair-td"])
@pytest.mark.parametrize("n_classes", [1, 3])
@pytest.mark.filterwarnings("ignore:All votes have the label 0")
def test_two_classes_only(make, n_classes: int) -> None:
    crowd = simulated(60, n_classes=3)
    votes = crowd.votes[crowd.votes["label"] < n_classes]
    groups = crowd.groups[crowd.groups.index.isin(votes["task"])]
    with pytest.raises(InputError, match=f"is for two classes, but there are {n_classes}.*FairCrowd takes any number"):
        make().fit(votes, sensitive_features=groups)


def test_a_failed_fit_leaves_nothing() -> None:
    crowd = simulated(60)
    model = PostTD(fc.MajorityVote()).fit(crowd.votes, sensitive_features=crowd.groups)
    with pytest.raises(InputError):
        model.fit(crowd.votes)
    with pytest.raises(NotFittedError):
        model.labels_  # noqa: B018


@pytest.mark.parametrize("option", [{"n_iter": 0}, {"tol": -1}], ids=str)
def test_bad_options_of_fair_td(option: dict[str, Any]) -> None:
    crowd = simulated(60)
    with pytest.raises(OptionError, match=next(iter(option))):
        FairTD(**option).fit(crowd.votes, sensitive_features=crowd.groups)
