"""What limits cost, as the stops of sliders: each was computed, so that moving one takes no time.

There is one slider per constraint. Its stops are computed with all other limits held where they are: where two sliders
were moved, nothing was computed, and the page says so.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from faircrowd.fair.constraints.constraint_kind import Constraint
from faircrowd.fair.constraints.demographic_parity import DemographicParity
from faircrowd.fair.round_limits import round_limits
from faircrowd.report.safe_names import short
from faircrowd.runs.frontiers.frontier_run import FrontierRun
from faircrowd.runs.frontiers.limit_frontier_run import LimitFrontierRun
from faircrowd.runs.progress import Progress
from faircrowd.runs.run import Run
from faircrowd.studio.constraint_builder import constraint_words

__all__ = ["limit_prices"]

_STOPS = 21
_ACCURACY = "accuracy"
_FIRST = ("real accuracy", "estimated accuracy")
"""What is shown before what is believed."""


def limit_prices(run: Run, epsilon: float | None, progress: Progress) -> dict[str, Any]:
    """Return what limits cost: of epsilon, or of each constraint with the others kept.

    Parameters
    ----------
    run : Run
        With the options of a frontier; without them there are no limits.
    epsilon : float or None
        The limit from which the slider of epsilon starts.

    Returns
    -------
    dict
        ``cells`` (what is shown of all labels), ``sliders`` (each with ``text``, ``words``, ``own`` cells, ``stops``,
        and the places ``held`` and ``start`` among them), ``fixed`` (constraints without a slider), and ``remarks``.
    """
    frontier = run.options.frontier
    if frontier is None:
        return {"cells": [], "sliders": [], "fixed": [], "remarks": []}
    if not frontier.require:
        widest = float(run.summary.gap or 0.0)
        also = () if epsilon is None else (epsilon,)
        traced = FrontierRun(run, tuple(round_limits(widest, None, _STOPS)), also)
        constraint: Constraint = DemographicParity(0.05 if epsilon is None else epsilon, group=run.options.read.group)
        found = _slider(constraint, traced.epsilons, traced.rows())
        about = traced.remarks()[0].replace("The last line is the labels", "The last stops are the labels")
        return {**found, "fixed": [], "remarks": [about]}
    made: dict[str, Any] = {"cells": [], "sliders": [], "fixed": [], "remarks": []}
    for number, constraint in enumerate(frontier.constraints):
        if not constraint.level_name:
            made["fixed"].append(str(constraint))
            continue
        with progress.waiting(f"what {short(str(constraint), 80)} costs"):
            asked = replace(run.options, frontier=replace(frontier, vary=str(number + 1)))
            limits = LimitFrontierRun(replace(run, options=asked))
            one = _slider(constraint, [point.limit for point in limits.points if point.can_hold], _possible(limits))
        made["cells"] = one["cells"]
        made["sliders"] += one["sliders"]
        made["remarks"] += [line for line in limits.notes() if line not in made["remarks"]]
    return made


def _possible(limits: LimitFrontierRun) -> tuple[list[str], list[list[str]]]:
    header, rows = limits.rows()
    return header, [row for row, point in zip(rows, limits.points, strict=True) if point.can_hold]


def _slider(
    constraint: Constraint, limits: Sequence[float], table: tuple[list[str], list[list[str]]]
) -> dict[str, Any]:
    """Return the slider of a constraint, and what its stops say about all labels."""
    header, rows = table
    first = next(i for i, name in enumerate(header) if name.endswith(_ACCURACY))
    common = sorted(range(first, len(header)), key=lambda i: (header[i] not in _FIRST, i))
    stops = [
        {
            "limit": limit,
            "shown": f"{limit:.4g}",
            "require": str(constraint.with_level(limit)),
            "own": row[1:first],
            "cells": [row[i] for i in common],
        }
        for limit, row in zip(limits, rows, strict=True)
    ]
    held = next((i for i, limit in enumerate(limits) if limit == constraint.level), None)
    near = min(range(len(limits)), key=lambda i: abs(limits[i] - constraint.level), default=0)
    slider = {
        "text": str(constraint),
        "words": constraint_words(constraint),
        "own": header[1:first],
        "stops": stops,
        "held": held,
        "start": near if held is None else held,
    }
    return {"cells": [header[i] for i in common], "sliders": [slider] if stops else []}
