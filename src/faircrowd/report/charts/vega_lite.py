"""Vega-Lite specifications as plain dictionaries, and pictures of them without a browser."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["COLOURS", "ROW_HEIGHT", "images", "layered_chart", "quantity", "thinned"]

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#999999", "#666666")
"""The palette of Okabe and Ito, whose colours colour-blind people can tell apart."""

ROW_HEIGHT = 48
"""Height in pixels of one row of a chart that has a row per group."""

_SCHEMA = "https://vega.github.io/schema/vega-lite/v6.json"
_WIDTH = 560


def layered_chart(title: str, data: Mapping[str, Any], layers: list[dict[str, Any]], *, height: int) -> dict[str, Any]:
    """Return a chart of several layers that is as wide as the page."""
    return {
        "$schema": _SCHEMA,
        "title": title,
        "width": "container",
        "height": height,
        "autosize": {"type": "fit-x", "contains": "padding"},
        "data": data,
        "layer": layers,
    }


def quantity(field: str, title: str, form: str, *, zero: bool = True) -> dict[str, Any]:
    """Return the encoding of a number on an axis."""
    axis = {"format": form, "tickCount": 6}
    return {"field": field, "type": "quantitative", "title": title, "scale": {"zero": zero}, "axis": axis}


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
