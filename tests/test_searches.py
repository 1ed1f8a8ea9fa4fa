"""Warnings inside searches of scikit-learn: once per search, and in full from the model that is kept."""

import warnings
from typing import Any, Self

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.model_selection import GridSearchCV, cross_val_score

from faircrowd._checks import warn
from faircrowd._searches import ONCE_PER_SEARCH
from faircrowd.errors import DataWarning, DrasticChangeWarning

X, Y = np.zeros((30, 1)), np.arange(30) % 2


class Warner(ClassifierMixin, BaseEstimator):
    """Warns in every fit, with numbers that no two fits share."""

    fits = 0

    def __init__(self, epsilon: float = 0.05) -> None:
        self.epsilon = epsilon

    def fit(self, X: Any, y: Any) -> Self:
        type(self).fits += 1
        self.classes_ = np.unique(y)
        for kind, text in ((DrasticChangeWarning, "labels were changed"), (DataWarning, "tasks are left out")):
            warn(f"{type(self).fits:,} {text}", kind)
        warn("something else is odd", DataWarning)
        return self

    def predict(self, X: Any) -> Any:
        return np.zeros(len(X), dtype=int)


class Unhashable(Warner):
    """As the estimators of some other libraries are."""

    __hash__ = None  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        return self is other


def told(call: Any) -> list[str]:
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        call()
    return [str(one.message) for one in found if issubclass(one.category, DataWarning)]


def test_a_search_tells_each_warning_once_and_the_kept_model_in_full() -> None:
    for _ in range(2):
        said = told(lambda: GridSearchCV(Warner(), {"epsilon": [0.1, 0.2, 0.3]}, cv=3).fit(X, Y))
        folds, kept = said[:3], said[3:]
        assert len(kept) == 3
        assert all(line.endswith(f". {ONCE_PER_SEARCH}") for line in folds)
        assert not any(ONCE_PER_SEARCH in line for line in kept)


@pytest.mark.parametrize("estimator", [Warner(), Unhashable()])
def test_a_cross_validation_too(estimator: Warner) -> None:
    assert len(told(lambda: cross_val_score(estimator, X, Y, cv=5))) == 3


def test_fits_of_ones_own_warn_every_time() -> None:
    assert len(told(lambda: [Warner().fit(X, Y) for _ in range(3)])) == 9
