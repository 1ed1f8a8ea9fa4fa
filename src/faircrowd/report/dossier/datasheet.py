"""What the data are: a datasheet of the labels, with what was left out and how the labels were made.

Its headings follow Gebru et al., "Datasheets for Datasets" (2021), and for the people behind the votes Bender and
Friedman, "Data Statements for NLP" (2018). What no file of a run tells is left to be filled in.
"""

from collections.abc import Mapping
from typing import Any

from faircrowd.aggregate.registry import AGGREGATORS
from faircrowd.audit.workers.worker_audit import LEANS, NO_SIGN, TOO_FEW
from faircrowd.report.dossier.fact_book import Code, Fact, Name, Prose, Text, count, joined, share, three, whole
from faircrowd.report.dossier.run_facts import SUMMARY, WORKERS, RunFacts, few_names
from faircrowd.report.dossier.sections import TO_BE_FILLED_IN, Row, Section, Table, say

__all__ = [
    "agreement_texts",
    "change_texts",
    "data_section",
    "file_section",
    "left_out_section",
    "left_out_texts",
    "making_section",
    "making_texts",
    "people_section",
    "votes_per_task",
]

_MOST_GROUPS = 300
_REASONS = {
    "rows_without_skill": "their worker had no weight",
    "rows_abstained": "the judge abstained",
    "rows_averaged": "they were further runs of a judge on a task, and were averaged into one vote",
}


def data_section(facts: RunFacts) -> Section:
    """Return what there is: tasks, labels, votes, groups."""
    purpose = facts.asked.get("note")
    rows = [
        Row("Purpose: why the data were made", [(Prose(purpose),) if purpose else TO_BE_FILLED_IN]),
        Row("Tasks", [*_tasks(facts), (*TO_BE_FILLED_IN, " (what a task is, and how tasks were chosen)")]),
        Row(
            "Date", [(facts.of_evidence("options", "date", form=str),) if facts.asked.get("date") else TO_BE_FILLED_IN]
        ),
        Row("Labels", _labels(facts)),
        Row("Votes", _votes(facts)),
        Row("Agreement", agreement_texts(facts)),
        Row("Groups", _groups(facts)),
        Row("Known labels", _known(facts)),
    ]
    return Section("data", "What the data are", rows=rows, tables=_group_table(facts))


def _tasks(facts: RunFacts) -> list[Text]:
    told = [say(facts.of_summary("tasks"), " tasks have votes that count.")]
    if facts.summary["rows"].get("n_tasks_without_votes"):
        without = facts.of_summary("rows", "n_tasks_without_votes")
        told.append(say(without, " more have none, and so no label."))
    if facts.labels.reviewed:
        told.append(say(facts.of_summary("reviewed"), " of them are left to a person, and have no final label yet."))
    return told


def _labels(facts: RunFacts) -> list[Text]:
    names = list(facts.summary["class_shares"])
    shares: list[Text] = [
        (Name(name), ": ", facts.of_summary("class_shares", name, form=share)) for name in names[:_MOST_GROUPS]
    ]
    more = [say(facts.of_summary("classes"), " labels, with their share of all tasks. ") + joined(shares) + (".",)]
    if facts.labels.reviewed:
        more.append(say("Tasks that are left to a person are counted by the probabilities of their labels."))
    return more


def _votes(facts: RunFacts) -> list[Text]:
    told = [say(facts.of_summary("votes"), " votes of ", facts.of_summary("workers"), " workers are counted.")]
    if facts.labels.votes:
        told.append(votes_per_task(facts))
    if facts.workers is not None:
        low, middle, high = facts.spread(WORKERS, "votes", facts.workers.votes)
        told.append(_spread("worker gave", low, middle, high))
    return told


def votes_per_task(facts: RunFacts) -> Text:
    """Return how many votes a task has."""
    low, middle, high = facts.spread(facts.labels.file, "votes", facts.labels.votes)
    return _spread("task has", low, middle, high)


def _spread(who: str, low: Fact, middle: Fact, high: Fact) -> Text:
    if low.value == high.value:
        return say(f"Each {who} ", low, " votes.")
    return say(f"A {who} from ", low, " to ", high, " votes (median ", middle, ").")


