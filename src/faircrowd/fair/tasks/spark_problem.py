"""Tasks in Spark to be labelled fairly: solvers see them through the same verbs as those in memory."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray

from faircrowd.aggregate.base import Aggregator
from faircrowd.aggregate.posterior import SparkPosterior, choose, log_odds, probabilities
from faircrowd.engines import votes_of
from faircrowd.engines.local import Block
from faircrowd.errors import InputError, OptionError
from faircrowd.fair.objective import Gain, make_gain
from faircrowd.fair.rule import FairRule
from faircrowd.fair.tasks.population import Tasks, compared_codes
from faircrowd.fair.tasks.tally import Tally, add_expected, add_labels
from faircrowd.votes import Vocabulary
from faircrowd.votes.vocabulary import Codes

if TYPE_CHECKING:
    from faircrowd.engines.protocols import SparkFrame
    from faircrowd.engines.spark.blocks import Named
    from faircrowd.engines.spark.engine import SparkEngine
    from faircrowd.engines.spark.task_rows import SparkRows
    from faircrowd.engines.spark.votes import SparkVotes

__all__ = ["EmittedRows", "SparkProblem", "apply_rule"]


class _Scoring(NamedTuple):
    """How the posterior of tasks follows from their votes.

    Attributes
    ----------
    steps : tuple of (function by name, arguments)
    by_group : bool
        Whether the model knows groups.
    is_log : bool
    ties : str
    place : ndarray of int32 or None
        The code of each group among those that are compared, -1 for the others; None if all are.
    """

    steps: "tuple[tuple[Named, tuple[Any, ...]], ...]"
    by_group: bool
    is_log: bool
    ties: str
    place: Codes | None = None


class EmittedRows(NamedTuple):
    """One row per task, to be computed by Spark when it is used: the rows, and the kernel that makes them."""

    rows: "SparkRows"
    kernel: Callable[..., NDArray[Any]]
    parameters: tuple[object, ...]


@dataclass(frozen=True, eq=False)
class SparkProblem:
    """Tasks in Spark to be labelled fairly: a :class:`~faircrowd.fair.tasks.population.Population`.

    Each pass computes the posterior from the votes where they lie. No data of single tasks is kept or comes to the
    driver, except of the few tasks that a solver gathers near its thresholds.
    """

    posterior: SparkPosterior
    weights: None = None
    is_compared: bool = False
    """Whether these are only the tasks of the groups that a constraint speaks of."""

    @property
    def left_out(self) -> Mapping[int, str]:
        """From the groups that no constraint speaks of to the reason."""
        return {} if self.is_compared else self.votes.left_out

    @property
    def merged_groups(self) -> tuple[Any, ...]:
        """Small groups that became the last group."""
        return self.votes.merged_groups

    def compared(self) -> "SparkProblem":
        """Return the tasks of the groups that a constraint speaks of."""
        return self._compared_tasks if self.left_out else self

    @cached_property
    def _compared_tasks(self) -> "SparkProblem":
        return replace(self, is_compared=True)

    def with_left_out(self, rows: EmittedRows, kernel: Callable[..., NDArray[Any]], *parameters: object) -> EmittedRows:
        """Return one row per task from those of the compared tasks; a kernel makes those of the others."""
        if not self.left_out:
            return rows
        both = (*_named(rows.kernel, rows.parameters), *_named(kernel, parameters))
        return self.emit(_with_left_out, self._place, *both)

    @property
    def _place(self) -> Codes:
        return compared_codes(len(self._all_groups), self.votes.left_out)

    @property
    def classes(self) -> Vocabulary:
        """The classes."""
        return self.posterior.classes

    @property
    def groups(self) -> Vocabulary:
        """The groups; if none are known, all tasks are in one."""
        return self._all_groups.take(np.flatnonzero(self._place >= 0)) if self.is_compared else self._all_groups

    @property
    def _all_groups(self) -> Vocabulary:
        return Vocabulary.of(["all"]) if self.votes.groups is None else self.votes.groups

    @property
    def ties(self) -> str:
        """Which class is the aggregator's own label where its posterior is tied: "first" or "last"."""
        return self.posterior.ties

    @property
    def n_groups(self) -> int:
        """Number of groups."""
        return len(self.groups)

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len(self.classes)

    @property
    def sizes(self) -> NDArray[np.int64]:
        """Number of tasks of each group."""
        sizes = np.asarray(self.votes.tasks_per_group)
        return sizes[np.flatnonzero(self._place >= 0)] if self.is_compared else sizes

    @property
    def sorts(self) -> bool:
        """Whether it is quick to sort one number per task: it is not."""
        return False

    @property
    def has_odds(self) -> bool:
        """Whether log-odds are known."""
        return self.posterior.is_log and self.n_classes == 2

    def reduce(
        self, kernel: Callable[..., tuple[NDArray[np.int64], ...]], *parameters: object
    ) -> list[NDArray[np.int64]]:
        """Add up over all tasks what a kernel returns for some."""
        found: list[NDArray[np.int64]] = self._engine.reduce(_run, self._scoring, *_named(kernel, parameters), ids=True)
        return found

    def gather(self, kernel: Callable[..., tuple[NDArray[Any], ...]], *parameters: object) -> list[NDArray[Any]]:
        """Join over all tasks what a kernel returns for some, in no order."""
        found: list[NDArray[Any]] = self._engine.gather(_run, self._scoring, *_named(kernel, parameters), ids=True)
        return found

    def emit(self, kernel: Callable[..., NDArray[Any]], *parameters: object) -> EmittedRows:
        """Return what a kernel returns, one row per task, to be computed when it is used."""
        rows = self._engine.emit(_run, self._scoring, *_named(kernel, parameters), ids=True)
        return EmittedRows(rows, kernel, parameters)

    def tally(self, labels: EmittedRows, gain: Gain | None = None) -> Tally:
        """Count the labels, before and after, by group, and sum what they gain."""
        gain = make_gain("accuracy", self.n_classes) if gain is None else gain
        named = _named(labels.kernel, labels.parameters)
        return Tally.of(self.reduce(_add_emitted, *named, self.n_groups, gain), gain)

    def expected_tally(self, probabilities: EmittedRows, gain: Gain) -> Tally:
        """Return what randomized labels come to on average."""
        named = _named(probabilities.kernel, probabilities.parameters)
        return Tally.expected(self.reduce(_add_expected_emitted, *named, self.n_groups, gain), gain)

    def in_memory(self, purpose: str, instead: str) -> NoReturn:
        """Raise: the tasks are not in memory."""
        raise OptionError(f"{purpose} is for tasks in memory; in Spark, {instead}.")

    def from_memory(self, rows: NDArray[Any]) -> NoReturn:
        """Raise: the tasks are not in memory."""
        self.in_memory("An array with one row per task", "use emit")

    def labels(self, codes: EmittedRows) -> Any:
        """Return labels as a Spark frame: task, group, agg_label."""
        return self.posterior.named(codes.rows.frame("agg_label"), "agg_label")

    def frame(self, values: EmittedRows) -> Any:
        """Return one number per task and class as a Spark frame: task, group, probabilities."""
        return self.posterior.named(values.rows.frame("probabilities"))

    def table(self, codes: EmittedRows) -> Any:
        """Return all that is known of each task as a Spark frame: label, label before, changed, posterior, group."""
        from faircrowd.engines.spark.files import label_table

        return label_table(
            self.emit(_facts, *_named(codes.kernel, codes.parameters)).rows,
            self.classes,
            None if self.votes.groups is None else self.groups,
        )

    def agreement(self, codes: EmittedRows) -> float:
        """Return the share of the votes that agree with the label of their task."""
        (agree,) = self._engine.reduce(_agree, self._scoring, *_named(codes.kernel, codes.parameters), ids=True)
        return float(agree[0] / max(agree[1], 1))

    @property
    def probas(self) -> Any:
        """The posterior as a Spark frame."""
        return self.posterior.probas

    def own_labels(self) -> EmittedRows:
        """Return the aggregator's own labels."""
        return self.emit(_own)

    @property
    def votes(self) -> "SparkVotes":
        """The votes, in the codes of the model that scores them: new tasks may have other workers and groups."""
        votes: SparkVotes = self.posterior.scores.votes
        return votes

    @cached_property
    def _engine(self) -> "SparkEngine":
        from faircrowd.engines.spark.engine import SparkEngine

        return SparkEngine(self.votes, by_group=True, gold=self.posterior.scores.view.with_gold)

    @cached_property
    def _scoring(self) -> _Scoring:
        from faircrowd.engines.spark.blocks import Named

        rows = self.posterior.scores
        steps = tuple((Named.of(function), arguments) for function, arguments in rows.steps)
        place = self._place if self.is_compared else None
        return _Scoring(steps, rows.view.by_group, self.posterior.is_log, self.posterior.ties, place)


