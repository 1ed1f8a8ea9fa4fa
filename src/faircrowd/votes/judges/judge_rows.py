"""The columns of judges as numbers: one row per run of a judge on a task."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from faircrowd._checks import check_memory, few
from faircrowd.errors import InputError
from faircrowd.votes.encode import encode, keep_used
from faircrowd.votes.judges.judge_columns import JudgeColumns
from faircrowd.votes.vocabulary import Codes, Column, Vocabulary, as_objects

__all__ = ["JudgeRows", "JudgeSource", "read_judge_rows"]

_ROUNDING = 1e-6
"""Probabilities of a row that add up to one but for this were rounded; others are scores."""
_INTEGER = re.compile(r"-?(0|[1-9][0-9]*)")
_FLAGS = {"true": True, "1": True, "1.0": True, "yes": True, "false": False, "0": False, "0.0": False, "no": False}


class JudgeRows(NamedTuple):
    """Rows of votes of judges.

    Attributes
    ----------
    task, worker, label, run : ndarray of int32
        Codes, -1 where there is none.
    probability : ndarray, shape (n_rows, n_classes)
        NaN in rows that state none.
    is_stated, is_abstained : ndarray of bool
        Whether a row states probabilities, and whether the judge abstains.
    """

    task: Codes
    worker: Codes
    label: Codes
    run: Codes
    probability: NDArray[np.float64]
    is_stated: NDArray[np.bool_]
    is_abstained: NDArray[np.bool_]

    def at(self, rows: NDArray[Any]) -> "JudgeRows":
        """Return some of the rows."""
        return JudgeRows(*(values[rows] for values in self))


@dataclass(frozen=True, eq=False)
class JudgeSource:
    """A table of votes of judges.

    Attributes
    ----------
    rows : JudgeRows
    tasks, workers, classes : Vocabulary
        What the codes of the rows stand for.
    families : Vocabulary or None
    family : ndarray of int32, shape (n_workers,)
        The family of each judge, -1 where none is named.
    notes : list of str
        What there is to know about the numbers.
    """

    rows: JudgeRows
    tasks: Vocabulary
    workers: Vocabulary
    classes: Vocabulary
    families: Vocabulary | None
    family: Codes
    notes: list[str]


def read_judge_rows(
    columns: Mapping[str, Column], roles: Mapping[str, str], asked: JudgeColumns, where: str
) -> JudgeSource:
    """Read the columns of judges; raise at the first value that is not what its column holds.

    Parameters
    ----------
    columns : mapping of str to column
    roles : mapping of str to str
        The columns of task and worker, and of label, unless there is one column per class.
    asked : JudgeColumns
    where : str
        What the table is called in messages.
    """
    task, tasks = encode(columns[roles["task"]])
    worker, workers = encode(columns[roles["worker"]])
    nothing = np.full(task.size, -1, dtype=np.int32)
    label, classes = (nothing, Vocabulary.of([])) if "label" not in roles else encode(columns[roles["label"]])
    notes: list[str] = []
    is_abstained, label, classes = _abstentions(columns, asked, label, classes, where, notes)
    if asked.by_class:
        label, classes, probability = _by_class(columns, asked.by_class, label, classes, where, notes)
    else:
        probability = _of_label(columns, asked.probability, label, classes, where, notes)
    probability[is_abstained] = np.nan
    is_stated = ~np.isnan(probability).any(axis=1) if len(classes) else np.zeros(task.size, dtype=bool)
    run = nothing if asked.run is None else encode(columns[asked.run])[0]
    family, families = (
        _given_families(asked.family_of, workers, notes)
        if asked.family_of
        else _families(columns, asked.family, worker, workers, where)
    )
    rows = JudgeRows(task, worker, label, run, probability, np.asarray(is_stated), is_abstained)
    return JudgeSource(rows, tasks, workers, classes, families, family, notes)


def _mapped(column: Column, read: Callable[[Any], float], name: str, where: str, wanted: str) -> NDArray[np.float64]:
    """Return a number for each value of a column, NaN where it is missing; raise at the first that is none."""
    codes, values = encode(column)
    numbers = np.full(len(values) + 1, np.nan)  # the last, for the code -1, stays NaN
    for code, value in enumerate(values.to_list()):
        try:
            numbers[code] = read(value)
        except (ValueError, TypeError, KeyError, OverflowError):
            row = int(np.argmax(codes == code)) + 1
            raise InputError(f"Row {row} of {where} has {few([value])} in column {name!r}, where {wanted}.") from None
    return numbers[codes]


def _number(value: object) -> float:
    found = float(value)  # type: ignore[arg-type]
    if not 0 <= found < np.inf:
        raise ValueError
    return found


def _abstentions(
    columns: Mapping[str, Column],
    asked: JudgeColumns,
    label: Codes,
    classes: Vocabulary,
    where: str,
    notes: list[str],
) -> tuple[NDArray[np.bool_], Codes, Vocabulary]:
    """Return which rows abstain, and labels and classes without those that mean it."""
    found = np.zeros(label.size, dtype=bool)
    if asked.abstained is not None:
        flags = _mapped(
            columns[asked.abstained],
            lambda value: _FLAGS[str(value).strip().casefold()],
            asked.abstained,
            where,
            "true or false says whether the judge abstains; name another column with abstained=...",
        )
        found |= flags == 1
    if asked.abstain_label:
        codes = classes.code_of(as_objects(list(asked.abstain_label)))
        if (unseen := [name for name, code in zip(asked.abstain_label, codes, strict=True) if code < 0]) and len(label):
            notes.append(f"no row has the label {few(unseen)}, which means that a judge abstains")
        found |= np.isin(label, codes[codes >= 0])
    if found.any():
        label, classes, _ = keep_used(np.where(found, np.int32(-1), label), classes)
    return found, label, classes


def _by_class(
    columns: Mapping[str, Column],
    by_class: Mapping[str, str],
    label: Codes,
    classes: Vocabulary,
    where: str,
    notes: list[str],
) -> tuple[Codes, Vocabulary, NDArray[np.float64]]:
    """Return labels, classes and the probability of each class, NaN in rows that state none."""
    names: list[Any] = list(by_class.values())
    if all(_INTEGER.fullmatch(name) for name in names) and (
        not len(classes) or (not classes.is_mixed and pa.types.is_integer(classes.values.type))
    ):
        names = [int(name) for name in names]
    new = [name for name, code in zip(names, classes.code_of(as_objects(names)), strict=True) if code < 0]
    known = encode(as_objects([*classes.to_list(), *new]))[1]
    if len(classes):
        label = np.append(known.code_of(classes.values), np.int32(-1))[label]
    check_memory(label.size * len(known), f"The probabilities of {label.size:,} rows", "read fewer rows at a time")
    given, place = np.zeros((label.size, len(known))), known.code_of(as_objects(names))
    for name, k in zip(by_class, place, strict=True):
        given[:, k] = _mapped(
            columns[name],
            _number,
            name,
            where,
            "a probability or a score of at least 0 is expected (no logarithm)",
        )
    lacking = np.isnan(given)
    is_stated = lacking.sum(axis=1) < len(by_class)
    if (partly := is_stated & lacking.any(axis=1)).any():
        row = int(np.argmax(partly))
        which = [name for name, k in zip(by_class, place, strict=True) if lacking[row, k]]
        raise InputError(
            f"Row {row + 1} of {where} has no value in column {few(which)} but has one for other classes; give a "
            "probability to each class, or to none."
        )
    total = np.sort(given, axis=1).sum(axis=1, keepdims=True)  # sorted: the order of the classes does not matter
    if (empty := is_stated & (total[:, 0] == 0)).any():
        raise InputError(
            f"Row {int(np.argmax(empty)) + 1} of {where} gives a probability of 0 to every class; leave all of them "
            "empty, or mark the row as an abstention in a column abstain."
        )
    scores = is_stated & (np.abs(total[:, 0] - 1) > _ROUNDING)
    if scores.any():
        row = int(np.argmax(scores))
        notes.append(
            f"in {scores.sum():,} rows the probabilities of the classes do not add up to 1 (row {row + 1}: "
            f"{total[row, 0]:.6g}); they are taken as scores and divided by their sum"
        )
    shares = np.where(is_stated[:, None], given / np.where(is_stated[:, None], total, 1.0), np.nan)
    return label, known, shares


def _of_label(
    columns: Mapping[str, Column],
    column: str | None,
    label: Codes,
    classes: Vocabulary,
    where: str,
    notes: list[str],
) -> NDArray[np.float64]:
    """Return the probability of each class from that of the label, NaN in rows that state none."""
    n_classes = len(classes)
    check_memory(label.size * n_classes, f"The probabilities of {label.size:,} rows", "read fewer rows at a time")
    found = np.full((label.size, n_classes), np.nan)
    if column is None:
        return found
    given = _mapped(
        columns[column],
        _number,
        column,
        where,
        "the probability of the row's label is expected (name another column with probability=...)",
    )
    if (above := given > 1).any():
        row = int(np.argmax(above))
        hint = f" Did you mean {given[row] / 100:g}?" if given[row] <= 100 else ""
        raise InputError(f"Row {row + 1} of {where} has the probability {given[row]:g}; from 0 to 1 is expected.{hint}")
    rows = np.flatnonzero((label >= 0) & ~np.isnan(given))
    if n_classes < 2 or not rows.size:
        return found
    _check_own_label(label[rows], given[rows], rows, classes, where, notes)
    found[rows] = ((1 - given[rows]) / (n_classes - 1))[:, None]
    found[rows, label[rows]] = given[rows]
    return found


def _check_own_label(
    label: Codes,
    given: NDArray[np.float64],
    rows: NDArray[np.int64],
    classes: Vocabulary,
    where: str,
    notes: list[str],
) -> None:
    """Raise if probabilities seem to be those of one class, whatever the label is."""
    n_classes = len(classes)
    low = given < 1 / n_classes
    if not low.any():
        return
    of_class, in_all = (np.bincount(label[which], minlength=n_classes) for which in (low, slice(None)))
    k = int(np.argmax(of_class / np.maximum(in_all, 1)))
    name, first = classes.names[k], int(rows[np.argmax(low & (label == k))])
    if 2 * of_class[k] > in_all[k]:
        raise InputError(
            f"In {of_class[k]:,} of {in_all[k]:,} rows of {where} with the label {name!r}, the probability is below "
            f"1/{n_classes} (the first is row {first + 1}). It is taken as the probability of the row's own label; if "
            "it is that of one class in all rows, give one column per class instead: probability_<class>."
        )
    notes.append(f"in {low.sum():,} rows the probability of the row's own label is below 1/{n_classes}")


def _given_families(family_of: Mapping[Any, Any], workers: Vocabulary, notes: list[str]) -> tuple[Codes, Vocabulary]:
    """Return the family of each judge, -1 where none is given, and the families."""
    codes, families = encode(as_objects(list(family_of.values())))
    place = workers.code_of(as_objects(list(family_of)))
    lost = [judge for judge, code in zip(family_of, place, strict=True) if code < 0]
    some = few(workers.some(range(min(5, len(workers)))), len(workers))
    if len(lost) == len(family_of) and len(workers):
        raise InputError(f"family names no judge that has votes, such as {some}; it names {few(lost)}.")
    if lost:
        notes.append(f"family names judges that have no votes: {few(lost)}")
    found = np.full(len(workers), -1, dtype=np.int32)
    found[place[place >= 0]] = codes[place >= 0]
    return found, families


def _families(
    columns: Mapping[str, Column], column: str | None, worker: Codes, workers: Vocabulary, where: str
) -> tuple[Codes, Vocabulary | None]:
    """Return the family of each judge, -1 where none is named, and the families."""
    found = np.full(len(workers), -1, dtype=np.int32)
    if column is None:
        return found, None
    family, families = encode(columns[column])
    known = np.flatnonzero((worker >= 0) & (family >= 0))
    found[worker[known]] = family[known]
    clash = known[found[worker[known]] != family[known]]
    if clash.size:
        row = int(clash[0])
        judge, two = workers.some([worker[row]]), families.some(sorted({int(family[row]), int(found[worker[row]])}))
        raise InputError(
            f"Judge {few(judge)} has more than one family in column {column!r} of {where}: {few(two)}; a judge belongs "
            "to one."
        )
    return found, families
