"""Extrapolated rounds: never worse than plain ones, the same on every engine and in any order, and fewer."""

import math
import warnings
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import faircrowd as fc
from crowds import simulated
from faircrowd.aggregate.checkpoint import Checkpoint
from faircrowd.aggregate.em import iterate
from faircrowd.engines.stream.read_stream import read_votes_on_disk
from faircrowd.errors import ConvergenceWarning, InputError, OptionError
from faircrowd.exact.extrapolation import Extrapolation

SLOW = simulated(n_classes=3, n_tasks=300, n_workers=25, votes=3, seed=3)
"""Few votes per worker: plain rounds take long to settle."""
KINDS = {
    "plain": fc.DawidSkene,
    "pooled": partial(fc.DawidSkene, pooling="learned"),
    "by group": partial(fc.DawidSkene, by_group=True, pooling=3),
    "one share for all groups": partial(fc.DawidSkene, by_group=True, group_priors=False, smoothing=0.1),
    "no smoothing": partial(fc.DawidSkene, smoothing=0.0),
    "one-coin": fc.OneCoinDawidSkene,
}


def both(kind: Any, tol: float, votes: Any = SLOW.votes, groups: Any = SLOW.groups) -> tuple[Any, Any]:
    plain, fast = (kind(n_iter=3000, tol=tol, accelerate=accelerate) for accelerate in (False, True))
    return plain.fit(votes, sensitive_features=groups), fast.fit(votes, sensitive_features=groups)


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_the_same_maximum_in_fewer_rounds_that_never_fall(kind: Any) -> None:
    plain, fast = both(kind, 1e-12)
    assert plain.converged_
    assert fast.converged_
    assert fast.n_iter_ < plain.n_iter_
    assert (np.diff(fast.loss_history_) >= 0).all()
    assert fast.loss_history_[-1] == pytest.approx(plain.loss_history_[-1], abs=1e-7)
    np.testing.assert_allclose(fast.posterior_.values, plain.posterior_.values, atol=2e-3)


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_parameters_are_probabilities_and_a_plain_round_changes_them_no_more(kind: Any) -> None:
    tol = 1e-9
    _, fast = both(kind, tol)
    for table in (fast._run.used, fast._run.updated):
        np.testing.assert_allclose(table.errors.sum(axis=2), 1.0, rtol=1e-12)
        np.testing.assert_allclose(table.priors.sum(axis=1), 1.0, rtol=1e-12)
    assert fast.loss_history_[-1] - fast.loss_history_[-2] <= tol


def test_rows_and_names_in_another_order_give_the_same_bits() -> None:
    settings = {"accelerate": True, "n_iter": 40, "tol": -1.0}
    here = fc.DawidSkene(**settings).fit(SLOW.votes)
    there = fc.DawidSkene(**settings).fit(SLOW.shuffled(1).votes)
    assert here.loss_history_ == there.loss_history_
    np.testing.assert_array_equal(here.posterior_.values, there.posterior_.values)
    workers = SLOW.votes["worker"].unique()
    names = dict(zip(workers, [f"w{i}" for i in np.random.default_rng(0).permutation(workers.size)], strict=True))
    renamed = fc.DawidSkene(**settings).fit(SLOW.renamed("worker", names).votes)
    np.testing.assert_array_equal(here.posterior_.values, renamed.posterior_.values)


def test_a_streamed_file_gives_the_same_bits(tmp_path: Path) -> None:
    SLOW.votes.to_parquet(tmp_path / "votes.parquet")
    model = partial(fc.DawidSkene, accelerate=True, n_iter=30, tol=-1.0)
    here = model().fit(SLOW.votes)
    streamed = model().fit(read_votes_on_disk(tmp_path / "votes.parquet", folder=tmp_path))
    assert here.loss_history_ == streamed.loss_history_
    np.testing.assert_array_equal(here.posterior_.values, streamed.posterior_.values)


