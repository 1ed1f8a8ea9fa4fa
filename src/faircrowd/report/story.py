"""The numbers and sentences of the page, in the order in which a reader asks for them."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from faircrowd.aggregate.calibration.accuracy_estimate import AccuracyEstimate
from faircrowd.aggregate.calibration.calibration_quality import Calibration
from faircrowd.aggregate.calibration.reliability import Reliability, reliability
from faircrowd.aggregate.posterior import Posterior
from faircrowd.audit.crowd_audit import CrowdAudit
from faircrowd.fair.gap import within
from faircrowd.fair.known_labels import GoldEstimates
from faircrowd.fair.make import FairResult
from faircrowd.report.belief_and_truth import Pair, believed_accuracy
from faircrowd.report.charts import ChartFacts, draw
from faircrowd.report.opening.plain_words import parity_opening, parity_verdict, plain_opening, plain_verdict
from faircrowd.report.safe_names import group_in_words, short
from faircrowd.report.shown_groups import MAX_GROUPS, not_shown, shown_groups
from faircrowd.report.slider import MAX_CLASSES, slider
from faircrowd.report.summary import Summary
from faircrowd.report.words.fair_words import (
    cost_in_words,
    estimate_texts,
    estimated_gap_in_words,
    gap_in_words,
    gap_texts,
    in_points,
    off_rule_in_words,
    optimum_in_words,
    proof_in_words,
)
from faircrowd.report.words.unvoted_labels import is_unvoted, unvoted_changes_in_words
from faircrowd.report.worker_tables import worker_facts
from faircrowd.votes import VoteTable
from faircrowd.votes.group_policy import left_out_lines
from faircrowd.votes.vocabulary import Codes

__all__ = ["alarms_of", "card", "fair_story", "known_cards", "plain_story", "unvoted_story"]

_EXAMPLES = 5
_LONGEST_RULE = 300
_LONGEST_ALARM = 1000
_FEWEST_TRUTHS = 50
"""With fewer known labels, confidence is not compared with the share of right labels: it would be mostly chance."""


def plain_story(
    summary: Summary,
    calibration: Calibration | None = None,
    estimates: GoldEstimates | None = None,
    *,
    who: str = "people",
) -> dict[str, Any]:
    """Return the story of a run without groups to compare; ``who`` voted."""
    return {
        "title": "Consensus labels",
        "verdict": plain_verdict(summary),
        "opening": plain_opening(summary, who=who),
        "answer": (
            f"{summary.votes:,} votes on {summary.tasks:,} tasks were merged by {summary.method}; "
            f"{summary.agreement:.1%} of the votes agree with the label of their task."
        ),
        "alarms": alarms_of(summary),
        "cards": [
            *known_cards(summary),
            card("tasks", f"{summary.tasks:,}"),
            card("workers", f"{summary.workers:,}"),
            card("votes", f"{summary.votes:,}"),
            card("votes that agree with the label", f"{summary.agreement:.1%}"),
            *_believed_card(summary),
        ],
        "estimates": None if calibration is None else _estimates(summary, calibration, estimates),
        "truth": _truth(summary),
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
    calibration: Calibration | None = None,
    estimates: GoldEstimates | None = None,
    columns: Sequence[str] = (),
    who: str = "people",
) -> dict[str, Any]:
    """Return the story of a run with groups.

    Parameters
    ----------
    result : FairResult
        The fair labels; for epsilon 1, which changes nothing, if no epsilon was asked for.
    asked : bool
        Whether an epsilon was asked for.
    truth : ndarray of int32, optional
        The true class of each task: -1 where it is not known, -2 where it is not one of the classes.
    calibration : Calibration, optional
        Of a calibrated aggregator: its reliability before and after. Otherwise the truth shows it.
    estimates : GoldEstimates, optional
        What known labels say about the fair labels.
    columns : sequence of str
        Those of the groups, if they are known.
    who : str
        Who voted.
    """
    shown = _reliability(summary, posterior, truth)
    if calibration is not None:
        shown = {"before calibration": calibration.reliability_before, "after calibration": calibration.reliability}
    groups, classes = result.problem.groups.names, posterior.classes.names
    tally = result.problem.tally(result.solved.labels)
    scored = truth is not None and not summary.accuracy_in_sample
    frontier = result.frontier_against(truth) if scored and truth is not None else result.frontier
    epsilons = slider(result, frontier, groups, classes, asked, truth if scored else None)
    chosen = epsilons["stops"][epsilons["start"]]["point"]
    facts = ChartFacts(votes, posterior, result, tally, frontier, audit, groups, classes, asked, shown, chosen, columns)
    return {
        "title": "Fair labels" if asked else "Labels and groups",
        "verdict": parity_verdict(result.certificate, summary, asked=asked),
        "opening": parity_opening(
            summary,
            result.certificate,
            columns,
            asked=asked,
            who=who,
            right=(summary.accuracy_by_group or {}) if scored and asked else {},
        ),
        "answer": _answer(summary, result, asked),
        "alarms": alarms_of(summary, result.alarm if asked else None),
        "left_out": left_out_lines(summary.left_out, summary.group_tasks or {}, summary.merged_groups),
        "cards": _cards(summary, result, asked),
        "frontier": epsilons,
        "charts": draw(facts),
        "rates_shown": min(len(classes), MAX_CLASSES),
        "n_classes": len(classes),
        "n_groups": len(groups),
        "interval": audit.interval,
        "changes": _changes(result, groups, classes, is_unvoted(votes, result.solved.labels)),
        "unvoted": unvoted_story(summary, result.certificate.changed),
        "rule": _rule(result, asked),
        "off_rule": off_rule_in_words(result) if asked else "",
        "estimates": None if calibration is None else _estimates(summary, calibration, estimates),
        "truth": _truth(summary, columns),
        "group_heading": short(" & ".join(columns), 40) or "group",
        "errors": _errors(summary, result, truth, groups, classes),
        "certificate": result.certificate if asked else None,
        "optimum": proof_in_words(result.certificate),
        "promise": None if result.promise is None else str(result.promise),
        "audit": audit,
        "group_names": groups,
        "people": worker_facts(audit.workers),
    }


def _rule(result: FairResult, asked: bool) -> dict[str, Any] | None:
    """Return the rule in words, by group; None where there is none, or where thresholds say it."""
    if not asked or result.rule_of_labels.thresholds is not None:
        return None
    head, *lines = str(result.rule_of_labels).splitlines()
    more = [f"{len(lines) - MAX_GROUPS:,} more groups are in rule.json"] if len(lines) > MAX_GROUPS else []
    said = [short(line.strip(), _LONGEST_RULE) for line in lines[:MAX_GROUPS]]
    return {
        "of": "gain" if "highest gain" in head else "posterior",
        "is_for_new_tasks": result.rule is result.rule_of_labels,
        "lines": [*said, *more],
    }


def alarms_of(summary: Summary, alarm: str | None = None) -> list[str]:
    """Return what speaks against using the labels, and against the believed accuracy."""
    lines = [*([alarm] if alarm else []), *summary.warnings_of_belief]
    return [short(f"{line[0].upper()}{line[1:].removesuffix('.')}.", _LONGEST_ALARM) for line in lines]


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
    return (
        f"The gap between groups {gap_in_words(c)}: {c.changed:,} of {c.tasks:,} labels were changed, "
        f"{cost_in_words(c, summary.real_price, summary.estimated_price)}; {optimum_in_words(c)}."
    )


def _cards(summary: Summary, result: FairResult, asked: bool) -> list[dict[str, str]]:
    """Return the results in four numbers; where the truth is known, they are followed by those that compare with it."""
    c = result.certificate
    true_gap = [] if summary.truth_gap is None else [card("gap of the true labels", f"{summary.truth_gap:.3f}")]
    if summary.truth_gap is None and summary.estimated_truth_gap is not None:
        true_gap = [_estimate_card("gap of the true labels", summary.estimated_truth_gap, "gap")]
        if summary.estimated_truth_gap.low == 0:  # the estimate would be too high
            few_known = f"gap of the true labels: {summary.estimated_truth_gap.n_gold:,} known labels tell no more"
            true_gap = [card(few_known, estimated_gap_in_words(summary.estimated_truth_gap).removeprefix("from "))]
    if not asked:
        return [
            *known_cards(summary),
            card("gap between groups", f"{c.gap_before:.3f}"),
            *true_gap,
            card("tasks", f"{c.tasks:,}"),
            card("workers", f"{summary.workers:,}"),
            card("believed accuracy", f"{c.believed_accuracy_before:.1%}"),
        ]
    return [
        *known_cards(summary),
        card("gap before", gap_texts(c.gap_before, c.gap)[0]),
        card("gap after", gap_texts(c.gap_before, c.gap)[1]),
        *true_gap,
        card("labels changed", f"{c.changed:,} ({c.changed_share:.1%})"),
        card("believed accuracy", f"{c.believed_accuracy:.1%}"),
        card("believed accuracy given up", in_points(c.believed_accuracy_before - c.believed_accuracy)),
    ]


def known_cards(summary: Summary) -> list[dict[str, str]]:
    """Return accuracy and what fairness costs of it, where they are estimated or counted: what a reader needs first."""
    cards = []
    if summary.estimated_accuracy is not None:
        cards.append(_estimate_card("accuracy", summary.estimated_accuracy, "share"))
    if summary.estimated_price is not None:
        cards.append(_estimate_card("accuracy given up", summary.estimated_price, "points"))
    if summary.accuracy is None:
        return cards
    real = "accuracy on labels it learned from" if summary.accuracy_in_sample else "real accuracy"
    cards.append(card(real, f"{summary.accuracy:.1%}", _off(summary, "accuracy")))
    if summary.real_price is not None:
        what, off = f"real accuracy {'given up' if summary.real_price >= 0 else 'gained'}", "price of fairness"
        cards.append(card(what, in_points(abs(summary.real_price)), _off(summary, off)))
    return cards


def _believed_card(summary: Summary) -> list[dict[str, str]]:
    if summary.accuracy is None or summary.believed_accuracy is None:
        return []
    return [card("believed accuracy", f"{summary.believed_accuracy:.1%}")]


def _estimate_card(what: str, found: AccuracyEstimate, unit: str) -> dict[str, str]:
    """Return a number that is estimated from known labels, with its interval."""
    value, low, high = estimate_texts(found, unit)
    sure = f"{100 * found.confidence:g}%"
    return card(f"{what}, estimated: {low} to {high} with {sure} confidence", value)


def _estimates(summary: Summary, calibration: Calibration, estimates: GoldEstimates | None) -> dict[str, Any]:
    """Return what the known labels say: numbers with intervals, overall and by group."""
    rows: list[tuple[str, AccuracyEstimate | None]] = [("accuracy", summary.estimated_accuracy)]
    units = {"accuracy given up": "points", "gap of the true labels": "gap"}
    if estimates is not None:
        rows = [
            ("accuracy", estimates.accuracy),
            ("accuracy before fairness", estimates.accuracy_before),
            ("accuracy given up", estimates.price),
            ("gap of the true labels", estimates.truth_gap),
            *(
                (f"accuracy in group {short(name)}{when}", of_groups[name])
                for name in list(estimates.group_accuracy)[:MAX_GROUPS]
                for when, of_groups in (
                    (" before fairness", estimates.group_accuracy_before),
                    ("", estimates.group_accuracy),
                )
            ),
        ]
    shown = [
        dict(zip(("estimate", "low", "high"), estimate_texts(found, units.get(what, "share")), strict=True))
        | {"what": what, "known": f"{found.n_gold:,}"}
        for what, found in rows
        if found is not None
    ]
    confidence = None if summary.estimated_accuracy is None else summary.estimated_accuracy.confidence
    return {"rows": shown, "calibration": calibration, "confidence": f"{100 * (confidence or 0.95):g}%"}


def _off(summary: Summary, what: str) -> str:
    """Return how far the believed number is from the real one, in words, if they are far apart."""
    return "".join(pair.in_words for pair in summary.pairs() if pair.what == what and pair.is_off)


def card(name: str, value: str, off: str = "") -> dict[str, str]:
    """Return a number in large print; ``off`` says how far it is from what the posterior believes, if it is far."""
    return {"name": name, "value": value, "off": off}


def _reliability(summary: Summary, posterior: Posterior, truth: Codes | None) -> dict[str, Reliability]:
    """Compare the confidence of the aggregator's own labels with the truth, where enough of it is known."""
    if truth is None or summary.accuracy_in_sample or (summary.truths or 0) < _FEWEST_TRUTHS:
        return {}
    known = np.flatnonzero(truth != -1)
    labels = posterior.label_codes[known]
    return {"labels": reliability(posterior.values[known, labels], labels == truth[known])}


