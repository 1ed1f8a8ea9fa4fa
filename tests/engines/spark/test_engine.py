"""Spark gives the bits that memory gives, however its rows are cut and ordered."""

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from crowds import Crowd, simulated
from engines.spark.spark_kernels import even_tasks, failing, half, number_and_group, times, wide
from faircrowd import read_votes
from faircrowd.aggregate.kernels.class_count import classes_token
from faircrowd.aggregate.kernels.confusion_counts import joint_scores, share_counts
from faircrowd.engines.local import LocalEngine
from faircrowd.engines.spark.blocks import View, pieces
from faircrowd.engines.spark.chunks import place_keys
from faircrowd.engines.spark.codes import with_values
from faircrowd.engines.spark.engine import SparkEngine
from faircrowd.engines.spark.votes import SparkVotes, spark_votes
from faircrowd.errors import DataWarning, FaircrowdError, InputError, MissingColumnError, OptionError

pytest.importorskip("pyspark")
F = pytest.importorskip("pyspark.sql.functions")
pytestmark = pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning")

CROWD = simulated(n_tasks=120, n_workers=11, seed=3)


def table(crowd: Crowd) -> pd.DataFrame:
    """Votes with the group and the true label of the task in columns, and ids that do not sort as numbers."""
    votes = crowd.votes.assign(
        group=crowd.votes["task"].map(crowd.groups), truth=crowd.votes["task"].map(crowd.gold).astype("Int64")
    )
    return votes.assign(task="t" + votes["task"].astype(str), worker="w" + votes["worker"].astype(str))


VOTES = table(CROWD)


def given(spark: Any, frame: pd.DataFrame, seed: int = 0, **options: Any) -> SparkVotes:
    shuffled = frame.sample(frac=1, random_state=seed)
    return spark_votes(spark.createDataFrame(pa.Table.from_pandas(shuffled, preserve_index=False)), **options)


@pytest.fixture(scope="module")
def votes(spark: Any) -> SparkVotes:
    return given(spark, VOTES, sensitive_features="group", true_labels="truth", partitions=3)


def by_task(frame: Any, name: str) -> pd.Series:
    return pd.Series(dict(zip(*(frame.toArrow().column(column).to_pylist() for column in ("task", name)), strict=True)))


def unpacked(votes: SparkVotes) -> dict[Any, tuple[list[int], list[int], int]]:
    """Return the workers, labels and group of each task."""
    rows = {}
    for block, group, ids in pieces(votes.stored.toArrow().to_batches(), View(True, True, True, 100)):
        for i, task in enumerate(ids.to_list()):
            here = slice(block.offsets[i], block.offsets[i + 1])
            assert task not in rows
            rows[task] = (block.worker[here].tolist(), block.label[here].tolist(), group[i])
    return rows


@pytest.mark.parametrize(("partitions", "seed"), [(1, 1), (7, 2)])
def test_task_rows_are_the_votes_of_memory(spark: Any, partitions: int, seed: int) -> None:
    inside = read_votes(VOTES, sensitive_features="group")
    found = given(spark, VOTES, seed, sensitive_features="group", partitions=partitions)
    for name in ("workers", "classes", "groups"):
        assert getattr(found, name).to_list() == getattr(inside, name).to_list()
    np.testing.assert_array_equal(found.votes_per_worker, inside.votes_per_worker)
    np.testing.assert_array_equal(found.tasks_per_group, np.bincount(inside.group))
    assert (found.n_votes, found.n_tasks) == (inside.n_votes, inside.n_tasks)
    assert found.most_votes == inside.votes_per_task.max()
    rows = unpacked(found)
    assert sorted(rows) == inside.tasks.to_list()
    for i, task in enumerate(inside.tasks.to_list()):
        votes = slice(inside.offsets[i], inside.offsets[i + 1])
        assert rows[task] == (inside.worker[votes].tolist(), inside.label[votes].tolist(), inside.group[i])
    assert found.report.rows_read == len(VOTES)
    found.close()


def test_sparks_hash_sends_each_place_to_a_partition_of_its_own(spark: Any) -> None:
    for places in (1, 2, 7, 64):
        keys = place_keys(places)
        frame = spark.createDataFrame(pa.table({"place": pa.array(np.repeat(keys, 2))}))
        found = frame.repartition(places, "place").select("place", F.spark_partition_id().alias("at")).toArrow()
        at = dict(zip(*(found.column(name).to_pylist() for name in ("place", "at")), strict=True))
        assert [at[key] for key in keys.tolist()] == list(range(places))


def counting(votes: Any, n_groups: int = 1) -> tuple[Any, ...]:
    return share_counts, classes_token(votes.n_classes), False, votes.n_workers * n_groups, n_groups, 2.0**40, 2.0**40


