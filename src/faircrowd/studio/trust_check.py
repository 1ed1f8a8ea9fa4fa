"""How far the labels of a method can be trusted, before any limit is chosen: what it believes beside what is known."""

from pathlib import Path
from typing import Any

import numpy as np

from faircrowd.aggregate.calibration.calibrate import CalibratedCrowd
from faircrowd.aggregate.calibration.reliability import Reliability, reliability
from faircrowd.audit.intervals import wilson
from faircrowd.report.charts.reliability_chart import reliability_chart
from faircrowd.report.charts.vega_lite import picture
from faircrowd.runs.run import Run

__all__ = ["RELIABILITY_CHART", "trust_check"]

RELIABILITY_CHART = "reliability.svg"
"""The file of the chart."""
_ENOUGH = 20
"""Fewer known labels make no chart."""


def trust_check(run: Run, folder: Path) -> dict[str, Any]:
    """Return what a method believes of its labels, and what known labels say; draw their reliability.

    Parameters
    ----------
    run : Run
        Of labels that are not made fair.
    folder : Path
        Where the chart is written.

    Returns
    -------
    dict
        ``believed`` (a share), ``rows`` (``what``, ``share``, ``low``, ``high``, ``known``), ``bins`` by name,
        ``has_chart``, and ``remarks``.
    """
    series: dict[str, Reliability] = {}
    rows: list[dict[str, Any]] = []
    believed = run.summary.believed_accuracy
    if isinstance(run.model, CalibratedCrowd):
        found, quality = run.model.accuracy_, run.model.calibration_
        rows.append(_row("estimated accuracy of all labels", found.estimate, found.low, found.high, found.n_gold))
        series = {"before calibration": quality.reliability_before, "after calibration": quality.reliability}
    truth = run.scoring_truth
    if truth is not None and (truth != -1).any():
        known = np.flatnonzero(truth != -1)
        labels = run.posterior.label_codes[known]
        right = labels == truth[known]
        share = float(right.mean())
        low, high = (share, share) if known.size == truth.size else map(float, wilson(right.sum(), known.size))
        rows.append(_row("real accuracy where the truth is known", share, low, high, int(known.size)))
        if known.size >= _ENOUGH and not series:
            series = {"labels": reliability(run.posterior.values[known, labels], right)}
    if series:
        folder.mkdir(exist_ok=True)
        (folder / RELIABILITY_CHART).write_bytes(picture(reliability_chart(series), "svg"))
    return {
        "believed": believed,
        "rows": rows,
        "is_off": any(believed is not None and not row["low"] - 0.05 <= believed <= row["high"] + 0.05 for row in rows),
        "bins": {name: _bins(part) for name, part in series.items()},
        "has_chart": bool(series),
        "remarks": _remarks(run),
    }


def _remarks(run: Run) -> list[str]:
    """Return what speaks against believing the method."""
    found = [*run.warnings]
    if isinstance(run.model, CalibratedCrowd):
        found += run.model.calibration_.notes
    if run.summary.independence is not None and run.summary.independence.rejected:
        found.append(
            f"{run.summary.independence}: what the method believes is not an accuracy; known labels would tell it."
        )
    return list(dict.fromkeys(found))


def _row(what: str, share: float, low: float, high: float, known: int) -> dict[str, Any]:
    return {"what": what, "share": share, "low": low, "high": high, "known": known}


def _bins(found: Reliability) -> list[dict[str, Any]]:
    low, high = wilson(found.right * found.count, found.count)
    columns = {"confidence": found.confidence, "right": found.right, "low": low, "high": high}
    return [
        {**{name: float(part[i]) for name, part in columns.items()}, "labels": int(found.count[i])}
        for i in range(found.count.size)
    ]
