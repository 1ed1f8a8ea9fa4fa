"""What votes of judges say beyond a label: probabilities of classes, families of judges, abstentions."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from faircrowd.votes.vocabulary import Codes, Vocabulary

__all__ = ["JudgeVotes"]


@dataclass(frozen=True, eq=False)
class JudgeVotes:
    """What is kept beside the codes of a :class:`~faircrowd.VoteTable`, in the order of its votes and tasks.

    Votes of people have nothing of it, and the codes are the same with it and without. Each attribute may be None.

    Attributes
    ----------
    probability : ndarray, shape (n_votes, n_classes)
        The probability that each vote gives to each class. A vote that states none gives one to its label; runs of a
        judge on a task are averaged.
    stated : ndarray, shape (n_votes,)
        The share of the runs behind a vote that stated probabilities: 1 for a vote with probabilities, 0 for a label.
    families : Vocabulary
        The families of judges, as they were named.
    family : ndarray of int32, shape (n_votes,)
        The family of the judge of each vote, -1 where none is named.
    abstained : ndarray, shape (n_tasks,)
        How many judges abstained from each task. The judges of a family count as one, in parts if some of them voted;
        so do the runs of a judge.
    """

    probability: NDArray[np.float64] | None = None
    stated: NDArray[np.float64] | None = None
    families: Vocabulary | None = None
    family: Codes | None = None
    abstained: NDArray[np.float64] | None = None

    @property
    def has_probabilities(self) -> bool:
        """Whether votes are more than their labels: some state probabilities, or are averages of runs."""
        return self.probability is not None

    def with_classes(self, place: Codes, n_classes: int) -> "JudgeVotes":
        """Return the same with the class ``place[k]`` in place of ``k``; classes that are new have no probability."""
        if self.probability is None:
            return self
        moved = np.zeros((len(self.probability), n_classes))
        moved[:, place] = self.probability
        return replace(self, probability=moved)

    def select(self, votes: NDArray[np.bool_], tasks_lost: NDArray[np.int64]) -> "JudgeVotes":
        """Return what belongs to some of the votes, without the tasks that these leave empty."""
        return replace(
            self,
            probability=None if self.probability is None else self.probability[votes],
            stated=None if self.stated is None else self.stated[votes],
            family=None if self.family is None else self.family[votes],
            abstained=None if self.abstained is None else np.delete(self.abstained, tasks_lost),
        )
