"""Several sensitive columns, each with its own groups: what constraints over different columns compare."""

from collections.abc import Mapping, Sequence
from typing import Any, TypeGuard

import numpy as np

from faircrowd._checks import few, suggestion
from faircrowd._types import ByTask, TableLike
from faircrowd.errors import InputError, MissingColumnError
from faircrowd.fair.tasks.uncertain_groups import UncertainGroups, are_probabilities, uncertain_groups
from faircrowd.votes.alignment import check_index, has_index, is_strange_index
from faircrowd.votes.facts import Facts, Table, from_table, pandas_array, refuse_values, table_columns, task_columns
from faircrowd.votes.frames import ALIASES, array_of, frame_of, has_column, is_frame, names_of, probability_columns
from faircrowd.votes.groups import Grouped, align_groups, groups_of
from faircrowd.votes.vocabulary import Column, Vocabulary, as_objects

__all__ = ["GroupColumns", "are_uncertain", "is_read", "read_group_columns"]

GroupColumns = Mapping[str, Grouped | UncertainGroups]
"""By the name of each column: the group of each task, the groups, and those that no constraint speaks of; or the
probabilities of its groups."""


def read_group_columns(
    tasks: Vocabulary,
    sensitive_features: ByTask | Mapping[str, Facts] | None,
    names: Sequence[str] = (),
    *,
    take_all: bool = True,
    votes: tuple[Table, str | None] | None = None,
    table: TableLike | None = None,
    delimiter: str | None = None,
    on_missing_group: str = "error",
    by_position: bool = True,
) -> dict[str, Grouped | UncertainGroups]:
    """Return the groups of each sensitive column.

    Parameters
    ----------
    sensitive_features
        A frame with one column per sensitive feature, by task; a dict of such columns; one column, as in
        :func:`faircrowd.read_votes`, which is called by its name, or "group" if it has none; names of columns of
        ``table`` or ``votes``; or an array with one row per task, whose columns are called "0", "1", ... Columns that
        are called otherwise than by a text, such as the numbers of a frame, go by the text of their names. Columns
        ``race=a``, ``race=b``, ... hold the probabilities of the groups of a column ``race``; a frame or an array of
        nothing but such probabilities is one column, which is called as constraints call it, or "group".
    names : sequence of str
        The columns that constraints name.
    take_all : bool
        Whether constraints are about all other columns of a frame, too.
    votes, table, delimiter
        Where columns lie that are given by their names, as in :func:`faircrowd.votes.groups.attach_groups`.
    by_position : bool
        Whether arrays and lists are taken by position: not where tasks are in no order that the user has seen.

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
    if sensitive_features is None:
        spoken = f"Constraints speak of {few(names)}" if names else "Constraints compare groups"
        raise InputError(f"{spoken}; give sensitive_features=...", parameter="sensitive_features")
    if table is not None or votes is not None:
        listed = [sensitive_features] if isinstance(sensitive_features, str) else sensitive_features
        if isinstance(listed, Sequence) and all(isinstance(name, str) for name in listed):
            refuse_values(listed, table, None if votes is None else votes[0], delimiter=delimiter)
            named = tuple(dict.fromkeys([*listed, *names]))
            return _from_tables(tasks, named, votes, table, delimiter, on_missing_group)
    columns, key = _by_name(sensitive_features, tasks, names)
    if columns is None:
        name = getattr(sensitive_features, "name", None)
        own = names[0] if name is None and len(names) == 1 else "group" if name is None else str(name)
        columns = {own: sensitive_features}
    uncertain = _uncertain_columns(sensitive_features, list(columns), names)
    inside = {part for parts in uncertain.values() for part in parts}
    known = [*(name for name in columns if name not in inside or name in names), *uncertain]
    wanted = _found(tuple(dict.fromkeys([*names, *(known if take_all else ())])), known)
    found: dict[str, Grouped | UncertainGroups] = {}
    for name in wanted:
        if not by_position:
            _refuse_positions(columns[uncertain[name][0] if name in uncertain else name])
        if name in uncertain:
            found[name] = _probabilities_of(
                tasks, name, {part: columns[part] for part in uncertain[name]}, key, on_missing_group
            )
            continue
        column: Any = columns[name]
        if key is not None:
            found[name] = align_groups(tasks, key, [array_of(column)], on_missing_group, name)
        else:
            found[name] = groups_of(tasks, column, on_missing_group=on_missing_group, name=name)
    return found


def _refuse_positions(column: object) -> None:
    """Raise if a column has no ids."""
    if isinstance(column, np.ndarray | list | tuple) and not isinstance(column, Facts):
        raise InputError(
            "The tasks of votes have ids and no order, so that groups go by task, not by position: give a frame or a "
            f"pandas Series indexed by task, or a dict; not {type(column).__name__}.",
            parameter="sensitive_features",
        )


def _uncertain_columns(given: object, columns: Sequence[str], names: Sequence[str]) -> dict[str, list[str]]:
    """Return the columns that hold probabilities of groups, by the name of the column whose groups these are."""
    found = {name: parts for name, parts in probability_columns(columns).items() if name not in columns}
    if found or not are_probabilities(given) or not set(names).isdisjoint(columns):
        return found
    if len(set(names)) > 1:
        raise MissingColumnError(
            f"Constraints speak of the columns {few(names)}, and sensitive_features has the probabilities of the "
            "groups of one column; call these race=a, race=b, ... to give several.",
            parameter="sensitive_features",
        )
    return {names[0] if names else "group": list(columns)}


def _probabilities_of(
    tasks: Vocabulary, name: str, columns: Mapping[str, Any], key: Column | None, on_missing_group: str
) -> UncertainGroups:
    """Return the probabilities of groups, whose columns say themselves what their tasks are if there is no key."""
    first: Any = next(iter(columns.values()))
    if key is None and isinstance(first, np.ndarray | list | tuple):
        return uncertain_groups(tasks, name, None, columns, on_missing_group)
    if key is not None:
        arrays = {part: array_of(column) for part, column in columns.items()}
        return uncertain_groups(tasks, name, key, arrays, on_missing_group)
    if not all(hasattr(column, "index") and first.index.equals(column.index) for column in columns.values()):
        raise InputError(
            f"The probabilities of {name} are columns of different tasks; give them as one frame.",
            parameter="sensitive_features",
        )
    check_index(first, tasks, "sensitive_features")
    arrays = {part: pandas_array(column) for part, column in columns.items()}
    return uncertain_groups(tasks, name, pandas_array(first.index), arrays, on_missing_group)


def _by_name(
    sensitive_features: ByTask | Mapping[str, Facts], tasks: Vocabulary, names: Sequence[str]
) -> tuple[dict[str, Any] | None, Column | None]:
    """Return the columns of a frame, of a dict of columns or of an array by the text of their names, and their tasks.

    None for the tasks means that each column says itself what its tasks are; None for the columns, that there is one.
    """
    given: Any = sensitive_features
    if isinstance(given, list) and given and all(isinstance(row, list) for row in given):
        given = np.array([as_objects(row) for row in given]) if len({len(row) for row in given}) == 1 else given
    if isinstance(given, np.ndarray) and given.ndim == 2:
        return {str(j): column for j, column in enumerate(given.T)}, None
    if isinstance(given, Mapping) and given and all(_is_column(column) for column in given.values()):
        return _texts(given), None
    if not is_frame(given):
        return None, None
    known = _texts({name: name for name in names_of(given)})
    usual = [text for text in known if text in ALIASES["task"] and text not in names]
    if not usual and has_index(given) and not is_strange_index(given, tasks):
        frame: Any = given
        return {text: frame[name] for text, name in known.items()}, None
    usual = usual or [text for text in task_columns(list(known)) if text not in names]
    if not usual:
        own = " and no index of its own" if has_index(given) else ""
        raise InputError(
            f"sensitive_features has no column 'task'{own}, which says whose groups these are; its columns are "
            f"{few(known)}. Add the ids of the tasks, such as {few(tasks.some(range(min(3, len(tasks)))))}.",
            parameter="sensitive_features",
        )
    key, _ = from_table(given, known[usual[0]], [], "sensitive_features", None)
    frame = frame_of(given)
    return {text: frame.get_column(name) for text, name in known.items() if text not in usual}, key


def _is_column(value: object) -> bool:
    """Return whether a value of a dict is a column, and so its key the name of one: a group is hashable."""
    if isinstance(value, np.ndarray):
        return value.ndim == 1
    return isinstance(value, Mapping | list | Facts) or hasattr(value, "to_numpy")


def _texts(columns: Mapping[Any, Any]) -> dict[str, Any]:
    """Return columns by the text of their names; raise if two have the same."""
    found: dict[str, Any] = {}
    for name, column in columns.items():
        if str(name) in found:
            raise InputError(
                f"sensitive_features has two columns whose names have the text {str(name)!r}; rename one.",
                parameter="sensitive_features",
            )
        found[str(name)] = column
    return found


def _from_tables(
    tasks: Vocabulary,
    names: Sequence[str],
    votes: tuple[Table, str | None] | None,
    table: TableLike | None,
    delimiter: str | None,
    on_missing_group: str,
) -> dict[str, Grouped | UncertainGroups]:
    """Return columns that are looked up in the table of tasks, or else in the votes."""
    of_table = [] if table is None else table_columns(table, delimiter)
    of_votes = [] if votes is None else table_columns(votes[0], delimiter)
    named = None if votes is None else votes[1]
    uncertain = [probability_columns(of_table), probability_columns(of_votes)]
    if table is not None:
        known = [*of_table, *of_votes, *uncertain[0], *uncertain[1]]
        _found([name for name in names if not has_column(known, name)], known)
    found: dict[str, Grouped | UncertainGroups] = {}
    for name in names:
        if name not in of_table and name not in of_votes and any(name in parts for parts in uncertain):
            is_in_tasks = name in uncertain[0]
            source: Any = table if is_in_tasks or votes is None else votes[0]
            parts = uncertain[0 if is_in_tasks else 1][name]
            by = named if named in (of_table if is_in_tasks else of_votes) else None
            rows, cells = from_table(source, by, parts, "the table", delimiter)
            found[name] = uncertain_groups(tasks, name, rows, dict(zip(parts, cells, strict=True)), on_missing_group)
            continue
        in_tasks = has_column(of_table, name) or votes is None
        place: Any = table if in_tasks or votes is None else votes[0]
        key = named if named is not None and has_column(of_table if in_tasks else of_votes, named) else None
        where = "the tasks table" if in_tasks else "the votes"
        found[name] = align_groups(tasks, *from_table(place, key, [name], where, delimiter), on_missing_group, name)
    return found


def is_read(sensitive_features: object) -> TypeGuard[GroupColumns]:
    """Return whether sensitive features are columns that ``read_group_columns`` returned."""
    if not isinstance(sensitive_features, Mapping):
        return False
    return all(isinstance(column, Grouped | UncertainGroups) for column in sensitive_features.values())


def are_uncertain(sensitive_features: object) -> bool:
    """Return whether sensitive features are, or have among them, groups that are known by their probabilities."""
    if is_read(sensitive_features):
        return any(isinstance(column, UncertainGroups) for column in sensitive_features.values())
    if is_frame(sensitive_features) and probability_columns(names_of(sensitive_features)):
        return True
    return are_probabilities(sensitive_features)


def _found(names: Sequence[str], known: Sequence[str]) -> Sequence[str]:
    """Return names of columns; raise if one is not known."""
    for name in names:
        if name not in known:
            raise MissingColumnError(
                f"A constraint speaks of the column {name!r}; the sensitive columns are {few(known) or 'none'}."
                f"{suggestion(name, known)}",
                parameter="sensitive_features",
            )
    return names
