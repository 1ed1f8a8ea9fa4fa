"""Folders of runs that dossiers are made of, written once for all tests of a session."""

from pathlib import Path

import numpy as np
import pandas as pd

import faircrowd as fc
from faircrowd.cli.app import run

HOSTILE = {
    "label": {0: "<script>alert(1)</script>\u202e|*x*[a](http://e.vil)", 1: '=cmd|"\'/c calc"!A1'},
    "group": {0: "a\nb</td><img src=x onerror=alert(1)>", 1: "---\npretty_name: x"},
}
"""Names that would be markup, a formula, or another header."""


def write_crowd(folder: Path, *, names: dict[str, dict[int, str]] | None = None) -> Path:
    """Write votes.csv and tasks.csv of a small crowd: two columns of groups, some missing, and the truth."""
    folder.mkdir(parents=True, exist_ok=True)
    crowd = fc.simulate_crowd(150, 9, random_state=5)
    votes = pd.DataFrame(crowd.votes)
    tasks = pd.DataFrame({"sex": crowd.sensitive_features.map({0: "f", 1: "m"}), "truth": crowd.truth})
    tasks["all"] = "one"
    tasks["age"] = [["old", "young", None, "young"][i % 4] if i > 3 else "rare" for i in range(len(tasks))]
    if names is not None:
        votes["label"], tasks["truth"] = votes["label"].map(names["label"]), tasks["truth"].map(names["label"])
        tasks["sex"] = tasks["sex"].map({"f": names["group"][0], "m": names["group"][1]})
    votes.to_csv(folder / "votes.csv", index=False)
    tasks.rename_axis("task").to_csv(folder / "tasks.csv")
    return folder


def aggregate(crowd: Path, out: Path, *more: object) -> Path:
    """Do a run on such a crowd."""
    given = [crowd / "votes.csv", "--tasks", crowd / "tasks.csv", "--method", "majority", "--no-report", *more]
    assert run(["aggregate", *map(str, given), "--out", str(out)]) == 0
    return out


def many_groups(folder: Path) -> Path:
    """Write the run of a crowd with 200 groups."""
    rng = np.random.default_rng(0)
    n = 4000
    truth = rng.integers(0, 2, n)
    right = rng.random(3 * n) < 0.8
    label = np.where(right, np.repeat(truth, 3), 1 - np.repeat(truth, 3))
    votes = pd.DataFrame({"task": np.repeat(np.arange(n), 3), "worker": np.tile(np.arange(3), n), "label": label})
    groups = pd.Series([f"g{i % 200:03}" for i in range(n)])
    fc.FairCrowd(fc.MajorityVote(), epsilon=0.2).fit(votes, sensitive_features=groups).write(folder, report=False)
    return folder
