"""``faircrowd demo``: the paper's synthetic crowd, end to end."""

import os
import shlex
import shutil
import sys
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pyarrow as pa
import typer

from faircrowd.cli.console import Console
from faircrowd.cli.fitting import fit_votes, make_labels_fair, make_model
from faircrowd.cli.writing import Run, fill_folder, show_run, tell_run

__all__ = ["demo"]

_EPSILON = 0.05


def demo(
    out: Annotated[Path, typer.Option(help="Folder for the crowd and the results.")] = Path("faircrowd-demo"),
    random_state: Annotated[int, typer.Option(help="Seed of the crowd.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print the summary as JSON.")] = False,
) -> None:
    """Draw the paper's synthetic crowd, merge its votes, show what that does to the groups, and make it fair."""
    from faircrowd.report import OutputFolder
    from faircrowd.votes import simulate_crowd

    console = Console(as_json)
    crowd = simulate_crowd(random_state=random_state)
    group, truth = (np.asarray(_last(column)) for column in (crowd.sensitive_features, crowd.truth))
    with OutputFolder(out) as folder:  # crowd and results appear together
        folder.write_csv("votes.csv", _arrow(crowd.votes))
        folder.write_csv("tasks.csv", pa.table({"task": np.arange(group.size), "group": group, "truth": truth}))
        run, rows = _results(console, folder, out, truth)
    if not as_json:
        _compare(console, run.fitted.model.votes_, group, truth, rows)
    compared = {name: {"accuracy": numbers[0], "gap": numbers[-1]} for name, numbers in rows}
    show_run(console, out, run, folder.names, compared=compared)
    if not as_json:
        votes, tasks = (shlex.quote(str(out / name)) for name in ("votes.csv", "tasks.csv"))
        console.line()
        console.line(
            f"Try it yourself: {_program()} aggregate {votes} --tasks {tasks} --group group --epsilon 0.02 --out labels"
        )


def _results(console: Console, folder: Any, out: Path, truth: Any) -> tuple[Run, list[tuple[str, list[float]]]]:
    """Run on the crowd that waits in a folder, and write the results beside it; return them, and those of others."""
    from faircrowd.report import summarise
    from faircrowd.votes import read_votes
    from faircrowd.votes.groups import gold_codes

    inputs = {"votes": folder.waiting("votes.csv"), "tasks": folder.waiting("tasks.csv")}
    table = read_votes(inputs["votes"], sensitive_features="group", tasks=inputs["tasks"])
    table, gold = gold_codes(table, dict(enumerate(truth.tolist())))

    methods = {
        "majority": make_model("majority", {}).fit(table),
        "one-coin": make_model("one-coin", {}).fit(table),
        "dawid-skene": make_model("dawid-skene", {}).fit(table),
        "dawid-skene by group": make_model("dawid-skene", {"by_group": True}).fit(table),
    }
    rows: list[tuple[str, list[float]]] = []
    for name, model in methods.items():
        summary = summarise(name, model, table, model.posterior_, gold, {})
        rates = [shares["1"] for shares in (summary.group_shares or {}).values()]
        rows.append((name, [summary.accuracy or 0.0, *rates, summary.gap or 0.0]))
    fitted = fit_votes(
        console,
        inputs["votes"],
        method="dawid-skene",
        tasks=inputs["tasks"],
        group=["group"],
        truth="truth",
        gold=None,
        by_group=True,
        reading={},
        settings={},
    )
    asked = {"epsilon": _EPSILON, "objective": "accuracy", "decision": "deterministic", "strict": False}
    asked["random_state"] = 0
    fitted.options.update(asked, votes=str(out / "votes.csv"), tasks=str(out / "tasks.csv"))
    run = tell_run(console, fitted, make_labels_fair(fitted.model, asked))
    fill_folder(console, folder, run, inputs=inputs)
    return run, rows


def _compare(console: Console, table: Any, group: Any, truth: Any, rows: list[tuple[str, list[float]]]) -> None:
    """Print what each method does to the groups."""
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
    """Return how this program was called, so that the line it proposes works as it stands."""
    called = sys.argv[0]
    found = shutil.which("faircrowd")
    if os.path.basename(called) != "faircrowd" or not os.path.exists(called):
        return "faircrowd"
    if found and os.path.samefile(found, called):
        return "faircrowd"
    return shlex.quote(os.path.relpath(called))


def _last(column: object) -> object:
    return column["truth" if "truth" in column.column_names else "group"] if isinstance(column, pa.Table) else column


def _arrow(frame: object) -> pa.Table:
    return frame if isinstance(frame, pa.Table) else pa.Table.from_pandas(frame, preserve_index=False)
