"""Labels in numbers, against sums task by task."""

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from faircrowd.exact.sums import TERMS_PER_CARRY
from faircrowd.fair.objective import Gain, f1_gain, make_gain
from faircrowd.fair.tasks.problem import Problem
from faircrowd.fair.tasks.read_posterior import read_posterior
from faircrowd.fair.tasks.tally import gain_unit

GAINS = np.array([[2.0, -1.0, 0.5], [-3.0, 1.5, 0.0], [0.25, 0.0, 1.0]])
WITH_OFFSET = Gain("gains", GAINS, np.array([0.5, -2.0, 1.0]))


def some(n: int, n_classes: int, weighted: bool = False) -> tuple[Problem, np.ndarray]:
    """Posteriors of whole 64ths, whose sums are exact, and labels for them."""
    rng = np.random.default_rng(n)
    posterior = rng.multinomial(64, rng.dirichlet(np.ones(n_classes), n)) / 64
    group = np.append([0, 1, 2], rng.integers(0, 3, n - 3))
    weights = rng.integers(1, 9, n) / 4 if weighted else None
    problem = read_posterior(posterior, group, sample_weight=weights)
    return problem, rng.integers(0, n_classes, n).astype(np.int32)


def expected(problem: Problem, labels: np.ndarray, gain: Gain) -> dict[str, Any]:
    shape = (problem.n_groups, problem.n_classes, problem.n_classes)
    mass, tasks = np.zeros(shape), np.zeros(shape, dtype=int)
    trust, beliefs, gained = np.zeros((2, problem.n_classes)), np.zeros(problem.n_classes), np.zeros(2)
    for i, label in enumerate(labels):
        weight = 1.0 if problem.weights is None else problem.weights[i]
        mass[problem.group[i], problem.own[i], label] += weight
        tasks[problem.group[i], problem.own[i], label] += 1
        beliefs += weight * problem.posterior[i]
        for place, k in enumerate((problem.own[i], label)):
            trust[place, k] += weight * problem.posterior[i, k]
            gained[place] += weight * (problem.posterior[i] @ gain.matrix[:, k] + gain.offset[k])
    return {"mass": mass, "tasks": tasks, "trust": trust, "beliefs": beliefs, "gained": gained}


@pytest.mark.parametrize("n", [3, 50, TERMS_PER_CARRY, TERMS_PER_CARRY + 1, 2 * TERMS_PER_CARRY + 7])
def test_sums_over_tasks(n: int) -> None:
    problem, labels = some(n, 3)
    tally, wanted = problem.tally(labels, WITH_OFFSET), expected(problem, labels, WITH_OFFSET)
    for name in ("mass", "tasks", "trust", "gained"):
        np.testing.assert_array_equal(getattr(tally, name), wanted[name])
    assert not tally.beliefs.any()
    assert tally.gain_of_labels(WITH_OFFSET) == tally.values(WITH_OFFSET)[1] == wanted["gained"][1] / n
    assert tally.values(WITH_OFFSET)[0] == wanted["gained"][0] / n
    plain = problem.tally(labels)
    assert not plain.gained.any()
    accuracies = tuple(wanted["trust"].sum(axis=1) / n)
    assert plain.accuracies == plain.values(make_gain("accuracy", 3)) == accuracies
    assert plain.gain_of_labels(make_gain("accuracy", 3)) == accuracies[1]
    for a in range(3):
        inside = problem.group == a
        for k in range(3):
            assert tally.rates[a, k] == pytest.approx(np.mean(labels[inside] == k), abs=1e-15)
            assert tally.rates_before[a, k] == pytest.approx(np.mean(problem.own[inside] == k), abs=1e-15)


