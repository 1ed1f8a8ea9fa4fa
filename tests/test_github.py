"""The files for GitHub and pre-commit: valid, least permissions, and the steps of the action run."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

PROJECT = Path(__file__).parent.parent
GITHUB = PROJECT / ".github"
WORKFLOWS = sorted((GITHUB / "workflows").glob("*.yml"))
ACTION = PROJECT / "action.yml"
SCHEMAS = {
    "vendor.github-workflows": WORKFLOWS,
    "custom.github-workflows-require-timeout": WORKFLOWS,
    "vendor.github-actions": [ACTION],
    "vendor.github-issue-forms": [GITHUB / "ISSUE_TEMPLATE" / name for name in ("bug.yml", "idea.yml")],
    "vendor.github-issue-config": [GITHUB / "ISSUE_TEMPLATE" / "config.yml"],
    "vendor.dependabot": [GITHUB / "dependabot.yml"],
    "vendor.citation-file-format": [PROJECT / "CITATION.cff"],
}


def read(path: Path) -> Any:
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def steps(path: Path) -> list[dict[str, Any]]:
    said = read(path)
    jobs = [said["runs"]] if "runs" in said else said["jobs"].values()
    return [step for job in jobs for step in job["steps"]]


@pytest.mark.parametrize("schema", SCHEMAS)
def test_files_follow_their_schema(schema: str) -> None:
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", schema, *map(str, SCHEMAS[schema])]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_workflows_may_do_little_and_hold_no_secret() -> None:
    assert {path.stem for path in WORKFLOWS} == {"test", "docs", "release"}
    for path in WORKFLOWS:
        said = read(path)
        assert said["permissions"] == {"contents": "read"}, path
        assert "secrets." not in path.read_text(encoding="utf-8")
        written = {
            (name, scope)
            for name, job in said["jobs"].items()
            for scope, level in job.get("permissions", {}).items()
            if level == "write"
        }
        signing = {("build", "id-token"), ("build", "attestations"), ("publish", "id-token")}
        assert written == (signing if path.stem == "release" else set()), path


@pytest.mark.parametrize("path", [*WORKFLOWS, ACTION], ids=lambda path: path.stem)
def test_steps_are_pinned_and_take_no_text_from_outside(path: Path) -> None:
    for step in steps(path):
        if "uses" in step:
            assert re.search(r"@(v\d+|[0-9a-f]{40}|release/v1)$", step["uses"]), step
        if step.get("uses", "").startswith("actions/checkout@"):
            assert step["with"]["persist-credentials"] is False
        assert "${{" not in step.get("run", ""), step


def test_workflows_run_targets_and_files_that_exist() -> None:
    targets = set(re.findall(r"^([a-z][\w-]*):", (PROJECT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    if not (PROJECT / "docs" / "conf.py").exists():
        targets |= {"docs"}  # comes with the documentation site
    for path in WORKFLOWS:
        for step in steps(path):
            words = step.get("run", "").split()
            if words[:1] == ["make"]:
                assert set(words[1:]) <= targets, step
            for word in words:
                if word.startswith(("tests/", ".ci/")):
                    assert (PROJECT / word).exists(), word


def test_the_matrix_is_that_of_the_classifiers() -> None:
    versions = read(GITHUB / "workflows" / "test.yml")["jobs"]["linux"]["strategy"]["matrix"]["python"]
    text = (PROJECT / "pyproject.toml").read_text(encoding="utf-8")
    assert re.findall(r'"Programming Language :: Python :: (3\.\d+)"', text) == versions


def test_the_examples_give_inputs_and_hooks_that_exist() -> None:
    text = (PROJECT / "docs" / "gate.md").read_text(encoding="utf-8")
    job, hooks = (yaml.safe_load(block) for block in re.findall(r"```yaml\n(.+?)```", text, re.DOTALL))
    (used,) = (step for step in job["jobs"]["parity"]["steps"] if "/faircrowd@" in step["uses"])
    inputs = read(ACTION)["inputs"]
    assert set(used["with"]) <= set(inputs)
    assert {name for name, about in inputs.items() if about.get("required")} <= set(used["with"])
    named = [hook["id"] for repository in hooks["repos"] for hook in repository["hooks"]]
    assert named == [hook["id"] for hook in read(PROJECT / ".pre-commit-hooks.yaml")]


def test_the_hook_runs_a_command_that_exists() -> None:
    (hook,) = read(PROJECT / ".pre-commit-hooks.yaml")
    assert hook["entry"] == "faircrowd check"
    assert hook["language"] == "python"
    assert hook["pass_filenames"] is False


@pytest.fixture
def act(tmp_path: Path) -> Callable[..., tuple[int, str, dict[str, str], str]]:
    """Run the second step of the action, as the first would have left things; return what it did."""
    bin_folder = tmp_path / "temp" / "faircrowd" / "bin"
    bin_folder.mkdir(parents=True)
    python = bin_folder / "python"
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n', encoding="utf-8")
    python.chmod(0o755)
    said = read(ACTION)
    step = said["runs"]["steps"][1]

    def run(**inputs: str) -> tuple[int, str, dict[str, str], str]:
        defaults = {name: str(about.get("default", "")) for name, about in said["inputs"].items()}
        given = defaults | {name.replace("_", "-"): value for name, value in inputs.items()}
        names = {name: re.fullmatch(r"\$\{\{ inputs\.([\w-]+) \}\}", text) for name, text in step["env"].items()}
        own = {name: given[found[1]] for name, found in names.items() if found}
        assert set(own.values()) >= set(inputs.values())
        files = {"GITHUB_OUTPUT": tmp_path / "output", "GITHUB_STEP_SUMMARY": tmp_path / "summary.md"}
        for file in files.values():
            file.unlink(missing_ok=True)
        places = {"RUNNER_TEMP": tmp_path / "temp", "GITHUB_ACTION_PATH": PROJECT, **files}
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
            env={**os.environ, **own, **{name: str(place) for name, place in places.items()}},
            cwd=tmp_path,
            capture_output=True,
            encoding="utf-8",
            check=False,
        )
        lines = files["GITHUB_OUTPUT"].read_text(encoding="utf-8").splitlines()
        summary = files["GITHUB_STEP_SUMMARY"]
        shown = summary.read_text(encoding="utf-8") if summary.exists() else ""
        return done.returncode, done.stdout, dict(line.split("=", 1) for line in lines), shown

    return run


def test_the_action_passes_warns_and_fails(act: Callable[..., Any], tmp_path: Path) -> None:
    rows = [f"{t},{'ab'[t % 2]},{'xy'[t // 2 % 2]},{'xy'[t % 2]}" for t in range(200)]
    table = tmp_path / "my labels.csv"
    table.write_text("\n".join(["task,kind | <b>,label,other", *rows]) + "\n", encoding="utf-8")
    common = {"labels": "my labels.csv", "group": "kind | <b>", "epsilon": "0.05"}
    code, out, said, summary = act(**common, these_tasks="true")
    assert (code, said["status"]) == (0, "pass")
    assert out.startswith("faircrowd check: ")
    assert summary.startswith("### faircrowd check: PASS\n")
    assert "| a | 100 | 50&#46;0&#37; | 50&#46;0&#37; |" in summary
    assert json.loads((tmp_path / "faircrowd-verdict.json").read_text(encoding="utf-8"))["status"] == "pass"

    code, out, said, _ = act(**common)
    assert (code, said["status"]) == (0, "not enough evidence")
    assert out.startswith("::warning title=faircrowd check::")
    assert "95%25 confidence" in out

    table.write_text(table.read_text(encoding="utf-8").replace(",label,other", ",other,label"), encoding="utf-8")
    code, out, said, summary = act(
        labels="my labels.csv", require="parity(kind) <= 0.1\n\n parity(kind) <= 1\n", not_enough_evidence="fail"
    )
    assert (code, said["status"]) == (2, "error")  # there is no column kind
    assert out.startswith("::error title=faircrowd check::")

    table.write_text(table.read_text(encoding="utf-8").replace("kind | <b>", "kind"), encoding="utf-8")
    code, _, said, summary = act(labels="my labels.csv", require="parity(kind) <= 0.1\n\n parity(kind) <= 1\n")
    assert (code, said["status"]) == (1, "fail")
    assert summary.count("\n| 1 |") == summary.count("\n| 2 |") == 1
    assert "FAIL" in summary.split("\n| 1 |")[1].split("\n")[0]
    assert "PASS" in summary.split("\n| 2 |")[1]


def test_the_action_shows_hostile_names_as_text(act: Callable[..., Any], tmp_path: Path) -> None:
    names = ("<img src=x onerror=alert(1)>", "$(touch hacked) `touch hacked` [a](http://b.example) | ::error::x")
    rows = [f'{t},"{names[t % 2]}",x' for t in range(40)]
    (tmp_path / "-l.csv").write_text("\n".join(["task,kind,label", *rows]) + "\n", encoding="utf-8")
    code, out, _, summary = act(labels="-l.csv", group="kind", epsilon="0.1", these_tasks="true")
    assert code == 0
    assert not out.startswith("::")
    assert not {"<", "[", "`"} & set(summary)
    assert "&#60;img src&#61;x" in summary
    assert not (tmp_path / "hacked").exists()
    code, _, said, _ = act(labels="-l.csv", group="kind", epsilon="0.1", these_tasks="maybe")
    assert (code, said["status"]) == (2, "error")
