"""A chart as SVG inside the page: places along x are shares of its width, so that it fits any screen."""

import math
import textwrap
from collections.abc import Iterable
from html import escape

from faircrowd.report.charts.page_chart import Specification
from faircrowd.report.drawing.axis_scales import Names, Numbers, number_text
from faircrowd.report.drawing.chart_layers import ReadChart, read_chart
from faircrowd.report.drawing.svg_marks import RAMP, draw_layer, percent, short_number, symbol

__all__ = ["draw_chart"]

_LETTER, _CAPITAL, _LINE = 6.7, 8.6, 14
"""Width of a letter and of a capital, and height of a line of the small print of a chart, in pixels."""
_LONGEST_LINE = 22
_RIGHT, _BELOW = 22, 44


def draw_chart(specification: Specification) -> str | None:
    """Return a chart as HTML with SVG in it; None if it asks for something that is not drawn here.

    Parameters
    ----------
    specification : dict
        Vega-Lite, of which layers of areas, bars, lines, points, rectangles, rules, texts and ticks are drawn.

    Examples
    --------
    >>> bars = {"mark": "bar", "encoding": {"x": {"field": "n", "type": "quantitative"}, "y": {"field": "who"}}}
    >>> rows = [{"who": "<a>", "n": 1}, {"who": "b", "n": 4}]
    >>> print(draw_chart({"data": {"values": rows}, "layer": [bars], "height": 60}).count("<rect"))
    2
    >>> draw_chart({"data": {"values": rows}, "layer": [{**bars, "mark": "arc"}], "height": 60})
    """
    chart = read_chart(specification)
    if chart is None:
        return None
    chart = _with_room(chart)
    labels = _name_labels(chart)
    left, above = _left(chart, labels), _above(chart)
    style = f"width:calc(100% - {left + _RIGHT}px);margin:{above}px {_RIGHT}px {_below(chart)}px {left}px"
    parts = [
        _legend(chart),
        _title_of_y(chart),
        f'<svg class="drawn" style="{style}" height="{chart.height}">',
        *_frame(chart, labels),
        *(draw_layer(chart, layer) for layer in chart.layers),
        "</svg>",
    ]
    return "".join(parts)


def _with_room(chart: ReadChart) -> ReadChart:
    """Make rows high enough for names of two lines."""
    if not isinstance(chart.y, Names) or isinstance(chart.x, Names):
        return chart
    least = (2 * _LINE + 4) * len(chart.y.values)
    return ReadChart(chart.layers, chart.x, chart.y, max(chart.height, least))


# Axes.


