"""``faircrowd datasets``: the list, one data set as tables, and the message when files are missing."""

import json
import re
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from faircrowd.datasets import load_jigsaw_toxicity, load_synthetic, load_tables
from faircrowd.datasets.catalogue import ABOUT

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture(autouse=True)
def nowhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("FAIRCROWD_DATA", str(tmp_path / "nowhere"))


def lines_of(text: str) -> dict[str, str]:
    return dict(re.split(r"\s{2,}", line, maxsplit=1) for line in text.splitlines())


def test_sets_that_are_not_here(faircrowd: Run, tmp_path: Path) -> None:
    code, out, err = faircrowd("datasets", "--data", tmp_path)
    assert (code, err) == (0, "")
    rows = lines_of(out)
    assert list(rows) == list(ABOUT)
    for name, about in ABOUT.items():
        if about.files:
            files = ", ".join(file.name for file in about.files)
            assert rows[name] == f"not here: put {files} into {tmp_path / name}; licence: {about.licence}"
    assert rows["synthetic"] == (
        "2,000 tasks, 100 workers, 10,000 votes, 2 classes, 2 groups; licence: Apache 2.0, as this package"
    )
    assert not list(tmp_path.iterdir())  # a list downloads nothing


@pytest.mark.real
def test_sets_that_are_here(faircrowd: Run, data_folder: Path) -> None:
    code, out, err = faircrowd("datasets", "--data", data_folder, "--json")
    assert (code, err) == (0, "")
    said = json.loads(out)
    assert said["data"] == str(data_folder)
    rows = {row["name"]: row for row in said["datasets"]}
    counts = ("tasks", "workers", "votes", "classes", "groups")
    assert [rows["crowd-judgement"][count] for count in counts] == [1000, 400, 20_000, 2, 2]
    assert [rows["jigsaw-toxicity"][count] for count in counts] == [5000, 4999, 96_704, 2, 2]
    assert [rows["faces-4class"][count] for count in counts] == [584, 27, 5242, 4, 8]
    assert [rows["accuracy/dog"][count] for count in counts] == [807, 109, 8070, 4, 0]
    assert rows["jigsaw-toxicity"]["folder"] == str(data_folder / "jigsaw-toxicity")
    assert rows["jigsaw-toxicity"]["aside"] == load_jigsaw_toxicity(data_folder, download=False).aside
    missing = rows["measuring-hate-speech"]
    assert (missing["here"], missing["missing"]) == (False, ["measuring-hate-speech.parquet"])


@pytest.mark.real
def test_a_set_becomes_tables_that_aggregate_takes(
    faircrowd: Run, data_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAIRCROWD_DATA", str(data_folder))
    out = tmp_path / "out"
    code, printed, err = faircrowd("datasets", "jigsaw-toxicity", "--out", out)
    assert (code, err) == (0, "")
    said = lines_of(printed)
    assert said["data set"].startswith("jigsaw-toxicity: Is a comment toxic?")
    assert said["holds"].startswith("5,000 tasks, 4,999 workers, 96,704 votes, 2 classes, 2 groups; licence: CC0")
    assert "2,233 votes of workers with fewer than 3" in printed
    assert "735 repeated votes" in printed
    assert said["wrote"] == f"{out}/votes.csv, tasks.csv"
    assert sorted(path.name for path in out.iterdir()) == ["tasks.csv", "votes.csv"]
    crowd, read = load_jigsaw_toxicity(), load_tables(out)
    pd.testing.assert_frame_equal(crowd.votes, read.votes)
    pd.testing.assert_series_equal(crowd.groups, read.groups)
    pd.testing.assert_series_equal(crowd.truth, read.truth)
    code, printed, err = faircrowd(
        *("aggregate", out / "votes.csv", "--tasks", out / "tasks.csv", "--group", "identity", "--truth", "truth"),
        *("--method", "majority", "--epsilon", "0.02", "--no-report", "--out", tmp_path / "labels", "--json"),
    )
    assert (code, err) == (0, "")
    assert json.loads(printed)["certificate"]["gap"] <= 0.02


def test_a_set_as_json(faircrowd: Run, tmp_path: Path) -> None:
    code, out, err = faircrowd("datasets", "synthetic", "--out", tmp_path / "out", "--json")
    assert (code, err) == (0, "")
    said = json.loads(out)
    assert (said["name"], said["votes"], said["aside"], said["out"]) == ("synthetic", 10_000, {}, str(tmp_path / "out"))
    assert said["citation"] == load_synthetic().citation
    tasks = pd.read_csv(tmp_path / "out" / "tasks.csv")
    assert tasks.columns.tolist() == ["task", "group", "truth"]


def test_ready_tables_go_by_their_folder(faircrowd: Run, tmp_path: Path) -> None:
    folder = tmp_path / "some" / "mine"
    folder.mkdir(parents=True)
    (folder / "votes.csv").write_text("task,worker,label\n1,a,x\n1,b,y\n2,a,y\n")
    (folder / "tasks.csv").write_text("task,side,eye,truth\n1,l,open,x\n2,r,shut,\n3,l,open,y\n")
    shutil.copytree(folder, tmp_path / "broken")
    (tmp_path / "broken" / "votes.csv").write_text("task,worker\n1,a\n")
    rows = lines_of(faircrowd("datasets", "--data", tmp_path)[1])
    assert rows["some/mine"] == (
        f"2 tasks, 2 workers, 3 votes, 2 classes, 2 groups; licence: not known; in {tmp_path}/some/mine"
    )
    assert rows["broken"].startswith("cannot be read: No column 'label' (or answer)")
    out = tmp_path / "out"
    code, printed, _ = faircrowd("datasets", "some/mine", "--data", tmp_path, "--out", out)
    assert code == 0
    assert "1 tasks without votes" in printed
    assert (out / "tasks.csv").read_text() == '"task","side","eye","truth"\n1,"l","open","x"\n2,"r","shut",\n'
    code, _, err = faircrowd("datasets", "some/mine", "--data", tmp_path, "--out", folder)
    assert (code, "would overwrite the input" in err) == (2, True)
    code, printed, _ = faircrowd("datasets", "some/mine", "--data", tmp_path)
    assert (code, lines_of(printed)["note"]) == (0, "1 tasks without truth, kept all the same")


def test_errors_tell_what_to_do(faircrowd: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code, _, err = faircrowd("datasets", "jigsaw-toxcity", "--data", tmp_path)
    assert (code, "Did you mean 'jigsaw-toxicity'?" in err) == (2, True)
    code, _, err = faircrowd("datasets", "--out", tmp_path)
    assert (code, "faircrowd datasets NAME --out DIR" in err) == (2, True)
    monkeypatch.setitem(sys.modules, "pooch", None)  # no downloads
    code, out, err = faircrowd("datasets", "jigsaw-toxicity", "--data", tmp_path, "--out", tmp_path / "out")
    assert (code, out) == (2, "")
    assert err.startswith("faircrowd: jigsaw-toxicity lacks responses_td_format.csv, features_for_ml.csv, ")
    assert err.endswith(f"into {tmp_path}/jigsaw-toxicity.\n")
    assert not (tmp_path / "out").exists()
    code, out, _ = faircrowd("datasets", "jigsaw-toxicity", "--data", tmp_path)
    assert code == 0
    assert lines_of(out)["holds"].startswith("not here: put responses_td_format.csv")
