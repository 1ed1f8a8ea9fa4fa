"""FairCrowd under a list of constraints: from votes to labels, with known labels, and what it refuses."""

import numpy as np
import pandas as pd
import pytest

from faircrowd import CalibratedCrowd, DawidSkene, FairCrowd, MajorityVote, make_fair, simulate_crowd
from faircrowd.constraints import (
    AccuracyParity,
    ChangeBudget,
    Constraint,
    DemographicParity,
    EqualOpportunity,
    RateRange,
    RateRatio,
    ReviewBudget,
)
from faircrowd.errors import DataWarning, DrasticChangeWarning, InfeasibleError, MissingColumnError, OptionError
from faircrowd.fair import FairResult
from faircrowd.fair.general.constrained_result import ConstrainedResult


@pytest.fixture(scope="module")
def crowd() -> tuple[pd.DataFrame, pd.DataFrame, pd.Series]:
    """Votes, two sensitive columns of which one drives the votes, and the truth."""
    found = simulate_crowd(600, 40, random_state=3)
    groups = pd.DataFrame({"sex": found.sensitive_features, "region": np.arange(600) % 3}, index=found.truth.index)
    groups.index.name = "task"
    return found.votes, groups, found.truth


LIST = [DemographicParity(0.03, group="sex"), DemographicParity(0.08, group=("sex", "region")), ChangeBudget(0.3)]


def test_the_same_as_make_fair_on_the_posterior(crowd: tuple[pd.DataFrame, pd.DataFrame, pd.Series]) -> None:
    votes, groups, _ = crowd
    fair = FairCrowd(DawidSkene(), constraints=LIST).fit(votes, sensitive_features=groups)
    assert isinstance(fair.result_, ConstrainedResult)
    plain = make_fair(fair.probas_, groups, constraints=LIST, evidence=votes.groupby("task").size(), min_group=10)
    pd.testing.assert_series_equal(fair.labels_, plain.labels)
    assert fair.certificate_.kept
    for kept, level in zip(fair.certificate_.constraints[:2], (0.03, 0.08), strict=True):
        assert kept.level <= level + 1 / 80
        assert kept.level < kept.level_before


def test_levels_are_what_the_labels_say(crowd: tuple[pd.DataFrame, pd.DataFrame, pd.Series]) -> None:
    votes, groups, _ = crowd
    fair = FairCrowd(DawidSkene(), constraints=LIST).fit(votes, sensitive_features=groups)
    rates = fair.labels_.eq(1).groupby(groups["sex"].reindex(fair.labels_.index)).mean()
    assert fair.certificate_.constraints[0].level == pytest.approx(float(np.ptp(rates)), abs=1e-12)
    own = DawidSkene().fit(votes).labels_
    assert fair.certificate_.changed == int((own.reindex(fair.labels_.index) != fair.labels_).sum())


def test_parity_between_all_groups_is_epsilon(crowd: tuple[pd.DataFrame, pd.DataFrame, pd.Series]) -> None:
    votes, groups, _ = crowd
    short = FairCrowd(MajorityVote(), epsilon=0.04).fit(votes, sensitive_features=groups["sex"])
    long = FairCrowd(MajorityVote(), constraints=[DemographicParity(0.04)]).fit(votes, sensitive_features=groups["sex"])
    assert isinstance(short.result_, FairResult)
    pd.testing.assert_series_equal(short.labels_, long.labels_)


def test_epsilon_and_constraints_clash(crowd: tuple[pd.DataFrame, pd.DataFrame, pd.Series]) -> None:
    votes, groups, _ = crowd
    with pytest.raises(OptionError, match=r"add DemographicParity\(0.1\)"):
        FairCrowd(MajorityVote(), epsilon=0.1, constraints=LIST).fit(votes, sensitive_features=groups)


@pytest.mark.parametrize(
    "constraint", [EqualOpportunity(0.05, label=1, group="sex"), AccuracyParity(0.05, group="sex")]
)
def test_constraints_on_the_truth_need_known_labels_or_consent(
    crowd: tuple[pd.DataFrame, pd.DataFrame, pd.Series], constraint: Constraint
) -> None:
    votes, groups, truth = crowd
    with pytest.raises(OptionError, match="correct it by known labels"):
        FairCrowd(DawidSkene(), constraints=[constraint]).fit(votes, sensitive_features=groups)
    believed = FairCrowd(DawidSkene(), constraints=[constraint], believed=True).fit(votes, sensitive_features=groups)
    assert believed.certificate_.constraints[0].is_believed
    assert believed.certificate_.constraints[0].estimated is None
    gold = truth.sample(150, random_state=0)
    model = CalibratedCrowd(DawidSkene())
    known = FairCrowd(model, constraints=[constraint]).fit(votes, gold, sensitive_features=groups)
    estimated = known.certificate_.constraints[0].estimated
    assert estimated is not None
    assert estimated["low"] <= estimated["estimate"] <= estimated["high"]
    assert estimated["n_gold"] == 150
    assert known.accuracy_ is not None


def test_make_fair_takes_the_posterior_at_its_word_and_warns() -> None:
    posterior = np.random.default_rng(0).dirichlet([1, 1], 200)
    with pytest.warns(DataWarning, match="as this posterior believes"):
        make_fair(posterior, np.arange(200) % 2, constraints=[EqualOpportunity(0.1, label=1)])


