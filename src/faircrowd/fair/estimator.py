"""``FairCrowd``: votes to fair labels, with any aggregator."""

from copy import copy
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from faircrowd._params import Parameters
from faircrowd.aggregate.base import Aggregator
from faircrowd.aggregate.posterior import Posterior, log_odds
from faircrowd.engines import votes_of
from faircrowd.errors import InputError, NotFittedError, OptionError
from faircrowd.fair.certificate import Certificate
from faircrowd.fair.frontier import Frontier
from faircrowd.fair.make import FairResult, solve_problem
from faircrowd.fair.rule import FairRule
from faircrowd.fair.tasks.problem import Problem
from faircrowd.fair.tasks.read_posterior import check_groups, read_posterior

__all__ = ["FairCrowd", "from_posterior"]


@dataclass(eq=False)
class FairCrowd(Parameters):
    """The best labels whose gap between groups is at most epsilon, from any aggregator's posterior.

    Parameters
    ----------
    estimator : aggregator or None
        One of ours, any object with crowd-kit's ``fit_predict_proba``, or None if ``fit`` is given a posterior.
    epsilon : float
        The largest gap allowed: over classes, the largest difference between two groups' rates.
    objective : {"accuracy", "f1"} or array-like
        As in :func:`faircrowd.make_fair`.
    decision : {"deterministic", "randomized"}
    random_state : int
    strict : bool
    confidence : float, optional
        As in :func:`faircrowd.make_fair`.

    Attributes
    ----------
    labels_
        A fair label a task.
    probas_
        The aggregator's posterior.
    rule_ : FairRule
    certificate_ : Certificate
    frontier_ : Frontier
        Every epsilon at once.
    estimator_
        The fitted aggregator.

    Examples
    --------
    >>> from faircrowd import DawidSkene, simulate_crowd
    >>> crowd = simulate_crowd(random_state=0)
    >>> fair = FairCrowd(DawidSkene(by_group=True), epsilon=0.05)
    >>> fair = fair.fit(crowd.votes, sensitive_features=crowd.sensitive_features)
    >>> fair.certificate_.gap <= 0.05 < fair.certificate_.gap_before
    True
    """

    estimator: Any = None
    epsilon: float = 0.05
    objective: Any = "accuracy"
    decision: str = "deterministic"
    random_state: int = 0
    strict: bool = False
    confidence: float | None = None

    _result: FairResult | None = None

    def fit(self, data: Any, *args: Any, sensitive_features: Any = None, **kwargs: Any) -> Self:
        """Aggregate votes (or take a posterior) and find the fair labels.

        Parameters
        ----------
        data : frame, path or VoteTable
            Votes; a posterior if ``estimator`` is None.
        sensitive_features
            The group of each task, as in :func:`faircrowd.read_votes`.
        *args, **kwargs
            Passed on to the estimator's ``fit``.
        """
        self._result = None
        self.estimator_ = copy(self.estimator)
        problem = self._problem(data, sensitive_features, args, kwargs)
        self._result = solve_problem(
            problem,
            epsilon=self.epsilon,
            objective=self.objective,
            decision=self.decision,
            random_state=self.random_state,
            strict=self.strict,
            confidence=self.confidence,
        )
        return self

    def fit_predict(self, data: Any, *args: Any, sensitive_features: Any = None, **kwargs: Any) -> Any:
        """Fit and return the fair labels."""
        return self.fit(data, *args, sensitive_features=sensitive_features, **kwargs).labels_

    def fit_predict_proba(self, data: Any, *args: Any, sensitive_features: Any = None, **kwargs: Any) -> Any:
        """Fit and return the aggregator's posterior, as ``probas_``."""
        return self.fit(data, *args, sensitive_features=sensitive_features, **kwargs).probas_

    def predict(self, data: Any, *, sensitive_features: Any = None, unknown: str = "error") -> Any:
        """Label new tasks by the rule, from their votes (from a posterior, if there is no estimator).

        ``unknown="own"`` gives tasks of groups that the rule does not know the aggregator's own label.
        """
        return self.rule_.predict_problem(self._new(data, sensitive_features), unknown)

    def predict_proba(self, data: Any, *, sensitive_features: Any = None) -> Any:
        """Return the aggregator's posterior of new tasks, as ``probas_``."""
        self.rule_  # noqa: B018 - raises before fit
        return self._new(data, sensitive_features).probas

    def _new(self, data: Any, sensitive_features: Any) -> Any:
        if self.estimator_ is None:
            return read_posterior(data, sensitive_features, one_group_will_do=True)
        if isinstance(self.estimator_, Aggregator):
            votes = votes_of(data, sensitive_features)
            return from_posterior(self.estimator_.posterior_of(votes), votes)
        raise InputError("The estimator has no predict of its own; give its posterior to rule_.predict instead.")

    @property
    def labels_(self) -> Any:
        """A fair label a task."""
        return self._fitted().labels

    @property
    def probas_(self) -> Any:
        """The aggregator's posterior."""
        return self._fitted().problem.probas

    @property
    def rule_(self) -> FairRule:
        """The rule, for new tasks."""
        return self._fitted().rule

    @property
    def certificate_(self) -> Certificate:
        """What was promised, what was reached, and the numbers to check it with."""
        return self._fitted().certificate

    @property
    def frontier_(self) -> Frontier:
        """Every epsilon at once."""
        return self._fitted().frontier

    def _fitted(self) -> FairResult:
        if self._result is None:
            raise NotFittedError("This FairCrowd is not fitted yet; call fit(votes, sensitive_features=...) first.")
        return self._result

    def _problem(self, data: Any, sensitive_features: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if self.estimator_ is None:
            return read_posterior(data, sensitive_features)
        if isinstance(self.estimator_, Aggregator):
            votes = votes_of(data, sensitive_features, kwargs.get("true_labels"))
            if votes.groups is None:
                raise InputError("FairCrowd needs the group of each task; give sensitive_features=...")
            model = self.estimator_.fit(votes, *args, **kwargs)
            problem = from_posterior(model.posterior_, model.votes_)
            check_groups(problem.groups)
            return problem
        if not hasattr(self.estimator_, "fit_predict_proba"):
            raise OptionError(
                f"{type(self.estimator_).__name__} has no fit_predict_proba; FairCrowd needs a posterior."
            )
        return read_posterior(self.estimator_.fit_predict_proba(data, *args, **kwargs), sensitive_features)


def from_posterior(posterior: Any, votes: Any) -> Any:
    """Return the problem of making an aggregator's labels fair, of tasks in memory or in Spark."""
    if votes.groups is None:
        raise InputError("The rule goes by group; give sensitive_features for these tasks.")
    if not isinstance(posterior, Posterior):
        from faircrowd.fair.tasks.spark_problem import SparkProblem

        return SparkProblem(posterior)
    has_odds = posterior.is_log and len(posterior.classes) == 2
    return Problem(
        tasks=posterior.tasks,
        classes=posterior.classes,
        groups=votes.groups,
        style=posterior.style,
        posterior=np.ascontiguousarray(posterior.values),
        group=votes.group,
        own=posterior.label_codes,
        log_odds=log_odds(posterior.scores) if has_odds else None,
        evidence=votes.votes_per_task,
        ties=posterior.ties,
    )
