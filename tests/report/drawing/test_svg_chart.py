"""Charts as the page draws them: marks are where Vega puts them, and what is not drawn here is said to be so."""

import re
from html.parser import HTMLParser
from typing import Any

import numpy as np
import pytest
import vl_convert

from faircrowd.fair.frontier import Frontier
from faircrowd.report.charts import frontier_chart
from faircrowd.report.charts.rates_chart import rates_chart
from faircrowd.report.charts.vega_lite import COLOURS, layered_chart, of_fixed_width, quantity
from faircrowd.report.drawing.axis_scales import nice_ticks, numbers_of
from faircrowd.report.drawing.svg_chart import draw_chart

WIDTH = 560
GAP = np.array([0.4, 0.25, 0.1, 0.0])
CURVE = Frontier(GAP, GAP, np.arange(4.0), np.array([0.93, 0.9, 0.84, 0.81]), 0.0, exact=True)
RATES = [
    {"row": f"{label}, {group}", "labels": kind, "rate": rate, "low": rate - 0.05, "high": rate + 0.07}
    for label, group, kind, rate in [("a", "x", "before", 0.31), ("a", "y", "before", 0.52), ("b", "x", "before", 0.66)]
]


class Marks(HTMLParser):
    """The attributes of all elements of a kind in some SVG."""

    def __init__(self, text: str, kind: str) -> None:
        super().__init__()
        self.kind, self.found = kind, list[dict[str, Any]]()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == self.kind:
            self.found.append(dict(attrs))


def ours(chart: dict[str, Any]) -> list[tuple[float, float]]:
    """Where the dots of a chart are, in pixels, if it is as wide as Vega's."""
    drawn = draw_chart(chart)
    assert drawn is not None
    dots = Marks(drawn, "circle").found
    return sorted((WIDTH * float(dot["cx"].rstrip("%")) / 100, float(dot["cy"])) for dot in dots)


def of_vega(chart: dict[str, Any]) -> list[tuple[float, float]]:
    text = vl_convert.vegalite_to_svg({**of_fixed_width(chart), "autosize": "pad", "width": WIDTH})
    symbols = re.findall(r'aria-roledescription="point"[^>]*transform="translate\(([-\d.e]+),([-\d.e]+)\)"', text)
    return sorted((float(x), float(y)) for x, y in symbols)


@pytest.mark.parametrize(
    "chart",
    [
        frontier_chart(CURVE, chosen=[{"gap": 0.1, "accuracy": 0.84}]),
        rates_chart(RATES) | {"height": 96},
        layered_chart(
            "a scatter",
            {"values": [{"a": a, "b": b} for a, b in [(1, 30), (3.7, 11), (8.2, 95)]]},
            [
                {
                    "mark": "point",
                    "encoding": {"x": quantity("a", "a", ".1f"), "y": quantity("b", "b", ".0f", zero=False)},
                }
            ],
            height=200,
        ),
    ],
    ids=["frontier", "rates", "scatter"],
)
def test_dots_are_where_vega_puts_them(chart: dict[str, Any]) -> None:
    expected = of_vega(chart)
    assert len(expected) >= 3
    np.testing.assert_allclose([x for x, _ in ours(chart)], [x for x, _ in expected], atol=0.6)
    is_names = "yOffset" in chart["layer"][0]["encoding"]  # how much is free between rows is our own choice
    np.testing.assert_allclose([y for _, y in ours(chart)], [y for _, y in expected], atol=2.1 if is_names else 0.6)


def test_ticks_are_those_of_vega() -> None:
    for low, high in [(0, 1), (0.62, 0.87), (0, 0.231), (3, 917), (0.0004, 0.0031)]:
        spec = {
            "data": {"values": [{"v": low}, {"v": high}]},
            "mark": "point",
            "encoding": {
                "x": {
                    "field": "v",
                    "type": "quantitative",
                    "scale": {"domain": [low, high], "nice": False},
                    "axis": {"tickCount": 6, "format": ".6f"},
                }
            },
        }
        text = vl_convert.vegalite_to_svg({**spec, "width": 900})
        shown = [float(number) for number in re.findall(r">(\d+\.\d{6})</text>", text)]
        assert nice_ticks(low, high, 6) == pytest.approx(shown)


def test_axes_begin_and_end_at_round_numbers() -> None:
    assert numbers_of([0.1, 0.87]).low == 0
    assert (numbers_of([11.0, 95.0], zero=False).low, numbers_of([11.0, 95.0], zero=False).high) == (10, 100)
    assert numbers_of([0.0, 0.0]).high == 1
    assert numbers_of([]).high == 1


def test_names_are_text_and_are_broken_into_lines() -> None:
    long = "a group with a name of many words & <b>"
    rows = [{"who": name, "n": 1} for name in (long, "</svg><script>alert(1)</script>")]
    bars = {
        "mark": {"type": "bar", "color": COLOURS[0]},
        "encoding": {"x": quantity("n", "<i>", ",d"), "y": {"field": "who"}},
    }
    drawn = draw_chart(layered_chart("t", {"values": rows}, [bars], height=80))
    assert drawn is not None
    assert "<script" not in drawn
    assert "<i>" not in drawn
    assert "a group with a name of</text>" in drawn
    assert "many words &amp; &lt;b&gt;</text>" in drawn


@pytest.mark.parametrize(
    "change",
    [
        {"mark": "arc"},
        {"encoding": {"x": {**quantity("n", "n", ",d"), "aggregate": "sum"}, "y": {"field": "who"}}},
        {"encoding": {"x": quantity("n", "n", ",d"), "y": quantity("n", "n", ",d")}},
        {"encoding": {"x": quantity("n", "n", ",d"), "y": {"field": "who"}, "color": {"field": "who"}}},
        {"transform": []},
    ],
    ids=["mark", "aggregate", "two axes of numbers", "colours to choose", "transform"],
)
def test_what_is_not_drawn_here_is_left_to_others(change: dict[str, Any]) -> None:
    bars = {"mark": "bar", "encoding": {"x": quantity("n", "n", ",d"), "y": {"field": "who"}}}
    rows = {"values": [{"who": "a", "n": 1}, {"who": "b", "n": 4}]}
    assert draw_chart(layered_chart("t", rows, [bars], height=80)) is not None
    assert draw_chart(layered_chart("t", rows, [bars | change], height=80)) is None
