"""The one-coin model: a worker is right with one probability, whatever the class."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from faircrowd.aggregate.confusion import Confusion, Counts, normalised
from faircrowd.aggregate.dawid_skene import DawidSkene

__all__ = ["OneCoinDawidSkene"]


@dataclass(eq=False)
class OneCoinDawidSkene(DawidSkene):
    r"""Dawid and Skene's model with one number per worker (and group): the probability :math:`p_r` of a right vote.

    A wrong vote is equally likely to be any other class: the confusion matrix has :math:`p_r` on its diagonal and
    :math:`(1 - p_r)/(K - 1)` elsewhere. Parameters and attributes are those of :class:`DawidSkene`;
    here ``smoothing`` is a pseudo-count of right and of wrong votes.

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

    def _maximise(self, counts: Counts) -> Confusion:
        return Confusion(self._one_coin(counts, self.smoothing), self._class_shares(counts))

    def _most_likely(self, counts: Counts) -> Confusion:
        return Confusion(self._one_coin(counts, 0.0), normalised(counts.priors, axis=1))

    def _one_coin(self, counts: Counts, smoothing: float) -> NDArray[np.float64]:
        n_classes = counts.priors.shape[1]
        diagonal = np.eye(n_classes, dtype=bool)
        # Wrong votes are summed, not computed as all minus right: a small `smoothing` of none would be rounded away.
        votes = np.einsum("rajk,cjk->cra", counts.errors, np.stack([diagonal, ~diagonal]).astype(np.float64))
        right, wrong = normalised(votes + smoothing, axis=0)[..., None, None]
        return np.asarray(np.where(diagonal, right, wrong / max(n_classes - 1, 1)))

    def _log_prior(self, model: Confusion) -> float:
        if self.smoothing == 0:
            return 0.0
        skills = np.clip(_skills(model), 1e-300, 1 - 1e-16)
        logs = (
            np.log(skills).sum()
            + np.log1p(-skills).sum()
            + np.log(model.priors if self.group_priors else model.priors[:1]).sum()
        )
        return float(self.smoothing * logs)


def _skills(model: Confusion) -> NDArray[np.float64]:
    return model.errors[:, :, 0, 0] if model.errors.size else model.errors.reshape(model.errors.shape[:2])
