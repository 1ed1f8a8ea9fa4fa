r"""Gaps shrunken toward the crowd's, the more so the fewer votes they rest on: empirical Bayes.

**Model.** For one label, :math:`d_{wa}` is worker w's rate in group a minus the mean of their rates over the groups
they voted in (two groups: half their difference, and minus it). It has sampling variance :math:`v_{wa}`, and workers
differ by a normal distribution: :math:`d_{wa} \sim N(\theta_{wa}, v_{wa})`,
:math:`\theta_{wa} \sim N(\mu_a, \tau_a^2)`.

**Method.** :math:`\mu_a` and :math:`\tau_a^2` are those of DerSimonian and Laird (1986), from the workers who voted
in all groups. The shrunken difference is the posterior mean :math:`\mu_a + B (d_{wa} - \mu_a)`,
:math:`B = \tau_a^2 / (\tau_a^2 + v_{wa})`. The variance of a rate is :math:`q (1 - q) / n`, with q the worker's rate
over all groups after adding two votes at the crowd's rate, so that one or two equal votes do not count as
certainty.
"""

from itertools import product

import numpy as np
from numpy.typing import NDArray

from faircrowd.audit.workers.worker_counts import range_over_groups

__all__ = ["normal_prior", "shrunken_gaps"]


def shrunken_gaps(counts: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the shrunken gap of each worker; NaN for those who voted in fewer than two groups.

    Parameters
    ----------
    counts : ndarray, shape (n_workers, n_strata, n_groups, n_classes)
        Votes; the gap is the largest over strata (true classes, or one for all votes) and classes.
    """
    n_workers, n_strata, _, n_classes = counts.shape
    gaps = np.full(n_workers, np.nan)
    for s, k in product(range(n_strata), range(n_classes)):
        gaps = np.fmax(gaps, range_over_groups(_shrunken(counts[:, s, :, k], counts[:, s].sum(axis=2)), axis=1))
    return gaps


def normal_prior(values: NDArray[np.float64], variances: NDArray[np.float64]) -> tuple[float, float]:
    """Return the mean and variance of the distribution of the true values (DerSimonian and Laird)."""
    weights = 1.0 / variances
    mean = weights @ values / weights.sum()
    beyond = weights @ (values - mean) ** 2 - (values.size - 1)
    variance = max(float(beyond / (weights.sum() - weights @ weights / weights.sum())), 0.0)
    weights = 1.0 / (variances + variance)
    return float(weights @ values / weights.sum()), variance


def _shrunken(hits: NDArray[np.int64], votes: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the shrunken differences of one label, shape (n_workers, n_groups); NaN without votes."""
    voted, found = votes > 0, np.asarray(votes.sum(axis=0) > 0)
    n_voted = np.maximum(voted.sum(axis=1, keepdims=True), 1)
    everywhere = voted[:, found].all(axis=1)
    rates = np.divide(hits, votes, out=np.zeros(hits.shape), where=voted)
    differences = np.where(voted, rates - rates.sum(axis=1, keepdims=True) / n_voted, np.nan)
    crowd = hits.sum() / max(votes.sum(), 1)
    if not 0 < crowd < 1 or np.count_nonzero(everywhere) < 2:
        return differences  # nothing to learn from the others
    pooled = (hits.sum(axis=1, keepdims=True) + 2 * crowd) / (votes.sum(axis=1, keepdims=True) + 2)
    variances = np.divide(pooled * (1 - pooled), votes, out=np.zeros(hits.shape), where=voted)
    total = variances.sum(axis=1, keepdims=True)
    variances = np.where(voted & (n_voted > 1), variances * (1 - 2 / n_voted) + total / n_voted**2, np.nan)
    priors = np.array(
        [
            normal_prior(differences[everywhere, a], variances[everywhere, a]) if found[a] else (0.0, 0.0)
            for a in range(found.size)
        ]
    )
    # For a worker who voted in some groups only, differences and expectations are from the mean over these groups.
    expected = priors[:, 0] - (voted * priors[:, 0]).sum(axis=1, keepdims=True) / n_voted
    return np.asarray(expected + priors[:, 1] / (priors[:, 1] + variances) * (differences - expected))
