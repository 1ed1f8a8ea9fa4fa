"""The charts of the page, one module each.

``CHARTS`` is the registry: the page shows every chart in its section, and ``images`` draws it as PNG and SVG. To add a
chart, write a module with a :class:`PageChart` and list it at the end of this file.
"""

from typing import NamedTuple

from faircrowd.report.charts.frontier_chart import FRONTIER, frontier_chart
from faircrowd.report.charts.funnel_chart import FUNNEL
from faircrowd.report.charts.page_chart import ChartFacts, PageChart, Specification
from faircrowd.report.charts.posterior_chart import POSTERIOR
from faircrowd.report.charts.rates_chart import RATES
from faircrowd.report.charts.reliability_chart import RELIABILITY
from faircrowd.report.charts.vega_lite import COLOURS, images

__all__ = [
    "CHARTS",
    "COLOURS",
    "ChartFacts",
    "PageChart",
    "PlacedChart",
    "draw",
    "frontier_chart",
    "images",
    "register",
]

CHARTS: dict[str, PageChart] = {}
"""Every chart of the page by name, in the order in which the page shows those of a section."""


class PlacedChart(NamedTuple):
    """A chart made for a run: its name, section, caption and specification."""

    name: str
    section: str
    caption: str
    specification: Specification


def register(chart: PageChart) -> None:
    """Add a chart to the page."""
    CHARTS[chart.name] = chart


def draw(facts: ChartFacts) -> list[PlacedChart]:
    """Make every chart that has something to show."""
    made = [(chart, chart.make(facts)) for chart in CHARTS.values()]
    return [PlacedChart(c.name, c.section, c.caption(facts), found) for c, found in made if found is not None]


for _chart in (FRONTIER, RATES, POSTERIOR, RELIABILITY, FUNNEL):
    register(_chart)
