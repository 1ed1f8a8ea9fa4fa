"""Real exports of every platform, counted: tasks, workers, votes, rows left out by name, known labels."""

import json
import re
import tarfile
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from faircrowd.errors import FaircrowdError, FileError
from faircrowd.votes.exports import EXPORTS, find_export
from faircrowd.votes.exports.export_file import ExportFile
from votes.exports.reading import known_to, see

SET = {"multi": "set"}
BETTER = {"label": "better"}
NOT_SENT = {"draft": 5, "discarded": 5}

COUNTS: dict[str, tuple[str, dict[str, Any], tuple[int, int, int], dict[str, int], int]] = {
    "appen/crowdtruth_platform_cf1.csv": ("appen", {}, (9, 18, 27), {}, 0),
    "appen/crowdtruth_platform_cf2.csv": ("appen", {}, (7, 17, 63), {}, 0),
    "appen/relex-binary-choice.csv": ("appen", {}, (10, 67, 150), {}, 0),
    "argilla/records_flat.jsonl": ("argilla", BETTER, (12, 8, 50), NOT_SENT, 0),
    "argilla/records.parquet": ("argilla", BETTER, (12, 8, 50), NOT_SENT, 0),
    "argilla/records_after.parquet": ("argilla", BETTER, (12, 8, 50), NOT_SENT, 0),
    "argilla/records.json": ("argilla", BETTER, (12, 9, 60), {}, 0),
    "doccano/jsonl_all.zip": ("doccano", SET, (15, 9, 75), {"not answered": 75}, 0),
    "doccano/csv_all.zip": ("doccano", SET, (15, 9, 75), {"not answered": 75}, 0),
    "doccano/jsonl_confirmed.zip": ("doccano", SET, (15, 9, 38), {}, 0),
    "doccano/csv_confirmed.zip": ("doccano", SET, (15, 9, 38), {}, 0),
    "ground-truth/ic_data.tar.gz": ("ground-truth", {}, (302, 97, 1510), {}, 0),
    "judges/inspect_log.json": ("inspect", {}, (1, 1, 1), {}, 0),
    "judges/promptfoo_export.json": ("promptfoo", {}, (4, 1, 4), {"not judged by a model": 10}, 0),
    "mturk/crowdtruth_platform_amt1.csv": ("mturk", {}, (9, 18, 27), {}, 0),
    "mturk/crowdtruth_platform_amt2.csv": ("mturk", {}, (7, 17, 63), {}, 0),
    "toloka/hate-speech-pool.tsv": ("toloka", {}, (265, 53, 1325), {"golden": 663}, 20),
    "wide/mace_rte.standardized.csv": ("wide", {}, (800, 164, 8000), {}, 0),
    "cvat": (
        "cvat",
        SET,
        (2, 5, 5),
        {"not answered": 25, "merged from replicas": 2, "ground truth": 2, "not a replica": 4},
        0,
    ),
}
REFUSED = {
    "doccano/collaborative.zip": ("doccano", "one file per user"),
    "judges/inspect_popularity.eval": ("inspect", "10 not scored"),
    "judges/promptfoo_output.json": ("promptfoo", "8 without assertions"),
}
OTHERS = {f"label-studio/export.{end}": "label-studio" for end in ("json", "json-min", "csv", "tsv")} | {
    "label-studio/export_after_writeback.json": "label-studio",
    "label-studio/snapshot_expanded.json": "label-studio",
}
FORMATS = (
    {name: found[0] for name, found in COUNTS.items()} | {name: found[0] for name, found in REFUSED.items()} | OTHERS
)


def test_every_real_file_is_counted(platforms: Path) -> None:
    files = {str(path.relative_to(platforms)) for path in platforms.rglob("*") if path.is_file()}
    assert {name for name in files if not name.startswith("cvat/")} - {"README.md"} == set(FORMATS) - {"cvat"}


@pytest.mark.parametrize("name", COUNTS)
def test_counts(platforms: Path, name: str) -> None:
    _, options, sizes, left_out, known = COUNTS[name]
    seen = see(platforms / name, **options)
    assert (seen.tasks, seen.workers, seen.votes) == sizes
    assert seen.left_out == left_out
    assert len(seen.golden) == known


