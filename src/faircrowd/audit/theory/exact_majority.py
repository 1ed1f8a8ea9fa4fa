r"""The exact majority of K classes: the distribution of the counts of votes, built voter by voter.

The counts of R independent voters follow the Poisson-multinomial distribution. It is built over all
:math:`(R + 1)^{K - 1}` counts of the first K - 1 classes, so it is meant for few classes; for two classes use
:func:`faircrowd.audit.majority.majority_gap.majority_rates`.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from faircrowd.aggregate.posterior import choose
from faircrowd.audit.theory.crowds import as_probabilities
from faircrowd.errors import OptionError
from faircrowd.fair.gap import gap_of

__all__ = ["ExactMajority", "exact_majority", "exact_majority_given_truth"]

_MAX_STEPS = 1e9  # a few seconds


@dataclass(frozen=True, eq=False)
class ExactMajority:
    """The probability of each label of the majority, by group.

    Attributes
    ----------
    first, last : ndarray, shape (n_groups, n_classes)
        A tie goes to the first, or to the last of the tied classes.
    """

    first: NDArray[np.float64]
    last: NDArray[np.float64]

    @property
    def gap_first(self) -> float:
        """The gap, ties to the first class."""
        return gap_of(self.first)

    @property
    def gap_last(self) -> float:
        """The gap, ties to the last class."""
        return gap_of(self.last)


def exact_majority(rates: ArrayLike) -> ExactMajority:
    """Return the exact probability of each label of the majority of independent voters who vote on every task.

    Parameters
    ----------
    rates : array-like, shape (n_voters, n_groups, n_classes)
        The probability that each voter gives each label in each group.

    Raises
    ------
    OptionError
        If there are too many voters or classes.

    Examples
    --------
    >>> crowd = exact_majority([[[0.5, 0.3, 0.2], [0.4, 0.3, 0.3]]] * 5)
    >>> crowd.first.round(3), round(crowd.gap_first, 3)
    (array([[0.725, 0.217, 0.058],
           [0.577, 0.26 , 0.163]]), 0.148)
    """
    values = as_probabilities(rates, axis=-1, what="Rates of voters")
    if values.ndim != 3 or values.shape[2] < 2 or 0 in values.shape:
        raise OptionError(f"Rates need the axes voters, groups and classes (two or more); got shape {values.shape}.")
    _check_size(*values.shape)
    won = [_winners(values[:, a]) for a in range(values.shape[1])]
    return ExactMajority(np.array([first for first, _ in won]), np.array([last for _, last in won]))


def exact_majority_given_truth(errors: ArrayLike, priors: ArrayLike) -> ExactMajority:
    r"""Return the exact probability of each label of the majority, votes being independent given group and truth.

    Parameters
    ----------
    errors : array-like, shape (n_voters, n_groups, n_classes, n_classes)
        ``errors[r, a, j, k]`` is :math:`P(\tilde Y_r = j \mid Y = k, A = a)`.
    priors : array-like, shape (n_groups, n_classes)
        The share of each true class in each group.

    Examples
    --------
    >>> worker = [[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8]]
    >>> crowd = exact_majority_given_truth([[worker, worker]] * 7, [[0.5, 0.3, 0.2], [0.3, 0.3, 0.4]])
    >>> round(crowd.gap_first, 3)
    0.196
    """
    values, shares = (
        as_probabilities(errors, axis=2, what="The columns of confusion matrices"),
        as_probabilities(priors, axis=-1, what="Priors"),
    )
    if values.ndim != 4 or 0 in values.shape or shares.shape != (values.shape[1], values.shape[3]):
        raise OptionError(
            "errors need the axes voters, groups, labels and true classes, and priors one row per group and one column "
            f"per class; got shapes {values.shape} and {shares.shape}."
        )
    n_voters, n_groups, n_classes, _ = values.shape
    by_cell = values.transpose(0, 1, 3, 2).reshape(n_voters, -1, n_classes)  # a cell is a group and true class
    given = exact_majority(by_cell)
    shape = (n_groups, n_classes, n_classes)
    return ExactMajority(*(np.einsum("ak,akj->aj", shares, won.reshape(shape)) for won in (given.first, given.last)))


def _check_size(n_voters: int, n_columns: int, n_classes: int) -> None:
    steps = float(n_columns) * n_voters * n_classes * float(n_voters + 1) ** (n_classes - 1)
    if steps > _MAX_STEPS:
        raise OptionError(
            f"The exact majority of {n_voters:,} voters in {n_classes} classes takes about {steps:.0e} steps, and "
            f"{_MAX_STEPS:.0e} are allowed; take fewer voters, merge classes, or draw votes at random."
        )


def _winners(rates: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the probability that each class wins, with ties to the first and to the last of the tied classes."""
    n_voters, n_classes = rates.shape
    axes = n_classes - 1
    probability = np.zeros((n_voters + 1,) * axes)
    probability[(0,) * axes] = 1.0
    for r, own in enumerate(rates):
        known = probability[(slice(r + 2),) * axes]
        grown = known * own[-1]
        for j in range(axes):
            rest = (slice(None),) * j
            grown[(*rest, slice(1, None))] += known[(*rest, slice(-1))] * own[j]
        known[...] = grown
    reached = np.flatnonzero(probability)
    counts = np.array(np.unravel_index(reached, probability.shape), dtype=np.float64)
    counts = np.vstack([counts, n_voters - counts.sum(axis=0)]).T
    mass = probability.ravel()[reached]
    first, last = (np.bincount(choose(counts, ties), mass, n_classes) for ties in ("first", "last"))
    return np.asarray(first, dtype=np.float64), np.asarray(last, dtype=np.float64)
