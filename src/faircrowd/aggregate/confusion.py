"""Workers as confusion matrices: parameters, their estimates from counts, and the base class of these models."""

import math
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from faircrowd._checks import check_memory
from faircrowd.aggregate.base import Aggregator, State, by_workers, of_shape
from faircrowd.aggregate.kernels.class_count import classes_token
from faircrowd.aggregate.kernels.confusion_counts import expected_counts, joint_scores, share_counts
from faircrowd.aggregate.kernels.residual_products import residual_products
from faircrowd.aggregate.posterior import TaskPosterior, check_size, make_posterior
from faircrowd.aggregate.weighted_votes import weigh
from faircrowd.engines import Votes, engine_of
from faircrowd.engines.protocols import Gold
from faircrowd.errors import InputError
from faircrowd.exact.sums import limbs_to_numbers, mass_unit, on_grid, read_log_likelihood, unit_for
from faircrowd.votes import Vocabulary

__all__ = ["Confusion", "ConfusionAggregator", "Counts", "ResidualSums", "VoteCounter", "normalised", "skill_matrix"]

_SMALLEST_PROBABILITY = 1e-300
"""Smaller probabilities are raised to this before logarithms are taken."""


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


class ResidualSums(NamedTuple):
    """Sums over tasks that show whether votes go together given the true class.

    Attributes
    ----------
    products : float
        Products of the residuals of two votes of a task, over its pairs of votes, divided by its number of votes minus
        one. Expected to be zero, or below since the model is fitted, if votes are independent.
    squares : float
        The squares of a task's products.
    largest : float
        What ``products`` would be if the votes of a task always went together.
    belief : float
        The probability of the best class.
    """

    products: float
    squares: float
    largest: float
    belief: float


def normalised(counts: NDArray[np.float64], axis: int) -> NDArray[np.float64]:
    """Scale counts to probabilities along an axis; where all counts are zero, to equal probabilities."""
    total = counts.sum(axis=axis, keepdims=True)
    even = 1.0 / max(counts.shape[axis], 1)
    return np.asarray(np.divide(counts, total, out=np.full(counts.shape, even), where=total > 0))


def skill_matrix(skill: float, n_classes: int) -> NDArray[np.float64]:
    """Return the confusion matrix of a worker who is right with probability ``skill``, whatever the class."""
    wrong = (1 - skill) / max(n_classes - 1, 1)
    return np.full((n_classes, n_classes), wrong) + (skill - wrong) * np.eye(n_classes)


class VoteCounter:
    """Counts and scores the votes of a table with an engine.

    Parameters
    ----------
    votes : VoteTable or SparkVotes
        Worker codes may run past its list of workers: those are workers that a fitted model does not know.
    by_group : bool
        Whether workers have one matrix per group.
    gold : optional
        The known true labels, as :func:`faircrowd.engines.gold_of` returns them.
    """

    def __init__(self, votes: Votes, *, by_group: bool, gold: Gold = None) -> None:
        self.engine = engine_of(votes, by_group=by_group, gold=gold)
        self.token = classes_token(votes.n_classes)
        self.n_groups = len(votes.groups) if by_group and votes.groups is not None else 1
        self.shape = (votes.n_workers, self.n_groups, votes.n_classes, votes.n_classes)
        check_size(votes)
        check_memory(
            6 * math.prod(self.shape),  # counts, parameters, logarithms, and as many temporary arrays
            f"The confusion matrices of {votes.n_workers:,} workers and {votes.n_classes:,} classes"
            + (f" in {self.n_groups:,} groups" if self.n_groups > 1 else ""),
            "merge rare classes, or use MajorityVote, Wawa or GLAD",
        )
        self.most_votes = max(votes.most_votes, 1)
        self.votes = votes

    @cached_property
    def units(self) -> tuple[float, float]:
        """Units that make a vote in a cell of the matrices, and a task in a class share."""
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

    def posterior(self, model: Confusion, ties: str) -> TaskPosterior:
        """Return the results of a model; scores are log joint probabilities of a task's votes and each class."""
        scores = self.engine.emit(joint_scores, self.token, *self._tables(model))
        return make_posterior(self.votes, scores, is_log=True, ties=ties)

    def residual_sums(self, model: Confusion, likely: Confusion) -> ResidualSums:
        """Sum the products of residuals under a likely model, and the belief of the model that labels the tasks."""
        most, errors = self.most_votes, likely.errors
        variances = np.maximum(1 - (errors**2).sum(axis=2), 0)
        exact = on_grid(errors, variances, np.sqrt(variances), n_terms=2 * (most + 1))
        tables = [table.reshape(-1, errors.shape[-1]) for table in exact]
        units = np.array([unit_for(4 * most), unit_for(16 * most**2), unit_for(2 * most), unit_for(1)])
        (limbs,) = self.engine.reduce(
            residual_products, self.token, *self._tables(model), *self._tables(likely), *tables, units
        )
        return ResidualSums(
            *(float(limbs_to_numbers(row, unit)) for row, unit in zip(limbs, units.tolist(), strict=True))
        )

    def _tables(self, model: Confusion) -> list[NDArray[np.float64]]:
        logs = [
            np.log(np.maximum(table, _SMALLEST_PROBABILITY)).reshape(-1, *table.shape[-1:])
            for table in model
            if table.size
        ]
        if not logs:  # no votes, so no classes
            return [np.empty((0, 0)), np.empty((self.n_groups, 0))]
        return on_grid(*logs, n_terms=self.most_votes + 1)

    def _counts(self, errors: NDArray[np.int64], priors: NDArray[np.int64]) -> Counts:
        cell_unit, prior_unit = self.units
        return Counts(errors.reshape(self.shape) / cell_unit, priors / prior_unit)


