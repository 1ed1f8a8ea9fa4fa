"""What is counted of the tables of a run: votes per task and per worker, labels by group."""

import csv
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.dataset

from faircrowd.audit.impact_table import ImpactTable, impact_rows
from faircrowd.errors import InputError
from faircrowd.report.dossier.run_facts import LabelCounts, WorkerCounts, is_unknown_group
from faircrowd.storage.output_folder import neutralised
from faircrowd.votes import Vocabulary
from faircrowd.votes.groups import Grouped

__all__ = ["LabelTable", "count_workers", "impact_of_labels", "read_label_table"]

_TEXT, _WHOLE, _NUMBER, _TRUTH = "sc:Text", "sc:Integer", "sc:Float", "sc:Boolean"
_TYPES = {"votes": _WHOLE, "changed": _TRUTH, "review": _TRUTH, "threshold": _NUMBER}
_OF_WORKERS = ("agreement", "gap", "low", "high", "shrunken", "p_value", "q_value", "influence", "weight")


class LabelTable:
    """The labels of a run, counted by their groups and label.

    Attributes
    ----------
    counts : LabelCounts
    group_columns : tuple of str
        The columns that hold groups.
    cells : Counter
        Number of tasks by groups and label, as the cells of the file have them.
    """

    def __init__(self, counts: LabelCounts, group_columns: tuple[str, ...], cells: Counter[tuple[str | None, ...]]):
        self.counts, self.group_columns, self.cells = counts, group_columns, cells


def read_label_table(path: Path) -> LabelTable:
    """Read labels.csv, or a folder of Parquet, a piece at a time, and count.

    Raises
    ------
    InputError
        If it is not a table of labels.
    """
    try:
        header = _header(path)
        several = tuple(name for name in header if name.startswith("group_"))
        groups = several or (("group",) if "group" in header else ())
        wanted = [name for name in (*groups, "label", "votes", "review") if name in header]
        votes, cells, reviewed = Counter[int](), Counter[tuple[str | None, ...]](), 0
        for piece in _pieces(path, wanted):
            keys = [*groups, "label"]
            found = pa.table({name: _texts(piece[name]) for name in keys}).group_by(keys).aggregate([([], "count_all")])
            for *key, number in zip(*(found[name].to_pylist() for name in (*keys, "count_all")), strict=True):
                cells[tuple(key)] += number
            if "votes" in wanted:
                each, times = np.unique(np.asarray(piece["votes"]).astype(np.int64), return_counts=True)
                votes.update(dict(zip(each.tolist(), times.tolist(), strict=True)))
            if "review" in wanted:
                reviewed += sum(str(cell).lower() == "true" for cell in piece["review"].to_pylist())
    except (OSError, pa.ArrowException, csv.Error, ValueError, KeyError) as error:
        raise InputError(f"{path} cannot be read as labels of a run: {error}.") from None
    return LabelTable(LabelCounts(path.name, header, cells.total(), reviewed, votes), groups, cells)


def _header(path: Path) -> dict[str, str]:
    """Return the columns of a table of labels, with what they hold."""
    names = pa.dataset.dataset(path, format="parquet").schema.names if path.is_dir() else _csv_header(path)
    return {name: _NUMBER if name.startswith("posterior_") else _TYPES.get(name, _TEXT) for name in names}


def _csv_header(path: Path) -> list[str]:
    with path.open(encoding="utf-8", newline="") as file:
        return next(csv.reader(file), [])


