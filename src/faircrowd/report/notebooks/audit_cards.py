"""The cards of audits, verdicts and plans."""

from collections.abc import Sequence

import numpy as np

from faircrowd.audit.constraint_gate import ConstraintVerdict, RequirementsVerdict
from faircrowd.audit.crowd_audit import CrowdAudit
from faircrowd.audit.gate import Verdict
from faircrowd.audit.impact_table import ImpactTable
from faircrowd.audit.independence import Independence
from faircrowd.audit.metrics.constraint_levels import MeasuredConstraint
from faircrowd.audit.pair_agreement import PairAgreement
from faircrowd.audit.planner.crowd_plan import CrowdPlan
from faircrowd.audit.planner.gold_plan import GoldPlan
from faircrowd.audit.workers.worker_audit import LEANS, NO_SIGN, TOO_FEW, WorkerAudit
from faircrowd.report.audit_text import audit_lines
from faircrowd.report.notebooks.notebook_card import BAD, GOOD, OPEN, Card, CardTable, card_for, number
from faircrowd.report.safe_names import called
from faircrowd.report.shown_groups import not_shown, shown_groups
from faircrowd.report.slider import MAX_CLASSES
from faircrowd.report.words.agreement_words import agreement_lines
from faircrowd.report.worker_tables import worker_facts
from faircrowd.votes.group_policy import left_out_lines

__all__: list[str] = []

_MOST_WORKERS = 5
_MOST_ROWS = 24
_MARKS = {"pass": GOOD, "fail": BAD, "not enough evidence": OPEN}


@card_for.register
def _crowd(result: CrowdAudit) -> Card:
    found = dict(audit_lines(result))
    interval = result.interval
    return Card(
        "CrowdAudit",
        asked=f"{len(result.workers.workers):,} workers, {len(result.compared):,} groups compared",
        answer=f"the gap of the labels is {interval.gap:.3f} ({interval.low:.3f} to {interval.high:.3f}, "
        f"{interval.confidence:.0%} interval with tasks as a sample)",
        numbers=_verdicts(result.workers),
        tables=[_notable(result.workers)],
        lines=[(key, text) for key, text in found.items() if key not in ("interval", "workers")],
        notes=[_basis(result.workers)],
        next_steps=["plot()", "plot('rates')", "to_frame()"],
    )


@card_for.register
def _workers(result: WorkerAudit) -> Card:
    return Card(
        "WorkerAudit",
        asked=f"{result.n_workers:,} workers, {int(result.votes.sum()):,} votes",
        numbers=_verdicts(result),
        tables=[_notable(result)],
        notes=[_basis(result)],
        next_steps=["plot()", "to_frame()"],
    )


def _verdicts(audit: WorkerAudit) -> list[tuple[str, str]]:
    return [(name, f"{int((audit.verdict == name).sum()):,}") for name in (LEANS, NO_SIGN, TOO_FEW)]


def _basis(audit: WorkerAudit) -> str:
    by = "on tasks of the same true label" if audit.basis == "truth" else "as they are (groups may truly differ)"
    return (
        f"workers lean if their votes differ between groups beyond chance; votes are compared {by}, at most "
        f"{1 - audit.confidence:.0%} of those who are said to lean are so by chance"
    )


def _notable(audit: WorkerAudit) -> CardTable:
    """Return the workers who lean and matter most, or, if nobody leans, those who matter most."""
    rows = worker_facts(audit)["rows"][:_MOST_WORKERS]
    more = len(audit.workers) - len(rows)
    return CardTable(
        "Workers who lean first, by their influence on the gap of the majority",
        ["worker", "votes", "own gap", "interval", "influence", "verdict"],
        [
            [
                row["worker"],
                f"{row['votes']:,}",
                number(row["gap"], ".2f"),
                "–" if row["low"] is None else f"{row['low']:.2f} to {row['high']:.2f}",
                number(row["influence"], "+.4f"),
                f"{row['verdict']}: {row['how']}" if row["how"] else row["verdict"],
            ]
            for row in rows
        ],
        f"{more:,} more in to_frame()." if more > 0 else "",
    )


