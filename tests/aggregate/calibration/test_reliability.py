"""Confidence against the share of right labels."""

import math
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from faircrowd.aggregate.calibration.reliability import calibration_error, reliability
from faircrowd.errors import InputError, OptionError

LABELS = st.lists(st.tuples(st.sampled_from([0.0, 0.25, 0.5, 0.6, 0.99, 1.0]), st.booleans()), min_size=1, max_size=60)


def test_bins_by_hand() -> None:
    confidence = [0.5, 0.55, 0.6, 0.7, 0.8, 0.9]
    right = [True, False, False, True, True, True]
    found = reliability(confidence, right, n_bins=3)
    assert found.count.tolist() == [2, 2, 2]
    np.testing.assert_allclose(found.confidence, [0.525, 0.65, 0.85], rtol=1e-15)
    np.testing.assert_allclose(found.right, [0.5, 0.5, 1.0])
    assert found.error == pytest.approx((0.025 + 0.15 + 0.15) / 3)
    assert calibration_error(confidence, right, n_bins=3) == found.error


def test_one_bin_is_believed_minus_real() -> None:
    found = reliability([0.9, 1.0, 0.8, 0.7], [True, False, False, True], n_bins=1)
    assert found.count.tolist() == [4]
    assert found.error == pytest.approx(0.85 - 0.5)


def test_equal_confidence_shares_a_bin() -> None:
    """A saturated posterior has one bin, not ten that differ by the order of rows."""
    right = np.arange(100) % 4 > 0
    found = reliability(np.ones(100), right)
    assert (found.confidence.tolist(), found.right.tolist(), found.count.tolist()) == ([1.0], [0.75], [100])


def test_distinct_confidences_fill_bins_evenly() -> None:
    found = reliability(np.linspace(0.5, 1.0, 1003), np.ones(1003, bool))
    assert found.count.size == 10
    assert np.ptp(found.count) <= 1


def test_a_calibrated_posterior_has_a_small_error() -> None:
    draw = np.random.default_rng(0)
    confidence = draw.uniform(0.5, 1, 100_000)
    right = draw.uniform(size=confidence.size) < confidence
    assert calibration_error(confidence, right) < 0.01
    assert calibration_error(np.minimum(confidence + 0.2, 1.0), right) > 0.1


@given(LABELS, st.integers(1, 12), st.randoms(use_true_random=False))
def test_bins_hold_every_label_in_any_order(labels: list[tuple[float, bool]], n_bins: int, order: Random) -> None:
    found = reliability(*zip(*labels, strict=True), n_bins=n_bins)
    assert found.count.sum() == len(labels)
    assert found.count.min() > 0
    assert found.count.size <= n_bins
    assert (np.diff(found.confidence) > 0).all()
    confidence, right = zip(*labels, strict=True)
    assert float(found.confidence @ found.count) == pytest.approx(math.fsum(confidence))
    assert float(found.right @ found.count) == pytest.approx(sum(right))
    order.shuffle(labels)
    again = reliability(*zip(*labels, strict=True), n_bins=n_bins)
    for one, other in ((found.confidence, again.confidence), (found.right, again.right), (found.count, again.count)):
        assert one.tobytes() == other.tobytes()


@given(LABELS)
def test_the_error_is_at_least_believed_minus_real(labels: list[tuple[float, bool]]) -> None:
    confidence, right = (np.array(part, float) for part in zip(*labels, strict=True))
    error = calibration_error(confidence, right)
    assert abs(confidence.mean() - right.mean()) - 1e-12 <= error <= 1


@pytest.mark.parametrize(
    ("confidence", "right", "says"),
    [
        ([], [], "at least one label"),
        ([0.5], [True, False], "one value for each label"),
        ([[0.5]], [[True]], "one value for each label"),
        ([1.2, 0.5], [True, True], "numbers from 0 to 1; got 1.2"),
        ([float("nan")], [True], "numbers from 0 to 1; got nan"),
        ([0.5], [2], "True or False; got 2.0"),
        (["high"], [True], "numbers from 0 to 1"),
    ],
)
def test_what_cannot_be_compared(confidence: list[float], right: list[bool], says: str) -> None:
    with pytest.raises(InputError, match=says):
        reliability(confidence, right)


def test_bins_are_a_count() -> None:
    with pytest.raises(OptionError, match="n_bins"):
        reliability([0.5], [True], n_bins=0)
