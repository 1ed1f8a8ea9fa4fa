"""Conjugate gradients that take the same steps, to the last bit, in any order of the unknowns and on any machine.

:func:`scipy.optimize.minimize` adds up products of unknowns in the order in which they come, and for long vectors in
as many threads as there are processors. Where a crowd is close to a tie, a difference in the last digit changes
labels. Here such sums are exact (:func:`~faircrowd.exact.sums.exact_sum`); the line search is scipy's, on a function of
one number.
"""

import math
import warnings
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from faircrowd.exact.sums import exact_sum

__all__ = ["Loss", "minimise"]

Loss = Callable[[NDArray[np.float64]], tuple[float, NDArray[np.float64]]]
"""A function of many unknowns that returns its value and its gradient."""

_SUFFICIENT = 0.01
"""A direction is kept if its slope is at least this part of the steepest; otherwise the steepest is taken."""


def minimise(loss: Loss, start: NDArray[np.float64], *, max_iter: int, tol: float) -> NDArray[np.float64]:
    """Return a point of lower loss, by the conjugate gradients of Polak and Ribiere.

    Parameters
    ----------
    loss : callable
        The function and its gradient. It may return an infinite value where it cannot be computed.
    start : ndarray
        Where to begin.
    max_iter : int
        Largest number of line searches.
    tol : float
        Stop when no entry of the gradient is larger than this.

    Returns
    -------
    ndarray
        A point whose loss is at most that of ``start``.

    Examples
    --------
    >>> goal = np.array([3.0, -1.0, 2.0])
    >>> scale = np.array([1.0, 10.0, 100.0])
    >>> found = minimise(lambda x: (float((scale * (x - goal) ** 2).sum()), 2 * scale * (x - goal)), np.zeros(3),
    ...                  max_iter=50, tol=1e-9)
    >>> found.round(6).tolist()
    [3.0, -1.0, 2.0]
    """
    point = start
    value, gradient = loss(point)
    direction, size = -gradient, exact_sum(gradient**2)
    before = value + math.sqrt(size) / 2  # makes the first step about as long as scipy's
    for _ in range(max_iter):
        if np.abs(gradient).max(initial=0.0) <= tol:
            break
        slope = exact_sum(gradient * direction)
        if not slope <= -_SUFFICIENT * size:
            direction, slope = -gradient, -size
        along = _Line(loss, point, direction, value, gradient)
        step = along.search(slope, before)
        if step is None:
            break
        before, last, last_size = value, gradient, size
        point = point + step * direction
        value, gradient = along.at(step)
        size = exact_sum(gradient**2)
        turn = max(0.0, exact_sum(gradient * (gradient - last)) / last_size)
        direction = turn * direction - gradient
    return point


class _Line:
    """The loss along a direction, as a function of the length of the step."""

    def __init__(
        self,
        loss: Loss,
        point: NDArray[np.float64],
        direction: NDArray[np.float64],
        value: float,
        gradient: NDArray[np.float64],
    ) -> None:
        self._loss, self._point, self._direction = loss, point, direction
        self._found = {0.0: (value, gradient)}

    def at(self, step: float) -> tuple[float, NDArray[np.float64]]:
        """Return the loss and its gradient after a step."""
        if step not in self._found:
            self._found[step] = self._loss(self._point + step * self._direction)
        return self._found[step]

    def search(self, slope: float, before: float) -> float | None:
        """Return a step that meets the strong Wolfe conditions, or None; ``before`` is the loss one step earlier."""
        from scipy.optimize import line_search

        def value(step: NDArray[np.float64]) -> float:
            return self.at(float(step[0]))[0]

        def derivative(step: NDArray[np.float64]) -> NDArray[np.float64]:
            return np.array([exact_sum(self.at(float(step[0]))[1] * self._direction)])

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # says that the search found no step
            step = line_search(
                value,
                derivative,
                np.zeros(1),
                np.ones(1),
                gfk=np.array([slope]),
                old_fval=self.at(0.0)[0],
                old_old_fval=before,
                c2=0.4,
                amax=1e100,
            )[0]
        return None if step is None else float(step)
