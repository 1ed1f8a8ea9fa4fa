"""Read the files of data sets, in the form in which they are published, into votes, groups and truth."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from faircrowd.datasets.crowd import vote_table
from faircrowd.errors import FileError
from faircrowd.votes.encode import encode
from faircrowd.votes.facts import Facts
from faircrowd.votes.frames import find_column
from faircrowd.votes.readers import read_columns, read_header
from faircrowd.votes.table import VoteTable

__all__ = ["IDENTITIES", "Raw", "read_hate_speech", "read_jigsaw", "read_judgement", "read_tables"]

IDENTITIES = (
    "asian",
    "atheist",
    "bisexual",
    "black",
    "christian",
    "female",
    "heterosexual",
    "hindu",
    "homosexual_gay_or_lesbian",
    "intellectual_or_learning_disability",
    "jewish",
    "latino",
    "male",
    "muslim",
    "physical_disability",
    "psychiatric_or_mental_illness",
    "transgender",
    "white",
)
"""The identities that a comment of Jigsaw may mention. Each has a column: the share of raters who saw it mentioned."""

_RACE_BLACK = 2
_HATEFUL = 0.5
"""Votes (0 no, 1 unsure, 2 yes) and scores above this are hate speech."""


class Raw(NamedTuple):
    """The votes, what is known about tasks, and how much was set aside."""

    votes: VoteTable
    groups: dict[str, Facts]
    truth: Facts | None
    aside: dict[str, int]


def read_judgement(paths: Mapping[str, Path]) -> Raw:
    """Read Crowd Judgement: one column per worker, cells 1 or -1 for a right or wrong answer, empty for none."""
    votes, tasks = paths["MTURK_RACE.csv"], paths["BROWARD_CLEAN_SUBSET.csv"]
    known = _read(tasks, ["id", "race", "two_year_recid"])
    race, recid = (_numbers(tasks, name, known[name]) for name in ("race", "two_year_recid"))
    _expect(tasks, "two_year_recid", recid, (0, 1))
    first, *workers = read_header(votes)
    wide = _read(votes, [first, *workers])
    right = np.stack([_numbers(votes, name, wide[name]) for name in workers], axis=1)
    _expect(votes, "an answer", right, (-1, 1))
    ids, defendants = encode(known["id"])
    truth = np.full(len(defendants), np.nan)
    truth[ids[ids >= 0]] = recid[ids >= 0]
    place = defendants.code_of(wide[first])
    row, column = np.nonzero(~np.isnan(right) & (place >= 0)[:, None])
    true = truth[place[row]]
    label = np.where(right[row, column] > 0, true, 1 - true)
    worker = _numbers(votes, "the header", pa.array(workers)).astype(np.int64)[column]
    table = vote_table(defendants.take(place[row]).values, worker, _flags(label == 1, np.isnan(label)))
    return Raw(
        table,
        {"black": Facts(known["id"], _flags(race == _RACE_BLACK, np.isnan(race)))},
        Facts(known["id"], _flags(recid == 1, np.isnan(recid))),
        {f"rows of {votes.name} that are not a task": int(np.count_nonzero(place < 0))},
    )


def read_jigsaw(paths: Mapping[str, Path], min_votes: int) -> Raw:
    """Read Jigsaw Toxicity; the votes of workers with fewer than ``min_votes`` are set aside."""
    features = paths["features_for_ml.csv"]
    given = _read(paths["responses_td_format.csv"], ["question", "worker", "answer"])
    known = _read(features, ["id", *IDENTITIES])
    true = _read(paths["ground_truth_label.csv"], ["question", "result"])
    table = vote_table(given["question"], given["worker"], given["answer"])
    by_few = (table.votes_per_worker < min_votes)[table.worker]
    # fmax ignores missing shares: the result is missing only where all are.
    mentioned = np.fmax.reduce([_numbers(features, name, known[name]) for name in IDENTITIES])
    return Raw(
        table.select(~by_few),
        {"identity": Facts(known["id"], _flags(mentioned > 0, np.isnan(mentioned)))},
        Facts(true["question"], true["result"]),
        {f"votes of workers with fewer than {min_votes}": int(np.count_nonzero(by_few))},
    )


def read_hate_speech(path: Path, target: str) -> Raw:
    """Read Measuring Hate Speech: one row per rater and comment, with what the comment targets in the rater's view."""
    column = f"target_{target}"
    given = _read(path, ["comment_id", "annotator_id", "hatespeech", "hate_speech_score", column])
    hatespeech, score, targets = (
        _numbers(path, name, given[name]) for name in ("hatespeech", "hate_speech_score", column)
    )
    row, comments = encode(given["comment_id"])

    def share(condition: NDArray[np.bool_], known: NDArray[np.bool_]) -> NDArray[np.float64]:
        """Return the share of each comment's rows for which a condition holds, NaN where none is known."""
        known = known & (row >= 0)
        held, among = (np.bincount(row[known & part], minlength=len(comments)) for part in (condition, known))
        shares: NDArray[np.float64] = np.divide(held, among, out=np.full(len(comments), np.nan), where=among > 0)
        return shares

    hateful = share(score > _HATEFUL, ~np.isnan(score))
    targeted = share(targets > 0, ~np.isnan(targets))
    agree = (hateful == 0) | (hateful == 1)
    return Raw(
        vote_table(given["comment_id"], given["annotator_id"], _flags(hatespeech > _HATEFUL, np.isnan(hatespeech))),
        {column: Facts(comments.values, _flags(targeted >= 0.5, np.isnan(targeted)))},
        Facts(comments.values, _flags(hateful == 1, ~agree)),
        {"tasks whose rows disagree about the truth": int(np.count_nonzero(~agree & ~np.isnan(hateful)))},
    )


def read_tables(votes: Path, tasks: Path) -> Raw:
    """Read prepared tables: votes (task, worker, label) and tasks (task, truth, and all other columns are groups)."""
    roles = {role: find_column(role, read_header(votes), where=str(votes)) for role in ("task", "worker", "label")}
    given = _read(votes, list(roles.values()))
    names = read_header(tasks)
    task = find_column("task", names, where=str(tasks))
    known = _read(tasks, names)
    facts = {name: Facts(known[task], column) for name, column in known.items() if name != task}
    truth = facts.pop("truth", None)
    return Raw(vote_table(*(given[name] for name in roles.values())), facts, truth, {})


def _read(path: Path, columns: Sequence[str]) -> dict[str, Any]:
    names = read_header(path)
    return read_columns(path, [find_column("group", names, name, where=str(path)) for name in columns])


def _numbers(path: Path, name: str, column: pa.Array | pa.ChunkedArray) -> NDArray[np.float64]:
    """Return a column as numbers, NaN where one is missing; true and false are 1 and 0."""
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    for kind in (pa.float64(), pa.bool_()):
        try:
            return np.asarray(column.cast(kind).cast(pa.float64()).to_numpy(), dtype=np.float64)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            continue
    raise FileError(f"{path}: column {name!r} must hold numbers; is it the right file?")


def _expect(path: Path, name: str, values: NDArray[np.float64], allowed: Sequence[int]) -> None:
    strange = np.unique(values[~np.isnan(values) & ~np.isin(values, allowed)])
    if strange.size:
        raise FileError(f"{path}: {name} should be {allowed[0]} or {allowed[1]}, but there is {strange[0]:g}.")


def _flags(condition: NDArray[np.bool_], missing: NDArray[np.bool_]) -> Any:
    """Return 1 where a condition holds, 0 where it does not, and a missing value where it is not known."""
    return pa.array(condition.astype(np.int64), mask=missing)
