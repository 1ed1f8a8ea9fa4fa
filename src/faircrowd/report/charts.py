"""Charts as data: Vega-Lite specifications, and pictures of them without a browser."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from faircrowd.fair.frontier import Frontier

__all__ = ["COLOURS", "frontier_chart", "funnel_chart", "images", "posterior_chart", "rates_chart", "thinned"]

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#999999", "#666666")
"""The palette of Okabe and Ito, whose colours colour-blind people can tell apart."""

_SCHEMA = "https://vega.github.io/schema/vega-lite/v6.json"
_MAX_POINTS = 400
_WIDTH = 560
_ROW = 48


def frontier_chart(frontier: Frontier, *, chosen: float | None = None) -> dict[str, Any]:
    """Return a chart of the frontier: expected accuracy against the gap allowed, and the chosen point."""
    at = thinned(frontier.gap, _MAX_POINTS)
    columns = (frontier.gap[at], frontier.accuracy[at], frontier.changed[at])
    names = ("gap", "accuracy", "changed")
    rows = [dict(zip(names, map(float, row), strict=True)) for row in zip(*columns, strict=True)]
    encoding = {
        "x": _quantity("gap", "largest gap allowed (epsilon)", ".2~f"),
        "y": _quantity("accuracy", "expected accuracy", ".1%", zero=False),
        "tooltip": [
            {"field": "gap", "type": "quantitative", "format": ".3f"},
            {"field": "accuracy", "type": "quantitative", "format": ".2%"},
            {"field": "changed", "type": "quantitative", "format": ",.0f", "title": "labels changed"},
        ],
    }
    line = {"type": "line", "color": COLOURS[0], "strokeWidth": 2.5}
    place = {name: encoding[name] for name in ("x", "y")}
    # A line has a single tooltip, so points carry them, visible or not.
    point = {"type": "point", "filled": True, "color": COLOURS[0], "opacity": 1 if len(rows) < 40 else 0}
    layers: list[dict[str, Any]] = [{"mark": line, "encoding": place}, {"mark": point, "encoding": encoding}]
    if chosen is not None:
        at_chosen = frontier.at(min(chosen, 1.0))
        layers.append(
            {
                "data": {"name": "chosen", "values": [{"gap": at_chosen.gap, "accuracy": at_chosen.accuracy}]},
                "mark": {"type": "point", "filled": True, "size": 180, "color": COLOURS[1], "opacity": 1},
                "encoding": place,
            }
        )
    return _chart("What a smaller gap costs", {"values": rows}, layers, height=280)


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
    ends = {"x": _quantity("low", "share of tasks", ".0%"), "x2": {"field": "high"}}
    layers = [
        {"mark": {"type": "rule", "strokeWidth": 2}, "encoding": {**shared, **ends}},
        {
            "mark": {"type": "point", "filled": True, "size": 60, "opacity": 1},
            "encoding": {**shared, "x": _quantity("rate", "share of tasks", ".0%"), "tooltip": tooltip},
        },
    ]
    title = "Labels by group" + (", before and after" if len(kinds) > 1 else "")
    return _chart(title, {"values": list(rows)}, layers, height=16 * len(rows) + 10)


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
    thickness = {"type": "sqrt", "domain": [0, max(shares)], "range": [1, 0.8 * _ROW]}
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
                "mark": {"type": "tick", "color": COLOURS[1], "opacity": 1, "thickness": 3, "size": 0.95 * _ROW},
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
    return _chart("How certain the aggregator is, by group", {"values": shown}, layers, height=_ROW * len(groups))


def funnel_chart(rows: Sequence[dict[str, Any]], verdicts: Sequence[str]) -> dict[str, Any]:
    """Return a chart of the workers' own gaps against their numbers of votes.

    Each row has ``worker``, ``votes``, ``place`` (votes, equal numbers spread a little), ``gap``, ``low``,
    ``high`` and ``verdict``.
    """
    counts = [row["votes"] for row in rows]
    kind = "log" if max(counts) > 20 * min(counts) else "linear"
    scale = {"type": kind, "zero": False, "nice": False, "padding": 12}
    axis = {"format": ",d", "tickCount": 6, "tickMinStep": 1}
    x = {"field": "place", "type": "quantitative", "title": "votes", "scale": scale, "axis": axis}
    colour = {
        "field": "verdict",
        "type": "nominal",
        "title": None,
        "scale": {"domain": list(verdicts), "range": [COLOURS[1], COLOURS[0], COLOURS[6]]},
        "legend": {"orient": "top", "columns": 2, "labelLimit": 240},
    }
    shape = {"field": "verdict", "type": "nominal", "title": None, "scale": {"domain": list(verdicts)}}
    layers = [
        {
            "mark": {"type": "rule", "opacity": 0.25},
            "encoding": {
                "x": x,
                "y": _quantity("low", "own gap, with interval", ".1f"),
                "y2": {"field": "high"},
                "color": colour,
            },
        },
        {
            "mark": {"type": "point", "filled": True, "size": 45, "opacity": 0.9},
            "encoding": {
                "x": x,
                "y": _quantity("gap", "own gap, with interval", ".1f"),
                "color": colour,
                "shape": shape,
                "tooltip": [
                    {"field": "worker", "type": "nominal"},
                    {"field": "votes", "type": "quantitative", "format": ",d"},
                    *({"field": name, "type": "quantitative", "format": ".2f"} for name in ("gap", "low", "high")),
                    {"field": "verdict", "type": "nominal"},
                ],
            },
        },
    ]
    return _chart("Workers: own gap against number of votes", {"values": list(rows)}, layers, height=280)


def images(name: str, chart: dict[str, Any]) -> dict[str, bytes]:
    """Draw a chart; return the contents of ``name.png`` and ``name.svg``."""
    import vl_convert

    fixed = {**chart, "background": "white"}
    if chart.get("width") == "container":
        fixed["width"] = _WIDTH
    return {
        f"{name}.png": vl_convert.vegalite_to_png(fixed, scale=2),
        f"{name}.svg": vl_convert.vegalite_to_svg(fixed).encode(),
    }


def thinned(falling: NDArray[np.float64], most: int) -> NDArray[np.int64]:
    """Choose at most ``most`` positions of falling numbers, spread evenly over their range and including both ends."""
    if falling.size <= most:
        return np.arange(falling.size)
    wanted = np.linspace(-falling[0], -falling[-1], most)
    return np.unique(np.clip(np.searchsorted(-falling, wanted), 0, falling.size - 1))


def _chart(title: str, data: dict[str, Any], layers: list[dict[str, Any]], *, height: int) -> dict[str, Any]:
    return {
        "$schema": _SCHEMA,
        "title": title,
        "width": "container",
        "height": height,
        "autosize": {"type": "fit-x", "contains": "padding"},
        "data": data,
        "layer": layers,
    }


def _quantity(field: str, title: str, form: str, *, zero: bool = True) -> dict[str, Any]:
    axis = {"format": form, "tickCount": 6}
    return {"field": field, "type": "quantitative", "title": title, "scale": {"zero": zero}, "axis": axis}
