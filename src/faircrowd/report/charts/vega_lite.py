"""Vega-Lite specifications as plain dictionaries, and pictures of them without a browser."""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from faircrowd._extras import need

__all__ = [
    "COLOURS",
    "PNG_SCALE",
    "ROW_HEIGHT",
    "accuracy_ends",
    "cut_axis_words",
    "images",
    "layered_chart",
    "of_fixed_width",
    "picture",
    "quantity",
    "thinned",
]

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#999999", "#666666")
"""The palette of Okabe and Ito, whose colours colour-blind people can tell apart."""

ROW_HEIGHT = 48
"""Height in pixels of one row of a chart that has a row per group."""

_SCHEMA = "https://vega.github.io/schema/vega-lite/v6.json"
_WIDTH = 560
_LEAST_SPAN = 0.2
"""How much of an axis of accuracy is shown at least: where it fits the values, a point would look like a cliff."""
PNG_SCALE = 2
"""Pixels of a PNG per point of its chart."""


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


def accuracy_ends(values: Iterable[float]) -> list[float] | None:
    """Return the ends of an axis of accuracy on which one point looks like one point: 20 points apart, or more.

    None if values are no shares, such as gains of one's own.

    Examples
    --------
    >>> accuracy_ends([0.931, 0.938]), accuracy_ends([0.02, 0.05]), accuracy_ends([0.42, 0.87])
    ([0.75, 0.95], [0.0, 0.2], [0.4, 0.9])
    """
    found = list(values)
    if not found or min(found) < 0 or max(found) > 1:
        return None
    low, high = math.floor(20 * min(found) + 1e-9) / 20, math.ceil(20 * max(found) - 1e-9) / 20
    low = max(min(low, high - _LEAST_SPAN), 0.0)
    return [round(low, 2), round(max(high, low + _LEAST_SPAN), 2)]


def cut_axis_words(ends: Sequence[float] | None) -> str:
    """Return a sentence that says where an axis of accuracy begins, with a space before it; nothing if at 0.

    Examples
    --------
    >>> cut_axis_words([0.75, 0.95]), cut_axis_words([0.0, 0.2])
    (' The axis of accuracy shows 75% to 95% alone.', '')
    """
    return "" if not ends or ends[0] == 0 else f" The axis of accuracy shows {ends[0]:.0%} to {ends[1]:.0%} alone."


def images(name: str, chart: dict[str, Any]) -> dict[str, bytes]:
    """Draw a chart; return the contents of ``name.png`` and ``name.svg``."""
    return {f"{name}.{kind}": picture(chart, kind) for kind in ("png", "svg")}


def picture(chart: Mapping[str, Any], kind: str) -> bytes:
    """Draw a chart as "png", of twice as many pixels as it has points, or as "svg"."""
    need("vl_convert", "app", "A picture of a chart")
    import vl_convert

    fixed = of_fixed_width(chart)
    if kind == "png":
        return bytes(vl_convert.vegalite_to_png(fixed, scale=PNG_SCALE))
    return str(vl_convert.vegalite_to_svg(fixed)).encode()


def of_fixed_width(chart: Mapping[str, Any]) -> dict[str, Any]:
    """Return a chart on white ground that does not ask how wide its page is."""
    fixed = {**chart, "background": "white"}
    if chart.get("width") == "container":
        fixed["width"] = _WIDTH
    return fixed


def thinned(falling: NDArray[np.float64], most: int) -> NDArray[np.int64]:
    """Choose at most ``most`` positions of falling numbers, spread evenly over their range and including both ends."""
    if falling.size <= most:
        return np.arange(falling.size)
    wanted = np.linspace(-falling[0], -falling[-1], most)
    return np.unique(np.clip(np.searchsorted(-falling, wanted), 0, falling.size - 1))
