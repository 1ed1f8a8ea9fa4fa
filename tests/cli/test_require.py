"""``faircrowd aggregate --require``: constraints in text, what is written, and how it ends."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from faircrowd import DawidSkene, FairCrowd, MajorityVote, simulate_crowd
from faircrowd.cli.app import run
from faircrowd.constraints import DemographicParity, RateRange
from faircrowd.errors import DataWarning
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


def test_reviewed_tasks_count_the_same_everywhere(
    files: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Terminal and page counted them with the aggregator's own label, the certificate by their posterior."""
    asked = ["--require", "parity(sex) <= 0.05", "--require", "reviewed <= 0.1", "--truth", "truth"]
    assert aggregate(files, tmp_path / "out", *asked) == 0
    said, page = capsys.readouterr().out, (tmp_path / "out" / "report.html").read_text()
    summary, c = (json.loads((tmp_path / "out" / f"{name}.json").read_text()) for name in ("summary", "certificate"))
    labels = pd.read_csv(tmp_path / "out" / "labels.csv", index_col="task")
    tasks = pd.read_csv(files / "tasks.csv", index_col="task").loc[labels.index]
    assert summary["reviewed"] == c["reviewed"] == 40
    assert summary["group_columns"] == ["sex"]
    ones = np.where(labels["review"], labels["posterior_1"], labels["label"] == "1")
    rates = pd.Series(ones).groupby(tasks["sex"].to_numpy()).mean()
    assert summary["gap"] == pytest.approx(np.ptp(rates), abs=1e-12)
    assert summary["gap"] == pytest.approx(c["constraints"][0]["level"], abs=1e-12)
    assert summary["believed_accuracy"] == pytest.approx(c["believed_accuracy"], abs=1e-12)
    right = labels["review"] | (labels["label"] == tasks["truth"].astype(str))
    assert summary["accuracy"] == pytest.approx(right.mean(), abs=1e-12)
    assert sum(summary["group_tasks"].values()) == 400
    for text in (said, page):
        assert "40 tasks are sent to a person and have no label yet: labels.csv says review" in " ".join(text.split())
    assert "<td><bdi>review</bdi></td>" in page


