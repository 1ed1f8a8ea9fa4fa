"""``faircrowd verify``: unchanged results verify, and changes are named."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import faircrowd as fc
from faircrowd.aggregate.registry import AGGREGATORS
from faircrowd.storage.content_hash import content_hash

Run = Callable[..., tuple[int, str, str]]

TAUGHT = [name for name, kind in AGGREGATORS.items() if kind.gold == "required"]


@pytest.fixture(scope="module")
def crowd(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("verify")
    drawn = fc.simulate_crowd(120, 10, random_state=5)
    drawn.votes.to_csv(folder / "votes.csv", index=False)
    tasks = pd.DataFrame({"group": drawn.sensitive_features.map({0: "a", 1: "b"}), "truth": drawn.truth})
    tasks["stratum"] = ["xy"[i % 2] for i in range(len(tasks))]
    tasks.rename_axis("task").to_csv(folder / "tasks.csv")
    return folder


def files(folder: Path) -> tuple[Any, ...]:
    return (folder / "votes.csv", "--tasks", folder / "tasks.csv", "--group", "group", "--no-report")


def verified(faircrowd: Run, folder: Path, *more: Any) -> dict[str, Any]:
    """Verify a folder, and that code, JSON and lines say the same."""
    code, out, err = faircrowd("verify", folder, *more, "--json")
    said = json.loads(out)
    assert err == ""
    assert code == (0 if said["verified"] else 1)
    assert said["verified"] == (said["differences"] == [])
    assert said["unverified"] == []
    assert said["verified"] <= (said["notes"] == [])
    return said


@pytest.fixture
def done(crowd: Path, tmp_path: Path, faircrowd: Run) -> Path:
    """A run with fair labels, in a folder of its own with its inputs."""
    for name in ("votes.csv", "tasks.csv"):
        shutil.copy(crowd / name, tmp_path / name)
    given = (*files(tmp_path), "--method", "majority", "--epsilon", "0.05", "--out", tmp_path / "run")
    assert faircrowd("aggregate", *given)[0] == 0
    return tmp_path / "run"


@pytest.mark.parametrize("epsilon", [None, 0.05])
@pytest.mark.parametrize("method", AGGREGATORS)
def test_every_method_verifies(method: str, epsilon: float | None, crowd: Path, tmp_path: Path, faircrowd: Run) -> None:
    more = [] if epsilon is None else ["--epsilon", epsilon]
    more += ["--gold", "truth"] if method in TAUGHT else []
    assert faircrowd("aggregate", *files(crowd), "--method", method, *more, "--out", tmp_path / "run")[0] == 0
    said = verified(faircrowd, tmp_path / "run")
    assert said["differences"] == []
    outputs = json.loads((tmp_path / "run" / "evidence.json").read_text())["outputs"]
    assert said["checks"] == 2 + len(outputs) + len(outputs) + 1  # inputs, hashes, files recomputed, evidence
    assert said["version"] == fc.__version__


@pytest.mark.parametrize(
    "more",
    [
        ["--truth", "truth", "--method", "bayes"],
        ["--truth", "truth", "--gold", "truth"],
        ["--by-group", "--epsilon", "0.1", "--truth", "truth"],
        ["--epsilon", "0.1", "--objective", "f1"],
        ["--epsilon", "0.1", "--objective", "f1", "--positive", "0"],
        ["--epsilon", "0.1", "--decision", "randomized", "--random-state", "7"],
        ["--epsilon", "0.4", "--confidence", "0.8"],
        ["--group", "stratum", "--epsilon", "0.1", "--strict"],
        ["--method", "majority", "--ties", "last", "--on-duplicate", "first", "--epsilon", "0"],
        ["--n-iter", "2", "--tol", "0.5"],
    ],
)
def test_every_option_verifies(more: list[str], crowd: Path, tmp_path: Path, faircrowd: Run) -> None:
    assert faircrowd("aggregate", *files(crowd), *more, "--out", tmp_path / "run")[0] == 0
    assert verified(faircrowd, tmp_path / "run")["differences"] == []


@pytest.mark.parametrize(
    "more",
    [["--control", "stratum"], ["--truth", "truth"], ["--method", "dawid-skene", "--by-group", "--confidence", "0.9"]],
)
def test_audits_verify(more: list[str], crowd: Path, tmp_path: Path, faircrowd: Run) -> None:
    given = (*files(crowd), *more, "--replicates", "30", "--out", tmp_path / "run")
    assert faircrowd("audit", *given)[0] == 0
    assert verified(faircrowd, tmp_path / "run")["differences"] == []
    audit = json.loads((tmp_path / "run" / "audit.json").read_text())
    audit["ties"]["largest"] += 0.25
    audit["workers"]["verdicts"]["leans"] += 1
    (tmp_path / "run" / "audit.json").write_text(json.dumps(audit))
    wrong = verified(faircrowd, tmp_path / "run")["differences"]
    assert wrong[0] == "audit.json was changed since the run: another SHA-256"
    leans, largest = audit["workers"]["verdicts"]["leans"], audit["ties"]["largest"]
    assert wrong[1:] == [
        f"audit.json: workers.verdicts.leans is {leans}, recomputed {leans - 1}",
        f"audit.json: ties.largest is {largest}, recomputed {largest - 0.25}",
    ]


def test_demo_verifies_also_when_it_has_moved(tmp_path: Path, faircrowd: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert faircrowd("demo", "--out", "here")[0] == 0
    code, out, err = faircrowd("verify", "here")
    assert (code, err) == (0, "")
    assert out.splitlines()[0].startswith(
        "verified  19 checks: inputs and outputs unchanged, every file recomputed alike"
    )
    assert out.splitlines()[1] == f"run       faircrowd {fc.__version__}, aggregate, method dawid-skene"
    (tmp_path / "here").rename(tmp_path / "there")
    monkeypatch.chdir("/")
    assert verified(faircrowd, tmp_path / "there")["differences"] == []


LABELS = {
    "texts": ["no", "yes"],
    "numbers": [0, 1],
    "fractions": [0.5, 1.0],
    "truth values": [False, True],
    "texts of truth values": ["True", "False"],
    "texts of numbers": ["007", "7"],
    "what looks missing": ["nan", "NA"],
    "formulas": ["=1+1", "-x"],
    "odd texts": ["a,\"b'", "line\nbreak 🙂"],
    "mixed": [1, "1"],
}


NOT_IN = {"parquet": ["mixed"], "csv": ["mixed", "what looks missing"], "csv.gz": ["mixed", "what looks missing"]}
"""A column of Parquet has one type, and CSV has no types and no such labels."""
KINDS = [(name, ending) for name in LABELS for ending in ("jsonl", *NOT_IN) if name not in NOT_IN.get(ending, [])]


@pytest.mark.parametrize(("name", "ending"), KINDS)
def test_every_kind_of_label_and_file_verifies(name: str, ending: str, tmp_path: Path, faircrowd: Run) -> None:
    rng = np.random.default_rng(0)
    rows = [
        {
            "item id": f"=t{t}",
            "who?": w,
            "answer": LABELS[name][int(rng.random() < 0.3 + 0.3 * (t % 2))],
            "the group": t % 2,
        }
        for t in range(40)
        for w in range(4)
    ]
    path = tmp_path / f"votes.{ending}"
    if ending == "jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    elif ending == "parquet":
        pd.DataFrame(rows).to_parquet(path)
    else:
        pd.DataFrame(rows).to_csv(path, index=False)
    named = ("--task", "item id", "--worker", "who?", "--label", "answer", "--group", "the group")
    given = (path, *named, "--method", "majority", "--epsilon", "0.05", "--no-report", "--out", tmp_path / "run")
    assert faircrowd("aggregate", *given)[0] == 0
    assert verified(faircrowd, tmp_path / "run")["differences"] == []
    text = (tmp_path / "run" / "labels.csv").read_text(encoding="utf-8")
    labels = pd.read_csv(tmp_path / "run" / "labels.csv", dtype=str, keep_default_na=False)
    one, other = labels["label"].unique()
    labels.loc[3, "label"] = other if labels.loc[3, "label"] == one else one
    labels.to_csv(tmp_path / "run" / "labels.csv", index=False)
    assert text != (tmp_path / "run" / "labels.csv").read_text(encoding="utf-8")
    (wrong,) = [line for line in verified(faircrowd, tmp_path / "run")["differences"] if "row 4" in line]
    assert wrong.startswith("labels.csv: row 4 (task ")
    assert "column label is" in wrong


def test_a_changed_vote_is_named(done: Path, faircrowd: Run) -> None:
    votes = done.parent / "votes.csv"
    lines = votes.read_text().splitlines()
    lines[5] = lines[5][:-1] + ("0" if lines[5].endswith("1") else "1")
    votes.write_text("\n".join(lines) + "\n")
    said = verified(faircrowd, done)
    assert said["differences"] == [f"the votes {votes} are not those of the run: another SHA-256"]
    code, out, err = faircrowd("verify", done)
    assert (code, err) == (1, "")
    assert out.splitlines()[0].split() == ["NOT", "verified", "1", "difference"]
    assert out.splitlines()[1].startswith("differs       the votes ")


def test_changed_tasks_are_named(done: Path, faircrowd: Run) -> None:
    tasks = done.parent / "tasks.csv"
    tasks.write_text(tasks.read_text() + "\n")
    assert verified(faircrowd, done)["differences"] == [f"the tasks {tasks} are not those of the run: another SHA-256"]


def test_a_changed_label_is_named_also_if_its_hash_was_changed_too(done: Path, faircrowd: Run) -> None:
    import hashlib

    labels = pd.read_csv(done / "labels.csv", dtype=str)
    labels.loc[[3, 8], "label"] = labels.loc[[3, 8], "label"].map({"0": "1", "1": "0"})
    labels.to_csv(done / "labels.csv", index=False)
    (a, b), new = labels.loc[[3, 8], "task"], labels.loc[[3, 8], "label"]
    wrong = [
        f"labels.csv: row {row} (task {task}), column label is {label!r}, recomputed {str(1 - int(label))!r}"
        for row, task, label in zip((4, 9), (a, b), new, strict=True)
    ]
    assert verified(faircrowd, done)["differences"] == ["labels.csv was changed since the run: another SHA-256", *wrong]
    said = json.loads((done / "evidence.json").read_text())
    said["outputs"]["labels.csv"] = hashlib.sha256((done / "labels.csv").read_bytes()).hexdigest()
    (done / "evidence.json").write_text(json.dumps(said))
    assert verified(faircrowd, done)["differences"] == wrong
    labels.iloc[:-1].to_csv(done / "labels.csv", index=False)
    assert "labels.csv: the number of rows is 119, recomputed 120" in verified(faircrowd, done)["differences"]
    (done / "labels.csv").write_text("nothing of it\n1\n")
    assert any(line.startswith("labels.csv: the header is") for line in verified(faircrowd, done)["differences"])
    (done / "labels.csv").write_text('"task","label\n1')
    assert any(line.startswith("labels.csv cannot be read: ") for line in verified(faircrowd, done)["differences"])


def test_a_changed_certificate_is_named_in_either_place(done: Path, faircrowd: Run) -> None:
    certificate = json.loads((done / "certificate.json").read_text())
    gap = certificate["gap"]
    (done / "certificate.json").write_text(json.dumps({**certificate, "gap": 0.01}))
    hashed = "certificate.json was changed since the run: another SHA-256"
    assert verified(faircrowd, done)["differences"] == [hashed, f"certificate.json: gap is 0.01, recomputed {gap!r}"]
    (done / "certificate.json").write_text("{")
    assert verified(faircrowd, done)["differences"] == [
        hashed,
        f"certificate.json cannot be read: {done}/certificate.json holds no result of faircrowd: it is not JSON",
    ]
    said = json.loads((done / "evidence.json").read_text())
    said["certificate"]["rates"]["a"]["1"] = 0.5
    (done / "evidence.json").write_text(json.dumps(said))
    lines = [line for line in verified(faircrowd, done)["differences"] if line.startswith("evidence.json")]
    assert lines == [f"evidence.json: certificate.rates.a.1 is 0.5, recomputed {certificate['rates']['a']['1']!r}"]


@pytest.mark.parametrize("name", ["labels.csv", "certificate.json", "rule.json", "workers.csv", "model.npz"])
def test_a_missing_file_is_named(name: str, done: Path, faircrowd: Run) -> None:
    (done / name).unlink()
    assert verified(faircrowd, done)["differences"] == [f"{name} is missing"]


def test_a_changed_page_is_named(crowd: Path, tmp_path: Path, faircrowd: Run) -> None:
    given = [part for part in files(crowd) if part != "--no-report"]
    assert faircrowd("aggregate", *given, "--epsilon", "0.1", "--out", tmp_path / "run")[0] == 0
    page = tmp_path / "run" / "report.html"
    page.write_text(page.read_text().replace("0.100", "0.001"))
    hashed, *lines = verified(faircrowd, tmp_path / "run")["differences"]
    assert hashed == "report.html was changed since the run: another SHA-256"
    assert lines
    assert all("0.001" in line and "recomputed" in line for line in lines)


def test_other_options_give_other_results(done: Path, faircrowd: Run) -> None:
    """Evidence that claims another epsilon, method or objective than was used does not hold."""
    said = json.loads((done / "evidence.json").read_text())
    for name, value in (("epsilon", 0.0), ("method", "wawa"), ("objective", "f1")):
        changed = {**said, "options": {**said["options"], name: value}}
        if name == "method":
            changed["options"]["parameters"] = {}
        (done / "evidence.json").write_text(json.dumps(changed))
        assert not verified(faircrowd, done)["verified"], name


def test_inputs_that_moved(done: Path, tmp_path: Path, faircrowd: Run) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    for name in ("votes.csv", "tasks.csv"):
        (tmp_path / name).rename(elsewhere / name)
    code, out, err = faircrowd("verify", done)
    assert (code, out) == (2, "")
    assert (
        err
        == f"faircrowd: The votes {tmp_path}/votes.csv of this run are gone; say where they are with --votes FILE.\n"
    )
    moved = ("--votes", elsewhere / "votes.csv", "--tasks", elsewhere / "tasks.csv")
    assert verified(faircrowd, done, *moved)["differences"] == []
    code, out, err = faircrowd("verify", done, "--votes", elsewhere / "votes.csv", "--tasks", elsewhere / "no.csv")
    assert (code, out) == (2, "")
    assert "no.csv cannot be read: No such file" in err
    said = verified(faircrowd, done, "--votes", elsewhere / "tasks.csv", "--tasks", elsewhere / "tasks.csv")
    assert said["differences"] == [f"the votes {elsewhere}/tasks.csv are not those of the run: another SHA-256"]
    away = tmp_path / "away" / "run"
    shutil.copytree(done, away)
    for beside in (away, away.parent):  # in the folder of the results, or beside it
        for name in ("votes.csv", "tasks.csv"):
            shutil.copy(elsewhere / name, beside / name)
        assert verified(faircrowd, away)["differences"] == []
        for name in ("votes.csv", "tasks.csv"):
            (beside / name).unlink()


DAMAGE: list[Any] = [
    ("inputs", None),
    ("inputs", {}),
    ("inputs", {"votes": {}}),
    ("inputs", {"other": {"path": "votes.csv", "sha256": ""}}),
    ("inputs", {"votes": {"path": 5, "sha256": ""}}),
    ("outputs", None),
    ("outputs", ["labels.csv"]),
    ("options", None),
    ("options", {}),
    ("options", {"method": "majority"}),
    ("version", ...),
    ("command", ...),
    ("certificate", ...),
]


@pytest.mark.parametrize(("name", "value"), DAMAGE)
def test_damaged_evidence_is_one_line(name: str, value: Any, done: Path, faircrowd: Run) -> None:
    said = json.loads((done / "evidence.json").read_text())
    if value is ...:
        del said[name]
    else:
        said[name] = value
    (done / "evidence.json").write_text(json.dumps(said))
    code, out, err = faircrowd("verify", done)
    assert (code, out) == (2, "")
    assert err.startswith(f"faircrowd: The evidence in {done} is damaged or incomplete (")
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    "text", [None, "", "{", "[]", '{"kind": "other"}', '{"kind": "faircrowd.evidence", "schema": 2}']
)
def test_no_evidence_is_one_line(text: str | None, tmp_path: Path, faircrowd: Run) -> None:
    if text is not None:
        (tmp_path / "evidence.json").write_text(text)
    code, out, err = faircrowd("verify", tmp_path)
    assert (code, out) == (2, "")
    assert err.startswith("faircrowd: ")
    assert "evidence.json" in err
    assert err.count("\n") == 1
    code, out, err = faircrowd("verify", tmp_path, "--json")
    assert (code, err) == (2, "")
    assert "evidence.json" in json.loads(out)["error"]


def test_no_folder_is_one_line(tmp_path: Path, faircrowd: Run) -> None:
    code, out, err = faircrowd("verify", tmp_path / "no")
    assert (code, out) == (2, "")
    assert "name a folder that faircrowd wrote" in err


def test_results_of_an_earlier_version_verify(done: Path, faircrowd: Run) -> None:
    """Certificates used to call the believed accuracy expected, and had no calibration."""

    def earlier(certificate: dict[str, Any]) -> dict[str, Any]:
        old = {name.replace("believed", "expected"): value for name, value in certificate.items()}
        assert old.pop("calibration") is None
        return old

    said = json.loads((done / "evidence.json").read_text())
    (done / "certificate.json").write_text(json.dumps(earlier(said["certificate"])))
    said["certificate"] = earlier(said["certificate"])
    said["outputs"]["certificate.json"] = content_hash(done / "certificate.json")
    (done / "evidence.json").write_text(json.dumps(said))
    assert verified(faircrowd, done)["differences"] == []
    said["certificate"]["expected_accuracy"] += 0.01
    (done / "evidence.json").write_text(json.dumps(said))
    (wrong,) = verified(faircrowd, done)["differences"]
    assert wrong.startswith("evidence.json: certificate.believed_accuracy is")
