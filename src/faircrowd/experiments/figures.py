"""Figures of the experiments, as Vega-Lite."""

from collections.abc import Iterable, Sequence
from statistics import mean, pstdev
from typing import Any

from faircrowd.experiments.convergence_experiment import CROWDS
from faircrowd.experiments.experiment_data import AGGREGATORS
from faircrowd.report.charts import COLOURS

__all__ = ["comparison_chart", "convergence_chart", "extra_chart"]

_SCHEMA = "https://vega.github.io/schema/vega-lite/v6.json"


def comparison_chart(name: str, rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Plot F1 against the gap reached, one panel per protocol and aggregator, with the deviation over resamples."""
    points = []
    for key, own in _grouped(rows, ("protocol", "aggregator", "fairness", "objective", "epsilon")):
        protocol, aggregator, fairness, objective, epsilon = key
        if fairness == "none":
            continue
        spread = pstdev(row["f1"] for row in own)
        centre = mean(row["f1"] for row in own)
        method = {"faircrowd": f"FairCrowd ({objective})", "post_td": "Post_TD", "smoothed": "Algorithm 1"}
        panels = AGGREGATORS[protocol] if fairness == "fair_td" else (aggregator,)
        points += [
            {
                "protocol": protocol,
                "aggregator": panel,
                "method": method.get(fairness, "FairTD"),
                "epsilon": epsilon,
                "gap": mean(row["gap"] for row in own),
                "f1": centre,
                "low": centre - spread,
                "high": centre + spread,
            }
            for panel in panels
        ]
    methods = ["FairCrowd (accuracy)", "FairCrowd (f1)", "Post_TD", "Algorithm 1", "FairTD"]
    colour = {
        "field": "method",
        "type": "nominal",
        "sort": methods,
        "scale": {"domain": methods, "range": list(COLOURS[:5])},
        "legend": {"symbolOpacity": 1},
    }
    x = {"field": "gap", "type": "quantitative", "title": "gap reached"}
    layers = [
        {
            "mark": {"type": "area", "opacity": 0.15},
            "encoding": {
                "x": x,
                "y": {"field": "low", "type": "quantitative", "scale": {"zero": False}, "title": "F1"},
                "y2": {"field": "high"},
                "color": colour,
            },
        },
        {
            "mark": {"type": "line", "point": True},
            "encoding": {
                "x": x,
                "y": {"field": "f1", "type": "quantitative", "scale": {"zero": False}, "title": "F1"},
                "color": colour,
                "strokeDash": {"field": "method", "type": "nominal", "sort": methods, "legend": None},
            },
        },
    ]
    return {
        "$schema": _SCHEMA,
        "title": f"{name}: F1 against the gap, mean and spread over resamples",
        "data": {"values": points},
        "facet": {
            "row": {"field": "protocol", "type": "nominal", "sort": ["paper", "honest"]},
            "column": {"field": "aggregator", "type": "nominal", "sort": list(AGGREGATORS["honest"])},
        },
        "spec": {"width": 230, "height": 190, "layer": layers},
        "resolve": {"scale": {"x": "shared", "y": "shared"}},
    }


def convergence_chart(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Plot the difference of the gaps against the number of workers, one panel per kind of crowd."""
    exact = "majority, exact"
    points = []
    for (crowd, workers, method), own in _grouped(rows, ("crowd", "workers", "method")):
        centre, spread = mean(row["difference"] for row in own), pstdev(row["difference"] for row in own)
        point = {"crowd": crowd, "workers": workers, "method": method, "difference": centre}
        ends = {"low": centre - spread, "high": centre + spread}
        rows_of = ("bounds",) if "bound" in method else ("measured", "bounds") if method == exact else ("measured",)
        points += [{**point, **ends, "shown": shown} for shown in rows_of]
    methods = list(dict.fromkeys(row["method"] for row in rows))
    colour = {
        "field": "method",
        "type": "nominal",
        "sort": methods,
        "scale": {"domain": methods, "range": list(COLOURS[: len(methods)])},
        "legend": {"symbolOpacity": 1, "labelLimit": 240},
    }
    x = {"field": "workers", "type": "quantitative", "title": "workers R"}
    y = {"type": "quantitative", "title": "gap less the truth's"}
    band = {"x": x, "y": {"field": "low", **y}, "y2": {"field": "high"}, "color": colour}
    line = {"x": x, "y": {"field": "difference", **y}, "color": colour}
    layers = [
        {"mark": {"type": "area", "opacity": 0.12}, "encoding": band},
        {"mark": {"type": "line", "point": True}, "encoding": line},
    ]
    return {
        "$schema": _SCHEMA,
        "title": "Convergence of the consensus' gap to the truth's",
        "data": {"values": points},
        "facet": {
            "column": {"field": "crowd", "type": "nominal", "sort": list(CROWDS), "title": None},
            "row": {"field": "shown", "type": "nominal", "sort": ["measured", "bounds"], "title": None},
        },
        "spec": {"width": 240, "height": 170, "layer": layers},
        "resolve": {"scale": {"y": "independent"}},
    }


def extra_chart(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Plot believed accuracy against the gap, one panel per crowd."""
    points = [{**row, "crowd": f"{row['dataset']}, {row['groups']}"} for row in rows if row["epsilon"] is not None]
    return {
        "$schema": _SCHEMA,
        "title": "Believed accuracy against the gap",
        "data": {"values": points},
        "facet": {"field": "crowd", "type": "nominal", "title": None, "columns": 4},
        "spec": {
            "width": 190,
            "height": 140,
            "mark": {"type": "line", "point": True},
            "encoding": {
                "x": {"field": "gap", "type": "quantitative"},
                "y": {"field": "believed_accuracy", "type": "quantitative", "scale": {"zero": False}},
                "color": {"field": "aggregator", "type": "nominal", "scale": {"range": list(COLOURS[:2])}},
            },
        },
        "resolve": {"scale": {"y": "independent"}},
    }


def _grouped(
    rows: Sequence[dict[str, Any]], names: Sequence[str]
) -> Iterable[tuple[tuple[Any, ...], list[dict[str, Any]]]]:
    found: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for row in rows:
        found.setdefault(tuple(row[name] for name in names), []).append(row)
    return found.items()
