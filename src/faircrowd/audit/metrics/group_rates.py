"""The rates that metrics compare between groups, and how far apart they are."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from faircrowd._checks import check_choice, few, warn
from faircrowd._types import ColumnsLike, ValuesLike
from faircrowd.audit.metrics.sample import Sample, check_length, read_sample, tally
from faircrowd.errors import DataWarning, InputError
from faircrowd.votes.vocabulary import shown

__all__ = ["Shares", "differences", "divide", "odds", "opportunity", "parity", "ratios"]


class Shares(NamedTuple):
    """Rates of each group: ``part / total``, both of shape (n_groups, n_rates).

    ``binary`` labels are treated as in fairlearn: a rate without rows is 0. Otherwise it is NaN, and left out.
    """

    part: NDArray[np.float64]
    total: NDArray[np.float64]
    binary: bool

    def by_group(self) -> NDArray[np.float64]:
        """Rates of each group."""
        return divide(self.part, self.total, 0.0 if self.binary else np.nan)

    def overall(self) -> NDArray[np.float64]:
        """Rates of all rows."""
        return divide(self.part.sum(axis=0), self.total.sum(axis=0), 0.0)


def parity(
    y_true: ValuesLike | None, y_pred: ValuesLike, sensitive_features: ColumnsLike, sample_weight: ValuesLike | None
) -> Shares:
    """Return the rate of label 1 or, if labels are not binary, of each class."""
    sample = read_sample(y_pred, sensitive_features, sample_weight=sample_weight)
    if y_true is not None:
        check_length(y_true, "y_true", sample.label.size)
    mass = tally((sample.group, len(sample.groups)), (sample.label, len(sample.classes)), weights=sample.weights)
    part = mass if sample.positive is None else mass[:, [sample.positive]]
    return Shares(part, np.broadcast_to(mass.sum(axis=1, keepdims=True), part.shape), sample.positive is not None)


def opportunity(
    y_true: ValuesLike, y_pred: ValuesLike, sensitive_features: ColumnsLike, sample_weight: ValuesLike | None
) -> Shares:
    """Return the recall of label 1 or, if labels are not binary, of each class that is true somewhere."""
    sample, confusion = _confusion(y_true, y_pred, sensitive_features, sample_weight)
    classes = _true_classes(confusion) if sample.positive is None else np.array([sample.positive])
    total = confusion.sum(axis=2)[:, classes]
    _warn_of_empty(sample, total, classes)
    return Shares(confusion[:, classes, classes], total, sample.positive is not None)


def odds(
    y_true: ValuesLike, y_pred: ValuesLike, sensitive_features: ColumnsLike, sample_weight: ValuesLike | None
) -> Shares:
    """Return the true and false positive rates or, if labels are not binary, the rate of each label by true class."""
    sample, confusion = _confusion(y_true, y_pred, sensitive_features, sample_weight)
    if sample.positive is None:
        classes = _true_classes(confusion)
        part = confusion[:, classes]
    else:
        classes = np.array([sample.positive, 1 - sample.positive])
        confusion = np.pad(confusion, ((0, 0), (0, 2 - len(sample.classes)), (0, 0)))  # labels may all be 1
        part = confusion[:, classes, sample.positive][:, :, None]
    total = confusion.sum(axis=2)[:, classes]
    _warn_of_empty(sample, total, classes)
    part, total = np.broadcast_arrays(part, total[:, :, None])
    flat = len(sample.groups), -1
    return Shares(part.reshape(flat), total.reshape(flat), sample.positive is not None)


def differences(shares: Shares, method: str) -> NDArray[np.float64]:
    """Return the largest difference in each rate, between groups or to the rate of all rows."""
    check_choice("method", method, ("between_groups", "to_overall"))
    rates = shares.by_group()
    base = np.fmin.reduce(rates, axis=0) if method == "between_groups" else shares.overall()
    return np.asarray(np.fmax.reduce(np.abs(rates - base), axis=0))


def ratios(shares: Shares, method: str) -> NDArray[np.float64]:
    """Return the smallest ratio of each rate, at most 1; NaN for a rate that is 0 in all groups."""
    check_choice("method", method, ("between_groups", "to_overall"))
    rates = shares.by_group()
    base = np.fmax.reduce(rates, axis=0) if method == "between_groups" else shares.overall()
    found = divide(rates, np.broadcast_to(base, rates.shape), np.nan)
    np.divide(1.0, found, out=found, where=found > 1)
    return np.asarray(np.fmin.reduce(found, axis=0))


def divide(part: NDArray[np.float64], total: NDArray[np.float64], empty: float) -> NDArray[np.float64]:
    """Divide; ``empty`` where there is nothing to divide by."""
    return np.asarray(np.divide(part, total, out=np.full(part.shape, empty), where=total > 0))


def _confusion(
    y_true: ValuesLike, y_pred: ValuesLike, sensitive_features: ColumnsLike, sample_weight: ValuesLike | None
) -> tuple[Sample, NDArray[np.float64]]:
    """Return the weight of each group, true class and label."""
    sample = read_sample(y_pred, sensitive_features, y_true=y_true, sample_weight=sample_weight)
    if sample.truth is None:
        raise InputError("Error rates need true labels; give y_true.")
    n_classes = len(sample.classes)
    parts = (sample.group, len(sample.groups)), (sample.truth, n_classes), (sample.label, n_classes)
    return sample, tally(*parts, weights=sample.weights)


def _true_classes(confusion: NDArray[np.float64]) -> NDArray[np.int64]:
    return np.flatnonzero(confusion.any(axis=(0, 2)))


def _warn_of_empty(sample: Sample, total: NDArray[np.float64], classes: NDArray[np.int64]) -> None:
    empty = np.argwhere((total == 0) & total.any(axis=0))
    if empty.size:
        group, place = empty[0]
        more = f" (and {len(empty) - 1:,} more such pairs)" if len(empty) > 1 else ""
        treatment = "is left out" if sample.positive is None else "counts as 0, as in fairlearn"
        warn(
            f"Group {few(shown(sample.groups.some([group])))} has no row of true label "
            f"{few(sample.classes.some([classes[place]]))}{more}; its rate {treatment}.",
            DataWarning,
        )
