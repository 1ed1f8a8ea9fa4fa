"""``faircrowd frontier``: what every epsilon would cost."""

from faircrowd.cli import arguments as arg
from faircrowd.cli.console import Console, print_json
from faircrowd.errors import OptionError
from faircrowd.runs.options import ModelOptions, ReadOptions, RunOptions

__all__ = ["frontier"]

_FILES = ("frontier.csv", "frontier.png", "frontier.svg")
_SHOWN = (0.0, 0.01, 0.02, 0.03, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.5)


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
    ties: arg.Ties = "first",
    n_iter: arg.NIter = None,
    tol: arg.Tol = None,
    objective: arg.Objective = "accuracy",
    random_state: arg.RandomState = 0,
    as_json: arg.AsJson = False,
) -> None:
    """Show gap, believed accuracy and changed labels for every epsilon at once."""
    import pyarrow as pa

    from faircrowd.report import OutputFolder
    from faircrowd.report.charts import frontier_chart, images
    from faircrowd.runs.fit import fit
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
    check_out(out, _FILES, (votes, tasks))
    console = Console(as_json)
    run = fit(RunOptions(read, model), console)
    with console.waiting("tracing the frontier"):
        traced = run.frontier(objective=objective, random_state=random_state)
    columns = {"gap": traced.gap, "believed_accuracy": traced.believed_accuracy, "labels_changed": traced.changed}
    if objective != "accuracy":
        columns[f"believed_{objective}"] = traced.value
    with console.waiting(f"writing {out}"), OutputFolder(out) as folder:
        folder.write_csv("frontier.csv", pa.table(columns))
        for name, content in images("frontier", frontier_chart(traced)).items():
            folder.write_bytes(name, content)
    shown = [*(epsilon for epsilon in _SHOWN if epsilon < traced.gap[0]), float(traced.gap[0])]
    points = [traced.at(epsilon) for epsilon in shown]
    if as_json:
        said = {"points": [point._asdict() for point in points], "exact": traced.exact}
        print_json({**said, "optimality_gap": traced.optimality_gap, "out": str(out), "options": run.options.to_dict()})
        return
    n_tasks = run.votes.n_tasks
    header = ("epsilon", "believed accuracy", "given up", "labels changed", "of all")
    rows = [
        (
            f"{point.gap:.3f}",
            f"{point.believed_accuracy:.2%}",
            f"{traced.believed_accuracy[0] - point.believed_accuracy:.2%}",
            f"{point.changed:,.0f}",
            f"{point.changed / n_tasks:.1%}",
        )
        for point in points
    ]
    console.table(header, rows)
    console.line(f"The last line is the labels as {method} gives them: gap {traced.gap[0]:.3f}.")
    if traced.exact:
        console.line(f"The whole frontier, exact: {traced.gap.size:,} points and the straight lines between them.")
    else:
        console.line(
            f"{traced.gap.size:,} points and straight lines between them; certified: at none of these points are "
            f"labels better by more than {traced.optimality_gap:.1g} under this posterior."
        )
    console.line(f"wrote {out}/{', '.join(_FILES)}")
