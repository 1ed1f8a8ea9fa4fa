"""How well probabilities fit known labels, before and after calibration."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from faircrowd._display import Drawn, Tabular
from faircrowd.aggregate.calibration.reliability import Reliability, reliability
from faircrowd.aggregate.posterior import choose
from faircrowd.votes.vocabulary import Codes

__all__ = ["Calibration", "compare_calibration", "label_reliability", "log_loss"]


@dataclass(frozen=True, repr=False)
class Calibration(Drawn, Tabular):
    """How well a posterior fits the known labels, before and after calibration.

    All numbers but the weights are cross-fitted: each known label is compared with a posterior that has not seen it.

    ``to_frame()`` has one row per bin of confidence, before and after calibration; ``plot()`` shows reliability
    before and after.

    Attributes
    ----------
    method : str
    weights : dict
        The weight of each model in the log-linear pool.
    shifts : dict
        What is added to the logarithm of the probability of each class (in each group, if by group).
    n_gold : int
        Number of known labels.
    log_loss, log_loss_before : float
        Mean of minus the logarithm of the probability of the known label.
    calibration_error, calibration_error_before : float
        Mean distance between the confidence of labels and the share that is right (expected calibration error).
    reliability, reliability_before : Reliability
        Confidence against the share of right labels.
    notes : tuple of str
        What speaks against trusting the numbers: few known labels, or known labels that are not a random sample.
    """

    _in_short = ("method", "weights", "n_gold", "calibration_error_before", "calibration_error")

    method: str
    weights: dict[str, float]
    shifts: dict[str, Any]
    n_gold: int
    log_loss: float
    log_loss_before: float
    calibration_error: float
    calibration_error_before: float
    reliability: Reliability
    reliability_before: Reliability
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON."""
        found = {name: getattr(self, name) for name in self.__dataclass_fields__}
        for name in ("reliability", "reliability_before"):
            found[name] = {part: getattr(found[name], part).tolist() for part in ("confidence", "right", "count")}
        return {**found, "notes": list(self.notes)}


def compare_calibration(
    after: NDArray[np.float64],
    before: NDArray[np.float64],
    truth: Codes,
    ties: str,
    *,
    method: str,
    weights: dict[str, float],
    shifts: dict[str, Any],
    notes: tuple[str, ...],
) -> Calibration:
    """Compare the probabilities of tasks, after calibration and before it, with their known labels."""
    curves = [label_reliability(p, truth, ties) for p in (after, before)]
    return Calibration(
        method=method,
        weights=weights,
        shifts=shifts,
        n_gold=truth.size,
        log_loss=log_loss(after, truth),
        log_loss_before=log_loss(before, truth),
        calibration_error=curves[0].error,
        calibration_error_before=curves[1].error,
        reliability=curves[0],
        reliability_before=curves[1],
        notes=notes,
    )


def log_loss(p: NDArray[np.float64], truth: Codes) -> float:
    """Return the mean of minus the logarithm of the probability of the known label."""
    return -math.fsum(np.log(np.maximum(p[np.arange(truth.size), truth], 1e-300))) / truth.size


def label_reliability(p: NDArray[np.float64], truth: Codes, ties: str) -> Reliability:
    """Compare the confidence of the most probable labels with known ones."""
    labels = choose(p, ties)
    return reliability(p[np.arange(truth.size), labels], labels == truth)
