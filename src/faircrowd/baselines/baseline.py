"""What the baselines share: parameters, fitted results, and the record of what the labels reached."""

from abc import ABC, abstractmethod
from copy import copy
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple, Self, TypeAlias

from numpy.typing import ArrayLike

from faircrowd._checks import check_number, few
from faircrowd._display import Displayed, card_of
from faircrowd._params import Parameters
from faircrowd._types import ByTask, TableLike
from faircrowd.errors import InputError, NotFittedError
from faircrowd.fair.gap import gap_of
from faircrowd.fair.tasks.from_votes import fit_problem
from faircrowd.fair.tasks.problem import Problem
from faircrowd.votes import Vocabulary, VoteTable
from faircrowd.votes.vocabulary import Codes

__all__ = ["Baseline", "Outcome", "VotesOrPosterior", "check_two"]

VotesOrPosterior: TypeAlias = TableLike | VoteTable | ArrayLike
"""Votes or, for a method without an aggregator, a posterior."""


@dataclass(frozen=True, repr=False)
class Outcome(Displayed):
    """What the labels reached. They need not be optimal, and their gap may be above epsilon.

    Attributes
    ----------
    epsilon : float
        The gap that was asked for.
    gap, gap_before : float
        The demographic-parity gap of the labels, and of the aggregator's own labels.
    believed_accuracy, believed_accuracy_before : float
        Mean posterior probability of the labels, by the aggregator's posterior: the accuracy if that is right.
    changed : int
        Number of labels that differ from the aggregator's own.
    converged : bool
        Whether the method converged, as each method defines it. It does not mean that the gap is within epsilon.
    tasks : int
    """

    epsilon: float
    gap: float
    gap_before: float
    believed_accuracy: float
    believed_accuracy_before: float
    changed: int
    converged: bool
    tasks: int

    @property
    def expected_accuracy(self) -> float:
        """``believed_accuracy``: the same number under its earlier name."""
        return self.believed_accuracy

    @property
    def expected_accuracy_before(self) -> float:
        """``believed_accuracy_before``: the same number under its earlier name."""
        return self.believed_accuracy_before

    def to_dict(self) -> dict[str, Any]:
        """Return the record as plain values, ready for JSON."""
        return asdict(self)


class Fitted(NamedTuple):
    """The labels of a fit, and what they are measured against."""

    problem: Problem
    labels: Codes
    outcome: Outcome


class Baseline(Parameters, ABC):
    """Base of the baselines: the constructor's arguments are the parameters, as in ``FairCrowd``."""

    epsilon: float
    estimator_: Any
    _fitted: Fitted | None = None

    @abstractmethod
    def fit(self, data: VotesOrPosterior, *args: Any, **kwargs: Any) -> Self:
        """Find labels from votes and the group of each task."""

    def fit_predict(self, data: VotesOrPosterior, *args: Any, **kwargs: Any) -> Any:
        """Fit and return the labels; arguments as for ``fit``."""
        return self.fit(data, *args, **kwargs).labels_

    @property
    def labels_(self) -> Any:
        """The label of each task."""
        fitted = self._result()
        return fitted.problem.labels(fitted.labels)

    @property
    def probas_(self) -> Any:
        """The aggregator's posterior."""
        return self._result().problem.probas

    @property
    def outcome_(self) -> Outcome:
        """What the labels reached."""
        return self._result().outcome

    def _repr_html_(self) -> str:
        return card_of(self if self._fitted is None else self.outcome_)

    def __sklearn_is_fitted__(self) -> bool:
        """Return whether there are labels: ``sklearn.utils.validation.check_is_fitted`` asks."""
        return self._fitted is not None

    def _result(self) -> Fitted:
        if self._fitted is None:
            name = type(self).__name__
            raise NotFittedError(f"This {name} is not fitted yet; call fit(votes, sensitive_features=...) first.")
        return self._fitted

    def _begin(self) -> float:
        """Forget the last fit, and return epsilon."""
        self._fitted = None
        return check_number("epsilon", self.epsilon, low=0, high=1)

    def _read(
        self,
        estimator: object,
        data: VotesOrPosterior,
        sensitive_features: ByTask | None,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> Problem:
        """Aggregate votes (or take a posterior) as ``FairCrowd`` does."""
        self.estimator_ = copy(estimator)
        return fit_problem(self.estimator_, data, *args, sensitive_features=sensitive_features, **kwargs)

    def _store(self, problem: Problem, labels: Codes, *, converged: bool) -> Self:
        tally = problem.tally(labels)
        accuracy_before, accuracy = tally.accuracies
        outcome = Outcome(
            epsilon=float(self.epsilon),
            gap=gap_of(tally.rates),
            gap_before=gap_of(tally.rates_before),
            believed_accuracy=accuracy,
            believed_accuracy_before=accuracy_before,
            changed=int((labels != problem.own).sum()),
            converged=converged,
            tasks=int(labels.size),
        )
        self._fitted = Fitted(problem, labels, outcome)
        return self


def check_two(method: str, what: str, found: Vocabulary) -> None:
    """Raise unless there are two groups, or two classes."""
    if len(found) != 2:
        names = few(found.some(range(min(5, len(found)))), len(found))
        raise InputError(
            f"{method} is for two {what}, but there are {len(found):,}: {names}; "
            "FairCrowd takes any number of groups and classes."
        )
