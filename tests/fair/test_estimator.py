"""``FairCrowd`` and ``make_fair``: parameters, defaults, what is passed on, and what is refused."""

import re
import time
from dataclasses import FrozenInstanceError, fields
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from faircrowd import CalibratedCrowd, DawidSkene, FairCrowd, MajorityVote, make_fair, read_votes, simulate_crowd
from faircrowd.constraints import ChangeBudget, DemographicParity
from faircrowd.errors import DataWarning, InputError, NotFittedError, OptionError
from faircrowd.fair.estimator import _other_arguments
from faircrowd.fair.make import solve_problem
from faircrowd.fair.tasks.from_votes import from_posterior
from faircrowd.fair.tasks.read_posterior import read_posterior

CROWD = simulate_crowd(60, 8, random_state=3)
GROUPS = CROWD.sensitive_features
MODEL = MajorityVote().fit(CROWD.votes)
SHARES = MODEL.probas_
DEFAULTS: dict[str, Any] = {
    "estimator": None,
    "epsilon": 0.05,
    "objective": "accuracy",
    "decision": "deterministic",
    "random_state": 0,
    "strict": False,
    "confidence": None,
    "promise": "required",
    "positive": None,
    "min_group": 10,
    "small_groups": "leave-out",
    "constraints": None,
    "believed": False,
}


def test_parameters_by_name() -> None:
    fair = FairCrowd()
    assert fair.get_params() == fair.get_params(deep=False) == DEFAULTS
    assert fair.set_params(epsilon=0.2, strict=True) is fair
    assert fair.get_params() == {**DEFAULTS, "epsilon": 0.2, "strict": True}
    with pytest.raises(
        OptionError, match=r"^Invalid parameter 'color' for estimator FairCrowd\. Valid parameters are: "
    ):
        fair.set_params(color="red")


def test_before_fit_there_is_nothing() -> None:
    fair = FairCrowd(MajorityVote())
    of_result = ("labels_", "probas_", "rule_", "certificate_", "frontier_", "result_", "inputs_")
    for name in (*of_result, "accuracy_", "accuracy_before_", "price_", "gold_estimates_"):
        with pytest.raises(NotFittedError, match=r"not fitted yet; call fit\(votes, sensitive_features=\.\.\.\) first"):
            getattr(fair, name)
    for asked in (fair.predict, fair.predict_proba):
        with pytest.raises(NotFittedError):
            asked(CROWD.votes, sensitive_features=GROUPS)


def test_a_fit_that_fails_leaves_nothing_behind() -> None:
    fair = FairCrowd(epsilon=0.1).fit(SHARES, sensitive_features=GROUPS)
    with pytest.raises(InputError):
        fair.fit(SHARES * 2, sensitive_features=GROUPS)
    with pytest.raises(NotFittedError):
        _ = fair.labels_


@pytest.mark.parametrize(
    "estimator", [None, MajorityVote(), DawidSkene(by_group=True)], ids=["none", "shares", "model"]
)
def test_all_ways_to_the_labels_are_one(estimator: Any) -> None:
    data = SHARES if estimator is None else CROWD.votes
    fair = FairCrowd(estimator, epsilon=0.1, random_state=2)
    labels = fair.fit_predict(data, sensitive_features=GROUPS)
    again = FairCrowd(estimator, epsilon=0.1, random_state=2)
    probas = again.fit_predict_proba(data, sensitive_features=GROUPS)
    pd.testing.assert_series_equal(labels, again.labels_)
    pd.testing.assert_frame_equal(probas, fair.probas_)
    assert fair.certificate_.gap <= 0.1
    assert fair.rule_.random_state == 2
    pd.testing.assert_frame_equal(fair.predict_proba(data=data, sensitive_features=GROUPS), probas)
    pd.testing.assert_series_equal(
        fair.predict(data=data, sensitive_features=GROUPS), fair.rule_.predict(probas, GROUPS), check_names=False
    )
    assert fair.estimator is estimator
    assert estimator is None or (fair.estimator_ is not estimator and not hasattr(estimator, "posterior_"))


