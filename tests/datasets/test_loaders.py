"""What the loaders read from the published files, and what they set aside."""

import csv
import io
import shutil
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from small_files import assert_same_crowd, labels_of, write_judgement

from faircrowd.datasets import (
    Crowd,
    load_crowd_judgement,
    load_jigsaw_toxicity,
    load_measuring_hate_speech,
    load_synthetic,
    load_tables,
)
from faircrowd.datasets.catalogue import ABOUT
from faircrowd.datasets.crowd import arrow_tables
from faircrowd.datasets.published_files import IDENTITIES
from faircrowd.errors import FileError, InputError, MissingColumnError, OptionError
from faircrowd.votes import read_votes, simulate_crowd

real = pytest.mark.real


PREPARED = ("tweets-hate-3class", "politifact-6class", "faces-4class", "hatexplain-3class", "accuracy/s4_Relevance")


def gap(rates: pd.Series, groups: pd.Series) -> float:
    return float(rates[groups == 1].mean() - rates[groups == 0].mean())


@real
def test_crowd_judgement(data_folder: Path) -> None:
    crowd = load_crowd_judgement(data_folder, download=False)
    assert crowd.votes.columns.tolist() == ["task", "worker", "label"]
    assert crowd.votes.nunique().to_dict() == {"task": 1000, "worker": 400, "label": 2}
    assert crowd.votes.groupby("task").size().unique().tolist() == [20]
    assert crowd.aside == {"rows of MTURK_RACE.csv that are not a task": 1}
    assert (crowd.groups.name, crowd.truth.name, crowd.groups.index.name) == ("black", "truth", "task")
    share = crowd.votes.groupby("task")["label"].mean()
    assert (share == 0.5).mean() == 0.042
    assert gap(share >= 0.5, crowd.groups) == pytest.approx(0.188, abs=5e-4)
    assert gap(share > 0.5, crowd.groups) == pytest.approx(0.193, abs=5e-4)
    assert gap(crowd.truth, crowd.groups) == pytest.approx(0.200, abs=5e-4)


@real
def test_crowd_judgement_cell_by_cell(data_folder: Path) -> None:
    folder = data_folder / "crowd-judgement"
    with (folder / "BROWARD_CLEAN_SUBSET.csv").open(newline="") as stream:
        tasks = {row["id"]: row for row in csv.DictReader(stream)}
    text = (folder / "MTURK_RACE.csv").read_bytes().decode().replace("\r", "\n")
    expected = {}
    for row in csv.DictReader(io.StringIO(text)):
        task = row.pop("mTurk_code")
        for worker, cell in row.items():
            if cell:
                truth = int(tasks[task]["two_year_recid"])
                expected[int(task), int(worker)] = truth if cell == "1" else 1 - truth
    crowd = load_crowd_judgement(data_folder, download=False)
    assert labels_of(crowd) == expected
    assert crowd.groups.to_dict() == {int(task): int(row["race"] == "2") for task, row in tasks.items()}
    assert crowd.truth.to_dict() == {int(task): int(row["two_year_recid"]) for task, row in tasks.items()}


def test_crowd_judgement_counts_what_is_missing(tmp_path: Path) -> None:
    votes = "mTurk_code,11,12,13\nid,,,\n5,1,-1,\n6,1,,1\n7,-1,,\n8,1,1,1\n99,1,,"
    tasks = "id,race,two_year_recid\n5,2,1\n6,1,0\n7,,1\n8,2,\n9,2,1\n,1,0"
    crowd = load_crowd_judgement(write_judgement(tmp_path / "raw", votes, tasks))
    assert labels_of(crowd) == {(5, 11): 1, (5, 12): 0, (6, 11): 0, (6, 13): 0}
    assert crowd.groups.to_dict() == {5: 1, 6: 0}
    assert crowd.truth.to_dict() == {5: 1, 6: 0}
    assert crowd.aside == {
        "rows of MTURK_RACE.csv that are not a task": 2,  # id, 99
        "votes without a label": 3,  # of 8, whose truth is not known
        "tasks without votes": 2,  # 8, 9
        "tasks without a group": 1,  # 7
        "votes on tasks without a group": 1,
    }


