"""The test of independent votes: against plain code, in every engine, and how often it is wrong."""

import math
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import faircrowd as fc
from crowds import CASES, Crowd, simulated
from faircrowd.audit import Independence, check_independence
from faircrowd.datasets import load_crowd_judgement
from faircrowd.errors import NotFittedError

CONFUSION = [name for name, case in CASES.items() if case.name in ("dawid-skene", "one-coin", "bayes")]


def naive(model: Any, crowd: Crowd, *, by_group: bool, one_coin: bool) -> tuple[float, float, float]:
    """Return statistic, correlation and belief by loops over pairs of votes, from the posterior of a model."""
    posterior = model.predict_proba(crowd.votes, sensitive_features=crowd.groups)
    classes = list(posterior.columns)
    cells: dict[Any, Any] = {}
    shares: dict[Any, Any] = {}
    for task, worker, label in crowd.votes.itertuples(index=False):
        group = crowd.groups[task] if by_group else 0
        counts = cells.setdefault((worker, group), np.zeros((len(classes), len(classes))))
        counts[classes.index(label)] += posterior.loc[task].to_numpy()
    for task, row in posterior.iterrows():
        shares.setdefault(crowd.groups[task] if by_group else 0, []).append(row.to_numpy())
    for key, counts in cells.items():
        if one_coin:
            right = np.trace(counts) / counts.sum()
            cells[key] = np.where(np.eye(len(classes)) > 0, right, (1 - right) / (len(classes) - 1))
        else:
            total = counts.sum(axis=0)
            cells[key] = np.where(total > 0, counts / np.where(total > 0, total, 1), 1 / len(classes))
    products, largest = [], []
    for task, votes in crowd.votes.groupby("task"):
        group = crowd.groups[task] if by_group else 0
        given = [(cells[worker, group], classes.index(label)) for _, worker, label in votes.itertuples(index=False)]
        joint = np.mean(shares[group], axis=0) * np.prod([matrix[label] for matrix, label in given], axis=0)
        product = most = 0.0
        for k, share in enumerate(joint / joint.sum()):
            rows = [(np.eye(len(classes))[label] - matrix[:, k], matrix[:, k]) for matrix, label in given]
            for i, (one, p) in enumerate(rows):
                for other, q in rows[:i] + rows[i + 1 :]:
                    product += share * float(one @ other)
                    most += share * math.sqrt((p * (1 - p)).sum() * (q * (1 - q)).sum())
        if len(given) > 1:
            products.append(product / (len(given) - 1))
            largest.append(most / (len(given) - 1))
    statistic = sum(products) / math.sqrt(sum(product**2 for product in products))
    return statistic, sum(products) / sum(largest), float(posterior.max(axis=1).mean())


@pytest.mark.parametrize("name", CONFUSION)
def test_the_test_equals_plain_code(name: str) -> None:
    crowd = simulated(seed=3)
    crowd = replace(crowd, votes=crowd.votes.iloc[5:])  # a task with fewer votes
    case = CASES[name]
    found = check_independence(case.fit(crowd))
    assert found is not None
    wanted = naive(case.fit(crowd), crowd, by_group=case.learns_groups, one_coin=case.name == "one-coin")
    assert (found.statistic, found.correlation, found.believed_accuracy) == pytest.approx(wanted, rel=1e-4, abs=1e-5)
    assert found.votes_per_task == pytest.approx(len(crowd.votes) / crowd.votes["task"].nunique())


@pytest.mark.parametrize("sign", [1, -1])
def test_numbers_by_hand(sign: int) -> None:
    """A model that knows nothing, and two workers who always vote alike, or never.

    Half of each worker's votes are 0, so residuals are (1/2, -1/2) or the opposite, whatever the class. Their product
    is 1/2 or -1/2, a task has two ordered pairs and thus C = 1 or -1, which is as large or small as it can be.
    """
    first = np.array([0, 1] * 10)
    votes = pd.DataFrame({"task": range(20), "worker": 0, "label": first})
    votes = pd.concat([votes, votes.assign(worker=1, label=first if sign > 0 else 1 - first)])
    model = fc.DawidSkene(start="skill", initial_skill=0.5, n_iter=1, tol=-1).fit(votes)
    found = check_independence(model)
    assert found is not None
    assert asdict(found) == pytest.approx(
        {
            "statistic": sign * math.sqrt(20),
            "p_value": math.erfc(sign * math.sqrt(10)) / 2,
            "correlation": sign,
            "votes_per_task": 2,
            "effective_votes": 1 if sign > 0 else 2,
            "believed_accuracy": 0.5,
        }
    )


