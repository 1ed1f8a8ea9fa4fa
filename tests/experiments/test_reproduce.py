"""The experiments: what they draw, what they keep, and that they agree with what others measured."""

import csv
import json
import os
from collections.abc import Callable
from concurrent.futures import Executor, Future
from pathlib import Path
from statistics import mean
from typing import Any

import numpy as np
import pytest

from experiments.quick_workers import quick_workers
from faircrowd.errors import OptionError
from faircrowd.experiments import EXPERIMENTS, other_crowds, reproduce, runner
from faircrowd.experiments.comparison import COLUMNS, DESIGNS, Unit, comparison_rows
from faircrowd.experiments.convergence_experiment import CROWDS, Panel, convergence_rows, exact_gap
from faircrowd.experiments.experiment_data import beliefs, load_material, resample
from faircrowd.experiments.runner import Cells

Run = Callable[..., tuple[int, str, str]]
SLOW = bool(os.environ.get("FAIRCROWD_SLOW"))


class InThisProcess(Executor):
    """What runs units without the time that processes take to start."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        future.set_result(fn(*args, **kwargs))
        return future


@pytest.mark.real
def test_resamples_are_those_of_scikit_learn(data_folder: Path) -> None:
    sklearn = pytest.importorskip("sklearn.model_selection")
    material = load_material("crowd-judgement", str(data_folder))
    for seed in (0, 7):
        test, others = resample(material, seed)
        expected = sklearn.train_test_split(material.order, train_size=0.4, random_state=seed)
        assert others.tolist() == expected[0].tolist()
        assert test.tolist() == expected[1].tolist()


@pytest.mark.real
def test_rows_agree_with_the_figures_of_the_authors_code(data_folder: Path) -> None:
    """F1, accuracy and gap over ten resamples, as measured with the published code (no fairness)."""
    rows = [
        row
        for seed in range(10)
        for row in comparison_rows(Unit("crowd-judgement", "paper", seed), str(data_folder))
        if row["fairness"] == "none" or (row["fairness"], row["objective"]) == ("faircrowd", "accuracy")
    ]
    measured = {
        "majority": (0.659, 0.669, 0.183),
        "bayes": (0.714, 0.724, 0.181),
        "dawid-skene": (0.654, 0.657, 0.120),
    }
    for aggregator, expected in measured.items():
        own = [row for row in rows if row["aggregator"] == aggregator and row["fairness"] == "none"]
        found = [mean(row[name] for row in own) for name in ("f1", "accuracy", "gap")]
        assert found == pytest.approx(expected, abs=6e-4)
    for row in rows:
        if row["epsilon"] is not None:
            assert row["gap"] <= row["epsilon"] + 1e-12


@pytest.mark.real
@pytest.mark.parametrize("aggregator", ["bayes", "calibrated"])
def test_the_honest_protocol_does_not_see_the_truth_of_test_tasks(aggregator: str, data_folder: Path) -> None:
    material = load_material("crowd-judgement", str(data_folder))
    test, others = resample(material, 0)
    turned = material.truth.copy()
    turned[test] = 1 - turned[test]
    found, again = (
        beliefs(material._replace(truth=truth), "honest", aggregator, others) for truth in (material.truth, turned)
    )
    np.testing.assert_array_equal(found.values, again.values)


@pytest.mark.real
def test_fair_td_works_on_jigsaw(data_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if not SLOW:  # the tightest and the loosest
        design = DESIGNS["jigsaw"]
        monkeypatch.setitem(DESIGNS, "jigsaw", design._replace(epsilons=(design.epsilons[0], design.epsilons[-1])))
    rows = comparison_rows(Unit("jigsaw", "fair_td", 0), str(data_folder))
    assert {row["protocol"] for row in rows} == {"paper", "honest"}
    assert all(row["f1"] > 0.9 for row in rows)


@pytest.mark.parametrize("kind", CROWDS)
def test_the_exact_curve_is_the_mean_of_draws(kind: str) -> None:
    rng = np.random.default_rng(3)
    ranges = np.array(CROWDS[kind])
    skills = rng.uniform(ranges[:, 0], ranges[:, 1], size=(7, 2))
    truth = rng.integers(0, 2, 400_000)
    rates = []
    for a in (0, 1):
        right = rng.random((truth.size, 7)) < skills[:, a]
        votes = np.where(right, truth[:, None], 1 - truth[:, None])
        rates.append((votes.sum(axis=1) >= 3.5).mean())
    assert exact_gap(skills) == pytest.approx(abs(rates[0] - rates[1]), abs=4e-3)


def test_convergence_rows_are_drawn_from_the_seed_alone() -> None:
    one, two = (convergence_rows(Panel("competent", 5, 1)) for _ in range(2))
    assert one == two
    found = {row["method"]: row["difference"] for row in one}
    assert found["majority, exact"] <= found["majority, small-crowd bound"] + 1e-12
    assert found["majority, exact"] <= found["majority, exponential bound"] + 1e-12
    assert convergence_rows(Panel("competent", 5, 2)) != one


def test_cells_survive_a_crash(tmp_path: Path) -> None:
    cells = Cells(tmp_path / "x.jsonl")
    cells.add("a", [{"v": 1}])
    cells.add("b", [{"v": 2}])
    whole = (tmp_path / "x.jsonl").read_text()
    (tmp_path / "x.jsonl").write_text(whole[:-5])
    again = Cells(tmp_path / "x.jsonl")
    assert again.rows == {"a": [{"v": 1}]}
    again.add("b", [{"v": 2}])
    assert Cells(tmp_path / "x.jsonl").rows == {"a": [{"v": 1}], "b": [{"v": 2}]}


def test_units_of_an_earlier_version_are_kept(tmp_path: Path) -> None:
    (tmp_path / "x.jsonl").write_text('{"unit": "a", "rows": [{"expected_accuracy": 0.5, "gap": 0.1}]}\n')
    assert Cells(tmp_path / "x.jsonl").rows == {"a": [{"believed_accuracy": 0.5, "gap": 0.1}]}


@pytest.mark.real
def test_reproduce_writes_and_resumes(
    tmp_path: Path, data_folder: Path, faircrowd: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not SLOW:
        monkeypatch.setattr(runner, "workers", quick_workers)
        last = {name: columns[-1:] for name, columns in other_crowds.CROWDS.items()}
        monkeypatch.setattr(other_crowds, "CROWDS", last)  # every crowd, by one choice of groups
    given = ("reproduce", "crowd-judgement", "extra", "--data", data_folder, "--out", tmp_path, "--seeds", "1")
    code, out, err = faircrowd(*given, *(() if SLOW else ("--jobs", "1")), "--json")
    assert (code, err) == (0, "")
    assert [one["name"] for one in json.loads(out)["experiments"]] == ["crowd-judgement", "extra"]
    with (tmp_path / "crowd-judgement.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert tuple(rows[0]) == COLUMNS
    assert {row["fairness"] for row in rows} == {"none", "faircrowd", "post_td", "smoothed", "fair_td"}
    assert {row["protocol"] for row in rows} == {"paper", "honest"}
    assert {row["protocol"] for row in rows if row["aggregator"] == "calibrated"} == {"honest"}
    for suffix in ("md", "png", "svg"):
        assert (tmp_path / f"crowd-judgement.{suffix}").stat().st_size > 500
    with (tmp_path / "extra.csv").open() as file:
        for row in csv.DictReader(file):
            if row["epsilon"]:
                assert float(row["gap"]) < float(row["epsilon"]) + 0.05
    kept = tmp_path / "cells" / "crowd-judgement.jsonl"
    lines = kept.read_text().splitlines()
    assert len(lines) == 3
    marked = json.loads(lines[0])
    marked["rows"][0]["f1"] = 0.123456
    kept.write_text("\n".join([json.dumps(marked), *lines[1:2]]) + "\n")  # one cell is missing, one is marked
    if not SLOW:
        monkeypatch.setattr(runner, "workers", lambda jobs: InThisProcess())
    assert faircrowd("reproduce", "crowd-judgement", *given[3:])[0] == 0
    assert "0.123456" in (tmp_path / "crowd-judgement.csv").read_text()  # what was finished was kept
    assert len(kept.read_text().splitlines()) == 3


def test_bad_options(tmp_path: Path, faircrowd: Run) -> None:
    with pytest.raises(OptionError, match="experiment='figure-9' is not known"):
        reproduce(["figure-9"], tmp_path)
    code, _, err = faircrowd("reproduce", "synthetic", "--data", tmp_path / "none", "--out", tmp_path)
    assert code == 2
    assert "--data" in err
    assert "is not a folder" in err
    given = ("reproduce", "jigsaw", "--data", tmp_path, "--out", tmp_path / "o", "--seeds", "1", "--jobs", "1")
    code, _, err = faircrowd(*given)  # a process that runs a unit says what it lacks
    assert code == 2
    assert "put" in err
    assert "Traceback" not in err
    assert "convergence" in EXPERIMENTS
