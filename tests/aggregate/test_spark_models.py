"""Models on Spark frames: the same parameters as in memory to the last bit, and labels as a Spark frame."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from crowds import simulated
from faircrowd import (
    GLAD,
    BayesVote,
    CalibratedCrowd,
    DawidSkene,
    GoldMajorityVote,
    JuryVote,
    MajorityVote,
    OneCoinDawidSkene,
    Wawa,
    ZeroBasedSkill,
)
from faircrowd.aggregate.saved import load_model, model_files
from faircrowd.engines import votes_in_memory
from faircrowd.engines.spark.votes import SparkVotes, spark_votes
from faircrowd.errors import DataWarning, InputError, OptionError

pytest.importorskip("pyspark")
pytestmark = pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning")
CROWD = simulated(n_tasks=90, seed=4)
VOTES = CROWD.votes.assign(
    group=CROWD.votes["task"].map(CROWD.groups), truth=CROWD.votes["task"].map(CROWD.gold).astype("Int64")
)
# New votes: fewer classes, workers and groups, some workers that are not known, and other codes for that reason.
SEEN = VOTES[(VOTES["worker"] > VOTES["worker"].min()) & (VOTES["label"] > 0)]
NEW = SEEN.assign(worker=SEEN["worker"].where(SEEN["worker"] != SEEN["worker"].max(), 10**6))
NEW = NEW[NEW["group"] == NEW["group"].max()]


def given(spark: Any, frame: pd.DataFrame) -> Any:
    return spark.createDataFrame(pa.Table.from_pandas(frame.sample(frac=1, random_state=0), preserve_index=False))


@pytest.fixture(scope="module")
def frame(spark: Any) -> Any:
    return given(spark, VOTES)


@pytest.fixture(scope="module")
def packed(frame: Any) -> SparkVotes:
    """The votes, packed once: that takes Spark longer than most models."""
    return spark_votes(frame, sensitive_features="group", true_labels="truth", partitions=2)


@pytest.fixture(scope="module")
def new(spark: Any) -> SparkVotes:
    return spark_votes(given(spark, NEW), sensitive_features="group", partitions=2)


def by_task(frame: Any, column: str = "agg_label") -> dict[Any, Any]:
    found = frame.toArrow()
    return dict(zip(found["task"].to_pylist(), found[column].to_pylist(), strict=True))


CASES = {
    "majority": (MajorityVote(ties="last"), None),
    "wawa": (Wawa(), None),
    "zero-based": (ZeroBasedSkill(), None),
    "dawid-skene": (DawidSkene(n_iter=3, tol=-1), None),
    "accelerated": (DawidSkene(accelerate=True, n_iter=4, tol=-1), None),
    "by group": (DawidSkene(by_group=True, n_iter=3, tol=-1), "truth"),
    "no rounds": (DawidSkene(n_iter=0), "truth"),
    "one coin": (OneCoinDawidSkene(n_iter=3, tol=-1), None),
    "pooled": (DawidSkene(pooling="learned", n_iter=3, tol=-1), None),
    "pooled by group": (DawidSkene(by_group=True, pooling="learned", n_iter=3, tol=-1), "truth"),
    "one coin, pooled": (OneCoinDawidSkene(pooling=2.0, by_group=True, n_iter=3, tol=-1), None),
    "bayes": (BayesVote(), "truth"),
    "calibrated": (
        CalibratedCrowd([ZeroBasedSkill(n_iter=3), DawidSkene(pooling="learned", n_iter=3, tol=-1)]),
        "truth",
    ),
    "calibrated by group": (
        CalibratedCrowd(DawidSkene(by_group=True, pooling="learned", n_iter=3, tol=-1), by_group=True),
        "truth",
    ),
    "one calibrated majority": (CalibratedCrowd(MajorityVote(), ties="last"), "truth"),
    "jury": (JuryVote(), None),
    "jury with known labels": (JuryVote(), "truth"),
}


@pytest.mark.parametrize("case", CASES)
def test_a_model_is_the_same_in_spark(packed: SparkVotes, new: SparkVotes, case: str, tmp_path: Path) -> None:
    model, truth = CASES[case]
    wanted = type(model)(**model.get_params(deep=False))
    wanted.fit(VOTES, *((CROWD.gold,) if truth else ()), sensitive_features="group")
    # The tests of the engine try several partitions and orders of rows.
    found = model.fit(packed, *((truth,) if truth else ()))
    assert by_task(found.labels_) == wanted.labels_.to_dict()
    for name, values in (("probas_", wanted.posterior_.values), ("log_probas_", wanted.posterior_.log_values)):
        rows = by_task(getattr(found, name), {"probas_": "probabilities"}.get(name, "log_probabilities"))
        np.testing.assert_array_equal(np.array([rows[task] for task in wanted.posterior_.tasks.to_list()]), values)
    for name in ("loss_history_", "errors_", "priors_", "skills_", "accuracy_"):
        if hasattr(wanted, name):
            own, other = getattr(found, name), getattr(wanted, name)
            assert own.equals(other) if hasattr(own, "equals") else own == other
    if isinstance(model, CalibratedCrowd | JuryVote) and wanted.calibration_ is not None:
        assert found.calibration_.to_dict() == wanted.calibration_.to_dict()
    files = model_files(found)
    assert files == model_files(wanted)
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
    labels = wanted.predict(NEW, sensitive_features="group").to_dict()
    loaded = load_model(tmp_path)
    assert by_task(loaded.predict(new)) == labels
    # A model that was fitted in Spark predicts votes in memory too.
    assert found.predict(NEW, sensitive_features="group").to_dict() == labels


def test_a_frame_is_packed_by_fit(frame: Any) -> None:
    """With groups and known labels of its own columns, as votes that were packed before."""
    for model, truth in (CASES["majority"], CASES["by group"]):
        wanted = type(model)(**model.get_params(deep=False))
        wanted.fit(VOTES, *((CROWD.gold,) if truth else ()), sensitive_features="group")
        found = model.fit(frame, *((truth,) if truth else ()), sensitive_features="group")
        assert model_files(found) == model_files(wanted)
        assert by_task(found.labels_) == wanted.labels_.to_dict()
        found.votes_.close()


@pytest.mark.parametrize("partitions", [1, 7])
def test_partitions_and_the_order_of_rows_do_not_matter(spark: Any, partitions: int) -> None:
    shuffled = VOTES.sample(frac=1, random_state=partitions)
    votes = spark_votes(
        spark.createDataFrame(pa.Table.from_pandas(shuffled, preserve_index=False)).repartition(partitions),
        sensitive_features="group",
        partitions=partitions,
    )
    found = DawidSkene(by_group=True, n_iter=3, tol=-1).fit(votes)
    wanted = DawidSkene(by_group=True, n_iter=3, tol=-1).fit(VOTES, sensitive_features="group")
    assert found.loss_history_ == wanted.loss_history_
    assert found.errors_.equals(wanted.errors_)
    assert by_task(found.labels_) == wanted.labels_.to_dict()
    votes.check(found.labels_)
    votes.close()


def test_groups_and_true_labels_of_a_table_of_tasks(spark: Any) -> None:
    """Groups come from two columns; one true label is a class without votes, and one task has no votes."""
    tasks = VOTES.drop_duplicates("task")[["task", "group", "truth"]]
    tasks = tasks.assign(side=np.where(np.arange(len(tasks)) % 3, "left", "right"))
    tasks.loc[tasks.index[0], "truth"] = 9
    without_votes = pd.DataFrame({"task": [-1], "group": ["c"], "truth": [77], "side": ["up"]})
    votes = spark_votes(
        given(spark, VOTES[["task", "worker", "label"]]),
        sensitive_features=["group", "side"],
        true_labels="truth",
        tasks=given(spark, pd.concat([tasks, without_votes])),
        partitions=2,
    )
    truth = tasks.set_index("task")["truth"].dropna().to_dict()
    wanted = BayesVote().fit(VOTES, truth, sensitive_features=tasks[["task", "group", "side"]])
    found = BayesVote().fit(votes, "truth")
    assert votes.classes.to_list() == [0, 1, 2, 9]
    assert found.errors_.equals(wanted.errors_)
    assert found.priors_.equals(wanted.priors_)
    assert by_task(found.labels_) == wanted.labels_.to_dict()


def test_known_labels_in_spark_are_noted_as_in_memory(spark: Any) -> None:
    few = VOTES["truth"].where(VOTES["task"] < VOTES["task"].unique()[6])
    found = []
    for votes, truth in ((given(spark, VOTES.assign(truth=few)), "truth"), (VOTES, few.groupby(VOTES["task"]).first())):
        with pytest.warns(DataWarning) as caught:
            model = CalibratedCrowd(MajorityVote()).fit(votes, truth)
        messages = {str(warning.message) for warning in caught if warning.category is DataWarning}
        found.append((messages, model.calibration_.notes, model.accuracy_))
    assert found[0] == found[1]
    assert any("Only 2 known labels" in message for message in found[0][0])
    with pytest.raises(InputError, match="No task of the votes has a known label"):
        CalibratedCrowd().fit(given(spark, VOTES.assign(truth=VOTES["truth"].where(VOTES["task"] < -1))), "truth")
    with pytest.raises(OptionError, match="computed in memory, and these votes are in Spark"):
        next(CalibratedCrowd(MajorityVote()).fit(given(spark, VOTES), "truth").cross_fits())


def test_weights_of_workers_in_spark(frame: Any) -> None:
    skills = {worker: 0.1 + i % 3 for i, worker in enumerate(sorted(VOTES["worker"].unique()))}
    found = MajorityVote().fit(frame, skills)
    assert by_task(found.labels_) == MajorityVote().fit_predict(VOTES, skills).to_dict()
    few = dict(list(skills.items())[:2])
    with pytest.raises(InputError, match="votes come from workers without a skill"):
        MajorityVote().fit(frame, few)
    with pytest.raises(OptionError, match="not available in Spark"):
        MajorityVote(on_missing_skill="ignore").fit(frame, few)


def test_what_is_not_available_in_spark_is_refused(frame: Any, new: SparkVotes) -> None:
    with pytest.raises(OptionError, match="GoldMajorityVote does not run in Spark; MajorityVote"):
        GoldMajorityVote().fit(frame, CROWD.gold)
    with pytest.raises(OptionError, match="GLAD does not run in Spark"):
        GLAD(n_iter=1, tol=-1).fit(VOTES).predict(new)
    with pytest.raises(OptionError, match="results of votes in Spark stay there"):
        MajorityVote().fit(VOTES).posterior_of(new).in_memory()
    with pytest.raises(OptionError, match="these votes are in Spark"):
        votes_in_memory(new)
    with pytest.raises(OptionError, match="the name of a column"):
        DawidSkene().fit(frame, CROWD.gold)
    with pytest.raises(OptionError, match="columns, by name"):
        DawidSkene().fit(frame, sensitive_features=CROWD.groups)
    with pytest.raises(OptionError, match="Build the votes with"):
        BayesVote().fit(new, "truth")
    with pytest.raises(InputError, match="labels that were not seen in fit"):
        MajorityVote().fit(VOTES[VOTES["label"] == 0]).predict(new)
    with pytest.raises(InputError, match="give sensitive_features"):
        DawidSkene(by_group=True).fit(frame)
    with pytest.raises(OptionError, match="CalibratedCrowd does not run in Spark"):
        CalibratedCrowd([MajorityVote(), BayesVote()]).fit(frame, "truth")
    with pytest.raises(OptionError, match="the name of a column"):
        CalibratedCrowd().fit(frame, CROWD.gold)


def test_weights_learned_in_memory_label_votes_in_spark(new: SparkVotes) -> None:
    model = GoldMajorityVote().fit(VOTES, CROWD.gold)
    assert by_task(model.predict(new)) == model.predict(NEW).to_dict()


def test_what_was_learned_by_glad_stays_in_memory(new: SparkVotes) -> None:
    with pytest.raises(OptionError, match="GLAD does not run in Spark"):
        GLAD(n_iter=2, tol=1e9).fit(VOTES).predict(new)
