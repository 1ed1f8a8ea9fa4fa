"""``faircrowd convert``, and exports wherever commands take votes."""

import csv
import json
import shlex
from collections.abc import Callable
from pathlib import Path

Run = Callable[..., tuple[int, str, str]]


def test_convert_writes_plain_tables(platforms: Path, tmp_path: Path, faircrowd: Run) -> None:
    pool = platforms / "toloka" / "hate-speech-pool.tsv"
    code, out, _ = faircrowd("convert", pool, "--out", tmp_path, "--json")
    assert code == 0
    said = json.loads(out)
    assert (said["votes"], said["tasks"], said["workers"], said["golden_tasks"]) == (1325, 265, 53, 20)
    assert said["rows"]["rows_left_out"] == {"golden": 663}
    with (tmp_path / "votes.csv").open(encoding="utf-8") as file:
        assert sum(1 for _ in csv.DictReader(file)) == 1325
    with (tmp_path / "gold.csv").open(encoding="utf-8") as file:
        assert [row["label"] for row in csv.DictReader(file)].count("1") == 11
    given = ("--group", "target_group", "--epsilon", 0.1, "--no-report")
    assert faircrowd("aggregate", pool, *given, "--out", tmp_path / "a")[0] == 0
    plain = (tmp_path / "votes.csv", "--tasks", tmp_path / "tasks.csv")
    assert faircrowd("aggregate", *plain, *given, "--out", tmp_path / "b")[0] == 0
    assert (tmp_path / "a" / "labels.csv").read_bytes() == (tmp_path / "b" / "labels.csv").read_bytes()


def test_the_command_that_convert_names_learns_from_known_labels(
    platforms: Path, tmp_path: Path, faircrowd: Run
) -> None:
    pool, out = platforms / "toloka" / "hate-speech-pool.tsv", tmp_path / "with space"
    _, said, _ = faircrowd("convert", pool, "--out", out)
    assert said.splitlines()[-1].startswith("gold.csv  the votes on these tasks are left out; to learn from them: ")
    first, _, second = said.splitlines()[-1].partition(": faircrowd ")[2].partition(" && faircrowd ")
    code, said, _ = faircrowd(*shlex.split(first))
    assert code == 0
    assert said.splitlines()[-1].endswith(f": faircrowd {second}")
    assert "20 golden tasks were added to the 265 others, with their votes" in said
    code, said, _ = faircrowd(*shlex.split(second)[:-1], tmp_path / "results", "--no-report")
    assert code == 0
    assert "interval from 20 known labels" in said
    assert "warning    the 20 tasks with known labels have 33.1 votes each, other tasks 5.0" in said
    _, said, _ = faircrowd("convert", platforms / "ground-truth" / "ic_data.tar.gz", "--out", out)
    assert "gold.csv" not in said


def test_golden_labels_calibrate(platforms: Path, tmp_path: Path, faircrowd: Run) -> None:
    pool = platforms / "toloka" / "hate-speech-pool.tsv"
    given = (pool, "--group", "target_group", "--calibrate", "golden", "--no-report", "--json")
    code, out, _ = faircrowd("aggregate", *given, "--out", tmp_path / "a")
    assert code == 0
    said = json.loads(out)
    assert said["tasks"] == 285
    assert any("33.1 votes each, other tasks 5.0" in note for note in said["warnings"])
    assert any("20 golden tasks were added to the 265 others" in note for note in said["notes"])
    assert faircrowd("verify", tmp_path / "a")[0] == 0
    code, _, error = faircrowd("aggregate", pool, "--calibrate", "gold", "--out", tmp_path / "b")
    assert code == 2
    assert "No column 'gold'" in error


def test_a_table_of_votes_is_not_converted(tmp_path: Path, faircrowd: Run) -> None:
    path = tmp_path / "votes.csv"
    path.write_text("task,worker,label\n1,1,a\n1,2,b\n", encoding="utf-8")
    code, _, error = faircrowd("convert", path, "--out", tmp_path / "out")
    assert code == 2
    assert "there is nothing to convert" in error


def test_options_are_spelled_as_such(platforms: Path, tmp_path: Path, faircrowd: Run) -> None:
    export = platforms / "label-studio" / "export.json"
    code, _, error = faircrowd("aggregate", export, "--out", tmp_path / "out")
    assert code == 2
    assert "name one with --label NAME: better ('1', '2')" in error
    code, _, error = faircrowd("aggregate", export, "--label", "flags", "--out", tmp_path / "out")
    assert code == 2
    assert "with --multi set, or one option with --multi each and --label flags.insult" in error
    code, _, error = faircrowd("aggregate", export, "--from", "labelstudio", "--out", tmp_path / "out")
    assert code == 2
    assert "--from" in error
    assert "Did you mean 'label-studio'" in error
    assert not (tmp_path / "out").exists()


def test_folders_that_faircrowd_wrote_lead_to_their_votes(tmp_path: Path, faircrowd: Run) -> None:
    votes = tmp_path / "votes.csv"
    votes.write_text("task,worker,label\n1,1,a\n1,2,b\n2,1,b\n2,2,b\n", encoding="utf-8")
    given = ("--method", "majority", "--no-report", "--out")
    assert faircrowd("aggregate", votes, *given, tmp_path / "run")[0] == 0
    code, _, err = faircrowd("audit", tmp_path / "run", "--out", tmp_path / "audit")
    assert code == 2
    assert "is the folder of a run of faircrowd aggregate, which holds results and no votes; the votes that" in err
    assert err.endswith(f"made from are {votes}.\n")
    export = tmp_path / "v.json"
    export.write_text(json.dumps([{"task": i // 2, "worker": i % 2, "label": "ab"[i % 3 > 0]} for i in range(6)]))
    assert faircrowd("convert", export, "--out", tmp_path / "tables")[0] == 0
    code, _, err = faircrowd("aggregate", tmp_path / "tables", *given, tmp_path / "out")
    assert (code, err.endswith(f"has written; its votes are {tmp_path / 'tables' / 'votes.csv'}.\n")) == (2, True)
    (tmp_path / "run" / "evidence.json").write_text("[]")
    code, _, err = faircrowd("audit", tmp_path / "run", "--out", tmp_path / "audit")
    assert (code, "is a folder; name a file in it" in err) == (2, True)


def test_serve_names_no_option_that_it_lacks(faircrowd: Run) -> None:
    code, _, err = faircrowd("serve", "toloka", "--no-token")
    assert (code, "answers label-studio alone, not 'toloka'" in err, "--platform" in err) == (2, True, False)
