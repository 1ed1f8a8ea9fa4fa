"""How commands end: the codes that a pipeline sees."""

import sys

import typer

from faircrowd.runs.wording import spoken

__all__ = ["ERROR", "MISSED", "VERDICTS", "end_missed"]

ERROR = 2
"""A file, a column or an option cannot be used; nothing was written."""
MISSED = 4
"""Labels were written or sent, but they miss what was asked for: a gap of at most epsilon, a promise about new tasks,
or that a platform stores all of them."""
VERDICTS = {"pass": 0, "fail": 1, "not enough evidence": 3}
"""Of ``faircrowd check``."""


def end_missed(sentence: str, *, as_json: bool) -> None:
    """End the program with the exit code of labels that miss what was asked for, if there is a sentence about it.

    The sentence goes to stderr; with JSON it is already in the output.
    """
    if not sentence:
        return
    if not as_json and sys.stderr is not None:
        sys.stderr.write(f"faircrowd: {spoken(sentence)}\n")
    raise typer.Exit(MISSED)
