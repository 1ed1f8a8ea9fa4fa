"""Aggregators calibrated on known labels."""

import json
import warnings
from copy import copy
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from pandas.testing import assert_frame_equal, assert_series_equal

import faircrowd as fc
from faircrowd.aggregate.calibration.log_pool import evidence, fit_calibrator, member_logs
from faircrowd.errors import DataWarning, InputError, NotFittedError, OptionError

CROWD = fc.simulate_crowd(300, 25, 5, skill_ranges=((0.4, 0.9), (0.5, 0.8)), random_state=2)
VOTES, TRUTH, GROUPS = CROWD.votes, CROWD.truth, CROWD.sensitive_features
GOLD = TRUTH.sample(80, random_state=0)
LEARNERS = [fc.BayesVote(), fc.GoldMajorityVote()]


def fitted(*estimators: Any, gold: Any = GOLD, votes: Any = VOTES, **settings: Any) -> fc.CalibratedCrowd:
    groups = {"sensitive_features": GROUPS} if settings.get("by_group") else {}
    return fc.CalibratedCrowd(list(estimators) or None, **settings).fit(votes, gold, **groups)


def some_votes() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    shuffled = VOTES.sample(frac=1, random_state=0)
    wanted = shuffled["task"].map(dict(enumerate(rng.integers(1, 6, 300))))
    return shuffled[shuffled.groupby("task").cumcount() < wanted]


class Derived(fc.BayesVote):
    """An aggregator that is not registered learns from what its base learns from."""


# What is learned


@pytest.mark.parametrize("model", [fc.MajorityVote(), fc.DawidSkene(), fc.OneCoinDawidSkene(pooling=3)])
def test_a_single_model_keeps_the_order_of_tasks(model: Any) -> None:
    votes = some_votes()
    assert votes.groupby("task").size().nunique() == 5
    before = copy(model).fit(votes).log_probas_
    after = fc.CalibratedCrowd(model).fit(votes, GOLD).log_probas_
    odds, calibrated = (frame[1].to_numpy() - frame[0].to_numpy() for frame in (before, after))
    order = np.argsort(odds, kind="stable")
    assert (np.diff(calibrated[order]) >= -1e-12).all()
    assert np.unique(calibrated.round(9)).size > 5


def test_a_single_model_is_one_temperature_and_shifts() -> None:
    plain, calibrated = fc.DawidSkene().fit(VOTES), fitted(fc.DawidSkene())
    logs = plain.posterior_.in_memory().log_values
    found = calibrated.calibration_
    assert found.method == "temperature and class shifts"
    scores = found.weights["DawidSkene"] * logs + [found.shifts["0"], found.shifts["1"]]
    p = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(calibrated.probas_.to_numpy(), p, atol=1e-12)
    assert found.weights["DawidSkene"] < 1  # Dawid-Skene is too sure of itself


def test_weights_are_those_of_the_known_tasks() -> None:
    votes = some_votes()
    members = [fc.ZeroBasedSkill().fit(votes), fc.DawidSkene(pooling="learned").fit(votes)]
    task = GOLD.sort_index().index.to_numpy()
    counts = votes.groupby("task").size().to_numpy()[task]
    logs = [
        member_logs(member.posterior_.in_memory().scores[task], member.posterior_.is_log, counts) * evidence(counts)
        for member in members
    ]
    expected = fit_calibrator(np.stack(logs), GOLD.sort_index().to_numpy().astype(np.int32))
    model = fitted(votes=votes)
    found = model.calibration_
    assert list(found.weights) == ["ZeroBasedSkill", "DawidSkene"]
    np.testing.assert_array_equal(list(found.weights.values()), expected.weights)
    np.testing.assert_array_equal(list(found.shifts.values()), expected.shifts[0])
    assert found.n_gold == 80
    assert json.loads(json.dumps(found.to_dict(), allow_nan=False))["weights"] == found.weights


