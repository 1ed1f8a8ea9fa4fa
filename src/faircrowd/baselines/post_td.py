r"""Post_TD (Li et al. 2020): flip labels at random until the gap is epsilon.

With group sizes :math:`N_0, N_1` and a gap g above epsilon,
:math:`m = \lceil (g - \varepsilon) N_0 N_1 / (N_0 + N_1) \rceil` labels are flipped up in the group with the lower
rate of the second class, and as many down in the other. Each pair of flips narrows the gap by
:math:`1/N_0 + 1/N_1`.
"""

import math
from copy import copy
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from faircrowd._checks import check_count
from faircrowd._types import ByTask
from faircrowd.baselines.baseline import Baseline, VotesOrPosterior, check_two
from faircrowd.errors import InputError
from faircrowd.exact.hashing import task_keys
from faircrowd.fair.gap import gap_of
from faircrowd.fair.tasks.problem import Problem
from faircrowd.fair.tolerances import SLACK
from faircrowd.votes.encode import encode
from faircrowd.votes.facts import find_facts
from faircrowd.votes.style import Style
from faircrowd.votes.vocabulary import Codes

__all__ = ["PostTD", "certain_posterior", "flip_labels"]


@dataclass(eq=False, repr=False)
class PostTD(Baseline):
    """Flip equally many labels up in one group and down in the other, chosen at random; two classes, two groups.

    It uses labels only, not their probabilities, so that it flips certain labels as readily as doubtful ones.

    Parameters
    ----------
    estimator : aggregator or None
        One of ours, any object with crowd-kit's ``fit_predict_proba`` or ``fit_predict``, or None if ``fit`` is
        given a posterior.
    epsilon : float
        The largest gap allowed.
    random_state : int
        Seed of the choice of tasks, which depends only on the seed and the tasks' ids.

    Attributes
    ----------
    labels_, probas_
        The label of each task; the aggregator's posterior.
    outcome_ : Outcome
        ``converged`` is whether the gap is within epsilon: in groups of a few tasks a flip may overshoot.
    estimator_
        The fitted aggregator.

    Examples
    --------
    >>> from faircrowd import MajorityVote, simulate_crowd
    >>> crowd = simulate_crowd(random_state=0)
    >>> fair = PostTD(MajorityVote(), epsilon=0.05).fit(crowd.votes, sensitive_features=crowd.sensitive_features)
    >>> fair.outcome_.gap <= 0.05 < fair.outcome_.gap_before
    True
    """

    estimator: Any = None
    epsilon: float = 0.05
    random_state: int = 0

    def fit(self, data: VotesOrPosterior, *args: Any, sensitive_features: ByTask | None = None, **kwargs: Any) -> Self:
        """Aggregate votes (or use a posterior) and flip labels; arguments as in ``FairCrowd.fit``."""
        epsilon = self._begin()
        random_state = check_count("random_state", self.random_state)
        problem = self._labelled(data, sensitive_features, args, kwargs)
        check_two("PostTD", "groups", problem.groups)
        check_two("PostTD", "classes", problem.classes)
        labels = flip_labels(problem, epsilon, random_state)
        return self._store(problem, labels, converged=gap_of(problem.rates(labels)) <= epsilon + SLACK)

    def _labelled(
        self,
        data: VotesOrPosterior,
        sensitive_features: ByTask | None,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> Problem:
        """Read the problem; an estimator that gives labels only counts as certain of them."""
        if hasattr(self.estimator, "fit_predict_proba") or not hasattr(self.estimator, "fit_predict"):
            return self._read(self.estimator, data, sensitive_features, args, kwargs)
        model = copy(self.estimator)
        labels = model.fit_predict(data, *args, **kwargs)
        problem = self._read(None, certain_posterior(labels), sensitive_features, (), {})
        self.estimator_ = model
        return problem


def flip_labels(problem: Problem, epsilon: float, random_state: int) -> Codes:
    """Return the aggregator's own labels with the flips of Post_TD."""
    labels, group = problem.own.copy(), problem.group
    sizes = np.bincount(group, minlength=2)
    rates = np.bincount(group, weights=labels, minlength=2) / sizes
    high = int(rates[1] > rates[0])
    flips = math.ceil((rates[high] - rates[1 - high] - epsilon - SLACK) * sizes[0] * sizes[1] / sizes.sum())
    if flips <= 0:
        return labels
    for chosen, before in ((high, 1), (1 - high, 0)):
        # There are enough: the gap is at most the share of ones in the high group, and of zeros in the low one.
        candidates = np.flatnonzero((group == chosen) & (labels == before))
        order = np.argsort(task_keys(problem.tasks, candidates, random_state), kind="stable")
        labels[candidates[order[:flips]]] = 1 - before
    return labels


def certain_posterior(labels: ByTask) -> Any:
    """Return labels (a Series by task, a dict or a frame) as a posterior of zeros and ones."""
    key, (column,) = find_facts(labels, None, None, None)
    codes, classes = encode(column)
    if (codes < 0).any():
        raise InputError(f"The estimator left {int((codes < 0).sum()):,} tasks without a label; PostTD needs all.")
    task, tasks = encode(key)
    return Style().frame({"task": tasks.take(task)}, classes, np.eye(len(classes))[codes])
