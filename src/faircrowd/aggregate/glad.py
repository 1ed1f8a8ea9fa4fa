"""GLAD: abilities of workers and difficulties of tasks."""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from faircrowd._checks import check_count, check_number
from faircrowd._types import ByTask, NumbersById
from faircrowd.aggregate.base import State, VotesLike, by_workers, list_of, of_shape
from faircrowd.aggregate.checkpoint import Checkpoint
from faircrowd.aggregate.em import Iterative, OnRound, iterate
from faircrowd.aggregate.kernels.ability_ease import ability_and_ease, glad_scores
from faircrowd.aggregate.kernels.class_count import classes_token
from faircrowd.aggregate.posterior import Posterior, check_size
from faircrowd.engines import LocalEngine, Votes, votes_in_memory
from faircrowd.errors import InputError
from faircrowd.exact.conjugate_gradients import minimise
from faircrowd.exact.sums import exact_sum, grid_step, mass_unit, read_log_likelihood
from faircrowd.votes import VoteTable
from faircrowd.votes.facts import Numbers

__all__ = ["GLAD"]

_LARGEST = 2.0**40
"""No vote has log-odds of this size; a line search that tries them is told to step back."""


class _Abilities(NamedTuple):
    alphas: NDArray[np.float64]
    betas: NDArray[np.float64]


