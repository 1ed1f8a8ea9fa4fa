"""docs/architecture.md tells how a job goes through the code: every step it names is taken, in that order."""

import json
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
# One process takes all walks, one after the other: what takes long is to import the package and to read its source. A
# step that is taken in the first of them alone, since its result is kept, would be missed in the others.
PROGRAM = """
import contextlib, functools, io, json, sys
sys.path.insert(0, sys.argv[1])
import walk
walk.not_followed = functools.cache(walk.not_followed)
found = {}
for job in sys.argv[2:]:
    name, *given = job.split()
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        {"aggregate": walk.aggregate, "make_fair": walk.fair, "constraints": walk.constraints}[name](*map(int, given))
    found[job] = printed.getvalue()
print(json.dumps(found))
"""


def documented() -> dict[str, list[str]]:
    """The steps of each section."""
    text = (PROJECT / "docs" / "architecture.md").read_text(encoding="utf-8")
    parts = re.split(r"^## (.*)$", text, flags=re.MULTILINE)
    sections = zip(parts[1::2], parts[2::2], strict=True)
    steps = {title: re.findall(r"^\d+\. `([\w/.]+:\w+)`", body, flags=re.MULTILINE) for title, body in sections}
    return {job: next(found for title, found in steps.items() if words in title) for job, words in SECTIONS.items()}


@pytest.fixture(scope="module")
def walks() -> dict[str, str]:
    """What benchmarks/walk.py prints of each job."""
    command = [sys.executable, "-W", "ignore", "-c", PROGRAM, str(PROJECT / "benchmarks"), *SECTIONS]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found: dict[str, str] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize("job", SECTIONS)
def test_the_steps_are_taken_in_this_order(job: str, walks: dict[str, str]) -> None:
    steps = documented()[job]
    assert len(steps) == len(set(steps)) >= 18
    taken = re.findall(r"^ *\d+  (.*)$", walks[job], flags=re.MULTILINE)
    assert [step for step in taken if step in steps] == steps
