"""Fair labels in Spark: the labels, rule and certificate of memory to the bit, by the same solvers."""

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow.csv import read_csv

from faircrowd import DawidSkene, FairCrowd, FairRule, MajorityVote, Wawa, read_votes
from faircrowd.engines import spark_votes
from faircrowd.engines.spark.files import read_frame, write_parquet
from faircrowd.errors import DataWarning, FaircrowdError, FileError, InputError, OptionError
from faircrowd.fair import apply_rule
from faircrowd.fair.gap import gap_of
from faircrowd.votes.readers import SparkFormat
from votes.readers.toy_format import NAMES, TEXT, registered, toy

pytestmark = pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning")


def crowd(n_tasks: int, n_classes: int, n_groups: int, seed: int = 0, first: int = 0) -> pd.DataFrame:
    """Five votes per task, two of three right; the classes of the groups differ."""
    rng = np.random.default_rng(seed)
    group = rng.integers(0, n_groups, n_tasks)
    truth = (rng.random(n_tasks) * n_classes * (0.6 + 0.4 * group / (n_groups - 1))).astype(int)
    task = np.repeat(np.arange(n_tasks), 5)
    label = np.where(rng.random(task.size) < 0.67, truth[task], rng.integers(0, n_classes, task.size))
    worker = (task * 7 + np.tile(np.arange(5) * 3, n_tasks)) % 40
    names = np.array(["grün", "b", "c", "d"])[group[task]]
    return pd.DataFrame({"task": task + first, "worker": worker, "label": label, "group": names})


def frame_of(spark: Any, votes: pd.DataFrame, parts: int = 3) -> Any:
    table = pa.Table.from_pandas(votes.sample(frac=1, random_state=parts), preserve_index=False)
    return spark.createDataFrame(table).repartition(parts)


def labels_of(frame: Any) -> dict[Any, Any]:
    found = frame.toArrow()
    return dict(zip(found["task"].to_pylist(), found["agg_label"].to_pylist(), strict=True))


MODELS = {"majority": MajorityVote(), "dawid-skene": DawidSkene(by_group=True, n_iter=3, tol=-1)}
KINDS = {
    "two": (2, 2, "dawid-skene", {}),
    "tied": (2, 2, "majority", {}),
    "randomized": (2, 2, "dawid-skene", {"decision": "randomized"}),
    "f1": (2, 2, "majority", {"objective": "f1"}),
    "drawn f1": (2, 2, "majority", {"objective": "f1", "decision": "randomized"}),
    "drawn classes": (3, 3, "majority", {"decision": "randomized"}),
    "groups": (2, 3, "dawid-skene", {}),
    "classes": (3, 2, "majority", {}),
    "gains": (3, 3, "dawid-skene", {"objective": [[2.0, 0.0, 0.0], [0.0, 1.0, 0.0], [-1.0, 0.0, 1.0]]}),
}


QUICK = ("two", "tied", "gains", "drawn classes")


@pytest.mark.filterwarnings("ignore:objective='f1' takes:faircrowd.errors.DataWarning")
@pytest.mark.parametrize("kind", KINDS if os.environ.get("FAIRCROWD_SLOW") else QUICK)
def test_fair_labels_rule_and_certificate_are_those_of_memory(spark: Any, kind: str) -> None:
    classes, groups, model, settings = KINDS[kind]
    votes = crowd(700, classes, groups)
    fair = FairCrowd(MODELS[model], epsilon=0.05, random_state=2, **settings)
    inside = fair.fit(votes, sensitive_features="group")
    labels, rule, certificate = inside.labels_.to_dict(), inside.rule_.to_json(), inside.certificate_
    assert certificate.gap_before > 0.05
    there = fair.fit(frame_of(spark, votes, len(kind)), sensitive_features="group")
    assert there.rule_.to_json() == rule
    assert replace(there.certificate_, seconds=0) == replace(certificate, seconds=0)
    assert labels_of(there.labels_) == labels