def _truth(summary: Summary, columns: Sequence[str] = ()) -> dict[str, Any] | None:
    """Return what is believed beside what is real, and the rates of the true labels, where the truth is known."""
    if summary.accuracy is None:
        return None
    shares, tasks = summary.truth_shares or {}, summary.truth_tasks or {}
    names, between = list(next(iter(shares.values()), {}))[:MAX_CLASSES], summary.truth_gap_between
    return {
        "known": summary.truths,
        "all": summary.truths == summary.tasks,
        "in_sample": summary.accuracy_in_sample,
        "pairs": summary.pairs(),
        "gap": summary.truth_gap,
        "between": between and [between[0], *(group_in_words(name, columns) for name in between[1:])],
        "columns": " * ".join(summary.group_columns or ()),
        "classes": names,
        "more_groups": not_shown(len(shares)),
        "rows": [
            {"group": group, "known": f"{tasks[group]:,}", "rates": [f"{shares[group][name]:.1%}" for name in names]}
            for group in _shown_names(shares)
        ],
    }


def _shown_names(shares: dict[str, dict[str, float]]) -> list[str]:
    rates = np.array([list(row.values()) for row in shares.values()])
    return [list(shares)[a] for a in shown_groups(rates)] if shares else []


def unvoted_story(summary: Summary, changed: int) -> str:
    """Return how many changed labels no voter of their task gave, as a sentence; empty if there are none."""
    unvoted = summary.unvoted_changes
    return f"{unvoted_changes_in_words(unvoted, changed)}." if unvoted else ""


