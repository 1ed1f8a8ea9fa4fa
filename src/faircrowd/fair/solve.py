"""One problem to labels: the exact thresholds for two classes and groups, the program otherwise; F1 by Dinkelbach."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np
from numpy.typing import NDArray

from faircrowd.errors import OptionError
from faircrowd.exact.hashing import draw, task_keys
from faircrowd.fair.objective import Gain, expected_f1, f1_bound, f1_gain
from faircrowd.fair.program.assign import (
    apart_from,
    atom_labels,
    atom_law,
    drawn_labels,
    free_labels,
    free_law,
    steps_of,
)
from faircrowd.fair.program.atoms import Atoms, merge
from faircrowd.fair.program.dual import margins, prices_of
from faircrowd.fair.program.many_tasks import MOST, solve_core
from faircrowd.fair.program.relaxed import Relaxed, solve_relaxed
from faircrowd.fair.program.rounding import round_counts
from faircrowd.fair.program.strict import strict_counts
from faircrowd.fair.tasks.population import Tasks
from faircrowd.fair.tasks.problem import Problem
from faircrowd.fair.thresholds.labels import coin_labels, coin_law, cut_labels, own_law, own_marks
from faircrowd.fair.thresholds.relaxed import Split, relaxed_split, tied_part
from faircrowd.fair.thresholds.scores import make_key
from faircrowd.fair.thresholds.sorted_group import SLACK, Side
from faircrowd.fair.thresholds.sorted_solve import best_labels, draw_law, sort_groups
from faircrowd.fair.thresholds.window import coin_at, cut_at, find_window, own_labels
from faircrowd.fair.tolerances import TIE, tie_widths
from faircrowd.votes.vocabulary import Codes

__all__ = ["Solved", "solve"]

Ties = dict[tuple[int, tuple[int, ...]], tuple[float, ...]]
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
        tally = problem.tally(solved.labels, solved.gain)
        if decision == "deterministic":
            reached = tally.values(solved.gain)[1]
        else:
            if not isinstance(problem, Problem):
                raise OptionError("objective='f1' with a coin is for tasks in memory; use decision='deterministic'.")
            reached = expected_f1(problem, solved.probabilities[:, 1])
        if reached <= ratio + 1e-15:
            break
        ratio = reached
    assert solved is not None  # noqa: S101 - at least one step
    mean = float(tally.beliefs[1] / tally.mass.sum())
    bound, dual_bound = (f1_bound(mean, ratio, found) for found in (solved.bound, solved.dual_bound))
    return replace(solved, bound=bound, dual_bound=dual_bound, solver=f"Dinkelbach over {solved.solver}")


def _solve_thresholds(problem: Problem, gain: Gain, epsilon: float, decision: str, random_state: int) -> Solved:
    if problem.weights is not None:
        return _solve_weighted(problem, gain, epsilon, decision, random_state)
    key = make_key(gain, problem.has_odds)
    own = own_labels(problem, key, by_cost=not gain.is_accuracy)
    base = float(gain.offset[0] + sum(w * p for w, p in zip(gain.matrix[:, 0], own.beliefs, strict=True) if w))
    if abs(own.signed_gap) <= epsilon + SLACK:
        marks = (key, not gain.is_accuracy, problem.ties == "last")
        labels, value = problem.emit(own_marks, *marks), base + own.gain
        law = partial(problem.emit, own_law, *marks)
        zero = np.zeros((2, 2))
        return Solved(labels, law, zero, _own_ties(problem.ties), gain, value, value, True, "nothing to change")
    is_whole = decision == "deterministic"
    window = find_window(problem, key, own, epsilon, whole=is_whole)
    coins = [coin_at(window, a) for a in (0, 1)]
    coin = (key, (coins[0][0], coins[1][0]), (coins[0][1], coins[1][1]))
    if is_whole:
        cuts = tuple(cut_at(problem, key, window, a, random_state) for a in (0, 1))
        labels = problem.emit(cut_labels, key, cuts, random_state)
    else:
        labels = problem.emit(coin_labels, *coin, random_state)
    multipliers, ties = _threshold_rule(window.sides, window.split, problem.ties)
    bound = base + window.split.bound
    law = partial(problem.emit, coin_law, *coin)
    return Solved(labels, law, multipliers, ties, gain, bound, bound, True, "thresholds by selection, exact")


def _solve_weighted(problem: Problem, gain: Gain, epsilon: float, decision: str, random_state: int) -> Solved:
    found = sort_groups(problem, gain, random_state)
    split = relaxed_split(found.sides, epsilon)
    multipliers, ties = _threshold_rule(found.sides, split, problem.ties)
    law, bound = draw_law(problem, found, split), found.base + split.bound
    if decision == "deterministic":
        labels = best_labels(problem, found, epsilon)
    else:
        labels = draw(law(), lambda rows: task_keys(problem.tasks, rows, random_state))
    exact = decision != "deterministic"
    return Solved(labels, law, multipliers, ties, gain, bound, bound, exact, "one sort of each group, exact")


def _threshold_rule(sides: tuple[Side, Side], split: Split, ties: str) -> tuple[NDArray[np.float64], Ties]:
    """Return the multipliers of thresholds, and the weights of the labels of tasks at them."""
    multipliers = 0.5 * split.beta * np.array([[1.0, -1.0], [-1.0, 1.0]])
    weights: Ties = {}
    for a in (0, 1):
        part = tied_part(sides[a], split, a) if split.beta or any(split.tied) else None
        if part is not None:
            weights[a, (0, 1)] = (1.0 - part, part)
        elif split.beta == 0.0:
            weights[a, (0, 1)] = _own_ties(ties)[a, (0, 1)]
    return multipliers, weights


def _own_ties(ties: str) -> Ties:
    return {(a, (0, 1)): (0.0, 1.0) if ties == "last" else (1.0, 0.0) for a in (0, 1)}


def _solve_program(
    problem: Problem, gain: Gain, epsilon: float, decision: str, random_state: int, strict: bool
) -> Solved:
    if strict and problem.weights is not None:
        raise OptionError("strict=True counts tasks, and with sample_weight they count differently; leave one out.")
    free = problem.emit(free_labels, gain)
    tally = problem.tally(free, gain)
    if np.ptp(tally.rates, axis=0).max() <= epsilon:
        return _unchanged(problem, gain, free, tally.gain_of_labels(gain))
    if problem.weights is not None:
        return _solve_weights(problem, gain, epsilon, decision, random_state)
    mass = problem.sizes.astype(np.float64)
    atoms, relaxed = solve_core(problem, gain, epsilon)
    ties = _tie_weights(atoms, mass, relaxed)
    bound, solver, optimal = relaxed.bound, relaxed.solver, decision != "deterministic"
    prices = prices_of(relaxed.multipliers, mass)
    coins = (gain, prices, apart_from(atoms, mass, relaxed.multipliers, relaxed.fractions))
    law = partial(problem.emit, atom_law, *coins)
    if decision == "randomized":
        labels = problem.emit(drawn_labels, *coins, random_state)
        return Solved(labels, law, relaxed.multipliers, ties, gain, bound, bound, optimal, solver)
    if strict:
        if atoms.rest is not None:
            raise OptionError(f"strict=True is for up to {MOST:,} different tasks; leave it out.")
        kept = strict_counts(atoms, mass, relaxed, epsilon)
        counts = kept.counts
        value = float((counts * atoms.gains).sum() / mass.sum())
        bound, solver, optimal = kept.bound, f"{solver}, then integer program", kept.bound - value <= 1e-9
    else:
        counts = _rounded(atoms, mass, relaxed, epsilon)
    apart = apart_from(atoms, mass, relaxed.multipliers, counts / atoms.mass[:, None])
    where = np.searchsorted(atoms.hashes, apart.hashes)  # type: ignore[arg-type]
    steps = steps_of(problem, gain, prices, apart, counts[where], random_state)
    labels = problem.emit(atom_labels, gain, prices, apart, steps, random_state)
    return Solved(labels, law, relaxed.multipliers, ties, gain, bound, relaxed.bound, optimal, solver)


def _solve_weights(problem: Problem, gain: Gain, epsilon: float, decision: str, random_state: int) -> Solved:
    mass = problem.group_weights()
    atoms = merge(gain.of(problem.posterior), problem.group, problem.weights)
    relaxed = solve_relaxed(atoms, mass, epsilon)
    of_task = atoms.of_task
    assert of_task is not None  # noqa: S101 - merge gives it

    def law() -> NDArray[np.float64]:
        return np.asarray(relaxed.fractions[of_task])

    if decision == "randomized":
        labels = draw(law(), lambda rows: task_keys(problem.tasks, rows, random_state))
    else:  # whole counts mean nothing where tasks weigh differently
        labels = _spread_weight(problem, of_task, relaxed, random_state)
    ties, bound = _tie_weights(atoms, mass, relaxed), relaxed.bound
    optimal = decision != "deterministic"
    return Solved(labels, law, relaxed.multipliers, ties, gain, bound, bound, optimal, relaxed.solver)


def _unchanged(problem: Problem, gain: Gain, free: Codes, value: float) -> Solved:
    """Keep the labels without a constraint, which are within epsilon."""
    ties: Ties = {}
    (kinds,) = problem.gather(_tied_kinds, gain)
    for a, label, *marks in np.unique(kinds, axis=0).tolist():
        members = tuple(np.flatnonzero(marks).tolist())
        ties[a, members] = tuple(float(k == label) for k in members)
    zero = np.zeros((problem.n_groups, problem.n_classes))
    law = partial(problem.emit, free_law, gain)
    return Solved(free, law, zero, ties, gain, value, value, True, "nothing to change")


def _tied_kinds(tasks: Tasks, gain: Gain) -> tuple[NDArray[np.int64], ...]:
    """Return group, label and tied labels of tasks whose best labels are tied, each kind once."""
    gains, free = gain.of(tasks.posterior), free_labels(tasks, gain)
    tied = gains >= gains.max(axis=1, keepdims=True) - TIE
    several = np.flatnonzero(tied.sum(axis=1) > 1)
    return (np.unique(np.column_stack([tasks.group[several], free[several], tied[several]]), axis=0),)


def _rounded(atoms: Atoms, mass: NDArray[np.float64], relaxed: Relaxed, epsilon: float) -> NDArray[np.int64]:
    """Round to whole counts; to those without a gap, if epsilon is less than a task and these are better."""
    counts = round_counts(atoms, mass, relaxed, epsilon)
    if epsilon == 0 or epsilon * mass.min() >= 1 or atoms.rest is not None:
        return counts
    even = round_counts(atoms, mass, solve_relaxed(atoms, mass, 0.0), 0.0)
    ranked = [(max(_gap(atoms, mass, c) - epsilon, _SAME), -float((c * atoms.gains).sum())) for c in (counts, even)]
    return counts if ranked[0] <= ranked[1] else even


def _gap(atoms: Atoms, mass: NDArray[np.float64], counts: NDArray[np.int64]) -> float:
    rates = [np.bincount(atoms.group, weights=column, minlength=mass.size) / mass for column in counts.T]
    return float(np.ptp(np.stack(rates, axis=1), axis=0).max())


def _spread_weight(problem: Problem, of_task: NDArray[np.int64], relaxed: Relaxed, random_state: int) -> Codes:
    """Label the tasks of each atom in turn, so that the weight of each label is its fraction to within one task."""
    best: Codes = np.argmax(relaxed.fractions, axis=1).astype(np.int32)
    labels: Codes = best[of_task]
    assert problem.weights is not None  # noqa: S101 - this is for weights
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


def _tie_weights(atoms: Atoms, mass: NDArray[np.float64], relaxed: Relaxed) -> Ties:
    """Average the solution over the atoms of a group whose best classes are the same set: theorem recipe_multi."""
    margin, _ = margins(atoms, mass, relaxed.multipliers)
    prices = prices_of(relaxed.multipliers, mass)
    width = tie_widths(prices, mass / mass.sum())[atoms.group]
    several = np.flatnonzero(margin <= width)
    scores = atoms.gains[several] - prices[atoms.group[several]]
    best = scores >= scores.max(axis=1, keepdims=True) - width[several, None]
    sums: dict[tuple[int, tuple[int, ...]], NDArray[np.float64]] = {}
    for j, marks in zip(several, best, strict=True):
        members = tuple(np.flatnonzero(marks).tolist())
        weights = atoms.mass[j] * relaxed.fractions[j, list(members)]
        at = (int(atoms.group[j]), members)
        sums[at] = sums.get(at, np.zeros(len(members))) + weights
    return {at: tuple((w / w.sum()).tolist()) for at, w in sums.items() if w.sum() > 0}
