"""From atoms to tasks: probabilities, draws and counts of labels, task by task."""

import numpy as np
import pytest

from faircrowd.fair.objective import Gain, make_gain
from faircrowd.fair.program.assign import (
    SplitAtoms,
    find_split_atoms,
    label_cuts,
    label_probabilities,
    labels_by_cuts,
    unconstrained_labels,
    unconstrained_probabilities,
)
from faircrowd.fair.program.atoms import collect
from faircrowd.fair.tasks.problem import Problem
from faircrowd.fair.tasks.read_posterior import read_posterior

ROWS = np.array([[0.5, 0.5, 0.0], [0.5, 0.25, 0.25], [0.25, 0.5, 0.25], [0.0, 0.25, 0.75]])
GAIN = make_gain("accuracy", 3)
PRICES = np.array([[0.125, 0.0, 0.0], [0.0, 0.0, 0.0625]])
MULTIPLIERS = PRICES / 2


def some(evidence: bool = True, n: int = 80) -> Problem:
    """Forty tasks per group, ten of each row of posteriors."""
    rows = np.arange(n) // 2 % 4
    given = np.arange(n) // 8 % 3 if evidence else None
    return read_posterior(ROWS[rows], np.arange(n) % 2, evidence=given)


def scores(problem: Problem) -> np.ndarray:
    return problem.posterior - PRICES[problem.group]


def shares_of(problem: Problem) -> tuple[SplitAtoms, np.ndarray, np.ndarray]:
    """Three atoms are split, and one is given its second label; also the atom of each task, and shares of atoms."""
    atoms = collect(problem, GAIN)
    mass = problem.sizes.astype(float)
    shares = np.eye(3)[(atoms.gains - PRICES[atoms.group]).argmax(axis=1)]
    place = {(int(a), tuple(row)): j for j, (a, row) in enumerate(zip(atoms.group, atoms.gains, strict=True))}
    shares[place[0, tuple(ROWS[0])]] = [0.25, 0.75, 0.0]
    shares[place[0, tuple(ROWS[1])]] = [0.5, 0.25, 0.25]
    shares[place[1, tuple(ROWS[2])]] = [1.0, 0.0, 0.0]
    shares[place[1, tuple(ROWS[3])]] = [0.0, 0.5, 0.5]
    of_task = np.array([place[int(a), tuple(row)] for a, row in zip(problem.group, problem.posterior, strict=True)])
    return find_split_atoms(atoms, mass, MULTIPLIERS, shares), of_task, shares


def test_split_atoms_are_those_with_other_labels_than_the_best() -> None:
    problem = some()
    split, of_task, shares = shares_of(problem)
    assert split.hashes.size == 4
    assert (np.diff(split.hashes.astype(object)) > 0).all()
    chosen = collect(problem, GAIN).hashes[np.unique(of_task[[0, 2, 5, 7]])]
    np.testing.assert_array_equal(split.hashes, np.sort(chosen))
    np.testing.assert_array_equal(split.shares, shares[np.unique(of_task[[0, 2, 5, 7]])])
    ranked = np.sort(scores(problem), axis=1)
    margin = ranked[:, -1] - ranked[:, -2]
    assert split.widest == margin[[0, 2, 5, 7]].max() == 0.4375
    atoms = collect(problem, GAIN)
    own = np.eye(3)[(atoms.gains - PRICES[atoms.group]).argmax(axis=1)]
    none = find_split_atoms(atoms, problem.sizes.astype(float), MULTIPLIERS, own)
    assert (none.hashes.size, none.widest) == (0, -1.0)
    np.testing.assert_array_equal(
        problem.emit(label_probabilities, GAIN, PRICES, none), np.eye(3)[scores(problem).argmax(axis=1)]
    )


