"""Rates and errors of each group, with the counts that they rest on."""

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from faircrowd._types import ColumnsLike, ValuesLike
from faircrowd.audit.metrics.group_rates import divide
from faircrowd.audit.metrics.sample import Sample, pair_codes, read_features, read_sample, tally
from faircrowd.votes.frames import frame_of, is_frame
from faircrowd.votes.style import Style
from faircrowd.votes.vocabulary import Codes, Vocabulary

__all__ = ["by_group", "column_values", "style_of"]


def by_group(
    y_pred: ValuesLike,
    *,
    sensitive_features: ColumnsLike,
    y_true: ValuesLike | None = None,
    sample_weight: ValuesLike | None = None,
    control_features: ColumnsLike | None = None,
) -> Any:
    """Return the rates and errors of each group, with one row per group.

    Parameters
    ----------
    y_pred : array-like
        Labels of any type.
    sensitive_features : array-like, Series, frame or dict of columns
        The group of each row, in the order of ``y_pred``. Several columns are intersected.
    y_true : array-like, optional
        True labels; None or NaN where they are not known. These rows are left out of error rates, and counted.
    sample_weight : array-like, optional
        Numbers of at least 0. Rates are weighted; counts are numbers of rows.
    control_features : like sensitive_features, optional
        Strata: one row per stratum and group that occur together.

    Returns
    -------
    frame
        Of the same kind as the input, with the columns ``stratum`` (if asked for), ``group``, ``count``, ``weight`` (if
        given) and ``rate_<label>``. With truth also ``known`` and ``unknown`` (rows with and without it) and
        ``accuracy``; for binary labels ``positives``, ``tpr``, ``negatives``, ``fpr``; for others ``true_<label>``
        (rows) and ``recall_<label>``. A rate of no rows is NaN.

    Examples
    --------
    >>> frame = by_group([1, 0, 1, 1], sensitive_features=["a", "a", "b", "b"], y_true=[1, 0, 0, None])
    >>> frame[["group", "count", "rate_1", "known", "unknown", "accuracy"]]
      group  count  rate_1  known  unknown  accuracy
    0     a      2     0.5      2        0       1.0
    1     b      2     1.0      1        1       0.0
    >>> frame[["group", "positives", "tpr", "negatives", "fpr"]]
      group  positives  tpr  negatives  fpr
    0     a          1  1.0          1  0.0
    1     b          0  NaN          1  1.0
    """
    sample = read_sample(
        y_pred, sensitive_features, y_true=y_true, sample_weight=sample_weight, allow_missing_truth=True
    )
    columns: dict[str, Any] = {}
    if control_features is None:
        cell, n_cells = sample.group, len(sample.groups)
        columns["group"] = column_values(sample.groups)
    else:
        stratum, strata = read_features(control_features, "control_features", sample.label.size, y_pred)
        cell, left, right = pair_codes(stratum, sample.group, len(sample.groups))
        n_cells = left.size
        columns = {"stratum": column_values(strata, left), "group": column_values(sample.groups, right)}
    columns |= _rates(sample, cell, n_cells)
    if sample.truth is not None:
        columns |= _errors(sample, cell, n_cells, sample.truth)
    return style_of(y_pred, sensitive_features, y_true, control_features).columns(columns)


def style_of(*given: object) -> Style:
    """Return the style of the first input that is a frame or a Series."""
    for data in given:
        if isinstance(data, pa.Array | pa.ChunkedArray):
            return Style("pyarrow")
        frame = data.to_frame() if hasattr(data, "to_frame") else data
        if is_frame(frame):
            return Style(frame_of(frame).implementation.value)
    return Style()


def column_values(vocabulary: Vocabulary, codes: NDArray[np.int64] | None = None) -> list[Any]:
    """Return values (at ``codes``) for a column: as given, or as text where they have no type in common."""
    values = vocabulary.names if vocabulary.is_mixed else vocabulary.to_list()
    return values if codes is None else [values[code] for code in codes]


def _rates(sample: Sample, cell: Codes, n_cells: int) -> dict[str, Any]:
    mass = tally((cell, n_cells), (sample.label, len(sample.classes)), weights=sample.weights)
    rates = divide(mass, np.broadcast_to(mass.sum(axis=1, keepdims=True), mass.shape), np.nan)
    weight = {} if sample.weights is None else {"weight": mass.sum(axis=1)}
    names = sample.classes.names
    return {
        "count": np.bincount(cell, minlength=n_cells),
        **weight,
        **{f"rate_{name}": rates[:, k] for k, name in enumerate(names)},
    }


def _errors(sample: Sample, cell: Codes, n_cells: int, truth: Codes) -> dict[str, Any]:
    known = truth >= 0
    n_classes = len(sample.classes)
    parts = (cell[known], n_cells), (truth[known], n_classes), (sample.label[known], n_classes)
    rows = tally(*parts).astype(np.int64)
    mass = rows.astype(np.float64) if sample.weights is None else tally(*parts, weights=sample.weights[known])
    right = np.diagonal(mass, axis1=1, axis2=2)
    count = rows.sum(axis=(1, 2))
    columns: dict[str, Any] = {
        "known": count,
        "unknown": np.bincount(cell, minlength=n_cells) - count,
        "accuracy": divide(right.sum(axis=1), mass.sum(axis=(1, 2)), np.nan),
    }
    true_rows, true_mass = rows.sum(axis=2), mass.sum(axis=2)
    if sample.positive is None:
        recall = divide(right, true_mass, np.nan)
        for k, name in enumerate(sample.classes.names):
            columns |= {f"true_{name}": true_rows[:, k], f"recall_{name}": recall[:, k]}
        return columns
    one = np.arange(n_classes) == sample.positive
    for counted, rate, these in (("positives", "tpr", one), ("negatives", "fpr", ~one)):
        found = mass[:, these, sample.positive].sum(axis=1)
        columns[counted] = true_rows[:, these].sum(axis=1)
        columns[rate] = divide(found, true_mass[:, these].sum(axis=1), np.nan)
    return columns
