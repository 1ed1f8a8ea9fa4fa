"""Dawid-Skene compared with a naive implementation, with enumeration, and with known parameters of crowds."""

import numpy as np
import pandas as pd
import pytest
from pandas.testing import assert_frame_equal

from aggregate import naive
from crowds import simulated
from faircrowd import DawidSkene, OneCoinDawidSkene, read_votes, simulate_crowd
from faircrowd.errors import InputError, OptionError

CROWD = simulated(n_classes=3, n_tasks=25, n_workers=5, votes=3, seed=4)
GROUP = np.array([CROWD.groups[task] == "b" for task in range(25)], dtype=int)


@pytest.mark.parametrize("by_group", [False, True])
@pytest.mark.parametrize("start", ["majority", "skill"])
@pytest.mark.parametrize("smoothing", [1e-10, 0.5])
def test_rounds_equal_the_textbook(by_group: bool, start: str, smoothing: float) -> None:
    votes, n_groups = CROWD.votes, 1 + by_group
    group = GROUP if by_group else np.zeros(25, dtype=int)
    cell = votes.worker.to_numpy() * n_groups + group[votes.task]

    def class_shares(posterior: np.ndarray) -> np.ndarray:
        counts = np.stack([posterior[group == g].sum(axis=0) + smoothing for g in range(n_groups)])
        return (counts / counts.sum(axis=1, keepdims=True))[group]

    if start == "majority":
        posterior = naive.shares(votes, 25, 3)
        errors, priors = naive.maximise(votes, posterior, cell, 5 * n_groups, smoothing), class_shares(posterior)
    else:
        start_counts = np.broadcast_to(0.15 + 0.55 * np.eye(3), (5 * n_groups, 3, 3)) + smoothing
        errors = start_counts / start_counts.sum(axis=1, keepdims=True)
        priors = np.full((25, 3), 1 / 3)
    for rounds in range(1, 6):
        posterior, log_likelihood = naive.expect(votes, errors, priors, cell)
        prior = smoothing * (np.log(errors).sum() + np.log(np.unique(priors, axis=0)).sum())
        if by_group and len(np.unique(priors, axis=0)) == 1:
            prior += smoothing * np.log(priors[0]).sum()
        model = DawidSkene(rounds, -1.0, by_group=by_group, start=start, smoothing=smoothing)
        model.fit(votes, sensitive_features=CROWD.groups if by_group else None)
        np.testing.assert_allclose(model.probas_.to_numpy(), posterior, atol=1e-10)
        assert model.loss_history_[-1] == pytest.approx((log_likelihood + prior) / len(votes), abs=1e-11)
        errors, priors = naive.maximise(votes, posterior, cell, 5 * n_groups, smoothing), class_shares(posterior)
        np.testing.assert_allclose(model.errors_.to_numpy(), errors.reshape(-1, 3), atol=1e-9)
        np.testing.assert_allclose(model.priors_.to_numpy().reshape(-1, 3)[group], priors, atol=1e-9)


def test_the_loss_is_the_likelihood_summed_over_all_labellings() -> None:
    votes = pd.DataFrame(
        [(0, 0, 0), (0, 1, 1), (1, 0, 1), (1, 2, 1), (2, 1, 0), (2, 2, 1), (2, 0, 0), (3, 1, 1)],
        columns=["task", "worker", "label"],
    )
    cell = votes.worker.to_numpy()
    posterior = naive.shares(votes, 4, 2)
    errors = naive.maximise(votes, posterior, cell, 3, 1e-10)
    priors = np.broadcast_to(posterior.mean(axis=0), (4, 2))
    with pytest.warns(UserWarning, match="Not converged"):
        model = DawidSkene(1).fit(votes)
    expected = naive.likelihood_by_enumeration(votes, errors, priors, cell) / len(votes)
    assert model.loss_history_ == [pytest.approx(expected, abs=1e-8)]


def test_parameters_of_a_simulated_crowd_are_found() -> None:
    crowd = simulate_crowd(20_000, 10, 8, skill_ranges=((0.55, 0.9), (0.6, 0.95)), random_state=3)
    model = DawidSkene(by_group=True).fit(crowd.votes, sensitive_features=crowd.sensitive_features)
    found = model.errors_.to_numpy().reshape(10, 2, 2, 2)
    for k in range(2):
        np.testing.assert_allclose(found[:, :, k, k], crowd.skills, atol=0.03)
    np.testing.assert_allclose(model.priors_.to_numpy().reshape(2, 2), [[0.6, 0.4], [0.4, 0.6]], atol=0.02)
    one_coin = OneCoinDawidSkene(by_group=True).fit(crowd.votes, sensitive_features=crowd.sensitive_features)
    np.testing.assert_allclose(one_coin.skills_.to_numpy().reshape(10, 2), crowd.skills, atol=0.02)


