"""``make_fair``: a posterior and groups to fair labels."""

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Generic, overload

from numpy.typing import ArrayLike, NDArray

from faircrowd._checks import check_choice, check_count, check_number
from faircrowd.errors import OptionError
from faircrowd.fair.certificate import Certificate, certify
from faircrowd.fair.constraint import make_constraint
from faircrowd.fair.frontier import Frontier, trace_frontier
from faircrowd.fair.objective import Gain, make_gain
from faircrowd.fair.rule import FairRule, rule_of
from faircrowd.fair.solution import Solution
from faircrowd.fair.solve import solve
from faircrowd.fair.tasks.population import Population, Rows
from faircrowd.fair.tasks.read_posterior import read_posterior

if TYPE_CHECKING:
    from typing_extensions import TypeVar

    from faircrowd._types import ByTask, FrameLike, ValuesLike
    from faircrowd.fair.promise.statement import Promise
    from faircrowd.fair.tasks.problem import Problem
    from faircrowd.votes.vocabulary import Codes

    Tasks = TypeVar("Tasks", bound=Population, default=Problem, covariant=True)
    ResultRows = TypeVar("ResultRows", default=NDArray[Any])
else:
    from typing import TypeVar

    Tasks, ResultRows = TypeVar("Tasks"), TypeVar("ResultRows")

__all__ = ["FairResult", "make_fair", "solve_problem"]


@dataclass(frozen=True, eq=False)
class FairResult(Generic[Tasks, ResultRows]):
    """Fair labels and what comes with them.

    Attributes
    ----------
    labels
        The label of each task, in the order of the posterior: a Series like an aggregator's, or an array for an
        array.
    probabilities
        The probability of each label under the best randomized rule.
    rule : FairRule
        For new tasks. With ``confidence`` it is the rule that the promise is about.
    rule_of_labels : FairRule
        The rule that the labels of these tasks follow; ``rule`` itself, unless a promise is about another one.
    certificate : Certificate
    promise : Promise or None
        With ``confidence``: what is promised about all tasks like these, and on what grounds.
    frontier : Frontier
        Every epsilon at once (computed when first used).
    """

    problem: Tasks
    solved: Solution[ResultRows]
    rule: FairRule
    rule_of_labels: FairRule
    certificate: Certificate
    promise: "Promise | None"
    _trace: "Callable[[Codes | None], Frontier]"

    @cached_property
    def labels(self) -> Any:
        """The label of each task."""
        return self.problem.labels(self.solved.labels)

    @cached_property
    def probabilities(self) -> Any:
        """The probability of each label, one row per task."""
        return self.problem.frame(self.solved.probabilities)

    @cached_property
    def frontier(self) -> Frontier:
        """Gap, value and changed labels for every epsilon."""
        return self._trace(None)

    def frontier_against(self, truth: "Codes") -> Frontier:
        """Return the frontier with the real accuracy of its labels.

        Parameters
        ----------
        truth : ndarray of int32
            The true class of each task: -1 where it is not known, -2 where it is not one of the classes.
        """
        return self._trace(truth)


