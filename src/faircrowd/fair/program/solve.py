"""Any number of classes and groups, from problem to labels: the linear program, then labels of whole tasks."""

from functools import partial

import numpy as np
from numpy.typing import NDArray

from faircrowd.errors import OptionError
from faircrowd.exact.hashing import draw, task_keys
from faircrowd.fair.constraint import Constraint, prices_of, rates_of
from faircrowd.fair.objective import Gain
from faircrowd.fair.program.assign import (
    deterministic_labels,
    find_split_atoms,
    label_cuts,
    label_probabilities,
    randomized_labels,
    unconstrained_labels,
    unconstrained_probabilities,
)
from faircrowd.fair.program.atoms import Atoms, merge
from faircrowd.fair.program.dual import atom_margins
from faircrowd.fair.program.many_tasks import MAX_GATHERED_TASKS, solve_many
from faircrowd.fair.program.relaxed import Relaxed, solve_relaxed
from faircrowd.fair.program.rounding import round_counts
from faircrowd.fair.program.strict import strict_counts
from faircrowd.fair.solution import Solution, TieWeights
from faircrowd.fair.tasks.population import Population, Rows, Tasks
from faircrowd.fair.tasks.problem import Problem
from faircrowd.fair.tolerances import NO_EXCESS, PROVED_OPTIMAL_STRICT, TIE, tie_widths
from faircrowd.votes.vocabulary import Codes

__all__ = ["solve_program"]


def solve_program(
    problem: Population[Rows], gain: Gain, constraint: Constraint, decision: str, random_state: int, strict: bool
) -> Solution[Rows]:
    """Find the best labels that keep the constraint, and a bound on what any such labels gain."""
    if strict and problem.weights is not None:
        raise OptionError("strict=True counts tasks, and with sample_weight they count differently; leave one out.")
    free = problem.emit(unconstrained_labels, gain)
    tally = problem.tally(free, gain)
    if constraint.is_kept(tally.rates):
        return _unchanged(problem, gain, free, tally.gain_of_labels(gain))
    if problem.weights is not None:
        return _solve_weights(problem, gain, constraint, decision, random_state)
    mass = problem.sizes.astype(np.float64)
    atoms, relaxed = solve_many(problem, gain, constraint)
    ties = _tie_weights(atoms, mass, relaxed)
    bound, solver, optimal = relaxed.bound, relaxed.solver, decision != "deterministic"
    prices = prices_of(relaxed.multipliers, mass)
    randomized = (gain, prices, find_split_atoms(atoms, mass, relaxed.multipliers, relaxed.fractions))
    probabilities = partial(problem.emit, label_probabilities, *randomized)
    if decision == "randomized":
        labels = problem.emit(randomized_labels, *randomized, random_state)
        return Solution(labels, probabilities, relaxed.multipliers, ties, gain, bound, bound, optimal, solver)
    if strict:
        if atoms.decided is not None:
            raise OptionError(f"strict=True is for up to {MAX_GATHERED_TASKS:,} different tasks; leave it out.")
        kept = strict_counts(atoms, mass, relaxed, constraint)
        counts = kept.counts
        value = float((counts * atoms.gains).sum() / mass.sum())
        bound, solver = kept.bound, f"{solver}, then integer program"
        optimal = kept.bound - value <= PROVED_OPTIMAL_STRICT
    else:
        counts = _rounded(atoms, mass, relaxed, constraint)
    split = find_split_atoms(atoms, mass, relaxed.multipliers, counts / atoms.mass[:, None])
    where = np.searchsorted(atoms.hashes, split.hashes)  # type: ignore[arg-type]
    cuts = label_cuts(problem, gain, prices, split, counts[where], random_state)
    labels = problem.emit(deterministic_labels, gain, prices, split, cuts, random_state)
    return Solution(labels, probabilities, relaxed.multipliers, ties, gain, bound, relaxed.bound, optimal, solver)


def _solve_weights(
    population: Population[Rows], gain: Gain, constraint: Constraint, decision: str, random_state: int
) -> Solution[Rows]:
    """Solve for tasks with weights, which are in memory."""
    problem = population.in_memory("sample_weight", "leave it out")
    mass = problem.group_weights()
    atoms = merge(gain.of(problem.posterior), problem.group, problem.weights)
    relaxed = solve_relaxed(atoms, mass, constraint)
    of_task = atoms.of_task
    assert of_task is not None  # noqa: S101 - merge gives it
    fractions = relaxed.fractions

    def probabilities() -> Rows:
        return population.from_memory(np.asarray(fractions[of_task]))

    if decision == "randomized":
        labels = draw(np.asarray(fractions[of_task]), lambda rows: task_keys(problem.tasks, rows, random_state))
    else:  # counts mean nothing where tasks have different weights
        labels = _split_by_weight(problem, of_task, fractions, random_state)
    ties, bound = _tie_weights(atoms, mass, relaxed), relaxed.bound
    optimal = decision != "deterministic"
    emitted = population.from_memory(labels)
    return Solution(emitted, probabilities, relaxed.multipliers, ties, gain, bound, bound, optimal, relaxed.solver)


