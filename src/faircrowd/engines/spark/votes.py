"""Votes of a Spark frame: the lists of workers, classes and groups come to the driver, but never the votes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from faircrowd._checks import check_choice, check_count, warn
from faircrowd.engines.protocols import Role
from faircrowd.engines.spark.codes import coding_of, union
from faircrowd.engines.spark.packing import chunks_of, facts_of, packed, summary_of
from faircrowd.engines.spark.session import collected, spark_errors
from faircrowd.errors import DataWarning, FaircrowdError, InputError, OptionError
from faircrowd.votes.account import VotesReport
from faircrowd.votes.frames import find_column
from faircrowd.votes.group_policy import ON_MISSING_GROUP
from faircrowd.votes.groups import with_missing
from faircrowd.votes.judges.judge_columns import refuse_judge_columns
from faircrowd.votes.line_breaks import line_breaks
from faircrowd.votes.lookalikes import notes_on
from faircrowd.votes.style import Style
from faircrowd.votes.vocabulary import Codes, Vocabulary

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import DataType

__all__ = ["SparkVotes", "spark_votes"]

_VOTES_PER_PARTITION = 1 << 20
_MAX_PARTITIONS = 5000
_VOCABULARIES = {"worker": "workers", "label": "classes", "group": "groups"}


@dataclass(frozen=True, eq=False)
class SparkVotes:
    """Votes as packed blocks in Spark, and what the driver knows about them.

    Attributes
    ----------
    stored : pyspark.sql.DataFrame
        Packed blocks (see :mod:`faircrowd.engines.spark.blocks`), kept by Spark.
    task_type : pyspark.sql.types.DataType
        Type of the ids of tasks.
    no_ids : pyarrow.Array
        An empty array of the type that ids have in Arrow.
    workers, classes : Vocabulary
        What the codes stand for, in the order of :func:`faircrowd.read_votes`.
    groups : Vocabulary or None
        The sensitive groups, where they are known.
    true_labels : str or None
        The column that the known true labels came from.
    votes_per_worker : ndarray of int64
    tasks_per_group : ndarray of int64
        Number of tasks of each group (of all, without groups). Every pass must return the same.
    most_votes : int
        Number of votes of the task that has the most.
    partitions : int
        Number of parts that the tasks are split into.
    report : VotesReport
        What happened to every row. Tasks left with no vote are not listed here.
    codes : dict
        New codes in place of those that are packed, for ``worker``, ``label`` and ``group``; see :meth:`recoded`.
    left_out, merged_groups
        As those of a :class:`~faircrowd.votes.VoteTable`.
    """

    stored: "DataFrame"
    task_type: "DataType"
    no_ids: pa.Array
    workers: Vocabulary
    classes: Vocabulary
    groups: Vocabulary | None
    true_labels: str | None
    votes_per_worker: NDArray[np.int64]
    tasks_per_group: NDArray[np.int64]
    most_votes: int
    partitions: int
    report: VotesReport
    codes: dict[str, Codes] = field(default_factory=dict)
    left_out: Mapping[int, str] = field(default_factory=dict)
    merged_groups: tuple[Any, ...] = ()

    @property
    def n_votes(self) -> int:
        """Number of votes."""
        return int(self.votes_per_worker.sum())

    @property
    def n_tasks(self) -> int:
        """Number of tasks with at least one vote."""
        return int(self.tasks_per_group.sum())

    @property
    def n_workers(self) -> int:
        """Number of workers with at least one vote (or known to a fitted model)."""
        return len(self.workers)

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len(self.classes)

    @property
    def style(self) -> Style:
        """How results per worker or class are given: these are small, and come as a frame on the driver."""
        return Style()

    def recoded(self, role: Role, vocabulary: Vocabulary, place: Codes) -> "SparkVotes":
        """Return the votes with the code ``place[i]`` in place of ``i``. Nothing is moved until a pass reads them.

        A worker's new code may run past the vocabulary: those are workers that it does not know.
        """
        place = place.astype(np.int32)
        before = self.codes.get(role)
        codes = {**self.codes, role: place if before is None else place[before]}
        new: dict[str, Any] = {"codes": codes, _VOCABULARIES[role]: vocabulary}
        for which, counts in (("worker", "votes_per_worker"), ("group", "tasks_per_group")):
            if role == which:
                new[counts] = np.zeros(max(len(vocabulary), int(place.max(initial=-1)) + 1), dtype=np.int64)
                np.add.at(new[counts], place, getattr(self, counts))
        if role == "group":
            left_out = {int(place[a]): why for a, why in self.left_out.items() if place[a] >= 0}
            new |= {"left_out": left_out, "merged_groups": ()}
        return replace(self, **new)

    def check(self, frame: "DataFrame") -> None:
        """Count the rows, and the different tasks, of a frame with one row per task, by a pass over it.

        Raises
        ------
        FaircrowdError
            If a task was lost or duplicated.
        """
        from pyspark.sql import functions as F  # noqa: N812 - its usual name

        counts = frame.agg(F.count(F.lit(1)).alias("rows"), F.count_distinct("task").alias("tasks"))
        (found,) = collected(counts).to_pylist()
        if found != {"rows": self.n_tasks, "tasks": self.n_tasks}:
            raise FaircrowdError(
                f"The frame has {found['rows']:,} rows of {found['tasks']:,} tasks instead of one for each of "
                f"{self.n_tasks:,}: rows were lost or duplicated. Does the source change? Give spark_votes a path to "
                "keep the blocks in."
            )

    def check_tasks(self, tasks: NDArray[np.int64]) -> None:
        """Raise if the number of tasks of each group is not that of the votes."""
        if not np.array_equal(tasks, self.tasks_per_group):
            raise FaircrowdError(
                f"A pass over Spark saw {tasks.tolist()} tasks per group instead of "
                f"{self.tasks_per_group.tolist()}: rows were lost or duplicated. Does the source change? "
                "Give spark_votes a path to keep the blocks in."
            )

    def notes(self) -> list[str]:
        """Return what users should know: which rows were set aside, and which labels or groups look alike."""
        return notes_on(self.report, self.classes, self.groups)

    def close(self) -> None:
        """Let Spark forget the blocks that it keeps."""
        self.stored.unpersist()

    def __repr__(self) -> str:
        return (
            f"SparkVotes({self.n_votes:,} votes, {self.n_tasks:,} tasks, {self.n_workers:,} workers, "
            f"{self.n_classes:,} classes{'' if self.groups is None else f', {len(self.groups):,} groups'})"
        )


def spark_votes(
    frame: "DataFrame",
    *,
    task: str | None = None,
    worker: str | None = None,
    label: str | None = None,
    sensitive_features: str | Sequence[str] = (),
    true_labels: str | None = None,
    tasks: "DataFrame | None" = None,
    on_missing: str = "drop",
    on_duplicate: str = "error",
    partitions: int | None = None,
    path: str | None = None,
    on_missing_group: str = "error",
    **judging: Any,
) -> SparkVotes:
    """Pack the votes of a Spark frame into blocks, each with all votes of its tasks. No later step shuffles the votes.

    Import it as ``from faircrowd.engines import spark_votes``.

    Parameters
    ----------
    frame : pyspark.sql.DataFrame
        One row per vote; of a classic session or of Spark Connect.
    task, worker, label : str, optional
        Names of the columns, by default as in :func:`faircrowd.read_votes`.
    sensitive_features : str or list of str
        Columns that hold the group of a task, in ``tasks`` if that is given, else in ``frame``. Several are
        intersected.
    true_labels : str, optional
        Column that holds the true label of a task, null where it is not known; in the same frame.
    tasks : pyspark.sql.DataFrame, optional
        One row per task; its task column has the same name as that of ``frame``.
    on_missing : {"drop", "error"}
        What to do with rows that lack a task, a worker or a label.
    on_duplicate : {"error", "all"}
        What to do where a worker votes more than once on a task. Rows of Spark have no order, so none of them is
        the first or the last.
    partitions : int, optional
        Number of parts that the tasks are split into, by default one per million votes or so, which one Python process
        then sorts in memory. Results do not depend on it.
    path : str, optional
        Where to write the blocks as Parquet, from which each pass then reads. By default Spark keeps them in
        memory, and on disk where that is full.
    on_missing_group : {"error", "drop", "own"}
        What to do with tasks without a group, as in :func:`faircrowd.read_votes`.
    **judging
        As in :func:`faircrowd.engines.read_votes_on_disk`: columns of judges are refused, unless they are not to be
        used (``family=False``).
    """
    check_choice("on_missing_group", on_missing_group, ON_MISSING_GROUP)
    check_choice("on_missing", on_missing, ("drop", "error"))
    if on_duplicate in ("first", "last"):
        raise OptionError(
            f"on_duplicate={on_duplicate!r} needs an order of the rows, which Spark does not have; keep one row per "
            "task and worker before, or use on_duplicate='all'."
        )
    check_choice("on_duplicate", on_duplicate, ("error", "all"))
    given = {"task": task, "worker": worker, "label": label}
    roles = {role: find_column(role, frame.columns, name) for role, name in given.items()}
    parts = [sensitive_features] if isinstance(sensitive_features, str) else list(sensitive_features)
    taken = [*roles.values(), *parts, *([true_labels] if true_labels else [])]
    refuse_judge_columns(frame.columns, "The Spark frame", "in Spark", taken=taken, **judging)
    names = {f"part_{i}": name for i, name in enumerate(parts)} | ({"truth": true_labels} if true_labels else {})
    for name in names.values():
        found = frame.columns if tasks is None else tasks.columns
        find_column("task", found, name, where="the votes" if tasks is None else "the tasks")

    of_tasks = {"group": [name for name in names if name != "truth"], "truth": ["truth"] if true_labels else []}
    of_tasks = {what: columns for what, columns in of_tasks.items() if columns}
    of_votes = {"worker": ["worker"], "label": ["label"]} | (of_tasks if tasks is None else {})
    chunks = [chunks_of(frame, roles | (names if tasks is None else {}), of_votes)]
    votes = chunks[0]
    try:
        if votes.missing and on_missing == "error":
            lacking, count = next(iter(votes.missing.items()))
            raise InputError(
                f"{count:,} of {votes.read:,} rows have no {lacking}; fill them in, or set them aside with "
                "on_missing='drop'."
            )
        if tasks is not None and of_tasks:
            chunks.append(facts_of(tasks, {"task": roles["task"], **names}, of_tasks, votes))
        codings = {what: coding_of(one.found[what], columns) for one in chunks for what, columns in one.sets.items()}
        if "truth" in codings:
            together = union(codings["label"].vocabulary, codings["truth"].vocabulary)
            codings |= {what: codings[what].within(together) for what in ("label", "truth")}
        groups = codings["group"].vocabulary if parts else None
        if partitions is None:
            partitions = int(np.clip(codings["worker"].counts.sum() // _VOTES_PER_PARTITION, 2, _MAX_PARTITIONS))
        check_count("partitions", partitions, least=1)
        sizes = {what: len(coding.vocabulary) for what, coding in codings.items() if what != "truth"}
        stored = packed(chunks, codings, partitions, sizes)
        if path is None:
            stored = stored.persist()
        else:
            with spark_errors(f"The blocks could not be written to {path}"):
                stored.write.parquet(path)
            stored = frame.sparkSession.read.parquet(path)
        try:
            summary = summary_of(stored, sizes.get("group", 1), may_lack_groups=on_missing_group != "error")
            if summary.repeated and on_duplicate == "error":
                raise InputError(
                    f"{summary.repeated:,} rows repeat the task and worker of another; keep one of each, or count all "
                    "with on_duplicate='all'."
                )
        except FaircrowdError:
            stored.unpersist()
            raise
    finally:
        for one in chunks:
            one.stored.unpersist()
    workers, classes = codings["worker"], codings["label"]
    broken = line_breaks({"worker": workers.vocabulary, "label": classes.vocabulary})
    report = VotesReport(votes.read, votes.missing, summary.repeated, on_missing, on_duplicate, line_breaks=broken)
    made = SparkVotes(
        stored=stored,
        task_type=votes.rows.schema["task"].dataType,
        no_ids=summary.no_ids,
        workers=workers.vocabulary,
        classes=classes.vocabulary,
        groups=groups,
        true_labels=true_labels,
        votes_per_worker=workers.counts,
        tasks_per_group=summary.tasks_per_group,
        most_votes=summary.most_votes,
        partitions=partitions,
        report=report,
    )
    if summary.tasks_without_group and groups is not None:
        # A packed code of -1 is the last of the new codes.
        known_groups, left_out = with_missing(groups, on_missing_group)
        tasks_per_group = np.append(made.tasks_per_group, summary.tasks_without_group)
        codes = {"group": np.arange(len(known_groups), dtype=np.int32)}
        made = replace(made, groups=known_groups, left_out=left_out, tasks_per_group=tasks_per_group, codes=codes)
    for line in made.notes():
        warn(line, DataWarning)
    return made
