"""Selection rates and impact ratios by category, in the form of New York City's Local Law 144 on bias audits.

The city's rules (6 RCNY 5-300 and 5-301) ask for the number of people, the selection rate and the impact ratio of each
category of sex, of race and ethnicity, and of their intersection. An impact ratio is the rate of a category divided by
that of the most selected category. People whose category is not known are left out of the rates, and their number is
stated. The auditor may leave a category with less than 2% of the data out of the ratios, and must then give the reason,
the category's number and its rate.
"""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from faircrowd._checks import few
from faircrowd._display import card_of, frame_of, values_in_short
from faircrowd._types import ByTask
from faircrowd.audit.given_labels import read_given_labels
from faircrowd.errors import InputError
from faircrowd.fair.constraints.constraint_kind import label_code
from faircrowd.fair.tasks.group_columns import GroupColumns, read_group_columns
from faircrowd.fair.tasks.uncertain_groups import UncertainGroups
from faircrowd.votes import Vocabulary
from faircrowd.votes.facts import Facts
from faircrowd.votes.groups import Grouped, intersect

__all__ = ["SMALL_SHARE", "ImpactRow", "ImpactTable", "impact_rows", "impact_table"]

SMALL_SHARE = 0.02
"""Categories with a smaller share of the data are marked, and may be left out of the ratios."""


@dataclass(frozen=True)
class ImpactRow:
    """One category.

    Attributes
    ----------
    attribute, category : str
        The column (or columns, joined by ``*``), and its value.
    number, selected : int
        How many there are, and how many of these are selected.
    rate : float
        The share of the category that is selected.
    ratio : float or None
        The rate divided by the highest of the attribute; None if the category is left out, or nobody is selected.
    share : float
        The category's share of all whose category is known.
    is_small : bool
        Whether that is less than 2%.
    """

    attribute: str
    category: str
    number: int
    selected: int
    rate: float
    ratio: float | None
    share: float
    is_small: bool


