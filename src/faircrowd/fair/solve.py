"""One problem to labels: the exact thresholds for two classes and groups, the program otherwise; F1 by Dinkelbach."""

from dataclasses import replace

from faircrowd.errors import OptionError
from faircrowd.fair.objective import Gain, expected_f1, f1_bound, f1_gain
from faircrowd.fair.program.solve import solve_program
from faircrowd.fair.solution import Solution
from faircrowd.fair.tasks.problem import Problem
from faircrowd.fair.thresholds.solve import solve_thresholds

__all__ = ["solve"]

_MOST_STEPS = 60


def solve(
    problem: Problem, gain: Gain, epsilon: float, decision: str, random_state: int, strict: bool = False
) -> Solution:
    """Find the best labels within epsilon."""
    if gain.name == "f1":
        return _solve_f1(problem, epsilon, decision, random_state, strict)
    return _solve_affine(problem, gain, epsilon, decision, random_state, strict)


def _solve_affine(
    problem: Problem, gain: Gain, epsilon: float, decision: str, random_state: int, strict: bool
) -> Solution:
    if problem.n_classes == 2 and problem.n_groups == 2:
        return solve_thresholds(problem, gain, epsilon, decision, random_state)
    return solve_program(problem, gain, epsilon, decision, random_state, strict)


def _solve_f1(problem: Problem, epsilon: float, decision: str, random_state: int, strict: bool) -> Solution:
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