def agreement_texts(facts: RunFacts) -> list[Text]:
    """Return how far votes agree: with the labels, with each other, and beyond what a model assumes."""
    agree = facts.of_summary("agreement", form=share)
    told = [say(agree, " of the votes agree with the label of their task, which was made from them.")]
    if facts.summary.get("alpha") is not None:
        alpha = facts.of_summary("alpha", form=three)
        told.append(
            say(
                "Krippendorff's alpha of the votes is ", alpha, " (one is full agreement, zero is agreement by chance)."
            )
        )
    else:
        told.append(say("Krippendorff's alpha of the votes is not recorded."))
    found = facts.summary.get("independence")
    if found and found.get("rejected"):
        each, worth = (facts.of_summary("independence", name, form=_tenth) for name in _VOTES_WORTH)
        told.append(
            say(
                "Votes on the same task go together more than the method assumes: ",
                *(each, " votes per task are worth about ", worth, " independent ones."),
            )
        )
    if facts.workers is not None and facts.workers.verdicts:
        found_by = [
            (
                facts.book.keep(WORKERS, f"verdict: number of {verdict!r}", number, count(number)),
                f" {_LEANING[verdict]}",
            )
            for verdict, number in sorted(facts.workers.verdicts.items())
        ]
        told.append(
            say("Whether workers label groups differently, as far as their votes tell: ") + joined(found_by) + (".",)
        )
    return told


_LEANING = {LEANS: "do", NO_SIGN: "show no sign of it", TOO_FEW: "have too few votes to say"}
_VOTES_WORTH = ("votes_per_task", "effective_votes")


def _tenth(value: float) -> str:
    return f"{value:.1f}"


def _groups(facts: RunFacts) -> list[Text]:
    if not facts.has_groups:
        return [say("No groups were given to the run, so nothing is known about differences between groups.")]
    sizes = facts.summary.get("group_tasks") or {}
    columns = facts.group_columns
    told = []
    if sizes:
        number = _number(facts, "group_tasks")
        of = say(" groups of ", *joined([(Name(name),) for name in columns], " and ")) if columns else say(" groups")
        told.append(say(number, *of, ": ") + few_names(list(sizes), number) + (".",))
    other = _other_columns(facts)
    if other:
        told.append(say("Constraints also speak of ", *joined([(Name(name),) for name in other], " and "), "."))
    return [*told, (*TO_BE_FILLED_IN, " (who assigned the groups, and how)")]


def _other_columns(facts: RunFacts) -> list[str]:
    prefix = "group_"
    found = [name.removeprefix(prefix) for name in facts.labels.header if name.startswith(prefix)]
    return [name for name in found if name not in facts.group_columns]


def _number(facts: RunFacts, name: str) -> Fact:
    """Return how many names an object of summary.json has."""
    size = len(facts.summary[name])
    return facts.book.keep(SUMMARY, f"/{name}: number of names", size, count(size))


def _known(facts: RunFacts) -> list[Text]:
    told: list[Text] = []
    if facts.summary.get("truths") is not None:
        told.append(
            say("The true label of ", facts.of_summary("truths"), " tasks was given to the run, to score labels by.")
        )
    learned = facts.asked.get("gold") or facts.asked.get("calibrate")
    estimate = facts.summary.get("estimated_accuracy") or facts.summary.get("estimated_accuracy_before")
    if isinstance(estimate, Mapping):
        name = "estimated_accuracy" if facts.summary.get("estimated_accuracy") else "estimated_accuracy_before"
        told.append(say("The method was calibrated on ", facts.of_summary(name, "n_gold"), " known labels."))
    elif learned or "true_labels" in facts.evidence["inputs"]:
        told.append(
            say("The method learned from known labels", *((" in column ", Name(learned)) if learned else ()), ".")
        )
    return told or [say("No known labels were given to the run.")]


def _group_table(facts: RunFacts) -> list[Table]:
    sizes = facts.summary.get("group_tasks")
    if not sizes:
        return []
    left_out = facts.summary.get("left_out") or {}
    rows: list[list[Text]] = [
        [
            (Name(name),),
            (facts.of_summary("group_tasks", name),),
            ("yes",) if name not in left_out else ("no: ", Name(left_out[name])),
        ]
        for name in list(sizes)[:_MOST_GROUPS]
    ]
    caption = say("Groups and their sizes (summary.json /group_tasks)") + _first_of(facts, "group_tasks", len(sizes))
    return [Table(caption, ["group", "compared with others", "tasks"], [[a, c, b] for a, b, c in rows], 2)]


def _first_of(facts: RunFacts, name: str, total: int) -> Text:
    return (f"; the first {_MOST_GROUPS} of ", _number(facts, name)) if total > _MOST_GROUPS else ()


