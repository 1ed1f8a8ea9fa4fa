"""The step of action.yml: run ``faircrowd check`` on the inputs, tell the job, and end with the code that it needs."""

import json
import os
import string
import subprocess
import sys
from pathlib import Path
from typing import Any

UNCLEAR = 3
"""The exit code of ``faircrowd check`` for too few tasks."""
ENTITIES = {ord(character): f"&#{ord(character)};" for character in string.punctuation}
STATUSES = {0: "pass", 1: "fail", UNCLEAR: "not enough evidence"}


def main() -> int:
    """Check the labels that the environment names; return the exit code of the step."""
    given = os.environ
    if given["NOT_ENOUGH_EVIDENCE"] not in ("warn", "fail") or given["THESE_TASKS"] not in ("true", "false"):
        return tell("error", "not-enough-evidence is warn or fail, and these-tasks is true or false.", "error", 2)
    command = [sys.executable, "-m", "faircrowd", "check", *arguments(given), "--json", "--", given["LABELS"]]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", check=False)  # noqa: S603
    sys.stderr.write(done.stderr)
    try:
        found = json.loads(done.stdout)
    except ValueError:
        found = {"error": "faircrowd check printed no verdict."}
    Path(given["VERDICT"]).write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")
    status = STATUSES.get(done.returncode, "error")
    reason = str(found.get("reason") or found.get("error"))
    with Path(given["GITHUB_STEP_SUMMARY"]).open("a", encoding="utf-8") as file:
        file.write(summary(status, reason, found))
    if done.returncode == 0:
        return tell(status, reason, None, 0)
    if done.returncode == UNCLEAR and given["NOT_ENOUGH_EVIDENCE"] == "warn":
        return tell(status, reason, "warning", 0)
    return tell(status, reason, "error", done.returncode)


def arguments(given: Any) -> list[str]:
    """Return the options of ``faircrowd check``; inputs that are empty are left out."""
    options = [("--tasks", "TASKS"), ("--epsilon", "EPSILON"), ("--truth", "TRUTH"), ("--confidence", "CONFIDENCE")]
    words = [f"{option}={given[name]}" for option, name in options if given[name]]
    for option, name in (("--group", "GROUP"), ("--require", "REQUIRE")):
        words += [f"{option}={line.strip()}" for line in given[name].splitlines() if line.strip()]
    return [*words, *(["--these-tasks"] if given["THESE_TASKS"] == "true" else [])]


def tell(status: str, reason: str, level: str | None, code: int) -> int:
    """Set the outputs of the step, and annotate the job; return the exit code."""
    line = " ".join(reason.split())
    with Path(os.environ["GITHUB_OUTPUT"]).open("a", encoding="utf-8") as file:
        file.write(f"status={status}\nreason={line}\n")
    escaped = line.replace("%", "%25")
    sys.stdout.write(f"::{level} title=faircrowd check::{escaped}\n" if level else f"faircrowd check: {line}\n")
    return code


def summary(status: str, reason: str, found: dict[str, Any]) -> str:
    """Return the verdict as Markdown; names from the data are shown as they are, and never as markup."""
    lines = [f"### faircrowd check: {status.upper()}", "", plain(reason), ""]
    if found.get("rates"):
        classes = list(next(iter(found["rates"].values())))[:8]
        lines += row(["group", "tasks", *(f"share of {name}" for name in classes)])
        lines += row(["---"] * (2 + len(classes)))
        for group, rates in list(found["rates"].items())[:50]:
            lines += row([group, f"{found['groups'][group]:,}", *(f"{rates[name]:.1%}" for name in classes)])
    for number, one in enumerate(found.get("constraints", []), start=1):
        lines += row(["", "constraint", "level", "verdict"]) + row(["---"] * 4) if number == 1 else []
        lines += row([str(number), one["text"], f"{one['level']:.4f}", f"{one['status'].upper()}: {one['reason']}"])
    notes = [f"- {plain(note)}" for note in found.get("notes", [])]
    return "\n".join([*lines, "", *notes]) + "\n\n"


def row(cells: list[str]) -> list[str]:
    """Return a row of a table, as a list of one line."""
    return [f"| {' | '.join(cell if cell == '---' else plain(cell) for cell in cells)} |"]


def plain(text: str) -> str:
    """Return a text that Markdown shows as it is."""
    return " ".join(str(text).split()).translate(ENTITIES)


if __name__ == "__main__":
    sys.exit(main())
