"""The tasks to be labelled as solvers see them, wherever they lie: in memory or in Spark.

A *kernel* is a function of some tasks (:class:`Tasks`) and of parameters. Three verbs run kernels over all tasks:
``reduce`` adds up the integers that it returns, ``gather`` joins the rows that it returns, in no order, and ``emit``
makes one row per task. Solvers read tasks in no other way, so that tasks may lie anywhere.
"""

from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from faircrowd.exact.hashing import task_keys
from faircrowd.fair.objective import Gain
from faircrowd.votes import Vocabulary
from faircrowd.votes.vocabulary import Codes

if TYPE_CHECKING:
    from typing_extensions import TypeVar

    from faircrowd.fair.tasks.problem import Problem
    from faircrowd.fair.tasks.tally import Tally

    Rows = TypeVar("Rows", default=Any)
else:
    from typing import TypeVar

    Rows = TypeVar("Rows")
"""What ``emit`` makes: an array for tasks in memory, or rows of a Spark frame that are not computed yet.

Functions that emit nothing take a plain ``Population``, whatever its rows are.
"""

__all__ = ["Place", "Population", "Rows", "Tasks", "compared_codes"]

Place = tuple[int | None, int]
"""A place in the order of equal tasks: evidence and hash; the evidence is None where only hashes count."""


class Tasks(NamedTuple):
    """Some tasks, as kernels see them.

    Attributes
    ----------
    posterior : ndarray, shape (n_tasks, n_classes)
    group, own : ndarray of int32, shape (n_tasks,)
        The group, and the aggregator's own label.
    log_odds : ndarray, shape (n_tasks,), or empty where they are not known
    evidence : ndarray of int64, shape (n_tasks,), or empty
    ids : Vocabulary
        The id of task i is number ``first + i``.
    first : int
    """

    posterior: NDArray[np.float64]
    group: Codes
    own: Codes
    log_odds: NDArray[np.float64]
    evidence: NDArray[np.int64]
    ids: Vocabulary
    first: int = 0

    def rows_of(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return the rows of these tasks, of an array with a row for each of all tasks."""
        return values[self.first : self.first + self.group.size]

    def of_groups(self, place: Codes) -> tuple["Tasks", NDArray[np.int64]]:
        """Return the tasks of some groups with new codes for these, and their rows; codes of other groups are -1."""
        rows = np.flatnonzero(place[self.group] >= 0)
        found = Tasks(
            self.posterior[rows],
            place[self.group[rows]],
            self.own[rows],
            self.log_odds[rows] if self.log_odds.size else self.log_odds,
            self.evidence[rows] if self.evidence.size else self.evidence,
            self.ids.take(rows + self.first),
        )
        return found, rows

    def hashes(self, rows: NDArray[np.int64], random_state: int) -> NDArray[np.uint64]:
        """Return the seeded hash of the ids of some tasks."""
        return task_keys(self.ids, rows + self.first, random_state)

    def is_first(self, rows: NDArray[np.int64], last: Place, random_state: int) -> NDArray[np.bool_]:
        """Return whether each of some tasks comes no later than a task of this evidence and hash.

        Tasks of more evidence come first, then those of a lower hash; if the evidence is None, only the hash counts.
        """
        evidence, highest = last
        if evidence is None or not self.evidence.size:
            return self.hashes(rows, random_state) <= np.uint64(highest)
        found = self.evidence[rows]
        first, at = found > evidence, np.flatnonzero(found == evidence)
        first[at] = self.hashes(rows[at], random_state) <= np.uint64(highest)
        return first


def compared_codes(n_groups: int, left_out: Collection[int]) -> Codes:
    """Return the code of each group among those that are compared, -1 for those that are left out.

    Examples
    --------
    >>> compared_codes(4, {1: "fewer than 10 tasks"}).tolist()
    [0, -1, 1, 2]
    """
    is_compared = ~np.isin(np.arange(n_groups), list(left_out))
    return np.where(is_compared, np.cumsum(is_compared) - 1, -1).astype(np.int32)


class Population(Protocol[Rows]):
    """All tasks to be labelled, wherever they lie: what solvers, rule and certificate use of them."""

    @property
    def classes(self) -> Vocabulary:
        """The classes."""

    @property
    def groups(self) -> Vocabulary:
        """The groups."""

    @property
    def ties(self) -> str:
        """Which class is the aggregator's own label where its posterior is tied: "first" or "last"."""

    @property
    def weights(self) -> NDArray[np.float64] | None:
        """The weight of each task; None if they are all equal."""

    @property
    def n_groups(self) -> int:
        """Number of groups."""

    @property
    def n_classes(self) -> int:
        """Number of classes."""

    @property
    def sizes(self) -> NDArray[np.int64]:
        """Number of tasks of each group."""

    @property
    def left_out(self) -> Mapping[int, str]:
        """From the groups that no constraint speaks of to the reason."""

    @property
    def merged_groups(self) -> tuple[Any, ...]:
        """Small groups that became the last group."""

    def compared(self) -> "Population[Rows]":
        """Return the tasks of the groups that a constraint speaks of; all of them if no group is left out."""

    def with_left_out(self, rows: Rows, kernel: Callable[..., NDArray[Any]], *parameters: object) -> Rows:
        """Return one row per task from those of the compared tasks; a kernel makes those of the others."""

    @property
    def sorts(self) -> bool:
        """Whether it is quick to gather one number per task and to sort these numbers."""

    @property
    def has_odds(self) -> bool:
        """Whether log-odds are known."""

    def reduce(
        self, kernel: Callable[..., tuple[NDArray[np.int64], ...]], *parameters: object
    ) -> list[NDArray[np.int64]]:
        """Add up over all tasks what a kernel returns for some."""

    def gather(self, kernel: Callable[..., tuple[NDArray[Any], ...]], *parameters: object) -> list[NDArray[Any]]:
        """Join over all tasks what a kernel returns for some, in no order."""

    def emit(self, kernel: Callable[..., NDArray[Any]], *parameters: object) -> Rows:
        """Return what a kernel returns, one row per task."""

    def tally(self, labels: Rows, gain: Gain | None = None) -> "Tally":
        """Count the labels, before and after, by group, and sum what they gain."""

    def expected_tally(self, probabilities: Rows, gain: Gain) -> "Tally":
        """Return what randomized labels come to on average."""

    def labels(self, codes: Rows) -> Any:
        """Return labels in the form that users see."""

    def frame(self, values: Rows) -> Any:
        """Return one number per task and class in the form that users see."""

    def in_memory(self, purpose: str, instead: str) -> "Problem":
        """Return the tasks as arrays.

        Raises
        ------
        OptionError
            If the tasks are not in memory: ``purpose`` needs them there, and ``instead`` is what to do.
        """

    def from_memory(self, rows: NDArray[Any]) -> Rows:
        """Return what ``emit`` would, from an array with one row per task of ``in_memory``."""
