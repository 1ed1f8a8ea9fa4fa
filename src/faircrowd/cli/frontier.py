"""``faircrowd frontier``: what every epsilon would cost."""

from faircrowd.cli import arguments as arg
from faircrowd.cli.console import Console, print_json
from faircrowd.errors import OptionError
from faircrowd.runs.options import ModelOptions, ReadOptions, RunOptions
from faircrowd.votes.group_policy import MIN_GROUP, left_out_lines

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
    """Show gap, accuracy (believed and, with --truth, real) and changed labels for every epsilon at once."""
    import pyarrow as pa

    from faircrowd.report import OutputFolder
    from faircrowd.report.accuracy_curves import accuracy_curves, estimated_curve
    from faircrowd.report.belief_and_truth import Pair
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
    check_out(out, _FILES, (votes, tasks))
    console = Console(as_json)
    run = fit(RunOptions(read, model), console)
    with console.waiting("tracing the frontier"):
        traced = run.frontier(objective=objective, positive=positive, random_state=random_state)
    shown = [*(epsilon for epsilon in _SHOWN if epsilon < traced.gap[0]), float(traced.gap[0])]
    curves = accuracy_curves(traced)
    if calibrate is not None:
        with console.waiting("estimating accuracy from known labels"):
            asked = {"objective": objective, "positive": positive, "random_state": random_state}
            estimates = run.estimated_frontier(shown, **asked)
        curves.insert(0, estimated_curve(traced, shown, estimates or []))
    columns = {"gap": traced.gap}
    for curve in curves:
        columns |= curve.columns()
    columns["labels_changed"] = traced.changed
    if objective != "accuracy":
        columns[f"believed_{objective}"] = traced.value
    with console.waiting(f"writing {out}"), OutputFolder(out) as folder:
        folder.write_csv("frontier.csv", pa.table(columns))
        for name, content in images("frontier", frontier_chart(traced, curves=curves)).items():
            folder.write_bytes(name, content)
    points = [traced.at(epsilon) for epsilon in shown]
    summary = run.summary
    if as_json:
        kinds = [{f"{curve.name}_accuracy": curve.at(point.gap) for curve in curves} for point in points]
        both = [{**point._asdict(), **kind} for point, kind in zip(points, kinds, strict=True)]
        said = {"points": both, "exact": traced.exact}
        known = {name: getattr(summary, name) for name in ("truths", "truth_gap", "truth_shares")}
        more = {"optimality_gap": traced.optimality_gap, "out": str(out), "options": run.options.to_dict()}
        print_json({**said, **known, **more})
        return
    # Prices of three kinds would not fit, and that of an estimate says little without its interval.
    priced = curves if calibrate is None else []
    price = ["given up"] if len(priced) == 1 else [f"{curve.name} price" for curve in priced]
    header = ["epsilon", *(f"{curve.name} accuracy" for curve in curves), *price, "labels changed", "of all"]
    rows, alarming = [], []
    for i, point in enumerate(points):
        pairs = [Pair(curve.name, point.believed_accuracy, curve.at(point.gap)) for curve in curves]
        alarming += [(i, j) for j, pair in enumerate(pairs, 1) if pair.is_off and curves[j - 1].low is None]
        accuracies = [curve.in_words(point.gap) for curve in curves]
        prices = [f"{curve.price(point.gap):.2%}" for curve in priced]
        changed = (f"{point.changed:,.0f}", f"{point.changed / summary.tasks:.1%}")
        rows.append([f"{point.gap:.3f}", *accuracies, *prices, *changed])
    console.table(header, rows, alarming)
    console.line(f"The last line is the labels as {model.name} gives them: gap {traced.gap[0]:.3f}.")
    if traced.exact:
        console.line(f"The whole frontier, exact: {traced.gap.size:,} points and the straight lines between them.")
    else:
        console.line(
            f"{traced.gap.size:,} points and straight lines between them; certified: at none of these points are "
            f"labels better by more than {traced.optimality_gap:.1g} under this posterior."
        )
    told = [line for line in summary.lines() if line[0] in ("true gap", "warning")]
    told += [("note", line) for line in left_out_lines(summary.left_out, summary.group_tasks or {})]
    if run.in_sample:
        told.append(("note", f"{model.name} learned from the truth, so that cannot score its labels"))
    console.pairs([*told, ("wrote", f"{out}/{', '.join(_FILES)}")])
