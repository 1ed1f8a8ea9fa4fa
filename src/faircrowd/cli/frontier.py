"""``faircrowd frontier``: what every epsilon would cost."""

from faircrowd.cli import arguments as arg
from faircrowd.cli.console import Console
from faircrowd.cli.json_output import print_json
from faircrowd.errors import OptionError
from faircrowd.runs.options import FrontierOptions, ModelOptions, ReadOptions, RunOptions
from faircrowd.votes.group_policy import MIN_GROUP, left_out_lines

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
    task: arg.Task = None,
    worker: arg.Worker = None,
    label: arg.Label = None,
    delimiter: arg.Delimiter = None,
    on_duplicate: arg.OnDuplicate = "last",
    on_missing: arg.OnMissing = "drop",
    on_missing_group: arg.OnMissingGroup = "error",
    min_group: arg.MinGroup = MIN_GROUP,
    small_groups: arg.SmallGroups = "leave-out",
    ties: arg.Ties = "first",
    n_iter: arg.NIter = None,
    tol: arg.Tol = None,
    objective: arg.Objective = "accuracy",
    positive: arg.Positive = None,
    random_state: arg.RandomState = 0,
    as_json: arg.AsJson = False,
) -> None:
    """Show gap, accuracy (believed and, with --truth, real) and changed labels of the labels of some epsilons."""
    from faircrowd.report import OutputFolder
    from faircrowd.report.belief_and_truth import Pair
    from faircrowd.runs.fit import fit
    from faircrowd.runs.frontier_run import FRONTIER_FILES, FrontierRun
    from faircrowd.runs.write import check_out

    if not group:
        raise OptionError("The frontier trades accuracy for parity between groups; give group=...")
    read = ReadOptions(
        votes,
        tasks,
        tuple(group),
        truth=truth,
        gold=gold,
        task=task,
        worker=worker,
        label=label,
        delimiter=delimiter,
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
    )
    check_out(out, FRONTIER_FILES, (votes, tasks))
    console = Console(as_json)
    run = fit(RunOptions(read, model, frontier=FrontierOptions(objective, random_state, positive)), console)
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
    believed = found.accuracies()["believed"]
    alarming = [
        (i, j)
        for j, (name, values) in enumerate(kinds, 2)
        for i, value in enumerate(values)
        if name == "real" and Pair(name, believed[i], value).is_off
    ]
    console.table(header, rows, alarming)
    for line in found.remarks():
        console.line(line)
    told = [line for line in run.summary.lines() if line[0] in ("true gap", "warning")]
    told += [("note", line) for line in left_out_lines(run.summary.left_out, run.summary.group_tasks or {})]
    if run.in_sample:
        told.append(("note", f"{model.name} learned from the truth, so that cannot score its labels"))
    console.pairs([*told, ("wrote", f"{out}/{', '.join(FRONTIER_FILES)}")])
