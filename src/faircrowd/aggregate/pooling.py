r"""Pooling: pseudo-counts that draw a worker's confusion matrix toward the crowd's.

A confusion matrix estimated from ten votes is far too sure of itself. With pooling, the column of a worker's matrix
for the true class k has a Dirichlet prior: :math:`\alpha_{jk}` votes for each label j are added to the worker's own.
A matrix per worker and group is drawn toward the worker's matrix in the same way.

The pseudo-counts are learned once, from the counts under the shares of votes, and then stay as they are. So every round
of expectation-maximisation raises one and the same objective. Learning them again in each round was measured too, and
is worse (docs/decisions/0011-pooling.md).
"""

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.special import digamma

from faircrowd._checks import LARGEST, check_number
from faircrowd.errors import OptionError
from faircrowd.exact.sums import on_grid

__all__ = ["LEARNED", "check_pooling", "log_prior", "prior_counts"]

LEARNED = "learned"

_SMALLEST, _LARGEST = 1e-4, 1e4
"""Pseudo-counts stay within these."""
_MAX_WORKERS = 4096
"""The prior has few parameters: more workers than this are represented by some of them."""
_MAX_ROUNDS, _SETTLED, _LONGEST_STEP = 50, 1e-2, 50.0


def check_pooling(pooling: object) -> None:
    """Raise unless ``pooling`` is None, "learned" or a number that is not negative."""
    if pooling is None or (isinstance(pooling, str) and pooling == LEARNED):
        return
    if isinstance(pooling, str):
        raise OptionError(f"pooling must be None, {LEARNED!r} or a number of votes; got {pooling!r}.")
    check_number("pooling", pooling, low=0, high=LARGEST)


def prior_counts(counts: NDArray[np.float64], pooling: str | float | None) -> NDArray[np.float64] | float:
    """Return the pseudo-counts of workers, and of workers in groups.

    Parameters
    ----------
    counts : ndarray, shape (n_workers, n_groups, n_labels, n_classes)
        Counts of votes by worker, group, label and true class.
    pooling : {"learned"}, float or None
        Learn the pseudo-counts; or how many votes they add up to for each true class; or none.

    Returns
    -------
    ndarray that broadcasts to the shape of ``counts``, or 0.0 without pooling
    """
    if not pooling or counts.size == 0:
        return 0.0
    n_workers, n_groups, n_labels, n_classes = counts.shape
    of_workers = counts.sum(axis=1)
    total = on_grid(of_workers, n_terms=n_workers)[0].sum(axis=0) + _SMALLEST
    crowd = total / total.sum(axis=0)
    crowd = _learned_counts(of_workers, crowd) if isinstance(pooling, str) else pooling * crowd
    if n_groups == 1:
        return np.asarray(crowd[None, None])
    shrunk = of_workers + crowd
    worker = np.divide(shrunk, shrunk.sum(axis=1, keepdims=True), out=np.zeros_like(shrunk), where=shrunk > 0)
    strength: float | NDArray[np.float64] = pooling if not isinstance(pooling, str) else 0.0
    if isinstance(pooling, str):
        rows = counts.reshape(-1, n_labels, n_classes)
        strength = _learned_strengths(rows, np.repeat(worker, n_groups, axis=0))
    return np.asarray((worker * strength)[:, None])


def log_prior(probabilities: NDArray[np.float64], pseudo: NDArray[np.float64] | float) -> float:
    """Return the logarithm of the prior's density up to a constant; the order of workers does not matter."""
    terms = pseudo * np.log(np.maximum(probabilities, 1e-300))
    (exact,) = on_grid(terms, n_terms=terms.size)
    return float(exact.sum())


def _learned_counts(counts: NDArray[np.float64], means: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the pseudo-counts (n_labels, n_classes) that make the counts of all workers most likely.

    The column of each true class is a sample of the Dirichlet-multinomial distribution: Minka's fixed point.
    """
    (rows,) = _some(counts)
    sizes = rows.sum(axis=1)

    def step(pseudo: NDArray[np.float64]) -> NDArray[np.float64]:
        size = pseudo.sum(axis=0)
        rise = (digamma(rows + pseudo) - digamma(pseudo)).sum(axis=0)
        per_vote = (digamma(sizes + size) - digamma(size)).sum(axis=0)
        return np.asarray(pseudo * np.divide(rise, per_vote, out=np.ones_like(rise), where=per_vote > 0))

    return _fixed_point(step, 2 * means)


def _learned_strengths(counts: NDArray[np.float64], means: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the sum of the pseudo-counts of each true class, where the mean of each row is given."""
    rows, centres = _some(counts, means)
    sizes = rows.sum(axis=1)

    def step(strength: NDArray[np.float64]) -> NDArray[np.float64]:
        pseudo = np.maximum(strength * centres, 1e-300)
        rise = (centres * (digamma(rows + pseudo) - digamma(pseudo))).sum(axis=(0, 1))
        per_vote = (digamma(sizes + strength) - digamma(strength)).sum(axis=0)
        return np.asarray(strength * np.divide(rise, per_vote, out=np.ones_like(rise), where=per_vote > 0))

    return _fixed_point(step, np.full(counts.shape[2], 2.0))


def _fixed_point(
    step: Callable[[NDArray[np.float64]], NDArray[np.float64]], start: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Repeat a step until nothing changes by more than a hundredth; the last axis holds independent problems.

    Two steps tell direction and bend of the path, along which the next point is extrapolated (Varadhan and Roland's
    SQUAREM, on logarithms): ten to twenty steps in place of hundreds.
    """

    def log_step(at: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray(np.log(np.clip(step(np.exp(at)), _SMALLEST, _LARGEST)))

    at = np.log(np.clip(start, _SMALLEST, _LARGEST))
    axes = tuple(range(at.ndim - 1))
    for _ in range(_MAX_ROUNDS):
        once = log_step(at)
        twice = log_step(once)
        first = once - at
        if float(np.abs(first).max()) < _SETTLED:
            return np.asarray(np.exp(twice))
        bend = twice - once - first
        squares = np.sum(bend * bend, axis=axes), np.sum(first * first, axis=axes)
        length = np.clip(np.sqrt(squares[1] / np.maximum(squares[0], 1e-300)), 1.0, _LONGEST_STEP)
        at = np.clip(at + 2 * length * first + length**2 * bend, math.log(_SMALLEST), math.log(_LARGEST))
    return np.asarray(np.exp(log_step(at)))


def _some(*arrays: NDArray[np.float64]) -> list[NDArray[np.float64]]:
    """Return the rows of arrays (n_rows, n_labels, n_classes) in an order that depends on their values alone.

    The rows of each class are sorted on their own; of very many, a sample is returned.
    """
    n_rows, _, n_classes = arrays[0].shape
    columns = []
    for k in range(n_classes):
        keys = np.concatenate([values[..., k] for values in arrays], axis=1)
        columns.append(np.lexsort(keys.T[::-1]))
    order = np.stack(columns, axis=1)[::-1]
    step = max(-(-n_rows // _MAX_WORKERS), 1)
    return [np.take_along_axis(values, order[::step, None, :], axis=0) for values in arrays]