def left_out_section(facts: RunFacts) -> Section:
    """Return what was left out, and why."""
    rows = [Row("Rows of the input", left_out_texts(facts))]
    rows.append(
        Row(
            "Workers",
            [
                say("Rows are set aside, not workers: whoever has no other row is not among the ", *_workers(facts)),
                (*TO_BE_FILLED_IN, " (workers who were turned away before the votes were handed over)"),
            ],
        )
    )
    if facts.has_groups:
        rows.append(Row("Groups", _left_out_groups(facts)))
    return Section("left-out", "Who and what was left out", rows=rows)


def _workers(facts: RunFacts) -> Text:
    return facts.of_summary("workers"), " workers above."


def left_out_texts(facts: RunFacts) -> list[Text]:
    """Return which rows of the input are not among the votes, and why."""
    found = facts.summary["rows"]
    read, aside = facts.of_summary("rows", "rows_read"), facts.of_summary("rows", "rows_aside")
    told = [say(read, " rows were read, and ", aside, " were set aside.")]
    told += [
        say(facts.of_summary("rows", "rows_missing", column), f" have no {column}.")
        for column in found.get("rows_missing") or {}
    ]
    told += [
        say(facts.of_summary("rows", "rows_left_out", reason), " were left out when read: ", Name(reason), ".")
        for reason in found.get("rows_left_out") or {}
    ]
    if found.get("rows_repeated"):
        repeated = facts.of_summary("rows", "rows_repeated")
        policy = found["on_duplicate"]
        kept = "and were kept" if policy == "all" else f"of which only the {policy} vote counts"
        told.append(say(repeated, f" repeat a task and a worker, {kept}."))
    for name, why in _REASONS.items():
        if found.get(name):
            told.append(say(facts.of_summary("rows", name), f" were set aside because {why}."))
    return told


def _left_out_groups(facts: RunFacts) -> list[Text]:
    told: list[Text] = []
    left_out = facts.summary.get("left_out") or {}
    for why in dict.fromkeys(left_out.values()):
        names = [name for name, reason in left_out.items() if reason == why]
        told.append(
            say("Left out of the gap (", Name(why), "): ") + few_names(names, _number(facts, "left_out")) + (".",)
        )
    if facts.is_constrained and facts.certificate is not None:
        for i, kept in enumerate(facts.certificate["constraints"]):
            if kept.get("left_out"):
                names = list(kept["left_out"])
                size = facts.book.keep(
                    "evidence.json",
                    f"/certificate/constraints/{i}/left_out: number of names",
                    len(names),
                    count(len(names)),
                )
                told.append(say("Left out of ", Name(kept["text"]), ": ") + few_names(names, size) + (".",))
    merged = facts.summary.get("merged_groups") or []
    if merged:
        told.append(
            say("Small groups that were merged into one: ") + few_names(merged, _number(facts, "merged_groups"))
        )
    return told or [say("No group was left out.")]


def people_section(facts: RunFacts) -> Section:
    """Return what is asked about the people behind the votes, which no file of a run tells."""
    if facts.has_people:
        who = "Workers: who they are (demographics, languages, training)"
        how = "Workers: how they were found, and what they were paid"
    else:
        who, how = "Judges: which models, with their versions and prompts", "Judges: why these"
    asked = [
        *(who, how),
        "What they were told: the question, the options, the guidelines",
        "When and on which platform the votes were cast",
        "Consent, and personal data in tasks, votes and groups",
        "Uses that the labels are made for, and uses that they are not fit for",
        "Who keeps the data, and what happens when errors are found",
    ]
    options = facts.options
    told = {
        "Licence": options.license,
        "Made by": options.creator,
        "Address": options.url,
        "Published": options.published,
    }
    rows = [Row(heading, [TO_BE_FILLED_IN]) for heading in asked]
    rows += [Row(heading, [(Prose(value),) if value else TO_BE_FILLED_IN]) for heading, value in told.items()]
    return Section("people", "People, uses and upkeep", rows=rows)


def making_section(facts: RunFacts) -> Section:
    """Return how the labels were made: method, options, versions, inputs with hashes, and how to repeat it."""
    evidence = facts.evidence
    versions: list[Text] = [("faircrowd ", facts.of_evidence("version", form=str))]
    versions.append(("Python ", facts.of_evidence("python", form=str)))
    versions += [
        (f"{name} ", facts.of_evidence("libraries", name, form=str))
        for name, found in evidence["libraries"].items()
        if found
    ]
    rows = [
        Row("Method", making_texts(facts)),
        Row("Options", [_parameters(facts)]),
        Row("Versions", [(*joined(versions), ".")]),
        Row("Inputs", [_input(facts, role, given) for role, given in evidence["inputs"].items()]),
        Row("To repeat it", [_repeated(facts)]),
        Row("To check it", [_checked(facts)]),
    ]
    return Section("making", "How the labels were made", rows=rows)


