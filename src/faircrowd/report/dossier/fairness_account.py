"""Gaps between groups before and after, with what was asked for; and accuracy, called known, estimated or believed."""

from collections.abc import Mapping, Sequence
from typing import Any

from faircrowd.fair.gap import within
from faircrowd.report.dossier.fact_book import Name, Prose, Text, joined, share, three, whole
from faircrowd.report.dossier.run_facts import RunFacts
from faircrowd.report.dossier.sections import Row, Section, Table, say

__all__ = ["accuracy_section", "accuracy_texts", "gap_section", "gap_texts", "short_section"]

_MOST_ROWS = 600
_MOST_CONSTRAINTS = 20


def short_section(facts: RunFacts) -> Section:
    """Return the outcome in a few rows: gap, what is right, and what was changed."""
    right = [(f"{row.heading}: ", *row.texts[0]) for row in accuracy_texts(facts)[:3]]
    gap = [*gap_texts(facts)[:3], *_true_gaps(facts)]
    return Section("short", "In short", rows=[Row("Gap between groups", gap), Row("How many labels are right", right)])


def gap_section(facts: RunFacts) -> Section:
    """Return the gaps before and after, with the constraints on them."""
    rows = [Row("Gap", gap_texts(facts))]
    if true := _true_gaps(facts):
        rows.append(Row("True labels", true))
    tables = _constraint_tables(facts) if facts.is_constrained else _rate_tables(facts)
    return Section("gaps", "Gaps between groups", rows=rows, tables=tables)


def gap_texts(facts: RunFacts) -> list[Text]:
    """Return what the gap was and is, and whether what was asked for is kept."""
    certificate = facts.certificate
    if not facts.has_groups:
        return [say("No groups were given, so no gap is known.")]
    sizes, left_out = (facts.summary.get(name) or {} for name in ("group_tasks", "left_out"))
    if certificate is None and len(sizes) - len(left_out) < 2:
        return [say("There are no two groups to compare, so there is no gap.")]
    if certificate is None:
        return [say("The largest gap between groups is ", *_where(facts), ". It was not limited.")]
    if facts.is_constrained:
        return _kept_texts(facts, certificate)
    before, after = (facts.of_certificate(name, form=three) for name in ("gap_before", "gap"))
    asked = facts.of_evidence("options", "epsilon", form=whole)
    told = [
        say("The largest gap between groups was ", before, " and is ", after, "; at most ", asked, " was asked for.")
    ]
    if facts.summary.get("gap_between"):
        told.append(say("It is ", *_where(facts), "."))
    if not within(certificate["gap"], certificate["epsilon"]):
        allowed = facts.of_certificate("gap_allowed", form=three)
        if within(certificate["gap"], certificate["gap_allowed"]):
            told.append(say("Tasks are whole, so up to ", allowed, " is allowed: ", Prose(certificate["why"]), "."))
        else:
            told.append(say("The gap MISSES what was asked for, also with what whole tasks allow (", allowed, ")."))
    if certificate.get("on_average"):
        average = facts.of_certificate("on_average", "gap", form=three)
        told.append(say("These are the labels of one draw; on average over draws, the gap is ", average, "."))
    if certificate.get("promise"):
        told += _promise(facts, certificate["promise"])
    return told


def _promise(facts: RunFacts, promise: Mapping[str, Any]) -> list[Text]:
    sure = facts.of_certificate("promise", "confidence", form=_percent)
    if not promise["enough"]:
        return [
            say("A promise about all tasks like these, with confidence ", sure, ", is NOT made: there are too few.")
        ]
    limit, tight = (facts.of_certificate("promise", name, form=whole) for name in ("epsilon", "tightened"))
    told = say("For the rule on all tasks like these, a gap of at most ", limit, " is promised with confidence ", sure)
    return [(*told, "; for this, labels of these tasks were held to ", tight, ".")]


def _where(facts: RunFacts) -> Text:
    """Return a gap of the summary with the label and the groups that it is between."""
    gap = facts.of_summary("gap", form=three)
    between, shares = facts.summary.get("gap_between"), facts.summary.get("group_shares")
    if not between or not shares or not facts.summary["gap"]:
        return (gap,)
    label, most, least = between
    high, low = (facts.of_summary("group_shares", name, label, form=share) for name in (most, least))
    return say(
        gap, " (label ", Name(label), ": ", high, " in group ", Name(most), ", ", low, " in group ", Name(least), ")"
    )