def apply_rule(
    rule: FairRule,
    model: Aggregator,
    data: "SparkFrame | SparkVotes",
    *,
    sensitive_features: str | list[str] | None = None,
    unknown: str = "error",
) -> Any:
    """Label the new tasks of a Spark frame by a saved rule and model.

    Parameters
    ----------
    rule : FairRule
    model : aggregator
        Fitted, or read by :func:`faircrowd.load_model`.
    data : Spark frame of votes, or SparkVotes
    sensitive_features : str or list of str
        The columns with the group of each task.
    unknown : {"error", "own"}
        As in :meth:`FairRule.predict`.

    Returns
    -------
    pyspark.sql.DataFrame
        task, group, agg_label.
    """
    votes = votes_of(data, sensitive_features)
    if votes.groups is None:
        raise InputError("The rule goes by group; give sensitive_features for these tasks.")
    posterior = model.posterior_of(votes)
    if not isinstance(posterior, SparkPosterior):
        raise InputError(
            "apply_rule is for votes in Spark; for votes in memory, use rule.predict(model.predict_proba(...))."
        )
    problem = SparkProblem(posterior)
    return problem.labels(rule.label_codes(problem, unknown))


def _named(
    kernel: Callable[..., NDArray[Any]] | Callable[..., tuple[NDArray[Any], ...]], parameters: tuple[object, ...]
) -> "tuple[Named, tuple[object, ...]]":
    from faircrowd.engines.spark.blocks import Named

    return Named.of(kernel), parameters


