"""What all aggregators share: parameters, fitted results, prediction."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import replace
from inspect import signature
from typing import Any, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from faircrowd._checks import check_choice, few, warn
from faircrowd._display import card_of, frame_of
from faircrowd._params import Parameters
from faircrowd._types import ByTask, TableLike
from faircrowd.aggregate.posterior import TIES, TaskPosterior
from faircrowd.aggregate.registry import AGGREGATORS, kind_of
from faircrowd.engines import SparkVotes, Votes, in_spark, votes_in_memory, votes_of
from faircrowd.engines.protocols import SparkFrame
from faircrowd.errors import DataWarning, InputError, NotFittedError, OptionError
from faircrowd.votes import Vocabulary, VoteTable
from faircrowd.votes.account import VotesReport
from faircrowd.votes.scoring import scoring_truth, share_right

__all__ = ["Aggregator", "State", "VotesLike", "by_workers", "list_of", "of_shape", "warn_of"]

VotesLike: TypeAlias = TableLike | VoteTable | SparkFrame | SparkVotes
"""Votes as users give them: a frame (also of Spark) or a path, with columns task, worker, label; or encoded votes."""

State: TypeAlias = Mapping[str, NDArray[Any] | Vocabulary]
"""What a model has learned: arrays and vocabularies by name."""


class Aggregator(Parameters, ABC):
    """Base class of the aggregators.

    The constructor's arguments are the parameters (``get_params``, ``set_params``); results carry a trailing
    underscore and exist after ``fit``. A subclass is listed in :mod:`faircrowd.aggregate.registry` and defines:

    - ``fit``, which calls ``_begin``, reads the votes with ``_read``, and ends with ``_store``;
    - ``_predict``, which scores the votes of new tasks with what was learned;
    - ``_state`` and ``_set_state``, with which a fitted model is saved and loaded.
    """

    ties: str
    _posterior: TaskPosterior | None = None
    _votes: Votes | None = None

    @abstractmethod
    def fit(self, data: VotesLike, *args: Any, **kwargs: Any) -> Self:
        """Learn from votes."""

    def fit_predict(self, data: VotesLike, *args: Any, **kwargs: Any) -> Any:
        """Learn from votes and return the label of each task; arguments as for ``fit``."""
        return self.fit(data, *args, **kwargs).labels_

    def fit_predict_proba(self, data: VotesLike, *args: Any, **kwargs: Any) -> Any:
        """Learn from votes and return the probability of each class for each task; arguments as for ``fit``."""
        return self.fit(data, *args, **kwargs).probas_

    def predict(self, data: VotesLike, *, sensitive_features: ByTask | None = None) -> Any:
        """Label new tasks from their votes, with what was learned.

        Workers seen in ``fit`` count with what was learned about them, others as the average worker.
        """
        return self.posterior_of(data, sensitive_features).labels

    def predict_proba(self, data: VotesLike, *, sensitive_features: ByTask | None = None) -> Any:
        """Return the probability of each class for each new task; see ``predict``."""
        return self.posterior_of(data, sensitive_features).probas

    def predict_log_proba(self, data: VotesLike, *, sensitive_features: ByTask | None = None) -> Any:
        """Return the log-probability of each class for each new task; see ``predict``."""
        return self.posterior_of(data, sensitive_features).log_probas

    def posterior_of(self, data: VotesLike, sensitive_features: ByTask | None = None) -> TaskPosterior:
        """Score new tasks from their votes, with what was learned; see ``predict``.

        Parameters
        ----------
        data : frame, path, VoteTable or SparkVotes
            Votes of new tasks, with columns task, worker, label.
        sensitive_features : optional
            Groups of the tasks, as in :func:`faircrowd.read_votes`; needed by a model that learned by group, unless
            the votes have them.

        Returns
        -------
        Posterior
            Labels, probabilities and log-probabilities, as frames and as arrays; of votes in Spark a
            :class:`~faircrowd.aggregate.posterior.SparkPosterior`, which has Spark frames.
        """
        fitted = self.votes_
        new = self._read_for(self._predicts_in_spark, data, sensitive_features)
        if self._needs_groups and new.groups is None:
            raise InputError("This model learned by group; give sensitive_features for the new tasks.")
        return self._predict(by_classes(new, fitted))

    def score(self, truth: ByTask) -> float:
        """Return the real accuracy: the share of the labels that are right, among tasks whose truth is known.

        A true label that nobody voted for counts as missed.

        Parameters
        ----------
        truth : Series, dict or frame by task
            True labels; those of other tasks are left out.
        """
        known, _ = scoring_truth(votes_in_memory(self.votes_), truth)
        found = share_right(self.posterior_.in_memory().label_codes, known)
        assert found is not None  # noqa: S101 - some of the truth is known
        return found

    def to_frame(self, backend: str | None = None) -> Any:
        """Return one row per task: label, number of votes, the posterior of each class, and the group if there is one.

        Parameters
        ----------
        backend : str, optional
            "pandas", "polars" or "pyarrow"; by default the kind of frame that the votes came in.
        """
        return frame_of(self, backend)

    def _repr_html_(self) -> str:
        return card_of(self)

    @property
    def labels_(self) -> Any:
        """The label of each task: a Series named ``agg_label`` indexed by ``task``."""
        return self.posterior_.labels

    @property
    def probas_(self) -> Any:
        """The probability of each class for each task: a frame indexed by ``task`` with one column per class."""
        return self.posterior_.probas

    @property
    def log_probas_(self) -> Any:
        """Log-probabilities; differences of two classes are log-odds, exact where ``probas_`` rounds to 0 or 1."""
        return self.posterior_.log_probas

    @property
    def report_(self) -> VotesReport:
        """What happened to every row of the votes given to ``fit``."""
        return self.votes_.report

    @property
    def votes_(self) -> Votes:
        """The votes given to ``fit``, encoded."""
        if self._votes is None:
            raise NotFittedError(f"This {type(self).__name__} is not fitted yet; call fit(votes) first.")
        return self._votes

    @property
    def posterior_(self) -> TaskPosterior:
        """Labels, probabilities and log-probabilities of the tasks; ``posterior_.in_memory()`` has them as arrays."""
        if self._posterior is None and self._votes is not None:
            raise NotFittedError("A model read from a file predicts new tasks; the labels of its fit are not in it.")
        if self._posterior is None:
            raise NotFittedError(f"This {type(self).__name__} is not fitted yet; call fit(votes) first.")
        return self._posterior

    def __sklearn_is_fitted__(self) -> bool:
        """Return whether there is a model to predict with: ``sklearn.utils.validation.check_is_fitted`` asks."""
        return self._votes is not None

    @abstractmethod
    def _predict(self, votes: Votes) -> TaskPosterior:
        """Score the votes of new tasks with what was learned; labels are coded by the classes of ``fit``."""

    @abstractmethod
    def _state(self) -> State:
        """Return what ``_predict`` needs besides workers, classes and groups."""

    @abstractmethod
    def _set_state(self, state: State) -> None:
        """Take what ``_state`` returned; ``votes_`` has the workers, classes and groups."""

    def _restore(self, votes: VoteTable, state: State) -> Self:
        """Make this a fitted model again, from the lists and the state of a saved one."""
        self._votes = votes
        self._set_state(state)
        return self

    def _begin(self) -> None:
        """Check the parameters that all share, and forget the last fit: a failed fit must not leave half of it."""
        check_choice("ties", self.ties, TIES)
        for name, parameter in signature(type(self)).parameters.items():
            if isinstance(parameter.default, bool):
                check_choice(name, getattr(self, name), (False, True))
        self._votes = self._posterior = None

    @property
    def _fits_in_spark(self) -> bool:
        return any(kind.in_spark for base in type(self).__mro__ if (kind := kind_of(base)))

    @property
    def _uses_probabilities(self) -> bool:
        return any(kind.uses_probabilities for base in type(self).__mro__ if (kind := kind_of(base)))

    @property
    def _predicts_in_spark(self) -> bool:
        return self._fits_in_spark

    def _read(
        self, data: VotesLike, sensitive_features: ByTask | None = None, true_labels: ByTask | None = None
    ) -> Votes:
        """Read votes to learn from; those in Spark only if the registry says that the model runs there."""
        votes = self._read_for(self._fits_in_spark, data, sensitive_features, true_labels)
        if votes.n_votes == 0:
            raise InputError("There is no vote to learn from: all rows were set aside, or there were none.")
        if (note := self.unused_note(votes)) is not None:
            warn_of([note])
        return votes

    def unused_note(self, votes: Votes) -> str | None:
        """Return a note if votes say more than their labels, and the model does not use it."""
        judges = votes.judges if isinstance(votes, VoteTable) else None
        if judges is None or self._uses_probabilities:
            return None
        unused = ["probabilities"] * judges.has_probabilities + ["families"] * (judges.families is not None)
        return (
            f"{type(self).__name__} counts one label per judge and task (the most probable class where there are only "
            f"probabilities); it does not use the {' and '.join(unused)} of the judges, as JuryVote does"
            if unused
            else None
        )

    def _read_for(
        self,
        runs_in_spark: bool,
        data: VotesLike,
        sensitive_features: ByTask | None = None,
        true_labels: ByTask | None = None,
    ) -> Votes:
        if in_spark(data) and not runs_in_spark:
            able = [kind.class_name for kind in AGGREGATORS.values() if kind.in_spark]
            raise OptionError(f"{type(self).__name__} does not run in Spark; {', '.join(able[:-1])} and {able[-1]} do.")
        return votes_of(data, sensitive_features, true_labels)

    def _needed(self, true_labels: ByTask | None) -> ByTask:
        """Return known labels that ``fit`` cannot do without; raise if there are none."""
        if true_labels is None:
            raise InputError(
                f"{type(self).__name__} learns from known labels; give true_labels=..., the true labels of some tasks: "
                "a pandas Series indexed by task, a dict, or a frame.",
                parameter="true_labels",
            )
        return true_labels

    def _store(self, votes: Votes, posterior: TaskPosterior) -> Self:
        self._votes, self._posterior = votes, posterior
        return self

    @property
    def _needs_groups(self) -> bool:
        return False


def warn_of(notes: Iterable[str]) -> None:
    """Warn about the data, once for each note: as a sentence."""
    for note in notes:
        warn(f"{note[0].upper()}{note[1:]}{'' if note.endswith('?') else '.'}", DataWarning)


def of_shape(state: State, name: str, *shape: int) -> NDArray[Any]:
    """Return an array of a saved model; raise if its shape does not fit the model's lists."""
    found = state[name]
    if not isinstance(found, np.ndarray) or found.shape != shape:
        shown = getattr(found, "shape", None)
        raise InputError(f"The saved model is inconsistent: {name} has shape {shown}, not {shape}.")
    return found


