"""Prices of outcomes by group, one table per constraint, and the groups of tasks as a table knows them."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from faircrowd.errors import InputError
from faircrowd.fair.tasks.group_columns import GroupColumns
from faircrowd.fair.tasks.uncertain_groups import UncertainGroups
from faircrowd.votes import Vocabulary
from faircrowd.votes.vocabulary import Codes, value_name

__all__ = ["PriceTable", "TaskGroups", "chances_in", "codes_in", "is_table", "n_known", "priced"]


class PriceTable(NamedTuple):
    """The prices of one constraint.

    Attributes
    ----------
    constraint : str
        The constraint in text.
    columns : tuple of str
        The sensitive columns; none if the groups are the own labels, or if there is one group of all tasks.
    by_own_label : bool
    groups : tuple
        The groups: values of one column, or tuples.
    prices : ndarray, shape (n_groups, 1 + n_classes, n_outcomes)
        The price of each outcome, and by how much it grows with the posterior of each class.
    uncertain : str
        The column whose groups are known by their probabilities: prices are averaged over its groups by these. Groups
        are then all combinations of those of the other columns and, changing fastest, those of this one.
    """

    constraint: str
    columns: tuple[str, ...]
    by_own_label: bool
    groups: tuple[Any, ...]
    prices: NDArray[np.float64]
    uncertain: str = ""

    @property
    def values(self) -> tuple[Any, ...]:
        """The groups of the uncertain column."""
        at = self.columns.index(self.uncertain)
        return tuple(dict.fromkeys(group[at] if len(self.columns) > 1 else group for group in self.groups))

    def of_known_columns(self) -> "PriceTable":
        """Return a table without prices of the groups of the columns that are known."""
        at, n_values = self.columns.index(self.uncertain), len(self.values)
        groups = self.groups[::n_values] if len(self.columns) > 1 else ()
        parts = [(*group[:at], *group[at + 1 :]) for group in groups]
        return self._replace(
            columns=(*self.columns[:at], *self.columns[at + 1 :]),
            groups=tuple(part[0] if len(part) == 1 else part for part in parts) or ("all tasks",),
            uncertain="",
        )

    def group_names(self) -> list[str]:
        """Return each group in words: ``gender=f, race=a``."""
        if self.by_own_label:
            return [f"own label {value_name(label)}" for label in self.groups]
        if not self.columns:
            return ["all tasks"]
        parts = [(group,) if len(self.columns) == 1 else group for group in self.groups]
        by = " (times its probability)" if self.uncertain else ""
        return [
            ", ".join(f"{name}={value_name(value)}" for name, value in zip(self.columns, part, strict=True)) + by
            for part in parts
        ]


class TaskGroups(NamedTuple):
    """The groups of some tasks, as the tables of a rule know them.

    Attributes
    ----------
    codes : ndarray of int32, shape (n_tasks, n_tables)
        -1 for a group that a table does not know. Where a column is uncertain, the group of the others.
    chances : tuple of (ndarray, shape (n_tasks, n_values), or None)
        For each table, the probabilities of the groups of its uncertain column; None if it has none.
    """

    codes: NDArray[np.int32]
    chances: tuple[NDArray[np.float64] | None, ...]

    @property
    def is_unknown(self) -> NDArray[np.bool_]:
        """Whether each task is of a group that a table does not know."""
        return np.asarray(np.any(self.codes < 0, axis=1))

    def some(self, rows: Any) -> "TaskGroups":
        """Return those of some tasks."""
        return TaskGroups(self.codes[rows], tuple(None if of is None else of[rows] for of in self.chances))

    def or_first(self) -> "TaskGroups":
        """Return the first group for tasks of a group that a table does not know."""
        return self._replace(codes=np.where(self.is_unknown[:, None], 0, self.codes).astype(np.int32))


def priced(
    table: PriceTable,
    posterior: NDArray[np.float64],
    codes: Codes,
    chances: NDArray[np.float64] | None = None,
) -> NDArray[np.float64]:
    """Return what a table subtracts from the score of each task and outcome.

    ``chances`` has the probabilities of the groups of its uncertain column, if it has one.
    """
    if chances is not None:
        certain, n_values = table._replace(uncertain=""), chances.shape[1]
        each = (chances[:, [a]] * priced(certain, posterior, codes * n_values + a) for a in range(n_values))
        return np.asarray(sum(each))
    prices = table.prices[codes, 0]
    if table.prices[:, 1:].any():
        prices = prices + np.einsum("ny,nyj->nj", posterior, table.prices[codes, 1:])
    return np.asarray(prices)


def is_table(table: PriceTable, classes: tuple[Any, ...]) -> bool:
    """Return whether the columns and groups of a table fit together."""
    texts = (table.constraint, *table.columns)
    if not all(isinstance(text, str) for text in texts) or type(table.by_own_label) is not bool:
        return False
    if table.by_own_label:
        return not table.columns and table.groups == classes and not table.uncertain
    if table.uncertain:
        return table.uncertain in table.columns and _is_product(table)
    if not table.columns:
        return len(table.groups) == 1
    if len(table.columns) == 1:
        return True
    return all(isinstance(group, tuple) and len(group) == len(table.columns) for group in table.groups)


def n_known(table: PriceTable) -> int:
    """Return the number of groups of the columns that are known."""
    return len(table.groups) // len(table.values) if table.uncertain else len(table.groups)


def _is_product(table: PriceTable) -> bool:
    """Return whether groups are all combinations of those of the known columns and of the uncertain one."""
    if len(table.columns) == 1:
        return True
    if not all(isinstance(group, tuple) and len(group) == len(table.columns) for group in table.groups):
        return False
    at, n_values = table.columns.index(table.uncertain), len(table.values)
    rest = [(*group[:at], *group[at + 1 :]) for group in table.groups]
    return len(rest) % n_values == 0 and all(
        table.groups[n][at] == table.values[n % n_values] and rest[n] == rest[n - n % n_values]
        for n in range(len(rest))
    )


_NO_CHANCE = 1e-9


def chances_in(table: PriceTable, columns: GroupColumns) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Return the probabilities of the groups of a table's uncertain column, 1 for a group that is known.

    Also return which tasks may be of groups that the table does not know. A task without any probabilities is not one
    of them: no group counts it.
    """
    column = columns[table.uncertain]
    place = Vocabulary.of(list(table.values)).code_of(column.groups.values)
    known = np.eye(len(column.groups))
    given = column.probabilities if isinstance(column, UncertainGroups) else known[column.group]
    found = np.zeros((given.shape[0], len(table.values)))
    found[:, place[place >= 0]] = given[:, place >= 0]
    return found, np.asarray(given[:, place < 0].sum(axis=1) > _NO_CHANCE)


