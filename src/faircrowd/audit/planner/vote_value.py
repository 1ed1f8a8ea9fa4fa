r"""What one more vote on a task is worth, at the prices of a rule.

A task gets the outcome with the highest score, and scores are affine in the posterior. A vote j, which a worker of
average skill gives with probability :math:`q_j = \sum_k \pi_{jk} p_k`, turns the posterior p into
:math:`p^{(j)}_k = \pi_{jk} p_k / q_j`. Its value is what the highest score is expected to gain:

.. math:: \sum_j q_j \max_o S_o(p^{(j)}) - \max_o S_o(p) \ge 0,

which is 0 if no vote would change the outcome. Prices are those of the constraints: they stay about the same while
few tasks get another vote.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["VoteValue", "value_of_votes"]


class VoteValue(NamedTuple):
    """What one more vote on each task is worth.

    Attributes
    ----------
    gain : ndarray, shape (n_tasks,)
        By how much the objective, as a sum over tasks, is expected to rise at the prices of the rule.
    chance : ndarray, shape (n_tasks,)
        The probability that the vote changes the outcome with the highest score.
    """

    gain: NDArray[np.float64]
    chance: NDArray[np.float64]


def value_of_votes(
    posterior: NDArray[np.float64],
    errors: NDArray[np.float64],
    scores: Callable[[NDArray[np.float64]], NDArray[np.float64]],
) -> VoteValue:
    """Return what one more vote on each task is worth.

    Parameters
    ----------
    posterior : ndarray, shape (n_tasks, n_classes)
    errors : ndarray, shape (n_tasks or 1, n_classes, n_classes)
        ``errors[i, j, k]`` is the probability that the next worker votes j if the truth is k.
    scores : callable
        From posteriors of all tasks, in order, to the scores of their outcomes; affine in the posterior.

    Examples
    --------
    A worker who is right 8 times in 10 can change the label of the first task, but not of the second:

    >>> errors = np.array([[[0.8, 0.2], [0.2, 0.8]]])
    >>> value = value_of_votes(np.array([[0.6, 0.4], [0.9, 0.1]]), errors, lambda posterior: posterior)
    >>> value.gain.round(3).tolist(), value.chance.round(3).tolist()
    ([0.2, 0.0], [0.44, 0.0])
    """
    now = scores(posterior)
    outcome, highest = now.argmax(axis=1), now.max(axis=1)
    expected, chance = np.zeros(highest.size), np.zeros(highest.size)
    for j in range(posterior.shape[1]):
        joint = errors[:, j, :] * posterior
        probability = joint.sum(axis=1)
        is_possible = probability > 0
        after = np.where(is_possible[:, None], joint / np.where(is_possible, probability, 1.0)[:, None], posterior)
        then = scores(after)
        expected += probability * then.max(axis=1)
        chance += probability * (then.argmax(axis=1) != outcome)
    gain = expected - highest
    return VoteValue(np.where(chance > 0, np.maximum(gain, 0.0), 0.0), chance)
