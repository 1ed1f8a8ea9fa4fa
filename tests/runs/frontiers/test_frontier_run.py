"""One source of numbers: page, slider, terminal, certificate and frontier say the same about an epsilon."""

import csv
import itertools
import json
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from faircrowd.runs.verify import verify

Run = Callable[..., tuple[int, str, str]]
SLOW = bool(os.environ.get("FAIRCROWD_SLOW"))


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Crowds of two and three classes, whose tasks are of two and of three groups of odd sizes."""
    folder, rng = tmp_path_factory.mktemp("numbers"), np.random.default_rng(4)
    n = 211
    task = np.repeat(np.arange(n), 5)
    pair, three = (rng.random(n) < 0.4).astype(int), rng.integers(0, 3, n)
    for classes in (2, 3):
        truth = np.minimum((rng.random(n) * classes * (0.6 + 0.3 * pair + 0.1 * three)).astype(int), classes - 1)
        votes = np.where(rng.random(task.size) < 0.7, truth[task], rng.integers(0, classes, task.size))
        frame = pd.DataFrame({"task": task, "worker": rng.integers(0, 12, task.size), "label": votes})
        frame.drop_duplicates(["task", "worker"]).to_csv(folder / f"votes{classes}.csv", index=False)
        gold = np.where(rng.random(n) < 0.4, truth, np.nan)
        tasks = pd.DataFrame({"task": range(n), "pair": pair, "three": three, "truth": truth, "gold": gold})
        tasks.to_csv(folder / f"tasks{classes}.csv", index=False)
    return folder


def given(place: Path, classes: int, group: str) -> tuple[Any, ...]:
    return (place / f"votes{classes}.csv", "--tasks", place / f"tasks{classes}.csv", "--group", group)


def page_of(folder: Path) -> tuple[str, dict[str, Any]]:
    """The result in exact terms, and the slider's stop where it starts."""
    page = (folder / "report.html").read_text(encoding="utf-8")
    (data,) = re.findall(r'<script type="application/json" id="data">(.*?)</script>', page)
    (start,) = re.findall(r'<input id="epsilon".* value="(\d+)"', page)
    (answer,) = re.findall("<summary>The result in exact terms</summary><p>(.*?)</p>", page)
    return answer, json.loads(data)["stops"][int(start)]


FAIR: dict[str, tuple[int, str, list[str]]] = {
    "two classes, two groups": (2, "pair", ["--method", "majority"]),
    "two classes, three groups": (2, "three", []),
    "three classes, two groups": (3, "pair", []),
    "three classes, three groups": (3, "three", ["--method", "majority"]),
    "f1": (2, "pair", ["--objective", "f1"]),
    "f1, three groups": (2, "three", ["--objective", "f1", "--method", "majority"]),
    "randomized": (2, "pair", ["--decision", "randomized"]),
    "randomized, three classes": (3, "three", ["--decision", "randomized", "--random-state", "5"]),
    "strict": (3, "three", ["--strict"]),
}


@pytest.fixture(scope="module")
def frontiers() -> dict[str, tuple[dict[float, Any], dict[float, Any]]]:
    """The points of a frontier as printed and as written, by the name of its options: made once for all epsilons."""
    return {}


# With epsilon 0, and in turn with a small and a large one. Strict labels at epsilon 0 take as long as the integer
# program may.
LOOSER = dict(zip(FAIR, itertools.cycle([(0.02,), (0.1,)]), strict=False)) | {"strict": (0.02, 0.1)}
ASKED = [(name, e) for name in FAIR for e in ((0.02, 0.1) if SLOW else LOOSER[name])]


