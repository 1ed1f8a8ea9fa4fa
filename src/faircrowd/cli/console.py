"""What the commands print: a summary for people or JSON for machines; progress only on a terminal."""

import json
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import rich.console
import rich.progress
import rich.table
from rich.text import Text

if TYPE_CHECKING:
    from faircrowd.report import Summary

__all__ = ["Console", "plain", "print_json", "spoken"]


class Console:
    """Print to people (a terminal or a pipe) or to machines."""

    def __init__(self, as_json: bool) -> None:
        self.as_json = as_json
        self._out = rich.console.Console(file=sys.stdout, markup=False, highlight=False, soft_wrap=True)
        self._err = rich.console.Console(file=sys.stderr, markup=False, highlight=False)
        self._notes: list[str] = []

    def note(self, text: str) -> None:
        """Keep something worth knowing for the end."""
        self._notes.append(text)

    @property
    def _shows_progress(self) -> bool:
        return self._err.is_terminal and not self.as_json

    @contextmanager
    def waiting(self, what: str) -> Iterator[None]:
        """Show a spinner while something runs."""
        if not self._shows_progress:
            yield
            return
        with self._err.status(Text(what)):
            yield

    @contextmanager
    def rounds(self, what: str) -> Iterator[Callable[[int, int, float], None] | None]:
        """Show a bar while a model runs its rounds, and the blocks of votes that the round has done.

        Yields what ``fit`` of an iterative aggregator takes as ``on_round``.
        """
        from faircrowd.engines.local import watch_blocks

        if not self._shows_progress:
            yield None
            return
        columns = (
            rich.progress.TextColumn("{task.description}", markup=False),
            rich.progress.BarColumn(),
            rich.progress.TextColumn("{task.fields[state]}", markup=False),
            rich.progress.TimeElapsedColumn(),
        )
        with rich.progress.Progress(*columns, console=self._err, transient=True) as bar:
            row = bar.add_task(what, total=None, state="")
            rounds, said = 0, ""

            def end_round(number: int, most: int, _: float) -> None:
                nonlocal rounds, said
                rounds, said = number, f"round {number} of at most {most}"
                bar.update(row, completed=number, total=most, state=said)

            def end_block(done: int, total: int) -> None:
                state = f"{said}, block {done} of {total}".removeprefix(", ")
                bar.update(row, completed=rounds + done / total, state=state)

            with watch_blocks(end_block):
                yield end_round

    @property
    def notes(self) -> list[str]:
        """What was kept for the end."""
        return list(self._notes)

    @contextmanager
    def cells(self) -> Iterator[Callable[[str, int, int], None]]:
        """Show a bar for each experiment; yield what to call with its name, cells done, and cells in all."""
        if not self._shows_progress:
            yield lambda name, done, total: None
            return
        columns = (
            rich.progress.TextColumn("{task.description}", markup=False),
            rich.progress.BarColumn(),
            rich.progress.MofNCompleteColumn(),
            rich.progress.TimeElapsedColumn(),
        )
        with rich.progress.Progress(*columns, console=self._err) as bar:
            rows: dict[str, rich.progress.TaskID] = {}

            def show(name: str, done: int, total: int) -> None:
                if name not in rows:
                    rows[name] = bar.add_task(name, total=total)
                bar.update(rows[name], completed=done)

            yield show

    def summary(
        self,
        summary: "Summary",
        notes: Sequence[str],
        wrote: str,
        fair: Sequence[tuple[str, str]] = (),
        **more: Any,
    ) -> None:
        """Print the summary of a run; ``more`` goes into the JSON."""
        notes = [*map(spoken, notes), *self._notes, *summary.notes()]
        if self.as_json:
            print_json({**summary.to_dict(), "notes": notes, **more})
            return
        self.pairs([*summary.lines(), *fair, *(("note", note) for note in notes), ("wrote", wrote)])

    def pairs(self, pairs: Sequence[tuple[str, str]]) -> None:
        """Print headings with texts, in two columns."""
        width = max(len(plain(heading)) for heading, _ in pairs)
        for heading, text in pairs:
            self._out.print(Text.assemble((f"{plain(heading):<{width}}", "bold"), "  ", plain(text)))

    def table(self, header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        """Print a small table; columns after the first are numbers."""
        table = rich.table.Table(box=None, pad_edge=False, header_style="bold")
        for position, name in enumerate(header):
            table.add_column(Text(name), justify="left" if position == 0 else "right")
        for row in rows:
            table.add_row(*(Text(plain(cell)) for cell in row))
        self._out.print(table)

    def line(self, text: str = "") -> None:
        """Print a line."""
        self._out.print(Text(plain(text)))


def spoken(text: str) -> str:
    """Say options as the command line has them: on_missing='drop' is --on-missing drop.

    Examples
    --------
    >>> spoken("no column 'x'. Name it with task=... (on_duplicate='last')")
    "no column 'x'. Name it with --task NAME (--on-duplicate last)"
    """
    text = re.sub(r"^([a-z]+(_[a-z]+)?) must be ", lambda m: f"--{m[1].replace('_', '-')} must be ", text)
    text = re.sub(r"\b(task|worker|label|tasks)=\.\.\.", r"--\1 NAME", text)
    names = r"(?<!-)\b(on_duplicate|on_missing|n_iter|ties|tol|delimiter|method|group|unknown|objective|decision"
    names += r"|engine|memory_limit)"
    text = re.sub(names + r"='?([\w.+-]+)'?", lambda m: f"--{m[1].replace('_', '-')} {m[2]}", text)
    return re.sub(r"\b(on_duplicate|on_missing|n_iter|memory_limit)\b", lambda m: f"--{m[1].replace('_', '-')}", text)


def print_json(value: Any) -> None:
    """Print a value as JSON, in the characters that the output takes."""
    if sys.stdout is None:  # closed by the caller, as with >&-
        return
    is_utf8 = (sys.stdout.encoding or "utf-8").lower().replace("-", "") == "utf8"
    sys.stdout.write(json.dumps(value, ensure_ascii=not is_utf8, allow_nan=False) + "\n")


def plain(text: str, limit: int = 400) -> str:
    """Return a user's text without control characters, which a terminal would obey, and not too long."""
    clean = "".join(character if character.isprintable() else "�" for character in text)
    return clean if len(clean) <= limit else f"{clean[: limit - 1]}…"
