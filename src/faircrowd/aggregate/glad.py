"""GLAD: abilities of workers and difficulties of tasks."""

import sys
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from faircrowd._checks import check_count, check_number
from faircrowd.aggregate.base import known_workers, of_shape
from faircrowd.aggregate.em import Iterative, iterate, watch_rounds
from faircrowd.aggregate.kernels.ability_ease import ability_and_ease, glad_scores
from faircrowd.aggregate.kernels.class_count import classes_token
from faircrowd.aggregate.posterior import Posterior, check_size
from faircrowd.engines import LocalEngine, local_votes
from faircrowd.errors import InputError
from faircrowd.exact.sums import grid_step
from faircrowd.votes import VoteTable
from faircrowd.votes.facts import Numbers

__all__ = ["GLAD"]


class _Abilities(NamedTuple):
    alphas: NDArray[np.float64]
    betas: NDArray[np.float64]


@dataclass(eq=False)
class GLAD(Iterative):
    r"""Workers have abilities and tasks have difficulties.

    A vote of worker r on task i is right with probability :math:`\sigma(\alpha_r e^{\beta_i})`.
    Maximises the posterior of the abilities :math:`\alpha` and log-eases :math:`\beta` (normal priors of unit variance)
    by expectation-maximisation; the maximisation is by conjugate gradients with the exact gradient.

    Parameters
    ----------
    n_iter : int
        Most rounds.
    tol : float
        Stop when a round raises the objective by no more than this, a vote. The default stops early, which on
        nine real crowds is more accurate than running on (docs/decisions/0004-tolerance.md).
    silent : bool
        Whether to keep quiet; otherwise rounds are shown on standard error.
    labels_priors : Series or dict by label, optional
        Class shares; equal by default.
    alphas_priors_mean : Series or dict by worker, optional
        Prior means of the abilities; 1 by default.
    betas_priors_mean : Series or dict by task, optional
        Prior means of the log-eases; 1 by default.
    m_step_max_iter, m_step_tol
        Most iterations, and the gradient at which to stop, of the conjugate gradients.
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
        As in :class:`DawidSkene`; the objective is the log posterior, a vote, up to a constant.

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
    labels_priors: Any = None
    alphas_priors_mean: Any = None
    betas_priors_mean: Any = None
    m_step_max_iter: int = 25
    m_step_tol: float = 1e-2
    ties: str = "first"

    def fit(self, data: Any, *, sensitive_features: Any = None) -> Self:
        """Estimate the model from votes (a frame, path or VoteTable with columns task, worker, label)."""
        self._begin()
        check_count("n_iter", self.n_iter)
        check_number("tol", self.tol)
        check_count("m_step_max_iter", self.m_step_max_iter, least=1)
        check_number("m_step_tol", self.m_step_tol, low=0)
        votes = local_votes(data, sensitive_features, method="GLAD")
        check_size(votes)
        self._priors = self._class_shares(votes)
        self._given_eases = Numbers.read(self.betas_priors_mean, "task")
        self._means = _Abilities(
            _means("alphas_priors_mean", Numbers.read(self.alphas_priors_mean).of(votes.workers)),
            _means("betas_priors_mean", self._given_eases.of(votes.tasks)),
        )
        engine = LocalEngine(votes)
        start = _Abilities(np.ones(votes.n_workers), np.ones(votes.n_tasks))
        show = nullcontext() if self.silent else watch_rounds(_show_round)
        with show:
            run = iterate(
                lambda point: self._round(engine, votes, point),
                start,
                n_iter=self.n_iter,
                tol=self.tol,
                n_votes=votes.n_votes,
            )
        self._run, self._used = run, run.updated if run.used is None else run.used
        return self._store(votes, self._posterior_of(engine, votes, self._used))

    @property
    def alphas_(self) -> Any:
        """The ability of each worker."""
        votes = self.votes_
        return votes.style.series({"worker": votes.workers}, "alpha", self._rounds().updated.alphas)

    @property
    def betas_(self) -> Any:
        """The log-ease of each task."""
        votes = self.votes_
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

    def _posterior_of(self, engine: LocalEngine, votes: VoteTable, point: _Abilities) -> Posterior:
        largest = np.abs(point.alphas).max(initial=1.0) * np.exp(point.betas.max(initial=0.0)) + 50.0
        unit = grid_step(float(largest), int(votes.votes_per_task.max(initial=1)) + 1)
        with np.errstate(divide="ignore"):
            log_priors = np.maximum(np.log(self._priors), -700.0)
        scores = engine.emit(glad_scores, classes_token(votes.n_classes), *point, log_priors, unit)
        return Posterior.of(votes, scores, is_log=True, ties=self.ties)

    def _round(self, engine: LocalEngine, votes: VoteTable, point: _Abilities) -> tuple[float, _Abilities]:
        posterior = self._posterior_of(engine, votes, point)
        top = posterior.scores.max(axis=1)
        evidence = top - posterior.log_values.max(axis=1)
        return float(evidence.sum()) - self._penalty(point), self._maximise(engine, posterior.values, point)

    def _penalty(self, point: _Abilities) -> float:
        return 0.5 * sum(float(np.square(x - mean).sum()) for x, mean in zip(point, self._means, strict=True))

    def _maximise(self, engine: LocalEngine, posterior: NDArray[np.float64], point: _Abilities) -> _Abilities:
        from scipy.optimize import minimize

        n_workers = point.alphas.size
        means = np.concatenate(self._means)

        def loss(x: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
            parts = list(engine.each(ability_and_ease, posterior, x[:n_workers], x[n_workers:]))
            value = sum(part[0][0] for part in parts)
            gradient = np.concatenate([sum(part[1] for part in parts), *(part[2] for part in parts)])
            away = x - means
            return 0.5 * float(away @ away) - value, away - gradient

        x = np.concatenate(point)
        found = minimize(
            loss, x, method="CG", jac=True, tol=self.m_step_tol, options={"maxiter": self.m_step_max_iter}
        ).x
        best = found if np.isfinite(found).all() and loss(found)[0] <= loss(x)[0] else x
        return _Abilities(best[:n_workers], best[n_workers:])

    def _learned(self) -> dict[str, Any]:
        return {"tasks": self.votes_.tasks, **self._used._asdict(), "shares": self._priors}

    def _recall(self, learned: dict[str, Any]) -> None:
        self._votes = votes = replace(self.votes_, tasks=learned["tasks"])
        self._used = _Abilities(of_shape(learned, "alphas", votes.n_workers), of_shape(learned, "betas", votes.n_tasks))
        self._priors = of_shape(learned, "shares", votes.n_classes)
        self._given_eases = Numbers.read(None)  # a model with means by task is not saved

    def _predict(self, votes: VoteTable) -> Posterior:
        fitted = self.votes_
        place = fitted.tasks.code_of(votes.tasks.values)
        means = _means("betas_priors_mean", self._given_eases.of(votes.tasks))
        betas = np.where(place < 0, means, np.append(self._used.betas, 0.0)[place])
        alphas = np.append(self._used.alphas, self._used.alphas.mean() if self._used.alphas.size else 1.0)
        votes = votes.with_workers(fitted.workers, known_workers(votes, fitted.workers))
        return self._posterior_of(LocalEngine(votes), votes, _Abilities(alphas, betas))


def _means(name: str, given: NDArray[np.float64]) -> NDArray[np.float64]:
    if np.isinf(given).any():
        raise InputError(f"{name} must be finite numbers.")
    return np.where(np.isnan(given), 1.0, given)


def _show_round(number: int, most: int, value: float) -> None:
    sys.stderr.write(f"\rround {number} of at most {most}, objective {value:.6f} a vote")
    sys.stderr.flush()
