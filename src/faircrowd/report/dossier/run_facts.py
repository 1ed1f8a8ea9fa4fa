"""What a folder of a run tells about its labels, read once for all documents of a dossier."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any

from faircrowd.audit.impact_table import ImpactTable
from faircrowd.report.dossier.fact_book import Fact, FactBook, Name, Text, count, joined, whole
from faircrowd.report.evidence import EVIDENCE

__all__ = [
    "LABELS",
    "SUMMARY",
    "WORKERS",
    "DossierOptions",
    "GivenFile",
    "LabelCounts",
    "RunFacts",
    "WorkerCounts",
    "few_names",
    "is_unknown_group",
]

SUMMARY, LABELS, WORKERS = "summary.json", "labels.csv", "workers.csv"
_MISSING = re.compile(r"missing_*")
_MOST_NAMES = 12


@dataclass(frozen=True)
class DossierOptions:
    """What a dossier is told beyond what the folder of the run holds.

    Attributes
    ----------
    selected : str or None
        The label that counts as selected in the table of impact ratios; without it there is no such table.
    leave_out_small : bool
        Whether categories with less than 2% of the data are left out of its ratios.
    title, license, creator, url, published : str or None
        What the data set is called, under which licence it is, who made it, its address, and when it was published
        (a date such as 2026-01-31).
    """

    selected: str | None = None
    leave_out_small: bool = False
    title: str | None = None
    license: str | None = None
    creator: str | None = None
    url: str | None = None
    published: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the options as plain values, ready for JSON."""
        return asdict(self)


@dataclass(frozen=True)
class LabelCounts:
    """What is counted of the labels of a run.

    Attributes
    ----------
    file : str
        labels.csv, or the folder of Parquet that a run in Spark writes.
    header : mapping of str to str
        Its columns, with what they hold as Croissant calls it.
    tasks, reviewed : int
        Number of rows, and of those that are left to a person.
    votes : Counter
        Number of tasks by their number of votes.
    """

    file: str
    header: Mapping[str, str]
    tasks: int
    reviewed: int
    votes: Counter[int]


@dataclass(frozen=True)
class WorkerCounts:
    """What is counted of the workers of a run.

    Attributes
    ----------
    header : mapping of str to str
        The columns of workers.csv, with what they hold as Croissant calls it.
    votes : Counter
        Number of workers by their number of votes.
    verdicts : Counter
        Number of workers by verdict of the audit; empty without groups.
    """

    header: Mapping[str, str]
    votes: Counter[int]
    verdicts: Counter[str]


@dataclass(frozen=True)
class GivenFile:
    """A file of the folder: its name, size and hash; of a folder of files, no hash that others can compute."""

    name: str
    size: int
    sha256: str | None


