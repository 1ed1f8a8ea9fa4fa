"""Juries on the command line: what judges said, from a file to fair labels and back."""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import faircrowd as fc

Run = Callable[..., tuple[int, str, str]]

pytestmark = pytest.mark.filterwarnings("ignore::faircrowd.errors.DataWarning")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Votes of four judges of two families in two runs, some of which abstain; and tasks."""
    place = tmp_path_factory.mktemp("jury")
    rng = np.random.default_rng(0)
    truth = rng.random(300) < np.where(np.arange(300) % 2, 0.65, 0.4)
    rows = []
    for task in range(300):
        for family, judges in (("acme", 3), ("other", 1)):
            noise = rng.normal()
            for judge in range(judges):
                for run in (1, 2):
                    odds = 2 * (2 * truth[task] - 1) + 1.5 * noise + 0.3 * rng.normal()
                    p = 1 / (1 + np.exp(-odds))
                    rows.append(
                        {
                            "task": task,
                            "judge": f"{family} {judge}",
                            "family": family,
                            "run": run,
                            "label": "unsure" if rng.random() < 0.04 else ("no", "yes")[int(p > 0.5)],
                            "probability": max(p, 1 - p),
                        }
                    )
    pd.DataFrame(rows).to_csv(place / "votes.csv", index=False)
    known = np.where(np.arange(300) < 90, np.where(truth, "yes", "no"), None)
    tasks = {"task": range(300), "group": np.arange(300) % 2, "truth": np.where(truth, "yes", "no"), "known": known}
    pd.DataFrame(tasks).to_csv(place / "tasks.csv", index=False)
    return place


def command(folder: Path, *more: str) -> list[str]:
    asked = ["--tasks", str(folder / "tasks.csv"), "--method", "jury", "--abstain-label", "unsure", "--no-report"]
    return ["aggregate", str(folder / "votes.csv"), *asked, *more]


@pytest.mark.parametrize("known", [[], ["--gold", "known"], ["--gold", "known", "--abstain", "informative"]])
def test_a_run_equals_python_and_is_verified(folder: Path, known: list[str], faircrowd: Run, tmp_path: Path) -> None:
    out = tmp_path / "out"
    code, text, err = faircrowd(*command(folder, *known, "--group", "group", "--epsilon", "0.05", "--out", str(out)))
    assert (code, err) == (0, "")
    assert "further runs of a judge on a task; the runs are averaged" in text
    assert "the judge abstained" in text
    tasks = pd.read_csv(folder / "tasks.csv").set_index("task")
    gold = (tasks["known"].dropna(),) if known else ()
    votes = fc.read_votes(folder / "votes.csv", abstain_label="unsure")
    model = fc.JuryVote(abstain="informative") if "informative" in known else fc.JuryVote()
    fair = fc.FairCrowd(model, epsilon=0.05).fit(votes, *gold, sensitive_features=tasks["group"])
    workers = pd.read_csv(out / "workers.csv").set_index("worker")["weight"]
    assert workers.to_dict() == pytest.approx(fair.estimator_.weights_.to_dict())
    labels = pd.read_csv(out / "labels.csv").set_index("task")["label"]
    assert labels.to_dict() == fair.labels_.to_dict()
    assert faircrowd("verify", str(out))[0] == 0
    summary = json.loads((out / "summary.json").read_text())
    assert summary["options"]["reading"]["abstain_label"] == ["unsure"]
    # The same votes again, as new ones.
    new = tmp_path / "new.csv"
    asked = ["--tasks", str(folder / "tasks.csv"), "--group", "group", "--abstain-label", "unsure", "--out", str(new)]
    assert faircrowd("apply", str(out / "rule.json"), str(folder / "votes.csv"), *asked)[0] == 0
    again = pd.read_csv(new).set_index("task")
    assert (again["label_before"] == pd.read_csv(out / "labels.csv").set_index("task")["label_before"]).all()


def test_a_calibrated_jury(folder: Path, faircrowd: Run, tmp_path: Path) -> None:
    asked = ["--calibrate", "known", "--truth", "truth", "--out", str(tmp_path / "out")]
    code, text, _ = faircrowd(*command(folder, *asked))
    assert code == 0
    assert "method     jury, calibrated" in text
    assert "95% interval from 90 known labels" in text


def test_one_judge_is_a_jury(folder: Path, faircrowd: Run, tmp_path: Path) -> None:
    votes = pd.read_csv(folder / "votes.csv")
    votes[votes["judge"] == "other 0"].to_csv(tmp_path / "votes.csv", index=False)
    (tmp_path / "tasks.csv").write_bytes((folder / "tasks.csv").read_bytes())
    code, _, err = faircrowd(*command(tmp_path, "--out", str(tmp_path / "out")))
    assert (code, err) == (0, "")


def test_other_methods_say_what_they_leave_out(folder: Path, faircrowd: Run, tmp_path: Path) -> None:
    arguments = [word if word != "jury" else "dawid-skene" for word in command(folder, "--out", str(tmp_path / "out"))]
    code, text, _ = faircrowd(*arguments)
    assert code == 0
    assert "does not use the probabilities and families of the judges, as JuryVote does" in text


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--abstain", "informative"], "--abstain informative is learned from known labels"),
        (["--abstain", "often"], "is not known; use one of 'leave-out', 'informative'"),
        (["--engine", "stream"], "of judges (docs/juries.md), which are read in memory, not from disk"),
        (["--engine", "spark", "--run", "none"], "--abstain-label is not for --engine spark"),
        (["--probability", "p"], "No column 'p' in"),
        (["--probability", "label", "--probability", "label"], "has the probability of one class only"),
        (["--run", "none"], ""),
        (["--family", "run"], "has more than one family in column 'run'"),
    ],
)
def test_options(folder: Path, more: list[str], message: str, faircrowd: Run, tmp_path: Path) -> None:
    code, _, err = faircrowd(*command(folder, *more, "--out", str(tmp_path / "out")))
    assert message in err
    assert code == (2 if message else 0)


def test_one_judge_is_told_how_to_become_a_jury(tmp_path: Path, faircrowd: Run) -> None:
    samples = [{"id": i, "epoch": 1, "scores": {"qa": {"value": "CI"[i % 2]}}} for i in range(4)]
    log = tmp_path / "log.json"
    log.write_text(json.dumps({"eval": {}, "samples": samples}))
    table = tmp_path / "votes.csv"
    table.write_text("task,judge,label\n1,a,x\n2,a,y\n")
    for given in ([log], [log, "--method", "jury"], [table, "--method", "jury"]):
        code, _, err = faircrowd("aggregate", *given, "--out", tmp_path / "out")
        assert code == 2
        assert "to use, and no probabilities: the labels of one judge alone are no consensus" in err
    logs = [faircrowd("convert", log, "--out", tmp_path / judge)[0] for judge in "ab"]
    assert logs == [0, 0]
    votes = pd.concat([pd.read_csv(tmp_path / judge / "votes.csv").assign(worker=judge) for judge in "ab"])
    votes.to_csv(table, index=False)
    code, text, _ = faircrowd("aggregate", table, "--method", "jury", "--no-report", "--out", tmp_path / "out")
    assert (code, "4 tasks, 2 workers, 2 classes" in text) == (0, True)
