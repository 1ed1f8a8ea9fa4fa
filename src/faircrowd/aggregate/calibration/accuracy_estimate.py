r"""Accuracy estimated from known labels, with an interval: not what a model believes of itself.

The labels of n of the N tasks are known; these tasks are taken for a random sample. For them it is known whether a
label is right. For the other tasks, a posterior says with which probability :math:`f_i` it is. Their accuracy is
estimated by

.. math:: \frac{1}{N - n} \sum_{i \text{ not known}} f_i + \frac{1}{n} \sum_{i \text{ known}} (\text{right}_i - f_i)

without bias, *whatever* the posterior is; a good posterior makes the residuals, and so the interval, small. It is the
difference estimator of survey sampling, called prediction-powered inference by Angelopoulos et al. (2023). A posterior
that was fitted on the known labels must not be corrected by the same labels, so it is cross-fitted: the labels of a
fold are compared with a posterior that has not seen them.
"""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from faircrowd._display import Displayed
from faircrowd.aggregate.posterior import Posterior
from faircrowd.exact.sums import PROBABILITY_UNIT, limbs_to_numbers, to_limbs
from faircrowd.votes.vocabulary import Codes

__all__ = ["AccuracyEstimate", "CrossFit", "Part", "difference_estimate", "exact_mean", "found_values", "part_of"]

_PRIOR_VARIANCE_TASKS = 10
"""The variance that the posterior predicts counts as much as that of this many known labels: where few labels are known
and all are right, the observed variance is zero, and an interval of no width would be false."""
_UNKNOWN_VARIANCE = 0.25
"""Of one more label, about which nothing is believed: also a posterior that is certain may be wrong."""


@dataclass(frozen=True, repr=False)
class AccuracyEstimate(Displayed):
    """An accuracy (or another mean over tasks) as estimated from known labels.

    Attributes
    ----------
    estimate : float
    low, high : float
        The interval.
    confidence : float
        The probability with which such an interval contains the true value.
    n_gold : int
        Number of known labels.

    Examples
    --------
    >>> print(AccuracyEstimate(0.81, 0.73, 0.87, 0.95, 100))
    81.0% (73.0% to 87.0%, 95% interval from 100 known labels)
    """

    estimate: float
    low: float
    high: float
    confidence: float
    n_gold: int

    def __str__(self) -> str:
        return (
            f"{self.estimate:.1%} ({self.low:.1%} to {self.high:.1%}, {100 * self.confidence:g}% interval from "
            f"{self.n_gold:,} known label{'s' * (self.n_gold != 1)})"
        )

    def to_dict(self) -> dict[str, float | int]:
        """Return plain values, ready for JSON."""
        return asdict(self)


class CrossFit(NamedTuple):
    """A posterior of all tasks that has not seen the known labels of some of them.

    Attributes
    ----------
    posterior : Posterior
    task : ndarray of int64
        The tasks whose known labels it has not seen.
    truth : ndarray of int32
        Their known labels.
    others : ndarray of bool, shape (n_tasks,)
        The tasks whose label is not known.
    """

    posterior: Posterior
    task: NDArray[np.int64]
    truth: Codes
    others: NDArray[np.bool_]


class Part(NamedTuple):
    """What one fold of the known labels adds to an estimate.

    Attributes
    ----------
    residual : ndarray, shape (n,)
        What was found for each known label of the fold, minus what the posterior believes.
    believed : float
        What the posterior believes on average, over the tasks whose label is not known.
    variance : float
        The variance of the residuals that it predicts there.
    """

    residual: NDArray[np.float64]
    believed: float
    variance: float


def found_values(
    task: NDArray[np.int64], truth: Codes, labels: Codes, instead_of: Codes | None = None
) -> NDArray[np.float64]:
    """Return, for tasks whose label is known, 1 where a label is right and 0 where it is wrong.

    With ``instead_of``, how much more often those other labels are right: 1, 0 or -1.
    """
    right = (labels[task] == truth).astype(np.float64)
    return right if instead_of is None else np.asarray((instead_of[task] == truth) - right)


