"""The workers that a plan is made for: skills that are assumed, or estimated from votes. Two classes."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from faircrowd._checks import few
from faircrowd.aggregate.base import Aggregator
from faircrowd.aggregate.confusion import ConfusionAggregator
from faircrowd.aggregate.one_coin import OneCoinDawidSkene
from faircrowd.audit.majority.poisson_binomial import as_priors
from faircrowd.audit.workers.worker_counts import groups_in, model_confusion
from faircrowd.engines import votes_in_memory
from faircrowd.errors import InputError, OptionError
from faircrowd.exact.sums import on_grid
from faircrowd.votes.vocabulary import value_name

__all__ = ["Pool", "read_pool"]

_PRIOR_VOTES = 2  # added at the crowd's rate, so that one or two right votes do not count as certainty


@dataclass(frozen=True, eq=False)
class Pool:
    """Workers to draw from.

    Attributes
    ----------
    groups : list of str
    right : ndarray, shape (n_workers, n_groups, 2)
        The probability that a worker is right where the truth is 0, and where it is 1.
    endless : bool
        Whether there is any number of workers, all equal (``right`` has one row).
    priors : ndarray, shape (n_groups,), or None
        The share of true ones, if it is known.
    """

    groups: list[str]
    right: NDArray[np.float64]
    endless: bool
    priors: NDArray[np.float64] | None

    @property
    def shares(self) -> NDArray[np.float64]:
        """The share of each true class, shape (n_groups, 2); one half each if it is not known."""
        ones = np.full(len(self.groups), 0.5) if self.priors is None else self.priors
        return np.stack([1 - ones, ones], axis=1)


def read_pool(
    skills: ArrayLike | Mapping[Any, ArrayLike] | Aggregator, priors: ArrayLike | Mapping[Any, float] | None
) -> Pool:
    """Return the pool that skills describe; see :func:`faircrowd.audit.planner.plan_crowd`."""
    if isinstance(skills, Aggregator):
        pool = _estimated(skills)
    elif isinstance(skills, Mapping):
        pool = _assumed(list(skills.values()), list(skills), by_group=True)
    else:
        pool = _assumed(skills, None, by_group=False)
    if len(pool.groups) < 2:
        raise OptionError(f"Parity compares groups; got the skills of {few(pool.groups)} only.")
    if priors is None:
        return pool
    return Pool(pool.groups, pool.right, pool.endless, _read_priors(priors, pool.groups))


def _assumed(skills: ArrayLike | list[ArrayLike], names: list[Any] | None, *, by_group: bool) -> Pool:
    try:
        values = np.asarray(skills, dtype=np.float64)
    except (TypeError, ValueError):
        raise OptionError(
            "Skills must be numbers, one per group or one per worker and group, or a fitted model."
        ) from None
    if not ((values >= 0) & (values <= 1)).all():
        raise OptionError(
            f"Skills must be probabilities from 0 to 1; got {few(values.ravel()[:5].tolist(), values.size)}."
        )
    if by_group and values.ndim > 1:
        values = values.swapaxes(0, 1)
    endless = values.ndim == 1
    if endless:
        values = values[None]
    if values.ndim == 2:
        values = np.repeat(values[:, :, None], 2, axis=2)
    if values.ndim != 3 or values.shape[2] != 2 or values.shape[0] < 1:
        raise OptionError(
            "Skills need one number per group, or one row per worker and one column per group, perhaps with a third "
            f"axis for the skill where the truth is 0 and where it is 1; got shape {values.shape}."
        )
    groups = [str(a) for a in range(values.shape[1])] if names is None else [value_name(name) for name in names]
    return Pool(groups, values, endless, None)


def _read_priors(priors: ArrayLike | Mapping[Any, float], groups: list[str]) -> NDArray[np.float64]:
    if isinstance(priors, Mapping):
        named = {value_name(name): value for name, value in priors.items()}
        for wrong, what in ((set(groups) - set(named), "lack"), (set(named) - set(groups), "name the unknown")):
            if wrong:
                raise OptionError(f"priors {what} group {few(sorted(wrong))}; the groups are {few(groups)}.")
        priors = [named[name] for name in groups]
    values = np.asarray(priors, dtype=object)
    return as_priors(np.full(len(groups), priors) if values.ndim == 0 else priors, len(groups))


def _estimated(model: Aggregator) -> Pool:
    """Estimate skills and priors by group from the posterior of a fitted model.

    A worker's votes are compared with the posterior, and two votes at the crowd's rate are added; so a worker without
    votes in a group gets the skill of the crowd there.
    """
    if not isinstance(model, ConfusionAggregator):
        raise OptionError(f"{type(model).__name__} does not estimate skills; fit OneCoinDawidSkene or DawidSkene.")
    votes, posterior = votes_in_memory(model.votes_), model.posterior_.in_memory().values
    group, groups = groups_in(votes)
    if votes.n_classes != 2:
        raise InputError(f"A plan is made for two classes; these votes have {votes.n_classes}.")
    counts = model_confusion(votes, posterior)
    hits, total = np.diagonal(counts, axis1=2, axis2=3), counts.sum(axis=3)
    if isinstance(model, OneCoinDawidSkene):
        hits, total = (np.repeat(part.sum(axis=2, keepdims=True), 2, axis=2) for part in (hits, total))
    n_votes = total.sum(axis=0)
    crowd = np.divide(hits.sum(axis=0), n_votes, out=np.full(n_votes.shape, 0.5), where=n_votes > 0)
    right = (hits + _PRIOR_VOTES * crowd) / (total + _PRIOR_VOTES)
    (ones,) = on_grid(posterior[:, 1], n_terms=votes.n_tasks)  # sums are the same in every order
    priors = np.bincount(group, ones, len(groups)) / np.bincount(group, minlength=len(groups))
    return Pool(groups.names, right, False, np.clip(priors, 0.0, 1.0))
