"""Agreement of pairs of votes: against counting by hand and scikit-learn's kappa."""

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import cohen_kappa_score

from faircrowd import MajorityVote, read_votes
from faircrowd.audit import pair_agreement
from faircrowd.errors import OptionError


def crowd(n_tasks: int = 60, n_workers: int = 9, n_classes: int = 3, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, n_classes, n_tasks)
    rows = [
        (f"t{t}", f"w{w}", int(truth[t] if rng.random() < 0.6 else rng.integers(0, n_classes)))
        for t in range(n_tasks)
        for w in range(n_workers)
        if rng.random() < 0.6
    ]
    return pd.DataFrame(rows, columns=["task", "worker", "label"])


@pytest.mark.parametrize("n_classes", [2, 3])
def test_every_pair_of_workers(n_classes: int) -> None:
    votes = crowd(n_classes=n_classes)
    wide = votes.pivot_table(index="task", columns="worker", values="label")
    found = pair_agreement(votes).pairs().to_pandas().set_index(["worker", "other"])
    assert len(found) == 36
    for one, other in combinations(wide.columns, 2):
        both = wide[[one, other]].dropna()
        row = found.loc[(one, other)]
        assert row["tasks"] == len(both)
        assert row["agreement"] == pytest.approx((both[one] == both[other]).mean(), abs=1e-15)
        assert row["low"] < row["agreement"] < row["high"]
        assert row["kappa"] == pytest.approx(cohen_kappa_score(both[one], both[other]), abs=1e-12)


def test_workers_tasks_and_groups() -> None:
    votes = crowd()
    groups = {f"t{t}": "even" if t % 2 == 0 else "odd" for t in range(60)}
    table = read_votes(votes, sensitive_features=groups)
    model = MajorityVote().fit(table)
    found = pair_agreement(table, model.labels_)
    joined = votes.merge(votes, on="task", suffixes=("", "_other"))
    joined = joined[joined["worker"] != joined["worker_other"]]
    same = joined["label"] == joined["label_other"]
    by_worker = found.workers().to_pandas().set_index("worker")
    pd.testing.assert_series_equal(
        by_worker["agreement_with_others"], same.groupby(joined["worker"]).mean(), check_names=False, check_exact=False
    )
    label = votes["task"].map(model.labels_)
    with_label = (votes["label"] == label).groupby(votes["worker"]).mean()
    np.testing.assert_allclose(by_worker["agreement_with_label"], with_label.loc[by_worker.index])
    assert (by_worker["agreement_with_label_low"] < by_worker["agreement_with_label"]).all()
    by_task = found.tasks().to_pandas().set_index("task")
    np.testing.assert_allclose(by_task["agreement"].dropna(), same.groupby(joined["task"]).mean().sort_index())
    top = votes.groupby("task")["label"].agg(lambda of: of.value_counts().iloc[0])
    assert (by_task["most_frequent"] == top.loc[by_task.index]).all()
    by_group = found.groups().to_pandas().set_index("group")
    each = same.groupby(joined["task"]).mean()
    means = each.groupby(each.index.map(groups)).mean()
    np.testing.assert_allclose(by_group.loc[["even", "odd"], "agreement"], means.loc[["even", "odd"]])
    assert by_group.loc["all tasks", "agreement"] == pytest.approx(each.mean())
    assert by_group.loc["all tasks", "tasks"] == len(each)


def test_the_interval_of_a_group_covers_the_mean_of_many_tasks() -> None:
    found = [pair_agreement(crowd(seed=seed)).groups().to_pylist()[-1] for seed in range(60)]
    all_tasks = np.mean([one["agreement"] for one in found])
    covered = np.mean([one["low"] <= all_tasks <= one["high"] for one in found])
    assert covered >= 0.93


def test_few_votes_and_the_workers_with_the_most() -> None:
    votes = pd.DataFrame(
        [("a", "x", 1), ("b", "x", 1), ("b", "y", 1), ("c", "z", 0)], columns=["task", "worker", "label"]
    )
    found = pair_agreement(votes)
    assert found.pairs().num_rows == 1
    assert found.pairs()["kappa"].to_pylist() == [None]  # both always say 1
    assert found.workers()["agreement_with_others"].to_pylist() == [1.0, 1.0, None]
    assert found.tasks()["agreement"].to_pylist() == [None, 1.0, None]
    assert found.groups().to_pylist()[0]["tasks"] == 1
    few = pair_agreement(crowd(), most_workers=3)
    most = crowd()["worker"].value_counts().sort_index().sort_values(ascending=False, kind="stable").index[:3]
    assert {*few.pairs()["worker"].to_pylist(), *few.pairs()["other"].to_pylist()} == {*most}
    assert few.workers().num_rows == 9
    with pytest.raises(OptionError, match="most_workers"):
        pair_agreement(votes, most_workers=1)


@pytest.mark.filterwarnings("ignore::faircrowd.errors.DataWarning")
def test_a_worker_who_votes_twice_does_not_agree_with_herself() -> None:
    twice = pd.DataFrame(
        [("a", "x", 1), ("a", "x", 1), ("a", "x", 0), ("a", "y", 1)], columns=["task", "worker", "label"]
    )
    found = pair_agreement(read_votes(twice, on_duplicate="all"))
    assert found.worker_pairs.tolist() == [3, 3]
    assert found.worker_agreed.tolist() == [2, 2]
    assert (found.task_pairs.tolist(), found.task_agreed.tolist()) == ([6], [4])
    assert found.pairs().to_pylist()[0]["tasks"] == 1  # of repeated votes the last counts


def test_row_order_does_not_matter() -> None:
    votes = crowd(seed=4)
    again = votes.sample(frac=1, random_state=1)
    one, other = pair_agreement(votes), pair_agreement(again)
    assert one.pairs().equals(other.pairs())
    assert one.tasks().equals(other.tasks())
