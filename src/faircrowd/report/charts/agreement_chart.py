"""Who agrees with whom: a matrix of the workers with the most votes."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from faircrowd.audit.pair_agreement import PairAgreement
from faircrowd.report.charts.page_chart import Specification
from faircrowd.report.charts.vega_lite import layered_chart
from faircrowd.report.safe_names import shorts

__all__ = ["SHOWN_WORKERS", "agreement_chart", "pairs_chart"]

SHOWN_WORKERS = 25
"""How many workers the matrix has at most."""

_CELL = 22


def agreement_chart(cells: Sequence[dict[str, Any]], workers: Sequence[str]) -> Specification:
    """Return a chart of how often each pair of workers agrees.

    Parameters
    ----------
    cells : sequence of dict
        ``worker``, ``other``, ``tasks`` that both voted on, ``agreement`` on these, and ``kappa``, or None.
    workers : sequence of str
        Their names in the order of rows and columns.
    """
    axis = {"type": "nominal", "title": None, "scale": {"domain": list(workers)}}
    labels = {"labelLimit": 120}
    place = {
        "x": {"field": "other", **axis, "axis": {**labels, "orient": "top", "labelAngle": -45}},
        "y": {"field": "worker", **axis, "axis": labels},
    }
    tooltip = [
        {"field": "worker", "type": "nominal"},
        {"field": "other", "type": "nominal"},
        {"field": "tasks", "type": "quantitative", "format": ",", "title": "common tasks"},
        {"field": "agreement", "type": "quantitative", "format": ".0%"},
        {"field": "kappa", "type": "quantitative", "format": ".2f", "title": "Cohen's kappa"},
    ]
    colour = {
        "field": "agreement",
        "type": "quantitative",
        "title": "agreement",
        "scale": {"domain": [0, 1], "scheme": "viridis"},
        "legend": {"format": ".0%"},
    }
    layers = [{"mark": {"type": "rect"}, "encoding": {**place, "color": colour, "tooltip": tooltip}}]
    return layered_chart("Who agrees with whom", {"values": list(cells)}, layers, height=_CELL * len(workers) + 10)


def pairs_chart(found: PairAgreement) -> Specification | None:
    """Return the chart of the workers with the most votes; None if no two of them share a task."""
    most = np.argsort(-found.votes.votes_per_worker[found.shown], kind="stable")[:SHOWN_WORKERS]
    order = np.sort(most)
    names = shorts([found.votes.workers.names[code] for code in found.shown[order]], 24)
    cells = [
        {
            "worker": names[i],
            "other": names[j],
            "tasks": int(found.common[a, b]),
            "agreement": float(found.share[a, b]),
            "kappa": None if math.isnan(found.kappa[a, b]) else float(found.kappa[a, b]),
        }
        for i, a in enumerate(order.tolist())
        for j, b in enumerate(order.tolist())
        if a != b and found.common[a, b]
    ]
    return agreement_chart(cells, names) if cells else None
