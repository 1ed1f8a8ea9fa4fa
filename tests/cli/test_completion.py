"""What the shell proposes."""

import os
import subprocess
import sys

import pytest

from faircrowd.aggregate.registry import AGGREGATORS
from faircrowd.cli import completion
from faircrowd.datasets.catalogue import ABOUT
from faircrowd.publish import FORMS
from faircrowd.runs.options import ENGINES
from faircrowd.votes.exports import EXPORTS

AS_A_SHELL = "import sys; sys.argv[0] = 'faircrowd'; from faircrowd.cli import main; main()"


def proposed(line: str) -> list[str]:
    """Ask as bash does when the last word of a line is to be completed."""
    words = line.split(" ")
    asked = {"COMP_WORDS": "\n".join(words), "COMP_CWORD": str(len(words) - 1), "_FAIRCROWD_COMPLETE": "complete_bash"}
    command = [sys.executable, "-c", AS_A_SHELL]
    done = subprocess.run(command, env={**os.environ, **asked}, capture_output=True, text=True, check=True)
    assert not done.stderr
    return done.stdout.split()


@pytest.mark.parametrize(
    ("line", "values"),
    [
        ("faircrowd pub", ["publish"]),
        ("faircrowd check labels.csv --these", ["--these-tasks"]),
        ("faircrowd aggregate votes.csv --method da", ["dawid-skene"]),
        ("faircrowd aggregate votes.csv --from doc", ["doccano"]),
    ],
)
def test_the_shell_is_told(line: str, values: list[str]) -> None:
    assert proposed(line) == values


def test_values_are_those_that_commands_take() -> None:
    for propose, known in (
        (completion.methods, set(AGGREGATORS)),
        (completion.platforms, set(FORMS)),
        (completion.data_sets, set(ABOUT)),
        (completion.formats, {*EXPORTS, "csv", "tsv", "jsonl", "parquet"}),
        (completion.one_of(*ENGINES), {"auto", "memory", "stream", "spark"}),
    ):
        assert {name for name, _ in propose("")} == known
        assert {name for name, _ in propose("l")} == {name for name in known if name.startswith("l")}
    assert {"synthetic", "all"} <= {name for name, _ in completion.experiments("")}
