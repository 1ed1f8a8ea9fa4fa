"""The share of each label in each group, before and after, with intervals."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from faircrowd.audit.intervals import wilson
from faircrowd.report.charts.page_chart import ChartFacts, PageChart, Specification
from faircrowd.report.charts.vega_lite import COLOURS, layered_chart, quantity
from faircrowd.report.safe_names import called, groups_in_charts, shorts
from faircrowd.report.shown_groups import not_shown
from faircrowd.report.slider import MAX_CLASSES

__all__ = ["RATES", "group_rates_chart", "rates_chart"]

_LABEL_LIMIT = 200
_IN_LINES = r"split(datum.label, '\n')"


def rates_chart(
    rows: Sequence[dict[str, Any]], what: str = "Labels by group", *, label_limit: int = _LABEL_LIMIT
) -> dict[str, Any]:
    """Return a chart of rates by class and group, before and after, with intervals where there are some.

    Each row has ``row`` (the class and group as text), ``labels`` ("before" or "after"), ``rate`` and perhaps ``low``
    and ``high``. ``what`` is the title; names of rows are at most ``label_limit`` pixels wide.
    """
    has_ends = "low" in rows[0]
    order = list(dict.fromkeys(row["row"] for row in rows))
    kinds = list(dict.fromkeys(row["labels"] for row in rows))
    shared = {
        "y": {
            "field": "row",
            "type": "nominal",
            "title": None,
            "scale": {"domain": order},
            "axis": {"labelLimit": label_limit, "labelExpr": _IN_LINES},
        },
        "yOffset": {"field": "labels", "type": "nominal", "scale": {"domain": kinds}},
        "color": {
            "field": "labels",
            "type": "nominal",
            "title": None,
            "legend": {"orient": "top"} if len(kinds) > 1 else None,
            "scale": {"domain": kinds, "range": [COLOURS[6], COLOURS[0]][-len(kinds) :]},
        },
    }
    tooltip = [
        {"field": "row", "type": "nominal", "title": "label, group"},
        {"field": "labels", "type": "nominal"},
        *({"field": name, "type": "quantitative", "format": ".1%"} for name in ("rate", *("low", "high") * has_ends)),
    ]
    ends = {"x": quantity("low", "share of tasks", ".0%"), "x2": {"field": "high"}}
    layers = [
        *([{"mark": {"type": "rule", "strokeWidth": 2}, "encoding": {**shared, **ends}}] * has_ends),
        {
            "mark": {"type": "point", "filled": True, "size": 60, "opacity": 1},
            "encoding": {**shared, "x": quantity("rate", "share of tasks", ".0%"), "tooltip": tooltip},
        },
    ]
    title = what + (", before and after" if len(kinds) > 1 else "")
    return layered_chart(title, {"values": list(rows)}, layers, height=16 * len(rows) + 10)


def group_rates_chart(
    counts: Mapping[str, NDArray[Any]],
    groups: Sequence[str],
    classes: Sequence[str],
    members: NDArray[np.int64],
    confidence: float | None = 0.95,
    columns: Sequence[str] = (),
) -> Specification:
    """Return the same from numbers of labels.

    Parameters
    ----------
    counts : mapping of str to ndarray, shape (n_groups, n_classes)
        One or two, such as before and after; of two, the first is drawn in grey. Weights, if ``confidence`` is None.
    groups, classes : sequence of str
        Their names.
    members : ndarray of int
        The groups to show.
    confidence : float, optional
        Of the intervals; None for none.
    columns : sequence of str
        Those of the groups, if they are known.
    """
    first = next(iter(counts.values()))
    sizes = first.sum(axis=1)
    sizes = np.where(sizes > 0, sizes, 1)
    widest = np.argsort(-np.ptp(first / sizes[:, None], axis=0), kind="stable")[:MAX_CLASSES]
    widest = widest if len(classes) > 2 else np.array([len(classes) - 1])  # the other class is its complement
    rows = []
    names = groups_in_charts([groups[a] for a in members], columns)
    labels = called("label", shorts(classes, 20))
    for k in np.sort(widest):
        for a, group in zip(members, names, strict=True):
            for name, found in counts.items():
                row = {"row": f"{labels[k]}, {group}", "labels": name, "rate": float(found[a, k] / sizes[a])}
                if confidence is not None:
                    row |= zip(("low", "high"), map(float, wilson(found[a, k], sizes[a], confidence)), strict=True)
                rows.append(row)
    return rates_chart(rows)


def _make(facts: ChartFacts) -> Specification:
    counts = {"before": facts.tally.tasks.sum(axis=2), "after": facts.tally.tasks.sum(axis=1)}
    shown = counts if facts.asked else {"before": counts["before"]}
    return group_rates_chart(
        shown, facts.groups, facts.classes, facts.members, facts.audit.interval.confidence, facts.columns
    )


def _caption(facts: ChartFacts) -> str:
    both = ", before and after" if facts.asked else ""
    sure = f"{facts.audit.interval.confidence:.0%}"
    rest = not_shown(len(facts.groups))
    return f"Share of each label in each group{both}, with {sure} intervals (Wilson).{rest}"


RATES = PageChart("rates", "rates", _make, _caption)
