"""The numbers and sentences of the page, in the order in which a reader asks for them."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from faircrowd.aggregate.posterior import Posterior
from faircrowd.audit.crowd_audit import CrowdAudit
from faircrowd.fair.gap import within
from faircrowd.fair.make import FairResult
from faircrowd.report.charts import ChartFacts, draw
from faircrowd.report.safe_names import short
from faircrowd.report.slider import MAX_CLASSES, MAX_GROUPS, slider
from faircrowd.report.summary import Summary
from faircrowd.report.worker_tables import worker_facts
from faircrowd.votes import VoteTable
from faircrowd.votes.vocabulary import Codes

__all__ = ["fair_story", "plain_story"]

_EXAMPLES = 5


def plain_story(summary: Summary) -> dict[str, Any]:
    """Return the story of a run without groups to compare."""
    return {
        "title": "Consensus labels",
        "answer": (
            f"{summary.votes:,} votes on {summary.tasks:,} tasks were merged by {summary.method}; "
            f"{summary.agreement:.1%} of the votes agree with the label of their task."
        ),
        "cards": [
            {"name": "tasks", "value": f"{summary.tasks:,}"},
            {"name": "workers", "value": f"{summary.workers:,}"},
            {"name": "votes", "value": f"{summary.votes:,}"},
            {"name": "votes that agree with the label", "value": f"{summary.agreement:.1%}"},
        ],
        "note": (
            "No sensitive group was given, so this page does not compare groups."
            if summary.group_shares is None
            else "All tasks belong to one group, so there is nothing to compare."
        ),
    }


def fair_story(
    summary: Summary,
    votes: VoteTable,
    posterior: Posterior,
    result: FairResult,
    audit: CrowdAudit,
    *,
    asked: bool,
    truth: Codes | None = None,
) -> dict[str, Any]:
    """Return the story of a run with groups.

    Parameters
    ----------
    result : FairResult
        The fair labels; for epsilon 1, which changes nothing, if no epsilon was asked for.
    asked : bool
        Whether an epsilon was asked for.
    """
    groups, classes = result.problem.groups.names, posterior.classes.names
    tally = result.problem.tally(result.solved.labels)
    return {
        "title": "Fair labels" if asked else "Labels and groups",
        "answer": _answer(summary, result, asked),
        "cards": _cards(summary, result, asked),
        "frontier": slider(result, groups, classes, asked),
        "charts": draw(ChartFacts(votes, posterior, result, tally, audit, groups, classes, asked)),
        "rates_shown": min(len(classes), MAX_CLASSES),
        "n_classes": len(classes),
        "n_groups": len(groups),
        "interval": audit.interval,
        "changes": _changes(result, groups, classes),
        "errors": _errors(result, truth, groups, classes),
        "certificate": result.certificate if asked else None,
        "promise": None if result.margin is None else str(result.margin),
        "audit": audit,
        "group_names": groups,
        "people": worker_facts(audit.workers),
    }


def _answer(summary: Summary, result: FairResult, asked: bool) -> str:
    c = result.certificate
    if not asked:
        where = ""
        if summary.gap_between is not None and summary.gap:
            name, high, low = summary.gap_between
            where = f": label {short(name)} is more common in group {short(high)} than in group {short(low)}"
        return (
            f"The labels of {summary.method} have a gap of {c.gap_before:.3f} between groups{where}. "
            "No epsilon was asked for; the slider shows what a smaller gap would cost."
        )
    if c.changed == 0 and within(c.gap, c.epsilon):
        return (
            f"The labels of {summary.method} already keep the gap between groups within {c.epsilon:g} "
            f"(it is {c.gap:.3f}); no label was changed."
        )
    cost = c.believed_accuracy_before - c.believed_accuracy
    return (
        f"The gap between groups fell from {c.gap_before:.3f} to {c.gap:.3f} (epsilon {c.epsilon:g}): {c.changed:,} of "
        f"{c.tasks:,} labels were changed, at {cost:.2%} of believed accuracy, and "
        + (
            "no "
            + ("deterministic " if c.decision == "deterministic" else "")
            + "labels are better under this posterior."
            if c.optimal or c.optimality_gap <= 1e-12
            else f"no labels are better by more than {c.optimality_gap:.2g} under this posterior."
        )
    )


def _cards(summary: Summary, result: FairResult, asked: bool) -> list[dict[str, str]]:
    c = result.certificate
    if not asked:
        return [
            {"name": "gap between groups", "value": f"{c.gap_before:.3f}"},
            {"name": "tasks", "value": f"{c.tasks:,}"},
            {"name": "workers", "value": f"{summary.workers:,}"},
            {"name": "believed accuracy", "value": f"{c.believed_accuracy_before:.1%}"},
        ]
    return [
        {"name": "gap before", "value": f"{c.gap_before:.3f}"},
        {"name": "gap after", "value": f"{c.gap:.3f}"},
        {"name": "labels changed", "value": f"{c.changed:,} ({c.changed_share:.1%})"},
        {"name": "believed accuracy given up", "value": f"{c.believed_accuracy_before - c.believed_accuracy:.2%}"},
    ]


def _changes(result: FairResult, groups: list[str], classes: list[str]) -> list[dict[str, Any]]:
    """Return what changed, by group and direction, with the first few tasks of each."""
    problem, labels = result.problem, result.solved.labels
    moved = np.flatnonzero(labels != problem.own)
    kinds = np.stack([problem.group[moved], problem.own[moved], labels[moved]], axis=1)
    found, kind, counts = np.unique(kinds, axis=0, return_inverse=True, return_counts=True)
    order = np.argsort(kind.ravel(), kind="stable")
    starts = np.concatenate([[0], np.cumsum(counts)])
    rows = []
    for n in np.argsort(-counts, kind="stable")[:30]:
        a, j, k = found[n]
        some = moved[order[starts[n] : starts[n + 1]][:_EXAMPLES]]
        examples = [str(task) for task in problem.tasks.some(some)]
        names = {"group": groups[a], "before": classes[j], "after": classes[k]}
        rows.append({**names, "tasks": int(counts[n]), "examples": examples})
    return rows


def _errors(result: FairResult, truth: Codes | None, groups: list[str], classes: list[str]) -> dict[str, Any] | None:
    """Return accuracy and recall by group, before and after, where the truth is known."""
    if truth is None or not (truth >= 0).any():
        return None
    problem, rows = result.problem, []
    known = truth >= 0
    shown = list(range(min(len(classes), MAX_CLASSES)))
    for a in range(min(len(groups), MAX_GROUPS)):
        member = known & (problem.group == a)
        cells = []
        for labels in (problem.own, result.solved.labels):
            right = labels == truth
            recalls = [right[member & (truth == k)] for k in shown]
            cells.append([_share(right[member]), *(_share(part) for part in recalls)])
        rows.append({"group": groups[a], "known": f"{int(member.sum()):,}", "before": cells[0], "after": cells[1]})
    return {"classes": [classes[k] for k in shown], "rows": rows}


def _share(right: NDArray[np.bool_]) -> str:
    return f"{right.mean():.1%}" if right.size else "–"