class ImpactTable(NamedTuple):
    """Rates and ratios of all categories.

    Attributes
    ----------
    rows : list of ImpactRow
    unknown : dict
        For each attribute, the number of those whose category is not known.
    total : int
        The number of all.
    rule : str
        What counts as selected.
    """

    rows: list[ImpactRow]
    unknown: dict[str, int]
    total: int
    rule: str

    def table(self) -> pa.Table:
        """Return one row per category, and one for those that are not known, as ``impact_ratios.csv`` has them."""
        found = [{**asdict(row), "note": _note(row)} for row in self.rows]
        empty = dict.fromkeys(("selected", "rate", "ratio", "share"))
        for attribute, number in self.unknown.items():
            what = {"attribute": attribute, "category": "unknown", "number": number}
            found.append({**what, **empty, "note": "not known, in none of the rates"})
        types = {
            "number": pa.int64(),
            "selected": pa.int64(),
            **dict.fromkeys(("rate", "ratio", "share"), pa.float64()),
        }
        names = ("attribute", "category", "number", "selected", "rate", "ratio", "share", "note")
        return pa.table({name: pa.array([row[name] for row in found], types.get(name, pa.string())) for name in names})

    def to_frame(self, backend: str | None = None) -> Any:
        """Return one row per category, as ``impact_ratios.csv`` has them.

        Parameters
        ----------
        backend : str, optional
            "pandas", "polars" or "pyarrow"; by default pandas where it is installed.
        """
        return frame_of(self, backend)

    def __repr__(self) -> str:
        return values_in_short("ImpactTable", {"rows": self.rows, "total": self.total, "rule": self.rule})

    def _repr_html_(self) -> str:
        return card_of(self)

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values, ready for JSON."""
        return {**self._asdict(), "rows": [asdict(row) for row in self.rows]}


def impact_table(
    labels: ByTask | Facts,
    *,
    sensitive_features: ByTask | Mapping[str, Facts],
    selected: object = None,
    leave_out_small: bool = False,
) -> ImpactTable:
    """Return selection rates and impact ratios by category of each sensitive column, and of all of them together.

    Parameters
    ----------
    labels : Series, dict, frame or array-like
        The label of each person or task, as in :func:`check_labels`.
    sensitive_features : frame, Series, dict or array-like
        One column per attribute, such as sex and race. Those whose value is missing are counted as unknown.
    selected : optional
        The label that counts as selected. If it is None, labels are scores: those above the median of all count, and
        rates are scoring rates.
    leave_out_small : bool
        Leave categories with less than 2% of the data out of the ratios; numbers and rates are given all the same.

    Examples
    --------
    >>> import pandas as pd
    >>> people = pd.DataFrame({"sex": ["f", "f", "m", "m", None], "race": list("abaab")})
    >>> found = impact_table(["hire", "no", "hire", "hire", "no"], sensitive_features=people, selected="hire")
    >>> for row in found.rows[:2]:
    ...     print(row.category, row.number, row.rate, row.ratio)
    f 2 0.5 0.5
    m 2 1.0 1.0
    >>> found.unknown
    {'sex': 1, 'race': 0, 'sex * race': 1}
    """
    tasks, label, classes = read_given_labels(labels)
    columns = read_group_columns(tasks, sensitive_features, on_missing_group="drop")
    if selected is None:
        scores = _numbers(classes)[label]
        middle = float(np.median(scores))
        return impact_rows(scores > middle, columns, f"scores above the median, {middle:g}", leave_out_small)
    hit = label == label_code(selected, classes)
    return impact_rows(hit, columns, f"label {selected}", leave_out_small)


def impact_rows(hit: NDArray[np.bool_], columns: GroupColumns, rule: str, leave_out_small: bool = False) -> ImpactTable:
    """Return the table of tasks that are selected or not, by columns whose unknown values are left out.

    Parameters
    ----------
    hit : ndarray of bool, shape (n_tasks,)
    columns : mapping
        By name, the category of each task, the categories, and which of them stands for unknown.
    rule : str
        What counts as selected.
    leave_out_small : bool
        As in :func:`impact_table`.
    """
    if uncertain := [name for name, column in columns.items() if isinstance(column, UncertainGroups)]:
        raise InputError(f"The table counts tasks of known groups; {few(uncertain)} is given as probabilities.")
    parts = {name: _known(column) for name, column in columns.items() if isinstance(column, Grouped)}
    if len(parts) > 1:
        codes, names = intersect(list(parts.values()))
        parts[" * ".join(parts)] = (codes, names)
    rows, unknown = [], {}
    for attribute, (codes, categories) in parts.items():
        known = codes >= 0
        unknown[attribute] = int(codes.size - known.sum())
        number = np.bincount(codes[known], minlength=len(categories))
        chosen = np.bincount(codes[known], weights=hit[known], minlength=len(categories)).astype(np.int64)
        rows += _rows(attribute, categories.names, number, chosen, leave_out_small)
    return ImpactTable(rows, unknown, int(hit.size), rule)


def _known(column: Grouped) -> tuple[NDArray[np.int32], Vocabulary]:
    """Return the categories of a column, with -1 for what is not known."""
    codes = np.where(np.isin(column.group, list(column.left_out)), -1, column.group)
    return codes.astype(np.int32), column.groups


def _rows(
    attribute: str, names: list[str], number: NDArray[np.int64], chosen: NDArray[np.int64], leave_out_small: bool
) -> list[ImpactRow]:
    share, rate = number / max(int(number.sum()), 1), chosen / np.maximum(number, 1)
    small = share < SMALL_SHARE
    compared = (number > 0) & ~(small & leave_out_small)
    most = float(rate[compared].max(initial=0.0))
    return [
        ImpactRow(
            attribute,
            names[a],
            int(number[a]),
            int(chosen[a]),
            float(rate[a]),
            float(rate[a]) / most if compared[a] and most > 0 else None,
            float(share[a]),
            bool(small[a]),
        )
        for a in np.flatnonzero(number).tolist()
    ]


def _note(row: ImpactRow) -> str:
    if not row.is_small:
        return ""
    return "less than 2% of the data" + (", left out of the ratios" if row.ratio is None else "")


def _numbers(classes: Vocabulary) -> NDArray[np.float64]:
    try:
        found = np.array([float(value) for value in classes.to_list()])
    except (TypeError, ValueError):
        raise InputError(
            "Without selected=..., labels are scores, and must be numbers; name the label that counts as selected.",
            parameter="selected",
        ) from None
    if any(math.isnan(value) for value in found.tolist()):
        raise InputError("Scores must be numbers, none missing.")
    return found
