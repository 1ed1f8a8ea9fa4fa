"""``write_dossier``: the dossier of a run, made from the files in its folder alone."""

import datetime
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from faircrowd import __version__
from faircrowd._types import PathOrText
from faircrowd.errors import FaircrowdError, FileError, InputError, OptionError
from faircrowd.report import OutputFolder
from faircrowd.report.dossier.croissant import REQUIRED
from faircrowd.report.dossier.documents import DOCUMENTS
from faircrowd.report.dossier.fact_book import TO_FILL, FactBook
from faircrowd.report.dossier.run_facts import LABELS, SUMMARY, WORKERS, DossierOptions, GivenFile, RunFacts
from faircrowd.report.evidence import EVIDENCE, read_evidence
from faircrowd.runs.dossiers.label_counts import LabelTable, count_workers, impact_of_labels, read_label_table
from faircrowd.runs.how_to_repeat import how_to_repeat
from faircrowd.runs.options import RunOptions
from faircrowd.runs.write import DOSSIER_INDEX, SPARK_LABELS
from faircrowd.storage.content_hash import content_bytes, content_hash
from faircrowd.storage.untrusted import read_json

__all__ = ["DOSSIER", "DOSSIER_FILES", "INDEX", "WrittenDossier", "changed_files", "fill_dossier", "write_dossier"]

DOSSIER = "dossier"
"""The folder of the dossier in that of the run, unless it is told another."""
INDEX = DOSSIER_INDEX
"""The file that lists every number of a dossier with its place, and what the dossier was told."""
DOSSIER_FILES = (*DOCUMENTS, INDEX)
_KIND, _SCHEMA = "faircrowd.dossier", 1
_SPEAKS_OF_LABELS = "aggregate"


