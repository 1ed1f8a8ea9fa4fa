"""Any number of classes and groups, from problem to labels: the linear program, then labels of whole tasks."""

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from faircrowd.errors import OptionError
from faircrowd.fair.objective import Gain
from faircrowd.fair.program.assign import (
    find_split_atoms,
    label_cuts,
    label_probabilities,
    labels_by_cuts,
    unconstrained_labels,
    unconstrained_probabilities,
)
from faircrowd.fair.program.atoms import Atoms, merge, merge_by_weight, number_groups, number_weighted_groups
from faircrowd.fair.program.dual import atom_margins
from faircrowd.fair.program.many_tasks import MAX_GATHERED_TASKS, in_order, solve_many
from faircrowd.fair.program.relaxed import Relaxed, solve_relaxed
from faircrowd.fair.program.rounding import round_counts
from faircrowd.fair.program.strict import strict_counts
from faircrowd.fair.program.weighted_rounding import round_weighted_counts
from faircrowd.fair.rate_constraint import Constraint, prices_of, rates_of
from faircrowd.fair.solution import Solution, TieWeights
from faircrowd.fair.tasks.population import Population, Rows, Tasks
from faircrowd.fair.tasks.problem import Problem
from faircrowd.fair.tolerances import NO_EXCESS, PROVED_OPTIMAL_STRICT, TIE, tie_widths
from faircrowd.fair.whole_tasks.allowance import Allowance
from faircrowd.fair.whole_tasks.drawn_counts import draw_counts
from faircrowd.fair.whole_tasks.drawn_weights import draw_weighted_labels
from faircrowd.votes.vocabulary import Codes

__all__ = ["solve_program"]

_FEW_TASKS = 10
"""An epsilon of fewer tasks of the smallest group than this is also rounded down to whole ones."""


def solve_program(
    problem: Population[Rows],
    gain: Gain,
    constraint: Constraint,
    allowed: Sequence[Allowance],
    random_state: int,
    strict: bool,
) -> Solution[Rows]:
    """Find the best labels that keep the constraint, and a bound on what any such labels gain.

    Parameters
    ----------
    allowed : sequence of Allowance
        What is allowed to deterministic labels, in the order in which it is tried. If empty, labels are drawn from the
        best randomized ones.
    strict : bool
        Whether deterministic labels are found by an integer program.
    """
    free = problem.emit(unconstrained_labels, gain)
    tally = problem.tally(free, gain)
    if constraint.is_kept(tally.rates):
        return _unchanged(problem, gain, free, tally.gain_of_labels(gain))
    if problem.weights is not None:
        return _solve_weights(problem, gain, constraint, allowed, random_state, strict)
    numbers = number_groups(problem, gain)
    mass = in_order(problem.sizes.astype(np.float64), numbers)
    # Two classes are solved by one sort of all atoms; for small epsilons see _rounded.
    needs_all = strict or problem.n_classes == 2 or constraint.epsilon * float(mass.min()) < _FEW_TASKS
    atoms, relaxed = solve_many(problem, gain, constraint, numbers=numbers, gather_all=needs_all)
    if strict and atoms.decided is not None:
        raise OptionError(f"strict=True is for up to {MAX_GATHERED_TASKS:,} different tasks; leave it out.")
    found = _WholeCounts.drawn(relaxed.bound)
    if allowed:
        found = _whole_counts(atoms, mass, relaxed, relaxed.fractions, constraint, allowed, strict)
        if not found.is_kept and not needs_all and atoms.decided is not None:
            # Counts of a group cannot be rounded if few or none of its tasks were gathered.
            atoms, relaxed = solve_many(problem, gain, constraint, numbers=numbers, gather_all=True)
            found = _whole_counts(atoms, mass, relaxed, relaxed.fractions, constraint, allowed, strict)
    prices = prices_of(relaxed.multipliers, mass)[numbers]
    split = find_split_atoms(atoms, mass, relaxed.multipliers, relaxed.fractions, numbers)
    probabilities = partial(problem.emit, label_probabilities, gain, prices, split)
    if allowed:
        split = find_split_atoms(atoms, mass, relaxed.multipliers, found.counts, numbers, atoms.mass)
        counts = found.counts[np.searchsorted(atoms.hashes, split.hashes)]  # type: ignore[arg-type]
    else:
        where = np.searchsorted(atoms.hashes, split.hashes)  # type: ignore[arg-type]
        counts = _drawn_counts(atoms, where, split.shares, random_state)
    cuts = label_cuts(problem, gain, prices, split, counts, random_state, by_evidence=bool(allowed))
    labels = problem.emit(labels_by_cuts, gain, prices, split, cuts, random_state)
    return _solution(labels, probabilities, gain, atoms, mass, relaxed, found, numbers, strict)


