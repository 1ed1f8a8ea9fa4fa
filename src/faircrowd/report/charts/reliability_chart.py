"""Whether confidence comes true: the share of right labels against their posterior probability."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from faircrowd.aggregate.calibration.reliability import Reliability
from faircrowd.audit.intervals import wilson
from faircrowd.report.charts.page_chart import ChartFacts, PageChart, Specification
from faircrowd.report.charts.vega_lite import COLOURS, layered_chart, quantity

__all__ = ["RELIABILITY", "reliability_chart"]

_NEAR = 0.02
"""Bins whose mean confidences differ by less are drawn as one: their dots and numbers would hide each other."""


def reliability_chart(series: Mapping[str, Reliability], *, confidence: float = 0.95) -> dict[str, Any]:
    """Return a chart of the share of right labels against their confidence, with the diagonal and intervals.

    Parameters
    ----------
    series : mapping of str to Reliability
        One or two, by name; of two, the first is drawn in grey: what was before.
    confidence : float
        Of the intervals.
    """
    rows = [row for name, found in series.items() for row in _rows(name, found, confidence)]
    names = list(series)
    first = min(float(np.floor(10 * min(row["confidence"] for row in rows)) / 10), 0.5)
    colour = {
        "field": "labels",
        "type": "nominal",
        "title": None,
        "legend": {"orient": "top"} if len(names) > 1 else None,
        "scale": {"domain": names, "range": [COLOURS[6], COLOURS[0]][-len(names) :]},
    }
    scale = {"domain": [first, 1], "nice": False, "padding": 8}
    x = {**quantity("confidence", "posterior probability of the label", ".0%"), "scale": scale}
    y = {**quantity("right", "share of labels that are right", ".0%"), "scale": {"domain": [0, 1]}}
    tooltip = [
        {"field": "labels", "type": "nominal"},
        *({"field": name, "type": "quantitative", "format": ".1%"} for name in ("confidence", "right", "low", "high")),
        {"field": "count", "type": "quantitative", "format": ",d", "title": "tasks"},
    ]
    diagonal = [{"confidence": at, "right": at} for at in (first, 1.0)]
    layers: list[dict[str, Any]] = [
        {
            "data": {"values": diagonal},
            "mark": {"type": "line", "color": COLOURS[6], "strokeDash": [5, 4]},
            "encoding": {"x": x, "y": y},
        },
        {
            "mark": {"type": "rule", "strokeWidth": 2, "opacity": 0.5},
            "encoding": {"x": x, "y": {**y, "field": "low"}, "y2": {"field": "high"}, "color": colour},
        },
        {
            "mark": {"type": "point", "filled": True, "size": 70, "opacity": 1},
            "encoding": {"x": x, "y": y, "color": colour, "tooltip": tooltip},
        },
        {
            "mark": {"type": "text", "align": "right", "dx": -8, "fontSize": 11},
            "encoding": {"x": x, "y": y, "text": {"field": "count", "type": "quantitative", "format": ",d"}},
        },
    ]
    return layered_chart("Confidence and share of right labels", {"values": rows}, layers, height=300)


def _rows(name: str, found: Reliability, confidence: float) -> list[dict[str, Any]]:
    """Return one row per bin; bins that are near each other are merged."""
    starts = [0]
    for i, at in enumerate(found.confidence):
        if at - found.confidence[starts[-1]] >= _NEAR:
            starts.append(i)
    count = np.add.reduceat(found.count, starts)
    believed, right = (np.add.reduceat(part * found.count, starts) / count for part in (found.confidence, found.right))
    low, high = wilson(right * count, count, confidence)
    columns = {"confidence": believed, "right": right, "low": low, "high": high}
    return [
        {"labels": name, **{key: float(part[i]) for key, part in columns.items()}, "count": int(count[i])}
        for i in range(len(starts))
    ]


def _make(facts: ChartFacts) -> Specification | None:
    if not facts.reliability:
        return None
    return reliability_chart(facts.reliability, confidence=facts.audit.interval.confidence)


def _caption(facts: ChartFacts) -> str:
    errors = ", ".join(
        f"{100 * found.error:.1f} points" + (f" {name}" if len(facts.reliability) > 1 else "")
        for name, found in facts.reliability.items()
    )
    return (
        "Share of the aggregator's labels that are right against their posterior probability, with "
        f"{facts.audit.interval.confidence:.0%} intervals (Wilson) and the number of tasks next to each dot. Dots "
        "below the dashed line are labels that the aggregator is too sure of. The mean distance from the line (the "
        f"calibration error) is {errors}."
    )


RELIABILITY = PageChart("reliability", "truth", _make, _caption)