def _run(block: Block, ids: Vocabulary, scoring: _Scoring, kernel: "Named", parameters: tuple[object, ...]) -> Any:
    """Run a kernel over the tasks of a block, on an executor."""
    return kernel.find()(_tasks(block, ids, scoring), *parameters)


def _tasks(block: Block, ids: Vocabulary, scoring: _Scoring) -> Tasks:
    (first, given), *more = scoring.steps
    scores = first.find()(block if scoring.by_group else block._replace(group=block.group[:0]), *given)
    for function, given in more:
        scores = function.find()(scores, *given)
    odds = log_odds(scores) if scoring.is_log and scores.shape[1] == 2 else np.empty(0)
    posterior = np.ascontiguousarray(probabilities(scores, scoring.is_log))
    group = block.group if block.group.size else np.zeros(len(scores), dtype=np.int32)
    tasks = Tasks(posterior, group, choose(scores, scoring.ties), odds, np.diff(block.offsets), ids)
    return tasks if scoring.place is None else tasks.of_groups(scoring.place)[0]


def _add_emitted(
    tasks: Tasks, kernel: "Named", parameters: tuple[object, ...], n_groups: int, gain: Gain
) -> tuple[NDArray[np.int64], ...]:
    return add_labels(tasks, kernel.find()(tasks, *parameters), n_groups, gain)


def _with_left_out(
    tasks: Tasks,
    place: Codes,
    kernel: "Named",
    parameters: tuple[object, ...],
    other_kernel: "Named",
    other_parameters: tuple[object, ...],
) -> NDArray[Any]:
    """Run a kernel over the tasks that are compared, and another over the others."""
    compared, rows = tasks.of_groups(place)
    part: NDArray[Any] = kernel.find()(compared, *parameters)
    found: NDArray[Any] = other_kernel.find()(tasks, *other_parameters).astype(part.dtype)
    found[rows] = part
    return found


def _add_expected_emitted(
    tasks: Tasks, kernel: "Named", parameters: tuple[object, ...], n_groups: int, gain: Gain
) -> tuple[NDArray[np.int64], ...]:
    return add_expected(tasks, kernel.find()(tasks, *parameters), n_groups, gain)


def _own(tasks: Tasks) -> Codes:
    return tasks.own


def _facts(tasks: Tasks, kernel: "Named", parameters: tuple[object, ...]) -> NDArray[np.float64]:
    return np.column_stack([kernel.find()(tasks, *parameters), tasks.own, tasks.posterior]).astype(np.float64)


def _agree(
    block: Block, ids: Vocabulary, scoring: _Scoring, kernel: "Named", parameters: tuple[object, ...]
) -> tuple[NDArray[np.int64], ...]:
    labels: Codes = kernel.find()(_tasks(block, ids, scoring), *parameters)
    agree = np.repeat(labels, np.diff(block.offsets)) == block.label
    return (np.array([np.count_nonzero(agree), agree.size]),)
