"""Rounds that survive the end of the process: the parameters of a round are all that the next ones need."""

import hashlib
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from faircrowd.errors import FileError, InputError
from faircrowd.storage.mapped_arrays import release
from faircrowd.storage.scratch import HIDDEN, Scratch
from faircrowd.storage.untrusted import read_arrays
from faircrowd.votes import VoteTable

__all__ = ["Checkpoint", "fingerprint"]

P = TypeVar("P")

_PIECE = 1 << 20


class Checkpoint:
    """Keep the parameters of the last round in a file, and go on from there.

    Parameters
    ----------
    path : Path
        An .npz file; it is replaced whole after each round.
    run : str
        The fingerprint of the run: a file of another run is refused.
    resume : bool
        Whether to go on from the file, if there is one.
    """

    def __init__(self, path: Path, run: str, *, resume: bool) -> None:
        self.path, self.run, self.resume = path, run, resume

    def load(self, start: P) -> tuple[list[float], P]:
        """Return the objectives before the round to go on with, and its parameters; none and ``start`` if anew."""
        if not self.resume or not self.path.exists():
            return [], start
        given: Any = start
        shapes: dict[str, Any] = {f"parameter_{i}": np.shape(array) for i, array in enumerate(given)}
        try:
            run = str(read_arrays(self.path, "checkpoint", {"run": ()})["run"])
            kept = read_arrays(self.path, "checkpoint", {"history": None, **shapes}) if run == self.run else {}
        except InputError as error:
            raise FileError(f"The checkpoint {self.path} cannot be read ({error}); leave --resume out.") from None
        if run != self.run:
            raise InputError(
                f"The checkpoint {self.path} is of other votes or options; use those of the run that made it, "
                "or leave --resume out."
            )
        if not all(np.isfinite(array).all() for array in kept.values()):
            raise FileError(f"The checkpoint {self.path} holds numbers that no round makes; leave --resume out.")
        return kept["history"].tolist(), type(start)(*(kept[name] for name in shapes))

    def save(self, history: Sequence[float], parameters: Iterable[Any]) -> None:
        """Keep a round: the objectives before it, and the parameters it began with."""
        arrays = {f"parameter_{i}": array for i, array in enumerate(parameters)}
        scratch = None
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            scratch = Scratch(self.path.parent, HIDDEN)  # the next run removes what a killed one leaves there
            half = scratch.path / self.path.name
            with half.open("wb") as file:
                np.savez(file, run=self.run, history=np.array(history, dtype=np.float64), **arrays)
            os.replace(half, self.path)
        except OSError as error:
            raise FileError(f"The checkpoint {self.path} cannot be written: {error.strerror or error}.") from None
        finally:
            if scratch is not None:
                scratch.remove()


def fingerprint(votes: VoteTable, *settings: Any) -> str:
    """Return a hash of the votes, as codes, and of anything else that decides on the result."""
    digest = hashlib.sha256(repr(settings).encode())
    for array in (votes.offsets, votes.worker, votes.label, votes.group):
        if array is None:
            digest.update(b"none")
            continue
        for i in range(0, array.size, _PIECE):  # a piece at a time: little of a mapped file is held
            piece = array[i : i + _PIECE]
            digest.update(np.ascontiguousarray(piece).view(np.uint8).data)
            release(piece)
    return digest.hexdigest()