def _pieces(path: Path, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
    if path.is_dir():
        yield from pa.dataset.dataset(path, format="parquet").to_batches(columns=list(columns))
        return
    convert = pa.csv.ConvertOptions(
        column_types=dict.fromkeys(columns, pa.string()),
        include_columns=list(columns),
        strings_can_be_null=True,
        quoted_strings_can_be_null=False,
        null_values=[""],
    )
    parse = pa.csv.ParseOptions(newlines_in_values=True)
    with pa.csv.open_csv(path, parse_options=parse, convert_options=convert) as reader:
        yield from reader


def _texts(column: pa.Array) -> pa.Array:
    return (
        column
        if pa.types.is_string(column.type)
        else pa.array([None if value is None else str(value) for value in column.to_pylist()], pa.string())
    )


def count_workers(path: Path) -> WorkerCounts | None:
    """Read workers.csv; None if there is none, as after a run in Spark."""
    if not path.exists():
        return None
    try:
        names = _csv_header(path)
        wanted = [name for name in ("votes", "verdict") if name in names]
        votes, verdicts = Counter[int](), Counter[str]()
        for piece in _pieces(path, wanted):
            votes.update(map(int, piece["votes"].to_pylist()))
            if "verdict" in wanted:
                verdicts.update(piece["verdict"].to_pylist())
    except (OSError, pa.ArrowException, csv.Error, ValueError, KeyError) as error:
        raise InputError(f"{path} cannot be read as the workers of a run: {error}.") from None
    header = {
        name: _WHOLE
        if name == "votes" or name.startswith("votes_")
        else _NUMBER
        if name in _OF_WORKERS or name.startswith("accuracy_")
        else _TEXT
        for name in names
    }
    return WorkerCounts(header, votes, verdicts)


def impact_of_labels(
    table: LabelTable,
    selected: str,
    classes: Sequence[str],
    named: Mapping[str, str],
    *,
    on_missing_group: str | None,
    leave_out_small: bool,
) -> ImpactTable:
    """Return selection rates and impact ratios of labels.

    Parameters
    ----------
    selected : str
        The label that counts as selected.
    classes : sequence of str
        All labels of the run.
    named : mapping of str to str
        What each column of groups is called.
    on_missing_group : str
        What the run did with tasks without a group: they are counted as not known.
    leave_out_small : bool
        As in :func:`faircrowd.audit.impact_table`.
    """
    if selected not in classes:
        listed = ", ".join(repr(name) for name in classes[:10])
        raise InputError(f"No label of this run is {selected!r}; its labels are {listed}.", parameter="selected")
    keys, numbers = zip(*sorted(table.cells.items(), key=lambda cell: tuple(map(str, cell[0]))), strict=True)
    chosen = _cells_of(selected, classes, {key[-1] for key in keys})
    hit = np.repeat([key[-1] in chosen for key in keys], numbers)
    columns = {}
    for place, column in enumerate(table.group_columns):
        names = sorted({key[place] for key in keys if not is_unknown_group(key[place], on_missing_group)})
        code = {name: i for i, name in enumerate(names)}
        found = np.repeat([code.get(key[place], len(names)) for key in keys], numbers).astype(np.int32)
        columns[named[column]] = Grouped(
            found, Vocabulary.of([*map(_name_of, names), ""]), {len(names): "no group is known"}
        )
    return impact_rows(hit, columns, f"label {selected}", leave_out_small)


def _cells_of(label: str, classes: Sequence[str], cells: Iterable[str | None]) -> set[str | None]:
    """Return the cells of a table that stand for a label, whose name may be spelled otherwise there.

    Examples
    --------
    >>> _cells_of("True", ["False", "True"], ["true", "false"]), _cells_of("=x", ["=x", "y"], ["'=x", "y"])
    ({'true'}, {"'=x"})
    >>> _cells_of("1.0", ["0.0", "1.0"], ["0", "1"]), _cells_of("1.0", ["1", "1.0"], ["1"])
    ({'1'}, set())
    """
    exact = {_in_file(name): name for name in classes}
    return {cell for cell in cells if exact.get(cell, _unlisted(cell, classes)) == label}


def _unlisted(cell: str | None, classes: Sequence[str]) -> str | None:
    """Return the label that a cell stands for, if not by its own name: truth values and whole numbers."""
    return next((name for name in classes if cell is not None and _spelled(cell) == _spelled(name)), None)


def _spelled(text: str) -> str | float:
    try:
        return float(text)
    except ValueError:
        return text.lower()


def _name_of(cell: str) -> str:
    """Return a name of which a cell has a form that is safe in spreadsheets.

    Examples
    --------
    >>> _name_of("'=x"), _name_of("'t hart")
    ('=x', "'t hart")
    """
    return cell[1:] if cell.startswith("'") and _in_file(cell[1:]) == cell else cell


def _in_file(name: str) -> str | None:
    """Return a text as it stands in a file for spreadsheets."""
    found: str = neutralised(pa.chunked_array([[name]]))[0].as_py()
    return found
