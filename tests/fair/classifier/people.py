"""Rows with two groups that differ in what decides the class, for the tests of classifiers."""

from typing import Any, NamedTuple

import numpy as np
import pandas as pd


class People(NamedTuple):
    """Features, classes and sensitive columns."""

    X: pd.DataFrame
    y: Any
    groups: pd.DataFrame

    def part(self, rows: Any) -> "People":
        return People(self.X.iloc[rows], self.y[rows], self.groups.iloc[rows])


def people(n: int = 1200, n_classes: int = 2, seed: int = 0) -> People:
    rng = np.random.default_rng(seed)
    sex, race = rng.choice(["f", "m"], n, p=[0.4, 0.6]), rng.choice(["a", "b"], n, p=[0.3, 0.7])
    X = rng.normal(size=(n, 3)) + 0.8 * np.outer(sex == "m", [1, 0, 0]) + 0.4 * np.outer(race == "a", [0, 1, 0])
    score = X[:, 0] + X[:, 1] + rng.normal(size=n)
    names = np.array(["maybe", "no", "yes", "zero"][:n_classes] if n_classes > 2 else ["no", "yes"])
    y = names[np.searchsorted(np.quantile(score, np.arange(1, n_classes) / n_classes), score)]
    groups = pd.DataFrame({"sex": sex, "race": race})
    return People(pd.DataFrame(X, columns=["skill", "effort", "luck"]), y, groups)


def rates(labels: Any, groups: Any, classes: Any) -> np.ndarray:
    """Return the share of each class in each group, counted here."""
    groups = np.asarray(groups)
    return np.array([[np.mean(labels[groups == a] == k) for k in classes] for a in np.unique(groups)])


def gap(labels: Any, groups: Any, classes: Any) -> float:
    return float(np.ptp(rates(labels, groups, classes), axis=0).max())
