"""Several sensitive columns, each with its own groups: what constraints over different columns compare."""

from collections.abc import Mapping, Sequence
from typing import Any, TypeGuard

import numpy as np

from faircrowd._checks import few, suggestion
from faircrowd._types import ByTask, TableLike
from faircrowd.errors import MissingColumnError
from faircrowd.votes.alignment import check_index
from faircrowd.votes.facts import Table, from_table, table_columns
from faircrowd.votes.frames import ALIASES, is_frame, names_of
from faircrowd.votes.groups import Grouped, align_groups, groups_of
from faircrowd.votes.vocabulary import Vocabulary

__all__ = ["GroupColumns", "is_read", "read_group_columns"]

GroupColumns = Mapping[str, Grouped]
"""By the name of each column: the group of each task, the groups, and those that no constraint speaks of."""


def read_group_columns(
    tasks: Vocabulary,
    sensitive_features: ByTask,
    names: Sequence[str] = (),
    *,
    take_all: bool = True,
    votes: tuple[Table, str | None] | None = None,
    table: TableLike | None = None,
    delimiter: str | None = None,
    on_missing_group: str = "error",
) -> dict[str, Grouped]:
    """Return the groups of each sensitive column.

    Parameters
    ----------
    sensitive_features
        A frame with one column per sensitive feature, by task; one column, as in :func:`faircrowd.read_votes`, which is
        called by its name, or "group" if it has none; names of columns of ``table`` or ``votes``; or an array with one
        row per task, whose columns are called "0", "1", ...
    names : sequence of str
        The columns that constraints name.
    take_all : bool
        Whether constraints are about all other columns of a frame, too.
    votes, table, delimiter
        Where columns lie that are given by their names, as in :func:`faircrowd.votes.groups.attach_groups`.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"sex": ["f", "m"], "race": ["a", "a"]}, index=["t1", "t2"])
    >>> found = read_group_columns(Vocabulary.of(["t1", "t2"]), frame)
    >>> {name: grouped.groups.to_list() for name, grouped in found.items()}
    {'sex': ['f', 'm'], 'race': ['a']}
    """
    if not take_all and not names:
        return {}
    if isinstance(sensitive_features, np.ndarray) and sensitive_features.ndim == 2:
        columns = {str(j): column for j, column in enumerate(sensitive_features.T)}
        return {
            name: groups_of(tasks, columns[name], on_missing_group=on_missing_group)
            for name in _found(list(columns) if take_all else names, list(columns))
        }
    if is_frame(sensitive_features):
        known = names_of(sensitive_features)
        keys = [name for name in known if name in ALIASES["task"] and name not in names]
        rest = [name for name in known if name not in keys] if take_all else []
        wanted = _found(tuple(dict.fromkeys([*names, *rest])), known)
        if not keys and hasattr(sensitive_features, "loc"):  # a pandas frame indexed by task
            frame: Any = sensitive_features
            return {name: groups_of(tasks, frame[name], on_missing_group=on_missing_group) for name in wanted}
        check_index(sensitive_features, tasks, "sensitive_features")
        return {
            name: align_groups(
                tasks, *from_table(sensitive_features, None, [name], "the table of tasks", delimiter), on_missing_group
            )
            for name in wanted
        }
    if table is not None or votes is not None:
        listed = [sensitive_features] if isinstance(sensitive_features, str) else sensitive_features
        if isinstance(listed, Sequence) and all(isinstance(name, str) for name in listed):
            found = {}
            for name in dict.fromkeys([*listed, *names]):
                wanted = [name]
                in_tasks = table is not None and name in table_columns(table, delimiter)
                if table is not None and not in_tasks:  # the message names the columns of both
                    known = [*table_columns(table, delimiter), *(table_columns(votes[0], delimiter) if votes else ())]
                    _found(wanted, known)
                place, key = (table, None) if in_tasks or votes is None else votes
                where = "the tasks table" if in_tasks else "the votes"
                assert place is not None  # noqa: S101 - one of the two is given
                found[name] = align_groups(tasks, *from_table(place, key, wanted, where, delimiter), on_missing_group)
            return found
    name = getattr(sensitive_features, "name", None)
    own = names[0] if name is None and len(names) == 1 else "group" if name is None else str(name)
    _found(names, [own])
    return {own: groups_of(tasks, sensitive_features, on_missing_group=on_missing_group)}


def is_read(sensitive_features: object) -> TypeGuard[GroupColumns]:
    """Return whether sensitive features are columns that ``read_group_columns`` returned."""
    if not isinstance(sensitive_features, Mapping):
        return False
    return all(isinstance(column, Grouped) for column in sensitive_features.values())


def _found(names: Sequence[str], known: Sequence[str]) -> Sequence[str]:
    """Return names of columns; raise if one is not known."""
    for name in names:
        if name not in known:
            raise MissingColumnError(
                f"A constraint speaks of the column {name!r}; the sensitive columns are {few(known)}."
                f"{suggestion(name, known)}",
                parameter="sensitive_features",
            )
    return names
