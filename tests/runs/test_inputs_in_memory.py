"""A run fitted in Python records what it was given: what the page says about repeating it, and verify, must be true."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import faircrowd as fc
from faircrowd.errors import OptionError
from faircrowd.runs.how_to_repeat import how_to_repeat
from faircrowd.runs.run_of_estimator import run_of


@pytest.fixture
def place(tmp_path: Path) -> Path:
    crowd = fc.simulate_crowd(200, 20, votes_per_task=5, random_state=0)
    crowd.votes.to_csv(tmp_path / "votes.csv", index=False)
    crowd.sensitive_features.rename("group").to_frame().assign(truth=crowd.truth).to_csv(tmp_path / "tasks.csv")
    return tmp_path


@pytest.fixture
def tasks(place: Path) -> pd.DataFrame:
    return pd.read_csv(place / "tasks.csv", index_col="task")


def command(fair: fc.FairCrowd, **settings: object) -> str:
    run = run_of(fair, **settings)  # type: ignore[arg-type]
    return how_to_repeat(run.options, in_memory=run.in_memory)


def test_a_command_is_shown_only_where_it_repeats_the_run(place: Path, tasks: pd.DataFrame) -> None:
    votes, fair = place / "votes.csv", fc.FairCrowd(fc.MajorityVote(), epsilon=0.1)
    from_files = command(fair.fit(votes, sensitive_features="group", tasks=place / "tasks.csv"))
    assert from_files.startswith("faircrowd aggregate ")
    assert "--group group" in from_files
    assert from_files == command(fair, truth=tasks["truth"])  # scoring needs no truth to be repeated
    series = command(fair.fit(votes, sensitive_features=tasks["group"]))
    assert series.startswith("FairCrowd(MajorityVote(")
    assert f"fit({str(votes)!r}, sensitive_features=groups)" in series
    frame = command(fair.fit(votes, sensitive_features="group", tasks=tasks))
    assert "sensitive_features='group', tasks=tasks)" in frame


def test_known_labels_in_memory_are_not_taken_for_a_column(place: Path, tasks: pd.DataFrame) -> None:
    fair = fc.FairCrowd(fc.BayesVote(), epsilon=0.1)
    fair.fit(place / "votes.csv", tasks["truth"][::2], sensitive_features="group", tasks=place / "tasks.csv")
    fair.write(place / "out", truth="truth", report=False)
    evidence = json.loads((place / "out" / "evidence.json").read_text())
    assert (evidence["options"]["gold"], evidence["options"]["truth"]) == (None, "truth")
    assert evidence["inputs"]["true_labels"]["in_memory"] is True
    assert "true_labels=gold" in command(fair, truth="truth")


@pytest.mark.parametrize("kind", ["numpy", "skills"])
def test_parameters_and_arguments_are_recorded(kind: str, place: Path, faircrowd) -> None:  # type: ignore[no-untyped-def]
    votes = place / "votes.csv"
    groups = {"sensitive_features": "group", "tasks": place / "tasks.csv"}
    if kind == "numpy":
        fair = fc.FairCrowd(fc.DawidSkene(n_iter=np.int64(5), tol=-1), epsilon=0.1).fit(votes, **groups)
    else:
        skills = pd.Series(1.0, index=pd.read_csv(votes)["worker"].unique())
        skills.iloc[0] = 5.0
        fair = fc.FairCrowd(fc.MajorityVote(), epsilon=0.1).fit(votes, skills, **groups)
    fair.write(place / "out", report=False)
    code, out, _ = faircrowd("verify", place / "out")
    if kind == "numpy":
        assert code == 0, out
    else:
        assert code == 2
        assert "argument 1 of this run was given in memory, so it cannot be done again" in out
        assert json.loads((place / "out" / "evidence.json").read_text())["inputs"]["argument 1"]["rows"] == 20


def test_groups_of_a_vote_table_are_part_of_its_hash(place: Path, tasks: pd.DataFrame) -> None:
    hashes = []
    for group in (tasks["group"], 1 - tasks["group"]):
        table = fc.read_votes(place / "votes.csv", sensitive_features=group)
        fair = fc.FairCrowd(fc.MajorityVote(), epsilon=0.1).fit(table)
        hashes.append(run_of(fair).in_memory["votes"]["sha256"])
    assert hashes[0] != hashes[1]


def test_a_page_does_not_overwrite_the_votes(place: Path) -> None:
    votes = place / "votes.csv"
    before = votes.read_bytes()
    fair = fc.FairCrowd(fc.MajorityVote()).fit(votes, sensitive_features="group", tasks=place / "tasks.csv")
    with pytest.raises(OptionError, match="would overwrite the input"):
        fair.report(votes)
    assert votes.read_bytes() == before


def test_an_audit_may_write_beside_parquet_of_another_name(place: Path, faircrowd) -> None:  # type: ignore[no-untyped-def]
    folder = place / "q"
    folder.mkdir()
    pd.read_csv(place / "votes.csv").to_parquet(folder / "labels.parquet")
    asked = ("--tasks", place / "tasks.csv", "--group", "group", "--out", folder, "--replicates", "0", "--no-report")
    code, _, err = faircrowd("audit", folder / "labels.parquet", *asked)
    assert code == 0, err


def test_an_empty_name_of_a_column_is_no_column(place: Path, faircrowd) -> None:  # type: ignore[no-untyped-def]
    asked = ("--tasks", place / "tasks.csv", "--truth", "", "--out", place / "o", "--no-report")
    code, _, err = faircrowd("aggregate", place / "votes.csv", *asked)
    assert code == 0, err
