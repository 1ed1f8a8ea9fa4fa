"""What the baselines share: parameters, fitted results, and the record of what was reached."""

from abc import ABC, abstractmethod
from copy import copy
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple, Self

from faircrowd._checks import check_number, few
from faircrowd._params import Parameters
from faircrowd.errors import InputError, NotFittedError
from faircrowd.fair.estimator import FairCrowd
from faircrowd.fair.gap import gap_of
from faircrowd.fair.tasks.problem import Problem
from faircrowd.votes import Vocabulary
from faircrowd.votes.vocabulary import Codes

__all__ = ["Baseline", "Outcome", "check_two"]


@dataclass(frozen=True)
class Outcome:
    """What labels reached; there is no proof that they are the best, and epsilon may be missed.

    Attributes
    ----------
    epsilon : float
        The gap that was asked for.
    gap, gap_before : float
        The demographic-parity gap of the labels, and of the aggregator's own.
    expected_accuracy, expected_accuracy_before : float
        Mean posterior probability of the labels, by the aggregator's posterior.
    changed : int
        How many labels differ from the aggregator's own.
    converged : bool
        Whether the method came to its own end: see each method. It does not say that the gap is within epsilon.
    tasks : int
    """

    epsilon: float
    gap: float
    gap_before: float
    expected_accuracy: float
    expected_accuracy_before: float
    changed: int
    converged: bool
    tasks: int

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
    def fit(self, data: Any, *args: Any, **kwargs: Any) -> Self:
        """Find labels from votes and the group of each task."""

    def fit_predict(self, data: Any, *args: Any, **kwargs: Any) -> Any:
        """Fit and return the labels; arguments as for ``fit``."""
        return self.fit(data, *args, **kwargs).labels_

    @property
    def labels_(self) -> Any:
        """A label a task."""
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

    def _result(self) -> Fitted:
        if self._fitted is None:
            name = type(self).__name__
            raise NotFittedError(f"This {name} is not fitted yet; call fit(votes, sensitive_features=...) first.")
        return self._fitted

    def _begin(self) -> float:
        """Forget the last fit, and return epsilon."""
        self._fitted = None
        return check_number("epsilon", self.epsilon, low=0, high=1)

    def _read(self, estimator: Any, data: Any, sensitive_features: Any, args: Any, kwargs: Any) -> Problem:
        """Aggregate votes (or take a posterior) as ``FairCrowd`` does."""
        self.estimator_ = copy(estimator)
        problem: Problem = self._reader()._problem(data, sensitive_features, args, kwargs)
        return problem

    def _reader(self) -> FairCrowd:
        reader = FairCrowd()
        reader.estimator_ = self.estimator_
        return reader

    def _store(self, problem: Problem, labels: Codes, *, converged: bool) -> Self:
        tally = problem.tally(labels)
        accuracy_before, accuracy = tally.accuracies
        outcome = Outcome(
            epsilon=float(self.epsilon),
            gap=gap_of(tally.rates),
            gap_before=gap_of(tally.rates_before),
            expected_accuracy=accuracy,
            expected_accuracy_before=accuracy_before,
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
            f"{method} is for two {what}, and there are {len(found):,}: {names}; "
            "FairCrowd takes any number of groups and classes."
        )