def _true_gaps(facts: RunFacts) -> list[Text]:
    """Return the gap of the true labels, as known or as estimated."""
    if facts.summary.get("truth_gap") is not None:
        known = "" if facts.summary["truths"] == facts.summary["tasks"] else ", where they are known,"
        return [
            say(f"The true labels themselves{known} have a gap of ", facts.of_summary("truth_gap", form=three), ".")
        ]
    if facts.summary.get("estimated_truth_gap"):
        return [
            say("The gap of the true labels is estimated as ", *_estimate(facts, "estimated_truth_gap", three), ".")
        ]
    return []


def _kept_texts(facts: RunFacts, certificate: Mapping[str, Any]) -> list[Text]:
    constraints = certificate["constraints"]
    missed = [kept["text"] for kept in constraints if not kept["kept"]]
    if missed:
        told = [
            say("NOT all that was asked for is kept. Missed: ", *joined([(Name(text),) for text in missed], "; "), ".")
        ]
    else:
        told = [say("All that was asked for is kept.")]
    for i, kept in enumerate(constraints[:_MOST_CONSTRAINTS]):
        before, after = (facts.of_certificate("constraints", i, name, form=three) for name in ("level_before", "level"))
        told.append(say(Name(kept["text"]), ": before ", before, ", now ", after, "."))
    if certificate.get("why"):
        told.append(say("Why limits may be exceeded: ", Prose(certificate["why"]), "."))
    if any(kept["is_believed"] for kept in constraints):
        told.append(
            say("Constraints that speak of the truth are kept as the posterior believes, which is not a measurement.")
        )
    if any(kept.get("uncertain") for kept in constraints):
        told.append(say("Some groups are known by probabilities only, so levels of their constraints are estimates."))
    if certificate.get("on_average"):
        told.append(say("These are the labels of one draw: limits are kept on average over draws."))
    return told


def _constraint_tables(facts: RunFacts) -> list[Table]:
    assert facts.certificate is not None  # noqa: S101 - constrained
    rows: list[list[Text]] = []
    more: list[Table] = []
    for i, kept in enumerate(facts.certificate["constraints"]):
        at: tuple[str | int, ...] = ("constraints", i)
        limit: Text = ("-",) if kept["limit"] is None else (facts.of_certificate(*at, "limit", form=whole),)
        levels = [(facts.of_certificate(*at, name, form=three),) for name in ("level_before", "level")]
        real: Text = ("as believed",) if kept["is_believed"] else ("counted",)
        if kept.get("estimated"):
            of = (*at, "estimated")
            low, high = (facts.of_certificate(*of, name, form=three) for name in ("low", "high"))
            real = say("estimated ", facts.of_certificate(*of, "estimate", form=three), " (", low, " to ", high, ")")
        rows.append([(Name(kept["text"]),), ("yes",) if kept["kept"] else ("NO",), real, limit, *levels])
        more.append(_comparisons(facts, at, kept))
    header = ["constraint", "kept", "levels are", "limit", "before", "after"]
    where = "(evidence.json /certificate/constraints)"
    caption = say(f"What was asked for, and what the labels reach: the comparison nearest to its limit {where}")
    return [Table(caption, header, rows, 3), *(table for table in more if table.rows)]


def _comparisons(facts: RunFacts, at: tuple[str | int, ...], kept: Mapping[str, Any]) -> Table:
    rows: list[list[Text]] = []
    for j, compared in enumerate(kept["comparisons"]):
        for name, after in compared["values"].items():
            if after is None or len(rows) >= _MOST_ROWS:
                continue
            of = (*at, "comparisons", j)
            values = [(facts.of_certificate(*of, part, name, form=three),) for part in ("values_before", "values")]
            rows.append([(Name(name),), (Name(compared["about"]),), *values])
    where = f" (evidence.json /certificate/constraints/{at[1]}/comparisons)"
    caption = say("Groups under ", Name(kept["text"]), where) + _cut(rows)
    return Table(caption, ["group", "what", "before", "after"], rows, 2)


