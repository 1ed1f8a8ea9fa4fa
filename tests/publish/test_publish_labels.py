"""Files for platforms: in their form, read again by our own readers, and never taken for votes."""

import csv
import json
import warnings
import zipfile
from contextlib import suppress
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import faircrowd as fc
from faircrowd.errors import DataWarning, FaircrowdError, InputError, OptionError
from faircrowd.publish import FORMS, register_form
from faircrowd.publish.platform_form import FormOptions
from faircrowd.publish.publish_labels import Publication, make_publication
from publish.finished_runs import label_studio_task, write_run

ROWS = [(11, "1", "1", 0.9), (12, "2", "1", 0.4), (13, "2", "2", 0.75)]


@pytest.fixture
def export(tmp_path: Path) -> Path:
    path = tmp_path / "export.json"
    tasks = [label_studio_task(number, "112", gender="w") for number in (11, 12, 13)]
    path.write_text(json.dumps(tasks), encoding="utf-8")
    return path


@pytest.fixture
def folder(tmp_path: Path, export: Path) -> Path:
    return write_run(tmp_path / "run", ROWS, votes=export)


def made(folder: Path, to: str, **more: Any) -> Publication:
    options = FormOptions(**{name: more.pop(name) for name in list(more) if name in FormOptions.__dataclass_fields__})
    return make_publication(folder, to, options=options, **more)