def _checked(facts: RunFacts) -> Text:
    in_memory = [role for role, given in facts.evidence["inputs"].items() if given.get("in_memory")]
    if set(in_memory) - {"truth"}:
        return say("faircrowd verify compares the files with their hashes and with each other; inputs were in memory.")
    return say("faircrowd verify, on the folder of the run, does it again and compares every file.")


def _repeated(facts: RunFacts) -> Text:
    if facts.command is None:
        return say("Inputs or parameters were objects in memory, so no single line repeats the run.")
    return (Code(facts.command),)


def making_texts(facts: RunFacts) -> list[Text]:
    """Return the method, and what was done to its labels."""
    asked = facts.asked
    kind = AGGREGATORS.get(str(asked.get("method")))
    told = [say("Votes were merged by ", Name(facts.summary["method"]), f". {kind.summary}" if kind else ".")]
    if facts.summary.get("rounds") is not None:
        end = "converged" if facts.summary.get("converged") else "did NOT converge"
        told.append(say("It ", end, " in ", facts.of_summary("rounds"), " rounds."))
    if facts.summary.get("ties"):
        told.append(say(facts.of_summary("ties"), " tasks have tied labels, of which one was taken by a fixed rule."))
    return [*told, *change_texts(facts)]


def change_texts(facts: RunFacts) -> list[Text]:
    """Return what was done to the labels of the method."""
    certificate = facts.certificate
    if certificate is None:
        return [say("The labels were not changed to bring groups together.")]
    changed = facts.of_certificate("changed"), " of ", facts.of_certificate("tasks")
    told = [
        say("The labels had to keep: ", *_kept(facts), "."),
        say(
            *changed, " labels (", facts.of_certificate("changed_share", form=share), ") differ from the method's own."
        ),
    ]
    if certificate.get("reviewed"):
        told.append(say(facts.of_certificate("reviewed"), " tasks are left to a person."))
    if certificate["decision"] == "randomized":
        told.append(say("Where the rule leaves labels open, they were drawn at random, from a fixed seed."))
    return told


def _kept(facts: RunFacts) -> Text:
    if facts.is_constrained and facts.certificate is not None:
        return joined([(Name(kept["text"]),) for kept in facts.certificate["constraints"]], "; ")
    return "a gap between groups of at most ", facts.of_certificate("epsilon", form=whole)


def _parameters(facts: RunFacts) -> Text:
    """Return what the method and the reading of the votes were given."""
    listed: list[Text] = [
        (f"{name} = ", facts.of_evidence("options", part, name, form=_short))
        for part in ("parameters", "reading")
        for name, value in (facts.asked.get(part) or {}).items()
        if value is not None
    ]
    return (joined(listed) if listed else ("none",)) + (". All are in evidence.json, under options.",)


def _short(value: Any) -> str:
    return "yes" if value is True else "no" if value is False else str(value)


def _input(facts: RunFacts, role: str, given: Mapping[str, Any]) -> Text:
    name = Name(str(given["path"]).rsplit("/", 1)[-1]) if "path" in given else "given in memory"
    found: Text = (f"{role.replace('_', ' ')}: ", name)
    if "bytes" in given:
        found += (", ", facts.of_evidence("inputs", role, "bytes"), " bytes")
    if "sha256" in given:
        found += (", SHA-256 ", facts.of_evidence("inputs", role, "sha256", form=str))
    return (*found, ".")


def file_section(facts: RunFacts) -> Section:
    """Return the files of the run with their hashes."""
    rows: list[list[Text]] = []
    for given in facts.files:
        if given.name in facts.evidence["outputs"]:
            told: Text = (facts.of_evidence("outputs", given.name, form=str),)
        else:
            told = (facts.book.keep(given.name, "SHA-256", given.sha256, str(given.sha256)),)
        rows.append([(given.name,), told])
    return Section(
        "files",
        "Files of the run",
        tables=[Table(say("Files and their SHA-256 (evidence.json /outputs)"), ["file", "SHA-256"], rows, 2)],
    )