def test_rows_can_be_kept_as_parquet_and_no_pass_shuffles(spark: Any, tmp_path: Any, capsys: Any) -> None:
    path = str(tmp_path / "rows")
    found = given(spark, VOTES, partitions=3, path=path)
    with pytest.raises(FaircrowdError, match=f"could not be written to {path}: .*exists"):
        given(spark, VOTES, path=path)
    inside = LocalEngine(read_votes(VOTES)).reduce(*counting(found))
    for own, wanted in zip(SparkEngine(found).reduce(*counting(found)), inside, strict=True):
        np.testing.assert_array_equal(own, wanted)
    errors, priors = np.zeros((found.n_workers * 3, 3)), np.zeros((1, 3))
    SparkEngine(found).emit(joint_scores, classes_token(3), errors, priors).frame().explain()
    plan = capsys.readouterr().out
    assert "MapInArrow" in plan
    assert "Exchange" not in plan


def test_lost_and_doubled_tasks_are_noticed(votes: SparkVotes) -> None:
    one = votes.stored.limit(1).toArrow().column("ids")[0].as_py()
    for stored in (votes.stored.filter(votes.stored["ids"] != one), votes.stored.union(votes.stored.limit(1))):
        engine = SparkEngine(replace(votes, stored=stored), by_group=True)
        with pytest.raises(FaircrowdError, match="lost or duplicated"):
            engine.reduce(*counting(votes, 2))
        with pytest.raises(FaircrowdError, match="lost or duplicated"):
            engine.gather(even_tasks, ids=True)
        with pytest.raises(FaircrowdError, match="lost or duplicated"):
            votes.check(engine.emit(number_and_group, ids=True).frame())


def test_what_kernels_make_of_tasks_is_gathered(votes: SparkVotes) -> None:
    inside = read_votes(VOTES)
    number, size, sums = SparkEngine(votes).gather(even_tasks, ids=True)
    order = np.argsort(number)
    wanted = {int(task[1:]): i for i, task in enumerate(inside.tasks.to_list()) if int(task[1:]) % 2 == 0}
    assert number[order].tolist() == sorted(wanted)
    places = [wanted[i] for i in number]
    assert size.tolist() == inside.votes_per_task[places].tolist()
    labels = [inside.label[inside.offsets[i] : inside.offsets[i + 1]].sum() for i in places]
    assert (sums[:, 0].tolist(), sums.dtype) == (labels, np.float64)
    with pytest.raises(FaircrowdError, match=r"even_tasks returns more than .* use emit"):
        SparkEngine(votes, result_bytes=200).gather(even_tasks, ids=True)


