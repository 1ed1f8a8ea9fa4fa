"""``faircrowd aggregate --require``: constraints in text, what is written, and how it ends."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from faircrowd import FairCrowd, MajorityVote, simulate_crowd
from faircrowd.cli.app import run
from faircrowd.constraints import DemographicParity, RateRange
from faircrowd.runs.verify import verify


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("crowd")
    crowd = simulate_crowd(400, 30, random_state=5)
    crowd.votes.to_csv(place / "votes.csv", index=False)
    tasks = pd.DataFrame({"sex": crowd.sensitive_features, "region": np.arange(400) % 2, "truth": crowd.truth})
    tasks.rename_axis("task").reset_index().to_csv(place / "tasks.csv", index=False)
    return place


def aggregate(files: Path, out: Path, *more: str) -> int:
    given = [str(files / "votes.csv"), "--tasks", str(files / "tasks.csv"), "--method", "majority", "--out", str(out)]
    return run(["aggregate", *given, *more])


def test_labels_keep_what_is_required(files: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asked = [
        "--require",
        "parity(sex, label=1) <= 0.05",
        "--require",
        "rate(region, label=1) >= 40%",
        "--truth",
        "truth",
    ]
    assert aggregate(files, tmp_path / "out", *asked) == 0
    said = capsys.readouterr().out
    assert "parity(sex, label=1) <= 0.05: from" in said
    labels = pd.read_csv(tmp_path / "out" / "labels.csv")
    tasks = pd.read_csv(files / "tasks.csv").set_index("task").loc[labels["task"]]
    rates = labels["label"].eq(1).groupby(tasks["sex"].to_numpy()).mean()
    certificate = json.loads((tmp_path / "out" / "certificate.json").read_text())
    assert certificate["constraints"][0]["level"] == pytest.approx(float(np.ptp(rates)), abs=1e-12)
    assert float(np.ptp(rates)) <= certificate["constraints"][0]["allowed"] + 1e-12
    assert labels["label"].eq(1).groupby(tasks["region"].to_numpy()).mean().min() >= 0.4 - 1e-12
    assert labels.loc[labels["changed"], "why"].str.startswith("changed from").all()
    page = (tmp_path / "out" / "report.html").read_text()
    assert "parity(sex, label=1)" in page
    assert verify(tmp_path / "out").verified


def test_python_writes_the_same_labels(files: Path, tmp_path: Path) -> None:
    asked = ["--require", "parity(sex, label=1) <= 0.05", "--require", "rate(region, label=1) >= 0.4"]
    assert aggregate(files, tmp_path / "command", *asked, "--no-report") == 0
    fair = FairCrowd(
        MajorityVote(),
        constraints=[DemographicParity(0.05, group="sex", label=1), RateRange(low=0.4, group="region", label=1)],
    )
    tasks = pd.read_csv(files / "tasks.csv")[["task", "sex", "region"]]
    fair.fit(pd.read_csv(files / "votes.csv"), sensitive_features=tasks).write(tmp_path / "python", report=False)
    one, other = (pd.read_csv(tmp_path / name / "labels.csv") for name in ("command", "python"))
    pd.testing.assert_frame_equal(one.drop(columns="group"), other.drop(columns="group"))


@pytest.mark.parametrize(
    ("asked", "code", "message"),
    [
        (["--require", "parety(sex) <= 0.05"], 2, "parity"),
        (["--require", "parity(sez) <= 0.05"], 2, "sez"),
        (["--require", "ratio(sex, label=hire) >= 0.8"], 2, "not one of the labels"),
        (["--require", "opportunity(sex, label=1) <= 0.05"], 2, "--believed"),
        (["--require", "parity(sex, label=1) <= 0.0001", "--require", "changed <= 0.001"], 4, "cannot both hold"),
        (["--require", "changed <= 0.1", "--confidence", "0.95"], 2, "--confidence goes with --epsilon alone"),
        (["--believed"], 2, "--require"),
        (["--require", "parity <= 0.05"], 2, "--group"),
    ],
)
def test_what_cannot_be_kept_writes_nothing(
    files: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], asked: list[str], code: int, message: str
) -> None:
    assert aggregate(files, tmp_path / "out", *asked) == code
    assert message in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_believed_constraints_are_called_so(files: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["--require", "opportunity(sex, label=1) <= 0.05", "--believed", "--no-report"]
    assert aggregate(files, tmp_path / "out", *asked) == 0
    assert "as believed" in capsys.readouterr().out


def test_epsilon_and_require_together(files: Path, tmp_path: Path) -> None:
    asked = ["--epsilon", "0.05", "--group", "sex", "--require", "changed <= 0.5", "--no-report"]
    assert aggregate(files, tmp_path / "out", *asked) == 0
    texts = [c["text"] for c in json.loads((tmp_path / "out" / "certificate.json").read_text())["constraints"]]
    assert len(texts) == 2
    assert texts[1] == "changed <= 0.5"
