"""Wherever tasks lie, however they are cut, and however few may be held at once: the same labels and certificate."""

from contextlib import ExitStack, nullcontext
from dataclasses import replace
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from faircrowd.exact.sums import to_limbs
from faircrowd.fair.certificate import Certificate
from faircrowd.fair.make import FairResult, make_fair, solve_problem
from faircrowd.fair.objective import make_gain
from faircrowd.fair.program.atoms import Atoms, atom_hashes, collect
from faircrowd.fair.program.dual import dual_value, smoothed_multipliers
from faircrowd.fair.program.many_tasks import solve_many
from faircrowd.fair.program.relaxed import solve_relaxed
from faircrowd.fair.rate_constraint import RateParity
from faircrowd.fair.tasks.population import Tasks
from faircrowd.fair.tasks.problem import Problem
from faircrowd.fair.tasks.read_posterior import read_posterior
from faircrowd.fair.tasks.tie_break import first_in_order
from faircrowd.fair.thresholds.integer import best_integer_counts
from faircrowd.fair.thresholds.sorted_group import make_window_group
from faircrowd.votes import Vocabulary
from strategies import examples

SEEDS = st.integers(0, 2**32 - 1)
PLAIN = {"objective": "accuracy", "decision": "deterministic", "random_state": 3}


def limits(piece: int, few: int = 4) -> ExitStack:
    """Cut tasks into pieces, sort none, and hold few at once."""
    stack = ExitStack()
    for name, value in {
        "tasks.problem._TASKS_PER_PIECE": piece,
        "tasks.problem._TASKS_PER_PART": piece,
        "tasks.problem._MAX_SORTED_TASKS": 0,
        "thresholds.window._SMALL_WINDOW": few,
        "thresholds.window._BIN_BITS": 3,
        "tasks.tie_break._MAX_GATHERED_TASKS": few,
    }.items():
        stack.enter_context(patch(f"faircrowd.fair.{name}", value))
    return stack


def some(n_tasks: int, n_classes: int, n_groups: int, seed: int, votes: int | None) -> Problem:
    """Tasks with evidence and, for two classes and half of the seeds, log-odds; tied if made of a few votes."""
    rng = np.random.default_rng(seed)
    group = np.append(np.arange(n_groups), rng.integers(0, n_groups, n_tasks - n_groups))
    p = rng.dirichlet(np.ones(n_classes), n_tasks)
    p[:, -1] += group / n_groups
    p /= p.sum(axis=1, keepdims=True)
    if votes is not None:
        p = np.stack([rng.multinomial(votes, row) / votes for row in p])
    logs = np.log(np.clip(p, 1e-300, None)) if n_classes == 2 and votes is None and seed % 2 else None
    return read_posterior(p, group, evidence=rng.integers(1, 4, n_tasks), log_posterior=logs)


def same(a: FairResult, b: FairResult) -> None:
    np.testing.assert_array_equal(a.labels, b.labels)
    np.testing.assert_array_equal(a.probabilities, b.probabilities)
    assert a.rule.to_json() == b.rule.to_json()
    assert timeless(a.certificate) == timeless(b.certificate)


def timeless(certificate: Certificate) -> Certificate:
    return replace(certificate, seconds=0.0)


@given(st.integers(6, 300), st.sampled_from([None, 3]), st.floats(0, 0.3), st.integers(1, 90), SEEDS)
@settings(max_examples=examples(60))
def test_two_classes_by_selection(n: int, votes: int | None, epsilon: float, piece: int, seed: int) -> None:
    for asked in (PLAIN, PLAIN | {"decision": "randomized"}, PLAIN | {"objective": [[2.0, -1.0], [-3.0, 1.0]]}):
        whole = solve_problem(some(n, 2, 2, seed, votes), epsilon=epsilon, **asked)
        with limits(piece):
            cut = solve_problem(some(n, 2, 2, seed, votes), epsilon=epsilon, **asked)
            same(whole, cut)


