"""What is in the files: votes, labels, columns that may hold groups or true labels, and the gaps as they are now."""

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from faircrowd.aggregate.majority import MajorityVote
from faircrowd.errors import FaircrowdError, OptionError
from faircrowd.fair.gap import gap_of
from faircrowd.runs.options import ReadOptions
from faircrowd.votes import VoteTable, read_votes
from faircrowd.votes.exports.answers import GOLDEN
from faircrowd.votes.facts import task_columns
from faircrowd.votes.groups import value_of_each
from faircrowd.votes.read import find_roles
from faircrowd.votes.readers import Source, open_source
from faircrowd.votes.vocabulary import Codes, Column, Vocabulary

__all__ = ["USUAL_TRUTH", "column_names", "data_overview", "read_table", "read_texts"]

_MOST_GROUPS, _MOST_CLASSES = 40, 40
_USUAL_GROUPS = re.compile(
    r"gender|sex\b|race|ethnic|age\b|age_|dialect|nation|religion|group|disab|accent|country|region|language|skin", re.I
)
USUAL_TRUTH = re.compile(r"truth|true|gold|expert|correct|known|target", re.I)
"""How columns of true labels are often called."""
_LONG_TEXT = 8
"""Columns with many values, of more characters on average, may be shown to a person who labels tasks."""


def data_overview(read: ReadOptions) -> dict[str, Any]:
    """Read votes and what is known about their tasks; return what a person must see before choosing anything.

    Parameters
    ----------
    read : ReadOptions
        The files, and the columns that were named.
    """
    source = _source(read)
    table = read_table(read)
    named = {"task": read.task, "worker": read.worker, "label": read.label}
    roles = find_roles(source, named, str(source.path))
    own = MajorityVote().fit(table).posterior_.in_memory().label_codes
    columns = _FactColumns(read, source, roles["task"], list(roles.values()))
    codes: dict[str, Codes] = {}
    facts = [_fact(name, table, own, codes, *columns.value(name)) for name in columns.names]
    usable = [fact for fact in facts if fact is not None and "values" in fact]
    texts = [fact for fact in facts if fact is not None and "is_text" in fact and fact["length"] > _LONG_TEXT]
    _add_truth_gaps(usable, codes, table)
    return {
        "format": source.reader.name,
        "roles": roles,
        "columns": (header := source.header()),
        "golden": source.reader.is_export and GOLDEN in header,
        "votes": table.n_votes,
        "tasks": table.n_tasks,
        "workers": table.n_workers,
        "n_classes": table.n_classes,
        "classes": list(table.classes.names[:_MOST_CLASSES]),
        "notes": table.notes(),
        "facts": usable,
        "texts": [fact["name"] for fact in sorted(texts, key=lambda fact: -fact["length"])],
        "several": [name for name, fact in zip(columns.names, facts, strict=True) if fact is None],
    }


def column_names(read: ReadOptions) -> list[str]:
    """Return the columns of the votes, or the questions of an export; none if the file cannot be read at all."""
    try:
        return _source(read).header()
    except FaircrowdError:
        return []


def read_texts(read: ReadOptions, column: str, tasks: Vocabulary) -> list[str | None]:
    """Return the text of each of some tasks in a column."""
    source = _source(read)
    named = {"task": read.task, "worker": read.worker, "label": read.label}
    key = find_roles(source, named, str(source.path))["task"]
    codes, values, _ = value_of_each(tasks, *_FactColumns(read, source, key, []).value(column))
    return [values.names[code] if code >= 0 else None for code in codes]


def read_table(read: ReadOptions) -> VoteTable:
    """Read the votes, without groups."""
    return read_votes(_source(read), **{name: value for name, value in read.arguments.items() if name != "format"})


def _source(read: ReadOptions) -> Source:
    if read.votes is None:
        raise OptionError("Choose the file with the votes.", parameter="votes")
    opened = read.votes_table
    return opened if isinstance(opened, Source) else open_source(read.votes, delimiter=read.delimiter)


