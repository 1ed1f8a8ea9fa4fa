"""``faircrowd frontier --require``: table, files and JSON against runs of ``aggregate``, one per limit."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from faircrowd import simulate_crowd
from faircrowd.runs.verify import verify

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("limits")
    crowd = simulate_crowd(300, 25, random_state=5)
    crowd.votes.to_csv(folder / "votes.csv", index=False)
    tasks = pd.DataFrame({"sex": crowd.sensitive_features, "region": np.arange(300) % 3, "truth": crowd.truth})
    tasks.rename_axis("task").reset_index().to_csv(folder / "tasks.csv", index=False)
    return folder


def given(place: Path, *require: str) -> tuple[Any, ...]:
    asked = [part for text in require for part in ("--require", text)]
    return (place / "votes.csv", "--tasks", place / "tasks.csv", "--method", "majority", "--truth", "truth", *asked)


CASES = {
    "a gap": (("parity(sex) <= 0.1", "changed <= 0.3"), ()),
    "a ratio by its word": (("parity(sex) <= 0.1", "ratio(region, label=1) >= 0.9"), ("--vary", "ratio")),
    "the budget by its number": (("parity(sex) <= 0.1", "changed <= 0.3"), ("--vary", "2")),
    "reviews": (("parity(sex) <= 0.1", "reviewed <= 0.05"), ()),
    "about the truth": (("opportunity(sex, label=1) <= 0.1", "parity(region) <= 0.1"), ("--believed",)),
}


@pytest.mark.parametrize("name", CASES)
def test_each_limit_is_what_aggregate_gives(name: str, place: Path, tmp_path: Path, faircrowd: Run) -> None:
    texts, more = CASES[name]
    code, out, err = faircrowd("frontier", *given(place, *texts), *more, "--out", tmp_path / "f", "--json")
    assert (code, err) == (0, "")
    said = json.loads(out)
    table = pd.read_csv(tmp_path / "f" / "frontier.csv")
    assert table["limit"].tolist() == [point["limit"] for point in said["points"]]
    assert said["asked"] in table["limit"].tolist()
    number = next(c for c, text in enumerate(texts) if text.startswith(said["varied"]))
    consent = [part for part in more if part == "--believed"]
    possible = [point for point in said["points"] if point["can_be_kept"]]
    for point in (*possible[:: max(len(possible) // 3, 1)], *[p for p in said["points"] if not p["can_be_kept"]][:1]):
        sign = re.search("[<>]=", texts[number])[0]
        asked = [f"{said['varied']} {sign} {point['limit']!r}" if c == number else t for c, t in enumerate(texts)]
        run = faircrowd(
            "aggregate", *given(place, *asked), *consent, "--no-report", "--json", "--out", tmp_path / "run"
        )
        if not point["can_be_kept"]:
            assert run[0] == 4
            assert all(value is None for key, value in point.items() if key not in ("limit", "can_be_kept"))
            continue
        found = json.loads(run[1])
        c = found["certificate"]
        assert point["level"] == c["constraints"][number]["level"]
        assert (point["believed_accuracy"], point["labels_changed"]) == (c["believed_accuracy"], c["changed"])
        assert (point["bound"], point["all_kept"]) == (c["bound"], all(one["kept"] for one in c["constraints"]))
        assert point["real_accuracy"] == pytest.approx(found["accuracy"], abs=1e-12)
        assert found["believed_accuracy"] == pytest.approx(c["believed_accuracy"], abs=1e-12)
        assert point.get("tasks_reviewed", 0) == c["reviewed"]
        if name == "about the truth":
            text = faircrowd("aggregate", *given(place, *asked), *consent, "--no-report", "--out", tmp_path / "run")[1]
            assert f"{point['real_level']:.4f} by the known truth" in text


def test_what_is_printed_names_the_constraint_and_what_is_impossible(
    place: Path, tmp_path: Path, faircrowd: Run
) -> None:
    code, out, _ = faircrowd(
        "frontier", *given(place, "parity(sex) <= 0.02", "changed <= 0.02"), "--out", tmp_path / "f"
    )
    assert code == 0
    lines = out.splitlines()
    assert lines[0] == "parity(sex) <= limit, together with changed <= 0.02"
    assert {"limit", "gap"} <= set(" ".join(lines[1:3]).split())
    assert any(line.split()[:3] == ["0.02", "*", "impossible"] for line in lines), out
    (first,) = re.findall(r"parity\(sex\) cannot be kept below ([0-9.]+) together with the other constraints", out)
    assert "parity(sex) <= 0.02, which was asked for, cannot be kept together with the others" in out
    run = ("aggregate", *given(place, f"parity(sex) <= {first}", "changed <= 0.02"), "--no-report")
    assert faircrowd(*run, "--out", tmp_path / "run")[0] == 0
    tighter = f"parity(sex) <= {float(first) - 0.002}"
    run = ("aggregate", *given(place, tighter, "changed <= 0.02"), "--no-report")
    assert faircrowd(*run, "--out", tmp_path / "run")[0] == 4


def test_a_frontier_over_a_limit_verifies_and_takes_the_place_of_another(
    place: Path, tmp_path: Path, faircrowd: Run
) -> None:
    assert faircrowd("frontier", *given(place), "--group", "sex", "--out", tmp_path / "f")[0] == 0
    asked = ("frontier", *given(place, "parity(sex) <= 0.1", "ratio(region, label=1) >= 0.8"), "--vary", "ratio")
    assert faircrowd(*asked, "--out", tmp_path / "f")[0] == 0
    assert sorted(path.name for path in (tmp_path / "f").iterdir()) == [
        "evidence.json",
        "frontier.csv",
        "frontier.png",
        "frontier.svg",
    ]
    assert verify(tmp_path / "f").verified
    table = pd.read_csv(tmp_path / "f" / "frontier.csv")
    table.loc[0, "labels_changed"] += 1
    table.to_csv(tmp_path / "f" / "frontier.csv", index=False)
    assert not verify(tmp_path / "f").verified


CHANGED_IS_VARIED = ("--require", "changed <= 1", "--vary", "3")


@pytest.mark.parametrize(
    ("more", "code", "message"),
    [
        (("--require", "parity(sex) <= 0.1", "--vary", "2"), 2, "--vary 2 is not the number of a constraint"),
        (("--require", "parity(sex) <= 0.1", "--vary", "odds"), 2, "'odds' is not one of the constraints"),
        (("--require", "rate(sex, label=1) >= 0.1 and <= 0.9"), 2, "no single limit"),
        (("--require", "parity <= 0.1"), 2, "give --group COLUMN"),
        (("--require", "opportunity(sex, label=1) <= 0.1"), 2, "--believed"),
        (("--require", "parity(sex) <= 0.1", "--objective", "f1"), 2, "--objective goes with the frontier of epsilon"),
        (("--require", "parity(sex) <= 0.1", "--small-groups", "merge"), 2, "--small-groups goes with"),
        (("--group", "sex", "--vary", "1"), 2, "--vary goes with --require"),
        (("--group", "sex", "--believed"), 2, "--believed goes with --require"),
        ((), 2, "--require TEXT"),
        (
            (*("--require", "rate(label=1) >= 0.9", "--require", "rate(label=0) >= 0.9"), *CHANGED_IS_VARIED),
            4,
            "cannot both hold",
        ),
    ],
)
def test_what_is_refused_writes_nothing(
    more: tuple[str, ...], code: int, message: str, place: Path, tmp_path: Path, faircrowd: Run
) -> None:
    found, out, err = faircrowd("frontier", *given(place), *more, "--out", tmp_path / "f")
    assert (found, out) == (code, "")
    assert message in err
    assert not (tmp_path / "f").exists()


@pytest.mark.parametrize("more", [(), ("--decision", "randomized"), ("--strict",)])
def test_the_slider_starts_at_the_labels_of_the_run(
    more: tuple[str, ...], place: Path, tmp_path: Path, faircrowd: Run
) -> None:
    asked = given(place, "parity(sex) <= 0.07", "reviewed <= 0.05")
    code, out, _ = faircrowd("aggregate", *asked, *more, "--out", tmp_path / "run")
    assert code == 0
    c = json.loads((tmp_path / "run" / "certificate.json").read_text())
    page = (tmp_path / "run" / "report.html").read_text(encoding="utf-8")
    (data,) = re.findall(r'<script type="application/json" id="data">(.*?)</script>', page)
    (start,) = re.findall(r'<input id="epsilon".* value="(\d+)"', page)
    stop = json.loads(data)["stops"][int(start)]
    assert stop["epsilon"] == "0.07"
    assert stop["level"] == f"{c['constraints'][0]['level']:.4f}"
    assert stop["believed"] == f"{c['believed_accuracy']:.2%}"
    assert (stop["changed"], stop["reviewed"]) == (str(c["changed"]), str(c["reviewed"]))
    assert stop["point"] == [{"limit": 0.07, "value": c["value"]}]
    (answer,) = re.findall("<summary>The result in exact terms</summary><p>(.*?)</p>", page)
    assert f"{c['changed']} of 300 labels changed" in answer
    assert f"{c['believed_accuracy']:.1%} accuracy" in out
    assert ("to the letter (strict)" in page) == ("--strict" in more)
