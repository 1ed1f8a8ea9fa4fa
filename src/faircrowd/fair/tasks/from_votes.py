"""From votes and an aggregator to the tasks to be labelled fairly: those that it is fitted to, or new ones."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from numbers import Real
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from faircrowd._checks import few, suggestion, warn
from faircrowd._display import values_in_short
from faircrowd._types import ByTask, TableLike
from faircrowd.aggregate.base import Aggregator
from faircrowd.aggregate.posterior import Posterior, SparkPosterior, TaskPosterior, log_odds
from faircrowd.aggregate.registry import AGGREGATORS, kind_of
from faircrowd.engines import SparkVotes, Votes, in_spark, votes_of
from faircrowd.engines.protocols import SparkFrame
from faircrowd.errors import DataWarning, InputError, OptionError
from faircrowd.fair.constraints.constraint_kind import Constraint
from faircrowd.fair.constraints.listed import is_about_all, main_columns, needed_columns
from faircrowd.fair.tasks.group_columns import GroupColumns, is_read, read_group_columns
from faircrowd.fair.tasks.problem import Problem
from faircrowd.fair.tasks.read_posterior import check_groups, read_posterior
from faircrowd.fair.tasks.uncertain_groups import UncertainGroups
from faircrowd.votes import Vocabulary, VoteTable, read_votes
from faircrowd.votes.alignment import refuse_rows_of_votes
from faircrowd.votes.exports.answers import GOLDEN
from faircrowd.votes.facts import Table, read_facts, table_columns
from faircrowd.votes.frames import has_column, has_role, is_frame, names_of, probability_columns
from faircrowd.votes.group_policy import check_comparable, plan_groups
from faircrowd.votes.groups import attach_groups, intersect, settle_groups
from faircrowd.votes.read import opened_export

__all__ = [
    "VotesLike",
    "fit_constrained",
    "fit_problem",
    "from_posterior",
    "known_labels",
    "missing_group_alone",
    "new_constrained",
    "new_problem",
    "problem_of",
    "settled",
    "with_main_groups",
]

VotesLike: TypeAlias = TableLike | VoteTable | SparkFrame | SparkVotes | ArrayLike
"""Votes, in memory, in a file or in Spark; or a posterior, for a ``FairCrowd`` without an aggregator."""

_EVERYBODY = ["all tasks"]
"""The one group of tasks that nothing divides."""


def fit_problem(
    estimator: Any,
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
    _check_estimator(estimator)
    given = dict(read_options or {})
    if isinstance(estimator, Aggregator):
        gold = known_labels(estimator, args, kwargs)
        votes = _votes(data, sensitive_features, tasks, gold, given)
        if votes.groups is None:
            raise InputError("FairCrowd needs the group of each task; give sensitive_features=...")
        _warn_of_one_class(votes)
        votes = settle_groups(votes, min_group=min_group, small_groups=small_groups, required=True)
        table = _facts_table(data, tasks, gold, given)
        if table is not None and isinstance(gold, str):
            facts = read_facts(table, gold, task=given.get("task"), delimiter=given.get("delimiter"))
            args, kwargs = (facts, *args[1:]), {name: v for name, v in kwargs.items() if name != "true_labels"}
        return problem_of(estimator.fit(votes, *args, **kwargs))
    policy = missing_group_alone(tasks, given)
    if estimator is None:
        _refuse_votes(data)
        values: Any = data
    else:
        values = estimator.fit_predict_proba(data, *args, **kwargs)
    problem = read_posterior(values, sensitive_features, on_missing_group=policy)
    return settled(problem, min_group, small_groups)


def _check_estimator(estimator: object) -> None:
    """Raise unless an estimator gives a posterior, or is None; say what was meant by a number, a name or a class."""
    if estimator is None or (not isinstance(estimator, type) and hasattr(estimator, "fit_predict_proba")):
        return
    known = AGGREGATORS.get(estimator) if isinstance(estimator, str) else None
    if isinstance(estimator, type):
        said = f"estimator is the class {estimator.__name__}; give an object of it, {estimator.__name__}()."
    elif known is not None:
        call = values_in_short(known.class_name, known.chosen)
        said = f"estimator={estimator!r} is the name of a method on the command line; in Python, give it as {call}."
    elif isinstance(estimator, Real) and not isinstance(estimator, bool):
        said = (
            f"estimator={estimator!r} is a number, and the first argument is the aggregator; give epsilon by its name: "
            f"FairCrowd(DawidSkene(), epsilon={estimator!r})."
        )
    else:
        said = (
            f"estimator={few([estimator])} has no fit_predict_proba; give an aggregator, such as DawidSkene(), or None "
            "if fit is given a posterior."
        )
    raise OptionError(said, parameter="estimator")


def _warn_of_one_class(votes: Votes) -> None:
    """Warn of votes that all have one label: there is nothing to decide, and every gap is 0."""
    if votes.n_classes == 1 and votes.n_votes:
        warn(
            f"All votes have the label {few(votes.classes.to_list())}, so that every task gets it and there is no gap "
            "to close; is the column of labels the right one (label=...)?",
            DataWarning,
        )


def _refuse_votes(data: object) -> None:
    """Raise if votes were given where a posterior is expected."""
    is_table = is_frame(data) and all(has_role(role, names_of(data)) for role in ("task", "label"))
    if is_table or isinstance(data, str | os.PathLike):
        raise InputError(
            "Without an estimator FairCrowd takes a posterior (one row per task, one column per class), and these look "
            "like votes; give it an estimator, such as FairCrowd(DawidSkene(pooling='learned'), epsilon=0.05)."
        )


def missing_group_alone(tasks: TableLike | None, read_options: Mapping[str, Any]) -> str:
    """Return what to do with tasks without a group: all that there is to say about reading a posterior."""
    if tasks is not None or set(read_options) - {"on_missing_group"}:
        raise OptionError("tasks and read_options are for votes and an aggregator of faircrowd; leave them out.")
    return str(read_options.get("on_missing_group", "error"))


def fit_constrained(
    estimator: Any,
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
    _check_estimator(estimator)
    given, names = dict(read_options or {}), needed_columns(constraints)
    reading: dict[str, Any] = {"on_missing_group": given.get("on_missing_group", "error")}
    reading["take_all"] = any(map(is_about_all, constraints))
    if not isinstance(estimator, Aggregator):
        if estimator is None:
            _refuse_votes(data)
        missing_group_alone(tasks, given)
        values = data if estimator is None else estimator.fit_predict_proba(data, *args, **kwargs)
        problem = read_posterior(values, None, without_groups=True)
        return problem, _columns(problem.tasks, sensitive_features, names, **reading)
    if in_spark(data):
        raise OptionError(
            "constraints are for votes in memory or in a file; in Spark, epsilon=... is what there is.",
            parameter="constraints",
        )
    gold = known_labels(estimator, args, kwargs)
    by_group = _learns_by_group(estimator)
    reading["take_all"] |= by_group and not names  # no constraint speaks of the groups, and yet the model does
    votes, columns = _votes_and_columns(data, sensitive_features, names, tasks, given, gold, **reading)
    _warn_of_one_class(votes)
    if votes.groups is None:
        main = main_columns(constraints, columns)
        votes = with_main_groups(votes, columns, main) if main or not by_group else votes
        votes = settle_groups(votes, min_group=min_group) if main else votes
    table = _facts_table(data, tasks, gold, given)
    if table is not None and isinstance(gold, str):
        facts = read_facts(table, gold, task=given.get("task"), delimiter=given.get("delimiter"))
        args, kwargs = (facts, *args[1:]), {name: v for name, v in kwargs.items() if name != "true_labels"}
    model = estimator.fit(votes, *args, **kwargs)
    return from_posterior(model.posterior_, model.votes_), columns


def new_constrained(
    estimator: object,
    data: VotesLike,
    sensitive_features: ByTask | None,
    names: Sequence[str],
    main: Sequence[str],
    *,
    tasks: TableLike | None = None,
    read_options: Mapping[str, Any] | None = None,
) -> tuple[Problem, GroupColumns]:
    """Return new tasks to be labelled by a rule of constraints, from their votes, and the columns that it goes by.

    Parameters
    ----------
    names : sequence of str
        The columns that the rule goes by.
    main : sequence of str
        Those by which the aggregator learned, if it learned by group.
    """
    given, wanted = dict(read_options or {}), tuple(names)
    if not isinstance(estimator, Aggregator):
        raise _no_predict()
    if _learns_by_group(estimator):
        wanted = tuple(dict.fromkeys([*names, *main]))
    votes, columns = _votes_and_columns(
        data,
        sensitive_features,
        wanted,
        tasks,
        given,
        take_all=False,
        on_missing_group=given.get("on_missing_group", "error"),
    )
    fitted = estimator.votes_.groups
    is_divided = fitted is not None and fitted.to_list() != _EVERYBODY
    if votes.groups is None and (main or not is_divided):
        votes = with_main_groups(votes, columns, main) if set(main) <= set(columns) else votes
    elif votes.groups is None and sensitive_features is not None:  # fit had groups that no constraint speaks of
        votes = _votes(data, sensitive_features, tasks, None, given)
    posterior = estimator.posterior_of(votes)
    return from_posterior(posterior, votes if votes.groups is not None else with_main_groups(votes, {}, ())), columns


def _votes_and_columns(
    data: VotesLike,
    sensitive_features: "ByTask | GroupColumns | None",
    names: tuple[str, ...],
    tasks: TableLike | None,
    given: Mapping[str, Any],
    gold: Any = None,
    **reading: Any,
) -> tuple[VoteTable, GroupColumns]:
    """Read votes, and sensitive columns from wherever they are."""
    in_table = isinstance(data, VoteTable)
    votes = _votes(data, None, None if in_table else tasks, gold, given)
    refuse_rows_of_votes(sensitive_features, data, votes.n_tasks, "sensitive_features")
    where: dict[str, Any] = {"table": tasks, "delimiter": given.get("delimiter"), "by_position": False}
    if not in_table:
        where["votes"] = (_facts_table(data, None, gold, given) or data, given.get("task"))
    return votes, _columns(votes.tasks, sensitive_features, names, **where, **reading)


def _learns_by_group(estimator: object) -> bool:
    """Return whether an aggregator, or one of those that it puts together, learns by group."""
    inner = getattr(estimator, "estimator", None)
    members = inner if isinstance(inner, list | tuple) else [] if inner is None else [inner]
    return bool(getattr(estimator, "by_group", False)) or any(map(_learns_by_group, members))


def _columns(
    tasks: Vocabulary, sensitive_features: "ByTask | GroupColumns | None", names: tuple[str, ...], **where: Any
) -> GroupColumns:
    if is_read(sensitive_features):
        return sensitive_features
    if sensitive_features is None:
        table, votes = where.get("table"), where.get("votes")
        places = {"tasks": table, "votes": None if votes is None else votes[0]}
        known = {
            what: table_columns(place, where.get("delimiter"))
            for what, place in places.items()
            if names and place is not None
        }
        every = [name for columns in known.values() for name in (*columns, *probability_columns(columns))]
        if lacking := [name for name in names if not has_column(every, name)]:
            absent = f", no column of the {' or the '.join(known)}" if known else ""
            raise InputError(
                f"Constraints speak of {few(lacking)}{absent}; give sensitive_features=..."
                f"{suggestion(lacking[0], every)}",
                parameter="sensitive_features",
            )
        sensitive_features = list(names)
    if isinstance(sensitive_features, list) and not sensitive_features:
        return {}
    return read_group_columns(tasks, sensitive_features, names, **where)


def with_main_groups(votes: VoteTable, columns: GroupColumns, names: Sequence[str]) -> VoteTable:
    """Give each task the group of some columns, the likeliest of uncertain ones; one group of all if there are none."""
    if not names:
        return votes.with_groups(Vocabulary.of(_EVERYBODY), np.zeros(votes.n_tasks, dtype=np.int32))
    columns = {name: of.likeliest() if isinstance(of, UncertainGroups) else of for name, of in columns.items()}
    if len(names) == 1:
        group, groups, left_out = columns[names[0]][:3]
        return votes.with_groups(groups, group, left_out)
    group, groups = intersect([(columns[name].group, columns[name].groups) for name in names])
    return votes.with_groups(groups, group)


def settled(problem: Problem, min_group: int, small_groups: str = "leave-out") -> Problem:
    """Return a problem whose small groups are left out of the constraint, or merged; raise unless two remain."""
    plan = plan_groups(problem.groups, problem.sizes, problem.left_out, min_group=min_group, small_groups=small_groups)
    found = problem
    if plan.merged or plan.left_out != problem.left_out:
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


def new_problem(
    estimator: object,
    data: Any,
    sensitive_features: ByTask | None,
    *,
    tasks: TableLike | None = None,
    read_options: Mapping[str, Any] | None = None,
) -> Any:
    """Return new tasks to be labelled by a rule, from their votes (from a posterior, if there is no estimator)."""
    given = dict(read_options or {})
    if estimator is None:
        policy = missing_group_alone(tasks, given)
        return read_posterior(data, sensitive_features, one_group_will_do=True, on_missing_group=policy)
    if isinstance(estimator, Aggregator):
        votes = _votes(data, sensitive_features, tasks, None, given)
        return from_posterior(estimator.posterior_of(votes), votes)
    raise _no_predict()


def _no_predict() -> InputError:
    """Return the error about an estimator that cannot score new tasks."""
    return InputError("The estimator has no predict of its own; give its posterior to rule_.predict instead.")


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


def _facts_table(
    data: Any, tasks: TableLike | None, true_labels: ByTask | None, read_options: Mapping[str, Any]
) -> Table | None:
    """Return where facts about tasks are: the table of tasks, or an export that is its own; None if there is none."""
    if tasks is not None or not isinstance(data, str | os.PathLike):
        return tasks
    return opened_export(data, **_reading(true_labels, read_options))


def _reading(true_labels: ByTask | None, read_options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of reading; golden tasks are kept if their known labels are learned from."""
    is_golden = isinstance(true_labels, str) and true_labels == GOLDEN
    return {**({"keep_golden": True} if is_golden else {}), **read_options}


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
        if tasks is None and isinstance(data, str | os.PathLike):
            more = _reading(true_labels, read_options)
        return read_votes(data, sensitive_features=sensitive_features, tasks=tasks, **more)
    if read_options or (tasks is not None and in_spark(data)):
        raise OptionError("These votes are read already; give read_options, and tasks in Spark, when they are read.")
    if isinstance(data, VoteTable) and tasks is not None and sensitive_features is not None:
        return attach_groups(data, sensitive_features, tasks=tasks)
    return votes_of(data, sensitive_features, true_labels)
