"""Selection rates and impact ratios by category, in the form of New York City's Local Law 144."""

from faircrowd.audit.impact_table import ImpactRow
from faircrowd.report.dossier.fact_book import Name, Text, count, share, three
from faircrowd.report.dossier.run_facts import RunFacts
from faircrowd.report.dossier.sections import Section, Table, say

__all__ = ["selection_section"]

_MOST_ROWS = 300


def selection_section(facts: RunFacts) -> Section:
    """Return the table, or why there is none."""
    title = "Selection rates and impact ratios, in the form of Local Law 144"
    impact = facts.impact
    if impact is None:
        return Section("ll144", title, [say(note) for note in facts.notes])
    told = [
        say("Counted as selected: tasks with the label ", Name(str(facts.options.selected)), "."),
        say("The rate of a category is the share of it that is selected; its impact ratio is that rate divided by the"),
    ]
    told[1] += (" highest rate of the same attribute.",)
    told.append(
        say("The law speaks of people and of categories that the city names; whether tasks and groups are those is")
    )
    told[2] += (" for the reader to say.",)
    for attribute, number in impact.unknown.items():
        if number:
            known = facts.book.keep(facts.labels.file, f"{attribute}: number not known", number, count(number))
            told.append(
                say(Name(attribute), ": the category of ", known, " is not known; they are in none of the rates.")
            )
    if any(row.is_small for row in impact.rows):
        ratio = "and left out of the ratios" if facts.options.leave_out_small else "and compared all the same"
        told.append(say(f"Categories marked with a star have less than two percent of the data, {ratio}."))
    told += [say(note) for note in facts.notes]
    rows = [_row(facts, row) for row in impact.rows[:_MOST_ROWS]]
    if len(impact.rows) > _MOST_ROWS:
        told.append(say("Only the first rows are shown; ll144.csv has all."))
    header = ["attribute", "category", "number", "selected", "selection rate", "impact ratio"]
    return Section("ll144", title, told, tables=[Table(say(f"Counted in {facts.labels.file}"), header, rows, 2)])


def _row(facts: RunFacts, row: ImpactRow) -> list[Text]:
    def fact(what: str, value: float, shown: str) -> Text:
        return (facts.book.keep(facts.labels.file, f"{row.attribute} = {row.category}: {what}", value, shown),)

    ratio = ("left out",) if row.ratio is None and row.is_small else ("-",)
    return [
        (Name(row.attribute),),
        (Name(row.category), "*") if row.is_small else (Name(row.category),),
        fact("number", row.number, count(row.number)),
        fact("number selected", row.selected, count(row.selected)),
        fact("share selected", row.rate, share(row.rate)),
        ratio if row.ratio is None else fact("impact ratio", row.ratio, three(row.ratio)),
    ]