def test_a_pool_by_hand_where_tasks_have_different_numbers_of_votes() -> None:
    """p(k) is proportional to exp(b_k + e(v) (w_1 log p_1(k) + w_2 log p_2(k))), where e(v) = 1 / (1 + 0.4 (v - 1))."""
    votes = some_votes()
    members = [fc.DawidSkene(pooling=4), fc.OneCoinDawidSkene()]
    model = fitted(*members, votes=votes)
    found = model.calibration_
    counts = votes.groupby("task").size().reindex(model.probas_.index).to_numpy()
    assert set(counts) == {1, 2, 3, 4, 5}
    scores = np.tile([found.shifts["0"], found.shifts["1"]], (300, 1))
    for member, weight in zip(members, found.weights.values(), strict=True):
        logs = np.maximum(copy(member).fit(votes).log_probas_.to_numpy(), -700)
        scores += weight * logs / (1 + 0.4 * (counts - 1))[:, None]
    p = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(model.probas_.to_numpy(), p, atol=1e-12)


def test_what_was_believed_before_is_the_plain_pool() -> None:
    """How much votes count is part of the calibration, so it is not in the numbers before it."""
    votes = some_votes()
    before = fitted(fc.DawidSkene(), votes=votes).calibration_.log_loss_before
    p = fc.DawidSkene().fit(votes).probas_.loc[GOLD.index].to_numpy()
    assert before == pytest.approx(-np.log(p[np.arange(80), GOLD.to_numpy()]).mean(), rel=1e-9)
    two = fitted(fc.DawidSkene(), fc.DawidSkene(), votes=votes).calibration_.log_loss_before
    assert two == pytest.approx(before, rel=1e-9)


def test_shifts_by_group_are_named() -> None:
    found = fitted(by_group=True).calibration_
    assert set(found.shifts) == {"0", "1"}
    assert all(set(row) == {"0", "1"} for row in found.shifts.values())
    assert found.shifts["0"] != found.shifts["1"]


def test_the_same_class_twice_has_two_names() -> None:
    found = fitted(fc.DawidSkene(), fc.MajorityVote(), fc.DawidSkene(pooling=5)).calibration_
    assert list(found.weights) == ["DawidSkene 1", "MajorityVote", "DawidSkene 3"]
    alike = fitted(fc.Wawa(), fc.Wawa()).calibration_.weights
    assert alike["Wawa 1"] == alike["Wawa 2"]


@pytest.mark.parametrize("by_group", [False, True])
def test_known_labels_of_a_fold_do_not_touch_what_it_is_scored_by(by_group: bool) -> None:
    """Another label of one task changes what the other folds learn, and nothing of what its own fold is told."""
    groups = {"sensitive_features": GROUPS} if by_group else {}
    here = fc.CalibratedCrowd(LEARNERS).fit(VOTES, GOLD, **groups)._known
    for task in GOLD.index[:6]:
        other = GOLD.where(GOLD.index != task, 1 - GOLD)
        there = fc.CalibratedCrowd(LEARNERS).fit(VOTES, other, **groups)._known
        np.testing.assert_array_equal(here.fold, there.fold)
        changed = (here.logs != there.logs).any(axis=(0, 2))
        own = here.fold == here.fold[here.task == task]
        assert not changed[own].any()
        assert changed[~own].any()


@pytest.mark.filterwarnings("ignore:The votes find only")  # they are noise
def test_aggregators_that_learn_from_known_labels_are_not_taken_at_their_own_word() -> None:
    """On the labels that it has seen, BayesVote is better than it is."""
    rng = np.random.default_rng(0)
    votes = pd.DataFrame({"task": np.repeat(np.arange(200), 3), "worker": np.arange(600) % 200})
    votes["label"] = rng.integers(0, 2, 600)  # nobody knows anything
    truth = pd.Series(rng.integers(0, 2, 200))
    gold = truth[::2]
    right = (fc.BayesVote().fit(votes, gold).labels_ == truth).to_numpy()
    assert right[::2].mean() > 0.65
    assert right[1::2].mean() < 0.6
    model = fc.CalibratedCrowd(fc.BayesVote()).fit(votes, gold)
    assert model.calibration_.log_loss > 0.65
    assert model.accuracy_.low <= (model.labels_ == truth).mean() <= model.accuracy_.high
    assert model.probas_.to_numpy().max() < 0.9

    again = fc.CalibratedCrowd(Derived()).fit(votes, gold)
    np.testing.assert_array_equal(again.probas_.to_numpy(), model.probas_.to_numpy())