def test_rows_are_made_with_ids_and_several_columns(votes: SparkVotes) -> None:
    frame = SparkEngine(votes, by_group=True).emit(number_and_group, ids=True).map(times, 2).frame(["number", "twice"])
    rows = with_values(frame, "group", votes.groups).toArrow().to_pydict()
    assert list(rows) == ["task", "group", "number", "twice"]
    assert [f"t{number // 2}" for number in rows["number"]] == rows["task"]
    groups = VOTES.drop_duplicates("task").set_index("task")["group"]
    assert rows["group"] == groups[rows["task"]].to_list() == votes.groups.take(np.array(rows["twice"]) // 2).to_list()
    votes.check(frame)
    with pytest.raises(OptionError, match="3 names"):
        SparkEngine(votes).emit(number_and_group, ids=True).frame(["a", "b", "c"])


def test_kernels_that_cannot_serve_are_refused(votes: SparkVotes) -> None:
    engine = SparkEngine(votes)
    with pytest.raises(OptionError, match="depend on their order"):
        engine.reduce(half)
    with pytest.raises(OptionError, match="function of a module"):
        engine.reduce(lambda block: (np.zeros(1, np.int64),))


def test_a_failure_of_spark_is_one_sentence(votes: SparkVotes) -> None:
    with pytest.raises(FaircrowdError, match=r"^A job of Spark failed: ArithmeticError: the kernel broke$") as caught:
        SparkEngine(votes).reduce(failing)
    assert type(caught.value.__cause__).__module__.startswith("pyspark.")


def test_results_too_large_for_the_driver_raise(votes: SparkVotes) -> None:
    """Three partitions of 2 MB each, and Spark takes 4: an error, never less than all."""
    with pytest.raises(FaircrowdError, match=r"^A job of Spark failed: .*maxResultSize"):
        SparkEngine(votes).reduce(wide, 250_000)
    (found,) = SparkEngine(votes).reduce(wide, 100_000)
    assert (found == votes.n_tasks).all()


def test_what_is_too_large_fails_early_with_advice(votes: SparkVotes) -> None:
    errors, priors = np.zeros((votes.n_workers * 3, 3)), np.zeros((1, 3))
    with pytest.raises(InputError, match="merge rare classes"):
        SparkEngine(votes, parameter_bytes=100).emit(joint_scores, classes_token(3), errors, priors)
    with pytest.raises(InputError, match="raise result_bytes"):
        SparkEngine(votes, result_bytes=100).reduce(*counting(votes))


def test_sums_meet_before_they_come_to_the_driver(votes: SparkVotes) -> None:
    wanted = SparkEngine(votes).reduce(*counting(votes))
    room = sum(part.nbytes for part in wanted)
    narrow = SparkEngine(votes, result_bytes=2 * room)
    assert narrow._places(room) == 2
    for own, other in zip(narrow.reduce(*counting(votes)), wanted, strict=True):
        np.testing.assert_array_equal(own, other)


def test_missing_rows_are_reported(spark: Any) -> None:
    frame = pd.DataFrame({"task": ["a", "a", None, "b"], "worker": [1.0, np.nan, 2.0, 3.0], "label": [1, 0, 1, 1]})
    with pytest.raises(InputError, match="1 of 4 rows have no task"):
        given(spark, frame, on_missing="error")
    with pytest.warns(DataWarning, match="set aside"):
        found = given(spark, frame)
    assert found.report.rows_missing == {"task": 1, "worker": 1}
    assert (found.n_votes, found.workers.to_list(), found.classes.to_list()) == (2, [1.0, 3.0], [1])


def test_facts_of_tasks_leave_the_partitions_as_they_are(spark: Any) -> None:
    facts = VOTES[["task", "group"]].drop_duplicates().rename(columns={"group": "a`b.c"})
    tasks = spark.createDataFrame(pa.Table.from_pandas(facts, preserve_index=False))
    before = spark.conf.get("spark.sql.autoBroadcastJoinThreshold")
    spark.conf.set("spark.sql.autoBroadcastJoinThreshold", "-1")  # as for very many tasks
    try:
        found = given(spark, VOTES, tasks=tasks, sensitive_features="a`b.c", partitions=5)
        assert found.stored.rdd.getNumPartitions() == 5
    finally:
        spark.conf.set("spark.sql.autoBroadcastJoinThreshold", before)
    assert unpacked(found) == unpacked(given(spark, VOTES, sensitive_features="group"))
    with pytest.raises(FaircrowdError, match=r"^Spark cannot distinguish the columns: .*ambiguous"):
        given(spark, VOTES.assign(Group=1), sensitive_features="group")


@pytest.mark.parametrize("kind", ["string", "double"])
def test_tasks_of_a_table_may_have_another_type(spark: Any, kind: str) -> None:
    votes = pd.DataFrame({"task": [0, 0, 1, 2], "worker": [1, 2, 1, 1], "label": ["a", "b", "b", "a"]})
    facts = pa.table({"task": [0, 1, 2, 9], "g": ["x", "y", "y", "z"]})
    tasks = spark.createDataFrame(facts).selectExpr(f"cast(task as {kind}) task", "g")
    assert given(spark, votes, tasks=tasks, sensitive_features="g").tasks_per_group.tolist() == [1, 2]


def test_columns_that_python_cannot_take_are_refused(spark: Any) -> None:
    frame = spark.createDataFrame(pa.Table.from_pandas(VOTES, preserve_index=False))
    with pytest.raises(InputError, match=r"nested values \(struct<"):
        spark_votes(frame.selectExpr("task", "worker", "struct(label) label"))
    with pytest.raises(FaircrowdError, match=r"^Spark cannot give the columns to Python: .*"):
        spark_votes(frame.selectExpr("task", "worker", "make_ym_interval(1) label"))


def test_bad_votes_are_refused(spark: Any) -> None:
    frame = pd.DataFrame({"task": ["a", "a", "b"], "worker": [1, 1, 2], "label": [1, 0, 1], "g": ["x", "y", None]})
    with pytest.raises(InputError, match="1 rows repeat"):
        given(spark, frame)
    with pytest.raises(OptionError, match="order of the rows"):
        given(spark, frame, on_duplicate="last")
    with pytest.raises(InputError, match=r"1 tasks have more than one group: 'a'"):
        given(spark, frame, on_duplicate="all", sensitive_features="g")
    with pytest.raises(InputError, match=r"1 of 2 tasks have no group: 'b'"):
        given(spark, frame.assign(g=["x", "x", None]), on_duplicate="all", sensitive_features="g")
    with pytest.raises(MissingColumnError, match="'worker'"):
        given(spark, frame.drop(columns="worker"))
    with pytest.raises(MissingColumnError, match="'h'"):
        given(spark, frame, sensitive_features="h")
    with pytest.warns(DataWarning, match="were kept"):
        found = given(spark, frame, on_duplicate="all")
    assert found.n_votes == 3
