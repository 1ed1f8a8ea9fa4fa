"""The command line: parse, call, print."""

import io
import signal
import sys

__all__ = ["main"]


def main(arguments: list[str] | None = None) -> int:
    """Run the command line and exit with its code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a terminal that lacks a character shows its number
            stream.reconfigure(errors="backslashreplace")
    try:
        from faircrowd.cli.app import run

        sys.exit(run(sys.argv[1:] if arguments is None else arguments))
    except ModuleNotFoundError as error:
        if error.name not in ("typer", "rich"):
            raise
        sys.stderr.write("faircrowd: the command line needs more packages: pip install 'faircrowd[app]'\n")
        sys.exit(2)
    except KeyboardInterrupt:
        sys.stderr.write("faircrowd: interrupted; no results were written.\n")
        sys.exit(128 + signal.SIGINT)
