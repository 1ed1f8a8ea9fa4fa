"""Gaps between groups in one number: fairlearn's metrics, extended to any number of classes.

Binary labels (within {0, 1} or {-1, 1}, or any two of which one is 1) give fairlearn's values. Other labels have no
positive class, so all classes count: the result is the largest difference, or the smallest ratio, over the classes.

Rows are matched by the index of Series where both have one, and else by position (:mod:`faircrowd.votes.alignment`).
"""

from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from faircrowd._checks import check_choice, few
from faircrowd._types import ColumnsLike, ValuesLike
from faircrowd.audit.metrics.group_rates import differences, odds, opportunity, parity, ratios
from faircrowd.audit.metrics.sample import check_length, read_labels, read_weights
from faircrowd.errors import InputError
from faircrowd.votes.alignment import in_order_of

__all__ = [
    "demographic_parity_difference",
    "demographic_parity_ratio",
    "equal_opportunity_difference",
    "equal_opportunity_ratio",
    "equalized_odds_difference",
    "equalized_odds_ratio",
    "selection_rate",
]

Method: TypeAlias = Literal["between_groups", "to_overall"]
Agg: TypeAlias = Literal["worst_case", "mean"]


def selection_rate(
    y_true: ValuesLike | None, y_pred: ValuesLike, *, pos_label: object = 1, sample_weight: ValuesLike | None = None
) -> float:
    """Return the share of labels that are ``pos_label``.

    Parameters
    ----------
    y_true : array-like or None
        Not used; it is here so that all metrics are called the same way.
    y_pred : array-like
        Labels of any type.
    pos_label
        The label that is counted.
    sample_weight : array-like, optional
        Numbers of at least 0.

    Examples
    --------
    >>> selection_rate(None, ["no", "yes", "yes", "no", "no"], pos_label="yes")
    0.4
    """
    label, classes = read_labels(y_pred, "y_pred")
    if y_true is not None:
        check_length(y_true, "y_true", label.size)
    weights = read_weights(in_order_of(y_pred, sample_weight, "sample_weight"), label.size)
    values = classes.to_list()
    if pos_label not in values:
        if any(isinstance(value, str) != isinstance(pos_label, str) for value in values):
            raise InputError(f"No label is {pos_label!r}; name one with pos_label=: {few(values)}.")
        return 0.0
    return float(np.average(label == values.index(pos_label), weights=weights))


def demographic_parity_difference(
    y_true: ValuesLike | None,
    y_pred: ValuesLike,
    *,
    sensitive_features: ColumnsLike,
    method: Method = "between_groups",
    sample_weight: ValuesLike | None = None,
) -> float:
    r"""Return the demographic-parity gap of labels.

    With the rate :math:`r_{a,k}` of class k in group a it is :math:`\max_k (\max_a r_{a,k} - \min_a r_{a,k})`; two
    classes have the same gap. 0 means that groups have the same rates.

    Parameters
    ----------
    y_true : array-like or None
        Not used except that its length is checked; it is here so that all metrics are called the same way.
    y_pred : array-like
        Labels of any type: a list, an array, a Series.
    sensitive_features : array-like, Series, frame or dict of columns
        The group of each row, in the order of ``y_pred``. Several columns are intersected.
    method : {"between_groups", "to_overall"}
        Compare groups with each other, or each with the rate of all rows.
    sample_weight : array-like, optional
        Numbers of at least 0.

    Examples
    --------
    >>> group = ["a", "a", "b", "b"]
    >>> demographic_parity_difference(None, [1, 1, 1, 0], sensitive_features=group)
    0.5
    >>> demographic_parity_difference(None, ["spam", "ham", "spam", "eggs"], sensitive_features=group)
    0.5
    """
    return float(differences(parity(y_true, y_pred, sensitive_features, sample_weight), method).max())


def demographic_parity_ratio(
    y_true: ValuesLike | None,
    y_pred: ValuesLike,
    *,
    sensitive_features: ColumnsLike,
    method: Method = "between_groups",
    sample_weight: ValuesLike | None = None,
) -> float:
    """Return the smallest ratio of two groups' rates of a label; 1 means that groups have the same rates.

    Binary labels: of the rates of label 1; NaN if no row has it, as in fairlearn. Otherwise the smallest ratio over
    the classes that occur. Parameters are those of :func:`demographic_parity_difference`.

    Examples
    --------
    >>> demographic_parity_ratio(None, [1, 1, 1, 0], sensitive_features=["a", "a", "b", "b"])
    0.5
    """
    return _smallest(ratios(parity(y_true, y_pred, sensitive_features, sample_weight), method))


