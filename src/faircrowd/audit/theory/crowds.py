"""Checks of the crowds that theorems are about: skills, confusion matrices, and other probabilities."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from faircrowd.audit.majority.poisson_binomial import as_rates
from faircrowd.errors import OptionError

__all__ = ["VOTES", "as_matrices", "as_probabilities", "as_skills"]

VOTES = ("majority", "bayes")
"""The voting rules that the theorems are about."""

_SUM_TOLERANCE = 1e-9


def as_skills(skills: ArrayLike) -> NDArray[np.float64]:
    """Return the probabilities that workers are right, shape (n_workers, n_points); points are groups or features."""
    values = as_rates(skills)
    if values.size == 0:
        raise OptionError("Skills need at least one worker.")
    return values if values.ndim == 2 else values[:, None]


def as_matrices(crowd: ArrayLike) -> NDArray[np.float64]:
    r"""Return the confusion matrices of a crowd.

    Parameters
    ----------
    crowd : array-like, shape (n_workers,) or (n_workers, n_classes, n_classes)
        Skills of workers who are equally often right in both of two classes, or matrices with
        :math:`P(\tilde Y_r = j \mid Y = k)` in row j and column k.

    Returns
    -------
    ndarray, shape (n_workers, n_classes, n_classes)
    """
    values = _numbers(crowd)
    if values.ndim == 1:
        right = as_skills(values)[:, 0]
        return np.stack([np.stack([right, 1 - right], axis=1), np.stack([1 - right, right], axis=1)], axis=2)
    if values.ndim != 3 or values.shape[1] != values.shape[2] or values.shape[1] < 2 or len(values) < 1:
        raise OptionError(
            "A crowd has one skill per worker, or one confusion matrix per worker with the labels given in rows and "
            f"the true classes in columns; got shape {values.shape}."
        )
    return as_probabilities(values, axis=1, what="The columns of confusion matrices")


def as_probabilities(values: ArrayLike, *, axis: int, what: str) -> NDArray[np.float64]:
    """Return probabilities that sum to one along an axis, or raise."""
    probabilities = _numbers(values)
    if not ((probabilities >= 0).all() and (np.abs(probabilities.sum(axis=axis) - 1) <= _SUM_TOLERANCE).all()):
        raise OptionError(f"{what} must be probabilities that sum to one.")
    return probabilities


def _numbers(values: ArrayLike) -> NDArray[np.float64]:
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise OptionError("Skills, matrices and probabilities must be arrays of numbers.") from None
