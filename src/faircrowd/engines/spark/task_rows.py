"""One row per task as a Spark frame, made where the tasks are."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from faircrowd.engines.spark.blocks import Named, Piece, View, empty_block
from faircrowd.engines.spark.passes import Steps, make_rows, run_steps
from faircrowd.engines.spark.votes import SparkVotes
from faircrowd.errors import OptionError
from faircrowd.votes.vocabulary import Vocabulary

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["SparkRows"]


class SparkRows:
    """One row per task, not made yet: a kernel, and functions of what it returns.

    Parameters
    ----------
    votes : SparkVotes
    view : View
        Its ``with_ids`` is whether the kernel sees the ids.
    steps : tuple of (function, arguments)
        The first is the kernel; each other takes the array of the one before.
    """

    def __init__(self, votes: SparkVotes, view: View, steps: Steps) -> None:
        self.votes, self.view, self.steps = votes, view, steps

    def map(self, function: Callable[..., NDArray[Any]], *arguments: object) -> "SparkRows":
        """Return the rows that a function of these (as an array with one row per task) returns."""
        return SparkRows(self.votes, self.view, (*self.steps, (function, arguments)))

    def frame(self, name: str | Sequence[str] = "value") -> "DataFrame":
        """Return a Spark frame: ``task``, the code of its ``group``, and what was made, under the name given.

        What was made is one number per task, or several: then the column holds arrays or, if there are as many
        names, each number has its own column. :func:`~faircrowd.engines.spark.codes.with_values` turns codes into
        values.

        The frame is made when it is used, and its rows are not counted then; :meth:`SparkVotes.check` counts them.
        """
        from pyspark.sql.types import ArrayType, DoubleType, IntegerType, LongType, StructField, StructType

        names = (name,) if isinstance(name, str) else tuple(name)
        nothing = Piece(empty_block(), np.empty(0, np.int32), Vocabulary(self.votes.no_ids))
        made = np.asarray(run_steps(self.steps, nothing, self.view.with_ids))
        if len(names) > 1 and (made.ndim != 2 or made.shape[1] != len(names)):
            raise OptionError(f"There are {len(names)} names for results of shape {('tasks', *made.shape[1:])}.")
        kind: Any = {"float64": DoubleType(), "int32": IntegerType(), "int64": LongType()}[made.dtype.name]
        kind = ArrayType(kind, containsNull=False) if made.ndim == 2 and len(names) == 1 else kind
        schema = StructType(
            [
                StructField("task", self.votes.task_type),
                StructField("group", IntegerType()),
                *(StructField(column, kind) for column in names),
            ]
        )
        steps = tuple((Named.of(function), arguments) for function, arguments in self.steps)
        view = self.view._replace(with_ids=True)
        run = partial(make_rows, steps=steps, view=view, ids=self.view.with_ids, names=names)
        return self.votes.stored.select(*view.columns).mapInArrow(run, schema)
