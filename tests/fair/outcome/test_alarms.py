"""Labels that keep the constraint by being ruined, or miss it: warnings with the cost and with what would do."""

import math
import re
import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from faircrowd import FairCrowd, make_fair
from faircrowd.errors import DataWarning, DrasticChangeWarning
from faircrowd.fair import FairResult
from faircrowd.fair.outcome.alarms import missed


def two_groups(n: int, lean: float, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Posteriors of two classes; the groups are the further apart the smaller ``lean``."""
    rng = np.random.default_rng(seed)
    p = rng.uniform(0.02, 0.98, 2 * n)
    p[n:], p[:n] = p[n:] ** lean, 1 - p[:n] ** lean
    return np.stack([1 - p, p], axis=1), np.repeat(["a", "b"], n)


def quietly(*args: Any, **kwargs: Any) -> FairResult:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return make_fair(*args, **kwargs)


def drastic(posterior: np.ndarray, labels: np.ndarray) -> tuple[bool, bool, bool]:
    """A quarter changed, a label gone, one label for nearly all: by definition, from the labels themselves."""
    own = posterior.argmax(axis=1)
    gone = set(own) - set(labels)
    most, before = (max(np.mean(found == k) for k in range(posterior.shape[1])) for found in (labels, own))
    return bool(np.mean(own != labels) > 0.25), bool(gone), bool(most > 0.95 >= before)


@pytest.mark.parametrize("lean", [0.05, 0.15, 0.4, 1.0])
@pytest.mark.parametrize("epsilon", [0.0, 0.02, 0.3])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_there_is_a_warning_if_and_only_if_labels_are_drastic(lean: float, epsilon: float, n_classes: int) -> None:
    posterior, groups = two_groups(300, lean)
    if n_classes == 3:
        posterior = np.column_stack([posterior[:, :1] * 0.8, posterior[:, :1] * 0.2, posterior[:, 1:]])
    result = quietly(posterior, groups, epsilon=epsilon)
    many, gone, flooded = drastic(posterior, result.labels)
    assert bool(result.alarm) == (many or gone or flooded)
    assert ("labels (" in result.alarm) == many
    assert ("any more" in result.alarm) == gone
    assert ("of all labels are" in result.alarm) == flooded
    if not result.alarm:
        return
    c = result.certificate
    assert (
        f"at {100 * (c.believed_accuracy_before - c.believed_accuracy):.1f} points of believed accuracy. What to do: "
        in result.alarm
    )
    proposed = re.search(r"epsilon=([0-9.]+) avoids it", result.alarm)
    assert proposed is not None
    # The proposal is true, and a thousandth less would not do.
    enough = float(proposed[1])
    assert epsilon < enough <= c.gap_before + 0.001
    assert not quietly(posterior, groups, epsilon=min(enough, 1.0)).alarm
    assert enough - 0.001 <= epsilon or quietly(posterior, groups, epsilon=enough - 0.001).alarm


def test_a_class_that_vanishes_is_named() -> None:
    """One class lives in one small group alone, so that with epsilon 0 no task can have it."""
    posterior = np.array([[0.9, 0.1, 0.0]] * 50 + [[0.1, 0.9, 0.0]] * 50 + [[0.3, 0.1, 0.6]] * 10)
    groups = np.repeat(["a", "a", "b"], [50, 50, 10])
    with pytest.warns(DrasticChangeWarning, match=r"no task has label '2' any more \(10 tasks had it before\)"):
        make_fair(posterior, groups, epsilon=0.0)


def test_warnings_are_data_warnings_of_make_fair_and_faircrowd() -> None:
    assert issubclass(DrasticChangeWarning, DataWarning)
    posterior, groups = two_groups(300, 0.05)
    with pytest.warns(DrasticChangeWarning, match="What to do"):
        make_fair(posterior, groups, epsilon=0.0)
    with pytest.warns(DrasticChangeWarning, match="What to do"):
        FairCrowd(epsilon=0.0).fit(posterior, sensitive_features=groups)


def test_no_epsilon_is_proposed_where_it_takes_long_or_is_not_what_was_asked() -> None:
    posterior, groups = two_groups(300, 0.05)
    for given in ({"strict": True}, {"confidence": 0.9, "promise": "best-effort"}):
        text = quietly(posterior, np.where(np.arange(600) % 50 == 0, "c", groups), epsilon=0.0, **given).alarm
        assert "allow a larger epsilon (the frontier shows what each costs)" in text
        assert "the smallest group has only 12 tasks" in text
        assert "epsilon=" not in text


# What is missed


def test_labels_within_epsilon_miss_nothing() -> None:
    posterior, groups = two_groups(300, 0.4)
    assert missed(quietly(posterior, groups, epsilon=0.05).certificate) == ""


def test_a_gap_above_what_is_allowed_is_missed() -> None:
    posterior, groups = two_groups(300, 0.4)
    certificate = quietly(posterior, groups, epsilon=0.05).certificate
    above = replace(certificate, gap=0.08)
    assert missed(above).startswith("the labels miss the constraint: their gap is 0.08, above epsilon 0.05; allow a")
    assert "another random_state" in missed(replace(above, decision="randomized"))
    assert missed(replace(certificate, gap=math.nextafter(0.05, 1))) == ""  # but for rounding


def test_a_promise_that_is_not_given_is_missed() -> None:
    posterior, groups = two_groups(100, 0.4)
    certificate = quietly(posterior, groups, epsilon=0.05, confidence=0.95, promise="best-effort").certificate
    assert certificate.promise is not None
    assert not certificate.promise["enough"]
    assert missed(certificate).startswith("the labels carry no promise: these tasks are too few to promise a gap")
