"""Two classes and two groups, problem to labels: the exact thresholds."""

from functools import partial

import numpy as np
from numpy.typing import NDArray

from faircrowd.exact.hashing import draw, task_keys
from faircrowd.fair.objective import Gain
from faircrowd.fair.solution import Solution, TieWeights
from faircrowd.fair.tasks.problem import Problem
from faircrowd.fair.thresholds.labels import coin_labels, coin_law, cut_labels, own_law, own_marks
from faircrowd.fair.thresholds.relaxed import Split, relaxed_split, tied_part
from faircrowd.fair.thresholds.scores import make_key
from faircrowd.fair.thresholds.sorted_group import Side
from faircrowd.fair.thresholds.sorted_solve import best_labels, draw_law, sort_groups
from faircrowd.fair.thresholds.window import coin_at, cut_at, find_window, own_labels
from faircrowd.fair.tolerances import SLACK

__all__ = ["solve_thresholds"]


def solve_thresholds(problem: Problem, gain: Gain, epsilon: float, decision: str, random_state: int) -> Solution:
    """Find the best labels within epsilon, exactly."""
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
        return Solution(labels, law, zero, _own_ties(problem.ties), gain, value, value, True, "nothing to change")
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
    return Solution(labels, law, multipliers, ties, gain, bound, bound, True, "thresholds by selection, exact")


def _solve_weighted(problem: Problem, gain: Gain, epsilon: float, decision: str, random_state: int) -> Solution:
    found = sort_groups(problem, gain, random_state)
    split = relaxed_split(found.sides, epsilon)
    multipliers, ties = _threshold_rule(found.sides, split, problem.ties)
    law, bound = draw_law(problem, found, split), found.base + split.bound
    if decision == "deterministic":
        labels = best_labels(problem, found, epsilon)
    else:
        labels = draw(law(), lambda rows: task_keys(problem.tasks, rows, random_state))
    exact = decision != "deterministic"
    return Solution(labels, law, multipliers, ties, gain, bound, bound, exact, "one sort of each group, exact")


def _threshold_rule(sides: tuple[Side, Side], split: Split, ties: str) -> tuple[NDArray[np.float64], TieWeights]:
    """Return the multipliers of thresholds, and the weights of the labels of tasks at them."""
    multipliers = 0.5 * split.beta * np.array([[1.0, -1.0], [-1.0, 1.0]])
    weights: TieWeights = {}
    for a in (0, 1):
        part = tied_part(sides[a], split, a) if split.beta or any(split.tied) else None
        if part is not None:
            weights[a, (0, 1)] = (1.0 - part, part)
        elif split.beta == 0.0:
            weights[a, (0, 1)] = _own_ties(ties)[a, (0, 1)]
    return multipliers, weights


def _own_ties(ties: str) -> TieWeights:
    return {(a, (0, 1)): (0.0, 1.0) if ties == "last" else (1.0, 0.0) for a in (0, 1)}
