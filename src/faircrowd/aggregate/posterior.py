"""The results of an aggregator: scores of tasks and classes as labels, probabilities and log-probabilities."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from faircrowd._checks import check_memory
from faircrowd._display import Displayed
from faircrowd._threads import for_rows_in_threads
from faircrowd.engines import Votes, votes_in_memory
from faircrowd.engines.protocols import SparkFrame
from faircrowd.engines.spark.task_rows import SparkRows
from faircrowd.errors import OptionError
from faircrowd.votes import Vocabulary, VoteTable
from faircrowd.votes.style import Style
from faircrowd.votes.vocabulary import Codes

__all__ = [
    "TIES",
    "Posterior",
    "SparkPosterior",
    "TaskPosterior",
    "check_size",
    "choose",
    "log_odds",
    "log_probabilities",
    "make_posterior",
    "probabilities",
]

_ROWS_AT_A_TIME = 1 << 20

TIES = ("first", "last")
"""Which class wins a tie: the first or the last of the tied classes in sorted order."""


def check_size(votes: Votes) -> None:
    """Raise if the probabilities of all tasks do not fit into memory; those of tasks in Spark are never held there."""
    if isinstance(votes, VoteTable):
        check_memory(
            3 * votes.n_tasks * votes.n_classes,  # scores, probabilities, and one temporary array
            f"The probabilities of {votes.n_tasks:,} tasks and {votes.n_classes:,} classes",
            "merge rare classes, or split the tasks",
        )


def choose(scores: NDArray[np.float64], ties: str) -> Codes:
    """Return the class with the highest score in each row; ``ties`` is one of :data:`TIES`."""
    chosen = np.empty(scores.shape[0], dtype=np.int32)

    def choose_rows(rows: slice) -> None:
        some = scores[rows]
        if scores.shape[1] == 2:
            chosen[rows] = some[:, 1] > some[:, 0] if ties == "first" else some[:, 1] >= some[:, 0]
        elif ties == "first":
            chosen[rows] = np.argmax(some, axis=1)
        else:
            chosen[rows] = scores.shape[1] - 1 - np.argmax(some[:, ::-1], axis=1)

    for_rows_in_threads(choose_rows, scores.shape[0])
    return chosen


def probabilities(scores: NDArray[np.float64], is_log: bool) -> NDArray[np.float64]:
    """Return the probabilities that scores stand for; each row sums to one."""
    return _in_pieces(lambda rows: _probabilities(rows, is_log), scores)


def log_probabilities(scores: NDArray[np.float64], is_log: bool) -> NDArray[np.float64]:
    """Return their logarithms; differences of two classes keep their digits where probabilities round to 0 and 1."""
    return _in_pieces(lambda rows: _log_probabilities(rows, is_log), scores)


def log_odds(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the log-odds of the second of two classes, from scores that are logarithms."""
    return _in_pieces(_log_odds, scores)


