"""A labelling and its proof: what every solver returns."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Generic, TypeAlias

import numpy as np
from numpy.typing import NDArray

from faircrowd.fair.objective import Gain
from faircrowd.fair.tasks.population import Rows

__all__ = ["Solution", "TieWeights"]

TieWeights: TypeAlias = dict[tuple[int, tuple[int, ...]], tuple[float, ...]]
"""The probability of each of several tied classes, for each group and set of tied classes."""


@dataclass(frozen=True, eq=False)
class Solution(Generic[Rows]):
    """A labelling and its proof.

    Attributes
    ----------
    labels
        The class of each task: an array of int32, or the rows of tasks in Spark.
    compute_probabilities : callable
        Returns the probability of each label under the randomized solution, one row per task.
    multipliers : ndarray, shape (n_groups, n_classes)
    ties : dict
        Probabilities of tied classes, by group and set of classes.
    gain : Gain
        The gain that was maximised last.
    bound, dual_bound : float
        On the objective: the best bound that was proved, and the one that the multipliers alone prove.
    optimal : bool
    solver : str
    excess : float
        By how much the gap of deterministic labels may exceed epsilon, because tasks are whole.
    """

    labels: Rows
    compute_probabilities: Callable[[], Rows]
    multipliers: NDArray[np.float64]
    ties: TieWeights
    gain: Gain
    bound: float
    dual_bound: float
    optimal: bool
    solver: str
    excess: float = 0.0

    @cached_property
    def probabilities(self) -> Rows:
        """The probability of each label under the randomized solution, one row per task."""
        return self.compute_probabilities()

    def __getstate__(self) -> dict[str, Any]:
        """Return what is pickled: the probabilities, instead of the function that would compute them."""
        return {**self.__dict__, "probabilities": self.probabilities, "compute_probabilities": None}
