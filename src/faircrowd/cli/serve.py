"""``faircrowd serve``: fair consensus live in a labelling platform."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from faircrowd.cli import arguments as arg
from faircrowd.cli.completion import one_of
from faircrowd.cli.console import plain
from faircrowd.cli.json_output import print_json
from faircrowd.runs.wording import spoken

__all__ = ["serve"]


def serve(
    platform: Annotated[str, typer.Argument(help="The platform: label-studio.", autocompletion=one_of("label-studio"))],
    port: Annotated[int, typer.Option(help="Port to listen to; 0 takes a free one.")] = 9090,
    host: Annotated[str, typer.Option(help="Address to listen to; by default only this machine.")] = "127.0.0.1",
    token_file: Annotated[
        Path | None, typer.Option(readable=False, help="File with the token that Label Studio gives as password.")
    ] = None,
    no_token: Annotated[bool, typer.Option("--no-token", help="Ask for no token; only on this machine.")] = False,
    label: Annotated[str | None, typer.Option(help="The question whose answers are the labels.")] = None,
    group: Annotated[
        list[str] | None, typer.Option(help="Where a task has its sensitive group, such as data.gender.")
    ] = None,
    epsilon: Annotated[float | None, typer.Option(parser=arg.number, metavar="NUMBER", help="Largest gap.")] = None,
    require: arg.Require = None,
    method: arg.Method = None,
    min_group: arg.MinGroup = 10,
    export: Annotated[
        Path | None, typer.Option(readable=False, help="JSON export of the project, to start from; with --project.")
    ] = None,
    project: Annotated[str | None, typer.Option(help="Number of the project that --export is of.")] = None,
    max_body: Annotated[int, typer.Option(help="Largest request, in megabytes.")] = 64,
    as_json: Annotated[bool, typer.Option("--json", help="Print the address as JSON once it is listened to.")] = False,
) -> None:
    """Answer Label Studio, as its machine-learning backend, with the fair consensus of the votes so far."""
    from faircrowd._checks import check_count
    from faircrowd.errors import OptionError
    from faircrowd.publish.push.access_token import read_token
    from faircrowd.runs.options import FairOptions, ModelOptions
    from faircrowd.serve.http_server import make_server
    from faircrowd.serve.label_studio_backend import LabelStudioBackend
    from faircrowd.serve.live_consensus import ConsensusOptions, warm_up
    from faircrowd.votes.exports.export_file import ExportFile

    def tell(line: str) -> None:
        if sys.stderr is not None:
            sys.stderr.write(f"{plain(spoken(line))}\n")
            sys.stderr.flush()

    if platform != "label-studio":
        raise OptionError(f"serve answers label-studio alone, not {platform!r}.")
    check_count("max_body", max_body, least=1)
    if (token_file is None) != no_token:
        raise OptionError("Give --token-file FILE, or on this machine --no-token.")
    if (export is None) != (project is None):
        raise OptionError("--export and --project go together.")
    fair = FairOptions(epsilon, require=tuple(require or ()))
    fair.check()
    options = ConsensusOptions(ModelOptions.given(method), fair, tuple(group or ()), min_group)
    options.check()
    token, notes = (None, []) if token_file is None else read_token(token_file)
    backend = LabelStudioBackend(options, label, tell)
    server = make_server(backend, host, port, token=token, max_body=max_body << 20, tell=tell)
    for note in notes:
        tell(note)
    with server:
        if export is not None and project is not None:
            count = backend.load(project, ExportFile(export).records())
            tell(f"{count:,} tasks of {export}")
        warm_up(options)
        url = f"http://{host}:{server.server_port}"
        if as_json:
            print_json({"url": url})
        tell(f"listening on {url}; Ctrl-C ends")
        server.serve_forever()
