"""Pooling: pseudo-counts by hand and against other maximisers, and models that use them."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from pandas.testing import assert_frame_equal, assert_series_equal
from scipy.optimize import minimize, minimize_scalar
from scipy.special import gammaln
from scipy.stats import dirichlet

import faircrowd as fc
from aggregate.naive import expect
from crowds import simulated
from faircrowd.aggregate.em import Iterative
from faircrowd.aggregate.pooling import log_prior, prior_counts
from faircrowd.errors import OptionError

# Shares of votes: (2/3, 1/3) for task t, (0, 1) for task u. Workers a and b vote alike, c voted once.
SMALL = pd.DataFrame(
    [("t", "a", 0), ("t", "b", 0), ("t", "c", 1), ("u", "a", 1), ("u", "b", 1)], columns=["task", "worker", "label"]
)
GROUPS = {"t": "x", "u": "y"}
POOLED = [fc.DawidSkene, fc.OneCoinDawidSkene]


def start(**settings: Any) -> Any:
    """The first matrices, before any round."""
    groups = {"sensitive_features": GROUPS} if settings.get("by_group") else {}
    return fc.DawidSkene(n_iter=0, **settings).fit(SMALL, **groups).errors_


def log_marginal(pseudo: Any, rows: Any) -> float:
    """The log-likelihood of rows of counts whose probabilities have a Dirichlet prior, up to a constant."""
    size = pseudo.sum(axis=-1)
    total = gammaln(size) - gammaln(size + rows.sum(axis=1)) + (gammaln(pseudo + rows) - gammaln(pseudo)).sum(axis=-1)
    return float(total.sum())


def sampled_counts(seed: int, n_workers: int, n_groups: int, n_classes: int, strength: float) -> Any:
    """Counts by worker, group, label and true class; workers vary around the crowd, and in groups around themselves."""
    rng = np.random.default_rng(seed)
    counts = np.empty((n_workers, n_groups, n_classes, n_classes))
    for k in range(n_classes):
        crowd = np.full(n_classes, 0.4 / n_classes) + 0.6 * (np.arange(n_classes) == k)
        for worker in range(n_workers):
            own = rng.dirichlet(strength * crowd + 1e-3)
            for group in range(n_groups):
                counts[worker, group, :, k] = rng.multinomial(rng.integers(0, 40), rng.dirichlet(strength * own + 1e-3))
    return 0.9 * counts + 0.1 * counts.mean(axis=3, keepdims=True)  # as from shares of votes: not whole numbers


def counts_after_rounds(votes: pd.DataFrame, n_rounds: int) -> Any:
    """Counts by worker, label and true class after rounds without pooling, from the shares of votes; plain loops."""
    n_workers, n_classes = votes["worker"].max() + 1, votes["label"].max() + 1
    posterior = fc.MajorityVote().fit(votes).probas_.to_numpy()

    def counted() -> Any:
        counts = np.zeros((n_workers, n_classes, n_classes))
        for task, worker, label in zip(votes["task"], votes["worker"], votes["label"], strict=True):
            counts[worker, label] += posterior[task]
        return counts

    for _ in range(n_rounds):
        errors = counted() / counted().sum(axis=1, keepdims=True)
        priors = np.tile(posterior.mean(axis=0), (len(posterior), 1))
        posterior, _ = expect(votes, errors, priors, votes["worker"].to_numpy())
    return counted()


def test_pseudo_counts_by_hand() -> None:
    # The crowd gives label 0 to class 0 with 2/3, and to class 1 with (1/3 + 1/3) / 3.
    found = start(pooling=3).loc["c"].to_numpy()
    np.testing.assert_allclose(found, [[6 / 11, 1 / 5], [5 / 11, 4 / 5]], atol=1e-4)
    own = start().loc["a"].to_numpy()
    np.testing.assert_allclose(own, [[1, 1 / 4], [0, 3 / 4]], atol=1e-4)


def test_pseudo_counts_by_group_by_hand() -> None:
    found = start(pooling=3, by_group=True)
    own = np.array([[6 / 11, 1 / 5], [5 / 11, 4 / 5]])  # of worker c, as without groups
    np.testing.assert_allclose(found.loc["c", "y"].to_numpy(), own, atol=1e-4)  # no votes there
    counts = np.array([[0, 0], [2 / 3, 1 / 3]])
    expected = (counts + 3 * own) / (counts + 3 * own).sum(axis=0)
    np.testing.assert_allclose(found.loc["c", "x"].to_numpy(), expected, atol=1e-4)


def test_pseudo_counts_of_right_and_wrong_by_hand() -> None:
    # Right: 5/3, 5/3 and 1/3; wrong: 1/3, 1/3 and 2/3; of the crowd 11/15 is right.
    skills = fc.OneCoinDawidSkene(n_iter=0, pooling=3).fit(SMALL).skills_
    np.testing.assert_allclose(skills["c"], (1 / 3 + 3 * 11 / 15) / (1 + 3), atol=1e-4)
    np.testing.assert_allclose(skills["a"], (5 / 3 + 3 * 11 / 15) / (2 + 3), atol=1e-4)


@pytest.mark.parametrize(("seed", "n_classes", "strength"), [(0, 2, 3.0), (1, 2, 15.0), (2, 3, 10.0), (3, 4, 1.0)])
def test_learned_counts_have_the_highest_likelihood(seed: int, n_classes: int, strength: float) -> None:
    counts = sampled_counts(seed, 30, 1, n_classes, strength)
    found = np.asarray(prior_counts(counts, "learned"))[0, 0]
    assert (found.sum(axis=0) < 4 * counts.sum() / 30 / n_classes).all()  # below what the crowd may count at most
    for k in range(n_classes):
        rows = counts[:, 0, :, k]

        def loss(at: Any, rows: Any = rows) -> float:
            return -log_marginal(np.exp(at), rows)

        starts = [np.log(0.5 + rows.mean(axis=0)), np.zeros(n_classes), np.full(n_classes, 3.0)]
        best = min((minimize(loss, at, method="BFGS") for at in starts), key=lambda end: float(end.fun))
        assert log_marginal(found[:, k], rows) == pytest.approx(-best.fun, abs=1e-3)
        np.testing.assert_allclose(found[:, k], np.exp(best.x), rtol=0.05)


@pytest.mark.parametrize("strength", [2.0, 20.0])
def test_learned_strengths_of_groups_have_the_highest_likelihood(strength: float) -> None:
    counts = sampled_counts(5, 40, 3, 2, strength)
    crowd = np.asarray(prior_counts(counts.sum(axis=1, keepdims=True), "learned"))[:, 0]
    shrunk = counts.sum(axis=1) + crowd
    own = shrunk / shrunk.sum(axis=1, keepdims=True)
    found = np.asarray(prior_counts(counts, "learned"))
    assert found.shape == (40, 1, 2, 2)
    for k in range(2):
        rows, shares = counts[..., k].reshape(-1, 2), np.repeat(own[..., k], 3, axis=0)

        def loss(at: float, rows: Any = rows, shares: Any = shares) -> float:
            return -log_marginal(np.exp(at) * shares, rows)

        best = minimize_scalar(loss, bounds=(-6, 9), method="bounded")
        np.testing.assert_allclose(found[:, 0, :, k].sum(axis=1), np.exp(best.x), rtol=1e-3)
        np.testing.assert_allclose(found[:, 0, :, k] / found[:, 0, :, k].sum(axis=1, keepdims=True), own[..., k])


def test_workers_who_agree_are_pooled_more_than_workers_who_differ() -> None:
    alike, different = (
        float(np.asarray(prior_counts(sampled_counts(7, 60, 1, 2, strength), "learned")).sum())
        for strength in (200.0, 2.0)
    )
    assert alike > 10 * different


@pytest.mark.parametrize("n_votes", [0.5, 1, 6, 40])
def test_the_crowd_counts_at_most_four_times_the_votes_of_a_worker(n_votes: float) -> None:
    """All workers vote alike, so the likeliest prior is endless; their own votes count all the same."""
    counts = np.tile(n_votes * np.array([[0.7, 0.2], [0.3, 0.8]]), (25, 1, 1, 1))
    found = np.asarray(prior_counts(counts, "learned"))[0, 0]
    np.testing.assert_allclose(found.sum(axis=0), 4 * max(n_votes, 1), rtol=1e-3)
    np.testing.assert_allclose(found / found.sum(axis=0), [[0.7, 0.2], [0.3, 0.8]], atol=0.01)


def test_a_rare_class_is_pooled_as_much_as_others() -> None:
    """What the crowd counts at most depends on all votes of workers, not on the few for one class."""
    counts = np.tile(np.array([[27.0, 0.03], [3.0, 0.27]]), (25, 1, 1, 1))
    found = np.asarray(prior_counts(counts, "learned"))[0, 0]
    np.testing.assert_allclose(found.sum(axis=0), 4 * 30.3 / 2, rtol=1e-3)


@pytest.mark.parametrize("kind", POOLED)
def test_the_prior_is_learned_after_three_rounds_without_it(kind: Any) -> None:
    crowd = simulated(3, n_tasks=150, n_workers=20, seed=3)
    counts = counts_after_rounds(crowd.votes, 3)[:, None]
    model = kind(pooling="learned", n_iter=1, tol=-1).fit(crowd.votes)
    if kind is fc.DawidSkene:
        np.testing.assert_allclose(model._pseudo, np.asarray(prior_counts(counts, "learned")), rtol=1e-6)
    assert model.n_iter_ == len(model.loss_history_) == 1


def test_pooling_costs_little_where_workers_have_many_votes() -> None:
    """The paper's synthetic crowd: 100 votes for each worker, which are independent."""
    crowd = fc.simulate_crowd(random_state=0)
    plain, pooled = (
        fc.DawidSkene(by_group=True, pooling=pooling).fit_predict(
            crowd.votes, sensitive_features=crowd.sensitive_features
        )
        for pooling in (None, "learned")
    )
    assert (pooled == crowd.truth).mean() > (plain == crowd.truth).mean() - 0.005


