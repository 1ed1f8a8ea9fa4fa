"""The loop of rounds, written once for every model that is fitted by expectation-maximisation."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from faircrowd._checks import warn
from faircrowd.aggregate.base import Aggregator
from faircrowd.errors import ConvergenceWarning, NotFittedError

__all__ = ["Iterative", "Keeper", "Run", "iterate", "keep_rounds", "watch_rounds"]

P = TypeVar("P")

_watcher: ContextVar[Callable[[int, int, float], None] | None] = ContextVar("watcher", default=None)


class Keeper(Protocol):
    """Keeps rounds, so that a run that ended too soon can go on."""

    def load(self, start: P) -> tuple[list[float], P]:
        """Return the objectives before the round to begin with, and its parameters."""

    def save(self, history: list[float], parameters: Any) -> None:
        """Keep a round: the objectives before it, and the parameters it began with."""


_keeper: ContextVar[Keeper | None] = ContextVar("keeper", default=None)


@dataclass(frozen=True)
class Run(Generic[P]):
    """Where the rounds ended.

    Attributes
    ----------
    used : parameters or None
        The parameters of the last expectation step: labels and ``predict`` come from these. None if no round
        was run.
    updated : parameters
        What the last maximisation step made of that expectation (the start, if no round was run).
    history : list of float
        The objective at the parameters of each round, a vote. It never falls.
    converged : bool
        Whether the last round raised the objective by no more than ``tol``.
    """

    used: P | None
    updated: P
    history: list[float]
    converged: bool


class Iterative(Aggregator):
    """What aggregators that are fitted in rounds show of them."""

    _run: Run[Any]

    @property
    def loss_history_(self) -> list[float]:
        """The objective at the parameters of each round, a vote. It never falls."""
        return self._rounds().history

    @property
    def converged_(self) -> bool:
        """Whether the objective settled before the rounds ran out."""
        return self._rounds().converged

    @property
    def n_iter_(self) -> int:
        """Number of rounds that were run."""
        return len(self._rounds().history)

    def _rounds(self) -> Run[Any]:
        self.votes_  # noqa: B018 - raises before fit
        if not hasattr(self, "_run"):
            raise NotFittedError("A model read from a file predicts new tasks; the rounds of its fit are not in it.")
        return self._run


def iterate(step: Callable[[P], tuple[float, P]], start: P, *, n_iter: int, tol: float, n_votes: int) -> Run[P]:
    """Repeat a round until the objective settles or the rounds run out.

    Parameters
    ----------
    step : callable
        An expectation and a maximisation step: from parameters to the objective *at these parameters* and to
        better parameters.
    start : parameters
    n_iter : int
        Most rounds.
    tol : float
        Stop when a round raises the objective by no more than this, a vote.
    n_votes : int
        Number of votes that the objective sums over.

    Warns
    -----
    ConvergenceWarning
        If the rounds ran out first, with ``tol`` not negative.
    """
    if n_votes == 0:
        return Run(None, start, [], True)
    used, updated, history, converged = None, start, list[float](), False
    if (keeper := _keeper.get()) is not None:
        history, updated = keeper.load(start)
    for number in range(len(history) + 1, n_iter + 1):
        objective, better = step(updated)
        value = objective / n_votes
        if history and value < history[-1]:
            # In exact arithmetic no round lowers the objective; here the rounding of a fixed point has.
            converged = True
            break
        history.append(value)
        used, updated = updated, better
        if keeper is not None:  # with the round it repeats, a run that goes on has all that this one has now
            keeper.save(history[:-1], used)
        if (watcher := _watcher.get()) is not None:
            watcher(number, n_iter, value)
        if len(history) > 1 and history[-1] - history[-2] <= tol:
            converged = True
            break
    if not converged and n_iter > 0 and tol >= 0:
        rise = f", the last raised the objective by {history[-1] - history[-2]:.2g} a vote" if n_iter > 1 else ""
        warn(
            f"Not converged: the rounds ran out (n_iter={n_iter}{rise}, tol={tol:g}). "
            "Raise n_iter, or tol if the labels are good enough.",
            ConvergenceWarning,
        )
    return Run(used, updated, history, converged)


@contextmanager
def watch_rounds(watcher: Callable[[int, int, float], None]) -> Iterator[None]:
    """Call ``watcher(round, most rounds, objective a vote)`` after each round run inside the ``with`` block."""
    token = _watcher.set(watcher)
    try:
        yield
    finally:
        _watcher.reset(token)


@contextmanager
def keep_rounds(keeper: Keeper) -> Iterator[None]:
    """Begin the rounds run inside the ``with`` block where the keeper says, and have it keep each."""
    token = _keeper.set(keeper)
    try:
        yield
    finally:
        _keeper.reset(token)
