"""The rule of labels under a list of constraints: for new tasks, from their posterior and sensitive columns.

The score of an outcome is what it gains minus prices. Each constraint has a table of prices by group, and prices of
several constraints add up. Where a constraint weighs tasks by their posterior, a price depends on the posterior, too.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from faircrowd._checks import LARGEST, check_choice, few, warn
from faircrowd._display import Displayed
from faircrowd.aggregate.posterior import choose
from faircrowd.errors import DataWarning, InputError, UnknownGroupError
from faircrowd.exact.hashing import draw, task_keys, uniforms
from faircrowd.fair.general.constrained_solve import outcome_names
from faircrowd.fair.rule_forms.price_table import (
    PriceTable,
    TaskGroups,
    chances_in,
    codes_in,
    is_table,
    n_known,
    priced,
)
from faircrowd.fair.rule_forms.rule_json import CONSTRAINED, EDITED, is_tie, read_rule_json
from faircrowd.fair.rule_forms.sql import SqlCell, case_of_cells, check_apart, identifier, literal, own_label
from faircrowd.fair.tasks.group_columns import GroupColumns, read_group_columns
from faircrowd.fair.tasks.problem import Problem
from faircrowd.fair.tasks.read_posterior import read_posterior
from faircrowd.fair.tasks.tie_precision import sensitivity, step_of
from faircrowd.fair.tolerances import TIE
from faircrowd.storage.json_values import from_plain, to_plain
from faircrowd.votes import Vocabulary
from faircrowd.votes.vocabulary import Codes

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from faircrowd._types import ByTask, FrameLike

__all__ = ["ConstrainedRule", "PriceTable", "TaskGroups", "TieSplit", "named_outcomes"]


_SCHEMA = 1
_KEYS = {
    *("schema", "kind", "classes", "has_review", "random_state"),
    *("tables", "gain_matrix", "gain_offset", "tie_width", "ties"),
}
_TABLE_KEYS = {"constraint", "columns", "by_own_label", "groups", "prices"}
_TIE_KEYS = {"groups", "outcomes", "weights", "width"}
_MOST_CELLS = 20_000
"""An SQL expression of more cases would be tens of megabytes long."""


class TieSplit(NamedTuple):
    """How tied outcomes are split.

    Attributes
    ----------
    weights : tuple of tuple of float
        Their probabilities: one row, or one per own label.
    width : float
        How near to each other scores must be to be tied.
    """

    weights: tuple[tuple[float, ...], ...]
    width: float


_Cell = tuple[int, ...]
"""The code of a task's group in each table."""


