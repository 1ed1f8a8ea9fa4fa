"""A promise about all tasks like the ones at hand, in numbers and in words."""

from dataclasses import dataclass

from faircrowd._display import Displayed

__all__ = ["Promise"]


@dataclass(frozen=True, repr=False)
class Promise(Displayed):
    """What is promised about the gap of a rule on all tasks like the ones at hand; ``str()`` gives it as a sentence.

    The tasks of each group are taken as a random sample of all tasks of the group, and the aggregator as given. The
    promise is about the rule for new tasks (``rule_``, rule.json): its gap on all these tasks, not only on those at
    hand, is at most ``epsilon``. In at most a share of 1 - ``confidence`` of all samples is a promise made that does
    not hold.

    Attributes
    ----------
    method : {"ranks", "uniform"}
        How the rule was chosen: its thresholds are ranks of held-out tasks; or a bound holds for all rules at once
        (tasks in Spark).
    epsilon : float
        The gap that is promised.
    confidence : float
    tightened : float
        The gap that is allowed in the labels of the tasks at hand.
    enough : bool
        Whether there are enough tasks. If not, nothing is promised, and ``tightened`` is ``epsilon``.
    needed : int or None
        About how many tasks in each group would be enough, by what these tasks show; None if no number is.
    learned, held_out : int
        How many tasks the rule was learned from, and how many were held out from that for its thresholds; for
        "uniform" all tasks and 0.
    grounds : str
        Why it holds.
    rule : str
        The rule that it is about, in words; empty if that is the rule of the labels.
    believed_accuracy : float or None
        Of that rule on the tasks at hand; None if it is the rule of the labels.
    """

    method: str
    epsilon: float
    confidence: float
    tightened: float
    enough: bool
    needed: int | None
    learned: int
    held_out: int
    grounds: str
    rule: str = ""
    believed_accuracy: float | None = None

    def __str__(self) -> str:
        if not self.enough:
            return f"NONE is made about tasks that were not seen: {self.shortage}"
        accuracy = self.believed_accuracy
        believed = "" if accuracy is None else f"; on them the rule has a believed accuracy of {accuracy:.1%}"
        return (
            f"the rule keeps the gap of all tasks like these within {self.epsilon:g}, with probability "
            f"{self.confidence:.4g} ({self.grounds}); the labels of these tasks have a gap of at most "
            f"{self.tightened:.4g}{believed}"
        )

    @property
    def shortage(self) -> str:
        """Say that there are too few tasks, and how many would do."""
        if self.needed is None:
            would = "no number of tasks would be enough"
        else:
            would = f"about {self.needed:,} tasks in each group would be enough"
        return (
            f"these tasks are too few to promise a gap within {self.epsilon:g} with probability {self.confidence:.4g}; "
            f"{would}"
        )
