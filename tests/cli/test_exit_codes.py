"""Exit code 4: labels that miss what was asked for are written, and a pipeline stops."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from faircrowd import simulate_crowd
from faircrowd.cli.exit_codes import MISSED, VERDICTS
from faircrowd.fair import make

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def given(tmp_path: Path) -> list[Any]:
    crowd = simulate_crowd(300, 20, random_state=0)
    crowd.votes.to_csv(tmp_path / "votes.csv", index=False)
    crowd.sensitive_features.rename("gender").to_csv(tmp_path / "tasks.csv")
    inputs = ["aggregate", tmp_path / "votes.csv", "--tasks", tmp_path / "tasks.csv", "--group", "gender"]
    return [*inputs, "--method", "majority", "--no-report", "--epsilon", "0.05", "--out", tmp_path / "run"]


def test_codes_differ() -> None:
    assert sorted({*VERDICTS.values(), 2, MISSED}) == [0, 1, 2, 3, 4]


def test_a_promise_that_cannot_be_given(given: list[Any], tmp_path: Path, faircrowd: Run) -> None:
    code, _, err = faircrowd(*given, "--confidence", "0.95")
    assert code == 2
    assert err.startswith(
        "faircrowd: These tasks are too few to promise a gap within 0.05 with probability 0.95; about"
    )
    assert "--promise best-effort" in err
    assert not (tmp_path / "run").exists()
    given = [*given, "--promise", "best-effort"]
    code, out, err = faircrowd(*given, "--confidence", "0.95")
    assert code == 4
    assert err.startswith(
        "faircrowd: the labels carry no promise: these tasks are too few to promise a gap within 0.05"
    )
    assert err.count("\n") == 1
    assert "wrote" in out
    assert (tmp_path / "run" / "labels.csv").exists()  # an hour of work is not lost
    code, out, err = faircrowd(*given, "--confidence", "0.95", "--json")
    assert (code, err) == (4, "")
    assert json.loads(out)["missed"].startswith("the labels carry no promise")


def test_a_gap_that_is_missed(
    given: list[Any], tmp_path: Path, faircrowd: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No solver does this today; if one ever does, nobody must be told that all is well."""
    certify = make.certify
    monkeypatch.setattr(make, "certify", lambda *args, **kwargs: replace(certify(*args, **kwargs), gap=0.4))
    code, _, err = faircrowd(*given)
    assert code == 4
    assert err.startswith(
        "faircrowd: the labels miss the constraint: their gap is 0.4, above epsilon 0.05; allow a larger"
    )
    assert (tmp_path / "run" / "certificate.json").exists()


def test_labels_that_keep_epsilon(given: list[Any], faircrowd: Run) -> None:
    code, out, err = faircrowd(*given, "--json")
    assert (code, err) == (0, "")
    assert json.loads(out)["missed"] == ""


def test_apply_says_when_new_tasks_are_not_like_the_old(given: list[Any], tmp_path: Path, faircrowd: Run) -> None:
    assert faircrowd(*given)[0] == 0
    rule = tmp_path / "run" / "rule.json"
    # New tasks whose group decides their votes: no rule that was learned before keeps their gap.
    rng = np.random.default_rng(0)
    task = np.repeat(np.arange(1000, 1400), 5)
    gender = task % 2
    label = np.where(rng.uniform(size=task.size) < 0.9, gender, 1 - gender)
    votes, out = tmp_path / "new.csv", tmp_path / "new_labels.csv"
    pd.DataFrame({"task": task, "worker": np.tile(np.arange(5), 400), "label": label, "gender": gender}).to_csv(votes)
    code, said, err = faircrowd("apply", rule, votes, "--out", out)
    assert code == 4
    assert err.startswith("faircrowd: the labels miss the rule's epsilon 0.05: their gap is ")
    assert "more than chance explains" in err
    assert out.exists()
    assert "gap" in said
    code, said, err = faircrowd("apply", rule, votes, "--out", out, "--json")
    assert (code, err) == (4, "")
    found = json.loads(said)
    assert found["gap_at_least"] > 0.5
    assert found["missed"]
    # The tasks that the rule was learned from: its gap is near epsilon, and chance explains the rest.
    code, said, err = faircrowd("apply", rule, given[1], "--tasks", given[3], "--out", out, "--json")
    assert (code, err) == (0, "")
    assert json.loads(said)["missed"] == ""


def test_groups_that_the_rule_left_out_are_not_compared(given: list[Any], tmp_path: Path, faircrowd: Run) -> None:
    tasks = pd.read_csv(given[3]).astype({"gender": str})
    tasks.loc[:1, "gender"] = "rare"
    tasks.to_csv(given[3], index=False)
    assert faircrowd(*given)[0] == 0
    tasks.loc[:99, "gender"] = "rare"  # now they are many
    tasks.to_csv(given[3], index=False)
    rule, out = tmp_path / "run" / "rule.json", tmp_path / "new_labels.csv"
    code, said, err = faircrowd("apply", rule, given[1], "--tasks", given[3], "--out", out, "--json")
    assert (code, err) == (0, "")
    found, labels = json.loads(said), pd.read_csv(out)
    rates = labels[labels["group"] != "rare"].groupby("group")["label"].mean()
    assert found["gap"] == pytest.approx(rates.max() - rates.min())
