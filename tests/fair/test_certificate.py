"""The certificate's numbers against counts by hand, and what ``verify`` lets pass."""

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from faircrowd import make_fair
from faircrowd.errors import InputError
from faircrowd.fair.certificate import EARLIER_NAMES, Certificate, certify
from faircrowd.fair.gap import gap_of
from faircrowd.fair.objective import make_gain
from faircrowd.fair.tasks.read_posterior import read_posterior
from faircrowd.votes import Vocabulary

P = np.array([[0.75, 0.25, 0.0], [0.5, 0.25, 0.25], [0.125, 0.75, 0.125], [0.25, 0.25, 0.5], [0.0, 0.5, 0.5]])
GROUP = ["x", "x", "y", "y", "y"]
AFTER = np.array([0, 1, 1, 0, 0], dtype=np.int32)  # before: 0, 0, 1, 2, 1


def certified(bound: float = 1.0, dual_bound: float = 1.0, **more: Any) -> Certificate:
    problem, gain = read_posterior(P, GROUP), make_gain("accuracy", 3)
    settings: dict[str, Any] = {"epsilon": 0.1, "optimal": False, "thresholds": "words", "decision": "deterministic"}
    settings |= {
        "solver": "by hand",
        "seconds": 1.5,
        "bound": bound,
        "dual_bound": dual_bound,
        "gap_allowed": 0.1,
        **more,
    }
    classes = Vocabulary.of(["a", "b", 3])
    return certify(classes, problem.groups, problem.tally(AFTER), gain, np.zeros((2, 3)), **settings)


def test_the_gap_is_the_widest_of_any_class() -> None:
    assert gap_of([[0.5, 0.25, 0.25], [0.0, 0.5, 0.5], [0.25, 0.125, 0.625]]) == 0.5
    assert gap_of([[0.0, 1.0], [0.0, 1.0]]) == 0.0
    assert gap_of(np.array([[0.25, 0.75], [0.5, 0.5]])) == 0.25


def test_numbers_are_counts_of_the_labels() -> None:
    found = certified()
    assert found.rates["x"] == {"a": 0.5, "b": 0.5, "3": 0.0}
    assert found.rates["y"] == {"a": 2 / 3, "b": 1 / 3, "3": 0.0}
    assert found.rates_before == {"x": {"a": 1.0, "b": 0.0, "3": 0.0}, "y": {"a": 0.0, "b": 2 / 3, "3": 1 / 3}}
    assert found.gap == pytest.approx(1 / 6)
    assert found.gap_before == 1.0
    assert found.believed_accuracy == found.value == (0.75 + 0.25 + 0.75 + 0.25 + 0.0) / 5
    assert found.believed_accuracy_before == found.value_before == (0.75 + 0.5 + 0.75 + 0.5 + 0.5) / 5
    assert found.changes == [
        {"group": "x", "before": "a", "after": "b", "tasks": 1},
        {"group": "y", "before": "b", "after": "a", "tasks": 1},
        {"group": "y", "before": "3", "after": "a", "tasks": 1},
    ]
    assert (found.changed, found.changed_share, found.tasks) == (3, 0.6, 5)
    assert (found.bound, found.dual_bound, found.optimality_gap) == (1.0, 1.0, 1.0 - found.value)
    assert (found.multipliers, found.gain_matrix, found.gain_offset) == ([[0.0] * 3] * 2, np.eye(3).tolist(), [0.0] * 3)
    assert (found.promise, certified(promise={"epsilon": 1}).promise) == (None, {"epsilon": 1})
    assert found.to_dict()["changes"] == found.changes


def test_a_bound_below_the_value_by_a_rounding_is_raised_to_it() -> None:
    value = certified().value
    for less, dual in ((1e-13, 1e-13), (0.0, 0.0)):
        found = certified(value - less, value - dual)
        assert (found.bound, found.dual_bound, found.optimality_gap) == (value, value, 0.0)
    found = certified(value + 1e-13, value + 2e-13)
    assert (found.bound, found.dual_bound) == (value + 1e-13, value + 2e-13)
    for far in (2e-12, -2e-12, -0.5):
        found = certified(value + far, value + far)
        assert (found.bound, found.dual_bound) == (value + far, value + far)


CROWD = np.random.default_rng(3)
SCORES, SIDES = CROWD.dirichlet(np.ones(2), 30), np.arange(30) % 2
FAIR = make_fair(SCORES, SIDES, epsilon=0.05)


@pytest.mark.parametrize("name", ["gap", "believed_accuracy", "value", "dual_bound"])
def test_a_number_may_differ_by_the_tolerance(name: str) -> None:
    said = getattr(FAIR.certificate, name)
    for sign in (-1, 1):
        near, far = (replace(FAIR.certificate, **{name: said + sign * by}) for by in (0.9e-9, 1.1e-9))
        near.verify(SCORES, SIDES, FAIR.labels)
        with pytest.raises(InputError, match=f"^The certificate's {name} is {re.escape(repr(said + sign * 1.1e-9))}; "):
            far.verify(SCORES, SIDES, FAIR.labels)
        far.verify(posterior=SCORES, sensitive_features=SIDES, labels=FAIR.labels, tolerance=2e-9)


def test_the_bound_lies_between_value_and_dual_bound() -> None:
    good = FAIR.certificate
    for bound in (good.dual_bound + 0.9e-9, good.value - 0.9e-9):
        replace(good, bound=bound).verify(SCORES, SIDES, FAIR.labels)
    with pytest.raises(InputError, match="is above its dual bound"):
        replace(good, bound=good.dual_bound + 1.1e-9).verify(SCORES, SIDES, FAIR.labels)
    with pytest.raises(InputError, match="is below its value"):
        replace(good, bound=good.value - 1.1e-9).verify(SCORES, SIDES, FAIR.labels)


def test_labels_beyond_epsilon_may_be_worth_more_than_the_bound() -> None:
    """The bound is for labels within epsilon; whole labels may exceed it."""
    own = SCORES.argmax(axis=1)
    problem = read_posterior(SCORES, SIDES)
    tally, gain = problem.tally(own.astype(np.int32)), make_gain("accuracy", 2)
    beyond = replace(
        FAIR.certificate, gap=gap_of(tally.rates), value=tally.values(gain)[1], believed_accuracy=tally.accuracies[1]
    )
    assert beyond.gap > beyond.epsilon + 0.01
    assert beyond.bound < beyond.value - 0.001
    beyond.verify(SCORES, SIDES, own)


def test_certificates_of_weights_and_of_gains_are_checked_by_them() -> None:
    weights = np.arange(1, 31) % 4 + 0.5
    settings: list[dict[str, Any]] = [{"objective": [[2.0, -1.0], [-3.0, 1.0]]}, {"objective": "f1"}, {}]
    for more in settings:
        for given in (None, weights):
            fair = make_fair(SCORES, SIDES, epsilon=0.05, sample_weight=given, **more)
            fair.certificate.verify(SCORES, SIDES, fair.labels, sample_weight=given)
            with pytest.raises(InputError, match="The certificate's"):
                fair.certificate.verify(SCORES, SIDES, fair.labels, sample_weight=weights if given is None else None)


def test_numbers_under_their_earlier_names() -> None:
    """``expected_accuracy`` is what outside code may still read; files have ``believed_accuracy``."""
    found = FAIR.certificate
    assert found.expected_accuracy == found.believed_accuracy
    assert found.expected_accuracy_before == found.believed_accuracy_before
    said = found.to_dict()
    assert EARLIER_NAMES.keys().isdisjoint(said)
    assert set(EARLIER_NAMES.values()) <= set(said)
    assert said["calibration"] is None
