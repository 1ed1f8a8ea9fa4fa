"""``faircrowd aggregate --engine spark``: votes on a cluster to labels on a disk that it shares."""

import re
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from faircrowd._checks import check_choice
from faircrowd.aggregate.registry import AGGREGATORS
from faircrowd.cli.console import Console
from faircrowd.cli.fitting import check_options, make_model, method_name, run_options
from faircrowd.cli.writing import FAIR, MODEL, SPARK_LABELS
from faircrowd.cli.writing import FILES as RUN_FILES
from faircrowd.errors import InputError, OptionError

__all__ = ["FILES", "aggregate_in_spark"]

FILES = (SPARK_LABELS, *FAIR, *MODEL, "summary.json")


def aggregate_in_spark(
    console: Console,
    votes: Path,
    out: Path,
    *,
    master: str | None,
    method: str,
    tasks: Path | None,
    group: list[str] | None,
    gold: str | None,
    by_group: bool,
    reading: dict[str, Any],
    settings: dict[str, Any],
    fair: dict[str, Any] | None,
) -> None:
    """Fit a model to votes in Spark, make its labels fair if asked, and write them; no vote or label is collected."""
    from faircrowd.aggregate.em import Iterative
    from faircrowd.aggregate.saved import model_files
    from faircrowd.engines.spark.files import read_frame, write_parquet
    from faircrowd.engines.spark.java import running
    from faircrowd.engines.spark.votes import spark_votes
    from faircrowd.fair.make import solve_problem
    from faircrowd.fair.tasks.read_posterior import check_groups
    from faircrowd.fair.tasks.spark_problem import SparkProblem
    from faircrowd.report import OutputFolder, fair_lines

    if re.match(r"[A-Za-z][\w+.-]+:/", str(out)):
        raise OptionError(f"--out {out} is on no disk of this machine; name a folder that the executors share with it.")
    check_choice("--method in Spark", method, [kind.name for kind in AGGREGATORS.values() if kind.in_spark])
    check_choice("--on-duplicate", reading.get("on_duplicate"), ("last", "first", "all", "error"))
    check_options(method, tasks or votes, group, None, gold, by_group)  # known labels may stand among the votes
    model = make_model(method, {**settings, **({"by_group": True} if by_group else {})})
    with ExitStack() as stack:
        folder = stack.enter_context(OutputFolder(out))  # first in, last out: Spark has ended when its files appear
        with console.waiting("starting Spark"):
            session = stack.enter_context(running(master, **{"spark.ui.showConsoleProgress": "false"}))
        with console.waiting(f"grouping {votes} by task"):
            frame = read_frame(session, str(votes), reading.get("delimiter"))
            facts = None if tasks is None else read_frame(session, str(tasks), reading.get("delimiter"))
            names: dict[str, Any] = {name: reading.get(name) for name in ("task", "worker", "label", "on_missing")}
            # Rows of Spark have no order, so the last of repeated votes is not known: there must be none.
            repeated = "all" if reading.get("on_duplicate") == "all" else "error"
            table = spark_votes(
                frame, **names, on_duplicate=repeated, sensitive_features=group or (), true_labels=gold, tasks=facts
            )
        if table.n_classes < 2 or table.n_workers < 2:
            raise InputError(f"{votes} has fewer than two workers or classes; a consensus needs at least two of each.")
        with console.rounds(method) as on_round:
            rounds = {"on_round": on_round} if isinstance(model, Iterative) else {}
            model.fit(table, *([gold] if gold else []), **rounds)
        problem: Any = SparkProblem(model.posterior_)
        result, labels = None, problem.own_labels()
        if fair is not None:
            with console.waiting("making the labels fair"):
                check_groups(problem.groups)
                result = solve_problem(problem, **fair)
                labels = result.solved.labels
        options = run_options(votes, tasks, group, None, gold, method, reading, model)
        options |= {"engine": "spark", "master": master, **(fair or {})}
        summary = _summary(model, problem, labels, method, options)
        with console.waiting(f"writing {out}"):
            folder.forget(*RUN_FILES)  # also those of a run in memory, which would be of other labels
            folder.write_json("summary.json", summary.to_dict())
            for file, content in model_files(model).items():
                folder.write_bytes(file, content)
            if result is not None:
                folder.write_text("rule.json", result.rule.to_json() + "\n")
                folder.write_json("certificate.json", result.certificate.to_dict())
            write_parquet(problem.table(labels), folder.new_folder(SPARK_LABELS))
        table.close()
    files = [file for file in FILES if file in folder.names]
    more = {} if result is None else {"certificate": result.certificate.to_dict()}
    lines = [] if result is None else fair_lines(result.certificate)
    console.summary(summary, table.notes(), f"{out}/{', '.join(files)}", lines, out=str(out), **more)


def _summary(model: Any, problem: Any, labels: Any, method: str, options: dict[str, Any]) -> Any:
    from faircrowd import __version__
    from faircrowd.report.summary import Summary, group_facts
    from faircrowd.votes.value_names import value_names

    votes = problem.votes
    tally = problem.tally(labels)
    counts = tally.tasks.sum(axis=1)
    names = value_names(problem.classes)
    shares = counts.sum(axis=0) / counts.sum()
    grouped = {} if votes.groups is None else group_facts(counts, value_names(votes.groups), names)
    return Summary(
        method=method_name(model, method),
        rows=votes.report.to_dict(),
        votes=votes.n_votes,
        tasks=votes.n_tasks,
        workers=votes.n_workers,
        classes=votes.n_classes,
        rounds=getattr(model, "n_iter_", None),
        converged=getattr(model, "converged_", None),
        agreement=problem.agreement(labels),
        class_shares=dict(zip(names, map(float, shares), strict=True)),
        options=options,
        version=__version__,
        **grouped,
    )
