r"""Pooling: pseudo-counts that draw a worker's confusion matrix toward the crowd's.

A confusion matrix estimated from ten votes is far too sure of itself. With pooling, the column of a worker's matrix
for the true class k has a Dirichlet prior: :math:`\alpha_{jk}` votes for each label j are added to the worker's own.
A matrix per worker and group is drawn toward the worker's matrix in the same way.

The pseudo-counts are learned once, from the counts after a few rounds without pooling, and then stay as they are. So
every round of expectation-maximisation after that raises one and the same objective. Under the shares of votes, which
are blurred, workers look far more alike than they are; learning in each round was measured too, and is worse
(docs/decisions/0011-pooling.md).
"""

import math

import numpy as np
from numpy.typing import NDArray
from scipy.special import digamma

from faircrowd._checks import LARGEST, check_number
from faircrowd.errors import OptionError
from faircrowd.exact.sums import on_grid

__all__ = ["LEARNED", "ROUNDS_BEFORE", "check_pooling", "log_prior", "prior_counts"]

LEARNED = "learned"

ROUNDS_BEFORE = 3
"""Rounds without pooling, whose counts say how different workers are."""

_STRENGTHS = (2e-4, 2e4)
"""The sum of the pseudo-counts of a true class stays within these; it is in their middle where votes say nothing."""
_MOST_PER_VOTE = 4
"""The crowd counts at most as much as this many times the votes that a worker has, on average, for each true class, and
as this many votes for one vote or less: where workers have a vote or two, counts do not show how different they are."""
_LEAST_SHARE = 1e-6
"""No label has a smaller share of the pseudo-counts."""
_MAX_WORKERS = 1024
"""The prior has few parameters: more workers than this are represented by some of them."""
_MAX_ROUNDS, _HALVINGS, _SETTLED = 50, 16, 1e-4


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
    total = on_grid(of_workers, n_terms=n_workers)[0].sum(axis=0) + 1e-4
    crowd = total / total.sum(axis=0)
    crowd = _learned_counts(of_workers, crowd) if isinstance(pooling, str) else pooling * crowd
    if n_groups == 1:
        if isinstance(pooling, str):
            own = max(float(total.sum()) / (n_workers * n_classes), 1.0)
            crowd = crowd * np.minimum(_MOST_PER_VOTE * own / crowd.sum(axis=0), 1.0)
        return np.asarray(crowd[None, None])
    shrunk = of_workers + crowd
    worker = np.divide(shrunk, shrunk.sum(axis=1, keepdims=True), out=np.zeros_like(shrunk), where=shrunk > 0)
    strength: float | NDArray[np.float64] = pooling if not isinstance(pooling, str) else 0.0
    if isinstance(pooling, str):
        rows = counts.reshape(-1, n_labels, n_classes)
        strength = _learned_strengths(rows, np.repeat(worker, n_groups, axis=0))
    return np.asarray((worker * strength)[:, None])


def log_prior(probabilities: NDArray[np.float64], pseudo: NDArray[np.float64] | float, axis: int) -> float:
    """Return the logarithm of the prior's density, relative to its peak; the order of workers does not matter.

    Parameters
    ----------
    probabilities : ndarray
        They sum to one along ``axis``.
    pseudo : float or ndarray that broadcasts to the shape of ``probabilities``
    """
    pseudo = np.broadcast_to(pseudo, probabilities.shape)
    total = pseudo.sum(axis=axis, keepdims=True)
    ratio = np.divide(probabilities * total, pseudo, out=np.ones(pseudo.shape), where=pseudo > 0)
    terms = pseudo * np.log(np.maximum(ratio, 1e-300))
    (exact,) = on_grid(terms, n_terms=terms.size)
    return float(exact.sum())


def _learned_counts(counts: NDArray[np.float64], shares: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the pseudo-counts (n_labels, n_classes) that make the counts of all workers most likely.

    The column of each true class is a sample of the Dirichlet-multinomial distribution. The sum of its pseudo-counts
    is found by bisection, and the shares of labels in it by Minka's fixed point, in turns.
    """
    (rows,) = _some(counts)
    for _ in range(_MAX_ROUNDS):
        pseudo = _likeliest_strengths(rows, shares) * shares
        weight = pseudo * (digamma(rows + pseudo) - digamma(pseudo)).sum(axis=0)
        total = weight.sum(axis=0)
        better = np.maximum(np.divide(weight, total, out=shares.copy(), where=total > 0), _LEAST_SHARE)
        change = float(np.abs(better - shares).max())
        shares = better
        if change < _SETTLED:
            break
    return np.asarray(_likeliest_strengths(rows, shares) * shares)


def _learned_strengths(counts: NDArray[np.float64], shares: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the sum of the pseudo-counts of each true class, where the shares of labels are given for each row."""
    return _likeliest_strengths(*_some(counts, shares))


def _likeliest_strengths(rows: NDArray[np.float64], shares: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the sum of the pseudo-counts of each true class that makes the rows most likely, given the shares.

    The likelihood has one peak as a function of this sum (Levin and Reeds 1977), so its slope leads there.
    """
    low, high = (np.full(rows.shape[2], math.log(strength)) for strength in _STRENGTHS)
    sizes, flat = rows.sum(axis=1), 1e-9 * len(rows)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        strength = np.exp(middle)
        pseudo = np.maximum(strength * shares, 1e-300)
        rise = (shares * (digamma(rows + pseudo) - digamma(pseudo))).sum(axis=(0, 1))
        slope = strength * (rise - (digamma(sizes + strength) - digamma(strength)).sum(axis=0))
        low, high = np.where(slope < -flat, low, middle), np.where(slope > flat, high, middle)
    return np.asarray(np.exp((low + high) / 2))


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
