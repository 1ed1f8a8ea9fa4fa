"""Notes about posteriors that are too certain: when they are given, and what they say."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import faircrowd as fc
from faircrowd.audit import Independence
from faircrowd.report.words.belief_notes import CertainChanges, belief_notes, certain_changes, independence_of

TOGETHER = "the votes on a task go together more than the model allows"
CERTAIN = "so which labels change is decided by digits that mean little"


def written(folder: Path, *, hard: bool) -> tuple[Path, Path]:
    """Write a crowd of two groups; if it is hard, workers only guess on every third task."""
    crowd = fc.simulate_crowd(600, 30, 15, random_state=1)
    votes = crowd.votes
    guesses = np.random.default_rng(0).integers(0, 2, len(votes))
    if hard:
        votes = votes.assign(label=votes["label"].where(votes["task"] % 3 > 0, guesses))
    votes.to_csv(folder / "votes.csv", index=False)
    crowd.sensitive_features.rename("group").rename_axis("task").to_csv(folder / "tasks.csv")
    return folder / "votes.csv", folder / "tasks.csv"


def test_no_note_where_votes_fit() -> None:
    assert belief_notes(None, None) == []
    assert belief_notes(Independence(0.3, 0.38, 0.002, 4.2, 4.17, 0.925), CertainChanges(10, 5)) == []


def test_what_the_notes_say() -> None:
    together, certain = belief_notes(Independence(16.3, 5e-60, 0.113, 20.0, 6.47, 0.94), CertainChanges(1730, 1520))
    assert together == (
        f"{TOGETHER} (correlation 0.11, p < 0.0001): it is likely more certain than its votes warrant, as 20.0 votes "
        "are worth about 6.5 independent ones; its belief of 94.0% is not an accuracy: 50 known labels would tell "
        "(CalibratedCrowd())"
    )
    assert certain == (
        "the model was certain (more than 0.999) of 1,520 of the 1,730 labels that changed, "
        f"{CERTAIN}: use CalibratedCrowd() or MajorityVote()"
    )


def test_certain_changes_are_counted() -> None:
    votes = pd.DataFrame({"task": np.repeat(range(6), 9), "worker": list(range(9)) * 6, "label": [0] * 27 + [1] * 27})
    model = fc.DawidSkene().fit(votes)
    posterior = model.posterior_.in_memory()
    own = posterior.label_codes
    assert certain_changes(model, posterior, own) is None
    other = own.copy()
    other[:2] = 1 - other[:2]
    assert certain_changes(model, posterior, other) == CertainChanges(2, 2)
    even = fc.DawidSkene(start="skill", initial_skill=0.5, n_iter=1, tol=-1).fit(votes)  # it knows nothing
    assert certain_changes(even, even.posterior_.in_memory(), 1 - even.posterior_.in_memory().label_codes) == (
        CertainChanges(6, 0)
    )


def test_other_models_and_calibrated_ones_have_no_notes() -> None:
    votes = fc.simulate_crowd(60, 9, random_state=0).votes
    majority, model = fc.MajorityVote().fit(votes), fc.DawidSkene().fit(votes)
    for other in (majority, model):
        if other is model:
            assert independence_of(model) is not None
            model.calibration_ = "by known labels"  # type: ignore[attr-defined]
        posterior = other.posterior_.in_memory()
        assert independence_of(other) is None
        assert certain_changes(other, posterior, 1 - posterior.label_codes) is None


@pytest.mark.parametrize("hard", [True, False])
def test_notes_on_the_terminal_on_the_page_and_in_the_summary(
    faircrowd: Callable[..., tuple[int, str, str]], tmp_path: Path, hard: bool
) -> None:
    votes, tasks = written(tmp_path, hard=hard)
    out = tmp_path / "run"
    code, printed, _ = faircrowd("aggregate", votes, "--tasks", tasks, "--group", "group", "--epsilon", 0, "--out", out)
    assert code == 0
    assert (TOGETHER in printed) is hard
    assert (TOGETHER[1:] in (out / "report.html").read_text(encoding="utf-8")) is hard
    independence: dict[str, Any] = json.loads((out / "summary.json").read_text())["independence"]
    assert independence["rejected"] is hard
    assert independence["votes_per_task"] == 15
    if hard:
        assert f"its belief of {independence['believed_accuracy']:.1%} is not an accuracy" in printed


def test_a_majority_is_not_tested(faircrowd: Callable[..., tuple[int, str, str]], tmp_path: Path) -> None:
    votes, _ = written(tmp_path, hard=True)
    _, printed, _ = faircrowd("aggregate", votes, "--method", "majority", "--out", tmp_path / "run")
    assert TOGETHER not in printed
    summary = json.loads((tmp_path / "run" / "summary.json").read_text())
    assert summary["independence"] is None
    assert summary["certain_changes"] is None


def test_a_real_crowd_of_certain_posteriors(
    faircrowd: Callable[..., tuple[int, str, str]], data_folder: Path, tmp_path: Path
) -> None:
    """Of most labels that change, the model was certain."""
    crowd = data_folder / "tweets-hate-3class"
    given = ["--tasks", crowd / "tasks.csv", "--group", "dialect", "--epsilon", 0.05, "--pooling", "none"]
    _, printed, _ = faircrowd("aggregate", crowd / "votes.csv", *given, "--out", tmp_path / "run")
    changes = json.loads((tmp_path / "run" / "summary.json").read_text())["certain_changes"]
    labels = pd.read_csv(tmp_path / "run" / "labels.csv")
    changed = labels[labels["label"] != labels["label_before"]]
    assert changes["changed"] == len(changed)
    assert changes["certain"] > 0.75 * len(changed)
    assert TOGETHER in printed
    assert f"{changes['certain']} of the {len(changed)} labels that changed, {CERTAIN}" in printed
    assert "--method majority" in printed


def test_labels_that_nobody_gave_are_a_warning(platforms: Path, tmp_path: Path, faircrowd: Any) -> None:
    """Three votes on each of nine tasks by 18 workers, five classes: a model knows too little of them to overrule."""
    export = platforms / "mturk" / "crowdtruth_platform_amt1.csv"
    _, printed, _ = faircrowd("aggregate", export, "--out", tmp_path / "run")
    assert "2 of 9 labels are labels that nobody gave to their task" in printed
    assert "labels that nobody gave" in (tmp_path / "run" / "report.html").read_text(encoding="utf-8")
    _, printed, _ = faircrowd("aggregate", export, "--method", "majority", "--out", tmp_path / "majority")
    assert "nobody gave" not in printed