@pytest.mark.parametrize("name", ["majority", "wawa", "gold", "glad"])
def test_models_without_matrices_are_not_tested(name: str) -> None:
    assert check_independence(CASES[name].fit(simulated())) is None


def test_what_cannot_be_tested() -> None:
    crowd = simulated()
    alone = crowd.votes.drop_duplicates("task")
    assert check_independence(fc.DawidSkene().fit(alone)) is None
    assert check_independence(fc.DawidSkene(n_iter=0).fit(crowd.votes)) is None
    assert check_independence(fc.DawidSkene().fit(crowd.votes.assign(label=1))) is None
    with pytest.raises(NotFittedError, match="not fitted yet"):
        check_independence(fc.DawidSkene())
    with pytest.raises(NotFittedError, match="not fitted yet"):
        check_independence(fc.MajorityVote())


def test_a_model_read_from_a_file_has_no_votes_to_test(tmp_path: Path) -> None:
    fc.save_model(fc.DawidSkene().fit(simulated().votes), tmp_path)
    with pytest.raises(NotFittedError, match="read from a file"):
        check_independence(fc.load_model(tmp_path))


@pytest.mark.parametrize("name", ["dawid-skene", "dawid-skene-by-group", "one-coin", "bayes"])
def test_neither_order_nor_names_change_a_bit(name: str) -> None:
    crowd, case = simulated(n_tasks=200, seed=1), CASES[name]
    wanted = check_independence(case.fit(crowd))
    tasks = {task: -task for task in crowd.votes["task"].unique()}
    workers = {worker: f"w{-worker}" for worker in crowd.votes["worker"].unique()}
    for other in (crowd.shuffled(1), crowd.renamed("task", tasks), crowd.renamed("worker", workers)):
        assert check_independence(case.fit(other)) == wanted


def test_streamed_votes_give_the_same_bits(tmp_path: Path) -> None:
    pytest.importorskip("duckdb")
    from faircrowd.engines.stream.read_stream import read_votes_on_disk

    votes = fc.simulate_crowd(30_000, 50, 5, random_state=0).votes  # two blocks
    votes.to_csv(tmp_path / "votes.csv", index=False)
    streamed = read_votes_on_disk(tmp_path / "votes.csv", memory_limit=256 << 20, folder=tmp_path)
    assert check_independence(fc.DawidSkene().fit(streamed)) == check_independence(fc.DawidSkene().fit(votes))


@pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning")
def test_votes_in_spark_give_the_same_bits(spark: Any) -> None:
    crowd = simulated(n_tasks=90, seed=4)
    votes = crowd.votes.assign(group=crowd.votes["task"].map(crowd.groups))
    frame = spark.createDataFrame(pa.Table.from_pandas(votes.sample(frac=1, random_state=0), preserve_index=False))
    for by_group in (False, True):
        model = fc.DawidSkene(by_group=by_group)
        wanted = check_independence(model.fit(votes, sensitive_features="group"))
        assert check_independence(model.fit(frame, sensitive_features="group")) == wanted


def alarms(crowd: Crowd, model: Any, by_group: bool, n: int) -> tuple[int, float]:
    """Draw votes from the model fitted to a crowd, in its layout, and fit again: count alarms, average statistics."""
    table = model.fit(crowd.votes, sensitive_features=crowd.groups).votes_
    errors = model.errors_.to_numpy().reshape(table.n_workers, -1, table.n_classes, table.n_classes)
    priors = model.priors_.to_numpy().reshape(-1, table.n_classes)
    group = table.group if by_group else np.zeros(table.n_tasks, dtype=int)
    task = np.repeat(np.arange(table.n_tasks), np.diff(table.offsets))
    found = []
    for seed in range(n):
        rng = np.random.default_rng(seed)
        truth = _draw(rng, priors[group])
        label = _draw(rng, errors[table.worker, group[task], :, truth[task]])
        again = check_independence(model.fit(replace(table, label=label.astype(np.int32))))
        assert again is not None
        found.append(again)
    return sum(one.rejected for one in found), float(np.mean([one.statistic for one in found]))


def _draw(rng: Any, probabilities: Any) -> Any:
    return (rng.random(len(probabilities))[:, None] > np.cumsum(probabilities, axis=1)[:, :-1]).sum(axis=1)


