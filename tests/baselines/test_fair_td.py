"""FairTD: its rounds against plain loops, which workers take part, and what it reports at the end."""

import warnings

import numpy as np
import pandas as pd
import pytest

import faircrowd as fc
from baselines.crowds import crowd_judgement, jigsaw, simulated
from faircrowd.baselines import FairTD
from faircrowd.baselines.fair_td_rounds import Votes, run_rounds
from faircrowd.errors import ConvergenceWarning, DataWarning, InputError


def votes_of(answers: np.ndarray, group: np.ndarray) -> Votes:
    """Votes of a table of tasks x workers, -1 where there is none."""
    task, worker = np.nonzero(answers >= 0)
    counts = np.stack([(answers[group == a] >= 0).sum(axis=0) for a in (0, 1)], axis=1)
    offsets = np.concatenate([[0], np.cumsum((answers >= 0).sum(axis=1))])
    label = answers[task, worker].astype(float)
    sizes = np.bincount(group).astype(float)
    return Votes(offsets, worker.copy(), label, group.astype(np.int32), counts.astype(float), np.zeros(2), sizes)


def plain_rounds(answers: np.ndarray, group: np.ndarray, epsilon: float, n_iter: int, tol: float, seed: int):
    """The same rounds in plain loops: the truths and the gap of each, and whether it was the last."""
    rng = np.random.default_rng(seed)
    n_tasks, n_workers = answers.shape
    truth = rng.uniform(0.1, 0.9, n_tasks)
    bias = rng.uniform(-0.1, 0.1, (n_workers, 2))
    weight = np.ones(n_workers)
    draws = rng.random(n_iter)

    def gap() -> float:
        return float(np.mean(truth[group == 1] > 0.5) - np.mean(truth[group == 0] > 0.5))

    for draw in draws:
        used = bias.copy()
        signed = gap()
        if abs(signed) > epsilon:
            gaps = (-signed, signed)  # of each group against the other
            offers = [(w, a) for w in range(n_workers) for a in (0, 1) if gaps[a] * bias[w, a] < 0]
            chances = np.cumsum([abs(gaps[a] * bias[w, a]) for w, a in offers])
            if offers:
                used[offers[min(np.searchsorted(chances, draw * chances[-1], side="right"), len(offers) - 1)]] = 0.0
        old = truth.copy()
        for j in range(n_tasks):
            seen = np.flatnonzero(answers[j] >= 0)
            truth[j] = np.average(answers[j, seen] - used[seen, group[j]], weights=weight[seen])
        rest = np.where(answers >= 0, answers - truth[:, None], np.nan)
        for w in range(n_workers):
            for a in (0, 1):
                bias[w, a] = np.nanmean(rest[group == a, w])
            noise = rest[:, w] - bias[w, group]
            weight[w] = 1 / ((0.1 + np.nansum(noise**2)) / np.isfinite(noise).sum())
        settled = abs(gap()) <= epsilon and bool(np.abs(truth - old).max() <= tol)
        yield truth.copy(), abs(gap()), settled
        if settled:
            return


def random_answers(seed: int, n_tasks: int = 24, n_workers: int = 5) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    group = np.arange(n_tasks) % 2
    lean = np.where(group == 1, 0.7, 0.3)[:, None]
    answers = (rng.random((n_tasks, n_workers)) < lean).astype(int)
    answers[rng.random(answers.shape) < 0.2] = -1
    answers[:, 0] = np.maximum(answers[:, 0], 0)  # every task has a vote
    answers[:2] = np.maximum(answers[:2], 0)  # every worker votes in both groups
    return answers, group


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("epsilon", [0.0, 0.1, 0.5])
def test_rounds_agree_with_plain_loops(seed: int, epsilon: float) -> None:
    answers, group = random_answers(seed)
    n_iter, tol = 40, 1e-3
    states = list(plain_rounds(answers, group, epsilon, n_iter, tol, seed))
    found = run_rounds(votes_of(answers, group), epsilon, n_iter=n_iter, tol=tol, rng=np.random.default_rng(seed))
    assert found.rounds == len(states)
    assert found.converged == states[-1][2]
    expected = states[-1] if found.converged else min(states, key=lambda state: state[1])
    np.testing.assert_allclose(found.truth, expected[0], atol=1e-10)