@dataclass(eq=False, repr=False)
class GLAD(Iterative):
    r"""Workers have abilities and tasks have difficulties.

    A vote of worker r on task i is right with probability :math:`\sigma(\alpha_r e^{\beta_i})`.
    Maximises the posterior of the abilities :math:`\alpha` and log-eases :math:`\beta` (normal priors of unit variance)
    by expectation-maximisation; the maximisation is by conjugate gradients with the exact gradient.

    Parameters
    ----------
    n_iter : int
        Largest number of rounds.
    tol : float
        Stop when a round raises the objective per vote by no more than this. The default stops early, which on
        nine real crowds is more accurate than going on (docs/decisions/0004-tolerance.md).
    silent : bool
        Whether to print nothing; otherwise rounds are shown on standard error.
    labels_priors : Series or dict by label, optional
        Class shares; equal by default.
    alphas_priors_mean : Series or dict by worker, optional
        Prior means of the abilities; 1 by default.
    betas_priors_mean : Series or dict by task, optional
        Prior means of the log-eases; 1 by default.
    m_step_max_iter, m_step_tol
        The largest number of iterations of the conjugate gradients, and the gradient at which they stop.
    ties : {"first", "last"}
        The class that wins a tie: the first or the last in sorted order.

    Attributes
    ----------
    labels_, probas_, log_probas_, report_
        As in :class:`DawidSkene`.
    alphas_ : Series named ``alpha``, indexed by worker
    betas_ : Series named ``beta``, indexed by task
        The logarithm of the ease of a task.
    priors_ : Series named ``prior``
    loss_history_, converged_, n_iter_
        As in :class:`DawidSkene`; the objective is the log posterior per vote, up to a constant.

    Notes
    -----
    ``predict`` uses the ease that was learned for tasks that ``fit`` has seen, and the prior mean for others.

    References
    ----------
    J. Whitehill et al. (2009). Whose vote should count more.

    Examples
    --------
    >>> from faircrowd import simulate_crowd
    >>> crowd = simulate_crowd(500, 30, random_state=0)
    >>> glad = GLAD().fit(crowd.votes)
    >>> bool((glad.labels_ == crowd.truth).mean() > 0.9)
    True
    """

    n_iter: int = 100
    tol: float = 2e-3
    silent: bool = True
    labels_priors: NumbersById | None = None
    alphas_priors_mean: NumbersById | None = None
    betas_priors_mean: NumbersById | None = None
    m_step_max_iter: int = 25
    m_step_tol: float = 1e-2
    ties: str = "first"

    def fit(
        self,
        data: VotesLike,
        *,
        sensitive_features: ByTask | None = None,
        checkpoint: Checkpoint | None = None,
        on_round: OnRound | None = None,
    ) -> Self:
        """Estimate the model.

        Parameters
        ----------
        data : frame, path or VoteTable
            Votes with columns task, worker, label.
        sensitive_features : optional
            Groups of the tasks; the model does not use them.
        checkpoint, on_round : optional
            As in :meth:`DawidSkene.fit`.
        """
        self._begin()
        check_count("n_iter", self.n_iter)
        check_number("tol", self.tol)
        check_count("m_step_max_iter", self.m_step_max_iter, least=1)
        check_number("m_step_tol", self.m_step_tol, low=0)
        votes = votes_in_memory(self._read(data, sensitive_features))
        check_size(votes)
        self._priors = self._class_shares(votes)
        self._given_eases = Numbers.read(self.betas_priors_mean, "task")
        self._means = _Abilities(
            np.ones(votes.n_workers)  # looking up nothing takes as long as the rounds
            if self.alphas_priors_mean is None
            else _means("alphas_priors_mean", Numbers.read(self.alphas_priors_mean).of(votes.workers)),
            np.ones(votes.n_tasks)
            if self.betas_priors_mean is None
            else _means("betas_priors_mean", self._given_eases.of(votes.tasks)),
        )
        engine = LocalEngine(votes)
        start = _Abilities(np.ones(votes.n_workers), np.ones(votes.n_tasks))
        run = iterate(
            lambda point: self._round(engine, votes, point),
            start,
            n_iter=self.n_iter,
            tol=self.tol,
            n_votes=votes.n_votes,
            checkpoint=checkpoint,
            on_round=on_round if self.silent else _shown(on_round),
        )
        self._run, self._used = run, run.updated if run.used is None else run.used
        return self._store(votes, self._scored(engine, votes, self._used))

    @property
    def alphas_(self) -> Any:
        """The ability of each worker."""
        votes = self.votes_
        return votes.style.series({"worker": votes.workers}, "alpha", self._rounds().updated.alphas)

    @property
    def betas_(self) -> Any:
        """The log-ease of each task."""
        votes = votes_in_memory(self.votes_)
        return votes.style.series({"task": votes.tasks}, "beta", self._rounds().updated.betas)

    @property
    def priors_(self) -> Any:
        """The class shares."""
        votes = self.votes_
        return votes.style.series({"label": votes.classes}, "prior", self._priors)

    def _class_shares(self, votes: VoteTable) -> NDArray[np.float64]:
        if self.labels_priors is None:
            return np.full(votes.n_classes, 1 / max(votes.n_classes, 1))
        shares = Numbers.read(self.labels_priors, "label").of(votes.classes)
        if not np.isfinite(shares).all() or (shares < 0).any() or shares.sum() <= 0:
            raise InputError("labels_priors must give every class a share, finite and not negative.")
        return np.asarray(shares / shares.sum())

    def _scored(self, engine: LocalEngine, votes: VoteTable, point: _Abilities) -> Posterior:
        largest = np.abs(point.alphas).max(initial=1.0) * np.exp(point.betas.max(initial=0.0)) + 50.0
        unit = grid_step(float(largest), int(votes.votes_per_task.max(initial=1)) + 1)
        with np.errstate(divide="ignore"):
            log_priors = np.maximum(np.log(self._priors), -700.0)
        scores = engine.emit(glad_scores, classes_token(votes.n_classes), *point, log_priors, unit)
        return Posterior(votes.tasks, votes.classes, votes.style, scores, is_log=True, ties=self.ties)

    def _round(self, engine: LocalEngine, votes: VoteTable, point: _Abilities) -> tuple[float, _Abilities]:
        posterior = self._scored(engine, votes, point)
        top = posterior.scores.max(axis=1)
        evidence = top - posterior.log_values.max(axis=1)
        better = self._maximise(engine, votes, posterior.values, point)
        return exact_sum(evidence) - _penalty(np.concatenate(point) - np.concatenate(self._means)), better

    def _maximise(
        self, engine: LocalEngine, votes: VoteTable, posterior: NDArray[np.float64], point: _Abilities
    ) -> _Abilities:
        n_workers = point.alphas.size
        means = np.concatenate(self._means)
        most = int(votes.votes_per_worker.max(initial=1)), int(votes.votes_per_task.max(initial=1))

        def loss(x: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
            alphas, betas = x[:n_workers], x[n_workers:]
            ease, ability = np.exp(min(betas.max(initial=0.0), 700.0)), np.abs(alphas).max(initial=0.0)
            if not ease * max(ability, 1.0) < _LARGEST:
                return np.inf, np.full_like(x, np.nan)
            # A slope is at most the ease in size, and for a task at most ability times ease.
            units = mass_unit(most[0], ease), mass_unit(most[1], ease * ability)
            parts = list(engine.each(ability_and_ease, posterior, alphas, betas, *units))
            value = read_log_likelihood(np.sum([part[0] for part in parts], axis=0))
            by_worker = np.sum([part[1] for part in parts], axis=0) / units[0]
            by_task = np.concatenate([part[2] for part in parts]) / units[1]
            away = x - means
            penalty = _penalty(away)
            away[:n_workers] -= by_worker
            away[n_workers:] -= by_task
            return penalty - value, away

        x = minimise(loss, np.concatenate(point), max_iter=self.m_step_max_iter, tol=self.m_step_tol)
        return _Abilities(x[:n_workers], x[n_workers:])

    def _state(self) -> State:
        return {"tasks": votes_in_memory(self.votes_).tasks, **self._used._asdict(), "shares": self._priors}

    def _set_state(self, state: State) -> None:
        self._votes = votes = replace(votes_in_memory(self.votes_), tasks=list_of(state, "tasks"))
        self._used = _Abilities(of_shape(state, "alphas", votes.n_workers), of_shape(state, "betas", votes.n_tasks))
        self._priors = of_shape(state, "shares", votes.n_classes)
        self._given_eases = Numbers.read(None)  # a model with means by task is not saved

    def _predict(self, votes: Votes) -> Posterior:
        fitted, new = votes_in_memory(self.votes_), votes_in_memory(by_workers(votes, self.votes_.workers))
        place = fitted.tasks.code_of(new.tasks.values)
        means = _means("betas_priors_mean", self._given_eases.of(new.tasks))
        betas = np.where(place < 0, means, np.append(self._used.betas, 0.0)[place])
        average = exact_sum(self._used.alphas) / self._used.alphas.size if self._used.alphas.size else 1.0
        alphas = np.append(self._used.alphas, average)
        return self._scored(LocalEngine(new), new, _Abilities(alphas, betas))


def _penalty(away: NDArray[np.float64]) -> float:
    """Return what the prior takes off the objective for abilities and log-eases that are so far from their means."""
    return 0.5 * exact_sum(np.square(away))


def _means(name: str, given: NDArray[np.float64]) -> NDArray[np.float64]:
    if np.isinf(given).any():
        raise InputError(f"{name} must be finite numbers.")
    return np.where(np.isnan(given), 1.0, given)


def _shown(on_round: OnRound | None) -> OnRound:
    """Return a callback that also shows each round on standard error."""

    def show(number: int, n_iter: int, value: float) -> None:
        sys.stderr.write(f"\rround {number} of at most {n_iter}, objective {value:.6f} per vote")
        sys.stderr.flush()
        if on_round is not None:
            on_round(number, n_iter, value)

    return show
