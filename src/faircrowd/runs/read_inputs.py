"""The votes, groups and known labels that the options of a run name: read and checked."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from faircrowd._checks import few
from faircrowd.errors import InputError, OptionError
from faircrowd.runs.options import EngineOptions, ReadOptions, RunOptions
from faircrowd.runs.progress import Progress

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from faircrowd.fair.constraints.constraint_kind import Constraint
    from faircrowd.fair.tasks.group_columns import GroupColumns
    from faircrowd.votes import VoteTable
    from faircrowd.votes.facts import Facts
    from faircrowd.votes.readers import Source

__all__ = [
    "ReadInputs",
    "check_truth",
    "clear_leftovers",
    "control_values",
    "read_columns",
    "read_inputs",
    "read_named_columns",
    "settle_engine",
]

_ONE_JUDGE = (
    "the labels of one judge alone are no consensus. Merge the logs of several judges: write each as a table with "
    "faircrowd convert, join their votes.csv with another name of the worker in each, and aggregate that "
    "(docs/juries.md shows it; logs of lm-eval and RewardBench are also read as one folder)."
)


@dataclass(frozen=True, eq=False)
class ReadInputs:
    """What a run has read.

    Attributes
    ----------
    votes : VoteTable
    truth, gold : Facts or None
        True labels to score by, and known labels to learn from.
    notes : tuple of str
        What there is to know about them.
    """

    votes: "VoteTable"
    truth: "Facts | None" = None
    gold: "Facts | None" = None
    notes: tuple[str, ...] = ()


def settle_engine(engine: EngineOptions, votes: Path, progress: Progress, format: str | None = None) -> EngineOptions:
    """Choose the engine by the size of the file if it is "auto"; report the choice unless it is memory, as usual."""
    from faircrowd.engines.engine_choice import choose_engine

    if engine.name != "auto":
        return engine
    choice = choose_engine(votes, engine.memory_limit, format=format)
    if choice.is_news:
        progress.tell(choice.why)
    return replace(engine, name=choice.engine)


def clear_leftovers(engine: EngineOptions, progress: Progress) -> None:
    """Remove what killed runs left on disk, votes and half-written results, and report it."""
    from faircrowd.storage.scratch import HIDDEN, remove_left

    votes = remove_left() if engine.name == "stream" else None
    results = None if engine.checkpoint is None else remove_left(engine.checkpoint.parent, HIDDEN)
    for line in (votes, results):
        if line is not None:
            progress.tell(line)


def read_inputs(options: RunOptions, engine: EngineOptions, named: RunOptions | None = None) -> ReadInputs:
    """Read votes, groups, truth and gold from the files of a run.

    Parameters
    ----------
    named : RunOptions, optional
        The options with the files as notes call them, if they were elsewhere.

    Raises
    ------
    InputError
        If they cannot be used, or do not belong together.
    """
    from faircrowd.engines.engine_choice import check_run
    from faircrowd.votes.facts import read_facts

    read, words = options.read, (named or options).read
    table = _read_table(read, engine, is_jury=options.model.method == "jury")
    if engine.name == "stream":
        check_run(table.n_tasks, table.n_classes, table.tasks.values.nbytes, engine.memory_limit)
    notes: list[str] = []
    found: dict[str, Facts] = {}
    for name in (read.truth, options.learned):
        if name and name not in found:
            found[name] = read_facts(read.tasks_table, name, **read.facts)
            what = f"column {name!r} of {words.tasks or words.votes}"
            notes += check_truth(table, found[name], what, str(words.votes))
    truth, gold = (found[name] if name else None for name in (read.truth, options.learned))
    return ReadInputs(table, truth, gold, tuple(notes))


def read_columns(constraints: "Sequence[Constraint]", votes: "VoteTable", read: ReadOptions) -> "GroupColumns":
    """Read the sensitive columns of a run: those of ``group``, and those that constraints name."""
    from faircrowd.fair.constraints.listed import needed_columns

    return read_named_columns(tuple(dict.fromkeys([*read.group, *needed_columns(constraints)])), votes, read)


def read_named_columns(names: Sequence[str], votes: "VoteTable", read: ReadOptions) -> "GroupColumns":
    """Read sensitive columns by their names, from the tasks or the votes."""
    from faircrowd.fair.tasks.group_columns import read_group_columns

    if not names:
        return {}
    return read_group_columns(
        votes.tasks,
        list(names),
        votes=None if (table := read.votes_table) is None else (table, read.task),
        table=read.tasks,
        delimiter=read.delimiter,
        on_missing_group=read.on_missing_group,
    )


def _read_table(read: ReadOptions, engine: EngineOptions | None = None, *, is_jury: bool = False) -> "VoteTable":
    """Read votes with their groups; raise unless there are several votes, workers and classes to merge."""
    import pyarrow as pa

    if read.votes is None:
        raise OptionError("A run reads its votes from a file; give votes=...")
    group = list(read.group) or None
    if engine is not None and engine.name == "stream":
        from faircrowd.engines.engine_choice import memory_to_regroup
        from faircrowd.engines.stream.read_stream import read_votes_on_disk

        limit = None if engine.memory_limit is None else memory_to_regroup(engine.memory_limit)
        table = read_votes_on_disk(
            read.votes, memory_limit=limit, sensitive_features=group, tasks=read.tasks, **read.arguments
        )
    else:
        from faircrowd.votes import read_votes

        table = read_votes(read.votes, sensitive_features=group, tasks=read.tasks, **read.arguments)
    pa.default_memory_pool().release_unused()  # the columns that were read
    speaks = table.judges is not None and table.judges.has_probabilities  # one judge says enough
    for count, name in ((table.n_votes, "vote"), (table.n_workers, "worker"), (table.n_classes, "class")):
        if count < 2 and not (speaks and name == "worker" and count == 1):
            values = {"worker": table.workers, "class": table.classes}.get(name)
            which = "" if values is None or not count else f" ({few(values.to_list())})"
            if name == "worker" and count and (is_jury or _is_log_of_judges(read)):
                raise InputError(f"{read.votes} has only one judge{which} to use, and no probabilities: {_ONE_JUDGE}")
            if not table.report.rows_read:
                raise InputError(f"{read.votes} has no vote to use: it has no rows. Is it the right file?")
            found = f"only one {name}{which}" if count else f"no {name}"
            raise InputError(
                f"{read.votes} has {found} to use; a consensus needs at least two. {_what_was_read(read, name)}"
            )
    return table


def _is_log_of_judges(read: ReadOptions) -> bool:
    """Return whether votes are read from a log of judges."""
    from faircrowd.votes.exports import JUDGES
    from faircrowd.votes.readers import Source

    return isinstance(source := read.votes_table, Source) and source.reader.name in JUDGES


def _what_was_read(read: ReadOptions, what: str) -> str:
    """Say where votes, workers or classes were looked for, and what else the file has, which may be meant instead."""
    from faircrowd.votes.exports.answers import GOLDEN
    from faircrowd.votes.read import find_roles
    from faircrowd.votes.readers import Source, open_source

    source = read.votes_table
    if not isinstance(source, Source):
        source = open_source(source or "", format=read.format, delimiter=read.delimiter)
    named = {"task": read.task, "worker": read.worker, "label": read.label}
    try:
        roles = find_roles(source, named, str(source.path))
    except InputError:  # probabilities by class have no column of labels
        return "Is it the right file?"
    is_export = source.reader.is_export
    role = "worker" if what == "worker" and not is_export else "label"
    others = [name for name in source.header() if name not in {*roles.values(), *source.fact_names(), GOLDEN}]
    told = f"Its {role}s are in the column {roles[role]!r}"
    if is_export:
        told = f"It is read as {source.reader.help}, and the labels are the answers to {roles[role]!r}"
    if not others:
        return f"{told}. Is it the right file?"
    noun = "question" if is_export else "column"
    return f"{told}; if another {noun} is meant ({few(others, limit=8)}), name it with {role}=..."


def check_truth(table: "VoteTable", given: Any, what: str, votes: str) -> list[str]:
    """Raise unless true labels are known for some tasks and are labels of the votes; return what there is to note.

    Parameters
    ----------
    given
        The true labels, as ``fit`` takes them.
    what, votes : str
        What the labels and the votes are called in messages.
    """
    from faircrowd.votes.scoring import scoring_truth

    _, strange = scoring_truth(table, given, what, votes)
    return [f"{what} has labels that nobody voted for: {few(strange)}"] if strange else []


def control_values(
    votes: "VoteTable", tasks: "Path | Source", column: str, **reading: str | None
) -> "NDArray[np.object_]":
    """Return the value of a column of the tasks for each task of the votes."""
    import numpy as np

    from faircrowd.votes.facts import read_facts
    from faircrowd.votes.groups import one_value_each

    codes, values = one_value_each(
        votes.tasks, read_facts(tasks, column, **reading), f"{column!r} in {getattr(tasks, 'path', tasks)}"
    )
    return np.asarray(values.names, dtype=object)[codes]
