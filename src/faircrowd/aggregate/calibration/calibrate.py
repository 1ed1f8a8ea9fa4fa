"""``CalibratedCrowd``: a posterior that means what it says, by means of a few known labels."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from faircrowd._checks import check_confidence, check_count, few
from faircrowd._types import ByTask
from faircrowd.aggregate.base import Aggregator, State, VotesLike, of_shape, warn_of
from faircrowd.aggregate.calibration.accuracy_estimate import (
    AccuracyEstimate,
    CrossFit,
    Part,
    difference_estimate,
    found_values,
    part_of,
)
from faircrowd.aggregate.calibration.calibration_quality import Calibration, compare_calibration
from faircrowd.aggregate.calibration.known_label_checks import (
    doubts_about_labels,
    doubts_about_sample,
    unusable_labels,
)
from faircrowd.aggregate.calibration.log_pool import (
    Calibrator,
    Logs,
    Member,
    belief_limbs,
    believed_sums,
    evidence,
    fit_calibrator,
    gold_rows,
    member_logs,
    natural_order,
    pool,
    pooled_rows,
    uncalibrated,
)
from faircrowd.aggregate.confusion import by_groups
from faircrowd.aggregate.dawid_skene import DawidSkene
from faircrowd.aggregate.em import Iterative, OnRound
from faircrowd.aggregate.pooling import LEARNED
from faircrowd.aggregate.posterior import SparkPosterior, TaskPosterior, choose, make_posterior, probabilities
from faircrowd.aggregate.registry import kind_of
from faircrowd.aggregate.skill_vote import Wawa, ZeroBasedSkill
from faircrowd.engines import SparkVotes, Votes, engine_of, gold_of, votes_in_memory
from faircrowd.engines.spark.blocks import Named
from faircrowd.engines.spark.task_rows import SparkRows
from faircrowd.errors import InputError, NotFittedError, OptionError
from faircrowd.exact.sums import limbs_to_numbers
from faircrowd.votes import VoteTable
from faircrowd.votes.facts import Facts
from faircrowd.votes.vocabulary import Codes

__all__ = ["CalibratedCrowd"]

Estimators: TypeAlias = Aggregator | Sequence[Aggregator] | None


@dataclass(frozen=True, eq=False)
class _Gold:
    """Known labels, and what was learned from them: one calibrator per fold, which has not seen the fold's labels."""

    logs: Logs  # of the known tasks, by model, task and class, from models that have not seen the task's label
    evidence: NDArray[np.float64]  # how much the logs of each task count
    truth: Codes
    group: Codes | None  # where groups have shifts of their own
    any_group: Codes | None
    task: NDArray[np.int64] | None  # positions among the tasks in memory
    fold: NDArray[np.int64]
    calibrators: list[Calibrator]
    pool: Calibrator

    def scores(self, calibrator: Calibrator, rows: NDArray[np.bool_] | slice = slice(None)) -> NDArray[np.float64]:
        """Return the scores of known tasks in a pool."""
        logs = self.logs[:, rows] * self.evidence[rows]
        return pool(list(logs), calibrator, None if self.group is None else self.group[rows])


