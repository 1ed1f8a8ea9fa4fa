r"""Whether confidence comes true: of the labels that are given with probability .8, about 80% should be right.

The confidence of a label is its posterior probability. Labels are put into bins of similar confidence, and in each bin
the mean confidence is compared with the share of right labels. The *calibration error* is the mean distance between
the two, weighted by labels (known as the expected calibration error, ECE). It is 0 for a posterior that is calibrated,
but for chance: with few labels per bin, the share of right labels varies by itself.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from faircrowd._checks import check_count, few
from faircrowd._display import Drawn, Tabular
from faircrowd.errors import InputError
from faircrowd.exact.sums import on_grid
from faircrowd.votes.alignment import in_order_of

__all__ = ["N_BINS", "Reliability", "calibration_error", "reliability"]

N_BINS = 10
"""The largest number of bins, unless told otherwise."""


@dataclass(frozen=True, eq=False, repr=False)
class Reliability(Drawn, Tabular):
    """Confidence and share of right labels by bins of confidence, in rising order. Arrays of shape (n_bins,).

    ``to_frame()`` has one row per bin; ``plot()`` shows the share of right labels against their confidence.

    Attributes
    ----------
    confidence : ndarray
        The mean confidence of the labels of each bin.
    right : ndarray
        The share of them that is right.
    count : ndarray of int64
        How many they are, at least one.
    """

    confidence: NDArray[np.float64]
    right: NDArray[np.float64]
    count: NDArray[np.int64]

    @property
    def error(self) -> float:
        """The calibration error: the mean distance between confidence and share of right labels."""
        return float(np.average(np.abs(self.confidence - self.right), weights=self.count))


def reliability(confidence: ArrayLike, right: ArrayLike, n_bins: int = N_BINS) -> Reliability:
    """Compare the confidence of labels with the share of them that is right.

    Parameters
    ----------
    confidence : array-like, shape (n_labels,)
        The probability of each label, from 0 to 1.
    right : array-like of bool, shape (n_labels,)
        Whether the label is right. Leave out labels of which this is not known.
    n_bins : int
        The largest number of bins. They hold about the same number of labels; labels of equal confidence share a bin,
        so there may be fewer bins, of different sizes.

    Examples
    --------
    >>> found = reliability([0.6, 0.6, 0.6, 0.9, 0.9, 0.9], [True, False, True, True, False, True], n_bins=2)
    >>> found.confidence.round(2).tolist(), found.right.round(2).tolist(), found.count.tolist()
    ([0.6, 0.9], [0.67, 0.67], [3, 3])
    >>> round(found.error, 3)
    0.15
    """
    p, hit = _read(confidence, right)
    n_bins = check_count("n_bins", n_bins, least=1)
    _, place, counts = np.unique(p, return_inverse=True, return_counts=True)
    middle = np.cumsum(counts) - counts / 2  # the rank in the middle of the labels of equal confidence
    of_value = np.minimum((middle * n_bins / p.size).astype(np.int64), n_bins - 1)
    (exact,) = on_grid(p, n_terms=p.size)  # sums are the same in every order
    bins = np.unique(of_value, return_inverse=True)[1][place]
    count = np.bincount(bins)
    return Reliability(np.bincount(bins, exact) / count, np.bincount(bins, hit) / count, count.astype(np.int64))


def calibration_error(confidence: ArrayLike, right: ArrayLike, n_bins: int = N_BINS) -> float:
    """Return the mean distance between confidence and share of right labels over bins of similar confidence.

    Parameters are those of :func:`reliability`.

    Examples
    --------
    >>> calibration_error([0.5, 0.5, 1.0, 1.0], [True, False, True, True])
    0.0
    """
    return reliability(confidence, right, n_bins).error


def _read(confidence: ArrayLike, right: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    right = in_order_of(confidence, right, "right", "confidence")
    try:
        p, hit = (np.asarray(values, dtype=np.float64) for values in (confidence, right))
    except (TypeError, ValueError):
        raise InputError("confidence must be numbers from 0 to 1, and right True or False for each label.") from None
    if p.ndim != 1 or p.shape != hit.shape or p.size == 0:
        raise InputError(
            f"confidence and right need one value for each label, and at least one label; got shapes {p.shape} and "
            f"{hit.shape}."
        )
    for name, values, fine in (("confidence", p, (p >= 0) & (p <= 1)), ("right", hit, (hit == 0) | (hit == 1))):
        if not fine.all():
            what = "numbers from 0 to 1" if name == "confidence" else "True or False"
            raise InputError(f"{name} must be {what}; got {few(values[~fine].tolist())}.", parameter=name)
    return p, hit
