"""From votes and an aggregator to the tasks to be labelled fairly: those that it is fitted to, or new ones."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from faircrowd._types import ByTask, TableLike
from faircrowd.aggregate.base import Aggregator
from faircrowd.aggregate.posterior import Posterior, SparkPosterior, TaskPosterior, log_odds
from faircrowd.aggregate.registry import kind_of
from faircrowd.engines import SparkVotes, Votes, in_spark, votes_of
from faircrowd.engines.protocols import SparkFrame
from faircrowd.errors import InputError, OptionError
from faircrowd.fair.constraints.constraint_kind import Constraint
from faircrowd.fair.constraints.listed import is_about_all, needed_columns
from faircrowd.fair.tasks.group_columns import GroupColumns, is_read, read_group_columns
from faircrowd.fair.tasks.problem import Problem
from faircrowd.fair.tasks.read_posterior import check_groups, read_posterior
from faircrowd.votes import Vocabulary, VoteTable, read_votes
from faircrowd.votes.facts import read_facts
from faircrowd.votes.group_policy import check_comparable, plan_groups
from faircrowd.votes.groups import attach_groups, intersect, settle_groups

__all__ = [
    "VotesLike",
    "fit_constrained",
    "fit_problem",
    "from_posterior",
    "known_labels",
    "new_problem",
    "problem_of",
    "settled",
]

VotesLike: TypeAlias = TableLike | VoteTable | SparkFrame | SparkVotes | ArrayLike
"""Votes, in memory, in a file or in Spark; or a posterior, for a ``FairCrowd`` without an aggregator."""


def fit_problem(
    estimator: object,
    data: VotesLike,
    *args: Any,
    sensitive_features: ByTask | None = None,
    tasks: TableLike | None = None,
    read_options: Mapping[str, Any] | None = None,
    min_group: int = 1,
    small_groups: str = "leave-out",
    **kwargs: Any,
) -> Problem:
    """Fit an estimator to votes (or take a posterior, if it is None), and return the problem of making it fair.

    Arguments are those of ``FairCrowd.fit``.
    """
    if isinstance(estimator, type):
        raise OptionError(f"estimator is the class {estimator.__name__}; give an object of it, {estimator.__name__}().")
    given = dict(read_options or {})
    if isinstance(estimator, Aggregator):
        gold = known_labels(estimator, args, kwargs)
        votes = _votes(data, sensitive_features, tasks, gold, given)
        if votes.groups is None:
            raise InputError("FairCrowd needs the group of each task; give sensitive_features=...")
        votes = settle_groups(votes, min_group=min_group, small_groups=small_groups, required=True)
        if tasks is not None and isinstance(gold, str):
            facts = read_facts(tasks, gold, task=given.get("task"), delimiter=given.get("delimiter"))
            args, kwargs = (facts, *args[1:]), {name: v for name, v in kwargs.items() if name != "true_labels"}
        return problem_of(estimator.fit(votes, *args, **kwargs))
    if tasks is not None or given:
        raise OptionError("tasks and read_options are for votes and an aggregator of faircrowd; leave them out.")
    if estimator is None:
        return settled(read_posterior(data, sensitive_features), min_group, small_groups)
    if not hasattr(estimator, "fit_predict_proba"):
        raise OptionError(f"{type(estimator).__name__} has no fit_predict_proba; FairCrowd needs a posterior.")
    problem = read_posterior(estimator.fit_predict_proba(data, *args, **kwargs), sensitive_features)
    return settled(problem, min_group, small_groups)


def fit_constrained(
    estimator: object,
    data: VotesLike,
    *args: Any,
    constraints: Sequence[Constraint],
    sensitive_features: "ByTask | GroupColumns | None" = None,
    tasks: TableLike | None = None,
    read_options: Mapping[str, Any] | None = None,
    min_group: int = 1,
    **kwargs: Any,
) -> tuple[Problem, GroupColumns]:
    """Fit an estimator to votes (or take a posterior), and return the tasks and the columns that constraints speak of.

    The group of a task is that of the first constraint that compares groups, unless votes have groups already. Other
    arguments are those of ``FairCrowd.fit``; ``sensitive_features`` may also be columns that were read already.
    """
    given, names = dict(read_options or {}), needed_columns(constraints)
    reading: dict[str, Any] = {"on_missing_group": given.get("on_missing_group", "error")}
    reading["take_all"] = any(map(is_about_all, constraints))
    if not isinstance(estimator, Aggregator):
        if isinstance(estimator, type) or not (estimator is None or hasattr(estimator, "fit_predict_proba")):
            raise OptionError(f"estimator={estimator!r} has no fit_predict_proba; FairCrowd needs a posterior.")
        if tasks is not None or given:
            raise OptionError("tasks and read_options are for votes and an aggregator of faircrowd; leave them out.")
        values = data if estimator is None else estimator.fit_predict_proba(data, *args, **kwargs)
        problem = read_posterior(values, None, without_groups=True)
        return problem, _columns(problem.tasks, sensitive_features, names, **reading)
    if in_spark(data):
        raise OptionError(
            "constraints are for votes in memory or in a file; in Spark, epsilon=... is what there is.",
            parameter="constraints",
        )
    gold = known_labels(estimator, args, kwargs)
    in_table = isinstance(data, VoteTable)
    votes = _votes(data, None, None if in_table else tasks, gold, given)
    where: dict[str, Any] = {"table": tasks, "delimiter": given.get("delimiter")}
    if not in_table and tasks is None:
        where["votes"] = (data, given.get("task"))
    columns = _columns(votes.tasks, sensitive_features, names, **where, **reading)
    if votes.groups is None:
        main = next((c.group_columns for c in constraints if c.compares_groups and c.group_columns), tuple(columns))
        votes = _with_main_groups(votes, columns, main)
        votes = settle_groups(votes, min_group=min_group) if main else votes
    if tasks is not None and isinstance(gold, str):
        facts = read_facts(tasks, gold, task=given.get("task"), delimiter=given.get("delimiter"))
        args, kwargs = (facts, *args[1:]), {name: v for name, v in kwargs.items() if name != "true_labels"}
    model = estimator.fit(votes, *args, **kwargs)
    return from_posterior(model.posterior_, model.votes_), columns


def _columns(
    tasks: Vocabulary, sensitive_features: "ByTask | GroupColumns | None", names: tuple[str, ...], **where: Any
) -> GroupColumns:
    if is_read(sensitive_features):
        return sensitive_features
    if sensitive_features is None:
        if names and where.get("table") is None and where.get("votes") is None:
            raise InputError("Constraints compare groups; give sensitive_features=...", parameter="sensitive_features")
        sensitive_features = list(names)
    if isinstance(sensitive_features, list) and not sensitive_features:
        return {}
    return read_group_columns(tasks, sensitive_features, names, **where)


def _with_main_groups(votes: VoteTable, columns: GroupColumns, names: Sequence[str]) -> VoteTable:
    """Give each task the group of some columns; one group of all tasks if there are none."""
    if not names:
        return votes.with_groups(Vocabulary.of(["all tasks"]), np.zeros(votes.n_tasks, dtype=np.int32))
    if len(names) == 1:
        group, groups, left_out = columns[names[0]]
        return votes.with_groups(groups, group, left_out)
    group, groups = intersect([(columns[name].group, columns[name].groups) for name in names])
    return votes.with_groups(groups, group)


def settled(problem: Problem, min_group: int, small_groups: str = "leave-out") -> Problem:
    """Return a problem whose small groups are left out of the constraint, or merged; raise unless two remain."""
    plan = plan_groups(problem.groups, problem.sizes, problem.left_out, min_group=min_group, small_groups=small_groups)
    found = replace(
        problem,
        groups=plan.groups,
        group=plan.place[problem.group] if plan.merged else problem.group,
        left_out=plan.left_out,
        merged_groups=(*problem.merged_groups, *plan.merged),
    )
    check_comparable(found.groups, found.sizes, found.left_out)
    return found


def problem_of(model: Aggregator) -> Problem:
    """Return the problem of making the labels of a fitted aggregator fair; raise unless there are groups to compare."""
    problem: Problem = from_posterior(model.posterior_, model.votes_)
    check_groups(problem.groups)
    check_comparable(problem.groups, problem.sizes, problem.left_out)
    return problem


def new_problem(estimator: object, data: Any, sensitive_features: ByTask | None) -> Any:
    """Return new tasks to be labelled by a rule, from their votes (from a posterior, if there is no estimator)."""
    if estimator is None:
        return read_posterior(data, sensitive_features, one_group_will_do=True)
    if isinstance(estimator, Aggregator):
        votes = votes_of(data, sensitive_features)
        return from_posterior(estimator.posterior_of(votes), votes)
    raise InputError("The estimator has no predict of its own; give its posterior to rule_.predict instead.")


def from_posterior(posterior: TaskPosterior, votes: Votes) -> Any:
    """Return the problem of making an aggregator's labels fair, of tasks in memory or in Spark."""
    if votes.groups is None:
        raise InputError("The rule goes by group; give sensitive_features for these tasks.")
    if isinstance(posterior, SparkPosterior):
        from faircrowd.fair.tasks.spark_problem import SparkProblem

        return SparkProblem(posterior)
    assert isinstance(posterior, Posterior) and isinstance(votes, VoteTable)  # noqa: S101, PT018 - the two kinds there are
    has_odds = posterior.is_log and len(posterior.classes) == 2
    return Problem(
        tasks=posterior.tasks,
        classes=posterior.classes,
        groups=votes.groups,
        style=posterior.style,
        posterior=np.ascontiguousarray(posterior.values),
        group=votes.group if votes.group is not None else np.zeros(votes.n_tasks, dtype=np.int32),
        own=posterior.label_codes,
        log_odds=log_odds(posterior.scores) if has_odds else None,
        evidence=votes.votes_per_task,
        ties=posterior.ties,
        left_out=votes.left_out,
        merged_groups=votes.merged_groups,
    )


def known_labels(estimator: object, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    """Return the known labels among the arguments of an aggregator's ``fit``, if it learns from any."""
    kind = kind_of(estimator)
    if kind is not None and kind.gold == "unused":
        return None
    return args[0] if args else kwargs.get("true_labels")


def _votes(
    data: Any,
    sensitive_features: ByTask | None,
    tasks: TableLike | None,
    true_labels: ByTask | None,
    read_options: Mapping[str, Any],
) -> Any:
    """Read votes with their groups; those that are read already take no options of reading."""
    if not in_spark(data) and not isinstance(data, VoteTable):
        more: dict[str, Any] = dict(read_options)
        return read_votes(data, sensitive_features=sensitive_features, tasks=tasks, **more)
    if read_options or (tasks is not None and in_spark(data)):
        raise OptionError("These votes are read already; give read_options, and tasks in Spark, when they are read.")
    if isinstance(data, VoteTable) and tasks is not None and sensitive_features is not None:
        return attach_groups(data, sensitive_features, tasks=tasks)
    return votes_of(data, sensitive_features, true_labels)