def test_tasks_of_groups_that_fit_did_not_see() -> None:
    fair = FairCrowd(MajorityVote(), epsilon=0.1).fit(CROWD.votes, sensitive_features=GROUPS)
    strange = GROUPS.where(GROUPS == 0, 7)
    with pytest.raises(InputError, match="groups that the rule does not know: 7; it knows 0, 1"):
        fair.predict(CROWD.votes, sensitive_features=strange)
    with pytest.warns(DataWarning, match="tasks of unknown groups"):
        labels = fair.predict(CROWD.votes, sensitive_features=strange, unknown="own")
    assert (labels[strange == 7] == MODEL.labels_[strange == 7]).all()
    one = pd.Series(0, index=GROUPS.index)  # new tasks may all be of one group
    assert len(fair.predict(CROWD.votes, sensitive_features=one)) == 60
    alone = FairCrowd(epsilon=0.1).fit(SHARES, sensitive_features=GROUPS)
    assert len(alone.predict(SHARES, sensitive_features=one)) == 60


@pytest.mark.parametrize("decision", ["deterministic", "randomized"])
def test_votes_of_one_class_are_warned_of_and_believed(decision: str) -> None:
    votes = CROWD.votes.assign(label="only")
    with pytest.warns(DataWarning, match="All votes have the label 'only'"):
        fair = FairCrowd(MajorityVote(), decision=decision).fit(votes, sensitive_features=GROUPS)
    assert set(fair.labels_) == {"only"}
    found = fair.certificate_
    assert (found.value, found.bound, found.believed_accuracy, found.gap) == (1.0, 1.0, 1.0, 0.0)


def test_groups_are_needed() -> None:
    fair = FairCrowd(MajorityVote())
    with pytest.raises(InputError, match=r"^FairCrowd needs the group of each task; give sensitive_features=\.\.\.$"):
        fair.fit(CROWD.votes)
    with pytest.raises(InputError, match="Parity compares groups"):
        fair.fit(CROWD.votes, sensitive_features=pd.Series(0, index=GROUPS.index))
    fair.fit(CROWD.votes, sensitive_features=GROUPS)
    with pytest.raises(InputError, match=r"^The rule goes by group; give sensitive_features for these tasks\.$"):
        fair.predict(CROWD.votes)


def test_known_truth_and_other_arguments_reach_the_estimator() -> None:
    truth = {SHARES.index[0]: int(1 - MODEL.labels_.iloc[0])}
    fair = FairCrowd(DawidSkene(), epsilon=1.0).fit(CROWD.votes, sensitive_features=GROUPS, true_labels=truth)
    assert fair.probas_.iloc[0].argmax() == truth[SHARES.index[0]]

    class Theirs:
        def fit_predict_proba(self, data: Any, share: float, *, more: float) -> Any:
            return data * share * more

    found = FairCrowd(Theirs(), epsilon=1.0).fit(SHARES, 0.5, more=2.0, sensitive_features=GROUPS)
    pd.testing.assert_frame_equal(found.probas_, SHARES, check_names=False)
    with pytest.raises(InputError, match=r"no predict of its own; give its posterior to rule_\.predict instead\.$"):
        found.predict_proba(CROWD.votes, sensitive_features=GROUPS)
    with pytest.raises(
        OptionError, match=r"^estimator=\{\} has no fit_predict_proba; give an aggregator, such as DawidSkene"
    ):
        FairCrowd({}).fit(CROWD.votes, sensitive_features=GROUPS)


def test_options_reach_the_solver() -> None:
    def made(**more: Any) -> Any:
        return FairCrowd(**{"epsilon": 0.1, **more}).fit(SHARES, sensitive_features=GROUPS)

    assert made().certificate_.promise is None
    assert made(objective="f1").certificate_.objective == "f1"
    assert made(decision="randomized").certificate_.decision == "randomized"
    assert made(epsilon=0.5, confidence=0.6).certificate_.promise["confidence"] == 0.6


@pytest.mark.parametrize("model", [MajorityVote(), DawidSkene()], ids=["shares", "logarithms"])
def test_a_posterior_becomes_a_problem(model: Any) -> None:
    votes = read_votes(CROWD.votes, sensitive_features=GROUPS)
    model.fit(votes)
    problem = from_posterior(model.posterior_, votes)
    assert problem.tasks.to_list() == SHARES.index.tolist()
    np.testing.assert_array_equal(problem.posterior, model.probas_.to_numpy())
    np.testing.assert_array_equal(problem.own, model.labels_.to_numpy())
    np.testing.assert_array_equal(problem.group, votes.group)
    np.testing.assert_array_equal(problem.evidence, CROWD.votes.groupby("task").size())
    assert problem.has_odds == isinstance(model, DawidSkene)
    if problem.has_odds:
        logs = model.posterior_.scores
        np.testing.assert_allclose(problem.log_odds, logs[:, 1] - logs[:, 0])
    three = CROWD.votes.assign(label=np.arange(len(CROWD.votes)) % 3)
    wide = read_votes(three, sensitive_features=GROUPS)
    assert not from_posterior(type(model)().fit(wide).posterior_, wide).has_odds


