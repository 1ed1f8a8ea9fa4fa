"""Rounds of a fit in a file, so that a run that was interrupted can go on: a round needs the last parameters alone."""

import hashlib
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from faircrowd.errors import FileError, InputError
from faircrowd.exact.extrapolation import tuple_like
from faircrowd.storage.mapped_arrays import release
from faircrowd.storage.scratch import HIDDEN, Scratch
from faircrowd.storage.untrusted import read_arrays
from faircrowd.votes import VoteTable

__all__ = ["Checkpoint", "RoundParameters", "fingerprint"]

RoundParameters: TypeAlias = tuple[NDArray[np.float64], ...]
"""The parameters of a round: a named tuple of arrays."""

P = TypeVar("P", bound=RoundParameters)

_VALUES_AT_A_TIME = 1 << 20


class Checkpoint:
    """A file with the parameters of the last round; ``fit`` of iterative aggregators takes one.

    Parameters
    ----------
    path : Path
        An .npz file; it is replaced as a whole after each round.
    run : str
        The :func:`fingerprint` of the run: a file of another run is refused.
    resume : bool
        Whether to go on from the file, if there is one.
    """

    def __init__(self, path: Path, run: str, *, resume: bool) -> None:
        self.path, self.run, self.resume = path, run, resume

    def load(self, start: P) -> tuple[list[float], P]:
        """Return the objectives of the rounds before the one to run next, and its parameters; at first, ``start``."""
        if not self.resume or not self.path.exists():
            return [], start
        shapes: dict[str, tuple[int, ...] | None] = {f"parameter_{i}": array.shape for i, array in enumerate(start)}
        try:
            run = str(read_arrays(self.path, "checkpoint", {"run": ()})["run"])
            kept = read_arrays(self.path, "checkpoint", {"history": None, **shapes}) if run == self.run else {}
        except InputError as error:
            raise FileError(f"The checkpoint {self.path} cannot be read ({error}); leave resume=True out.") from None
        if run != self.run:
            raise InputError(
                f"The checkpoint {self.path} is of other votes or options; use those of the run that made it, "
                "or leave resume=True out."
            )
        if not all(np.isfinite(array).all() for array in kept.values()):
            raise FileError(f"The checkpoint {self.path} has values that are not finite; leave resume=True out.")
        return kept["history"].tolist(), tuple_like(start, [kept[name] for name in shapes])

    def save(self, history: Sequence[float], parameters: RoundParameters) -> None:
        """Keep a round: the objectives of the rounds before it, and the parameters it began with."""
        arrays: dict[str, Any] = {f"parameter_{i}": array for i, array in enumerate(parameters)}
        scratch = None
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            scratch = Scratch(self.path.parent, HIDDEN)  # the next run removes what a killed run leaves there
            half = scratch.path / self.path.name
            with half.open("wb") as file:
                np.savez(file, run=self.run, history=np.array(history, dtype=np.float64), **arrays)
            os.replace(half, self.path)
        except OSError as error:
            raise FileError(f"The checkpoint {self.path} cannot be written: {error.strerror or error}.") from None
        finally:
            if scratch is not None:
                scratch.remove()


def fingerprint(votes: VoteTable, *settings: object) -> str:
    """Return a hash of the votes, as codes, and of anything else that the result depends on."""
    digest = hashlib.sha256(repr(settings).encode())
    for array in (votes.offsets, votes.worker, votes.label, votes.group):
        if array is None:
            digest.update(b"none")
            continue
        for i in range(0, array.size, _VALUES_AT_A_TIME):  # so that little of a mapped file is in memory
            piece = array[i : i + _VALUES_AT_A_TIME]
            digest.update(np.ascontiguousarray(piece).view(np.uint8).data)
            release(piece)
    return digest.hexdigest()
