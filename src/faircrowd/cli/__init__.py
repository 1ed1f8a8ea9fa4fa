"""The command line: parse, call, print."""

import io
import signal
import sys

from faircrowd.cli.quick_process import begin_quickly, end_quickly
from faircrowd.storage.written_folders import forget_written, written_folders

__all__ = ["main"]


def main(arguments: list[str] | None = None) -> int:
    """Run the command line and exit with its code."""
    forget_written()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a terminal that lacks a character shows its number
            stream.reconfigure(errors="backslashreplace")
    try:
        from faircrowd.cli.app import run

        if arguments is None:
            arguments = sys.argv[1:]
            if not {"--help", "--version", "spark"}.intersection(arguments):
                begin_quickly()
            code = run(arguments)
            end_quickly()
            sys.exit(code)
        sys.exit(run(arguments))
    except ModuleNotFoundError as error:
        if error.name not in ("typer", "rich"):
            raise
        sys.stderr.write("faircrowd: the command line needs more packages: pip install 'faircrowd[app]'\n")
        sys.exit(2)
    except KeyboardInterrupt:
        done = written_folders()
        what = "the files in " + ", ".join(map(str, done)) if done else "no results"
        sys.stderr.write(f"faircrowd: interrupted; {what} were written.\n")
        sys.exit(128 + signal.SIGINT)