def test_votes_that_say_nothing_about_the_strength() -> None:
    """Workers of one vote each: any strength is as likely as any other."""
    counts = np.zeros((12, 1, 2, 2))
    counts[:9, 0, 0, 0] = counts[9:, 0, 1, 0] = 1.0
    found = np.asarray(prior_counts(counts, "learned"))[0, 0]
    np.testing.assert_allclose(found[:, 0], [2 * 9 / 12, 2 * 3 / 12], rtol=1e-3)


@pytest.mark.parametrize("n_workers", [50, 3000])
@pytest.mark.parametrize("n_groups", [1, 2])
@pytest.mark.parametrize("pooling", ["learned", 4.0])
def test_the_order_of_workers_does_not_matter(n_workers: int, n_groups: int, pooling: str | float) -> None:
    counts = np.random.default_rng(0).gamma(0.5, 4.0, (n_workers, n_groups, 2, 2))
    order = np.random.default_rng(1).permutation(n_workers)
    here, there = (np.asarray(prior_counts(some, pooling)) for some in (counts, counts[order]))
    np.testing.assert_array_equal(here if n_groups == 1 else here[order], there)


def test_the_log_prior_is_that_of_dirichlet_distributions() -> None:
    rng = np.random.default_rng(0)
    p, other = rng.dirichlet([2, 3, 4], (2, 5)).transpose(0, 2, 1)[:, None, None]  # sum to one along axis 3
    pseudo = rng.gamma(2.0, 3.0, (1, 1, 3, 5))

    def density(values: Any) -> float:
        return sum(
            dirichlet.logpdf(values[0, 0, :, k] / values[0, 0, :, k].sum(), pseudo[0, 0, :, k] + 1) for k in range(5)
        )

    difference = log_prior(p, pseudo, axis=2) - log_prior(other, pseudo, axis=2)
    assert difference == pytest.approx(density(p) - density(other), rel=1e-9)
    peak = pseudo / pseudo.sum(axis=2, keepdims=True)
    assert log_prior(peak, pseudo, axis=2) == pytest.approx(0, abs=1e-12)
    assert log_prior(p, pseudo, axis=2) < 0
    assert log_prior(p, 0.0, axis=2) == 0


