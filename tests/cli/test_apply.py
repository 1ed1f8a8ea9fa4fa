"""A rule on new tasks, and what every epsilon would cost."""

import hashlib
import json
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import faircrowd as fc

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="module")
def crowd(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two batches of one crowd's votes: a, labelled fairly, and b, which is new."""
    folder = tmp_path_factory.mktemp("apply")
    drawn = fc.simulate_crowd(600, 20, random_state=5)
    names = drawn.sensitive_features.map({0: "left", 1: "right"})
    for name, tasks in {"a": range(400), "b": range(400, 600)}.items():
        drawn.votes[drawn.votes["task"].isin(tasks)].to_csv(folder / f"{name}.csv", index=False)
        facts = pd.DataFrame({"side": names.loc[tasks], "truth": drawn.truth.loc[tasks]})
        facts.rename_axis("task").to_csv(folder / f"{name}_tasks.csv")
    from faircrowd.cli.app import run

    given = ["aggregate", folder / "a.csv", "--tasks", folder / "a_tasks.csv", "--group", "side", "--by-group"]
    assert run([*map(str, given), "--epsilon", "0.05", "--out", str(folder / "run")]) == 0
    return folder


def test_apply_does_what_python_does(crowd: Path, tmp_path: Path, faircrowd: Run) -> None:
    out = tmp_path / "deep" / "new.csv"
    code, said, err = faircrowd(
        "apply", crowd / "run" / "rule.json", crowd / "b.csv", "--tasks", crowd / "b_tasks.csv", "--out", out
    )
    assert (code, err) == (0, "")
    sides = {name: pd.read_csv(crowd / f"{name}_tasks.csv", index_col="task")["side"] for name in "ab"}
    fair = fc.FairCrowd(fc.DawidSkene(by_group=True, pooling="learned"), epsilon=0.05)
    fair.fit(crowd / "a.csv", sensitive_features=sides["a"])
    expected = fair.predict(crowd / "b.csv", sensitive_features=sides["b"])
    labels = pd.read_csv(out, index_col="task")
    assert labels["label"].to_dict() == expected.to_dict()
    assert (labels["changed"] == (labels["label"] != labels["label_before"])).all()
    rates = labels["label"].groupby(labels["group"]).mean()
    assert f"gap     {abs(rates['left'] - rates['right']):.3f} on these tasks" in said
    posterior = fair.predict_proba(crowd / "b.csv", sensitive_features=sides["b"])
    pd.testing.assert_series_equal(labels["posterior_1"], posterior[1], check_names=False, check_index_type=False)
    code, said, _ = faircrowd(
        "apply", crowd / "run" / "rule.json", crowd / "b.csv", "--tasks", crowd / "b_tasks.csv", "--out", out, "--json"
    )
    assert json.loads(said)["changed"] == labels["changed"].sum()


def test_apply_gives_reasons_and_evidence(crowd: Path, tmp_path: Path, faircrowd: Run) -> None:
    rule, out = crowd / "run" / "rule.json", tmp_path / "new.csv"
    code, said, _ = faircrowd("apply", rule, crowd / "b.csv", "--tasks", crowd / "b_tasks.csv", "--out", out)
    assert code == 0
    assert f"wrote   {out}, new.csv.evidence.json" in said
    labels = pd.read_csv(out)
    learned = fc.FairRule.from_json(rule.read_text())
    thresholds = dict(zip(learned.groups, learned.thresholds, strict=True))
    assert labels["threshold"].tolist() == pytest.approx([thresholds[side] for side in labels["group"]], abs=0)
    for row in labels.itertuples():
        side = "above" if row.label == 1 else "below"
        of = f"kept: its posterior of 1 is {side} group {row.group}'s threshold {row.threshold:.4g}"
        aim = f"changed from {row.label_before} to {row.label} by group {row.group}'s rule, which was learned to bring"
        assert row.why.startswith(f"{aim} rates within 0.05; ") if row.changed else row.why == of
        assert (row.posterior_1 > row.threshold) == (row.label == 1)
    kinds = labels[labels["changed"]].groupby(["group", "label_before", "label"])
    for _, kind in kinds:
        ranks = kind["why"].str.extract(r"number (\d+) of (\d+) such changes, the least certain first$").astype(float)
        assert sorted(ranks[0].fillna(1)) == list(range(1, len(kind) + 1))
        assert set(ranks[1].fillna(1)) == {len(kind)}
    found = json.loads((tmp_path / "new.csv.evidence.json").read_text())
    assert (found["kind"], found["command"], found["certificate"]) == ("faircrowd.evidence", "apply", None)
    given = {"rule": rule, "votes": crowd / "b.csv", "tasks": crowd / "b_tasks.csv"}
    given |= {name: crowd / "run" / name for name in ("model.json", "model.npz")}
    assert found["inputs"].keys() == given.keys()
    for role, path in given.items():
        assert found["inputs"][role]["sha256"] == hashlib.sha256(path.read_bytes()).hexdigest()
    assert found["outputs"] == {"new.csv": hashlib.sha256(out.read_bytes()).hexdigest()}
    assert found["options"]["group"] == ["side"]
    assert (crowd / "run" / "evidence.json").exists()


def test_the_evidence_of_a_run_is_not_replaced_by_that_of_a_file(crowd: Path, tmp_path: Path, faircrowd: Run) -> None:
    """Labels of new tasks may lie in the folder of the run."""
    folder = shutil.copytree(crowd / "run", tmp_path / "run")
    given = (folder / "rule.json", crowd / "b.csv", "--tasks", crowd / "b_tasks.csv")
    before = (folder / "evidence.json").read_bytes()
    assert faircrowd("apply", *given, "--out", folder / "new.csv")[0] == 0
    assert (folder / "evidence.json").read_bytes() == before
    code, _, err = faircrowd("apply", *given, "--out", folder / "model.npz")
    assert (code, "would overwrite the input" in err) == (2, True)


def test_ties_of_rounded_posteriors(tmp_path: Path, faircrowd: Run) -> None:
    """A rule learned from majority votes keeps its gap in ``apply``, and on the posteriors of labels.csv, rounded."""
    drawn = fc.simulate_crowd(4000, 30, 3, random_state=2)
    votes = drawn.votes.assign(group=drawn.sensitive_features.loc[drawn.votes["task"]].to_numpy())
    votes.to_csv(tmp_path / "votes.csv", index=False)
    given = ("--group", "group", "--method", "majority", "--epsilon", "0.02", "--out", tmp_path / "run")
    assert faircrowd("aggregate", tmp_path / "votes.csv", *given, "--no-report")[0] == 0
    rule_file = tmp_path / "run" / "rule.json"
    assert faircrowd("apply", rule_file, tmp_path / "votes.csv", "--out", tmp_path / "new.csv")[0] == 0
    applied = pd.read_csv(tmp_path / "new.csv", index_col="task")
    rates = applied["label"].groupby(applied["group"]).mean()
    assert abs(rates[0] - rates[1]) < 0.05  # tied tasks are drawn
    rule = fc.FairRule.from_json(rule_file.read_text())
    posterior = applied[["posterior_0", "posterior_1"]].set_axis([0, 1], axis=1)
    for rounded in (posterior, posterior.round(6), posterior.astype("float32")):
        assert (rule.predict(rounded, applied["group"]) == applied["label"]).all()


def test_unknown_groups_and_workers_are_reported(crowd: Path, tmp_path: Path, faircrowd: Run) -> None:
    votes, tasks = pd.read_csv(crowd / "b.csv"), pd.read_csv(crowd / "b_tasks.csv")
    votes.loc[votes.index[:40], "worker"] = 999
    tasks.loc[tasks.index[:7], "side"] = "middle"
    votes.to_csv(tmp_path / "b.csv", index=False)
    tasks.to_csv(tmp_path / "t.csv", index=False)
    given = (
        crowd / "run" / "rule.json",
        tmp_path / "b.csv",
        "--tasks",
        tmp_path / "t.csv",
        "--out",
        tmp_path / "o.csv",
    )
    code, _, err = faircrowd("apply", *given)
    assert code == 2
    assert "groups that were not seen in fit: ['middle']" in err
    assert not (tmp_path / "o.csv").exists()


def test_unknown_groups_by_a_model_without_groups(crowd: Path, tmp_path: Path, faircrowd: Run) -> None:
    base = ("aggregate", crowd / "a.csv", "--tasks", crowd / "a_tasks.csv", "--group", "side", "--method", "majority")
    assert faircrowd(*base, "--epsilon", "0.05", "--out", tmp_path / "run")[0] == 0
    tasks = pd.read_csv(crowd / "b_tasks.csv")
    tasks.loc[tasks.index[:7], "side"] = "middle"
    tasks.to_csv(tmp_path / "t.csv", index=False)
    given = ("apply", tmp_path / "run" / "rule.json", crowd / "b.csv", "--tasks", tmp_path / "t.csv")
    code, _, err = faircrowd(*given, "--out", tmp_path / "o.csv")
    assert code == 2
    assert "7 tasks are of groups that the rule does not know: 'middle'" in err
    code, said, _ = faircrowd(*given, "--out", tmp_path / "o.csv", "--unknown", "own", "--json")
    assert code == 0
    assert json.loads(said)["tasks_of_unknown_groups"] == 7
    labels = pd.read_csv(tmp_path / "o.csv")
    assert not labels.loc[labels["group"] == "middle", "changed"].any()
    assert set(labels["why"][labels["group"] == "middle"]) == {"kept: the rule does not know group middle"}
    assert not labels["why"][labels["group"] != "middle"].str.contains("middle").any()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"rule": "nowhere.json"}, "nowhere.json cannot be read"),
        ({"rule": "run/labels.csv"}, "not a rule of faircrowd"),
        ({"out": "."}, "is a folder; name a file"),
        ({"out": "b.csv"}, "would overwrite the input"),
        ({"votes": "b_tasks.csv"}, "looks like a table of tasks, not of votes"),
        ({"more": ["--group", "sode"]}, "No column 'sode'"),
        ({"more": ["--unknown", "maybe"]}, "--unknown maybe is not known"),
    ],
)
def test_bad_input(change: dict, message: str, crowd: Path, faircrowd: Run) -> None:
    at = {"rule": "run/rule.json", "votes": "b.csv", "out": "o.csv", "more": [], **change}
    arguments = ["apply", crowd / at["rule"], crowd / at["votes"], "--tasks", crowd / "b_tasks.csv"]
    code, out, err = faircrowd(*arguments, "--out", crowd / at["out"], *at["more"])
    assert (code, out) == (2, "")
    assert message in err
    assert not (crowd / "o.csv").exists()