def _split_by_weight(
    problem: Problem, of_task: NDArray[np.int64], fractions: NDArray[np.float64], random_state: int
) -> Codes:
    """Label the tasks of each atom in order, so that the weight of each label is its fraction to within one task."""
    best: Codes = np.argmax(fractions, axis=1).astype(np.int32)
    labels: Codes = best[of_task]
    assert problem.weights is not None  # noqa: S101 - this is for weights
    mixed = np.flatnonzero(fractions.max(axis=1) < 1.0)
    rows = np.flatnonzero(np.isin(of_task, mixed))
    rows = problem.ordered(rows, random_state, of_task[rows])
    for atom in mixed:
        own = rows[np.searchsorted(of_task[rows], atom) : np.searchsorted(of_task[rows], atom, side="right")]
        weights = problem.weights[own]
        middle = (np.cumsum(weights) - weights / 2) / weights.sum()
        place = np.searchsorted(np.cumsum(fractions[atom]), middle, side="right")
        labels[own] = np.minimum(place, problem.n_classes - 1)
    return labels


def _unchanged(problem: Population[Rows], gain: Gain, free: Rows, value: float) -> Solution[Rows]:
    """Keep the unconstrained labels, which keep the constraint."""
    ties: TieWeights = {}
    (kinds,) = problem.gather(_tied_kinds, gain)
    for a, label, *is_tied in np.unique(kinds, axis=0).tolist():
        members = tuple(np.flatnonzero(is_tied).tolist())
        ties[a, members] = tuple(float(k == label) for k in members)
    zero = np.zeros((problem.n_groups, problem.n_classes))
    probabilities = partial(problem.emit, unconstrained_probabilities, gain)
    return Solution(free, probabilities, zero, ties, gain, value, value, True, "nothing to change")


def _tied_kinds(tasks: Tasks, gain: Gain) -> tuple[NDArray[np.int64], ...]:
    """Return group, label and tied labels of tasks whose best labels are tied, each kind once."""
    gains, free = gain.of(tasks.posterior), unconstrained_labels(tasks, gain)
    tied = gains >= gains.max(axis=1, keepdims=True) - TIE
    several = np.flatnonzero(tied.sum(axis=1) > 1)
    return (np.unique(np.column_stack([tasks.group[several], free[several], tied[several]]), axis=0),)


def _rounded(atoms: Atoms, mass: NDArray[np.float64], relaxed: Relaxed, constraint: Constraint) -> NDArray[np.int64]:
    """Round to whole tasks; if epsilon is less than one task, also try epsilon 0 and keep the better of the two."""
    counts = round_counts(atoms, mass, relaxed, constraint)
    if constraint.epsilon == 0 or constraint.epsilon * mass.min() >= 1 or atoms.decided is not None:
        return counts
    even = constraint.with_epsilon(0.0)
    other = round_counts(atoms, mass, solve_relaxed(atoms, mass, even), even)

    def rank(counts: NDArray[np.int64]) -> tuple[float, float]:
        totals = [np.bincount(atoms.group, weights=column, minlength=mass.size) for column in counts.T]
        excess = constraint.excess(rates_of(np.stack(totals, axis=1), mass))
        return max(excess, NO_EXCESS), -float((counts * atoms.gains).sum())

    return counts if rank(counts) <= rank(other) else other


def _tie_weights(atoms: Atoms, mass: NDArray[np.float64], relaxed: Relaxed) -> TieWeights:
    """Average the solution over the atoms of a group whose best classes are the same set: theorem recipe_multi."""
    margin, _ = atom_margins(atoms, mass, relaxed.multipliers)
    prices = prices_of(relaxed.multipliers, mass)
    width = tie_widths(prices, mass / mass.sum())[atoms.group]
    several = np.flatnonzero(margin <= width)
    scores = atoms.gains[several] - prices[atoms.group[several]]
    best = scores >= scores.max(axis=1, keepdims=True) - width[several, None]
    sums: dict[tuple[int, tuple[int, ...]], NDArray[np.float64]] = {}
    for j, is_best in zip(several, best, strict=True):
        members = tuple(np.flatnonzero(is_best).tolist())
        weights = atoms.mass[j] * relaxed.fractions[j, list(members)]
        at = (int(atoms.group[j]), members)
        sums[at] = sums.get(at, np.zeros(len(members))) + weights
    return {at: tuple((w / w.sum()).tolist()) for at, w in sums.items() if w.sum() > 0}
