"""``faircrowd plan``: how many votes per task bring the gap close to the truth's, or what known labels would tell."""

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from faircrowd._checks import check_choice, check_count, check_number
from faircrowd.cli import arguments as arg
from faircrowd.cli.console import Console
from faircrowd.cli.json_output import print_json
from faircrowd.errors import OptionError
from faircrowd.runs.options import ModelOptions, ReadOptions, RunOptions
from faircrowd.runs.wording import spoken

if TYPE_CHECKING:
    from faircrowd.audit.planner import CrowdPlan

__all__ = ["plan"]

_ESTIMATED = "skills are estimated from the votes by one-coin Dawid-Skene"
_PLAIN_SHARE = (
    "for known labels of tasks drawn at random, and the plain share of right ones (Wilson); estimates from calibrated "
    "confidences are usually narrower"
)
_SHOWN = (1, 2, 3, 4, 5, 7, 9, 11, 15, 21, 31, 51, 101, 201, 501, 1001)


def plan(
    votes: Annotated[
        Path | None, typer.Argument(readable=False, help="Votes to estimate skills from, unless --skill gives them.")
    ] = None,
    delta: Annotated[
        float | None,
        typer.Option(
            parser=arg.number,
            metavar="NUMBER",
            help="How far the gap of the consensus may be from that of the true labels.",
        ),
    ] = None,
    skill: Annotated[
        list[str] | None,
        typer.Option(metavar="GROUP=NUMBER", help="Probability that a vote is right in a group; once per group."),
    ] = None,
    prior: Annotated[
        list[str] | None,
        typer.Option(metavar="GROUP=NUMBER", help="Share of class 1 (the last) in a group; by default the worst case."),
    ] = None,
    tasks: Annotated[
        Path | None,
        typer.Option(
            readable=False,
            metavar="FILE or NUMBER",
            help="With VOTES: table with one row per task. With --gold NUMBER: how many tasks there are.",
        ),
    ] = None,
    group: arg.Group = None,
    gold: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN or NUMBER",
            help="With VOTES: column of the tasks with known labels to learn from. Without: plan for this many known "
            "labels how well they would tell the accuracy.",
        ),
    ] = None,
    accuracy: Annotated[
        float | None,
        typer.Option(
            parser=arg.number, metavar="NUMBER", help="With --gold NUMBER: the accuracy to assume (default 0.8)."
        ),
    ] = None,
    share: Annotated[
        list[str] | None,
        typer.Option(metavar="GROUP=NUMBER", help="With --gold NUMBER: share of a group in the tasks; once per group."),
    ] = None,
    vote: Annotated[str, typer.Option(help="How votes are merged: majority, bayes.")] = "majority",
    ties: arg.Ties = "first",
    most: Annotated[int, typer.Option(help="The largest number of votes per task to consider.")] = 201,
    task: arg.Task = None,
    worker: arg.Worker = None,
    label: arg.Label = None,
    delimiter: arg.Delimiter = None,
    format: arg.From = None,
    multi: arg.Multi = None,
    bins: arg.Bins = None,
    on_duplicate: arg.OnDuplicate = "last",
    on_missing: arg.OnMissing = "drop",
    n_iter: arg.NIter = None,
    tol: arg.Tol = None,
    as_json: arg.AsJson = False,
) -> None:
    """Plan how many votes per task bring the gap within delta of the truth's, or what known labels would tell."""
    from faircrowd.aggregate.posterior import TIES
    from faircrowd.audit.planner import plan_crowd
    from faircrowd.audit.theory.crowds import VOTES
    from faircrowd.runs.fit import fit

    if votes is None and gold is not None and not skill:
        reading = (group, task, worker, label, delimiter, n_iter, tol)
        if delta is not None or prior or any(given is not None for given in reading):
            raise OptionError("With --gold NUMBER go only --accuracy, --share, --tasks NUMBER and --json.")
        _plan_gold(Console(as_json), gold, accuracy, share, tasks)
        return
    if accuracy is not None or share:
        raise OptionError("--accuracy and --share go with --gold NUMBER, without VOTES and --skill.")
    if delta is None:
        raise OptionError("Missing option '--delta': how far the gap may be from that of the true labels.")
    check_number("delta", delta, low=0, high=1)
    check_count("most", most, least=1)
    check_choice("vote", vote, VOTES)
    check_choice("ties", ties, TIES)
    console, notes, one = Console(as_json), [], "1"
    options: dict[str, Any] = {"skill": skill, "prior": prior}
    if votes is None:
        if not skill:
            raise OptionError(
                "Give --skill GROUP=NUMBER for each group, or VOTES with --group COLUMN to estimate from."
            )
        if group or any(
            given is not None for given in (tasks, gold, task, worker, label, delimiter, format, n_iter, tol)
        ):
            raise OptionError("Options for reading and fitting votes go with VOTES; --skill needs none of them.")
        skills: Any = _numbers("--skill", skill)
    else:
        if skill:
            raise OptionError("Skills are either given or estimated; leave out --skill or VOTES.")
        if not group:
            raise OptionError("A plan compares groups; give --group COLUMN.")
        read = ReadOptions(
            votes,
            tasks,
            tuple(group),
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
        )
        model = ModelOptions.given("one-coin", ties=ties, n_iter=n_iter, tol=tol, by_group=True)
        run = fit(RunOptions(read, model), console)
        skills, options, table = run.model, {**options, **run.options.to_dict()}, run.votes
        notes = [*map(spoken, table.notes()), _ESTIMATED + ("" if gold else ", and so is the truth")]
        one = table.classes.names[-1]
    with console.waiting("planning"):
        priors = _numbers("--prior", prior) if prior else None
        found = plan_crowd(skills, priors=priors, delta=delta, vote=vote, ties=ties, most=most)
    if as_json:
        print_json({**found.to_dict(), "notes": notes, "options": options})
        return
    _show(console, found, one, notes)