def _rate_tables(facts: RunFacts) -> list[Table]:
    certificate = facts.certificate
    if certificate is None:
        shares = facts.summary.get("group_shares")
        if not shares:
            return []
        rows: list[list[Text]] = [
            [(Name(group),), (Name(label),), (facts.of_summary("group_shares", group, label, form=share),)]
            for group, label in _pairs(shares)
        ]
        caption = say("Share of each label in each group (summary.json /group_shares)") + _cut(rows)
        return [Table(caption, ["group", "label", "share"], rows, 2)]
    rows = [
        [
            *((Name(group),), (Name(label),)),
            *((facts.of_certificate(name, group, label, form=share),) for name in ("rates_before", "rates")),
        ]
        for group, label in _pairs(certificate["rates"])
    ]
    where = "(evidence.json /certificate/rates_before and /certificate/rates)"
    caption = say(f"Share of each label in each group, before and after {where}") + _cut(rows)
    return [Table(caption, ["group", "label", "before", "after"], rows, 2)]


def _pairs(shares: Mapping[str, Mapping[str, float]]) -> list[tuple[str, str]]:
    """Return groups and labels, the first so many."""
    return [(group, label) for group, by_label in shares.items() for label in by_label][:_MOST_ROWS]


def _cut(rows: Sequence[object]) -> Text:
    return ("; only the first rows, all are in evidence.json",) if len(rows) >= _MOST_ROWS else ()


def accuracy_section(facts: RunFacts) -> Section:
    """Return how many labels are right, as far as anybody knows."""
    return Section("accuracy", "How many labels are right", rows=accuracy_texts(facts))


def accuracy_texts(facts: RunFacts) -> list[Row]:
    """Return accuracy by the way in which it is known."""
    summary = facts.summary
    rows = []
    if summary.get("accuracy") is not None:
        tested = "that the method learned from, so this does not test it" if summary["accuracy_in_sample"] else ""
        known = say(" of the ", facts.of_summary("truths"), " tasks whose true label is known", f" {tested}".rstrip())
        right = say(facts.of_summary("accuracy", form=share), *known, " have it.")
        before = summary.get("accuracy_before")
        more = [] if before is None else [say("Before: ", facts.of_summary("accuracy_before", form=share), ".")]
        rows.append(Row("Known", [right, *more, *_reviewed(facts)]))
    else:
        rows.append(Row("Known", [say("No true labels were given to score by, so this is not known.")]))
    estimated = [
        say(words, *_estimate(facts, name, form=share), ".")
        for name, words in (("estimated_accuracy", ""), ("estimated_accuracy_before", "Before: "))
        if summary.get(name)
    ]
    if facts.labels.reviewed and estimated:
        estimated.append(say("Tasks that are left to a person are counted with the method's own label."))
    told = estimated or [say("The method was not calibrated on known labels, so this is not estimated.")]
    rows.append(Row("Estimated from known labels", told))
    believed = [
        say(facts.of_summary("believed_accuracy", form=share), " is the mean probability that the method gives")
    ]
    believed[0] += (" to these labels. It is a belief, not a measurement: if the method is wrong, so is this.",)
    if summary.get("believed_accuracy_before") is not None:
        believed.append(say("Before: ", facts.of_summary("believed_accuracy_before", form=share), "."))
    if summary.get("believed_accuracy") is not None:
        rows.append(Row("Believed", [*believed, *_reviewed(facts)]))
    if facts.certificate is not None:
        rows.append(Row("Proved", [_proof(facts, facts.certificate)]))
    return rows


def _reviewed(facts: RunFacts) -> list[Text]:
    return [say("Tasks that are left to a person are counted as right.")] if facts.labels.reviewed else []


def _estimate(facts: RunFacts, name: str, form: Any) -> Text:
    number, low, high = (facts.of_summary(name, part, form=form) for part in ("estimate", "low", "high"))
    sure = facts.of_summary(name, "confidence", form=_percent)
    return say(number, " (", low, " to ", high, ", a ", sure, " interval)")


def _percent(value: float) -> str:
    return f"{100 * value:g}%"


def _proof(facts: RunFacts, certificate: Mapping[str, Any]) -> Text:
    """Return what the certificate proves, which is about the posterior alone."""
    value, bound = (facts.of_certificate(name, form="{:.4f}".format) for name in ("value", "bound"))
    what = "believed accuracy" if certificate["objective"] == "accuracy" else "objective"
    best = "that of these labels is " if certificate["optimal"] else "these labels, not proved to be the best, have "
    return say(
        f"By the method's own probabilities no labels that keep to the letter what was asked for exceed a {what} of ",
        *(bound, f"; {best}", value, ". This says nothing about whether these probabilities are right."),
    )