@pytest.mark.parametrize(("name", "epsilon"), [*((name, 0.0) for name in FAIR if name != "strict"), *ASKED])
@pytest.mark.filterwarnings("ignore::faircrowd.errors.FaircrowdWarning")
def test_numbers_agree(
    name: str, epsilon: float, place: Path, tmp_path: Path, faircrowd: Run, frontiers: dict[str, Any]
) -> None:
    classes, group, more = FAIR[name]
    crowd = (*given(place, classes, group), "--truth", "truth")
    asked = ("aggregate", *crowd, *more, "--epsilon", epsilon)
    code, out, _ = faircrowd(*asked, "--out", tmp_path / "run", "--json")
    assert code in (0, 4)  # 4: labels that are ruined, all the same with the same numbers everywhere
    said, c = json.loads(out), json.loads((tmp_path / "run" / "certificate.json").read_text())
    said["certificate"].pop("seconds")
    assert said["certificate"] == {name: value for name, value in c.items() if name != "seconds"}

    # The labels themselves.
    labels = pd.read_csv(tmp_path / "run" / "labels.csv")
    rates = pd.crosstab(labels["group"], labels["label"], normalize="index")
    assert c["gap"] == pytest.approx((rates.max() - rates.min()).max(), abs=1e-12)
    assert c["changed"] == (labels["label"] != labels["label_before"]).sum()
    real = (labels["label"].to_numpy() == pd.read_csv(place / f"tasks{classes}.csv")["truth"].to_numpy()).mean()

    # The page: headline and slider.
    answer, stop = page_of(tmp_path / "run")
    price = c["believed_accuracy_before"] - c["believed_accuracy"]
    if c["changed"] or c["gap"] > c["epsilon"]:
        assert f"{c['changed']:,} of 211 labels were changed" in answer
        assert not (price > 5e-5) or f"at {100 * price:.2f} points of believed accuracy" in answer
    assert stop["epsilon"] == f"{epsilon:.3f}"
    assert stop["gap"] == f"{c['gap']:.3f}"
    assert stop["changed"] == f"{c['changed']}"
    assert stop["believed"] == f"{c['believed_accuracy']:.2%}"
    assert stop["given_up"] == f"{100 * price:.2f} points".replace("-0.00", "0.00")
    assert stop["real"] == f"{real:.2%}" == f"{said['accuracy']:.2%}"
    assert stop["point"][0]["accuracy"] == c["believed_accuracy"]

    # The terminal, in words.
    text = faircrowd(*asked, "--out", tmp_path / "again", "--no-report")[1]
    words = re.sub(r"\s+", " ", answer.replace("The gap between groups", "the gap"))
    assert words.split(":")[0] in re.sub(r"\s+", " ", text) or "already keep" in answer

    # The frontier of the same options.
    if not {"randomized", "--strict"} & set(more):
        if name not in frontiers:
            plain = [part for part in more if part != "--random-state"]
            found = faircrowd("frontier", *crowd, *plain, "--out", tmp_path / "f", "--json")
            with (tmp_path / "f" / "frontier.csv").open(newline="") as file:
                written = {float(row["epsilon"]): row for row in csv.DictReader(file)}
            frontiers[name] = {point["epsilon"]: point for point in json.loads(found[1])["points"]}, written
        points, rows = frontiers[name]
        if epsilon in points:
            point, row = points[epsilon], rows[epsilon]
            assert (point["gap"], point["changed"], point["value"]) == (c["gap"], c["changed"], c["value"])
            assert point["believed_accuracy"] == c["believed_accuracy"] == float(row["believed_accuracy"])
            assert (float(row["gap"]), int(row["labels_changed"])) == (c["gap"], c["changed"])
            assert point["real_accuracy"] == pytest.approx(real, abs=1e-12)
            assert point["bound"] <= c["bound"] + 1e-12  # bounds of larger epsilons count, too
        else:
            assert epsilon > max(points)


def test_an_estimated_accuracy_is_that_of_the_run(place: Path, tmp_path: Path, faircrowd: Run) -> None:
    crowd = (*given(place, 2, "pair"), "--calibrate", "gold")
    points = json.loads(faircrowd("frontier", *crowd, "--out", tmp_path / "f", "--json")[1])["points"]
    assert points[0]["epsilon"] == 0
    faircrowd("aggregate", *crowd, "--epsilon", 0, "--no-report", "--out", tmp_path / "run")
    summary = json.loads((tmp_path / "run" / "summary.json").read_text())
    certificate = json.loads((tmp_path / "run" / "certificate.json").read_text())
    assert points[0]["estimated_accuracy"] == pytest.approx(summary["estimated_accuracy"]["estimate"], abs=1e-12)
    assert points[0]["changed"] == certificate["changed"]
    table = pd.read_csv(tmp_path / "f" / "frontier.csv")
    assert (table["estimated_accuracy_low"] <= table["estimated_accuracy"]).all()
    assert verify(tmp_path / "f").verified


def test_the_frontier_of_a_run_verifies(place: Path, tmp_path: Path, faircrowd: Run) -> None:
    assert faircrowd("frontier", *given(place, 3, "three"), "--out", tmp_path / "f")[0] == 0
    found = verify(tmp_path / "f")
    assert (found.verified, found.run.split(", ")[1:]) == (True, ["frontier", "method dawid-skene"])


def test_the_table_shows_a_gap_above_epsilon(place: Path, tmp_path: Path, faircrowd: Run) -> None:
    """Whole tasks of groups of odd sizes cannot be even; 0.000 would hide that."""
    out = faircrowd("frontier", *given(place, 2, "pair"), "--method", "majority", "--out", tmp_path / "f")[1]
    first = next(line for line in out.splitlines() if line.startswith("0.000"))
    gap = float(first.split()[1])
    table = pd.read_csv(tmp_path / "f" / "frontier.csv")
    assert gap == pytest.approx(table["gap"][0], rel=0.01)
    assert first.split()[1] == ("0.000" if table["gap"][0] == 0 else f"{table['gap'][0]:.3g}")


def test_a_frontier_needs_its_options() -> None:
    from faircrowd.errors import OptionError
    from faircrowd.runs.fit import fit
    from faircrowd.runs.frontiers.frontier_run import FrontierRun
    from faircrowd.runs.options import FrontierOptions, ModelOptions, ReadOptions, RunOptions

    read = ReadOptions(Path("votes.csv"))
    with pytest.raises(OptionError, match=r"give group=\.\.\."):
        fit(RunOptions(read, ModelOptions("majority"), frontier=FrontierOptions()))
    with pytest.raises(OptionError, match="objective"):
        fit(RunOptions(read, ModelOptions("majority"), frontier=FrontierOptions("f2")))
    run: Any = type("Run", (), {"options": RunOptions(read, ModelOptions("majority"))})()
    with pytest.raises(OptionError, match="not the options of a frontier"):
        FrontierRun(run).asked  # noqa: B018
