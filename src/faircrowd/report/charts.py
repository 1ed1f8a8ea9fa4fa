"""Charts as data: Vega-Lite specifications, and pictures of them without a browser."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from faircrowd.fair.frontier import Frontier

__all__ = ["COLOURS", "frontier_chart", "images", "thinned"]

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#999999", "#000000")
"""Okabe and Ito's palette, which colour-blind people tell apart."""

_SCHEMA = "https://vega.github.io/schema/vega-lite/v6.json"
_MOST_POINTS = 400


def frontier_chart(frontier: Frontier) -> dict[str, Any]:
    """Return the frontier as a chart: expected accuracy against the gap allowed."""
    chosen = thinned(frontier.gap, _MOST_POINTS)
    columns = (frontier.gap[chosen], frontier.accuracy[chosen], frontier.changed[chosen])
    rows = [
        dict(zip(("gap", "accuracy", "changed"), map(float, row), strict=True)) for row in zip(*columns, strict=True)
    ]
    return {
        "$schema": _SCHEMA,
        "title": "What a smaller gap costs",
        "width": 520,
        "height": 300,
        "data": {"values": rows},
        "mark": {"type": "line", "color": COLOURS[0], "strokeWidth": 2.5, "point": len(rows) < 40},
        "encoding": {
            "x": {"field": "gap", "type": "quantitative", "title": "gap between groups (epsilon)"},
            "y": {
                "field": "accuracy",
                "type": "quantitative",
                "title": "expected accuracy",
                "scale": {"zero": False},
                "axis": {"format": ".1%"},
            },
            "tooltip": [
                {"field": "gap", "type": "quantitative", "format": ".3f"},
                {"field": "accuracy", "type": "quantitative", "format": ".2%"},
                {"field": "changed", "type": "quantitative", "format": ",.0f", "title": "labels changed"},
            ],
        },
    }


def images(name: str, chart: dict[str, Any]) -> dict[str, bytes]:
    """Draw a chart: the contents of ``name.png`` and ``name.svg``."""
    import vl_convert

    return {
        f"{name}.png": vl_convert.vegalite_to_png(chart, scale=2),
        f"{name}.svg": vl_convert.vegalite_to_svg(chart).encode(),
    }


def thinned(falling: NDArray[np.float64], most: int) -> NDArray[np.int64]:
    """Choose at most so many positions of falling numbers, spread evenly over their range; both ends are among them."""
    if falling.size <= most:
        return np.arange(falling.size)
    wanted = np.linspace(-falling[0], -falling[-1], most)
    return np.unique(np.clip(np.searchsorted(-falling, wanted), 0, falling.size - 1))
