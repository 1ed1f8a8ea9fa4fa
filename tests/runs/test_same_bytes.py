"""``FairCrowd.write`` writes what ``faircrowd aggregate`` writes, byte by byte, for the same inputs and options."""

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import faircrowd as fc
from faircrowd.runs.wording import spoken

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Votes of two and of three classes on the same tasks, which have two group columns and a truth."""
    folder, rng = tmp_path_factory.mktemp("same"), np.random.default_rng(7)
    task, worker = np.repeat(np.arange(180), 6), rng.integers(0, 15, 180 * 6)
    gender, side = np.arange(180) % 2, rng.integers(0, 2, 180)
    for n_classes in (2, 3):
        truth = (rng.random(180) + 0.25 * gender > 0.6).astype(int) + (n_classes > 2) * rng.integers(0, 2, 180)
        votes = np.where(rng.random(task.size) < 0.7, truth[task], rng.integers(0, n_classes, task.size))
        frame = pd.DataFrame({"item": task, "worker": worker, "label": votes}).drop_duplicates(["item", "worker"])
        frame.to_csv(folder / f"votes{n_classes}.csv", index=False)
        gold = np.where(rng.random(180) < 0.4, truth, np.nan)
        tasks = pd.DataFrame({"item": range(180), "gender": gender, "side": side, "truth": truth, "gold": gold})
        tasks.to_csv(folder / f"tasks{n_classes}.csv", index=False)
    return folder


def without_seconds(path: Path) -> Any:
    """The one thing that two runs do not share: how long the solver took, and the hash of the file that says so."""
    found = json.loads(path.read_text(encoding="utf-8"))
    found.pop("seconds", None)
    if path.name == "evidence.json":
        found["certificate"].pop("seconds")
        found["outputs"].pop("certificate.json")
    return found


def assert_same(first: Path, second: Path) -> None:
    names = sorted(path.name for path in first.iterdir())
    assert names == sorted(path.name for path in second.iterdir())
    for name in names:
        if name in ("certificate.json", "evidence.json"):  # all that verify takes at its word, too: MEASURED
            assert without_seconds(first / name) == without_seconds(second / name), name
        else:
            assert (first / name).read_bytes() == (second / name).read_bytes(), name


CASES: dict[str, tuple[int, list[str], dict[str, Any], fc.FairCrowd]] = {
    "two classes": (
        2,
        ["--group", "gender"],
        {"sensitive_features": "gender"},
        fc.FairCrowd(fc.DawidSkene(pooling="learned")),
    ),
    "two classes, four groups": (
        2,
        ["--group", "gender", "--group", "side", "--by-group", "--method", "one-coin"],
        {"sensitive_features": ["gender", "side"]},
        fc.FairCrowd(fc.OneCoinDawidSkene(by_group=True)),
    ),
    "three classes": (
        3,
        ["--group", "gender", "--method", "majority", "--ties", "last", "--decision", "randomized"],
        {"sensitive_features": ["gender"]},
        fc.FairCrowd(fc.MajorityVote(ties="last"), decision="randomized"),
    ),
    "three classes, four groups, known labels": (
        3,
        ["--group", "gender", "--group", "side", "--method", "bayes", "--gold", "truth", "--random-state", "3"],
        {"sensitive_features": ["gender", "side"], "true_labels": "truth"},
        fc.FairCrowd(fc.BayesVote(), random_state=3),
    ),
    "two classes, no pooling": (
        2,
        ["--group", "gender", "--pooling", "none"],
        {"sensitive_features": "gender"},
        fc.FairCrowd(fc.DawidSkene()),
    ),
    "calibrated": (
        3,
        ["--group", "gender", "--calibrate", "gold"],
        {"sensitive_features": "gender", "true_labels": "gold"},
        fc.FairCrowd(fc.CalibratedCrowd()),
    ),
    "one calibrated aggregator": (
        2,
        ["--group", "gender", "--calibrate", "gold", "--method", "dawid-skene", "--by-group"],
        {"sensitive_features": "gender", "true_labels": "gold"},
        fc.FairCrowd(fc.CalibratedCrowd(fc.DawidSkene(pooling="learned", by_group=True))),
    ),
}


@pytest.mark.parametrize(
    ("name", "with_truth"),
    # The scores of a truth do not depend on how labels were made, so that few runs are tried without them.
    [*((name, True) for name in CASES), ("two classes", False), ("three classes, four groups, known labels", False)],
)
def test_the_same_files(name: str, with_truth: bool, place: Path, tmp_path: Path, faircrowd: Run) -> None:
    n_classes, more, given, fair = CASES[name]
    votes, tasks = place / f"votes{n_classes}.csv", place / f"tasks{n_classes}.csv"
    more = [*more, "--task", "item", *(["--truth", "truth"] if with_truth else [])]
    arguments = ("aggregate", votes, "--tasks", tasks, *more, "--epsilon", "0.05", "--out", tmp_path / "command")
    code, out, err = faircrowd(*arguments)
    assert (code, err) == (0, "")
    fair.fit(str(votes), tasks=tasks, read_options={"task": "item"}, **given)
    fair.write(tmp_path / "python", truth="truth" if with_truth else None)
    assert_same(tmp_path / "command", tmp_path / "python")
    fair.report(tmp_path / "page.html", truth="truth" if with_truth else None)
    assert (tmp_path / "page.html").read_bytes() == (tmp_path / "python" / "report.html").read_bytes()
    lines = fair.summary(truth="truth" if with_truth else None).splitlines()
    assert [spoken(line) for line in lines] == out.splitlines()[:-1]  # all but what was written
    code, out, _ = faircrowd("verify", tmp_path / "python", "--json")
    assert (code, json.loads(out)["differences"]) == (0, [])


def test_groups_in_the_votes_need_no_tasks(place: Path, tmp_path: Path, faircrowd: Run) -> None:
    votes = pd.read_csv(place / "votes2.csv").rename(columns={"item": "task"})
    votes.assign(gender=votes["task"] % 2).to_csv(tmp_path / "votes.csv", index=False)
    arguments = ("aggregate", tmp_path / "votes.csv", "--group", "gender", "--epsilon", "0.1", "--no-report")
    assert faircrowd(*arguments, "--out", tmp_path / "command")[0] == 0
    fair = fc.FairCrowd(fc.DawidSkene(pooling="learned"), epsilon=0.1).fit(
        tmp_path / "votes.csv", sensitive_features="gender"
    )
    fair.write(str(tmp_path / "python"), report=False)
    assert_same(tmp_path / "command", tmp_path / "python")


def files(place: Path) -> dict[str, Any]:
    return {"sensitive_features": "gender", "tasks": place / "tasks2.csv", "read_options": {"task": "item"}}


def test_inputs_in_memory_are_described(place: Path, tmp_path: Path, faircrowd: Run) -> None:
    votes = pd.read_csv(place / "votes2.csv")
    tasks = pd.read_csv(place / "tasks2.csv").set_index("item")
    fair = fc.FairCrowd(fc.DawidSkene(), epsilon=0.05)
    fair.fit(votes, sensitive_features=tasks["gender"], read_options={"task": "item"})
    fair.write(tmp_path / "memory", truth=tasks["truth"])
    given = {"sensitive_features": "gender", "tasks": place / "tasks2.csv", "read_options": {"task": "item"}}
    fc.FairCrowd(fc.DawidSkene(), epsilon=0.05).fit(place / "votes2.csv", **given).write(
        tmp_path / "files", truth="truth"
    )
    for name in ("labels.csv", "workers.csv", "rule.json", "model.json", "model.npz"):
        assert (tmp_path / "memory" / name).read_bytes() == (tmp_path / "files" / name).read_bytes(), name
    said = json.loads((tmp_path / "memory" / "evidence.json").read_text())
    assert (said["options"]["votes"], said["options"]["group"]) == (None, None)
    assert set(said["inputs"]) == {"votes", "sensitive_features", "truth"}
    found = said["inputs"]["votes"]
    assert (found["rows"], found["columns"]) == (len(votes), ["item", "worker", "label"])
    assert said["inputs"]["sensitive_features"]["columns"] == ["gender"]
    for role, path in (("votes", place / "votes2.csv"), ("truth", place / "tasks2.csv")):
        assert len(said["inputs"][role]["sha256"]) == 64
        assert said["inputs"][role]["sha256"] != hashlib.sha256(path.read_bytes()).hexdigest()
    page = (tmp_path / "memory" / "report.html").read_text(encoding="utf-8")
    assert "FairCrowd(DawidSkene(), epsilon=0.05).fit(votes, sensitive_features=groups, read_options=" in page
    code, out, err = faircrowd("verify", tmp_path / "memory")
    assert (code, err) == (2, "")
    assert out.startswith("in part      12 checks: outputs unchanged, and what can be recomputed is alike\n")
    assert "not checked  votes, sensitive features and truth of this run were given in memory" in out


def test_the_hash_is_that_of_the_content(place: Path, tmp_path: Path) -> None:
    votes = pd.read_csv(place / "votes2.csv").rename(columns={"item": "task"})
    groups = pd.read_csv(place / "tasks2.csv").set_index("item")["gender"]

    def hashes(votes: Any, groups: Any) -> dict[str, str]:
        fc.FairCrowd(fc.MajorityVote()).fit(votes, sensitive_features=groups).write(tmp_path / "run", report=False)
        said = json.loads((tmp_path / "run" / "evidence.json").read_text())
        return {role: given["sha256"] for role, given in said["inputs"].items()}

    first = hashes(votes, groups)
    assert hashes(votes.sample(frac=1, random_state=0), groups.sort_index(ascending=False)) == first
    changed = votes.assign(label=votes["label"].where(votes.index != 5, 1 - votes["label"]))
    other = hashes(changed, groups)
    assert (other["votes"] == first["votes"], other["sensitive_features"]) == (False, first["sensitive_features"])
    swapped = hashes(votes, groups.where(groups.index != 3, 1 - groups))
    assert (swapped["sensitive_features"] == first["sensitive_features"], swapped["votes"]) == (False, first["votes"])


def test_a_run_scores_a_truth_of_any_form(place: Path) -> None:
    truth = pd.read_csv(place / "tasks2.csv").set_index("item")["truth"]
    fair = fc.FairCrowd(fc.MajorityVote(), epsilon=0.2)
    fair.fit(
        place / "votes2.csv", sensitive_features="gender", tasks=place / "tasks2.csv", read_options={"task": "item"}
    )
    texts = {fair.summary(truth=given) for given in ("truth", truth, truth.to_dict())}
    assert len(texts) == 1
    right = float((fair.labels_ == truth).mean())
    assert f"accuracy   {right:.1%} of the 180 tasks whose truth is known" in texts.pop()
    assert "accuracy  " not in fair.summary()
    learned = fc.FairCrowd(fc.BayesVote()).fit(
        place / "votes2.csv",
        truth,
        sensitive_features="gender",
        tasks=place / "tasks2.csv",
        read_options={"task": "item"},
    )
    assert "it learned from (not a test)" in learned.summary(truth=truth)


def test_what_cannot_be_written(place: Path, tmp_path: Path) -> None:
    groups = np.arange(4) % 2
    posterior = fc.FairCrowd(epsilon=0.5, min_group=1).fit([[0.5, 0.5]] * 4, sensitive_features=groups)
    with pytest.raises(fc.errors.InputError, match="Only a FairCrowd with one of faircrowd's aggregators"):
        posterior.write(tmp_path / "run")
    with pytest.raises(fc.errors.NotFittedError):
        fc.FairCrowd(fc.MajorityVote()).summary()
    fair = fc.FairCrowd(fc.MajorityVote())
    votes = pd.read_csv(place / "votes2.csv").rename(columns={"item": "task"})
    fair.fit(votes, sensitive_features=pd.Series(range(180)) % 2)
    with pytest.raises(fc.errors.InputError, match=r"truth='truth' names a column of the tasks"):
        fair.write(tmp_path / "run", truth="truth")
    with pytest.raises(fc.errors.InputError, match=r"No task of the votes has a value in truth"):
        fair.write(tmp_path / "run", truth={"nobody": 1})
    assert not (tmp_path / "run").exists()
    votes.to_csv(tmp_path / "labels.csv", index=False)
    fair.fit(tmp_path / "labels.csv", sensitive_features=pd.Series(range(180)) % 2)
    with pytest.raises(fc.errors.OptionError, match="would overwrite the input"):
        fair.write(tmp_path)
