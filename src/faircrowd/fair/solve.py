"""One problem to labels: the exact thresholds for two classes and groups, the program otherwise; F1 by Dinkelbach."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from faircrowd.fair.atoms import Atoms, merge
from faircrowd.fair.binary import counted_labels, sort_groups, split_probabilities
from faircrowd.fair.dual import prices_of
from faircrowd.fair.hashing import draw
from faircrowd.fair.objective import Gain, expected_f1, f1_bound, f1_gain
from faircrowd.fair.problem import Problem
from faircrowd.fair.relaxed import Relaxed, solve_relaxed
from faircrowd.fair.rounding import round_counts
from faircrowd.fair.strict import strict_counts
from faircrowd.fair.threshold import relaxed_split
from faircrowd.votes.vocabulary import Codes

__all__ = ["Solved", "solve"]

Ties = dict[tuple[int, tuple[int, ...]], tuple[float, ...]]
_TIE = 1e-12
_MOST_STEPS = 60


@dataclass(frozen=True, eq=False)
class Solved:
    """A labelling and its proof.

    Attributes
    ----------
    labels : ndarray of int32
    draw_law : callable
        Returns the probability of each label under the solution with a coin, a task and class.
    multipliers : ndarray, shape (n_groups, n_classes)
    ties : dict
        Weights of tied classes, a group and set of classes.
    gain : Gain
        The gain that was maximised last.
    bound, dual_bound : float
        On the objective: the best that was proved, and what the multipliers alone prove.
    optimal : bool
    solver : str
    """

    labels: Codes
    draw_law: Callable[[], NDArray[np.float64]]
    multipliers: NDArray[np.float64]
    ties: Ties
    gain: Gain
    bound: float
    dual_bound: float
    optimal: bool
    solver: str

    @cached_property
    def probabilities(self) -> NDArray[np.float64]:
        """The probability of each label under the solution with a coin."""
        return self.draw_law()


def solve(
    problem: Problem, gain: Gain, epsilon: float, decision: str, random_state: int, strict: bool = False
) -> Solved:
    """Find the best labels within epsilon."""
    if gain.name == "f1":
        return _solve_f1(problem, epsilon, decision, random_state, strict)
    return _solve_affine(problem, gain, epsilon, decision, random_state, strict)


def _solve_affine(
    problem: Problem, gain: Gain, epsilon: float, decision: str, random_state: int, strict: bool
) -> Solved:
    if problem.n_classes == 2 and problem.n_groups == 2:
        return _solve_thresholds(problem, gain, epsilon, decision, random_state)
    return _solve_program(problem, gain, epsilon, decision, random_state, strict)


def _solve_f1(problem: Problem, epsilon: float, decision: str, random_state: int, strict: bool) -> Solved:
    """Raise the ratio until the best labelling for the gain 2p - ratio gains nothing more (Dinkelbach)."""
    ratio, solved = 0.0, None
    for _ in range(_MOST_STEPS):
        solved = _solve_affine(problem, f1_gain(ratio), epsilon, decision, random_state, strict)
        reached = expected_f1(problem, solved.labels if decision == "deterministic" else solved.probabilities[:, 1])
        if reached <= ratio + 1e-15:
            break
        ratio = reached
    assert solved is not None  # noqa: S101 - at least one step
    bound, dual_bound = (f1_bound(problem, ratio, found) for found in (solved.bound, solved.dual_bound))
    return replace(solved, bound=bound, dual_bound=dual_bound, solver=f"Dinkelbach over {solved.solver}")


def _solve_thresholds(problem: Problem, gain: Gain, epsilon: float, decision: str, random_state: int) -> Solved:
    found = sort_groups(problem, gain, random_state)
    split = relaxed_split(found.sides, epsilon)
    multipliers = 0.5 * split.beta * np.array([[1.0, -1.0], [-1.0, 1.0]])
    own_tie = (0.0, 1.0) if problem.ties == "last" else (1.0, 0.0)
    ties: Ties = {}
    for a in (0, 1):
        if split.tied[a]:
            ties[a, (0, 1)] = (1.0 - float(split.omega[a]), float(split.omega[a]))
        elif split.beta == 0.0:
            ties[a, (0, 1)] = own_tie
    if decision == "deterministic":
        labels = counted_labels(problem, found, epsilon, random_state)
    else:
        labels = draw(problem.tasks, split_probabilities(problem, found, split), random_state)
    solver = "one sort of each group, exact"
    exact = decision == "deterministic" and problem.weights is None
    return Solved(
        labels,
        lambda: split_probabilities(problem, found, split),
        multipliers,
        ties,
        gain,
        found.base + split.bound,
        found.base + split.bound,
        exact or decision != "deterministic",
        solver,
    )


def _solve_program(
    problem: Problem, gain: Gain, epsilon: float, decision: str, random_state: int, strict: bool
) -> Solved:
    gains = gain.of(problem.posterior)
    mass = problem.group_weights()
    atoms = merge(gains, problem.group, problem.weights)
    of_task = np.arange(problem.group.size) if atoms.of_task is None else atoms.of_task
    own = np.argmax(gains, axis=1) if not gain.is_accuracy else problem.own
    if np.ptp(problem.rates(own.astype(np.int32)), axis=0).max() <= epsilon:
        labels = own.astype(np.int32)
        value = float(np.average(gains[np.arange(labels.size), labels], weights=problem.weights))
        zero = np.zeros((problem.n_groups, problem.n_classes))
        one_hot = np.eye(problem.n_classes)
        return Solved(labels, lambda: one_hot[labels], zero, {}, gain, value, value, True, "nothing to change")
    relaxed = solve_relaxed(atoms, mass, epsilon)
    fractions = relaxed.fractions[of_task]
    ties = _tie_weights(atoms, mass, relaxed)
    bound, solver, optimal = relaxed.bound, relaxed.solver, decision != "deterministic"
    if decision == "randomized":
        labels = draw(problem.tasks, fractions, random_state)
    elif problem.weights is not None:  # whole counts mean nothing where tasks weigh differently
        labels = np.argmax(fractions, axis=1).astype(np.int32)
    elif strict:
        kept = strict_counts(atoms, mass, relaxed, epsilon)
        labels = _spread(problem, of_task, kept.counts, random_state)
        value = float((kept.counts * atoms.gains).sum() / mass.sum())
        bound, solver, optimal = kept.bound, f"{solver}, then integer program", kept.bound - value <= 1e-9
    else:
        labels = _spread(problem, of_task, round_counts(atoms, mass, relaxed, epsilon), random_state)
    return Solved(labels, lambda: fractions, relaxed.multipliers, ties, gain, bound, relaxed.bound, optimal, solver)


def _spread(problem: Problem, of_task: NDArray[np.int64], counts: NDArray[np.int64], random_state: int) -> Codes:
    """Label the tasks of each atom in these counts."""
    labels: Codes = np.argmax(counts, axis=1)[of_task].astype(np.int32)
    mixed = np.flatnonzero((counts > 0).sum(axis=1) > 1)
    if not mixed.size:
        return labels
    # The tasks of such an atom, most evidence first, keep their own label as far as it goes.
    rows = np.flatnonzero(np.isin(of_task, mixed))
    rows = problem.ordered(rows, random_state, of_task[rows])
    starts = np.searchsorted(of_task[rows], mixed, side="left")
    for atom, start in zip(mixed, starts, strict=True):
        own = int(problem.own[rows[start]])
        order = [own, *(k for k in range(problem.n_classes) if k != own)]
        given = np.repeat(order, counts[atom][order])
        labels[rows[start : start + given.size]] = given
    return labels


def _tie_weights(atoms: Atoms, mass: NDArray[np.float64], relaxed: Relaxed) -> Ties:
    """Average the solution over the atoms of a group whose best classes are the same set: theorem recipe_multi."""
    scores = atoms.gains - prices_of(relaxed.multipliers, mass)[atoms.group]
    best = scores >= scores.max(axis=1, keepdims=True) - _TIE * 10
    several = np.flatnonzero(best.sum(axis=1) > 1)
    sums: dict[tuple[int, tuple[int, ...]], NDArray[np.float64]] = {}
    for j in several:
        members = tuple(np.flatnonzero(best[j]).tolist())
        weights = atoms.mass[j] * relaxed.fractions[j, list(members)]
        at = (int(atoms.group[j]), members)
        sums[at] = sums.get(at, np.zeros(len(members))) + weights
    return {at: tuple((w / w.sum()).tolist()) for at, w in sums.items() if w.sum() > 0}