def test_frontier(crowd: Path, tmp_path: Path, faircrowd: Run) -> None:
    given = ("frontier", crowd / "a.csv", "--tasks", crowd / "a_tasks.csv", "--group", "side", "--by-group")
    code, said, err = faircrowd(*given, "--out", tmp_path / "f")
    assert (code, err) == (0, "")
    assert "points and the straight lines between them, exact." in said
    path = pd.read_csv(tmp_path / "f" / "bound.csv")
    sides = pd.read_csv(crowd / "a_tasks.csv", index_col="task")["side"]
    fair = fc.FairCrowd(fc.DawidSkene(by_group=True, pooling="learned")).fit(crowd / "a.csv", sensitive_features=sides)
    assert path["believed_accuracy"].tolist() == pytest.approx(fair.frontier_.believed_accuracy.tolist())
    assert (tmp_path / "f" / "frontier.png").read_bytes().startswith(b"\x89PNG")
    assert "<svg" in (tmp_path / "f" / "frontier.svg").read_text()
    code, said, _ = faircrowd(*given, "--out", tmp_path / "f", "--json", "--objective", "f1")
    points = json.loads(said)["points"]
    assert [point["epsilon"] for point in points] == sorted(point["epsilon"] for point in points)
    assert all(point["value"] <= point["bound"] + 1e-9 for point in points if point["gap"] <= point["epsilon"])
    said = faircrowd(*given, "--out", tmp_path / "f", "--objective", "f1")[1]
    assert "The last line is the labels of the highest believed f1" in said
    code, _, err = faircrowd("frontier", crowd / "a.csv", "--out", tmp_path / "g")
    assert code == 2
    assert "give --group COLUMN" in err


