"""``make_fair``: a posterior and groups to fair labels."""

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from faircrowd._checks import check_choice, check_count, check_number, warn
from faircrowd.errors import DataWarning, OptionError
from faircrowd.fair.certificate import Certificate, certify
from faircrowd.fair.frontier import Frontier, trace_frontier
from faircrowd.fair.objective import Gain, make_gain
from faircrowd.fair.rule import FairRule
from faircrowd.fair.solution import Solution
from faircrowd.fair.solve import solve
from faircrowd.fair.tasks.problem import Problem
from faircrowd.fair.tasks.read_posterior import read_posterior
from faircrowd.fair.tasks.tally import Tally

if TYPE_CHECKING:
    from faircrowd.fair.margin import Margin

__all__ = ["FairResult", "make_fair", "solve_problem"]


@dataclass(frozen=True, eq=False)
class FairResult:
    """Fair labels and what comes with them.

    Attributes
    ----------
    labels
        A label a task, in the order of the posterior: a Series like an aggregator's, or an array for an
        array.
    probabilities
        The probability of each label under the best rule with a coin.
    rule : FairRule
        For new tasks.
    certificate : Certificate
    margin : Margin or None
        With ``confidence``: what is promised of all tasks like these, and what that rests on.
    frontier : Frontier
        Every epsilon at once (computed when first asked for).
    """

    problem: Problem
    solved: Solution
    rule: FairRule
    certificate: Certificate
    margin: "Margin | None"
    _trace: Callable[[], Frontier]

    @cached_property
    def labels(self) -> Any:
        """A label a task."""
        return self.problem.labels(self.solved.labels)

    @cached_property
    def probabilities(self) -> Any:
        """The probability of each label, a task and class."""
        return self.problem.frame(self.solved.probabilities)

    @cached_property
    def frontier(self) -> Frontier:
        """Gap, value and changed labels for every epsilon."""
        return self._trace()


def make_fair(
    posterior: Any,
    sensitive_features: Any,
    *,
    epsilon: float,
    objective: Any = "accuracy",
    decision: str = "deterministic",
    random_state: int = 0,
    strict: bool = False,
    sample_weight: Any = None,
    log_posterior: Any = None,
    evidence: Any = None,
    ties: str = "first",
    confidence: float | None = None,
) -> FairResult:
    """Turn any aggregator's posterior into the best labels whose gap between groups is at most epsilon.

    Parameters
    ----------
    posterior : frame or array-like, shape (n_tasks, n_classes)
        A frame indexed by task (or with a task column) with a column a class, or an array (tasks 0, 1, ...,
        classes 0, 1, ...).
    sensitive_features : Series, dict, frame or array-like
        The group of each task, by its id, or by position for an array. Several columns are intersected.
    epsilon : float
        The largest gap allowed, from 0 to 1: over classes, the largest difference between two groups' rates.
    objective : {"accuracy", "f1"} or array-like, shape (n_classes, n_classes)
        What is maximised; a matrix holds the gain (minus the cost) of each label (column) for each true class
        (row).
    decision : {"deterministic", "randomized"}
        The best labels without a coin; or a draw from the best rule with one.
    random_state : int
        Seed of draws, and of the order of equal tasks; each depends on it and the task's id alone.
    strict : bool
        More than two classes or groups, without a coin: keep epsilon to the letter, by an integer program.
        Otherwise whole labels may exceed it by less than 2 / (size of the smallest group), and mostly do not.
    sample_weight : array-like, shape (n_tasks,), optional
    log_posterior : like posterior, optional
        Logarithms; they order posteriors that round to 0 or 1.
    evidence : array-like, shape (n_tasks,), optional
        Number of votes: tasks of equal posterior are ordered by it.
    ties : {"first", "last"}
        The class of the aggregator's own label where its posterior is tied.
    confidence : float, optional
        Tighten epsilon, so that the gap of the rule on all tasks like these (not only on these) is within epsilon
        with this probability; :mod:`faircrowd.fair.margin` states the inequality. If the tasks are too few to
        promise it, a warning says so and the gap is made as small as it can be.

    Returns
    -------
    FairResult

    Examples
    --------
    >>> import numpy as np
    >>> p = np.array([0.9, 0.8, 0.7, 0.6, 0.4, 0.3, 0.2, 0.1])
    >>> fair = make_fair(np.stack([1 - p, p], axis=1), [1, 1, 1, 1, 0, 0, 0, 0], epsilon=0.5)
    >>> fair.labels
    array([1, 1, 1, 0, 1, 0, 0, 0])
    >>> fair.certificate.gap_before, fair.certificate.gap
    (1.0, 0.5)
    """
    problem = read_posterior(
        posterior,
        sensitive_features,
        sample_weight=sample_weight,
        log_posterior=log_posterior,
        evidence=evidence,
        ties=ties,
    )
    return solve_problem(
        problem,
        epsilon=epsilon,
        objective=objective,
        decision=decision,
        random_state=random_state,
        strict=strict,
        confidence=confidence,
    )