def _name_labels(chart: ReadChart) -> list[list[str]]:
    """Return the names along y, broken into lines that fit beside their rows."""
    if not isinstance(chart.y, Names):
        return []
    most = max(int(chart.height / len(chart.y.values) // _LINE), 1)
    found = []
    for value in chart.y.values:
        lines = textwrap.wrap(str(value), _LONGEST_LINE) or [""]
        if len(lines) > most:
            lines = [*lines[: most - 1], f"{lines[most - 1][: _LONGEST_LINE - 1]}…"]
        found.append(lines)
    return found


def _width(text: str) -> int:
    """Return about how wide a text is, in pixels: no font is asked, so that every machine draws the same."""
    return math.ceil(sum(_CAPITAL if letter.isupper() or ord(letter) > 0x2000 else _LETTER for letter in text))


def _left(chart: ReadChart, labels: list[list[str]]) -> int:
    if labels:
        return max(_width(line) for lines in labels for line in lines) + 14
    return max((_width(text) for _, text in _tick_texts(chart, "y")), default=20) + 14


def _above(chart: ReadChart) -> int:
    if not isinstance(chart.x, Names):
        return 8
    return 14 + max(_width(str(value)) for value in chart.x.values)


def _below(chart: ReadChart) -> int:
    return 8 if isinstance(chart.x, Names) else _BELOW


def _tick_texts(chart: ReadChart, channel: str) -> list[tuple[float, str]]:
    """Return the numbers at an axis: their places from 0 to 1, and their texts."""
    axis = chart.x if channel == "x" else chart.y
    if not isinstance(axis, Numbers):
        return []
    said = chart.definition("x" if channel == "x" else "y").get("axis") or {}
    count = int(said.get("tickCount", 6))
    ticks = axis.ticks(count)
    if said.get("tickMinStep") == 1:
        ticks = [value for value in ticks if value == round(value)]
    return [(axis.place(value), number_text(value, said.get("format", ","))) for value in ticks]


def _frame(chart: ReadChart, labels: list[list[str]]) -> Iterable[str]:
    """Yield grid, ticks, names and the title of x."""
    height = chart.height
    across = _tick_texts(chart, "x")
    upward = _tick_texts(chart, "y")
    yield '<g class="grid">'
    for place, _ in across:
        yield f'<line x1="{percent(place)}" x2="{percent(place)}" y1="0" y2="{height}"/>'
    for place, _ in upward:
        yield f'<line x1="0" x2="100%" y1="{_up(place, height)}" y2="{_up(place, height)}"/>'
    if labels and not isinstance(chart.x, Names):
        for number in range(1, len(labels)):
            at = short_number(height * number / len(labels))
            yield f'<line x1="0" x2="100%" y1="{at}" y2="{at}"/>'
    yield '</g><g class="axis">'
    every_other = len(across) > 4
    for number, (place, text) in enumerate(across):
        odd = ' class="odd"' if every_other and number % 2 else ""
        yield f'<text{odd} x="{percent(place)}" y="{height + 18}" text-anchor="middle">{escape(text)}</text>'
    for place, text in upward:
        yield f'<text x="-8" y="{_up(place, height)}" dy=".35em" text-anchor="end">{escape(text)}</text>'
    for number, lines in enumerate(labels):
        middle = height * (number + 0.5) / len(labels) - _LINE * (len(lines) - 1) / 2
        for line, text in enumerate(lines):
            at = short_number(middle + _LINE * line)
            yield f'<text x="-8" y="{at}" dy=".35em" text-anchor="end">{escape(text)}</text>'
    if isinstance(chart.x, Names):
        for value in chart.x.values:
            text = f'<text transform="rotate(-90)" dy=".35em">{escape(str(value))}</text>'
            yield f'<svg class="upright" x="{percent(chart.x.place(value))}" y="-6">{text}</svg>'
    title = chart.definition("x").get("title")
    if title and not isinstance(chart.x, Names):
        yield f'<text class="title" x="50%" y="{height + 38}" text-anchor="middle">{escape(title)}</text>'
    yield "</g>"


def _title_of_y(chart: ReadChart) -> str:
    title = chart.definition("y").get("title")
    return f'<p class="axis-title">{escape(title)}</p>' if title else ""


def _legend(chart: ReadChart) -> str:
    """Return what colours and shapes stand for."""
    colour = chart.definition("color")
    if colour.get("type") == "quantitative":
        ends = [number_text(end, colour["legend"]["format"]) for end in colour["scale"]["domain"]]
        ramp = ", ".join(RAMP)
        return (
            f'<p class="legend">{escape(colour["title"])} {ends[0]} '
            f'<span class="ramp" style="background:linear-gradient(to right, {ramp})"></span> {ends[1]}</p>'
        )
    if not colour or not colour.get("legend"):
        return ""
    names, colours = colour["scale"]["domain"], colour["scale"]["range"]
    with_shapes = any("shape" in layer.encoding for layer in chart.layers)
    items = []
    for number, text in enumerate(names):
        path = symbol(number if with_shapes else 0, 4.5)
        dot = f'<svg width="14" height="12" aria-hidden="true"><path transform="translate(7,6)" d="{path}"'
        items.append(f'<li>{dot} fill="{colours[number]}" stroke="{colours[number]}"/></svg>{escape(text)}</li>')
    return f'<ul class="legend">{"".join(items)}</ul>'


def _up(place: float, height: int) -> str:
    return short_number(height * (1 - place))