@pytest.mark.parametrize("votes", [None, 5], ids=["untied", "tied"])
@pytest.mark.parametrize("epsilon", [0.0, 0.02, 0.1])
@pytest.mark.parametrize("asked", [PLAIN, PLAIN | {"decision": "randomized"}], ids=["deterministic", "randomized"])
def test_few_tasks_by_selection(votes: int | None, epsilon: float, asked: dict[str, Any]) -> None:
    """Small enough to be run without compiled kernels."""
    for seed in (1, 2):
        whole = solve_problem(some(90, 2, 2, seed, votes), epsilon=epsilon, **asked)
        with limits(20, 10):
            same(whole, solve_problem(some(90, 2, 2, seed, votes), epsilon=epsilon, **asked))


def test_bins_are_counted() -> None:
    """With fewer than 2,500 tasks none are; with many more it takes too long without compiled kernels."""
    whole = solve_problem(some(4_000, 2, 2, 1, None), epsilon=0.02, **PLAIN)
    with limits(1_000):
        same(whole, solve_problem(some(4_000, 2, 2, 1, None), epsilon=0.02, **PLAIN))


@pytest.mark.parametrize("sample", [20_000, 30], ids=["whole", "sampled"])
def test_the_smoothed_dual_of_few_tasks(sample: int) -> None:
    problem = some(120, 3, 3, 1, None)
    whole = solve_problem(problem, epsilon=0.05, **PLAIN)
    with (
        patch("faircrowd.fair.program.relaxed._MAX_ATOMS_AT_ONCE", 10),
        patch("faircrowd.fair.program.dual._SAMPLED_ATOMS", sample),
    ):
        few = solve_problem(problem, epsilon=0.05, **PLAIN)
    assert few.certificate.gap <= 0.05 + 2 / problem.sizes.min()
    assert few.certificate.bound == pytest.approx(whole.certificate.bound, abs=1e-9)
    assert few.solved.bound == pytest.approx(whole.solved.bound, abs=1e-9)


@pytest.mark.parametrize("sample", [20_000, 200], ids=["whole", "sampled"])
def test_the_smoothed_dual_is_near_the_true_one(sample: int) -> None:
    problem, gain = some(600, 3, 3, 1, None), make_gain("accuracy", 3)
    mass, atoms = problem.sizes.astype(float), collect(problem, gain)
    exact = solve_relaxed(atoms, mass, RateParity(0.05))
    with patch("faircrowd.fair.program.dual._SAMPLED_ATOMS", sample):
        cold = smoothed_multipliers(atoms, mass, RateParity(0.05))
        warm = smoothed_multipliers(atoms, mass, RateParity(0.05), cold)
    for found in (cold, warm):
        assert found.sum(axis=0) == pytest.approx(np.zeros(3), abs=1e-9)
        assert 0 <= dual_value(atoms, mass, found, RateParity(0.05)) - exact.bound < 2e-4


@pytest.mark.parametrize("votes", [None, 5], ids=["untied", "tied"])
@pytest.mark.parametrize("epsilon", [0.0, 0.013, 0.1])
def test_many_tasks_by_selection(votes: int | None, epsilon: float) -> None:
    whole = solve_problem(some(60_000, 2, 2, 1, votes), epsilon=epsilon, **PLAIN)
    with limits(7_000, 1_000):
        same(whole, solve_problem(some(60_000, 2, 2, 1, votes), epsilon=epsilon, **PLAIN))


@pytest.mark.filterwarnings("ignore:strict=True keeps epsilon")
def test_a_tiny_group_widens_the_window() -> None:
    rng = np.random.default_rng(0)
    p = rng.uniform(0, 1, 30_000)
    group = (np.arange(p.size) < 3).astype(int)
    p[:3] = 0.9, 0.2, 0.1
    problem = read_posterior(np.stack([1 - p, p], axis=1), group)
    whole = solve_problem(problem, epsilon=0.02, **PLAIN)
    with limits(10_000):
        same(whole, solve_problem(problem, epsilon=0.02, **PLAIN))
    assert whole.certificate.gap <= whole.certificate.gap_allowed < 0.02 + 1 / 3
    strict = solve_problem(problem, epsilon=0.02, **PLAIN, strict=True)
    with limits(10_000):
        same(strict, solve_problem(problem, epsilon=0.02, **PLAIN, strict=True))
    assert strict.certificate.gap <= 0.02