# make_fair.


def test_the_rule_of_a_result() -> None:
    weights = np.arange(60) % 3 + 1.0
    for given in (None, weights):
        begun = time.perf_counter()
        fair = make_fair(posterior=SHARES, sensitive_features=GROUPS, epsilon=0.02, random_state=4, sample_weight=given)
        assert 0 < fair.certificate.seconds < time.perf_counter() - begun
        w = np.ones(60) if given is None else weights
        shares = np.bincount(GROUPS, w) / w.sum()
        np.testing.assert_allclose(fair.rule.shares, shares)
        np.testing.assert_allclose(fair.rule.prices, fair.certificate.multipliers / shares[:, None])
        assert (fair.rule.classes, fair.rule.groups) == ((0, 1), (0, 1))
        assert (fair.rule.epsilon, fair.rule.random_state, fair.promise) == (0.02, 4, None)
        np.testing.assert_array_equal(fair.probabilities.columns, [0, 1])
        assert fair.frontier is fair.frontier


def test_results_stay_as_they_are_and_are_compared_by_identity() -> None:
    fair, again = (make_fair(SHARES, GROUPS, epsilon=0.9, confidence=0.6) for _ in range(2))
    for name in ("problem", "rule", "frontier"):
        assert len({getattr(fair, name), getattr(fair, name), getattr(again, name)}) == 2
    assert len({fair, again, FairCrowd(), FairCrowd()}) == 4
    for each in (fair, fair.problem, fair.rule, fair.frontier, fair.certificate, fair.promise):
        first = fields(each)[0].name  # type: ignore[arg-type]
        with pytest.raises(FrozenInstanceError):
            setattr(each, first, None)


def test_words_of_thresholds_and_of_prices() -> None:
    fair = make_fair(SHARES.set_axis(["no", "yes"], axis=1), GROUPS.map({0: "x", 1: "y"}), epsilon=0.02)
    low, high = fair.rule.thresholds
    assert fair.certificate.thresholds == (
        f"group x needs a posterior above {low:.4f}, group y needs a posterior above {high:.4f} for label yes"
    )
    three = np.random.default_rng(0).dirichlet(np.ones(3), 20)
    fair = make_fair(three, np.arange(20) % 2, epsilon=0.1)
    assert str(fair.rule).endswith(f"; {fair.certificate.thresholds}")
    assert fair.certificate.thresholds.startswith("the label with the highest posterior wins, after these changes:\n")


def test_labels_are_strict_only_where_asked() -> None:
    asked: dict[str, Any] = {"epsilon": 0.1, "objective": "accuracy", "decision": "deterministic", "random_state": 0}
    problem = read_posterior(np.random.default_rng(0).dirichlet(np.ones(3), 20), np.arange(20) % 2)
    plain, loose, strict = (
        solve_problem(problem, **asked, **more) for more in ({}, {"strict": False}, {"strict": True})
    )
    assert plain.certificate.solver == loose.certificate.solver != strict.certificate.solver
    assert make_fair(problem.posterior, problem.group, epsilon=0.1).certificate.solver == plain.certificate.solver
    fair = FairCrowd(epsilon=0.1, strict=True).fit(problem.posterior, sensitive_features=problem.group)
    assert fair.certificate_.solver == strict.certificate.solver


def test_too_few_tasks_for_a_promise() -> None:
    said = "These tasks are too few to promise a gap within 0.1 with probability 0.95; about "
    with pytest.raises(OptionError, match=f"^{re.escape(said)}"):
        make_fair(SHARES, GROUPS, epsilon=0.1, confidence=0.95)
    with pytest.warns(DataWarning, match="There is NO promise"):
        fair = make_fair(SHARES, GROUPS, epsilon=0.1, confidence=0.95, promise="best-effort")
    assert fair.promise is not None
    assert (fair.promise.enough, fair.certificate.epsilon, fair.rule.epsilon) == (False, 0.1, 0.1)
    enough = make_fair(SHARES, GROUPS, epsilon=0.9, confidence=0.6)
    assert enough.promise is not None
    assert enough.certificate.epsilon == enough.promise.tightened
    equal = np.full(60, 2.0)  # weights that are all the same are none
    assert make_fair(SHARES, GROUPS, epsilon=0.9, confidence=0.6, sample_weight=equal).promise == enough.promise


