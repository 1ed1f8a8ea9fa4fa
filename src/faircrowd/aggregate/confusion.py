"""Workers as confusion matrices: the parameters, their estimates from counts, and the engine that counts."""

import math
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from faircrowd._checks import check_memory
from faircrowd.aggregate.kernels.class_count import classes_token
from faircrowd.aggregate.kernels.confusion_counts import expected_counts, joint_scores, share_counts
from faircrowd.aggregate.posterior import check_size
from faircrowd.engines import engine_of
from faircrowd.exact.sums import mass_unit, on_grid, read_log_likelihood
from faircrowd.votes import VoteTable
from faircrowd.votes.vocabulary import Codes

__all__ = ["Confusion", "Counter", "Counts", "coin_matrix", "normalised"]

_TINY = 1e-300


class Confusion(NamedTuple):
    r"""Parameters of a crowd.

    Attributes
    ----------
    errors : ndarray, shape (n_workers, n_groups, n_classes, n_classes)
        ``errors[r, a, j, k]`` is :math:`\pi^{(r)}_{j,k}(a) = P(\tilde Y_r = j \mid Y = k, A = a)`.
    priors : ndarray, shape (n_groups, n_classes)
        ``priors[a, k]`` is :math:`P(Y = k \mid A = a)`.
    """

    errors: NDArray[np.float64]
    priors: NDArray[np.float64]


class Counts(NamedTuple):
    """Expected counts, of the same shapes as the parameters that they estimate."""

    errors: NDArray[np.float64]
    priors: NDArray[np.float64]


def normalised(counts: NDArray[np.float64], axis: int) -> NDArray[np.float64]:
    """Scale counts to probabilities along an axis; where there are none, to equal ones."""
    total = counts.sum(axis=axis, keepdims=True)
    even = 1.0 / max(counts.shape[axis], 1)
    return np.asarray(np.divide(counts, total, out=np.full(counts.shape, even), where=total > 0))


def coin_matrix(skill: float, n_classes: int) -> NDArray[np.float64]:
    """Return the matrix of a worker who is right with one probability, and else answers any other class alike."""
    wrong = (1 - skill) / max(n_classes - 1, 1)
    return np.full((n_classes, n_classes), wrong) + (skill - wrong) * np.eye(n_classes)


class Counter:
    """Counts and scores of one table of votes, by an engine.

    Parameters
    ----------
    votes : VoteTable
        Worker codes may run past its list of workers: those are the workers that a model does not know.
    by_group : bool
        Whether workers have a matrix a group.
    gold : ndarray of int32, optional
        True label of each task, -1 where it is not known; as :func:`faircrowd.engines.gold_of` gives it.
    """

    def __init__(self, votes: VoteTable, *, by_group: bool, gold: Codes | bool | None = None) -> None:
        self.engine = engine_of(votes, by_group=by_group, gold=gold)
        self.token = classes_token(votes.n_classes)
        self.n_votes = votes.n_votes
        self.n_groups = len(votes.groups) if by_group and votes.groups is not None else 1
        self.shape = (votes.n_workers, self.n_groups, votes.n_classes, votes.n_classes)
        check_size(votes)
        check_memory(
            6 * math.prod(self.shape),  # counts, parameters, logarithms, and as many on the way there
            f"The confusion matrices of {votes.n_workers:,} workers and {votes.n_classes:,} classes"
            + (f" in {self.n_groups:,} groups" if self.n_groups > 1 else ""),
            "merge rare classes, or use MajorityVote, Wawa or GLAD",
        )
        self.most_votes = max(votes.most_votes, 1)
        self.votes = votes

    @cached_property
    def units(self) -> tuple[float, float]:
        """Units of mass of a cell and of a class share."""
        return mass_unit(int(self.votes.votes_per_worker.max(initial=1))), mass_unit(self.votes.n_tasks)

    def from_shares(self, *, only_gold: bool = False) -> Counts:
        """Count with each task's shares of votes as its posterior, or its true label where that is known."""
        n_cells = self.shape[0] * self.n_groups
        return self._counts(
            *self.engine.reduce(share_counts, self.token, only_gold, n_cells, self.n_groups, *self.units)
        )

    def expected(self, model: Confusion) -> tuple[Counts, float]:
        """Count with the posterior of a model; also return its log-likelihood."""
        *counts, limbs = self.engine.reduce(expected_counts, self.token, *self._tables(model), *self.units)
        return self._counts(*counts), read_log_likelihood(limbs)

    def scores(self, model: Confusion) -> Any:
        """Return the log joint probability of each task's votes and each class, up to the grid, as the engine emits."""
        return self.engine.emit(joint_scores, self.token, *self._tables(model))

    def _tables(self, model: Confusion) -> list[NDArray[np.float64]]:
        logs = [np.log(np.maximum(table, _TINY)).reshape(-1, *table.shape[-1:]) for table in model if table.size]
        if not logs:  # no votes, so no classes
            return [np.empty((0, 0)), np.empty((self.n_groups, 0))]
        return on_grid(*logs, n_terms=self.most_votes + 1)

    def _counts(self, errors: NDArray[Any], priors: NDArray[Any]) -> Counts:
        cell_unit, prior_unit = self.units
        return Counts(errors.reshape(self.shape) / cell_unit, priors / prior_unit)