class _FactColumns:
    """The columns that hold facts about tasks: those of the tasks, and those of the votes besides the votes."""

    def __init__(self, read: ReadOptions, votes: Source, key: str, roles: Sequence[str]) -> None:
        found = votes.fact_names() if votes.reader.is_export else votes.header()
        self._places: dict[str, tuple[Source, str]] = {
            name: (votes, key) for name in found if name not in (key, *roles)
        }
        if read.tasks is not None:
            tasks = open_source(read.tasks, delimiter=read.delimiter)
            header = tasks.header()
            known = task_columns(header)
            task = read.task if read.task in header else known[0] if known else None
            if task is not None:
                self._places |= {name: (tasks, task) for name in header if name != task}
        self.names = list(self._places)

    def value(self, name: str) -> tuple[Column, Column]:
        """Return the tasks and the values of a column."""
        source, key = self._places[name]
        read = source.columns([key, name])
        return read[key], read[name]


def _fact(
    name: str, table: VoteTable, own: Codes, kept: dict[str, Codes], key: Column, column: Column
) -> dict[str, Any] | None:
    """Return what there is to know about a column; None if it differs inside a task.

    Parameters
    ----------
    kept : dict
        The code of each task's value in each column with few values; filled here.
    """
    try:
        codes, values, several = value_of_each(table.tasks, key, column)
    except FaircrowdError:
        return {"name": name}
    if several.size:
        return None
    texts = values.names
    if len(values) > min(_MOST_GROUPS, max(2, (codes >= 0).sum() / 2)):
        return {"name": name, "is_text": True, "length": float(np.mean([len(text) for text in texts[:200]]))}
    kept[name] = codes
    counts = np.bincount(codes[codes >= 0], minlength=len(values))
    of_class = {text: code for code, text in enumerate(table.classes.names)}
    is_truth = 2 <= len(values) <= table.n_classes + 2 and sum(text in of_class for text in texts) >= 2
    is_usual = bool(_USUAL_GROUPS.search(name))
    found: dict[str, Any] = {
        "name": name,
        "values": [{"name": text, "tasks": int(n)} for text, n in zip(texts, counts, strict=True)],
        "missing": int((codes < 0).sum()),
        "may_be_group": len(values) >= 2,
        "may_be_truth": is_truth,
        "looks_like": "truth" if is_truth and (USUAL_TRUTH.search(name) or not is_usual) else "group",
        "is_usual": is_usual,
    }
    if len(values) >= 2:
        rates = _rates(own, codes, len(values), table.n_classes)
        found |= {"gap": _gap(rates, counts), "rates": np.nan_to_num(rates).round(6).tolist()}
    if is_truth:
        truth = np.array([of_class.get(text, -1) for text in texts], dtype=np.int32)
        found["known"] = int((codes >= 0).sum())
        right = np.where(codes >= 0, truth[codes], -1)
        found["majority_right"] = float((right == own)[right >= 0].mean()) if (right >= 0).any() else None
    return found


def _add_truth_gaps(facts: Sequence[dict[str, Any]], codes: dict[str, Codes], table: VoteTable) -> None:
    """Add to each column of true labels the gaps that they have themselves, between the groups of other columns."""
    of_class = {text: code for code, text in enumerate(table.classes.names)}
    for fact in facts:
        if not fact["may_be_truth"]:
            continue
        place = np.array([*(of_class.get(value["name"], -1) for value in fact["values"]), -1], dtype=np.int32)
        truth, gaps = place[codes[fact["name"]]], []
        for other in facts:
            if other["looks_like"] == "group" and other is not fact and other["may_be_group"]:
                known = np.where(truth >= 0, codes[other["name"]], -1).astype(np.int32)
                sizes = np.bincount(known[known >= 0], minlength=len(other["values"]))
                gap = _gap(_rates(truth, known, len(other["values"]), table.n_classes), sizes)
                gaps += [] if gap is None else [{"name": other["name"], "gap": gap}]
        fact["truth_gaps"] = gaps


def _rates(labels: Codes, group: Codes, n_groups: int, n_classes: int) -> NDArray[np.float64]:
    """Return the share of each label in each group: one row per group; NaN for a group without tasks."""
    known = (group >= 0) & (labels >= 0)
    counts = np.zeros((n_groups, n_classes))
    np.add.at(counts, (group[known], labels[known]), 1.0)
    sizes = counts.sum(axis=1, keepdims=True)
    rates: NDArray[np.float64] = np.divide(counts, sizes, out=np.full_like(counts, np.nan), where=sizes > 0)
    return rates


def _gap(rates: NDArray[np.float64], counts: NDArray[np.int64], smallest: int = 10) -> float | None:
    """Return the gap between the groups that are large enough to compare; None if fewer than two are."""
    shown = rates[counts >= smallest]
    return None if len(shown) < 2 or np.isnan(shown).any() else gap_of(shown)