def test_a_worker_who_was_always_right_may_err() -> None:
    """Smoothing keeps the probability of a wrong vote above zero, even if it is tiny against the right votes."""
    votes = pd.DataFrame({"task": range(400), "worker": "a", "label": np.arange(400) % 2})
    model = OneCoinDawidSkene(smoothing=1e-14).fit(votes)
    np.testing.assert_allclose(model.errors_.to_numpy()[[0, 1], [1, 0]], 1e-14 / 400, rtol=1e-9)


def test_matrices_beyond_memory_are_refused_at_once() -> None:
    votes = pd.DataFrame({"task": range(5000), "worker": range(5000), "label": range(5000)})
    for kind in (DawidSkene, OneCoinDawidSkene):
        with pytest.raises(InputError, match=r"matrices of 5,000 workers and 5,000 classes take about .* use Major"):
            kind().fit(votes)


def test_groups_matter_where_workers_differ_by_group() -> None:
    crowd = simulate_crowd(4000, 20, 5, skill_ranges=((0.35, 0.95), (0.6, 1.0)), random_state=8)
    plain = DawidSkene().fit(crowd.votes)
    by_group = DawidSkene(by_group=True).fit(crowd.votes, sensitive_features=crowd.sensitive_features)
    assert (by_group.labels_ == crowd.truth).mean() > (plain.labels_ == crowd.truth).mean() + 0.02
    assert by_group.errors_.index.names == ["worker", "group", "label"]
    assert by_group.priors_.index.names == ["group", "label"]


def test_true_labels_are_held_fixed_and_teach() -> None:
    crowd = simulate_crowd(400, 10, 3, skill_ranges=((0.1, 0.5), (0.1, 0.5)), random_state=2)  # adversarial
    gold = crowd.truth[:100]
    with pytest.warns(UserWarning, match="Not converged"):
        model = DawidSkene(30, 0.0).fit(crowd.votes, gold)
    assert (model.labels_[:100] == gold).all()
    assert (model.probas_.to_numpy()[np.arange(100), gold] == 1).all()
    accuracy = (model.labels_[100:] == crowd.truth[100:]).mean()
    assert accuracy > 0.6 > (DawidSkene().fit(crowd.votes).labels_[100:] == crowd.truth[100:]).mean()


def test_a_true_label_nobody_voted_for_becomes_a_class() -> None:
    votes = pd.DataFrame({"task": ["a", "a", "b"], "worker": [1, 2, 1], "label": ["x", "y", "x"]})
    model = DawidSkene().fit(votes, {"a": "z"})
    assert model.labels_["a"] == "z"
    assert list(model.probas_.columns) == ["x", "y", "z"]


def test_saturated_posteriors_stay_ordered() -> None:
    votes = pd.DataFrame(
        [(task, worker, task % 2) for task in range(40) for worker in range(30 + task)],
        columns=["task", "worker", "label"],
    )
    model = DawidSkene(smoothing=0.01).fit(votes)
    assert model.probas_.to_numpy().max() == 1.0
    odds = (model.log_probas_[1] - model.log_probas_[0]).to_numpy()
    assert np.unique(odds).size == 40
    assert (np.sign(odds) == np.where(np.arange(40) % 2, 1, -1)).all()
    assert (np.diff(np.abs(odds[::2])) > 0).all()


def test_an_even_split_stays_even() -> None:
    """Rounding must not decide a crowd that is split evenly, whatever the names and the order of rows."""
    votes = pd.DataFrame(
        [(t, w, (t + w) % 2) for t in range(30) for w in range(6)], columns=["task", "worker", "label"]
    )
    for names in (np.arange(6), np.array([3, 1, 4, 0, 5, 2])):
        renamed = votes.assign(worker=names[votes.worker]).sample(frac=1, random_state=0)
        model = DawidSkene(200, -1.0).fit(renamed)
        assert (model.probas_.to_numpy() == 0.5).all()
        assert (model.labels_ == 0).all()
        assert (DawidSkene(200, -1.0, ties="last").fit(renamed).labels_ == 1).all()


