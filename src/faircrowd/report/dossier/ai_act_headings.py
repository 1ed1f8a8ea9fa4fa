"""Headings of the EU AI Act's Article 10 and Annex IV, with the facts that a run has, and the rest to be filled in.

The headings are ours, after Regulation (EU) 2024/1689; its text alone counts. Nothing here says that a law is kept.
"""

from collections.abc import Callable
from typing import NamedTuple

from faircrowd.report.dossier.datasheet import change_texts, left_out_texts, making_texts, votes_per_task
from faircrowd.report.dossier.fact_book import TO_FILL, Text
from faircrowd.report.dossier.fairness_account import accuracy_texts, gap_texts
from faircrowd.report.dossier.run_facts import RunFacts
from faircrowd.report.dossier.sections import TO_BE_FILLED_IN, Row, Section, say

__all__ = ["ai_act_sections"]


class _Heading(NamedTuple):
    """A point of the act, what a run knows about it, and what a person must add."""

    point: str
    about: str
    known: Callable[[RunFacts], list[Text]] | None = None
    add: str = ""


def ai_act_sections(facts: RunFacts) -> list[Section]:
    """Return Article 10 and Annex IV as sections."""
    intro = [
        say("Headings after Regulation (EU) 2024/1689, for those who train or test a system with these labels."),
        say("This is not a statement that the regulation is kept, nor that it applies."),
    ]
    return [
        Section("article-10", "EU AI Act, Article 10: data and data governance", intro, _rows(_ARTICLE_10, facts)),
        Section("annex-iv", "EU AI Act, Annex IV: technical documentation", rows=_rows(_ANNEX_IV, facts)),
    ]


def _rows(headings: tuple[_Heading, ...], facts: RunFacts) -> list[Row]:
    rows = []
    for heading in headings:
        told = [] if heading.known is None else heading.known(facts)
        added: Text = (TO_FILL, f" ({heading.add})") if heading.add else TO_BE_FILLED_IN
        rows.append(Row(f"{heading.point}: {heading.about}", [*told, added]))
    return rows


def _preparation(facts: RunFacts) -> list[Text]:
    return [*making_texts(facts), *left_out_texts(facts)]


def _quantity(facts: RunFacts) -> list[Text]:
    told = say(facts.of_summary("tasks"), " tasks, ", facts.of_summary("votes"), " votes, ")
    told += facts.of_summary("workers"), " workers, ", facts.of_summary("classes"), " labels."
    return [told, *([votes_per_task(facts)] if facts.labels.votes else [])]


def _assumptions(facts: RunFacts) -> list[Text]:
    told = [
        say("A task has one true label, and each vote is somebody's opinion of it; labels are a consensus of votes.")
    ]
    if facts.has_groups:
        told.append(say("Each task belongs to the group that was given for it."))
    return told


def _quality(facts: RunFacts) -> list[Text]:
    return [(f"{row.heading}: ", *text) for row in accuracy_texts(facts)[:3] for text in row.texts[:1]]


def _shortcomings(facts: RunFacts) -> list[Text]:
    told = left_out_texts(facts)[:1]
    if facts.summary.get("accuracy") is None and not facts.summary.get("estimated_accuracy"):
        told.append(say("How many labels are right is not known."))
    if not facts.has_groups:
        told.append(say("Differences between groups are not known."))
    return told


def _groups(facts: RunFacts) -> list[Text]:
    columns = facts.group_columns
    if not facts.has_groups:
        return [say("The run was given no groups.")]
    return [
        say("Groups of tasks were given to the run", *((" and compared",) if columns else ()), ", as listed above.")
    ]


_ARTICLE_10 = (
    _Heading("10(2)(a)", "design choices", making_texts, "why this method and these limits"),
    _Heading("10(2)(b)", "collection and origin of the data", None, "origin, and of personal data the first purpose"),
    _Heading(
        "10(2)(c)", "preparation: labelling, cleaning, aggregation", _preparation, "steps before and after this run"
    ),
    _Heading("10(2)(d)", "assumptions: what the data are meant to measure", _assumptions, "what the labels stand for"),
    _Heading("10(2)(e)", "availability, quantity and suitability", _quantity, "whether that is enough for the purpose"),
    _Heading("10(2)(f)", "examination for possible biases", gap_texts, "biases beyond the groups that were compared"),
    _Heading("10(2)(g)", "measures against biases that were found", change_texts, "other measures"),
    _Heading("10(2)(h)", "gaps and shortcomings of the data", _shortcomings, "others, and how they are addressed"),
    _Heading(
        "10(3)", "relevant, representative, free of errors, complete", _quality, "relevance and representativeness"
    ),
    _Heading("10(4)", "geographical, contextual, behavioural, functional setting", None),
    _Heading("10(5)", "special categories of personal data", _groups, "whether groups are such data, and the grounds"),
)
_ANNEX_IV = (
    _Heading("1", "general description of the system", None),
    _Heading("2(a)-(c)", "development, design and architecture of the system", None),
    _Heading(
        "2(d)", "data: provenance, scope, how obtained, labelling, cleaning", _preparation, "provenance and selection"
    ),
    _Heading("2(e)", "human oversight", None),
    _Heading("2(f)", "changes that were planned in advance", None),
    _Heading(
        "2(g)", "validation and testing; metrics; discriminatory impacts", gap_texts, "tests of the system itself"
    ),
    _Heading("2(h)", "cybersecurity", None),
    _Heading("3", "monitoring, functioning and control; accuracy for groups", _quality, "of the system itself"),
    _Heading("4", "why the metrics are appropriate", None),
    _Heading("5", "risk management", None),
    _Heading("6", "changes over the lifecycle", None),
    _Heading("7", "standards that are applied", None),
    _Heading("8", "declaration of conformity", None),
    _Heading("9", "monitoring after the system is on the market", None),
)
