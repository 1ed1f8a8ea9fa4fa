"""``faircrowd publish``: labels back to the platform where the votes were cast."""

from pathlib import Path
from typing import Annotated

import typer

from faircrowd.cli import arguments as arg
from faircrowd.cli.completion import platforms
from faircrowd.cli.console import Console
from faircrowd.cli.exit_codes import end_missed
from faircrowd.cli.json_output import print_json
from faircrowd.runs.wording import spoken

__all__ = ["publish"]

PLATFORMS = "label-studio, argilla, doccano, ground-truth, prodigy, csv"


def publish(
    folder: Annotated[Path, typer.Argument(metavar="DIR", readable=False, help="The folder of a run of aggregate.")],
    to: Annotated[str, typer.Option(help=f"The platform: {PLATFORMS}.", autocompletion=platforms)],
    out: Annotated[
        Path | None, typer.Option(parser=arg.place, metavar="PATH", help="File that the platform imports.")
    ] = None,
    export: Annotated[
        Path | None,
        typer.Option(readable=False, help="The platform's export, if it is no longer where the run read it."),
    ] = None,
    changed_only: Annotated[
        bool, typer.Option("--changed-only", help="Only labels that differ from the aggregator's own.")
    ] = False,
    question: Annotated[
        str | None, typer.Option(help="The question that the labels answer (from_name in Label Studio).")
    ] = None,
    to_name: Annotated[str | None, typer.Option(help="Label Studio: what the question is about (toName).")] = None,
    control_type: Annotated[str | None, typer.Option(help="Label Studio: choices, rating, number or taxonomy.")] = None,
    with_data: Annotated[
        bool, typer.Option("--with-data", help="Label Studio: write tasks with their data, for a new project.")
    ] = False,
    attribute: Annotated[str, typer.Option(help="Ground Truth: name of the label attribute.")] = "faircrowd",
    model_version: Annotated[
        str | None, typer.Option(help="What the platform is told; by default faircrowd and epsilon.")
    ] = None,
    push: Annotated[
        str | None, typer.Option(metavar="URL", help="Server to send the labels to (label-studio, argilla).")
    ] = None,
    project: Annotated[
        str | None, typer.Option(help="With --push: number of the project, or id of Argilla's dataset.")
    ] = None,
    token_file: Annotated[
        Path | None, typer.Option(readable=False, help="With --push: file with the access token alone.")
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="With --push: send; without it, only say what would be.")] = False,
    allow_http: Annotated[
        bool, typer.Option("--allow-http", help="With --push: allow a server without encryption.")
    ] = False,
    as_json: arg.AsJson = False,
) -> None:
    """Write labels as a file that a platform imports, or send them; without --out and --yes, only say what would be.

    Exit code 4 means that the platform stored fewer labels than it was sent.
    """
    from faircrowd.errors import OptionError
    from faircrowd.publish.platform_form import FormOptions
    from faircrowd.publish.publish_labels import make_publication
    from faircrowd.runs.write import check_out

    if push is None and (yes or project is not None or token_file is not None or allow_http):
        raise OptionError("--project, --token-file, --allow-http and --yes go with --push URL.")
    console = Console(as_json)
    options = FormOptions(question, to_name, control_type, with_data, attribute)
    found = make_publication(
        folder, to, export=export, options=options, changed_only=changed_only, model_version=model_version
    )
    notes = found.notes()
    lines, more = found.lines(), found.to_dict()
    if out is not None:
        inputs = [found.labels.path, found.export, *(folder / name for name in ("summary.json", "rule.json"))]
        check_out(out.parent, [out.name], inputs)
        found.write(out)
    lines.append(("wrote", str(out)) if out is not None else ("wrote", "nothing; --out FILE writes it"))
    missed = ""
    if push is not None:
        with console.waiting(f"asking {to}"):
            plan, about = found.plan(push, project, token_file, allow_http=allow_http)
        notes += [*about, *plan.notes]
        lines[-1:] = [] if out is None else lines[-1:]
        lines.append(("there", plan.line()))
        more |= {"plan": plan.to_dict(), "pushed": None}
        if yes:
            with console.waiting(f"sending to {to}"):
                pushed = plan.send()
            missed = pushed.missed
            lines.append(("sent", pushed.line()))
            more["pushed"] = pushed.to_dict()
        else:
            lines.append(("sent", "nothing yet: --yes sends them"))
    told = [spoken(note) for note in notes]
    if as_json:
        print_json({**more, "notes": told, "out": None if out is None else str(out)})
    else:
        console.pairs([*((head, spoken(text)) for head, text in lines), *(("note", note) for note in told)])
    end_missed(missed, as_json=as_json)
