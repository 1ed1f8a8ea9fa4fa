"""Mistakes that a reading of the constraints found, each with the input that showed it."""

import dataclasses

import numpy as np
import pandas as pd
import pytest

from faircrowd import make_fair
from faircrowd.constraints import (
    AccuracyParity,
    ChangeBudget,
    DemographicParity,
    EqualizedOdds,
    EqualOpportunity,
    RateRange,
    RateRatio,
    ReviewBudget,
)
from faircrowd.errors import InfeasibleError, InputError, OptionError


@pytest.mark.parametrize("seed", [0, 14, 23, 31])
def test_parity_in_a_list_is_no_worse_than_epsilon(seed: int) -> None:
    """Labels were kept to the letter at the price of nearly all of them."""
    rng = np.random.default_rng(seed)
    n, n_groups = int(rng.integers(30, 120)), int(rng.integers(2, 5))
    group = pd.Series(rng.integers(0, n_groups, n), name="g").astype(str)
    posterior = pd.DataFrame(rng.dirichlet([1, 1, 1], n))
    epsilon = float(rng.choice([0.0, 0.02]))
    one = make_fair(posterior, group, epsilon=epsilon).certificate
    other = make_fair(posterior, group.to_frame(), constraints=[DemographicParity(epsilon, group="g")]).certificate
    assert other.value >= one.value - 2.0 * n_groups / n
    assert other.kept


def test_a_group_that_hardly_has_a_class_allows_nothing() -> None:
    """What one task may move was divided by 0.2 tasks, and a gap of 5 was allowed."""
    rng = np.random.default_rng(0)
    posterior = rng.dirichlet([3, 3, 0.05], 120)
    group = np.repeat([0, 1], 60)
    posterior[group == 1, 2] = 0.002
    posterior /= posterior.sum(axis=1, keepdims=True)
    with pytest.warns(UserWarning, match="believes"):
        kept = make_fair(posterior, group, constraints=[EqualizedOdds(0.02)]).certificate.constraints[0]
    assert kept.allowed is not None
    assert kept.allowed <= 1.0
    assert any("2 is true" in name for name in kept.left_out) or all(
        "where 2" not in one["about"] or len(one["values"]) == 2 for one in kept.comparisons
    )


def test_kept_level_and_allowed_of_a_ratio_agree() -> None:
    rng = np.random.default_rng(3)
    for _ in range(12):
        n = 90
        posterior, group = rng.dirichlet([4, 1], n), rng.integers(0, 5, n)
        kept = make_fair(
            posterior, group, constraints=[RateRatio(0.8, label=1), DemographicParity(0.3)]
        ).certificate.constraints[0]
        assert kept.allowed is not None
        assert kept.kept == (kept.level >= kept.allowed - 1e-9)


@pytest.mark.parametrize("scale", [1e-4, 1.0, 1e4])
def test_large_gains_do_not_make_constraints_clash(scale: float) -> None:
    rng = np.random.default_rng(1)
    posterior = rng.dirichlet([1, 1], 1500)
    groups = pd.DataFrame({"a": rng.integers(0, 2, 1500), "b": rng.integers(0, 3, 1500)})
    asked = [DemographicParity(0.0, group="a"), DemographicParity(0.0, group="b")]
    gains = scale * np.array([[0.0, -2.0], [-1.0, 0.0]])
    found = make_fair(posterior, groups, constraints=asked, objective=gains).certificate
    assert found.bound / scale == pytest.approx(-0.376, abs=0.1)


@pytest.mark.parametrize(
    "constraint",
    [
        RateRatio(0.8, group="g", label=1),
        DemographicParity(0.05, group="g"),
        AccuracyParity(0.01, group="g"),
        RateRange(high=0.4, label=1, group="g"),
    ],
)
@pytest.mark.filterwarnings("ignore::faircrowd.errors.DataWarning")
def test_a_price_is_the_slope_of_the_frontier(constraint: DemographicParity) -> None:
    rng = np.random.default_rng(5)
    group = pd.DataFrame({"g": np.arange(2000) % 2})
    p = np.clip(rng.normal(0.4 + 0.15 * group["g"], 0.2), 0.01, 0.99)
    posterior = np.stack([1 - p, p], axis=1)
    found = make_fair(posterior, group, constraints=[constraint])
    level, step = constraint.level, 1e-3
    below, above = (point.randomized for point in found.frontier_over(0, [level - step, level + step]))
    assert abs(found.certificate.constraints[0].price) == pytest.approx(abs(above - below) / (2 * step), rel=0.1)


def test_strata_of_one_column_without_groups() -> None:
    posterior = np.random.default_rng(0).dirichlet([1, 1], 60)
    frame = pd.DataFrame({"region": ["north", "south"] * 30, "year": [2000, 2001] * 30})
    for column in ("region", "year"):
        found = make_fair(
            posterior, frame, constraints=[RateRange(low=0.3, label=1, group=(), within=column)]
        ).certificate
        assert len(found.constraints[0].comparisons) == 2


