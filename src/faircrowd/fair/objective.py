r"""What a label gains: accuracy, a matrix of gains, or the F1 score.

Every objective here is an affine gain of the posterior, :math:`U = P M + b`. Accuracy has M the identity; a
matrix of gains is M itself (costs with a minus). F1 of one of two classes, the *positive* one,
:math:`2 \sum p x / (\sum p + \sum x)`, is a ratio; by Dinkelbach's method it is a sequence of affine gains
:math:`2p - \lambda`, with :math:`\lambda` the ratio reached so far.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from faircrowd._checks import check_choice
from faircrowd._kernels import kernel
from faircrowd.errors import OptionError

__all__ = ["Gain", "f1_bound", "f1_gain", "make_gain"]

_LARGEST_GAIN = 1e9
"""Gains beyond this, or all below its reciprocal, lose digits beside the rates."""


class Gain(NamedTuple):
    """An affine gain of the posterior, by its name."""

    name: str
    matrix: NDArray[np.float64]
    offset: NDArray[np.float64]

    @property
    def is_accuracy(self) -> bool:
        """Whether the gain is the probability of the label."""
        return self.name == "accuracy"

    @property
    def positive(self) -> int:
        """The class whose F1 it is: the only one whose label can gain."""
        return int(np.argmax(np.diag(self.matrix)))

    def of(self, posterior: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return what each label of each task gains."""
        return posterior if self.is_accuracy else np.asarray(_gains(posterior, self.matrix, self.offset))


def make_gain(objective: str | ArrayLike, n_classes: int, positive: int = 1) -> Gain:
    """Read an objective: "accuracy", "f1" (its first step), or a matrix of the gains of label k where j is true.

    ``positive`` is the class whose F1 is meant.
    """
    identity, zero = np.eye(n_classes), np.zeros(n_classes)
    if isinstance(objective, str):
        check_choice("objective", objective, ("accuracy", "f1"))
        if objective == "accuracy":
            return Gain("accuracy", identity, zero)
        if n_classes != 2:
            raise OptionError(f"objective='f1' is for two classes; there are {n_classes}. Give a matrix of gains.")
        return f1_gain(0.0, positive)
    try:
        matrix = np.asarray(objective, dtype=np.float64)
    except (TypeError, ValueError):
        raise OptionError(
            f"objective must be 'accuracy', 'f1' or a matrix of gains, {n_classes} x {n_classes} numbers."
        ) from None
    if matrix.shape != (n_classes, n_classes) or not np.isfinite(matrix).all():
        raise OptionError(
            f"A matrix of gains has a row for each true class and a column for each label, {n_classes} x {n_classes} "
            f"numbers; got shape {matrix.shape}."
        )
    largest = float(np.abs(matrix).max())
    if largest > _LARGEST_GAIN or 0 < largest < 1 / _LARGEST_GAIN:
        raise OptionError(
            f"The largest gain of the matrix is {largest:g}, at which digits are lost; scale the matrix towards 1."
        )
    return Gain("gains", matrix, zero)


def f1_gain(ratio: float, positive: int = 1) -> Gain:
    """Return the gain 2p - ratio of the positive label, whose best labelling raises F1 above ``ratio`` if any does."""
    chosen = np.eye(2)[positive]
    return Gain("f1", 2.0 * np.diag(chosen), -ratio * chosen)


def f1_bound(mean: float, ratio: float, bound: float) -> float:
    """Return a bound on F1 from one on the gain 2p - ratio, and the mean posterior of the positive class.

    If no labelling gains more than b, none has F1 above ratio + (b - ratio mean(p)) / mean(p).
    """
    return ratio + max(bound - ratio * mean, 0.0) / mean if mean > 0 else ratio


@kernel
def _gains(
    posterior: NDArray[np.float64], matrix: NDArray[np.float64], offset: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the product, row by row: that of a library may depend on the number of rows."""
    gains = np.empty(posterior.shape)
    for i in range(posterior.shape[0]):
        for k in range(posterior.shape[1]):
            gain = offset[k]
            for j in range(posterior.shape[1]):
                gain += posterior[i, j] * matrix[j, k]
            gains[i, k] = gain
    return gains