@pytest.mark.parametrize("estimators", [[], [fc.MajorityVote()], [*LEARNERS, fc.MajorityVote()], [fc.BayesVote()]])
def test_names_and_order_do_not_matter(estimators: list[Any]) -> None:
    """To the last bit; also the folds, and so the estimate of accuracy."""
    model = fitted(*estimators)
    rng = np.random.default_rng(5)
    tasks, workers = ({old: f"n{new}" for old, new in enumerate(rng.permutation(size))} for size in (300, 25))
    votes = VOTES.assign(task=VOTES["task"].map(tasks), worker=VOTES["worker"].map(workers)).sample(
        frac=1, random_state=1
    )
    renamed = fitted(*estimators, votes=votes, gold=GOLD.rename(index=tasks).sample(frac=1, random_state=2))
    assert_frame_equal(
        renamed.probas_.loc[[tasks[task] for task in range(300)]].reset_index(drop=True),
        model.probas_.reset_index(drop=True),
        check_exact=True,
    )
    assert renamed.accuracy_ == model.accuracy_
    assert renamed.calibration_.to_dict() == model.calibration_.to_dict()


@pytest.mark.parametrize("estimators", [[], [fc.BayesVote(ties="last"), fc.MajorityVote(ties="last")]])
def test_names_of_classes_do_not_matter(estimators: list[Any]) -> None:
    model = fitted(*estimators)
    swapped = fitted(
        *estimators,
        votes=VOTES.assign(label=VOTES["label"].map({0: "z", 1: "a"})),
        gold=GOLD.map({0: "z", 1: "a"}),
        ties="last",
    )
    np.testing.assert_allclose(swapped.probas_[["z", "a"]].to_numpy(), model.probas_.to_numpy(), atol=1e-9)
    assert swapped.accuracy_.to_dict() == pytest.approx(model.accuracy_.to_dict(), abs=1e-6)


def test_all_tasks_known_is_no_estimate() -> None:
    for estimators in ([], LEARNERS):
        model = fitted(*estimators, gold=TRUTH)
        real = float((model.labels_ == TRUTH).mean())
        assert (model.accuracy_.estimate, model.accuracy_.low, model.accuracy_.high) == (real, real, real)


def test_the_accuracy_is_that_of_the_labels_before_fairness() -> None:
    model = fitted()
    real = float((model.labels_ == TRUTH).mean())
    assert model.accuracy_.low <= real <= model.accuracy_.high
    assert model.accuracy_.n_gold == 80
    wide = fitted(confidence=0.99).accuracy_
    assert wide.estimate == model.accuracy_.estimate
    assert wide.low < model.accuracy_.low < model.accuracy_.high < wide.high