@pytest.mark.filterwarnings("ignore::faircrowd.errors.DataWarning")
@pytest.mark.parametrize(
    ("model", "missing", "settings"),
    [
        ("dawid-skene", "drop", {"small_groups": "leave-out"}),
        ("majority", "own", {"small_groups": "merge", "min_group": 8, "decision": "randomized"}),
    ],
)
def test_small_and_missing_groups_are_those_of_memory(
    spark: Any, model: str, missing: str, settings: dict[str, Any]
) -> None:
    """Four tasks of a third group, and five without a group."""
    votes = crowd(500, 2, 2)
    votes.loc[votes["task"] < 4, "group"] = "rare"
    votes.loc[votes["task"] >= 495, "group"] = None
    fair = FairCrowd(MODELS[model], epsilon=0.05, **settings)
    asked = {"on_missing_group": missing}
    inside = fair.fit(votes, sensitive_features="group", read_options=asked)
    labels, rule, certificate = inside.labels_.to_dict(), inside.rule_.to_json(), inside.certificate_
    assert certificate.left_out or certificate.merged_groups
    given = frame_of(spark, votes)
    with pytest.raises(InputError, match="5 of 500 tasks have no group: 49"):
        spark_votes(given, sensitive_features="group")
    there = fair.fit(spark_votes(given, sensitive_features="group", **asked))
    assert there.rule_.to_json() == rule
    assert replace(there.certificate_, seconds=0) == replace(certificate, seconds=0)
    assert labels_of(there.labels_) == labels


def test_a_rule_that_tries_labels_in_turn(spark: Any) -> None:
    """The rule of a promise for three classes, made in memory, gives new tasks in Spark the same labels."""
    old, new = crowd(900, 3, 2), crowd(200, 3, 2, seed=5, first=10_000)
    fair = FairCrowd(MODELS["dawid-skene"], epsilon=0.4, confidence=0.6).fit(old, sensitive_features="group")
    assert fair.rule_.in_turn is not None
    wanted = fair.predict(new, sensitive_features="group").to_dict()
    there = apply_rule(fair.rule_, fair.estimator_, frame_of(spark, new), sensitive_features="group")
    assert labels_of(there) == wanted


def test_new_tasks_rates_and_what_spark_does_not_do(spark: Any) -> None:
    old, new = crowd(600, 2, 2), crowd(200, 2, 2, seed=5, first=10_000)
    fair = FairCrowd(MODELS["dawid-skene"], epsilon=0.03)
    wanted = fair.fit(old, sensitive_features="group").predict(new, sensitive_features="group").to_dict()
    there = fair.fit(frame_of(spark, old), sensitive_features="group")
    assert labels_of(there.predict(frame_of(spark, new), sensitive_features="group")) == wanted
    rule, model = FairRule.from_json(there.rule_.to_json()), there.estimator_
    assert labels_of(apply_rule(rule, model, frame_of(spark, new), sensitive_features="group")) == wanted
    found = there.labels_.toArrow().to_pandas()
    shares = pd.crosstab(found["group"], found["agg_label"], normalize="index")
    assert (list(shares.index), list(shares.columns)) == (["b", "grün"], [0, 1])
    assert gap_of(shares.to_numpy()) == there.certificate_.gap <= 0.03
    with pytest.raises(OptionError, match="frontier is for tasks in memory; in Spark, fit with several epsilons"):
        _ = there.frontier_
    with pytest.raises(InputError, match="group of each task"):
        fair.fit(frame_of(spark, old))


@pytest.mark.parametrize("model", [MODELS["dawid-skene"], Wawa()], ids=["dawid-skene", "wawa"])
def test_new_tasks_of_other_workers_groups_and_labels(spark: Any, model: Any) -> None:
    """Codes of workers, groups and labels are those of the new votes, and the model has its own."""
    old, new = crowd(300, 2, 2), crowd(150, 2, 2, seed=5, first=10_000)
    new = new[(new["worker"] % 3 != 0) & (new["group"] == "grün") & (new["label"] == 1)].replace({"worker": {7: 99}})
    fair = FairCrowd(model, epsilon=0.03)
    wanted = fair.fit(old, sensitive_features="group").predict(new, sensitive_features="group").to_dict()
    there = fair.fit(frame_of(spark, old), sensitive_features="group")
    assert labels_of(there.predict(frame_of(spark, new), sensitive_features="group")) == wanted