def _in_pieces(
    function: Callable[[NDArray[np.float64]], NDArray[np.float64]], scores: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return a function of the rows of scores; it is called for some rows at a time, to save memory."""
    if len(scores) <= _ROWS_AT_A_TIME:
        return function(scores)
    first = function(scores[:_ROWS_AT_A_TIME])
    found = np.empty((len(scores), *first.shape[1:]))
    found[:_ROWS_AT_A_TIME] = first
    for i in range(_ROWS_AT_A_TIME, len(scores), _ROWS_AT_A_TIME):
        found[i : i + _ROWS_AT_A_TIME] = function(scores[i : i + _ROWS_AT_A_TIME])
    return found


def _probabilities(scores: NDArray[np.float64], is_log: bool) -> NDArray[np.float64]:
    if scores.size == 0:
        return scores
    shares = scores
    if is_log:
        shares = np.exp(shares - shares.max(axis=1, keepdims=True))
    return np.asarray(shares / _row_sums(shares))


def _log_odds(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    logs = _log_probabilities(scores, True)
    return np.asarray(logs[:, 1] - logs[:, 0])


def _log_probabilities(scores: NDArray[np.float64], is_log: bool) -> NDArray[np.float64]:
    if not is_log:
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(_probabilities(scores, is_log)))
    if scores.size == 0:
        return scores
    below = scores - scores.max(axis=1, keepdims=True)
    best = np.argmax(below, axis=1)[:, None]
    others = np.exp(below)
    np.put_along_axis(others, best, 0.0, axis=1)
    # log p = (score - top) - log(1 + sum of the others): near p = 1 nothing cancels.
    return np.asarray(below - np.log1p(_row_sums(others)))


def _row_sums(shares: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the sum of each row, the same for every order of the classes: the smallest are added first."""
    return np.asarray((np.sort(shares, axis=1) if shares.shape[1] > 2 else shares).sum(axis=1, keepdims=True))


class TaskPosterior(Protocol):
    """What the results of tasks in memory and in Spark have in common."""

    @property
    def classes(self) -> Vocabulary:
        """The classes."""

    @property
    def is_log(self) -> bool:
        """Whether scores are logarithms of probabilities (up to a constant per task), or sums of weights."""

    @property
    def ties(self) -> str:
        """Which class wins a tie, one of :data:`TIES`."""

    @property
    def labels(self) -> Any:
        """The most probable class of each task, in the kind of frame that the votes came in."""

    @property
    def probas(self) -> Any:
        """The probability of each class for each task, in the kind of frame that the votes came in."""

    @property
    def log_probas(self) -> Any:
        """The log-probability of each class for each task, in the kind of frame that the votes came in."""

    def in_memory(self) -> "Posterior":
        """Return the results as arrays; raise if the tasks are in Spark."""


@dataclass(frozen=True, eq=False, repr=False)
class Posterior(Displayed):
    """The results of tasks in memory.

    Attributes
    ----------
    tasks, classes : Vocabulary
    style : Style
        The kind of frame that the votes came in.
    scores : ndarray, shape (n_tasks, n_classes)
        Logarithms up to a constant per task (``is_log``), or sums of weights. They are exact sums, so that equal
        scores are equal to the last bit.
    is_log : bool
    ties : {"first", "last"}
    """

    tasks: Vocabulary
    classes: Vocabulary
    style: Style
    scores: NDArray[np.float64]
    is_log: bool
    ties: str

    @cached_property
    def label_codes(self) -> Codes:
        """The most probable class of each task."""
        return choose(self.scores, self.ties)

    @cached_property
    def values(self) -> NDArray[np.float64]:
        """Probabilities; each row sums to one."""
        return probabilities(self.scores, self.is_log)

    @cached_property
    def log_values(self) -> NDArray[np.float64]:
        """Log-probabilities; differences of two classes keep their digits where probabilities round to 0 and 1."""
        return log_probabilities(self.scores, self.is_log)

    @cached_property
    def labels(self) -> Any:
        """The most probable class of each task, in the kind of frame that the votes came in."""
        return self.style.series({"task": self.tasks}, "agg_label", ("label", self.classes.take(self.label_codes)))

    @cached_property
    def probas(self) -> Any:
        """The probability of each class for each task, in the kind of frame that the votes came in."""
        return self.style.frame({"task": self.tasks}, self.classes, self.values, columns_name="label")

    @cached_property
    def log_probas(self) -> Any:
        """The log-probability of each class for each task, in the kind of frame that the votes came in."""
        return self.style.frame({"task": self.tasks}, self.classes, self.log_values, columns_name="label")

    def in_memory(self) -> "Posterior":
        """Return the results themselves: they are arrays."""
        return self


@dataclass(frozen=True, eq=False)
class SparkPosterior:
    """The results of tasks in Spark: frames that are made where the tasks are.

    Attributes
    ----------
    classes : Vocabulary
    scores : SparkRows
        One row of scores per task, not computed yet; as in :class:`Posterior`.
    is_log : bool
    ties : {"first", "last"}
    """

    classes: Vocabulary
    scores: SparkRows
    is_log: bool
    ties: str

    @cached_property
    def labels(self) -> SparkFrame:
        """A Spark frame: task, group, agg_label."""
        return self.named(self.scores.map(choose, self.ties).frame("agg_label"), "agg_label")

    @cached_property
    def probas(self) -> SparkFrame:
        """A Spark frame: task, group, and the probabilities in the order of the classes."""
        return self.named(self.scores.map(probabilities, self.is_log).frame("probabilities"))

    @cached_property
    def log_probas(self) -> SparkFrame:
        """A Spark frame: task, group, and the log-probabilities in the order of the classes."""
        return self.named(self.scores.map(log_probabilities, self.is_log).frame("log_probabilities"))

    def named(self, frame: SparkFrame, label: str | None = None) -> SparkFrame:
        """Replace the codes of groups, and of classes in the column ``label``, by their values."""
        from faircrowd.engines.spark.codes import with_values

        groups = self.scores.votes.groups
        frame = frame.drop("group") if groups is None else with_values(frame, "group", groups)
        return frame if label is None else with_values(frame, label, self.classes)

    def in_memory(self) -> Posterior:
        """Raise: the results stay in Spark."""
        raise OptionError("The results of votes in Spark stay there; use labels_ and probas_, which are Spark frames.")


def make_posterior(votes: Votes, scores: NDArray[np.float64] | SparkRows, *, is_log: bool, ties: str) -> TaskPosterior:
    """Return the results of votes from the scores that the engine of these votes emitted."""
    if not isinstance(scores, np.ndarray):
        return SparkPosterior(votes.classes, scores, is_log, ties)
    table = votes_in_memory(votes)
    return Posterior(table.tasks, table.classes, table.style, scores, is_log, ties)
