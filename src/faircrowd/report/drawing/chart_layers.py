"""What a Vega-Lite specification says, as far as the page draws it itself: layers, axes, colours and legends."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from faircrowd.report.charts.page_chart import Specification
from faircrowd.report.charts.vega_lite import COLOURS
from faircrowd.report.drawing.axis_scales import Axis, Names, Numbers, numbers_of

__all__ = ["MARKS", "ChartLayer", "ReadChart", "Row", "read_chart"]

MARKS = ("area", "bar", "line", "point", "rect", "rule", "text", "tick")
_KEYS = {"$schema", "title", "width", "height", "autosize", "data", "layer"}
_CHANNELS = {"x", "y", "x2", "y2", "yOffset", "color", "shape", "size", "text", "tooltip"}
_OF_CHANNEL = {"field", "type", "title", "scale", "axis", "legend", "format"}
_OF_SCALE = {"domain", "range", "zero", "nice", "padding", "type", "scheme"}
_NEEDED = {
    "color": {"domain", "range"},
    "shape": {"domain"},
    "yOffset": {"domain"},
    "size": {"domain", "range", "type"},
}
"""What the scale of a channel must say, as nothing is chosen here."""
_AXES = {"bar": (Numbers, Names), "tick": (Numbers, Names), "rect": (Names, Names)}
"""The kinds of axes, x and y, that a mark needs, if not all will do."""
_USUAL_WIDTH = 560
"""The width in pixels that the free ends of an axis are a share of."""

Row = Mapping[str, Any]


@dataclass(frozen=True)
class ChartLayer:
    """One layer of a chart: its kind of mark, the looks of it, what it shows, and its rows.

    Attributes
    ----------
    mark : str
        One of ``MARKS``.
    looks : mapping
        The properties of the mark.
    encoding : mapping
        What each channel shows.
    rows : sequence of mapping
    name : str
        That of its data, if the script of the page may replace it.
    """

    mark: str
    looks: Mapping[str, Any]
    encoding: Mapping[str, Any]
    rows: Sequence[Row]
    name: str = ""

    def colour(self, row: Row) -> str:
        """Return the colour of a row's mark; that of an amount is a scheme of its own."""
        found = self.encoding.get("color")
        if found is None:
            return str(self.looks.get("color", COLOURS[0]))
        names, colours = found["scale"]["domain"], found["scale"]["range"]
        return str(colours[names.index(row[found["field"]]) % len(colours)])


@dataclass(frozen=True)
class ReadChart:
    """A chart as it is drawn: its layers, its axes and its height in pixels."""

    layers: tuple[ChartLayer, ...]
    x: Axis
    y: Axis
    height: int

    def definition(self, channel: Literal["x", "y", "color", "yOffset"]) -> Mapping[str, Any]:
        """Return what the first layer that has a channel says about it; nothing if none has."""
        found = (layer.encoding[channel] for layer in self.layers if channel in layer.encoding)
        return next(iter(found), {})


def read_chart(specification: Specification) -> ReadChart | None:
    """Return a chart as it is drawn; None if it asks for something that the page does not draw itself."""
    if not _is_known(specification):
        return None
    data = specification["data"]["values"]
    layers = []
    for layer in specification["layer"]:
        mark = {"type": layer["mark"]} if isinstance(layer["mark"], str) else layer["mark"]
        given = layer.get("data", {})
        rows = given.get("values", data)
        layers.append(ChartLayer(mark["type"], mark, layer["encoding"], rows, given.get("name", "")))
    if not all("x" in layer.encoding and "y" in layer.encoding for layer in layers):
        return None
    x, y = _axis("x", layers), _axis("y", layers)
    kinds = type(x), type(y)
    if any(layer.mark in _AXES and _AXES[layer.mark] != kinds for layer in layers):
        return None
    return ReadChart(tuple(layers), x, y, int(specification["height"]))


def _is_known(specification: Specification) -> bool:
    """Return whether all that a specification says is understood."""
    if not (set(specification) <= _KEYS and {"layer", "data", "height"} <= set(specification)):
        return False
    for layer in specification["layer"]:
        mark = layer["mark"] if isinstance(layer["mark"], str) else layer["mark"].get("type")
        if mark not in MARKS or not set(layer) <= {"mark", "encoding", "data"}:
            return False
        if not set(layer["encoding"]) <= _CHANNELS:
            return False
        for channel, found in _definitions(layer["encoding"]):
            scale = set(found.get("scale") or {})
            if not ("field" in found and set(found) <= _OF_CHANNEL and scale <= _OF_SCALE):
                return False
            is_amount = channel == "color" and found.get("type") == "quantitative"
            if not ({"domain", "scheme"} if is_amount else _NEEDED.get(channel, set())) <= scale:
                return False
    return True


def _definitions(encoding: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for channel, found in encoding.items():
        for one in found if isinstance(found, list) else [found]:
            yield channel, one


def _axis(channel: str, layers: Sequence[ChartLayer]) -> Axis:
    """Return the axis that all layers share."""
    found = [layer.encoding[channel] for layer in layers]
    scale: dict[str, Any] = {}
    for one in reversed(found):
        scale |= one.get("scale") or {}
    if not any(one.get("type") == "quantitative" for one in found):
        fields = (row[layer.encoding[channel]["field"]] for layer in layers for row in layer.rows)
        return Names(scale.get("domain") or list(dict.fromkeys(fields)))
    values = [
        float(row[layer.encoding[name]["field"]])
        for layer in layers
        for name in (channel, f"{channel}2")
        if name in layer.encoding
        for row in layer.rows
        if row.get(layer.encoding[name]["field"]) is not None
    ]
    values += [0.0] * any(layer.mark in ("bar", "area") and f"{channel}2" not in layer.encoding for layer in layers)
    return numbers_of(
        values,
        zero=any((one.get("scale") or {}).get("zero", True) for one in found),
        domain=scale.get("domain"),
        kind=scale.get("type", "linear"),
        nice=scale.get("nice", True),
        inset=scale.get("padding", 0) / _USUAL_WIDTH if isinstance(scale.get("padding"), int) else 0.0,
    )
