"""Groups that are known only by their probabilities, as a proxy such as a name or an address gives them.

They are given as columns of probabilities that sum to one for each task: a frame (or an array) of nothing else, or
columns called ``race=a``, ``race=b``, ... of a table that may have others, too.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from faircrowd._checks import check_choice, few, warn
from faircrowd.errors import DataWarning, InputError, OptionError
from faircrowd.votes.frames import ALIASES, frame_of, hold_floats, is_frame, names_of
from faircrowd.votes.group_policy import ON_MISSING_GROUP
from faircrowd.votes.groups import Grouped, no_group, with_missing
from faircrowd.votes.vocabulary import Codes, Column, Vocabulary

__all__ = ["UncertainGroups", "are_probabilities", "uncertain_groups"]

_NEAR_ONE = 0.005
"""Probabilities that were rounded need not sum to one; by how much they may be off."""

_SUMS_TO_ONE = 1e-6
"""Columns of numbers are taken for probabilities without being called so only if they sum to one as closely as this."""


class UncertainGroups(NamedTuple):
    """The probability of each group for each task.

    Attributes
    ----------
    group : ndarray of int32, shape (n_tasks,)
        The likeliest group; of several the first; -1 for a task without probabilities.
    groups : Vocabulary
    left_out : dict
        Empty: a task of which nothing is known has no probabilities, and counts in no group.
    probabilities : ndarray, shape (n_tasks, n_groups)
    """

    group: Codes
    groups: Vocabulary
    left_out: dict[int, str]
    probabilities: NDArray[np.float64]

    def likeliest(self) -> Grouped:
        """Return the likeliest group of each task; those without probabilities are a group that is left out."""
        if (self.group >= 0).all():
            return Grouped(self.group, self.groups, {})
        groups, left_out = with_missing(self.groups, "drop")
        return Grouped(np.where(self.group < 0, len(self.groups), self.group).astype(np.int32), groups, left_out)


def are_probabilities(sensitive_features: object) -> bool:
    """Return whether a frame or an array holds the probabilities of groups and nothing else.

    Examples
    --------
    >>> are_probabilities(np.array([[0.2, 0.8], [1.0, 0.0]])), are_probabilities(np.array([[0, 1], [1, 0]]))
    (True, False)
    """
    if isinstance(sensitive_features, Mapping):
        return False
    if isinstance(sensitive_features, np.ndarray):
        table = sensitive_features
        if table.ndim != 2 or table.shape[1] < 2 or not np.issubdtype(table.dtype, np.floating):
            return False
    elif is_frame(sensitive_features):
        names = [name for name in names_of(sensitive_features) if name not in ALIASES["task"]]
        if len(names) < 2 or not hold_floats(sensitive_features, names):
            return False
        frame = frame_of(sensitive_features)
        table = np.column_stack([frame[name].to_numpy() for name in names]).astype(np.float64)
    else:
        return False
    known = table[~np.isnan(table).all(axis=1)]
    return bool(known.size and (known >= 0).all() and (abs(known.sum(axis=1) - 1) <= _SUMS_TO_ONE).all())


def uncertain_groups(
    tasks: Vocabulary,
    name: str,
    key: Column | None,
    columns: Mapping[str, Column | NDArray[Any]],
    on_missing_group: str = "error",
) -> UncertainGroups:
    """Return the probabilities of the groups of each task.

    Parameters
    ----------
    name : str
        What the column is called.
    key : optional
        The task of each row; by default there is one row per task, in order.
    columns : mapping
        The probabilities of each group, by the name of their column.

    Examples
    --------
    >>> columns = {"race=b": [0.2, 1], "race=a": [0.8, 0]}
    >>> found = uncertain_groups(Vocabulary.of(["t1", "t2"]), "race", None, columns)
    >>> found.groups.to_list(), found.group.tolist(), found.probabilities.tolist()
    (['a', 'b'], [0, 1], [[0.8, 0.2], [0.0, 1.0]])
    """
    check_choice("on_missing_group", on_missing_group, ON_MISSING_GROUP)
    if on_missing_group == "own":
        raise OptionError(
            f"{name} is given as probabilities, so tasks without them cannot be a group of their own; give "
            "on_missing_group='drop' to leave them out of the constraints.",
            parameter="on_missing_group",
        )
    prefix = f"{name}="
    order = sorted(columns, key=lambda column: column.removeprefix(prefix))
    given = np.column_stack([_numbers(columns[column], column) for column in order])
    table = given
    if key is not None:
        place = tasks.code_of(key)
        table = np.full((len(tasks), len(order)), np.nan)
        table[place[place >= 0]] = given[place >= 0]
        again, first = table[place[place >= 0]], given[place >= 0]
        if not np.array_equal(again, first, equal_nan=True):
            several = np.unique(place[place >= 0][~np.isclose(again, first, equal_nan=True).all(axis=1)])
            if several.size:
                raise InputError(
                    f"{several.size:,} tasks have more than one row of probabilities of {name}: "
                    f"{few(tasks.some(several[:5]), several.size)}."
                )
    elif len(table) != len(tasks):
        raise InputError(f"The probabilities of {name} have {len(table):,} rows for {len(tasks):,} tasks.")
    lacking = np.flatnonzero(np.isnan(table).all(axis=1))
    if lacking.size and (on_missing_group == "error" or lacking.size == len(tasks)):
        raise no_group(lacking.size, len(tasks), few(tasks.some(lacking[:5]), lacking.size))
    known = np.ones(len(tasks), dtype=bool)
    known[lacking] = False
    sums = table.sum(axis=1)
    wrong = np.flatnonzero(known & ~((table >= 0).all(axis=1) & (abs(sums - 1) <= _NEAR_ONE)))
    if wrong.size:
        first_sum = sums[wrong[0]]
        raise InputError(
            f"The probabilities of {name} ({few(order)}) must not be negative and must sum to one; those of "
            f"{wrong.size:,} tasks do not, among them {tasks.some(wrong[:1])[0]!r}, whose sum is {first_sum:.6g}."
        )
    probabilities = np.where(known[:, None], table / np.where(known, sums, 1.0)[:, None], 0.0)
    names = [column.removeprefix(prefix) for column in order]
    if lacking.size:
        warn(
            f"{lacking.size:,} of {len(tasks):,} tasks have no probabilities of {name}, and are in none of its groups: "
            f"{few(tasks.some(lacking[:5]), lacking.size)}.",
            DataWarning,
        )
    likeliest = np.where(known, probabilities.argmax(axis=1), -1).astype(np.int32)
    return UncertainGroups(likeliest, Vocabulary.of(names), {}, probabilities)


def _numbers(column: Any, name: str) -> NDArray[np.float64]:
    if isinstance(column, np.ndarray) and np.issubdtype(column.dtype, np.number):
        return column.astype(np.float64)
    if isinstance(column, pa.Array | pa.ChunkedArray) and (
        pa.types.is_floating(column.type) or pa.types.is_integer(column.type)
    ):
        return np.asarray(column.cast(pa.float64()).to_numpy(zero_copy_only=False), dtype=np.float64)
    cells = column.to_pylist() if hasattr(column, "to_pylist") else column
    try:
        return np.array([np.nan if cell is None or cell == "" else cell for cell in cells], dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"Column {name!r} holds probabilities of a group, and a cell is no number.") from None
