"""How certain the aggregator is: the distribution of the posterior in each group, and the thresholds."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from faircrowd.report.charts.page_chart import ChartFacts, PageChart, Specification
from faircrowd.report.charts.vega_lite import COLOURS, ROW_HEIGHT, layered_chart
from faircrowd.report.safe_names import groups_in_charts, short
from faircrowd.report.shown_groups import not_shown
from faircrowd.report.slider import threshold_lines
from faircrowd.votes.vocabulary import Codes

__all__ = ["POSTERIOR", "posterior_by_group", "posterior_chart"]

_BINS = 40


def posterior_chart(
    rows: Sequence[dict[str, Any]], thresholds: Sequence[dict[str, Any]], *, what: str
) -> dict[str, Any]:
    """Return a chart of the distribution of a posterior, one row per group, with thresholds as lines across the row.

    Each row has ``group``, ``low`` and ``high`` (the ends of a bin) and ``share``; a threshold has ``group`` and
    ``threshold``.
    """
    shares = [row["share"] for row in rows]
    shown = [row for row in rows if row["share"] > 0]
    groups = list(dict.fromkeys(row["group"] for row in rows))
    # An explicit domain, as Vega fails to look up a group called __proto__ by name.
    y = {"field": "group", "type": "nominal", "title": None, "scale": {"domain": groups, "padding": 0}}
    shared = {"y": {**y, "axis": {"labelLimit": 120, "grid": True, "tickBand": "extent"}}}
    ends = {"scale": {"domain": [min(row["low"] for row in rows), 1]}, "axis": {"format": ".1f", "tickCount": 6}}
    # The square root makes the few uncertain tasks visible, which are those that thresholds decide.
    thickness = {"type": "sqrt", "domain": [0, max(shares)], "range": [1, 0.8 * ROW_HEIGHT]}
    layers: list[dict[str, Any]] = [
        {
            "mark": {"type": "bar", "color": COLOURS[0]},
            "encoding": {
                **shared,
                "x": {"field": "low", "type": "quantitative", "title": what, **ends},
                "x2": {"field": "high"},
                "size": {"field": "share", "type": "quantitative", "legend": None, "scale": thickness},
                "tooltip": [
                    {"field": "group", "type": "nominal"},
                    *({"field": name, "type": "quantitative", "format": ".3f"} for name in ("low", "high")),
                    {"field": "share", "type": "quantitative", "format": ".1%"},
                ],
            },
        }
    ]
    if thresholds:
        layers.append(
            {
                "data": {"name": "thresholds", "values": list(thresholds)},
                "mark": {"type": "tick", "color": COLOURS[1], "opacity": 1, "thickness": 3, "size": 0.95 * ROW_HEIGHT},
                "encoding": {
                    **shared,
                    "x": {"field": "threshold", "type": "quantitative"},
                    "tooltip": [
                        {"field": "group", "type": "nominal"},
                        {"field": "threshold", "type": "quantitative", "format": ".4f"},
                    ],
                },
            }
        )
    return layered_chart(
        "How certain the aggregator is, by group", {"values": shown}, layers, height=ROW_HEIGHT * len(groups)
    )


def posterior_by_group(
    posterior: NDArray[np.float64],
    group: Codes,
    groups: Sequence[str],
    classes: Sequence[str],
    members: NDArray[np.int64],
    thresholds: NDArray[np.float64] | None,
    columns: Sequence[str] = (),
) -> Specification:
    """Return the same from the posterior of each task.

    Parameters
    ----------
    posterior : ndarray, shape (n_tasks, n_classes)
    group : ndarray of int32, shape (n_tasks,)
    groups, classes : sequence of str
        Their names.
    members : ndarray of int
        The groups to show.
    thresholds : ndarray, shape (n_groups,), or None
    columns : sequence of str
        Those of the groups, if they are known.
    """
    binary = len(classes) == 2
    values = posterior[:, 1] if binary else posterior.max(axis=1)
    what = f"posterior of label {short(classes[1])}" if binary else "posterior of the likeliest label"
    place = np.minimum((values * _BINS).astype(np.int64), _BINS - 1)
    first = 0 if binary else _BINS // len(classes)  # the likeliest of K has at least 1 / K
    names, rows = groups_in_charts([groups[a] for a in members], columns), []
    for a, name in zip(members, names, strict=True):
        counts = np.bincount(place[group == a], minlength=_BINS)
        for b in range(first, _BINS):
            bounds = {"low": b / _BINS, "high": (b + 1) / _BINS}
            rows.append({"group": name, **bounds, "share": float(counts[b] / max(counts.sum(), 1))})
    return posterior_chart(rows, threshold_lines(thresholds, members, names), what=what)


def _make(facts: ChartFacts) -> Specification:
    group = facts.votes.group
    assert group is not None  # noqa: S101 - charts are for runs with groups
    thresholds = facts.result.rule_of_labels.thresholds
    return posterior_by_group(
        facts.posterior.values, group, facts.groups, facts.classes, facts.members, thresholds, facts.columns
    )


def _caption(facts: ChartFacts) -> str:
    has_lines = facts.result.rule_of_labels.thresholds is not None
    lines = "; the vertical lines are the thresholds of the groups" if has_lines else ""
    rest = not_shown(len(facts.groups))
    what = "Distribution of the probabilities (the posterior) by group"
    return f"{what}: bars are thicker where more tasks are{lines}.{rest}"


POSTERIOR = PageChart("posterior", "posterior", _make, _caption)
