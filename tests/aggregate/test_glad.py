"""GLAD: gradients compared with finite differences, and the abilities of a crowd simulated from the model."""

import numpy as np
import pandas as pd
import pytest
from pandas.testing import assert_frame_equal

from crowds import simulated
from faircrowd import GLAD, read_votes
from faircrowd.aggregate.kernels.ability_ease import ability_and_ease, glad_scores
from faircrowd.aggregate.kernels.class_count import classes_token
from faircrowd.engines import LocalEngine
from faircrowd.errors import InputError
from faircrowd.exact.sums import read_log_likelihood

VOTES = read_votes(simulated(n_tasks=20, seed=1).votes)
RNG = np.random.default_rng(0)
ALPHAS, BETAS = RNG.normal(1, 1, VOTES.n_workers), RNG.normal(0, 0.5, VOTES.n_tasks)
POSTERIOR = RNG.dirichlet(np.ones(3), VOTES.n_tasks)


def expected_log_likelihood(alphas: np.ndarray, betas: np.ndarray) -> float:
    task = np.repeat(np.arange(VOTES.n_tasks), VOTES.votes_per_task)
    x = alphas[VOTES.worker] * np.exp(betas[task])
    right = POSTERIOR[task, VOTES.label]
    return float((right * -np.log1p(np.exp(-x)) + (1 - right) * -np.log1p(np.exp(x))).sum())


def test_value_and_gradients() -> None:
    (block,) = LocalEngine(VOTES).blocks
    limbs, *units = ability_and_ease(block, POSTERIOR, ALPHAS, BETAS, 2.0**50, 2.0**51)
    value, by_worker, by_task = read_log_likelihood(limbs), units[0] / 2.0**50, units[1] / 2.0**51
    assert value == pytest.approx(expected_log_likelihood(ALPHAS, BETAS), rel=1e-12)
    step = 1e-6
    for i in range(VOTES.n_workers):
        d = step * np.eye(VOTES.n_workers)[i]
        slope = (expected_log_likelihood(ALPHAS + d, BETAS) - expected_log_likelihood(ALPHAS - d, BETAS)) / (2 * step)
        assert by_worker[i] == pytest.approx(slope, abs=1e-6)
    for i in range(VOTES.n_tasks):
        d = step * np.eye(VOTES.n_tasks)[i]
        slope = (expected_log_likelihood(ALPHAS, BETAS + d) - expected_log_likelihood(ALPHAS, BETAS - d)) / (2 * step)
        assert by_task[i] == pytest.approx(slope, abs=1e-6)


def test_scores_are_log_joint_probabilities() -> None:
    (block,) = LocalEngine(VOTES).blocks
    scores = glad_scores(block, classes_token(3), ALPHAS, BETAS, np.log([0.2, 0.3, 0.5]), 2.0**-45)
    for task in range(VOTES.n_tasks):
        joint = np.array([0.2, 0.3, 0.5])
        for i in range(VOTES.offsets[task], VOTES.offsets[task + 1]):
            right = 1 / (1 + np.exp(-ALPHAS[VOTES.worker[i]] * np.exp(BETAS[task])))
            joint *= np.where(np.arange(3) == VOTES.label[i], right, (1 - right) / 2)
        np.testing.assert_allclose(scores[task], np.log(joint), atol=1e-11)


def test_abilities_are_found() -> None:
    rng = np.random.default_rng(1)
    n_tasks, n_workers = 3000, 12
    alphas, betas, truth = np.linspace(-0.5, 2.5, n_workers), rng.normal(0.3, 0.5, n_tasks), rng.integers(0, 2, n_tasks)
    right = rng.random((n_tasks, n_workers)) < 1 / (1 + np.exp(-alphas * np.exp(betas)[:, None]))
    votes = pd.DataFrame(
        {
            "task": np.repeat(np.arange(n_tasks), n_workers),
            "worker": np.tile(np.arange(n_workers), n_tasks),
            "label": np.where(right, truth[:, None], 1 - truth[:, None]).ravel(),
        }
    )
    model = GLAD().fit(votes)
    assert np.corrcoef(model.alphas_, alphas)[0, 1] > 0.99
    assert np.corrcoef(model.betas_, betas)[0, 1] > 0.5
    assert (model.labels_ == truth).mean() > 0.9
    assert (model.alphas_.name, model.betas_.name, model.priors_.name) == ("alpha", "beta", "prior")


def test_priors_are_used() -> None:
    votes = pd.DataFrame({"task": ["a", "a"], "worker": ["u", "v"], "label": [0, 1]})
    assert GLAD(labels_priors={0: 0.1, 1: 0.9}).fit_predict(votes)["a"] == 1
    assert GLAD(alphas_priors_mean={"u": 0.0, "v": 3.0}).fit_predict(votes)["a"] == 1
    assert GLAD(betas_priors_mean={"a": 4.0}).fit(votes).betas_["a"] > 2
    with pytest.raises(InputError, match="labels_priors must give every class a share"):
        GLAD(labels_priors={0: 0.1}).fit(votes)


def test_priors_may_be_frames() -> None:
    votes = pd.DataFrame({"task": ["a", "a"], "worker": ["u", "v"], "label": [0, 1]})
    given = {
        "labels_priors": pd.DataFrame({"label": [0, 1], "share": [0.1, 0.9]}),
        "alphas_priors_mean": pd.DataFrame({"worker": ["u", "v"], "mean": [0.5, 2.0]}),
        "betas_priors_mean": pd.DataFrame({"task": ["a"], "mean": [2.0]}),
    }
    by_key = {name: dict(frame.itertuples(index=False)) for name, frame in given.items()}
    assert_frame_equal(GLAD(**given).fit_predict_proba(votes), GLAD(**by_key).fit_predict_proba(votes))


def test_new_tasks_are_as_easy_as_their_prior_mean() -> None:
    crowd = simulated(n_classes=2).votes
    new = pd.DataFrame({"task": ["easy", "plain"], "worker": [0, 0], "label": [1, 1]})
    probas = GLAD(betas_priors_mean={"easy": 3.0}).fit(crowd).predict_proba(new)
    np.testing.assert_allclose(probas.loc["plain"], GLAD().fit(crowd).predict_proba(new).loc["plain"], rtol=1e-9)
    assert abs(probas.loc["easy", 1] - 0.5) > abs(probas.loc["plain", 1] - 0.5) + 0.01


@pytest.mark.parametrize("name", ["labels_priors", "alphas_priors_mean", "betas_priors_mean"])
def test_infinite_priors_are_refused(name: str) -> None:
    votes = pd.DataFrame({"task": [0, 1], "worker": [0, 1], "label": [0, 1]})
    with pytest.raises(InputError, match=f"{name} must .*finite"):
        GLAD(**{name: {0: np.inf, 1: 1.0}}).fit(votes)


def test_rounds_are_shown_unless_silent(capsys: pytest.CaptureFixture[str]) -> None:
    GLAD(silent=False).fit(simulated().votes)
    assert "round 2 of at most 100" in capsys.readouterr().err
