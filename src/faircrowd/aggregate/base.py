"""What all aggregators share: parameters, fitted results, prediction."""

from abc import ABC, abstractmethod
from dataclasses import fields, replace
from functools import partial
from typing import Any, Self

import numpy as np

from faircrowd._checks import check_choice, few, suggestion
from faircrowd.aggregate.posterior import TIES, Posterior
from faircrowd.engines import in_spark, local_votes, votes_of
from faircrowd.errors import InputError, NotFittedError, OptionError
from faircrowd.votes import Vocabulary, VoteTable
from faircrowd.votes.account import VotesReport
from faircrowd.votes.vocabulary import Codes

__all__ = ["Aggregator", "by_workers", "known_workers", "of_shape"]


class Aggregator(ABC):
    """Base of the aggregators.

    The constructor's arguments are the parameters (``get_params``, ``set_params``); results carry a trailing
    underscore and exist after ``fit``. A subclass gives ``fit``, which sets ``_posterior`` and ``_votes``, and
    ``_predict``, which scores the votes of new tasks with what was learned.
    """

    ties: str
    _posterior: Posterior | None = None
    _votes: VoteTable | None = None
    _in_spark = False  # whether votes in Spark are taken

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name."""
        return {item.name: getattr(self, item.name) for item in fields(self) if item.init}  # type: ignore[arg-type]

    def set_params(self, **params: Any) -> Self:
        """Set parameters by name."""
        known = self.get_params()
        for name, value in params.items():
            if name not in known:
                raise OptionError(f"{type(self).__name__} has no parameter {name!r}.{suggestion(name, known)}")
            setattr(self, name, value)
        return self

    @abstractmethod
    def fit(self, data: Any, *args: Any, **kwargs: Any) -> Self:
        """Learn from votes."""

    def fit_predict(self, data: Any, *args: Any, **kwargs: Any) -> Any:
        """Learn from votes and return their labels; arguments as for ``fit``."""
        return self.fit(data, *args, **kwargs).labels_

    def fit_predict_proba(self, data: Any, *args: Any, **kwargs: Any) -> Any:
        """Learn from votes and return a probability a task and class; arguments as for ``fit``."""
        return self.fit(data, *args, **kwargs).probas_

    def predict(self, data: Any, *, sensitive_features: Any = None) -> Any:
        """Label new tasks from their votes, with what was learned.

        Workers seen in ``fit`` count with what was learned of them, others with the crowd's average.
        """
        return self._predicted(data, sensitive_features).labels

    def predict_proba(self, data: Any, *, sensitive_features: Any = None) -> Any:
        """Return a probability a new task and class, as ``predict`` does."""
        return self._predicted(data, sensitive_features).probas

    def predict_log_proba(self, data: Any, *, sensitive_features: Any = None) -> Any:
        """Return a log-probability a new task and class, as ``predict`` does."""
        return self._predicted(data, sensitive_features).log_probas

    @property
    def labels_(self) -> Any:
        """The label of each task: a Series named ``agg_label`` indexed by ``task``."""
        return self.posterior_.labels

    @property
    def probas_(self) -> Any:
        """The probability of each task and class: a frame indexed by ``task``, a column a class."""
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
    def votes_(self) -> VoteTable:
        """The votes given to ``fit``, encoded."""
        if self._votes is None:
            raise NotFittedError(f"This {type(self).__name__} is not fitted yet; call fit(votes) first.")
        return self._votes

    @property
    def posterior_(self) -> Posterior:
        """Labels, probabilities and log-probabilities as plain arrays."""
        if self._posterior is None and self._votes is not None:
            raise NotFittedError("A model read from a file predicts new tasks; the labels of its fit are not in it.")
        if self._posterior is None:
            raise NotFittedError(f"This {type(self).__name__} is not fitted yet; call fit(votes) first.")
        return self._posterior

    def _store(self, votes: VoteTable, posterior: Posterior) -> Self:
        self._votes, self._posterior = votes, posterior
        return self

    @abstractmethod
    def _predict(self, votes: VoteTable) -> Posterior:
        """Score the votes of new tasks with what was learned."""

    @abstractmethod
    def _learned(self) -> dict[str, Any]:
        """Return what ``_predict`` needs besides workers, classes and groups: arrays and vocabularies by name."""

    @abstractmethod
    def _recall(self, learned: dict[str, Any]) -> None:
        """Take back what ``_learned`` returned; ``_votes`` holds the workers, classes and groups."""

    def _predicted(self, data: Any, sensitive_features: Any) -> Posterior:
        fitted = self.votes_
        votes_as = votes_of if self._in_spark else partial(local_votes, method=type(self).__name__)
        new = votes_as(data, sensitive_features)
        if self._needs_groups and new.groups is None:
            raise InputError("This model learned by group; give sensitive_features for the new tasks.")
        return self._predict(known_classes(new, fitted))

    @property
    def _needs_groups(self) -> bool:
        return False

    def _begin(self) -> None:
        """Check what all share, and forget the last fit: one that fails half-way must not leave a mix of two."""
        check_choice("ties", self.ties, TIES)
        for item in fields(self):  # type: ignore[arg-type]
            if isinstance(item.default, bool):
                check_choice(item.name, getattr(self, item.name), (False, True))
        self._votes = self._posterior = None


def of_shape(learned: dict[str, Any], name: str, *shape: int) -> Any:
    """Return an array of a saved model; raise if it does not fit the model's lists."""
    found = learned[name]
    if found.shape != shape:
        raise InputError(f"The saved model does not hold together: {name} has shape {found.shape}, not {shape}.")
    return found


def known_classes(votes: Any, fitted: Any) -> Any:
    """Code new votes by the classes of a fitted model; these keep their type, which may not fit the new column's."""
    classes = fitted.classes
    place = classes.code_of(votes.classes.values)
    unknown = np.flatnonzero(place < 0)
    if unknown.size:
        raise InputError(
            "The new votes have labels that were not seen in fit: "
            f"{few(votes.classes.some(unknown[:5]), unknown.size)}; "
            f"known are {few(classes.some(range(min(5, len(classes)))), len(classes))}."
        )
    if in_spark(votes):
        return votes.recoded("label", classes, place)
    kinds = {role: kind for role, kind in votes.style.dtypes.items() if role != "label"}
    if "label" in fitted.style.dtypes:
        kinds["label"] = fitted.style.dtypes["label"]
    return replace(votes.with_classes(classes), style=replace(votes.style, dtypes=kinds))


def by_workers(votes: Any, workers: Vocabulary) -> Any:
    """Code new votes by the workers of a fitted model; unknown workers get the code after the last."""
    if not in_spark(votes):
        return votes.with_workers(workers, known_workers(votes, workers))
    place = workers.code_of(votes.workers.values)
    return votes.recoded("worker", workers, np.where(place < 0, len(workers), place))


def known_workers(votes: VoteTable, workers: Vocabulary) -> Codes:
    """Code the votes by the workers of a fitted model; unknown workers get the code after the last."""
    place = workers.code_of(votes.workers.values)
    return np.where(place < 0, len(workers), place).astype(np.int32)[votes.worker]
