"""Constraints that are hard or impossible to keep, or not what was meant: a right result, or a message that helps."""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

from faircrowd import make_fair
from faircrowd.constraints import (
    ChangeBudget,
    Constraint,
    DemographicParity,
    EqualizedOdds,
    EqualOpportunity,
    RateRange,
    RateRatio,
    ReviewBudget,
    parse_constraint,
)
from faircrowd.errors import DataWarning, DrasticChangeWarning, FaircrowdError, InfeasibleError, InputError, OptionError

N = 300
_RNG = np.random.default_rng(0)
P = _RNG.beta(2, 2, N)
POSTERIOR = pd.DataFrame({"no": 1 - P, "yes": P}, index=[f"t{i}" for i in range(N)])
PEOPLE = pd.DataFrame(
    {
        "g": np.where(P + _RNG.normal(0, 0.3, N) > 0.5, "a", "b"),
        "one": "x",
        "many": np.arange(N) % 200,
        "id": np.arange(N),
        "solo": np.where(np.arange(N) == 0, "lone", "rest"),
    },
    index=POSTERIOR.index,
)
THREE = POSTERIOR.assign(maybe=0.0)


def rates(labels: pd.Series, label: str, by: Any) -> pd.Series:
    return labels.eq(label).groupby(by).mean()


@pytest.mark.parametrize("limit", [-0.1, 1.5, float("nan"), True, np.True_, "0.1", None, float("inf")])
@pytest.mark.parametrize(
    "kind",
    [DemographicParity, RateRatio, ChangeBudget, ReviewBudget, EqualizedOdds, lambda limit: RateRange(high=limit)],
)
def test_limits_are_numbers_from_0_to_1(kind: Callable[[Any], Constraint], limit: Any) -> None:
    with pytest.raises(OptionError, match=r"must be a number|at most 1|needs low, high or both"):
        kind(limit)