@pytest.mark.filterwarnings("ignore::faircrowd.errors.DataWarning")
def test_groups_of_two_columns_and_classes_of_two_capitals(spark: Any, tmp_path: Path) -> None:
    votes = crowd(80, 2, 2)
    votes = votes.assign(age=votes["task"] % 2, label=np.array(["Yes", "yes"])[votes["label"]])
    there = FairCrowd(MajorityVote(), epsilon=0.1).fit(frame_of(spark, votes), sensitive_features=["group", "age"])
    names = ["b & 0", "b & 1", "grün & 0", "grün & 1"]
    groups = sorted(set(there.labels_.toArrow()["group"].to_pylist()))
    assert (list(there.certificate_.rates), groups) == (names, names)
    path, result = tmp_path / "labels.parquet", there.result_
    path.write_text("of an older run")
    for _ in range(2):  # the second in place of the first
        write_parquet(result.problem.table(result.solved.labels), path)
        found = pd.read_parquet(path)
        assert (len(found), sorted(found["group"].unique())) == (80, names)
        assert list(found.columns[4:6]) == ["posterior_Yes", "posterior_yes"]
    assert list(tmp_path.iterdir()) == [path]
    assert spark.conf.get("spark.sql.caseSensitive") == "false"


def test_columns_of_text_files_are_those_of_memory(spark: Any, tmp_path: Path) -> None:
    path = tmp_path / "votes.csv"
    path.write_text('task,worker,label\n007,1,1.50\n7,-2,true\n"a,""b""",0,2024-01-01\n,3,nan\n+1,4,1e5\n')
    rows = read_frame(spark, path.as_uri().replace("///", "/")).toArrow().to_pydict()
    assert rows["task"] == ["007", "7", 'a,"b"', None, "+1"]
    assert rows["worker"] == [1, -2, 0, 3, 4]
    assert rows["label"] == ["1.50", "true", "2024-01-01", None, "1e5"]
    with pytest.warns(DataWarning, match="set aside"):
        inside = read_votes(path)
    assert inside.workers.to_list() == sorted(rows["worker"][:3] + rows["worker"][4:])
    assert inside.tasks.to_list() == sorted(rows["task"][:3] + rows["task"][4:])


def test_the_command_refuses_what_it_would_ignore(faircrowd: Any, tmp_path: Path) -> None:
    (tmp_path / "votes.csv").write_text("task,worker,label\n1,1,1\n")
    asked = ("aggregate", tmp_path / "votes.csv", "--engine", "spark", "--out", tmp_path / "out")
    for given, expected in (
        (("--method", "wawa", "--gold", "truth"), "does not learn from known labels"),
        (("--on-duplicate", "frist"), "--on-duplicate"),
    ):
        code, _, err = faircrowd(*asked, *given)
        assert (code, expected in err) == (2, True), err


def test_the_command_writes_the_rule_of_memory(spark: Any, faircrowd: Any, tmp_path: Path) -> None:
    votes, out = crowd(500, 2, 2), tmp_path / "out"
    votes.drop(columns="group").to_csv(tmp_path / "votes.csv", index=False)
    votes[["task", "group"]].drop_duplicates().to_parquet(tmp_path / "tasks.parquet", index=False)
    asked = ("--tasks", tmp_path / "tasks.parquet", "--group", "group", "--epsilon", "0.04", "--by-group")
    code, _, err = faircrowd("aggregate", tmp_path / "votes.csv", *asked, "--no-report", "--out", tmp_path / "here")
    assert code == 0, err
    spark_options = ("--engine", "spark", "--master", "local[2]", "--json")
    code, printed, err = faircrowd("aggregate", tmp_path / "votes.csv", *asked, *spark_options, "--out", out)
    assert code == 0, err
    summary_printed = json.loads(printed)
    assert (out / "rule.json").read_bytes() == (tmp_path / "here" / "rule.json").read_bytes()
    ours, theirs = (json.loads((folder / "certificate.json").read_text()) for folder in (out, tmp_path / "here"))
    assert ours | {"seconds": 0} == theirs | {"seconds": 0} == summary_printed["certificate"] | {"seconds": 0}
    summary = json.loads((tmp_path / "here" / "summary.json").read_text())
    same = (
        "votes",
        "tasks",
        "workers",
        "agreement",
        "class_shares",
        "group_shares",
        "gap",
        "gap_between",
        "independence",
    )
    for name in same:
        assert summary_printed[name] == summary[name], name
    found = pd.read_parquet(out / "labels.parquet").sort_values("task", ignore_index=True)
    here = read_csv(tmp_path / "here" / "labels.csv").to_pandas()  # older versions of pandas round numbers they read
    wanted = here[found.columns].sort_values("task", ignore_index=True)
    pd.testing.assert_frame_equal(found, wanted, check_dtype=False, check_exact=True)
    code, _, err = faircrowd("aggregate", tmp_path / "none.parquet", "--engine", "spark", "--out", tmp_path / "no")
    assert (code, "Spark cannot read" in err, (tmp_path / "no").exists()) == (2, True, False)


