"""What a smaller gap costs: believed accuracy, and real accuracy where it is known, against the gap allowed."""

from collections.abc import Mapping, Sequence
from typing import Any

from faircrowd.fair.frontier import Frontier
from faircrowd.report.accuracy_curves import AccuracyCurve, accuracy_curves
from faircrowd.report.charts.page_chart import ChartFacts, PageChart, Specification
from faircrowd.report.charts.vega_lite import COLOURS, accuracy_ends, cut_axis_words, layered_chart, quantity, thinned

__all__ = ["FRONTIER", "frontier_chart"]

_MAX_POINTS = 400
_CURVES = (COLOURS[0], COLOURS[2], COLOURS[4])


def frontier_chart(
    frontier: Frontier,
    *,
    chosen: Sequence[Mapping[str, float]] = (),
    curves: Sequence[AccuracyCurve] | None = None,
) -> dict[str, Any]:
    """Return a chart of the frontier: accuracy against the gap allowed, and the chosen labels.

    Parameters
    ----------
    frontier : Frontier
    chosen : sequence of mapping
        Labels that dots mark: ``gap``, the gap allowed, and ``accuracy``.
    curves : sequence of AccuracyCurve, optional
        By default the believed accuracy and, where the truth is known, the real accuracy.
    """
    curves = accuracy_curves(frontier) if curves is None else curves
    at = thinned(frontier.gap, _MAX_POINTS)
    rows = [
        {"kind": curve.name, **dict(zip(("gap", "accuracy", "changed", *ends), map(float, row), strict=True))}
        for curve in curves
        for columns, ends in [_columns(curve, frontier)]
        for row in zip(*(column[at] for column in columns), strict=True)
    ]
    several = len(curves) > 1
    names = sorted((curve.name for curve in curves), key=lambda name: name == "believed")  # what is real comes first
    colour = {
        "field": "kind",
        "type": "nominal",
        "title": None,
        "legend": {"orient": "top"} if several else None,
        "scale": {"domain": names, "range": list(_CURVES[: len(names)])},
    }
    encoding: dict[str, Any] = {
        "x": quantity("gap", "largest gap allowed (epsilon)", ".2~f"),
        "y": {
            **quantity("accuracy", "accuracy" if several else f"{names[0]} accuracy", ".0%"),
            "scale": {"domain": _ends(curves, chosen)},
        },
        "color": colour,
        "tooltip": [
            *([{"field": "kind", "type": "nominal", "title": "accuracy is"}] if several else []),
            {"field": "gap", "type": "quantitative", "format": ".3f"},
            {"field": "accuracy", "type": "quantitative", "format": ".2%"},
            {"field": "changed", "type": "quantitative", "format": ",.0f", "title": "labels changed"},
        ],
    }
    place = {name: encoding[name] for name in ("x", "y")}
    layers: list[dict[str, Any]] = []
    if any(curve.low is not None for curve in curves):
        ends = {"x": encoding["x"], "y": {**place["y"], "field": "low"}, "y2": {"field": "high"}, "color": colour}
        layers.append({"mark": {"type": "area", "opacity": 0.15}, "encoding": ends})
    # A line has a single tooltip, so points carry them, visible or not.
    point = {"type": "point", "filled": True, "opacity": 1 if at.size < 40 else 0}
    layers += [
        {"mark": {"type": "line", "strokeWidth": 2.5}, "encoding": {**place, "color": colour}},
        {"mark": point, "encoding": encoding},
    ]
    if chosen:
        layers.append(
            {
                "data": {"name": "chosen", "values": [dict(point) for point in chosen]},
                "mark": {"type": "point", "filled": True, "size": 180, "color": COLOURS[1], "opacity": 1},
                "encoding": place,
            }
        )
    return layered_chart("What a smaller gap costs", {"values": rows}, layers, height=280)


def _ends(curves: Sequence[AccuracyCurve], chosen: Sequence[Mapping[str, float]]) -> list[float] | None:
    """Return the ends of the axis of accuracy."""
    parts = [part for curve in curves for part in (curve.accuracy, curve.low, curve.high) if part is not None]
    ends = [float(end) for part in parts for end in (part.min(), part.max())]
    return accuracy_ends([*ends, *(point["accuracy"] for point in chosen)])


def _columns(curve: AccuracyCurve, frontier: Frontier) -> tuple[list[Any], tuple[str, ...]]:
    columns = [frontier.gap, curve.accuracy, frontier.changed]
    if curve.low is None or curve.high is None:
        return columns, ()
    return [*columns, curve.low, curve.high], ("low", "high")


def _make(facts: ChartFacts) -> Specification:
    return frontier_chart(facts.frontier, chosen=facts.chosen)


def _caption(facts: ChartFacts) -> str:
    real = ", and their real accuracy" if facts.frontier.real_accuracy is not None else ""
    dots = "the dots mark" if real else "the dot marks"
    return (
        f"The best believed accuracy that labels drawn at random reach on average, for every gap allowed{real}; "
        f"{dots} the labels of the slider's epsilon."
        f"{cut_axis_words(_ends(accuracy_curves(facts.frontier), facts.chosen))}"
    )


FRONTIER = PageChart("frontier", "frontier", _make, _caption)
