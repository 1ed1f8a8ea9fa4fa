"""``faircrowd studio``: a local web page for people who do not use a terminal."""

from pathlib import Path
from typing import Annotated

import typer

from faircrowd._extras import need
from faircrowd.cli.console import open_in_browser
from faircrowd.cli.json_output import print_json

__all__ = ["studio"]


def studio(
    folder: Annotated[Path, typer.Argument(help="Where files and runs are kept; made if it is not there.")] = Path(
        "faircrowd-studio"
    ),
    port: Annotated[int, typer.Option(help="Port to listen to; 0 takes a free one.")] = 0,
    max_upload: Annotated[int, typer.Option(help="Largest file, in megabytes.")] = 4096,
    open_page: Annotated[bool, typer.Option("--open/--no-open", help="Open the page in a browser.")] = True,
    as_json: Annotated[bool, typer.Option("--json", help="Print the address as JSON once it is listened to.")] = False,
) -> None:
    """Open the studio: drop files, compare groups, make fair labels, take them away, all on this machine."""
    from faircrowd._checks import check_count

    check_count("max_upload", max_upload, least=1)
    for package in ("starlette", "uvicorn", "jinja2"):
        need(package, "studio", "The studio")
    from faircrowd.studio.studio_server import serve_studio

    def tell(address: str) -> None:
        if as_json:
            print_json({"url": address})
        else:
            typer.echo(f"The studio is open at {address}\nIts files are in {folder}. Ctrl-C ends it.")
        if open_page and not as_json:
            open_in_browser(address)

    serve_studio(folder, port, max_upload=max_upload << 20, tell=tell)