def test_estimates_have_no_bias_and_intervals_contain_the_accuracy() -> None:
    found = []
    for seed in range(60):
        crowd = fc.simulate_crowd(150, 15, 3, skill_ranges=((0.4, 0.9), (0.5, 0.8)), random_state=seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = fc.CalibratedCrowd(fc.MajorityVote()).fit(crowd.votes, crowd.truth.sample(40, random_state=seed))
        found.append((model.accuracy_, float((model.labels_ == crowd.truth).mean())))
    assert np.mean([estimate.low <= real <= estimate.high for estimate, real in found]) >= 0.88
    errors = np.array([estimate.estimate - real for estimate, real in found])
    assert abs(errors.mean()) < 3 * errors.std() / np.sqrt(len(errors))


# What is done with it


@pytest.mark.parametrize("estimators", [[], [fc.DawidSkene()], LEARNERS, [fc.GLAD(), fc.ZeroBasedSkill()]])
@pytest.mark.parametrize("by_group", [False, True])
def test_predict_on_the_training_votes(estimators: list[Any], by_group: bool) -> None:
    model = fitted(*estimators, by_group=by_group)
    groups = {"sensitive_features": GROUPS} if by_group else {}
    expected, labels, accuracy = model.probas_, model.labels_, model.accuracy_
    assert_frame_equal(model.predict_proba(VOTES, **groups), expected, atol=1e-9, rtol=0)
    assert_series_equal(model.predict(VOTES, **groups), labels)
    # Members replace their labels when they predict; the calibrated ones stay.
    new = fc.simulate_crowd(20, 25, random_state=9)
    model.predict(new.votes, **({"sensitive_features": new.sensitive_features} if by_group else {}))
    assert_frame_equal(model.probas_, expected, check_exact=True)
    assert model.accuracy_ == accuracy


def test_new_workers_and_new_groups() -> None:
    model = fitted(by_group=True)
    new = pd.DataFrame({"task": ["x", "x", "y"], "worker": [-1, -2, -3], "label": [1, 1, 0]})
    labels = model.predict(new, sensitive_features={"x": 0, "y": 1})
    assert labels["x"] == 1
    with pytest.raises(InputError, match=r"groups that were not seen in fit: \[7\]"):
        model.predict(new, sensitive_features={"x": 0, "y": 7})
    with pytest.raises(InputError, match="learned by group"):
        model.predict(new)
    without = fitted()  # groups of no interest are not asked for
    assert without.predict(new)["x"] == 1


def test_votes_on_disk_give_the_same_bits(tmp_path: Path) -> None:
    pytest.importorskip("duckdb")
    from faircrowd.engines import read_votes_on_disk

    VOTES.assign(group=VOTES["task"].map(GROUPS)).sample(frac=1, random_state=0).to_csv(tmp_path / "v.csv", index=False)
    memory, disk = (
        fc.CalibratedCrowd(by_group=True).fit(read(tmp_path / "v.csv", sensitive_features="group"), GOLD)
        for read in (fc.read_votes, read_votes_on_disk)
    )
    assert_frame_equal(disk.probas_, memory.probas_, check_exact=True)
    assert disk.accuracy_ == memory.accuracy_
    assert disk.calibration_.to_dict() == memory.calibration_.to_dict()


def test_saved_and_loaded(tmp_path: Path) -> None:
    for number, estimators in enumerate([[], [fc.DawidSkene(pooling=2)], LEARNERS]):
        model = fitted(*estimators, by_group=True)
        fc.save_model(model, tmp_path / str(number))
        loaded = fc.load_model(tmp_path / str(number))
        assert_frame_equal(
            loaded.predict_proba(VOTES, sensitive_features=GROUPS),
            model.predict_proba(VOTES, sensitive_features=GROUPS),
            check_exact=True,
            check_column_type=False,
        )
        with pytest.raises(NotFittedError, match="read from a file"):
            loaded.accuracy_  # noqa: B018
        with pytest.raises(NotFittedError, match="read from a file"):
            loaded.calibration_  # noqa: B018


def test_frames_of_polars() -> None:
    pl = pytest.importorskip("polars")
    model = fc.CalibratedCrowd().fit(pl.DataFrame(VOTES.to_dict("list")), GOLD)
    assert isinstance(model.labels_, pl.DataFrame)
    np.testing.assert_array_equal(model.probas_.drop("task").to_numpy(), fitted().probas_.to_numpy())
    frame = pl.DataFrame({"task": GOLD.index.to_list(), "label": GOLD.to_list()})
    assert fc.CalibratedCrowd().fit(VOTES, frame).accuracy_ == model.accuracy_


# The object


def test_parameters() -> None:
    model = fc.CalibratedCrowd(fc.DawidSkene(n_iter=5, tol=-1), n_folds=3)
    assert model.get_params()["estimator__n_iter"] == 5
    assert model.set_params(estimator__n_iter=7, confidence=0.9).estimator.n_iter == 7
    assert (model.confidence, model.n_folds) == (0.9, 3)
    with pytest.raises(OptionError, match="Invalid parameter 'n_itre'"):
        model.set_params(estimator__n_itre=7)
    with pytest.raises(OptionError, match="estimator is None"):
        fc.CalibratedCrowd().set_params(estimator__n_iter=7)
    twin = fc.CalibratedCrowd(**model.get_params(deep=False))
    assert_frame_equal(twin.fit(VOTES, GOLD).probas_, model.fit(VOTES, GOLD).probas_, check_exact=True)


def test_the_estimator_given_is_not_fitted() -> None:
    given = fc.DawidSkene()
    model = fc.CalibratedCrowd(given).fit(VOTES, GOLD)
    assert not hasattr(given, "labels_")
    assert model.estimators_[0].converged_
    assert model.estimator is given


def test_a_copy_is_independent() -> None:
    model = fitted()
    labels, accuracy, twin = model.labels_, model.accuracy_, copy(model)
    twin.fit(VOTES, TRUTH.sample(100, random_state=8))
    assert twin.accuracy_.n_gold == 100
    assert model.accuracy_ == accuracy
    assert model.calibration_.n_gold == 80
    assert_series_equal(model.labels_, labels)


def test_a_refit_forgets() -> None:
    model = fitted(by_group=True)
    assert model.accuracy_.n_gold == 80
    model.set_params(by_group=False, confidence=0.8).fit(VOTES, GOLD[:40])
    assert (model.accuracy_.n_gold, model.accuracy_.confidence) == (40, 0.8)
    assert model.calibration_.shifts.keys() == {"0", "1"}
    assert isinstance(model.calibration_.shifts["0"], float)
    with pytest.raises(InputError):
        model.fit(VOTES, {})
    for name in ("accuracy_", "calibration_", "labels_"):
        with pytest.raises(NotFittedError, match="not fitted"):
            getattr(model, name)
    with pytest.raises(NotFittedError, match="not fitted"):
        model.predict(VOTES)


def test_rounds_are_reported() -> None:
    seen = list[int]()
    fc.CalibratedCrowd([fc.DawidSkene(n_iter=3, tol=-1), fc.Wawa(), fc.GLAD(n_iter=2, tol=-1)]).fit(
        VOTES, GOLD, on_round=lambda number, *_: seen.append(number)
    )
    assert seen == [1, 2, 3, 1, 2]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"estimator": fc.DawidSkene}, r"such as DawidSkene\(\), or a list of them; got <class .*DawidSkene'>"),
        ({"estimator": [fc.DawidSkene(), fc.Wawa]}, "got <class .*Wawa'>"),
        ({"estimator": []}, "got an empty list"),
        ({"estimator": "dawid-skene"}, "got 'dawid-skene'"),
        ({"estimator": fc.FairCrowd(fc.Wawa())}, "got FairCrowd"),
        ({"estimator": fc.CalibratedCrowd()}, "is calibrated already"),
        ({"estimator": [fc.Wawa(), fc.CalibratedCrowd()]}, "is calibrated already"),
        ({"n_folds": 1}, "n_folds must be a whole number of at least 2"),
        ({"n_folds": 2.5}, "n_folds must be a whole number"),
        ({"confidence": 1}, "confidence must be below 1"),
        ({"confidence": 0.2}, "confidence must be a number from 0.5 to 1"),
        ({"by_group": "yes"}, "by_group='yes' is not known"),
        ({"ties": "middle"}, "ties='middle' is not known"),
    ],
)
def test_wrong_parameters_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        fc.CalibratedCrowd(**settings).fit(VOTES, GOLD)


