"""The commands, and one way to end: 0, or 2 with one line that says what to do."""

import json
import signal
import sys
import warnings

import typer

import faircrowd
from faircrowd.cli.aggregate import aggregate
from faircrowd.cli.demo import demo
from faircrowd.errors import FaircrowdError

__all__ = ["app", "run"]

app = typer.Typer(
    name="faircrowd",
    help="Consensus labels from crowd votes: exact, fast, and fair to groups.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
app.command(help="Merge the votes in a file into a label a task.")(aggregate)
app.command(help="Run the main job on the paper's synthetic crowd.")(demo)


@app.callback(invoke_without_command=True)
def options(
    version: bool = typer.Option(False, "--version", help="Show the version and exit."),
    as_json: bool = typer.Option(False, "--json", help="With --version: print JSON."),
) -> None:
    """Handle the options that stand before a command."""
    if version:
        typer.echo(json.dumps({"version": faircrowd.__version__}) if as_json else f"faircrowd {faircrowd.__version__}")
        raise typer.Exit


def run(arguments: list[str]) -> int:
    """Run a command; return its exit code."""
    as_json = "--json" in arguments
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            code = app(arguments, standalone_mode=False)
    except FaircrowdError as error:
        return _failed(str(error), as_json)
    except MemoryError:
        return _failed("not enough memory for votes of this size; use a larger machine or fewer votes.", as_json)
    except (KeyboardInterrupt, typer.Abort):
        sys.stderr.write("faircrowd: interrupted; nothing was written.\n")
        return 128 + signal.SIGINT
    except Exception as error:
        if not hasattr(error, "format_message"):  # a wrong use of options: typer brings its own class of error
            raise
        return _failed(f"{error.format_message()} See faircrowd --help.", as_json)
    return code if isinstance(code, int) else 0


def _failed(message: str, as_json: bool) -> int:
    line = " ".join(message.split())
    if as_json:
        typer.echo(json.dumps({"error": line}, ensure_ascii=False))
    else:
        sys.stderr.write(f"faircrowd: {line}\n")
    return 2