@card_for.register
def _agreement(result: PairAgreement) -> Card:
    votes = result.votes
    rows = result.groups().to_pylist()
    rates = np.array([[row["agreement"] or 0.0] for row in rows[:-1]])
    shown = [*(rows[a] for a in shown_groups(rates)), rows[-1]] if len(rates) else rows
    sure = f"{100 * result.confidence:g}% interval"
    return Card(
        "PairAgreement",
        asked=f"{votes.n_votes:,} votes of {votes.n_workers:,} workers on {votes.n_tasks:,} tasks",
        tables=[
            CardTable(
                "Pairs of votes on the same task that agree",
                ["group", "tasks", "agreement", sure],
                [
                    [
                        row["group"],
                        f"{row['tasks']:,}",
                        number(row["agreement"]),
                        f"{row['low']:.1%} to {row['high']:.1%}",
                    ]
                    for row in shown
                ],
                not_shown(len(rates)),
            )
        ],
        lines=[line for line in agreement_lines(result, with_alpha=True) if line[0] != "pairs"],
        next_steps=["plot()", "to_frame()", "to_frame('pairs')", "to_frame('tasks')"],
    )


@card_for.register
def _verdict(result: Verdict) -> Card:
    groups, classes = list(result.rates), list(next(iter(result.rates.values())))
    rates = np.array([[result.rates[group][name] for name in classes] for group in groups])
    widest = [classes[k] for k in np.sort(np.argsort(-np.ptp(rates, axis=0), kind="stable")[:MAX_CLASSES])]
    about = _about(result)
    return Card(
        "Verdict",
        asked=f"is the gap {about[0]} at most {result.epsilon:g}{about[1]}?",
        answer=f"{result.status}: {result.reason}",
        mark=_MARKS[result.status],
        tables=[
            CardTable(
                "Share of each label by group",
                ["group", "tasks", *called("label", widest)],
                [
                    [
                        f"{groups[a]} (left out)" if groups[a] in result.left_out else groups[a],
                        f"{result.groups[groups[a]]:,}",
                        *(f"{result.rates[groups[a]][name]:.1%}" for name in widest),
                    ]
                    for a in shown_groups(rates)
                ],
                not_shown(len(groups)),
            )
        ],
        notes=left_out_lines(result.left_out, result.groups),
        next_steps=["plot()", "to_frame()"],
    )


def _about(verdict: Verdict | RequirementsVerdict) -> tuple[str, str]:
    """Return which tasks a verdict is about, and how sure it is."""
    sure = f" ({100 * verdict.confidence:g}% confidence)"
    return ("of these tasks", "") if verdict.these_tasks else ("of all tasks like these", sure)


@card_for.register
def _requirements(result: RequirementsVerdict) -> Card:
    about = _about(result)
    return Card(
        "RequirementsVerdict",
        asked=f"do the labels {about[0]} keep the constraints{about[1]}?",
        answer=f"{result.status}: {result.reason}",
        mark=_MARKS[result.status],
        tables=[_judged(result.constraints)],
        notes=result.notes,
        next_steps=["constraints", "to_frame()"],
    )


@card_for.register
def _constraint_verdict(result: ConstraintVerdict) -> Card:
    return Card(
        "ConstraintVerdict",
        asked=result.measured.text,
        answer=f"{result.status}: {result.reason}",
        mark=_MARKS[result.status],
        tables=[_judged([result]), *_compared(result.measured)],
        notes=result.notes,
        next_steps=["to_frame()"],
    )


