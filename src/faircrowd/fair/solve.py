"""One problem to labels: exact thresholds for two classes and two groups, the linear program otherwise."""

from dataclasses import replace

from faircrowd.fair.constraint import Constraint
from faircrowd.fair.left_out import with_left_out
from faircrowd.fair.objective import Gain, f1_bound, f1_gain
from faircrowd.fair.program.solve import solve_program
from faircrowd.fair.solution import Solution
from faircrowd.fair.tasks.population import Population, Rows
from faircrowd.fair.thresholds.solve import solve_thresholds
from faircrowd.fair.tolerances import F1_STEP

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
    """Find the best labels that keep the constraint."""
    if gain.name == "f1":
        return _solve_f1(problem, constraint, decision, random_state, strict)
    return _solve_affine(problem, gain, constraint, decision, random_state, strict)


def _solve_affine(
    problem: Population[Rows], gain: Gain, constraint: Constraint, decision: str, random_state: int, strict: bool
) -> Solution[Rows]:
    if problem.left_out:
        compared = problem.compared()
        solved = _solve_affine(compared, gain, constraint, decision, random_state, strict)
        return with_left_out(problem, compared, solved)
    if constraint.has_thresholds(problem.n_groups, problem.n_classes):
        return solve_thresholds(problem, gain, constraint.epsilon, decision, random_state)
    return solve_program(problem, gain, constraint, decision, random_state, strict)


def _solve_f1(
    problem: Population[Rows], constraint: Constraint, decision: str, random_state: int, strict: bool
) -> Solution[Rows]:
    """Raise the ratio until the best labelling for the gain 2p - ratio gains nothing more (Dinkelbach's method)."""
    ratio = 0.0
    for _ in range(_MAX_F1_STEPS):
        solved = _solve_affine(problem, f1_gain(ratio), constraint, decision, random_state, strict)
        tally = problem.tally(solved.labels, solved.gain)
        if decision == "deterministic":
            reached = tally.values(solved.gain)[1]
        else:
            reached = problem.expected_f1(solved.probabilities)
        if reached <= ratio + F1_STEP:
            break
        ratio = reached
    mean = float(tally.beliefs[1] / tally.mass.sum())
    bound, dual_bound = (f1_bound(mean, ratio, found) for found in (solved.bound, solved.dual_bound))
    return replace(solved, bound=bound, dual_bound=dual_bound, solver=f"Dinkelbach over {solved.solver}")
