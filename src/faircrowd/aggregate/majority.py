"""Majority vote, plain or weighted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from faircrowd._checks import LARGEST, check_choice, check_number, few
from faircrowd._types import ByTask, NumbersById
from faircrowd.aggregate.base import Aggregator, State, VotesLike, list_of, of_shape
from faircrowd.aggregate.posterior import TaskPosterior, make_posterior
from faircrowd.aggregate.weighted_votes import majority_agreement, weigh
from faircrowd.engines import Votes, engine_of
from faircrowd.errors import InputError, OptionError
from faircrowd.votes import VoteTable
from faircrowd.votes.facts import Numbers

__all__ = ["MajorityVote"]


@dataclass(eq=False, repr=False)
class MajorityVote(Aggregator):
    r"""The label with the most votes, or with the largest sum of the voters' weights.

    Parameters
    ----------
    default_skill : float, optional
        Weight of the workers that ``skills`` does not list, with ``on_missing_skill="value"``. Otherwise such
        workers have the average weight in ``predict``.
    on_missing_skill : {"error", "ignore", "value"}
        What to do with workers that ``skills``, where given, does not list: raise; set their votes aside (and raise if
        a task is left without votes); or give them the weight ``default_skill``.
    ties : {"first", "last"}
        The class that wins a tie: the first or the last in sorted order. With classes 0 and 1, "last" is the
        rule :math:`\sum_r \tilde Y_r \ge R/2` of the paper, "first" the strict :math:`> R/2` (and crowd-kit's).

    Attributes
    ----------
    labels_, probas_, log_probas_
        The label, the shares of votes and their logarithms for each task.
    skills_ : Series named ``skill``, indexed by worker
        The share of a worker's votes that agree with the labels.
    report_ : VotesReport
        What happened to every row.

    Examples
    --------
    >>> import pandas as pd
    >>> votes = pd.DataFrame(
    ...     [("t1", "w1", 0), ("t1", "w2", 0), ("t1", "w3", 1), ("t2", "w1", 1), ("t2", "w2", 0), ("t2", "w3", 1)],
    ...     columns=["task", "worker", "label"],
    ... )
    >>> MajorityVote().fit_predict(votes).to_dict()
    {'t1': 0, 't2': 1}
    >>> MajorityVote().fit_predict(votes, skills={"w1": 0.2, "w2": 0.9, "w3": 0.2}).to_dict()
    {'t1': 0, 't2': 0}
    """

    default_skill: float | None = None
    on_missing_skill: str = "error"
    ties: str = "first"

    def fit(
        self,
        data: VotesLike,
        skills: NumbersById | None = None,
        *,
        sensitive_features: ByTask | None = None,
    ) -> Self:
        """Count the votes.

        Parameters
        ----------
        data : frame, path or VoteTable
            Votes with columns task, worker, label.
        skills : Series, dict or frame by worker, optional
            Weights of the workers, not negative.
        sensitive_features : optional
            Groups of the tasks; the majority does not use them.
        """
        self._check()
        votes = self._read(data, sensitive_features)
        weights = np.ones(votes.n_workers)
        if skills is not None:
            votes, weights = self._weigh_workers(votes, Numbers.read(skills))
        average = float(weights.mean()) if weights.size else 1.0
        self._other_skill = average if self.default_skill is None else self.default_skill
        self._skills = None if skills is None else Numbers.read(skills)  # also of workers that have not voted yet
        engine = engine_of(votes)
        scores = weigh(engine, votes, weights)
        posterior = make_posterior(votes, scores, is_log=False, ties=self.ties)
        self._agreement = majority_agreement(engine, votes, weights, self.ties)
        return self._store(votes, posterior)

    @property
    def skills_(self) -> Any:
        """The share of each worker's votes that agree with the labels."""
        self.posterior_  # noqa: B018 - raises without a fit
        votes = self.votes_
        agree, total = self._agreement
        return votes.style.series({"worker": votes.workers}, "skill", agree / np.maximum(total, 1))

    def _predict(self, votes: Votes) -> TaskPosterior:
        weights = np.ones(votes.n_workers)
        if self._skills is not None:
            weights = _given_weights(votes, self._skills)
            weights = np.where(np.isnan(weights), self._other_skill, weights)
        return make_posterior(votes, weigh(engine_of(votes), votes, weights), is_log=False, ties=self.ties)

    def _state(self) -> State:
        skills = {} if self._skills is None else self._skills._asdict()
        return {"other_skill": np.asarray(self._other_skill), **skills}

    def _set_state(self, state: State) -> None:
        self._other_skill = float(of_shape(state, "other_skill"))
        self._skills = None
        if "ids" in state:
            ids = list_of(state, "ids")
            self._skills = Numbers(ids, of_shape(state, "values", len(ids)))

    def _check(self) -> None:
        self._begin()
        check_choice("on_missing_skill", self.on_missing_skill, ("error", "ignore", "value"))
        if self.on_missing_skill == "value":
            if self.default_skill is None:
                raise OptionError("on_missing_skill='value' needs a default_skill.")
            check_number("default_skill", self.default_skill, low=0, high=LARGEST)
        elif self.default_skill is not None:
            raise OptionError("default_skill is only used with on_missing_skill='value'.")

    def _weigh_workers(self, votes: Votes, skills: Numbers) -> tuple[Votes, NDArray[np.float64]]:
        weights = _given_weights(votes, skills)
        unknown = np.isnan(weights)
        if not unknown.any():
            return votes, weights
        names = few(votes.workers.some(np.flatnonzero(unknown)[:5]), int(unknown.sum()))
        if self.on_missing_skill == "value":
            return votes, np.where(unknown, float(self.default_skill or 0.0), weights)
        if self.on_missing_skill == "error":
            count = int(votes.votes_per_worker[unknown].sum())
            raise InputError(
                f"{count:,} votes come from workers without a skill: {names}; list every worker, or use "
                "on_missing_skill='ignore' or 'value'."
            )
        if not isinstance(votes, VoteTable):
            raise OptionError("on_missing_skill='ignore' is not available in Spark; leave such votes out of the frame.")
        aside = unknown[votes.worker]
        kept = votes.select(~aside, rows_without_skill=int(aside.sum()))
        if kept.n_tasks < votes.n_tasks:
            raise InputError(
                f"{votes.n_tasks - kept.n_tasks:,} tasks have no vote of a worker with a skill; list more workers, "
                "or use on_missing_skill='value'."
            )
        return kept, weights[~unknown]


def _given_weights(votes: Votes, skills: Numbers) -> NDArray[np.float64]:
    """Return the weight of each worker, NaN where ``skills`` does not list them."""
    weights = skills.of(votes.workers)
    if (weights < 0).any() or (weights > LARGEST).any():
        raise InputError("skills must be finite numbers, not negative; shift or clip them first.")
    return weights
