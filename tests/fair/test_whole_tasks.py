"""Labels of whole tasks: by how much they may exceed epsilon, and draws that keep probabilities and rates."""

import os
import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fair import optima
from faircrowd import make_fair
from faircrowd.errors import DataWarning
from faircrowd.fair import FairResult
from faircrowd.fair.make import solve_problem
from faircrowd.fair.objective import f1_gain, make_gain
from faircrowd.fair.program import solve as program
from faircrowd.fair.rate_constraint import RateParity
from faircrowd.fair.solve import solve
from faircrowd.fair.tasks.read_posterior import read_posterior
from faircrowd.fair.whole_tasks.allowance import allowances, rounding_loss
from faircrowd.fair.whole_tasks.drawn_counts import draw_counts
from strategies import examples

SEEDS = st.integers(0, 2**32 - 1)
SLOW = bool(os.environ.get("FAIRCROWD_SLOW"))
"""Larger groups and more draws, in which a bias of half a percent would be seen."""


def two(p: np.ndarray) -> np.ndarray:
    return np.stack([1 - p, p], axis=1)


def crowd(sizes: tuple[int, ...], n_classes: int, seed: int, votes: int | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Posteriors of groups of these sizes whose distributions differ."""
    rng = np.random.default_rng(seed)
    group = np.repeat(np.arange(len(sizes)), sizes)
    shapes = rng.dirichlet(np.full(n_classes, 0.8), len(sizes))
    if votes is not None:
        return np.stack([rng.multinomial(votes, shapes[a]) for a in group]) / votes, group
    return np.stack([rng.dirichlet(4 * shapes[a] + 0.4) for a in group]), group


def parts_of_a_task(sizes: tuple[int, int]) -> list[float]:
    """Epsilons around the steps that one task makes."""
    steps = [1 / sizes[0], 1 / sizes[1], abs(1 / sizes[0] - 1 / sizes[1]), 1 / (sizes[0] * sizes[1])]
    return [0.0, *(max(step - 1e-9, 0.0) for step in steps), *(min(step, 1.0) for step in steps)]


# Deterministic labels.


def test_epsilon_0_on_odd_sizes_does_not_ruin_the_labels() -> None:
    """Groups of 281 and 319 tasks have equal rates only if all labels are equal."""
    posterior, group = crowd((281, 319), 2, 3)
    fair = make_fair(posterior, group, epsilon=0.0)
    nearly = make_fair(posterior, group, epsilon=0.0001)
    proof = fair.certificate
    assert proof.gap <= proof.gap_allowed < 1 / 281
    assert proof.why.startswith("whole tasks cannot keep epsilon 0 to the letter")
    assert proof.value > proof.bound - 2 / 600
    assert abs(proof.changed - nearly.certificate.changed) <= 4
    assert (nearly.certificate.gap_allowed, nearly.certificate.why) == (0.0001, "")
    with pytest.warns(DataWarning, match=r"strict=True keeps epsilon 0 to the letter.*price: \d+ of 600 labels change"):
        strict = make_fair(posterior, group, epsilon=0.0, strict=True)
    assert len(set(strict.labels)) == 1
    assert (strict.certificate.gap, strict.certificate.gap_allowed, strict.certificate.why) == (0.0, 0.0, "")


@pytest.mark.parametrize("sizes", [(1, 4), (2, 3), (3, 5), (4, 5), (5, 7), (1, 1), (3, 3)], ids=str)
@pytest.mark.parametrize("votes", [None, 3], ids=["untied", "tied"])
def test_the_best_of_all_labels_that_are_allowed(sizes: tuple[int, int], votes: int | None) -> None:
    seen = set()
    for seed in range(3):
        posterior, group = crowd(sizes, 2, seed, votes)
        for epsilon in parts_of_a_task(sizes):
            proof = make_fair(posterior, group, epsilon=epsilon).certificate
            best, allowed = optima.best_allowed(posterior, group, epsilon, proof.bound)
            assert proof.value == pytest.approx(best, abs=1e-12)
            assert proof.gap <= allowed + 1e-12
            assert proof.gap_allowed == pytest.approx(min(allowed, 1.0), abs=1e-4)
            assert proof.optimal
            seen.add(allowed > epsilon)
    assert False in seen


def test_all_counts_of_larger_groups_that_are_allowed() -> None:
    """Labels by thresholds are the best of all, so that all pairs of counts are tried; some are not to the letter."""
    seen = set()
    for sizes, seed in (((281, 319), 1), ((97, 13), 2), ((64, 64), 3), ((211, 40), 4)):
        posterior, group = crowd(sizes, 2, seed)
        p = posterior[:, 1]
        gained = [np.append(0.0, np.cumsum(np.sort(2 * p[group == a] - 1)[::-1])) for a in (0, 1)]
        values = (np.add.outer(*gained) + (1 - p).sum()) / p.size
        gaps = np.abs(np.subtract.outer(*(np.arange(n + 1) / n for n in sizes)))
        for epsilon in (0.0, 1e-4, 0.5 / min(sizes), 0.03):
            proof = make_fair(posterior, group, epsilon=epsilon).certificate
            best, allowed = values[gaps <= epsilon + 1e-12].max(), epsilon
            if best < proof.bound - 2 / p.size:
                allowed = epsilon + 1 / min(sizes)
                best = values[gaps < allowed - 1e-12].max()
            assert proof.value == pytest.approx(best, abs=1e-12)
            assert proof.gap_allowed == pytest.approx(allowed, abs=1e-4)
            seen.add(allowed > epsilon)
    assert seen == {True, False}


@given(SEEDS, st.sampled_from([0.0, 0.01, 0.2, 0.34]), st.booleans())
@settings(max_examples=examples(36))
def test_many_classes_and_groups_mean_the_same(seed: int, epsilon: float, tied: bool) -> None:
    rng = np.random.default_rng(seed)
    sizes = tuple(int(n) for n in rng.integers(1, 4, rng.integers(2, 4)))
    posterior, group = crowd(sizes, int(rng.integers(2, 4)), seed, 3 if tied else None)
    proof = make_fair(posterior, group, epsilon=epsilon).certificate
    assert proof.gap <= proof.gap_allowed + 1e-12
    assert proof.gap_allowed < epsilon + 1 / min(sizes)
    best, _ = optima.best_allowed(posterior, group, proof.gap_allowed, proof.bound)
    few = rounding_loss(np.array(sizes), posterior.shape[1], make_gain("accuracy", posterior.shape[1]))
    assert proof.value >= min(best, proof.bound) - few - 1e-9


@pytest.mark.parametrize("shape", [((37, 53, 101), 2), ((37, 53), 3), ((29, 31, 37, 41), 4)], ids=str)
def test_sizes_without_a_common_factor(shape: tuple[tuple[int, ...], int]) -> None:
    sizes, n_classes = shape
    for seed in range(3 if SLOW or n_classes < 4 else 1):
        posterior, group = crowd(sizes, n_classes, seed)
        for epsilon in (0.0, 0.5 / min(sizes), 1 / min(sizes)):
            proof = make_fair(posterior, group, epsilon=epsilon).certificate
            assert proof.gap <= proof.gap_allowed + 1e-12
            assert proof.gap_allowed < epsilon + 1 / min(sizes)
            assert proof.value >= proof.bound - len(sizes) * (n_classes - 1) / sum(sizes)


@pytest.mark.parametrize("n_classes", [2, 3, 4])
def test_epsilon_of_whole_tasks_is_kept_to_the_letter(n_classes: int) -> None:
    """Groups of one size, and epsilon a number of their tasks: rounding costs little, so nothing more is allowed."""
    posterior, group = crowd((100, 100, 100), n_classes, 7)
    proof = make_fair(posterior, group, epsilon=0.05).certificate
    assert proof.gap_allowed == 0.05
    assert proof.gap <= 0.05 + 1e-12


def test_draws_may_exceed_epsilon_by_a_task_in_each_of_the_two_smallest_groups() -> None:
    posterior, group = crowd((40, 50, 80), 3, 2)
    proof = make_fair(posterior, group, epsilon=0.03, decision="randomized").certificate
    assert proof.gap_allowed == pytest.approx(0.03 + 1 / 40 + 1 / 50)
    weights = np.where(np.arange(group.size) == 0, 2.0, 1.0)  # the heaviest task of the first group has 2 of 41
    proof = make_fair(posterior, group, epsilon=0.03, decision="randomized", sample_weight=weights).certificate
    pairs_of_classes = 3
    assert proof.gap_allowed == pytest.approx(0.03 + pairs_of_classes * (2 / 41 + 1 / 50))


@pytest.mark.filterwarnings("ignore:1 of 2 groups have fewer than 10 tasks")
def test_a_group_of_one_task_leaves_the_others_alone() -> None:
    posterior, group = crowd((999, 1), 2, 5)
    fair = make_fair(posterior, group, epsilon=0.05)
    assert fair.certificate.changed <= 2
    with pytest.warns(DataWarning, match="strict=True keeps epsilon"):
        strict = make_fair(posterior, group, epsilon=0.05, strict=True)
    assert strict.certificate.changed > 100


def test_what_rounding_explains() -> None:
    sizes = np.array([10, 30])
    assert rounding_loss(sizes, 2, make_gain("accuracy", 2)) == pytest.approx(2 / 40)
    assert rounding_loss(sizes, 3, make_gain("accuracy", 3)) == pytest.approx(4 / 40)
    assert rounding_loss(sizes, 2, f1_gain(0.0)) == pytest.approx(4 / 40)
    assert rounding_loss(sizes, 2, make_gain([[0.0, -3.0], [2.0, 4.0]], 2)) == pytest.approx(6 / 40)
    posterior, group = crowd((10, 30), 2, 0)
    assert [tuple(one) for one in allowances(read_posterior(posterior, group), make_gain("accuracy", 2))] == [
        (0.0, pytest.approx(2 / 40)),
        (pytest.approx(1 / 10, abs=1e-4), np.inf),
    ]
    weighted = read_posterior(posterior, group, sample_weight=np.append(np.full(39, 1.0), 11.0))
    found = allowances(weighted, make_gain("accuracy", 2))
    assert [one.excess for one in found] == pytest.approx([0.0, 1 / 10, 11 / 40], abs=1e-4)


@given(SEEDS, st.sampled_from([0.0, 0.02, 0.1]), st.sampled_from(["", "tied", "weighted"]))
@settings(max_examples=examples(60))
def test_names_of_groups_do_not_matter(seed: int, epsilon: float, kind: str) -> None:
    rng = np.random.default_rng(seed)
    sizes = tuple(int(n) for n in rng.integers(3, 30 if SLOW else 15, 3))
    posterior, group = crowd(sizes, int(rng.integers(2, 4)), seed, 5 if kind == "tied" else None)
    weights = rng.uniform(0.2, 5.0, group.size) if kind == "weighted" else None

    def solved(group: np.ndarray) -> FairResult:
        problem = read_posterior(posterior, group, sample_weight=weights)  # make_fair would look for a warning, too
        asked = {"objective": "accuracy", "decision": "deterministic", "random_state": 0}
        return solve_problem(problem, epsilon=epsilon, **asked)

    found = solved(group)
    for names in ([2, 0, 1], [0, 2, 1]):  # every other order is some of these, one after the other
        other = solved(np.array(names)[group])
        np.testing.assert_array_equal(other.solved.labels, found.solved.labels)
        np.testing.assert_array_equal(other.solved.probabilities, found.solved.probabilities)
        assert other.certificate.bound == found.certificate.bound
        np.testing.assert_array_equal(
            np.array(other.certificate.multipliers)[names], np.array(found.certificate.multipliers)
        )


# Labels that are drawn.


@given(SEEDS)
@settings(max_examples=examples(60))
def test_drawn_counts_are_right_on_average_and_never_far(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n_tasks, n_classes = rng.integers(1, 9, rng.integers(1, 5)), int(rng.integers(2, 5))
    shares = rng.dirichlet(np.full(n_classes, 0.7), n_tasks.size)
    shares[rng.random(shares.shape) < 0.2] = 0.0
    shares[:, 0] += shares.sum(axis=1) == 0
    expected = n_tasks[:, None] * shares / shares.sum(axis=1, keepdims=True)
    drawn = np.array([draw_counts(expected, number, 1) for number in range(400)])
    assert (drawn.sum(axis=2) == n_tasks).all()
    for found, wanted in ((drawn, expected), (drawn.sum(axis=1), expected.sum(axis=0))):
        assert (found >= np.floor(wanted + 1e-6)).all()
        assert (found <= np.ceil(wanted - 1e-6)).all()
        error = np.sqrt(np.maximum((wanted % 1) * (1 - wanted % 1), 1e-4) / 400)
        assert (np.abs(found.mean(axis=0) - wanted) <= 5.5 * error).all()


MANY = 10_000 if SLOW else 2000
DRAWN: list[tuple[tuple[int, ...], int, int | None, int]] = [
    ((20, 31), 2, 3, MANY),
    ((20, 31), 2, None, 1000),
    ((9, 14, 22), 2, 3, 1000),
    ((17, 24), 3, 3, MANY),
    ((11, 13, 19), 4, 2, 1000),
]


@pytest.mark.parametrize(("sizes", "n_classes", "votes", "n_draws"), DRAWN, ids=str)
def test_each_task_keeps_its_probability_over_draws(
    sizes: tuple[int, ...], n_classes: int, votes: int | None, n_draws: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    posterior, group = crowd(sizes, n_classes, 4, votes)
    problem, gain, parity = read_posterior(posterior, group), make_gain("accuracy", n_classes), RateParity(0.02)
    once = program.solve_many(problem, gain, parity, numbers=program.number_groups(problem, gain))
    monkeypatch.setattr(program, "solve_many", lambda *_, **__: once)  # what is drawn from does not depend on the seed
    probabilities = solve(problem, gain, parity, "randomized", 0).probabilities
    labels = np.array([solve(problem, gain, parity, "randomized", seed).labels for seed in range(n_draws)])
    assert (probabilities.max(axis=1) < 1).sum() >= len(sizes) - 1
    error = np.sqrt(probabilities * (1 - probabilities) / n_draws)
    found = np.eye(n_classes)[labels]
    assert (np.abs(found.mean(axis=0) - probabilities) <= 5 * error + 1e-9).all()
    for a in range(len(sizes)):
        average = probabilities[group == a].sum(axis=0)
        assert (np.abs(found[:, group == a].sum(axis=1) - average) < 1).all()
    smallest = np.sort(sizes)[:2]
    assert optima.gap(labels, group, n_classes).max() <= 0.02 + (1 / smallest).sum() + 1e-12


def assert_within_a_task(fair: Any, group: np.ndarray) -> None:
    """Check that each rate of a draw is within one task of its average, and so the gap."""
    n_classes = fair.probabilities.shape[1]
    for a in np.unique(group):
        drawn = np.bincount(fair.labels[group == a], minlength=n_classes)
        average = fair.probabilities[group == a].sum(axis=0)
        assert (np.abs(drawn - average) < 1).all()
    smallest = np.sort(np.bincount(group))[:2]
    proof = fair.certificate
    assert proof.gap <= proof.gap_allowed <= proof.epsilon + (1 / smallest).sum() + 1e-12
    assert proof.on_average["gap"] <= proof.epsilon + 1e-9
    assert proof.on_average["value"] == pytest.approx(proof.bound, abs=1e-9)


def test_draws_of_other_objectives() -> None:
    posterior, group = crowd((23, 37), 2, 6, 3)
    assert make_fair(posterior, group, epsilon=0.02, decision="randomized").certificate.why.startswith("labels were")
    for objective in ("f1", [[1.0, 0.0], [0.0, 3.0]]):
        fair = make_fair(posterior, group, epsilon=0.02, decision="randomized", objective=objective)
        proof = fair.certificate
        assert_within_a_task(fair, group)
        rates = {a: fair.probabilities[group == a].mean(axis=0) for a in (0, 1)}
        assert proof.on_average["rates"]["1"]["1"] == pytest.approx(rates[1][1], abs=1e-12)
        believed = float((fair.probabilities * posterior).sum(axis=1).mean())
        assert proof.on_average["believed_accuracy"] == pytest.approx(believed, abs=1e-12)


def test_draws_among_tasks_that_cost_nothing_may_exceed_epsilon_too() -> None:
    """All posteriors of group 1 are tied, so that no label has a price, and yet labels are drawn."""
    p = np.concatenate([np.full(20, 0.9), np.full(21, 0.5)])
    group = np.repeat([0, 1], [20, 21])
    for seed in range(20):
        fair = make_fair(two(p), group, epsilon=0.07, decision="randomized", random_state=seed)
        assert not np.any(fair.certificate.multipliers)
        assert_within_a_task(fair, group)
        assert fair.certificate.why.startswith("labels were drawn")
    sure = make_fair(two(p), group, epsilon=1.0, decision="randomized").certificate
    assert (sure.gap_allowed, sure.why) == (1.0, "")


def test_deterministic_labels_have_no_average() -> None:
    posterior, group = crowd((23, 37), 2, 6, 3)
    assert make_fair(posterior, group, epsilon=0.02).certificate.on_average is None


# Weights.


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("n_groups", [2, 3])
def test_weighted_labels_keep_what_they_are_allowed(n_classes: int, n_groups: int) -> None:
    many = n_classes == n_groups == 3  # integer programs that take all of their time
    for seed in (1,) if many else range(2):
        rng = np.random.default_rng(seed)
        sizes = tuple(int(n) for n in rng.integers(*((150, 400) if SLOW else (50, 130)), n_groups))
        posterior, group = crowd(sizes, n_classes, seed, 5 if seed else None)
        weights = rng.uniform(0.2, 5.0, group.size)
        # With epsilon 0, too, the integer program takes all of its time if there are more than two groups or classes.
        again = seed > 0 and n_classes + n_groups > 4 and not SLOW
        for epsilon in (0.003, 0.05) if many or again else (0.0, 0.003, 0.05):
            fair = make_fair(posterior, group, epsilon=epsilon, sample_weight=weights)
            proof = fair.certificate
            assert proof.gap <= proof.gap_allowed + 1e-12
            assert proof.gap_allowed < epsilon + 1 / min(sizes)
            assert proof.value >= proof.bound - n_groups * (n_classes - 1) / group.size
            fair.certificate.verify(posterior, group, fair.labels, sample_weight=weights)


@given(SEEDS, st.sampled_from([0.05, 0.2, 0.4]))
@settings(max_examples=examples(30))
def test_strict_with_weights_is_the_best_of_all_labels(seed: int, epsilon: float) -> None:
    rng = np.random.default_rng(seed)
    posterior, group = crowd((3, 4), 3, seed)
    weights = rng.choice([1.0, 2.0, 5.0], 7)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        fair = make_fair(posterior, group, epsilon=epsilon, sample_weight=weights, strict=True)
    labels = optima.labellings(7, 3)
    share = np.where(group == 0, weights / weights[group == 0].sum(), -weights / weights[group == 1].sum())
    gaps = np.abs(np.stack([((labels == k) * share).sum(axis=1) for k in range(3)])).max(axis=0)
    values = (posterior[np.arange(7), labels] * weights).sum(axis=1) / weights.sum()
    assert fair.certificate.gap <= epsilon + 1e-9
    assert fair.certificate.value == pytest.approx(values[gaps <= epsilon + 1e-12].max(), abs=1e-9)
    assert fair.certificate.optimal


@pytest.mark.parametrize("n_classes", [2, 3])
def test_weighted_draws_keep_probabilities_and_rates(n_classes: int) -> None:
    posterior, group = crowd((14, 21), n_classes, 2, 3)
    weights = np.random.default_rng(0).uniform(0.5, 4.0, group.size)
    labels, n_draws = [], 500 if SLOW else 250
    for seed in range(n_draws):
        fair = make_fair(
            posterior, group, epsilon=0.02, sample_weight=weights, decision="randomized", random_state=seed
        )
        labels.append(fair.labels)
        assert fair.certificate.gap <= fair.certificate.gap_allowed + 1e-12
        for a in (0, 1):
            rows = group == a
            drawn = weights[rows] @ np.eye(n_classes)[fair.labels[rows]]
            average = weights[rows] @ fair.probabilities[rows]
            pairs = n_classes * (n_classes - 1) / 2
            assert (np.abs(drawn - average) <= pairs * weights[rows].max() + 1e-9).all()
    found, wanted = np.eye(n_classes)[np.array(labels)].mean(axis=0), fair.probabilities
    assert (np.abs(found - wanted) <= 5 * np.sqrt(wanted * (1 - wanted) / n_draws) + 1e-9).all()


@pytest.mark.parametrize("shape", [((3, 4), 2), ((3, 4), 3)], ids=str)
def test_weights_that_overflow_give_the_same_labels(shape: tuple[tuple[int, ...], int]) -> None:
    posterior, group = crowd(*shape, 1)
    weights = np.array([1.0, 2.0, 0.5, 1.0, 1.5, 1.0, 0.25])
    plain = make_fair(posterior, group, epsilon=0.3, sample_weight=weights)
    huge = make_fair(posterior, group, epsilon=0.3, sample_weight=weights * 1e307 * 8)
    np.testing.assert_array_equal(plain.labels, huge.labels)
    assert huge.certificate.value == pytest.approx(plain.certificate.value, abs=1e-12)


# What reached users before.


def test_tiny_epsilons_and_groups_of_one() -> None:
    fair = make_fair(np.eye(2)[[0, 0, 1, 0]], [0, 1, 2, 3], epsilon=1e-6)
    assert fair.labels.tolist() == [0, 0, 0, 0]


def test_the_solver_prints_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    rng = np.random.default_rng(1)
    for _ in range(5 if SLOW else 3):
        n_groups, n_classes, n = int(rng.integers(2, 5)), int(rng.integers(2, 4)), int(rng.integers(5, 12))
        group = np.append(np.arange(n_groups), rng.integers(0, n_groups, max(n - n_groups, 0)))
        posterior = np.eye(n_classes)[rng.integers(0, n_classes, group.size)]
        for epsilon in (1e-6, 1e-5):
            make_fair(posterior, group, epsilon=epsilon)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DataWarning)
                make_fair(posterior, group, epsilon=epsilon, strict=True)
    assert capfd.readouterr().out == ""


@pytest.mark.filterwarnings("ignore::faircrowd.errors.DataWarning")
@pytest.mark.parametrize("seed", range(8))
def test_a_larger_epsilon_of_a_few_tasks_gives_no_worse_labels(seed: int) -> None:
    """Groups of one size: the labels are as good as those of strict, and so never worse than at a smaller epsilon."""
    rng = np.random.default_rng(seed)
    n, n_classes = int(rng.integers(12, 40)), int(rng.integers(3, 6))
    group = np.repeat([0, 1], n)
    posterior = rng.dirichlet(np.full(n_classes, 0.15), 2 * n)
    turned = np.roll(np.sort(posterior[group == 1], axis=1), 1, axis=1)
    posterior[group == 1] = 0.3 * turned + 0.7 * posterior[group == 1]
    values = []
    for tasks in (0, 0.5, 1.2, 1.8, 2.4):
        found = make_fair(posterior, group, epsilon=tasks / n).certificate
        best = make_fair(posterior, group, epsilon=tasks / n, strict=True).certificate
        assert found.value >= best.value - 1e-9
        values.append(found.value)
    assert np.all(np.diff(values) >= -1e-9)
