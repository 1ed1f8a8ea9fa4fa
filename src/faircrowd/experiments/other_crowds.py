"""Real crowds beyond the paper's method: three to six classes, four groups, two sensitive attributes."""

import time
import warnings
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from faircrowd.experiments.experiment_data import Material, beliefs, load_material
from faircrowd.fair.gap import gap_of
from faircrowd.fair.make import make_fair

__all__ = ["COLUMNS", "CROWDS", "EPSILONS", "Crossing", "extra_rows", "extra_units"]

COLUMNS = (
    "dataset",
    "groups",
    "n_groups",
    "n_classes",
    "aggregator",
    "epsilon",
    "gap",
    "believed_accuracy",
    "accuracy",
    "changed",
    "optimality_gap",
    "seconds",
)
EPSILONS = (0.0, 0.01, 0.05, 0.1, 0.2)
CROWDS: dict[str, list[tuple[str, ...]]] = {
    "tweets-hate-3class": [("dialect",)],
    "politifact-6class": [("party",)],
    "faces-4class": [("orientation",), ("eye",), ("orientation", "eye")],
    "hatexplain-3class": [("targets_women",), ("targets_african",), ("targets_women", "targets_african")],
}


class Crossing(NamedTuple):
    """A unit of work: a crowd and the columns that define its groups."""

    dataset: str
    groups: tuple[str, ...]


def extra_units() -> list[Crossing]:
    """Return the units."""
    return [Crossing(name, columns) for name, choices in CROWDS.items() for columns in choices]


def extra_rows(unit: Crossing, data_home: str | None) -> list[dict[str, Any]]:
    """Make labels fair for every epsilon; return one row for each, and one without fairness."""
    material = load_material(unit.dataset, data_home, unit.groups)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return list(_rows(material, unit))


def _rows(material: Material, unit: Crossing) -> Iterator[dict[str, Any]]:
    votes, truth = material.votes, material.truth
    group, known = np.asarray(votes.group), truth >= 0
    shape = {"n_groups": len(votes.groups or ()), "n_classes": votes.n_classes}
    for aggregator in ("majority", "dawid-skene"):
        belief = beliefs(material, "honest", aggregator, np.empty(0, dtype=np.int64))
        row = {"dataset": unit.dataset, "groups": " & ".join(unit.groups), **shape, "aggregator": aggregator}
        own = np.argmax(belief.values, axis=1)
        rates = [np.bincount(own[group == a], minlength=votes.n_classes) / (group == a).sum() for a in np.unique(group)]
        right = float((own == truth)[known].mean()) if known.any() else None
        before = {"gap": gap_of(rates), "believed_accuracy": float(belief.values.max(axis=1).mean())}
        yield {**dict.fromkeys(COLUMNS), **row, **before, "accuracy": right, "changed": 0}
        for epsilon in EPSILONS:
            start = time.perf_counter()
            fair = make_fair(belief.values, group, epsilon=epsilon, evidence=votes.votes_per_task)
            seconds, c = time.perf_counter() - start, fair.certificate
            right = float((fair.labels == truth)[known].mean()) if known.any() else None
            found = {"gap": c.gap, "believed_accuracy": c.believed_accuracy, "accuracy": right, "changed": c.changed}
            proof = {"epsilon": epsilon, "optimality_gap": c.optimality_gap, "seconds": seconds}
            yield {**row, **found, **proof}
