"""``faircrowd check``: a test of the gap, for pipelines."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from faircrowd.cli import arguments as arg
from faircrowd.cli.console import Console
from faircrowd.cli.exit_codes import VERDICTS
from faircrowd.cli.json_output import print_json
from faircrowd.runs.wording import spoken
from faircrowd.votes.group_policy import MIN_GROUP

if TYPE_CHECKING:
    from faircrowd.audit.constraint_gate import RequirementsVerdict
    from faircrowd.audit.gate import Verdict

__all__ = ["check"]

_MAX_SHOWN_CLASSES = 8


def check(
    labels: Annotated[
        Path, typer.Argument(readable=False, help="Labels, one row per task: .csv, .tsv, .jsonl or .parquet.")
    ],
    epsilon: Annotated[
        float | None,
        typer.Option(parser=arg.number, metavar="NUMBER", help="The largest gap between groups allowed."),
    ] = None,
    require: arg.Require = None,
    tasks: Annotated[
        Path | None,
        typer.Option(readable=False, help="Table with one row per task and its group, if that is not in LABELS."),
    ] = None,
    group: Annotated[
        list[str] | None,
        typer.Option(help="Column with the sensitive group, of the tasks or the labels; several are intersected."),
    ] = None,
    truth: Annotated[
        str | None, typer.Option(help="Column with true labels, for what --require says about the truth.")
    ] = None,
    confidence: Annotated[
        float, typer.Option(parser=arg.number, metavar="NUMBER", help="Confidence that a pass or a fail needs.")
    ] = 0.95,
    task: arg.Task = None,
    label: arg.Label = None,
    delimiter: arg.Delimiter = None,
    these_tasks: Annotated[
        bool,
        typer.Option(
            "--these-tasks", help="Judge the labels of these tasks as they are, and nothing about others like them."
        ),
    ] = False,
    partial: Annotated[bool, typer.Option("--partial", help="Allow tasks of the table to have no label.")] = False,
    on_missing_group: arg.OnMissingGroup = "error",
    min_group: arg.MinGroup = MIN_GROUP,
    small_groups: arg.SmallGroups = "leave-out",
    as_json: Annotated[bool, typer.Option("--json", help="Print the verdict as JSON.")] = False,
) -> None:
    """Check the gap of labels, or what --require asks for: exit code 0 pass, 1 fail, 3 not enough evidence, 2 errors.

    Labels made with epsilon 0.05 keep it on their own tasks, which --these-tasks checks. For all tasks like these, the
    default, they must have been made with a smaller epsilon; the verdict says which.
    """
    from faircrowd.audit.constraint_gate import RequirementsVerdict
    from faircrowd.runs.finished_labels.check_file import CheckOptions, check_file

    console = Console(as_json)
    options = CheckOptions(
        labels,
        epsilon,
        tuple(group or ()),
        tasks,
        confidence,
        task,
        label,
        delimiter,
        these_tasks=these_tasks,
        partial=partial,
        min_group=min_group,
        small_groups=small_groups,
        on_missing_group=on_missing_group,
        require=tuple(require or ()),
        truth=truth,
    )
    verdict, notes = check_file(options, console)
    if as_json:
        found = _spoken(verdict.to_dict())
        print_json({**found, "notes": notes, "options": options.to_dict()})
    elif isinstance(verdict, RequirementsVerdict):
        _show_constraints(console, verdict, notes)
    else:
        _show(console, verdict, notes)
    raise typer.Exit(VERDICTS[verdict.status])


def _spoken(found: dict[str, Any]) -> dict[str, Any]:
    """Spell the options in the reasons of a verdict, and of its parts, as the command line does."""
    parts = [_spoken(part) if isinstance(part, dict) else part for part in found.get("constraints", [])]
    return {**found, "reason": spoken(found["reason"]), **({"constraints": parts} if parts else {})}


def _show_constraints(console: Console, verdict: "RequirementsVerdict", notes: list[str]) -> None:
    lines = []
    for number, one in enumerate(verdict.constraints, start=1):
        worst = one.measured.worst
        values = sorted(worst.values.items(), key=lambda pair: pair[1])
        ends = [values[-1], values[0]] if len(values) > 1 else values
        where = ", ".join(f"{value:.1%} in group {name}" if len(values) > 1 else f"{value:.1%}" for name, value in ends)
        counted = len(one.measured.comparisons)
        more = f"; the worst of {counted:,} comparisons" if counted > 1 else ""
        lines.append((f"require {number}", one.measured.text))
        lines.append(("  level", f"{one.measured.level:.4f} ({worst.about}: {where}{more})"))
        if not verdict.these_tasks:
            sure = f"{100 * verdict.confidence:g}% confidence in each end"
            lines.append(("  limits", f"{one.low:.4f} to {one.high:.4f} for all tasks like these ({sure})"))
        lines.append(("  verdict", f"{one.status.upper()}: {spoken(one.reason)}"))
    lines += [("note", note) for note in notes]
    console.pairs([*lines, ("verdict", verdict.status.upper())])


def _show(console: Console, verdict: "Verdict", notes: list[str]) -> None:
    name, highest, lowest = verdict.widest
    rates = verdict.rates
    classes = list(rates[highest])
    where = f"class {name}: {rates[highest][name]:.1%} in group {highest}, {rates[lowest][name]:.1%} in group {lowest}"
    sure = f"{100 * verdict.confidence:g}% confidence in each end"
    shown = classes if len(classes) <= _MAX_SHOWN_CLASSES else [name]
    lines = [
        ("labels", f"{sum(verdict.groups.values()):,} tasks, {len(rates):,} groups, {len(classes):,} classes"),
        ("gap", f"{verdict.gap:.4f}" + (f" ({where})" if verdict.gap else "")),
    ]
    if not verdict.these_tasks:
        lines.append(("limits", f"{verdict.low:.4f} to {verdict.high:.4f} for all tasks like these ({sure})"))
    for group, counts in verdict.counts.items():
        shares = [f"{k}: {counts[k]:,} ({rates[group][k]:.1%})" for k in shown]
        more = f" and {len(classes) - len(shown):,} more classes" if len(shown) < len(classes) else ""
        aside = f"; left out of the gap: {verdict.left_out[group]}" if group in verdict.left_out else ""
        tasks = f"{verdict.groups[group]:,} task{'s' * (verdict.groups[group] != 1)}"
        lines.append((f"group {group}", f"{tasks}, {', '.join(shares)}{more}{aside}"))
    lines += [("note", note) for note in notes]
    console.pairs([*lines, ("verdict", f"{verdict.status.upper()}: {spoken(verdict.reason)}")])
