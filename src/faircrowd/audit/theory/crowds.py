"""Workers as the theorems take them: skills, or confusion matrices."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from faircrowd.audit.majority.poisson_binomial import as_rates
from faircrowd.errors import OptionError

__all__ = ["VOTES", "as_law", "as_matrices", "as_priors", "as_skills"]

VOTES = ("majority", "bayes")
"""Rules that the theorems are about."""

_SUM = 1e-9


def as_skills(skills: ArrayLike) -> NDArray[np.float64]:
    """Return the probabilities that workers are right, a row a worker and a column a point (a group, a feature)."""
    values = as_rates(skills)
    if values.size == 0:
        raise OptionError("Skills need at least one worker.")
    return values if values.ndim == 2 else values[:, None]


def as_matrices(crowd: ArrayLike) -> NDArray[np.float64]:
    r"""Return the confusion matrices of a crowd.

    Parameters
    ----------
    crowd : array-like, shape (n_workers,) or (n_workers, n_classes, n_classes)
        Skills of workers who are right with one probability in two classes, or matrices with
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
            "A crowd is a skill a worker, or a confusion matrix a worker with a row a label given and a column a "
            f"true class; got shape {values.shape}."
        )
    return as_law(values, axis=1, what="The columns of confusion matrices")


def as_priors(priors: ArrayLike, n_groups: int) -> NDArray[np.float64]:
    """Return the share of true ones in each group."""
    values = as_rates(priors)
    if values.shape != (n_groups,):
        raise OptionError(f"priors must be the share of true ones in each of {n_groups} groups; got {values.tolist()}.")
    return values


def as_law(values: ArrayLike | Sequence[Any], *, axis: int, what: str) -> NDArray[np.float64]:
    """Return probabilities that sum to one along an axis, or raise."""
    law = _numbers(values)
    if not ((law >= 0).all() and (np.abs(law.sum(axis=axis) - 1) <= _SUM).all()):
        raise OptionError(f"{what} must be probabilities that sum to one.")
    return law


def _numbers(values: Any) -> NDArray[np.float64]:
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise OptionError("Skills, matrices and laws must be arrays of numbers.") from None