def _plan_gold(
    console: Console, gold: str, accuracy: float | None, share: list[str] | None, tasks: Path | None
) -> None:
    """Print how wide intervals for the accuracy would be with a number of known labels."""
    from faircrowd.audit.planner import plan_gold

    found = plan_gold(
        _whole("--gold", gold),
        accuracy=0.8 if accuracy is None else accuracy,
        shares=_numbers("--share", share) if share else None,
        tasks=None if tasks is None else _whole("--tasks", str(tasks)),
    )
    if console.as_json:
        print_json({**found.to_dict(), "notes": [_PLAIN_SHARE]})
        return
    console.line(str(found))
    console.line()
    rows = [
        (row.group or "all tasks", f"{row.gold:,.0f}", f"{row.low:.1%}", f"{row.high:.1%}", f"{100 * row.width:.1f}")
        for row in (found.overall, *found.groups)
    ]
    console.table(("group", "known labels", "from", "to", "points wide"), rows)
    console.pairs([("note", _PLAIN_SHARE)])


def _whole(option: str, text: str) -> int:
    """Read a whole number, also one with commas or underscores between thousands."""
    try:
        return int(text.replace(",", ""))
    except ValueError:
        raise OptionError(f"{option} {text!r} is not a whole number; without VOTES it is how many there are.") from None


def _numbers(option: str, given: list[str]) -> dict[str, float]:
    """Read GROUP=NUMBER, which may have more = in the group."""
    found: dict[str, float] = {}
    for text in given:
        name, sign, number = text.rpartition("=")
        try:
            value = float(number) if sign and name else -1.0
        except ValueError:
            value = -1.0
        if not 0 <= value <= 1:
            raise OptionError(f"{option} {text!r} is not GROUP=NUMBER with a number from 0 to 1, as in women=0.8.")
        if name in found:
            raise OptionError(f"{option} names group {name!r} twice.")
        found[name] = value
    return found


def _show(console: Console, plan: "CrowdPlan", one: str, notes: list[str]) -> None:
    console.line(str(plan))
    console.line()
    curve = plan.curve
    columns = (curve.distance, curve.bound)
    sizes = {*_SHOWN, int(curve.votes[-1]), plan.votes or 1, plan.fewest or 1}
    rows = [
        (f"{size:,}", _shown(curve.gap[size - 1]), *(_shown(column[size - 1], plan.delta) for column in columns))
        for size in sorted(sizes)
        if size <= curve.votes[-1]
    ]
    console.table(("votes per task", "gap", "distance", "at most"), rows)
    truth = "unknown priors" if plan.truth_gap is None else f"gap {plan.truth_gap:.4f}"
    shares = ["" if plan.priors is None else f", {share:.1%} are {one}" for share in plan.priors or plan.skills]
    crowd = "any number of workers" if plan.workers is None else f"a pool of {plan.workers:,} workers"
    lines = [
        (f"group {name}", f"right with probability {right:.3f}{share}")
        for name, right, share in zip(plan.groups, plan.skills, shares, strict=True)
    ]
    lines += [("truth", truth), ("crowd", f"{crowd}; a tie goes to the {plan.ties} class")]
    console.pairs([*lines, *(("note", note) for note in notes)])


def _shown(value: float, delta: float | None = None) -> str:
    """Return a number of the table; a distance with enough digits to tell on which side of delta it is."""
    from faircrowd.audit.planner.crowd_plan import beyond

    if math.isnan(value):
        return "-"
    return f"{value:.4f}" if delta is None else beyond(value, delta)
