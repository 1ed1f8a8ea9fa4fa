"""The paper's optimal aggregation: confusion matrices counted on tasks whose true label is known."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from faircrowd._checks import LARGEST, check_number
from faircrowd._types import ByTask
from faircrowd.aggregate.base import VotesLike
from faircrowd.aggregate.confusion import Confusion, ConfusionAggregator, VoteCounter, normalised, skill_matrix
from faircrowd.engines import gold_of
from faircrowd.errors import InputError

__all__ = ["BayesVote"]


@dataclass(eq=False, repr=False)
class BayesVote(ConfusionAggregator):
    r"""The most probable class given the votes, with matrices and class shares counted on gold labels.

    With :math:`\pi^{(r)}_{j,k}(a) = P(\tilde Y_r = j \mid Y = k, A = a)` counted for each worker and group, and
    :math:`P(Y = k \mid A = a)` for each group, the posterior of class k is proportional to
    :math:`P(Y = k \mid A = a) \prod_r \pi^{(r)}_{\tilde y_r, k}(a)`. Without ``sensitive_features`` there is one group.

    Parameters
    ----------
    pseudo_count : float
        Number of votes per true class that each worker is given before counting, of which the share ``pseudo_skill``
        is right and the rest is spread over the other classes. It keeps the cells of rare votes above zero.
    pseudo_skill : float
        See ``pseudo_count``.
    prior_pseudo_count : float
        Number of tasks that each class is given before counting, in every group.
    ties : {"first", "last"}
        The class that wins a tie: the first or the last in sorted order ("last" is the paper's rule for two
        classes).

    Attributes
    ----------
    labels_, probas_, log_probas_, report_
        As in :class:`DawidSkene`. The workers' matrices are learned from the gold labels; tasks that have one are
        labelled by their votes like all others.
    errors_, priors_
        Confusion matrices and class shares. A worker without a vote on a gold task of a group has the crowd's matrix
        in that group.

    Examples
    --------
    >>> from faircrowd import simulate_crowd
    >>> crowd = simulate_crowd(1000, 30, random_state=0)
    >>> bayes = BayesVote().fit(crowd.votes, crowd.truth[:400], sensitive_features=crowd.sensitive_features)
    >>> bool((bayes.labels_ == crowd.truth).mean() > 0.9)
    True
    """

    pseudo_count: float = 1.0
    pseudo_skill: float = 2 / 3
    prior_pseudo_count: float = 1.0
    ties: str = "first"

    def fit(
        self, data: VotesLike, true_labels: ByTask | None = None, *, sensitive_features: ByTask | None = None
    ) -> Self:
        """Count the workers' answers on tasks whose true label is known, and label all tasks.

        Parameters
        ----------
        data : frame, path or VoteTable
            Votes with columns task, worker, label. For a Spark frame, results per task are Spark frames.
        true_labels : Series, dict or frame by task
            Known labels of some or all tasks. In Spark, the name of a column of the votes.
        sensitive_features : optional
            Groups of the tasks, as in :func:`faircrowd.read_votes`.
        """
        self._begin()
        weight = check_number("pseudo_count", self.pseudo_count, low=0, high=LARGEST)
        skill = check_number("pseudo_skill", self.pseudo_skill, low=0, high=1)
        true_labels = self._needed(true_labels)
        votes, gold = gold_of(self._read(data, sensitive_features, true_labels), true_labels)
        self._grouped = votes.groups is not None
        counts = VoteCounter(votes, by_group=self._grouped, gold=gold).from_shares(only_gold=True)
        if votes.n_votes and not counts.priors.any():
            raise InputError("No task of the votes has a true label; BayesVote learns from such tasks.")
        pseudo = weight * skill_matrix(skill, votes.n_classes)
        self._average = normalised(counts.errors.sum(axis=0) + pseudo, axis=1)
        self._seen = counts.errors.sum(axis=(2, 3)) > 0
        errors = np.where(self._seen[:, :, None, None], normalised(counts.errors + pseudo, axis=2), self._average)
        smooth = check_number("prior_pseudo_count", self.prior_pseudo_count, low=0, high=LARGEST)
        self._model = self._shown = Confusion(errors, normalised(counts.priors + smooth, axis=1))
        return self._store(votes, VoteCounter(votes, by_group=self._grouped).posterior(self._model, self.ties))