class ConfusionAggregator(Aggregator):
    """Base class of the models whose workers are confusion matrices; ``fit`` of a subclass sets what is declared here.

    The model that ``predict`` uses is None where the posterior of a task is its shares of votes.
    """

    _grouped: bool  # whether there is one matrix per group
    _model: Confusion | None  # what the posterior was computed with
    _shown: Confusion  # what errors_ and priors_ show
    _average: NDArray[np.float64]  # (n_groups, n_classes, n_classes): used for workers that are not known
    _seen: NDArray[np.bool_]  # (n_workers, n_groups): whose matrix is known

    @property
    def errors_(self) -> Any:
        """Confusion matrices: rows (worker, [group,] label given), columns the true class; columns sum to one."""
        votes = self.votes_
        n_workers, n_groups, n_classes, _ = self._shown.errors.shape
        worker, group, label = np.indices((n_workers, n_groups, n_classes)).reshape(3, -1)
        index = {"worker": votes.workers.take(worker)}
        if votes.groups is not None and self._grouped:
            index["group"] = votes.groups.take(group)
        index["label"] = votes.classes.take(label)
        return votes.style.frame(index, votes.classes, self._shown.errors.reshape(worker.size, n_classes))

    @property
    def priors_(self) -> Any:
        """The probability of each class (for each group, if the model is by group): a Series named ``prior``."""
        votes = self.votes_
        n_groups, n_classes = self._shown.priors.shape
        group, label = np.indices((n_groups, n_classes)).reshape(2, -1)
        index = {"group": votes.groups.take(group)} if votes.groups is not None and self._grouped else {}
        index["label"] = votes.classes.take(label)
        return votes.style.series(index, "prior", self._shown.priors.ravel())

    @property
    def average_errors(self) -> NDArray[np.float64] | None:
        """The confusion matrix that a worker who is not known has, shape (n_groups or 1, n_classes, n_classes).

        None where the posterior is not that of confusion matrices.
        """
        return None if self._model is None else self._average

    def residual_sums(self) -> ResidualSums | None:
        """Return how the votes of the tasks go together given the true class; two passes over the votes.

        The residuals are those of the most likely matrices given the posterior: matrices that are smoothed, or counted
        on few known labels, would have residuals that go together because the matrices are off. Known labels are
        not used. None where the posterior is not that of confusion matrices, or there is nothing to compare.
        """
        self.posterior_  # noqa: B018 - raises where there are no votes: before fit, or in a model read from a file
        votes = self.votes_
        if self._model is None or votes.n_classes < 2:
            return None
        counter = VoteCounter(votes, by_group=self._grouped)
        counts, _ = counter.expected(self._model)
        return counter.residual_sums(self._model, self._most_likely(counts))

    def _most_likely(self, counts: Counts) -> Confusion:
        """Return the parameters under which the counts are most likely."""
        return Confusion(normalised(counts.errors, axis=2), normalised(counts.priors, axis=1))

    def _predict(self, votes: Votes) -> TaskPosterior:
        fitted = self.votes_
        if self._model is None:
            scores = weigh(engine_of(votes), votes, np.ones(votes.n_workers))
            return make_posterior(votes, scores, is_log=False, ties=self.ties)
        if self._grouped and fitted.groups is not None:
            votes = by_groups(votes, fitted.groups)
        votes = by_workers(votes, fitted.workers)
        errors = np.where(self._seen[:, :, None, None], self._model.errors, self._average)
        model = self._model._replace(errors=np.concatenate([errors, self._average[None]]))
        return VoteCounter(votes, by_group=self._grouped).posterior(model, self.ties)

    def _state(self) -> State:
        shown = {f"shown_{name}": table for name, table in self._shown._asdict().items()}
        used = {} if self._model is None else self._model._asdict()
        return {**used, **shown, "average": self._average, "seen": self._seen, "by_group": np.asarray(self._grouped)}

    def _set_state(self, state: State) -> None:
        votes, self._grouped = self.votes_, bool(of_shape(state, "by_group"))
        n_groups = len(votes.groups) if self._grouped and votes.groups is not None else 1
        matrices, shares = (n_groups, votes.n_classes, votes.n_classes), (n_groups, votes.n_classes)

        def confusion(prefix: str) -> Confusion:
            errors = of_shape(state, f"{prefix}errors", votes.n_workers, *matrices)
            return Confusion(errors, of_shape(state, f"{prefix}priors", *shares))

        self._model, self._shown = confusion("") if "errors" in state else None, confusion("shown_")
        self._average = of_shape(state, "average", *matrices)
        self._seen = of_shape(state, "seen", votes.n_workers, n_groups)

    @property
    def _needs_groups(self) -> bool:
        return self._grouped


def by_groups(votes: Votes, groups: Vocabulary) -> Votes:
    """Code the tasks of new votes by the groups of a fitted model."""
    if votes.groups is None:
        return votes
    place = groups.code_of(votes.groups.values)
    if (place < 0).any():
        unknown = votes.groups.some(np.flatnonzero(place < 0)[:5])
        raise InputError(f"The new tasks have groups that were not seen in fit: {unknown}.")
    return votes.recoded("group", groups, place)
