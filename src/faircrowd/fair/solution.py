"""A labelling and its proof: what every solver returns."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from faircrowd.fair.objective import Gain
from faircrowd.votes.vocabulary import Codes

__all__ = ["Solution", "TieWeights"]

TieWeights: TypeAlias = dict[tuple[int, tuple[int, ...]], tuple[float, ...]]
"""The probability of each of several tied classes, for each group and set of classes."""


@dataclass(frozen=True, eq=False)
class Solution:
    """A labelling and its proof.

    Attributes
    ----------
    labels : ndarray of int32
    draw_law : callable
        Returns the probability of each label under the solution with a coin, a task and class.
    multipliers : ndarray, shape (n_groups, n_classes)
    ties : dict
        Weights of tied classes, a group and set of classes.
    gain : Gain
        The gain that was maximised last.
    bound, dual_bound : float
        On the objective: the best that was proved, and what the multipliers alone prove.
    optimal : bool
    solver : str
    """

    labels: Codes
    draw_law: Callable[[], NDArray[np.float64]]
    multipliers: NDArray[np.float64]
    ties: TieWeights
    gain: Gain
    bound: float
    dual_bound: float
    optimal: bool
    solver: str

    @cached_property
    def probabilities(self) -> NDArray[np.float64]:
        """The probability of each label under the solution with a coin."""
        return self.draw_law()
