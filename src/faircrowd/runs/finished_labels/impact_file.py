"""Selection rates and impact ratios of labels in a file that somebody, or ``faircrowd aggregate``, has finished."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from faircrowd.audit.impact_table import ImpactTable, impact_table
from faircrowd.errors import MissingColumnError, OptionError
from faircrowd.runs.finished_labels.check_file import CheckOptions, read_labels_file
from faircrowd.runs.write import IMPACT_FILE, check_out
from faircrowd.storage.output_folder import OutputFolder
from faircrowd.votes.frames import find_column
from faircrowd.votes.readers import read_header

__all__ = ["ImpactOfFile", "has_finished_labels", "impact_of_file"]


@dataclass(frozen=True)
class ImpactOfFile:
    """The table of a file of labels.

    Attributes
    ----------
    labels : Path
    impact : ImpactTable
    notes : tuple of str
        What there is to know about the file.
    """

    labels: Path
    impact: ImpactTable
    notes: tuple[str, ...]

    def write(self, folder: Path, *inputs: Path | None) -> Path:
        """Write the table into a folder, and return its path."""
        check_out(folder, (IMPACT_FILE,), (self.labels, *inputs))
        with OutputFolder(folder) as out:
            out.write_csv(IMPACT_FILE, self.impact.table())
        return folder / IMPACT_FILE

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values, ready for JSON."""
        return {"labels": str(self.labels), "impact": self.impact.to_dict(), "notes": list(self.notes)}


def has_finished_labels(path: Path, worker: str | None = None, delimiter: str | None = None) -> bool:
    """Return whether a file holds labels that are finished: it says of none which worker gave it."""
    try:
        find_column("worker", read_header(path, delimiter=delimiter), worker)
    except MissingColumnError:
        return worker is None
    return False


def impact_of_file(options: CheckOptions, selected: object, *, leave_out_small: bool = False) -> ImpactOfFile:
    """Return the table of the labels in a file.

    Parameters
    ----------
    options : CheckOptions
        Where labels and groups are; ``on_missing_group`` does not matter, as unknown categories are counted as such.
    selected : object
        The label that counts as selected.
    leave_out_small : bool
        As in :func:`faircrowd.audit.impact_table`.
    """
    if not options.group:
        raise OptionError("table='ll144' is about the categories of columns; give group=...", parameter="group")
    labels, columns, notes, unlabelled = read_labels_file(options, options.group)
    found = impact_table(
        labels,
        sensitive_features=dict(zip(options.group, columns, strict=True)),
        selected=selected,
        leave_out_small=leave_out_small,
    )
    return ImpactOfFile(
        options.labels, found, (*notes, *([f"{unlabelled}; they are not counted"] if unlabelled else []))
    )
