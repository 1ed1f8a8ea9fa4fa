"""Read labels, groups and weights from any list, array, Series or frame, encode them, and count how often they meet.

Where two inputs have an index, as Series have, rows are matched by it; others are matched by position, as in fairlearn
(:mod:`faircrowd.votes.alignment`).
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from faircrowd._checks import LARGEST, check_memory, few
from faircrowd._types import ColumnsLike, ValuesLike
from faircrowd.errors import InputError
from faircrowd.votes.alignment import in_order_of
from faircrowd.votes.encode import encode
from faircrowd.votes.facts import pandas_array, refuse_labels
from faircrowd.votes.frames import column_of, frame_of, is_frame
from faircrowd.votes.vocabulary import Codes, Vocabulary, as_objects, shown

__all__ = [
    "Sample",
    "check_length",
    "pair_codes",
    "read_features",
    "read_labels",
    "read_sample",
    "read_weights",
    "shared_classes",
    "tally",
]

_NUMBERS = (int, float, np.number, np.bool_)


@dataclass(frozen=True, eq=False)
class Sample:
    """Rows, each with a label and a group.

    Attributes
    ----------
    classes, groups : Vocabulary
    label, group : ndarray of int32, shape (n_rows,)
    truth : ndarray of int32, shape (n_rows,), or None
        The true class, -1 where it is not known.
    weights : ndarray, shape (n_rows,), or None
    positive : int or None
        The class 1, if labels are binary: within {0, 1} or {-1, 1}, or any two of which one is 1.
    """

    classes: Vocabulary
    groups: Vocabulary
    label: Codes
    group: Codes
    truth: Codes | None
    weights: NDArray[np.float64] | None
    positive: int | None


def read_sample(
    y_pred: ValuesLike,
    sensitive_features: ColumnsLike,
    *,
    y_true: ValuesLike | None = None,
    sample_weight: ValuesLike | None = None,
    allow_missing_truth: bool = False,
) -> Sample:
    """Read labels and groups and, if given, true labels and weights.

    Raises
    ------
    InputError
        If lengths differ, a label, a group or (unless allowed) a true label is missing, or a group has no weight.
    """
    label, classes = read_labels(y_pred, "y_pred")
    group, groups = read_features(sensitive_features, "sensitive_features", label.size, y_pred)
    truth = None
    if y_true is not None:
        truth, truths = read_labels(in_order_of(y_pred, y_true, "y_true"), "y_true", allow_missing=allow_missing_truth)
        check_length(truth, "y_true", label.size)
        classes, place, true_place = shared_classes(classes, truths)
        label, truth = place[label], np.append(true_place, np.int32(-1))[truth]
    weights = read_weights(in_order_of(y_pred, sample_weight, "sample_weight"), label.size)
    if weights is not None and not (held := np.bincount(group, weights=weights)).all():
        name = few(shown(groups.some([int(held.argmin())])))
        raise InputError(f"All rows of group {name} have weight 0; leave them out.")
    classes, positive = _positive(classes)
    return Sample(classes, groups, label, group, truth, weights, positive)


def read_labels(values: ValuesLike, name: str, *, allow_missing: bool = False) -> tuple[Codes, Vocabulary]:
    """Encode labels; raise if there are none, or if one is missing and that is not allowed."""
    codes, classes = encode(_column(values, name))
    if codes.size == 0:
        raise InputError(f"{name} is empty; give one label per row.")
    if not allow_missing:
        _refuse_missing(codes, name)
    return codes, classes


def read_features(
    values: ColumnsLike, name: str, n_rows: int, y_pred: ValuesLike | None = None
) -> tuple[Codes, Vocabulary]:
    """Encode one or several columns: a list, array, Series, frame, or dict of columns. Several are intersected.

    Rows are those of ``y_pred``, by the index of both if they have one.
    """
    columns_of: Any = values
    if hasattr(values, "loc") and "task" in getattr(values, "columns", ()) and hasattr(y_pred, "loc"):
        values = columns_of.set_index("task")  # a table of tasks goes by their ids
    values = in_order_of(y_pred, values, name)
    if isinstance(values, Mapping):
        columns = [_column(value, f"{name}[{key!r}]") for key, value in values.items()]
    elif is_frame(values):
        frame = frame_of(values)
        refuse_labels(frame.columns, name)
        columns = [column_of(frame, column) for column in frame.columns]
    elif isinstance(values, np.ndarray) and values.ndim == 2:
        columns = [_column(column, name) for column in values.T]
    else:
        columns = [_column(values, name)]
    if not columns:
        raise InputError(f"{name} has no column.")
    coded = [encode(column) for column in columns]
    for codes, _ in coded:
        check_length(codes, name, n_rows)
        _refuse_missing(codes, name)
    (group, groups), *rest = coded
    if not rest:
        return group, groups
    tuples = [(value,) for value in groups.to_list()]
    for codes, vocabulary in rest:
        group, left, right = pair_codes(group, codes, len(vocabulary))
        more = vocabulary.to_list()
        tuples = [(*tuples[i], more[j]) for i, j in zip(left, right, strict=True)]
    return group, Vocabulary(as_objects(tuples))


def read_weights(values: ValuesLike | None, n_rows: int) -> NDArray[np.float64] | None:
    """Return sample weights: numbers of at least 0; None for equal weights."""
    if values is None:
        return None
    check_length(values, "sample_weight", n_rows)
    try:
        weights = np.asarray(values, dtype=np.float64).reshape(n_rows)
    except (TypeError, ValueError):
        raise InputError("sample_weight must be one number per row.") from None
    bad = np.flatnonzero(~((weights >= 0) & (weights <= LARGEST)))
    if bad.size:
        raise InputError(f"sample_weight holds {weights[bad[0]]} in row {bad[0]}; weights are numbers of at least 0.")
    if not weights.any():
        raise InputError("All of sample_weight is 0; some row must count.")
    return weights


def check_length(values: object, name: str, n_rows: int) -> None:
    """Raise unless there is one value per row."""
    if not hasattr(values, "__len__"):
        raise InputError(f"{name} must be a column with one value per row; got {few([values])}.")
    if len(values) != n_rows:
        raise InputError(
            f"{name} has {len(values):,} rows and y_pred has {n_rows:,}; they are matched by row, so give equally many."
        )


def pair_codes(first: Codes, second: Codes, n_second: int) -> tuple[Codes, NDArray[np.int64], NDArray[np.int64]]:
    """Return each row's pair of codes, numbered in order among those that occur, and the two parts of each pair."""
    pair, pairs = encode(first.astype(np.int64) * n_second + second)
    return pair, *np.divmod(np.asarray(pairs.values), n_second)


