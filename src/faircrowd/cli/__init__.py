"""The command line: parse, call, print."""

import io
import signal
import sys
from importlib.machinery import ModuleSpec
from types import ModuleType

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
                _keep_pandas_out()
                sys.meta_path.insert(0, _EmptyF2py())
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


class _EmptyF2py:
    """Finds an empty module for numpy.f2py: scipy copies all names of numpy and so loads this compiler, unused."""

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        return ModuleSpec(name, self) if name == "numpy.f2py" else None  # type: ignore[arg-type]

    def create_module(self, spec: ModuleSpec) -> None:
        """Let Python create the module as usual."""

    def exec_module(self, module: ModuleType) -> None:
        """Leave the module empty."""


class _NoPandas:
    """Finds no pandas, as if it were not installed."""

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        if name == "pandas":
            raise ModuleNotFoundError("pandas is not needed here", name=name)


def _keep_pandas_out() -> None:
    """Let pyarrow do without pandas, which it otherwise imports with its first array: a third of a small job's imports.

    It tries to import pandas once, and here does not find it. Commands, unlike Python programs, never give it a frame
    of pandas. Whatever imports pandas afterwards gets it.
    """
    if "pandas" in sys.modules:
        return
    import pyarrow as pa

    finder = _NoPandas()
    sys.meta_path.insert(0, finder)
    try:
        pa.array([0])
        pa.scalar(0)
    finally:
        sys.meta_path.remove(finder)
