"""Labels against the truth: which true labels can score them, and the share that is right."""

from typing import Any, Protocol

import numpy as np

from faircrowd._checks import few
from faircrowd._types import ByTask
from faircrowd.errors import InputError
from faircrowd.votes.facts import Facts
from faircrowd.votes.groups import truth_codes
from faircrowd.votes.vocabulary import Codes, Vocabulary

__all__ = ["LabelledTasks", "scoring_truth", "share_right"]


class LabelledTasks(Protocol):
    """Tasks that have labels: votes, or the tasks of a posterior."""

    @property
    def tasks(self) -> Vocabulary:
        """The tasks."""

    @property
    def classes(self) -> Vocabulary:
        """The classes."""


def scoring_truth(
    table: LabelledTasks, given: ByTask | Facts, what: str = "truth", votes: str = "the votes"
) -> tuple[Codes, list[Any]]:
    """Find the true label of each task, to score labels by; raise unless some of it is known and of their classes.

    Parameters
    ----------
    given
        The true labels, as ``fit`` takes known ones.
    what, votes : str
        What these and the votes are called in messages.

    Returns
    -------
    truth : ndarray of int32, shape (n_tasks,)
        The class; -1 where the truth is not known, -2 where it is a label that nobody voted for.
    strange : list
        The labels that nobody voted for.
    """
    known, strange = truth_codes(table, given, what)
    if not (known != -1).any():
        raise InputError(f"No task of {votes} has a value in {what}; do the task ids match?")
    if not (known >= 0).any():
        classes = table.classes
        listed = few(classes.some(range(min(5, len(classes)))), len(classes))
        raise InputError(f"No value in {what} is a label of the votes: {few(strange)} against {listed}.")
    return known, strange


def share_right(labels: Codes, truth: Codes | None) -> float | None:
    """Return the share of right labels among the tasks whose truth is known (not -1); None if none is.

    Examples
    --------
    >>> share_right(np.array([0, 1, 1], dtype=np.int32), np.array([0, 0, -1], dtype=np.int32))
    0.5
    """
    known = np.empty(0, dtype=bool) if truth is None else truth != -1
    return float((labels[known] == truth[known]).mean()) if truth is not None and known.any() else None