@pytest.mark.parametrize("certain", [0.0, 0.9, 1.0], ids=["no certain label", "mostly certain", "all certain"])
@pytest.mark.parametrize("n_classes", [1, 2, 3])
@pytest.mark.parametrize("n", [3, TERMS_PER_CARRY + 1])
def test_what_randomized_labels_come_to_on_average(n: int, n_classes: int, certain: float) -> None:
    problem, labels = some(n, max(n_classes, 2))
    if n_classes == 1:
        classes, ones = problem.classes.take(np.array([0])), np.ones((n, 1))
        problem = replace(problem, classes=classes, posterior=ones, own=np.zeros(n, dtype=np.int32))
        labels = problem.own
    rng = np.random.default_rng(n)
    chances = rng.multinomial(16, rng.dirichlet(np.ones(n_classes)), n) / 16
    is_certain = rng.random(n) < certain
    chances[is_certain] = np.eye(n_classes)[labels[is_certain]]
    gain = make_gain("accuracy", n_classes)
    tally, mass = problem.expected_tally(chances, gain), np.zeros((3, n_classes, n_classes))
    np.add.at(mass, (problem.group, problem.own), chances)
    own = problem.posterior * np.eye(n_classes)[problem.own]
    np.testing.assert_array_equal(tally.mass, mass)
    np.testing.assert_array_equal(tally.tasks, np.rint(mass))
    np.testing.assert_array_equal(tally.trust, [own.sum(axis=0), (problem.posterior * chances).sum(axis=0)])
    if certain == 1.0:
        counted = problem.tally(labels, gain)
        for name in ("mass", "tasks", "trust"):
            np.testing.assert_array_equal(getattr(tally, name), getattr(counted, name))


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n", [9, TERMS_PER_CARRY + 1])
def test_f1_of_labels(n: int, weighted: bool) -> None:
    problem, labels = some(n, 2, weighted)
    gain = f1_gain(0.375)
    tally = problem.tally(labels, gain)
    wanted = expected(problem, labels, gain)
    np.testing.assert_array_equal(tally.beliefs, wanted["beliefs"])
    weights = np.ones(n) if problem.weights is None else problem.weights
    p = problem.posterior[:, 1]
    for found, chosen in zip(tally.values(gain), (problem.own, labels), strict=True):
        assert found == pytest.approx(2 * (weights * p) @ chosen / (weights @ p + weights @ chosen), rel=1e-14)
    assert tally.gain_of_labels(gain) == pytest.approx(weights @ (labels * (2 * p - 0.375)) / weights.sum(), rel=1e-14)


def test_f1_of_one_label_and_of_no_positives() -> None:
    problem = read_posterior([[0.75, 0.25], [1.0, 0.0]], [0, 1])
    tally = problem.tally(np.array([1, 0], dtype=np.int32), f1_gain(0.0))
    assert tally.values(f1_gain(0.0)) == (0.0, 0.5 / 1.25)
    light = read_posterior([[0.25, 0.75], [1.0, 0.0]], [0, 1], sample_weight=[0.25, 0.25])
    assert light.tally(light.own, f1_gain(0.0)).values(f1_gain(0.0)) == (0.375 / 0.4375,) * 2
    sure = read_posterior([[1.0, 0.0], [1.0, 0.0]], [0, 1])
    assert sure.tally(sure.own, f1_gain(0.0)).values(f1_gain(0.0)) == (0.0, 0.0)


def test_sums_over_tasks_of_weight() -> None:
    problem, labels = some(60, 3, weighted=True)
    tally, wanted = problem.tally(labels, WITH_OFFSET), expected(problem, labels, WITH_OFFSET)
    for name, found in wanted.items():
        np.testing.assert_array_equal(getattr(tally, name), found)
    assert tally.values(WITH_OFFSET) == tuple(wanted["gained"] / problem.weights.sum())


@pytest.mark.parametrize(("matrix", "offset", "largest"), [(GAINS, [0, 0, 0], 3), (-GAINS, [1, 0, -2], 5)])
def test_the_unit_of_gains_holds_the_largest(matrix: np.ndarray, offset: list[float], largest: int) -> None:
    unit = Fraction(gain_unit(Gain("gains", matrix, np.array(offset, dtype=float))))
    assert 2**51 < largest * unit <= 2**52
