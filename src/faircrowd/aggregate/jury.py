"""``JuryVote``: a log-linear pool of judges whose votes are probabilities, and whose errors go together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from faircrowd._checks import check_choice, check_count, check_memory
from faircrowd._types import ByTask
from faircrowd.aggregate.base import Aggregator, State, VotesLike, list_of, of_shape, warn_of
from faircrowd.aggregate.calibration.calibration_quality import Calibration, compare_calibration, log_loss
from faircrowd.aggregate.calibration.known_label_checks import doubts_about_labels, unusable_labels
from faircrowd.aggregate.calibration.log_pool import (
    Calibrator,
    Logs,
    WeightPrior,
    fit_calibrator,
    pool,
)
from faircrowd.aggregate.calibration.name_free_order import name_free_order
from faircrowd.aggregate.kernels.judge_scores import Bench, gold_judge_logs, judge_scores, total_weights
from faircrowd.aggregate.posterior import TaskPosterior, check_size, make_posterior, probabilities
from faircrowd.engines import Votes, engine_of, gold_of, votes_in_memory
from faircrowd.errors import InputError, OptionError
from faircrowd.exact.sums import exact_sum
from faircrowd.votes import Vocabulary, VoteTable
from faircrowd.votes.vocabulary import Codes

__all__ = ["ABSTAIN", "JuryVote"]

ABSTAIN = ("leave-out", "informative")
"""What the abstention of a judge means: nothing, or something to be learned from known labels."""

_JURY_VARIANCE, _FAMILY_VARIANCE, _JUDGE_VARIANCE = 0.1, 0.2, 0.1
"""How much the logarithms of weights vary: that of all judges together, families, and judges around their family."""
_MOST_JUDGES = 1000
"""Of more judges, weights are not learned: a crowd is not a jury."""


@dataclass(eq=False, repr=False)
class JuryVote(Aggregator):
    r"""A log-linear pool of judges, such as large language models, that give probabilities or labels.

    The probability of class k is :math:`p_k \propto \exp(b_k + e(F) \sum_f \frac{1}{n_f} \sum_{j \in f} w_j \log
    p_{jk})`, where :math:`p_{jk}` is what judge j says, F the number of families of judges that voted on the task, and
    :math:`n_f` the number of judges of a family that did. The judges of a family share what one judge counts, so that
    copies of a judge add nothing. Families depend on each other, too (they read the same text and were trained on much
    the same data): :math:`e(F) = 1 / (1 + 0.4 (F - 1))`, as in :class:`CalibratedCrowd`. A judge without a family is a
    family of its own.

    Without known labels all weights are one, and there is no shift :math:`b_k`: a single judge is believed as it
    speaks. With known labels, weights and shifts minimise the log loss plus a penalty that draws the weights of a
    family toward each other, those of families toward the jury's, and that toward one. If weights do not predict labels
    that they have not seen better than equal ones do, the equal ones stay. Columns of probabilities, runs, families and
    abstentions are described in docs/juries.md.

    Parameters
    ----------
    abstain : {"leave-out", "informative"}
        What it means that a judge abstains: nothing; or, where labels are known, a shift of the classes that is learned
        from them, as some classes may be those that judges abstain from.
    n_folds : int
        Number of parts of the known labels; each is predicted by what was learned from the others.
    ties : {"first", "last"}
        The class that wins a tie: the first or the last in sorted order.

    Attributes
    ----------
    labels_, probas_, log_probas_, report_
        As in :class:`DawidSkene`.
    weights_ : Series named ``weight``, indexed by worker
        The weight of each judge.
    effective_judges_ : float
        How many independent judges the votes of a task are worth, on average.
    calibration_ : Calibration or None
        Weights, shifts, and the cross-fitted log loss against that of equal weights; None without known labels.

    Warns
    -----
    DataWarning
        If fewer than 20 labels are known, all are of one class, some cannot be used, or equal weights were kept.

    Examples
    --------
    >>> import pandas as pd
    >>> votes = pd.DataFrame(
    ...     [("t", "a1", "yes", 0.8, "a"), ("t", "a2", "yes", 0.8, "a"), ("t", "b", "no", 0.9, "b")],
    ...     columns=["task", "worker", "label", "probability", "family"],
    ... )
    >>> JuryVote().fit_predict(votes).to_dict()  # two judges of one family say one thing
    {'t': 'no'}
    >>> JuryVote().fit_predict(votes.drop(columns="family")).to_dict()  # two judges on their own say it twice
    {'t': 'yes'}
    """

    abstain: str = "leave-out"
    n_folds: int = 5
    ties: str = "first"

    def fit(
        self,
        data: VotesLike,
        true_labels: ByTask | None = None,
        *,
        sensitive_features: ByTask | None = None,
    ) -> Self:
        """Weigh the judges, by known labels if there are any, and pool what they say.

        Parameters
        ----------
        data : frame, path or VoteTable
            Votes with columns task, worker, label; or with columns of judges (docs/juries.md). For a Spark frame of
            plain labels, results per task are Spark frames.
        true_labels : Series, dict or frame by task, optional
            Known labels of some tasks. In Spark, the name of a column of the votes.
        sensitive_features : optional
            Groups of the tasks; the jury does not use them.
        """
        self._begin()
        check_choice("abstain", self.abstain, ABSTAIN)
        check_count("n_folds", self.n_folds, least=2)
        given = self._read(data, sensitive_features, true_labels)
        if self.abstain == "informative" and true_labels is None:
            raise OptionError(
                "abstain='informative' is learned from known labels; give them, or leave abstain out.",
                parameter="abstain",
            )
        if self.abstain == "informative" and not isinstance(given, VoteTable):
            raise OptionError("abstain='informative' is not for votes in Spark.", parameter="abstain")
        notes = unusable_labels(given, true_labels) if true_labels is not None else []
        votes, gold = gold_of(given, true_labels)
        check_size(votes)
        self._family, self._families = _families_of(votes)
        self._calibrator = Calibrator(np.ones(votes.n_workers), np.zeros((1, votes.n_classes)))
        self._known: _Known | None = None
        if true_labels is not None:
            notes += self._learn(votes, gold)
        self._store(votes, self._pooled(votes, self._family, self._calibrator))
        self._notes = tuple(notes)
        warn_of(notes)
        return self

    @property
    def judge_weights(self) -> NDArray[np.float64]:
        """The weight of each judge, in the order of ``votes_.workers``."""
        self.votes_  # noqa: B018 - raises without a fit
        return self._calibrator.weights

    @property
    def weights_(self) -> Any:
        """The weight of each judge."""
        votes = self.votes_
        return votes.style.series({"worker": votes.workers}, "weight", self.judge_weights)

    @property
    def effective_judges_(self) -> float:
        """How many independent judges, each as reliable as it says, the votes of a task are worth, on average."""
        self.posterior_  # noqa: B018 - raises without a fit
        votes = votes_in_memory(self.votes_)
        bench = _bench(votes, self._family)
        totals = engine_of(votes).emit(total_weights, bench, self._calibrator.weights)
        return exact_sum(totals) / votes.n_tasks

    @property
    def calibration_(self) -> Calibration | None:
        """Weights, shifts, and how well they predict known labels that they have not seen; None without any."""
        self.posterior_  # noqa: B018 - raises without a fit
        if self._known is None:
            return None
        names = self.votes_.workers.names
        classes, calibrator = self.votes_.classes.names, self._calibrator
        return compare_calibration(
            self._known.after,
            self._known.before,
            self._known.truth,
            self.ties,
            method="log-linear pool of judges",
            weights=dict(zip(names, calibrator.weights.tolist(), strict=True)),
            shifts=dict(zip(classes, calibrator.shifts[0].tolist(), strict=True)),
            notes=self._notes,
        )

    def _learn(self, votes: Votes, gold: Any) -> list[str]:
        """Learn weights and shifts from known labels; return what speaks against trusting them."""
        bench = _bench(votes, self._family)
        n_judges = votes.n_workers
        if n_judges > _MOST_JUDGES:
            raise InputError(
                f"JuryVote learns one weight per judge, for up to {_MOST_JUDGES:,} judges, and there are {n_judges:,} "
                "workers; for a crowd, use CalibratedCrowd, or leave the known labels out."
            )
        if isinstance(votes, VoteTable):
            n_known = int(np.count_nonzero(gold >= 0))
            check_memory(3 * n_known * n_judges * votes.n_classes, "The votes on known labels", "give fewer labels")
        by_task, truth = engine_of(votes, gold=gold).gather(gold_judge_logs, bench)
        if truth.size == 0:
            raise InputError("No task of the votes has a known label; do the task ids match?")
        logs = np.ascontiguousarray(by_task.reshape(truth.size, n_judges, votes.n_classes).transpose(1, 0, 2))
        covariates = None
        if self.abstain == "informative":
            covariates = _abstained(votes_in_memory(votes))[np.flatnonzero(gold >= 0)]
        judges, order = name_free_order(logs, truth, bench.family, None if covariates is None else covariates[:, 0])
        logs, truth, family = logs[np.ix_(judges, order)], truth[order], bench.family[judges]
        covariates = None if covariates is None else covariates[order]
        notes = doubts_about_labels(votes, logs, truth, None)
        if covariates is not None and not covariates.any():
            notes.append("no judge abstains from a task whose label is known, so abstentions say nothing")
        known, found = _cross_fit(logs, truth, covariates, family, self.n_folds)
        if log_loss(known.after, truth) < log_loss(known.before, truth):
            weights = np.empty(n_judges)
            weights[judges] = found.weights
            self._calibrator = found._replace(weights=weights)
        else:
            notes.append(
                "weights learned from the known labels predict labels that they have not seen no better than equal "
                "weights, which are kept"
            )
            known = known._replace(after=known.before)
        self._known = known
        return notes

    def _pooled(self, votes: Votes, family: Codes, calibrator: Calibrator) -> TaskPosterior:
        """Return the posterior of votes; family and weights are those of the workers of these votes."""
        weights, shifts, slopes = calibrator
        scores = engine_of(votes).emit(judge_scores, _bench(votes, family), weights, shifts[0])
        if slopes.size and isinstance(votes, VoteTable) and isinstance(scores, np.ndarray):
            scores = scores + _abstained(votes) @ slopes
        return make_posterior(votes, scores, is_log=True, ties=self.ties)

    def _predict(self, votes: Votes) -> TaskPosterior:
        known = self.votes_.workers.code_of(votes.workers.values)
        is_known, learned = known >= 0, self._calibrator.weights
        family = self._known_families(votes)
        family[is_known] = np.where(self._has_family, self._family, -1)[known[is_known]]
        weights = np.empty(known.size)
        weights[is_known] = learned[known[is_known]]
        for code in np.unique(family[~is_known]):
            alike = learned[self._has_family & (self._family == code)]
            weights[~is_known & (family == code)] = _middle(alike if alike.size else learned)
        alone = np.flatnonzero(family < 0)
        family[alone] = family.max(initial=-1) + 1 + np.arange(alone.size)
        return self._pooled(votes, family, self._calibrator._replace(weights=weights))

    def _known_families(self, votes: Votes) -> Codes:
        """Return the family of each judge of new votes, by the families of ``fit``; those new here come after them."""
        family, named = _families_of(votes)
        if named is None:
            return np.full(family.size, -1, dtype=np.int32)
        place = np.full(len(named) + 1, -1, dtype=np.int32)  # the last is for judges without a family
        place[:-1] = -1 if self._families is None else self._families.code_of(named.values)
        is_new = place[:-1] < 0
        place[:-1][is_new] = (0 if self._families is None else len(self._families)) + np.arange(int(is_new.sum()))
        return place[np.minimum(family, len(named))]

    @property
    def _has_family(self) -> NDArray[np.bool_]:
        """Which judges of ``fit`` have a family that was named."""
        return np.asarray(self._family < (0 if self._families is None else len(self._families)))

    def _state(self) -> State:
        weights, shifts, slopes = self._calibrator
        found: dict[str, Any] = {"weights": weights, "shifts": shifts, "family": self._family}
        found |= {"slopes": slopes} if slopes.size else {}
        return found if self._families is None else {**found, "families": self._families}

    def _set_state(self, state: State) -> None:
        n_judges, n_classes = self.votes_.n_workers, self.votes_.n_classes
        weights, shifts = of_shape(state, "weights", n_judges), of_shape(state, "shifts", 1, n_classes)
        self._calibrator = Calibrator(weights, shifts)
        if "slopes" in state:
            self._calibrator = Calibrator(weights, shifts, of_shape(state, "slopes", 1, n_classes))
        self._family = of_shape(state, "family", n_judges)
        self._families = list_of(state, "families") if "families" in state else None


class _Known(NamedTuple):
    """Known labels, and their probabilities by weights that have not seen them, and by equal weights."""

    truth: Codes
    after: NDArray[np.float64]
    before: NDArray[np.float64]


def _cross_fit(
    logs: Logs, truth: Codes, covariates: NDArray[np.float64] | None, family: Codes, n_folds: int
) -> tuple[_Known, Calibrator]:
    """Learn from all known labels, and predict each of some parts of them by what was learned from the others."""
    prior = _weight_prior(family)

    def learned(rows: NDArray[np.bool_]) -> Calibrator:
        more = None if covariates is None else covariates[rows]
        return fit_calibrator(logs[:, rows], truth[rows], prior=prior, covariates=more)

    before = probabilities(logs.sum(axis=0), True)
    after = before.copy()  # a single label is predicted by equal weights
    fold = np.arange(truth.size) % n_folds
    for number in range(n_folds if truth.size > 1 else 0):
        here = fold == number
        if here.any():
            more = None if covariates is None else covariates[here]
            after[here] = probabilities(pool(list(logs[:, here]), learned(~here), None, more), True)
    return _Known(truth, after, before), learned(np.ones(truth.size, dtype=bool))


def _weight_prior(family: Codes) -> WeightPrior:
    """Return what weights are drawn toward: one, all of the jury together, and those of a family more so.

    The mean of a family varies alike whatever its size, so that copies of a judge change nothing: the judges of a
    family vary around its mean, not beside it.
    """
    together = np.equal.outer(family, family).astype(np.float64)
    within = np.eye(family.size) - together / together.sum(axis=1, keepdims=True)
    covariance = _JURY_VARIANCE + _FAMILY_VARIANCE * together + _JUDGE_VARIANCE * within
    return WeightPrior(0.0, np.asarray(np.linalg.inv(covariance), dtype=np.float64))


def _bench(votes: Votes, family: Codes) -> Bench:
    judges = votes.judges if isinstance(votes, VoteTable) else None
    if judges is None:
        return Bench(votes.n_classes, family, None, None)
    return Bench(votes.n_classes, family, judges.probability, judges.stated)


def _families_of(votes: Votes) -> tuple[Codes, Vocabulary | None]:
    """Return the family of each judge, and the families; a judge without one has a code past these."""
    judges = votes.judges if isinstance(votes, VoteTable) else None
    if not isinstance(votes, VoteTable) or judges is None or judges.families is None or judges.family is None:
        return np.arange(len(votes.workers), dtype=np.int32), None
    family = np.full(votes.n_workers, -1, dtype=np.int32)
    family[votes.worker] = judges.family
    alone = np.flatnonzero(family < 0)
    family[alone] = len(judges.families) + np.arange(alone.size)
    return family, judges.families


def _abstained(votes: VoteTable) -> NDArray[np.float64]:
    """Return how many judges abstained from each task, as one column."""
    judges = votes.judges
    if judges is None or judges.abstained is None:
        return np.zeros((votes.n_tasks, 1))
    return judges.abstained[:, None]


def _middle(weights: NDArray[np.float64]) -> float:
    """Return the geometric mean, the same for every order of the weights."""
    return float(np.exp(np.sort(np.log(weights)).mean())) if weights.size else 1.0
