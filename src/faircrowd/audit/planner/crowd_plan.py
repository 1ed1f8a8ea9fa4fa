"""How many votes per task bring the gap of the consensus close to the gap of the truth. Two classes."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from faircrowd._checks import check_choice, check_count, check_number
from faircrowd._display import Tabular
from faircrowd.aggregate.base import Aggregator
from faircrowd.aggregate.posterior import TIES
from faircrowd.audit.planner.plan_curve import PlanCurve, plan_curve
from faircrowd.audit.planner.worker_pool import Pool, read_pool
from faircrowd.audit.theory.crowds import VOTES

__all__ = ["CrowdPlan", "beyond", "plan_crowd"]

_ROUNDING = 1e-12  # what rounding may add to a distance or a mean
_NAMES = {"majority": "majority", "bayes": "Bayesian vote"}


@dataclass(frozen=True, eq=False, repr=False)
class CrowdPlan(Tabular):
    """How many votes per task are enough; ``str()`` gives it as a sentence.

    ``to_frame()`` has one row per number of votes: the gap of the consensus, its distance from the truth's, and a
    bound.

    Attributes
    ----------
    votes : int or None
        The smallest number of votes per task from which on, up to the end of the curve, the gap is within delta of
        the truth's.
    fewest : int or None
        The smallest number of votes per task at which it is: less than ``votes`` if some larger number (an even one,
        with its ties) is not enough again.
    status : {"enough", "not enough", "never"}
        "not enough": not within the curve, which ends with the workers or at ``most``. "never": labels do not
        converge to the truth, however many vote.
    method : {"exact", "bound"}
        What decides: the exact distance, or a bound on it (then fewer votes may be enough).
    curve : PlanCurve
        ``votes``, ``gap``, ``distance`` from the truth's gap, and ``bound`` on the distance.
    truth_gap : float or None
    delta : float
    vote, ties : str
    groups : list of str
    skills : list of float
        Mean probability to be right, by group.
    priors : list of float or None
        Share of true ones, by group.
    workers : int or None
        Number of workers to draw from; None for any number of equal workers.
    obstacle : str or None
        Why labels never converge to the truth.
    """

    _in_short = ("status", "votes", "method", "delta", "vote")

    votes: int | None
    fewest: int | None
    status: str
    method: str
    curve: PlanCurve
    truth_gap: float | None
    delta: float
    vote: str
    ties: str
    groups: list[str]
    skills: list[float]
    priors: list[float] | None
    workers: int | None
    obstacle: str | None

    def __str__(self) -> str:
        exact, last = self.method == "exact", int(self.curve.votes[-1])
        gap, near = f"the {_NAMES[self.vote]}'s gap", f"within {self.delta:g} of the truth's"
        if self.status == "never":
            close = exact and self.curve.distance[-1] <= self.delta + _ROUNDING
            return f"Never, with this crowd: {self.obstacle}{'; the gaps come close all the same' if close else ''}."
        fewer = "" if self.fewest == self.votes else f" {_count(self.fewest)} would do, but not every larger number."
        if self.votes is not None:
            sentence = f"{_count(self.votes)} per task bring{'s' if self.votes == 1 else ''} {gap} {near}"
            if not exact:
                bound = self.curve.bound[self.votes - 1]
                return f"{sentence}: off by at most {bound:.4f} (a bound; fewer may be enough)."
            reached = f"{self.curve.gap[self.votes - 1]:.4f} against {self.truth_gap:.4f}"
            return f"{sentence}: {reached}, and more keep it there (exact, up to {last:,}).{fewer}"
        off = beyond(float(self.curve.distance[-1] if exact else self.curve.bound[-1]), self.delta)
        off = off if exact else f"up to {off}"
        crowd = f"these {last:,} workers on every task" if last == self.workers else f"{_count(last)} per task"
        return f"Not with {crowd}: {gap} is then off by {off}, not {near}.{fewer}"

    def to_dict(self) -> dict[str, Any]:
        """Return the plan as plain values, ready for JSON; None for what is not known."""
        curve = {
            name: [None if np.isnan(x) else x for x in column.tolist()] for name, column in vars(self.curve).items()
        }
        return {**vars(self), "curve": curve, "sentence": str(self)}


def plan_crowd(
    skills: ArrayLike | Mapping[Any, ArrayLike] | Aggregator,
    *,
    priors: ArrayLike | Mapping[Any, float] | None = None,
    delta: float,
    vote: str = "majority",
    ties: str = "first",
    most: int = 201,
) -> CrowdPlan:
    """Return how many votes per task bring the gap of the consensus within delta of the gap of the truth.

    Votes are assumed to be independent given truth and group. The majority's gap is exact (Poisson binomial,
    averaged over all crowds that can be drawn from the pool); so is that of the Bayesian vote, which knows skills
    and priors, if workers are all equal. Otherwise a bound decides: Chernoff's or, without priors, the largest
    distance over all priors.

    Parameters
    ----------
    skills : array-like, dict or fitted model
        The probability to be right. One number per group: as many such workers as needed. Shape (n_workers,
        n_groups), or (n_workers, n_groups, 2) by true class: a pool, from which different workers are drawn. A dict
        maps each group to a number or to a list with one number per worker. A fitted ``OneCoinDawidSkene`` or
        ``DawidSkene`` (skills by true class) of two classes: skills and priors are estimated by group, with the
        model's posterior as the truth.
    priors : float, array-like or dict, optional
        The share of true ones, in all groups or by group.
    delta : float
        How close the gaps must be.
    vote : {"majority", "bayes"}
    ties : {"first", "last"}
        A tie goes to class 0, or to class 1 (the paper's majority).
    most : int
        The largest number of votes per task to consider.

    Examples
    --------
    >>> ones = {"men": 0.6, "women": 0.4}
    >>> plan = plan_crowd({"men": 0.8, "women": 0.7}, priors=ones, delta=0.02)
    >>> plan.votes, plan.method
    (10, 'exact')
    >>> print(plan)
    10 votes per task bring the majority's gap within 0.02 of the truth's: 0.2146 against 0.2000, and more keep it \
there (exact, up to 201). 4 votes would do, but not every larger number.
    >>> print(plan_crowd({"men": 0.8, "women": 0.45}, priors=ones, delta=0.02))
    Never, with this crowd: in group women workers are right with a mean probability of 0.45, not above 1/2, so the \
majority does not come close to the truth, however many vote.
    """
    delta = check_number("delta", delta, low=0, high=1)
    check_choice("vote", vote, VOTES)
    check_choice("ties", ties, TIES)
    most = check_count("most", most, least=1)
    pool = read_pool(skills, priors)
    curve = plan_curve(pool, most, vote, ties)
    exact = not np.isnan(curve.distance[0])
    obstacle = _obstacle(pool, vote)
    within = (curve.distance if exact else curve.bound) <= delta + _ROUNDING
    beyond = np.flatnonzero(~within) + 1  # sizes are 1, 2, ...
    votes = 1 if beyond.size == 0 else int(beyond[-1]) + 1
    enough = votes <= within.size and obstacle is None
    return CrowdPlan(
        votes=votes if enough else None,
        fewest=int(np.argmax(within)) + 1 if within.any() and obstacle is None else None,
        status="enough" if enough else "not enough" if obstacle is None else "never",
        method="exact" if exact else "bound",
        curve=curve,
        truth_gap=None if pool.priors is None else float(np.ptp(pool.priors)),
        delta=delta,
        vote=vote,
        ties=ties,
        groups=pool.groups,
        skills=(pool.right.mean(axis=0) * pool.shares).sum(axis=1).tolist(),
        priors=None if pool.priors is None else pool.priors.tolist(),
        workers=None if pool.endless else len(pool.right),
        obstacle=obstacle,
    )


def _obstacle(pool: Pool, vote: str) -> str | None:
    """Return why labels do not converge to the truth as more voters are drawn from the pool; None if they do."""
    mean = pool.right.mean(axis=0)
    if vote == "bayes":
        informative = np.abs(pool.right.sum(axis=2) - 1).max(axis=0) > _ROUNDING  # somebody's votes depend on the truth
        for a in np.flatnonzero(~informative & (pool.shares > 0).all(axis=1)):
            return f"in group {pool.groups[a]} all votes are random guesses, which say nothing about the truth"
        return None
    for a, y in np.argwhere((mean <= 0.5 + _ROUNDING) & (pool.shares > 0)):
        where = "" if math.isclose(*mean[a]) else f" where the truth is {y}"
        return (
            f"in group {pool.groups[a]} workers are right with a mean probability of {mean[a, y]:.3g}{where}, "
            "not above 1/2, so the majority does not come close to the truth, however many vote"
        )
    return None


def beyond(value: float, delta: float) -> str:
    """Return a distance in four digits after the point, or as many more as tell on which side of delta it is.

    Examples
    --------
    >>> beyond(0.0237, 0.02), beyond(0.020004, 0.02)
    ('0.0237', '0.020004')
    """
    for digits in range(4, 10):
        text = f"{value:.{digits}f}"
        if (float(text) <= delta) == (value <= delta + _ROUNDING):
            break
    return text


def _count(votes: int | None) -> str:
    return f"{votes:,} vote{'' if votes == 1 else 's'}"
