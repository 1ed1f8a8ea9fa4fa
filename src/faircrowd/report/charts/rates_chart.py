"""The share of each label in each group, before and after, with intervals."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from faircrowd.audit.intervals import wilson
from faircrowd.report.charts.page_chart import ChartFacts, PageChart, Specification
from faircrowd.report.charts.vega_lite import COLOURS, layered_chart, quantity
from faircrowd.report.safe_names import shorts
from faircrowd.report.shown_groups import not_shown
from faircrowd.report.slider import MAX_CLASSES

__all__ = ["RATES", "rates_chart"]


def rates_chart(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return a chart of rates by class and group, before and after, with intervals.

    Each row has ``row`` (the class and group as text), ``labels`` ("before" or "after"), ``rate``, ``low``, ``high``.
    """
    order = list(dict.fromkeys(row["row"] for row in rows))
    kinds = list(dict.fromkeys(row["labels"] for row in rows))
    shared = {
        "y": {
            "field": "row",
            "type": "nominal",
            "title": None,
            "scale": {"domain": order},
            "axis": {"labelLimit": 200},
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
        *({"field": name, "type": "quantitative", "format": ".1%"} for name in ("rate", "low", "high")),
    ]
    ends = {"x": quantity("low", "share of tasks", ".0%"), "x2": {"field": "high"}}
    layers = [
        {"mark": {"type": "rule", "strokeWidth": 2}, "encoding": {**shared, **ends}},
        {
            "mark": {"type": "point", "filled": True, "size": 60, "opacity": 1},
            "encoding": {**shared, "x": quantity("rate", "share of tasks", ".0%"), "tooltip": tooltip},
        },
    ]
    title = "Labels by group" + (", before and after" if len(kinds) > 1 else "")
    return layered_chart(title, {"values": list(rows)}, layers, height=16 * len(rows) + 10)


def _make(facts: ChartFacts) -> Specification:
    return rates_chart(_rows(facts))


def _rows(facts: ChartFacts) -> list[dict[str, Any]]:
    before, after = facts.tally.tasks.sum(axis=2), facts.tally.tasks.sum(axis=1)
    sizes = before.sum(axis=1)
    widest = np.argsort(-np.ptp(before / sizes[:, None], axis=0), kind="stable")[:MAX_CLASSES]
    widest = widest if len(facts.classes) > 2 else np.array([1])  # the other class is its complement
    rows = []
    names = _called("group", shorts([facts.groups[a] for a in facts.members], 20))
    labels = _called("label", shorts(facts.classes, 20))
    for k in np.sort(widest):
        for a, group in zip(facts.members, names, strict=True):
            for name, counts in (("before", before), ("after", after))[: 2 if facts.asked else 1]:
                low, high = (float(end) for end in wilson(counts[a, k], sizes[a], facts.audit.interval.confidence))
                row = {"row": f"{labels[k]}, {group}", "labels": name}
                rows.append({**row, "rate": float(counts[a, k] / sizes[a]), "low": low, "high": high})
    return rows


def _called(what: str, names: list[str]) -> list[str]:
    """Put what a name stands for before it where the name is a number or a single letter."""
    return [f"{what} {name}" if len(name) < 2 or name.lstrip("-").isdigit() else name for name in names]


def _caption(facts: ChartFacts) -> str:
    both = ", before and after" if facts.asked else ""
    sure = f"{facts.audit.interval.confidence:.0%}"
    rest = not_shown(len(facts.groups))
    return f"Share of each label in each group{both}, with {sure} intervals (Wilson).{rest}"


RATES = PageChart("rates", "rates", _make, _caption)
