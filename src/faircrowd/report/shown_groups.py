"""Which groups are shown where there are too many for all: those with the highest and the lowest rates."""

import numpy as np
from numpy.typing import NDArray

__all__ = ["MAX_GROUPS", "not_shown", "shown_groups"]

MAX_GROUPS = 12
"""How many groups the page and the terminal show."""


def shown_groups(rates: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the groups to show, in their own order: all, or the extremes of the class whose rates differ most.

    Parameters
    ----------
    rates : ndarray, shape (n_groups, n_classes)
        The rate of each class in each group, of the labels before fairness.

    Examples
    --------
    >>> shown_groups(np.array([[0.5, 0.5], [0.2, 0.8]]))
    array([0, 1])
    >>> rates = np.linspace(0, 1, 100)
    >>> shown_groups(np.column_stack([rates, 1 - rates]))
    array([ 0,  1,  2,  3,  4,  5, 94, 95, 96, 97, 98, 99])
    """
    if len(rates) <= MAX_GROUPS:
        return np.arange(len(rates))
    order = np.argsort(rates[:, int(np.argmax(np.ptp(rates, axis=0)))], kind="stable")
    half = MAX_GROUPS // 2
    return np.sort(np.concatenate([order[:half], order[-half:]]))


def not_shown(n_groups: int) -> str:
    """Return a sentence that says how many groups are not shown, with a space before it; nothing if all are.

    Examples
    --------
    >>> not_shown(12)
    ''
    >>> not_shown(1000)
    ' Of 1,000 groups, the 6 with the highest and the 6 with the lowest rates are shown; 988 are not.'
    """
    if n_groups <= MAX_GROUPS:
        return ""
    half = MAX_GROUPS // 2
    return (
        f" Of {n_groups:,} groups, the {half} with the highest and the {half} with the lowest rates are shown; "
        f"{n_groups - MAX_GROUPS:,} are not."
    )
