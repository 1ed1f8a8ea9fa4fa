"""Tasks of a finished run that are worth another vote: from its files, for every kind of run."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from faircrowd import load_model, simulate_crowd
from faircrowd.errors import FaircrowdError
from faircrowd.runs.next_votes import votes_worth_asking

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def place(tmp_path: Path) -> Path:
    crowd = simulate_crowd(150, 12, votes_per_task=5, random_state=3)
    crowd.votes.to_csv(tmp_path / "votes.csv", index=False)
    tasks = crowd.votes[["task"]].drop_duplicates()
    rng = np.random.default_rng(0)
    tasks["group"] = rng.choice(["a", "b"], len(tasks))
    tasks["site"] = rng.choice(["x", "y", "z"], len(tasks))
    tasks.to_csv(tmp_path / "tasks.csv", index=False)
    return tmp_path


def made(faircrowd: Run, place: Path, *options: Any) -> Path:
    files = (place / "votes.csv", "--tasks", place / "tasks.csv", "--no-report", "--out", place / "run")
    code, _, error = faircrowd("aggregate", *files, *options)
    assert code == 0, error
    return place / "run"


EPSILON = ("--group", "group", "--epsilon", "0.02")


def test_the_ranking_is_that_of_posterior_model_and_prices(faircrowd: Run, place: Path) -> None:
    folder = made(faircrowd, place, *EPSILON)
    labels, rule = pd.read_csv(folder / "labels.csv"), json.loads((folder / "rule.json").read_text())
    errors = load_model(folder).average_errors[0]
    gains = {}
    for row in labels.itertuples():
        p = np.array([row.posterior_0, row.posterior_1])
        price = np.array(rule["prices"][rule["groups"].index(row.group)])
        after = [(errors[j] * p).sum() * (errors[j] * p / (errors[j] * p).sum() - price).max() for j in (0, 1)]
        gains[row.task] = sum(after) - (p - price).max()
    found = votes_worth_asking(folder, top=7).table.to_pylist()
    wanted = sorted(gains.values(), reverse=True)[:7]
    assert [row["gain"] for row in found] == pytest.approx(wanted, abs=1e-12)
    assert [gains[row["task"]] for row in found] == pytest.approx(wanted, abs=1e-12)


@pytest.mark.parametrize(
    "options",
    [
        (*EPSILON, "--by-group"),
        (*EPSILON, "--method", "majority"),
        (*EPSILON, "--method", "glad"),
        ("--require", "parity(group) <= 0.02", "--require", "parity(site) <= 0.1", "--require", "reviewed <= 0.05"),
        ("--require", "parity(site) <= 0.05", "--require", "changed <= 0.1"),
    ],
    ids=["by group", "majority", "glad", "review", "changes"],
)
def test_every_kind_of_run(faircrowd: Run, place: Path, options: tuple[str, ...]) -> None:
    folder = made(faircrowd, place, *options)
    code, out, error = faircrowd("next", folder, "--top", 5, "--json", "--out", place / "next.csv")
    assert code == 0, error
    said = json.loads(out)
    assert 0 < len(said["next"]) <= 5 <= said["worthwhile"] <= said["tasks"] == 150
    gains = [row["gain"] for row in said["next"]]
    assert gains == sorted(gains, reverse=True)
    assert sum(gains) <= said["total_gain"]
    assert all(0 < row["chance"] <= 1 for row in said["next"])
    written = pd.read_csv(place / "next.csv")
    assert written["task"].tolist() == [row["task"] for row in said["next"]]
    code, out, error = faircrowd("next", folder)
    assert (code, error) == (0, "")
    assert "one more vote could change the label of" in out


def test_bad_input_is_told(faircrowd: Run, place: Path) -> None:
    assert "There is no folder" in faircrowd("next", place / "none")[2]
    assert "has no rule.json" in faircrowd("next", place)[2]
    folder = made(faircrowd, place, *EPSILON)
    assert "--top must be" in faircrowd("next", folder, "--top", 0)[2]
    code, _, error = faircrowd("next", folder, "--out", folder / "labels.csv")
    assert (code, "would overwrite" in error) == (2, True)
    (folder / "labels.csv").write_text("task,label\n1,0\n")
    code, _, error = faircrowd("next", folder)
    assert (code, "labels.csv" in error) == (2, True)
    folder = made(faircrowd, place, "--require", "parity(site) <= 0.1")
    (place / "tasks.csv").rename(place / "moved.csv")
    assert "give --tasks FILE" in faircrowd("next", folder)[2]
    assert faircrowd("next", folder, "--tasks", place / "moved.csv")[0] == 0
    tasks = pd.read_csv(place / "moved.csv").assign(site="new")
    tasks.to_csv(place / "tasks.csv", index=False)
    with pytest.raises(FaircrowdError, match="does not know"):
        votes_worth_asking(folder)
    (folder / "summary.json").write_text("{}")
    with pytest.raises(FaircrowdError, match="not the summary of a run"):
        votes_worth_asking(folder)
    folder = made(faircrowd, place, "--method", "majority", *EPSILON)
    (folder / "workers.csv").unlink()
    with pytest.raises(FaircrowdError, match=r"workers\.csv cannot be read"):
        votes_worth_asking(folder)
