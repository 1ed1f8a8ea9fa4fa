"""The problem of making labels fair, of tasks in Spark: solvers see them through the same verbs as those in memory."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from faircrowd.aggregate.base import Aggregator
from faircrowd.aggregate.posterior import SparkPosterior, choose, log_odds, probabilities
from faircrowd.engines import votes_of
from faircrowd.engines.local import Block
from faircrowd.errors import InputError
from faircrowd.fair.objective import Gain, make_gain
from faircrowd.fair.rule import FairRule
from faircrowd.fair.tasks.population import Tasks
from faircrowd.fair.tasks.tally import Tally, add_labels
from faircrowd.votes import Vocabulary
from faircrowd.votes.vocabulary import Codes

__all__ = ["SparkProblem", "apply_rule"]


class _Scoring(NamedTuple):
    """How the posterior of tasks follows from their votes.

    Attributes
    ----------
    steps : tuple of (function by name, arguments)
    by_group : bool
        Whether the model knows groups.
    is_log : bool
    ties : str
    """

    steps: Any
    by_group: bool
    is_log: bool
    ties: str


class _Emitted(NamedTuple):
    """A row a task that a kernel gives, not made yet."""

    rows: Any
    kernel: Callable[..., NDArray[Any]]
    parameters: tuple[Any, ...]


@dataclass(frozen=True, eq=False)
class SparkProblem:
    """Tasks in Spark to be labelled fairly; as :class:`~faircrowd.fair.tasks.problem.Problem`.

    Each pass computes the posterior from the votes where they lie: nothing a task is kept or comes to the driver, but
    for the few tasks that a solver gathers near its thresholds.
    """

    posterior: SparkPosterior
    weights: None = None

    @property
    def classes(self) -> Vocabulary:
        """The classes."""
        return self.posterior.classes

    @property
    def groups(self) -> Vocabulary:
        """The groups; without any, all tasks are of one."""
        return Vocabulary.of(["all"]) if self.votes.groups is None else self.votes.groups

    @property
    def ties(self) -> str:
        """The class of the aggregator's own label where its posterior is tied."""
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
        return np.asarray(self.votes.tasks_per_group)

    @property
    def sorts(self) -> bool:
        """Whether a sort of a number a task is quick: it is not."""
        return False

    @property
    def has_odds(self) -> bool:
        """Whether log-odds are known."""
        return self.posterior.is_log and self.n_classes == 2

    def reduce(self, kernel: Callable[..., tuple[NDArray[np.int64], ...]], *parameters: Any) -> list[NDArray[np.int64]]:
        """Add up what a kernel returns for some tasks over all."""
        found: list[NDArray[np.int64]] = self._engine.reduce(_run, self._scoring, *_named(kernel, parameters), ids=True)
        return found

    def gather(self, kernel: Callable[..., tuple[NDArray[Any], ...]], *parameters: Any) -> list[NDArray[Any]]:
        """Join what a kernel returns for some tasks over all, in no order."""
        found: list[NDArray[Any]] = self._engine.gather(_run, self._scoring, *_named(kernel, parameters), ids=True)
        return found

    def emit(self, kernel: Callable[..., NDArray[Any]], *parameters: Any) -> _Emitted:
        """Return what a kernel returns, a row a task, to be made when it is used."""
        rows = self._engine.emit(_run, self._scoring, *_named(kernel, parameters), ids=True)
        return _Emitted(rows, kernel, parameters)

    def tally(self, labels: _Emitted, gain: Gain | None = None) -> Tally:
        """Count the labels, before and after, a group, and sum what they are worth."""
        gain = make_gain("accuracy", self.n_classes) if gain is None else gain
        named = _named(labels.kernel, labels.parameters)
        return Tally.of(self.reduce(_add_emitted, *named, self.n_groups, gain), gain)

    def labels(self, codes: _Emitted) -> Any:
        """Return labels as a Spark frame: task, group, agg_label."""
        return self.posterior.named(codes.rows.frame("agg_label"), "agg_label")

    def frame(self, values: _Emitted) -> Any:
        """Return numbers a task and class as a Spark frame: task, group, probabilities."""
        return self.posterior.named(values.rows.frame("probabilities"))

    def table(self, codes: _Emitted) -> Any:
        """Return all of a task as a Spark frame: its group, label, label before, whether it changed, posterior."""
        from faircrowd.engines.spark.files import label_table

        return label_table(
            self.emit(_facts, *_named(codes.kernel, codes.parameters)).rows,
            self.classes,
            None if self.votes.groups is None else self.groups,
        )

    def agreement(self, codes: _Emitted) -> float:
        """Return the share of the votes that agree with the labels of their tasks."""
        (agree,) = self._engine.reduce(_agree, self._scoring, *_named(codes.kernel, codes.parameters), ids=True)
        return float(agree[0] / max(agree[1], 1))

    @property
    def probas(self) -> Any:
        """The posterior as a Spark frame."""
        return self.posterior.probas

    def own_labels(self) -> _Emitted:
        """Return the aggregator's own labels."""
        return self.emit(_own)

    @property
    def votes(self) -> Any:
        """The votes in the codes of the model that scores them: those of new tasks have other workers and groups."""
        return self.posterior.scores.votes

    @cached_property
    def _engine(self) -> Any:
        from faircrowd.engines.spark.engine import SparkEngine

        return SparkEngine(self.votes, by_group=True, gold=self.posterior.scores.view.with_gold)

    @cached_property
    def _scoring(self) -> _Scoring:
        from faircrowd.engines.spark.blocks import Named

        rows = self.posterior.scores
        steps = tuple((Named.of(function), arguments) for function, arguments in rows.steps)
        return _Scoring(steps, rows.view.by_group, self.posterior.is_log, self.posterior.ties)


