"""What known labels promise, on real crowds: probabilities that come true, and honest estimates of accuracy.

Labels of a random sample of 100 tasks are known; everything is compared with the truth of the other tasks, or of all.
"""

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray

from faircrowd import CalibratedCrowd, DawidSkene, FairCrowd, read_votes
from faircrowd.aggregate.calibration.accuracy_estimate import AccuracyEstimate
from faircrowd.aggregate.calibration.reliability import calibration_error
from faircrowd.datasets import load_crowd_judgement, load_tables
from faircrowd.votes import VoteTable

CROWDS = ("accuracy/MS", "accuracy/dog", "accuracy/rte", "faces-4class")
SEEDS = range(5)
N_KNOWN = 100

pytestmark = [
    pytest.mark.real,
    pytest.mark.filterwarnings(
        "ignore::faircrowd.errors.ConvergenceWarning",
        "ignore::faircrowd.errors.DataWarning",  # one of a hundred random samples looks unusual
    ),
]


class Draw(NamedTuple):
    """A draw of known labels, and what was made of it."""

    votes: VoteTable
    truth: pd.Series
    known: NDArray[np.bool_]
    model: CalibratedCrowd

    def loss(self, p: pd.DataFrame) -> float:
        """The log loss on the other tasks."""
        column = p.columns.get_indexer(self.truth)
        return float(-np.log(np.maximum(p.to_numpy()[np.arange(len(p)), column], 1e-10))[~self.known].mean())


def holds(found: AccuracyEstimate | None, real: float) -> bool:
    assert found is not None
    return bool(found.low <= real <= found.high)


@cache
def crowd(place: Path) -> tuple[VoteTable, pd.Series]:
    loaded = load_tables(place)
    votes = read_votes(loaded.votes)
    return votes, loaded.truth.reindex(votes.tasks.to_list())


def sample(n_tasks: int, seed: int) -> NDArray[np.bool_]:
    known = np.zeros(n_tasks, dtype=bool)
    known[np.random.default_rng(seed).permutation(n_tasks)[:N_KNOWN]] = True
    return known


@cache
def draws(place: Path) -> list[Draw]:
    votes, truth = crowd(place)
    samples = [sample(votes.n_tasks, seed) for seed in SEEDS]
    return [Draw(votes, truth, known, CalibratedCrowd().fit(votes, truth[known])) for known in samples]


def every_draw(data_folder: Path) -> Iterator[Draw]:
    return (draw for name in CROWDS for draw in draws(data_folder / name))


@pytest.mark.parametrize("name", CROWDS)
def test_the_log_loss_is_less_than_half_that_of_dawid_skene(data_folder: Path, name: str) -> None:
    votes, _ = crowd(data_folder / name)
    plain = DawidSkene().fit(votes).probas_
    for draw in draws(data_folder / name):
        assert draw.loss(draw.model.probas_) < draw.loss(plain) / 2


def test_confidence_comes_true_on_tasks_whose_label_is_not_known(data_folder: Path) -> None:
    off, errors = [], []
    for draw in every_draw(data_folder):
        confidence = draw.model.probas_.to_numpy().max(axis=1)[~draw.known]
        right = (draw.model.labels_ == draw.truth).to_numpy()[~draw.known]
        off.append(abs(confidence.mean() - right.mean()))
        errors.append(calibration_error(confidence, right))
    assert np.mean(off) <= 0.05
    assert np.mean(errors) <= 0.08
    assert max(off) <= 0.15


def test_accuracy_is_estimated_well_and_its_interval_mostly_contains_it(data_folder: Path) -> None:
    distances, right = [], []
    for draw in every_draw(data_folder):
        real = float((draw.model.labels_ == draw.truth).mean())
        distances.append(abs(draw.model.accuracy_.estimate - real))
        right.append(holds(draw.model.accuracy_, real))
    assert np.mean(distances) <= 0.05
    assert np.mean(right) >= 0.85


def test_accuracy_and_price_of_fair_labels_are_estimated_well(data_folder: Path) -> None:
    loaded = load_crowd_judgement(data_folder, download=False)
    votes = read_votes(loaded.votes, sensitive_features=loaded.groups)
    truth = loaded.truth.reindex(votes.tasks.to_list())
    distances, right, better, believed = [], [], [], []
    uncalibrated = (FairCrowd(DawidSkene(), epsilon=0.05).fit(votes).labels_ == truth).to_numpy()
    for seed in SEEDS:
        known = sample(votes.n_tasks, seed)
        fair = FairCrowd(CalibratedCrowd(), epsilon=0.05).fit(votes, truth[known])
        after, before = ((labels == truth).to_numpy() for labels in (fair.labels_, fair.estimator_.labels_))
        price = float(before.mean() - after.mean())
        assert fair.price_ is not None
        distances.append(abs(fair.price_.estimate - price))
        right += [holds(fair.accuracy_, float(after.mean())), holds(fair.price_, price)]
        better.append(after[~known].mean() - uncalibrated[~known].mean())
        believed.append(abs(fair.certificate_.believed_accuracy - after.mean()))
    assert np.mean(believed) < 0.1  # without calibration: .3
    assert np.mean(distances) <= 0.05
    assert np.mean(right) >= 0.8
    assert np.mean(better) >= 0.005


@pytest.mark.parametrize("name", CROWDS)
def test_pooled_dawid_skene_never_loses_what_it_gained(data_folder: Path, name: str) -> None:
    votes, _ = crowd(data_folder / name)
    steps = np.diff(DawidSkene(pooling="learned", n_iter=40, tol=-1.0).fit(votes).loss_history_)
    assert steps.size > 10
    assert steps.min() >= -1e-12


def test_pooling_makes_dawid_skene_less_sure_of_itself(data_folder: Path) -> None:
    for name in CROWDS:
        votes, truth = crowd(data_folder / name)
        off = []
        for pooling in (None, "learned"):
            model = DawidSkene(pooling=pooling).fit(votes)
            off.append(model.probas_.to_numpy().max(axis=1).mean() - (model.labels_ == truth).mean())
        assert abs(off[1]) < abs(off[0])


def test_pooling_makes_labels_more_accurate_on_the_whole(data_folder: Path) -> None:
    gains = []
    for name in (*CROWDS, "politifact-6class"):  # the last has six votes for each worker
        votes, truth = crowd(data_folder / name)
        pooled, plain = (DawidSkene(pooling=pooling).fit(votes).labels_ == truth for pooling in ("learned", None))
        gains.append(float(pooled.mean() - plain.mean()))
    assert np.mean(gains) > 0.003
    assert min(gains) > -0.01
