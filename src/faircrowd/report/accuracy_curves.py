"""The accuracy of the labels of every epsilon, as it is believed and as it is: what tables, files and charts show.

A new kind of accuracy is one more :class:`AccuracyCurve`.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from faircrowd.aggregate.calibration.accuracy_estimate import AccuracyEstimate
from faircrowd.fair.frontier import Frontier, value_at_gap

__all__ = ["AccuracyCurve", "accuracy_curves", "estimated_curve"]


@dataclass(frozen=True, eq=False)
class AccuracyCurve:
    """One kind of accuracy along a frontier.

    Attributes
    ----------
    name : str
        Such as "believed" or "real".
    gap : ndarray, shape (n_points,)
        That of the frontier, falling.
    accuracy : ndarray, shape (n_points,)
    low, high : ndarray, shape (n_points,), or None
        The ends of an interval for it.
    """

    name: str
    gap: NDArray[np.float64]
    accuracy: NDArray[np.float64]
    low: NDArray[np.float64] | None = None
    high: NDArray[np.float64] | None = None

    def at(self, gap: float) -> float:
        """Return the accuracy at a gap."""
        return value_at_gap(self.gap, self.accuracy, gap)

    def in_words(self, gap: float) -> str:
        """Return the accuracy at a gap as text, with its interval if there is one."""
        if self.low is None or self.high is None:
            return f"{self.at(gap):.2%}"
        low, high = (value_at_gap(self.gap, end, gap) for end in (self.low, self.high))
        return f"{self.at(gap):.1%} ({low:.1%} to {high:.1%})"

    def price(self, gap: float) -> float:
        """Return the accuracy given up at a gap."""
        return float(self.accuracy[0]) - self.at(gap)

    def columns(self) -> dict[str, NDArray[np.float64]]:
        """Return the columns of a table: the accuracy, and its interval if there is one."""
        found = {f"{self.name}_accuracy": self.accuracy}
        ends = {f"{self.name}_accuracy_low": self.low, f"{self.name}_accuracy_high": self.high}
        return found | {name: end for name, end in ends.items() if end is not None}


def accuracy_curves(frontier: Frontier) -> list[AccuracyCurve]:
    """Return the believed accuracy and, where the truth is known, the real accuracy."""
    curves = [AccuracyCurve("believed", frontier.gap, frontier.believed_accuracy)]
    if frontier.real_accuracy is not None:
        curves.append(AccuracyCurve("real", frontier.gap, frontier.real_accuracy))
    return curves


def estimated_curve(
    frontier: Frontier, epsilons: Sequence[float], estimates: Sequence[AccuracyEstimate]
) -> AccuracyCurve:
    """Return the accuracy as estimated from known labels at some epsilons (rising), and straight lines between them."""
    found = [[getattr(estimate, name) for estimate in estimates] for name in ("estimate", "low", "high")]
    return AccuracyCurve("estimated", frontier.gap, *(np.interp(frontier.gap, epsilons, part) for part in found))
