"""What an aggregator says of tasks in Spark: frames that are made where the tasks are."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from faircrowd.aggregate.posterior import choose, log_probabilities, probabilities
from faircrowd.votes import Vocabulary

__all__ = ["SparkPosterior"]


@dataclass(frozen=True, eq=False)
class SparkPosterior:
    """As :class:`~faircrowd.aggregate.posterior.Posterior`, of scores that an engine of Spark emits."""

    classes: Vocabulary
    scores: Any
    is_log: bool
    ties: str

    @cached_property
    def labels(self) -> Any:
        """A Spark frame: task, group, agg_label."""
        return self.named(self.scores.map(choose, self.ties).frame("agg_label"), "agg_label")

    @cached_property
    def probas(self) -> Any:
        """A Spark frame: task, group, and the probabilities in the order of the classes."""
        return self.named(self.scores.map(probabilities, self.is_log).frame("probabilities"))

    @cached_property
    def log_probas(self) -> Any:
        """A Spark frame: task, group, and the log-probabilities in the order of the classes."""
        return self.named(self.scores.map(log_probabilities, self.is_log).frame("log_probabilities"))

    def named(self, frame: Any, label: str | None = None) -> Any:
        """Put the names of groups, and of classes in a column of labels, in place of codes."""
        from faircrowd.engines.spark.codes import with_values

        groups = self.scores.votes.groups
        frame = frame.drop("group") if groups is None else with_values(frame, "group", groups)
        return frame if label is None else with_values(frame, label, self.classes)