@pytest.mark.parametrize("stop", [1, 2, 3, 4, 7, 12])
def test_an_interrupted_fit_goes_on_to_the_same_bits(stop: int, tmp_path: Path) -> None:
    model = partial(fc.DawidSkene, accelerate=True, n_iter=20, tol=-1.0)

    def interrupt(number: int, *_: Any) -> None:
        if number == stop:
            raise KeyboardInterrupt

    path, whole = tmp_path / "rounds.npz", model().fit(SLOW.votes)
    with pytest.raises(KeyboardInterrupt):
        model().fit(SLOW.votes, checkpoint=Checkpoint(path, "", resume=False), on_round=interrupt)
    resumed = model().fit(SLOW.votes, checkpoint=Checkpoint(path, "", resume=True))
    assert resumed.loss_history_ == whole.loss_history_
    np.testing.assert_array_equal(resumed.posterior_.values, whole.posterior_.values)


def test_a_point_that_is_not_better_is_left_for_the_plain_round() -> None:
    def share(x: float) -> tuple[np.ndarray, ...]:
        return (np.array([x, 1 - x]),)

    seen: list[float] = []

    def step(point: tuple[np.ndarray, ...]) -> tuple[float, tuple[np.ndarray, ...]]:
        x = float(point[0][0])
        seen.append(x)
        is_plain = any(math.isclose(x, 0.5 - 0.3 * 0.9**i, rel_tol=1e-12) for i in range(99))
        return (-abs(0.5 - x) if is_plain else -math.inf), share(0.5 - 0.9 * (0.5 - x))

    with pytest.warns(ConvergenceWarning):
        run = iterate(step, share(0.2), n_iter=10, tol=0.0, n_votes=1, acceleration=Extrapolation((0,)))
    plain = [-0.3 * 0.9**i for i in (0, 1, 1, 2, 3, 3, 4, 5, 5, 6)]  # every third round was tried ahead, in vain
    np.testing.assert_allclose(run.history, plain, rtol=1e-12)
    assert seen[2] > 0.5 - 0.3 * 0.9**2
    np.testing.assert_allclose(run.used[0][0], 0.5 - 0.3 * 0.9**6)
    np.testing.assert_allclose(run.updated[0][0], 0.5 - 0.3 * 0.9**7)


def test_a_fit_that_cannot_move_ends_as_the_plain_one_does() -> None:
    votes = SLOW.votes.assign(label=SLOW.votes["task"].astype(str).str[-1].isin(list("02468")))  # all agree
    plain, fast = both(fc.DawidSkene, 0.0, votes, None)
    assert fast.converged_
    np.testing.assert_array_equal(fast.posterior_.values, plain.posterior_.values)


def test_few_rounds_are_those_of_plain_steps() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        for n_iter in (0, 1, 2):
            plain, fast = (fc.DawidSkene(n_iter=n_iter, accelerate=a).fit(SLOW.votes) for a in (False, True))
            assert plain.loss_history_ == fast.loss_history_
            np.testing.assert_array_equal(plain.errors_.to_numpy(), fast.errors_.to_numpy())


def test_what_is_neither_true_nor_false_is_refused() -> None:
    for given in ("yes", 3, None):
        with pytest.raises(OptionError, match=r"accelerate=.* is not known; use one of False, True"):
            fc.DawidSkene(accelerate=given).fit(SLOW.votes)
    with pytest.raises((OptionError, InputError), match="accelerate"):
        fc.GLAD().set_params(accelerate=True)


@pytest.mark.parametrize("name", ["MS", "bluebird", "dog", "rte", "trec", "web"])
def test_real_crowds_settle_as_high_in_fewer_rounds(name: str, data_folder: Path) -> None:
    votes = fc.read_votes(data_folder / "accuracy" / name / "votes.csv")
    plain, fast = both(partial(fc.DawidSkene, pooling="learned"), 1e-8, votes, None)
    assert (np.diff(fast.loss_history_) >= 0).all()
    assert fast.n_iter_ <= plain.n_iter_
    assert fast.loss_history_[-1] >= plain.loss_history_[-1] - 1e-7
    assert (fast.posterior_.label_codes == plain.posterior_.label_codes).mean() > 0.99
