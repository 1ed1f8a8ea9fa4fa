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

__all__ = [
    "ReadInputs",
    "check_truth",
    "clear_leftovers",
    "control_values",
    "read_columns",
    "read_inputs",
    "settle_engine",
]


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


def settle_engine(engine: EngineOptions, votes: Path, progress: Progress) -> EngineOptions:
    """Choose the engine by the size of the file if it is "auto"; report the choice unless it is memory, as usual."""
    from faircrowd.engines.engine_choice import choose_engine

    if engine.name != "auto":
        return engine
    choice = choose_engine(votes, engine.memory_limit)
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
    table = _read_table(read, engine)
    if engine.name == "stream":
        check_run(table.n_tasks, table.n_classes, table.tasks.values.nbytes, engine.memory_limit)
    notes: list[str] = []
    found: dict[str, Facts] = {}
    for name in (read.truth, options.learned):
        if name and name not in found:
            found[name] = read_facts(read.tasks, name, **read.facts)
            notes += check_truth(table, found[name], f"column {name!r} of {words.tasks}", str(words.votes))
    truth, gold = (found[name] if name else None for name in (read.truth, options.learned))
    return ReadInputs(table, truth, gold, tuple(notes))


def read_columns(constraints: "Sequence[Constraint]", votes: "VoteTable", read: ReadOptions) -> "GroupColumns":
    """Read the columns that constraints speak of, from the tasks or the votes."""
    from faircrowd.fair.constraints.listed import needed_columns
    from faircrowd.fair.tasks.group_columns import read_group_columns

    names = tuple(
        dict.fromkeys([*read.group, *needed_columns(constraints)])
    )  # a constraint about all columns is about those of group
    if not names:
        return {}
    return read_group_columns(
        votes.tasks,
        list(names),
        votes=None if read.votes is None else (read.votes, read.task),
        table=read.tasks,
        delimiter=read.delimiter,
        on_missing_group=read.on_missing_group,
    )


def _read_table(read: ReadOptions, engine: EngineOptions | None = None) -> "VoteTable":
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
            read.votes, memory_limit=limit, sensitive_features=group, tasks=read.tasks, **read.columns
        )
    else:
        from faircrowd.votes import read_votes

        table = read_votes(read.votes, sensitive_features=group, tasks=read.tasks, **read.columns)
    pa.default_memory_pool().release_unused()  # the columns that were read
    for count, name in ((table.n_votes, "vote"), (table.n_workers, "worker"), (table.n_classes, "class")):
        if count < 2:
            found = f"only one {name}" if count else f"no {name}"
            raise InputError(f"{read.votes} has {found} to use; a consensus needs at least two. Is it the right file?")
    return table


def check_truth(table: "VoteTable", given: Any, what: str, votes: str) -> list[str]:
    """Raise unless true labels are known for some tasks and are labels of the votes; return what there is to note.

    Parameters
    ----------
    given
        The true labels, as ``fit`` takes them.
    what, votes : str
        What the labels and the votes are called in messages.
    """
    from faircrowd.votes.groups import truth_codes

    known, strange = truth_codes(table, given)
    if not (known != -1).any():
        raise InputError(f"No task of {votes} has a value in {what}; do the task ids match?")
    if not (known >= 0).any():
        raise InputError(
            f"No value in {what} is a label of the votes: {few(strange)} against "
            f"{few(table.classes.some(range(min(5, table.n_classes))), table.n_classes)}."
        )
    return [f"{what} has labels that nobody voted for: {few(strange)}"] if strange else []


def control_values(votes: "VoteTable", tasks: Path, column: str, **reading: str | None) -> "NDArray[np.object_]":
    """Return the value of a column of the tasks for each task of the votes."""
    import numpy as np

    from faircrowd.votes.facts import read_facts
    from faircrowd.votes.groups import one_value_each

    codes, values = one_value_each(votes.tasks, read_facts(tasks, column, **reading), f"{column!r} in {tasks}")
    return np.asarray(values.names, dtype=object)[codes]
