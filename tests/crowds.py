"""Every aggregator with settings and what it needs to be fitted, and small crowds to fit it to."""

import hashlib
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

import faircrowd as fc
from faircrowd.aggregate.em import Iterative
from faircrowd.aggregate.registry import kind_named


@dataclass(frozen=True)
class Case:
    """An aggregator by its name, its settings, and whether it learns by group."""

    name: str
    settings: dict[str, Any]
    learns_groups: bool = False

    @property
    def kind(self) -> Any:
        return kind_named(self.name).load()

    def fit(self, crowd: "Crowd", **settings: Any) -> Any:
        model = self.kind(**{**self.settings, **settings})
        return model.fit(crowd.votes, *self.truth(crowd), **self.groups(crowd))

    def truth(self, crowd: "Crowd") -> tuple[Any, ...]:
        return (crowd.gold,) if kind_named(self.name).gold == "required" else ()

    def groups(self, crowd: "Crowd") -> dict[str, Any]:
        return {"sensitive_features": crowd.groups} if self.learns_groups else {}

    @property
    def is_em(self) -> bool:
        return issubclass(self.kind, Iterative)


@dataclass(frozen=True)
class Crowd:
    """Votes, the group of each task, and the true labels of some tasks."""

    votes: pd.DataFrame
    groups: dict[Any, Any]
    gold: dict[Any, Any]

    def renamed(self, column: str, names: dict[Any, Any]) -> "Crowd":
        votes = self.votes.assign(**{column: self.votes[column].map(names)})
        if column == "task":
            return Crowd(votes, _keys(self.groups, names), _keys(self.gold, names))
        gold = {task: names[label] for task, label in self.gold.items()} if column == "label" else self.gold
        return Crowd(votes, self.groups, gold)

    def shuffled(self, seed: int) -> "Crowd":
        return Crowd(self.votes.sample(frac=1, random_state=seed), self.groups, self.gold)


def _keys(values: dict[Any, Any], names: dict[Any, Any]) -> dict[Any, Any]:
    return {names[key]: value for key, value in values.items()}


SETTLED = {"n_iter": 1000, "tol": 1e-3}
CASES = {
    "majority": Case("majority", {}),
    "majority-last": Case("majority", {"ties": "last"}),
    "wawa": Case("wawa", {}),
    "zero-based": Case("zero-based", {}),
    "gold": Case("gold-majority", {}),
    "bayes": Case("bayes", {}),
    "bayes-by-group": Case("bayes", {}, learns_groups=True),
    "dawid-skene": Case("dawid-skene", SETTLED),
    "dawid-skene-skill": Case("dawid-skene", {**SETTLED, "start": "skill"}),
    "dawid-skene-smooth": Case("dawid-skene", {**SETTLED, "smoothing": 0.1}),
    "dawid-skene-accelerated": Case("dawid-skene", {**SETTLED, "accelerate": True}),
    "dawid-skene-by-group": Case("dawid-skene", {**SETTLED, "by_group": True}, learns_groups=True),
    "dawid-skene-pooled": Case("dawid-skene", {**SETTLED, "pooling": "learned"}),
    "dawid-skene-pooled-by-group": Case(
        "dawid-skene", {**SETTLED, "by_group": True, "pooling": "learned"}, learns_groups=True
    ),
    "dawid-skene-pooled-by-number": Case(
        "dawid-skene", {**SETTLED, "by_group": True, "pooling": 3}, learns_groups=True
    ),
    "one-coin": Case("one-coin", SETTLED),
    "one-coin-by-group": Case("one-coin", {**SETTLED, "by_group": True}, learns_groups=True),
    "one-coin-pooled": Case("one-coin", {**SETTLED, "pooling": "learned"}),
    "one-coin-pooled-by-group": Case(
        "one-coin", {**SETTLED, "by_group": True, "pooling": "learned"}, learns_groups=True
    ),
    "glad": Case("glad", SETTLED),
    "calibrated": Case("calibrated", {}),
    "calibrated-by-group": Case("calibrated", {"by_group": True}, learns_groups=True),
    "jury": Case("jury", {}),
}


def simulated(n_classes: int = 3, n_tasks: int = 60, n_workers: int = 9, votes: int = 4, seed: int = 0) -> Crowd:
    """Return a simulated crowd with ties, names of groups, and gold labels for every third task."""
    shares = np.full(n_classes, 1 / n_classes)
    crowd = fc.simulate_crowd(
        n_tasks, n_workers, votes, class_shares=[shares, shares], skill_ranges=((0.3, 0.9), (0.5, 1)), random_state=seed
    )
    groups = {task: "ab"[group] for task, group in crowd.sensitive_features.items()}
    return Crowd(crowd.votes, groups, crowd.truth[::3].to_dict())


def digests(renamed: str) -> dict[str, str]:
    """Return a hash of the probabilities that each case gives to 12,000 tasks; names may be those of ``everybody``."""
    crowd = simulated(n_tasks=12_000, n_workers=300, votes=3, seed=5)
    tasks = np.arange(12_000)
    if renamed == "everybody":
        rng = np.random.default_rng(1)
        tasks = rng.permutation(tasks)
        crowd = crowd.renamed("task", dict(enumerate(tasks.tolist())))
        crowd = crowd.renamed("worker", dict(enumerate(rng.permutation(300).tolist()))).shuffled(2)
    found = {}
    for name, case in CASES.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            probas = case.fit(crowd).probas_.loc[tasks]
        found[name] = hashlib.sha256(np.ascontiguousarray(probas.to_numpy()).tobytes()).hexdigest()
    return found
