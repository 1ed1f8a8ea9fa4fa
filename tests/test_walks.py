"""docs/architecture.md tells how a job goes through the code: every step it names is taken, in that order."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

PROJECT = Path(__file__).parent.parent
SECTIONS = {
    "aggregate": "faircrowd aggregate",
    "make_fair 2": "two classes and two groups",
    "make_fair 5": "five classes",
    "constraints": "constraints=[...]",
}


def documented() -> dict[str, list[str]]:
    """The steps of each section."""
    text = (PROJECT / "docs" / "architecture.md").read_text(encoding="utf-8")
    parts = re.split(r"^## (.*)$", text, flags=re.MULTILINE)
    sections = zip(parts[1::2], parts[2::2], strict=True)
    steps = {title: re.findall(r"^\d+\. `([\w/.]+:\w+)`", body, flags=re.MULTILINE) for title, body in sections}
    return {job: next(found for title, found in steps.items() if words in title) for job, words in SECTIONS.items()}


@pytest.mark.parametrize("job", SECTIONS)
def test_the_steps_are_taken_in_this_order(job: str) -> None:
    steps = documented()[job]
    assert len(steps) == len(set(steps)) >= 18
    program = PROJECT / "benchmarks" / "walk.py"
    command = [sys.executable, "-W", "ignore", program, *job.split()]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    taken = re.findall(r"^ *\d+  (.*)$", done.stdout, flags=re.MULTILINE)
    assert [step for step in taken if step in steps] == steps
