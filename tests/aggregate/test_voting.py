"""Majority, weighted and Bayes votes compared with values worked out by hand."""

import numpy as np
import pandas as pd
import pytest

from crowds import CASES, simulated
from faircrowd import BayesVote, DawidSkene, GoldMajorityVote, MajorityVote, Wawa, ZeroBasedSkill, simulate_crowd
from faircrowd.errors import InputError, OptionError

VOTES = pd.DataFrame(
    [("t1", "w1", "a"), ("t1", "w2", "b"), ("t2", "w1", "a"), ("t2", "w2", "a"), ("t2", "w3", "b"), ("t3", "w3", "b")],
    columns=["task", "worker", "label"],
)


def test_majority() -> None:
    model = MajorityVote().fit(VOTES)
    assert model.labels_.to_dict() == {"t1": "a", "t2": "a", "t3": "b"}
    assert MajorityVote(ties="last").fit_predict(VOTES)["t1"] == "b"
    np.testing.assert_array_equal(model.probas_, [[1 / 2, 1 / 2], [2 / 3, 1 / 3], [0, 1]])
    half, third, twice = np.log([1 / 2, 1 / 3, 2 / 3])
    np.testing.assert_array_equal(model.log_probas_, [[half, half], [twice, third], [-np.inf, 0]])
    assert model.skills_.to_dict() == {"w1": 1.0, "w2": 0.5, "w3": 0.5}


def test_majority_by_weight() -> None:
    weights = {"w1": 0.1, "w2": 0.3, "w3": 0.9}
    probas = MajorityVote().fit_predict_proba(VOTES, weights)
    np.testing.assert_allclose(probas, [[0.25, 0.75], [4 / 13, 9 / 13], [0, 1]], rtol=1e-12)
    for given in (
        pd.Series(weights),
        pd.DataFrame({"worker": weights.keys(), "skill": weights.values()}),
    ):
        np.testing.assert_array_equal(MajorityVote().fit_predict_proba(VOTES, given), probas)


def test_votes_count_alike_where_all_weights_are_zero() -> None:
    probas = MajorityVote().fit_predict_proba(VOTES, {"w1": 0, "w2": 0, "w3": 1})
    np.testing.assert_array_equal(probas, [[0.5, 0.5], [0, 1], [0, 1]])


def test_unlisted_workers() -> None:
    some = {"w1": 1.0, "w3": 1.0}
    with pytest.raises(InputError, match="2 votes come from workers without a skill: 'w2'"):
        MajorityVote().fit(VOTES, some)
    model = MajorityVote(on_missing_skill="ignore").fit(VOTES, some)
    assert list(model.skills_.index) == ["w1", "w3"]
    assert model.report_.rows_without_skill == 2
    with pytest.raises(InputError, match="1 tasks have no vote of a worker with a skill"):
        MajorityVote(on_missing_skill="ignore").fit(VOTES, {"w1": 1.0})
    assert MajorityVote(default_skill=5, on_missing_skill="value").fit_predict(VOTES, some)["t1"] == "b"


def test_prediction_uses_the_weights_given_to_fit() -> None:
    """Also those of workers without votes in fit; workers without a weight have the default, or else the average."""
    skills = {"w1": 1.0, "w2": 1.0, "w3": 1.0, "later": 3.0}
    new = pd.DataFrame({"task": ["n", "n"], "worker": ["later", "stranger"], "label": ["a", "b"]})
    model = MajorityVote().fit(VOTES, skills)
    np.testing.assert_array_equal(model.predict_proba(new), [[0.75, 0.25]])
    skills["later"] = 0.0
    np.testing.assert_array_equal(model.predict_proba(new), [[0.75, 0.25]])
    by_default = MajorityVote(default_skill=9.0, on_missing_skill="value").fit(VOTES, skills | {"later": 3.0})
    np.testing.assert_array_equal(by_default.predict_proba(new), [[0.25, 0.75]])


@pytest.mark.parametrize("weight", [1e100, 1e-300, 5e-324])
def test_weights_of_any_size(weight: float) -> None:
    probas = MajorityVote().fit_predict_proba(VOTES, dict.fromkeys(("w1", "w2", "w3"), weight))
    np.testing.assert_array_equal(probas, MajorityVote().fit_predict_proba(VOTES))


@pytest.mark.parametrize(
    ("settings", "skills", "message"),
    [
        ({"on_missing_skill": "value"}, None, "needs a default_skill"),
        ({"default_skill": 1.0}, None, "only used with on_missing_skill='value'"),
        ({"on_missing_skill": "skip"}, None, "on_missing_skill='skip' is not known"),
        ({}, {"w1": -1, "w2": 1, "w3": 1}, "not negative"),
        ({}, {"w1": 1e200, "w2": 1, "w3": 1}, "must be finite"),
        ({"on_missing_skill": "value", "default_skill": np.inf}, {"w1": 1}, "default_skill must be a number from 0"),
        ({}, {"w1": "good", "w2": 1, "w3": 1}, "must be numbers"),
    ],
)
def test_bad_weights_are_refused(settings: dict[str, object], skills: object, message: str) -> None:
    with pytest.raises((InputError, OptionError), match=message):
        MajorityVote(**settings).fit(VOTES, skills)


def test_wawa_weighs_by_agreement_with_the_majority() -> None:
    model = Wawa().fit(VOTES)
    assert model.skills_.to_dict() == {"w1": 1.0, "w2": 0.5, "w3": 0.5}
    np.testing.assert_allclose(model.probas_, [[2 / 3, 1 / 3], [3 / 4, 1 / 4], [0, 1]])