def test_probabilities_are_those_of_the_atoms() -> None:
    problem = some()
    split, of_task, shares = shares_of(problem)
    probabilities = problem.emit(label_probabilities, GAIN, PRICES, split)
    np.testing.assert_array_equal(probabilities, shares[of_task])
    for one in range(4):  # the first hash and the last, too
        single = SplitAtoms(split.hashes[[one]], split.widest, split.shares[[one]])
        own = collect(problem, GAIN).hashes[of_task] == split.hashes[one]
        wanted = np.where(own[:, None], shares[of_task], np.eye(3)[scores(problem).argmax(axis=1)])
        np.testing.assert_array_equal(problem.emit(label_probabilities, GAIN, PRICES, single), wanted)
    few = problem.emit(
        label_probabilities, GAIN, PRICES, split._replace(widest=0.1249)
    )  # tasks beyond the widest are not looked at
    ranked = np.sort(scores(problem), axis=1)
    beyond = ranked[:, -1] - ranked[:, -2] > 0.1249
    np.testing.assert_array_equal(few[beyond], np.eye(3)[scores(problem).argmax(axis=1)][beyond])


@pytest.mark.parametrize("by_evidence", [False, True])
@pytest.mark.parametrize("evidence", [False, True])
def test_counts_of_labels_go_to_tasks_in_their_order(evidence: bool, by_evidence: bool) -> None:
    """Own labels first, then others by number; of the tasks of an atom, those of more evidence, then of lower hash."""
    problem = some(evidence)
    split, of_task, _ = shares_of(problem)
    atoms = collect(problem, GAIN)
    places = np.searchsorted(atoms.hashes, split.hashes)
    counts = np.array([np.rint(10 * share) for share in split.shares], dtype=np.int64)
    counts[counts.max(axis=1) == 8] = [3, 7, 0]
    counts[(counts == [5, 2, 2]).all(axis=1)] = [5, 3, 2]
    counts[counts.max(axis=1) == 10] = [4, 5, 1]
    assert counts.sum(axis=1).tolist() == [10] * 4
    cuts = label_cuts(problem, GAIN, PRICES, split, counts, 6, by_evidence)
    labels = problem.emit(labels_by_cuts, GAIN, PRICES, split, cuts, 6)
    wanted = scores(problem).argmax(axis=1)
    for place, count in zip(places, counts, strict=True):
        rows = (problem.ordered if by_evidence else problem.shuffled)(np.flatnonzero(of_task == place), 6)
        kept = int(np.bincount(problem.own[rows], minlength=3).argmax())
        order = [kept, *(k for k in range(3) if k != kept)]
        wanted[rows] = np.repeat(order, count[order])
    np.testing.assert_array_equal(labels, wanted)


def test_atoms_of_one_label_each_have_one_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = some()
    split, of_task, _ = shares_of(problem)
    counts = np.array([[0, 10, 0], [0, 0, 10], [10, 0, 0], [0, 10, 0]])
    some_split = label_cuts(problem, GAIN, PRICES, split, np.vstack([[1, 9, 0], counts[1:]]), 6)
    assert [[label for label, _ in cuts] for cuts in some_split] == [[0, 1], [2], [0], [1]]
    monkeypatch.setattr(Problem, "reduce", None)  # nothing is to be counted
    cuts = label_cuts(problem, GAIN, PRICES, split, counts, 6)
    assert cuts == (((1, None),), ((2, None),), ((0, None),), ((1, None),))
    assert some_split[1:] == cuts[1:]
    labels = problem.emit(labels_by_cuts, GAIN, PRICES, split, cuts, 6)
    atoms = collect(problem, GAIN)
    for hash_, label in zip(split.hashes, (1, 2, 0, 1), strict=True):
        assert set(labels[atoms.hashes[of_task] == hash_]) == {label}
    nothing = SplitAtoms(np.empty(0, dtype=np.uint64), -1.0, np.empty((0, 3)))
    assert label_cuts(problem, GAIN, PRICES, nothing, np.empty((0, 3), dtype=np.int64), 6) == ()


def test_labels_without_a_constraint() -> None:
    problem = some()
    own = np.zeros(80, dtype=np.int32)
    tasks = next(problem._pieces())._replace(own=own)
    np.testing.assert_array_equal(unconstrained_labels(tasks, GAIN), own)
    np.testing.assert_array_equal(unconstrained_probabilities(tasks, GAIN), np.eye(3)[own])
    gain = Gain("gains", np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]]), np.zeros(3))
    label = np.array([1, 1, 2, 0])[np.arange(80) // 2 % 4]
    np.testing.assert_array_equal(unconstrained_labels(tasks, gain), label)
    assert unconstrained_labels(tasks, gain).dtype == np.int32
    np.testing.assert_array_equal(unconstrained_probabilities(tasks, gain), np.eye(3)[label])
