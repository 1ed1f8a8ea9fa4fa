"""Labels under a list of constraints, in words: lines for the terminal, the story of the page, a reason per task."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from faircrowd.aggregate.calibration.accuracy_estimate import AccuracyEstimate
from faircrowd.fair.general.constrained_certificate import ConstrainedCertificate, KeptConstraint
from faircrowd.fair.general.constrained_result import ConstrainedResult
from faircrowd.report.charts import PlacedChart
from faircrowd.report.charts.limit_chart import limit_chart
from faircrowd.report.fair_words import percent
from faircrowd.report.safe_names import short
from faircrowd.report.summary import Summary

__all__ = ["constrained_lines", "constrained_story", "constraint_missed", "level_words"]

_EXAMPLES = 5
_MAX_KINDS = 30
_MAX_VALUES = 60
_LONGEST_TEXT = 300


def level_words(kept: KeptConstraint) -> str:
    """Say how labels stand to a constraint.

    Examples
    --------
    >>> level_words(KeptConstraint("parity(sex) <= 0.05", 0.05, 0.05, 0.0493, 0.214, True, False, 0.1, []))
    'from 0.2140 to 0.0493 (limit 0.05)'
    """
    moved = f"from {kept.level_before:.4f} to {kept.level:.4f}"
    if abs(kept.level - kept.level_before) < 5e-5:
        moved = f"{kept.level:.4f}, as before"
    believed = ", as believed" if kept.is_believed else ""
    limit = "" if kept.limit is None else f" (limit {kept.limit:g}{_allowed(kept)})"
    if kept.estimated is not None:
        found = kept.estimated
        interval = f"{found['low']:.3f} to {found['high']:.3f}"
        believed += f"; {found['estimate']:.3f} ({interval}) as estimated from {found['n_gold']:,} known labels"
    return f"{moved}{limit}{believed}{'' if kept.kept else ', MISSED'}"


def _allowed(kept: KeptConstraint) -> str:
    if kept.limit is None or kept.allowed is None or abs(kept.allowed - kept.limit) < 1e-12:
        return ""
    return f", {kept.allowed:.4g} allowed because tasks are whole"


def constraint_missed(certificate: ConstrainedCertificate) -> str:
    """Return in what labels miss what was asked for, as a sentence; nothing if they keep it."""
    missed = [kept for kept in certificate.constraints if not kept.kept]
    if not missed:
        return ""
    told = "; ".join(f"{kept.text} is at {kept.level:.4g}" for kept in missed)
    return f"the labels miss a constraint: {told}; relax it, or use strict=True."


def constrained_lines(
    certificate: ConstrainedCertificate,
    real_price: float | None = None,
    estimated_price: AccuracyEstimate | None = None,
    real_levels: Mapping[str, float] | None = None,
) -> list[tuple[str, str]]:
    """Return what the labels reached and what that costs, as pairs of a heading and a text.

    ``real_levels`` are those of constraints that speak of the truth, where it is known, by the text of the constraint.
    """
    c, real = certificate, real_levels or {}
    lines = [
        (
            "keeps" if kept.kept else "misses",
            f"{kept.text}: {level_words(kept)}"
            + (f"; {real[kept.text]:.4f} by the known truth" if kept.text in real else ""),
        )
        for kept in c.constraints
    ]
    lines.insert(0, ("fair", _cost_words(c, real_price, estimated_price)))
    if c.why:
        lines.append(("note", c.why))
    proved = "no labels that keep the constraints are better under this posterior"
    if c.optimality_gap < 0:
        proved = "labels that keep every limit to the letter reach at most the bound"
    elif not c.optimal:
        proved = f"no labels that keep the constraints are better by more than {max(c.optimality_gap, 0.0):.2g}"
    what = f"bound {c.bound:.6f}, believed {c.objective} {c.value:.6f}; {c.solver}"
    return [*lines, ("optimum", f"{proved} ({what})")]


def _cost_words(c: ConstrainedCertificate, real_price: float | None, estimated_price: AccuracyEstimate | None) -> str:
    if c.changed == 0 and c.reviewed == 0:
        return "the labels keep all constraints already; no label was changed"
    reviewed = f", {c.reviewed:,} are sent to a person" if c.reviewed else ""
    cost = c.believed_accuracy_before - c.believed_accuracy
    words = [_moved(cost, "believed", percent(abs(cost)))]
    if estimated_price is not None:
        words.append(_moved(estimated_price.estimate, "estimated", f"{abs(estimated_price.estimate):.1%}"))
    if real_price is not None:
        words.append(_moved(real_price, "real", f"{abs(real_price):.2%}"))
    return f"{c.changed:,} of {c.tasks:,} labels changed ({c.changed_share:.1%}){reviewed}; {', '.join(words)}"


def _moved(price: float, what: str, amount: str) -> str:
    """Say whether an accuracy falls or rises.

    Examples
    --------
    >>> _moved(-0.01, "real", "1.00%")
    'real accuracy rises by 1.00%'
    """
    return f"{what} accuracy {'falls' if price >= 0 else 'rises'} by {amount}"


def constrained_story(
    summary: Summary, result: ConstrainedResult, certificate: ConstrainedCertificate
) -> dict[str, Any]:
    """Return the story of the page of labels under constraints."""
    c = certificate
    answer = f"{_cost_words(c, summary.real_price, summary.estimated_price)}"
    kept = "All constraints are kept" if c.kept else "Not all constraints are kept"
    if any(one.is_believed for one in c.constraints):
        kept += ", as far as the posterior is right"
    cards = [
        {"name": "labels changed", "value": f"{c.changed:,} ({c.changed_share:.1%})", "off": ""},
        *([{"name": "tasks to review", "value": f"{c.reviewed:,}", "off": ""}] if c.reviewed else []),
        {"name": "believed accuracy", "value": f"{c.believed_accuracy:.1%}", "off": ""},
    ]
    if summary.estimated_accuracy is not None:
        found = summary.estimated_accuracy
        name = f"accuracy, estimated: {found.low:.1%} to {found.high:.1%} with {100 * found.confidence:g}% confidence"
        cards.insert(0, {"name": name, "value": f"{found.estimate:.1%}", "off": ""})
    if summary.accuracy is not None:
        cards.append({"name": "real accuracy", "value": f"{summary.accuracy:.1%}", "off": ""})
    alarms = [short(f"{result.alarm[0].upper()}{result.alarm[1:]}", 1000)] if result.alarm else []
    limits = _limits(result, c)
    return {
        "charts": limits["charts"],
        "stops": limits["stops"],
        "title": "Labels under constraints",
        "answer": f"{kept}: {answer}.",
        "alarms": alarms,
        "cards": cards,
        "constraints": {
            "rows": [
                {
                    "text": short(one.text, _LONGEST_TEXT),
                    "before": f"{one.level_before:.4f}",
                    "after": f"{one.level:.4f}",
                    "limit": "" if one.limit is None else f"{one.limit:g}",
                    "kept": one.kept,
                    "believed": one.is_believed,
                    "words": level_words(one),
                    "price": f"{one.price:.3g}",
                    "tables": _tables(one),
                    "left_out": [f"{name}: {why}" for name, why in one.left_out.items()][:12],
                }
                for one in c.constraints
            ],
            "limits": limits,
            "changes": _changes(result),
            "bound": f"{c.bound:.6f}",
            "value": f"{c.value:.6f}",
            "optimal": c.optimal,
            "objective": c.objective,
            "solver": c.solver,
            "why": c.why,
        },
    }


def _tables(kept: KeptConstraint) -> list[dict[str, Any]]:
    """Return the values of each comparison by group, before and after."""
    found: list[dict[str, Any]] = []
    shown = 0
    for comparison in kept.comparisons:
        rows = [
            {"group": name, "before": f"{comparison['values_before'][name]:.4f}", "after": f"{value:.4f}"}
            for name, value in comparison["values"].items()
        ]
        shown += len(rows)
        if shown > _MAX_VALUES and found:
            break
        found.append({"about": comparison["about"], "rows": rows[:_MAX_VALUES]})
    return found


def _limits(result: ConstrainedResult, certificate: ConstrainedCertificate) -> dict[str, Any]:
    """Return what other limits of the first constraint would give: the stops of a slider, and a chart."""
    constraints = result.problem.constraints
    number = next((c for c, one in enumerate(constraints) if one.level_name), None)
    if number is None:
        return {"stops": [], "charts": [], "start": 0, "text": ""}
    own, before = constraints[number].level, certificate.value_before
    points = result.frontier
    stops = [
        {
            "epsilon": f"{point.limit:.4g}",
            "believed": "cannot be kept" if np.isnan(point.value) else f"{point.value:.4f}",
            "given_up": "" if np.isnan(point.value) else f"{before - point.value:.4f}",
            "rows": [],
            "thresholds": [],
            "point": [] if np.isnan(point.value) else [{"limit": point.limit, "value": point.value}],
        }
        for point in points
    ]
    text = str(constraints[number])
    about = (
        f"The best believed {certificate.objective} that labels drawn at random reach on average under this posterior"
    )
    chart = limit_chart(points, own, short(text, 60), certificate.objective)
    return {
        "stops": stops,
        "charts": [
            PlacedChart(
                "frontier",
                "limits-of-constraints",
                about,
                chart,
            )
        ],
        "start": next(n for n, point in enumerate(points) if point.limit == own),
        "text": text,
    }


def _changes(result: ConstrainedResult) -> list[dict[str, Any]]:
    """Return what changed, by direction, with the first few tasks of each."""
    tasks, outcomes = result.problem.tasks, result.solved.outcomes
    names = [*tasks.classes.names, "a review by a person"]
    moved = np.flatnonzero(outcomes != tasks.own)
    kinds = np.stack([tasks.own[moved], outcomes[moved]], axis=1)
    found, kind, counts = np.unique(kinds, axis=0, return_inverse=True, return_counts=True)
    rows = []
    for n in np.argsort(-counts, kind="stable")[:_MAX_KINDS]:
        some = moved[kind.ravel() == n][:_EXAMPLES]
        before, after = (names[code] for code in found[n])
        examples = [str(task) for task in tasks.tasks.some(some)]
        rows.append({"before": before, "after": after, "tasks": int(counts[n]), "examples": examples})
    return rows
