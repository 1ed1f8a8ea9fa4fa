"""What a run reports while it is under way."""

from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from faircrowd.aggregate.em import OnRound

__all__ = ["QUIET", "Progress"]


class Progress(Protocol):
    """Shows people what a run is doing; the command line's console is one."""

    def waiting(self, what: str) -> AbstractContextManager[None]:
        """Show that something is being done inside the ``with`` block."""

    def rounds(self, what: str) -> "AbstractContextManager[OnRound | None]":
        """Show the rounds of a model fitted inside the ``with`` block; yield what to call after each."""

    def tell(self, line: str) -> None:
        """Report something before the run ends."""


class _Quiet:
    """Shows nothing."""

    def waiting(self, what: str) -> AbstractContextManager[None]:
        return nullcontext()

    def rounds(self, what: str) -> "AbstractContextManager[OnRound | None]":
        return nullcontext()

    def tell(self, line: str) -> None:
        pass


QUIET: Progress = _Quiet()
"""Shows nothing: the default in Python."""