def test_f1_of_a_posterior_that_is_not_calibrated_is_warned_of() -> None:
    settings: dict[str, Any] = {"epsilon": 0.1, "objective": "f1"}
    with pytest.warns(DataWarning) as found:
        FairCrowd(MajorityVote(), **settings).fit(CROWD.votes, sensitive_features=GROUPS)
    assert [str(one.message).partition(",")[0] for one in found] == ["objective='f1' takes probabilities at their word"]
    assert "those of MajorityVote are not calibrated" in str(found[0].message)
    known = CROWD.truth.iloc[:40]
    FairCrowd(CalibratedCrowd(), **settings).fit(CROWD.votes, known, sensitive_features=GROUPS)
    FairCrowd(**settings).fit(SHARES, sensitive_features=GROUPS)
    FairCrowd(MajorityVote(), epsilon=0.1).fit(CROWD.votes, sensitive_features=GROUPS)


def test_a_class_for_an_estimator_is_refused_with_what_to_write() -> None:
    crowd = simulate_crowd(50, 5, random_state=0)
    with pytest.raises(OptionError, match=r"estimator is the class DawidSkene; give an object of it, DawidSkene\(\)\."):
        FairCrowd(DawidSkene).fit(crowd.votes, sensitive_features=crowd.sensitive_features)


def test_the_positive_class_reaches_the_solver_and_rounded_posteriors_the_rule() -> None:
    rng = np.random.default_rng(3)
    group = np.arange(3000) % 2
    p = rng.binomial(3, 0.4 + 0.2 * group) / 3
    posterior = np.column_stack([1 - p, p])
    fair = FairCrowd(None, epsilon=0.05, objective="f1", positive=0).fit(posterior, sensitive_features=group)
    assert fair.certificate_.positive == "0"
    fair = FairCrowd(None, epsilon=0.05).fit(posterior, sensitive_features=group)
    exact = fair.predict(posterior, sensitive_features=group)
    np.testing.assert_array_equal(fair.predict(posterior.astype(np.float32), sensitive_features=group), exact)
    with pytest.warns(DataWarning, match="beside a tie"):
        fair.predict(np.column_stack([1 - p.round(3), p.round(3)]), sensitive_features=group)


# What fit was given.


def test_inputs_of_a_fit(tmp_path: Path) -> None:
    with pytest.raises(NotFittedError):
        _ = FairCrowd(MajorityVote()).inputs_
    fair = FairCrowd(MajorityVote(), epsilon=0.1).fit(CROWD.votes, sensitive_features=GROUPS)
    found = fair.inputs_
    assert (found.votes, found.columns, found.tasks) == (None, ("task", "worker", "label"), None)
    assert found.sensitive_features is GROUPS
    assert (found.true_labels, found.read_options, found.more) == (None, {}, {})
    path = tmp_path / "votes.csv"
    CROWD.votes.rename(columns={"task": "item"}).to_csv(path, index=False)
    tasks = pd.DataFrame({"item": GROUPS.index, "side": GROUPS.to_numpy(), "truth": CROWD.truth.to_numpy()})
    for given in (path, str(path)):
        fair = FairCrowd(DawidSkene(), epsilon=0.1).fit(
            given, "truth", sensitive_features="side", tasks=tasks, read_options={"task": "item"}
        )
        found = fair.inputs_
        assert (found.votes, found.columns, found.tasks is tasks) == (path, (), True)
        assert (found.sensitive_features, found.true_labels) == ("side", "truth")
        assert (found.read_options, found.more) == ({"task": "item"}, {})
    table = read_votes(CROWD.votes, sensitive_features=GROUPS)
    of_table = FairCrowd(MajorityVote(), epsilon=0.1).fit(table).inputs_
    assert (of_table.votes, of_table.columns, of_table.sensitive_features) == (None, (), None)


