"""Labels of new tasks by a FairCrowd with constraints: needed and missing groups, and how they are read."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

from faircrowd import (
    BayesVote,
    CalibratedCrowd,
    DawidSkene,
    FairCrowd,
    GoldMajorityVote,
    MajorityVote,
    read_votes,
    simulate_crowd,
)
from faircrowd.constraints import ChangeBudget, DemographicParity, RateRange, ReviewBudget
from faircrowd.errors import InputError

CROWD = simulate_crowd(300, 20, random_state=0)
VOTES = CROWD.votes
SOME = VOTES[VOTES["task"] < 100]
TABLE = pd.DataFrame(
    {"side": CROWD.sensitive_features.map({0: "l", 1: "r"}), "unit": np.arange(300) % 2, "region": np.arange(300) % 3},
    index=CROWD.truth.index,
)
CAP = RateRange(high=0.4, label=1, group=())
SIDE = DemographicParity(0.05, group="side")


@pytest.mark.parametrize("asked", [[ChangeBudget(0.1)], [CAP], [CAP, ReviewBudget(0.1)]], ids=str)
@pytest.mark.parametrize("model", [MajorityVote(), DawidSkene(), BayesVote()], ids=lambda model: type(model).__name__)
def test_no_groups_are_needed_where_none_are_named(model: Any, asked: list[Any]) -> None:
    gold = [CROWD.truth] if isinstance(model, BayesVote) else []
    fair = FairCrowd(model, constraints=asked).fit(VOTES, *gold)
    assert fair.rule_.columns == ()
    new = fair.predict(SOME)
    expected = fair.rule_.predict(fair.predict_proba(SOME))
    assert new.tolist() == expected.tolist()
    pd.testing.assert_frame_equal(fair.predict_proba(SOME), fair.estimator_.predict_proba(SOME, **_dummy(model)))


def _dummy(model: Any) -> dict[str, Any]:
    """A BayesVote learns by group whenever there are groups; here there is one of all tasks."""
    return {"sensitive_features": dict.fromkeys(range(100), "all tasks")} if isinstance(model, BayesVote) else {}


def test_no_groups_are_needed_for_a_posterior() -> None:
    posterior = MajorityVote().fit(VOTES).probas_
    fair = FairCrowd(None, constraints=[CAP]).fit(posterior)
    assert fair.predict(posterior).value_counts()[1] <= 0.4 * 300 + 1
    pd.testing.assert_frame_equal(fair.predict_proba(posterior), posterior)
    with pytest.raises(InputError, match="goes by 'side'; give sensitive_features"):
        FairCrowd(None, constraints=[SIDE]).fit(posterior, sensitive_features=TABLE).predict(posterior)


@pytest.mark.parametrize(
    "asked",
    [
        [ChangeBudget(0.1)],
        [DemographicParity(0.1, group="side", within="unit")],
        [RateRange(low=0.1, group="region"), DemographicParity(0.1, group="side")],
        [RateRange(low=0.1, group="region"), RateRange(low=0.1, group="unit")],
    ],
    ids=str,
)
@pytest.mark.parametrize("model", [DawidSkene(by_group=True), CalibratedCrowd(DawidSkene(by_group=True)), BayesVote()])
def test_a_model_that_learned_by_group_finds_its_groups_again(model: Any, asked: list[Any]) -> None:
    gold = [] if isinstance(model, DawidSkene) else [CROWD.truth]
    fair = FairCrowd(model, constraints=asked, min_group=1).fit(VOTES, *gold, sensitive_features=TABLE)
    posterior = fair.predict_proba(VOTES, sensitive_features=TABLE).reindex(fair.probas_.index)
    np.testing.assert_allclose(posterior, fair.probas_, atol=1e-3)  # the last round of EM is not repeated
    tied = np.asarray(fair.result_.solved.probabilities.max(axis=1) < 1)
    again = fair.predict(VOTES, sensitive_features=TABLE).reindex(fair.labels_.index)
    assert (again != fair.labels_).to_numpy()[~tied].mean() <= 0.05


def test_a_model_by_group_needs_groups_though_no_constraint_names_any() -> None:
    model = DawidSkene(by_group=True)
    with pytest.raises(InputError, match="by_group=True needs the group of each task"):
        FairCrowd(model, constraints=[CAP]).fit(VOTES)
    fair = FairCrowd(model, constraints=[CAP]).fit(VOTES, sensitive_features=TABLE["side"])
    assert fair.estimator_.votes_.groups.to_list() == ["l", "r"]
    with pytest.raises(InputError, match=r"Constraints speak of|learned by group"):
        fair.predict(SOME)
    grouped = FairCrowd(model, constraints=[CAP]).fit(read_votes(VOTES, sensitive_features=TABLE["side"]))
    assert grouped.predict(VOTES, sensitive_features=TABLE["side"]).equals(
        fair.predict(VOTES, sensitive_features=TABLE["side"])
    )
    with pytest.raises(InputError, match="This model learned by group; give sensitive_features"):
        grouped.predict(SOME)


@pytest.mark.filterwarnings("ignore:12 tasks of group 'missing'")
@pytest.mark.parametrize("model", [MajorityVote(), DawidSkene(by_group=True), None])
@pytest.mark.parametrize("asked", [[SIDE], [SIDE, ChangeBudget(0.5)], None], ids=str)
def test_tasks_without_a_group_are_treated_as_in_fit(model: Any, asked: list[Any] | None) -> None:
    side = TABLE["side"].where(np.arange(300) >= 12)
    data: Any = MajorityVote().fit(VOTES).probas_ if model is None else VOTES
    fair = FairCrowd(model, constraints=asked)
    fair.fit(data, sensitive_features=side, read_options={"on_missing_group": "drop"})
    again = fair.predict(data, sensitive_features=side)
    own = fair.probas_.idxmax(axis=1)
    assert (fair.labels_ == own)[:12].all()
    assert (again.reindex(own.index) == own)[:12].all()
    with pytest.raises(InputError, match="12 of 300 tasks have no group"):
        fair.predict(data, sensitive_features=side, read_options={})
    # A rule that has seen no such task does not know them, and unknown="own" labels them as it says.
    fair = FairCrowd(model, constraints=asked).fit(data, sensitive_features=TABLE["side"])
    if not isinstance(model, DawidSkene):
        with pytest.raises(InputError, match="does not know"):
            fair.predict(data, sensitive_features=side, read_options={"on_missing_group": "drop"})


def test_new_votes_are_read_as_those_of_fit() -> None:
    odd = VOTES.rename(columns={"task": "thing"})
    tasks = TABLE.rename_axis("task").reset_index()
    for asked in ([SIDE], None):
        fair = FairCrowd(MajorityVote(), constraints=asked)
        fair.fit(odd, sensitive_features=TABLE["side"], read_options={"task": "thing"})
        labels = fair.predict(odd, sensitive_features=TABLE["side"])
        assert labels.equals(fair.predict(VOTES, sensitive_features=TABLE["side"], read_options={}))
        assert labels.equals(
            fair.predict(odd, sensitive_features="side", tasks=tasks.rename(columns={"task": "thing"}))
        )
    fair = FairCrowd(MajorityVote(), constraints=[SIDE]).fit(VOTES, tasks=tasks)
    assert fair.predict(VOTES, tasks=tasks).equals(labels)
    with pytest.raises(InputError, match="'side', no column of the votes; give sensitive_features"):
        fair.predict(VOTES)


@pytest.mark.parametrize("model", [CalibratedCrowd(), GoldMajorityVote(), BayesVote()])
@pytest.mark.parametrize("asked", [None, [SIDE]])
def test_a_model_that_learns_from_known_labels_asks_for_them(model: Any, asked: Any) -> None:
    message = rf"{type(model).__name__} learns from known labels; give true_labels=\.\.\., the true labels of some"
    for fit in (FairCrowd(model, constraints=asked).fit, FairCrowd(model, constraints=asked).fit_predict):
        with pytest.raises(InputError, match=message):
            fit(VOTES, sensitive_features=TABLE[["side"]])
    with pytest.raises(InputError, match=message):
        model.fit(VOTES)