def assert_no_votes(found: Publication, folder: Path) -> None:
    """No reader of ours takes a published file for votes."""
    path = folder / f"published{found.platform.ending}"
    found.write(path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        with suppress(FaircrowdError):  # no export that is known, or no worker in it
            assert fc.read_votes(path).n_votes == 0


def test_label_studio_predictions(folder: Path) -> None:
    found = made(folder, "label-studio")
    assert json.loads(found.form.text) == found.form.items
    assert found.form.items[1] == {
        "task": 12,
        "model_version": "faircrowd eps=0.05",
        "score": 0.4,
        "result": [{"from_name": "better", "to_name": "text", "type": "choices", "value": {"choices": ["2"]}}],
    }


def test_a_published_file_is_no_vote(folder: Path, export: Path, tmp_path: Path) -> None:
    """Neither the file itself nor an export of the project that has the predictions."""
    assert_no_votes(made(folder, "label-studio"), tmp_path)
    assert_no_votes(made(folder, "label-studio", with_data=True), tmp_path)
    assert_no_votes(made(folder, "csv"), tmp_path)
    tasks = json.loads(export.read_text())
    by_task = {item["task"]: item for item in made(folder, "label-studio").form.items}
    after = [{**task, "predictions": [by_task[task["id"]]]} for task in tasks]
    (tmp_path / "after.json").write_text(json.dumps(after))
    with pytest.warns(DataWarning, match="Label Studio"):
        before_votes, after_votes = fc.read_votes(export), fc.read_votes(tmp_path / "after.json")
    assert before_votes.n_votes == after_votes.n_votes == 9
    assert before_votes.n_workers == after_votes.n_workers == 3


def test_label_studio_without_an_export_needs_names(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "run", ROWS)
    with pytest.raises(OptionError, match=r"question=\.\.\."):
        made(folder, "label-studio")
    with pytest.raises(OptionError, match=r"to_name=\.\.\."):
        made(folder, "label-studio", question="better")
    item = made(folder, "label-studio", question="better", to_name="text").form.items[0]
    assert item["result"][0]["type"] == "choices"
    item = made(folder, "label-studio", question="q", to_name="t", control_type="rating").form.items[0]
    assert item["result"][0]["value"] == {"rating": 1}
    with pytest.raises(OptionError, match="parts of a task"):
        made(folder, "label-studio", question="q", to_name="t", control_type="rectanglelabels")
    with pytest.raises(OptionError, match="no data"):
        made(folder, "label-studio", question="q", to_name="t", with_data=True)


def test_tasks_of_another_export_are_refused(folder: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.json"
    other.write_text(json.dumps([label_studio_task(99, "12")]))
    with pytest.raises(InputError, match=r"3 of the 3 tasks to publish are not in the export, such as 11, 12, 13"):
        made(folder, "label-studio", export=other)
    with pytest.raises(OptionError, match="There is no export"):
        made(folder, "label-studio", export=tmp_path / "gone.json")


def test_ids_that_are_not_the_platforms_own(tmp_path: Path, export: Path) -> None:
    rows = [(f"key {task}", *rest) for task, *rest in ROWS]
    folder = write_run(tmp_path / "run", rows, votes=export, reading={"task": "data.key"})
    with pytest.raises(InputError, match=r"took 'data.key' for the id of a task.*without task=\.\.\."):
        made(folder, "label-studio")


def test_ids_that_are_the_platforms_own_by_accident_alone(tmp_path: Path, export: Path) -> None:
    """A column of the data with numbers: each is the id of a task, though of another one."""
    folder = write_run(tmp_path / "run", ROWS, votes=export, reading={"task": "data.rank"})
    with pytest.raises(InputError, match=r"took 'data.rank' for the id of a task"):
        made(folder, "label-studio")
    export.unlink()
    with pytest.raises(InputError, match=r"took 'data.rank' for the id of a task"):
        made(folder, "label-studio", question="better", to_name="text")
    assert len(made(folder, "csv").form.items) == 3


@pytest.mark.parametrize("name", ["id", "task"])
def test_the_platforms_own_name_of_a_task(tmp_path: Path, export: Path, name: str) -> None:
    folder = write_run(tmp_path / "run", ROWS, votes=export, reading={"task": name})
    assert [item["task"] for item in made(folder, "label-studio").form.items] == [11, 12, 13]


def test_a_run_with_a_review_budget(tmp_path: Path) -> None:
    export, run = tmp_path / "export.json", tmp_path / "run"
    tasks = [label_studio_task(n, ["112", "221"][n % 2], gender="wm"[n % 4 > 1]) for n in range(1, 41)]
    export.write_text(json.dumps(tasks))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        votes = fc.read_votes(export, label="better")
    groups = pd.Series({task["id"]: task["data"]["gender"] for task in tasks}, name="gender")
    asked = ["parity(gender) <= 0.1", "reviewed <= 0.1"]
    fc.FairCrowd(fc.DawidSkene(), constraints=asked).fit(votes, sensitive_features=groups).write(run)
    with (run / "labels.csv").open(newline="") as file:
        kept = {int(row["task"]): row["label"] for row in csv.DictReader(file) if row["review"] == "false"}
    assert len(kept) == 36
    items = made(run, "label-studio", export=export, question="better").form.items
    assert {item["task"]: item["result"][0]["value"]["choices"][0] for item in items} == kept


@pytest.mark.parametrize("reading", [{"bins": "2.5"}, {"multi": "each"}])
def test_labels_that_are_no_answers_go_to_a_table_alone(tmp_path: Path, export: Path, reading: dict[str, str]) -> None:
    folder = write_run(tmp_path / "run", ROWS, votes=export, reading=reading)
    for to in FORMS.keys() - {"csv"}:
        with pytest.raises((InputError, OptionError), match=r"to='(csv|label-studio)'"):
            made(folder, to)
    assert len(made(folder, "csv").form.items) == 3


def test_sets_of_options(tmp_path: Path, export: Path) -> None:
    rows = [(11, "1|2", "1|2", 0.9), (12, "1", "1", 0.8)]
    folder = write_run(tmp_path / "run", rows, votes=export, reading={"multi": "set"})
    values = [item["result"][0]["value"]["choices"] for item in made(folder, "label-studio").form.items]
    assert values == [["1", "2"], ["1"]]


def test_a_table(folder: Path, tmp_path: Path) -> None:
    made(folder, "csv").write(tmp_path / "labels.csv")
    with (tmp_path / "labels.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert rows[1] == {
        "task": "12",
        "label": "2",
        "score": "0.4",
        "changed": "true",
        "model_version": "faircrowd eps=0.05",
    }


def test_a_table_is_safe_to_open(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "run", [("t1", "=cmd()", "=cmd()", 0.9), ("t2", "b", "b", 0.8)])
    text = (folder / "labels.csv").read_text()
    (folder / "labels.csv").write_text(text.replace('"=cmd()"', '"\'=cmd()"'))
    assert "'=cmd()" in made(folder, "csv").form.text


@pytest.fixture
def doccano(tmp_path: Path) -> Path:
    path = tmp_path / "doccano.zip"
    with zipfile.ZipFile(path, "w") as packed:
        for user, label in (("ann", "1"), ("bob", "2")):
            lines = [
                {"id": n, "text": f"text {n}", "gender": "w", "label": [label], "Comments": []} for n in (11, 12, 13)
            ]
            packed.writestr(f"{user}.jsonl", "".join(json.dumps(line) + "\n" for line in lines))
    return path


def test_doccano(tmp_path: Path, doccano: Path) -> None:
    found = made(write_run(tmp_path / "run", ROWS), "doccano", export=doccano)
    assert_no_votes(found, tmp_path)
    lines = [json.loads(line) for line in found.form.text.splitlines()]
    assert lines[1] == {
        "text": "text 12",
        "label": ["2"],
        "gender": "w",
        "source_id": 12,
        "faircrowd_p": 0.4,
        "faircrowd_version": "faircrowd eps=0.05",
    }


def test_doccano_with_several_labels_per_text(tmp_path: Path, doccano: Path) -> None:
    rows = [(11, "1|2", "1|2", 0.9), (12, "1", "1", 0.8)]
    folder = write_run(tmp_path / "run", rows, reading={"multi": "set"})
    assert [item["label"] for item in made(folder, "doccano", export=doccano).form.items] == [["1", "2"], ["1"]]


def test_exports_of_another_platform_are_refused(folder: Path, export: Path) -> None:
    """What a Label Studio export holds, names of workers among it, must not end up in a file for doccano."""
    for name in ("doccano", "argilla", "ground-truth", "prodigy"):
        with pytest.raises(InputError, match=r"export.json is an export of Label Studio, and to="):
            made(folder, name, export=export)
        with pytest.raises(InputError, match=r"are from an export of Label Studio .* publish with to='label-studio'"):
            made(folder, name)


def test_a_plain_table_may_have_the_ids_in_any_column(tmp_path: Path, export: Path) -> None:
    table = tmp_path / "votes.csv"
    table.write_text("key,rater,label\n11,a,1\n11,b,2\n")
    folder = write_run(tmp_path / "table", ROWS, votes=table, reading={"task": "key"})
    found = made(folder, "label-studio", question="better", to_name="text")
    assert [item["task"] for item in found.form.items] == [11, 12, 13]
    assert any("tasks go by the column 'key'" in note for note in found.notes())
    assert [item["task"] for item in made(folder, "label-studio", export=export).form.items] == [11, 12, 13]


def records(form: str) -> list[dict[str, Any]]:
    nested = {"responses": {"better": [{"value": "1", "user_id": "u"}]}, "suggestions": {}, "vectors": {}}
    flat = {"text": "t", "gender": "w", "better.responses": ["1"], "better.responses.users": ["u"]}
    more = {"flat": flat, "nested": {"fields": {"text": "t"}, "metadata": {"gender": "w"}, **nested}}[form]
    return [{"id": f"r{n}", "status": "pending", "_server_id": f"s{n}", **more} for n in (11, 12, 13)]


def test_argilla(tmp_path: Path) -> None:
    rows = [(f"r{task}", *rest) for task, *rest in ROWS]
    folder = write_run(tmp_path / "run", rows)
    for form in ("nested", "flat"):
        export = tmp_path / f"{form}.json"
        export.write_text(json.dumps(records(form)))
        assert_no_votes(made(folder, "argilla", export=export), tmp_path)
        item = made(folder, "argilla", export=export).form.items[1]
        if form == "nested":
            assert item["suggestions"] == {"better": {"value": "2", "score": 0.4, "agent": "faircrowd eps:0.05"}}
            assert item["responses"] == {}
            assert item["fields"] == {"text": "t"}
        else:
            assert item == {
                "id": "r12",
                "text": "t",
                "gender": "w",
                "better": "2",
                "better.score": 0.4,
                "better.agent": "faircrowd eps:0.05",
            }
    with pytest.raises(OptionError, match=r"question=\.\.\."):
        made(folder, "argilla", export=export, question="other")


def test_ids_that_a_spreadsheet_would_run(tmp_path: Path) -> None:
    """labels.csv has them with an apostrophe, and the platform without."""
    ids = ["=r11", "+r12", "@r13"]
    folder = write_run(tmp_path / "run", [(f"'{task}", *rest) for task, (_, *rest) in zip(ids, ROWS, strict=True)])
    export = tmp_path / "nested.json"
    export.write_text(json.dumps([{**record, "id": task} for task, record in zip(ids, records("nested"), strict=True)]))
    assert [item["id"] for item in made(folder, "argilla", export=export).form.items] == ids


def test_ground_truth(tmp_path: Path) -> None:
    rows = [(0, "Owl", "Owl", 0.9), (1, "Duck", "Owl", 0.4), (2, "Crow", "Crow", 0.8)]
    folder = write_run(tmp_path / "run", rows)
    metadata = {"class-name": "Owl", "type": "groundtruth/image-classification", "human-annotated": "yes"}
    lines = [{"source-ref": f"s3://b/{n}.jpg", "job": 7, "job-metadata": metadata} for n in range(3)]
    manifest = tmp_path / "output.manifest"
    manifest.write_text("".join(json.dumps(line) + "\n" for line in lines))
    found = made(folder, "ground-truth", export=manifest)
    assert_no_votes(found, tmp_path)
    written = [json.loads(line) for line in found.form.text.splitlines()]
    assert [line["faircrowd"] for line in written] == [7, 9, 8]  # the job's own number of Owl, then free ones
    about = written[1]["faircrowd-metadata"]
    assert (about["class-name"], about["confidence"], about["human-annotated"]) == ("Duck", 0.4, "yes")
    assert about["type"] == "groundtruth/image-classification"
    assert written[1]["job"] == 7
    for wrong in ("job", "my label", "x-ref", "x-metadata"):
        with pytest.raises(OptionError):
            made(folder, "ground-truth", export=manifest, attribute=wrong)


def test_ground_truth_with_several_classes(tmp_path: Path) -> None:
    folder = write_run(
        tmp_path / "run", [(0, "Duck|Owl", "Duck", 0.6), (1, "Duck", "Duck", 0.8)], reading={"multi": "set"}
    )
    metadata = {"class-map": {"7": "Owl"}, "type": "groundtruth/text-classification-multilabel"}
    manifest = tmp_path / "output.manifest"
    manifest.write_text(2 * (json.dumps({"source": "text", "job": [7], "job-metadata": metadata}) + "\n"))
    both, one = made(folder, "ground-truth", export=manifest).form.items
    assert (both["faircrowd"], one["faircrowd"]) == ([8, 7], [8])
    about = both["faircrowd-metadata"]
    assert about["class-map"] == {"8": "Duck", "7": "Owl"}
    assert about["confidence-map"] == {"8": 0.6, "7": 0.6}
    assert about["type"] == "groundtruth/text-classification-multilabel"
    assert "class-name" not in about


def test_ground_truth_rows_are_those_of_the_votes(tmp_path: Path) -> None:
    """Blank lines of the manifest count as rows, and manifests of single steps of the job are not taken."""
    job = tmp_path / "job"
    rows = [f'{{"source": "text {n}"}}\n' for n in range(4)]
    rows[1] = "\n"
    for place, lines in (("output", rows), ("intermediate/1", rows[::-1])):
        path = job / "manifests" / place / "output.manifest"
        path.parent.mkdir(parents=True)
        path.write_text("".join(lines))
    (job / "manifests" / "an-input-or-output.manifest").write_text("".join(rows[2:]))
    for row in (0, 2, 3):
        path = job / "annotations" / "worker-response" / "iteration-1" / str(row) / "1.json"
        path.parent.mkdir(parents=True)
        answer = {"workerId": "w", "submissionTime": "2026-01-01T00:00:00Z", "answerContent": {"q": {"label": "a"}}}
        path.write_text(json.dumps({"answers": [answer]}))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        assert sorted(fc.read_votes(job).tasks.to_list()) == [0, 2, 3]
    folder = write_run(tmp_path / "run", [(0, "a", "a", 0.9), (2, "a", "a", 0.9), (3, "b", "a", 0.9)])
    for export in (job, job / "manifests" / "output" / "output.manifest"):
        items = made(folder, "ground-truth", export=export).form.items
        assert [item["source"] for item in items] == ["text 0", "text 2", "text 3"]
    other = write_run(tmp_path / "other", [(1, "a", "a", 0.9)])
    with pytest.raises(InputError, match="not in the export"):
        made(other, "ground-truth", export=job)


def test_prodigy(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "run", ROWS)
    export = tmp_path / "prodigy.jsonl"
    tasks = [
        {"text": f"t{n}", "_input_hash": n, "_task_hash": -n, "options": [{"id": "1"}, {"id": "2"}], "accept": ["1"]}
        | {"answer": "accept", "_annotator_id": user, "_session_id": user, "_timestamp": 1}
        for n in (11, 12, 13)
        for user in ("ann", "bob")
    ]
    export.write_text("".join(json.dumps(task) + "\n" for task in tasks))
    found = made(folder, "prodigy", export=export)
    line = found.form.items[1]
    assert (line["accept"], line["answer"], line["_session_id"]) == (["2"], "accept", "faircrowd")
    assert line["_annotator_id"] == "faircrowd"
    assert "_timestamp" not in line
    assert line["meta"]["faircrowd_p"] == 0.4
    both = tmp_path / "both.jsonl"
    both.write_text(export.read_text() + found.form.text)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        votes = fc.read_votes(both)
    assert "3 of 9 rows set aside: written back by faircrowd" in {str(one.message) for one in said}
    assert (votes.n_votes, votes.n_workers) == (6, 2)
    assert_no_votes(found, tmp_path)


def test_prodigy_decisions(tmp_path: Path) -> None:
    rows = [(n, label, "accept", 0.8) for n, label in ((11, "accept"), (12, "reject"))]
    export = tmp_path / "prodigy.jsonl"
    tasks = [
        {"text": "t", "_input_hash": n, "label": label, "answer": "accept"} for n in (11, 12) for label in ("A", "B")
    ]
    export.write_text("".join(json.dumps(task) + "\n" for task in tasks))
    folder = write_run(tmp_path / "run", rows, reading={"label": "B"})
    items = made(folder, "prodigy", export=export).form.items
    assert [(item["label"], item["answer"]) for item in items] == [("B", "accept"), ("B", "reject")]
    with pytest.raises(OptionError, match="accepted or rejected"):
        made(write_run(tmp_path / "other", ROWS[:2]), "prodigy", export=export)


def test_platforms_are_registered_once() -> None:
    assert list(FORMS) == ["label-studio", "argilla", "doccano", "ground-truth", "prodigy", "csv"]
    with pytest.raises(OptionError, match="already"):
        register_form(FORMS["csv"])
    with pytest.raises(OptionError, match=r"to='mturk' has no form of its own; .* use to='csv'"):
        make_publication(Path(), "mturk")
