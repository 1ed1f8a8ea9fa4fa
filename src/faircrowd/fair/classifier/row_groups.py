"""The sensitive features of rows, as ``make_fair`` takes them by position."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from faircrowd._checks import few, suggestion
from faircrowd.errors import InputError, MissingColumnError
from faircrowd.fair.tasks.group_columns import are_uncertain
from faircrowd.fair.tasks.uncertain_groups import are_probabilities
from faircrowd.votes.alignment import in_order_of
from faircrowd.votes.frames import column_of, frame_of, is_frame, names_of, probability_columns, series_column
from faircrowd.votes.vocabulary import as_objects

if TYPE_CHECKING:
    from faircrowd._types import ColumnsLike

__all__ = ["RowGroups", "columns_of", "read_row_groups", "some_groups"]

RowGroups = NDArray[Any] | dict[str, NDArray[Any]]
"""Groups by position: one array per column, or an array."""


def read_row_groups(
    features: object, sensitive_features: "ColumnsLike", *, by_column: bool, names: Sequence[str] = ()
) -> RowGroups:
    """Return sensitive features by position, in the order of the rows of the features.

    Where both are of pandas and their indexes differ, rows go by the index.

    Parameters
    ----------
    by_column : bool
        Whether constraints speak of columns; otherwise the groups of several columns are intersected.
    names : sequence of str
        The columns that constraints name.

    Examples
    --------
    >>> read_row_groups([[1], [2]], {"sex": ["f", "m"], "race": ["a", "b"]}, by_column=False).tolist()
    [['f', 'a'], ['m', 'b']]
    """
    given: Any = in_order_of(features, sensitive_features, "sensitive_features", "X")
    if is_frame(given):
        columns = _frame_columns(given)
        if are_probabilities(given) and not probability_columns(names_of(given)):
            columns = {f"{names[0] if names else 'group'}={name}": column for name, column in columns.items()}
    elif isinstance(given, Mapping):
        columns = {str(name): _values(column) for name, column in given.items()}
    else:
        values = _values(given)
        if values.ndim == 2 and are_uncertain(values):
            return values
        name = getattr(given, "name", None)
        alone = names[0] if name is None and len(names) == 1 else "group" if name is None else str(name)
        columns = {alone: values} if values.ndim == 1 else {str(j): column for j, column in enumerate(values.T)}
    _refuse_names(features, given)
    _check_lengths(features, columns)
    if by_column or probability_columns(list(columns)):
        return columns
    listed = list(columns.values())
    return listed[0] if len(listed) == 1 else np.stack([as_objects(column.tolist()) for column in listed], axis=1)


def columns_of(features: object, names: str | int | Sequence[str | int]) -> dict[str, NDArray[Any]]:
    """Return columns of the features by name, or by number of an array.

    Examples
    --------
    >>> columns_of(np.array([[1, 7], [2, 8]]), 1)
    {'1': array([7, 8])}
    """
    listed: list[Any] = [names] if isinstance(names, str | int) else list(names)
    if is_frame(features):
        known = names_of(features)
        for name in listed:
            if name not in known:
                raise MissingColumnError(
                    f"sensitive_columns names {name!r}; the columns of X are {few(known)}.{suggestion(name, known)}",
                    parameter="sensitive_columns",
                )
        frame = frame_of(features)
        return {str(name): _plain(column_of(frame, name)) for name in listed}
    table: Any = features if hasattr(features, "shape") else np.asarray(features)
    for name in listed:
        if not isinstance(name, int) or not -table.shape[1] <= name < table.shape[1]:
            raise MissingColumnError(
                f"sensitive_columns names {name!r}, but X is an array of {table.shape[1]} columns; name them by "
                "number, or give a frame.",
                parameter="sensitive_columns",
            )
    picked = [table[:, [name]] for name in listed]
    return {
        str(name): np.asarray(column.toarray() if hasattr(column, "toarray") else column).ravel()
        for name, column in zip(listed, picked, strict=True)
    }


def some_groups(groups: RowGroups | None, rows: NDArray[np.int64]) -> Any:
    """Return the groups of some rows."""
    if isinstance(groups, dict):
        return {name: column[rows] for name, column in groups.items()}
    return None if groups is None else groups[rows]


def _frame_columns(given: Any) -> dict[str, NDArray[Any]]:
    frame = frame_of(given)
    texts = [str(name) for name in frame.columns]
    if len(set(texts)) < len(texts):
        raise InputError(
            "sensitive_features has two columns whose names have the same text; rename one.",
            parameter="sensitive_features",
        )
    return {text: _plain(column_of(frame, name)) for text, name in zip(texts, frame.columns, strict=True)}


def _values(given: Any) -> NDArray[Any]:
    """Return a column, or several, as an array: numbers as they are, anything else as Python objects."""
    if (column := series_column(given)) is not None:
        return _plain(column)
    if isinstance(given, str | bytes) or not (hasattr(given, "__array__") or isinstance(given, Sequence)):
        raise InputError(
            "sensitive_features is the group of each row: a Series, a frame, an array or a list; "
            f"got {type(given).__name__}. Columns of X are named with sensitive_columns=...",
            parameter="sensitive_features",
        )
    if isinstance(given, list | tuple):  # numpy would make one type of all
        cells = list(given)
        if cells and all(isinstance(row, list | tuple) for row in cells) and len({len(row) for row in cells}) == 1:
            return np.stack([as_objects(list(row)) for row in cells])
        return as_objects(cells)
    array = np.asarray(given)
    if array.ndim not in (1, 2):
        raise InputError(
            f"sensitive_features has shape {array.shape}; give one value per row, or one row of columns.",
            parameter="sensitive_features",
        )
    return array[:, 0] if array.ndim == 2 and array.shape[1] == 1 else array


def _plain(column: Any) -> NDArray[Any]:
    return column if isinstance(column, np.ndarray) else as_objects(column.to_pylist())


def _refuse_names(features: object, given: object) -> None:
    """Raise if the names of columns of X are given in the place of groups."""
    known = names_of(features) if is_frame(features) else []
    if isinstance(given, list | tuple) and given and all(isinstance(name, str) and name in known for name in given):
        are = "is a column" if len(given) == 1 else "are columns"
        raise InputError(
            f"sensitive_features is the group of each row, and {few(given)} {are} of X; name columns of X by "
            f"FairClassifier(..., sensitive_columns={list(given)!r}).",
            parameter="sensitive_features",
        )


def _check_lengths(features: Any, columns: Mapping[str, NDArray[Any]]) -> None:
    n_rows = features.shape[0] if hasattr(features, "shape") else len(features)
    for name, column in columns.items():
        if len(column) != n_rows:
            raise InputError(
                f"sensitive_features has {len(column):,} rows (column {name!r}), and X has {n_rows:,}; give one for "
                "each row of X.",
                parameter="sensitive_features",
            )
