"""The marks of a chart as elements of SVG, with places along x in per cent of its width."""

import math
from collections.abc import Callable, Mapping
from html import escape
from typing import Any

from faircrowd.report.drawing.axis_scales import Axis, Names, Numbers, number_text
from faircrowd.report.drawing.chart_layers import ChartLayer, ReadChart, Row

__all__ = ["RAMP", "draw_layer", "percent", "short_number", "symbol"]

RAMP = ("#440154", "#482878", "#3e4989", "#31688e", "#26828e", "#1f9e89", "#35b779", "#6ece58", "#b5de2b", "#fde725")
"""The scheme viridis, from the lowest to the highest amount."""
_USUAL_SIZE, _USUAL_TICK = 30.0, 14
_CURVE = 1000
"""How many units the width of a chart has for lines, which cannot have places in per cent."""
_SHAPES: tuple[Callable[[float], str], ...] = (
    lambda r: f"M{r:g},0A{r:g},{r:g},0,1,1,-{r:g},0A{r:g},{r:g},0,1,1,{r:g},0",
    lambda r: f"M-{r:g},-{r:g}h{2 * r:g}v{2 * r:g}h-{2 * r:g}z",
    lambda r: f"M0,-{r:g}L{r:g},{r:g}L-{r:g},{r:g}z",
)
"""A circle, a square and a triangle."""


def draw_layer(chart: ReadChart, layer: ChartLayer) -> str:
    """Return the marks of one layer, those of one colour together."""
    if layer.mark in ("line", "area"):
        return _curves(chart, layer)
    draw = _DRAWN[layer.mark]
    by_colour: dict[str, list[str]] = {}
    for row in layer.rows:
        place = Placed(chart, layer, row)
        if layer.encoding.get("color", {}).get("type") == "quantitative":
            colour = _viridis(float(row[layer.encoding["color"]["field"]]), layer.encoding["color"]["scale"]["domain"])
        else:
            colour = "" if layer.mark == "text" else layer.colour(row)
        by_colour.setdefault(colour, []).append(draw(place))
    live = (
        f' data-marks="{escape(layer.name)}" data-x="{_ends(chart.x)}" data-y="{_ends(chart.y)}"' if layer.name else ""
    )
    opacity = layer.looks.get("opacity", 1)
    faint = "" if opacity == 1 else f' opacity="{opacity:g}"'
    if opacity == 0:
        return ""
    wide = f' stroke-width="{layer.looks["strokeWidth"]:g}"' if "strokeWidth" in layer.looks else ""
    groups = []
    for colour, marks in by_colour.items():
        ink = f' fill="{colour}" stroke="{colour}"' if colour else ""
        groups.append(f'<g class="mark-{layer.mark}"{ink}{faint}{wide}{live}>{"".join(marks)}</g>')
    return "".join(groups)


class Placed:
    """A row of a layer and where its mark is."""

    def __init__(self, chart: ReadChart, layer: ChartLayer, row: Row) -> None:
        self.chart, self.layer, self.row = chart, layer, row

    def x(self, channel: str = "x") -> float:
        """Return the place along x, from 0 to 1."""
        return self._place(self.chart.x, channel)

    def y(self, channel: str = "y") -> str:
        """Return the place along y in pixels from above."""
        return short_number(self.y_number(channel))

    def y_number(self, channel: str = "y") -> float:
        """Return the same as a number."""
        height = self.chart.height
        if isinstance(self.chart.y, Numbers):
            return height * (1 - self._place(self.chart.y, channel))
        middle = height * self._place(self.chart.y, channel)
        offset = self.layer.encoding.get("yOffset")
        if offset is None:
            return middle
        names: list[Any] = offset["scale"]["domain"]
        share = (names.index(self.row[offset["field"]]) + 0.5) / len(names) - 0.5
        return middle + 0.8 * share * height / len(self.chart.y.values)

    def _place(self, axis: Axis, channel: str) -> float:
        value: Any = self.row[self.layer.encoding[channel]["field"]]
        return float(axis.place(value))

    def has(self, channel: str) -> bool:
        """Return whether the layer says something about a channel."""
        return channel in self.layer.encoding

    def title(self) -> str:
        """Return what is shown when a pointer rests on the mark."""
        said = self.layer.encoding.get("tooltip", [])
        lines = []
        for item in said:
            value = self.row.get(item["field"])
            if value is None:
                continue
            text = number_text(value, item["format"]) if "format" in item else str(value)
            lines.append(f"{item.get('title', item['field'])}: {' '.join(text.split())}")
        return f"<title>{escape(chr(10).join(lines))}</title>" if lines else ""


def _closed(tag: str, place: Placed) -> str:
    title = place.title()
    return f"{tag}>{title}</{tag[1 : tag.index(' ')]}>" if title else f"{tag}/>"


def _point(place: Placed) -> str:
    radius = short_number(math.sqrt(place.layer.looks.get("size", _USUAL_SIZE) / math.pi))
    shape = place.layer.encoding.get("shape")
    number = 0 if shape is None else shape["scale"]["domain"].index(place.row[shape["field"]])
    if number == 0:
        return _closed(f'<circle cx="{percent(place.x())}" cy="{place.y()}" r="{radius}"', place)
    path = symbol(number, float(radius))
    title = place.title()
    return f'<svg x="{percent(place.x())}" y="{place.y()}"><path d="{path}">{title}</path></svg>'


def _rule(place: Placed) -> str:
    x, y = percent(place.x()), place.y()
    x2 = percent(place.x("x2")) if place.has("x2") else x
    y2 = place.y("y2") if place.has("y2") else y
    return f'<line x1="{x}" x2="{x2}" y1="{y}" y2="{y2}"/>'