def test_other_arguments_are_numbered_and_named() -> None:
    """Known labels are recorded by themselves; where to keep rounds, and what to call after them, change no result."""
    workers = CROWD.votes["worker"].unique()
    skills = pd.Series(np.linspace(1, 2, len(workers)), index=workers)
    fair = FairCrowd(MajorityVote(), epsilon=0.1).fit(CROWD.votes, skills, sensitive_features=GROUPS)
    assert list(fair.inputs_.more) == ["argument 1"]
    assert fair.inputs_.more["argument 1"] is skills
    assert fair.inputs_.true_labels is None
    known = CROWD.truth.iloc[:20]
    rounds: list[Any] = []
    by_place = FairCrowd(DawidSkene(), epsilon=0.1).fit(
        CROWD.votes, known, on_round=lambda *given: rounds.append(given), sensitive_features=GROUPS
    )
    by_name = FairCrowd(DawidSkene(), epsilon=0.1).fit(CROWD.votes, true_labels=known, sensitive_features=GROUPS)
    for each in (by_place, by_name):
        assert each.inputs_.true_labels is known
        assert each.inputs_.more == {}
    assert rounds
    pd.testing.assert_series_equal(by_place.labels_, by_name.labels_)
    found = _other_arguments(("x", None, "y"), {"true_labels": 1, "checkpoint": 2, "on_round": 3, "z": 4, "none": None})
    assert found == {"argument 1": "x", "argument 3": "y", "z": 4}


def test_a_fit_that_fails_forgets_its_inputs() -> None:
    fair = FairCrowd(MajorityVote(), epsilon=0.1).fit(CROWD.votes, sensitive_features=GROUPS)
    with pytest.raises(InputError):
        fair.fit(CROWD.votes)
    with pytest.raises(NotFittedError):
        _ = fair.inputs_


@pytest.mark.filterwarnings("ignore::faircrowd.errors.DataWarning")
def test_arguments_of_reading_go_by_their_names() -> None:
    """Messages advise them: they are short for read_options."""
    crowd = simulate_crowd(200, 20, random_state=0)
    groups = crowd.sensitive_features.iloc[:150]
    votes = crowd.votes.rename(columns={"worker": "w"})
    fair = FairCrowd(MajorityVote(), epsilon=0.05)
    short = fair.fit(votes, sensitive_features=groups, on_missing_group="drop", worker="w").labels_
    given = {"on_missing_group": "drop", "worker": "w"}
    assert short.equals(fair.fit(votes, sensitive_features=groups, read_options=given).labels_)


def test_groups_that_the_votes_lack_may_be_in_a_table_of_tasks() -> None:
    crowd = simulate_crowd(20, 5, random_state=0)
    with pytest.raises(InputError, match=r"No column 'gender' .* If a table of tasks has it, give tasks="):
        FairCrowd(MajorityVote()).fit(crowd.votes, sensitive_features="gender")


@pytest.mark.parametrize("asked", [{"epsilon": 0.05}, {"constraints": [DemographicParity(0.05), ChangeBudget(0.5)]}])
def test_groups_with_one_row_per_vote_are_refused(asked: dict[str, Any]) -> None:
    """By id, the groups of the first votes would be taken for those of the tasks."""
    crowd = simulate_crowd(200, 20, random_state=0)
    per_vote = crowd.votes["task"].map(crowd.sensitive_features)
    for votes in (crowd.votes, crowd.votes.sample(frac=1, random_state=1)):
        given = votes["task"].map(crowd.sensitive_features)
        with pytest.raises(InputError, match=r"one row per vote \(1,000\), but it goes by task \(200 tasks\)"):
            FairCrowd(MajorityVote(), **asked).fit(votes, sensitive_features=given)
    in_votes = crowd.votes.assign(side=per_vote)
    fair = FairCrowd(MajorityVote(), **asked).fit(in_votes, sensitive_features="side")
    assert fair.labels_.equals(
        FairCrowd(MajorityVote(), **asked).fit(crowd.votes, sensitive_features=crowd.sensitive_features).labels_
    )


@pytest.mark.parametrize("asked", [{"epsilon": 0.05}, {"constraints": [DemographicParity(0.05), ChangeBudget(0.5)]}])
def test_votes_without_an_estimator_are_not_taken_for_a_posterior(asked: dict[str, Any]) -> None:
    crowd = simulate_crowd(20, 5, random_state=0)
    for votes in (crowd.votes, crowd.votes.rename(columns={"worker": "WorkerId"}), "votes.csv"):
        with pytest.raises(InputError, match="give it an estimator, such as FairCrowd"):
            FairCrowd(**asked).fit(votes, sensitive_features=crowd.sensitive_features)