def apply_rule(
    rule: FairRule, model: Aggregator, data: Any, *, sensitive_features: Any = None, unknown: str = "error"
) -> Any:
    """Label the new tasks of a Spark frame by a saved rule and model.

    Parameters
    ----------
    rule : FairRule
    model : aggregator
        Fitted, or read by :func:`faircrowd.load_model`.
    data : Spark frame of votes, or SparkVotes
    sensitive_features : str or list of str
        Columns with the group of a task.
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
    posterior: Any = model.posterior_of(votes)
    return rule.predict_problem(SparkProblem(posterior), unknown)


def _named(kernel: Callable[..., Any], parameters: tuple[Any, ...]) -> tuple[Any, tuple[Any, ...]]:
    from faircrowd.engines.spark.blocks import Named

    return Named.of(kernel), parameters


def _run(block: Block, ids: Vocabulary, scoring: _Scoring, kernel: Any, parameters: tuple[Any, ...]) -> Any:
    """Run a kernel over the tasks of a block; on an executor."""
    return kernel.find()(_tasks(block, ids, scoring), *parameters)


def _tasks(block: Block, ids: Vocabulary, scoring: _Scoring) -> Tasks:
    (first, given), *more = scoring.steps
    scores = first.find()(block if scoring.by_group else block._replace(group=block.group[:0]), *given)
    for function, given in more:
        scores = function.find()(scores, *given)
    odds = log_odds(scores) if scoring.is_log and scores.shape[1] == 2 else np.empty(0)
    posterior = np.ascontiguousarray(probabilities(scores, scoring.is_log))
    group = block.group if block.group.size else np.zeros(len(scores), dtype=np.int32)
    return Tasks(posterior, group, choose(scores, scoring.ties), odds, np.diff(block.offsets), ids)


def _add_emitted(
    tasks: Tasks, kernel: Any, parameters: tuple[Any, ...], n_groups: int, gain: Gain
) -> tuple[NDArray[np.int64], ...]:
    return add_labels(tasks, kernel.find()(tasks, *parameters), n_groups, gain)


def _own(tasks: Tasks) -> Codes:
    return tasks.own


def _facts(tasks: Tasks, kernel: Any, parameters: tuple[Any, ...]) -> NDArray[np.float64]:
    return np.column_stack([kernel.find()(tasks, *parameters), tasks.own, tasks.posterior]).astype(np.float64)


def _agree(
    block: Block, ids: Vocabulary, scoring: _Scoring, kernel: Any, parameters: tuple[Any, ...]
) -> tuple[NDArray[np.int64], ...]:
    labels: Codes = kernel.find()(_tasks(block, ids, scoring), *parameters)
    agree = np.repeat(labels, np.diff(block.offsets)) == block.label
    return (np.array([np.count_nonzero(agree), agree.size]),)
