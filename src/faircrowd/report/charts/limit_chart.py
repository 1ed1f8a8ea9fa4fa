"""What another limit of a constraint costs: the best believed value against the limit, the others fixed."""

from collections.abc import Sequence

from faircrowd.fair.general.limit_frontier import LevelPoint
from faircrowd.report.charts.page_chart import Specification
from faircrowd.report.charts.vega_lite import COLOURS, accuracy_ends, layered_chart, quantity

__all__ = ["limit_chart", "limit_ends"]


def limit_ends(points: Sequence[LevelPoint]) -> list[float] | None:
    """Return the ends of the axis of value; None where values are no shares."""
    return accuracy_ends(
        value for point in points for value in (point.value, point.randomized) if value is not None and point.can_hold
    )


def limit_chart(points: Sequence[LevelPoint], own: float, text: str, objective: str) -> Specification:
    """Return a chart of what each limit of a constraint gives.

    A line shows the best that labels drawn at random reach on average, dots the labels of each limit, and a larger dot
    those of the limit that the constraint has.

    Parameters
    ----------
    points : sequence of LevelPoint
        Those where the constraints cannot hold are left out.
    own : float
        The limit that was asked for.
    text, objective : str
        What the constraint and the value are called.
    """
    rows = [
        {"limit": point.limit, "value": point.value, "randomized": point.randomized}
        for point in points
        if point.can_hold
    ]
    x = quantity("limit", f"limit of {text}", ".2~f", zero=False)
    ends = limit_ends(points)
    form = ".0%" if objective == "accuracy" else ".3~f"
    scale = {"zero": False} if ends is None else {"domain": ends}
    y = quantity("value", f"believed {objective}", form) | {"scale": scale}
    place, best = {"x": x, "y": y}, {"x": x, "y": {**y, "field": "randomized"}}
    layers = [
        {"mark": {"type": "line", "strokeWidth": 2.5, "color": COLOURS[0]}, "encoding": best},
        {"mark": {"type": "point", "filled": True, "size": 40, "color": COLOURS[0], "opacity": 1}, "encoding": place},
        {
            "data": {"name": "chosen", "values": [row for row in rows if row["limit"] == own]},
            "mark": {"type": "point", "filled": True, "size": 180, "color": COLOURS[1], "opacity": 1},
            "encoding": place,
        },
    ]
    return layered_chart("What another limit costs", {"values": rows}, layers, height=280)
