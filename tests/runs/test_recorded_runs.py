"""``verify`` does a run again and compares every file: whatever is changed in any of them is noticed.

Each attack changes one field of one file and repairs the hash of the file in evidence.json, so that only a new run can
tell.
"""

import csv
import hashlib
import json
import re
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import faircrowd as fc
from faircrowd.errors import InputError
from faircrowd.report.evidence import EVIDENCE
from faircrowd.runs.recorded_runs import MEASURED, RECORDED, RecordedCommand, RecordedRun, register
from faircrowd.runs.verify import Verification, verify

Attack = Callable[[Path], None]

RUNS: dict[str, tuple[str, list[str]]] = {
    "fair": ("aggregate", ["--group", "group", "--method", "majority", "--epsilon", "0.05", "--truth", "truth"]),
    "randomized": (
        "aggregate",
        ["--group", "group", "--epsilon", "0.02", "--decision", "randomized", "--no-report"],
    ),
    "more groups": ("aggregate", ["--group", "group", "--group", "stratum", "--epsilon", "0.1", "--no-report"]),
    "calibrated": ("aggregate", ["--group", "group", "--epsilon", "0.1", "--calibrate", "gold", "--no-report"]),
    "plain": ("aggregate", ["--method", "one-coin"]),
    "audit": ("audit", ["--group", "group", "--control", "stratum", "--replicates", "30"]),
    "frontier": ("frontier", ["--group", "group", "--method", "majority", "--truth", "truth"]),
}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("recorded")
    crowd = fc.simulate_crowd(90, 9, random_state=5)
    crowd.votes.to_csv(folder / "votes.csv", index=False)
    tasks = pd.DataFrame({"group": crowd.sensitive_features.map({0: "a", 1: "b"}), "truth": crowd.truth})
    tasks["stratum"] = ["xy"[i // 2 % 2] for i in range(len(tasks))]
    tasks["gold"] = tasks["truth"].where(np.arange(len(tasks)) % 2 == 0)
    tasks.rename_axis("task").to_csv(folder / "tasks.csv")
    return folder


@pytest.fixture(scope="module")
def runs(place: Path) -> dict[str, Path]:
    """Every kind of run, done once."""
    from faircrowd.cli.app import run

    for name, (command, more) in RUNS.items():
        given = [command, place / "votes.csv", "--tasks", place / "tasks.csv", *more, "--out", place / name]
        assert run([str(part) for part in given]) == 0
    return {name: place / name for name in RUNS}


def leaves(value: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every field of a JSON value, and every empty list or object."""
    if isinstance(value, dict | list) and value:
        for key, part in value.items() if isinstance(value, dict) else enumerate(value):
            yield from leaves(part, (*at, key))
    else:
        yield at


def other(value: Any) -> Any:
    """Another value of the same type; the smallest change of a number that is not rounding."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + 1
    if isinstance(value, float):
        return value + 1e-6
    if isinstance(value, str):
        return value + "x"
    return 1 if value is None else ["x"] if isinstance(value, list) else {"x": 1}


def changed_json(path: Path, at: tuple[Any, ...], change: Callable[[Any], Any] = other) -> None:
    value = json.loads(path.read_text(encoding="utf-8"))
    box = value
    for key in at[:-1]:
        box = box[key]
    box[at[-1]] = change(box[at[-1]])
    path.write_text(json.dumps(value), encoding="utf-8")


def changed_fields(path: Path, fields: Sequence[tuple[Any, ...]]) -> None:
    for at in fields:
        changed_json(path, at)


def batched(items: list[Any], size: int) -> list[list[Any]]:
    return [items[start : start + size] for start in range(0, len(items), size)]


def repaired(folder: Path, name: str) -> None:
    """Write the new hash of a changed file into the evidence."""
    said = json.loads((folder / EVIDENCE).read_text(encoding="utf-8"))
    said["outputs"][name] = hashlib.sha256((folder / name).read_bytes()).hexdigest()
    (folder / EVIDENCE).write_text(json.dumps(said), encoding="utf-8")


def sampled(items: list[Any], most: int = 12) -> list[Any]:
    """Some of many, the first and the last among them."""
    return [items[i] for i in sorted(set(np.linspace(0, len(items) - 1, most).astype(int).tolist()))]


def of_one_kind_each(fields: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """One field of each path of names, whatever the positions in lists, and a few more."""
    first = {tuple(part for part in field if isinstance(part, str)): field for field in reversed(fields)}
    return list(dict.fromkeys([*first.values(), *sampled(fields, 3)]))


@pytest.fixture(scope="module")
def kept() -> dict[str, dict[str, bytes]]:
    """The files of runs that were done again, by their evidence."""
    return {}


@pytest.fixture
def once(monkeypatch: pytest.MonkeyPatch, kept: dict[str, dict[str, bytes]]) -> None:
    """Do a run that has been done again from the same evidence no third time: its files are copied."""

    def quick(command: RecordedCommand) -> RecordedCommand:
        def again(run: RecordedRun, folder: Any) -> None:
            seen = {**run.said, "outputs": sorted(run.said["outputs"]), "certificate": None}
            key = json.dumps([seen, sorted(map(str, run.places.values()))])
            if key not in kept:
                command.again(run, folder)
                kept[key] = {name: folder.waiting(name).read_bytes() for name in folder.names}
            for name, content in kept[key].items():
                folder.write_bytes(name, content)

        return replace(command, again=again)

    for name, command in list(RECORDED.items()):
        monkeypatch.setitem(RECORDED, name, quick(command))


@pytest.mark.parametrize("name", RUNS)
def test_runs_verify_without_a_note(name: str, runs: dict[str, Path]) -> None:
    found = verify(runs[name])
    assert (found.differences, found.notes, found.unverified) == ((), (), ())
    assert found.verified


def attacked(run: Path, tmp_path: Path, name: str, attack: Callable[[Path], None]) -> Verification:
    """What verify finds in a copy of a run in which one file was changed and its hash repaired."""
    folder = tmp_path / "attacked"
    shutil.copytree(run, folder)
    try:
        attack(folder / name)
        assert (folder / name).read_bytes() != (run / name).read_bytes()
        if name != EVIDENCE:
            repaired(folder, name)
        found = verify(folder)
        assert found.verified is (found.differences == ())
        return found
    finally:
        shutil.rmtree(folder)


def spelled(at: tuple[Any, ...]) -> str:
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in at)[1:]


@pytest.mark.usefixtures("once")
@pytest.mark.parametrize("name", [name for name in RUNS if name != "frontier"])
def test_every_field_of_every_json_file_is_noticed(name: str, runs: dict[str, Path], tmp_path: Path) -> None:
    run, tried = runs[name], 0
    for file in sorted(run.glob("*.json")):
        value = json.loads(file.read_text(encoding="utf-8"))
        if file.name == EVIDENCE:
            continue
        fields = of_one_kind_each(list(leaves(value)))
        tried += len(fields)
        for together in (fields[:1], *batched(fields[1:], 10)):  # each is named, and one alone is enough
            attack = lambda path, these=together: changed_fields(path, these)  # noqa: E731
            lines = attacked(run, tmp_path, file.name, attack).differences
            for at in together:
                named = tuple(f"{file.name}: {spelled(at)}{after}" for after in " .[")
                assert any(line.startswith(named) for line in lines), (file.name, at, lines)
    assert tried > 30


@pytest.mark.usefixtures("once")
@pytest.mark.parametrize("name", ["randomized", "calibrated", "audit", "frontier"])
def test_every_field_of_the_evidence_is_noticed(name: str, runs: dict[str, Path], tmp_path: Path) -> None:
    """Versions are taken at their word, and named where they are not those of today."""
    run = runs[name]
    value = json.loads((run / EVIDENCE).read_text(encoding="utf-8"))
    for at in of_one_kind_each(list(leaves(value))):
        try:
            found = attacked(run, tmp_path, EVIDENCE, lambda path, at=at: changed_json(path, at))
        except InputError:  # of no command, no method, or files that are not there
            assert at[0] in ("schema", "kind", "command", "options", "inputs") or at == ("certificate",), at
            continue
        if name == "frontier" and at[-1] == "min_group":
            continue  # no group is small, so this option changes nothing
        if (at[:1] in MEASURED[EVIDENCE]) and at[0] != "outputs" and not found.differences:
            assert "other versions" in found.notes[0], at
        else:
            assert found.differences, at


@pytest.mark.usefixtures("once")
@pytest.mark.parametrize("name", RUNS)
def test_every_column_of_every_table_is_noticed(name: str, runs: dict[str, Path], tmp_path: Path) -> None:
    run = runs[name]
    for file in sorted(run.glob("*.csv")):
        with file.open(encoding="utf-8", newline="") as opened:
            header, *rows = csv.reader(opened)
        for column in range(len(header)):
            for row in sampled(list(range(len(rows))), 2):
                cell = rows[row][column]
                try:
                    new = repr(float(cell) + 1e-6) if "." in cell else str(int(cell) + 1)
                except ValueError:
                    new = cell + "x"
                table = [header, *(list(cells) for cells in rows)]
                table[row + 1][column] = new
                lines = attacked(
                    run, tmp_path, file.name, lambda path, table=table: write_table(path, table)
                ).differences
                where = f"{file.name}: row {row + 1} ({header[0]} {rows[row][0]}), column {header[column]} is "
                assert lines == (f"{where}{new!r}, recomputed {cell!r}",)


def write_table(path: Path, rows: list[list[str]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as opened:
        csv.writer(opened).writerows(rows)


@pytest.mark.usefixtures("once")
def test_rows_and_columns_that_are_gone_or_added_are_noticed(runs: dict[str, Path], tmp_path: Path) -> None:
    run = runs["fair"]
    with (run / "labels.csv").open(encoding="utf-8", newline="") as opened:
        rows = list(csv.reader(opened))
    swapped = [rows[0], rows[2], rows[1], *rows[3:]]
    for table, words in [
        (rows[:-1], "the number of rows is 89, recomputed 90"),
        ([*rows, rows[-1]], "the number of rows is 91, recomputed 90"),
        (swapped, "row 1 (task"),
        ([row[:-1] for row in rows], "the header is"),
        ([[*row, "x"] for row in rows], "the header is"),
        ([rows[0], [*rows[1], "x"], *rows[2:]], f"row 1 (task {rows[1][0]}), the number of cells is"),
        ([], "the header is []"),
    ]:
        lines = attacked(run, tmp_path, "labels.csv", lambda path, table=table: write_table(path, table)).differences
        assert lines[0].startswith(f"labels.csv: {words}"), lines


@pytest.mark.usefixtures("once")
@pytest.mark.parametrize("name", ["fair", "more groups", "calibrated", "plain"])
def test_every_array_of_the_model_is_noticed(name: str, runs: dict[str, Path], tmp_path: Path) -> None:
    with np.load(runs[name] / "model.npz") as packed:
        arrays = dict(packed)
    for key, array in arrays.items():
        if not array.size:
            continue
        new = array.copy()
        last = new.flat[-1].item()
        new.flat[-1] = other(last * (1 + 1e-6) if isinstance(last, float) else last) if np.isfinite(last) else 1.0
        lines = attacked(
            runs[name], tmp_path, "model.npz", lambda path, key=key, new=new: np.savez(path, **{**arrays, key: new})
        ).differences
        assert len(lines) == 1
        assert lines[0].startswith(f"model.npz: {key}")
    more = attacked(
        runs[name], tmp_path, "model.npz", lambda path: np.savez(path, more=np.zeros(2), **arrays)
    ).differences
    assert more[0].startswith("model.npz: the list of arrays is ")
    torn = attacked(runs[name], tmp_path, "model.npz", lambda path: path.write_bytes(b"no archive")).differences
    assert torn[0].startswith("model.npz cannot be read")


@pytest.mark.usefixtures("once")
@pytest.mark.parametrize("name", ["fair", "plain", "audit"])
def test_every_part_of_the_page_is_noticed(name: str, runs: dict[str, Path], tmp_path: Path) -> None:
    """Numbers between tags, in the data of charts and slider, in attributes, and the scripts."""
    run = runs[name]
    page = (run / "report.html").read_text(encoding="utf-8")
    digits = [match.start() for match in re.finditer(r"(?<=\d)\d", page)]
    shown = [at for at in digits if "<script>" not in page[:at]]
    data = page.index('id="data"')
    of_data = [at for at in digits if data < at < page.index("</script>", data)]
    for at in [*sampled(shown, 12), *sampled(of_data or shown, 12), *sampled(digits, 4)]:
        new = page[:at] + str((int(page[at]) + 5) % 10) + page[at + 1 :]
        found = attacked(run, tmp_path, "report.html", lambda path, new=new: path.write_text(new, encoding="utf-8"))
        if found.differences:
            assert all(line.startswith("report.html: ") for line in found.differences)
        else:  # the last digits of a number with many
            assert found.notes == ("1 numbers in report.html differ by rounding, at most 1e-09 of their size",)


def test_a_page_with_another_script_is_noticed(runs: dict[str, Path], tmp_path: Path) -> None:
    for old, new in (("</body>", "<script>alert(1)</script></body>"), ("</body>", "<p>approved</p>\n</body>")):
        attack = lambda path, old=old, new=new: path.write_text(path.read_text().replace(old, new))  # noqa: E731
        assert attacked(runs["plain"], tmp_path, "report.html", attack).differences


def test_a_price_in_the_rule_is_noticed_also_if_every_hash_is_repaired(runs: dict[str, Path], tmp_path: Path) -> None:
    def cheaper(path: Path) -> None:
        changed_json(path, ("prices", 0, 1), lambda price: price / 2)

    (line,) = attacked(runs["fair"], tmp_path, "rule.json", cheaper).differences
    assert line.startswith("rule.json: prices[0][1] is ")
    assert ", recomputed " in line


def test_rounding_is_no_difference_but_said(runs: dict[str, Path], tmp_path: Path) -> None:
    attack = lambda path: changed_json(path, ("prices", 0, 1), lambda price: price * (1 + 1e-14))  # noqa: E731
    found = attacked(runs["fair"], tmp_path, "rule.json", attack)
    assert (found.verified, found.notes) == (
        True,
        ("1 numbers in rule.json differ by rounding, at most 1e-09 of their size",),
    )
    laid_out = attacked(runs["fair"], tmp_path, "rule.json", lambda path: path.write_text(path.read_text() + "\n"))
    assert (laid_out.verified, laid_out.notes) == (
        True,
        ("rule.json is laid out in another way; its values are those of the run",),
    )


def test_a_field_that_is_there_twice_is_refused(runs: dict[str, Path], tmp_path: Path) -> None:
    """The other of the two may be what another program reads."""

    def twice(path: Path) -> None:
        path.write_text(path.read_text().replace('"epsilon": 0.05', '"epsilon": 0.5, "epsilon": 0.05'))

    (line,) = attacked(runs["fair"], tmp_path, "rule.json", twice).differences
    assert line.startswith("rule.json cannot be read: ")
    assert line.endswith("it has 'epsilon' twice")


def test_a_file_of_another_run_is_noticed(runs: dict[str, Path], tmp_path: Path) -> None:
    """A rule beside labels that were not made fair would be deployed with them."""
    folder = tmp_path / "mixed"
    shutil.copytree(runs["plain"], folder)
    shutil.copy(runs["fair"] / "rule.json", folder)
    assert verify(folder).differences == ("rule.json is not a file of this run",)
    said = json.loads((folder / EVIDENCE).read_text())
    said["outputs"]["rule.json"] = hashlib.sha256((folder / "rule.json").read_bytes()).hexdigest()
    (folder / EVIDENCE).write_text(json.dumps(said))
    assert verify(folder).differences == ("rule.json is not a file that such a run writes",)


@pytest.mark.parametrize("file", ["rule.json", "labels.csv", "certificate.json", "model.npz", "workers.csv"])
def test_a_file_that_is_gone_with_its_hash_is_noticed(file: str, runs: dict[str, Path], tmp_path: Path) -> None:
    folder = tmp_path / "gone"
    shutil.copytree(runs["more groups"], folder)
    (folder / file).unlink()
    said = json.loads((folder / EVIDENCE).read_text())
    del said["outputs"][file]
    (folder / EVIDENCE).write_text(json.dumps(said))
    assert verify(folder).differences == (f"{file} is not listed among the outputs in evidence.json",)


def test_the_command_in_the_evidence_is_looked_at(runs: dict[str, Path], tmp_path: Path) -> None:
    def command(name: object) -> Attack:
        return lambda path: changed_json(path, ("command",), lambda _: name)

    for name in ("frontiers", None, ["aggregate"]):
        with pytest.raises(InputError, match=r"is evidence of a command .*, which cannot be repeated"):
            attacked(runs["plain"], tmp_path, EVIDENCE, command(name))
    assert attacked(runs["audit"], tmp_path, EVIDENCE, command("aggregate")).differences
    with pytest.raises(InputError, match="damaged or incomplete"):
        attacked(runs["plain"], tmp_path, EVIDENCE, command("audit"))


def test_a_new_command_is_one_entry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from faircrowd.report import OutputFolder
    from faircrowd.report.evidence import evidence

    def write(folder: OutputFolder, words: list[str]) -> None:
        folder.write_json("words.json", words)
        proof = evidence("count", {"words": words}, {}, None)
        folder.write_json(EVIDENCE, {**proof, "outputs": folder.hashes()})

    monkeypatch.setattr("faircrowd.runs.recorded_runs.RECORDED", RECORDED)  # as it was, afterwards
    monkeypatch.setitem(RECORDED, "count", None)
    register(
        RecordedCommand(
            "count",
            ("words.json", EVIDENCE),
            lambda run, folder: write(folder, sorted(run.said["options"]["words"])),
        )
    )
    with OutputFolder(tmp_path / "run") as folder:
        write(folder, ["a", "b"])
    assert verify(tmp_path / "run").verified
    (tmp_path / "run" / "words.json").write_text('["a", "c"]')
    repaired(tmp_path / "run", "words.json")
    assert verify(tmp_path / "run").differences == ("words.json: [1] is 'c', recomputed 'b'",)


@pytest.mark.usefixtures("once")
def test_a_picture_of_the_frontier_is_noticed(runs: dict[str, Path], tmp_path: Path) -> None:
    def torn(path: Path) -> None:
        path.write_bytes(path.read_bytes()[:-9])

    for file in ("frontier.svg", "frontier.png"):
        lines = attacked(runs["frontier"], tmp_path, file, torn).differences
        assert len(lines) == 1
        assert lines[0].startswith(f"{file}: byte ")
