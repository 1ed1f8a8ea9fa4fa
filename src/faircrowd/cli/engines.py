"""Where the votes of a run lie, in memory or on disk, and how a run that was ended goes on."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import typer

from faircrowd._checks import check_choice
from faircrowd.cli.console import Console, plain
from faircrowd.errors import OptionError

__all__ = ["Engine"]


class Engine(NamedTuple):
    """How votes are read and rounds are kept.

    Attributes
    ----------
    name : {"memory", "stream", "auto"}
    memory_limit : int or None
        Bytes that reading may take.
    checkpoint : Path or None
        Where rounds are kept: those of a stream, and those of a run with ``resume``.
    resume : bool
        Whether to go on from the checkpoint.
    """

    name: str = "memory"
    memory_limit: int | None = None
    checkpoint: Path | None = None
    resume: bool = False

    @classmethod
    def asked(cls, name: str, memory_limit: str | None, *, checkpoint: Path, resume: bool) -> "Engine":
        """Check the options of a command."""
        from faircrowd.engines.choice import parse_size

        check_choice("--engine", name, ("auto", "memory", "stream"))
        if memory_limit is not None and name == "memory":
            raise OptionError("--memory-limit is for --engine stream and auto; leave one of the two out.")
        return cls(name, None if memory_limit is None else parse_size(memory_limit), checkpoint, resume)

    def settled(self, console: Console, votes: Path) -> "Engine":
        """Choose by the size of the file, if nobody has; say so if it is not as usual, in memory."""
        from faircrowd.engines.choice import choose_engine

        if self.name != "auto":
            return self
        choice = choose_engine(votes, self.memory_limit)
        if choice.is_news and console.as_json:
            console.note(choice.why)
        elif choice.is_news:
            typer.echo(plain(choice.why), err=True)
        return self._replace(name=choice.engine)

    def read(self, votes: Path, **reading: Any) -> Any:
        """Read votes, as ``read_votes`` does."""
        if self.name == "stream":
            from faircrowd.engines.disk import read_votes_on_disk

            return read_votes_on_disk(votes, memory_limit=self.memory_limit, **reading)
        from faircrowd.votes import read_votes

        return read_votes(votes, **reading)

    @contextmanager
    def rounds_of(self, model: Any, table: Any, method: str, learned: str | None, tasks: Path | None) -> Iterator[None]:
        """Keep the rounds that a model runs inside the ``with`` block."""
        from faircrowd.aggregate.checkpoint import Checkpoint, fingerprint
        from faircrowd.aggregate.em import Iterative, keep_rounds

        is_iterative = isinstance(model, Iterative)
        if self.resume and not is_iterative:
            raise OptionError(f"--resume is for methods that run in rounds; {method} does not.")
        if self.checkpoint is None or not is_iterative or not (self.resume or self.name == "stream"):
            yield
            return
        known = tasks.read_bytes() if tasks is not None else b""
        run = fingerprint(table, method, sorted(model.get_params().items()), learned, known)
        with keep_rounds(Checkpoint(self.checkpoint, run, resume=self.resume)):
            yield

    def forget(self) -> None:
        """Remove the checkpoint of a run that is done."""
        if self.checkpoint is not None:
            self.checkpoint.unlink(missing_ok=True)