@dataclass(frozen=True)
class WrittenDossier:
    """What was written.

    Attributes
    ----------
    folder : Path
    files : tuple of str
    notes : tuple of str
        What is missing, and what became of an earlier dossier.
    facts : int
        How many numbers it shows.
    to_fill : int
        How many places of the page are to be filled in.
    """

    folder: Path
    files: tuple[str, ...]
    notes: tuple[str, ...]
    facts: int
    to_fill: int

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values, ready for JSON."""
        return {
            "out": str(self.folder),
            "files": list(self.files),
            "facts": self.facts,
            "to_fill": self.to_fill,
            "notes": list(self.notes),
        }


def write_dossier(
    folder: PathOrText,
    out: PathOrText | None = None,
    *,
    selected: object = None,
    leave_out_small: bool = False,
    title: str | None = None,
    license: str | None = None,
    creator: str | None = None,
    url: str | None = None,
    published: str | None = None,
) -> WrittenDossier:
    """Write the dossier of a run: a page for auditors, a dataset card, Croissant, impact ratios, and every number.

    Parameters
    ----------
    folder : path
        As ``faircrowd aggregate`` or ``FairCrowd.write`` wrote it.
    out : path, optional
        Where to write it; by default a folder ``dossier`` in that of the run.
    selected : optional
        The label that counts as selected in the table of impact ratios; without it there is no such table.
    leave_out_small : bool
        Leave categories with less than 2% of the data out of the ratios.
    title, license, creator, url, published : str, optional
        What the data set is called, under which licence it is, who made it, its address, and the date (such as
        2026-01-31) on which it was published.

    Raises
    ------
    InputError
        If the folder is not that of such a run, or its files were changed since.
    OptionError
        If files that this did not write would be overwritten.
    """
    options = DossierOptions(
        None if selected is None else str(selected), leave_out_small, title, license, creator, url, published
    )
    _check(options)
    run = Path(folder)
    place = run / DOSSIER if out is None else Path(out)
    said = read_evidence(run / EVIDENCE if run.is_dir() else run)
    if changed := changed_files(run, said):
        raise InputError(
            f"{', '.join(changed)} in {run} {'is' if len(changed) == 1 else 'are'} not as the run wrote "
            f"{'it' if len(changed) == 1 else 'them'} (evidence.json has another SHA-256), so a dossier would describe "
            "something else; see faircrowd verify."
        )
    _check_place(place)
    with OutputFolder(place) as target:
        facts = fill_dossier(run, place, options, target)
        to_fill = target.waiting("dossier.html").read_text(encoding="utf-8").count(f"<em>{TO_FILL}</em>")
    files = tuple(name for name in DOSSIER_FILES if name in target.names)
    return WrittenDossier(place, files, _notes(options, facts, target), len(facts.book.facts), to_fill)


def changed_files(run: Path, said: Mapping[str, Any]) -> list[str]:
    """Return the files of a run that are missing or not as its evidence says."""
    outputs = said.get("outputs")
    if said.get("command") != _SPEAKS_OF_LABELS or not isinstance(outputs, dict):
        raise InputError(
            f"{run} holds no labels of faircrowd aggregate (its evidence is of {str(said.get('command'))!r}), which a "
            "dossier describes."
        )
    return [name for name, known in outputs.items() if not (run / name).exists() or content_hash(run / name) != known]


def fill_dossier(
    run: Path, place: Path, options: DossierOptions, target: OutputFolder, version: str = __version__
) -> RunFacts:
    """Write the files of a dossier into an open folder, and return what they were made from.

    Parameters
    ----------
    run, place : Path
        The folder of the run, and that of the dossier.
    version : str
        The version of faircrowd that wrote it.
    """
    try:
        facts = _read(run, place, options)
        made = {name: document.make(facts) for name, document in DOCUMENTS.items()}
    except FaircrowdError:
        raise
    except (KeyError, TypeError, AttributeError, ValueError, IndexError) as error:
        raise InputError(
            f"The files of the run in {run} are damaged or incomplete ({type(error).__name__}: {error})."
        ) from None
    target.forget(*DOSSIER_FILES)
    for name, content in made.items():
        if isinstance(content, str):
            target.write_text(name, content)
        elif content is not None:
            target.write_csv(name, content)
    index = {
        "schema": _SCHEMA,
        "kind": _KIND,
        "version": version,
        "options": options.to_dict(),
        "evidence": content_hash(run / EVIDENCE),
        "files": target.hashes(),
        "facts": facts.book.to_list(),
    }
    target.write_json(INDEX, index)
    return facts


def _read(run: Path, place: Path, options: DossierOptions) -> RunFacts:
    said = read_evidence(run / EVIDENCE)
    book = FactBook({EVIDENCE: said, SUMMARY: read_json(run / SUMMARY, "summary")})
    labels = SPARK_LABELS if SPARK_LABELS in said["outputs"] else LABELS
    table = read_label_table(run / labels)
    notes, impact = _impact(book, table, options)
    return RunFacts(
        book,
        options,
        table.counts,
        count_workers(run / WORKERS),
        impact,
        [_given(run / name) for name in (*said["outputs"], EVIDENCE)],
        _command(said),
        Path(os.path.relpath(run.resolve(), place.resolve())).as_posix(),
        notes,
    )


def _impact(book: FactBook, table: LabelTable, options: DossierOptions) -> tuple[list[str], Any]:
    """Return the table of impact ratios, and what there is to say about it, or why there is none."""
    if not table.group_columns:
        return ["There is no such table: labels.csv says the group of no task."], None
    if options.selected is None:
        return ["There is no such table: the dossier was not told which label counts as selected."], None
    summary, asked = book.documents[SUMMARY], book.documents[EVIDENCE]["options"]
    columns = summary.get("group_columns") or asked.get("group") or ["group"]
    named = {name: name.removeprefix("group_") for name in table.group_columns} | {"group": " * ".join(columns)}
    notes = []
    if table.counts.reviewed:
        notes.append("Tasks that are left to a person have no label yet, and count as not selected.")
    if table.group_columns == ("group",) and len(columns) > 1:
        notes.append("Columns are compared only together: labels.csv has their intersection alone.")
    if summary.get("merged_groups"):
        notes.append("Small groups were merged into one category before.")
    reading = asked.get("reading") or {}
    found = impact_of_labels(
        table,
        options.selected,
        list(summary["class_shares"]),
        named,
        on_missing_group=reading.get("on_missing_group"),
        leave_out_small=options.leave_out_small,
    )
    return notes, found


def _given(path: Path) -> GivenFile:
    return GivenFile(path.name, content_bytes(path), None if path.is_dir() else content_hash(path))


def _command(said: Mapping[str, Any]) -> str | None:
    """Return how to repeat the run, as its page says it; None if evidence does not hold enough for that."""
    inputs, parameters = said["inputs"], said["options"]["parameters"]
    files = {role: Path(given["path"]) for role, given in inputs.items() if "path" in given}
    in_memory = [role for role, given in inputs.items() if given.get("in_memory") is True]
    is_object = any(isinstance(value, str) and value.startswith("a ") for value in parameters.values())
    if "votes" not in files or is_object:
        return None
    return how_to_repeat(RunOptions.from_dict(said["command"], said["options"], files), in_memory=in_memory)


def _check(options: DossierOptions) -> None:
    for name in ("title", "license", "creator", "url", "published"):
        value = getattr(options, name)
        if value is not None and (not value.strip() or len(value) > 500 or not value.isprintable()):
            raise OptionError(f"{name} must be a text of 1 to 500 characters on one line.", parameter=name)
    if options.url is not None and not options.url.startswith(("https://", "http://")):
        raise OptionError("url must begin with https:// or http://.", parameter="url")
    if options.published is not None:
        try:
            datetime.date.fromisoformat(options.published)
        except ValueError:
            raise OptionError(
                f"published must be a date such as 2026-01-31, not {options.published!r}.", parameter="published"
            ) from None
    if options.leave_out_small and options.selected is None:
        raise OptionError("leave_out_small goes with selected=...", parameter=("leave_out_small", "selected"))


def _check_place(place: Path) -> None:
    """Raise if files would be lost: those that no dossier wrote, or that were edited since."""
    there = [name for name in DOSSIER_FILES if (place / name).exists()]
    if not there:
        return
    known: dict[str, Any] = {}
    try:
        index = read_json(place / INDEX, "dossier")
        known = index["files"] if index.get("kind") == _KIND else {}
    except (FileError, InputError, KeyError, AttributeError):
        pass
    strange = [
        name for name in there if name != INDEX and (name not in known or content_hash(place / name) != known[name])
    ]
    if strange or (INDEX in there and not known):
        which = strange or [INDEX]
        raise OptionError(
            f"{', '.join(which)} in {place} would be overwritten, which no dossier wrote, or which was edited since; "
            f"move {'it' if len(which) == 1 else 'them'} away, or choose another folder.",
            parameter="out",
        )


def _notes(options: DossierOptions, facts: RunFacts, target: OutputFolder) -> tuple[str, ...]:
    notes = []
    if facts.impact is None:
        hint = "; name the label with selected=..." if options.selected is None and facts.labels_have_groups else ""
        notes.append(f"no table of impact ratios{hint}")
    if lacking := [name for name in REQUIRED if getattr(options, name) is None]:
        notes.append(f"Croissant requires what the run cannot know: {', '.join(f'{name}=...' for name in lacking)}")
    if facts.labels.file == SPARK_LABELS and facts.up != ".":
        notes.append(
            f"{SPARK_LABELS} is a folder, which readers of Croissant find only beside croissant.json: write the "
            "dossier into the folder of the run for that"
        )
    if target.replaced:
        notes.append(f"an earlier dossier in {target.path} was replaced")
    return tuple(notes)