def test_votes_of_a_catalogue(spark: Any, tmp_path: Path) -> None:
    frame_of(spark, crowd(50, 2, 2)).createOrReplaceTempView("crowd_votes")
    assert read_frame(spark, "crowd_votes").count() == 250
    frame_of(spark, crowd(50, 2, 2)).write.option("path", f"{tmp_path}/votes").saveAsTable("default.crowd_votes")
    assert read_frame(spark, "default.crowd_votes").count() == 250
    spark.sql("DROP TABLE default.crowd_votes")
    with pytest.raises(FaircrowdError, match="Spark cannot read nothing_here"):
        read_frame(spark, "nothing_here")


@pytest.mark.parametrize(
    "spark_format", [None, SparkFormat("csv", {"header": True, "sep": "|"})], ids=["driver", "own"]
)
def test_a_registered_format(spark: Any, tmp_path: Path, spark_format: SparkFormat | None) -> None:
    """Spark reads it by a data source of its own where it has one; otherwise the driver does."""
    path = tmp_path / "votes.toy"
    path.write_text(TEXT if spark_format is None else "task|place|worker|label\n7|north|ann|yes\n10|south|bob|NaN\n")
    with registered(toy(spark=spark_format)):
        found = read_frame(spark, str(path)).toArrow()
    assert found.column_names == NAMES
    assert found["task"].to_pylist() == ([7, 7, 7, 8, 8, 8, 9, 9, 9, 10, 10] if spark_format is None else [7, 10])
    assert found["label"].to_pylist()[-1] == ("no" if spark_format is None else None)


def test_text_files_with_a_quote_left_open_are_refused(spark: Any, tmp_path: Path) -> None:
    text = "task,worker,label\n1,a,x\n1,b,y\n2,a,{}\n2,b,x\n"
    whole, torn = tmp_path / "votes.csv", tmp_path / "torn.csv"
    whole.write_text(text.format('"x ""y"""'))
    torn.write_text(text.format('"x'))
    assert read_frame(spark, str(whole)).count() == 4
    folder = tmp_path / "parts"
    folder.mkdir()
    (folder / "_SUCCESS").write_text("")
    (folder / "part-0.csv").write_text(whole.read_text())
    (folder / "part-1.csv").write_text(torn.read_text())
    for where in (str(torn), torn.as_uri(), f"file:{torn}"):
        with pytest.raises(FileError, match=r"torn.csv ends inside a quote: the one that opens in row 3 \(line 4\)"):
            read_frame(spark, where)
    with pytest.raises(FileError, match=r"part-1.csv ends inside a quote"):
        read_frame(spark, str(folder), format="csv")
    torn.write_text('task,worker,label\n1,a,x\n1,b,y\n2,a,"x\n2,b,x\n3,a,y"\n3,b,y\n')
    with pytest.raises(FileError, match=r"torn.csv: the quote .* row 3 \(line 4\) .* would take the 2 rows"):
        read_frame(spark, str(torn))


def test_labels_with_a_line_break_are_noted(spark: Any) -> None:
    votes = crowd(20, 2, 2).assign(label=lambda frame: np.array(["x", "y\nz"])[frame["label"]])
    with pytest.warns(DataWarning, match="1 label has a line break in it"):
        found = spark_votes(frame_of(spark, votes))
    assert found.report.line_breaks == {"label": (1, "y\nz")}
