r"""Longer steps of expectation-maximisation: the squared extrapolation of Varadhan and Roland (SQUAREM, scheme S3).

Near its end expectation-maximisation goes almost straight, in steps that shrink slowly. From three points of plain
rounds, :math:`\theta_0, \theta_1, \theta_2`, with :math:`r = \theta_1 - \theta_0`,
:math:`v = \theta_2 - 2\theta_1 + \theta_0` and :math:`s = \lVert r \rVert / \lVert v \rVert`, the next round is tried
at :math:`\theta_0 + 2 s r + s^2 v`, which is :math:`\theta_2` for s = 1. Points are logarithms of probabilities, scaled
to sum to one afterwards: every point is one of the model's. Whether it is better is for the caller to see, the loop of
the rounds.

The norms are exact sums, so that the steps do not depend on the order of the workers, nor on where the votes are kept.
"""

import math
from collections.abc import Callable, Iterable
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from faircrowd.exact.sums import exact_sum

__all__ = ["Extrapolation", "tuple_like"]

P = TypeVar("P", bound=tuple[NDArray[np.float64], ...])

_GROWTH = 4.0
"""The longest step that is tried at first; a longest step that is taken makes it this many times as long, one that is
not takes it back."""
_SMALLEST_PROBABILITY = 1e-300
"""Smaller probabilities are raised to this before logarithms are taken."""


class Extrapolation(Generic[P]):
    """Proposes points beyond those of plain rounds.

    Parameters
    ----------
    axes : tuple of int
        For each array of the parameters, the axis along which its probabilities sum to one.

    Attributes
    ----------
    longest : float
        The longest step that is tried; a step of length one is two plain rounds.

    Examples
    --------
    Rounds that each halve the distance to a quarter, in log-odds:

    >>> def point(distance):
    ...     odds = math.exp(math.log(1 / 3) + distance)
    ...     return (np.array([odds, 1.0]) / (1 + odds),)
    >>> ahead = Extrapolation((0,))
    >>> ahead.propose(point(0.8), point(0.4))  # a first step: nothing is known of how steps shrink
    >>> found = ahead.propose(point(0.4), point(0.2))
    >>> found[0].round(3).tolist()
    [0.25, 0.75]
    """

    def __init__(self, axes: tuple[int, ...]) -> None:
        self.axes = axes
        self.longest = _GROWTH
        self._before: P | None = None
        self._length = 0.0

    @property
    def at_start(self) -> bool:
        """Whether ``longest`` is all that later proposals depend on, besides the rounds to come."""
        return self._before is None

    def propose(self, used: P, better: P) -> P | None:
        """Return where to try the next round, or None for ``better``, which a plain round at ``used`` has found."""
        before, self._before = self._before, used
        if before is None:
            return None
        first, second, third = (_logarithms(point) for point in (before, used, better))
        step = second - first
        bend = (third - second) - step
        bent = exact_sum(bend**2)
        self._length = min(math.sqrt(exact_sum(step**2) / bent), self.longest) if bent > 0 else 0.0
        if not self._length > 1:
            return None
        self._before = None
        return self._probabilities(first + 2 * self._length * step + self._length**2 * bend, better)

    def accept(self) -> None:
        """Take note that the last proposal is better than where it came from."""
        if self._length == self.longest:
            self.longest *= _GROWTH

    def reject(self) -> None:
        """Take note that it is not."""
        self.longest = max(self._length / _GROWTH, _GROWTH)

    def _probabilities(self, logarithms: NDArray[np.float64], like: P) -> P:
        arrays, start = [], 0
        for array, axis in zip(like, self.axes, strict=True):
            logs = logarithms[start : start + array.size].reshape(array.shape)
            start += array.size
            top = logs.max(axis=axis, keepdims=True)
            shares = np.exp(np.maximum(logs - top, math.log(_SMALLEST_PROBABILITY)))
            arrays.append(shares / shares.sum(axis=axis, keepdims=True))
        return tuple_like(like, arrays)


def tuple_like(example: P, arrays: Iterable[NDArray[np.float64]]) -> P:
    """Return arrays as a tuple of the kind of an example, which may have names."""
    make: Callable[[Iterable[NDArray[np.float64]]], P] = getattr(type(example), "_make", type(example))
    return make(arrays)


def _logarithms(point: tuple[NDArray[np.float64], ...]) -> NDArray[np.float64]:
    return np.concatenate([np.log(np.maximum(array, _SMALLEST_PROBABILITY)).ravel() for array in point])
