"""The loop of expectation-maximisation, written once for every model that is fitted in rounds."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeAlias, TypeVar

import numpy as np

from faircrowd._checks import warn
from faircrowd.aggregate.base import Aggregator
from faircrowd.aggregate.checkpoint import Checkpoint, RoundParameters
from faircrowd.errors import ConvergenceWarning, NotFittedError
from faircrowd.exact.extrapolation import Extrapolation, tuple_like

__all__ = ["Iterative", "OnRound", "Run", "iterate"]

P = TypeVar("P", bound=RoundParameters)

OnRound: TypeAlias = Callable[[int, int, float], None]
"""Called after each round with its number, the largest number of rounds, and the objective per vote."""


_ROUNDING = 1e-9
"""A relative fall of the objective of this size is rounding."""


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
        The objective per vote at the parameters of each round. It never falls: a round at extrapolated parameters
        that are not better is one more round at those before.
    converged : bool
        Whether the last round changed the objective by no more than ``tol``, or than rounding does.
    """

    used: P | None
    updated: P
    history: list[float]
    converged: bool


class Iterative(Aggregator):
    """Base class of the aggregators that are fitted in rounds.

    Their ``fit`` takes the keyword-only arguments ``checkpoint`` and ``on_round``, and passes them to :func:`iterate`.
    """

    _run: Run[Any]

    @property
    def loss_history_(self) -> list[float]:
        """The objective per vote at the parameters of each round. It never falls."""
        return self._rounds().history

    @property
    def converged_(self) -> bool:
        """Whether the objective settled before the largest number of rounds was reached."""
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


def iterate(
    step: Callable[[P], tuple[float, P]],
    start: P,
    *,
    n_iter: int,
    tol: float,
    n_votes: int,
    checkpoint: Checkpoint | None = None,
    on_round: OnRound | None = None,
    acceleration: Extrapolation[P] | None = None,
) -> Run[P]:
    """Repeat a round until the objective settles or the largest number of rounds is reached.

    Parameters
    ----------
    step : callable
        An expectation and a maximisation step: from parameters to the objective *at these parameters* and to
        better parameters.
    start : named tuple of arrays
        The parameters of the first round.
    n_iter : int
        Largest number of rounds.
    tol : float
        Stop when a round raises the objective per vote by no more than this. A negative one is never met.
    n_votes : int
        Number of votes that the objective sums over.
    checkpoint : Checkpoint, optional
        Where to begin, and where to keep each round.
    on_round : callable, optional
        Called as ``on_round(round, n_iter, objective per vote)`` after each round.
    acceleration : Extrapolation, optional
        Try rounds at extrapolated parameters. Where they are not better, the next round is the plain one that would
        have been. Only a plain round can end the rounds.

    Warns
    -----
    ConvergenceWarning
        If ``n_iter`` rounds were not enough, with ``tol`` not negative; or if a round lowered the objective by more
        than ``tol`` and more than rounding does.
    """
    if n_votes == 0:
        return Run(None, start, [], True)
    used, updated, history, converged = None, start, list[float](), False
    if checkpoint is not None:
        history, updated = _resumed(checkpoint, start, acceleration)
    ahead = None  # extrapolated parameters, to be tried in place of the updated ones
    for number in range(len(history) + 1, n_iter + 1):
        is_plain, is_start = ahead is None, acceleration is None or acceleration.at_start
        longest = () if acceleration is None else (np.asarray(acceleration.longest),)
        point = updated if ahead is None else ahead
        objective, better = step(point)
        value = objective / n_votes
        if acceleration is not None and not is_plain:
            if value >= history[-1]:
                acceleration.accept()
            else:
                acceleration.reject()
                ahead = None
                history.append(history[-1])
                if on_round is not None:
                    on_round(number, n_iter, history[-1])
                continue
        elif history and not value >= history[-1]:
            fall = history[-1] - value
            # In exact arithmetic no round lowers the objective, but the rounding of a fixed point may.
            if not fall <= max(tol, _ROUNDING * max(1.0, abs(value))):
                warn(
                    f"Not converged: round {number} lowered the objective by {fall:.2g} per vote, which it should "
                    f"raise; the rounds end there, and the labels are those of round {number - 1}.",
                    ConvergenceWarning,
                )
                return Run(used, updated, history, False)
            converged = tol >= 0  # a negative tolerance asks for all rounds and is never met
            break
        history.append(value)
        used, updated = point, better
        if checkpoint is not None and is_plain and is_start:
            # A resumed run repeats this round, and then has all that this run has now.
            checkpoint.save(history[:-1], (*used, *longest))
        if on_round is not None:
            on_round(number, n_iter, value)
        if is_plain and len(history) > 1 and history[-1] - history[-2] <= tol:
            converged = True
            break
        ahead = acceleration.propose(used, updated) if acceleration is not None and is_plain else None
    if not converged and n_iter > 0 and tol >= 0:
        rise = f", the last raised the objective by {history[-1] - history[-2]:.2g} per vote" if n_iter > 1 else ""
        warn(
            f"Not converged: the rounds ran out (n_iter={n_iter}{rise}, tol={tol:g}). "
            "Raise n_iter, or tol if the labels are good enough.",
            ConvergenceWarning,
        )
    return Run(used, updated, history, converged)


def _resumed(checkpoint: Checkpoint, start: P, acceleration: Extrapolation[P] | None) -> tuple[list[float], P]:
    """Return the objectives of the rounds in a checkpoint, and the parameters of the next round."""
    if acceleration is None:
        return checkpoint.load(start)
    history, kept = checkpoint.load((*start, np.asarray(acceleration.longest)))
    acceleration.longest = float(kept[-1])
    return history, tuple_like(start, kept[:-1])