@pytest.mark.parametrize("by_group", [False, True])
@pytest.mark.parametrize("kind", POOLED)
@pytest.mark.parametrize("pooling", ["learned", 0.5, 30.0])
def test_every_round_raises_the_objective(kind: Any, by_group: bool, pooling: str | float) -> None:
    """Rounds end where one would lower it: that may happen only where nothing is left to gain but rounding."""
    for seed, n_classes in ((0, 2), (1, 3), (2, 4)):
        crowd = simulated(n_classes, n_tasks=120, n_workers=12, seed=seed)
        model = kind(n_iter=60, tol=-1, by_group=by_group, pooling=pooling)
        model.fit(crowd.votes, sensitive_features=crowd.groups if by_group else None)
        rises = np.diff(model.loss_history_)
        assert len(rises) > 5
        assert (rises >= 0).all()
        assert len(rises) == 59 or rises[-1] < 1e-12


def test_the_objective_is_the_likelihood_plus_the_log_prior() -> None:
    crowd = simulated(2, n_tasks=40, n_workers=6)
    votes = crowd.votes.sort_values(["task", "worker"], ignore_index=True)
    model = fc.DawidSkene(n_iter=4, tol=-1, pooling=7, smoothing=0).fit(votes)
    before = fc.DawidSkene(n_iter=3, tol=-1, pooling=7, smoothing=0).fit(votes)  # its estimates are used in round 4
    errors = before.errors_.to_numpy().reshape(6, 2, 2)
    counts = counts_after_rounds(votes, 3).sum(axis=0)
    pseudo = 7 * (counts + 1e-4) / (counts + 1e-4).sum(axis=0)
    priors = np.tile(before.priors_.to_numpy(), (40, 1))
    posterior, log_likelihood = expect(votes, errors, priors, votes["worker"].to_numpy())
    log_density = sum((pseudo * np.log(worker / (pseudo / 7))).sum() for worker in errors)
    assert model.loss_history_[-1] * len(votes) == pytest.approx(log_likelihood + log_density, rel=1e-9)
    np.testing.assert_allclose(model.probas_.to_numpy(), posterior, atol=1e-9)


