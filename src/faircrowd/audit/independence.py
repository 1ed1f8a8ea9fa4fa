r"""Whether the votes of a task are independent given its true class, as models assume. No known labels are needed.

Where some tasks are harder than others of their class, workers are wrong on the same tasks. A model of independent
votes then takes common errors for agreement, and its posterior is too certain.

For a task with :math:`n` votes, :math:`r_{ijk} = 1[\text{vote } i \text{ is } j] - \pi^{(i)}_{j,k}` is the residual of
vote i if the true class is k, and :math:`q_k` is the posterior of that class. If votes are independent,

.. math:: C = \frac{1}{n - 1} \sum_k q_k \sum_j \sum_{i \ne i'} r_{ijk} r_{i'jk}

has expectation zero under the true parameters, and falls below zero on average if the parameters are fitted to
the same votes. So :math:`z = \sum C / \sqrt{\sum C^2}`, over tasks, is large only if votes go together.
"""

import math
from dataclasses import asdict, dataclass
from typing import Any

from faircrowd._display import Displayed
from faircrowd.aggregate.base import Aggregator
from faircrowd.aggregate.confusion import ConfusionAggregator

__all__ = ["Independence", "check_independence"]

_LEVEL = 0.001


@dataclass(frozen=True, repr=False)
class Independence(Displayed):
    """Whether votes go together more than a model of independent votes allows.

    Attributes
    ----------
    statistic : float
        The sum of the products of residuals in units of its standard error.
    p_value : float
        The probability of a statistic at least as large if votes are independent given the true class (one-sided).
    correlation : float
        The correlation of the errors of two votes of a task: 0 if they are independent, 1 if they always go together.
        Fitted to few votes per worker, it is somewhat too low, and may be below 0.
    votes_per_task : float
        The mean number of votes of a task.
    effective_votes : float
        The number of independent votes that are worth as much: votes / (1 + (votes - 1) correlation).
    believed_accuracy : float
        The mean probability of the most probable class: what the model believes its accuracy to be.
    """

    statistic: float
    p_value: float
    correlation: float
    votes_per_task: float
    effective_votes: float
    believed_accuracy: float

    @property
    def rejected(self) -> bool:
        """Whether independence is rejected: the p-value is at most 0.001."""
        return self.p_value <= _LEVEL

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain values, ready for JSON."""
        return {**asdict(self), "rejected": self.rejected}

    def __str__(self) -> str:
        p = f"= {self.p_value:.4f}" if self.p_value >= 0.0001 else "< 0.0001"
        found = f"correlation {self.correlation:.2f}, p {p}"
        if not self.rejected:
            return f"no sign that the votes on a task go together more than the model allows ({found})"
        return (
            f"the votes on a task go together more than the model allows ({found}): it is likely more certain than its "
            f"votes warrant, as {self.votes_per_task:.1f} votes are worth about {self.effective_votes:.1f} independent "
            "ones"
        )


def check_independence(model: Aggregator) -> Independence | None:
    """Test whether the votes of a task are independent given its true class, as a fitted model assumes.

    Takes as long as three or four rounds of the model. The result does not depend on the order of rows or on names.

    Parameters
    ----------
    model : Aggregator
        A fitted model.

    Returns
    -------
    Independence or None
        None if the model's workers are not confusion matrices (majority, Wawa, GLAD and others), or no task has two
        votes.

    Examples
    --------
    >>> from faircrowd import DawidSkene, simulate_crowd
    >>> crowd = simulate_crowd(1000, 30, 10, random_state=0)
    >>> check_independence(DawidSkene().fit(crowd.votes)).rejected
    False

    If every fifth task is so hard that workers can only guess, they are wrong together on these tasks:

    >>> import numpy as np
    >>> guesses = np.random.default_rng(0).integers(0, 2, len(crowd.votes))
    >>> hard = crowd.votes["task"] % 5 == 0
    >>> votes = crowd.votes.assign(label=crowd.votes["label"].where(~hard, guesses))
    >>> check_independence(DawidSkene().fit(votes)).rejected
    True
    """
    sums = model.residual_sums() if isinstance(model, ConfusionAggregator) else None
    votes = model.votes_
    if sums is None or votes.most_votes < 2:
        return None
    statistic = sums.products / math.sqrt(sums.squares) if sums.squares > 0 else 0.0
    correlation = sums.products / sums.largest if sums.largest > 0 else 0.0
    per_task = votes.n_votes / votes.n_tasks
    return Independence(
        statistic=statistic,
        p_value=math.erfc(statistic / math.sqrt(2)) / 2,
        correlation=correlation,
        votes_per_task=per_task,
        effective_votes=per_task / (1 + (per_task - 1) * max(correlation, 0.0)),
        believed_accuracy=sums.belief / votes.n_tasks,
    )