def test_frontier_with_truth(crowd: Path, tmp_path: Path, faircrowd: Run) -> None:
    """Real accuracy stands beside the believed one in the table, the CSV, the JSON and the chart."""
    tasks = pd.read_csv(crowd / "a_tasks.csv", index_col="task")
    given = ("frontier", crowd / "a.csv", "--tasks", crowd / "a_tasks.csv", "--group", "side", "--truth", "truth")
    code, said, err = faircrowd(*given, "--out", tmp_path / "f")
    assert (code, err) == (0, "")
    model = fc.DawidSkene(pooling="learned").fit(crowd / "a.csv")
    right = (model.labels_ == tasks["truth"]).mean()
    path = pd.read_csv(tmp_path / "f" / "frontier.csv")
    assert list(path) == ["epsilon", "gap", "believed_accuracy", "real_accuracy", "labels_changed", "bound"]
    assert path["real_accuracy"].iloc[-1] == pytest.approx(right)
    assert list(pd.read_csv(tmp_path / "f" / "bound.csv")) == ["epsilon", "believed_accuracy"]
    rates = tasks["truth"].groupby(tasks["side"]).mean()
    assert f"true gap  {np.ptp(rates):.3f} between the true labels" in said
    last = next(line for line in said.splitlines()[::-1] if line.endswith("0.0%"))
    assert last.split()[3] == f"{right:.2%}"
    drawn = (tmp_path / "f" / "frontier.svg").read_text()
    assert ">believed<" in drawn
    assert ">real<" in drawn
    found = json.loads(faircrowd(*given, "--out", tmp_path / "f", "--json")[1])
    assert found["points"][-1]["real_accuracy"] == pytest.approx(right)
    assert found["truth_gap"] == pytest.approx(np.ptp(rates))
    code, said, _ = faircrowd(*given, "--method", "bayes", "--out", tmp_path / "g")
    assert code == 0
    assert "bayes learned from the truth" in said
    assert "learned from the truth" not in faircrowd(*given[:-2], "--out", tmp_path / "h")[1]  # there is none
    assert "real_accuracy" not in pd.read_csv(tmp_path / "g" / "frontier.csv")


