"""How certain the aggregator is: the distribution of the posterior in each group, and the thresholds."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from faircrowd.report.charts.page_chart import ChartFacts, PageChart, Specification
from faircrowd.report.charts.vega_lite import COLOURS, ROW_HEIGHT, layered_chart
from faircrowd.report.safe_names import short, shorts
from faircrowd.report.shown_groups import not_shown
from faircrowd.report.slider import threshold_lines

__all__ = ["POSTERIOR", "posterior_chart"]

_BINS = 40


def posterior_chart(
    rows: Sequence[dict[str, Any]], thresholds: Sequence[dict[str, Any]], *, what: str
) -> dict[str, Any]:
    """Return a chart of the distribution of a posterior, one row per group, with thresholds as lines across the row.

    Each row has ``group``, ``low`` and ``high`` (the ends of a bin) and ``share``; a threshold has ``group`` and
    ``threshold``.
    """
    shares = [row["share"] for row in rows]
    shown = [row for row in rows if row["share"] > 0]
    groups = list(dict.fromkeys(row["group"] for row in rows))
    # An explicit domain, as Vega fails to look up a group called __proto__ by name.
    y = {"field": "group", "type": "nominal", "title": None, "scale": {"domain": groups, "padding": 0}}
    shared = {"y": {**y, "axis": {"labelLimit": 120, "grid": True, "tickBand": "extent"}}}
    ends = {"scale": {"domain": [min(row["low"] for row in rows), 1]}, "axis": {"format": ".1f", "tickCount": 6}}
    # The square root makes the few uncertain tasks visible, which are those that thresholds decide.
    thickness = {"type": "sqrt", "domain": [0, max(shares)], "range": [1, 0.8 * ROW_HEIGHT]}
    layers: list[dict[str, Any]] = [
        {
            "mark": {"type": "bar", "color": COLOURS[0]},
            "encoding": {
                **shared,
                "x": {"field": "low", "type": "quantitative", "title": what, **ends},
                "x2": {"field": "high"},
                "size": {"field": "share", "type": "quantitative", "legend": None, "scale": thickness},
                "tooltip": [
                    {"field": "group", "type": "nominal"},
                    *({"field": name, "type": "quantitative", "format": ".3f"} for name in ("low", "high")),
                    {"field": "share", "type": "quantitative", "format": ".1%"},
                ],
            },
        }
    ]
    if thresholds:
        layers.append(
            {
                "data": {"name": "thresholds", "values": list(thresholds)},
                "mark": {"type": "tick", "color": COLOURS[1], "opacity": 1, "thickness": 3, "size": 0.95 * ROW_HEIGHT},
                "encoding": {
                    **shared,
                    "x": {"field": "threshold", "type": "quantitative"},
                    "tooltip": [
                        {"field": "group", "type": "nominal"},
                        {"field": "threshold", "type": "quantitative", "format": ".4f"},
                    ],
                },
            }
        )
    return layered_chart(
        "How certain the aggregator is, by group", {"values": shown}, layers, height=ROW_HEIGHT * len(groups)
    )


def _make(facts: ChartFacts) -> Specification:
    group = facts.votes.group
    assert group is not None  # noqa: S101 - charts are for runs with groups
    binary = len(facts.classes) == 2
    values = facts.posterior.values[:, 1] if binary else facts.posterior.values.max(axis=1)
    what = f"posterior of label {short(facts.classes[1])}" if binary else "posterior of the likeliest label"
    place = np.minimum((values * _BINS).astype(np.int64), _BINS - 1)
    first = 0 if binary else _BINS // len(facts.classes)  # the likeliest of K has at least 1 / K
    names, rows = shorts([facts.groups[a] for a in facts.members]), []
    for a, name in zip(facts.members, names, strict=True):
        counts = np.bincount(place[group == a], minlength=_BINS)
        for b in range(first, _BINS):
            bounds = {"low": b / _BINS, "high": (b + 1) / _BINS}
            rows.append({"group": name, **bounds, "share": float(counts[b] / max(counts.sum(), 1))})
    return posterior_chart(
        rows, threshold_lines(facts.result.rule_of_labels.thresholds, facts.members, names), what=what
    )


def _caption(facts: ChartFacts) -> str:
    has_lines = facts.result.rule_of_labels.thresholds is not None
    lines = "; the vertical lines are the thresholds of the groups" if has_lines else ""
    rest = not_shown(len(facts.groups))
    return f"Distribution of the posterior by group: bars are thicker where more tasks are{lines}.{rest}"


POSTERIOR = PageChart("posterior", "posterior", _make, _caption)