@given(
    st.integers(10, 200), st.integers(2, 4), st.integers(2, 4), st.sampled_from([None, 3]), st.integers(1, 90), SEEDS
)
@settings(max_examples=examples(40))
def test_many_classes_and_groups(n: int, classes: int, groups: int, votes: int | None, cuts: int, seed: int) -> None:
    for asked in (PLAIN, PLAIN | {"decision": "randomized"}):
        whole = solve_problem(some(n, classes, groups, seed, votes), epsilon=0.05, **asked)
        with limits(n // cuts + 1):
            same(whole, solve_problem(some(n, classes, groups, seed, votes), epsilon=0.05, **asked))


@given(st.integers(10, 120), st.sampled_from(["f1", "accuracy"]), SEEDS)
@settings(max_examples=examples(25))
def test_names_and_order_of_tasks_do_not_matter(n: int, objective: str, seed: int) -> None:
    """The same ids in another order: another order of labels, the same of everything else."""
    rng = np.random.default_rng(seed)
    for classes, groups in ((2, 2), (2, 3)) if objective == "f1" else ((2, 2), (3, 3)):
        problem = some(n, classes, groups, seed - seed % 2, 4)
        order = rng.permutation(n)
        moved = Problem(
            tasks=Vocabulary.of(order.tolist()),
            classes=problem.classes,
            groups=problem.groups,
            style=problem.style,
            posterior=problem.posterior[order],
            group=problem.group[order],
            own=problem.own[order],
            evidence=None if problem.evidence is None else problem.evidence[order],
            as_array=True,
        )
        a, b = (solve_problem(each, epsilon=0.05, **PLAIN | {"objective": objective}) for each in (problem, moved))
        np.testing.assert_array_equal(np.asarray(a.labels)[order], b.labels)
        assert timeless(a.certificate) == timeless(b.certificate)


def gathered_part(problem: Problem, epsilon: float, most: int, near: float = 1e-10) -> Atoms:
    """Solve with few tasks gathered; the others are counted, and the optimum is that of all."""
    gain = make_gain("accuracy", problem.n_classes)
    _, whole = solve_many(problem, gain, RateParity(epsilon))
    atoms, found = solve_many(problem, gain, RateParity(epsilon), max_gathered=most)
    assert atoms.decided is not None
    assert atoms.mass.sum() + atoms.decided.mass.sum() == problem.group.size
    assert found.value == pytest.approx(whole.value, abs=near)
    assert found.bound == pytest.approx(whole.bound, abs=1e-10)
    assert found.bound - found.value <= 1e-10
    return atoms


@pytest.mark.parametrize("shape", [(3, 2), (5, 3), (2, 4)])
def test_few_undecided_tasks_prove_the_optimum_of_all(shape: tuple[int, int]) -> None:
    problem = some(30_000, *shape, 5, None)
    assert gathered_part(problem, 0.03, 6_000, near=1e-12).mass.size < 8_000
    with patch("faircrowd.fair.program.many_tasks._GATHERED_TASKS", 6_000):
        a = solve_problem(problem, epsilon=0.03, **PLAIN)
        with limits(5_000):
            same(a, solve_problem(problem, epsilon=0.03, **PLAIN))
    assert a.certificate.gap <= 0.03 + 2 / problem.sizes.min()
    assert a.certificate.optimality_gap <= 1e-3


@pytest.mark.parametrize("seed", range(4))
def test_a_group_that_is_sure_of_all_its_tasks_is_rounded_too(seed: int) -> None:
    """None of its tasks is near a tie, and so none is gathered at first; the others alone cannot keep epsilon."""
    rng = np.random.default_rng(seed)
    group = np.repeat([0, 1, 2], 1000 + rng.integers(0, 7, 3))
    posterior = rng.dirichlet(np.ones(3), group.size)
    sure = np.flatnonzero(group == 0)
    posterior[sure] = rng.uniform(0.001, 0.01, (sure.size, 3))
    posterior[sure, rng.choice(3, sure.size, p=[0.2, 0.6, 0.2])] += 1.0
    posterior /= posterior.sum(axis=1, keepdims=True)
    whole = make_fair(posterior, group, epsilon=0.02)
    with patch("faircrowd.fair.program.many_tasks._GATHERED_TASKS", 800):
        fair = make_fair(posterior, group, epsilon=0.02)
    assert fair.certificate.gap <= fair.certificate.gap_allowed + 1e-12
    assert fair.certificate.value == pytest.approx(whole.certificate.value, abs=2 / group.size)


@pytest.mark.parametrize("evidence", [None, np.array([3, 0, 1, 2, 5])], ids=["plain", "evidence"])
@pytest.mark.parametrize("sorts", [True, False], ids=["sorted", "counted"])
def test_certain_tasks_can_all_get_the_other_label(evidence: Any, sorts: bool) -> None:
    """Their log-odds are infinite, and so is the key that all of them are to lie below."""
    p = np.array([1.0, 1.0, 1.0, 0.0, 0.0])
    with np.errstate(divide="ignore"):
        logs = np.log(np.stack([1 - p, p], axis=1))
    problem = read_posterior(np.exp(logs), [1, 1, 1, 0, 0], log_posterior=logs, evidence=evidence)
    with nullcontext() if sorts else limits(2):
        fair = solve_problem(problem, epsilon=0.0, **PLAIN)
    assert fair.labels.tolist() == [1] * 5
    assert (fair.certificate.gap, fair.certificate.value) == (0.0, 0.6)


@pytest.mark.parametrize(("shape", "most"), [((4, 3), 41), ((3, 5), 14), ((2, 3), 171)])
def test_a_sample_too_small_to_tell_the_tasks_apart_gathers_more(shape: tuple[int, int], most: int) -> None:
    """What is left undecided by it cannot close the gap of the others."""
    gathered_part(some(1_500, *shape, 5, None), 0.01, most)


def test_few_undecided_of_few_tasks() -> None:
    """Small enough to be run without compiled kernels."""
    assert gathered_part(some(400, 3, 2, 5, None), 0.03, 100).mass.size < 400


def rows_below(tasks: Tasks, bound: float) -> Any:
    return np.flatnonzero(tasks.posterior[:, 1] < bound)


@given(st.integers(5, 200), st.integers(1, 60), st.booleans(), SEEDS)
@settings(max_examples=examples(50))
def test_the_first_in_order_by_counting(n: int, piece: int, by_evidence: bool, seed: int) -> None:
    problem = some(n, 2, 2, seed, None)
    if not by_evidence:
        problem = replace(problem, evidence=None)
    rows = np.flatnonzero(problem.posterior[:, 1] < 0.6)
    if not rows.size:
        return
    counts = sorted({1, max(rows.size // 2, 1), rows.size})
    with limits(piece, few=3):
        ends = first_in_order(problem, rows_below, (0.6,), rows.size, counts, 5)
    ordered = problem.ordered(rows, 5)
    whole = next(problem._pieces())
    for count, end in zip(counts, ends, strict=True):
        assert sorted(rows[whole.is_first(rows, end, 5)]) == sorted(ordered[:count])


def test_tasks_that_differ_in_the_last_bit_have_hashes_of_their_own() -> None:
    """Group and posterior differ in their last bits at once, which a weak hash cancels out."""
    p = 0.3479082960828817 + np.arange(400) * 2.0**-54
    group = np.arange(400) % 4
    gains = np.stack([p, 1 - p], axis=1)
    assert (
        np.unique(atom_hashes(gains, group.astype(np.int32))).size
        == np.unique(np.column_stack([p, group]), axis=0).shape[0]
    )


@pytest.mark.parametrize("epsilon", [0.0, 0.02, 0.1])
def test_of_equal_counts_the_width_of_a_window_does_not_choose(epsilon: float) -> None:
    """All flips cost the same in both groups: many pairs of counts are best, with as many changes."""
    keys, counts = np.array([-1.0, -1 / 3, 1 / 3, 1.0]), np.array([[10, 20, 40, 9], [20, 40, 15, 4]])
    found = set()
    for first, last in ((0, 4), (0, 3), (1, 3), (1, 4)):
        sides = []
        for a, own in ((0, 30), (1, 60)):
            high, low = to_limbs(-keys, 2.0**50)
            before = [int((part * counts[a])[:first].sum()) for part in (np.ones(4, dtype=np.int64), high, low)]
            given = keys[first:last], counts[a, first:last], (before[0], before[1], before[2])
            sides.append(make_window_group(*given, own_count=own, n_tasks=79, total_weight=158.0, unit=2.0**50))
        found.add(best_integer_counts(*sides, epsilon))
    assert len(found - {(-1, -1)}) == 1
