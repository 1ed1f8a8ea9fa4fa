"""Dawid and Skene's model: one confusion matrix per worker, or per worker and group."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from faircrowd._checks import LARGEST, check_choice, check_count, check_number, warn
from faircrowd._types import ByTask, FrameLike
from faircrowd.aggregate.base import VotesLike
from faircrowd.aggregate.checkpoint import Checkpoint
from faircrowd.aggregate.confusion import (
    Confusion,
    ConfusionAggregator,
    Counts,
    VoteCounter,
    normalised,
    skill_matrix,
)
from faircrowd.aggregate.em import Iterative, OnRound, iterate
from faircrowd.aggregate.initial_error import read_initial_error
from faircrowd.aggregate.pooling import ROUNDS_BEFORE, check_pooling, log_prior, prior_counts
from faircrowd.aggregate.posterior import make_posterior
from faircrowd.aggregate.weighted_votes import weigh
from faircrowd.engines import Votes, gold_of
from faircrowd.errors import DataWarning, InputError
from faircrowd.exact.extrapolation import Extrapolation

__all__ = ["DawidSkene"]


@dataclass(eq=False, repr=False)
class DawidSkene(Iterative, ConfusionAggregator):
    r"""Each worker has a confusion matrix; truth, matrices and class shares are estimated together.

    Maximises the likelihood
    :math:`\prod_i \sum_k p_k(a_i) \prod_{(r, j) \in \text{votes of } i} \pi^{(r)}_{j,k}(a_i)` of the votes,
    times the prior that ``smoothing`` and ``pooling`` state, by expectation-maximisation in log space.

    Parameters
    ----------
    n_iter : int
        Largest number of rounds.
    tol : float
        Stop when a round raises the objective per vote by no more than this. The default stops a little early,
        which on nine real crowds is more accurate than going on (docs/decisions/0004-tolerance.md).
    initial_error_strategy : {None, "assign", "addition"}
        How ``initial_error`` of ``fit`` is used: in place of the first confusion matrices, or added to their
        counts.
    by_group : bool
        Whether each worker has one confusion matrix, and each class one share, per sensitive group (the paper's DS).
    group_priors : bool
        With ``by_group``: whether each class has one share per group, or one share for all groups. The latter draws
        the groups toward each other; it is what the paper's published code does.
    start : {"majority", "skill"}
        Start from the shares of votes (as is usual), or from equal class shares and workers that are right with
        probability ``initial_skill`` (the paper's start, with 0.7).
    initial_skill : float
        See ``start``.
    smoothing : float
        Pseudo-count added to every cell of the confusion matrices and of the class shares: a Dirichlet prior
        with this count plus one. The default only keeps probabilities above zero.
    pooling : {"learned"}, float or None
        Draw each worker's matrix toward the crowd's, and with ``by_group`` a worker's matrix in a group toward the
        worker's: with strengths learned from the votes, or with this many votes per true class. Three rounds without
        pooling come first, and are not counted. Use it if workers have few votes, or with ``by_group``: the posterior
        is much less overconfident (docs/decisions/0011-pooling.md). None or 0, no pooling, is Dawid and Skene's model.
    accelerate : bool
        Whether to extrapolate from rounds to parameters further on (SQUAREM), and to try a round there. Where it does
        not raise the objective, the plain round follows. Saves half of the rounds where ``tol`` is 1e-8, and few at its
        default; the rounds may end at another maximum (docs/decisions/0021-acceleration.md).
    ties : {"first", "last"}
        The class that wins a tie: the first or the last in sorted order.

    Attributes
    ----------
    labels_, probas_, log_probas_
        The label, the posterior and its logarithm for each task.
    errors_, priors_
        Confusion matrices and class shares, as the last posterior estimates them.
    loss_history_ : list of float
        The log-likelihood (plus the log prior of ``smoothing`` and ``pooling``) per vote of each round's parameters.
        It never falls: with ``accelerate``, a round that is not better counts as one more at the parameters before.
    converged_ : bool
        Whether the objective settled within ``n_iter`` rounds.
    n_iter_ : int
        Number of rounds that were run.
    report_ : VotesReport

    References
    ----------
    A. P. Dawid and A. M. Skene (1979). Maximum likelihood estimation of observer error-rates using the EM
    algorithm.

    R. Varadhan and C. Roland (2008). Simple and globally convergent methods for accelerating the convergence of any
    EM algorithm.

    Examples
    --------
    >>> from faircrowd import simulate_crowd
    >>> crowd = simulate_crowd(500, 30, random_state=0)
    >>> ds = DawidSkene(by_group=True).fit(crowd.votes, sensitive_features=crowd.sensitive_features)
    >>> ds.converged_
    True
    >>> bool((ds.labels_ == crowd.truth).mean() > 0.9)
    True
    """

    n_iter: int = 100
    tol: float = 1e-4
    initial_error_strategy: str | None = None
    by_group: bool = False
    group_priors: bool = True
    start: str = "majority"
    initial_skill: float = 0.7
    smoothing: float = 1e-10
    pooling: str | float | None = None
    ties: str = "first"
    accelerate: bool = False

    def fit(
        self,
        data: VotesLike,
        true_labels: ByTask | None = None,
        initial_error: FrameLike | None = None,
        *,
        sensitive_features: ByTask | None = None,
        checkpoint: Checkpoint | None = None,
        on_round: OnRound | None = None,
    ) -> Self:
        """Estimate the model.

        Parameters
        ----------
        data : frame, path or VoteTable
            Votes with columns task, worker, label. For a Spark frame, results per task are Spark frames.
        true_labels : Series, dict or frame by task, optional
            Known labels of some tasks; they are held fixed. In Spark, the name of a column of the votes.
        initial_error : frame indexed by worker and label, with one column per true class, optional
            Counts (or, to assign, probabilities) of earlier answers; see ``initial_error_strategy``.
        sensitive_features : optional
            Groups of the tasks, as in :func:`faircrowd.read_votes`; needed with ``by_group``.
        checkpoint : Checkpoint, optional
            A file that keeps each round, so that a run that was interrupted can go on from it.
        on_round : callable, optional
            Called as ``on_round(round, n_iter, objective per vote)`` after each round.
        """
        self._check()
        votes = self._read(data, sensitive_features, true_labels)
        if self.by_group and votes.groups is None and votes.n_votes:
            raise InputError("by_group=True needs the group of each task; give sensitive_features=...")
        votes, gold = gold_of(votes, true_labels)
        self._grouped = self.by_group
        counter = VoteCounter(votes, by_group=self.by_group, gold=gold)
        first = counter.from_shares()
        # A matrix that was pooled with the worker's other groups is known as soon as the worker is.
        seen = first.errors.sum(axis=(2, 3)) > 0
        self._seen = np.broadcast_to(seen.any(axis=1, keepdims=True), seen.shape) if self.pooling else seen
        start, counts = self._begin_rounds(votes, first, counter, initial_error)

        def one_round(model: Confusion) -> tuple[float, Confusion]:
            nonlocal counts
            counts, log_likelihood = counter.expected(model)
            return log_likelihood + self._log_prior(model), self._maximise(counts, self._pseudo)

        self._run = iterate(
            one_round,
            start,
            n_iter=self.n_iter,
            tol=self.tol,
            n_votes=votes.n_votes,
            checkpoint=checkpoint,
            on_round=on_round,
            acceleration=Extrapolation((2, 1)) if self.accelerate else None,
        )
        self._average = self._matrices(counts.errors.sum(axis=0, keepdims=True), self.smoothing)[0]
        return self._keep(votes, counter)

    def _check(self) -> None:
        self._begin()
        check_count("n_iter", self.n_iter)
        check_number("tol", self.tol)
        check_number("smoothing", self.smoothing, low=0, high=LARGEST)
        check_number("initial_skill", self.initial_skill, low=0, high=1)
        check_pooling(self.pooling)
        check_choice("start", self.start, ("majority", "skill"))
        check_choice("initial_error_strategy", self.initial_error_strategy, (None, "assign", "addition"))

    def _begin_rounds(
        self, votes: Votes, first: Counts, counter: VoteCounter, initial_error: FrameLike | None
    ) -> tuple[Confusion, Counts]:
        """Decide on the pseudo-counts; return the parameters of the first round, and the counts they are from."""
        counts = first
        if not (self.pooling and self.n_iter and votes.n_votes):
            self._pseudo = self.smoothing + self._prior_counts(first)
            return self._start(votes, first, counter, initial_error, self._pseudo), counts
        model = self._start(votes, first, counter, initial_error, self.smoothing)
        for _ in range(ROUNDS_BEFORE):
            counts, _ = counter.expected(model)
            model = self._maximise(counts, self.smoothing)
        self._pseudo = self.smoothing + self._prior_counts(counts)
        return self._maximise(counts, self._pseudo), counts

    def _start(
        self,
        votes: Votes,
        first: Counts,
        counter: VoteCounter,
        initial_error: FrameLike | None,
        pseudo: NDArray[np.float64] | float,
    ) -> Confusion:
        counts = first
        if self.start == "skill":
            pseudo = self.smoothing
            skilled = skill_matrix(self.initial_skill, votes.n_classes)
            counts = Counts(np.broadcast_to(skilled, counter.shape), np.ones_like(first.priors))
        if initial_error is not None and self.initial_error_strategy is None:
            warn(
                "initial_error is not used; choose how with initial_error_strategy='assign' or 'addition'.", DataWarning
            )
        if initial_error is not None and self.initial_error_strategy is not None:
            given = read_initial_error(votes, initial_error, assign=self.initial_error_strategy == "assign")[:, None]
            if self.initial_error_strategy == "assign":
                pseudo = self.smoothing
                counts = counts._replace(errors=np.broadcast_to(given, counter.shape))
            else:
                counts = counts._replace(errors=counts.errors + given)
        return self._maximise(counts, pseudo)

    def _maximise(self, counts: Counts, pseudo: NDArray[np.float64] | float) -> Confusion:
        return Confusion(self._matrices(counts.errors, pseudo), self._class_shares(counts))

    def _matrices(self, counts: NDArray[np.float64], pseudo: NDArray[np.float64] | float) -> NDArray[np.float64]:
        """Return confusion matrices from counts and pseudo-counts."""
        return normalised(counts + pseudo, axis=2)

    def _prior_counts(self, counts: Counts) -> NDArray[np.float64] | float:
        return prior_counts(counts.errors, self.pooling)

    def _class_shares(self, counts: Counts) -> NDArray[np.float64]:
        if self.group_priors:
            return normalised(counts.priors + self.smoothing, axis=1)
        pooled = normalised(counts.priors.sum(axis=0, keepdims=True) + self.smoothing, axis=1)
        return np.repeat(pooled, counts.priors.shape[0], axis=0)

    def _log_prior(self, model: Confusion) -> float:
        """Return the log density of the Dirichlet priors, up to a constant."""
        priors = model.priors if self.group_priors else model.priors[:1]
        if self.pooling:
            return log_prior(model.errors, self._pseudo, axis=2) + log_prior(priors, self.smoothing, axis=1)
        if self.smoothing == 0:
            return 0.0
        return self.smoothing * math.fsum(float(np.log(table).sum()) for table in (model.errors, priors))

    def _keep(self, votes: Votes, counter: VoteCounter) -> Self:
        run = self._run
        self._shown = run.updated
        self._model = run.used if run.used is not None or self.start == "majority" else run.updated
        if self._model is not None:
            return self._store(votes, counter.posterior(self._model, self.ties))
        scores = weigh(counter.engine, votes, np.ones(votes.n_workers))
        return self._store(votes, make_posterior(votes, scores, is_log=False, ties=self.ties))