def test_groups_that_the_gap_is_not_about_are_named(crowd: Path, tmp_path: Path, faircrowd: Run) -> None:
    for name in "ab":
        tasks = pd.read_csv(crowd / f"{name}_tasks.csv")
        tasks.loc[tasks.index[:7], "side"] = "middle"
        tasks.to_csv(tmp_path / f"{name}.csv", index=False)
    base = ("aggregate", crowd / "a.csv", "--tasks", tmp_path / "a.csv", "--group", "side", "--method", "majority")
    assert faircrowd(*base, "--epsilon", "0.05", "--no-report", "--out", tmp_path / "run")[0] == 0
    given = ("apply", tmp_path / "run" / "rule.json", crowd / "b.csv", "--tasks", tmp_path / "b.csv")
    code, said, _ = faircrowd(*given, "--out", tmp_path / "o.csv")
    assert code == 0
    assert "note    7 tasks of group 'middle' left out of the gap: left out of the rule, too\n" in said
    found = json.loads(faircrowd(*given, "--out", tmp_path / "o.csv", "--json")[1])
    assert found["left_out"] == {"middle": "left out of the rule, too"}
    tasks = pd.read_csv(tmp_path / "b.csv").assign(side="left")
    tasks.to_csv(tmp_path / "b.csv", index=False)
    code, said, _ = faircrowd(*given, "--out", tmp_path / "o.csv")
    assert code == 0
    assert "note    the gap of these tasks is not known: fewer than two groups are left to compare\n" in said


def test_a_gap_above_its_epsilon_is_explained_below_the_frontier(tmp_path: Path, faircrowd: Run) -> None:
    """Groups of 23 and 31 tasks cannot have equal rates, unless all tasks have one label."""
    drawn = fc.simulate_crowd(54, 9, random_state=2)
    drawn.votes.assign(side=drawn.votes["task"] < 23).to_csv(tmp_path / "v.csv", index=False)
    given = ("frontier", tmp_path / "v.csv", "--group", "side", "--method", "majority", "--out", tmp_path / "f")
    code, said, _ = faircrowd(*given)
    path = pd.read_csv(tmp_path / "f" / "frontier.csv")
    assert code == 0
    assert (path["gap"] > path["epsilon"] + 1e-9).any()
    words = " ".join(said.split())
    assert "it is above by less than one task of the smallest group, which has 23." in words
