"""Few of many tasks: which are gathered, and that the others are counted."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from faircrowd.fair.objective import Gain, make_gain
from faircrowd.fair.program import many_tasks
from faircrowd.fair.program.atoms import Atoms, DecidedTasks, collect
from faircrowd.fair.program.dual import label_margins
from faircrowd.fair.program.relaxed import Relaxed
from faircrowd.fair.rate_constraint import Constraint, RateParity, prices_of
from faircrowd.fair.tasks.problem import Problem
from faircrowd.fair.tasks.read_posterior import read_posterior

PARITY = RateParity(0.03)
GAIN = Gain("gains", np.array([[2.0, -1.0, 0.5], [-3.0, 1.5, 0.0], [0.25, 0.0, 1.0]]), np.array([0.25, 0.0, -0.5]))
NUMBERS = np.arange(2, dtype=np.int32)
CENTRE = np.array([[0.1, -0.05, -0.05], [-0.1, 0.05, 0.05]])


def some(n: int, copies: int = 1) -> Problem:
    rng = np.random.default_rng(n)
    posterior = np.repeat(rng.dirichlet(np.ones(3), n // copies), copies, axis=0)
    group = np.repeat(np.append([0, 1], rng.integers(0, 2, n // copies - 2)), copies)
    posterior[:, 2] += 0.3 * group
    return read_posterior(posterior / posterior.sum(axis=1, keepdims=True), group)


def near(problem: Problem) -> np.ndarray:
    """How near the two best labels of tasks are, in units of multipliers."""
    mass = problem.sizes.astype(float)
    margin, _ = label_margins(GAIN.of(problem.posterior), problem.group, prices_of(CENTRE, mass))
    return margin * (mass / mass.sum())[problem.group]


def test_tasks_are_either_gathered_or_counted() -> None:
    problem = some(200)
    reach = float(np.sort(near(problem))[60])  # that of a task, which is within
    atoms = many_tasks._undecided(problem, GAIN, NUMBERS, CENTRE, reach)
    within = near(problem) <= reach
    assert within.sum() == 61
    gains = GAIN.of(problem.posterior)
    assert sorted(map(tuple, atoms.gains)) == sorted(map(tuple, gains[within]))
    assert atoms.mass.tolist() == [1.0] * 61
    _, label = label_margins(gains, problem.group, prices_of(CENTRE, problem.sizes.astype(float)))
    counted = np.zeros((2, 3))
    np.add.at(counted, (problem.group[~within], label[~within]), 1)
    assert atoms.decided is not None
    np.testing.assert_array_equal(atoms.decided.mass, counted)
    assert atoms.decided.value == pytest.approx(gains[~within, label[~within]].sum(), abs=1e-12)


def test_the_reach_of_a_share_of_the_tasks() -> None:
    problem = some(200)
    mass, sample = problem.sizes.astype(float), collect(problem, GAIN)
    ranked = np.sort(near(problem))
    for share, place in ((0.0, 0), (0.25, 50), (0.999, 199)):
        assert many_tasks._reach(sample, mass, CENTRE, share) == pytest.approx(ranked[place], abs=1e-15)
    for share in (1.0, 3.0):
        assert many_tasks._reach(sample, mass, CENTRE, share) == np.inf


def test_room_to_close_the_gap_of_the_others() -> None:
    """Group 0 has 6 of 10 tasks left, and group 1 none: it must reach a rate from 0.5."""
    none = np.empty((0, 2)), np.empty(0), np.empty(0, dtype=np.int32)
    atoms = Atoms(*none, decided=DecidedTasks(np.array([[4.0, 0.0], [1.0, 3.0]]), 0.0))
    mass = np.array([10.0, 4.0])
    assert many_tasks._has_room(atoms, mass, RateParity(0.15 + 1e-9))
    assert not many_tasks._has_room(atoms, mass, RateParity(0.15 - 1e-6))


def test_a_sample_stands_for_all() -> None:
    problem = some(400)
    found = many_tasks._sample(problem, GAIN, NUMBERS, 100)  # one in four
    assert found is not None
    assert (found.hashes % np.uint64(4) == 0).all()
    whole = collect(problem, GAIN)
    assert found.mass.size == (whole.hashes % np.uint64(4) == 0).sum()
    np.testing.assert_allclose(np.bincount(found.group, weights=found.mass), problem.sizes)
    for a in (0, 1):  # all weigh the same, as they do among all tasks
        assert np.unique(found.mass[found.group == a]).size == 1


def test_one_in_two_is_the_largest_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = some(400)
    found = many_tasks._sample(problem, GAIN, NUMBERS, 300)
    assert found is not None
    assert (found.hashes % np.uint64(2) == 0).all()
    assert (found.hashes % np.uint64(4) != 0).any()
    monkeypatch.setattr(many_tasks, "_SAMPLED_TASKS", 50)
    small = many_tasks._sample(problem, GAIN, NUMBERS, 300)
    assert small is not None
    assert (small.hashes % np.uint64(8) == 0).all()


def test_no_sample_where_most_tasks_have_equals_or_a_group_is_not_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    assert many_tasks._sample(some(400, copies=20), GAIN, NUMBERS, 100) is None
    rng = np.random.default_rng(0)
    lonely = read_posterior(rng.dirichlet(np.ones(3), 400), np.append(np.zeros(399, dtype=int), 1))
    whole = collect(lonely, GAIN)
    (seen,) = whole.hashes[whole.group == 1] % np.uint64(4)
    found = many_tasks._sample(lonely, GAIN, NUMBERS, 100)
    assert (found is None) == (seen != 0)
    monkeypatch.setattr(many_tasks, "_SAMPLED_TASKS", 100)
    most = 4 * collect(some(400), GAIN, one_in=4).mass.size
    assert many_tasks._sample(some(400), GAIN, NUMBERS, most) is None
    assert many_tasks._sample(some(400), GAIN, NUMBERS, most - 1) is not None


def test_up_to_a_number_of_tasks_all_are_gathered() -> None:
    problem, gain = some(150), make_gain("accuracy", 3)
    whole, exact = many_tasks.solve_many(problem, gain, PARITY)
    assert whole.decided is None
    same, _ = many_tasks.solve_many(problem, gain, PARITY, max_gathered=150)
    assert same.decided is None
    few, found = many_tasks.solve_many(problem, gain, PARITY, max_gathered=149)
    assert few.decided is not None
    assert found.bound == pytest.approx(exact.bound, abs=1e-10)
    assert found.value == pytest.approx(exact.value, abs=1e-10)
    assert few.mass.sum() + few.decided.mass.sum() == 150


@pytest.mark.parametrize("most", [80, 100])
def test_those_that_were_counted_have_their_best_label(most: int) -> None:
    """At the multipliers of the solution, with room to spare: else more would have been gathered."""
    problem, gain = some(300), make_gain("accuracy", 3)
    mass = problem.sizes.astype(float)
    _, exact = many_tasks.solve_many(problem, gain, PARITY)
    atoms, found = many_tasks.solve_many(problem, gain, PARITY, max_gathered=most)
    assert atoms.decided is not None
    assert found.bound == pytest.approx(exact.bound, abs=1e-10)
    gains = gain.of(problem.posterior)
    _, label = label_margins(gains, problem.group, prices_of(found.multipliers, mass))
    kept = {tuple(row) for row in atoms.gains}
    counted = np.array([tuple(row) not in kept for row in gains])
    rates = np.zeros((2, 3))
    np.add.at(rates, (problem.group[counted], label[counted]), 1)
    np.testing.assert_array_equal(atoms.decided.mass, rates)
    assert atoms.mass.size <= most


@pytest.mark.parametrize(("part", "rounds"), [(0.49, 1), (0.51, 2), (0.51, 3)])
def test_multipliers_that_moved_by_half_the_reach_prove_nothing(
    part: float, rounds: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tasks that were counted may then have another best label: they are told apart once more, then by more tasks."""
    plain_reach, plain_solve, reaches, shares, starts = many_tasks._reach, many_tasks.solve_relaxed, [], [], []

    def reach(*given: Any) -> float:
        shares.append(given[-1])
        reaches.append(plain_reach(*given))
        return reaches[-1]

    def solved(atoms: Atoms, mass: Any, constraint: Constraint, start: Any) -> Relaxed:
        starts.append(start)
        moved = np.zeros(start.shape)
        moved[0, 0] = part * reaches[-1] if len(starts) < max(rounds, 2) else 0.0
        return replace(plain_solve(atoms, mass, constraint, start), multipliers=start + moved)

    monkeypatch.setattr(many_tasks, "_reach", reach)
    monkeypatch.setattr(many_tasks, "solve_relaxed", solved)
    _, found = many_tasks.solve_many(some(300), make_gain("accuracy", 3), PARITY, max_gathered=100)
    assert len(starts) == rounds
    moves = part * sum(reaches[: max(rounds - 1, 1)])
    assert found.multipliers[0, 0] - starts[0][0, 0] == pytest.approx(moves, rel=1e-9)
    assert [share / shares[0] for share in shares] == [1.0, 1.0, 2.0][:rounds]  # multipliers of a sample err
