"""What a label gains: which objectives are taken, and F1 against its definition."""

import itertools
import re
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest

from fair import optima
from faircrowd import make_fair
from faircrowd.errors import OptionError
from faircrowd.fair.objective import Gain, f1_bound, f1_gain, make_gain
from faircrowd.fair.tasks.problem import Problem
from faircrowd.fair.tasks.read_posterior import read_posterior


def test_accuracy_is_the_probability_of_the_label() -> None:
    gain = make_gain("accuracy", 3)
    assert (gain.name, gain.is_accuracy) == ("accuracy", True)
    np.testing.assert_array_equal(gain.matrix, np.eye(3))
    np.testing.assert_array_equal(gain.offset, [0.0, 0.0, 0.0])
    posterior = np.array([[0.2, 0.3, 0.5]])
    assert gain.of(posterior) is posterior


def test_gains_are_sums_over_the_true_classes() -> None:
    matrix, offset = np.array([[2.0, 0.5, -1.0], [0.25, 1.0, 0.0], [-0.125, 0.0, 3.0]]), np.array([1.0, -0.5, 0.25])
    posterior = np.array([[0.5, 0.25, 0.25], [0.0, 0.0, 1.0], [0.125, 0.75, 0.125]])
    found = Gain("gains", matrix, offset).of(posterior)
    for i, row in enumerate(posterior):
        for k in range(3):
            exact = Fraction(offset[k]) + sum(Fraction(row[j]) * Fraction(matrix[j, k]) for j in range(3))
            assert found[i, k] == float(exact)
    assert Gain("gains", matrix, offset).of(posterior[:0]).shape == (0, 3)


def test_a_matrix_of_gains() -> None:
    for given in ([[2, -1], [-3, 1]], np.array([[2.0, -1.0], [-3.0, 1.0]]), [[0, 0], [0, 0]], [[1e9, 0], [0, -1e9]]):
        gain = make_gain(given, 2)
        assert (gain.name, gain.is_accuracy) == ("gains", False)
        np.testing.assert_array_equal(gain.matrix, given)
        np.testing.assert_array_equal(gain.offset, [0.0, 0.0])
    make_gain([[1e-9, 0], [0, 0]], 2)


@pytest.mark.parametrize(
    ("given", "n_classes", "said"),
    [
        ("f1", 3, "objective='f1' is for two classes; there are 3. Give a matrix of gains."),
        ([["a", "b"], ["c", "d"]], 2, "objective must be 'accuracy', 'f1' or a matrix of gains, 2 x 2 numbers."),
        ({}, 3, "objective must be 'accuracy', 'f1' or a matrix of gains, 3 x 3 numbers."),
        (
            [[1, 0]],
            2,
            "A matrix of gains has a row for each true class and a column for each label, 2 x 2 numbers; "
            "got shape (1, 2).",
        ),
        (
            [[1, np.inf], [0, 1]],
            2,
            "A matrix of gains has a row for each true class and a column for each label, 2 x 2 numbers; "
            "got shape (2, 2).",
        ),
        (
            [[2e9, 0], [0, 1]],
            2,
            "The largest gain of the matrix is 2e+09, at which digits are lost; scale the matrix towards 1.",
        ),
        (
            [[0, -5e-10], [0, 0]],
            2,
            "The largest gain of the matrix is 5e-10, at which digits are lost; scale the matrix towards 1.",
        ),
    ],
)
def test_other_objectives_are_refused(given: Any, n_classes: int, said: str) -> None:
    with pytest.raises(OptionError, match=f"^{re.escape(said)}$"):
        make_gain(given, n_classes)


def test_f1_starts_from_nothing() -> None:
    gain = make_gain("f1", 2)
    assert (gain.name, gain.is_accuracy) == ("f1", False)
    np.testing.assert_array_equal(gain.of(np.array([[0.75, 0.25]])), [[0.0, 0.5]])
    np.testing.assert_array_equal(f1_gain(0.25).of(np.array([[0.25, 0.75]])), [[0.0, 1.25]])


def expected_f1(problem: Problem, probabilities: np.ndarray) -> float:
    return problem.expected_tally(probabilities, f1_gain(0.0)).values(f1_gain(0.0))[1]


def two(x: np.ndarray) -> np.ndarray:
    return np.stack([1 - x, x], axis=1)