def _judged(verdicts: Sequence[ConstraintVerdict]) -> CardTable:
    rows = [
        [
            one.measured.text,
            f"{one.measured.level:.4f}",
            f"{one.low:.4f} to {one.high:.4f}",
            "" if one.measured.limit is None else f"{one.measured.limit:g}",
            one.status,
        ]
        for one in verdicts[:_MOST_ROWS]
    ]
    more = len(verdicts) - len(rows)
    return CardTable(
        "",
        ["constraint", "level", "for all tasks like these", "limit", "status"],
        rows,
        f"{more:,} more in to_frame()." * (more > 0),
    )


@card_for.register
def _measured(result: MeasuredConstraint) -> Card:
    limit = "" if result.limit is None else f", limit {result.limit:g}"
    return Card(
        "MeasuredConstraint",
        asked=f"{result.text}; {result.tasks:,} tasks",
        answer=f"{'kept' if result.kept else 'not kept'}: these labels reach {result.level:.4f}{limit}",
        mark=GOOD if result.kept else BAD,
        tables=_compared(result),
        notes=[f"left out: {name}, {why}" for name, why in result.left_out.items()],
        next_steps=["to_frame()"],
    )


def _compared(measured: MeasuredConstraint) -> list[CardTable]:
    """Return the values of the comparison that decides a constraint."""
    worst = measured.worst
    names = list(worst.values)
    shown = [names[a] for a in shown_groups(np.array([[worst.values[name]] for name in names]))]
    others = len(measured.comparisons) - 1
    more = not_shown(len(names)) + (f" {others:,} other comparisons: to_frame()." if others else "")
    rows = [
        [name, f"{measured.sizes[name]:,}" if name in measured.sizes else "", f"{worst.values[name]:.1%}"]
        for name in shown
    ]
    return [CardTable("", ["group", "tasks", worst.about], rows, more)]


@card_for.register
def _impact(result: ImpactTable) -> Card:
    rows = [
        [
            f"{row.attribute}: {row.category}",
            f"{row.number:,}",
            f"{row.selected:,}",
            f"{row.rate:.1%}",
            number(row.ratio, ".3f"),
            "less than 2%" if row.is_small else "",
        ]
        for row in result.rows
    ]
    more = len(rows) - _MOST_ROWS
    unknown = [f"{n:,} whose {name} is not known are in none of the rates" for name, n in result.unknown.items() if n]
    return Card(
        "ImpactTable",
        asked=f"selected: {result.rule}; {result.total:,} in all",
        tables=[
            CardTable(
                "Selection rates and impact ratios",
                ["category", "number", "selected", "rate", "ratio", "note"],
                rows[:_MOST_ROWS],
                f"{more:,} more in to_frame()." if more > 0 else "",
            )
        ],
        notes=unknown,
        next_steps=["to_frame()"],
    )


@card_for.register
def _independence(result: Independence) -> Card:
    return Card("Independence", answer=str(result), mark=BAD if result.rejected else OPEN)


@card_for.register
def _crowd_plan(result: CrowdPlan) -> Card:
    rows = [
        [group, f"{skill:.1%}", "–" if result.priors is None else f"{result.priors[a]:.1%}"]
        for a, (group, skill) in enumerate(zip(result.groups, result.skills, strict=True))
    ]
    return Card(
        "CrowdPlan",
        asked=f"{result.vote} vote within {result.delta:g} of the gap of the truth",
        answer=str(result),
        mark={"enough": GOOD, "not enough": BAD, "never": BAD}[result.status],
        tables=[CardTable("", ["group", "skill of a worker", "share of true ones"], rows[:_MOST_ROWS])],
        next_steps=["to_frame()"],
    )


@card_for.register
def _gold_plan(result: GoldPlan) -> Card:
    rows = [
        [
            "all tasks" if one.group is None else one.group,
            f"{one.gold:,.0f}",
            f"{one.low:.1%} to {one.high:.1%}",
            f"{100 * one.width:.1f} points",
        ]
        for one in (result.overall, *result.groups[:_MOST_ROWS])
    ]
    return Card(
        "GoldPlan",
        answer=str(result),
        tables=[CardTable("", ["group", "known labels", "interval", "width"], rows)],
        next_steps=["to_frame()"],
    )
