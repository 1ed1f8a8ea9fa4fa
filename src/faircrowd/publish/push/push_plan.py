"""What is to be sent to a platform, and what came of it."""

from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any

__all__ = ["PushPlan", "Pushed"]


@dataclass(frozen=True)
class Pushed:
    """What a platform has after labels were sent.

    Attributes
    ----------
    sent : int
        How many labels were sent.
    created : int
        How many of them the platform says that it stored.
    confirmed : int
        How many of all labels are there, by what it lists afterwards.
    total : int
        How many should be there.
    """

    sent: int
    created: int
    confirmed: int
    total: int

    def line(self) -> str:
        """Return the numbers as a sentence."""
        return f"{self.sent:,}, stored {self.created:,}; {self.confirmed:,} of {self.total:,} are there"

    def to_dict(self) -> dict[str, Any]:
        """Return the numbers as plain values, ready for JSON."""
        return {**asdict(self), "missed": self.missed}

    @property
    def missed(self) -> str:
        """In what the platform has less than it was sent, as a sentence; empty if it has all."""
        if self.created == self.sent and self.confirmed == self.total:
            return ""
        return (
            f"the platform stored {self.created:,} of the {self.sent:,} labels that were sent, and has "
            f"{self.confirmed:,} of {self.total:,}; it silently drops labels that its configuration does not know. "
            "Compare the names of the labels, and of the question, with those of the project."
        )


@dataclass(frozen=True)
class PushPlan:
    """What is to be sent, after a look at what is there.

    Attributes
    ----------
    place : str
        The project or dataset, as the platform calls it.
    total, same, changed, new : int
        How many labels there are; of these, how many are there already, are there with other values, and are not there.
    send : function without arguments
        Sends those that are new or changed, and looks again.
    notes : tuple of str
    """

    place: str
    total: int
    same: int
    changed: int
    new: int
    send: Callable[[], Pushed] = field(repr=False)
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the numbers as plain values, ready for JSON."""
        return {name: getattr(self, name) for name in ("place", "total", "same", "changed", "new")}

    def line(self) -> str:
        """Return the plan as a sentence."""
        of_version = f"{self.changed:,} replace what is there, {self.same:,} are there already"
        return f"{self.place}: {self.new:,} of {self.total:,} labels are new there, {of_version}"
