"""Scores a task and class to labels, probabilities and log-probabilities."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from faircrowd._checks import check_memory
from faircrowd.votes import Vocabulary, VoteTable
from faircrowd.votes.style import Style
from faircrowd.votes.vocabulary import Codes

__all__ = ["TIES", "Posterior", "check_size", "choose", "log_odds", "log_probabilities", "probabilities"]

_PIECE = 1 << 20

TIES = ("first", "last")
"""Rules for a tie of classes: the first or the last of them in sorted order."""


def check_size(votes: VoteTable) -> None:
    """Raise if the posterior of so many tasks and classes does not fit into memory (in Spark it never comes there)."""
    if not isinstance(votes, VoteTable):
        return
    check_memory(
        3 * votes.n_tasks * votes.n_classes,  # scores, probabilities, and one more on the way there
        f"The probabilities of {votes.n_tasks:,} tasks and {votes.n_classes:,} classes",
        "merge rare classes, or split the tasks",
    )


def choose(scores: NDArray[np.float64], ties: str) -> Codes:
    """Return the class with the highest score of each row; a tie goes by the named rule."""
    if scores.shape[0] == 0:
        return np.empty(0, dtype=np.int32)
    if scores.shape[1] == 2:
        second = scores[:, 1] > scores[:, 0] if ties == "first" else scores[:, 1] >= scores[:, 0]
        return second.astype(np.int32)
    if ties == "first":
        return np.asarray(np.argmax(scores, axis=1), dtype=np.int32)
    return np.asarray(scores.shape[1] - 1 - np.argmax(scores[:, ::-1], axis=1), dtype=np.int32)


def probabilities(scores: NDArray[np.float64], is_log: bool) -> NDArray[np.float64]:
    """Return the probabilities that scores stand for; each row sums to one."""
    return _in_pieces(_probabilities, scores, is_log)


def log_probabilities(scores: NDArray[np.float64], is_log: bool) -> NDArray[np.float64]:
    """Return their logarithms; the gap between two classes keeps its digits where probabilities round to 0 and 1."""
    return _in_pieces(_log_probabilities, scores, is_log)


def log_odds(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Two classes: return the logarithm of the odds of the second, from scores that are logarithms."""
    return _in_pieces(_log_odds, scores)


def _in_pieces(
    function: Callable[..., NDArray[np.float64]], scores: NDArray[np.float64], *more: Any
) -> NDArray[np.float64]:
    """Return a function of rows; it is called for some at a time, so that what it holds on the way is small."""
    if len(scores) <= _PIECE:
        return function(scores, *more)
    first = function(scores[:_PIECE], *more)
    whole = np.empty((len(scores), *first.shape[1:]))
    whole[:_PIECE] = first
    for i in range(_PIECE, len(scores), _PIECE):
        whole[i : i + _PIECE] = function(scores[i : i + _PIECE], *more)
    return whole


def _probabilities(scores: NDArray[np.float64], is_log: bool) -> NDArray[np.float64]:
    if scores.size == 0:
        return scores
    shares = scores
    if is_log:
        shares = np.exp(shares - shares.max(axis=1, keepdims=True))
    return np.asarray(shares / shares.sum(axis=1, keepdims=True))


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
    return np.asarray(below - np.log1p(others.sum(axis=1, keepdims=True)))


@dataclass(frozen=True, eq=False)
class Posterior:
    """What an aggregator says of the tasks it has seen.

    Attributes
    ----------
    scores : ndarray, shape (n_tasks, n_classes)
        Logarithms up to a constant a task (``is_log``), or sums of weights. They are exact sums, so ties are
        ties.
    """

    tasks: Vocabulary
    classes: Vocabulary
    style: Style
    scores: NDArray[np.float64]
    is_log: bool
    ties: str

    @classmethod
    def of(cls, votes: Any, scores: Any, *, is_log: bool, ties: str) -> "Posterior":
        """Wrap the scores of a table's tasks; those in Spark are wrapped by their like."""
        if not isinstance(scores, np.ndarray):
            from faircrowd.aggregate.spark_posterior import SparkPosterior

            return SparkPosterior(votes.classes, scores, is_log, ties)  # type: ignore[return-value]
        return cls(votes.tasks, votes.classes, votes.style, scores, is_log, ties)

    @cached_property
    def label_codes(self) -> Codes:
        """The most probable class of each task."""
        return choose(self.scores, self.ties)

    @cached_property
    def log_values(self) -> NDArray[np.float64]:
        """Log-probabilities; the gap between two classes keeps its digits where the probabilities round to 0 and 1."""
        return log_probabilities(self.scores, self.is_log)

    @cached_property
    def values(self) -> NDArray[np.float64]:
        """Probabilities; each row sums to one."""
        return probabilities(self.scores, self.is_log)

    @cached_property
    def labels(self) -> Any:
        """A label a task, in the kind of frame that the votes came in."""
        return self.style.series({"task": self.tasks}, "agg_label", ("label", self.classes.take(self.label_codes)))

    @cached_property
    def probas(self) -> Any:
        """A probability a task and class, in the kind of frame that the votes came in."""
        return self.style.frame({"task": self.tasks}, self.classes, self.values, columns_name="label")

    @cached_property
    def log_probas(self) -> Any:
        """A log-probability a task and class, in the kind of frame that the votes came in."""
        return self.style.frame({"task": self.tasks}, self.classes, self.log_values, columns_name="label")
