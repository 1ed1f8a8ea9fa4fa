"""Other ways to make two classes fair between two groups: each gives labels for posteriors p of class 1."""

import importlib.util
import math
from collections.abc import Callable

import numpy as np
from scipy.optimize import minimize

__all__ = ["RIVALS", "post_td", "signed_gap", "smoothed", "threshold_grid", "threshold_optimizer"]

SIGNS = (-1.0, 1.0)


def signed_gap(labels: np.ndarray, group: np.ndarray) -> float:
    """The rate of group 1 minus that of group 0; labels may be probabilities."""
    return float(labels[group == 1].mean() - labels[group == 0].mean())


def post_td(p: np.ndarray, group: np.ndarray, epsilon: float, rng: np.random.Generator) -> np.ndarray:
    """Post_TD: flip as many labels up in the lower group as down in the higher, chosen at random."""
    labels = (p > 0.5).astype(np.int64)
    gap = signed_gap(labels, group)
    if abs(gap) <= epsilon:
        return labels
    high = int(gap > 0)
    sizes = np.bincount(group, minlength=2)
    wanted = math.ceil((abs(gap) - epsilon) * sizes[0] * sizes[1] / sizes.sum())
    for side, before in ((high, 1), (1 - high, 0)):
        open_to_it = np.flatnonzero((group == side) & (labels == before))
        labels[rng.choice(open_to_it, min(wanted, open_to_it.size), replace=False)] = 1 - before
    return labels


def threshold_grid(p: np.ndarray, group: np.ndarray, epsilon: float, rng: np.random.Generator) -> np.ndarray:
    """The best pair of thresholds of a grid that keeps epsilon."""
    steps = np.linspace(0.0, 1.01, 102)
    rates, worth = [], []
    for a in (0, 1):
        marked = p[group == a] >= steps[:, None]
        rates.append(marked.mean(axis=1))
        worth.append(np.where(marked, p[group == a], 1 - p[group == a]).sum(axis=1))
    total = worth[0][:, None] + worth[1]
    total[np.abs(rates[0][:, None] - rates[1]) > epsilon] = -np.inf
    best = np.unravel_index(np.argmax(total), total.shape)
    return (p >= steps[np.array(best)][group]).astype(np.int64)


def smoothed(p: np.ndarray, group: np.ndarray, epsilon: float, rng: np.random.Generator) -> np.ndarray:
    """The paper's rule as its scripts have it: ends spread by rank, noise for ties, a softened dual, no tie weights."""
    p = np.concatenate([_spread_ends(p[group == a], rng) for a in (0, 1)])[np.argsort(np.argsort(group, kind="stable"))]
    p = p + rng.uniform(0.0, 1e-5, p.size)
    shares = np.bincount(group, minlength=2) / group.size
    scores = [shares[a] * np.stack([1 - p[group == a], p[group == a]]) for a in (0, 1)]

    def loss(x: np.ndarray) -> float:
        beta, total = x[0] - x[1], epsilon * x.sum()
        for sign, both in zip(SIGNS, scores, strict=True):
            total += _soft_max(both - sign * beta / 2 * np.array([[-1.0], [1.0]]))
        return float(total)

    x = minimize(loss, [0.0, 0.0], method="SLSQP", bounds=[(0, None)] * 2, options={"ftol": 1e-9}).x
    threshold = (shares + np.array(SIGNS) * (x[0] - x[1])) / (2 * shares)
    return (p > threshold[group]).astype(np.int64)


def _soft_max(scores: np.ndarray, temperature: float = 1e-3) -> float:
    weights = np.exp((scores - scores.max(axis=0)) / temperature)
    return float(((weights * scores).sum(axis=0) / weights.sum(axis=0)).mean())


def _spread_ends(p: np.ndarray, rng: np.random.Generator, width: float = 0.04) -> np.ndarray:
    """Replace posteriors beyond 1 - width, at either end, by their rank there; ties by lot."""
    p = p.copy()
    for sign, end in ((1, p > 1 - width), (-1, p < width)):
        place = np.flatnonzero(end)
        ranks = np.empty(place.size)
        ranks[np.lexsort((rng.random(place.size), sign * p[place]))] = np.arange(1, place.size + 1)
        sure = 1 - width + width * ranks / max(place.size, 1)
        p[place] = sure if sign > 0 else 1 - sure
    return p


def threshold_optimizer(p: np.ndarray, group: np.ndarray, epsilon: float, rng: np.random.Generator) -> np.ndarray:
    """A draw of fairlearn's ThresholdOptimizer, which is told a truth drawn from the posterior."""
    from fairlearn.postprocessing import ThresholdOptimizer
    from sklearn.base import BaseEstimator

    class Given(BaseEstimator):
        """An estimator whose prediction is its input."""

        def fit(self, x: np.ndarray, y: np.ndarray) -> "Given":
            self.fitted_ = True
            return self

        def predict(self, x: np.ndarray) -> np.ndarray:
            return np.asarray(x)[:, 0]

    model = ThresholdOptimizer(estimator=Given(), predict_method="predict", tol=epsilon)
    model.fit(p[:, None], (rng.random(p.size) < p).astype(int), sensitive_features=group)
    drawn = model.predict(p[:, None], sensitive_features=group, random_state=int(rng.integers(2**31)))
    return np.asarray(drawn, dtype=np.int64)


RIVALS: dict[str, Callable[[np.ndarray, np.ndarray, float, np.random.Generator], np.ndarray]] = {
    "Post_TD": post_td,
    "grid of thresholds": threshold_grid,
    "smoothed, with noise": smoothed,
}
if importlib.util.find_spec("fairlearn"):
    RIVALS["fairlearn"] = threshold_optimizer
