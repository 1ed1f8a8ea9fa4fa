"""What a smaller gap costs: believed accuracy against the gap allowed."""

from typing import Any

from faircrowd.fair.frontier import Frontier
from faircrowd.report.charts.page_chart import ChartFacts, PageChart, Specification
from faircrowd.report.charts.vega_lite import COLOURS, layered_chart, quantity, thinned

__all__ = ["FRONTIER", "frontier_chart"]

_MAX_POINTS = 400


def frontier_chart(frontier: Frontier, *, chosen: float | None = None) -> dict[str, Any]:
    """Return a chart of the frontier: believed accuracy against the gap allowed, and the chosen point."""
    at = thinned(frontier.gap, _MAX_POINTS)
    columns = (frontier.gap[at], frontier.believed_accuracy[at], frontier.changed[at])
    names = ("gap", "accuracy", "changed")
    rows = [dict(zip(names, map(float, row), strict=True)) for row in zip(*columns, strict=True)]
    encoding = {
        "x": quantity("gap", "largest gap allowed (epsilon)", ".2~f"),
        "y": quantity("accuracy", "believed accuracy", ".1%", zero=False),
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
                "data": {"name": "chosen", "values": [{"gap": at_chosen.gap, "accuracy": at_chosen.believed_accuracy}]},
                "mark": {"type": "point", "filled": True, "size": 180, "color": COLOURS[1], "opacity": 1},
                "encoding": place,
            }
        )
    return layered_chart("What a smaller gap costs", {"values": rows}, layers, height=280)


def _make(facts: ChartFacts) -> Specification:
    frontier = facts.result.frontier
    return frontier_chart(frontier, chosen=min(facts.result.certificate.epsilon, float(frontier.gap[0])))


FRONTIER = PageChart(
    "frontier",
    "frontier",
    _make,
    lambda facts: (
        "Believed accuracy of the best labels for every gap allowed; the dot marks the epsilon of the slider."
    ),
)
