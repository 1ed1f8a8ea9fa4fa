"""Majority votes weighted by estimated skills: Wawa, zero-based skill, gold majority."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from faircrowd._checks import LARGEST, check_count, check_number
from faircrowd._types import ByTask
from faircrowd.aggregate.base import Aggregator, State, VotesLike, by_workers, of_shape
from faircrowd.aggregate.posterior import TaskPosterior, make_posterior
from faircrowd.aggregate.weighted_votes import gold_agreement, majority_agreement, weigh
from faircrowd.engines import Votes, engine_of, votes_in_memory
from faircrowd.votes.groups import gold_pairs

__all__ = ["GoldMajorityVote", "Wawa", "ZeroBasedSkill"]


class _SkillVote(Aggregator):
    """A majority vote weighted by skills that a subclass estimates; NaN stands for a skill that is not known."""

    _skills: NDArray[np.float64]

    @property
    def _predicts_in_spark(self) -> bool:
        """A weight per worker is all that prediction needs, also where a model is fitted in memory only."""
        return True

    @property
    def skills_(self) -> Any:
        """The weight of each worker: a Series named ``skill`` indexed by worker."""
        votes = self.votes_
        known = np.flatnonzero(~np.isnan(self._skills))
        return votes.style.series({"worker": votes.workers.take(known)}, "skill", self._skills[known])

    def _finish(self, votes: Votes, skills: NDArray[np.float64]) -> Self:
        self._skills = skills
        return self._store(votes, self._weighted(votes, skills))

    def _weighted(self, votes: Votes, skills: NDArray[np.float64]) -> TaskPosterior:
        known = skills[~np.isnan(skills)]
        average = known.mean() if known.size else 1.0
        scores = weigh(engine_of(votes), votes, np.where(np.isnan(skills), average, skills))
        return make_posterior(votes, scores, is_log=False, ties=self.ties)

    def _state(self) -> State:
        return {"skills": self._skills}

    def _set_state(self, state: State) -> None:
        self._skills = of_shape(state, "skills", self.votes_.n_workers)

    def _predict(self, votes: Votes) -> TaskPosterior:
        votes = by_workers(votes, self.votes_.workers)
        # As in crowd-kit, labels_ and probas_ of these three models are those of the votes seen last.
        self._posterior = self._weighted(votes, np.append(self._skills, np.nan))
        return self._posterior


def _share(agree: NDArray[np.int64], total: NDArray[np.int64]) -> NDArray[np.float64]:
    return np.asarray(np.divide(agree, total, out=np.full(total.shape, np.nan), where=total > 0))


@dataclass(eq=False, repr=False)
class Wawa(_SkillVote):
    """Worker agreement with aggregate: a majority vote weighted by each worker's agreement with the majority.

    Parameters
    ----------
    ties : {"first", "last"}
        The class that wins a tie: the first or the last in sorted order.

    Attributes
    ----------
    skills_ : Series
        The share of a worker's votes that agree with the plain majority.
    labels_, probas_, log_probas_, report_
        As in :class:`MajorityVote`; ``predict`` replaces them, as in crowd-kit.

    Examples
    --------
    >>> from faircrowd import simulate_crowd
    >>> crowd = simulate_crowd(200, 20, random_state=1)
    >>> wawa = Wawa().fit(crowd.votes)
    >>> bool((wawa.labels_ == crowd.truth).mean() > 0.85)
    True
    """

    ties: str = "first"

    def fit(self, data: VotesLike, *, sensitive_features: ByTask | None = None) -> Self:
        """Estimate the skills from votes, and label the votes with them."""
        self._begin()
        votes = self._read(data, sensitive_features)
        agreed = majority_agreement(engine_of(votes), votes, np.ones(votes.n_workers), self.ties)
        return self._finish(votes, _share(*agreed))


@dataclass(eq=False, repr=False)
class ZeroBasedSkill(_SkillVote):
    """A weighted majority vote whose weights move, round by round, towards each worker's agreement with it.

    Parameters
    ----------
    n_iter : int
        Number of rounds.
    lr_init : float
        The first learning rate.
    lr_steps_to_reduce : int
        Number of rounds after which the learning rate is multiplied by ``lr_reduce_factor``, again and again.
    lr_reduce_factor : float
        See ``lr_steps_to_reduce``.
    eps : float
        The weights start at 1 / (number of classes) + eps.
    ties : {"first", "last"}
        The class that wins a tie: the first or the last in sorted order.

    Attributes
    ----------
    skills_, labels_, probas_, log_probas_, report_
        As in :class:`Wawa`.
    """

    n_iter: int = 100
    lr_init: float = 1.0
    lr_steps_to_reduce: int = 20
    lr_reduce_factor: float = 0.5
    eps: float = 1e-5
    ties: str = "first"

    def fit(self, data: VotesLike, *, sensitive_features: ByTask | None = None) -> Self:
        """Estimate the skills from votes, and label the votes with them."""
        self._begin()
        rounds = check_count("n_iter", self.n_iter)
        every = check_count("lr_steps_to_reduce", self.lr_steps_to_reduce, least=1)
        rate = check_number("lr_init", self.lr_init, low=0, high=1)
        factor = check_number("lr_reduce_factor", self.lr_reduce_factor, low=0, high=1)
        eps = check_number("eps", self.eps, low=0, high=LARGEST)
        votes = self._read(data, sensitive_features)
        engine = engine_of(votes)
        skills = np.full(votes.n_workers, 1 / max(votes.n_classes, 1) + eps)
        for number in range(1, rounds + 1):
            if number % every == 0:
                rate *= factor
            before, share = skills, _share(*majority_agreement(engine, votes, skills, self.ties))
            skills = skills + rate * (share - skills)
            if np.array_equal(skills, before, equal_nan=True):
                break  # no later round would move them either: steps only get shorter
        return self._finish(votes, skills)


@dataclass(eq=False, repr=False)
class GoldMajorityVote(_SkillVote):
    """A majority vote weighted by each worker's accuracy on tasks whose true label is known.

    Workers without a vote on such a task have the average weight of those with one.

    Parameters
    ----------
    ties : {"first", "last"}
        The class that wins a tie: the first or the last in sorted order.

    Attributes
    ----------
    skills_ : Series
        The accuracy of each worker who voted on a task with a known label. A task may have several true
        labels (repeated in ``true_labels``); any of them is right.
    labels_, probas_, log_probas_, report_
        As in :class:`Wawa`.

    Examples
    --------
    >>> import pandas as pd
    >>> votes = pd.DataFrame(
    ...     [("t1", "w1", 0), ("t1", "w2", 0), ("t1", "w3", 1), ("t2", "w1", 1), ("t2", "w2", 0), ("t2", "w3", 1)],
    ...     columns=["task", "worker", "label"],
    ... )
    >>> GoldMajorityVote().fit_predict(votes, {"t1": 0}).to_dict()
    {'t1': 0, 't2': 0}
    """

    ties: str = "first"

    def fit(
        self, data: VotesLike, true_labels: ByTask | None = None, *, sensitive_features: ByTask | None = None
    ) -> Self:
        """Estimate the skills from the known labels, and label the votes with them."""
        self._begin()
        votes = votes_in_memory(self._read(data, sensitive_features))
        task, label, classes = gold_pairs(votes, self._needed(true_labels))
        votes = votes.with_classes(classes) if len(classes) > votes.n_classes else votes
        skills = _share(*gold_agreement(votes, task, label, len(classes)))
        return self._finish(votes, skills)
