"""The command line: parse, call, print."""

import sys

__all__ = ["main"]


def main(arguments: list[str] | None = None) -> int:
    """Run the command line and exit with its code."""
    try:
        from faircrowd.cli.app import run
    except ModuleNotFoundError as error:
        if error.name not in ("typer", "rich"):
            raise
        sys.stderr.write("faircrowd: the command line needs more packages: pip install 'faircrowd[app]'\n")
        sys.exit(2)
    sys.exit(run(sys.argv[1:] if arguments is None else arguments))