@pytest.mark.parametrize("weights", [None, [1.0, 2.0, 0.5, 3.0]])
def test_expected_f1_is_its_definition(weights: list[float] | None) -> None:
    p, x = [0.9, 0.4, 0.25, 0.0], [1.0, 0.5, 0.0, 1.0]
    problem = read_posterior(np.stack([1 - np.array(p), p], axis=1), [0, 0, 1, 1], sample_weight=weights)
    w = weights or [1.0] * 4
    both = sum(a * b * c for a, b, c in zip(w, p, x, strict=True))
    total = sum(a * (b + c) for a, b, c in zip(w, p, x, strict=True))
    assert expected_f1(problem, two(np.array(x))) == pytest.approx(2 * both / total, abs=1e-15)


def test_f1_of_no_positives_is_zero() -> None:
    problem = read_posterior([[1.0, 0.0], [1.0, 0.0]], [0, 1])
    assert expected_f1(problem, two(np.zeros(2))) == 0.0
    assert expected_f1(problem, two(np.ones(2))) == 0.0
    rare = read_posterior([[0.5, 0.5], [1.0, 0.0]], [0, 1])
    assert expected_f1(rare, two(np.array([1.0, 0.0]))) == pytest.approx(1 / 1.5)


@pytest.mark.parametrize("ratio", [0.0, 0.3, 0.6, 1.0])
def test_the_bound_on_f1_holds_for_all_labels_and_is_reached_at_the_best_ratio(ratio: float) -> None:
    p = np.array([0.9, 0.7, 0.4, 0.35, 0.1])
    every = optima.labellings(5, 2)
    best = max(2 * float(p @ x) / float(p.sum() + x.sum()) for x in every)
    for step in (ratio, best):
        most = max(float(np.mean(x * (2 * p - step))) for x in every)
        assert f1_bound(float(p.mean()), step, most) >= best - 1e-12
    assert f1_bound(float(p.mean()), best, most) == pytest.approx(best, abs=1e-12)
    # A bound below what the ratio itself needs says no more than that no labels exceed the ratio.
    assert f1_bound(0.5, 0.4, 0.1) == 0.4
    assert f1_bound(0.5, 0.4, 0.3) == pytest.approx(0.4 + 0.1 / 0.5)
    assert f1_bound(0.0, 0.4, 9.0) == 0.4


def brute_f1(posterior: np.ndarray, group: np.ndarray, epsilon: float, positive: int) -> float:
    """The best F1 of a class over all labels of a few tasks whose gap is at most epsilon."""
    best = 0.0
    for labels in itertools.product((0, 1), repeat=len(group)):
        chosen = np.array(labels)
        rates = [np.mean(chosen[group == a]) for a in (0, 1)]
        if abs(rates[0] - rates[1]) <= epsilon + 1e-12:
            x, p = chosen == positive, posterior[:, positive]
            best = max(best, 2 * p[x].sum() / (p.sum() + x.sum()))
    return best


@pytest.mark.parametrize("positive", [0, 1])
@pytest.mark.parametrize("seed", range(8))
def test_f1_of_either_class(positive: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    p = rng.random(10)
    posterior, group = np.column_stack([1 - p, p]), np.arange(10) % 2
    fair = make_fair(posterior, group, epsilon=0.2, objective="f1", positive=positive, strict=True)
    certificate = fair.certificate
    assert certificate.value == pytest.approx(brute_f1(posterior, group, 0.2, positive), abs=1e-9)
    assert certificate.positive == str(positive)
    certificate.verify(posterior, group, fair.labels)
    mirrored = make_fair(posterior[:, ::-1], group, epsilon=0.2, objective="f1", positive=1 - positive, strict=True)
    np.testing.assert_array_equal(mirrored.labels, 1 - fair.labels)


def test_the_positive_class_is_given_by_name_and_by_default_the_second() -> None:
    frame = pd.DataFrame({"yes": [0.9, 0.6, 0.3, 0.2], "no": [0.1, 0.4, 0.7, 0.8]}, index=list("abcd"))
    group = {"a": 0, "b": 1, "c": 0, "d": 1}
    asked = {"epsilon": 0.5, "objective": "f1"}
    assert make_fair(frame, group, **asked).certificate.positive == "no"
    assert make_fair(frame, group, **asked, positive="yes").certificate.positive == "yes"
    assert make_fair(frame, group, epsilon=0.5).certificate.positive is None
    numbers = frame.set_axis([0, 1], axis=1)
    assert make_fair(numbers, group, **asked, positive="0").certificate.positive == "0"  # as on the command line
    with pytest.raises(OptionError, match="positive='maybe' is not one of the classes, 'yes', 'no'"):
        make_fair(frame, group, **asked, positive="maybe")
    with pytest.raises(OptionError, match="give objective='f1'"):
        make_fair(frame, group, epsilon=0.5, positive="yes")