@dataclass(eq=False, repr=False)
class CalibratedCrowd(Aggregator):
    r"""One aggregator, or several, whose probabilities are calibrated on known labels of some tasks.

    The aggregators are fitted to the votes alone. On the tasks whose label is known, their probabilities are then
    combined into a log-linear pool, :math:`p_k \propto \exp(b_k + e(v) \sum_m w_m \log p_{mk})`: one weight per
    aggregator (for a single one, a temperature) and one shift per class, shrunken where few labels are known. Votes on
    a task depend on each other, so :math:`e(v) = 1 / (1 + 0.4 (v - 1))` lets each of v votes count the less, the more
    there are. 50 to 100 known labels, a random sample of the tasks, are enough. Tasks whose label is known are labelled
    by their votes like all others.

    Parameters
    ----------
    estimator : aggregator, list of aggregators, or None
        By default ``[ZeroBasedSkill(), DawidSkene(pooling="learned")]``, the best pool of those measured
        (docs/calibration.md). An aggregator that itself learns from known labels (such as ``BayesVote``) is fitted once
        more for each fold, without the fold's labels.
    by_group : bool
        Whether each sensitive group has shifts of its own; use it with some hundred known labels.
    n_folds : int
        Number of parts of the known labels; each is scored by what was learned from the others.
    confidence : float
        Of the interval of ``accuracy_``.
    ties : {"first", "last"}
        The class that wins a tie: the first or the last in sorted order.

    Attributes
    ----------
    labels_, probas_, log_probas_, report_
        As in :class:`DawidSkene`.
    accuracy_ : AccuracyEstimate
        The accuracy of ``labels_`` over all tasks as estimated from the known labels, with an interval. It assumes that
        these are of a random sample of the tasks.
    calibration_ : Calibration
        Weights, log loss, calibration error and reliability.
    estimators_ : list
        The fitted aggregators.

    Warns
    -----
    DataWarning
        If fewer than 20 labels are known, they are of one class or one group, some cannot be used, or they do not look
        like a random sample of the tasks.

    Examples
    --------
    >>> from faircrowd import DawidSkene, simulate_crowd
    >>> crowd = simulate_crowd(1000, 50, random_state=0)
    >>> some_gold = crowd.truth.sample(100, random_state=0)
    >>> honest = CalibratedCrowd(DawidSkene()).fit(crowd.votes, true_labels=some_gold)
    >>> bool(honest.accuracy_.low < (honest.labels_ == crowd.truth).mean() < honest.accuracy_.high)
    True
    """

    estimator: Estimators = None
    by_group: bool = False
    n_folds: int = 5
    confidence: float = 0.95
    ties: str = "first"

    def fit(
        self,
        data: VotesLike,
        true_labels: ByTask | None = None,
        *,
        sensitive_features: ByTask | None = None,
        on_round: OnRound | None = None,
    ) -> Self:
        """Fit the aggregators to the votes, and calibrate them on the known labels.

        Parameters
        ----------
        data : frame, path or VoteTable
            Votes with columns task, worker, label. For a Spark frame, results per task are Spark frames.
        true_labels : Series, dict or frame by task
            Known labels of some tasks, at best of 50 or more, drawn at random. In Spark, the name of a column of the
            votes.
        sensitive_features : optional
            Groups of the tasks, as in :func:`faircrowd.read_votes`; needed with ``by_group``.
        on_round : callable, optional
            As in :meth:`DawidSkene.fit`; called for each aggregator that is fitted in rounds.
        """
        self._begin()
        self.__dict__.pop("accuracy_", None)
        self._calibrator: Calibrator | None = None
        check_count("n_folds", self.n_folds, least=2)
        check_confidence("confidence", self.confidence)
        members = [copy(member) for member in self._members()]
        true_labels = self._needed(true_labels)
        if isinstance(true_labels, list) and true_labels and isinstance(true_labels[0], str):
            raise InputError("Known labels go by task: a pandas Series indexed by task, a dict, or a frame; not list.")
        given = self._read(data, sensitive_features, true_labels)
        if self.by_group and given.groups is None:
            raise InputError("by_group=True needs the group of each task; give sensitive_features=...")
        notes = unusable_labels(given, true_labels)
        votes, gold = gold_of(given, true_labels)
        assert isinstance(votes, VoteTable | SparkVotes)  # noqa: S101 - the two kinds there are
        for member in members:
            if _learns(member):
                member.fit(_seen_by(member, votes), true_labels)
            else:
                member.fit(_seen_by(member, votes), **({"on_round": on_round} if isinstance(member, Iterative) else {}))
        self.estimators_, self._votes_per_task = members, votes.n_votes / max(votes.n_tasks, 1)
        self._fits = [member.posterior_ for member in members]
        self._known = self._learn(votes, gold)
        self._calibrator = self._known.pool
        self._store(votes, self._pooled(votes, self._fits, self._calibrator))
        known = self._known
        notes += doubts_about_labels(votes, known.logs, known.truth, known.any_group)
        if isinstance(votes, VoteTable) and known.task is not None:
            notes += doubts_about_sample(votes, known.task, self.posterior_.in_memory().values.max(axis=1))
        self._notes = tuple(notes)
        warn_of(notes)
        return self

    @property
    def calibration_(self) -> Calibration:
        """Weights, log loss, calibration error and reliability, cross-fitted."""
        gold, classes = self._gold(), self.votes_.classes.names
        after, before = np.empty((2, gold.truth.size, len(classes)))
        for fold, calibrator in enumerate(gold.calibrators):
            here = gold.fold == fold
            after[here] = probabilities(gold.scores(calibrator, here), True)
        before = probabilities(pool(list(gold.logs), uncalibrated(len(gold.logs), len(classes)), None), True)
        names = [type(member).__name__ for member in self.estimators_]
        unique = [name if names.count(name) == 1 else f"{name} {i}" for i, name in enumerate(names, 1)]
        shifts = [dict(zip(classes, row, strict=True)) for row in gold.pool.shifts.tolist()]
        groups = self.votes_.groups
        weights = gold.pool.weights * (gold.evidence[0] if len(names) == 1 else 1.0)
        return compare_calibration(
            after,
            before,
            gold.truth,
            self.ties,
            method="temperature and class shifts" if len(names) == 1 else "log-linear pool and class shifts",
            weights=dict(zip(unique, weights.tolist(), strict=True)),
            shifts=shifts[0] if groups is None or len(shifts) == 1 else dict(zip(groups.names, shifts, strict=True)),
            notes=self._notes,
        )

    @cached_property
    def accuracy_(self) -> AccuracyEstimate:
        """The accuracy of ``labels_`` over all tasks, as estimated from the known labels."""
        gold, votes = self._gold(), self.votes_
        if gold.task is not None:
            parts = [part_of(fold, fold.posterior.label_codes) for fold in self.cross_fits()]
            known = found_values(gold.task, gold.truth, self.posterior_.in_memory().label_codes)
        else:
            parts, known = self._spark_parts(), (self._labels_at_gold(gold.pool) == gold.truth).astype(np.float64)
        found = difference_estimate(parts, known, votes.n_tasks, self.confidence)
        assert found is not None  # noqa: S101 - fit raises where no label is known
        return found

    def cross_fits(self) -> Iterator[CrossFit]:
        """Yield, for each fold of the known labels, the posterior of all tasks that has not seen them.

        Only for votes in memory.
        """
        gold, votes = self._gold(), self.votes_
        if gold.task is None or not isinstance(votes, VoteTable):
            raise OptionError("Posteriors of all tasks by fold are computed in memory, and these votes are in Spark.")
        others = np.ones(votes.n_tasks, dtype=bool)
        others[gold.task] = False
        for number, calibrator in enumerate(gold.calibrators):
            here = gold.fold == number
            fits = self._fits
            if any(map(_learns, self.estimators_)):
                rest = np.full(votes.n_tasks, -1, dtype=np.int32)
                rest[gold.task[~here]] = gold.truth[~here]
                fits = self._without(votes, rest)
            posterior = self._pooled(votes, fits, calibrator).in_memory()
            yield CrossFit(posterior, gold.task[here], gold.truth[here], others)

    # How members are fitted and scored

    def _members(self) -> list[Aggregator]:
        given = self.estimator
        if given is None:
            return [ZeroBasedSkill(ties=self.ties), DawidSkene(pooling=LEARNED, ties=self.ties)]
        members: list[Any] = list(given) if isinstance(given, list | tuple) else [given]
        wrong = [member for member in members if not isinstance(member, Aggregator)]
        if wrong or not members:
            raise OptionError(
                "estimator must be an aggregator of faircrowd, such as DawidSkene(), or a list of them; got "
                f"{few(wrong) or 'an empty list'}.",
                parameter="estimator",
            )
        if any(isinstance(member, CalibratedCrowd) for member in members):
            raise OptionError("A CalibratedCrowd is calibrated already; give the aggregators it is made of.")
        return members

    def _without(self, votes: VoteTable, gold: Codes) -> list[TaskPosterior]:
        """Fit the members that learn from known labels again, on some of these."""
        known = np.flatnonzero(gold >= 0)
        labels: Any = Facts(votes.tasks.take(known).values, votes.classes.take(gold[known]).values)
        return [
            copy(member).fit(_seen_by(member, votes), labels).posterior_ if _learns(member) else fit
            for member, fit in zip(self.estimators_, self._fits, strict=True)
        ]

    def _learn(self, votes: Votes, gold: Any) -> _Gold:
        task: Any
        if isinstance(votes, VoteTable):
            task = np.flatnonzero(gold >= 0)
            truth, group = gold[task], None if votes.group is None else votes.group[task]
            logs, of_task = self._logs_at(votes, self._fits, task), self._evidence(votes.votes_per_task[task])
        else:
            task = None
            engine = engine_of(votes, by_group=votes.groups is not None, gold=True)
            by_model, truth, group, counts = engine.gather(gold_rows, self._steps(self._fits))
            shape = (truth.size, len(self._fits), votes.n_classes)
            logs, of_task = np.ascontiguousarray(by_model.reshape(shape).transpose(1, 0, 2)), self._evidence(counts)
        if truth.size == 0:
            raise InputError("No task of the votes has a known label; CalibratedCrowd learns from such tasks.")
        of_gold, group = group, group if self.by_group else None
        n_folds = min(self.n_folds, truth.size)
        learners = [i for i, member in enumerate(self.estimators_) if _learns(member)]
        by_votes = np.delete(logs * of_task, learners, axis=0)
        if learners:  # they run in memory only
            if n_folds == 1:
                names = ", ".join(type(self.estimators_[i]).__name__ for i in learners)
                raise InputError(
                    f"There is one known label. {names} must be fitted without the labels it is compared with, so two "
                    "or more are needed."
                )
            table = votes_in_memory(votes)
            wawa = Wawa(ties=self.ties)  # no known label, but the votes, in it
            sums = wawa.fit(_seen_by(wawa, table)).posterior_.in_memory().scores[task]
            by_votes = np.concatenate([by_votes, sums[None], logs[learners] * of_task])
        fold = np.empty(truth.size, dtype=np.int64)
        fold[natural_order(by_votes, truth, of_gold)] = np.arange(truth.size) % n_folds
        for number in range(n_folds if learners else 0):  # they must not have seen the labels that they are scored by
            here = fold == number
            rest = gold.copy()
            rest[task[here]] = -1
            logs[:, here] = self._logs_at(table, self._without(table, rest), task[here])
        n_groups, weakened = 1 if votes.groups is None else len(votes.groups), logs * of_task

        def learned(rows: NDArray[np.bool_]) -> Calibrator:
            return fit_calibrator(weakened[:, rows], truth[rows], None if group is None else group[rows], n_groups)

        every = np.ones(truth.size, dtype=bool)
        calibrators = [learned(fold != number if n_folds > 1 else every) for number in range(n_folds)]
        return _Gold(logs, of_task, truth, group, of_gold, task, fold, calibrators, learned(every))

    def _logs_at(self, votes: VoteTable, fits: Sequence[TaskPosterior], task: NDArray[np.int64]) -> Logs:
        parts = []
        for posterior in (fit.in_memory() for fit in fits):
            counts = votes.votes_per_task[task] if len(fits) > 1 else self._votes_per_task
            parts.append(member_logs(posterior.scores[task], posterior.is_log, counts))
        return np.stack(parts)

    def _evidence(self, votes_per_task: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return how much each vote counts, by task; for one model alike for all, to keep the order of tasks."""
        n_tasks = votes_per_task.size
        return evidence(votes_per_task if len(self.estimators_) > 1 else np.full(n_tasks, self._votes_per_task))

    def _pooled(self, votes: Votes, fits: Sequence[TaskPosterior], calibrator: Calibrator) -> TaskPosterior:
        """Return the posterior of a pool."""
        if isinstance(votes, VoteTable):
            every = np.arange(votes.n_tasks)
            logs = self._logs_at(votes, fits, every) * self._evidence(votes.votes_per_task)
            scores = pool(list(logs), calibrator, votes.group)
            return make_posterior(votes, scores, is_log=True, ties=self.ties)
        rows = engine_of(votes, by_group=self._needs_groups).emit(pooled_rows, self._steps(fits), calibrator)
        assert isinstance(rows, SparkRows)  # noqa: S101 - the other kind of votes
        # Each model has its own codes of workers, from those that are stored.
        rows = SparkRows(rows.votes, rows.view._replace(worker=None), rows.steps)
        return make_posterior(votes, rows, is_log=True, ties=self.ties)

    def _predict(self, votes: Votes) -> TaskPosterior:
        calibrator, fitted = self._calibrator, self.votes_
        if calibrator is None:
            raise NotFittedError("This CalibratedCrowd is not fitted yet; call fit(votes, true_labels) first.")
        if self._needs_groups and fitted.groups is not None:
            votes = by_groups(votes, fitted.groups)
        return self._pooled(votes, [member._predict(votes) for member in self.estimators_], calibrator)

    def _steps(self, fits: Sequence[TaskPosterior]) -> tuple[Member, ...]:
        """Return how the models score a block of votes in Spark."""
        found = []
        for fit in fits:
            assert isinstance(fit, SparkPosterior)  # noqa: S101 - the votes are in Spark
            rows = fit.scores
            steps = tuple((Named.of(function), arguments) for function, arguments in rows.steps)
            votes_per_task = None if len(fits) > 1 else self._votes_per_task
            found.append(Member(steps, rows.view.worker, rows.view.by_group, fit.is_log, votes_per_task))
        return tuple(found)

    def _spark_parts(self) -> list[Part]:
        """Return what ``accuracy_`` is made of, for votes in Spark: sums over all tasks in one pass."""
        gold, votes = self._gold(), self.votes_
        engine = engine_of(votes, by_group=self._needs_groups)
        (sums,) = engine.reduce(believed_sums, self._steps(self._fits), tuple(gold.calibrators))
        parts, n_others = [], max(votes.n_tasks - gold.truth.size, 1)
        for number, (calibrator, limbs) in enumerate(zip(gold.calibrators, sums, strict=True)):
            scores = gold.scores(calibrator)
            believed, variance = limbs_to_numbers(limbs - belief_limbs(scores)) / n_others
            here = gold.fold == number
            right = (choose(scores, self.ties) == gold.truth)[here]
            confidence = probabilities(scores, True).max(axis=1)[here]
            parts.append(Part(right - confidence, float(believed), float(variance)))
        return parts

    def _labels_at_gold(self, calibrator: Calibrator) -> Codes:
        return choose(self._gold().scores(calibrator), self.ties)

    def _gold(self) -> _Gold:
        self.posterior_  # noqa: B018 - raises without a fit
        return self._known

    def _state(self) -> State:
        calibrator = self._calibrator
        assert calibrator is not None  # noqa: S101 - only fitted models are saved
        found: dict[str, Any] = {**calibrator._asdict(), "votes_per_task": np.asarray(self._votes_per_task)}
        for i, member in enumerate(self.estimators_):
            found |= {f"{i}.{name}": value for name, value in member._state().items()}
        return found

    def _set_state(self, state: State) -> None:
        votes = votes_in_memory(self.votes_)
        self.estimators_ = [copy(member) for member in self._members()]
        n_groups = len(votes.groups) if self.by_group and votes.groups is not None else 1
        self._votes_per_task = float(of_shape(state, "votes_per_task"))
        self._calibrator = Calibrator(
            of_shape(state, "weights", len(self.estimators_)), of_shape(state, "shifts", n_groups, votes.n_classes)
        )
        for i, member in enumerate(self.estimators_):
            own = {name.partition(".")[2]: value for name, value in state.items() if name.startswith(f"{i}.")}
            member._restore(votes, own)

    @property
    def _fits_in_spark(self) -> bool:
        return all(member._fits_in_spark and not _learns(member) for member in self._members())

    @property
    def _uses_probabilities(self) -> bool:
        return any(member._uses_probabilities for member in self._members())

    @property
    def _predicts_in_spark(self) -> bool:
        return all(member._predicts_in_spark for member in self._members())

    @property
    def _needs_groups(self) -> bool:
        return self.by_group or any(member._needs_groups for member in self.estimators_)


def _seen_by(member: Aggregator, votes: VoteTable | SparkVotes) -> VoteTable | SparkVotes:
    """Return votes as an aggregator uses them: labels alone, unless it uses probabilities."""
    if isinstance(votes, VoteTable) and not member._uses_probabilities:
        return replace(votes, judges=None)
    return votes


def _learns(member: Aggregator) -> bool:
    """Return whether an aggregator is fitted to known labels, too; that of a subclass is as its base."""
    kind = next((kind for base in type(member).__mro__ if (kind := kind_of(base))), None)
    return kind is not None and (kind.gold == "required" or kind.weighs_by_gold)