def _solve_weights(
    population: Population[Rows],
    gain: Gain,
    constraint: Constraint,
    allowed: Sequence[Allowance],
    random_state: int,
    strict: bool,
) -> Solution[Rows]:
    """Solve for tasks with weights, which are in memory."""
    problem = population.in_memory("sample_weight", "leave it out")
    assert problem.weights is not None  # noqa: S101 - this is for weights
    gains = gain.of(problem.posterior)
    numbers = number_weighted_groups(gains, problem.group, problem.weights)
    mass, group = in_order(problem.group_weights(), numbers), numbers[problem.group]
    atoms = merge(gains, group, problem.weights)
    relaxed = solve_relaxed(atoms, mass, constraint)
    of_task = atoms.of_task
    assert of_task is not None  # noqa: S101 - merge gives it
    fractions = relaxed.fractions

    def probabilities() -> Rows:
        return population.from_memory(np.asarray(fractions[of_task]))

    if allowed:
        by_weight = merge_by_weight(gains, group, problem.weights)
        assert by_weight.of_task is not None  # noqa: S101 - merge_by_weight gives it
        shares = np.empty(by_weight.gains.shape)
        shares[by_weight.of_task] = fractions[of_task]
        found = _whole_counts(by_weight, mass, relaxed, shares, constraint, allowed, strict)
        labels = _labels_of_counts(problem, by_weight.of_task, found.counts, random_state)
    else:
        found = _WholeCounts.drawn(relaxed.bound)
        labels = draw_weighted_labels(problem, np.asarray(fractions[of_task]), random_state)
    emitted = population.from_memory(labels)
    return _solution(emitted, probabilities, gain, atoms, mass, relaxed, found, numbers, strict)


class _WholeCounts(NamedTuple):
    """How many tasks of each atom get each label, by how much the constraint may be exceeded, and what is proved."""

    counts: NDArray[np.int64]
    excess: float
    bound: float
    optimal: bool
    is_kept: bool = True

    @classmethod
    def drawn(cls, bound: float) -> "_WholeCounts":
        """Return what holds for labels that are drawn from the best randomized ones: there is nothing to round."""
        return cls(np.empty((0, 0), dtype=np.int64), 0.0, bound, optimal=True)


def _whole_counts(
    atoms: Atoms,
    mass: NDArray[np.float64],
    relaxed: Relaxed,
    fractions: NDArray[np.float64],
    constraint: Constraint,
    allowed: Sequence[Allowance],
    strict: bool,
) -> _WholeCounts:
    """Round to whole tasks by the first allowance that is enough; ``fractions`` are those of the atoms."""
    total = float(mass.sum())
    if strict:
        kept = strict_counts(atoms, mass, relaxed, constraint)
        is_best = kept.bound - atoms.gained(kept.counts) / total <= PROVED_OPTIMAL_STRICT
        return _WholeCounts(kept.counts, 0.0, kept.bound, is_best)
    for excess, most_loss in allowed:
        wider = constraint.with_epsilon(min(constraint.epsilon + excess, 1.0))
        if atoms.task_weight is None:
            counts = _rounded(atoms, mass, relaxed, wider)
        else:
            counts = round_weighted_counts(atoms, mass, fractions, relaxed.multipliers, wider)
        is_kept = wider.excess(rates_of(atoms.totals(counts, mass.size), mass)) <= NO_EXCESS
        if is_kept and relaxed.bound - atoms.gained(counts) / total <= most_loss:
            break
    return _WholeCounts(counts, excess, relaxed.bound, optimal=False, is_kept=is_kept)


