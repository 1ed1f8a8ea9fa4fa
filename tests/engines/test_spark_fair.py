"""Fair labels in Spark: the labels, rule and certificate of memory to the bit, by the same solvers."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from faircrowd import DawidSkene, FairCrowd, FairRule, MajorityVote
from faircrowd.engines.spark_tables import count_labels, read_frame
from faircrowd.errors import FaircrowdError, InputError, OptionError
from faircrowd.fair.certificate import gap_of
from faircrowd.fair.spark import apply_rule

pytestmark = pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning")


def crowd(n_tasks: int, n_classes: int, n_groups: int, seed: int = 0, first: int = 0) -> pd.DataFrame:
    """Five votes a task, two of three right; the classes of the groups differ."""
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
    "coin": (2, 2, "dawid-skene", {"decision": "randomized"}),
    "f1": (2, 2, "majority", {"objective": "f1"}),
    "groups": (2, 3, "dawid-skene", {}),
    "classes": (3, 2, "majority", {}),
    "gains": (3, 3, "dawid-skene", {"objective": [[2.0, 0.0, 0.0], [0.0, 1.0, 0.0], [-1.0, 0.0, 1.0]]}),
}


@pytest.mark.parametrize("kind", KINDS)
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


def test_new_tasks_rates_and_what_spark_does_not_do(spark: Any) -> None:
    old, new = crowd(600, 2, 2), crowd(200, 2, 2, seed=5, first=10_000)
    fair = FairCrowd(MODELS["dawid-skene"], epsilon=0.03)
    wanted = fair.fit(old, sensitive_features="group").predict(new, sensitive_features="group").to_dict()
    there = fair.fit(frame_of(spark, old), sensitive_features="group")
    assert labels_of(there.predict(frame_of(spark, new), sensitive_features="group")) == wanted
    rule, model = FairRule.from_json(there.rule_.to_json()), there.estimator_
    assert labels_of(apply_rule(rule, model, frame_of(spark, new), sensitive_features="group")) == wanted
    counts, groups, classes = count_labels(there.labels_)
    assert (groups.to_list(), classes.to_list()) == (["b", "grün"], [0, 1])
    assert gap_of(counts / counts.sum(axis=1, keepdims=True)) == there.certificate_.gap <= 0.03
    with pytest.raises(OptionError, match="frontier is traced for tasks in memory"):
        _ = there.frontier_
    with pytest.raises(InputError, match="no column 'lable'"):
        count_labels(there.labels_, label="lable")
    with pytest.raises(InputError, match="group of each task"):
        fair.fit(frame_of(spark, old))


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
    said = json.loads(printed)
    assert (out / "rule.json").read_bytes() == (tmp_path / "here" / "rule.json").read_bytes()
    ours, theirs = (json.loads((folder / "certificate.json").read_text()) for folder in (out, tmp_path / "here"))
    assert ours | {"seconds": 0} == theirs | {"seconds": 0} == said["certificate"] | {"seconds": 0}
    summary = json.loads((tmp_path / "here" / "summary.json").read_text())
    for name in ("votes", "tasks", "workers", "agreement", "class_shares", "group_shares", "gap", "gap_between"):
        assert said[name] == summary[name], name
    found = pd.read_parquet(out / "labels.parquet").sort_values("task", ignore_index=True)
    wanted = pd.read_csv(tmp_path / "here" / "labels.csv")[found.columns].sort_values("task", ignore_index=True)
    pd.testing.assert_frame_equal(found, wanted, check_dtype=False, check_exact=True)
    code, _, err = faircrowd("aggregate", tmp_path / "none.parquet", "--engine", "spark", "--out", tmp_path / "no")
    assert (code, "Spark cannot read" in err, (tmp_path / "no").exists()) == (2, True, False)


def test_votes_of_a_catalogue(spark: Any) -> None:
    frame_of(spark, crowd(50, 2, 2)).createOrReplaceTempView("crowd_votes")
    assert read_frame(spark, "crowd_votes").count() == 250
    with pytest.raises(FaircrowdError, match="Spark cannot read nothing_here"):
        read_frame(spark, "nothing_here")
