"""The data of an experiment: votes, groups and truth, and the posteriors under each of two protocols.

**paper**: what the authors' published scripts do. Bayes counts confusion matrices on *all* tasks, test tasks included,
and its log-probabilities are divided by ten; Dawid-Skene has one class prior for both groups.
**honest**: Bayes counts on the 40% of tasks that are not test tasks, log-probabilities are not divided, and Dawid-Skene
has one prior per group. ``CalibratedCrowd``, which is not in the paper, learns from the same 40%.
"""

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from faircrowd.aggregate import BayesVote, CalibratedCrowd, DawidSkene, MajorityVote
from faircrowd.datasets import (
    Crowd,
    load_crowd_judgement,
    load_jigsaw_toxicity,
    load_measuring_hate_speech,
    load_synthetic,
    load_tables,
)
from faircrowd.votes import VoteTable, read_votes
from faircrowd.votes.groups import truth_codes
from faircrowd.votes.vocabulary import Codes

__all__ = ["AGGREGATORS", "PROTOCOLS", "Beliefs", "Material", "beliefs", "load_material", "resample"]

PROTOCOLS = ("paper", "honest")
AGGREGATORS = {
    "paper": ("majority", "bayes", "dawid-skene"),
    "honest": ("majority", "bayes", "dawid-skene", "calibrated"),
}
"""The aggregators of each protocol."""

_LOG_DIVISOR = 10.0
_TRAIN_SHARE = 0.4


class Material(NamedTuple):
    """An encoded data set.

    Attributes
    ----------
    name : str
    votes : VoteTable
        With groups.
    truth : ndarray of int32, shape (n_tasks,)
        Negative where it is not known.
    order : ndarray of int64, shape (n_tasks,)
        The tasks in the order of the source, on which resamples are based.
    """

    name: str
    votes: VoteTable
    truth: Codes
    order: NDArray[np.int64]


class Beliefs(NamedTuple):
    """A posterior, and its logarithms if they are known."""

    values: NDArray[np.float64]
    logs: NDArray[np.float64] | None


@lru_cache(maxsize=2)
def load_material(name: str, data_home: str | None, columns: tuple[str, ...] = ()) -> Material:
    """Load a data set by name; ``columns`` selects group columns of prepared tables."""
    crowd = _load(name, data_home)
    several = getattr(crowd.groups, "columns", None) is not None
    groups = crowd.groups[list(columns)] if columns and several else crowd.groups
    votes = read_votes(crowd.votes, sensitive_features=groups)
    truth = np.full(votes.n_tasks, -1, dtype=np.int32) if crowd.truth is None else truth_codes(votes, crowd.truth)[0]
    return Material(name, votes, truth, crowd.order)


def resample(material: Material, seed: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the test tasks (60%) and the others, the same as scikit-learn's ``train_test_split`` for a seed."""
    n_tasks = material.order.size
    shuffled = material.order[np.random.RandomState(seed).permutation(n_tasks)]
    n_test = n_tasks - int(_TRAIN_SHARE * n_tasks)
    return shuffled[:n_test], shuffled[n_test:]


def beliefs(material: Material, protocol: str, aggregator: str, others: NDArray[np.int64]) -> Beliefs:
    """Return the posterior of every task under a protocol; "honest" uses the truth of ``others`` only."""
    votes = material.votes
    if aggregator in ("bayes", "calibrated"):
        gold = np.arange(votes.n_tasks) if protocol == "paper" else others
        known = gold[material.truth[gold] >= 0]
        tasks, labels = votes.tasks.some(known), votes.classes.some(material.truth[known])
        model = BayesVote() if aggregator == "bayes" else CalibratedCrowd(by_group=True)
        logs = model.fit(votes, dict(zip(tasks, labels, strict=True))).posterior_.in_memory().log_values
        if protocol == "paper":
            logs = logs / _LOG_DIVISOR
            logs = logs - np.logaddexp.reduce(logs, axis=1, keepdims=True)
        return Beliefs(np.exp(logs) / np.exp(logs).sum(axis=1, keepdims=True), logs)
    if aggregator == "majority":
        return Beliefs(MajorityVote().fit(votes).posterior_.in_memory().values, None)
    return _dawid_skene(material.name, protocol, votes)


_FITTED: dict[tuple[str, str], Beliefs] = {}


def _dawid_skene(name: str, protocol: str, votes: VoteTable) -> Beliefs:
    """Fit once per process: no truth is used, so the posterior is the same for every resample."""
    if (name, protocol) not in _FITTED:
        paper = protocol == "paper"
        model = DawidSkene(by_group=True, group_priors=not paper, tol=1e-7 if paper else 1e-4, n_iter=500).fit(votes)
        posterior = model.posterior_.in_memory()
        _FITTED[name, protocol] = Beliefs(posterior.values, posterior.log_values)
    return _FITTED[name, protocol]


def _load(name: str, data_home: str | None) -> Crowd:
    download = data_home is None  # a folder given by the user is only read
    if name == "synthetic":
        return load_synthetic()
    if name == "crowd-judgement":
        return load_crowd_judgement(data_home, download=download)
    if name == "jigsaw":
        return load_jigsaw_toxicity(data_home, download=download)
    if name == "hate-speech":
        return load_measuring_hate_speech(data_home, download=download)
    return load_tables(f"{data_home}/{name}")