# Known labels of all kinds


SAME = {
    "a dict": GOLD.to_dict(),
    "a frame": pd.DataFrame({"task": GOLD.index, "label": GOLD.to_numpy()}),
    "a frame with other columns": pd.DataFrame({"note": "x", "task": GOLD.index, "truth": GOLD.to_numpy(), "by": "me"}),
    "missing values": TRUTH.astype(float).where(TRUTH.index.isin(GOLD.index)),
    "repeated": pd.concat([GOLD, GOLD[:5]]),
    "text": GOLD.astype(str),
}


@pytest.mark.parametrize("kind", SAME)
def test_kinds_of_known_labels(kind: str) -> None:
    model = fitted(gold=SAME[kind])
    assert model.accuracy_ == fitted().accuracy_
    assert list(model.probas_.columns) == [0, 1]


@pytest.mark.parametrize(
    ("gold", "message"),
    [
        (None, r"learns from known labels; give true_labels=\.\.\."),
        ({}, "No task of the votes has a known label"),
        ({"elsewhere": 1}, "No task of the votes has a known label"),
        ({0: None, 1: float("nan")}, "No task of the votes has a known label"),
        (pd.concat([GOLD, 1 - GOLD[:2]]), "2 tasks have more than one true label"),
        (TRUTH.to_list(), "go by task: a pandas Series indexed by task, a dict, or a frame; not list"),
        (TRUTH.to_numpy(), "not ndarray"),
        ("truth", "'truth' were named, but there is no table"),
        (pd.DataFrame({"task": [1], "a": [0], "b": [1]}), "True labels must be one column; got several"),
    ],
    ids=["none", "empty", "no votes", "missing", "two labels", "list", "array", "name", "two columns"],
)
def test_known_labels_that_cannot_be_used_are_refused(gold: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        fitted(gold=gold)


def test_one_known_label_is_too_few_for_aggregators_that_learn_from_it() -> None:
    with pytest.raises(
        InputError, match=r"There is one known label\. BayesVote, GoldMajorityVote must be fitted without"
    ):
        fitted(*LEARNERS, gold=GOLD[:1])


def sample_of(tasks: Any, size: int) -> pd.Series:
    return TRUTH[tasks].sample(size, random_state=0)


def sure() -> pd.Series:
    return fc.DawidSkene().fit(VOTES).probas_.max(axis=1).sort_values()


NOTED = {
    "nobody voted for": (
        lambda: pd.concat([GOLD[1:], pd.Series({GOLD.index[0]: 7})]),
        "nobody voted for: 7; .* count as wrong",
    ),
    "without votes": (
        lambda: pd.concat([GOLD, pd.Series({-1: 0, -2: 1})]),
        "2 known labels are of tasks without votes",
    ),
    "few": (lambda: GOLD[:5], "Only 5 known labels: .* get 20 or more"),
    "one class": (lambda: sample_of(TRUTH == 1, 40), "All known labels are '1'; they say little"),
    "easy": (lambda: TRUTH[sure().index[-60:]], "are easier than the others .* do not look like a random sample"),
    "hard": (lambda: TRUTH[sure().index[:60]], "are harder than the others .* do not look like a random sample"),
    "one group": (
        lambda: sample_of(GROUPS == 1, 40),
        "All known labels are of group '1'; they say nothing about other",
    ),
    "of groups": (
        lambda: pd.concat([sample_of(GROUPS == 1, 50), sample_of(GROUPS == 0, 3)]),
        "are of group '0', of all tasks 43.0%, so they do not look like a random sample",
    ),
}


@pytest.mark.parametrize("case", NOTED)
def test_known_labels_that_are_noted(case: str) -> None:
    make, message = NOTED[case]
    with pytest.warns(DataWarning) as caught:
        model = fc.CalibratedCrowd().fit(VOTES, make(), sensitive_features=GROUPS)
    assert any(pd.Series([str(warning.message)]).str.contains(message)[0] for warning in caught)
    assert {warning.filename for warning in caught} == {__file__}
    assert len(model.calibration_.notes) == len(caught)
    assert 0 <= model.accuracy_.low <= model.accuracy_.estimate <= model.accuracy_.high <= 1
    assert np.isfinite(model.probas_.to_numpy()).all()


def test_known_labels_of_control_tasks_are_noted_by_their_votes() -> None:
    """Control tasks are shown to many workers, which the votes tell, whatever they were exported from."""
    more = VOTES[VOTES["task"].isin(GOLD.index)].assign(worker=lambda votes: votes["worker"] + 1000)
    with pytest.warns(DataWarning, match=r"The 80 tasks with known labels have .* votes each, other tasks .* sample"):
        fc.CalibratedCrowd(fc.MajorityVote()).fit(pd.concat([VOTES, more]), GOLD)
    noted = 0
    for seed in range(30):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            fc.CalibratedCrowd(fc.MajorityVote()).fit(VOTES.iloc[::2], TRUTH.sample(40, random_state=seed))
        noted += any("votes each" in str(warning.message) for warning in caught)
    assert noted <= 3


def test_a_label_that_nobody_voted_for_is_a_class_and_counts_as_wrong() -> None:
    gold = pd.Series({task: 7 if task % 4 == 0 else label for task, label in GOLD.items()})
    with pytest.warns(DataWarning, match="nobody voted for"):
        model = fitted(gold=gold)
    assert list(model.probas_.columns) == [0, 1, 7]
    assert (model.labels_ != 7).all()
    assert model.accuracy_.estimate < 0.8


def test_small_groups_do_not_look_unusual() -> None:
    """With groups of one task each, a random sample has hits and misses that no normal distribution knows."""
    groups = GROUPS.where(GROUPS.index >= 30, pd.Series(range(100, 400)))
    noted = 0
    for seed in range(30):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            fc.CalibratedCrowd(fc.MajorityVote()).fit(
                VOTES, TRUTH.sample(25, random_state=seed), sensitive_features=groups
            )
        noted += any("of all tasks" in str(warning.message) for warning in caught)
    assert noted <= 3
    skewed = pd.concat([TRUTH[groups >= 100], sample_of(groups < 100, 20)])
    with pytest.warns(DataWarning, match="60.0% are of small groups, of all tasks 10.0%"):
        fc.CalibratedCrowd(fc.MajorityVote()).fit(VOTES, skewed, sensitive_features=groups)


@pytest.mark.filterwarnings("ignore::faircrowd.errors.DataWarning")
@pytest.mark.parametrize("n_gold", [1, 2, 3, 7])
@pytest.mark.parametrize("by_group", [False, True])
def test_very_few_known_labels_say_very_little(n_gold: int, by_group: bool) -> None:
    model = fitted(gold=GOLD[:n_gold], by_group=by_group)
    assert model.accuracy_.n_gold == n_gold
    assert model.accuracy_.high - model.accuracy_.low > 0.3
    assert len(model.labels_) == 300


@pytest.mark.filterwarnings("ignore::faircrowd.errors.DataWarning")
@pytest.mark.parametrize("n_classes", [1, 2, 3, 6, 12])
def test_any_number_of_classes(n_classes: int) -> None:
    crowd = (
        fc.simulate_crowd(150, 12, 5, class_shares=[np.full(n_classes, 1 / n_classes)] * 2, random_state=0)
        if n_classes > 1
        else None
    )
    votes = VOTES.assign(label="only") if crowd is None else crowd.votes
    gold = dict.fromkeys(range(40), "only") if crowd is None else crowd.truth[:40]
    model = fc.CalibratedCrowd().fit(votes, gold)
    np.testing.assert_allclose(model.probas_.to_numpy().sum(axis=1), 1)
    assert model.probas_.shape[1] == n_classes
    if crowd is None:
        assert model.accuracy_.estimate == 1
        assert 0.85 < model.accuracy_.low < 1
    else:
        real = float((model.labels_ == crowd.truth).mean())
        assert model.accuracy_.low - 0.005 <= real <= model.accuracy_.high + 0.005


def test_names_in_any_script() -> None:
    names = {0: "否", 1: 'ja, "sicher" 🙂'}
    votes = VOTES.assign(task="ü\u202e" + VOTES["task"].astype(str), label=VOTES["label"].map(names))
    gold = {f"ü\u202e{task}": names[label] for task, label in GOLD.items()}
    model = fitted(votes=votes, gold=gold)
    assert set(model.calibration_.shifts) == set(names.values())
    assert model.accuracy_ == fitted().accuracy_
    assert json.loads(json.dumps(model.calibration_.to_dict()))["shifts"].keys() == set(names.values())


def test_tasks_that_are_equal_keys_of_a_dict() -> None:
    """1 and True are two tasks, though one key: labels are passed on to the aggregators by task."""
    votes = VOTES.assign(
        task=pd.Series(
            [{0: 1, 1: True}.get(task, f"t{task}") for task in VOTES["task"]], dtype=object, index=VOTES.index
        )
    )
    frame = pd.DataFrame(
        {
            "task": pd.Series([1, True, *(f"t{task}" for task in range(2, 60))], dtype=object),
            "label": TRUTH[:60].to_numpy(),
        }
    )
    model = fitted(*LEARNERS, votes=votes, gold=frame)
    assert model.accuracy_.n_gold == 60
    plain = fitted(*LEARNERS, gold=TRUTH[:60])
    assert model.accuracy_ == plain.accuracy_


def test_by_group_without_groups() -> None:
    for estimator, by_group in ((None, True), (fc.DawidSkene(by_group=True), False)):
        with pytest.raises(InputError, match=r"by_group=True needs the group of each task; give sensitive_features"):
            fc.CalibratedCrowd(estimator, by_group=by_group).fit(VOTES, GOLD)


def test_known_labels_of_other_tasks_are_noticed() -> None:
    """Labels by row number instead of task id: the votes find them no more often than chance."""
    crowd = fc.simulate_crowd(300, 20, random_state=0)
    moved = crowd.truth.sample(100, random_state=1)
    moved.index = (moved.index + 137) % 300
    with pytest.warns(DataWarning, match="no better than chance; are the known labels given by task id"):
        fc.CalibratedCrowd().fit(crowd.votes, moved)
