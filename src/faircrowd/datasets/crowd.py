"""A loaded data set: votes, groups and truth, and how much was set aside."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from faircrowd._checks import few
from faircrowd._display import card_of
from faircrowd.datasets.catalogue import About
from faircrowd.errors import InputError
from faircrowd.votes.encode import encode
from faircrowd.votes.facts import Facts
from faircrowd.votes.frames import frame_of
from faircrowd.votes.style import Style
from faircrowd.votes.table import VoteTable, build_table
from faircrowd.votes.vocabulary import Codes, Vocabulary

__all__ = ["ColumnLike", "Crowd", "arrow_tables", "make_crowd", "vote_table"]

ColumnLike: TypeAlias = NDArray[Any] | pa.Array | pa.ChunkedArray
"""A column that can be encoded."""


@dataclass(frozen=True, eq=False)
class Crowd:
    """A crowd from a data set.

    Attributes
    ----------
    votes : frame
        Columns ``task``, ``worker``, ``label``, sorted by task and worker, with one vote per worker and task
        (pandas if it is installed, a pyarrow table otherwise).
    groups : Series, frame or None
        The sensitive group of each task. Several columns make a frame indexed by task. Without pandas: a table
        with a column ``task``.
    truth : Series or None
        The true label of each task where it is known.
    name, description, licence, citation, source : str
        What the data set is, how it may be used, whom to cite, and where it comes from.
    aside : dict of str to int
        How many rows or tasks were set aside or are missing, by reason; empty if everything was used.
    order : ndarray of int64, shape (n_tasks,)
        The tasks in the order of the source, as positions among the sorted tasks, to repeat published resamples.
    """

    votes: Any
    groups: Any
    truth: Any
    name: str
    description: str
    licence: str
    citation: str
    source: str
    aside: dict[str, int]
    order: NDArray[np.int64]

    def _repr_html_(self) -> str:
        return card_of(self)

    def __repr__(self) -> str:
        return f"Crowd({self.name!r}, {len(self.votes):,} votes)"


def vote_table(task: ColumnLike, worker: ColumnLike, label: ColumnLike) -> VoteTable:
    """Encode three columns; if a worker votes on a task repeatedly, the last vote counts."""
    columns = {"task": task, "worker": worker, "label": label}
    return build_table(lambda role: encode(columns[role]), on_missing="drop", on_duplicate="last", style=Style())


def make_crowd(
    about: About, table: VoteTable, groups: Mapping[str, Facts], truth: Facts | None, aside: Mapping[str, int]
) -> Crowd:
    """Join votes with what is known about tasks, and add to the counts of what was set aside.

    Votes on tasks without a group are set aside. Tasks without a true label are kept.
    """
    counts = dict(aside)
    counts |= {f"votes without a {role}": count for role, count in table.report.rows_missing.items()}
    counts["repeated votes, of which the last counts"] = table.report.rows_repeated
    facts = [*groups.values(), *([] if truth is None else [truth])]
    counts["tasks without votes"] = len(set().union(*(_strange(table.tasks, fact.task) for fact in facts)))
    lacking = np.zeros(table.n_tasks, dtype=bool)
    for name, fact in groups.items():
        lacking |= _by_task(table.tasks, fact, name)[0] < 0
    if lacking.any():
        on_these = np.repeat(lacking, table.votes_per_task)
        counts["tasks without a group"] = int(np.count_nonzero(lacking))
        counts["votes on tasks without a group"] = int(np.count_nonzero(on_these))
        table = table.select(~on_these)
    if table.n_votes == 0:
        reasons = ", ".join(f"{count:,} {reason}" for reason, count in counts.items() if count)
        raise InputError(f"No vote of {about.name} can be used ({reasons or 'no rows'}); do the task ids match?")
    tasks = table.tasks
    known = None if truth is None else _by_task(tasks, truth, "true label")
    if known is not None:
        counts["tasks without truth, kept all the same"] = int(np.count_nonzero(known[0] < 0))
    votes = {
        "task": np.repeat(np.asarray(tasks.values), table.votes_per_task),
        "worker": np.asarray(table.workers.values)[table.worker],
        "label": np.asarray(table.classes.values)[table.label],
    }
    return Crowd(
        votes=Style().columns(votes),
        groups=_by_column(tasks, {name: _by_task(tasks, fact, name) for name, fact in groups.items()}),
        truth=None if known is None else _series(tasks, "truth", *known),
        name=about.name,
        description=about.description,
        licence=about.licence,
        citation=about.citation,
        source=about.source,
        aside={reason: count for reason, count in counts.items() if count},
        order=_source_order(tasks, [fact.task for fact in facts]),
    )


def arrow_tables(crowd: Crowd) -> tuple[pa.Table, pa.Table]:
    """Return a crowd as the tables that :func:`load_tables` reads: votes, and tasks with groups and truth."""
    votes = frame_of(crowd.votes).to_arrow()
    tasks = encode(votes["task"])[1].values
    columns = {"task": tasks}
    for facts in (crowd.groups, crowd.truth):
        if facts is None:
            continue
        known = frame_of(facts.reset_index() if hasattr(facts, "reset_index") else facts).to_arrow()
        place = Vocabulary(known["task"].combine_chunks()).code_of(tasks)
        known = known.take(pa.array(place, mask=place < 0))
        columns |= {name: known[name] for name in known.column_names if name != "task"}
    return votes, pa.table(columns)


def _source_order(tasks: Vocabulary, keys: list[Any]) -> NDArray[np.int64]:
    """Return the tasks as the source lists them; those it does not list come last, sorted."""
    listed = [tasks.code_of(key) for key in keys[:1]]
    place = np.concatenate([*listed, np.arange(len(tasks), dtype=np.int32)])
    place = place[place >= 0]
    first = np.unique(place, return_index=True)[1]
    return place[np.sort(first)].astype(np.int64)


def _strange(tasks: Vocabulary, key: ColumnLike) -> list[Any]:
    """Return the keys that are not tasks."""
    keys = encode(key)[1]
    return keys.some(np.flatnonzero(tasks.code_of(keys.values) < 0))


def _by_task(tasks: Vocabulary, facts: Facts, what: str) -> tuple[Codes, Vocabulary]:
    """Return the code of each task's value, -1 where it has none, and the values."""
    codes, values = encode(facts.fact)
    place = tasks.code_of(facts.task)
    known = (place >= 0) & (codes >= 0)
    place, codes = place[known], codes[known]
    found = np.full(len(tasks), -1, dtype=np.int32)
    found[place] = codes
    clash = np.unique(place[found[place] != codes])
    if clash.size:
        raise InputError(f"{clash.size:,} tasks have more than one {what}: {few(tasks.some(clash[:5]), clash.size)}.")
    return found, values


def _by_column(tasks: Vocabulary, columns: Mapping[str, tuple[Codes, Vocabulary]]) -> Any:
    if not columns:
        return None
    if len(columns) == 1:
        ((name, (codes, values)),) = columns.items()
        return _series(tasks, name, codes, values)
    parts = {name: np.asarray(values.values)[codes] for name, (codes, values) in columns.items()}
    frame = Style().columns({"task": np.asarray(tasks.values), **parts})
    return frame.set_index("task") if hasattr(frame, "set_index") else frame


def _series(tasks: Vocabulary, name: str, codes: Codes, values: Vocabulary) -> Any:
    known = np.flatnonzero(codes >= 0)
    return Style().series({"task": tasks.take(known)}, name, (name, values.take(codes[known])))