def make_fair(
    posterior: "FrameLike | ArrayLike",
    sensitive_features: "ByTask",
    *,
    epsilon: float,
    objective: str | ArrayLike = "accuracy",
    decision: str = "deterministic",
    random_state: int = 0,
    strict: bool = False,
    sample_weight: "ValuesLike | None" = None,
    log_posterior: "FrameLike | ArrayLike | None" = None,
    evidence: "ValuesLike | None" = None,
    ties: str = "first",
    confidence: float | None = None,
    promise: str = "required",
) -> FairResult:
    """Turn any aggregator's posterior into the best labels whose gap between groups is at most epsilon.

    Parameters
    ----------
    posterior : frame or array-like, shape (n_tasks, n_classes)
        A frame indexed by task (or with a task column) with one column per class, or an array (tasks 0, 1, ...,
        classes 0, 1, ...).
    sensitive_features : Series, dict, frame or array-like
        The group of each task, by its id, or by position for an array. Several columns are intersected.
    epsilon : float
        The largest gap allowed, from 0 to 1: over classes, the largest difference between the rates of two groups.
    objective : {"accuracy", "f1"} or array-like, shape (n_classes, n_classes)
        What is maximised; a matrix holds the gain (minus the cost) of each label (column) for each true class
        (row).
    decision : {"deterministic", "randomized"}
        The best deterministic labels, or a draw from the best randomized rule.
    random_state : int
        Seed of draws, and of the order of equal tasks; each depends on it and the task's id alone.
    strict : bool
        More than two classes or groups, deterministic: keep epsilon exactly, by an integer program. Otherwise labels
        rounded to whole tasks may exceed it by less than 2 / (size of the smallest group), and mostly do not.
    sample_weight : array-like, shape (n_tasks,), optional
    log_posterior : like posterior, optional
        Logarithms; they order posteriors that round to 0 or 1.
    evidence : array-like, shape (n_tasks,), optional
        Number of votes: tasks of equal posterior are ordered by it.
    ties : {"first", "last"}
        The class of the aggregator's own label where its posterior is tied.
    confidence : float, optional
        Promise that the gap of the rule on all tasks like these, not only on these, is within epsilon, with this
        probability; :class:`faircrowd.fair.Promise` says what exactly is promised. The rule is then made from some of
        the tasks and the others, held out from that; the labels of these tasks are the best ones at the tighter
        epsilon for which the promise holds.
    promise : {"required", "best-effort"}
        What to do if there are too few tasks to promise it: raise an error that says how many would do, or warn and
        keep epsilon on these tasks alone, without a promise.

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
        promise=promise,
    )


@overload
def solve_problem(
    problem: "Problem",
    *,
    epsilon: float,
    objective: str | ArrayLike,
    decision: str,
    random_state: int,
    strict: bool = False,
    confidence: float | None = None,
    promise: str = "required",
    constraint: str = "parity",
) -> FairResult: ...


@overload
def solve_problem(
    problem: Population[Rows],
    *,
    epsilon: float,
    objective: str | ArrayLike,
    decision: str,
    random_state: int,
    strict: bool = False,
    confidence: float | None = None,
    promise: str = "required",
    constraint: str = "parity",
) -> FairResult[Population[Rows], Rows]: ...


def solve_problem(
    problem: Population[Rows],
    *,
    epsilon: float,
    objective: str | ArrayLike,
    decision: str,
    random_state: int,
    strict: bool = False,
    confidence: float | None = None,
    promise: str = "required",
    constraint: str = "parity",
) -> FairResult[Population[Rows], Rows]:
    """Find the fair labels of tasks in memory or in Spark, with their rule, certificate and frontier.

    ``constraint`` is the name of one in :data:`faircrowd.fair.constraint.CONSTRAINTS`; other arguments are those of
    ``make_fair``.
    """
    epsilon = check_number("epsilon", epsilon, low=0, high=1)
    check_choice("decision", decision, ("deterministic", "randomized"))
    random_state = check_count("random_state", random_state)
    gain = make_gain(objective, problem.n_classes)
    found, promised_rule = _promise(problem, gain, epsilon, confidence, random_state, constraint, promise)
    epsilon = epsilon if found is None else found.tightened
    start = time.perf_counter()
    solved = solve(problem, gain, make_constraint(constraint, epsilon), decision, random_state, strict)
    seconds = time.perf_counter() - start
    tally = problem.tally(solved.labels, solved.gain)
    rule = rule_of(problem, solved, tally.mass.sum(axis=(1, 2)), epsilon, random_state)
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
        thresholds=_in_words(rule),
        decision=decision,
        solver=solved.solver,
        seconds=seconds,
        promise=None if found is None else asdict(found),
    )

    def frontier(truth: "Codes | None") -> Frontier:
        return trace_frontier(problem, gain, random_state, constraint, truth)

    return FairResult(problem, solved, promised_rule or rule, rule, certificate, found, frontier)


def _promise(
    problem: Population,
    gain: Gain,
    epsilon: float,
    confidence: float | None,
    random_state: int,
    constraint: str,
    promise: str,
) -> "tuple[Promise | None, FairRule | None]":
    """Return the promise that was asked for, if any, and the rule that it is about if that is one of its own."""
    if confidence is None:
        if promise != "required":
            raise OptionError("promise goes with confidence; give it, or leave promise out.", parameter="promise")
        return None, None
    from faircrowd.fair.promise.find import find_promise

    found, rule = find_promise(problem, gain, epsilon, confidence, random_state, constraint=constraint, promise=promise)
    return found if rule is None else replace(found, rule=_in_words(rule)), rule


def _in_words(rule: FairRule) -> str:
    thresholds = rule.thresholds
    if thresholds is None:
        return str(rule)
    texts = [f"group {name!s} needs a posterior above {t:.4f}" for name, t in zip(rule.groups, thresholds, strict=True)]
    return ", ".join(texts) + f" for label {rule.classes[1]!s}"