def test_new_tasks_are_labelled_by_the_rule(crowd: tuple[pd.DataFrame, pd.DataFrame, pd.Series]) -> None:
    votes, groups, _ = crowd
    fair = FairCrowd(DawidSkene(), constraints=LIST).fit(votes, sensitive_features=groups)
    again = fair.predict(votes, sensitive_features=groups)
    differ = (again.reindex(fair.labels_.index) != fair.labels_).sum()
    tied = (fair.result_.solved.probabilities.max(axis=1) < 1).sum() + 60
    assert differ <= tied


def test_reviewed_tasks_are_marked(crowd: tuple[pd.DataFrame, pd.DataFrame, pd.Series]) -> None:
    votes, groups, _ = crowd
    asked = [DemographicParity(0.03, group="sex"), ReviewBudget(0.05)]
    fair = FairCrowd(DawidSkene(), constraints=asked).fit(votes, sensitive_features=groups)
    assert (fair.labels_ == "review").sum() == fair.certificate_.reviewed == fair.result_.reviewed.sum() <= 30


@pytest.mark.parametrize(
    ("constraints", "error", "message"),
    [
        ([DemographicParity(0.1, group="sez")], MissingColumnError, "Did you mean 'sex'"),
        ([RateRatio(0.8, group="sex", label="hire")], OptionError, "not one of the labels"),
        ([DemographicParity(0.1, group="sex"), DemographicParity(0.2, group="sex")], OptionError, "keep one"),
        ([], OptionError, "empty list"),
        (["parity"], OptionError, "expected <= or >="),
        ([0.05], OptionError, "list of constraints"),
        ([DemographicParity(0.0001, group="sex"), ChangeBudget(0.001)], InfeasibleError, "cannot both hold"),
        (
            [RateRange(low=0.9, label=1, group="sex"), RateRange(low=0.3, label=0, group="sex")],
            InfeasibleError,
            "allow a rate of",
        ),
        ([DemographicParity(0.1, group="constant")], OptionError, "no two groups to compare"),
        ([DemographicParity(0.1, group="sex", within="task_number")], OptionError, "no two groups to compare"),
    ],
)
def test_what_cannot_be_kept_is_refused_with_a_reason(
    crowd: tuple[pd.DataFrame, pd.DataFrame, pd.Series],
    constraints: list[Constraint],
    error: type[Exception],
    message: str,
) -> None:
    votes, groups, _ = crowd
    table = groups.assign(constant="x", task_number=np.arange(len(groups)))
    with pytest.raises(error, match=message):
        FairCrowd(MajorityVote(), constraints=constraints).fit(votes, sensitive_features=table)


@pytest.mark.parametrize(
    "make", [lambda: DemographicParity(1.5), lambda: RateRatio(2), lambda: RateRange(), lambda: ChangeBudget(-0.1)]
)
def test_limits_out_of_range(make: type[Constraint]) -> None:
    with pytest.raises(OptionError):
        make()


def test_an_infeasible_list_says_what_would_do() -> None:
    """The limits that are proposed do, and slightly tighter ones do not."""
    rng = np.random.default_rng(1)
    group = np.arange(400) % 2
    p = np.clip(rng.normal(0.35 + 0.3 * group, 0.15), 0.01, 0.99)
    posterior = np.stack([1 - p, p], axis=1)
    tight = [DemographicParity(0.01), ChangeBudget(0.02)]
    with pytest.raises(InfeasibleError) as caught:
        make_fair(posterior, group, constraints=tight)
    gap = float(str(caught.value).split("gap of ")[1].split()[0])
    share = float(str(caught.value).split("(")[-1].split(")")[0])
    assert make_fair(posterior, group, constraints=[DemographicParity(gap), tight[1]]).certificate.kept
    assert make_fair(posterior, group, constraints=[tight[0], ChangeBudget(share + 0.001)]).certificate.kept
    with pytest.raises(InfeasibleError):
        make_fair(posterior, group, constraints=[DemographicParity(gap - 0.002), tight[1]])


def test_ruined_labels_are_called_so() -> None:
    rng = np.random.default_rng(1)
    group = np.arange(300) % 2
    p = np.clip(rng.normal(0.1 + 0.8 * group, 0.05), 0.01, 0.99)
    posterior = np.stack([1 - p, p], axis=1)
    with pytest.warns(DrasticChangeWarning, match="labels change"):
        make_fair(posterior, group, constraints=[DemographicParity(0.05, label=1)])


def test_certificate_verifies_and_notices_changes() -> None:
    rng = np.random.default_rng(4)
    groups = pd.DataFrame({"sex": np.arange(300) % 2, "race": rng.integers(0, 3, 300)})
    posterior = rng.dirichlet([1, 1, 1], 300)
    posterior[:, 2] += 0.3 * groups["sex"].to_numpy()
    posterior /= posterior.sum(axis=1, keepdims=True)
    asked = [DemographicParity(0.02, group="sex"), RateRatio(0.8, group="race", label=2)]
    result = make_fair(
        posterior,
        groups.to_numpy(),
        constraints=[DemographicParity(0.02, group="0"), RateRatio(0.8, group="1", label=2)],
    )
    named = pd.DataFrame(posterior)
    result = make_fair(named, groups, constraints=asked)
    result.certificate.verify(named, groups, result.labels, asked)
    wrong = result.labels.copy()
    wrong[wrong == 2] = 0
    from faircrowd.errors import InputError

    with pytest.raises(InputError, match="s value is"):
        result.certificate.verify(named, groups, wrong, asked)
    import dataclasses

    forged = dataclasses.replace(result.certificate, multipliers=[2 * m for m in result.certificate.multipliers])
    with pytest.raises(InputError, match="dual_bound"):
        forged.verify(named, groups, result.labels, asked)