def test_zero_based_skill_moves_half_way_with_half_the_rate() -> None:
    model = ZeroBasedSkill(n_iter=1, lr_init=0.5, eps=0.0).fit(VOTES)
    np.testing.assert_allclose(model.skills_, [0.75, 0.5, 0.5])
    model = ZeroBasedSkill(n_iter=2, lr_init=1.0, lr_steps_to_reduce=2, lr_reduce_factor=0.5, eps=0.0).fit(VOTES)
    np.testing.assert_allclose(model.skills_, [1.0, 0.5, 0.5])


@pytest.mark.parametrize("ties", ["first", "last"])
@pytest.mark.parametrize("settings", [{}, {"lr_init": 0.3, "lr_steps_to_reduce": 3}, {"n_iter": 7}, {"eps": 0.0}])
def test_zero_based_skill_ends_where_all_rounds_end(settings: dict[str, float], ties: str) -> None:
    """Rounds stop once weights do not move; a loop that runs all of them finds the same weights, to the bit."""
    crowd = simulate_crowd(120, 15, 4, skill_ranges=((0.3, 0.9), (0.4, 0.8)), random_state=3)
    votes = crowd.votes
    model = ZeroBasedSkill(ties=ties, **settings).fit(votes)
    weights, rate = np.full(15, 0.5 + settings.get("eps", 1e-5)), settings.get("lr_init", 1.0)
    for number in range(1, int(settings.get("n_iter", 100)) + 1):
        rate *= 0.5 if number % settings.get("lr_steps_to_reduce", 20) == 0 else 1.0
        labels = MajorityVote(ties=ties).fit_predict(votes, pd.Series(weights))
        right = votes["label"].to_numpy() == labels[votes["task"]].to_numpy()
        weights = weights + rate * (pd.Series(right).groupby(votes["worker"].to_numpy()).mean().to_numpy() - weights)
    np.testing.assert_array_equal(model.skills_.to_numpy(), weights)


def test_gold_majority_weighs_by_accuracy_and_average() -> None:
    model = GoldMajorityVote().fit(VOTES, pd.Series({"t1": "b", "nowhere": "a"}))
    assert model.skills_.to_dict() == {"w1": 0.0, "w2": 1.0}
    np.testing.assert_allclose(model.probas_.loc["t2"], [1 / 1.5, 0.5 / 1.5])  # w3 has the average weight, 1/2


def test_bayes_by_hand() -> None:
    votes = pd.DataFrame({"task": [1, 2, 3, 1, 2, 3], "worker": list("uuuvvv"), "label": [1, 0, 1, 1, 1, 0]})
    model = BayesVote(pseudo_count=1, pseudo_skill=2 / 3, prior_pseudo_count=1).fit(votes, {1: 1, 2: 0})
    # u: of one true 0, one vote 0; of one true 1, one vote 1. v: of one true 0, one vote 1; of one true 1, one vote 1.
    u = np.array([[5 / 6, 1 / 6], [1 / 6, 5 / 6]])
    v = np.array([[1 / 3, 1 / 6], [2 / 3, 5 / 6]])
    np.testing.assert_allclose(model.errors_, np.vstack([u, v]), rtol=1e-12)
    np.testing.assert_allclose(model.priors_, [0.5, 0.5], rtol=1e-12)
    joint = 0.5 * u[1] * v[0]
    np.testing.assert_allclose(model.probas_.loc[3], joint / joint.sum(), rtol=1e-9)


def test_bayes_by_group_is_bayes_in_each_group() -> None:
    crowd = simulated(n_classes=2, n_tasks=80)
    together = CASES["bayes-by-group"].fit(crowd)
    for group in "ab":
        part = crowd.votes[crowd.votes.task.map(crowd.groups) == group]
        alone = BayesVote().fit(part, {t: y for t, y in crowd.gold.items() if crowd.groups[t] == group})
        np.testing.assert_allclose(together.probas_.loc[alone.probas_.index], alone.probas_, atol=1e-9)


def test_bayes_needs_a_true_label() -> None:
    with pytest.raises(InputError, match="No task of the votes has a true label"):
        BayesVote().fit(VOTES, {"t9": "a"})
    with pytest.raises(InputError, match="1 tasks have more than one true label: 't1'"):
        BayesVote().fit(VOTES, pd.Series(["a", "b"], index=["t1", "t1"]))


def test_workers_without_gold_are_average_in_bayes() -> None:
    model = BayesVote().fit(VOTES, {"t1": "a"})
    errors = model.errors_.to_numpy().reshape(3, 2, 2)
    counts = np.array([[1.0, 0], [1, 0]]) + np.array([[2, 1], [1, 2]]) / 3
    np.testing.assert_allclose(errors[2], counts / counts.sum(axis=0), rtol=1e-12)


@pytest.mark.parametrize("name", ["pseudo_count", "prior_pseudo_count"])
def test_infinite_pseudo_counts_are_refused(name: str) -> None:
    with pytest.raises(OptionError, match=f"^{name} must be a number from 0 to"):
        BayesVote(**{name: np.inf}).fit(VOTES, {"t1": "a"})


def test_a_true_label_that_does_not_fit_the_type_of_the_votes() -> None:
    votes = pd.DataFrame({"task": [1, 1, 2], "worker": [1, 2, 1], "label": np.array([0, 1, 0], dtype=np.int8)})
    assert DawidSkene().fit(votes, {1: 300}).labels_[1] == 300


def test_an_initial_error_that_is_not_used_gives_a_warning() -> None:
    with pytest.warns(UserWarning, match="initial_error is not used"):
        DawidSkene().fit(VOTES, initial_error=pd.DataFrame())