def solve_problem(
    problem: Problem,
    *,
    epsilon: float,
    objective: Any,
    decision: str,
    random_state: int,
    strict: bool = False,
    confidence: float | None = None,
) -> FairResult:
    """Solve, and gather rule, certificate and frontier."""
    epsilon = check_number("epsilon", epsilon, low=0, high=1)
    check_choice("decision", decision, ("deterministic", "randomized"))
    random_state = check_count("random_state", random_state)
    gain = make_gain(objective, problem.n_classes)
    margin = None if confidence is None else _margin(problem, epsilon, confidence)
    epsilon = epsilon if margin is None else margin.tightened
    start = time.perf_counter()
    solved = solve(problem, gain, epsilon, decision, random_state, strict)
    seconds = time.perf_counter() - start
    tally = problem.tally(solved.labels, solved.gain)
    rule = _rule(problem, solved, tally, epsilon, random_state)
    certificate = certify(
        problem.classes,
        problem.groups,
        tally,
        solved.gain,
        solved.multipliers,
        epsilon=epsilon,
        bound=solved.bound,
        dual_bound=solved.dual_bound,
        optimal=solved.optimal,
        thresholds=_words(rule),
        decision=decision,
        solver=solved.solver,
        seconds=seconds,
        promise=None if margin is None else asdict(margin),
    )
    return FairResult(problem, solved, rule, certificate, margin, lambda: trace_frontier(problem, gain, random_state))


def _margin(problem: Problem, epsilon: float, confidence: float) -> "Margin":
    from faircrowd.fair.margin import margin_for

    if problem.weights is not None:
        raise OptionError("confidence is for tasks of equal weight; leave sample_weight out.")
    found = margin_for(problem.sizes, problem.n_classes, epsilon, confidence)
    if not found.enough:
        warn(f"{str(found).capitalize()}.", DataWarning)
    return found


def _rule(problem: Problem, solved: Solution, tally: Tally, epsilon: float, random_state: int) -> FairRule:
    mass = tally.mass.sum(axis=(1, 2))
    shares = mass / mass.sum()
    gain: Gain = solved.gain
    return FairRule(
        classes=tuple(problem.classes.to_list()),
        groups=tuple(problem.groups.to_list()),
        prices=solved.multipliers / shares[:, None],
        gain_matrix=gain.matrix,
        gain_offset=gain.offset,
        shares=shares,
        epsilon=epsilon,
        random_state=random_state,
        ties=solved.ties,
    )


def _words(rule: FairRule) -> str:
    thresholds = rule.thresholds
    if thresholds is None:
        return str(rule)
    said = [f"group {name!s} needs a posterior above {t:.4f}" for name, t in zip(rule.groups, thresholds, strict=True)]
    return ", ".join(said) + f" for label {rule.classes[1]!s}"
