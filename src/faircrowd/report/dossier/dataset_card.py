"""README.md: a dataset card as Hugging Face shows it, with a header of YAML and the sections of the dossier."""

import json
import re

from faircrowd.report.dossier.datasheet import data_section, left_out_section, making_section, people_section
from faircrowd.report.dossier.dossier_page import NO_CLAIM, lead
from faircrowd.report.dossier.fact_book import Prose, Text, as_markdown, as_plain, clean
from faircrowd.report.dossier.fairness_account import accuracy_section, gap_section, short_section
from faircrowd.report.dossier.run_facts import RunFacts
from faircrowd.report.dossier.sections import Section, Table
from faircrowd.report.dossier.selection_table import selection_section

__all__ = ["dataset_card"]

_SIZES = ((10**3, "n<1K"), (10**4, "1K<n<10K"), (10**5, "10K<n<100K"), (10**6, "100K<n<1M"), (10**7, "1M<n<10M"))
_LARGER = ((10**8, "10M<n<100M"), (10**9, "100M<n<1B"), (10**10, "1B<n<10B"))
_LICENCE = re.compile(r"[A-Za-z0-9][A-Za-z0-9.\-]*")
_MOST_ROWS = 60
"""How many rows of a table the card shows."""


def dataset_card(facts: RunFacts) -> str:
    """Return the card."""
    sections = [
        short_section,
        data_section,
        left_out_section,
        people_section,
        making_section,
        gap_section,
        accuracy_section,
    ]
    parts = [f"# {as_markdown((Prose(facts.title),))}", as_markdown(lead(facts)), f"> {NO_CLAIM}"]
    parts += [_section(make(facts)) for make in (*sections, selection_section)]
    return f"---\n{_header(facts)}---\n\n" + "\n\n".join(parts) + "\n"


def _header(facts: RunFacts) -> str:
    """Return the metadata as YAML; texts are quoted as in JSON, which YAML reads alike."""
    options = facts.options
    found: dict[str, object] = {"pretty_name": facts.title}
    if options.license and _LICENCE.fullmatch(options.license):
        found["license"] = options.license.lower()
    elif options.license:
        found |= {"license": "other", "license_name": options.license}
    found["annotations_creators"] = ["crowdsourced" if facts.has_people else "machine-generated"]
    found["size_categories"] = [_size(facts.labels.tasks)]
    found["tags"] = ["faircrowd", "crowdsourcing", "consensus-labels"]
    files = facts.labels.file if facts.labels.file.endswith(".csv") else f"{facts.labels.file}/*.parquet"
    found["configs"] = [{"config_name": "default", "data_files": files}]
    return "".join(f"{name}: {_yaml(value)}\n" for name, value in found.items())


def _yaml(value: object) -> str:
    r"""Return a value as YAML in one line.

    Examples
    --------
    >>> print(_yaml({"a": ['b: "c"', "d\x00\n"]}))
    {"a": ["b: \"c\"", "d� "]}
    """
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_yaml(name)}: {_yaml(part)}" for name, part in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_yaml, value)) + "]"
    return json.dumps(clean(Prose(value)), ensure_ascii=False)


def _size(tasks: int) -> str:
    """Return the size of a data set as Hugging Face names it.

    Examples
    --------
    >>> _size(584), _size(1000), _size(10**12)
    ('n<1K', '1K<n<10K', 'other')
    """
    return next((name for limit, name in (*_SIZES, *_LARGER) if tasks < limit), "other")


def _section(section: Section) -> str:
    parts = [f"## {section.title}", *(as_markdown(text) for text in section.intro)]
    if section.rows:
        parts.append("\n".join(f"- **{row.heading}.** {' '.join(map(as_markdown, row.texts))}" for row in section.rows))
    return "\n\n".join([*parts, *map(_table, section.tables)])


def _table(table: Table) -> str:
    def line(cells: list[str]) -> str:
        return f"| {' | '.join(cells)} |"

    rule = ["---" if i < table.n_words else "---:" for i in range(len(table.header))]
    rows = [line([_cell(cell) for cell in row]) for row in table.rows[:_MOST_ROWS]]
    more = ["", "Only the first rows are shown."] if len(table.rows) > _MOST_ROWS else []
    caption = f"{as_markdown(table.caption)}:"
    return "\n".join([caption, "", line(list(table.header)), line(rule), *rows, *more])


def _cell(text: Text) -> str:
    return as_markdown(text) if as_plain(text).strip() else " "