@dataclass(frozen=True)
class RunFacts:
    """Everything that the documents of a dossier are made from.

    Attributes
    ----------
    book : FactBook
        The JSON files of the run, and the facts that were taken.
    options : DossierOptions
    labels : LabelCounts
    workers : WorkerCounts or None
    impact : ImpactTable or None
    files : list of GivenFile
    command : str or None
        How to repeat the run; None if no line does.
    up : str
        The way from the dossier to the folder of the run.
    notes : list of str
        What there is to say about the table of impact ratios.
    """

    book: FactBook
    options: DossierOptions
    labels: LabelCounts
    workers: WorkerCounts | None
    impact: ImpactTable | None
    files: Sequence[GivenFile]
    command: str | None
    up: str = ".."
    notes: Sequence[str] = field(default_factory=tuple)

    @property
    def evidence(self) -> Mapping[str, Any]:
        """What evidence.json holds."""
        found: Mapping[str, Any] = self.book.documents[EVIDENCE]
        return found

    @property
    def summary(self) -> Mapping[str, Any]:
        """What summary.json holds."""
        found: Mapping[str, Any] = self.book.documents[SUMMARY]
        return found

    @property
    def asked(self) -> Mapping[str, Any]:
        """The options of the run."""
        found: Mapping[str, Any] = self.evidence["options"]
        return found

    @property
    def certificate(self) -> Mapping[str, Any] | None:
        """The certificate of fair labels."""
        found: Mapping[str, Any] | None = self.evidence["certificate"]
        return found

    @property
    def is_constrained(self) -> bool:
        """Whether the labels keep a list of constraints."""
        return self.certificate is not None and "constraints" in self.certificate

    @property
    def group_columns(self) -> tuple[str, ...]:
        """The columns that the groups are of; none if there are no groups, or they had no name."""
        if self.is_constrained and self.summary.get("group_columns"):
            return tuple(self.summary["group_columns"])
        return tuple(self.asked.get("group") or ())

    @property
    def has_groups(self) -> bool:
        """Whether the run knows groups."""
        return self.summary.get("group_shares") is not None or self.is_constrained

    @property
    def labels_have_groups(self) -> bool:
        """Whether the table of labels says the group of each task."""
        return any(name == "group" or name.startswith("group_") for name in self.labels.header)

    @property
    def has_people(self) -> bool:
        """Whether votes are taken to be those of people: not if the method is one for judges that are models."""
        return not str(self.asked.get("method")).startswith("jury")

    @cached_property
    def title(self) -> str:
        """What the data set is called: as the dossier or the run was told, or else after its votes."""
        told = self.options.title or self.asked.get("title")
        votes = self.evidence["inputs"].get("votes", {}).get("path")
        return str(told) if told else f"Labels of {votes.rsplit('/', 1)[-1]}" if votes else "Labels"

    def of_summary(self, *path: str | int, form: Any = count) -> Fact:
        """Return a fact of summary.json."""
        return self.book.take(SUMMARY, *path, form=form)

    def of_evidence(self, *path: str | int, form: Any = count) -> Fact:
        """Return a fact of evidence.json."""
        return self.book.take(EVIDENCE, *path, form=form)

    def of_certificate(self, *path: str | int, form: Any = count) -> Fact:
        """Return a fact of the certificate, which evidence.json holds."""
        return self.of_evidence("certificate", *path, form=form)

    def spread(self, file: str, column: str, counted: Counter[int]) -> tuple[Fact, Fact, Fact]:
        """Return the smallest, middle and largest value of a column of whole numbers."""
        low, middle, high = min(counted), _median(counted), max(counted)
        named = {"smallest": low, "median": middle, "largest": high}
        smallest, median, largest = (
            self.book.keep(file, f"{column}: {how}", value, whole(value)) for how, value in named.items()
        )
        return smallest, median, largest


def _median(counted: Counter[int]) -> float:
    """Return the median of values of which each occurs so many times.

    Examples
    --------
    >>> _median(Counter({3: 2, 5: 1, 9: 1})), _median(Counter([1, 2, 3]))
    (4.0, 2)
    """
    total = sum(counted.values())
    ranked, seen, found = sorted(counted.items()), 0, list[int]()
    for wanted in ((total - 1) // 2, total // 2):
        seen = 0
        for value, times in ranked:
            seen += times
            if wanted < seen:
                found.append(value)
                break
    low, high = found
    return low if low == high else (low + high) / 2


def few_names(names: Sequence[str], total: Fact) -> Text:
    """Return some names, and how many there are in all if they are not all of them.

    Examples
    --------
    >>> few_names(["a", "b"], Fact("summary.json", "/classes", 2, "2"))
    ('a', ', ', 'b')
    """
    shown: list[Text] = [(Name(name),) for name in names[:_MOST_NAMES]]
    return joined([*shown, *([("and others (", total, " in all)")] if len(names) > _MOST_NAMES else [])])


def is_unknown_group(name: str | None, on_missing_group: str | None) -> bool:
    """Return whether a group stands for tasks whose group is not known.

    Examples
    --------
    >>> is_unknown_group("missing", "drop"), is_unknown_group("missing", "error"), is_unknown_group(None, "error")
    (True, False, True)
    """
    return name is None or (on_missing_group in ("drop", "own") and _MISSING.fullmatch(name) is not None)
