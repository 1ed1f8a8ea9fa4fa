"""Labels under a list of constraints, in words: lines for the terminal, and the story of the page."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from faircrowd.aggregate.calibration.accuracy_estimate import AccuracyEstimate
from faircrowd.fair.certificate import Certificate
from faircrowd.fair.constraints.constraint_kind import Constraint
from faircrowd.fair.general.constrained_certificate import ConstrainedCertificate, KeptConstraint
from faircrowd.fair.general.constrained_result import ConstrainedResult
from faircrowd.fair.general.constrained_solve import outcome_names
from faircrowd.fair.general.limit_frontier import LevelPoint, limits_to_try, varied, without_limit
from faircrowd.fair.outcome.alarms import missed
from faircrowd.report.charts import PlacedChart
from faircrowd.report.charts.limit_chart import limit_chart, limit_ends
from faircrowd.report.charts.vega_lite import cut_axis_words
from faircrowd.report.opening.plain_words import constrained_opening, constrained_verdict
from faircrowd.report.safe_names import short
from faircrowd.report.shown_groups import not_shown, shown_groups
from faircrowd.report.slider import MAX_CLASSES, whole_tasks_in_words
from faircrowd.report.story import alarms_of, card, known_cards, unvoted_story
from faircrowd.report.summary import Summary
from faircrowd.report.words.fair_words import in_points, objective_in_words, off_rule_in_words

__all__ = [
    "REVIEW_NOTE",
    "cannot_words",
    "constrained_lines",
    "constrained_story",
    "left_out_words",
    "level_words",
    "missed_in_words",
]

REVIEW_NOTE = (
    "{tasks:,} tasks are sent to a person and have no label yet: labels.csv says review. Here they count as right, and "
    "toward rates and gaps by their posterior, as the constraints count them; give the labels that come back as known "
    "labels and run again"
)
"""How reviewed tasks are counted, for the terminal and the page."""

_EXAMPLES = 5
_MAX_KINDS = 30
_MAX_RULE = 40
_MAX_VALUES = 60
_SHOWN_LEFT_OUT = 5
_LONGEST_TEXT = 300
_STOPS, _FEW_STOPS = 12, 6
_MANY_CELLS = 50_000
"""Of more tasks times classes, the slider has fewer stops: each is solved for."""


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
    if kept.uncertain is not None:
        believed += f"; estimates, as {kept.uncertain['column']} is known by probabilities"
        if kept.uncertain["level"] is not None:
            believed += f" (at worst {kept.uncertain['level']:.4f})"
    return f"{moved}{limit}{believed}{'' if kept.kept else ', MISSED'}"


def _allowed(kept: KeptConstraint) -> str:
    if kept.limit is None or kept.allowed is None or abs(kept.allowed - kept.limit) < 1e-12:
        return ""
    return f", {kept.allowed:.4g} allowed because tasks are whole"


def missed_in_words(certificate: Certificate | ConstrainedCertificate) -> str:
    """Return in what labels miss what was asked for, as a sentence; nothing if they keep it."""
    if isinstance(certificate, Certificate):
        return missed(certificate)
    broken = [kept for kept in certificate.constraints if not kept.kept]
    if not broken:
        return ""
    told = "; ".join(f"{kept.text} is at {kept.level:.4g}" for kept in broken)
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
    lines = []
    for kept in c.constraints:
        truly = f"; {real[kept.text]:.4f} by the known truth" if kept.text in real else ""
        lines.append(("keeps" if kept.kept else "misses", f"{kept.text}: {level_words(kept)}{truly}"))
        lines += [("", line) for line in _group_lines(kept)]
    lines.insert(0, ("fair", _cost_words(c, real_price, estimated_price)))
    if c.why:
        lines.append(("note", c.why))
    return [*lines, ("optimum" if c.optimal else "bound", f"proved: {_optimum_words(c)}")]


def _optimum_words(c: ConstrainedCertificate) -> str:
    """Say what is proved about the labels, with the numbers: what they reach, and what none can exceed."""
    what, theirs = objective_in_words(c.objective), f"theirs is {c.value:.6f}"
    drawn = "on average over draws, " if c.decision == "randomized" else ""
    if c.optimality_gap < 0 and not drawn:
        return f"labels that keep every limit to the letter have a {what} of at most {c.bound:.6f} ({theirs})"
    if c.optimal:
        return f"{drawn}no labels that keep the constraints have a higher {what} ({theirs})"
    beyond = f"a {what} that is higher by more than {max(c.optimality_gap, 0.0):.2g}"
    return f"{drawn}no labels that keep the constraints have {beyond} ({theirs}, at most {c.bound:.6f} is possible)"


def _group_lines(kept: KeptConstraint) -> list[str]:
    """Return the groups of the comparison that decides a constraint, before and after, and how many others there are.

    Examples
    --------
    >>> rates = {"about": "rate of label 1", "level": 0.25, "level_before": 0.5}
    >>> rates |= {"values_before": {"f": 0.25, "m": 0.75}, "values": {"f": 0.5, "m": 0.75}}
    >>> _group_lines(KeptConstraint("parity(sex) <= 0.25", 0.25, 0.25, 0.25, 0.5, True, False, 0.1, [rates]))
    ['rate of label 1: f 25.0% to 50.0%, m 75.0%']
    """
    if not kept.comparisons or all(len(one["values"]) < 2 for one in kept.comparisons):
        return []
    worst = min(kept.comparisons, key=lambda one: abs(one["level"] - kept.level))
    values, before = worst["values"], worst["values_before"]
    names = list(values)
    shown = [names[a] for a in shown_groups(np.array([[before[name]] for name in names]))]
    cells = [f"{short(name, 40)} {_from_to(before[name], values[name])}" for name in shown]
    more = [not_shown(len(names)).strip()] if len(names) > len(shown) else []
    others = len(kept.comparisons) - 1
    if others:
        more.append(f"{others:,} other comparison{'s' * (others > 1)} of this constraint: see certificate.json.")
    return [f"{worst['about']}: {', '.join(cells)}", *more]


def _from_to(before: float, after: float) -> str:
    texts = f"{before:.1%}", f"{after:.1%}"
    return texts[0] if texts[0] == texts[1] else " to ".join(texts)


def _cost_words(c: ConstrainedCertificate, real_price: float | None, estimated_price: AccuracyEstimate | None) -> str:
    if c.changed == 0 and c.reviewed == 0:
        return "the labels keep all constraints already; no label was changed"
    reviewed = f", {c.reviewed:,} are sent to a person" if c.reviewed else ""
    cost = c.believed_accuracy_before - c.believed_accuracy
    words = [_moved(cost, "believed", in_points(abs(cost)))]
    if estimated_price is not None:
        words.append(_moved(estimated_price.estimate, "estimated", in_points(abs(estimated_price.estimate), 1)))
    if real_price is not None:
        words.append(_moved(real_price, "real", in_points(abs(real_price))))
    return f"{c.changed:,} of {c.tasks:,} labels changed ({c.changed_share:.1%}){reviewed}; {', '.join(words)}"


def _moved(price: float, what: str, amount: str) -> str:
    """Say whether an accuracy falls or rises.

    Examples
    --------
    >>> _moved(-0.01, "real", "1.00 points")
    'real accuracy rises by 1.00 points'
    """
    return f"{what} accuracy {'falls' if price >= 0 else 'rises'} by {amount}"


def constrained_story(
    summary: Summary, result: ConstrainedResult, certificate: ConstrainedCertificate, *, who: str = "people"
) -> dict[str, Any]:
    """Return the story of the page of labels under constraints; ``who`` voted."""
    c = certificate
    cost = _cost_words(c, summary.real_price, summary.estimated_price)
    kept = "All constraints are kept" if c.kept else "Not all constraints are kept"
    if any(one.is_believed for one in c.constraints):
        kept += ", as far as the posterior is right"
    cards = [
        *known_cards(summary),
        card("labels changed", f"{c.changed:,} ({c.changed_share:.1%})"),
        *([card("tasks to review", f"{c.reviewed:,}")] if c.reviewed else []),
        card("believed accuracy", f"{c.believed_accuracy:.1%}"),
        card("believed accuracy given up", in_points(c.believed_accuracy_before - c.believed_accuracy)),
    ]
    limits = _limits(result, c)
    all_columns = summary.group_columns or ()
    return {
        "charts": limits["charts"],
        "stops": limits["stops"],
        "title": "Labels under constraints",
        "verdict": constrained_verdict(c, summary),
        "opening": constrained_opening(
            summary, c, [one.group_columns or all_columns for one in result.problem.constraints], who=who
        ),
        "answer": f"{kept}: {cost}.",
        "alarms": alarms_of(summary, result.alarm),
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
            "unvoted": unvoted_story(summary, c.changed),
            "rule": _rule(result),
            "off_rule": off_rule_in_words(result),
            "bound": f"{c.bound:.6f}",
            "value": f"{c.value:.6f}",
            "optimal": c.optimal,
            "objective": c.objective,
            "solver": c.solver,
            "why": c.why,
        },
    }


def _tables(kept: KeptConstraint) -> list[dict[str, Any]]:
    """Return the values by group, before and after: comparisons of the same groups are columns of one table."""
    found: list[dict[str, Any]] = []
    if all(len(one["values"]) < 2 for one in kept.comparisons):  # of all tasks: the level says it
        return found
    for comparison in kept.comparisons:
        values, before = comparison["values"], comparison["values_before"]
        cells = [f"{before[name]:.4f} → {value:.4f}" for name, value in values.items()][:_MAX_VALUES]
        groups = list(values)[:_MAX_VALUES]
        if not (found and found[-1]["groups"] == groups and len(found[-1]["about"]) < MAX_CLASSES):
            if sum(len(table["groups"]) * len(table["about"]) for table in found) > _MAX_VALUES:
                break
            found.append({"groups": groups, "about": [], "rows": [[] for _ in groups]})
        found[-1]["about"].append(comparison["about"])
        for row, cell in zip(found[-1]["rows"], cells, strict=True):
            row.append(cell)
    return found


def _rule(result: ConstrainedResult) -> list[str]:
    """Return the rule in words, line by line."""
    lines = str(result.rule).splitlines()[1:]
    more = [f"and {len(lines) - _MAX_RULE:,} more lines in rule.json"] if len(lines) > _MAX_RULE else []
    return [*(short(line, _LONGEST_TEXT) for line in lines[:_MAX_RULE]), *more]


def _limits(result: ConstrainedResult, certificate: ConstrainedCertificate) -> dict[str, Any]:
    """Return what other limits of the first constraint would give: the stops of a slider, and a chart."""
    problem = result.problem
    if not any(one.level_name for one in problem.constraints):
        return {"stops": [], "charts": [], "start": 0, "text": "", "whole": ""}
    number = varied(problem.constraints)
    constraint, before = problem.constraints[number], certificate.believed_accuracy_before
    is_large = problem.tasks.group.size * problem.tasks.n_classes > _MANY_CELLS
    limits = limits_to_try(problem, number, _FEW_STOPS if is_large else _STOPS)
    points = result.frontier_over(number, limits)
    name = short(str(constraint), 60)
    caption = (
        f"Dots: the labels of each limit, the large one those of the slider. Line: the best believed "
        f"{certificate.objective} that labels drawn at random reach on average; whole tasks may be off it by a little."
        f"{cut_axis_words(limit_ends(points))}"
    )
    cannot = [point.limit for point in points if not point.can_hold]
    return {
        "stops": [_stop(point, before) for point in points],
        "charts": [
            PlacedChart(
                "frontier",
                "limits-of-constraints",
                caption,
                limit_chart(points, constraint.level, name, certificate.objective),
            )
        ],
        "start": limits.index(constraint.level),
        "text": str(constraint),
        "unit": constraint.unit,
        "sign": "at least" if constraint.is_floor else "at most",
        "has_review": problem.has_review,
        "kind": _kind_of_labels(result, constraint.limit_text),
        "whole": _whole_words(constraint, points),
        "cannot": cannot_words(constraint, limits, cannot) if cannot else "",
    }


def _whole_words(constraint: Constraint, points: Sequence[LevelPoint]) -> str:
    """Say why a tighter limit may reach a larger level; of floors, whose levels rise with the limit, nothing."""
    kept = [(point.limit, point.level) for point in points if point.level is not None]
    if constraint.is_floor or not kept:
        return ""
    limits, levels = zip(*kept, strict=True)
    return whole_tasks_in_words("limit", constraint.unit, limits, levels)


def left_out_words(text: str, left_out: Mapping[str, str]) -> str:
    """Say which groups a constraint leaves out.

    Examples
    --------
    >>> left_out_words("parity(race) <= 0.05", {"x": "fewer than 10 tasks"})
    'left out of parity(race) <= 0.05: x (fewer than 10 tasks)'
    """
    named = [f"{name} ({why})" for name, why in left_out.items()]
    more = f" and {len(named) - _SHOWN_LEFT_OUT:,} more" if len(named) > _SHOWN_LEFT_OUT else ""
    return f"left out of {text}: {', '.join(named[:_SHOWN_LEFT_OUT])}{more}"


def cannot_words(constraint: Constraint, limits: Sequence[float], cannot: Sequence[float]) -> str:
    """Say which limits of a constraint cannot be kept together with the other constraints.

    Examples
    --------
    >>> from faircrowd.constraints import DemographicParity
    >>> cannot_words(DemographicParity(0.1, group="sex"), [0.0, 0.05, 0.062, 0.1], [0.0, 0.05])
    'parity(sex) cannot be kept below 0.062 together with the other constraints'
    """
    head = without_limit(constraint)
    rest = [limit for limit in limits if limit not in cannot]
    if not rest:
        return f"{head} cannot be kept at any of these limits together with the other constraints"
    first, side = (max(rest), "above") if constraint.is_floor else (min(rest), "below")
    return f"{head} cannot be kept {side} {first:g} together with the other constraints"


def _kind_of_labels(result: ConstrainedResult, limit: str) -> str:
    """Return which labels the stops of the slider are, as a sentence without its full stop."""
    if result.certificate.decision == "randomized":
        return "The slider shows the labels that each limit gives, one draw for each"
    if result.strict:
        return (
            f"This run keeps every limit to the letter (strict). At limits other than {limit} the slider shows labels "
            "without strict, which are found sooner: a limit may be exceeded by less than one task of the smallest "
            "group"
        )
    return "The slider shows the labels that each limit gives; where it starts, those of this run"


def _stop(point: LevelPoint, before: float) -> dict[str, Any]:
    """Return the numbers of a limit as text."""
    shown = {"epsilon": f"{point.limit:.4g}", "rows": [], "thresholds": []}
    if point.level is None or point.believed_accuracy is None:
        none = dict.fromkeys(("level", "believed", "given_up", "changed", "reviewed"), "–")
        return {**shown, **none, "level": "cannot be kept", "point": []}
    return {
        **shown,
        "level": f"{point.level:.4f}",
        "believed": f"{point.believed_accuracy:.2%}",
        "given_up": in_points(before - point.believed_accuracy),
        "changed": f"{point.changed:,}",
        "reviewed": f"{point.reviewed:,}",
        "point": [{"limit": point.limit, "value": point.value}],
    }


def _changes(result: ConstrainedResult) -> list[dict[str, Any]]:
    """Return what changed, by direction, with the first few tasks of each."""
    tasks, outcomes = result.problem.tasks, result.solved.outcomes
    names = outcome_names(tasks.classes.names)
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