def test_prediction_with_workers_known_in_one_group() -> None:
    """A worker who is known in one group counts as the average worker in the other."""
    votes = pd.DataFrame(
        [(t, w, t % 2) for t in range(20) for w in range(4)] + [(0, "expert", 0), (2, "expert", 0)],
        columns=["task", "worker", "label"],
    )
    groups = {t: "ab"[t % 2] for t in range(20)}
    model = DawidSkene(by_group=True, smoothing=0.1).fit(votes, sensitive_features=groups)
    new = pd.DataFrame({"task": ["n", "m"], "worker": ["expert", "stranger"], "label": [1, 1]})
    probas = model.predict_proba(new, sensitive_features={"n": "b", "m": "b"})
    assert_frame_equal(probas.loc[["n"]].set_index(pd.Index(["m"], name="task")), probas.loc[["m"]])


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_iter": -1}, "n_iter must be a whole number"),
        ({"tol": "small"}, "tol must be a number"),
        ({"smoothing": -1}, r"smoothing must be a number from 0 to 1e\+100; got -1"),
        ({"smoothing": float("inf")}, "smoothing must be a number from 0 to"),
        ({"start": "majorty"}, "Did you mean 'majority'"),
        ({"initial_error_strategy": "add"}, "initial_error_strategy='add' is not known"),
        ({"initial_skill": 2}, "initial_skill must be a number from 0 to 1"),
    ],
)
def test_settings_out_of_range_are_refused(settings: dict[str, object], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        DawidSkene(**settings).fit(CROWD.votes)


def test_groups_are_asked_for() -> None:
    with pytest.raises(InputError, match="by_group=True needs the group of each task"):
        DawidSkene(by_group=True).fit(CROWD.votes)
    model = DawidSkene(1, -1.0, by_group=True).fit(CROWD.votes, sensitive_features=CROWD.groups)
    with pytest.raises(InputError, match="give sensitive_features for the new tasks"):
        model.predict(CROWD.votes)
    with pytest.raises(InputError, match="groups that were not seen in fit"):
        model.predict(CROWD.votes, sensitive_features=dict.fromkeys(CROWD.groups, "c"))


def test_initial_errors() -> None:
    votes = read_votes(CROWD.votes)
    index = pd.MultiIndex.from_product([range(5), range(3)], names=["worker", "label"])
    liar = pd.DataFrame(np.tile(0.45 - 0.35 * np.eye(3), (5, 1)), index=index, columns=range(3))
    honest = pd.DataFrame(np.tile(0.1 + 0.7 * np.eye(3), (5, 1)), index=index, columns=range(3))
    assign = DawidSkene(1, -1.0, initial_error_strategy="assign")
    right, wrong = assign.fit_predict(votes, initial_error=honest), assign.fit_predict(votes, initial_error=liar)
    assert (right == wrong).mean() < 0.4  # tasks with three different votes are tied either way
    np.testing.assert_array_equal(right, assign.fit_predict(votes, initial_error=honest.reset_index()))
    add = DawidSkene(0, initial_error_strategy="addition").fit(votes, initial_error=honest * 1e9)
    np.testing.assert_allclose(add.errors_.to_numpy(), honest.to_numpy(), atol=1e-6)
    with pytest.raises(InputError, match="it lacks 4"):
        assign.fit(votes, initial_error=honest.drop(index=4, level=0))
    with pytest.raises(InputError, match="must be finite numbers that are not negative"):
        assign.fit(votes, initial_error=-honest)
    with pytest.raises(InputError, match="The index of initial_error must be"):
        assign.fit(votes, initial_error=honest.rename_axis(["who", "what"]))
    with pytest.warns(UserWarning, match="columns that are not classes of the votes, and are not used: '7'"):
        assign.fit(votes, initial_error=honest.assign(**{"7": 0}))


def test_one_prior_for_all_groups() -> None:
    crowd = simulate_crowd(400, 20, random_state=2)
    model = DawidSkene(by_group=True, group_priors=False, tol=1e-9, n_iter=500)
    model.fit(crowd.votes, sensitive_features=crowd.sensitive_features)
    priors = model.priors_.unstack("label").to_numpy()
    assert (priors[0] == priors[1]).all()
    assert priors[0] == pytest.approx(model.probas_.mean().to_numpy(), abs=1e-3)
    assert (np.diff(model.loss_history_) >= 0).all()
    free = DawidSkene(by_group=True, tol=1e-9, n_iter=500)
    free.fit(crowd.votes, sensitive_features=crowd.sensitive_features)
    assert free.loss_history_[-1] > model.loss_history_[-1]
