"""Labels that none of the voters of their task gave: how many there are, which they are, and what to say about them."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from faircrowd.storage.mapped_arrays import release
from faircrowd.votes import VoteTable
from faircrowd.votes.vocabulary import Codes

__all__ = [
    "is_unvoted",
    "labels_without_votes",
    "unvoted_changes",
    "unvoted_changes_in_words",
    "unvoted_warning",
    "with_unvoted_told",
]

_MANY_UNVOTED = 0.02
"""Which share of labels that no voter gave is worth a warning."""
_TASKS_PER_PIECE = 1 << 17
_IN_REASONS = "; no voter of the task gave this label"


def is_unvoted(votes: VoteTable, labels: Codes, rows: slice = slice(None)) -> NDArray[np.bool_]:
    """Return of which tasks the label is one that none of their voters gave; tasks without votes do not count.

    Parameters
    ----------
    labels : ndarray of int32
        The class of each task of the table.
    rows : slice
        The tasks to tell it of.

    Examples
    --------
    >>> from faircrowd import read_votes
    >>> import pandas as pd
    >>> votes = read_votes(pd.DataFrame({"task": [1, 1, 2], "worker": [1, 2, 1], "label": ["a", "b", "b"]}))
    >>> is_unvoted(votes, np.array([0, 0])).tolist()
    [False, True]
    """
    start, stop, _ = rows.indices(votes.n_tasks)
    found = [_unvoted(votes, labels, i, min(i + _TASKS_PER_PIECE, stop)) for i in range(start, stop, _TASKS_PER_PIECE)]
    return np.concatenate([np.empty(0, dtype=bool), *found])


def _unvoted(votes: VoteTable, labels: Codes, start: int, stop: int) -> NDArray[np.bool_]:
    offsets = votes.offsets[start : stop + 1]
    first, last = int(offsets[0]), int(offsets[-1])
    counts, given = np.diff(offsets), votes.label[first:last]
    before = np.concatenate([[0], np.cumsum(given == np.repeat(labels[start:stop], counts))])
    found = (np.diff(before[offsets - first]) == 0) & (counts > 0)
    release(offsets)
    release(given)
    return np.asarray(found)


def labels_without_votes(votes: VoteTable, labels: Codes) -> int:
    """Return of how many tasks the label is one that none of their voters gave."""
    return int(is_unvoted(votes, labels).sum())


def unvoted_changes(
    votes: VoteTable, before: Codes, after: Codes, reviewed: NDArray[np.bool_] | None = None
) -> int | None:
    """Return how many labels were changed to one that none of the voters of the task gave.

    None where judges gave probabilities, which may be above zero for labels without a vote.

    Parameters
    ----------
    reviewed : ndarray of bool, optional
        The tasks that are sent to a person; they have no label yet.
    """
    if _by_probabilities(votes):
        return None
    changed = after != before if reviewed is None else (after != before) & ~reviewed
    return int((is_unvoted(votes, after) & changed).sum())


def unvoted_changes_in_words(unvoted: int, changed: int) -> str:
    """Say how many changed labels nobody gave, why that happens, and where these tasks are.

    Examples
    --------
    >>> unvoted_changes_in_words(7, 38).partition(":")[0]
    '7 of the 38 changed labels are labels that no voter of the task gave'
    """
    are, they, which = ("are labels", "these tasks", "which they are")
    if unvoted == 1:
        are, they, which = ("is a label", "this task", "which it is")
    return (
        f"{unvoted:,} of the {changed:,} changed labels {are} that no voter of the task gave: labels are chosen by "
        f"what the model believes, and it gives some probability to every label. Have {they} looked at before you use "
        f"the labels; the column why of labels.csv tells {which}"
    )


def unvoted_warning(votes: VoteTable, labels: Codes) -> str | None:
    """Return what to say if many labels are none that voters of their task gave; None if few are.

    A model may overrule all voters of a task because of what it believes about them. Where workers have few votes, it
    knows little about them, and such labels are guesses that its probabilities do not show.
    """
    if _by_probabilities(votes):
        return None
    number = labels_without_votes(votes, labels)
    if number < max(_MANY_UNVOTED * votes.n_tasks, 2):
        return None
    each = votes.n_votes / votes.n_workers
    return (
        f"{number:,} of {votes.n_tasks:,} labels are labels that nobody gave to their task: the model overrules all "
        f"voters of these tasks, though a worker has {each:.1f} votes on average, in {votes.n_classes:,} classes; "
        "compare with MajorityVote(), or check some labels (CalibratedCrowd())"
    )


def with_unvoted_told(
    columns: Callable[[slice], dict[str, Any]],
    votes: VoteTable,
    labels: Codes,
    reviewed: NDArray[np.bool_] | None = None,
) -> Callable[[slice], dict[str, Any]]:
    """Return what gives the same columns, with the reason of each label telling if no voter of the task gave it.

    Parameters
    ----------
    columns : callable
        Returns further columns of labels.csv for a slice of the tasks, ``why`` among them.
    reviewed : ndarray of bool, optional
        As in ``unvoted_changes``.
    """
    if _by_probabilities(votes):
        return columns

    def told(rows: slice) -> dict[str, Any]:
        found = columns(rows)
        unvoted = is_unvoted(votes, labels, rows)
        if reviewed is not None:
            unvoted &= ~reviewed[rows]
        why = found["why"]
        more = pc.binary_join_element_wise(why, pa.scalar(_IN_REASONS), "")
        return {**found, "why": pc.if_else(pa.array(unvoted), more, why)}

    return told


def _by_probabilities(votes: VoteTable) -> bool:
    """Return whether judges gave probabilities: then a label may have one, but no vote."""
    return votes.judges is not None and votes.judges.has_probabilities
