"""An estimator for fairlearn that returns the posterior it is given as X."""

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin  # type: ignore[import-untyped]


class GivenPosterior(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Returns X as the probabilities."""

    def fit(self, X: Any, y: Any) -> Any:
        """Keep the classes."""
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, X: Any) -> Any:
        """Return X."""
        return np.asarray(X)