def list_of(state: State, name: str) -> Vocabulary:
    """Return a list of a saved model."""
    found = state[name]
    if not isinstance(found, Vocabulary):
        raise InputError(f"The saved model is inconsistent: {name} is not a list.")
    return found


def by_classes(votes: Votes, fitted: Votes) -> Votes:
    """Code new votes by the classes of a fitted model, which keep the type they had in ``fit``."""
    classes = fitted.classes
    place = classes.code_of(votes.classes.values)
    unknown = np.flatnonzero(place < 0)
    if unknown.size:
        raise InputError(
            "The new votes have labels that were not seen in fit: "
            f"{few(votes.classes.some(unknown[:5]), unknown.size)}; "
            f"known are {few(classes.some(range(min(5, len(classes)))), len(classes))}."
        )
    new = votes.recoded("label", classes, place)
    if isinstance(new, VoteTable) and "label" in fitted.style.dtypes:
        kinds = {**new.style.dtypes, "label": fitted.style.dtypes["label"]}
        return replace(new, style=replace(new.style, dtypes=kinds))
    return new


def by_workers(votes: Votes, workers: Vocabulary) -> Votes:
    """Code new votes by the workers of a fitted model; unknown workers get the code after the last."""
    place = workers.code_of(votes.workers.values)
    return votes.recoded("worker", workers, np.where(place < 0, len(workers), place).astype(np.int32))
