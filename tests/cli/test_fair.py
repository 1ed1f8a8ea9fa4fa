"""Fair labels on the command line."""

import json
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

import faircrowd as fc

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="module")
def crowd(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("fair")
    drawn = fc.simulate_crowd(400, 20, random_state=5)
    drawn.votes.to_csv(folder / "votes.csv", index=False)
    tasks = pd.DataFrame({"group": drawn.sensitive_features.map({0: "a", 1: "b"}), "truth": drawn.truth})
    tasks.rename_axis("task").to_csv(folder / "tasks.csv")
    return folder


def arguments(crowd: Path, out: Path, *more: str) -> tuple:
    return ("aggregate", crowd / "votes.csv", "--tasks", crowd / "tasks.csv", "--group", "group", "--out", out, *more)


def test_aggregate_with_epsilon_writes_what_python_returns(crowd: Path, tmp_path: Path, faircrowd: Run) -> None:
    code, out, err = faircrowd(*arguments(crowd, tmp_path / "run", "--epsilon", "0.05", "--by-group"))
    assert (code, err) == (0, "")
    groups = pd.read_csv(crowd / "tasks.csv", index_col="task")["group"]
    model = fc.FairCrowd(fc.DawidSkene(by_group=True, pooling="learned"), epsilon=0.05)
    model.fit(crowd / "votes.csv", sensitive_features=groups)
    labels = pd.read_csv(tmp_path / "run" / "labels.csv", index_col="task")
    assert labels["label"].to_dict() == model.labels_.to_dict()
    assert labels["label_before"].to_dict() == model.estimator_.labels_.to_dict()
    assert (labels["changed"] == (labels["label"] != labels["label_before"])).all()
    rates = labels["label"].groupby(labels["group"]).mean()
    assert abs(rates["b"] - rates["a"]) <= 0.05
    certificate = json.loads((tmp_path / "run" / "certificate.json").read_text())
    assert certificate["gap"] == pytest.approx(abs(rates["b"] - rates["a"]))
    assert certificate["changed"] == labels["changed"].sum()
    rule = fc.FairRule.from_json((tmp_path / "run" / "rule.json").read_text())
    assert rule.to_json() == model.rule_.to_json()
    said = f"the gap fell from {certificate['gap_before']:.3f} to {certificate['gap']:.3f} (epsilon 0.05)"
    assert said in out


def test_json_holds_the_certificate(crowd: Path, tmp_path: Path, faircrowd: Run) -> None:
    _, out, _ = faircrowd(*arguments(crowd, tmp_path / "run", "--epsilon", "0.1", "--method", "majority", "--json"))
    said = json.loads(out)
    assert said["certificate"] == json.loads((tmp_path / "run" / "certificate.json").read_text())
    assert said["gap"] == said["certificate"]["gap"] <= 0.1
    assert said["options"]["epsilon"] == 0.1


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--epsilon", "2"], "--epsilon must be a number from 0 to 1; got 2.0"),
        (["--epsilon", "-1"], "--epsilon must be a number from 0 to 1"),
        (["--epsilon", "5%"], "Invalid value for '--epsilon'"),
        (["--epsilon", "nan"], "--epsilon must be a number from 0 to 1"),
        (["--epsilon", "0.1", "--objective", "f2"], "--objective f2 is not known"),
        (["--epsilon", "0.1", "--decision", "coin"], "--decision coin is not known"),
        (["--epsilon", "0.1", "--positive", "1"], "--positive is the class whose F1 is maximised; give --objective f1"),
        (["--epsilon", "0.1", "--objective", "f1", "--positive", "x"], "--positive x is not one of the classes, 0, 1"),
    ],
)
def test_bad_options(more: list[str], message: str, crowd: Path, tmp_path: Path, faircrowd: Run) -> None:
    code, out, err = faircrowd(*arguments(crowd, tmp_path / "run", *more))
    assert (code, out) == (2, "")
    assert message in err
    assert not (tmp_path / "run").exists()


def test_epsilon_needs_groups(crowd: Path, tmp_path: Path, faircrowd: Run) -> None:
    code, _, err = faircrowd("aggregate", crowd / "votes.csv", "--epsilon", "0.1", "--out", tmp_path / "run")
    assert code == 2
    assert "give --group COLUMN" in err
