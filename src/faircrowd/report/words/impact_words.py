"""Selection rates and impact ratios as people read them, in the terminal and on the page."""

from typing import Any

from faircrowd.audit.impact_table import ImpactTable

__all__ = ["HEADINGS", "impact_cells", "impact_notes", "impact_story"]

HEADINGS = ("number", "selected", "rate", "impact ratio")
"""What stands above the numbers of a category."""

_MOST_ROWS = 40


def impact_cells(impact: ImpactTable) -> list[list[str]]:
    """Return one row per category: its name, and the numbers that :data:`HEADINGS` names.

    Examples
    --------
    >>> from faircrowd.audit import impact_table
    >>> impact_cells(impact_table(["yes", "no", "yes"], sensitive_features=["a", "a", "b"], selected="yes"))
    [['group: a', '2', '1', '50.0%', '0.500'], ['group: b', '1', '1', '100.0%', '1.000']]
    """
    rows = []
    for row in impact.rows:
        ratio = "left out" if row.ratio is None and row.is_small else "-" if row.ratio is None else f"{row.ratio:.3f}"
        name = f"{row.attribute}: {row.category}{'*' * row.is_small}"
        rows.append([name, f"{row.number:,}", f"{row.selected:,}", f"{row.rate:.1%}", ratio])
    return rows


def impact_notes(impact: ImpactTable) -> list[str]:
    """Return what the star means, and how many are in none of the rates."""
    small = ["* less than 2% of the data"] if any(row.is_small for row in impact.rows) else []
    unknown = [
        f"{attribute}: {number:,} of {impact.total:,} not known, and in none of the rates"
        for attribute, number in impact.unknown.items()
    ]
    return [*small, *unknown]


def impact_story(impact: ImpactTable) -> dict[str, Any]:
    """Return what the page shows: the first rows, and how many more there are."""
    rows = impact_cells(impact)
    return {
        "rule": impact.rule,
        "headings": HEADINGS,
        "rows": rows[:_MOST_ROWS],
        "more": max(len(rows) - _MOST_ROWS, 0),
        "notes": impact_notes(impact),
    }
