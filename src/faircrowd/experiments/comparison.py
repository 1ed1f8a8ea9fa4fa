"""F1, accuracy and gap against epsilon: several aggregators, with and without fairness, on resamples."""

import time
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from faircrowd.baselines import FairTD, PostTD, SmoothedFairCrowd
from faircrowd.experiments.experiment_data import (
    AGGREGATORS,
    PROTOCOLS,
    Beliefs,
    Material,
    beliefs,
    load_material,
    resample,
)
from faircrowd.fair.gap import gap_of
from faircrowd.fair.make import make_fair
from faircrowd.votes import VoteTable
from faircrowd.votes.vocabulary import Codes

__all__ = ["COLUMNS", "DESIGNS", "Design", "Unit", "comparison_rows", "comparison_units"]

COLUMNS = (
    "dataset",
    "protocol",
    "aggregator",
    "fairness",
    "objective",
    "epsilon",
    "seed",
    "f1",
    "accuracy",
    "gap",
    "seconds",
)


class Design(NamedTuple):
    """The epsilons of the paper for a data set, and the largest number of rounds of FairTD."""

    epsilons: tuple[float, ...]
    rounds: int


DESIGNS = {
    "synthetic": Design((0.01, 0.05, 0.1, 0.2), 20_000),
    "crowd-judgement": Design((0.01, 0.05, 0.1, 0.2), 20_000),
    "jigsaw": Design((0.01, 0.02, 0.05, 0.07, 0.08), 2_000),
    "hate-speech": Design((0.05, 0.1, 0.15, 0.2), 1_000),
}


class Unit(NamedTuple):
    """A unit of work: one resample of a data set under a protocol, or FairTD, which is the same under both."""

    dataset: str
    protocol: str
    seed: int


def comparison_units(dataset: str, seeds: int) -> list[Unit]:
    """Return the units of a data set, the longest first."""
    return [Unit(dataset, protocol, seed) for protocol in ("fair_td", *PROTOCOLS) for seed in range(seeds)]


def comparison_rows(unit: Unit, data_home: str | None) -> list[dict[str, Any]]:
    """Run a unit; return one row per method and epsilon."""
    material = load_material(unit.dataset, data_home)
    test, others = resample(material, unit.seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the rows show what did not converge
        made = _fair_td(material, unit, test) if unit.protocol == "fair_td" else _compared(material, unit, test, others)
        return list(made)


def _compared(
    material: Material, unit: Unit, test: NDArray[np.int64], others: NDArray[np.int64]
) -> Iterator[dict[str, Any]]:
    group, evidence = material.votes.group[test], material.votes.votes_per_task[test]  # type: ignore[index]
    printed = "published" if unit.protocol == "paper" else "printed"
    for aggregator in AGGREGATORS[unit.protocol]:
        known = beliefs(material, unit.protocol, aggregator, others)
        here = Beliefs(known.values[test], None if known.logs is None else known.logs[test])
        row = {"dataset": unit.dataset, "protocol": unit.protocol, "aggregator": aggregator, "seed": unit.seed}
        yield _scored(material, test, row, "none", partial(np.argmax, here.values, axis=1))
        for epsilon in DESIGNS[unit.dataset].epsilons:
            at = {**row, "epsilon": epsilon}
            for objective in ("accuracy", "f1"):
                yield _scored(
                    material,
                    test,
                    {**at, "objective": objective},
                    "faircrowd",
                    partial(_faircrowd, here, group, evidence, epsilon, objective),
                )
            post = PostTD(None, epsilon=epsilon, random_state=unit.seed)
            yield _scored(material, test, at, "post_td", _fitted(post, here.values, group))
            smoothed = SmoothedFairCrowd(None, epsilon=epsilon, protocol=printed, random_state=unit.seed)
            yield _scored(material, test, at, "smoothed", _fitted(smoothed, here.values, group))


def _fair_td(material: Material, unit: Unit, test: NDArray[np.int64]) -> Iterator[dict[str, Any]]:
    """Run FairTD on the votes of the test tasks; it uses no truth, so both protocols have the same rows."""
    under_test = np.zeros(material.votes.n_tasks, dtype=bool)
    under_test[test] = True
    votes = material.votes.select(np.repeat(under_test, material.votes.votes_per_task))
    order = np.sort(test)
    design = DESIGNS[unit.dataset]
    for epsilon in design.epsilons:
        model = FairTD(epsilon=epsilon, n_iter=design.rounds, random_state=unit.seed)
        row = {"dataset": unit.dataset, "aggregator": "fair_td", "epsilon": epsilon, "seed": unit.seed}
        made = _scored(material, order, row, "fair_td", partial(_labels, model, votes))
        for protocol in PROTOCOLS:
            yield {**made, "protocol": protocol}


def _faircrowd(here: Beliefs, group: Codes, evidence: NDArray[np.int64], epsilon: float, objective: str) -> ArrayLike:
    fair = make_fair(
        here.values, group, epsilon=epsilon, objective=objective, log_posterior=here.logs, evidence=evidence
    )
    return np.asarray(fair.labels)


def _labels(model: FairTD, votes: VoteTable) -> NDArray[np.int64]:
    return np.asarray(model.fit(votes).labels_, dtype=np.int64)


def _fitted(model: PostTD | SmoothedFairCrowd, posterior: NDArray[np.float64], group: Codes) -> Callable[[], ArrayLike]:
    return lambda: np.asarray(model.fit(posterior, sensitive_features=group).labels_)


def _scored(
    material: Material, test: NDArray[np.int64], row: dict[str, Any], fairness: str, label: Callable[[], ArrayLike]
) -> dict[str, Any]:
    start = time.perf_counter()
    labels = np.asarray(label())
    seconds = time.perf_counter() - start
    truth, group = material.truth[test], material.votes.group[test]  # type: ignore[index]
    known = truth >= 0
    hits = float(((labels == 1) & (truth == 1))[known].sum())
    total = float((labels[known] == 1).sum() + (truth[known] == 1).sum())
    rates = [[(labels[group == a] == k).mean() for k in range(2)] for a in np.unique(group)]
    scores = {
        "f1": 2 * hits / total if total else 0.0,
        "accuracy": float((labels == truth)[known].mean()),
        "gap": gap_of(rates),
        "seconds": seconds,
    }
    return {**dict.fromkeys(COLUMNS), **row, "fairness": fairness, **scores}
