"""The commands, run as people run them: what they print, what they write."""

import csv
import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import faircrowd as fc
from faircrowd.aggregate.registry import AGGREGATORS

Run = Callable[..., tuple[int, str, str]]
Spawn = Callable[..., subprocess.CompletedProcess[str]]


def read_csv(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


def lines_of(text: str) -> dict[str, str]:
    """A printed summary as a dict of heading and text."""
    return dict(re.split(r"\s{2,}", line, maxsplit=1) for line in text.splitlines())


@pytest.fixture(scope="module")
def crowd(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with votes.csv and tasks.csv of a small simulated crowd."""
    folder = tmp_path_factory.mktemp("crowd")
    drawn = fc.simulate_crowd(150, 12, random_state=5)
    drawn.votes.to_csv(folder / "votes.csv", index=False)
    tasks = pd.DataFrame({"group": drawn.sensitive_features, "truth": drawn.truth})
    tasks.assign(side=tasks.index % 2).to_csv(folder / "tasks.csv")
    return folder


@pytest.mark.parametrize("arguments", [["--version"], ["--version", "--json"]])
def test_version(arguments: list[str], faircrowd: Run) -> None:
    code, out, err = faircrowd(*arguments)
    assert (code, err) == (0, "")
    assert out.strip() in (f"faircrowd {fc.__version__}", json.dumps({"version": fc.__version__}))


def test_version_is_that_of_the_project() -> None:
    text = (Path(__file__).parents[2] / "pyproject.toml").read_text()
    assert f'version = "{fc.__version__}"' in text


@pytest.mark.parametrize("arguments", [[], ["--help"], ["aggregate", "--help"], ["demo", "--help"]])
def test_help(arguments: list[str], faircrowd: Run) -> None:
    code, out, err = faircrowd(*arguments)
    assert (code, err) == (0, "")
    assert out.startswith("Usage: ")
    if arguments[:1] == ["aggregate"]:
        for option in ("--tasks", "--group", "--method", "--out", "--json", *AGGREGATORS):
            assert option in re.sub(r"-\n\s+", "-", out)  # names may be broken at a hyphen
    else:
        assert arguments[:1] == ["demo"] or {"aggregate", "demo"} <= set(out.split())


def test_demo(tmp_path: Path, spawn: Spawn) -> None:
    done = spawn("demo", "--out", "here/my demo", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    folder = tmp_path / "here" / "my demo"
    assert sorted(path.name for path in folder.iterdir()) == [
        "certificate.json",
        "evidence.json",
        "labels.csv",
        "model.json",
        "model.npz",
        "report.html",
        "rule.json",
        "summary.json",
        "tasks.csv",
        "votes.csv",
        "workers.csv",
    ]
    assert "10,000 votes of 100 workers on 2,000 tasks" in done.stdout
    tried = next(line for line in done.stdout.splitlines() if line.startswith("Try it yourself: faircrowd "))
    again = spawn(*shlex.split(tried.removeprefix("Try it yourself: faircrowd ")), cwd=tmp_path)
    assert (again.returncode, again.stderr) == (0, "")
    said, told = ([line for line in text.splitlines() if "wrote" not in line] for text in (done.stdout, again.stdout))
    assert told  # the command's numbers are the demo's
    assert set(told) <= set(said)
    assert "method     pooled dawid-skene by group, 3 rounds, converged" in told


def test_demo_as_json_reports_what_it_wrote(tmp_path: Path, faircrowd: Run) -> None:
    code, out, err = faircrowd("demo", "--out", tmp_path / "d", "--random-state", 3, "--json")
    assert (code, err) == (0, "")
    said = json.loads(out)
    truth = {row["task"]: row["truth"] for row in read_csv(tmp_path / "d" / "tasks.csv")}
    labels = read_csv(tmp_path / "d" / "labels.csv")
    right = np.mean([row["label"] == truth[row["task"]] for row in labels])
    before = np.mean([row["label_before"] == truth[row["task"]] for row in labels])
    assert said["accuracy"] == pytest.approx(right, abs=1e-12)
    assert said["compared"]["pooled dawid-skene by group"]["accuracy"] == pytest.approx(before, abs=1e-12)
    assert said["gap"] <= 0.05 < said["certificate"]["gap_before"]
    rates = [np.mean([row["label"] == "1" for row in labels if row["group"] == group]) for group in "01"]
    assert said["gap"] == pytest.approx(abs(rates[0] - rates[1]), abs=1e-12)
    assert set(said["compared"]) == {"majority", "one-coin", "pooled dawid-skene", "pooled dawid-skene by group"}
    same = simulated(3)
    assert (tmp_path / "d" / "votes.csv").read_text() == same


def simulated(seed: int) -> str:
    votes = fc.simulate_crowd(random_state=seed).votes
    return '"task","worker","label"\n' + votes.to_csv(index=False, header=False)


def fitted(method: str, crowd: Path) -> Any:
    """The same model by the Python interface."""
    tasks = pd.read_csv(crowd / "tasks.csv", index_col="task")
    votes = fc.read_votes(crowd / "votes.csv", sensitive_features=tasks["group"])
    models: dict[str, Any] = {
        "majority": fc.MajorityVote(),
        "wawa": fc.Wawa(),
        "zero-based": fc.ZeroBasedSkill(),
        "gold-majority": fc.GoldMajorityVote(),
        "dawid-skene": fc.DawidSkene(pooling="learned"),
        "one-coin": fc.OneCoinDawidSkene(),
        "glad": fc.GLAD(),
        "bayes": fc.BayesVote(),
        "calibrated": fc.CalibratedCrowd(),
        "jury": fc.JuryVote(),
    }
    truth = (tasks["truth"],) if AGGREGATORS[method].gold == "required" else ()
    return models[method].fit(votes, *truth)


@pytest.mark.filterwarnings("ignore::faircrowd.errors.ConvergenceWarning")
@pytest.mark.parametrize("method", AGGREGATORS)
def test_aggregate_writes_what_python_returns(method: str, crowd: Path, tmp_path: Path, faircrowd: Run) -> None:
    code, out, err = faircrowd(
        *("aggregate", crowd / "votes.csv", "--tasks", crowd / "tasks.csv", "--group", "group", "--truth", "truth"),
        *("--method", method, "--out", tmp_path / "run"),
        *(("--calibrate", "truth") if method == "calibrated" else ()),
    )
    assert (code, err) == (0, "")
    model = fitted(method, crowd)
    rows = read_csv(tmp_path / "run" / "labels.csv")
    assert list(rows[0]) == ["task", "label", "votes", "posterior_0", "posterior_1", "group"]
    assert {int(row["task"]): int(row["label"]) for row in rows} == model.labels_.to_dict()
    for k in (0, 1):  # written so that they read back exactly
        assert {int(row["task"]): float(row[f"posterior_{k}"]) for row in rows} == model.probas_[k].to_dict()
    tasks = pd.read_csv(crowd / "tasks.csv", index_col="task")
    assert {int(row["task"]): int(row["group"]) for row in rows} == tasks["group"].to_dict()
    assert {row["votes"] for row in rows} == {"5"}

    accuracy = (model.labels_ == tasks["truth"]).mean()
    rates = model.labels_.groupby(tasks["group"]).mean()
    said = lines_of(out)
    assert said["read"] == "750 rows, 0 set aside, 750 votes"
    assert said["crowd"] == "150 tasks, 12 workers, 2 classes"
    assert said["method"].startswith("pooled dawid-skene" if method == "dawid-skene" else method)
    assert said["labels"] == f"0: {(model.labels_ == 0).mean():.1%}, 1: {(model.labels_ == 1).mean():.1%}"
    size = (tasks["group"] == 1).sum()
    assert said["group 1"] == f"{size} tasks, 0: {1 - rates[1]:.1%}, 1: {rates[1]:.1%}"
    assert said["gap"].startswith(f"{abs(rates[0] - rates[1]):.3f} ")
    which = "it learned from (not a test)" if AGGREGATORS[method].gold == "required" else "whose truth is known"
    assert said["accuracy"] == f"{accuracy:.1%} of the 150 tasks {which}"
    files = ["labels.csv", "workers.csv", "summary.json", "model.json", "model.npz", "report.html", "evidence.json"]
    assert said["wrote"] == f"{tmp_path / 'run'}/{', '.join(files)}"

    workers = read_csv(tmp_path / "run" / "workers.csv")
    votes = pd.read_csv(crowd / "votes.csv")
    agree = votes["label"].to_numpy() == votes["task"].map(model.labels_).to_numpy()
    by_worker = pd.Series(agree).groupby(votes["worker"]).mean()
    assert {int(row["worker"]): float(row["agreement"]) for row in workers} == pytest.approx(
        by_worker.to_dict(), abs=1e-12
    )
    assert said["agreement"].startswith(f"{agree.mean():.1%} ")


@pytest.mark.parametrize("method", ["majority", "dawid-skene"])
def test_json_is_all_there_is(method: str, crowd: Path, tmp_path: Path, spawn: Spawn) -> None:
    given = ("--method", method, "--no-report", "--out", tmp_path / "run", "--json")
    done = spawn("aggregate", crowd / "votes.csv", *given)
    assert (done.returncode, done.stderr) == (0, "")
    said = json.loads(done.stdout)
    assert done.stdout.count("\n") == 1
    written = json.loads((tmp_path / "run" / "summary.json").read_text())
    assert {key: said[key] for key in written} == written
    assert set(said) - set(written) == {"notes", "warnings", "out"}
    assert (said["tasks"], said["votes"], said["workers"], said["classes"]) == (150, 750, 12, 2)
    assert (said["gap"], said["accuracy"]) == (None, None)
    assert (said["rounds"] is None) == (method == "majority")


@pytest.mark.parametrize("method", [name for name, kind in AGGREGATORS.items() if kind.gold != "required"])
def test_the_order_of_rows_does_not_matter(method: str, crowd: Path, tmp_path: Path, faircrowd: Run) -> None:
    shuffled = pd.read_csv(crowd / "votes.csv").sample(frac=1, random_state=0)
    shuffled.to_csv(tmp_path / "votes.csv", index=False)
    for number, votes in enumerate((crowd / "votes.csv", tmp_path / "votes.csv")):
        code, _, err = faircrowd("aggregate", votes, "--method", method, "--out", tmp_path / str(number))
        assert (code, err) == (0, "")
    for name in ("labels.csv", "workers.csv"):
        assert (tmp_path / "0" / name).read_bytes() == (tmp_path / "1" / name).read_bytes()
    here, there = (json.loads((tmp_path / number / "summary.json").read_text()) for number in "01")
    assert {**here, "options": {}} == {**there, "options": {}}


@pytest.mark.parametrize("ending", [".tsv", ".jsonl", ".parquet", ".csv.gz"])
def test_every_kind_of_file(ending: str, crowd: Path, tmp_path: Path, faircrowd: Run) -> None:
    votes, path = pd.read_csv(crowd / "votes.csv"), tmp_path / f"votes{ending}"
    if ending == ".jsonl":
        votes.to_json(path, orient="records", lines=True)
    elif ending == ".parquet":
        votes.to_parquet(path)
    else:
        votes.to_csv(path, index=False, sep="\t" if ending == ".tsv" else ",")
    for number, source in enumerate((crowd / "votes.csv", path)):
        assert faircrowd("aggregate", source, "--method", "majority", "--out", tmp_path / str(number))[0] == 0
    assert (tmp_path / "0" / "labels.csv").read_bytes() == (tmp_path / "1" / "labels.csv").read_bytes()


def test_groups_may_stand_in_the_votes(crowd: Path, tmp_path: Path, faircrowd: Run) -> None:
    tasks = pd.read_csv(crowd / "tasks.csv")
    pd.read_csv(crowd / "votes.csv").merge(tasks, on="task").to_csv(tmp_path / "votes.csv", index=False)
    groups = ("--group", "group", "--group", "side")
    run_in = faircrowd("aggregate", tmp_path / "votes.csv", *groups, "--out", tmp_path / "in", "--json")
    run_by = faircrowd(
        *("aggregate", crowd / "votes.csv", "--tasks", crowd / "tasks.csv", *groups, "--out", tmp_path / "by", "--json")
    )
    inside, beside = json.loads(run_in[1]), json.loads(run_by[1])
    assert set(inside["group_shares"]) == {"0 & 0", "0 & 1", "1 & 0", "1 & 1"}
    assert {**inside, "out": "", "options": {}} == {**beside, "out": "", "options": {}}
    assert (tmp_path / "in" / "labels.csv").read_bytes() == (tmp_path / "by" / "labels.csv").read_bytes()


@pytest.mark.parametrize("method", ["dawid-skene", "one-coin"])
def test_by_group(method: str, crowd: Path, tmp_path: Path, faircrowd: Run) -> None:
    tasks = pd.read_csv(crowd / "tasks.csv", index_col="task")
    code, _, err = faircrowd(
        *("aggregate", crowd / "votes.csv", "--tasks", crowd / "tasks.csv", "--group", "group", "--by-group"),
        *("--method", method, "--out", tmp_path / "run", "--n-iter", 7, "--tol", 0, "--ties", "last"),
    )
    assert (code, err) == (0, "")
    kind = {"dawid-skene": fc.DawidSkene, "one-coin": fc.OneCoinDawidSkene}[method]
    pooled = {"pooling": "learned"} if method == "dawid-skene" else {}
    model = kind(by_group=True, n_iter=7, tol=0, ties="last", **pooled)
    with pytest.warns(fc.FaircrowdWarning):
        model.fit(fc.read_votes(crowd / "votes.csv", sensitive_features=tasks["group"]))
    rows = read_csv(tmp_path / "run" / "labels.csv")
    assert {int(row["task"]): float(row["posterior_1"]) for row in rows} == model.probas_[1].to_dict()


def test_what_was_set_aside_is_reported(tmp_path: Path, faircrowd: Run) -> None:
    votes = tmp_path / "votes.csv"
    votes.write_text("who;what;which\na;x;1\na;y;1\nb;x;1\nb;;2\nb;y;3\n")
    names = ("--worker", "who", "--label", "what", "--task", "which", "--delimiter", ";", "--method", "majority")
    code, out, err = faircrowd("aggregate", votes, *names, "--out", tmp_path / "run")
    assert (code, err) == (0, "")
    assert [line.split(None, 1)[1] for line in out.splitlines() if line.startswith("note")] == [
        "1 of 5 rows set aside: no label (--on-missing drop)",
        "1 of 5 rows set aside: same task and worker, the last vote counts (--on-duplicate last)",
        "1 task left with no vote: 2",
        "1 task with tied classes: the first of them wins (--ties first)",
    ]
    assert lines_of(out)["read"] == "5 rows, 2 set aside, 3 votes"
    rows = json.loads((tmp_path / "run" / "summary.json").read_text())["rows"]
    assert (rows["rows_missing"], rows["rows_repeated"], rows["tasks_without_votes"]) == ({"label": 1}, 1, ["2"])
    assert [(row["task"], row["label"]) for row in read_csv(tmp_path / "run" / "labels.csv")] == [
        ("1", "x"),
        ("3", "y"),
    ]
    first = faircrowd("aggregate", votes, *names, "--on-duplicate", "first", "--out", tmp_path / "first")
    assert "the first vote counts" in first[1]


def test_a_run_that_did_not_converge_is_reported(crowd: Path, tmp_path: Path, faircrowd: Run) -> None:
    code, out, err = faircrowd("aggregate", crowd / "votes.csv", "--n-iter", 1, "--tol", 0, "--out", tmp_path / "run")
    assert (code, err) == (0, "")
    assert "1 rounds, NOT converged" in lines_of(out)["method"]
    assert "raise --n-iter" in lines_of(out)["note"]


def test_labels_are_printed_without_control_characters(tmp_path: Path, faircrowd: Run) -> None:
    (tmp_path / "votes.csv").write_text("task,worker,label\n1,a,\x1b[31mred\n1,b,[bold]é[/bold]\n2,b,\x1b[31mred\n")
    code, out, _ = faircrowd("aggregate", tmp_path / "votes.csv", "--method", "majority", "--out", tmp_path / "run")
    assert code == 0
    assert "\x1b" not in out
    assert "[31mred: 100.0%" in out
    assert "[bold]é[/bold]: 0.0%" in out


@pytest.mark.parametrize("as_json", [False, True])
def test_a_terminal_without_unicode(as_json: bool, tmp_path: Path, spawn: Spawn) -> None:
    (tmp_path / "votes.csv").write_text("task,worker,label\n1,a,é🙂\n1,b,y\n2,a,é🙂\n", encoding="utf-8")
    more = ["--json"] if as_json else []
    done = spawn(
        *("aggregate", "votes.csv", "--method", "majority", "--no-report", "--out", "run", *more),
        cwd=tmp_path,
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
    )
    assert (done.returncode, done.stderr) == (0, "")
    if as_json:
        assert json.loads(done.stdout)["class_shares"] == {"y": 0.5, "é🙂": 0.5}
    else:
        assert r"\xe9\U0001f642: 50.0%" in done.stdout


def test_output_replaces_older_output(crowd: Path, tmp_path: Path, faircrowd: Run) -> None:
    for method in ("majority", "wawa"):
        faircrowd("aggregate", crowd / "votes.csv", "--method", method, "--out", tmp_path / "run")
    assert json.loads((tmp_path / "run" / "summary.json").read_text())["method"] == "wawa"
    assert len(list((tmp_path / "run").iterdir())) == 7


def test_a_run_leaves_no_rule_of_an_older_run(crowd: Path, tmp_path: Path, faircrowd: Run) -> None:
    given = ("aggregate", crowd / "votes.csv", "--tasks", crowd / "tasks.csv", "--group", "group", "--out", tmp_path)
    assert faircrowd(*given, "--epsilon", "0.1")[0] == 0
    assert (tmp_path / "rule.json").exists()
    assert faircrowd(*given)[0] == 0
    assert not (tmp_path / "rule.json").exists()
    assert not (tmp_path / "certificate.json").exists()


WITHOUT_PANDAS = """
import sys

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("pandas", "polars"):
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, Absent())
from faircrowd.cli import main
main(sys.argv[1:])
"""


def test_pandas_is_not_needed(tmp_path: Path, faircrowd: Run) -> None:
    command = [sys.executable, "-c", WITHOUT_PANDAS, "demo", "--out", "without"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    faircrowd("demo", "--out", tmp_path / "with")
    for name in ("votes.csv", "tasks.csv", "labels.csv", "workers.csv"):
        assert (tmp_path / "without" / name).read_bytes() == (tmp_path / "with" / name).read_bytes()


def test_truth_scores_and_does_not_teach(crowd: Path, tmp_path: Path, faircrowd: Run) -> None:
    """Truth in another spelling is matched, and labels nobody voted for do not become classes."""
    tasks = pd.read_csv(crowd / "tasks.csv")
    odd = tasks["truth"].astype(float).astype(str)
    odd[0] = "7"
    tasks.assign(odd=odd).to_csv(tmp_path / "tasks.csv", index=False)
    said = {}
    for name in ("truth", "odd"):
        arguments = ("--tasks", tmp_path / "tasks.csv", "--truth", name, "--out", tmp_path / name, "--json")
        code, out, _ = faircrowd("aggregate", crowd / "votes.csv", *arguments)
        assert code == 0
        said[name] = json.loads(out)
    assert said["odd"]["notes"][0].endswith("has labels that nobody voted for: '7'")
    assert said["odd"]["classes"] == 2
    assert 0 <= said["truth"]["accuracy"] - said["odd"]["accuracy"] <= 1 / 150 + 1e-12
    assert (tmp_path / "odd" / "labels.csv").read_bytes() == (tmp_path / "truth" / "labels.csv").read_bytes()


def test_gold_teaches(crowd: Path, tmp_path: Path, faircrowd: Run) -> None:
    tasks = pd.read_csv(crowd / "tasks.csv")
    tasks.assign(gold=(1 - tasks["truth"]).where(tasks["task"] < 20)).to_csv(tmp_path / "tasks.csv", index=False)
    arguments = ("--tasks", tmp_path / "tasks.csv", "--gold", "gold", "--truth", "truth", "--out", tmp_path / "run")
    assert faircrowd("aggregate", crowd / "votes.csv", *arguments)[0] == 0
    labels = pd.read_csv(tmp_path / "run" / "labels.csv").set_index("task")["label"]
    assert (labels[:20] == 1 - tasks["truth"][:20]).all()
    summary = json.loads((tmp_path / "run" / "summary.json").read_text())
    assert summary["options"]["gold"] == "gold"
    assert not summary["accuracy_in_sample"]


@pytest.mark.parametrize("name", ["labels.csv", "labels.parquet", "labels.parquet/part.csv"])
def test_an_input_is_not_overwritten(name: str, crowd: Path, tmp_path: Path, faircrowd: Run) -> None:
    votes = tmp_path / name
    votes.parent.mkdir(exist_ok=True)
    votes.write_bytes((crowd / "votes.csv").read_bytes())
    code, _, err = faircrowd("aggregate", votes, "--out", tmp_path)
    assert code == 2
    assert "would overwrite the input" in err
    assert votes.read_bytes() == (crowd / "votes.csv").read_bytes()
    assert not (tmp_path / "summary.json").exists()


@pytest.mark.parametrize("method", ["bayes", "gold-majority", "majority"])
def test_truth_is_scored_by_the_classes_of_the_model(method: str, tmp_path: Path, faircrowd: Run) -> None:
    """A true label that nobody voted for comes first in order: it moves the codes of a model that learns from it."""
    votes = [(task, worker, "bc"[task % 2]) for task in range(10) for worker in range(3)]
    pd.DataFrame(votes, columns=["task", "worker", "label"]).to_csv(tmp_path / "votes.csv", index=False)
    truth = ["a" if task == 4 else "bc"[task % 2] for task in range(10)]
    pd.DataFrame({"task": range(10), "truth": truth}).to_csv(tmp_path / "tasks.csv", index=False)
    code, out, _ = faircrowd(
        *("aggregate", tmp_path / "votes.csv", "--tasks", tmp_path / "tasks.csv", "--truth", "truth"),
        *("--method", method, "--out", tmp_path / "run", "--json"),
    )
    assert (code, json.loads(out)["accuracy"]) == (0, 0.9)


def test_a_tolerance_without_end_is_written_down(crowd: Path, tmp_path: Path, faircrowd: Run) -> None:
    code, out, _ = faircrowd("aggregate", crowd / "votes.csv", "--tol", "inf", "--out", tmp_path / "run", "--json")
    assert (code, json.loads(out)["options"]["parameters"]["tol"]) == (0, "inf")
