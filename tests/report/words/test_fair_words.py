"""Words follow the numbers: fell, rose or as before; what is proved, and no more."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import faircrowd as fc
from faircrowd.aggregate.calibration.accuracy_estimate import AccuracyEstimate
from faircrowd.constraints import ChangeBudget, DemographicParity
from faircrowd.fair.certificate import Certificate
from faircrowd.report.summary import fair_lines
from faircrowd.report.words.fair_words import (
    cost_in_words,
    excess_in_words,
    gap_in_words,
    gap_texts,
    in_points,
    not_ruled_out,
    off_rule_in_words,
    optimum_in_words,
    proof_in_words,
)

P = np.array([0.9, 0.8, 0.7, 0.6, 0.4, 0.3, 0.2, 0.1])
GROUPS = [1, 1, 1, 1, 0, 0, 0, 0]
FAIR = fc.make_fair(np.stack([1 - P, P], axis=1), GROUPS, epsilon=0.5).certificate


def said(**changes: Any) -> Certificate:
    return replace(FAIR, **changes)


@pytest.mark.parametrize(
    ("before", "after", "epsilon", "words"),
    [
        (0.31, 0.05, 0.05, "fell from 0.310 to 0.050 (epsilon 0.05)"),
        (0.0504, 0.0498, 0.05, "fell from 0.0504 to 0.0498 (epsilon 0.05)"),
        (0.05, 0.05, 0.05, "is 0.050 as before (epsilon 0.05, and was already within it)"),
        (0.0, 0.2, 0.2, "rose from 0.000 to 0.200 (epsilon 0.2, and was already within it)"),
        (0.2, 0.0025, 0.0, "fell from 0.200 to 0.003, 0.0025 above epsilon 0"),
        (0.1, 0.12, 0.05, "rose from 0.100 to 0.120, 0.07 above epsilon 0.05"),
        (0.3, 0.3 - 1e-15, 0.3, "is 0.300 as before (epsilon 0.3, and was already within it)"),
    ],
)
def test_the_gap_is_said_to_fall_only_if_it_falls(before: float, after: float, epsilon: float, words: str) -> None:
    assert gap_in_words(said(gap_before=before, gap=after, epsilon=epsilon)) == words


def test_two_different_gaps_look_different() -> None:
    for before, after in np.random.default_rng(0).random((200, 2)) * 1e-3:
        one, other = gap_texts(before, after)
        assert (float(one) < float(other)) == (before < after)
        assert one != other


def test_draws_are_not_called_optimal() -> None:
    drawn = said(decision="randomized", optimal=True, optimality_gap=-0.01)
    assert optimum_in_words(drawn).startswith("these are one draw: on average over draws, no ")
    assert "strict" not in str(excess_in_words(replace(drawn, gap=0.6, why="labels were drawn")))
    assert excess_in_words(replace(drawn, gap=0.6, why="labels were drawn")) == (
        "the gap is 0.1 above epsilon: labels were drawn"
    )


def test_labels_above_epsilon_are_not_called_the_best_within_it() -> None:
    above = said(gap=0.55, gap_allowed=0.6, epsilon=0.5, optimal=False, optimality_gap=-0.01, bound=0.7)
    assert optimum_in_words(above) == "labels with a gap of at most 0.5 have a believed accuracy of at most 0.700000"
    best = replace(above, optimal=True)
    assert optimum_in_words(best) == (
        "no choice of one label per task with a gap of at most 0.6 has a higher believed accuracy"
    )
    assert proof_in_words(replace(best, value=0.71)).endswith(
        "accuracy (theirs is 0.710000; with a gap of at most 0.5 it is at most 0.700000)"
    )
    assert str(excess_in_words(above)).endswith("strict=True keeps epsilon to the letter, at any cost")
    assert excess_in_words(FAIR) is None
    assert optimum_in_words(FAIR) == (
        "no choice of one label per task with a gap of at most 0.5 has a higher believed accuracy"
    )
    short = said(optimal=False, value=0.7, bound=0.702, optimality_gap=0.002, gap_allowed=0.5)
    assert proof_in_words(short) == (
        "proved: no labels with a gap of at most 0.5 have a believed accuracy that is higher by more than 0.2 points "
        "(theirs is 0.700000, that of such labels at most 0.702000)"
    )
    assert [heading for heading, _ in fair_lines(short) if heading in ("optimum", "bound")] == ["bound"]
    assert [heading for heading, _ in fair_lines(FAIR) if heading in ("optimum", "bound")] == ["optimum"]
    (room,) = not_ruled_out(short, strict=False)
    assert room.startswith("labels that are better by up to 0.002 are not ruled out; strict=True searches ")
    assert not_ruled_out(short, strict=True) == not_ruled_out(FAIR, strict=False) == []
    f1 = said(objective="f1", positive="yes", value=0.7, bound=0.702, dual_bound=0.702)
    assert proof_in_words(f1) == (
        "proved: no choice of one label per task with a gap of at most 0.5 has a higher believed f1 of yes "
        "(theirs is 0.700000; that of labels drawn at random is at most 0.702000 on average)"
    )


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize(("n_classes", "n_groups"), [(2, 2), (2, 3), (3, 2), (3, 3)])
@pytest.mark.filterwarnings("ignore::faircrowd.errors.DataWarning")
def test_labels_that_the_rule_does_not_give_are_counted(n_classes: int, n_groups: int, strict: bool) -> None:
    """As many as the rule gives a probability of 0."""
    rng = np.random.default_rng(n_groups)
    posterior, group = rng.dirichlet(np.ones(n_classes), 120), rng.integers(0, n_groups, 120)
    for asked in ({"epsilon": 0.02}, {"constraints": [DemographicParity(0.02), ChangeBudget(1.0)]}):
        fair = fc.make_fair(posterior, group, strict=strict, **asked)
        chances = fair.rule.predict_proba(posterior, group)
        off = int((np.asarray(chances)[np.arange(120), np.asarray(fair.labels)] <= 0).sum())
        words = off_rule_in_words(fair)
        assert words.startswith(f"{off} label") if off else words == ""
        assert not off or ("strict" in words) == strict


def test_what_it_cost() -> None:
    assert cost_in_words(said(believed_accuracy_before=0.9, believed_accuracy=0.9 + 1e-12), None) == (
        "at 0.00 points of believed accuracy"
    )
    assert cost_in_words(said(believed_accuracy_before=0.8, believed_accuracy=0.9), None) == (
        "with believed accuracy 10.00 points higher"
    )
    f1 = said(objective="f1", value_before=0.5, value=0.6, believed_accuracy_before=0.9, believed_accuracy=0.8)
    assert cost_in_words(f1, 0.01) == (
        "at 10.00 points of believed accuracy (believed f1 rose from 0.5000 to 0.6000) and 1.00 points of real accuracy"
    )
    price = AccuracyEstimate(0.012, -0.003, 0.027, confidence=0.95, n_gold=200)
    assert cost_in_words(FAIR, -0.02, price) == (
        "at a price of 1.2 points of accuracy, as estimated (from a gain of 0.3 to a loss of 2.7); "
        "real accuracy rose by 2.00 points"
    )
    assert in_points(-0.00001) == "0.00 points"
