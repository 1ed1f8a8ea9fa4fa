"""Each worker's own gap against the number of votes: with few votes, gaps vary widely by chance."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from faircrowd.audit.workers.worker_audit import LEANS, NO_SIGN, TOO_FEW, WorkerAudit
from faircrowd.report.charts.page_chart import ChartFacts, PageChart, Specification
from faircrowd.report.charts.vega_lite import COLOURS, layered_chart, quantity
from faircrowd.report.safe_names import short

__all__ = ["FUNNEL", "funnel_chart", "workers_chart"]

_MAX_DOTS = 1500


def funnel_chart(rows: Sequence[dict[str, Any]], verdicts: Sequence[str]) -> dict[str, Any]:
    """Return a chart of the workers' own gaps against their numbers of votes.

    Each row has ``worker``, ``votes``, ``place`` (votes, equal numbers spread a little), ``gap``, ``low``,
    ``high`` and ``verdict``.
    """
    counts = [row["votes"] for row in rows]
    kind = "log" if max(counts) > 20 * min(counts) else "linear"
    scale = {"type": kind, "zero": False, "nice": False, "padding": 12}
    axis = {"format": ",d", "tickCount": 6, "tickMinStep": 1}
    x = {"field": "place", "type": "quantitative", "title": "votes", "scale": scale, "axis": axis}
    colour = {
        "field": "verdict",
        "type": "nominal",
        "title": None,
        "scale": {"domain": list(verdicts), "range": [COLOURS[1], COLOURS[0], COLOURS[6]]},
        "legend": {"orient": "top", "columns": 2, "labelLimit": 240},
    }
    shape = {"field": "verdict", "type": "nominal", "title": None, "scale": {"domain": list(verdicts)}}
    layers = [
        {
            "mark": {"type": "rule", "opacity": 0.25},
            "encoding": {
                "x": x,
                "y": quantity("low", "own gap, with interval", ".1f"),
                "y2": {"field": "high"},
                "color": colour,
            },
        },
        {
            "mark": {"type": "point", "filled": True, "size": 45, "opacity": 0.9},
            "encoding": {
                "x": x,
                "y": quantity("gap", "own gap, with interval", ".1f"),
                "color": colour,
                "shape": shape,
                "tooltip": [
                    {"field": "worker", "type": "nominal"},
                    {"field": "votes", "type": "quantitative", "format": ",d"},
                    *({"field": name, "type": "quantitative", "format": ".2f"} for name in ("gap", "low", "high")),
                    {"field": "verdict", "type": "nominal"},
                ],
            },
        },
    ]
    return layered_chart("Workers: own gap against number of votes", {"values": list(rows)}, layers, height=280)


def workers_chart(audit: WorkerAudit) -> Specification | None:
    """Return the same of audited workers; None if no worker has votes in two groups."""
    dots = _dots(audit)
    return funnel_chart(dots, (LEANS, NO_SIGN, TOO_FEW)) if dots else None


def _make(facts: ChartFacts) -> Specification | None:
    return workers_chart(facts.audit.workers)


def _dots(audit: WorkerAudit) -> list[dict[str, Any]]:
    judged, votes, names = audit.judged, audit.votes.sum(axis=1), audit.workers.names
    known = np.flatnonzero(~np.isnan(judged.gap) & (votes > 0))
    known = known[np.lexsort((judged.gap[known], votes[known]))][:: max(-(-known.size // _MAX_DOTS), 1)]
    return [
        {
            "worker": short(names[w], 60),
            "votes": int(votes[w]),
            "place": float(place),
            "gap": float(judged.gap[w]),
            "low": float(judged.low[w]),
            "high": float(judged.high[w]),
            "verdict": str(audit.verdict[w]),
        }
        for w, place in zip(known, _side_by_side(votes[known]), strict=True)
    ]


def _side_by_side(votes: NDArray[np.int64]) -> NDArray[np.float64]:
    """Spread equal numbers of votes (in rising order) over less than one vote, so that dots do not hide each other."""
    _, first, sizes = np.unique(votes, return_index=True, return_counts=True)
    place = (np.arange(votes.size) - np.repeat(first, sizes) + 0.5) / np.repeat(sizes, sizes)
    return np.asarray(votes + 0.7 * (place - 0.5))


FUNNEL = PageChart(
    "funnel",
    "workers",
    _make,
    lambda _: (
        "The gap of each worker's own votes against the number of votes, with intervals; workers with equally many "
        "votes are next to each other. With few votes, gaps vary widely by chance."
    ),
)
