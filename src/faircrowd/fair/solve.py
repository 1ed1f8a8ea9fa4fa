"""One problem to labels: exact thresholds for two classes and two groups, the linear program otherwise."""

import math
from collections.abc import Sequence
from dataclasses import replace

from faircrowd.fair.objective import Gain, f1_bound, f1_gain
from faircrowd.fair.program.solve import solve_program
from faircrowd.fair.rate_constraint import Constraint
from faircrowd.fair.solution import Solution
from faircrowd.fair.tasks.left_out import with_left_out
from faircrowd.fair.tasks.population import Population, Rows
from faircrowd.fair.thresholds.solve import solve_thresholds
from faircrowd.fair.tolerances import F1_STEP
from faircrowd.fair.whole_tasks.allowance import TO_THE_LETTER, Allowance, allowances

__all__ = ["solve"]

_MAX_F1_STEPS = 60


def solve(
    problem: Population[Rows],
    gain: Gain,
    constraint: Constraint,
    decision: str,
    random_state: int,
    strict: bool = False,
) -> Solution[Rows]:
    """Find the best labels that keep the constraint; labels of whole tasks may exceed it a little unless ``strict``."""
    allowed: tuple[Allowance, ...] = ()
    if decision == "deterministic":
        allowed = TO_THE_LETTER if strict else allowances(problem.compared(), gain)
    strict = strict and bool(allowed)
    if gain.name == "f1":
        return _solve_f1(problem, gain.positive, constraint, allowed, random_state, strict)
    return _solve_affine(problem, gain, constraint, allowed, random_state, strict)


def _solve_affine(
    problem: Population[Rows],
    gain: Gain,
    constraint: Constraint,
    allowed: Sequence[Allowance],
    random_state: int,
    strict: bool,
) -> Solution[Rows]:
    if problem.left_out:
        compared = problem.compared()
        solved = _solve_affine(compared, gain, constraint, allowed, random_state, strict)
        return with_left_out(problem, compared, solved)
    if constraint.has_thresholds(problem.n_groups, problem.n_classes):
        return solve_thresholds(problem, gain, constraint.epsilon, allowed, random_state)
    return solve_program(problem, gain, constraint, allowed, random_state, strict)


def _solve_f1(
    problem: Population[Rows],
    positive: int,
    constraint: Constraint,
    allowed: Sequence[Allowance],
    random_state: int,
    strict: bool,
) -> Solution[Rows]:
    """Try what is allowed in turn, until the F1 of the labels is near enough to its bound."""
    if not allowed:
        return _raise_f1(problem, positive, constraint, (), random_state, strict)[0]
    for excess, most_loss in allowed:
        once = (Allowance(excess, math.inf),)
        solved, reached, mean = _raise_f1(problem, positive, constraint, once, random_state, strict)
        if mean <= 0 or solved.bound - reached <= most_loss / mean:
            break
    return solved


def _raise_f1(
    problem: Population[Rows],
    positive: int,
    constraint: Constraint,
    allowed: Sequence[Allowance],
    random_state: int,
    strict: bool,
) -> tuple[Solution[Rows], float, float]:
    """Raise the ratio until the best labelling for the gain 2p - ratio gains nothing more (Dinkelbach's method).

    Return the solution, its F1, and the mean posterior of the positive class.
    """
    ratio = 0.0
    for _ in range(_MAX_F1_STEPS):
        solved = _solve_affine(problem, f1_gain(ratio, positive), constraint, allowed, random_state, strict)
        if allowed:
            tally = problem.tally(solved.labels, solved.gain)
        else:
            tally = problem.expected_tally(solved.probabilities, solved.gain)
        reached = tally.values(solved.gain)[1]
        if reached <= ratio + F1_STEP:
            break
        ratio = reached
    mean = float(tally.beliefs[positive] / tally.mass.sum())
    bound, dual_bound = (f1_bound(mean, ratio, found) for found in (solved.bound, solved.dual_bound))
    solver = f"Dinkelbach over {solved.solver}"
    return replace(solved, bound=bound, dual_bound=dual_bound, solver=solver), reached, mean
