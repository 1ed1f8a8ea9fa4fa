"""``faircrowd demo``: the paper's synthetic crowd, end to end."""

import os
import shlex
import shutil
import sys
from pathlib import Path
from typing import Annotated

import numpy as np
import pyarrow as pa
import typer

from faircrowd.cli.console import Console
from faircrowd.cli.fitting import fit_votes, make_labels_fair, make_model
from faircrowd.cli.writing import write_run

__all__ = ["demo"]

_EPSILON = 0.05


def demo(
    out: Annotated[Path, typer.Option(help="Folder for the crowd and the results.")] = Path("faircrowd-demo"),
    random_state: Annotated[int, typer.Option(help="Seed of the crowd.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print the summary as JSON.")] = False,
) -> None:
    """Draw the paper's synthetic crowd, merge its votes, show what that does to the groups, and make it fair."""
    from faircrowd.report import OutputFolder, summarise
    from faircrowd.votes import read_votes, simulate_crowd
    from faircrowd.votes.groups import gold_codes

    console = Console(as_json)
    crowd = simulate_crowd(random_state=random_state)
    group, truth = (np.asarray(_last(column)) for column in (crowd.sensitive_features, crowd.truth))
    with OutputFolder(out) as folder:
        folder.write_csv("votes.csv", _arrow(crowd.votes))
        folder.write_csv("tasks.csv", pa.table({"task": np.arange(group.size), "group": group, "truth": truth}))
    table = read_votes(out / "votes.csv", sensitive_features="group", tasks=out / "tasks.csv")
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
    true_rates = [float(truth[group == g].mean()) for g in np.unique(group)]
    if not as_json:
        console.line(f"{table.n_votes:,} votes of {table.n_workers} workers on {table.n_tasks:,} tasks of two groups;")
        console.line("workers are better at tasks of group 1, and class 1 is more common there.")
        console.line()
        truth_row = ("the truth", "", *(f"{x:.3f}" for x in (*true_rates, abs(np.diff(true_rates)[0]))))
        header = ("labels by", "accuracy", "rate of 1 in group 0", "in group 1", "gap")
        shown = [(name, f"{numbers[0]:.1%}", *(f"{x:.3f}" for x in numbers[1:])) for name, numbers in rows]
        console.table(header, [truth_row, *shown])
        console.line()
    fitted = fit_votes(
        console,
        out / "votes.csv",
        method="dawid-skene",
        tasks=out / "tasks.csv",
        group=["group"],
        truth="truth",
        gold=None,
        by_group=True,
        reading={},
        settings={},
    )
    asked = {"epsilon": _EPSILON, "objective": "accuracy", "decision": "deterministic", "strict": False}
    asked["random_state"] = 0
    fitted.options.update(asked)
    compared = {name: {"accuracy": numbers[0], "gap": numbers[-1]} for name, numbers in rows}
    write_run(console, out, fitted, make_labels_fair(fitted.model, asked), compared=compared)
    if not as_json:
        votes, tasks = (shlex.quote(str(out / name)) for name in ("votes.csv", "tasks.csv"))
        console.line()
        console.line(
            f"Try it yourself: {_program()} aggregate {votes} --tasks {tasks} --group group --epsilon 0.02 --out labels"
        )


def _program() -> str:
    """Return how this program was called, so that the line it proposes works as it stands."""
    called = sys.argv[0]
    found = shutil.which("faircrowd")
    if os.path.basename(called) != "faircrowd" or (found and os.path.samefile(found, called)):
        return "faircrowd"
    return shlex.quote(os.path.relpath(called))


def _last(column: object) -> object:
    return column["truth" if "truth" in column.column_names else "group"] if isinstance(column, pa.Table) else column


def _arrow(frame: object) -> pa.Table:
    return frame if isinstance(frame, pa.Table) else pa.Table.from_pandas(frame, preserve_index=False)
