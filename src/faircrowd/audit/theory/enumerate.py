r"""The exact majority of K classes: the law of the counts of votes, voter by voter.

The counts of R independent voters follow the Poisson-multinomial law. It is built over all
:math:`(R + 1)^{K - 1}` counts of the first K - 1 classes, so it is for few classes; two need only
:func:`faircrowd.audit.majority.majority_gap.majority_rates`.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from faircrowd.aggregate.posterior import choose
from faircrowd.audit.theory.crowds import as_law
from faircrowd.errors import OptionError
from faircrowd.fair.gap import gap_of

__all__ = ["ExactMajority", "exact_majority", "exact_majority_given_truth"]

_MOST_STEPS = 1e9  # a few seconds


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
    """Return the exact law of the majority of independent voters, all of whom vote on every task.

    Parameters
    ----------
    rates : array-like, shape (n_voters, n_groups, n_classes)
        The probability that each voter gives each label in each group.

    Raises
    ------
    OptionError
        If voters or classes are too many.

    Examples
    --------
    >>> crowd = exact_majority([[[0.5, 0.3, 0.2], [0.4, 0.3, 0.3]]] * 5)
    >>> crowd.first.round(3), round(crowd.gap_first, 3)
    (array([[0.725, 0.217, 0.058],
           [0.577, 0.26 , 0.163]]), 0.148)
    """
    values = as_law(rates, axis=-1, what="Rates of voters")
    if values.ndim != 3 or values.shape[2] < 2 or 0 in values.shape:
        raise OptionError(f"Rates need the axes voters, groups and classes (two or more); got shape {values.shape}.")
    _check_size(*values.shape)
    laws = [_winners(values[:, a]) for a in range(values.shape[1])]
    return ExactMajority(np.array([law[0] for law in laws]), np.array([law[1] for law in laws]))


def exact_majority_given_truth(errors: ArrayLike, priors: ArrayLike) -> ExactMajority:
    r"""Return the exact law of the majority when votes are independent given the truth (and group).

    Parameters
    ----------
    errors : array-like, shape (n_voters, n_groups, n_classes, n_classes)
        ``errors[r, a, j, k]`` is :math:`P(\tilde Y_r = j \mid Y = k, A = a)`.
    priors : array-like, shape (n_groups, n_classes)
        The share of each true class in each group.

    Examples
    --------
    >>> coin = [[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8]]
    >>> crowd = exact_majority_given_truth([[coin, coin]] * 7, [[0.5, 0.3, 0.2], [0.3, 0.3, 0.4]])
    >>> round(crowd.gap_first, 3)
    0.196
    """
    values, shares = (
        as_law(errors, axis=2, what="The columns of confusion matrices"),
        as_law(priors, axis=-1, what="Priors"),
    )
    if values.ndim != 4 or 0 in values.shape or shares.shape != (values.shape[1], values.shape[3]):
        raise OptionError(
            "errors need the axes voters, groups, labels and true classes, and priors a row a group and a column a "
            f"class; got shapes {values.shape} and {shares.shape}."
        )
    n_voters, n_groups, n_classes, _ = values.shape
    given = exact_majority(values.transpose(0, 1, 3, 2).reshape(n_voters, -1, n_classes))  # a group and truth a column
    shape = (n_groups, n_classes, n_classes)
    return ExactMajority(*(np.einsum("ak,akj->aj", shares, law.reshape(shape)) for law in (given.first, given.last)))


def _check_size(n_voters: int, n_laws: int, n_classes: int) -> None:
    steps = float(n_laws) * n_voters * n_classes * float(n_voters + 1) ** (n_classes - 1)
    if steps > _MOST_STEPS:
        raise OptionError(
            f"The exact majority of {n_voters:,} voters in {n_classes} classes takes about {steps:.0e} steps, and "
            f"{_MOST_STEPS:.0e} are allowed; take fewer voters, merge classes, or draw votes at random."
        )


def _winners(rates: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the probability that each class wins, ties to the first and to the last of them."""
    n_voters, n_classes = rates.shape
    axes = n_classes - 1
    law = np.zeros((n_voters + 1,) * axes)
    law[(0,) * axes] = 1.0
    for r, own in enumerate(rates):
        known = law[(slice(r + 2),) * axes]
        grown = known * own[-1]
        for j in range(axes):
            rest = (slice(None),) * j
            grown[(*rest, slice(1, None))] += known[(*rest, slice(-1))] * own[j]
        known[...] = grown
    reached = np.flatnonzero(law)
    counts = np.array(np.unravel_index(reached, law.shape), dtype=np.float64)
    counts = np.vstack([counts, n_voters - counts.sum(axis=0)]).T
    mass = law.ravel()[reached]
    first, last = (np.bincount(choose(counts, ties), mass, n_classes) for ties in ("first", "last"))
    return np.asarray(first, dtype=np.float64), np.asarray(last, dtype=np.float64)