def codes_in(table: PriceTable, columns: GroupColumns) -> Codes:
    """Return the code of each task's group in a table, -1 where it does not know it."""
    for name in table.columns:
        if isinstance(columns[name], UncertainGroups):
            raise InputError(
                f"The rule goes by the group of each task in {name!r}, and its probabilities were given; it was not "
                "learned for these."
            )
    if len(table.columns) == 1:
        grouped = columns[table.columns[0]]
        return Vocabulary.of(list(table.groups)).code_of(grouped.groups.values)[grouped.group]
    # Each part by its own column: texts of a file and numbers of a frame are the same group.
    parts, sizes = [], []
    for j, name in enumerate(table.columns):
        known = Vocabulary.of(list(dict.fromkeys(group[j] for group in table.groups)))
        parts.append((known, known.code_of(columns[name].groups.values)[columns[name].group]))
        sizes.append(len(known))
    place = {
        tuple(known.to_list().index(part) for (known, _), part in zip(parts, group, strict=True)): code
        for code, group in enumerate(table.groups)
    }
    stacked = np.stack([codes for _, codes in parts], axis=1)
    kinds, kind = np.unique(stacked, axis=0, return_inverse=True)
    return np.array([place.get(tuple(row), -1) for row in kinds.tolist()], dtype=np.int32)[kind.ravel()]
