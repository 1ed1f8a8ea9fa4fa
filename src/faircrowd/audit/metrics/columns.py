"""Columns of labels, groups and weights, from any list, array, Series or frame, as codes and numbers.

Everything is taken by position, as in fairlearn: row i of each input speaks of the same task, whatever index
the inputs carry.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from faircrowd._checks import LARGEST, few, warn
from faircrowd.errors import DataWarning, InputError
from faircrowd.votes.encode import encode
from faircrowd.votes.facts import pandas_array
from faircrowd.votes.frames import column_of, frame_of, is_frame
from faircrowd.votes.vocabulary import Codes, Vocabulary, as_objects

__all__ = ["check_length", "cross", "read_features", "read_labels", "read_weights", "warn_of_order"]

_NUMBERS = (int, float, np.number, np.bool_)


def read_labels(values: Any, name: str, *, may_lack: bool = False) -> tuple[Codes, Vocabulary]:
    """Encode labels; raise if there are none, or (unless they may lack) if one is missing."""
    codes, classes = encode(_column(values, name))
    if codes.size == 0:
        raise InputError(f"{name} is empty; give a label a row.")
    if not may_lack:
        _refuse_missing(codes, name)
    return codes, classes


def read_features(values: Any, name: str, n_rows: int) -> tuple[Codes, Vocabulary]:
    """Encode one or several columns: a list, array, Series, frame, or dict of columns. Several are intersected."""
    if isinstance(values, Mapping):
        columns = [_column(value, f"{name}[{key!r}]") for key, value in values.items()]
    elif is_frame(values):
        frame = frame_of(values)
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
        group, left, right = cross(group, codes, len(vocabulary))
        more = vocabulary.to_list()
        tuples = [(*tuples[i], more[j]) for i, j in zip(left, right, strict=True)]
    return group, Vocabulary(as_objects(tuples))


def cross(first: Codes, second: Codes, n_second: int) -> tuple[Codes, NDArray[np.int64], NDArray[np.int64]]:
    """Return each row's pair of codes, numbered in order among those that occur, and the two parts of each pair."""
    pair, pairs = encode(first.astype(np.int64) * n_second + second)
    return pair, *np.divmod(np.asarray(pairs.values), n_second)


def read_weights(values: Any, n_rows: int) -> NDArray[np.float64] | None:
    """Return sample weights: numbers of at least 0; None for equal ones."""
    if values is None:
        return None
    check_length(values, "sample_weight", n_rows)
    try:
        weights = np.asarray(values, dtype=np.float64).reshape(n_rows)
    except (TypeError, ValueError):
        raise InputError("sample_weight must be one number a row.") from None
    bad = np.flatnonzero(~((weights >= 0) & (weights <= LARGEST)))
    if bad.size:
        raise InputError(f"sample_weight holds {weights[bad[0]]} in row {bad[0]}; weights are numbers of at least 0.")
    if not weights.any():
        raise InputError("All of sample_weight is 0; some row must count.")
    return weights


def check_length(values: Any, name: str, n_rows: int) -> None:
    """Raise unless there is a value a row."""
    if not hasattr(values, "__len__"):
        raise InputError(f"{name} must be a column, a value a row; got {few([values])}.")
    if len(values) != n_rows:
        raise InputError(f"{name} has {len(values):,} rows and y_pred has {n_rows:,}; they go by row, so give as many.")


def warn_of_order(y_pred: Any, **others: Any) -> None:
    """Warn if pandas objects have the same index in another order: who has task ids there may expect a join."""
    index: Any = getattr(y_pred, "index", None)
    for name, other in others.items():
        second: Any = getattr(other, "index", None)
        if not hasattr(index, "isin") or not hasattr(second, "isin") or index.equals(second):
            continue
        if index.nlevels == second.nlevels and index.is_unique and index.isin(second).all():
            warn(
                f"y_pred and {name} have the same index in another order, and rows are taken by position, as in "
                f"fairlearn; bring {name} into the order of y_pred with .loc[y_pred.index].",
                DataWarning,
            )


def _column(values: Any, name: str) -> Any:
    """Return values ready for ``encode``; numbers of mixed types become one type, so that 1, 1.0 and True are one."""
    if isinstance(values, pa.Array | pa.ChunkedArray):
        return values
    if is_frame(values):
        frame = frame_of(values)
        if len(frame.columns) != 1:
            raise InputError(f"{name} must be one column, a value a row; got {len(frame.columns)} columns.")
        values = column_of(frame, frame.columns[0])
    elif isinstance(values, Sequence) and not isinstance(values, str | bytes):
        values = as_objects(values)
    elif not isinstance(values, np.ndarray):
        try:
            values = pandas_array(values)
        except TypeError:  # no Series
            values = np.asarray(values)
    if not isinstance(values, np.ndarray):
        return values
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.ndim != 1:
        found = f"shape {values.shape}" if values.ndim else few([values.item()])
        raise InputError(f"{name} must be one column, a value a row; got {found}.")
    if values.dtype == object and all(issubclass(kind, _NUMBERS) for kind in set(map(type, values))):
        return np.asarray(values.tolist())
    return values


def _refuse_missing(codes: Codes, name: str) -> None:
    lacking = np.flatnonzero(codes < 0)
    if lacking.size:
        raise InputError(
            f"{name} is missing in {lacking.size:,} of {codes.size:,} rows, first in row {lacking[0]}; "
            "fill it in, or leave these rows out."
        )
