"""Labels that no voter of the task gave: counted as by hand, and told wherever the person looks."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from faircrowd import DawidSkene, FairCrowd, MajorityVote, read_votes
from faircrowd.report.words.unvoted_labels import (
    is_unvoted,
    unvoted_changes,
    unvoted_changes_in_words,
    unvoted_warning,
)
from faircrowd.runs.run_of_estimator import run_of

Run = Callable[..., tuple[int, str, str]]
_TOLD = "no voter of the task gave"


@pytest.fixture(scope="module")
def crowd() -> tuple[pd.DataFrame, pd.DataFrame]:
    """Three classes, two groups whose labels differ; workers are good, so that few labels are doubtful."""
    rng = np.random.default_rng(3)
    group = np.repeat(["f", "m"], 60)
    truth = np.where(group == "f", rng.choice(3, 120, p=[0.8, 0.1, 0.1]), rng.choice(3, 120, p=[0.1, 0.6, 0.3]))
    rows = [
        (task, worker, int(truth[task]) if rng.random() < 0.85 else int(rng.integers(3)))
        for task in range(120)
        for worker in rng.choice(12, 4, replace=False)
    ]
    tasks = pd.DataFrame({"task": range(120), "group": group, "truth": truth})
    return pd.DataFrame(rows, columns=["task", "worker", "label"]), tasks


def _by_hand(votes: pd.DataFrame, labels: pd.DataFrame) -> set[int]:
    """Return the tasks whose label is none of those that were given."""
    given = votes.groupby("task")["label"].agg(set)
    return {int(row.task) for row in labels.itertuples() if row.label not in given[row.task]}


def test_they_are_those_found_by_hand(crowd: tuple[pd.DataFrame, pd.DataFrame], tmp_path: Path, faircrowd: Run) -> None:
    """labels.csv marks exactly these tasks, in the reason; the summary and the terminal count those that changed."""
    votes, tasks = crowd
    votes.to_csv(tmp_path / "votes.csv", index=False)
    tasks.to_csv(tmp_path / "tasks.csv", index=False)
    asked = f"{tmp_path}/votes.csv --tasks {tmp_path}/tasks.csv --group group --out {tmp_path}/out"
    for limit in ("--epsilon 0.05", "--require parity(group)<=0.05"):
        code, said, _ = faircrowd(*f"aggregate {asked}".split(), *limit.split(" ", 1))
        assert code == 0
        labels = pd.read_csv(tmp_path / "out" / "labels.csv")
        expected = _by_hand(votes, labels)
        assert set(labels.task[labels.why.str.endswith(f"; {_TOLD} this label")]) == expected
        changed = set(labels.task[labels.changed])
        number = len(expected & changed)
        assert 0 < number < len(changed)
        assert f"note       {number} of the {len(changed)} changed labels are labels that {_TOLD}" in said
        assert json.loads((tmp_path / "out" / "summary.json").read_text())["unvoted_changes"] == number
        page = (tmp_path / "out" / "report.html").read_text()
        assert f"<p>{number} of the {len(changed)} changed labels are labels that {_TOLD}" in page


def test_new_tasks_tell_it_too(crowd: tuple[pd.DataFrame, pd.DataFrame], tmp_path: Path, faircrowd: Run) -> None:
    votes, tasks = crowd
    votes.to_csv(tmp_path / "votes.csv", index=False)
    tasks.to_csv(tmp_path / "tasks.csv", index=False)
    given = ["--tasks", f"{tmp_path}/tasks.csv", "--group", "group"]
    for limit in (["--epsilon", "0.05"], ["--require", "parity(group) <= 0.05"]):
        out = f"{tmp_path}/out"
        assert faircrowd("aggregate", f"{tmp_path}/votes.csv", *given, *limit, "--no-report", "--out", out)[0] == 0
        code, said, _ = faircrowd(
            *("apply", f"{out}/rule.json", f"{tmp_path}/votes.csv", *given[:2]),
            *("--out", f"{tmp_path}/new.csv"),
        )
        assert code == 0
        labels = pd.read_csv(tmp_path / "new.csv")
        expected = _by_hand(votes, labels)
        assert set(labels.task[labels.why.str.endswith(f"; {_TOLD} this label")]) == expected
        number = len(expected & set(labels.task[labels.changed]))
        assert re.search(rf"note +{number} of the \d+ changed labels are labels that {_TOLD}", said)


def test_the_card_and_the_frame_tell_it(crowd: tuple[pd.DataFrame, pd.DataFrame]) -> None:
    votes, tasks = crowd
    fair = FairCrowd(DawidSkene(pooling="learned")).fit(votes, sensitive_features=tasks.set_index("task")["group"])
    frame = fair.to_frame(why=True)
    number = len(_by_hand(votes, frame) & set(frame.task[frame.changed]))
    assert f"{number} of the {fair.certificate_.changed} changed labels are labels that {_TOLD}" in fair._repr_html_()
    assert int((frame.why.str.contains(_TOLD) & frame.changed).sum()) == number
    assert run_of(fair, with_hashes=False).summary.unvoted_changes == number


def test_votes_of_all_labels_leave_none(crowd: tuple[pd.DataFrame, pd.DataFrame]) -> None:
    """A majority believes in labels that were given alone; where it can do with those, nothing is said."""
    rows = [(task, worker, worker % 2) for task in range(40) for worker in range(4 if task % 2 else 5)]
    votes = pd.DataFrame(rows, columns=["task", "worker", "label"])
    fair = FairCrowd(MajorityVote(), epsilon=0.0).fit(votes, sensitive_features={n: n % 4 < 2 for n in range(40)})
    assert run_of(fair, with_hashes=False).summary.unvoted_changes == 0
    assert _TOLD not in fair._repr_html_()
    assert _TOLD not in fair.summary()


def test_slices_and_reviews_count_as_asked() -> None:
    """The mask of some tasks is that part of the mask; a task that is sent to a person is not counted."""
    frame = pd.DataFrame({"task": [1, 1, 2, 3], "worker": [1, 2, 1, 2], "label": ["a", "b", "b", "c"]})
    votes = read_votes(frame)
    labels = np.array([0, 0, 0], dtype=np.int32)
    assert is_unvoted(votes, labels).tolist() == [False, True, True]
    assert is_unvoted(votes, labels, slice(1, 2)).tolist() == [True]
    before = np.array([1, 1, 2], dtype=np.int32)
    assert unvoted_changes(votes, before, labels) == 2
    assert unvoted_changes(votes, before, labels, np.array([False, True, False])) == 1
    assert unvoted_warning(votes, labels) is not None
    assert "1 of the 5 changed labels is a label that" in unvoted_changes_in_words(1, 5)
