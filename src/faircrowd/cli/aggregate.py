"""``faircrowd aggregate``: votes in a file to labels in a folder."""

from typing import TYPE_CHECKING, Annotated

import typer

from faircrowd.cli import arguments as arg
from faircrowd.cli.compile_ahead import compile_ahead
from faircrowd.cli.completion import one_of
from faircrowd.cli.console import Console
from faircrowd.cli.exit_codes import end_missed
from faircrowd.errors import OptionError
from faircrowd.runs.options import (
    DECISIONS,
    PROMISES,
    EngineOptions,
    FairOptions,
    ModelOptions,
    PageOptions,
    ReadOptions,
    RunOptions,
)
from faircrowd.runs.wording import spoken
from faircrowd.votes.group_policy import MIN_GROUP

if TYPE_CHECKING:
    from faircrowd.runs.run import Run
    from faircrowd.runs.spark_run import SparkRun
    from faircrowd.runs.write import Written

__all__ = ["aggregate"]


def aggregate(
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
    probability: arg.Probability = None,
    run: arg.RunColumn = None,
    family: arg.Family = None,
    abstained: arg.Abstained = None,
    abstain_label: arg.AbstainLabel = None,
    abstain: arg.Abstain = None,
    ties: arg.Ties = "first",
    n_iter: arg.NIter = None,
    tol: arg.Tol = None,
    epsilon: Annotated[
        float | None,
        typer.Option(parser=arg.number, metavar="NUMBER", help="Make the labels fair: the largest gap between groups."),
    ] = None,
    require: arg.Require = None,
    believed: arg.Believed = False,
    objective: arg.Objective = "accuracy",
    decision: Annotated[
        str,
        typer.Option(
            help="How fair labels are chosen: deterministic, randomized.",
            autocompletion=one_of(*DECISIONS),
        ),
    ] = "deterministic",
    strict: Annotated[
        bool, typer.Option(help="More than two classes or groups: keep epsilon exactly, by an integer program.")
    ] = False,
    confidence: Annotated[
        float | None,
        typer.Option(
            parser=arg.number,
            metavar="NUMBER",
            help="Promise that new tasks labelled by the rule keep epsilon too, with this probability.",
        ),
    ] = None,
    promise: Annotated[
        str,
        typer.Option(
            help="Too few tasks for --confidence: required stops with an error; best-effort keeps epsilon on these "
            "tasks, without a promise.",
            autocompletion=one_of(*PROMISES),
        ),
    ] = "required",
    positive: arg.Positive = None,
    random_state: arg.RandomState = 0,
    report: arg.Report = True,
    charts: arg.Charts = None,
    title: arg.Title = None,
    note: arg.Note = None,
    date: arg.Date = None,
    engine: arg.EngineName = "auto",
    memory_limit: arg.MemoryLimit = None,
    master: arg.Master = None,
    resume: arg.Resume = False,
    as_json: arg.AsJson = False,
) -> None:
    """Merge the votes in a file into one label per task; with --epsilon or --require, into fair labels.

    Exit code 4 means that labels were written, but miss epsilon or the promise of --confidence; or that no labels can
    keep all that --require asks for, and nothing was written.
    """
    if group and not require and engine != "spark":
        compile_ahead()  # before numba is imported, which takes as long as starting a process
    from faircrowd.runs.write import CHECKPOINT, RUN_FILES, SPARK_LABELS, check_out

    for_epsilon = {
        "objective": objective == "f1",
        "decision": decision == "randomized",
        "strict": strict,
        "confidence": confidence is not None,
        "promise": promise != "required",
        "positive": positive is not None,
    }
    if epsilon is None and not require and (asked := [name for name, is_given in for_epsilon.items() if is_given]):
        raise OptionError(
            f"{' and '.join(asked)} {'goes' if len(asked) == 1 else 'go'} with epsilon; give it, or leave "
            f"{'it' if len(asked) == 1 else 'them'} out.",
            parameter=(*asked, "epsilon"),
        )
    local = {"truth": truth, "charts": charts, "resume": resume, "memory_limit": memory_limit}
    local |= {"title": title, "note": note, "date": date}  # of the page, which is not written there
    if engine == "spark" and (given := [name for name, value in local.items() if value]):
        raise OptionError(f"{given[0]} is not for engine='spark'; leave it out.", parameter=given[0])
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
        **arg.judging(probability, run, family, abstained, abstain_label),
    )
    if believed and not require:
        raise OptionError("believed goes with require; leave it out.", parameter=("believed", "require"))
    if require and engine == "spark":
        raise OptionError("require is not for engine='spark', where epsilon is what there is.", parameter="require")
    largest_gap = 1.0 if epsilon is None and not require else epsilon
    fair = FairOptions(
        largest_gap,
        objective,
        decision,
        strict,
        random_state,
        confidence,
        positive,
        promise,
        tuple(require or ()),
        believed,
    )
    fair.check()
    options = RunOptions(
        read,
        ModelOptions.given(
            method,
            calibrated=calibrate is not None,
            ties=ties,
            n_iter=n_iter,
            tol=tol,
            by_group=by_group or None,
            pooling=pooling,
            accelerate=accelerate or None,
            abstain=abstain,
        ),
        None if epsilon is None and not require else fair,
        engine=EngineOptions.given(engine, memory_limit, checkpoint=out / CHECKPOINT, resume=resume, master=master),
        page=PageOptions() if engine == "spark" else PageOptions.given(title, note, date),
    )
    check_out(out, (*RUN_FILES, SPARK_LABELS), (votes, tasks))
    console = Console(as_json)
    if engine == "spark":
        from faircrowd.runs.spark_run import run_in_spark

        done = run_in_spark(options, out, console)
        _end(console, done, done.written)
        return
    from faircrowd.runs.fit import fit

    done_run = fit(options, console)
    written = done_run.write(out, report=report, charts=charts, progress=console)
    _end(console, done_run, written)


def _end(console: Console, run: "Run | SparkRun", written: "Written") -> None:
    """Print what a run found, and end with the exit code of labels that miss what was asked for, if they do."""
    from faircrowd.report.constrained.constrained_story import missed_in_words

    if run.certificate is None:
        console.run(run, written)
        return
    sentence = missed_in_words(run.certificate)
    console.run(run, written, missed=spoken(sentence))
    end_missed(sentence, as_json=console.as_json)