def _bar(place: Placed) -> str:
    chart, size = place.chart, place.layer.encoding.get("size")
    assert isinstance(chart.x, Numbers)  # noqa: S101 - checked by read_chart
    assert isinstance(chart.y, Names)  # noqa: S101
    first, last = sorted((place.x(), place.x("x2") if place.has("x2") else chart.x.place(0.0)))
    thick = 0.8 * chart.height / len(chart.y.values)
    if size is not None:
        (low, high), ends = size["scale"]["range"], map(float, size["scale"]["domain"])
        share = Numbers(next(ends), next(ends), size["scale"]["type"]).place(place.row[size["field"]])
        thick = low + (high - low) * share
    box = f'<rect x="{percent(first)}" width="{percent(last - first)}" y="{short_number(place.y_number() - thick / 2)}"'
    box += f' height="{short_number(thick)}"'
    return _closed(box, place)


def _tick(place: Placed) -> str:
    half = place.layer.looks.get("size", _USUAL_TICK) / 2
    thick = place.layer.looks.get("thickness", 1)
    x, y = percent(place.x()), place.y_number()
    line = (
        f'<line x1="{x}" x2="{x}" y1="{short_number(y - half)}" y2="{short_number(y + half)}" stroke-width="{thick:g}"'
    )
    return _closed(line, place)


def _rect(place: Placed) -> str:
    chart = place.chart
    assert isinstance(chart.x, Names)  # noqa: S101 - checked by read_chart
    assert isinstance(chart.y, Names)  # noqa: S101
    width, height = 1 / len(chart.x.values), chart.height / len(chart.y.values)
    box = f'<rect x="{percent(place.x() - width / 2)}" width="{percent(width)}"'
    return _closed(f'{box} y="{short_number(place.y_number() - height / 2)}" height="{short_number(height)}"', place)


def _text(place: Placed) -> str:
    said, looks = place.layer.encoding["text"], place.layer.looks
    value = place.row[said["field"]]
    text = number_text(value, said["format"]) if "format" in said else str(value)
    anchor = {"right": "end", "left": "start"}.get(looks.get("align", "center"), "middle")
    at = f'x="{percent(place.x())}" y="{place.y()}" dx="{looks.get("dx", 0):g}" dy=".35em"'
    return f'<text {at} text-anchor="{anchor}">{escape(text)}</text>'


def _curves(chart: ReadChart, layer: ChartLayer) -> str:
    """Return lines, or areas between two of them: one for each colour, in a box that is stretched to the width."""
    colour = layer.encoding.get("color")
    series: dict[str, list[Row]] = {}
    for row in layer.rows:
        if row.get(layer.encoding["y"]["field"]) is not None:
            series.setdefault(str(row[colour["field"]]) if colour else "", []).append(row)
    box = f'<svg class="mark-{layer.mark}" width="100%" height="{chart.height}" viewBox="0 0 {_CURVE} {chart.height}"'
    paths = []
    for rows in series.values():
        rows = sorted(rows, key=lambda row: row[layer.encoding["x"]["field"]])
        there = [Placed(chart, layer, row) for row in rows]
        places = [f"{short_number(_CURVE * place.x())},{place.y()}" for place in there]
        ink = layer.colour(rows[0])
        if layer.mark == "area":
            back = [f"{short_number(_CURVE * place.x())},{place.y('y2')}" for place in reversed(there)]
            opacity = layer.looks.get("opacity", 1)
            paths.append(f'<path d="M{"L".join([*places, *back])}z" fill="{ink}" opacity="{opacity:g}"/>')
            continue
        dashes = " ".join(map(str, layer.looks.get("strokeDash", ())))
        dashed = f' stroke-dasharray="{dashes}"' if dashes else ""
        wide = layer.looks.get("strokeWidth", 2)
        paths.append(
            f'<path d="M{"L".join(places)}" fill="none" stroke="{ink}" stroke-width="{wide:g}"{dashed} '
            'vector-effect="non-scaling-stroke"/>'
        )
    return f'{box} preserveAspectRatio="none">{"".join(paths)}</svg>'


_DRAWN: Mapping[str, Callable[[Placed], str]] = {
    "point": _point,
    "rule": _rule,
    "bar": _bar,
    "tick": _tick,
    "rect": _rect,
    "text": _text,
}


def symbol(number: int, radius: float) -> str:
    """Return the path of a mark: shapes differ for readers who do not see colours."""
    return _SHAPES[number % len(_SHAPES)](radius)


def _viridis(value: float, domain: Any) -> str:
    """Return the colour of an amount: that of the scheme viridis."""
    place = Numbers(float(domain[0]), float(domain[1])).place(value) * (len(RAMP) - 1)
    first = min(int(place), len(RAMP) - 2)
    parts = []
    for i in (1, 3, 5):
        low, high = (int(RAMP[first + j][i : i + 2], 16) for j in (0, 1))
        parts.append(f"{round(low + (high - low) * (place - first)):02x}")
    return f"#{''.join(parts)}"


def _ends(axis: Axis) -> str:
    """Return an axis of numbers for the script of the page, which moves marks on it; nothing for one of names."""
    return f"{axis.low!r},{axis.high!r},{axis.inset!r}" if isinstance(axis, Numbers) else ""


def percent(place: float) -> str:
    """Return a place from 0 to 1 in per cent.

    Examples
    --------
    >>> percent(0.125)
    '12.5%'
    """
    return f"{short_number(100 * place)}%"


def short_number(number: float) -> str:
    """Return a number with two decimals at most.

    Examples
    --------
    >>> short_number(12.0), short_number(3.14159), short_number(-0.001)
    ('12', '3.14', '0')
    """
    text = f"{number:.2f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text