CASES: dict[str, tuple[list[Constraint], pd.DataFrame, type[Exception], str]] = {
    "no such column": ([DemographicParity(0.1, group="gg")], POSTERIOR, InputError, "'gg'.*Did you mean 'g'"),
    "no such stratum": ([DemographicParity(0.1, within="x", group="g")], POSTERIOR, InputError, "the column 'x'"),
    "no such label": (
        [DemographicParity(0.1, group="g", label="yess")],
        POSTERIOR,
        OptionError,
        r"^parity\(g, label=yess\) <= 0.1: 'yess' is not one of the labels, 'no', 'yes'. Did you mean 'yes'",
    ),
    "one group": (
        [DemographicParity(0.1, group="one")],
        POSTERIOR,
        OptionError,
        r"^parity\(one\) <= 0.1 has no two groups to compare: all tasks that count are of one group, 'x'",
    ),
    "strata of one group": (
        [DemographicParity(0.1, group="g", within="id")],
        POSTERIOR,
        OptionError,
        "each of 300 strata has one group only",
    ),
    "the group is the stratum": (
        [DemographicParity(0.1, group="g", within="g")],
        POSTERIOR,
        OptionError,
        "each of 2 strata has one group only, 'a', 'b'",
    ),
    "a class without mass": (
        [EqualOpportunity(0.1, group="g", label="maybe")],
        THREE,
        OptionError,
        "no two of the groups 'a', 'b' have enough tasks of the true class",
    ),
    "the same twice": ([DemographicParity(0.1, group="g")] * 2, POSTERIOR, OptionError, "are about the same; keep one"),
    "twice with two limits": (
        [DemographicParity(0.1, group="g"), DemographicParity(0.2, group=("g",))],
        POSTERIOR,
        OptionError,
        "are about the same; keep one",
    ),
    "twice in another order": (
        [RateRatio(0.1, group=("g", "solo"), label="yes"), RateRatio(0.2, group=("solo", "g"), labels=["yes"])],
        POSTERIOR,
        OptionError,
        "are about the same; keep one",
    ),
    "a floor above a cap": (
        [RateRange(low=0.6, label="yes", group="g"), RateRange(high=0.3, label="yes", group="g")],
        POSTERIOR,
        InfeasibleError,
        r"allow a rate of label yes of 0\.\d+ instead of 0.6, or allow a rate of label yes of 0\.\d+ instead of 0.3",
    ),
    "no room": (
        [DemographicParity(0.0, group="g"), ChangeBudget(0.0)],
        POSTERIOR,
        InfeasibleError,
        "at least .* labels must change",
    ),
    "no task": ([ChangeBudget(0.1)], POSTERIOR.iloc[:0], InputError, "at least one task and two classes; got 0 x 2"),
    "one class": ([ChangeBudget(0.1)], POSTERIOR[["no"]] * 0 + 1, InputError, "two classes; got 300 x 1"),
    "a task twice": (
        [ChangeBudget(0.1)],
        pd.concat([POSTERIOR, POSTERIOR.iloc[:2]]),
        InputError,
        "several rows for 't0'",
    ),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", CASES)
def test_what_cannot_be_done_is_told(name: str) -> None:
    constraints, posterior, error, message = CASES[name]
    with pytest.raises(error, match=message) as found:
        make_fair(posterior, PEOPLE, constraints=constraints)
    assert isinstance(found.value, FaircrowdError)


def test_labels_that_are_no_labels() -> None:
    with pytest.raises(OptionError, match=r"DemographicParity\.labels is empty"):
        DemographicParity(0.1, labels=[])


@pytest.mark.parametrize("within", ["solo", "many"])
def test_strata_of_one_group_are_left_out_and_told(within: str) -> None:
    asked = DemographicParity(0.1, group="g", within=within)
    with pytest.warns(DataWarning, match="left out of the gap: the only group of its stratum"):
        fair = make_fair(POSTERIOR, PEOPLE, constraints=[asked])
    sizes = PEOPLE.groupby([within, "g"]).size().unstack()
    alone = sizes.index[sizes.notna().sum(axis=1) == 1]
    kept = fair.certificate.constraints[0]
    left_out = [name for name, why in kept.left_out.items() if why == "the only group of its stratum"]
    assert len(left_out) == len(alone) > 0
    # The level is that of the other strata, and those of one group keep the aggregator's own labels.
    of = pd.DataFrame({"rate": rates(fair.labels, "yes", [PEOPLE[within], PEOPLE["g"]])})["rate"].unstack()
    assert kept.level == pytest.approx(float((of.max(axis=1) - of.min(axis=1))[~of.isna().any(axis=1)].max()))
    inside = PEOPLE[within].isin(alone)
    assert (fair.labels[inside] == POSTERIOR.idxmax(axis=1)[inside]).all()
    assert np.isfinite(kept.price)
    assert len(fair.frontier_over(0, [0.0, 0.1])) == 2


def test_a_group_of_one_task_is_warned_of() -> None:
    with pytest.warns(
        DataWarning, match="1 of 2 groups have fewer than 10 tasks.*'lone'; min_group=10 leaves them out"
    ):
        make_fair(POSTERIOR, PEOPLE, constraints=[DemographicParity(0.05, group="solo")])
    with pytest.raises(OptionError, match=r"1 of 2 groups is left out, 'lone' \(fewer than 10 tasks\)"):
        make_fair(POSTERIOR, PEOPLE, constraints=[DemographicParity(0.05, group="solo")], min_group=10)


def test_a_label_that_nobody_believes_is_not_given_in_silence() -> None:
    with pytest.warns(
        DrasticChangeWarning, match=r"tasks get the label 'maybe', which has probability 0 in every task"
    ):
        fair = make_fair(THREE, PEOPLE, constraints=[RateRange(low=0.1, label="maybe", group=())])
    assert rates(fair.labels, "maybe", PEOPLE["one"]).item() >= 0.1
    for harmless in (DemographicParity(0.1, group="g", label="maybe"), RateRatio(0.8, group="g", label="maybe")):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            fair = make_fair(THREE, PEOPLE, constraints=[harmless])
        assert fair.labels.tolist() == POSTERIOR.idxmax(axis=1).tolist()


def test_names_of_any_script() -> None:
    people = PEOPLE.rename(columns={"g": "группа ☃"})
    posterior = POSTERIOR.set_axis(["нет", "да's"], axis=1)
    asked = DemographicParity(0.1, group="группа ☃", label="да's")
    assert parse_constraint(str(asked)) == asked
    fair = make_fair(posterior, people, constraints=[str(asked)])
    plain = make_fair(POSTERIOR, PEOPLE, constraints=[DemographicParity(0.1, group="g", label="yes")])
    assert fair.labels.map({"нет": "no", "да's": "yes"}).tolist() == plain.labels.tolist()
    assert (
        type(fair.rule).from_json(fair.rule.to_json()).predict(posterior, people).tolist()
        == fair.rule.predict(posterior, people).tolist()
    )


@pytest.mark.parametrize("policy", ["drop", "own"])
def test_missing_values(policy: str) -> None:
    people = PEOPLE.assign(g=PEOPLE["g"].where(np.arange(N) >= 30))
    with pytest.raises(InputError, match="30 of 300 tasks have no group in column 'g'"):
        make_fair(POSTERIOR, people, constraints=[DemographicParity(0.1, group="g")])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fair = make_fair(POSTERIOR, people, constraints=[DemographicParity(0.1, group="g")], on_missing_group=policy)
    groups = people["g"].fillna("missing") if policy == "own" else people["g"].dropna()
    found = rates(fair.labels.reindex(groups.index), "yes", groups)
    assert np.ptp(found) == pytest.approx(fair.certificate.constraints[0].level)
    if policy == "drop":
        assert (fair.labels[:30] == POSTERIOR.idxmax(axis=1)[:30]).all()
