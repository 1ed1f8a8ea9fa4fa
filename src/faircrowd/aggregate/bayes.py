"""The paper's optimal aggregation: confusion matrices counted on tasks whose truth is known."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from faircrowd._checks import LARGEST, check_number
from faircrowd.aggregate.confusion import Confusion, Counter, coin_matrix, normalised
from faircrowd.aggregate.confusion_aggregator import ConfusionAggregator
from faircrowd.aggregate.posterior import Posterior
from faircrowd.engines import gold_of, votes_of
from faircrowd.errors import InputError

__all__ = ["BayesVote"]


@dataclass(eq=False)
class BayesVote(ConfusionAggregator):
    r"""The most probable class given the votes, with matrices and class shares counted on gold labels.

    With :math:`\pi^{(r)}_{j,k}(a) = P(\tilde Y_r = j \mid Y = k, A = a)` counted a worker and group, and
    :math:`P(Y = k \mid A = a)` a group, the posterior of class k is proportional to
    :math:`P(Y = k \mid A = a) \prod_r \pi^{(r)}_{\tilde y_r, k}(a)`. Without ``sensitive_features`` there is one group.

    Parameters
    ----------
    pseudo_count : float
        Votes a true class that each worker is given before counting, of which the share ``pseudo_skill`` is
        right and the rest is spread over the other classes. Keeps rare cells off zero.
    pseudo_skill : float
    prior_pseudo_count : float
        Tasks that each class is given before counting, in every group.
    ties : {"first", "last"}
        The class that wins a tie: the first or the last in sorted order ("last" is the paper's rule for two
        classes).

    Attributes
    ----------
    labels_, probas_, log_probas_, report_
        As in :class:`DawidSkene`. The gold labels teach the workers' matrices; tasks that have one are
        labelled by their votes like any other.
    errors_, priors_
        Confusion matrices and class shares. A worker without a gold vote in a group has the crowd's matrix
        there.

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

    def fit(self, data: Any, true_labels: Any, *, sensitive_features: Any = None) -> Self:
        """Count the workers' answers on tasks whose true label is known, and label all tasks.

        Parameters
        ----------
        data : frame, path or VoteTable
            Votes with columns task, worker, label. Of a Spark frame, results a task are Spark frames.
        true_labels : Series, dict or frame by task
            Known labels of some tasks or of all. In Spark, the name of a column of the votes.
        sensitive_features : optional
            Groups of the tasks, as in :func:`faircrowd.read_votes`.
        """
        self._begin()
        weight = check_number("pseudo_count", self.pseudo_count, low=0, high=LARGEST)
        skill = check_number("pseudo_skill", self.pseudo_skill, low=0, high=1)
        votes, gold = gold_of(votes_of(data, sensitive_features, true_labels), true_labels)
        self._grouped = votes.groups is not None
        counts = Counter(votes, by_group=self._grouped, gold=gold).from_shares(only_gold=True)
        if votes.n_votes and not counts.priors.any():
            raise InputError("No task of the votes has a true label; BayesVote learns from such tasks.")
        pseudo = weight * coin_matrix(skill, votes.n_classes)
        self._average = normalised(counts.errors.sum(axis=0) + pseudo, axis=1)
        self._seen = counts.errors.sum(axis=(2, 3)) > 0
        errors = np.where(self._seen[:, :, None, None], normalised(counts.errors + pseudo, axis=2), self._average)
        smooth = check_number("prior_pseudo_count", self.prior_pseudo_count, low=0, high=LARGEST)
        self._model = self._shown = Confusion(errors, normalised(counts.priors + smooth, axis=1))
        scores = Counter(votes, by_group=self._grouped).scores(self._model)
        return self._store(votes, Posterior.of(votes, scores, is_log=True, ties=self.ties))
