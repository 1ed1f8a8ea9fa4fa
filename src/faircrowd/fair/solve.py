"""One problem to labels: the exact thresholds for two classes and groups, the program otherwise; F1 by Dinkelbach."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from faircrowd.errors import OptionError
from faircrowd.fair.atoms import Atoms, merge
from faircrowd.fair.binary import best_labels, draw_law, sort_groups
from faircrowd.fair.dual import margins, prices_of
from faircrowd.fair.hashing import draw
from faircrowd.fair.objective import Gain, expected_f1, f1_bound, f1_gain
from faircrowd.fair.problem import Problem
from faircrowd.fair.relaxed import Relaxed, solve_relaxed
from faircrowd.fair.rounding import round_counts
from faircrowd.fair.strict import strict_counts
from faircrowd.fair.threshold import relaxed_split, tied_part
from faircrowd.votes.vocabulary import Codes

__all__ = ["Solved", "solve"]

Ties = dict[tuple[int, tuple[int, ...]], tuple[float, ...]]
_TIE = 1e-12
_SAME = 1e-12
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
        part = tied_part(found.sides[a], split, a) if split.beta or any(split.tied) else None
        if part is not None:
            ties[a, (0, 1)] = (1.0 - part, part)
        elif split.beta == 0.0:
            ties[a, (0, 1)] = own_tie
    law, bound = draw_law(problem, found, split), found.base + split.bound
    give = best_labels(problem, found, epsilon, random_state) if decision == "deterministic" else None
    del found  # what was sorted goes before labels come
    labels = draw(problem.tasks, law(), random_state) if give is None else give()
    solver = "one sort of each group, exact"
    exact = decision == "deterministic" and problem.weights is None
    return Solved(
        labels,
        law,
        multipliers,
        ties,
        gain,
        bound,
        bound,
        exact or decision != "deterministic",
        solver,
    )


def _solve_program(
    problem: Problem, gain: Gain, epsilon: float, decision: str, random_state: int, strict: bool
) -> Solved:
    if strict and problem.weights is not None:
        raise OptionError("strict=True counts tasks, and with sample_weight they count differently; leave one out.")
    gains = gain.of(problem.posterior)
    mass = problem.group_weights()
    own = np.argmax(gains, axis=1).astype(np.int32) if not gain.is_accuracy else np.asarray(problem.own, dtype=np.int32)
    if np.ptp(problem.rates(own), axis=0).max() <= epsilon:
        return _unchanged(problem, gain, gains, own)
    atoms = merge(gains, problem.group, problem.weights)
    relaxed = solve_relaxed(atoms, mass, epsilon)
    of_task = atoms.of_task
    ties = _tie_weights(atoms, mass, relaxed)
    bound, solver, optimal = relaxed.bound, relaxed.solver, decision != "deterministic"

    def law() -> NDArray[np.float64]:
        return relaxed.fractions if of_task is None else relaxed.fractions[of_task]

    if decision == "randomized":
        labels = draw(problem.tasks, law(), random_state)
    elif problem.weights is not None:  # whole counts mean nothing where tasks weigh differently
        labels = _spread_weight(problem, of_task, relaxed, random_state)
    elif strict:
        kept = strict_counts(atoms, mass, relaxed, epsilon)
        labels = _spread(problem, of_task, kept.counts, random_state)
        value = float((kept.counts * atoms.gains).sum() / mass.sum())
        bound, solver, optimal = kept.bound, f"{solver}, then integer program", kept.bound - value <= 1e-9
    else:
        labels = _spread(problem, of_task, _rounded(atoms, mass, relaxed, epsilon), random_state)
    return Solved(labels, law, relaxed.multipliers, ties, gain, bound, relaxed.bound, optimal, solver)


def _unchanged(problem: Problem, gain: Gain, gains: NDArray[np.float64], own: Codes) -> Solved:
    """Keep the labels without a constraint, which are within epsilon."""
    value = float(
        np.average(np.take_along_axis(gains, own[:, None].astype(np.int64), axis=1)[:, 0], weights=problem.weights)
    )
    tied = gains >= gains.max(axis=1, keepdims=True) - _TIE
    several = np.flatnonzero(tied.sum(axis=1) > 1)
    kinds = np.unique(np.column_stack([problem.group[several], own[several], tied[several]]), axis=0)
    ties: Ties = {}
    for a, label, *marks in kinds.tolist():
        members = tuple(np.flatnonzero(marks).tolist())
        ties[a, members] = tuple(float(k == label) for k in members)
    zero, one_hot = np.zeros((problem.n_groups, problem.n_classes)), np.eye(problem.n_classes)
    return Solved(own, lambda: one_hot[own], zero, ties, gain, value, value, True, "nothing to change")


def _rounded(atoms: Atoms, mass: NDArray[np.float64], relaxed: Relaxed, epsilon: float) -> NDArray[np.int64]:
    """Round to whole counts; to those without a gap, if epsilon is less than a task and these are better."""
    counts = round_counts(atoms, mass, relaxed, epsilon)
    if epsilon == 0 or epsilon * mass.min() >= 1:
        return counts
    even = round_counts(atoms, mass, solve_relaxed(atoms, mass, 0.0), 0.0)
    ranked = [(max(_gap(atoms, mass, c) - epsilon, _SAME), -float((c * atoms.gains).sum())) for c in (counts, even)]
    return counts if ranked[0] <= ranked[1] else even


def _gap(atoms: Atoms, mass: NDArray[np.float64], counts: NDArray[np.int64]) -> float:
    rates = [np.bincount(atoms.group, weights=column, minlength=mass.size) / mass for column in counts.T]
    return float(np.ptp(np.stack(rates, axis=1), axis=0).max())


def _spread_weight(problem: Problem, of_task: NDArray[np.int64] | None, relaxed: Relaxed, random_state: int) -> Codes:
    """Label the tasks of each atom in turn, so that the weight of each label is its fraction to within one task."""
    best: Codes = np.argmax(relaxed.fractions, axis=1).astype(np.int32)
    if of_task is None or problem.weights is None:
        return best
    labels: Codes = best[of_task]
    mixed = np.flatnonzero(relaxed.fractions.max(axis=1) < 1.0)
    rows = np.flatnonzero(np.isin(of_task, mixed))
    rows = problem.ordered(rows, random_state, of_task[rows])
    for atom in mixed:
        own = rows[np.searchsorted(of_task[rows], atom) : np.searchsorted(of_task[rows], atom, side="right")]
        weights = problem.weights[own]
        middle = (np.cumsum(weights) - weights / 2) / weights.sum()
        place = np.searchsorted(np.cumsum(relaxed.fractions[atom]), middle, side="right")
        labels[own] = np.minimum(place, problem.n_classes - 1)
    return labels


def _spread(problem: Problem, of_task: NDArray[np.int64] | None, counts: NDArray[np.int64], random_state: int) -> Codes:
    """Label the tasks of each atom in these counts."""
    best: Codes = np.argmax(counts, axis=1).astype(np.int32)
    if of_task is None:  # each task is an atom
        return best
    labels: Codes = best[of_task]
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
    margin, _ = margins(atoms, mass, relaxed.multipliers)
    several = np.flatnonzero(margin <= _TIE * 10)
    scores = atoms.gains[several] - prices_of(relaxed.multipliers, mass)[atoms.group[several]]
    best = scores >= scores.max(axis=1, keepdims=True) - _TIE * 10
    sums: dict[tuple[int, tuple[int, ...]], NDArray[np.float64]] = {}
    for j, marks in zip(several, best, strict=True):
        members = tuple(np.flatnonzero(marks).tolist())
        weights = atoms.mass[j] * relaxed.fractions[j, list(members)]
        at = (int(atoms.group[j]), members)
        sums[at] = sums.get(at, np.zeros(len(members))) + weights
    return {at: tuple((w / w.sum()).tolist()) for at, w in sums.items() if w.sum() > 0}
