"""The commands, and how each of them ends: see :mod:`faircrowd.cli.exit_codes`."""

import functools
import os
import signal
import sys
import warnings
from typing import Any

import typer

import faircrowd
from faircrowd._compiling import tell_of_compiling
from faircrowd.cli.aggregate import aggregate
from faircrowd.cli.apply import apply
from faircrowd.cli.audit import audit
from faircrowd.cli.check import check
from faircrowd.cli.console import plain
from faircrowd.cli.convert import convert
from faircrowd.cli.datasets import datasets
from faircrowd.cli.demo import demo
from faircrowd.cli.dossier import dossier
from faircrowd.cli.exit_codes import ERROR, MISSED
from faircrowd.cli.frontier import frontier
from faircrowd.cli.json_output import json_only, print_json
from faircrowd.cli.next import next_votes
from faircrowd.cli.plan import plan
from faircrowd.cli.publish import publish
from faircrowd.cli.reproduce import reproduce
from faircrowd.cli.serve import serve
from faircrowd.cli.studio import studio
from faircrowd.cli.verify import verify
from faircrowd.errors import FaircrowdError, InfeasibleError, LeftoverWarning, OptionError
from faircrowd.runs.wording import spoken

__all__ = ["app", "run"]

_INTERRUPTED = 128 + signal.SIGINT

app = typer.Typer(
    name="faircrowd",
    help="Consensus labels from crowd votes: exact, fast, and fair to groups.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
app.command(help="Merge the votes in a file into one label per task.")(aggregate)
app.command(help="Label new tasks with the model and the fair rule of an earlier run.")(apply)
app.command(help="Show what every epsilon would cost: table, CSV and chart.")(frontier)
app.command(help="Audit workers and crowd: gaps of workers, how they add up, and intervals.")(audit)
app.command(help="Check the gap of labels for a pipeline: exit code 0 pass, 1 fail, 3 not enough evidence.")(check)
app.command(help="Recompute the results in a folder from their inputs, and list what differs.")(verify)
app.command(help="Write what an auditor files about the labels of a run: datasheet, Croissant, dataset card, tables.")(
    dossier
)
app.command(help="List the data sets, or write one as votes.csv and tasks.csv.")(datasets)
app.command(help="Write an export of a labelling platform as votes.csv and tasks.csv.")(convert)
app.command(
    help="Plan how many votes per task bring the gap close to the truth's, or what a number of known labels would tell."
)(plan)
app.command("next", help="List the tasks of a run on which another vote is worth most.")(next_votes)
app.command(help="Bring the labels of a run back to the platform where the votes were cast: as a file, or by HTTP.")(
    publish
)
app.command(help="Answer Label Studio, as its machine-learning backend, with the fair consensus so far.")(serve)
app.command(help="Open the studio, a local web page: drop files, compare groups, make fair labels.")(studio)
app.command(help="Run the paper's experiments: rows, tables and figures.")(reproduce)
app.command(help="Run aggregate on the paper's synthetic crowd.")(demo)


@app.callback(invoke_without_command=True)
def options(
    version: bool = typer.Option(False, "--version", help="Show the version and exit."),
    as_json: bool = typer.Option(False, "--json", help="With --version: print JSON."),
) -> None:
    """Handle the options before a command."""
    if version:
        if as_json:
            print_json({"version": faircrowd.__version__})
        else:
            typer.echo(f"faircrowd {faircrowd.__version__}")
        raise typer.Exit
    if as_json:
        raise OptionError("--json goes after the command: faircrowd COMMAND --json ...")


def run(arguments: list[str]) -> int:
    """Run a command and return its exit code; Ctrl-C raises KeyboardInterrupt."""
    as_json = "--json" in arguments and "--help" not in arguments
    tell_of_compiling(lambda: not as_json)
    if not as_json:
        return _run(arguments, as_json=False)
    try:
        with json_only():
            return _run(arguments, as_json=True)
    except OSError as error:
        return _failed(f"the output cannot be printed: {error.strerror or error}.", as_json=False)


def _run(arguments: list[str], *, as_json: bool) -> int:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            warnings.simplefilter("always", LeftoverWarning)
            warnings.showwarning = _show_warning
            code = _commands()(arguments or ["--help"], standalone_mode=False)
    except FaircrowdError as error:
        code = MISSED if isinstance(error, InfeasibleError) else ERROR
        return _failed(_sentence(spoken(str(error), error.parameters)), as_json, code)
    except MemoryError:
        return _failed("not enough memory for votes of this size; use a larger machine or fewer votes.", as_json)
    except OSError as error:
        what = "the output cannot be printed" if error.filename is None else f"{error.filename} cannot be used"
        return _failed(f"{what}: {error.strerror or error}.", as_json=False)
    except typer.Abort:
        raise KeyboardInterrupt from None
    except Exception as error:
        if _is_interrupt(error):
            raise KeyboardInterrupt from None
        if hasattr(error, "format_message"):  # an error of typer: the options were used wrongly
            context = getattr(error, "ctx", None)
            command = f" {context.info_name}" if context is not None and context.parent is not None else ""
            return _failed(f"{_sentence(error.format_message())} See faircrowd{command} --help.", as_json)
        if os.environ.get("FAIRCROWD_TRACEBACK"):
            raise
        return _failed(
            f"this is a bug, please report it: {type(error).__name__}: {error} (FAIRCROWD_TRACEBACK=1 shows where).",
            as_json,
        )
    if code == _INTERRUPTED:  # typer turns Ctrl-C into this code
        raise KeyboardInterrupt
    return code if isinstance(code, int) else 0


@functools.cache
def _commands() -> Any:
    """Return the commands as typer calls them, built once for a process that runs several."""
    return typer.main.get_command(app)


def _is_interrupt(error: BaseException | None) -> bool:
    """Return whether Ctrl-C caused an error; inside a kernel it becomes one SystemError or several."""
    seen: list[BaseException] = []
    while error is not None and error not in seen:
        seen.append(error)
        error = error.__cause__ or error.__context__
    return any(isinstance(found, KeyboardInterrupt) for found in seen)


def _sentence(text: str) -> str:
    return text if text.endswith(("?", ".", "!")) else f"{text}."


def _show_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    if sys.stderr is not None:
        sys.stderr.write(f"{plain(str(message))}\n")


def _failed(message: str, as_json: bool, code: int = ERROR) -> int:
    line = plain(" ".join(message.split()), limit=2000)
    if as_json:
        print_json({"error": line})
    else:
        sys.stderr.write(f"faircrowd: {line}\n")
    return code