@dataclass(frozen=True, eq=False, repr=False)
class ConstrainedRule(Displayed):
    """A rule that labels tasks by their posterior and sensitive columns.

    Attributes
    ----------
    classes : tuple
    tables : tuple of PriceTable
        One per constraint.
    gain_matrix, gain_offset : ndarray
        As in :class:`faircrowd.fair.FairRule`.
    has_review : bool
        Whether tasks may be sent to a person.
    ties : dict
        From (group in each table, tied outcomes), as codes, to how these outcomes are split. A constraint that weighs
        tasks by their posterior is kept by tied tasks only nearly if their posteriors differ much.
    tie_width : float
        How near to each other the scores of a task must be to be tied where ``ties`` does not say.
    random_state : int
        Seed of the choice among tied outcomes.

    Examples
    --------
    >>> import pandas as pd
    >>> from faircrowd import make_fair
    >>> from faircrowd.constraints import DemographicParity
    >>> posterior = pd.DataFrame({"no": [0.1, 0.3, 0.45, 0.8, 0.9], "yes": [0.9, 0.7, 0.55, 0.2, 0.1]})
    >>> groups = pd.DataFrame({"side": ["left", "left", "left", "right", "right"]})
    >>> rule = make_fair(posterior, groups, constraints=[DemographicParity(0.7, group="side", label="yes")]).rule
    >>> print(rule)
    fair rule for parity(side, label=yes) <= 0.7
    the label with the highest posterior wins, after these changes, which add up:
      parity(side, label=yes) <= 0.7
        side=left: label no raised by 0.1000
        side=right: label yes raised by 0.1500
      tied labels are drawn with probabilities that keep the constraints
    >>> ConstrainedRule.from_json(rule.to_json()).predict(posterior, groups).tolist()
    ['yes', 'yes', 'no', 'no', 'no']
    """

    _in_short = ("constraints", "classes", "columns")

    classes: tuple[Any, ...]
    tables: tuple[PriceTable, ...]
    gain_matrix: NDArray[np.float64]
    gain_offset: NDArray[np.float64]
    has_review: bool = False
    ties: dict[tuple[_Cell, tuple[int, ...]], TieSplit] = field(default_factory=dict)
    tie_width: float = TIE
    random_state: int = 0

    @property
    def constraints(self) -> tuple[str, ...]:
        """What it was learned to keep, in text."""
        return tuple(table.constraint for table in self.tables)

    @property
    def columns(self) -> tuple[str, ...]:
        """The sensitive columns that the rule needs."""
        return tuple(dict.fromkeys(name for table in self.tables for name in table.columns))

    @property
    def outcomes(self) -> tuple[Any, ...]:
        """The classes, and what stands for a review."""
        if not self.has_review:
            return self.classes
        return tuple(outcome_names(self.classes))

    @property
    def digits(self) -> int:
        """With how many digits after the point a posterior has the ties that it had when the rule was learned.

        6, unless other tasks were nearer to a tie than that. A posterior in 32 bits has 7.
        """
        needed = [
            np.log10(max(self._sensitivity(cell), 1e-300) / (2 * tie.width)) - 1e-9
            for (cell, _), tie in self.ties.items()
        ]
        return max(int(np.ceil(max(needed, default=1.0))), 1)

    @cached_property
    def _ties_by_cell(self) -> dict[_Cell, dict[tuple[int, ...], TieSplit]]:
        found: dict[_Cell, dict[tuple[int, ...], TieSplit]] = {}
        for (cell, members), tie in sorted(self.ties.items()):
            found.setdefault(cell, {})[members] = tie
        return found

    @property
    def _gains(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Matrix and offset of the gains of all outcomes; a person finds the true label, and gains what it gains."""
        if not self.has_review:
            return self.gain_matrix, self.gain_offset
        return np.column_stack([self.gain_matrix, np.diag(self.gain_matrix)]), np.append(self.gain_offset, 0.0)

    def _prices(self, cell: _Cell) -> NDArray[np.float64]:
        """Return the prices of a cell: the sum over the tables, none of which has an uncertain column."""
        zero = np.zeros((1 + len(self.classes), len(self.outcomes)))
        return np.asarray(sum((table.prices[a] for table, a in zip(self.tables, cell, strict=True)), start=zero))

    def _sensitivity(self, cell: _Cell) -> float:
        """Return how much scores of a cell, and of any of its uncertain groups, change with the posterior."""
        certain, cases = np.zeros((len(self.classes), len(self.outcomes))), []
        for table, a in zip(self.tables, cell, strict=True):
            if table.uncertain:
                n = len(table.values)
                cases += list(table.prices[a * n : (a + 1) * n, 1:])
            else:
                certain = certain + table.prices[a, 1:]
        return max(sensitivity(self._gains[0] - certain - case) for case in cases or [0.0 * certain])

    def scores(self, posterior: NDArray[np.float64], groups: TaskGroups) -> NDArray[np.float64]:
        """Return the score of each task and outcome."""
        matrix, offset = self._gains
        scores = posterior @ matrix + offset
        for table, codes, chances in zip(self.tables, groups.codes.T, groups.chances, strict=True):
            scores -= priced(table, posterior, codes, chances)
        return np.asarray(scores)

    def probabilities(
        self, posterior: NDArray[np.float64], groups: TaskGroups, own: Codes, step: float = 0.0
    ) -> NDArray[np.float64]:
        """Return the probability of each outcome, one row per task.

        Tied outcomes have the probabilities of the rule; where it has none for them, the own label wins, or the first.

        Parameters
        ----------
        step : float
            How far apart neighbouring numbers of the posterior are, where it was rounded.
        """
        scores = self.scores(posterior, groups)
        best = scores.max(axis=1, keepdims=True)
        tied = scores >= best - self.tie_width
        rows = np.arange(own.size)
        first = np.where(tied[rows, own], own, tied.argmax(axis=1))
        chances = np.zeros(scores.shape)
        chances[rows, first] = 1.0
        widths = {
            cell: max(tie.width for tie in ties.values()) if not step else self._width_of(cell, ties, step)
            for cell, ties in self._ties_by_cell.items()
        }
        near = np.flatnonzero((scores >= best - max(widths.values(), default=0.0)).sum(axis=1) > 1)
        if not widths or not near.size:
            return chances
        cells, cell = np.unique(groups.codes[near], axis=0, return_inverse=True)
        for number, of in enumerate(map(tuple, cells.tolist())):
            if of in widths:
                members = near[cell.ravel() == number]
                for width in (self.tie_width, widths[of]):  # a known tie may be wide, as a posterior may be rounded
                    near_best = scores[members] >= best[members] - width
                    _split(chances, members, near_best, own[members], self._ties_by_cell[of])
        return chances

    def _width_of(self, cell: _Cell, ties: Mapping[tuple[int, ...], TieSplit], step: float) -> float:
        return max(max(tie.width for tie in ties.values()), self._sensitivity(cell) * step / 2)

    def predict(
        self,
        posterior: "FrameLike | ArrayLike",
        sensitive_features: "ByTask | None" = None,
        *,
        unknown: str = "error",
        on_missing_group: str = "error",
    ) -> Any:
        """Label new tasks from a posterior (a frame or an array, as for ``make_fair``) and their sensitive columns.

        A choice among tied outcomes depends on ``random_state`` and the task's id alone.

        Parameters
        ----------
        sensitive_features : optional
            As for ``make_fair``; not needed if the rule has no ``columns``.
        unknown : {"error", "own"}
            What to do with tasks of a group that one of the tables does not know, among them new combinations of
            columns that are compared together: raise, or give them their own label (and warn how many there are).
        on_missing_group : {"error", "drop", "own"}
            What to do with tasks without a group: as for ``make_fair``, if the rule was learned with the same.
        """
        problem, columns = self._read(posterior, sensitive_features, on_missing_group)
        return self.predict_problem(problem, columns, unknown, step_of(posterior))

    def predict_problem(
        self, problem: Problem, columns: GroupColumns, unknown: str = "error", step: float = 0.0
    ) -> Any:
        """Label the tasks of a problem; ``step`` is that of ``probabilities``."""
        outcomes = self.outcome_codes(problem, columns, unknown, step)
        names = (*problem.classes.to_list(), *self.outcomes[problem.n_classes :])
        return named_outcomes(problem, self.in_order_of(problem, outcomes), names)

    def predict_proba(
        self,
        posterior: "FrameLike | ArrayLike",
        sensitive_features: "ByTask | None" = None,
        *,
        unknown: str = "error",
        on_missing_group: str = "error",
    ) -> Any:
        """Return the probability of each outcome: 0 or 1, except where outcomes are tied.

        With a review budget this is an array, whose last column is the probability of a review.
        """
        problem, columns = self._read(posterior, sensitive_features, on_missing_group)
        chances = self.chances(problem, columns, unknown, step_of(posterior))
        order = self._codes_of_classes(problem)
        found = chances[:, [*order.tolist(), *range(len(self.classes), len(self.outcomes))]]
        return found if self.has_review else problem.frame(found)

    def _read(
        self, posterior: object, sensitive_features: "ByTask | None", on_missing_group: str
    ) -> tuple[Problem, GroupColumns]:
        """Read tasks; of several likeliest classes, the first in the rule is the own label, as in SQL."""
        problem = read_posterior(posterior, None, without_groups=True)
        columns: GroupColumns = {}
        if self.columns:
            if sensitive_features is None:
                raise InputError(
                    f"The rule goes by {few(self.columns)}; give sensitive_features for these tasks.",
                    parameter="sensitive_features",
                )
            columns = read_group_columns(
                problem.tasks, sensitive_features, self.columns, take_all=False, on_missing_group=on_missing_group
            )
        place = np.argsort(self._codes_of_classes(problem)).astype(np.int32)
        own = place[choose(problem.posterior[:, place], "first")]
        return replace(problem, own=own), columns

    def in_order_of(self, problem: Problem, outcomes: Codes) -> Codes:
        """Return outcomes, coded as in the rule, as they are coded in a problem."""
        place = np.arange(len(self.outcomes), dtype=np.int32)
        place[self._codes_of_classes(problem)] = np.arange(problem.n_classes, dtype=np.int32)
        return place[outcomes]

    def from_order_of(self, problem: Problem, outcomes: Codes) -> Codes:
        """Return outcomes, coded as in a problem, as they are coded in the rule."""
        further = range(len(self.classes), len(self.outcomes))
        return np.array([*self._codes_of_classes(problem).tolist(), *further], dtype=np.int32)[outcomes]

    def _codes_of_classes(self, problem: Problem) -> Codes:
        codes = Vocabulary.of(list(self.classes)).code_of(problem.classes.values)
        if problem.n_classes != len(self.classes) or (codes < 0).any():
            raise InputError(
                f"The posterior's classes {few(problem.classes.to_list())} are not the rule's {few(self.classes)}."
            )
        return codes

    def coded(self, problem: Problem, columns: GroupColumns) -> tuple[NDArray[np.float64], Codes, TaskGroups]:
        """Return posterior and own labels in the order of the rule's classes, and the groups of each task."""
        order = self._codes_of_classes(problem)
        posterior = np.empty_like(problem.posterior)
        posterior[:, order] = problem.posterior
        own = order[problem.own].astype(np.int32)
        found, chances = [], []
        for table in self.tables:
            known = table.of_known_columns() if table.uncertain else table
            if table.by_own_label:
                codes = own
            elif not known.columns:
                codes = np.zeros(own.size, dtype=np.int32)
            else:
                codes = codes_in(known, columns)
            of_values = None
            if table.uncertain:
                of_values, is_strange = chances_in(table, columns)
                codes = np.where(is_strange, -1, codes).astype(np.int32)
            found.append(codes)
            chances.append(of_values)
        return posterior, own, TaskGroups(np.stack(found, axis=1).astype(np.int32), tuple(chances))

    def outcome_codes(
        self, problem: Problem, columns: GroupColumns, unknown: str = "error", step: float = 0.0
    ) -> Codes:
        """Return the outcome of each task, as coded in the rule."""
        chances = self.chances(problem, columns, unknown, step)
        return draw(chances, lambda rows: task_keys(problem.tasks, rows, self.random_state)).astype(np.int32)

    def chances(
        self, problem: Problem, columns: GroupColumns, unknown: str = "error", step: float = 0.0
    ) -> NDArray[np.float64]:
        """Return the probability of each outcome of each task, in the order of the rule's classes."""
        check_choice("unknown", unknown, ("error", "own"))
        posterior, own, groups = self.coded(problem, columns)
        strange = groups.is_unknown
        if strange.any():
            said = f"{int(strange.sum()):,} tasks are of groups that the rule does not know: "
            said += few(self._unknown_groups(columns, groups.codes))
            if unknown == "error":
                raise UnknownGroupError(said)
            warn(f"{said}; they got the aggregator's own label.", DataWarning)
        found = self.probabilities(posterior, groups.or_first(), own, step)
        found[strange] = np.eye(found.shape[1])[own[strange]]
        return found

    def _unknown_groups(self, columns: GroupColumns, groups: NDArray[np.int32]) -> list[str]:
        """Return the groups that a table does not know, in words."""
        found: dict[str, None] = {}
        for table, codes in zip(self.tables, groups.T, strict=True):
            rows = np.flatnonzero(codes < 0)
            names = [columns[name].groups.names for name in table.columns]
            parts = [np.take(of, columns[name].group[rows]) for of, name in zip(names, table.columns, strict=True)]
            for values in dict.fromkeys(zip(*(part.tolist() for part in parts), strict=True)):
                texts = [f"{name}={value}" for name, value in zip(table.columns, values, strict=True)]
                found[", ".join(texts)] = None
        return list(found)

    def uniforms(self, tasks: Iterable[Any]) -> NDArray[np.float64]:
        """Return, for each task id, the number in [0, 1) that chooses among tied outcomes."""
        ids = Vocabulary.of(list(tasks))
        return uniforms(task_keys(ids, np.arange(len(ids)), self.random_state))

    def to_sql(self, *, posterior: str = "posterior_{}", group: str = "{}", uniform: str | None = None) -> str:
        """Return the rule as a CASE expression for a warehouse, with one case per combination of groups.

        Tasks of groups that the rule does not know get NULL. Where the rule goes by the aggregator's own label, that is
        the likeliest class, the first of several.

        Parameters
        ----------
        posterior : str
            Names of the columns with the posterior; ``{}`` stands for the class.
        group : str
            Names of the sensitive columns; ``{}`` stands for the column's name in the rule.
        uniform : str, optional
            Name of a column with the numbers of ``uniforms``; tied outcomes are then chosen as in Python.
            Without it, the likeliest of them is chosen.

        Notes
        -----
        Columns of the posterior are cast to DOUBLE. They need at least ``digits`` digits after the point, or 32 bits:
        with fewer, tied tasks are not recognised, and all of them get one label.

        Raises
        ------
        InputError
            If two classes or two values of a column have the same text, as 1 and '1' do: in SQL they are one. Also if
            there are more than 20,000 combinations of groups, or groups are known by their probabilities.
        """
        if uncertain := [table.uncertain for table in self.tables if table.uncertain]:
            raise InputError(
                f"The rule goes by the probabilities of the groups of {few(list(dict.fromkeys(uncertain)))}, which is "
                "not written as SQL; label these tasks in Python, by predict."
            )
        matrix, offset = self._gains
        cells = []
        for cell, values in self._cells():
            tests = [f"{identifier(group.format(name))} = {literal(value)}" for name, value in values.items() if name]
            tests += [own_label(self.classes, values[None], posterior)] if None in values else []
            prices, ties = self._prices(cell), self._ties_by_cell.get(cell, {})
            widths = (max(tie.width for tie in ties.values()), self.tie_width) if ties else ()
            weights = {members: tie.weights for members, tie in ties.items()}
            where = " AND ".join(tests) or "1 = 1"
            cells.append(SqlCell(where, matrix - prices[1:], offset - prices[0], weights, tuple(dict.fromkeys(widths))))
        return case_of_cells(
            self.classes, self.outcomes, cells, posterior=posterior, uniform=uniform, own_within=self.tie_width
        )

    def _cells(self) -> list[tuple[_Cell, dict[str | None, Any]]]:
        """Return all combinations of groups that the tables know, with the value of each column (None: own label)."""
        cells: list[tuple[_Cell, dict[str | None, Any]]] = [((), {})]
        for table in self.tables:
            keys: tuple[str | None, ...] = (None,) if table.by_own_label else table.columns
            groups: tuple[Any, ...] = tuple(range(len(self.classes))) if table.by_own_label else table.groups
            parts: list[tuple[Any, ...]] = [(group,) if len(keys) == 1 else group if keys else () for group in groups]
            cells = [
                ((*cell, a), values | dict(zip(keys, part, strict=True)))
                for cell, values in cells
                for a, part in enumerate(parts)
                if all(values.get(key, value) == value for key, value in zip(keys, part, strict=True))
            ]
            if len(cells) > _MOST_CELLS:
                raise InputError(
                    f"The rule's columns have more than {_MOST_CELLS:,} combinations of groups, too many for one SQL "
                    "expression; label these tasks in Python, by predict."
                )
        for name in self.columns:
            check_apart(f"values of {name!r}", list(dict.fromkeys(values[name] for _, values in cells)))
        return cells

    def to_json(self) -> str:
        """Return the rule as JSON; ``from_json`` reads it back without loss."""
        return json.dumps(
            {
                "schema": _SCHEMA,
                "kind": CONSTRAINED,
                "classes": to_plain(self.classes),
                "has_review": self.has_review,
                "random_state": self.random_state,
                "gain_matrix": self.gain_matrix.tolist(),
                "gain_offset": self.gain_offset.tolist(),
                "tables": [
                    {
                        "constraint": table.constraint,
                        "columns": list(table.columns),
                        "by_own_label": table.by_own_label,
                        "groups": to_plain(table.groups),
                        "prices": table.prices.tolist(),
                    }
                    | ({"uncertain": table.uncertain} if table.uncertain else {})
                    for table in self.tables
                ],
                "tie_width": self.tie_width,
                "ties": [
                    {
                        "groups": list(cell),
                        "outcomes": list(members),
                        "weights": [list(row) for row in tie.weights],
                        "width": tie.width,
                    }
                    for (cell, members), tie in sorted(self.ties.items())
                ],
            },
            ensure_ascii=False,
            allow_nan=False,
        )

    @classmethod
    def from_json(cls, text: str) -> "ConstrainedRule":
        """Read a rule that ``to_json`` wrote."""
        rule = read_rule_json(text, CONSTRAINED, _SCHEMA, _KEYS, (), cls._of_json)
        rule._check()
        return rule

    @classmethod
    def _of_json(cls, read: dict[str, Any]) -> "ConstrainedRule":
        for part, keys in [*((t, _TABLE_KEYS) for t in read["tables"]), *((t, _TIE_KEYS) for t in read["ties"])]:
            if part.keys() - {"uncertain"} != keys:
                raise ValueError(f"{few(sorted(part.keys() ^ keys))} is missing or unknown in a table or a tie")
        return cls(
            classes=tuple(from_plain(read["classes"])),
            tables=tuple(
                PriceTable(
                    table["constraint"],
                    tuple(table["columns"]),
                    table["by_own_label"],
                    tuple(from_plain(table["groups"])),
                    np.asarray(table["prices"], dtype=np.float64),
                    table.get("uncertain", ""),
                )
                for table in read["tables"]
            ),
            gain_matrix=np.asarray(read["gain_matrix"], dtype=np.float64),
            gain_offset=np.asarray(read["gain_offset"], dtype=np.float64),
            has_review=read["has_review"],
            ties={
                (tuple(tie["groups"]), tuple(tie["outcomes"])): TieSplit(
                    tuple(map(tuple, tie["weights"])), float(tie["width"])
                )
                for tie in read["ties"]
            },
            tie_width=float(read["tie_width"]),
            random_state=int(read["random_state"]),
        )

    def _check(self) -> None:
        n_classes, n_outcomes = len(self.classes), len(self.classes) + bool(self.has_review)
        arrays = (self.gain_matrix, self.gain_offset, *(table.prices for table in self.tables))
        shapes = [(n_classes, n_classes), (n_classes,)]
        shapes += [(len(table.groups), 1 + n_classes, n_outcomes) for table in self.tables]
        fits = [array.shape for array in arrays] == shapes and all((abs(array) <= LARGEST).all() for array in arrays)
        fits &= n_classes > 1 and len(self.tables) > 0 and type(self.has_review) is bool
        fits &= all(_differ(names) for names in (self.classes, *(table.groups for table in self.tables)))
        fits &= all(is_table(table, self.classes) for table in self.tables)
        fits &= self.random_state >= 0 and 0 < self.tie_width <= LARGEST
        fits &= not any(isinstance(name, tuple) for name in self.classes)
        for (cell, members), (weights, width) in self.ties.items():
            fits = fits and len(cell) == len(self.tables)
            fits = fits and all(
                type(a) is int and 0 <= a < n_known(table) for a, table in zip(cell, self.tables, strict=True)
            )
            fits = fits and all(is_tie(members, row, n_outcomes) for row in weights) and 0 < width <= LARGEST
            fits = fits and len(weights) in (1, n_classes)
        if not fits:
            raise InputError("This rule's numbers do not fit its classes, columns and groups; " + EDITED)

    def __str__(self) -> str:
        from faircrowd.fair.general.constrained_words import rule_in_words

        return rule_in_words(self)


def _split(
    chances: NDArray[np.float64],
    rows: NDArray[np.int64],
    tied: NDArray[np.bool_],
    own: Codes,
    ties: Mapping[tuple[int, ...], TieSplit],
) -> None:
    """Give tasks of a cell whose tied outcomes the rule knows the probabilities of these outcomes."""
    for members, tie in ties.items():
        is_member = np.isin(np.arange(tied.shape[1]), members)
        found = np.flatnonzero((tied == is_member).all(axis=1))
        table = np.zeros((len(tie.weights), tied.shape[1]))
        table[:, list(members)] = tie.weights
        chances[rows[found]] = table[own[found] if len(tie.weights) > 1 else 0]


def _differ(names: tuple[Any, ...]) -> bool:
    return len({(type(name), name) for name in names}) == len(names)


def named_outcomes(problem: Problem, outcomes: Codes, names: tuple[Any, ...]) -> Any:
    """Return outcomes in the form that users see: labels, and what stands for a review."""
    if len(names) == problem.n_classes:
        return problem.labels(outcomes)
    if problem.as_array:
        return np.where(outcomes == problem.n_classes, -1, outcomes).astype(np.int64)
    values = Vocabulary.of(list(names))
    return problem.style.series({"task": problem.tasks}, "agg_label", ("label", values.take(outcomes)))
