"""What each of some epsilons gives: the numbers of the labels that ``make_fair`` would return for it.

Headline, slider, table and certificate all show these numbers, so that they agree. The frontier
(:mod:`faircrowd.fair.frontier`) is the best that randomized labels reach on average: a bound on these labels.
"""

from collections.abc import Collection
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from faircrowd._steps import count_steps
from faircrowd.fair.make import FairResult
from faircrowd.fair.objective import make_gain
from faircrowd.fair.rate_constraint import make_constraint, prices_of
from faircrowd.fair.rule import thresholds_of
from faircrowd.fair.solution import Solution
from faircrowd.fair.solve import solve
from faircrowd.fair.tasks.left_out import compared_gap
from faircrowd.fair.tasks.problem import Problem
from faircrowd.votes.vocabulary import Codes

__all__ = ["Choice", "choice_of", "choices", "is_strict_elsewhere"]


class Choice(NamedTuple):
    """The labels of one epsilon, in numbers.

    Attributes
    ----------
    epsilon, gap : float
        The gap allowed, and the gap reached.
    value, bound, believed_accuracy : float
        The objective, what no labels within epsilon exceed, and the believed accuracy. Among several epsilons, bounds
        never rise as epsilon falls: what bounds all labels within an epsilon bounds those within a smaller one.
    rates : ndarray, shape (n_groups, n_classes)
    moved : ndarray of int64, shape (n_groups, n_classes, n_classes)
        Number of tasks by group, the aggregator's own label and the label.
    thresholds : ndarray, shape (n_groups,), or None
        Two classes: the posterior of the second above which a task of each group gets it.
    real_accuracy : float or None
        The share of right labels among the tasks whose truth is known.
    """

    epsilon: float
    gap: float
    value: float
    bound: float
    believed_accuracy: float
    rates: NDArray[np.float64]
    moved: NDArray[np.int64]
    thresholds: NDArray[np.float64] | None = None
    real_accuracy: float | None = None

    @property
    def changed(self) -> int:
        """How many labels differ from the aggregator's own."""
        return int(self.changed_in_groups.sum())

    @property
    def changed_in_groups(self) -> NDArray[np.int64]:
        """The same in each group."""
        return np.asarray(self.moved.sum(axis=(1, 2)) - np.einsum("akk->a", self.moved))


def choices(result: FairResult, epsilons: Collection[float], truth: Codes | None = None) -> list[Choice]:
    """Return what each epsilon gives with the objective, decision and seed of a result, in their order.

    At the epsilon of the result, these are the numbers of its labels. Labels of other epsilons are found as
    ``make_fair`` finds them, with ``strict`` if the result was and :func:`is_strict_elsewhere`.

    Parameters
    ----------
    result : FairResult
        Of tasks in memory.
    epsilons : collection of float
    truth : ndarray of int32, optional
        The true class of each task, to score by: -1 where it is not known, -2 where it is not one of the classes.

    Examples
    --------
    >>> from faircrowd import make_fair
    >>> p = np.array([0.9, 0.8, 0.7, 0.6, 0.4, 0.3, 0.2, 0.1])
    >>> fair = make_fair(np.stack([1 - p, p], axis=1), [1, 1, 1, 1, 0, 0, 0, 0], epsilon=0.5)
    >>> [(found.epsilon, found.gap, found.changed) for found in choices(fair, [0.0, 0.5, 1.0])]
    [(0.0, 0.0, 4), (0.5, 0.5, 2), (1.0, 1.0, 0)]
    """
    problem, asked = result.problem, result.certificate
    named = asked.objective in ("accuracy", "f1")
    gain = result.solved.gain
    gain = make_gain(asked.objective, problem.n_classes, gain.positive) if named else gain
    found, strict = [], is_strict_elsewhere(result)
    for epsilon in count_steps(epsilons, "epsilon"):
        solved = result.solved
        if epsilon != asked.epsilon:
            constraint = make_constraint("parity", epsilon)
            solved = solve(problem, gain, constraint, asked.decision, result.rule.random_state, strict)
        found.append(choice_of(problem, solved, epsilon, truth))
    falling = np.argsort([-at.epsilon for at in found], kind="stable")
    bounds = np.minimum.accumulate([found[i].bound for i in falling])
    for i, bound in zip(falling, bounds, strict=True):
        found[i] = found[i]._replace(bound=float(bound))
    return found


def is_strict_elsewhere(result: FairResult) -> bool:
    """Return whether ``choices`` keeps every epsilon to the letter, as the result does.

    That takes no longer with two classes and two groups; otherwise an integer program takes up to a minute for each
    epsilon, and labels may exceed it as they do without ``strict``.
    """
    compared = result.problem.compared()
    is_quick = make_constraint("parity", 0.0).has_thresholds(compared.n_groups, compared.n_classes)
    return result.strict and is_quick


def choice_of(problem: Problem, solved: Solution[NDArray[Any]], epsilon: float, truth: Codes | None = None) -> Choice:
    """Return the numbers of the labels of a solution, which are those of its certificate."""
    gain, tally = solved.gain, problem.tally(solved.labels, solved.gain)
    thresholds = None
    if problem.n_classes == 2:
        prices = prices_of(solved.multipliers, problem.group_weights())
        thresholds = thresholds_of(prices, gain.matrix, gain.offset)
    real = None
    if truth is not None and (truth != -1).any():
        known = truth != -1
        real = float((solved.labels[known] == truth[known]).mean())
    return Choice(
        epsilon,
        compared_gap(problem, tally.rates),
        tally.values(gain)[1],
        solved.bound,
        tally.accuracies[1],
        tally.rates,
        tally.tasks,
        thresholds,
        real,
    )