@pytest.mark.parametrize("by_group", [False, True])
@pytest.mark.parametrize(
    ("n_classes", "n_tasks", "n_workers", "votes"),
    [(2, 300, 20, 10), (3, 400, 200, 5), (8, 300, 60, 5), (2, 150, 40, 39)],
)
def test_few_false_alarms(n_classes: int, n_tasks: int, n_workers: int, votes: int, by_group: bool) -> None:
    """At the level of 0.1%, one of 60 simulated crowds may raise an alarm; the seeds are fixed."""
    crowd = simulated(n_classes, n_tasks, n_workers, votes)
    found, mean = alarms(crowd, fc.DawidSkene(by_group=by_group), by_group, 60)
    assert found <= 1
    assert mean < 0.5  # fitted parameters push the statistic below zero, never above


def test_smoothed_matrices_raise_no_alarm() -> None:
    """Residuals of matrices that are drawn toward guesses go together, but not because votes do."""
    found, _ = alarms(simulated(3, 400, 60, 5), fc.DawidSkene(smoothing=1.0), False, 60)
    assert found <= 1


def test_hard_tasks_are_found() -> None:
    """With every fifth task a guess, the fitted model believes more than it gets right, and the test says so."""
    crowd = fc.simulate_crowd(500, 30, 10, random_state=0)
    hard = crowd.votes["task"] % 5 == 0
    guesses = np.random.default_rng(0).integers(0, 2, len(crowd.votes))
    model = fc.DawidSkene().fit(crowd.votes.assign(label=crowd.votes["label"].where(~hard, guesses)))
    found = check_independence(model)
    assert found is not None
    assert found.rejected
    assert found.believed_accuracy > (model.labels_ == crowd.truth).mean() + 0.03
    assert found.effective_votes < found.votes_per_task == 10


@pytest.mark.parametrize("name", ["tweets-hate-3class", "faces-4class", "crowd-judgement"])
def test_it_fires_where_dawid_skene_is_far_too_certain(data_folder: Path, name: str) -> None:
    """Three real crowds on which it believes at least .25 more than it gets right."""
    if name == "crowd-judgement":
        crowd = load_crowd_judgement(data_folder, download=False)
        votes, truth = crowd.votes, crowd.truth
    else:
        votes = pd.read_csv(data_folder / name / "votes.csv")
        truth = pd.read_csv(data_folder / name / "tasks.csv").set_index("task")["truth"].dropna()
    model = fc.DawidSkene().fit(votes)
    found = check_independence(model)
    assert found is not None
    assert found.believed_accuracy - (model.labels_.reindex(truth.index) == truth).mean() > 0.25
    assert found.rejected
    assert found.p_value < 1e-20


def test_what_is_said() -> None:
    fits = Independence(0.3, 0.38, 0.002, 4.2, 4.17, 0.925)
    assert not fits.rejected
    assert str(fits) == (
        "no sign that the votes on a task go together more than the model allows (correlation 0.00, p = 0.3800)"
    )
    not_so = Independence(16.3, 5e-60, 0.11, 20.0, 6.47, 0.997)
    assert str(not_so) == (
        "the votes on a task go together more than the model allows (correlation 0.11, p < 0.0001): it is likely "
        "more certain than its votes warrant, as 20.0 votes are worth about 6.5 independent ones"
    )
    assert not_so.to_dict()["rejected"] is True


def test_at_the_borders() -> None:
    def of(p_value: float) -> Independence:
        return Independence(3.0, p_value, 0.05, 5.0, 4.2, 0.9)

    assert [of(p).rejected for p in (0.0009, 0.001, 0.0011)] == [True, True, False]
    assert "p = 0.0001)" in str(of(0.0001))
    assert "p < 0.0001)" in str(of(0.00009))
    assert "as 5.0 votes are worth about 4.2" in str(of(0.0001))
    assert of(0.5).to_dict() == {**asdict(of(0.5)), "rejected": False}


def test_votes_without_any_doubt_have_no_residuals() -> None:
    """Every worker is always right, so that nothing is left to go together."""
    truth = np.arange(40) % 2
    votes = pd.DataFrame([(task, worker, truth[task]) for task in range(40) for worker in range(3)])
    found = check_independence(fc.DawidSkene().fit(votes.set_axis(["task", "worker", "label"], axis=1)))
    assert found is not None
    assert found.statistic == pytest.approx(0, abs=1e-6)
    assert found.p_value == pytest.approx(0.5, abs=1e-6)
    assert not found.rejected
    assert (found.votes_per_task, found.believed_accuracy) == (3, pytest.approx(1))
    assert found.effective_votes <= 3