@pytest.mark.parametrize("by_group", [False, True])
@pytest.mark.parametrize("kind", POOLED)
def test_pooling_of_no_votes_is_no_pooling(kind: Any, by_group: bool) -> None:
    crowd = simulated()
    votes = crowd.votes[(crowd.votes["worker"] > 2) | crowd.votes["task"].map(crowd.groups).eq("a")]  # in one group
    groups = {"sensitive_features": crowd.groups} if by_group else {}
    none, zero = (kind(by_group=by_group, pooling=pooling).fit(votes, **groups) for pooling in (None, 0))
    assert_frame_equal(zero.probas_, none.probas_, check_exact=True)
    assert zero.loss_history_ == none.loss_history_
    new = pd.DataFrame({"task": [1, 1, 2], "worker": [0, 1, 2], "label": [0, 1, 1]})
    more = {"sensitive_features": {1: "b", 2: "b"}} if by_group else {}
    assert_frame_equal(zero.predict_proba(new, **more), none.predict_proba(new, **more), check_exact=True)


@pytest.mark.parametrize("pooling", [1e6, 1e20, 1e100])
def test_with_endless_pooling_all_workers_are_the_crowd(pooling: float) -> None:
    crowd = simulated()
    model = fc.DawidSkene(pooling=pooling, by_group=True).fit(crowd.votes, sensitive_features=crowd.groups)
    errors = model.errors_.to_numpy().reshape(-1, 3, 3)
    np.testing.assert_allclose(errors, np.broadcast_to(errors[0], errors.shape), atol=1e-4)
    assert model.converged_
    assert -2 < model.loss_history_[-1] < 0  # not swamped by the prior


def test_more_pooling_brings_workers_closer_to_each_other() -> None:
    crowd = simulated()
    spread = [
        float(np.ptp(fc.DawidSkene(pooling=pooling).fit(crowd.votes).errors_.to_numpy().reshape(-1, 9), axis=0).sum())
        for pooling in (0, 1, 10, 100)
    ]
    assert spread == sorted(spread, reverse=True)


