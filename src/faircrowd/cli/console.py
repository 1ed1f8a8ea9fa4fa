"""What the commands print: a summary for people or JSON for machines; progress only on a terminal."""

import sys
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import rich.console
import rich.progress
import rich.table
from rich.text import Text

from faircrowd.cli.json_output import print_json
from faircrowd.runs.wording import spoken

if TYPE_CHECKING:
    from faircrowd.aggregate.em import OnRound
    from faircrowd.runs.run import Run
    from faircrowd.runs.spark_run import SparkRun
    from faircrowd.runs.write import Written

__all__ = ["Console", "open_in_browser", "plain"]

_LEAST_ROOM, _WIDEST_HEADING = 30, 24
_LONGEST_TEXT = 1000
_ALARMING = "warning"
"""The heading of what is printed in red."""


class Console:
    """Prints for people (to a terminal or a pipe) or for machines (JSON)."""

    def __init__(self, as_json: bool) -> None:
        self.as_json = as_json
        self._out = rich.console.Console(file=sys.stdout, markup=False, highlight=False, soft_wrap=True)
        self._err = rich.console.Console(file=sys.stderr, markup=False, highlight=False)
        self._notes: list[str] = []

    def note(self, text: str) -> None:
        """Keep something worth knowing for the end."""
        self._notes.append(text)

    def tell(self, line: str) -> None:
        """Report something before a run ends: on stderr, or in JSON among the notes."""
        if self.as_json:
            self.note(line)
        elif sys.stderr is not None:
            sys.stderr.write(f"{plain(spoken(line))}\n")

    @property
    def _shows_progress(self) -> bool:
        return self._err.is_terminal and not self.as_json

    @contextmanager
    def waiting(self, what: str) -> Iterator[None]:
        """Show a spinner while something runs, and which step a long loop has reached."""
        if not self._shows_progress:
            yield
            return
        from faircrowd._steps import watch_steps

        with self._err.status(Text(what)) as status:

            def begin_step(step: str, number: int, total: int) -> None:
                status.update(Text(f"{what}: {step} {number:,} of {total:,}"))

            with watch_steps(begin_step):
                yield

    @contextmanager
    def rounds(self, what: str) -> "Iterator[OnRound | None]":
        """Show a bar while a model runs its rounds, and how many blocks of votes the current round has processed."""
        if not self._shows_progress:
            yield None
            return
        from faircrowd.engines.local import watch_blocks

        columns = (
            rich.progress.TextColumn("{task.description}", markup=False),
            rich.progress.BarColumn(),
            rich.progress.TextColumn("{task.fields[state]}", markup=False),
            rich.progress.TimeElapsedColumn(),
        )
        with rich.progress.Progress(*columns, console=self._err, transient=True) as bar:
            row = bar.add_task(what, total=None, state="")
            rounds, state = 0, ""

            def end_round(number: int, most: int, _: float) -> None:
                nonlocal rounds, state
                rounds, state = number, f"round {number} of at most {most}"
                bar.update(row, completed=number, total=most, state=state)

            def end_block(done: int, total: int) -> None:
                shown = f"{state}, block {done} of {total}".removeprefix(", ")
                bar.update(row, completed=rounds + done / total, state=shown)

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

    def run(self, run: "Run | SparkRun", written: "Written", **more: Any) -> None:
        """Print what a run found and wrote; ``more`` goes into the JSON."""
        notes = [spoken(note) for note in run.all_notes(*self._notes, *written.notes)]
        if self.as_json:
            warnings = [spoken(text) for heading, text in run.lines() if heading == _ALARMING]
            found = {**run.summary.to_dict(), "notes": notes, "warnings": warnings, "out": str(written.folder)}
            print_json({**found, **more, **run.details()})
            return
        told = ("note", _ALARMING)
        lines = [(heading, spoken(text) if heading in told else text) for heading, text in run.lines()]
        self.pairs([*lines, *(("note", note) for note in notes), ("wrote", str(written))])

    def pairs(self, pairs: Sequence[tuple[str, str]]) -> None:
        """Print headings with texts, in two columns; a terminal shows long texts below each other."""
        width = min(max(len(plain(heading)) for heading, _ in pairs), _WIDEST_HEADING)
        room = self._out.width - width - 2 if self._out.is_terminal else 0
        for heading, text in pairs:
            colour = "red" if heading == _ALARMING else ""
            told = Text(plain(text, _LONGEST_TEXT), colour)
            lines = told.wrap(self._out, room) if room >= _LEAST_ROOM else [told]
            for number, line in enumerate(lines):
                line.rstrip()
                name = "" if number else plain(heading)
                self._out.print(Text.assemble((f"{name:<{width}}", f"bold {colour}".strip()), "  ", line))

    def table(
        self, header: Sequence[str], rows: Sequence[Sequence[str]], alarming: Collection[tuple[int, int]] = ()
    ) -> None:
        """Print a small table; columns after the first are numbers, and alarming cells (row, column) are red."""
        table = rich.table.Table(box=None, pad_edge=False, header_style="bold")
        for position, name in enumerate(header):
            table.add_column(Text(name), justify="left" if position == 0 else "right")
        for i, row in enumerate(rows):
            table.add_row(*(Text(plain(cell), "red" if (i, j) in alarming else "") for j, cell in enumerate(row)))
        self._out.print(table)

    def line(self, text: str = "") -> None:
        """Print a line."""
        self._out.print(Text(plain(text)))


def plain(text: str, limit: int = 400) -> str:
    """Return text without control characters, which a terminal would obey, and shortened if it is long."""
    clean = "".join(character if character.isprintable() else "�" for character in text)
    return clean if len(clean) <= limit else f"{clean[: limit - 1]}…"


def open_in_browser(address: str) -> None:
    """Open a page in the user's browser, or say that there is none."""
    import webbrowser

    if not webbrowser.open(address) and sys.stderr is not None:
        sys.stderr.write("faircrowd: no browser was found to open the page.\n")