def _drawn_counts(
    atoms: Atoms, where: NDArray[np.int64], shares: NDArray[np.float64], random_state: int
) -> NDArray[np.int64]:
    """Draw how many tasks of the split atoms get each label."""
    counts = np.zeros(shares.shape, dtype=np.int64)
    for a in np.unique(atoms.group[where]):
        own = np.flatnonzero(atoms.group[where] == a)
        counts[own] = draw_counts(atoms.mass[where[own], None] * shares[own], random_state, int(a))
    return counts


def _labels_of_counts(
    problem: Problem, of_task: NDArray[np.int64], counts: NDArray[np.int64], random_state: int
) -> Codes:
    """Label the tasks of each atom in order, as many with each label as the counts say."""
    labels: Codes = np.argmax(counts, axis=1).astype(np.int32)[of_task]
    mixed = np.flatnonzero((counts > 0).sum(axis=1) > 1)
    rows = np.flatnonzero(np.isin(of_task, mixed))
    rows = problem.ordered(rows, random_state, of_task[rows])
    bounds = np.searchsorted(of_task[rows], [mixed, mixed + 1])
    for atom, first, last in zip(mixed, *bounds, strict=True):
        labels[rows[first:last]] = np.repeat(np.arange(counts.shape[1]), counts[atom])
    return labels


def _solution(
    labels: Rows,
    probabilities: Callable[[], Rows],
    gain: Gain,
    atoms: Atoms,
    mass: NDArray[np.float64],
    relaxed: Relaxed,
    found: _WholeCounts,
    numbers: Codes,
    strict: bool,
) -> Solution[Rows]:
    """Return the solution for the groups as they are numbered in the problem."""
    groups = np.argsort(numbers)
    ties: TieWeights = {
        (int(groups[a]), members): weights for (a, members), weights in _tie_weights(atoms, mass, relaxed).items()
    }
    solver = f"{relaxed.solver}, then integer program" if strict else relaxed.solver
    bounds = found.bound, relaxed.bound
    multipliers = relaxed.multipliers[numbers]
    return Solution(labels, probabilities, multipliers, ties, gain, *bounds, found.optimal, solver, found.excess)


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
    """Round to whole tasks; if epsilon is but a few tasks, also round from whole numbers of them, and keep the best.

    Those are no task, and as many tasks of the smallest group as epsilon holds: with groups of one size, the randomized
    solution of such an epsilon is often one of whole tasks.
    """
    counts = round_counts(atoms, mass, relaxed, constraint)
    n_tasks = constraint.epsilon * float(mass.min())
    if constraint.epsilon == 0 or n_tasks >= _FEW_TASKS or atoms.decided is not None:
        return counts

    def rank(counts: NDArray[np.int64]) -> tuple[float, float]:
        excess = constraint.excess(rates_of(atoms.totals(counts, mass.size), mass))
        return max(excess, NO_EXCESS), -atoms.gained(counts)

    for whole in sorted({0, math.floor(n_tasks + NO_EXCESS)}):
        if -rank(counts)[1] >= float(mass.sum()) * relaxed.bound - 1e-9:
            break  # nothing to gain
        other = constraint.with_epsilon(whole / float(mass.min()))
        new = round_counts(atoms, mass, solve_relaxed(atoms, mass, other), other)
        counts = counts if rank(counts) <= rank(new) else new
    return counts


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