def test_each_constraint_lists_its_own_groups(files: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Only the groups of the first column were listed, and the gap did not say of which."""
    asked = ["--require", "parity(sex, label=1) <= 0.05", "--require", "rate(region, label=1) >= 0.4", "--no-report"]
    assert aggregate(files, tmp_path / "out", *asked, "--truth", "truth") == 0
    lines = capsys.readouterr().out.splitlines()
    assert not any(line.startswith(("group ", "gap ")) for line in lines)
    assert any("between the true labels of the groups of sex" in line for line in lines)
    labels = pd.read_csv(tmp_path / "out" / "labels.csv", index_col="task")
    tasks = pd.read_csv(files / "tasks.csv", index_col="task").loc[labels.index]
    for column in ("sex", "region"):
        (at,) = (i for i, line in enumerate(lines) if line.startswith("keeps") and f"({column}, " in line)
        rates = labels["label"].groupby(tasks[column]).mean()
        for group, rate in rates.items():
            assert f"{rate:.1%}" in lines[at + 1].split(f" {group} ")[1].split(",")[0]


def test_each_column_has_its_groups_in_labels_csv(files: Path, tmp_path: Path) -> None:
    asked = ["--require", "parity(sex) <= 0.1", "--require", "parity(region) <= 0.1"]
    assert aggregate(files, tmp_path / "out", *asked, "--no-report") == 0
    labels = pd.read_csv(tmp_path / "out" / "labels.csv", index_col="task")
    tasks = pd.read_csv(files / "tasks.csv", index_col="task").loc[labels.index]
    for column in ("sex", "region"):
        assert (labels[f"group_{column}"] == tasks[column]).all()
    assert verify(tmp_path / "out").verified
    path = str(tmp_path / "out" / "labels.csv")
    assert run(["check", path, "--group", "group_region", "--epsilon", "0.11", "--these-tasks"]) == 0
    assert run(["publish", str(tmp_path / "out"), "--to", "csv", "--out", str(tmp_path / "table.csv")]) == 0
    rule, given = str(tmp_path / "out" / "rule.json"), [str(files / "votes.csv"), "--tasks", str(files / "tasks.csv")]
    assert run(["apply", rule, *given, "--out", str(tmp_path / "new.csv")]) == 0
    new = pd.read_csv(tmp_path / "new.csv", index_col="task")
    assert (new["group_sex"] == labels["group_sex"]).all()
    assert aggregate(files, tmp_path / "one", "--require", "parity(sex) <= 0.1", "--no-report") == 0
    assert "group_sex" not in pd.read_csv(tmp_path / "one" / "labels.csv")  # `group` says it


def test_what_was_not_estimated_is_not_in_the_certificate(files: Path, tmp_path: Path) -> None:
    assert aggregate(files, tmp_path / "out", "--require", "parity(sex, label=1) <= 0.05", "--no-report") == 0
    for name in ("certificate.json", "evidence.json"):
        assert '"estimated"' not in (tmp_path / "out" / name).read_text()


@pytest.mark.filterwarnings("ignore::faircrowd.errors.ConvergenceWarning")
def test_the_page_speaks_as_the_line_that_repeats_the_run(files: Path, tmp_path: Path) -> None:
    """Notes on the page of a command had the spelling of Python."""
    asked = ["--require", "parity(sex, label=1) <= 0.05", "--method", "dawid-skene", "--n-iter", "2"]
    assert aggregate(files, tmp_path / "command", *asked) == 0
    page = (tmp_path / "command" / "report.html").read_text()
    assert "raise --n-iter, or --tol" in page
    fair = FairCrowd(DawidSkene(n_iter=2), constraints=[DemographicParity(0.05, group="sex", label=1)])
    tasks = pd.read_csv(files / "tasks.csv")[["task", "sex"]]
    fair.fit(pd.read_csv(files / "votes.csv"), sensitive_features=tasks).write(tmp_path / "python")
    page = (tmp_path / "python" / "report.html").read_text()
    assert "raise n_iter, or tol" in page


def test_strict_labels_are_not_drawn(files: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["--require", "parity(sex, label=1) <= 0.05", "--strict", "--decision", "randomized"]
    assert aggregate(files, tmp_path / "out", *asked) == 2
    assert "--strict is for deterministic labels" in capsys.readouterr().err


def test_groups_by_probabilities(files: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tasks = pd.read_csv(files / "tasks.csv")
    likely = np.where(tasks["sex"] == tasks["sex"].iloc[0], 0.8, 0.3)
    frame = tasks.assign(**{"race=a": likely, "race=b": 1 - likely})
    frame.to_csv(tmp_path / "tasks.csv", index=False)
    given = [str(files / "votes.csv"), "--tasks", str(tmp_path / "tasks.csv"), "--method", "majority"]
    out = tmp_path / "out"
    assert run(["aggregate", *given, "--require", "parity(race) <= 0.02", "--out", str(out)]) == 0
    said = capsys.readouterr().out
    assert "estimates, as race is known by probabilities (at worst 0." in said
    labels = pd.read_csv(out / "labels.csv").set_index("task").loc[frame["task"]]
    rates = [float((weight * labels["label"].to_numpy()).sum() / weight.sum()) for weight in (likely, 1 - likely)]
    kept = json.loads((out / "certificate.json").read_text())["constraints"][0]
    assert kept["level"] == pytest.approx(abs(rates[0] - rates[1]), abs=1e-9)
    assert kept["uncertain"]["level"] > kept["level"]
    with pytest.warns(DataWarning, match="is an estimate"):
        assert not verify(out).differences
    applied = [str(out / "rule.json"), *given[:3], "--out", str(tmp_path / "again.csv")]
    assert run(["apply", *applied]) == 0
    again = pd.read_csv(tmp_path / "again.csv").set_index("task").loc[frame["task"]]
    assert (again["label"] == labels["label"]).mean() > 0.95
    capsys.readouterr()
    assert run(["aggregate", *given, "--group", "race", "--epsilon", "0.1", "--out", str(tmp_path / "no")]) != 0
    assert "such as parity(race) <= 0.05" in capsys.readouterr().err
    assert run(["check", str(out / "labels.csv"), *given[1:3], "--require", "parity(race) <= 0.1"]) != 0
    assert "The probabilities of its groups" in capsys.readouterr().err


def test_the_task_column_has_its_name_in_both_tables(files: Path, tmp_path: Path) -> None:
    for name in ("votes", "tasks"):
        pd.read_csv(files / f"{name}.csv").rename(columns={"task": "thing"}).to_csv(
            tmp_path / f"{name}.csv", index=False
        )
    asked = ["--require", "parity(sex, label=1) <= 0.05", "--no-report"]
    assert aggregate(tmp_path, tmp_path / "odd", *asked, "--task", "thing") == 0
    assert aggregate(files, tmp_path / "plain", *asked) == 0
    odd, plain = (pd.read_csv(tmp_path / name / "labels.csv") for name in ("odd", "plain"))
    pd.testing.assert_frame_equal(odd, plain)