def test_strata_with_the_same_text_stay_apart() -> None:
    values = [("p", "q & r"), ("p & q", "r")]
    frame = pd.DataFrame([values[i % 2] for i in range(80)], columns=["x", "y"]).assign(g=np.arange(80) // 2 % 2)
    posterior = np.random.default_rng(0).dirichlet([1, 1], 80)
    found = make_fair(posterior, frame, constraints=[DemographicParity(0.1, group="g", within=("x", "y"), label=1)])
    assert len(found.certificate.constraints[0].comparisons) == 2


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: DemographicParity(0.1, labels="10"), "list of labels"),
        (lambda: DemographicParity(0.1, label=1, labels=[0]), "one of the two"),
    ],
)
def test_labels_that_mean_something_else(make: type[DemographicParity], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        make()  # type: ignore[call-arg]


def test_lists_and_arrays_become_tuples() -> None:
    one = DemographicParity(0.1, group=["a", "b"], labels=np.array([0, 1]))
    assert one == DemographicParity(0.1, group=("a", "b"), labels=(0, 1))
    assert len({one, one}) == 1


def test_verify_recomputes_values_and_accepts_reviews_and_ties() -> None:
    rng = np.random.default_rng(2)
    posterior = pd.DataFrame(np.round(rng.dirichlet([1, 1], 200), 1))
    posterior[1] = 1 - posterior[0]
    groups = pd.DataFrame({"g": np.arange(200) % 2})
    asked = [DemographicParity(0.05, group="g"), ReviewBudget(0.05), ChangeBudget(0.4)]
    fair = make_fair(posterior, groups, constraints=asked, ties="last")
    fair.certificate.verify(posterior, groups, fair.labels, asked)
    for forged in ({"value": 0.999}, {"believed_accuracy": 1.0}, {"changed": 0}, {"reviewed": 99}):
        with pytest.raises(InputError, match="recomputed"):
            dataclasses.replace(fair.certificate, **forged).verify(posterior, groups, fair.labels, asked)  # type: ignore[arg-type]


def test_constraints_without_columns_need_none() -> None:
    posterior = np.random.default_rng(0).dirichlet([1, 1], 50)
    unused = pd.DataFrame({"g": [None, "a"] * 25})
    fair = make_fair(posterior, unused, constraints=[RateRange(high=0.4, label=1, group=()), ChangeBudget(0.5)])
    assert fair.certificate.kept


def test_an_infeasible_list_is_told_quickly_of_many_tasks() -> None:
    rng = np.random.default_rng(0)
    n = 20_000
    group = (np.arange(n) % 2).astype(int)
    p = np.clip(rng.normal(0.4 + 0.2 * group, 0.2), 0.01, 0.99)
    posterior = np.stack([1 - p, p], axis=1)
    with pytest.raises(InfeasibleError, match="cannot both hold"):
        make_fair(posterior, group, constraints=[DemographicParity(0.01), ChangeBudget(0.02)])
    with pytest.raises(InfeasibleError, match="cannot both hold"):
        make_fair(posterior, group, constraints=[EqualOpportunity(0.01, label=1), ChangeBudget(0.0001)])


def test_reviews_that_help_are_no_alarm() -> None:
    posterior = np.random.default_rng(0).dirichlet([1, 1], 100)
    fair = make_fair(posterior, np.arange(100) % 2, constraints=[ReviewBudget(1.0)])
    assert fair.alarm == ""


def test_a_budget_is_never_exceeded_by_a_part_of_a_task() -> None:
    rng = np.random.default_rng(3)
    for n in (97, 131, 584):
        group = np.arange(n) % 2
        p = np.clip(rng.normal(0.4 + 0.2 * group, 0.2), 0.01, 0.99)
        fair = make_fair(
            np.stack([1 - p, p], axis=1), group, constraints=[DemographicParity(0.15, label=1), ChangeBudget(0.2)]
        ).certificate
        assert fair.changed <= 0.2 * n


def test_what_is_proposed_mends_the_whole_list() -> None:
    """The relaxation of one clash led to the next."""
    rng = np.random.default_rng(1)
    n = 600
    groups = pd.DataFrame({"a": np.arange(n) % 2, "b": np.arange(n) // 2 % 3})
    p = np.clip(rng.normal(0.3 + 0.2 * groups["a"] + 0.15 * groups["b"], 0.15), 0.01, 0.99)
    posterior = np.stack([1 - p, p], axis=1)
    parity = [DemographicParity(0.01, group="a", label=1), DemographicParity(0.01, group="b", label=1)]
    with pytest.raises(InfeasibleError, match="labels must change") as caught:
        make_fair(posterior, groups, constraints=[*parity, ChangeBudget(0.02)])
    share = float(str(caught.value).split("labels must change (")[1].split(")")[0])
    assert make_fair(posterior, groups, constraints=[*parity, ChangeBudget(min(share + 0.01, 1.0))]).certificate.kept


def test_constraints_may_be_texts() -> None:
    posterior = np.random.default_rng(0).dirichlet([1, 1], 50)
    groups = pd.DataFrame({"g": np.arange(50) % 2})
    one = make_fair(posterior, groups, constraints=["parity(g, label=1) <= 5%", "changed <= 0.5"])
    other = make_fair(posterior, groups, constraints=[DemographicParity(0.05, group="g", label=1), ChangeBudget(0.5)])
    np.testing.assert_array_equal(one.labels, other.labels)


def test_the_level_of_a_ratio_is_the_smallest_over_labels() -> None:
    """The label with the largest shortfall of its rate was reported, whose ratio need not be the smallest."""
    rng = np.random.default_rng(0)
    for _ in range(10):
        posterior, group = rng.dirichlet([8, 4, 0.5], 300), np.arange(300) % 2
        kept = make_fair(posterior, group, constraints=[RateRatio(0.1)]).certificate.constraints[0]
        assert kept.level == min(one["level"] for one in kept.comparisons)


def test_strict_labels_are_not_drawn() -> None:
    """``strict`` was ignored for randomized labels."""
    posterior = np.random.default_rng(0).dirichlet([1, 1], 60)
    with pytest.raises(OptionError, match="strict=True is for deterministic labels"):
        make_fair(
            posterior,
            np.arange(60) % 2,
            constraints=[DemographicParity(0.1, label=1)],
            decision="randomized",
            strict=True,
        )