@pytest.mark.parametrize("name", REFUSED)
def test_files_without_votes_say_why(platforms: Path, name: str) -> None:
    with pytest.raises(FileError, match=REFUSED[name][1]):
        see(platforms / name)


@pytest.mark.parametrize("name", FORMATS)
def test_no_other_format_takes_the_file(platforms: Path, name: str) -> None:
    """Each file is recognised by its own format alone, whatever the order of the registry."""
    assert find_export(platforms / name) is EXPORTS[FORMATS[name]]
    assert known_to(platforms / name) == [FORMATS[name]]


@pytest.mark.parametrize("name", FORMATS)
def test_a_wrong_format_is_an_error_in_words(platforms: Path, name: str) -> None:
    for kind in EXPORTS.values():
        with suppress(FaircrowdError):
            list(kind.answers(ExportFile(platforms / name)))


@pytest.mark.parametrize("name", COUNTS)
def test_nothing_personal_is_read(platforms: Path, name: str) -> None:
    seen = see(platforms / name, **COUNTS[name][1])
    personal = re.compile(r"\b(\d{1,3}\.){3}\d{1,3}\b|[^@\s]+@[^@\s]+\.\w+")
    assert not [
        column for column in seen.header if re.search(r"(?i)(^|[._:])(ip|city|email|token|country|region)$", column)
    ]
    for column, values in seen.cells.items():
        assert not [value for value in map(str, values) if personal.fullmatch(value)], column


def test_drafts_are_told_apart_only_where_argilla_writes_the_status(platforms: Path) -> None:
    flat, nested = (see(platforms / "argilla" / name, **BETTER) for name in ("records_flat.jsonl", "records.json"))
    assert "WARNING: to_json of Argilla does not write the status" in nested.notes
    assert "WARNING" not in flat.notes
    assert Counter(flat.rows) < Counter(nested.rows)


def test_argilla_aligns_each_question_with_its_own_users(platforms: Path) -> None:
    """The second question was answered by some users only, so its lists are shorter than those of the first."""
    lines = (platforms / "argilla" / "records_flat.jsonl").read_text(encoding="utf-8").splitlines()
    records = [json.loads(line) for line in lines]
    expected = {
        (record["id"], user, "|".join(sorted(value)))
        for record in records
        for user, value, status in zip(
            *(record.get(f"flags.responses{end}") or [] for end in (".users", "", ".status")), strict=True
        )
        if status == "submitted"
    }
    seen = see(platforms / "argilla" / "records_flat.jsonl", label="flags", multi="set")
    assert len(expected) == 10
    assert {row for row in seen.rows if row[2] is not None} == expected


def test_doccano_says_the_same_in_both_forms(platforms: Path) -> None:
    lines, table = (see(platforms / "doccano" / f"{form}_all.zip", **SET) for form in ("jsonl", "csv"))
    assert Counter(lines.rows) == Counter(table.rows)


def test_ground_truth_majority_is_mostly_right(platforms: Path, tmp_path: Path) -> None:
    """The rows of the manifest are joined with the answers: their majority agrees with the true labels."""
    path = platforms / "ground-truth" / "ic_data.tar.gz"
    with tarfile.open(path) as archive:
        content = archive.extractfile("ic_data/true_labels.json")
        assert content is not None
        truth = {one["ImageId"]: one["Label"] for one in json.load(content)}
        archive.extractall(tmp_path, filter="data")
    seen = see(path)
    image = {task: Path(ref).stem for task, ref in zip(seen.cells["task"], seen.cells["source-ref"], strict=True)}
    votes: dict[int, Counter[str]] = {}
    for task, _, label in seen.rows:
        votes.setdefault(task, Counter())[label] += 1
    right = [count.most_common(1)[0][0] == truth[image[task]] for task, count in votes.items() if image[task] in truth]
    assert len(right) == 302
    assert sum(right) / len(right) > 0.8
    assert Counter(see(tmp_path / "ic_data").rows) == Counter(seen.rows)


def test_a_folder_of_many_exports_is_none_of_them(platforms: Path) -> None:
    assert known_to(platforms) == []
