"""dossier.html: one page that prints, needs no network and no script, and in which every number names its place."""

from faircrowd._extras import need
from faircrowd.report.dossier.ai_act_headings import ai_act_sections
from faircrowd.report.dossier.datasheet import (
    data_section,
    file_section,
    left_out_section,
    making_section,
    people_section,
)
from faircrowd.report.dossier.fact_book import Prose, Text, as_html
from faircrowd.report.dossier.fairness_account import accuracy_section, gap_section, short_section
from faircrowd.report.dossier.run_facts import RunFacts
from faircrowd.report.dossier.sections import Section, say
from faircrowd.report.dossier.selection_table import selection_section
from faircrowd.report.page import page_part, page_template

__all__ = ["NO_CLAIM", "lead", "render_dossier", "sections_of"]

NO_CLAIM = (
    "This dossier describes labels. It is not a statement that any law, rule or standard is kept, and no legal advice. "
    "What is marked as to be filled in is not known to the program that wrote it."
)


def lead(facts: RunFacts) -> Text:
    """Return what there is, in one sentence."""
    tasks, votes, workers = (facts.of_summary(name) for name in ("tasks", "votes", "workers"))
    return say("Labels of ", tasks, " tasks, made from ", votes, " votes of ", workers, " workers.")


def sections_of(facts: RunFacts) -> list[Section]:
    """Return all sections of the page, in order."""
    return [
        short_section(facts),
        data_section(facts),
        left_out_section(facts),
        people_section(facts),
        making_section(facts),
        gap_section(facts),
        accuracy_section(facts),
        selection_section(facts),
        *ai_act_sections(facts),
        file_section(facts),
    ]


def render_dossier(facts: RunFacts) -> str:
    """Return the page as HTML."""
    need("jinja2", "app", "The dossier")
    return page_template("dossier.html").render(
        title=as_html((Prose(facts.title),), facts.up),
        lead=lead(facts),
        no_claim=NO_CLAIM,
        sections=sections_of(facts),
        style=page_part("dossier.css"),
        html=lambda text: as_html(text, facts.up),
    )