def test_votes_that_agree_are_kept() -> None:
    # Both groups are half ones and all workers agree: nothing is biased, and two rounds show it.
    votes = pd.DataFrame([(task, worker, task // 2 % 2) for task in range(20) for worker in "abc"])
    votes.columns = ["task", "worker", "label"]
    model = FairTD(epsilon=0.01).fit(votes, sensitive_features={task: task % 2 for task in range(20)})
    assert model.converged_
    assert model.outcome_.converged
    assert (model.labels_ == model.labels_.index // 2 % 2).all()
    assert (model.outcome_.gap, model.outcome_.gap_before, model.outcome_.changed) == (0.0, 0.0, 0)
    np.testing.assert_allclose(model.probas_[1], model.labels_, atol=0.2)


def test_the_gap_is_closed_where_the_rounds_converge() -> None:
    crowd = simulated(600, seed=3)
    for epsilon in (0.2, 0.1, 0.02):
        model = FairTD(epsilon).fit(crowd.votes, sensitive_features=crowd.groups)
        rates = model.labels_.groupby(crowd.groups.loc[model.labels_.index].to_numpy()).mean()
        assert model.converged_
        assert model.outcome_.gap == pytest.approx(abs(rates[1] - rates[0]))
        assert model.outcome_.gap <= epsilon < model.outcome_.gap_before
        assert (model.labels_ == (model.probas_[1] > 0.5)).all()


def test_running_out_of_rounds_gives_a_warning_and_the_best_labels() -> None:
    crowd = simulated(400, seed=1)
    gaps = []
    for n_iter in (1, 5, 20, 60):
        model = FairTD(0.001, n_iter=n_iter)
        with pytest.warns(ConvergenceWarning, match=f"n_iter={n_iter}\\); the smallest gap reached is") as caught:
            model.fit(crowd.votes, sensitive_features=crowd.groups)
        assert f"{model.outcome_.gap:.4f}, above epsilon 0.001" in str(caught[0].message)
        assert (model.converged_, model.outcome_.converged, model.n_iter_) == (False, False, n_iter)
        gaps.append(model.outcome_.gap)
    assert gaps == sorted(gaps, reverse=True)
    assert gaps[-1] < gaps[0]


def test_rounds_that_can_never_end() -> None:
    # A lone worker's votes explain themselves: once a bias has been kept it is zero, and none is left to keep.
    votes = pd.DataFrame({"task": range(8), "worker": "w", "label": [0, 1] * 4})
    with pytest.warns(ConvergenceWarning, match=r"gap reached is 1.0000, above epsilon 0.1"):
        model = FairTD(0.1, n_iter=50).fit(votes, sensitive_features={task: task % 2 for task in range(8)})
    assert not model.converged_
    assert model.labels_.tolist() == [0, 1] * 4


def test_truths_that_still_change_have_not_settled() -> None:
    crowd = simulated(400, seed=1)
    with pytest.warns(ConvergenceWarning, match="within epsilon, but the truths still change"):
        model = FairTD(0.9, n_iter=3, tol=0.0).fit(crowd.votes, sensitive_features=crowd.groups)
    assert not model.converged_
    assert model.outcome_.gap <= 0.9


def test_workers_of_one_group_are_set_aside_and_counted() -> None:
    rows = [(task, worker, task // 2 % 2) for task in range(16) for worker in "abc"]
    rows += [(0, "one", 1), (2, "one", 1)]  # task 0 and 2 are of group 0, as is the task that only "one" saw
    rows += [(16, "one", 1)]
    votes = pd.DataFrame(rows, columns=["task", "worker", "label"])
    groups = {task: task % 2 for task in range(17)}
    with pytest.warns(DataWarning, match=r"3 of 51 votes set aside.*1 tasks left"):
        model = FairTD(epsilon=0.2).fit(votes, sensitive_features=groups)
    assert (model.votes_aside_, model.tasks_by_majority_) == (3, 1)
    assert model.labels_.loc[16] == 1
    assert model.probas_.loc[16].tolist() == [0.0, 1.0]
    # The task counts in the gap: 5 of 9 against 4 of 8.
    assert model.outcome_.gap == pytest.approx(5 / 9 - 4 / 8)
    assert model.converged_


def test_without_workers_in_both_groups_there_is_nothing_to_compare() -> None:
    votes = pd.DataFrame({"task": [0, 1, 0, 1], "worker": list("abcd"), "label": [0, 1, 1, 0]})
    with pytest.raises(InputError, match="No worker voted in both groups"):
        FairTD().fit(votes, sensitive_features={0: "x", 1: "y"})


def test_the_seed_decides() -> None:
    crowd = simulated(300, seed=5)
    fits = [FairTD(0.05, random_state=seed).fit(crowd.votes, sensitive_features=crowd.groups) for seed in (0, 0, 1)]
    truths = [model.probas_[1].to_numpy() for model in fits]
    assert (truths[0] == truths[1]).all()
    assert (truths[0] != truths[2]).any()


@pytest.mark.real
def test_crowd_judgement_converges(data_folder) -> None:
    crowd = crowd_judgement(data_folder)
    votes = fc.read_votes(crowd.votes)
    for epsilon in (0.2, 0.05, 0.01):
        model = FairTD(epsilon).fit(votes, sensitive_features=crowd.groups)
        right = (model.labels_ == crowd.truth.loc[model.labels_.index]).mean()
        assert model.converged_
        assert model.outcome_.gap <= epsilon
        assert right > 0.63  # the majority has .665


@pytest.mark.real
def test_jigsaw_converges(data_folder) -> None:
    crowd = jigsaw(data_folder)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        model = FairTD(0.05).fit(crowd.votes, sensitive_features=crowd.groups)
    assert (model.votes_aside_, model.tasks_by_majority_) == (98_937 - 91_079, 0)
    assert model.converged_
    assert model.outcome_.gap <= 0.05
