"""What another limit of a constraint costs: the best believed value against the limit, the others fixed."""

from collections.abc import Sequence

from faircrowd.fair.general.constrained_result import LevelPoint
from faircrowd.report.charts.page_chart import Specification
from faircrowd.report.charts.vega_lite import COLOURS, layered_chart, quantity

__all__ = ["limit_chart"]


def limit_chart(points: Sequence[LevelPoint], own: float, text: str, objective: str) -> Specification:
    """Return a chart of the value at each limit of a constraint; a dot marks its own.

    Parameters
    ----------
    points : sequence of LevelPoint
        NaN where the constraints cannot hold.
    own : float
        The limit that was asked for.
    text, objective : str
        What the constraint and the value are called.
    """
    rows = [{"limit": point.limit, "value": point.value} for point in points if point.value == point.value]
    place = {
        "x": quantity("limit", f"limit of {text}", ".2~f", zero=False),
        "y": quantity("value", f"believed {objective}", ".1%" if objective == "accuracy" else ".3f", zero=False),
    }
    layers = [
        {"mark": {"type": "line", "strokeWidth": 2.5, "color": COLOURS[0], "point": True}, "encoding": place},
        {
            "data": {"name": "chosen", "values": [row for row in rows if row["limit"] == own]},
            "mark": {"type": "point", "filled": True, "size": 180, "color": COLOURS[1], "opacity": 1},
            "encoding": place,
        },
    ]
    return layered_chart("What another limit costs", {"values": rows}, layers, height=280)