def test_workers_with_many_votes_keep_their_matrices() -> None:
    """Worker 0 votes on all tasks, and always wrong; the others vote twice. Pooling moves the others more."""
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 2, 200)
    rows = [(task, 0, 1 - truth[task]) for task in range(200)]
    rows += [(task, 1 + task // 2 * 4 + i, truth[task]) for task in range(200) for i in range(4)]
    votes = pd.DataFrame(rows, columns=["task", "worker", "label"])
    model = fc.DawidSkene(pooling="learned").fit(votes)
    assert model.errors_.loc[0].to_numpy().diagonal().max() < 0.15
    assert model.errors_.loc[7].to_numpy().diagonal().min() > 0.7
    assert (model.labels_ == truth).all()


def test_a_worker_not_seen_in_a_group_has_their_own_matrix_there() -> None:
    """Worker 0 is always wrong, but votes only in group a: in group b they are taken to be wrong, too."""
    rng = np.random.default_rng(1)
    truth = rng.integers(0, 2, 300)
    groups = {task: "ab"[task % 2] for task in range(300)}
    rows = [(task, 0, 1 - truth[task]) for task in range(0, 300, 2)]
    rows += [(task, worker, truth[task]) for task in range(300) for worker in rng.choice(9, 4, replace=False) + 1]
    votes = pd.DataFrame(rows, columns=["task", "worker", "label"])
    new, more = pd.DataFrame({"task": [900], "worker": [0], "label": [1]}), {"sensitive_features": {900: "b"}}
    pooled, plain = (
        fc.DawidSkene(by_group=True, pooling=pooling).fit(votes, sensitive_features=groups)
        for pooling in ("learned", None)
    )
    assert pooled.predict(new, **more)[900] == 0
    assert plain.predict(new, **more)[900] == 1  # as the crowd's average there
    assert pooled.errors_.loc[0, "b"].to_numpy().diagonal().max() < 0.3


@pytest.mark.parametrize("kind", POOLED)
@pytest.mark.parametrize("by_group", [False, True])
@pytest.mark.parametrize("pooling", ["learned", 2.5])
@pytest.mark.parametrize(
    ("votes", "gold"),
    [
        ([("t", "w", 0)], None),
        ([("t", "w", 0), ("u", "w", 1), ("v", "w", 1)], None),
        ([("t", "w", 0), ("u", "w", 0), ("u", "x", 0)], None),
        ([("t", "w", 0), ("u", "x", 1), ("v", "y", 1)], None),
        ([("t", "w", 0), ("t", "x", 1), ("u", "x", 1)], {"t": 7}),
    ],
    ids=["one vote", "one worker", "one class", "a vote each", "a class without votes"],
)
def test_small_crowds(kind: Any, by_group: bool, pooling: Any, votes: list[Any], gold: dict[str, int] | None) -> None:
    frame = pd.DataFrame(votes, columns=["task", "worker", "label"])
    model = kind(by_group=by_group, pooling=pooling)
    model.fit(frame, gold, sensitive_features={"t": 0, "u": 1, "v": 1} if by_group else None)
    errors = model.errors_.to_numpy()
    assert np.isfinite(errors).all()
    assert np.isfinite(model.probas_.to_numpy()).all()
    n_classes = len(model.votes_.classes)
    if n_classes > 1:
        np.testing.assert_allclose(errors.reshape(-1, n_classes, n_classes).sum(axis=1), 1)
    if gold is not None:
        assert list(model.probas_.columns) == [0, 1, 7]


@pytest.mark.parametrize("pooling", ["lerned", "", -1, float("nan"), float("inf"), True, [1], "3"])
@pytest.mark.parametrize("kind", POOLED)
def test_what_is_no_pooling_is_refused(kind: Any, pooling: Any) -> None:
    with pytest.raises(OptionError, match="pooling must be"):
        kind(pooling=pooling).fit(SMALL)


@pytest.mark.parametrize("pooling", ["learned", 20.0])
def test_the_start_is_what_was_asked_for(pooling: str | float) -> None:
    """Pooling begins with the first round: skills, or errors to assign, are not mixed with the crowd's."""
    crowd = simulated(2)
    skilled = fc.DawidSkene(n_iter=0, start="skill", initial_skill=0.7, pooling=pooling).fit(crowd.votes)
    np.testing.assert_allclose(
        skilled.errors_.to_numpy().reshape(-1, 2, 2), np.tile([[0.7, 0.3], [0.3, 0.7]], (9, 1, 1))
    )
    given = skilled.errors_ * 0 + np.tile([[0.8, 0.4], [0.2, 0.6]], (9, 1))
    model = fc.DawidSkene(n_iter=0, initial_error_strategy="assign", pooling=pooling).fit(crowd.votes, None, given)
    np.testing.assert_allclose(model.errors_.to_numpy(), given.to_numpy())


@pytest.mark.parametrize("settings", [{"pooling": "learned"}, {"pooling": 3.0, "by_group": True}])
@pytest.mark.parametrize("kind", POOLED)
def test_votes_on_disk_give_the_same_bits(kind: Any, settings: dict[str, Any], tmp_path: Path) -> None:
    pytest.importorskip("duckdb")
    from faircrowd.engines import read_votes_on_disk

    crowd = simulated(n_tasks=200, n_workers=20)
    votes = crowd.votes.assign(group=crowd.votes["task"].map(crowd.groups))
    votes.to_csv(tmp_path / "votes.csv", index=False)
    memory, disk = (
        kind(**settings).fit(read(tmp_path / "votes.csv", sensitive_features="group"))
        for read in (fc.read_votes, read_votes_on_disk)
    )
    assert isinstance(memory, Iterative)
    assert disk.loss_history_ == memory.loss_history_
    assert_series_equal(disk.labels_, memory.labels_)
    assert_frame_equal(disk.errors_, memory.errors_, check_exact=True)


def test_pooling_makes_the_posterior_of_a_small_crowd_less_certain() -> None:
    """Few votes per worker: the believed accuracy of the plain model is far too high."""
    crowd = fc.simulate_crowd(400, 150, 4, skill_ranges=((0.55, 0.75), (0.55, 0.75)), random_state=1)
    off = []
    for pooling in (None, "learned"):
        model = fc.DawidSkene(pooling=pooling).fit(crowd.votes)
        off.append(model.probas_.to_numpy().max(axis=1).mean() - (model.labels_ == crowd.truth).mean())
    assert abs(off[1]) < off[0] / 2
