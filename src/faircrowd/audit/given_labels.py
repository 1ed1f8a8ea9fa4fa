"""Labels that somebody made, and facts about their tasks, brought together by the ids of tasks."""

from typing import Any

import numpy as np
import pyarrow as pa

from faircrowd._checks import few
from faircrowd._types import ByTask
from faircrowd.errors import InputError
from faircrowd.votes import Vocabulary
from faircrowd.votes.encode import encode
from faircrowd.votes.facts import Facts, find_facts
from faircrowd.votes.vocabulary import Codes, Column, as_objects

__all__ = ["read_given_labels", "read_labels_of"]

_LABEL_COLUMNS = ("label", "agg_label", "answer")


def read_given_labels(labels: ByTask | Facts) -> tuple[Vocabulary, Codes, Vocabulary]:
    """Return the tasks in their order, the code of each label, and the classes."""
    if isinstance(labels, np.ndarray | list):
        key: Any = pa.array(np.arange(len(labels)))
        column: Any = labels if isinstance(labels, np.ndarray) else as_objects(labels)
    else:
        key, (column, *more) = find_facts(labels, None, None, None, names=_LABEL_COLUMNS)
        if more:
            raise InputError("Labels must be one column; got several. Name it 'label'.")
    codes, classes = encode(column)
    task, tasks = encode(key)
    if codes.size == 0:
        raise InputError("There is no label to check.")
    for found, what in ((task, "task"), (codes, "label")):
        missing = np.flatnonzero(found < 0)
        if missing.size:
            raise InputError(
                f"{missing.size:,} of {found.size:,} rows have no {what} (the first is row {missing[0] + 1}); "
                "give every task a label, or leave its row out."
            )
    if len(tasks) < task.size:
        twice = np.flatnonzero(np.bincount(task) > 1)
        raise InputError(
            f"{twice.size:,} tasks have more than one row of labels: {few(tasks.some(twice[:5]), twice.size)}; "
            "a task has one label."
        )
    return tasks.take(task), codes, classes


def read_labels_of(tasks: Vocabulary, facts: ByTask | Facts, what: str) -> tuple[Codes, Vocabulary]:
    """Return a label of each task, -1 where there is none, and the classes: by id, or by position for an array.

    Parameters
    ----------
    what : str
        What the labels are called in messages.
    """
    if isinstance(facts, np.ndarray | list):
        if len(facts) != len(tasks):
            raise InputError(f"{what} has {len(facts):,} rows for {len(tasks):,} tasks; give one per task.")
        column: Column = facts if isinstance(facts, np.ndarray) else as_objects(facts)
        return encode(column)
    key, (column, *more) = find_facts(facts, None, None, None, names=("label", "truth", "true_label", "label_before"))
    if more:
        raise InputError(f"{what} must be one column; got several.")
    codes, classes = encode(column)
    place = tasks.code_of(key)
    known = (place >= 0) & (codes >= 0)
    found = np.full(len(tasks), -1, dtype=np.int32)
    found[place[known]] = codes[known]
    twice = np.unique(place[known][found[place[known]] != codes[known]])
    if twice.size:
        names = few(tasks.some(twice[:5]), twice.size)
        raise InputError(f"{twice.size:,} of {len(tasks):,} tasks have more than one value of {what}: {names}.")
    if not known.any():
        raise InputError(f"No task has a value of {what}; do the task ids match?")
    return found, classes