def _changes(
    result: FairResult, groups: list[str], classes: list[str], unvoted: NDArray[np.bool_]
) -> list[dict[str, Any]]:
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
        these = moved[order[starts[n] : starts[n + 1]]]
        some = these[:_EXAMPLES]
        examples = [str(task) for task in problem.tasks.some(some)]
        names = {"group": groups[a], "before": classes[j], "after": classes[k]}
        rows.append({**names, "tasks": int(counts[n]), "unvoted": int(unvoted[these].sum()), "examples": examples})
    return rows


def _errors(
    summary: Summary, result: FairResult, truth: Codes | None, groups: list[str], classes: list[str]
) -> dict[str, Any] | None:
    """Return accuracy (believed and real) and recall by group, before and after, where the truth is known."""
    if truth is None or summary.accuracy is None:
        return None
    problem, rows = result.problem, []
    known = truth != -1
    shown = list(range(min(len(classes), MAX_CLASSES)))
    for a in shown_groups(problem.tally(problem.own).rates):
        inside = problem.group == a
        member = known & inside
        cells, pairs = [], []
        for labels in (problem.own, result.solved.labels):
            right = labels == truth
            recalls = [right[member & (truth == k)] for k in shown]
            believed = believed_accuracy(problem.posterior[inside], labels[inside])
            cells.append([_share(right[member]), f"{believed:.1%}", *(_share(part) for part in recalls)])
            if member.any() and not summary.accuracy_in_sample:
                pairs.append(Pair("accuracy", believed, float(right[member].mean()), int(member.sum())))
        row = {"group": groups[a], "known": f"{int(member.sum()):,}", "before": cells[0], "after": cells[1]}
        rows.append({**row, "off": any(pair.is_off for pair in pairs)})
    return {"classes": [classes[k] for k in shown], "rows": rows, "more_groups": not_shown(len(groups))}


def _share(right: NDArray[np.bool_]) -> str:
    return f"{right.mean():.1%}" if right.size else "–"
