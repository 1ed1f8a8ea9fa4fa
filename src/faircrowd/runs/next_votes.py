"""Which tasks of a finished run are worth another vote."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
from numpy.typing import NDArray

from faircrowd._checks import check_count
from faircrowd.aggregate.confusion import ConfusionAggregator, skill_matrix
from faircrowd.aggregate.saved import load_model
from faircrowd.audit.planner.vote_value import VoteValue, value_of_votes
from faircrowd.errors import FileError, InputError, OptionError
from faircrowd.fair.general.constrained_rule import ConstrainedRule
from faircrowd.fair.rule import FairRule
from faircrowd.fair.rule_forms.price_table import TaskGroups
from faircrowd.fair.tasks.group_columns import read_group_columns
from faircrowd.fair.tasks.read_posterior import read_posterior
from faircrowd.runs.folder_checks import codes_of_cells
from faircrowd.storage.output_folder import OutputFolder
from faircrowd.storage.untrusted import FAULTS, read_json
from faircrowd.votes import Vocabulary
from faircrowd.votes.readers import read_columns
from faircrowd.votes.vocabulary import Codes

__all__ = ["NextVotes", "votes_worth_asking"]

_LABELS = "labels.csv"


@dataclass(frozen=True, eq=False)
class NextVotes:
    """The tasks of a run on which another vote is worth most.

    Attributes
    ----------
    table : pyarrow.Table
        One row per task, the most valuable first: ``task``, ``label``, ``votes``, ``group``, ``gain`` (how many more
        right labels one more vote is expected to bring, less what it costs the constraints) and ``chance`` (that the
        vote changes the label).
    tasks : int
        How many tasks the run has.
    worthwhile : int
        On how many of them a vote could change the label.
    total : float
        The sum of the gains of all tasks.
    worker : str
        What the next worker is taken to be like.
    """

    table: pa.Table
    tasks: int
    worthwhile: int
    total: float
    worker: str

    def to_dict(self) -> dict[str, Any]:
        """Return the tasks and numbers as plain values, ready for JSON."""
        return {
            "tasks": self.tasks,
            "worthwhile": self.worthwhile,
            "total_gain": self.total,
            "worker": self.worker,
            "next": self.table.to_pylist(),
        }

    def rows(self) -> tuple[list[str], list[list[str]]]:
        """Return header and cells of a table for people."""
        rows = [
            [str(row["task"]), str(row["label"]), str(row["votes"]), f"{row['gain']:.4f}", f"{row['chance']:.1%}"]
            for row in self.table.to_pylist()
        ]
        return ["task", "label now", "votes", "gain", "chance of a change"], rows

    def lines(self) -> list[tuple[str, str]]:
        """Return the numbers as pairs of a heading and a text."""
        shown = float(np.sum(self.table["gain"].to_numpy()))
        return [
            ("tasks", f"one more vote could change the label of {self.worthwhile:,} of {self.tasks:,}"),
            ("gain", f"{shown:.2f} more right labels expected from one vote on each of these tasks, at today's prices"),
            ("worker", self.worker),
        ]

    def write(self, path: Path) -> None:
        """Write the tasks as CSV."""
        with OutputFolder(path.parent) as folder:
            folder.write_csv(path.name, self.table)


def votes_worth_asking(folder: Path, *, top: int = 20, tasks: Path | None = None) -> NextVotes:
    """Rank the tasks of a run by what one more vote is worth at the prices of its rule.

    Parameters
    ----------
    folder : Path
        The folder of a run with fair labels.
    top : int
        How many tasks to return at most; tasks whose label no vote can change are left out.
    tasks : Path, optional
        The table of tasks, for a run under constraints; by default the one that the run was given.
    """
    check_count("top", top, least=1)
    rule = _read_rule(folder)
    classes = Vocabulary.of(list(rule.classes))
    posteriors = [f"posterior_{name}" for name in classes.names]
    try:
        columns = read_columns(folder / _LABELS, ["task", "label", "label_before", "votes", "group", *posteriors])
        posterior = np.column_stack([np.asarray(columns[name]).astype(np.float64) for name in posteriors])
    except FAULTS as error:
        raise InputError(f"{folder / _LABELS} cannot be read as labels of the rule beside it: {error}") from None
    if isinstance(rule, FairRule):
        if tasks is not None:
            raise OptionError("The groups of this run are in its labels.csv; leave out tasks=...", parameter="tasks")
        group: Any = _codes(columns["group"], Vocabulary.of(list(rule.groups)), folder)
    else:
        own = _codes(columns["label_before"], classes, folder)
        group = _constrained_groups(rule, columns["task"], posterior, own, folder, tasks)
    errors, worker = _next_worker(folder, columns["group"], len(classes))
    value = value_of_votes(posterior, errors, lambda after: rule.scores(after, group))
    if isinstance(rule, ConstrainedRule) and rule.has_review:  # a person labels these anyway
        review = read_columns(folder / _LABELS, ["review"])["review"]
        asked = np.array([str(cell).lower() == "true" for cell in review])
        value = value._replace(gain=np.where(asked, 0.0, value.gain), chance=np.where(asked, 0.0, value.chance))
    return _ranked(value, columns, top, worker)


def _ranked(value: VoteValue, columns: Any, top: int, worker: str) -> NextVotes:
    best = np.argsort(-value.gain, kind="stable")[:top]
    best = best[value.gain[best] > 0]
    shown = {name: columns[name].take(pa.array(best)) for name in ("task", "label", "votes", "group")}
    table = pa.table({**shown, "gain": value.gain[best], "chance": value.chance[best]})
    return NextVotes(table, value.gain.size, int((value.gain > 0).sum()), float(value.gain.sum()), worker)


def _read_rule(folder: Path) -> FairRule | ConstrainedRule:
    place = folder / "rule.json"
    if folder.is_file():
        raise FileError(f"{folder} is a file; give the folder that aggregate has written its labels into.")
    if not folder.is_dir():
        raise FileError(f"There is no folder {folder}.")
    if not place.exists():
        raise InputError(
            f"{folder} has no rule.json; the value of a vote is counted at the prices of fair labels: give the folder "
            "of a run that made labels fair, with epsilon=... or require=..."
        )
    read = read_json(place, "rule")
    kind = ConstrainedRule if isinstance(read, dict) and read.get("kind") == "faircrowd.ConstrainedRule" else FairRule
    return kind.from_json(place.read_text(encoding="utf-8"))


def _codes(cells: Any, names: Vocabulary, folder: Path) -> Codes:
    try:
        return codes_of_cells([str(cell) for cell in cells.to_pylist()], names)
    except KeyError as error:
        raise InputError(f"{folder / _LABELS} has {error}, which the files beside it do not know.") from None


def _constrained_groups(
    rule: ConstrainedRule, ids: Any, posterior: NDArray[np.float64], own: Codes, folder: Path, tasks: Path | None
) -> TaskGroups:
    """Return the group of each task in each table of a rule, from the table of tasks that the run was given."""
    try:
        options = read_json(folder / "summary.json", "summary")["options"]
        place, reading = options["tasks"] if tasks is None else tasks, options["reading"]
        policy = reading["on_missing_group"]
    except FAULTS as error:
        raise InputError(f"{folder / 'summary.json'} is not the summary of a run: {error!r}.") from None
    columns = {}
    if rule.columns:
        if place is None or not Path(place).exists():
            raise OptionError(
                f"The rule goes by {', '.join(rule.columns)}, which labels.csv does not have; its table of "
                "one row per task is not where it was: give tasks=...",
                parameter="tasks",
            )
        columns = read_group_columns(
            Vocabulary.of(ids.to_pylist()),
            list(rule.columns),
            table=str(place),
            delimiter=reading.get("delimiter"),
            on_missing_group=policy,
        )
    problem = read_posterior(posterior, None, without_groups=True)
    problem = replace(problem, classes=Vocabulary.of(list(rule.classes)), own=own)
    groups = rule.coded(problem, columns)[2]
    if groups.is_unknown.any():
        raise InputError(f"{place} has groups that the rule in {folder} does not know; is it the table of this run?")
    return groups


def _next_worker(folder: Path, group: Any, n_classes: int) -> tuple[NDArray[np.float64], str]:
    """Return the confusion of the next worker, for each task or for all, and what it is based on."""
    model = load_model(folder)
    average = model.average_errors if isinstance(model, ConfusionAggregator) else None
    if average is None:
        try:
            people = pyarrow.csv.read_csv(folder / "workers.csv")
            votes, agreement = people["votes"].to_numpy(), people["agreement"].to_numpy()
        except (OSError, *FAULTS) as error:
            raise InputError(f"{folder / 'workers.csv'} cannot be read: {error}") from None
        skill = float((votes * agreement).sum() / votes.sum())
        told = f"taken to agree with the label {skill:.1%} of the time, as the crowd's votes do"
        return skill_matrix(skill, n_classes)[None], told
    told = "taken to be the crowd's average, by the model of the run"
    if average.shape[0] == 1:
        return average, told
    groups = model.votes_.groups
    assert groups is not None  # noqa: S101 - a model with several matrices has groups
    return average[_codes(group, groups, folder)], f"{told}, in the group of the task"
