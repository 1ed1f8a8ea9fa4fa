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


# Groups that are not compared, and labels that are ruined


@pytest.fixture
def rare(crowd: Path, tmp_path: Path) -> Path:
    """The crowd with three tasks of a group of their own, and two without one."""
    tasks = pd.read_csv(crowd / "tasks.csv")
    tasks.loc[:2, "group"] = "rare"
    tasks.loc[3:4, "group"] = None
    tasks.to_csv(tmp_path / "tasks.csv", index=False)
    (tmp_path / "votes.csv").write_bytes((crowd / "votes.csv").read_bytes())
    return tmp_path


def test_small_and_missing_groups_are_reported_everywhere_and_repeated(rare: Path, faircrowd: Run) -> None:
    given = arguments(rare, rare / "run", "--epsilon", "0.05", "--method", "majority")
    code, out, err = faircrowd(*given)
    assert (code, out) == (2, "")
    assert "2 of 400 tasks have no group: 3, 4; give each task a group, or leave these tasks out" in err
    assert "--on-missing-group drop" in err
    code, out, err = faircrowd(*given, "--on-missing-group", "drop")
    assert (code, err) == (0, "")
    assert "group rare     3 tasks, " in out
    assert "; left out of the gap: fewer than 10 tasks" in out
    assert "note           2 tasks of group 'missing' left out of the gap: no group is known" in out
    labels = pd.read_csv(rare / "run" / "labels.csv", index_col="task")
    assert (labels["group"][:5] == ["rare"] * 3 + ["missing"] * 2).all()
    assert not labels["changed"][:5].any()
    assert labels["why"][0] == "kept: group rare is left out of the gap (fewer than 10 tasks)"
    rates = labels[labels["group"].isin(["a", "b"])].groupby("group")["label"].mean()
    certificate = json.loads((rare / "run" / "certificate.json").read_text())
    assert certificate["gap"] == pytest.approx(rates.max() - rates.min())
    assert certificate["left_out"] == {"missing": "no group is known", "rare": "fewer than 10 tasks"}
    assert set(certificate["rates"]) == {"a", "b", "rare", "missing"}
    page = (rare / "run" / "report.html").read_text()
    assert "3 tasks of group &#39;rare&#39; left out of the gap: fewer than 10 tasks" in page
    assert "--on-missing-group drop" in page  # how to repeat it
    code, out, err = faircrowd("verify", rare / "run")
    assert (code, err) == (0, "")
    assert out.startswith("verified")


def test_small_groups_merged_streamed_and_in_memory(rare: Path, faircrowd: Run) -> None:
    more = ("--epsilon", "0.05", "--on-missing-group", "own", "--small-groups", "merge", "--min-group", "5")
    found = {}
    for engine in ("memory", "stream"):
        out = rare / engine
        code, said, err = faircrowd(*arguments(rare, out, *more, "--no-report", "--engine", engine))
        assert (code, err) == (0, "")
        assert "note         2 small groups merged into 'other': 'rare', 'missing'" in said
        found[engine] = [(out / name).read_bytes() for name in ("labels.csv", "rule.json")]
    assert found["memory"] == found["stream"]
    assert json.loads(found["memory"][1])["merged"] == ["rare", "missing"]
    code, out, err = faircrowd(*arguments(rare, rare / "run", *more[:-4], "--small-groups", "error"))
    assert (code, out) == (2, "")
    assert "2 of 4 groups have fewer than 10 tasks: 'rare' (3), 'missing' (2); lower --min-group" in err


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--min-group", "0"], "--min-group must be a whole number of at least 1; got 0"),
        (["--small-groups", "keep"], "--small-groups keep is not known; use one of 'leave-out', 'merge', 'error'"),
        (["--on-missing-group", "keep"], "--on-missing-group keep is not known; use one of 'error', 'drop', 'own'"),
        (["--min-group", "300"], "0 of 2 are left to compare"),
        (["--out", ""], "Invalid value for '--out': it is empty"),
    ],
)
def test_bad_policies(more: list[str], message: str, crowd: Path, tmp_path: Path, faircrowd: Run) -> None:
    code, out, err = faircrowd(*arguments(crowd, tmp_path / "run", "--epsilon", "0.1", *more))
    assert (code, out) == (2, "")
    assert message in err


def test_the_frontier_leaves_small_groups_out(rare: Path, faircrowd: Run) -> None:
    inputs = ("--tasks", rare / "tasks.csv", "--group", "group", "--on-missing-group", "drop", "--method", "majority")
    code, out, err = faircrowd("frontier", rare / "votes.csv", *inputs, "--out", rare / "frontier")
    assert (code, err) == (0, "")
    assert "points and the straight lines between them, exact." in out
    assert "3 tasks of group 'rare' left out of the gap: fewer than 10 tasks" in out


def test_ruined_labels_are_a_loud_warning(tmp_path: Path, faircrowd: Run) -> None:
    """Two groups that the crowd labels in opposite ways: parity changes half of the labels."""
    rows = [
        (task, worker, "yes" if (task % 2 == 0) != (worker == 0 and task % 5 == 0) else "no")
        for task in range(200)
        for worker in range(3)
    ]
    pd.DataFrame(rows, columns=["task", "worker", "label"]).to_csv(tmp_path / "votes.csv", index=False)
    pd.DataFrame({"task": range(200), "group": ["a", "b"] * 100}).to_csv(tmp_path / "tasks.csv", index=False)
    code, out, err = faircrowd(*arguments(tmp_path, tmp_path / "run", "--epsilon", "0.1", "--method", "majority"))
    assert (code, err) == (0, "")
    (line,) = [line for line in out.splitlines() if line.startswith("warning")]
    assert "of 200 labels (" in line
    assert "were changed, to bring the gap from 1.000 to 0.100, at " in line
    assert "What to do: --epsilon 0.5 avoids it" in line
    assert "--calibrate COLUMN" in line
    page = (tmp_path / "run" / "report.html").read_text()
    assert '<p class="alarm" role="alert">' in page
    code, out, err = faircrowd(
        *arguments(tmp_path, tmp_path / "run", "--epsilon", "0.5", "--method", "majority", "--json", "--no-report")
    )
    assert (code, err) == (0, "")
    said = json.loads(out)
    assert said["warnings"] == []
    replaced = f"the files of an earlier run in {tmp_path / 'run'} were replaced: labels.csv, "
    removed = f"files of an earlier run that this one does not write were removed from {tmp_path / 'run'}: report.html"
    at = said["notes"].index(removed)
    assert said["notes"][at - 1].startswith(replaced)
