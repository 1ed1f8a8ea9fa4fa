"""Words follow the numbers: fell, rose or as before; what is proved, and no more."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import faircrowd as fc
from faircrowd.fair.certificate import Certificate
from faircrowd.report.fair_words import (
    cost_in_words,
    excess_in_words,
    gap_in_words,
    gap_texts,
    optimum_in_words,
    percent,
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
    assert optimum_in_words(above) == "labels within epsilon reach at most 0.700000 under this posterior"
    best = replace(above, optimal=True)
    assert optimum_in_words(best) == "no deterministic labels with a gap of at most 0.6 are better under this posterior"
    assert str(excess_in_words(above)).endswith("strict=True keeps epsilon to the letter, at any cost")
    assert excess_in_words(FAIR) is None
    assert optimum_in_words(FAIR) == "no deterministic labels within epsilon are better under this posterior"
    short = said(optimal=False, optimality_gap=0.002, gap_allowed=0.5)
    assert optimum_in_words(short) == "no labels within epsilon are better by more than 0.002 under this posterior"


def test_what_it_cost() -> None:
    assert cost_in_words(said(believed_accuracy_before=0.9, believed_accuracy=0.9 + 1e-12), None) == (
        "at 0.00% of believed accuracy"
    )
    assert cost_in_words(said(believed_accuracy_before=0.8, believed_accuracy=0.9), None) == (
        "with believed accuracy 10.00% higher"
    )
    f1 = said(objective="f1", value_before=0.5, value=0.6, believed_accuracy_before=0.9, believed_accuracy=0.8)
    assert cost_in_words(f1, 0.01) == (
        "at 10.00% of believed accuracy (believed f1 rose from 0.5000 to 0.6000) and 1.00% of real accuracy"
    )
    assert percent(-0.00001) == "0.00%"