@pytest.mark.parametrize(
    ("votes", "tasks", "kind", "message"),
    [
        ("mTurk_code,11\n5,2", "id,race,two_year_recid\n5,2,1", FileError, "should be -1 or 1, but there is 2"),
        ("mTurk_code,11\n5,x", "id,race,two_year_recid\n5,2,1", FileError, "must hold numbers"),
        ("mTurk_code,11\n5,1", "id,race,two_year_recid\n5,2,7", FileError, "should be 0 or 1, but there is 7"),
        ("mTurk_code,11\n5,1", "id,race,recid\n5,2,1", MissingColumnError, "No column 'two_year_recid'"),
        ("mTurk_code,11\n5,1", "id,race,two_year_recid\n5,2,1\n5,1,1", InputError, "more than one black: 5"),
    ],
)
def test_a_wrong_file_is_refused(votes: str, tasks: str, kind: type[Exception], message: str, tmp_path: Path) -> None:
    with pytest.raises(kind, match=message):
        load_crowd_judgement(write_judgement(tmp_path / "raw", votes, tasks))


@real
def test_jigsaw_toxicity(data_folder: Path) -> None:
    raw = pd.read_csv(data_folder / "jigsaw-toxicity" / "responses_td_format.csv")
    features = pd.read_csv(data_folder / "jigsaw-toxicity" / "features_for_ml.csv", index_col="id").sort_index()
    last = raw.drop_duplicates(["question", "worker"], keep="last")
    for least in (1, 3):
        crowd = load_jigsaw_toxicity(data_folder, min_votes=least, download=False)
        kept = last[last.groupby("worker")["worker"].transform("size") >= least]
        assert len(crowd.votes) == len(kept) == {1: 98_937, 3: 96_704}[least]
        assert labels_of(crowd) == {(q, w): a for q, w, a in kept.itertuples(index=False)}
        assert crowd.aside.pop("repeated votes, of which the last counts") == 735
        assert crowd.aside == ({} if least == 1 else {"votes of workers with fewer than 3": 98_937 - 96_704})
        if least == 1:  # the published truth is the crowd's own majority, ties to 1
            assert crowd.truth.tolist() == (crowd.votes.groupby("task")["label"].mean() >= 0.5).astype(int).tolist()
    assert crowd.groups.tolist() == (features[list(IDENTITIES)] > 0).any(axis=1).astype(int).tolist()
    assert crowd.groups.index.tolist() == crowd.truth.index.tolist() == features.index.tolist()
    assert (crowd.groups.sum(), crowd.truth.sum()) == (512, 701)


