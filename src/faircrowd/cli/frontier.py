"""``faircrowd frontier``: what every epsilon would cost."""

from typing import Any

from faircrowd.cli import options as opt
from faircrowd.cli.console import Console, print_json
from faircrowd.cli.fitting import fit_votes, guard, make_labels_fair
from faircrowd.errors import OptionError

__all__ = ["frontier"]

_FILES = ("frontier.csv", "frontier.png", "frontier.svg")
_SHOWN = (0.0, 0.01, 0.02, 0.03, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.5)


def frontier(
    votes: opt.Votes,
    out: opt.OutFolder,
    method: opt.Method = "dawid-skene",
    tasks: opt.Tasks = None,
    group: opt.Group = None,
    truth: opt.Truth = None,
    gold: opt.Gold = None,
    by_group: opt.ByGroup = False,
    task: opt.Task = None,
    worker: opt.Worker = None,
    label: opt.Label = None,
    delimiter: opt.Delimiter = None,
    on_duplicate: opt.OnDuplicate = "last",
    on_missing: opt.OnMissing = "drop",
    ties: opt.Ties = "first",
    n_iter: opt.NIter = None,
    tol: opt.Tol = None,
    objective: opt.Objective = "accuracy",
    random_state: opt.RandomState = 0,
    as_json: opt.AsJson = False,
) -> None:
    """Show gap, expected accuracy and changed labels for every epsilon at once."""
    if not group:
        raise OptionError("The frontier trades accuracy for parity between groups; give --group COLUMN.")
    guard(out, _FILES, votes, tasks)
    console = Console(as_json)
    reading = {"task": task, "worker": worker, "label": label, "delimiter": delimiter}
    reading |= {"on_duplicate": on_duplicate, "on_missing": on_missing}
    fitted = fit_votes(
        console,
        votes,
        method=method,
        tasks=tasks,
        group=group,
        truth=truth,
        gold=gold,
        by_group=by_group,
        reading=reading,
        settings={"ties": ties, "n_iter": n_iter, "tol": tol},
    )
    asked: dict[str, Any] = {"epsilon": 1.0, "objective": objective, "decision": "deterministic"}
    with console.waiting("tracing the frontier"):
        traced = make_labels_fair(fitted.model, asked | {"random_state": random_state}).frontier

    import pyarrow as pa

    from faircrowd.report import OutputFolder
    from faircrowd.report.charts import frontier_chart, images

    columns = {"gap": traced.gap, "expected_accuracy": traced.accuracy, "labels_changed": traced.changed}
    if objective != "accuracy":
        columns[f"expected_{objective}"] = traced.value
    with console.waiting(f"writing {out}"), OutputFolder(out) as folder:
        folder.write_csv("frontier.csv", pa.table(columns))
        for name, content in images("frontier", frontier_chart(traced)).items():
            folder.write_bytes(name, content)
    shown = [*(epsilon for epsilon in _SHOWN if epsilon < traced.gap[0]), float(traced.gap[0])]
    points = [traced.at(epsilon) for epsilon in shown]
    if as_json:
        said = {"points": [point._asdict() for point in points], "exact": traced.exact}
        print_json({**said, "optimality_gap": traced.optimality_gap, "out": str(out), "options": fitted.options})
        return
    n_tasks = fitted.model.votes_.n_tasks
    header = ("epsilon", "expected accuracy", "given up", "labels changed", "of all")
    rows = [
        (
            f"{point.gap:.3f}",
            f"{point.accuracy:.2%}",
            f"{traced.accuracy[0] - point.accuracy:.2%}",
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
            f"{traced.gap.size:,} points and straight lines between them; certified: at none of them are labels better "
            f"by more than {traced.optimality_gap:.1g}."
        )
    console.line(f"wrote {out}/{', '.join(_FILES)}")
