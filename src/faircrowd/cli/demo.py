"""``faircrowd demo``: the paper's synthetic crowd, from votes to fair labels."""

import os
import shlex
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from faircrowd.cli import arguments as arg
from faircrowd.cli.compile_ahead import compile_ahead
from faircrowd.cli.console import Console, open_in_browser
from faircrowd.runs.options import FairOptions, ModelOptions, ReadOptions, RunOptions

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

    from faircrowd.votes import SimulatedCrowd, VoteTable

__all__ = ["demo"]

_MODEL = ModelOptions.given("dawid-skene", by_group=True)
_COMPARED = (*(ModelOptions.given(name) for name in ("majority", "one-coin", "dawid-skene")), _MODEL)


def demo(
    out: Annotated[
        Path, typer.Option(parser=arg.place, metavar="PATH", help="Folder for the crowd and the results.")
    ] = Path("faircrowd-demo"),
    random_state: Annotated[int, typer.Option(help="Seed of the crowd.")] = 0,
    open_page: Annotated[
        bool | None,
        typer.Option(
            "--open/--no-open",
            help="Whether to open the page in a browser; by default you are asked, at a terminal only.",
            show_default=False,
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the summary as JSON.")] = False,
) -> None:
    """Draw the paper's synthetic crowd, merge its votes, show what that does to the groups, and make it fair."""
    compile_ahead()
    from faircrowd.report import OutputFolder
    from faircrowd.runs.fit import fit
    from faircrowd.runs.write import RUN_FILES, Written, earlier_files, fill, prepare
    from faircrowd.votes import simulate_crowd

    console = Console(as_json)
    crowd = simulate_crowd(random_state=random_state)
    with OutputFolder(out) as folder:  # crowd and results appear together
        tables = dict(zip(("votes", "tasks"), _tables(crowd), strict=True))
        for name, table in tables.items():
            folder.write_csv(f"{name}.csv", table)
        group, truth = (tables["tasks"][name].to_numpy() for name in ("group", "truth"))
        places = {name: folder.waiting(f"{name}.csv") for name in tables}
        read = ReadOptions(out / "votes.csv", out / "tasks.csv", ("group",), "truth")
        run = fit(RunOptions(read, _MODEL, FairOptions(0.05)), console, places)
        rows = _compared(run.votes, truth)
        prepare(run, progress=console)
        notes = fill(run, folder)
    if not as_json:
        _compare(console, run.votes, group, truth, rows)
    compared = {name: {"accuracy": numbers[0], "gap": numbers[-1]} for name, numbers in rows}
    written = Written(out, tuple(name for name in RUN_FILES if name in folder.names), (*notes, *earlier_files(folder)))
    console.run(run, written, compared=compared)
    if not as_json:
        votes, tasks = (shlex.quote(str(out / name)) for name in ("votes.csv", "tasks.csv"))
        console.line()
        given = f"--tasks {tasks} --group group --by-group --truth truth --epsilon 0.05"
        console.line(f"Try it yourself: {_program()} aggregate {votes} {given} --out labels")
        console.line()
    page = (out / "report.html").resolve()
    if _is_asked(page) if open_page is None and not as_json else open_page:
        open_in_browser(page.as_uri())
    if not as_json:
        console.line(f"The page: {page}")


def _is_asked(page: Path) -> bool:
    """Return whether somebody at a terminal wants to see the page; in a pipe or in CI nobody is asked."""
    if os.environ.get("CI") or not all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stdout)):
        return False
    try:
        return typer.confirm(f"Open {page.name} in a browser?", default=False)
    except typer.Abort:  # Ctrl-C or Ctrl-D: the results are there already
        typer.echo()
        return False


def _compared(votes: "VoteTable", truth: "NDArray[np.int64]") -> list[tuple[str, list[float]]]:
    """Return the results of each method: accuracy, the rate of class 1 in each group, and the gap."""
    from faircrowd.report import summarise
    from faircrowd.votes.groups import gold_codes

    rows: list[tuple[str, list[float]]] = []
    votes, gold = gold_codes(votes, dict(enumerate(truth.tolist())))
    for options in _COMPARED:
        model = options.make().fit(votes)
        summary = summarise(options.name, model, votes, model.posterior_.in_memory(), gold, {})
        rates = [shares["1"] for shares in (summary.group_shares or {}).values()]
        rows.append((options.name, [summary.accuracy or 0.0, *rates, summary.gap or 0.0]))
    return rows


def _compare(
    console: Console,
    table: "VoteTable",
    group: "NDArray[np.int64]",
    truth: "NDArray[np.int64]",
    rows: list[tuple[str, list[float]]],
) -> None:
    """Print what each method does to the groups."""
    import numpy as np

    true_rates = [float(truth[group == g].mean()) for g in np.unique(group)]
    console.line(f"{table.n_votes:,} votes of {table.n_workers} workers on {table.n_tasks:,} tasks of two groups;")
    console.line("workers are better at tasks of group 1, and class 1 is more common there.")
    console.line()
    truth_row = ("the truth", "", *(f"{x:.3f}" for x in (*true_rates, abs(np.diff(true_rates)[0]))))
    header = ("labels by", "accuracy", "rate of 1 in group 0", "in group 1", "gap")
    shown = [(name, f"{numbers[0]:.1%}", *(f"{x:.3f}" for x in numbers[1:])) for name, numbers in rows]
    console.table(header, [truth_row, *shown])
    console.line()


def _program() -> str:
    """Return how this program was called, so that the command it proposes can be copied."""
    called = sys.argv[0]
    found = shutil.which("faircrowd")
    if os.path.basename(called) != "faircrowd" or not os.path.exists(called):
        return "faircrowd"
    if found and os.path.samefile(found, called):
        return "faircrowd"
    return shlex.quote(os.path.relpath(called))


def _tables(crowd: "SimulatedCrowd") -> "tuple[pa.Table, pa.Table]":
    """Return the votes and the tasks of a crowd; without pandas it has Arrow tables already."""
    import numpy as np
    import pyarrow as pa

    def values(column: object, name: str) -> "NDArray[np.int64]":
        return np.asarray(column[name] if isinstance(column, pa.Table) else column)

    votes = (
        crowd.votes if isinstance(crowd.votes, pa.Table) else pa.Table.from_pandas(crowd.votes, preserve_index=False)
    )
    group, truth = values(crowd.sensitive_features, "group"), values(crowd.truth, "truth")
    return votes, pa.table({"task": np.arange(group.size), "group": group, "truth": truth})