def part_of(
    fold: CrossFit, labels: Codes, instead_of: Codes | None = None, members: NDArray[np.bool_] | None = None
) -> Part:
    """Compare labels with the known labels of a fold.

    Parameters
    ----------
    labels : ndarray of int32, shape (n_tasks,)
        Labels of all tasks, made without the known labels of the fold: of interest is how many are right.
    instead_of : ndarray of int32, optional
        Other labels: of interest is then how many more of these are right (a price).
    members : ndarray of bool, shape (n_tasks,), optional
        Only some tasks.
    """
    p, every = fold.posterior.values, np.arange(labels.size)
    believed = p[every, labels]
    variance = believed * (1 - believed)
    if instead_of is not None:
        other = p[every, instead_of]
        variance = np.where(labels == instead_of, 0.0, believed + other - (believed - other) ** 2)
        believed = other - believed
    residual = found_values(fold.task, fold.truth, labels, instead_of) - believed[fold.task]
    others = fold.others
    if members is not None:
        others, residual = others & members, residual[members[fold.task]]
    return Part(residual, exact_mean(believed[others]), exact_mean(variance[others]))


def difference_estimate(
    parts: Sequence[Part], known: NDArray[np.float64], n_tasks: int, confidence: float, *, is_share: bool = True
) -> AccuracyEstimate | None:
    """Return the estimate of all folds; None if no label is known.

    Parameters
    ----------
    parts : sequence of Part
    known : ndarray, shape (n_known,)
        What is found for the final labels of the tasks whose label is known, see :func:`found_values`.
    n_tasks : int
        Number of tasks that the estimate is about. Where the labels of all are known, the interval has no width.
    is_share : bool
        Whether the estimate is a share, from 0 to 1, with the score interval of Wilson; otherwise a difference of two
        shares, from -1 to 1, with a symmetric interval.
    """
    residual = np.concatenate([part.residual for part in parts])
    n = residual.size
    if n == 0:
        return None
    share = [part.residual.size / n for part in parts]
    mean = math.fsum(residual) / n
    believed = math.fsum(w * part.believed for w, part in zip(share, parts, strict=True))
    left = max(1 - n / max(n_tasks, n), 0.0)  # the share of the tasks whose label is not known
    centre = (1 - left) * math.fsum(known) / n + left * (believed + mean)
    predicted = math.fsum(w * part.variance for w, part in zip(share, parts, strict=True))
    observed = math.fsum((residual - mean) ** 2) / max(n - 1, 1)
    variance = _blended(observed, predicted, n, _UNKNOWN_VARIANCE if is_share else predicted)
    quantile = float(stdtrit(max(n - 1, 1), 0.5 + confidence / 2))
    if not is_share:
        centre = min(max(centre, -1.0), 1.0)
        width = quantile * math.sqrt(variance * left / n)
        return AccuracyEstimate(centre, max(centre - width, -1.0), min(centre + width, 1.0), confidence, n)
    centre = min(max(centre, 0.0), 1.0)
    # The variance if there were no posterior: what Wilson's interval of n observations is about.
    without = _blended(centre * (1 - centre), believed * (1 - believed), n, _UNKNOWN_VARIANCE)
    low, high = _score_interval(centre, quantile**2 * left / n * variance / without)
    return AccuracyEstimate(centre, low, high, confidence, n)


def _blended(observed: float, predicted: float, n: int, unknown: float) -> float:
    """Return the variance that n labels show, that the posterior predicts, and of one more label, in proportion."""
    return (n * observed + _PRIOR_VARIANCE_TASKS * predicted + unknown) / (n + _PRIOR_VARIANCE_TASKS + 1)


def _score_interval(share: float, z2_over_n: float) -> tuple[float, float]:
    """Return Wilson's interval of a share, given the squared quantile over the number of independent observations."""
    middle = (share + z2_over_n / 2) / (1 + z2_over_n)
    width = math.sqrt(share * (1 - share) * z2_over_n + z2_over_n**2 / 4) / (1 + z2_over_n)
    return min(max(middle - width, 0.0), share), max(min(middle + width, 1.0), share)


def exact_mean(values: NDArray[np.float64]) -> float:
    """Return the mean of numbers between -1 and 1, the same to the last bit in every order; 0 of none."""
    high, low = to_limbs(values, PROBABILITY_UNIT)
    return float(limbs_to_numbers(np.array([high.sum(), low.sum()]))) / max(values.size, 1)