def equal_opportunity_difference(
    y_true: ValuesLike,
    y_pred: ValuesLike,
    *,
    sensitive_features: ColumnsLike,
    method: Method = "between_groups",
    sample_weight: ValuesLike | None = None,
) -> float:
    """Return the largest difference between two groups' true positive rates (of recall, over classes).

    Binary labels: the rate of label 1 among the rows where it is true. Otherwise the largest difference, over
    classes, of the recall. A group without rows of a true class has no such rate: with binary labels it counts as 0,
    as in fairlearn; otherwise the group is left out for that class. A warning is given.

    ``y_true`` holds the true labels, none missing; other parameters are those of
    :func:`demographic_parity_difference`.

    Examples
    --------
    >>> equal_opportunity_difference([1, 1, 1, 0], [1, 0, 1, 1], sensitive_features=["a", "a", "b", "b"])
    0.5
    """
    return float(differences(opportunity(y_true, y_pred, sensitive_features, sample_weight), method).max())


def equal_opportunity_ratio(
    y_true: ValuesLike,
    y_pred: ValuesLike,
    *,
    sensitive_features: ColumnsLike,
    method: Method = "between_groups",
    sample_weight: ValuesLike | None = None,
) -> float:
    """Return the smallest ratio of two groups' true positive rates (of recall, over classes).

    The rates are those of :func:`equal_opportunity_difference`. Classes that no group ever gets right are left out;
    the result is NaN if no class remains.

    Examples
    --------
    >>> equal_opportunity_ratio([1, 1, 1, 0], [1, 0, 1, 1], sensitive_features=["a", "a", "b", "b"])
    0.5
    """
    return _smallest(ratios(opportunity(y_true, y_pred, sensitive_features, sample_weight), method))


def equalized_odds_difference(
    y_true: ValuesLike,
    y_pred: ValuesLike,
    *,
    sensitive_features: ColumnsLike,
    method: Method = "between_groups",
    sample_weight: ValuesLike | None = None,
    agg: Agg = "worst_case",
) -> float:
    """Return the largest (or mean) difference between two groups' true and false positive rates.

    Labels that are not binary: over all pairs of a true class and a label, the rate of the label among the rows of
    the true class. Groups without rows of a true class are treated as in :func:`equal_opportunity_difference`.

    ``agg`` is "worst_case", the largest difference, or "mean", the mean of all; other parameters are those of
    :func:`equal_opportunity_difference`.

    Examples
    --------
    >>> y_true, y_pred, group = [1, 0, 1, 0], [1, 0, 1, 1], ["a", "a", "b", "b"]
    >>> equalized_odds_difference(y_true, y_pred, sensitive_features=group)
    1.0
    >>> equalized_odds_difference(y_true, y_pred, sensitive_features=group, agg="mean")
    0.5
    """
    check_choice("agg", agg, ("worst_case", "mean"))
    found = differences(odds(y_true, y_pred, sensitive_features, sample_weight), method)
    return float(found.max() if agg == "worst_case" else found.mean())


def equalized_odds_ratio(
    y_true: ValuesLike,
    y_pred: ValuesLike,
    *,
    sensitive_features: ColumnsLike,
    method: Method = "between_groups",
    sample_weight: ValuesLike | None = None,
    agg: Agg = "worst_case",
) -> float:
    """Return the smallest (or mean) ratio of two groups' true and false positive rates.

    The rates are those of :func:`equalized_odds_difference`; those that are 0 in all groups have no ratio. They are
    left out, except that (as in fairlearn) the smallest ratio of binary labels is NaN if no true positive is found.

    Examples
    --------
    >>> equalized_odds_ratio([1, 0, 1, 0, 0], [1, 1, 1, 1, 0], sensitive_features=["a", "a", "b", "b", "b"])
    0.5
    """
    check_choice("agg", agg, ("worst_case", "mean"))
    shares = odds(y_true, y_pred, sensitive_features, sample_weight)
    found = ratios(shares, method)
    if agg == "worst_case":
        # Python's min, which fairlearn uses: a NaN wins only if it comes first.
        return float(min(found.tolist())) if shares.binary else _smallest(found)
    known = found[~np.isnan(found)]
    return float(known.mean()) if known.size else float("nan")


def _smallest(found: NDArray[np.float64]) -> float:
    return float(np.fmin.reduce(found))  # ignores NaN
