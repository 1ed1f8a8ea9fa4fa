"""``make_fair``: a posterior and groups to fair labels."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Generic, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from faircrowd._checks import check_choice, check_count, check_number, few, warn
from faircrowd._display import Labelled, chart_of
from faircrowd._keywords import names_checked
from faircrowd.errors import DataWarning, DrasticChangeWarning, OptionError
from faircrowd.fair.certificate import Certificate, certify
from faircrowd.fair.constraints.constraint_kind import Constraint
from faircrowd.fair.constraints.listed import is_about_all, listed_constraints, needed_columns, plain_parity
from faircrowd.fair.frontier import Frontier, trace_frontier
from faircrowd.fair.general.constrained_result import (
    ConstrainedResult,
    refuse_with_constraints,
    solve_constrained,
    warn_of_constrained,
)
from faircrowd.fair.objective import Gain, make_gain
from faircrowd.fair.outcome.alarms import alarm
from faircrowd.fair.rate_constraint import make_constraint
from faircrowd.fair.rule import FairRule, rule_of
from faircrowd.fair.rule_forms.rule_words import rule_in_short
from faircrowd.fair.solution import Solution
from faircrowd.fair.solve import solve
from faircrowd.fair.tasks.from_votes import settled
from faircrowd.fair.tasks.group_columns import are_uncertain, read_group_columns
from faircrowd.fair.tasks.population import Population, Rows
from faircrowd.fair.tasks.problem import Problem
from faircrowd.fair.tasks.read_posterior import read_posterior
from faircrowd.fair.tasks.tally import Tally
from faircrowd.fair.whole_tasks.allowance import (
    WHY_DRAWS_EXCEED,
    draw_excess,
    rounding_loss,
    strict_price,
    why_exceeded,
)
from faircrowd.votes.group_policy import MIN_GROUP, left_out_lines

if TYPE_CHECKING:
    from typing_extensions import TypeVar

    from faircrowd._display import Chart
    from faircrowd._types import ByTask, FrameLike, ValuesLike
    from faircrowd.fair.promise.statement import Promise
    from faircrowd.fair.tasks.read_posterior import NamedPosterior
    from faircrowd.votes.vocabulary import Codes

    Tasks = TypeVar("Tasks", bound=Population, default=Problem, covariant=True)
    ResultRows = TypeVar("ResultRows", default=NDArray[Any])
else:
    from typing import TypeVar

    Tasks, ResultRows = TypeVar("Tasks"), TypeVar("ResultRows")

__all__ = [
    "FairResult",
    "make_fair",
    "solve_posterior",
    "solve_problem",
    "warn_of_groups_and_labels",
    "warn_of_result",
]

_MOST_CELLS_TO_TRY = 2_000_000
"""For more tasks times classes, no epsilon is sought that would make labels less drastic."""


@dataclass(frozen=True, eq=False, repr=False)
class FairResult(Labelled, Generic[Tasks, ResultRows]):
    """Fair labels and what comes with them.

    ``to_frame()`` has one row per task: label, label before, posterior, group and reason.

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
    alarm : str
        A warning about labels that were ruined to keep the constraint; empty if they were not.
    strict : bool
        Whether the labels were asked to keep epsilon to the letter.
    """

    _in_short = ("certificate", "alarm")

    problem: Tasks
    solved: Solution[ResultRows]
    rule: FairRule
    rule_of_labels: FairRule
    certificate: Certificate
    promise: Promise | None
    _trace: Callable[[Codes | None], Frontier]
    _tally: Tally
    _solve_again: Callable[[float], Tally] | None = None
    strict: bool = False

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

    @cached_property
    def alarm(self) -> str:
        """A warning about labels that were ruined to keep the constraint: what happened, its cost, and what to do."""
        if self.certificate.changed == 0:
            return ""
        smallest = int(self.problem.compared().sizes.min())
        return alarm(self.certificate, self._tally, self.problem.classes.names, smallest, self._solve_again)

    def frontier_against(self, truth: Codes) -> Frontier:
        """Return the frontier with the real accuracy of its labels.

        Parameters
        ----------
        truth : ndarray of int32
            The true class of each task: -1 where it is not known, -2 where it is not one of the classes.
        """
        return self._trace(truth)

    @property
    def tally(self) -> Tally:
        """The labels before and after by group, in numbers."""
        return self._tally

    def plot(self, chart: str = "rates") -> Chart:
        """Return a chart of the labels.

        Parameters
        ----------
        chart : {"rates", "frontier", "posterior"}
            The share of each label in each group, before and after, with intervals; what a smaller gap costs; or the
            distribution of the posterior in each group, with the thresholds.
        """
        return chart_of(self, chart)


@overload
def make_fair(
    posterior: FrameLike | ArrayLike,
    sensitive_features: ByTask,
    *,
    epsilon: float,
    constraints: None = None,
    **options: Any,
) -> FairResult: ...


@overload
def make_fair(
    posterior: FrameLike | ArrayLike,
    sensitive_features: ByTask,
    *,
    epsilon: float | None = None,
    constraints: Sequence[Constraint],
    **options: Any,
) -> FairResult | ConstrainedResult: ...


@names_checked  # type: ignore[misc] # the other options are spelled out here alone
def make_fair(
    posterior: FrameLike | ArrayLike,
    sensitive_features: ByTask,
    *,
    epsilon: float | None = None,
    constraints: Sequence[Constraint] | None = None,
    objective: str | ArrayLike = "accuracy",
    decision: str = "deterministic",
    random_state: int = 0,
    strict: bool = False,
    sample_weight: ValuesLike | None = None,
    log_posterior: FrameLike | ArrayLike | None = None,
    evidence: ValuesLike | None = None,
    ties: str = "first",
    confidence: float | None = None,
    promise: str = "required",
    positive: Any = None,
    min_group: int = 1,
    small_groups: str = "leave-out",
    on_missing_group: str = "error",
) -> FairResult | ConstrainedResult:
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
        Short for ``constraints=[DemographicParity(epsilon)]``.
    constraints : sequence of Constraint, optional
        What the labels must keep, from :mod:`faircrowd.constraints`: any list, over different columns of
        ``sensitive_features``.
    objective : {"accuracy", "f1"} or array-like, shape (n_classes, n_classes)
        What is maximised; a matrix holds the gain (minus the cost) of each label (column) for each true class
        (row).
    decision : {"deterministic", "randomized"}
        The best deterministic labels, or a draw from the best randomized ones: each task gets each label with the
        probability in ``FairResult.probabilities``, and the share of a label in a group is within one task of what it
        is on average.
    random_state : int
        Seed of draws, and of the order of equal tasks; each depends on it and the task's id alone.
    strict : bool
        Deterministic labels: keep epsilon to the letter at any cost; there is a warning if the cost is high. Otherwise
        they keep it to the letter where that costs no more than rounding to whole tasks explains, and may else exceed
        it by less than one task of the smallest group (``Certificate.gap_allowed``).
    sample_weight : array-like, shape (n_tasks,), optional
    log_posterior : like posterior, optional
        Logarithms. With two classes, they order posteriors that round to 0 or 1; with more, they only tell which of
        several classes is the likeliest where their posteriors round to the same number.
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
    positive : class, optional
        The class whose F1 is maximised, for ``objective="f1"``; by default the second of the posterior. The certificate
        names it.
    min_group : int
        Groups with fewer tasks are small. By default none is; a warning names groups so small that a task or two can
        decide what happens to all the others. (:class:`faircrowd.FairCrowd` and the command line take 10.)
    small_groups : {"leave-out", "merge", "error"}
        What to do with small groups: leave them out of the constraint, where their tasks keep the label that gains the
        most; merge them into one group "other"; or raise.
    on_missing_group : {"error", "drop", "own"}
        What to do with tasks without a group: raise, leave them out of the constraint, or make them a group "missing".

    Returns
    -------
    FairResult or ConstrainedResult
        The second for constraints other than demographic parity between the groups of all sensitive columns.

    Raises
    ------
    InfeasibleError
        If no labels keep all constraints.

    Warns
    -----
    DataWarning
        If a tiny group is compared, if more than a quarter of the labels are changed, or if a label vanishes; if a
        constraint speaks of the truth, which the posterior may be wrong about.

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
    result = solve_posterior(
        posterior,
        sensitive_features,
        listed := listed_constraints(epsilon, constraints),
        objective=objective,
        decision=decision,
        random_state=random_state,
        strict=strict,
        sample_weight=sample_weight,
        log_posterior=log_posterior,
        evidence=evidence,
        ties=ties,
        confidence=confidence,
        promise=promise,
        positive=positive,
        min_group=min_group,
        small_groups=small_groups,
        on_missing_group=on_missing_group,
    )
    _warn_of_truth(listed)
    warn_of_groups_and_labels(result)
    return result


def solve_posterior(
    posterior: FrameLike | ArrayLike | NamedPosterior,
    sensitive_features: ByTask | None,
    constraints: Sequence[Constraint],
    *,
    objective: str | ArrayLike = "accuracy",
    decision: str = "deterministic",
    random_state: int = 0,
    strict: bool = False,
    confidence: float | None = None,
    promise: str = "required",
    positive: object = None,
    min_group: int = 1,
    small_groups: str = "leave-out",
    on_missing_group: str = "error",
    **reading: Any,
) -> FairResult | ConstrainedResult:
    """Return what ``make_fair`` returns, without the warnings that come with it; parameters are the same.

    Other arguments are those of ``read_posterior``.
    """
    parity = plain_parity(constraints)
    if parity is None or are_uncertain(sensitive_features):
        refuse_with_constraints(confidence, promise, positive, small_groups)
        tasks = read_posterior(posterior, None, without_groups=True, **reading)
        return solve_constrained(
            tasks,
            read_group_columns(
                tasks.tasks,
                sensitive_features,
                needed_columns(constraints),
                take_all=any(map(is_about_all, constraints)),
                on_missing_group=on_missing_group,
            ),
            constraints,
            objective=objective,
            decision=decision,
            random_state=random_state,
            strict=strict,
            min_group=min_group,
            on_missing_group=on_missing_group,
        )
    problem = read_posterior(posterior, sensitive_features, on_missing_group=on_missing_group, **reading)
    return solve_problem(
        settled(problem, min_group, small_groups),
        epsilon=parity,
        objective=objective,
        decision=decision,
        random_state=random_state,
        strict=strict,
        confidence=confidence,
        promise=promise,
        positive=positive,
    )


def warn_of_groups_and_labels(result: FairResult | ConstrainedResult, words: Callable[[str], str] = str) -> None:
    """Warn of tiny groups that are compared, of groups that are not, and of labels that were ruined.

    ``words`` puts the last into other words.
    """
    if isinstance(result, FairResult):
        problem = result.problem
        _warn_of_tiny_groups(problem.groups.to_list(), problem.sizes, problem.left_out)
        warn_of_result(result, words)
        return
    posed = result.problem
    comparing = {t: c for c, t, _ in posed.compared if posed.constraints[c].compares_groups}
    for partition, number in comparing.items():
        grouped, alone = posed.grouped[partition], posed.alone(number)
        aside = {*posed.left_out[partition], *alone}
        left_out = [a for a, name in enumerate(grouped.groups) if name in aside]
        _warn_of_tiny_groups(grouped.groups, grouped.tasks, left_out)
    warn_of_constrained(result)


def _warn_of_truth(constraints: Sequence[Constraint]) -> None:
    """Warn of constraints that speak of the truth."""
    believed = [str(constraint) for constraint in constraints if constraint.is_about_truth]
    if believed:
        warn(
            f"{', '.join(believed)}: kept as this posterior believes the truth to be. Where it is wrong, the real gap "
            "may be far larger; check it on known labels.",
            DataWarning,
        )


def warn_of_result(result: FairResult[Population[Rows], Rows], words: Callable[[str], str] = str) -> None:
    """Warn of groups that were left out or merged, and of labels that were ruined to keep the constraint."""
    problem = result.problem
    names = problem.groups.names
    left_out = {names[a]: why for a, why in problem.left_out.items()}
    sizes = dict(zip(names, problem.sizes.tolist(), strict=True))
    for line in left_out_lines(left_out, sizes, problem.merged_groups):
        warn(line, DataWarning)
    if result.alarm:
        warn(words(result.alarm), DrasticChangeWarning)


@overload
def solve_problem(
    problem: Problem,
    *,
    epsilon: float,
    objective: str | ArrayLike,
    decision: str,
    random_state: int,
    strict: bool = False,
    confidence: float | None = None,
    promise: str = "required",
    positive: object = None,
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
    positive: object = None,
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
    positive: object = None,
    constraint: str = "parity",
) -> FairResult[Population[Rows], Rows]:
    """Find the fair labels of tasks in memory or in Spark, with their rule, certificate and frontier.

    ``constraint`` is the name of one in :data:`faircrowd.fair.rate_constraint.CONSTRAINTS`; other arguments are those
    of ``make_fair``.
    """
    epsilon = check_number("epsilon", epsilon, low=0, high=1)
    check_choice("decision", decision, ("deterministic", "randomized"))
    random_state = check_count("random_state", random_state)
    gain = make_gain(objective, problem.n_classes, _positive_code(problem, objective, positive))
    found, promised_rule = _promise(problem, gain, epsilon, confidence, random_state, constraint, promise)
    epsilon = epsilon if found is None else found.tightened
    start = time.perf_counter()
    solved = solve(problem, gain, make_constraint(constraint, epsilon), decision, random_state, strict)
    seconds = time.perf_counter() - start
    tally = problem.tally(solved.labels, solved.gain)
    average = None
    if decision == "randomized":
        average = problem.expected_tally(solved.probabilities, solved.gain)
    is_drawn = average is not None and not np.array_equal(average.mass, tally.mass)  # some probabilities are fractions
    gap_allowed, why = _gap_allowed(problem.compared(), solved, epsilon, is_drawn)
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
        thresholds=rule_in_short(rule),
        decision=decision,
        solver=solved.solver,
        seconds=seconds,
        promise=None if found is None else asdict(found),
        left_out=problem.left_out,
        merged_groups=problem.merged_groups,
        gap_allowed=gap_allowed,
        why=why,
        average=average,
    )
    certificate = replace(certificate, style=getattr(problem, "style", certificate.style))
    if strict and decision == "deterministic":
        _warn_of_price(problem.compared(), gain, certificate)
    again = partial(_tally_again, problem, gain, constraint, decision, random_state)
    # Each epsilon that is tried takes as long as this one did, in Spark some passes over all tasks, and an integer
    # program up to a minute.
    is_quick = isinstance(problem, Problem) and problem.weights is None and not strict
    is_quick = is_quick and problem.sizes.sum() * problem.n_classes <= _MOST_CELLS_TO_TRY
    new = promised_rule or rule
    return FairResult(
        problem,
        solved,
        new,
        rule,
        certificate,
        found,
        partial(trace_frontier, problem, gain, random_state, constraint),  # can be pickled, unlike a closure
        tally,
        again if is_quick else None,
        strict and decision == "deterministic",
    )


def _tally_again(
    problem: Population[Rows], gain: Gain, constraint: str, decision: str, random_state: int, epsilon: float
) -> Tally:
    """Return the labels of another epsilon in numbers."""
    return problem.tally(solve(problem, gain, make_constraint(constraint, epsilon), decision, random_state).labels)


def _warn_of_tiny_groups(names: Sequence[Any], sizes: NDArray[np.int64], left_out: Collection[int]) -> None:
    """Warn of groups that are compared although they have so few tasks that one or two of these decide their rates."""
    small = np.flatnonzero((sizes > 0) & (sizes < MIN_GROUP) & (10 * sizes < sizes.max()))
    tiny = [a for a in small.tolist() if a not in left_out]
    if tiny:
        warn(
            f"{len(tiny):,} of {len(names):,} groups have fewer than {MIN_GROUP} tasks, and one task can change "
            f"their rates by {100 / sizes[tiny].min():.0f} points: {few([names[a] for a in tiny[:5]], len(tiny))}; "
            f"min_group={MIN_GROUP} leaves them out of the constraint.",
            DataWarning,
        )


def _positive_code(problem: Population, objective: str | ArrayLike, positive: object) -> int:
    """Return the code of the positive class, which is given as it is or as its text; the second by default."""
    if positive is None:
        return 1
    if not isinstance(objective, str) or objective != "f1":
        raise OptionError(
            "positive is the class whose F1 is maximised; give objective='f1', or leave it out.", parameter="positive"
        )
    classes = problem.classes.to_list()
    for known in (classes, problem.classes.names):
        found = [k for k, name in enumerate(known) if type(name) is type(positive) and name == positive]
        if found:
            return found[0]
    raise OptionError(f"positive={positive!r} is not one of the classes, {few(classes)}.", parameter="positive")


def _gap_allowed(problem: Population, solved: Solution[Rows], epsilon: float, is_drawn: bool) -> tuple[float, str]:
    """Return what the gap of labels of whole tasks may be, and why it may exceed epsilon."""
    if is_drawn:
        return min(epsilon + draw_excess(problem), 1.0), WHY_DRAWS_EXCEED
    return min(epsilon + solved.excess, 1.0), why_exceeded(epsilon, solved.excess, problem.sizes)


def _warn_of_price(problem: Population, gain: Gain, certificate: Certificate) -> None:
    """Warn if keeping epsilon to the letter costs more than rounding explains."""
    explained = rounding_loss(problem.sizes, problem.n_classes, gain)
    if certificate.dual_bound - certificate.value > explained:
        warn(strict_price(certificate, problem.sizes), DataWarning)


def _promise(
    problem: Population,
    gain: Gain,
    epsilon: float,
    confidence: float | None,
    random_state: int,
    constraint: str,
    promise: str,
) -> tuple[Promise | None, FairRule | None]:
    """Return the promise that was asked for, if any, and the rule that it is about if that is one of its own."""
    if confidence is None:
        if promise != "required":
            raise OptionError(
                "promise goes with confidence; give it, or leave promise out.", parameter=("promise", "confidence")
            )
        return None, None
    from faircrowd.fair.promise.find import find_promise

    found, rule = find_promise(problem, gain, epsilon, confidence, random_state, constraint=constraint, promise=promise)
    if rule is None:
        return found, None
    _, believed = problem.expected_tally(rule.chances(problem), gain).accuracies
    return replace(found, rule=rule_in_short(rule), believed_accuracy=believed), rule
