"""``JuryVote``: laws of a pool of judges, with and without families, runs, known labels and abstentions."""

import os
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from pandas.testing import assert_frame_equal, assert_series_equal

from faircrowd import (
    CalibratedCrowd,
    DawidSkene,
    FairCrowd,
    JuryVote,
    MajorityVote,
    load_model,
    read_votes,
    save_model,
)
from faircrowd.aggregate.calibration.calibration_quality import log_loss
from faircrowd.aggregate.kernels.judge_scores import vote_logs
from faircrowd.errors import DataWarning, InputError, OptionError
from strategies import examples

pytestmark = pytest.mark.filterwarnings("ignore::faircrowd.errors.DataWarning")

NAMES = ["no", "yes"]


def jury(
    families: tuple[int, ...] = (3, 1, 1), n_tasks: int = 400, seed: int = 0, common: float = 0.2, shared: float = 0.7
) -> tuple[pd.DataFrame, pd.Series]:
    """Votes of judges that see the truth with noise, most of it that of their family; and the truth."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 2, n_tasks)
    hard = rng.normal(size=n_tasks)
    parts = []
    for f, size in enumerate(families):
        together = rng.normal(size=n_tasks)
        for j in range(size):
            own = rng.normal(size=n_tasks)
            noise = np.sqrt(common) * hard + np.sqrt(shared) * together + np.sqrt(max(1 - common - shared, 0)) * own
            p = 1 / (1 + np.exp(-3 * ((2 * truth - 1) * 0.8 + noise)))
            parts.append(
                pd.DataFrame(
                    {
                        "task": np.arange(n_tasks),
                        "worker": f"{f}{'abcdef'[j]}",
                        "label": np.take(NAMES, (p > 0.5).astype(int)),
                        "probability": np.maximum(p, 1 - p),
                        "family": f"f{f}",
                    }
                )
            )
    return pd.concat(parts, ignore_index=True), pd.Series(np.take(NAMES, truth), name="truth")


def soft(rows: list[tuple[Any, ...]]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=["task", "worker", "probability_no", "probability_yes"])


def copies(votes: pd.DataFrame, worker: str, n: int) -> pd.DataFrame:
    """The votes with further copies of one judge, in a family with it; each other judge is on its own."""
    own = votes[votes["worker"] == worker]
    votes = pd.concat([votes, *(own.assign(worker=f"{worker} {i}") for i in range(n))], ignore_index=True)
    is_copy = votes["worker"].str.split().str[0] == worker
    return votes.assign(family=np.where(is_copy, "copied", "alone " + votes["worker"]))


def brute_force(votes: pd.DataFrame) -> dict[Any, NDArray[np.float64]]:
    """The pool without known labels as its formula says it, task by task."""
    found = {}
    for task, of_task in votes.groupby("task"):
        total, families = np.zeros(2), of_task.groupby("family")
        for _, of_family in families:
            p = np.where(of_family["label"] == "yes", of_family["probability"], 1 - of_family["probability"])
            p = np.clip(p, 1e-4, 1 - 1e-4)
            total += np.array([np.log(1 - p).mean(), np.log(p).mean()])
        total /= 1 + 0.4 * (families.ngroups - 1)
        found[task] = np.exp(total) / np.exp(total).sum()
    return found


# Without known labels


@given(p=st.lists(st.floats(0.001, 0.999), min_size=1, max_size=20))
@settings(max_examples=examples(30), deadline=None)
def test_a_single_judge_is_believed_as_it_speaks(p: list[float]) -> None:
    votes = soft([(i, "j", 1 - q, q) for i, q in enumerate(p)])
    np.testing.assert_allclose(JuryVote().fit_predict_proba(votes)["yes"], p, atol=1e-10)


def test_the_formula() -> None:
    votes, _ = jury((3, 2, 1), 60)
    votes = votes.sample(frac=0.8, random_state=0)  # not all judges vote on all tasks
    probas = JuryVote().fit_predict_proba(votes)
    for task, expected in brute_force(votes).items():
        np.testing.assert_allclose(probas.loc[task], expected, atol=3e-4)  # the floor is also of what is rescaled


def test_copies_of_a_judge_in_a_family_add_nothing() -> None:
    votes, _ = jury((1, 1, 1))
    before = JuryVote().fit(votes)
    after = JuryVote().fit(copies(votes, "0a", 3))
    assert_frame_equal(after.probas_, before.probas_, check_exact=True)
    assert after.effective_judges_ == before.effective_judges_ == pytest.approx(3 / 1.8)
    labels = votes.drop(columns="probability")  # of which many are tied: ties are not broken by rounding
    ties = [JuryVote().fit_predict(data) for data in (labels, copies(labels, "0a", 10))]
    assert_series_equal(*ties)
    assert MajorityVote().fit_predict(copies(votes, "0a", 3)).ne(MajorityVote().fit_predict(votes)).mean() > 0.05


def test_one_family_is_one_judge() -> None:
    votes, _ = jury((1,))
    same = copies(votes, "0a", 4)
    assert_frame_equal(JuryVote().fit_predict_proba(same), JuryVote().fit_predict_proba(votes), check_exact=True)


def test_runs_of_a_judge_are_one_averaged_vote() -> None:
    rng = np.random.default_rng(0)
    p = rng.uniform(0.05, 0.95, (30, 5))
    runs = soft([(t, "j", 1 - p[t, r], p[t, r]) for t in range(30) for r in range(5)])
    runs = runs.assign(run=np.tile(np.arange(5), 30))
    other = soft([(t, "k", 0.4, 0.6) for t in range(30)])
    one = soft([(t, "j", 1 - p[t].mean(), p[t].mean()) for t in range(30)])
    found = JuryVote().fit_predict_proba(pd.concat([runs, other.assign(run=0)]))
    expected = JuryVote().fit_predict_proba(pd.concat([one, other]))
    np.testing.assert_allclose(found, expected, atol=1e-10)


def test_five_equal_runs_are_one_vote() -> None:
    rows = pd.DataFrame([("a", "j", "yes"), ("a", "k", "no"), ("b", "j", "no")], columns=["task", "worker", "label"])
    runs = pd.concat([rows.assign(run=r) for r in range(5)])
    assert_frame_equal(JuryVote().fit_predict_proba(runs), JuryVote().fit_predict_proba(rows), atol=1e-12)


def test_weights_are_equal_without_known_labels() -> None:
    votes, _ = jury()
    model = JuryVote().fit(votes)
    assert model.weights_.to_dict() == dict.fromkeys(["0a", "0b", "0c", "1a", "2a"], 1.0)
    assert model.calibration_ is None


def test_plain_labels_give_the_majority() -> None:
    votes, _ = jury((1, 1, 1, 1, 1))
    votes = votes[["task", "worker", "label"]]
    assert_series_equal(JuryVote().fit_predict(votes), MajorityVote().fit_predict(votes))


@given(
    p=st.lists(st.floats(0, 1), min_size=2, max_size=5),
    stated=st.floats(0, 1),
)
@settings(max_examples=examples(50), deadline=None)
def test_what_a_vote_says_is_a_probability(p: list[float], stated: float) -> None:
    given_p = np.array([p]) / sum(p) if sum(p) > 1e-9 else np.full((1, len(p)), 1 / len(p))
    found = np.exp(vote_logs(np.array([0]), len(p), given_p, np.array([stated])))
    assert found.sum() == pytest.approx(1)
    assert found.min() > 0.9e-4
    order = np.argsort(given_p[0], kind="stable")
    assert (np.diff(found[0][order]) >= -1e-12).all()  # the order of the classes stays


# With known labels


def test_copies_add_next_to_nothing_with_known_labels() -> None:
    votes, truth = jury((1, 1, 1), 1500, shared=0.5)
    gold = truth[:400]
    rest = truth.index[400:]

    def loss(data: pd.DataFrame, *known: pd.Series) -> float:
        probas = JuryVote().fit_predict_proba(data, *known).loc[rest]
        return log_loss(probas.to_numpy(), (truth[rest] == "yes").to_numpy().astype(np.int32))

    copied = copies(votes, "0a", 5)
    before = loss(votes, gold)
    assert loss(copied, gold) == pytest.approx(before, abs=1e-5)  # with the family named
    alone = copied.drop(columns="family")
    # Six equal judges that are taken as six: known labels undo most of the harm.
    assert loss(alone, gold) - before < 0.35 * (loss(alone) - before)


def test_known_labels_find_out_who_is_right() -> None:
    votes, truth = jury((1, 1, 1), 800)
    rng = np.random.default_rng(1)
    noise = pd.DataFrame({"task": range(800), "worker": "noise", "family": "noise", "probability": 0.99})
    noise = noise.assign(label=rng.choice(NAMES, 800))
    everyone = pd.concat([votes, noise], ignore_index=True)
    model = JuryVote().fit(everyone, truth[:200])
    assert model.weights_["noise"] == model.weights_.min() < 0.5
    right = (model.labels_ == truth)[200:].mean()
    assert right > (JuryVote().fit_predict(everyone) == truth)[200:].mean() + 0.02


@given(seed=st.integers(0, 10_000), n=st.integers(1, 60))
@settings(max_examples=examples(8), deadline=None)
def test_learned_weights_predict_unseen_labels_no_worse_than_equal_ones(seed: int, n: int) -> None:
    votes, truth = jury((2, 1), 80, seed)
    model = JuryVote().fit(votes, truth.sample(n, random_state=seed))
    found = model.calibration_
    assert found is not None
    assert found.log_loss <= found.log_loss_before
    assert found.n_gold == n
    if found.log_loss == found.log_loss_before:
        assert set(model.weights_) == {1.0}


def test_labels_that_teach_nothing_are_reported() -> None:
    votes, truth = jury(n_tasks=200)
    gold = truth[:60].sample(frac=1, random_state=0).set_axis(truth.index[:60])
    with pytest.warns(DataWarning, match="no better than chance"):
        JuryVote().fit(votes, gold)
    votes, truth = jury((1,), 200)  # of one label nothing is learned that could be checked
    with pytest.warns(DataWarning, match="no better than equal weights, which are kept"):
        model = JuryVote().fit(votes, truth[:1])
    assert model.weights_.to_dict() == {"0a": 1.0}


def test_a_judge_nobody_checked_has_the_weight_of_its_family() -> None:
    votes, truth = jury((3, 1, 1), 600)
    some = votes[~((votes["worker"] == "0c") & (votes["task"] < 300))]
    model = JuryVote().fit(some, truth[:300])
    weights = model.weights_
    if set(weights) != {1.0}:
        near = np.log(weights["0c"]) - np.log(weights[["0a", "0b"]]).mean()
        assert abs(near) < abs(np.log(weights["0c"]) - np.log(weights["2a"])) + 0.1


def test_an_abstention_may_be_informative() -> None:
    rng = np.random.default_rng(0)
    votes, truth = jury((1, 1, 1), 900)
    silent = (votes["worker"] == "0a") & (truth[votes["task"]] == "yes").to_numpy() & (rng.random(len(votes)) < 0.7)
    votes = votes.assign(abstain=silent)
    gold = truth[:300]
    plain, knowing = JuryVote().fit(votes, gold), JuryVote(abstain="informative").fit(votes, gold)
    accuracy = [(model.labels_ == truth)[300:].mean() for model in (plain, knowing)]
    assert accuracy[1] > accuracy[0] + 0.02
    assert_series_equal(knowing.predict(votes), knowing.labels_)
    with pytest.raises(OptionError, match="abstain='informative' is learned from known labels"):
        JuryVote(abstain="informative").fit(votes)
    with pytest.warns(DataWarning, match="No judge abstains from a task whose label is known"):
        JuryVote(abstain="informative").fit(votes[~silent], gold)


@pytest.mark.parametrize("are_labels", [False, True], ids=["probabilities", "labels"])
@pytest.mark.parametrize("abstain", ["leave-out", "informative"])
def test_names_and_the_order_of_rows_do_not_matter(abstain: str, are_labels: bool) -> None:
    votes, truth = jury((3, 2, 1), 300)
    if are_labels:  # of which many tasks have the same
        votes = votes.drop(columns="probability")
    votes = votes.assign(abstain=(np.arange(len(votes)) % 13) == 0)
    gold = truth[::4]
    expected = JuryVote(abstain=abstain).fit(votes, gold)
    rng = np.random.default_rng(5)
    tasks = dict(zip(range(300), rng.permutation(300).tolist(), strict=True))
    workers = dict(zip(votes["worker"].unique(), rng.permutation([f"n{i}" for i in range(6)]), strict=True))
    families = {"f0": "z", "f1": "y", "f2": "x"}
    renamed = votes.assign(
        task=votes["task"].map(tasks), worker=votes["worker"].map(workers), family=votes["family"].map(families)
    ).sample(frac=1, random_state=1)
    found = JuryVote(abstain=abstain).fit(renamed, gold.rename(index=tasks))
    np.testing.assert_array_equal(found.probas_.loc[list(tasks.values())], expected.probas_)
    assert found.weights_.to_dict() == {workers[name]: w for name, w in expected.weights_.items()}
    one, other = found.calibration_, expected.calibration_
    assert one is not None
    assert other is not None
    assert one.log_loss == pytest.approx(other.log_loss, abs=1e-12)
    classes = {"no": "z", "yes": "a"}  # in the other order
    again = JuryVote(abstain=abstain, ties="last").fit(
        votes.assign(label=votes["label"].map(classes)), gold.map(classes)
    )
    np.testing.assert_allclose(again.probas_[["z", "a"]], expected.probas_, atol=1e-5)


def test_hash_seeds_do_not_matter() -> None:
    """Another process with other hashes gives the bits of this one."""
    code = (
        "import warnings; warnings.simplefilter('ignore')\n"
        "from test_jury import jury, JuryVote\n"
        "votes, truth = jury((3, 1, 1), 100)\n"
        "print(JuryVote().fit(votes, truth[::3]).probas_.to_numpy().tobytes().hex())"
    )
    other = "0" if os.environ.get("PYTHONHASHSEED") == "7" else "7"
    path = os.pathsep.join(
        [str(Path(__file__).parent), str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
    )
    there = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONHASHSEED": other, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    votes, truth = jury((3, 1, 1), 100)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        here = JuryVote().fit(votes, truth[::3]).probas_.to_numpy().tobytes().hex()
    assert there == f"{here}\n"


# Prediction, files, and others


def test_new_judges_and_families() -> None:
    votes, truth = jury((2, 1, 1), 400)
    model = JuryVote().fit(votes, truth[:200])
    new = votes[votes["task"] >= 300]
    assert_frame_equal(model.predict_proba(new), model.probas_.loc[300:])
    without = new.drop(columns="family")  # judges of fit keep their family
    assert_frame_equal(model.predict_proba(without), model.probas_.loc[300:])
    # A new judge of a known family that says what another says adds nothing; one of a new family does.
    twin = new[new["worker"] == "1a"].assign(worker="new")
    same = model.predict_proba(pd.concat([new, twin]))
    np.testing.assert_allclose(same, model.probas_.loc[300:], atol=1e-9)
    other = model.predict_proba(pd.concat([new, twin.assign(family="g")]))
    assert np.abs(other.to_numpy() - same.to_numpy()).max() > 0.01


@pytest.mark.parametrize("abstain", ["leave-out", "informative"])
def test_a_saved_model_predicts_the_same(tmp_path: Path, abstain: str) -> None:
    votes, truth = jury((2, 2, 1), 300)
    votes = votes.assign(abstain=(np.arange(len(votes)) % 7) == 0)
    model = JuryVote(abstain=abstain).fit(votes, truth[:150])
    save_model(model, tmp_path)
    assert_frame_equal(load_model(tmp_path).predict_proba(votes), model.probas_)
    for name in ("weights", "family"):
        with np.load(tmp_path / "model.npz") as arrays:
            assert name in arrays


def test_fair_labels_of_a_jury() -> None:
    votes, truth = jury((3, 1, 1), 600)
    groups = pd.Series(np.where((truth == "yes") ^ (np.arange(600) % 5 == 0), "a", "b"))
    fair = FairCrowd(JuryVote(), epsilon=0.1).fit(votes, truth[:100], sensitive_features=groups)
    assert fair.certificate_.gap <= 0.1 < fair.certificate_.gap_before
    assert_frame_equal(fair.probas_, JuryVote().fit(votes, truth[:100]).probas_)
    assert len(fair.predict(votes[votes["task"] < 50], sensitive_features=groups)) == 50


def test_a_calibrated_jury_has_an_estimated_accuracy() -> None:
    votes, truth = jury((3, 1, 1), 800)
    honest = CalibratedCrowd(JuryVote()).fit(votes, truth.sample(150, random_state=0))
    assert honest.accuracy_.low < (honest.labels_ == truth).mean() < honest.accuracy_.high
    assert set(honest.estimators_[0].weights_) != {1.0} or honest.estimators_[0].calibration_ is not None


@pytest.mark.parametrize("model", [MajorityVote(), DawidSkene(), CalibratedCrowd()])
def test_others_say_that_they_do_not_use_probabilities(model: Any) -> None:
    votes, truth = jury(n_tasks=100)
    gold = (truth[:50],) if isinstance(model, CalibratedCrowd) else ()
    with pytest.warns(DataWarning) as caught:
        labels = model.fit_predict(votes, *gold)
    said = [str(warning.message) for warning in caught if "as JuryVote does" in str(warning.message)]
    assert len(said) == 1
    assert said[0].startswith(f"{type(model).__name__} counts one label per judge and task")
    assert "does not use the probabilities and families of the judges" in said[0]
    plain = votes[["task", "worker", "label"]]
    assert_series_equal(labels, type(model)().fit_predict(plain, *gold))  # nor does it change anything


def test_a_crowd_is_not_a_jury() -> None:
    votes = pd.DataFrame({"task": np.arange(1001) % 10, "worker": np.arange(1001), "label": np.arange(1001) % 2})
    assert len(JuryVote().fit_predict(votes)) == 10
    with pytest.raises(InputError, match=r"for up to 1,000 judges, and there are 1,001 workers; .* CalibratedCrowd"):
        JuryVote().fit(votes, {0: 1})


def test_votes_that_a_judge_repeats_count_once() -> None:
    votes, truth = jury((1, 1), 60)
    plain = votes[["task", "worker", "label"]]
    twice = read_votes(pd.concat([plain, plain]), on_duplicate="all")
    assert twice.n_votes == 240
    one, two = JuryVote().fit(plain, truth[:30]), JuryVote().fit(twice, truth[:30])
    assert_series_equal(one.weights_, two.weights_)
    assert_frame_equal(one.probas_, two.probas_)


def test_bad_arguments() -> None:
    votes, truth = jury(n_tasks=20)
    with pytest.raises(OptionError, match="abstain='ignore' is not known"):
        JuryVote(abstain="ignore").fit(votes)
    with pytest.raises(OptionError, match="n_folds must be a whole number of at least 2"):
        JuryVote(n_folds=1).fit(votes)
    with pytest.raises(InputError, match="No task of the votes has a known label"):
        JuryVote().fit(votes, {"elsewhere": "yes"})
    assert read_votes(votes).judges is not None
    assert truth.size == 20
