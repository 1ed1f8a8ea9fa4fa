"""Posteriors near 1, spread out by rank: step 0 of the paper's Algorithm 1."""

import numpy as np
from numpy.typing import NDArray

from faircrowd.votes.vocabulary import Codes

__all__ = ["spread_by_rank", "spread_by_value"]


def spread_by_value(posterior: NDArray[np.float64], width: float) -> NDArray[np.float64]:
    r"""Replace posteriors of at least :math:`1 - \alpha` by :math:`1 - \alpha + \alpha k / n`, equal ones alike.

    k is the place of a value among the n different values of its class there, from 1. With two classes the other
    posterior stays the complement. (The paper prints :math:`k / n` alone, which would send sure tasks below
    doubtful ones.)
    """
    spread = posterior.copy()
    for k in range(posterior.shape[1]):
        sure = np.flatnonzero(posterior[:, k] >= 1.0 - width)
        doubt = np.delete(posterior[sure], k, axis=1).sum(axis=1)  # near 1 it keeps more digits
        values, place = np.unique(-doubt, return_inverse=True)
        spread[sure, k] = 1.0 - width + width * (place + 1) / max(values.size, 1)
        if posterior.shape[1] == 2:
            spread[sure, 1 - k] = 1.0 - spread[sure, k]
    return spread


def spread_by_rank(
    posterior: NDArray[np.float64], width: float, keys: NDArray[np.uint64], part: Codes
) -> NDArray[np.float64]:
    r"""Replace posteriors above :math:`1 - \alpha` by :math:`1 - \alpha + \alpha k / n`, as the authors' scripts do.

    k is the rank of a task among the n of its class and part, from 0; equal ones are ordered by ``keys``. The
    posteriors of the other classes stay as they are.
    """
    spread = posterior.copy()
    for k in range(posterior.shape[1]):
        sure = np.flatnonzero(posterior[:, k] > 1.0 - width)
        sure = sure[np.lexsort((keys[sure], posterior[sure, k]))]
        for a in np.unique(part[sure]):
            rows = sure[part[sure] == a]
            spread[rows, k] = 1.0 - width + width * np.arange(rows.size) / rows.size
    return spread
