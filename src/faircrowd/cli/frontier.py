"""``faircrowd frontier``: what every epsilon would cost."""

from pathlib import Path
from typing import TYPE_CHECKING

from faircrowd.cli import arguments as arg
from faircrowd.cli.console import Console
from faircrowd.cli.json_output import print_json
from faircrowd.errors import OptionError
from faircrowd.runs.options import FrontierOptions, ModelOptions, ReadOptions, RunOptions
from faircrowd.votes.group_policy import MIN_GROUP, left_out_lines

if TYPE_CHECKING:
    from faircrowd.runs.run import Run

__all__ = ["frontier"]


def frontier(
    votes: arg.Votes,
    out: arg.OutFolder,
    method: arg.Method = None,
    tasks: arg.Tasks = None,
    group: arg.Group = None,
    truth: arg.Truth = None,
    gold: arg.Gold = None,
    calibrate: arg.Calibrate = None,
    by_group: arg.ByGroup = False,
    pooling: arg.Pooling = None,
    accelerate: arg.Accelerate = False,
    task: arg.Task = None,
    worker: arg.Worker = None,
    label: arg.Label = None,
    delimiter: arg.Delimiter = None,
    format: arg.From = None,
    multi: arg.Multi = None,
    bins: arg.Bins = None,
    on_duplicate: arg.OnDuplicate = "last",
    on_missing: arg.OnMissing = "drop",
    on_missing_group: arg.OnMissingGroup = "error",
    min_group: arg.MinGroup = MIN_GROUP,
    small_groups: arg.SmallGroups = "leave-out",
    ties: arg.Ties = "first",
    n_iter: arg.NIter = None,
    tol: arg.Tol = None,
    require: arg.Require = None,
    vary: arg.Vary = None,
    believed: arg.Believed = False,
    objective: arg.Objective = "accuracy",
    positive: arg.Positive = None,
    random_state: arg.RandomState = 0,
    as_json: arg.AsJson = False,
) -> None:
    """Show gap, accuracy (believed and, with --truth, real) and changed labels of the labels of some epsilons.

    With --require, the same for some limits of one constraint, while the others are kept as they are given. Exit code 4
    means that the others cannot be kept together, whatever that limit is; nothing was written.
    """
    from faircrowd.report import OutputFolder
    from faircrowd.report.belief_and_truth import Pair
    from faircrowd.runs.fit import fit
    from faircrowd.runs.frontiers.frontier_run import FrontierRun
    from faircrowd.runs.frontiers.traced_frontier import FRONTIER_FILES
    from faircrowd.runs.write import check_out

    if not group and not require:
        raise OptionError("The frontier trades accuracy for parity between groups; give group=..., or require=...")
    read = ReadOptions(
        votes,
        tasks,
        tuple(group or ()),
        truth=truth,
        gold=gold,
        task=task,
        worker=worker,
        label=label,
        delimiter=delimiter,
        format=format,
        multi=multi,
        bins=bins,
        on_duplicate=on_duplicate,
        on_missing=on_missing,
        on_missing_group=on_missing_group,
        min_group=min_group,
        small_groups=small_groups,
        calibrate=calibrate,
    )
    model = ModelOptions.given(
        method,
        calibrated=calibrate is not None,
        ties=ties,
        n_iter=n_iter,
        tol=tol,
        by_group=by_group or None,
        pooling=pooling,
        accelerate=accelerate or None,
    )
    check_out(out, FRONTIER_FILES, (votes, tasks))
    console = Console(as_json)
    asked = FrontierOptions(objective, random_state, positive, tuple(require or ()), vary, believed)
    run = fit(RunOptions(read, model, frontier=asked), console)
    if require:
        _show_limits(console, run, out)
        return
    found = FrontierRun(run)
    with console.waiting("tracing the frontier"):
        found.points, found.bound  # noqa: B018 - computed here, and kept
    if calibrate is not None:
        with console.waiting("estimating accuracy from known labels"):
            found.estimates  # noqa: B018
    with console.waiting(f"writing {out}"), OutputFolder(out) as folder:
        found.fill(folder)
    if as_json:
        print_json({**found.to_dict(), "out": str(out)})
        return
    header, rows = found.rows()
    kinds = list(found.accuracies().items())
    of_belief = found.accuracies()["believed"]
    alarming = [
        (i, j)
        for j, (name, values) in enumerate(kinds, 2)
        for i, value in enumerate(values)
        if name == "real" and Pair(name, of_belief[i], value).is_off
    ]
    console.table(header, rows, alarming)
    for line in found.remarks():
        console.line(line)
    told = [line for line in run.summary.lines() if line[0] in ("true gap", "warning")]
    told += [("note", line) for line in left_out_lines(run.summary.left_out, run.summary.group_tasks or {})]
    if run.in_sample:
        told.append(("note", f"{model.name} learned from the truth, so that cannot score its labels"))
    console.pairs([*told, ("wrote", f"{out}/{', '.join(FRONTIER_FILES)}")])


def _show_limits(console: Console, run: "Run", out: Path) -> None:
    """Trace the frontier over the limit of a constraint, write it and print it."""
    from faircrowd.report import OutputFolder
    from faircrowd.runs.frontiers.limit_frontier_run import LimitFrontierRun

    found = LimitFrontierRun(run)
    with console.waiting("tracing the frontier"):
        found.scored  # noqa: B018 - computed here, and kept
    with console.waiting(f"writing {out}"), OutputFolder(out) as folder:
        found.fill(folder)
    if console.as_json:
        print_json({**found.to_dict(), "out": str(out)})
        return
    console.line(found.title)
    console.table(*found.rows())
    for line in found.remarks():
        console.line(line)
    told = [line for line in run.summary.lines() if line[0] == "warning"]
    told += [("note", line) for line in found.notes()]
    console.pairs([*told, ("wrote", f"{out}/{', '.join(sorted(folder.names))}")])