def tally(*parts: tuple[Codes, int], weights: NDArray[np.float64] | None = None) -> NDArray[np.float64]:
    """Return the weight of each combination of codes; a part is a pair (codes, number of different codes).

    Examples
    --------
    >>> import numpy as np
    >>> tally((np.array([0, 0, 1]), 2), (np.array([1, 1, 0]), 2))
    array([[0., 2.],
           [1., 0.]])
    """
    shape = [n for _, n in parts]
    size = math.prod(shape)
    check_memory(
        size, f"Counts of {' x '.join(f'{n:,}' for n in shape)} kinds", "check that these are labels and groups"
    )
    place = np.zeros(parts[0][0].size, dtype=np.int64)
    for codes, n in parts:
        place *= n
        place += codes
    return np.bincount(place, weights=weights, minlength=size).reshape(shape).astype(np.float64)


def _column(values: ColumnsLike, name: str) -> Any:
    """Return values ready for ``encode``; numbers of mixed types become one type, so that 1, 1.0 and True are equal."""
    column: Any = values
    if isinstance(column, pa.Array | pa.ChunkedArray):
        return column
    if is_frame(column):
        frame = frame_of(column)
        if len(frame.columns) != 1:
            raise InputError(f"{name} must be one column with one value per row; got {len(frame.columns)} columns.")
        column = column_of(frame, frame.columns[0])
    elif isinstance(column, Sequence) and not isinstance(column, str | bytes):
        column = as_objects(column)
    elif not isinstance(column, np.ndarray):
        try:
            column = pandas_array(column)
        except TypeError:  # not a Series
            column = np.asarray(column)
    if not isinstance(column, np.ndarray):
        return column
    if column.ndim == 2 and column.shape[1] == 1:
        column = column[:, 0]
    if column.ndim != 1:
        found = f"shape {column.shape}" if column.ndim else few([column.item()])
        raise InputError(f"{name} must be one column with one value per row; got {found}.")
    if column.dtype == object and all(issubclass(kind, _NUMBERS) for kind in set(map(type, column))):
        return np.asarray(column.tolist())
    return column


def _refuse_missing(codes: Codes, name: str) -> None:
    missing = np.flatnonzero(codes < 0)
    if missing.size:
        raise InputError(
            f"{name} is missing in {missing.size:,} of {codes.size:,} rows, first in row {missing[0]}; "
            "fill it in, or leave these rows out."
        )


def shared_classes(labels: Vocabulary, truths: Vocabulary) -> tuple[Vocabulary, Codes, Codes]:
    """Return the classes of labels and true labels together, and the codes there of the classes of each."""
    own, theirs = labels.to_list(), truths.to_list()
    # `code_of` matches "1" of a file with 1 of a frame; a dict matches True with 1, as numpy does.
    equal = {value: code for code, value in enumerate(own)}
    found = [
        equal.get(value, -1) if code < 0 else code
        for code, value in zip(labels.code_of(truths.values).tolist(), theirs, strict=True)
    ]
    new = [value for code, value in zip(found, theirs, strict=True) if code < 0]
    if not new:
        return labels, np.arange(len(own), dtype=np.int32), np.array(found, dtype=np.int32)
    place, classes = encode(as_objects([*own, *new]))
    added = iter(place[len(own) :])
    true_place = [place[code] if code >= 0 else next(added) for code in found]
    return classes, place[: len(own)], np.array(true_place, dtype=np.int32)


def _positive(classes: Vocabulary) -> tuple[Vocabulary, int | None]:
    """Find the class 1 of binary labels; it is added to labels that are all 0 or all -1."""
    values = classes.to_list()
    if len(values) == 1 and values[0] in (0, -1):
        return Vocabulary.of([values[0], type(values[0])(1)]), 1
    return classes, values.index(1) if len(values) <= 2 and 1 in values else None
