"""Where the votes of a run lie, in memory or on disk, and how a run that was ended goes on."""

from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import typer

from faircrowd._checks import check_choice
from faircrowd.cli.console import Console, plain, spoken
from faircrowd.errors import OptionError

if TYPE_CHECKING:
    from faircrowd.aggregate.checkpoint import Checkpoint

__all__ = ["Engine"]


class Engine(NamedTuple):
    """How votes are read and rounds are kept.

    Attributes
    ----------
    name : {"memory", "stream", "auto"}
    memory_limit : int or None
        Bytes that the run may take.
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
        from faircrowd.engines.engine_choice import parse_size

        check_choice("--engine", name, ("auto", "memory", "stream", "spark"))
        if memory_limit is not None and name == "memory":
            raise OptionError("--memory-limit is for --engine stream and auto; leave one of the two out.")
        return cls(name, None if memory_limit is None else parse_size(memory_limit), checkpoint, resume)

    def settled(self, console: Console, votes: Path) -> "Engine":
        """Choose by the size of the file, if nobody has; say so if it is not as usual, in memory."""
        from faircrowd.engines.engine_choice import choose_engine

        if self.name != "auto":
            return self
        choice = choose_engine(votes, self.memory_limit)
        if choice.is_news:
            _say(console, spoken(choice.why))
        return self._replace(name=choice.engine)

    def clear_up(self, console: Console) -> None:
        """Remove what killed runs left on disk, votes and half-written results, and say so."""
        from faircrowd.storage.scratch import HIDDEN, remove_left

        votes = remove_left() if self.name == "stream" else None
        results = None if self.checkpoint is None else remove_left(self.checkpoint.parent, HIDDEN)
        for line in (votes, results):
            if line is not None:
                _say(console, line)

    def read(self, votes: Path, **reading: Any) -> Any:
        """Read votes, as ``read_votes`` does."""
        import pyarrow as pa

        if self.name == "stream":
            from faircrowd.engines.engine_choice import memory_to_regroup
            from faircrowd.engines.stream.read_stream import read_votes_on_disk

            limit = None if self.memory_limit is None else memory_to_regroup(self.memory_limit)
            table = read_votes_on_disk(votes, memory_limit=limit, **reading)
        else:
            from faircrowd.votes import read_votes

            table = read_votes(votes, **reading)
        pa.default_memory_pool().release_unused()  # the columns that were read
        return table

    def check_memory(self, table: Any) -> None:
        """Raise if what a stream holds of each task will not fit."""
        from faircrowd.engines.engine_choice import check_run

        if self.name == "stream":
            check_run(table.n_tasks, table.n_classes, table.tasks.values.nbytes, self.memory_limit)

    def checkpoint_of(
        self, model: Any, table: Any, method: str, learned: str | None, tasks: Path | None
    ) -> "Checkpoint | None":
        """Return where to keep the rounds that a model runs."""
        from faircrowd.aggregate.checkpoint import Checkpoint, fingerprint
        from faircrowd.aggregate.em import Iterative

        is_iterative = isinstance(model, Iterative)
        if self.resume and not is_iterative:
            raise OptionError(f"--resume is for methods that run in rounds; {method} does not.")
        if self.checkpoint is None or not is_iterative or not (self.resume or self.name == "stream"):
            return None
        known = tasks.read_bytes() if tasks is not None else b""
        run = fingerprint(table, method, sorted(model.get_params().items()), learned, known)
        return Checkpoint(self.checkpoint, run, resume=self.resume)

    def forget(self) -> None:
        """Remove the checkpoint of a run that is done."""
        if self.checkpoint is not None:
            self.checkpoint.unlink(missing_ok=True)


def _say(console: Console, line: str) -> None:
    """Say something before the run; to machines, among the notes."""
    if console.as_json:
        console.note(line)
    else:
        typer.echo(plain(line), err=True)
