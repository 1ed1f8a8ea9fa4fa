"""A run whose inputs were in memory: what follows from its labels is recomputed, and the rest is named."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import faircrowd as fc
from faircrowd.runs.verify import verify
from runs.test_recorded_runs import changed_json, leaves, of_one_kind_each, repaired


def fitted(labels: list[Any], groups: list[Any], **asked: Any) -> fc.FairCrowd:
    """A fit of votes in memory."""
    rng = np.random.default_rng(3)
    task, n = np.repeat(np.arange(80), 5), len(labels)
    vote = (rng.random(task.size) * n * (0.6 + 0.4 * (task % 2))).astype(int)
    votes = pd.DataFrame({"task": task, "worker": rng.integers(0, 400, task.size), "label": [labels[k] for k in vote]})
    of_task = pd.Series([groups[t % len(groups)] for t in range(80)], index=range(80))
    return fc.FairCrowd(fc.MajorityVote(), **{"epsilon": 0.1, **asked}).fit(votes, sensitive_features=of_task)


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("memory") / "run"
    fitted(["no", "yes"], ["a", "b"]).write(folder, report=False)
    return folder


KINDS: dict[str, tuple[list[Any], list[Any], dict[str, Any]]] = {
    "numbers": ([0, 1], [0, 1], {}),
    "truth values": ([False, True], ["a", "b"], {}),
    "fractions and formulas": ([0.5, 1.0, 2.5], ["=a", "-b"], {}),
    "three groups": (["x", "y"], ["a", "b", "c"], {"strict": True}),
    "randomized": (["x", "y"], ["a", "b"], {"decision": "randomized", "random_state": 4}),
    "a matrix of gains": (["x", "y"], ["a", "b"], {"objective": [[2.0, 0.0], [0.0, 1.0]]}),
    "a promise": (["x", "y"], ["a", "b"], {"confidence": 0.6, "epsilon": 0.4}),
    "a promise of three classes": (["x", "y", "z"], ["a", "b"], {"confidence": 0.6, "epsilon": 0.4}),
}


@pytest.mark.parametrize("name", KINDS)
def test_what_follows_from_the_labels_holds(name: str, tmp_path: Path) -> None:
    labels, groups, asked = KINDS[name]
    fitted(labels, groups, **asked).write(tmp_path / "run", report=False)
    found = verify(tmp_path / "run")
    assert (found.differences, found.notes, found.verified) == ((), (), False)
    (line,) = found.unverified
    assert line.startswith("votes and sensitive features of this run were given in memory, so it cannot be done again")


def test_another_rule_of_a_promise_is_noticed(tmp_path: Path) -> None:
    labels, groups, asked = KINDS["a promise of three classes"]
    fitted(labels, groups, **asked).write(tmp_path / "run", report=False)
    rule = json.loads((tmp_path / "run" / "rule.json").read_text())
    rule["in_turn"]["rivals"][0][1] += 0.3
    (tmp_path / "run" / "rule.json").write_text(json.dumps(rule))
    repaired(tmp_path / "run", "rule.json")
    assert any("rule.json: rule is" in str(line) for line in verify(tmp_path / "run").differences)


def test_it_says_what_was_not_checked(memory: Path, faircrowd: Callable[..., tuple[int, str, str]]) -> None:
    code, out, err = faircrowd("verify", memory)
    assert (code, err) == (2, "")
    first, second, third = out.splitlines()
    assert first == "in part      11 checks: outputs unchanged, and what can be recomputed is alike"
    assert second.startswith("run ")
    assert third.endswith(
        "compared with their hashes alone: the posterior and the reasons in labels.csv, workers.csv, "
        "summary.json but for what follows from the labels, model.json, model.npz, the ties in rule.json and "
        "what certificate.json says about the solver"
    )
    said = json.loads(faircrowd("verify", memory, "--json")[1])
    assert (said["verified"], said["differences"], len(said["unverified"])) == (False, [], 1)


def test_changed_rules_and_certificates_are_noticed(memory: Path, tmp_path: Path) -> None:
    """Every field of the rule and, but for the words of the solver, of the certificate, with hashes repaired."""
    not_recomputed = {"thresholds", "decision", "solver", "seconds", "optimal", "optimality_gap", "bound", "objective"}
    not_recomputed |= {"calibration", "promise", "value_before", "gap_allowed", "why", "on_average", "positive"}
    not_recomputed |= {"left_out", "merged_groups"}
    for file in ("rule.json", "certificate.json"):
        for at in of_one_kind_each(list(leaves(json.loads((memory / file).read_text())))):
            if file == "rule.json" and at[0] in ("ties", "tie_widths", "tied_shares"):
                continue
            folder = tmp_path / "attacked"
            shutil.copytree(memory, folder)
            changed_json(folder / file, at)
            repaired(folder, file)
            if file == "certificate.json":  # in the evidence, too
                changed_json(folder / "evidence.json", ("certificate", *at))
            found = verify(folder)
            shutil.rmtree(folder)
            if not (file == "certificate.json" and at[0] in not_recomputed):
                assert found.differences, (file, at)


def test_changed_labels_are_noticed(memory: Path, tmp_path: Path) -> None:
    shutil.copytree(memory, tmp_path / "run")
    labels = pd.read_csv(memory / "labels.csv", dtype=str)
    labels.loc[5, "label"] = "yes" if labels.loc[5, "label"] == "no" else "no"
    labels.to_csv(tmp_path / "run" / "labels.csv", index=False)
    repaired(tmp_path / "run", "labels.csv")
    lines = verify(tmp_path / "run").differences
    assert any(line.startswith("certificate.json: gap is ") and ", by labels.csv " in line for line in lines)
    assert any(line.startswith("summary.json: group_shares.") for line in lines)
    (tmp_path / "run" / "labels.csv").write_text("task,label\n1,no\n")
    lines = verify(tmp_path / "run").differences
    assert lines[0] == "labels.csv was changed since the run: another SHA-256"
    assert lines[1].startswith("labels.csv cannot be read: ")
    (tmp_path / "run" / "rule.json").unlink()
    lines = verify(tmp_path / "run").differences
    assert "rule.json is missing" in lines


def test_a_truth_in_memory_leaves_labels_to_be_repeated(tmp_path: Path) -> None:
    crowd = fc.simulate_crowd(80, 8, random_state=2)
    crowd.votes.to_csv(tmp_path / "votes.csv", index=False)
    crowd.sensitive_features.rename("group").to_frame().to_csv(tmp_path / "tasks.csv")
    fair = fc.FairCrowd(fc.MajorityVote(), epsilon=0.05)
    fair.fit(tmp_path / "votes.csv", sensitive_features="group", tasks=tmp_path / "tasks.csv")
    fair.write(tmp_path / "run", truth=crowd.truth)
    found = verify(tmp_path / "run")
    why = ": the truth of this run was given in memory"
    parts = ("report.html", "what summary.json says about the truth", "the audit in workers.csv")
    assert (found.differences, found.notes, found.unverified) == ((), (), tuple(f"{part}{why}" for part in parts))
    changed_json(tmp_path / "run" / "rule.json", ("prices", 0, 0))
    repaired(tmp_path / "run", "rule.json")
    changed_json(tmp_path / "run" / "summary.json", ("gap",))
    repaired(tmp_path / "run", "summary.json")
    lines = verify(tmp_path / "run").differences
    assert [line.split(" is ")[0] for line in lines] == ["summary.json: gap", "rule.json: prices[0][0]"]