@real
def test_the_order_of_rows_leaves_no_trace(data_folder: Path, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    for about in (ABOUT["crowd-judgement"], ABOUT["jigsaw-toxicity"]):
        for file in about.files:
            header, *rows = (data_folder / about.name / file.name).read_text().splitlines()
            order = rng.permutation(len(rows))
            if file.name == "responses_td_format.csv":  # the last of repeated votes counts: these keep their order
                pairs = pd.Series(row.rpartition(",")[0] for row in rows)
                order = np.argsort(rng.permutation(len(rows))[pd.factorize(pairs)[0]], kind="stable")
            (tmp_path / file.name).write_text("\n".join([header, *(rows[i] for i in order)]) + "\n")
    assert_same_crowd(load_crowd_judgement(tmp_path), load_crowd_judgement(data_folder, download=False))
    assert_same_crowd(load_jigsaw_toxicity(tmp_path), load_jigsaw_toxicity(data_folder, download=False))


def test_jigsaw_without_identities_has_no_group(tmp_path: Path) -> None:
    (tmp_path / "responses_td_format.csv").write_text("question,worker,answer\n1,1,0\n1,2,1\n2,1,1\n3,1,1\n")
    (tmp_path / "ground_truth_label.csv").write_text("question,result\n1,1\n3,0\n4,0\n")
    rows = {"1": ["0.0"] * 17 + [""], "2": [""] * 17 + ["0.2"], "3": [""] * 18}
    lines = [",".join(["id", *IDENTITIES]), *(",".join([task, *shares]) for task, shares in rows.items())]
    (tmp_path / "features_for_ml.csv").write_text("\n".join(lines) + "\n")
    crowd = load_jigsaw_toxicity(tmp_path, min_votes=1)
    assert crowd.groups.to_dict() == {1: 0, 2: 1}
    assert crowd.truth.to_dict() == {1: 1}
    assert crowd.aside == {
        "tasks without votes": 1,  # 4
        "tasks without a group": 1,  # 3
        "votes on tasks without a group": 1,
        "tasks without truth, kept all the same": 1,  # 2
    }
    with pytest.raises(OptionError, match="min_votes must be a whole number of at least 1"):
        load_jigsaw_toxicity(tmp_path, min_votes=0)


@pytest.fixture(scope="module")
def large(data_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with the columns, types and size of the real one: 135,556 rows, most comments with under 5 raters."""
    sample = pd.read_csv(data_folder / "measuring-hate-speech" / "sample-99-rows.csv")
    rng = np.random.default_rng(3)
    raters = np.minimum(rng.geometric(0.3, 39_565), 800)
    comment = np.repeat(np.arange(39_565) + 1, raters)[:135_556]
    comment = np.append(comment, rng.integers(1, 39_566, 135_556 - comment.size))
    rows = sample.iloc[rng.integers(0, len(sample), comment.size)].reset_index(drop=True)
    score = np.round(rng.normal(-0.5, 2, 39_566), 2)
    rows["comment_id"], rows["annotator_id"] = comment, rng.integers(1, 7913, comment.size)
    rows["hate_speech_score"] = score[comment]
    rows["text"] = "removed"
    rows["hatespeech"] = rng.choice([0.0, 1.0, 2.0], comment.size)
    rows = rows.drop_duplicates(["comment_id", "annotator_id"]).sample(frac=1, random_state=1)
    folder = tmp_path_factory.mktemp("hate")
    pq.write_table(pa.Table.from_pandas(rows, preserve_index=False), folder / "measuring-hate-speech.parquet")
    return folder


@real
@pytest.mark.parametrize("target", ["gender", "race"])
def test_measuring_hate_speech(large: Path, target: str) -> None:
    raw = pd.read_parquet(large / "measuring-hate-speech.parquet")
    assert raw.shape[1] == 131
    assert 130_000 < len(raw) <= 135_556
    crowd = load_measuring_hate_speech(large, target=target)
    assert len(crowd.votes) == len(raw)
    by_comment = raw.groupby("comment_id")
    assert crowd.truth.to_dict() == (by_comment["hate_speech_score"].first() > 0.5).astype(int).to_dict()
    assert crowd.groups.name == f"target_{target}"
    assert crowd.groups.to_dict() == (by_comment[f"target_{target}"].mean() >= 0.5).astype(int).to_dict()
    votes = raw.sort_values(["comment_id", "annotator_id"])
    assert crowd.votes["task"].tolist() == votes["comment_id"].tolist()
    assert crowd.votes["worker"].tolist() == votes["annotator_id"].tolist()
    assert crowd.votes["label"].tolist() == (votes["hatespeech"] > 0.5).astype(int).tolist()
    assert crowd.aside == {}


@real
def test_measuring_hate_speech_from_the_sample(data_folder: Path, tmp_path: Path) -> None:
    sample = data_folder / "measuring-hate-speech" / "sample-99-rows.csv"
    with pytest.raises(FileError, match=r"lacks measuring-hate-speech\.parquet"):  # a sample is not the data set
        load_measuring_hate_speech(data_folder, download=False)
    shutil.copy(sample, tmp_path / "measuring-hate-speech.csv")
    crowd = load_measuring_hate_speech(tmp_path)
    assert len(crowd.votes) == len(crowd.groups) == len(crowd.truth) == 99
    raw = pd.read_csv(sample).set_index("comment_id").sort_index()
    assert crowd.groups.tolist() == raw["target_gender"].astype(int).tolist()
    assert crowd.truth.tolist() == (raw["hate_speech_score"] > 0.5).astype(int).tolist()
    assert crowd.votes["label"].tolist() == (raw["hatespeech"] > 0.5).astype(int).tolist()
    with pytest.raises(OptionError, match="target='sex' is not known"):
        load_measuring_hate_speech(tmp_path, target="sex")


def test_measuring_hate_speech_decides_by_majority(tmp_path: Path) -> None:
    rows = [  # comment, rater, answer, score, gender
        (1, 1, 2, 0.9, True),
        (1, 2, 0, 0.9, False),  # a tie: targeted
        (1, 3, None, 0.9, None),  # no answer
        (2, 1, 1, 0.5, False),  # unsure is above 0.5; a score of 0.5 is not
        (2, 2, 0, 0.5, False),
        (2, 3, 0, 0.5, True),
        (3, 1, 0, 0.4, True),
        (3, 2, 0, 0.6, True),  # two scores
        (4, 1, 0, 0.1, None),  # no rater says whom it targets
        (5, 1, 2, None, False),
        (None, 1, 2, 0.2, False),
    ]
    names = ["comment_id", "annotator_id", "hatespeech", "hate_speech_score", "target_gender"]
    pd.DataFrame(rows, columns=names).astype({"comment_id": "Int64"}).to_csv(
        tmp_path / "measuring-hate-speech.csv", index=False
    )
    crowd = load_measuring_hate_speech(tmp_path)
    assert crowd.groups.to_dict() == {1: 1, 2: 0, 3: 1, 5: 0}
    assert crowd.truth.to_dict() == {1: 1, 2: 0}
    assert labels_of(crowd) == {(1, 1): 1, (1, 2): 0, (2, 1): 1, (2, 2): 0, (2, 3): 0, (3, 1): 0, (3, 2): 0, (5, 1): 1}
    assert crowd.aside == {
        "tasks whose rows disagree about the truth": 1,
        "votes without a task": 1,
        "votes without a label": 1,
        "tasks without a group": 1,
        "votes on tasks without a group": 1,
        "tasks without truth, kept all the same": 2,  # 3, 5
    }


def test_synthetic() -> None:
    crowd, drawn = load_synthetic(random_state=4), simulate_crowd(random_state=4)
    assert labels_of(crowd) == {(t, w): y for t, w, y in drawn.votes.itertuples(index=False)}
    assert (crowd.groups.to_dict(), crowd.truth.to_dict()) == (
        drawn.sensitive_features.to_dict(),
        drawn.truth.to_dict(),
    )
    assert crowd.truth[crowd.groups == 1].mean() > crowd.truth[crowd.groups == 0].mean()  # as in the text
    assert_same_crowd(load_synthetic(), load_synthetic(random_state=0))
    assert crowd.votes["label"].tolist() != load_synthetic().votes["label"].tolist()


@real
@pytest.mark.filterwarnings("ignore::faircrowd.errors.DataWarning")
@pytest.mark.parametrize("name", PREPARED)
def test_prepared_tables(name: str, data_folder: Path) -> None:
    crowd = load_tables(data_folder / name)
    tasks = pd.read_csv(data_folder / name / "tasks.csv").set_index("task")
    columns = [column for column in tasks if column != "truth"]
    given = read_votes(
        data_folder / name / "votes.csv", tasks=data_folder / name / "tasks.csv", sensitive_features=columns or None
    )
    found = read_votes(crowd.votes, sensitive_features=crowd.groups)
    assert found.report.lines() == []
    assert found.tasks.to_list() == given.tasks.to_list()
    assert found.workers.to_list() == given.workers.to_list()
    assert found.classes.to_list() == given.classes.to_list()
    for part in ("offsets", "worker", "label", *(["group"] if columns else [])):
        assert np.array_equal(getattr(found, part), getattr(given, part))
    if "truth" in tasks:
        assert crowd.truth.to_dict() == tasks["truth"].dropna().to_dict()
        lacking = len(set(crowd.votes["task"]) - set(crowd.truth.index))
        assert crowd.aside.get("tasks without truth, kept all the same", 0) == lacking
    else:
        assert crowd.truth is None
    assert crowd.aside.get("repeated votes, of which the last counts", 0) == given.report.rows_repeated


def write_prepared(folder: Path, votes: str, tasks: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "votes.csv").write_text(votes)
    (folder / "tasks.csv").write_text(tasks)
    return folder


VOTES = "item,annotator,answer\na,1,yes\nb,1,no\na,1,no\nc,2,yes\nd,2,\ne,2,yes\n"


TASKS = "task,side,eye,truth\na,l,open,yes\nb,r,,no\nc,r,shut,\nf,l,open,no\n"


def test_prepared_tables_count_what_is_missing(tmp_path: Path) -> None:
    crowd = load_tables(write_prepared(tmp_path / "mine", VOTES, TASKS))
    assert repr(crowd) == "Crowd('mine', 2 votes)"
    assert labels_of(crowd) == {("a", 1): "no", ("c", 2): "yes"}
    assert crowd.groups.to_dict("index") == {"a": {"side": "l", "eye": "open"}, "c": {"side": "r", "eye": "shut"}}
    assert crowd.truth.to_dict() == {"a": "yes"}
    assert crowd.aside == {
        "votes without a label": 1,
        "repeated votes, of which the last counts": 1,
        "tasks without votes": 1,  # f
        "tasks without a group": 2,  # b, e
        "votes on tasks without a group": 2,
        "tasks without truth, kept all the same": 1,  # c
    }


@pytest.mark.parametrize("name", ["votes.csv", "tasks.csv"])
def test_prepared_tables_need_both_files(name: str, tmp_path: Path) -> None:
    folder = write_prepared(tmp_path / "mine", VOTES, TASKS)
    (folder / name).unlink()
    with pytest.raises(FileError, match=f"There is no file .*{name}"):
        load_tables(folder)


def test_votes_on_unknown_tasks_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"No vote of mine can be used \(.*4 votes on tasks without a group\)"):
        load_tables(write_prepared(tmp_path / "mine", VOTES.replace("d,2,\n", ""), "task,side\nx,l\n"))


def test_a_task_has_one_truth(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="1 tasks have more than one true label: 'a'"):
        load_tables(write_prepared(tmp_path / "mine", VOTES, "task,truth\na,yes\na,no\n"))


@pytest.mark.parametrize("tasks", [TASKS, "task,side\na,l\nb,r\nc,r\ne,r\n", "task,truth\na,yes\nc,no\n"])
def test_a_crowd_can_be_written_and_read_again(tasks: str, tmp_path: Path) -> None:
    crowd = load_tables(write_prepared(tmp_path / "mine", VOTES, tasks))
    for name, table in zip(("votes", "tasks"), arrow_tables(crowd), strict=True):
        table.to_pandas().to_csv(tmp_path / f"{name}.csv", index=False)
    again = load_tables(tmp_path)
    assert_same_crowd(replace(crowd, aside={}), replace(again, aside={}))
    assert set(again.aside) <= {"tasks without truth, kept all the same"}


@pytest.mark.parametrize("load", [load_synthetic, lambda: None])
def test_without_pandas_crowds_are_arrow_tables(
    load: Callable[[], Crowd | None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = write_prepared(tmp_path / "mine", VOTES, TASKS)
    expected = load() or load_tables(folder)
    tables = arrow_tables(expected)
    monkeypatch.setitem(sys.modules, "pandas", None)
    crowd = load() or load_tables(folder)
    for part in (crowd.votes, crowd.groups, crowd.truth):
        assert isinstance(part, pa.Table)
        assert part.column_names[0] == "task"
    assert [table.to_pydict() for table in arrow_tables(crowd)] == [table.to_pydict() for table in tables]
    assert (crowd.aside, repr(crowd)) == (expected.aside, repr(expected))
