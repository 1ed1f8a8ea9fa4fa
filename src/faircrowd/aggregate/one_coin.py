"""The one-coin model: a worker is right with one probability, whatever the class."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from faircrowd.aggregate.confusion import Confusion, Counts, normalised
from faircrowd.aggregate.dawid_skene import DawidSkene
from faircrowd.aggregate.pooling import log_prior, prior_counts

__all__ = ["OneCoinDawidSkene"]


@dataclass(eq=False, repr=False)
class OneCoinDawidSkene(DawidSkene):
    r"""Dawid and Skene's model with one number per worker (and group): the probability :math:`p_r` of a right vote.

    A wrong vote is equally likely to be any other class: the confusion matrix has :math:`p_r` on its diagonal and
    :math:`(1 - p_r)/(K - 1)` elsewhere. Parameters and attributes are those of :class:`DawidSkene`;
    here ``smoothing`` and ``pooling`` are pseudo-counts of right and of wrong votes.

    Attributes
    ----------
    skills_ : Series named ``skill``, indexed by worker (and group, with ``by_group``)
        The estimated :math:`p_r`.

    References
    ----------
    Y. Zhang, X. Chen, D. Zhou and M. I. Jordan (2016). Spectral methods meet EM.

    Examples
    --------
    >>> from faircrowd import simulate_crowd
    >>> crowd = simulate_crowd(500, 30, random_state=0)
    >>> model = OneCoinDawidSkene().fit(crowd.votes)
    >>> bool(np.corrcoef(model.skills_, crowd.skills.mean(axis=1))[0, 1] > 0.8)
    True
    """

    @property
    def skills_(self) -> Any:
        """The probability that a worker's vote is right."""
        votes = self.votes_
        skills = _skills(self._shown)
        worker, group = np.indices(skills.shape).reshape(2, -1)
        index = {"worker": votes.workers.take(worker)}
        if self._grouped and votes.groups is not None:
            index["group"] = votes.groups.take(group)
        return votes.style.series(index, "skill", skills.ravel())

    def _matrices(self, counts: NDArray[np.float64], pseudo: NDArray[np.float64] | float) -> NDArray[np.float64]:
        n_classes = counts.shape[-1]
        right, wrong = np.moveaxis(normalised(_right_and_wrong(counts) + pseudo, axis=2)[..., None], 2, 0)
        return np.asarray(np.where(np.eye(n_classes, dtype=bool), right, wrong / max(n_classes - 1, 1)))

    def _prior_counts(self, counts: Counts) -> NDArray[np.float64] | float:
        return prior_counts(_right_and_wrong(counts.errors), self.pooling)

    def _most_likely(self, counts: Counts) -> Confusion:
        return Confusion(self._matrices(counts.errors, 0.0), normalised(counts.priors, axis=1))

    def _log_prior(self, model: Confusion) -> float:
        skills = np.clip(_skills(model), 1e-300, 1 - 1e-16)
        priors = model.priors if self.group_priors else model.priors[:1]
        if self.pooling:
            both = np.stack([skills, 1 - skills], axis=2)[..., None]
            return log_prior(both, self._pseudo, axis=2) + log_prior(priors, self.smoothing, axis=1)
        if self.smoothing == 0:
            return 0.0
        return float(self.smoothing * (np.log(skills).sum() + np.log1p(-skills).sum() + np.log(priors).sum()))


def _right_and_wrong(counts: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the numbers of right and of wrong votes: shape (n_workers, n_groups, 2, 1)."""
    diagonal = np.eye(counts.shape[-1], dtype=bool)
    # Wrong votes are summed, not computed as all minus right: a small `smoothing` of none would be rounded away.
    both = np.einsum("rajk,cjk->rac", counts, np.stack([diagonal, ~diagonal]).astype(np.float64))
    return np.asarray(both[..., None])


def _skills(model: Confusion) -> NDArray[np.float64]:
    return model.errors[:, :, 0, 0] if model.errors.size else model.errors.reshape(model.errors.shape[:2])
