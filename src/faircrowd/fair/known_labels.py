"""What known labels say about fair labels: their accuracy, what fairness costs, and the gap of the truth itself.

All of it is estimated, with intervals, by comparing labels with known ones
(:mod:`faircrowd.aggregate.calibration.accuracy_estimate`). Each known label is compared with fair labels that were made
without it: for each fold of the known labels, the labels are made fair once more from a posterior that has not seen
the fold.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import permutations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from faircrowd._display import Tabular
from faircrowd.aggregate.calibration.accuracy_estimate import (
    AccuracyEstimate,
    difference_estimate,
    found_values,
    part_of,
)
from faircrowd.aggregate.calibration.calibrate import CalibratedCrowd
from faircrowd.aggregate.posterior import Posterior
from faircrowd.engines import votes_in_memory
from faircrowd.fair.make import solve_problem
from faircrowd.fair.tasks.from_votes import from_posterior
from faircrowd.fair.tasks.problem import Problem
from faircrowd.votes import VoteTable
from faircrowd.votes.vocabulary import Codes

__all__ = ["GoldEstimates", "accuracy_by_epsilon", "estimates_of", "fair_labels"]

_FEWEST_LABELS = 5
"""Groups with fewer known labels get no estimate of their own."""


@dataclass(frozen=True, repr=False)
class GoldEstimates(Tabular):
    """What the known labels say.

    ``to_frame()`` has one row per estimate, with its interval.

    Attributes
    ----------
    accuracy, accuracy_before : AccuracyEstimate
        Of the fair labels, and of the aggregator's own.
    price : AccuracyEstimate
        The accuracy given up for fairness, from the same known labels (paired), so that its interval is narrower than
        those of the two accuracies suggest. It may be negative.
    group_accuracy, group_accuracy_before : dict
        The accuracy in each group; None for groups with fewer than five known labels.
    truth_rates : dict
        The share of each class among the *true* labels of each group; None for groups with too few known labels.
    truth_gap : AccuracyEstimate or None
        The gap of the true labels: the largest difference, over classes, between two groups' shares; None if a group
        has too few known labels. Being a maximum, the estimate tends to be high; the interval allows for that.
    """

    _in_short = ("accuracy", "accuracy_before", "price", "truth_gap")

    accuracy: AccuracyEstimate
    accuracy_before: AccuracyEstimate
    price: AccuracyEstimate
    group_accuracy: dict[str, AccuracyEstimate | None]
    group_accuracy_before: dict[str, AccuracyEstimate | None]
    truth_rates: dict[str, dict[str, AccuracyEstimate] | None]
    truth_gap: AccuracyEstimate | None

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON."""
        return {name: _plain(getattr(self, name)) for name in self.__dataclass_fields__}


class _Made(NamedTuple):
    """The aggregator's own labels, and fair ones."""

    before: Codes
    after: Codes


def estimates_of(model: CalibratedCrowd, labels: Codes, make: Callable[[Problem], Codes]) -> GoldEstimates:
    """Estimate accuracy, price and rates of the truth.

    Parameters
    ----------
    model : CalibratedCrowd
        Fitted to votes in memory that have groups.
    labels : ndarray of int32, shape (n_tasks,)
        The fair labels.
    make : callable
        Returns the fair labels of tasks with another posterior.
    """
    votes = votes_in_memory(model.votes_)
    assert votes.groups is not None and votes.group is not None  # noqa: S101, PT018 - FairCrowd needs groups
    final = _Made(model.posterior_.in_memory().label_codes, labels)
    folds = [(fit, _made(fit.posterior, votes, make)) for fit in model.cross_fits()]
    n_classes, group = votes.n_classes, votes.group
    known = np.concatenate([fit.task for fit, _ in folds])
    truth = np.concatenate([fit.truth for fit, _ in folds])

    def estimate(
        labels: Callable[[_Made], Codes],
        instead_of: Callable[[_Made], Codes] | None = None,
        members: NDArray[np.bool_] | None = None,
    ) -> AccuracyEstimate | None:
        def chosen(made: _Made) -> tuple[Codes, Codes | None]:
            return labels(made), None if instead_of is None else instead_of(made)

        parts = [part_of(fit, *chosen(made), members) for fit, made in folds]
        found = found_values(known, truth, *chosen(final))
        if members is not None:
            found = found[members[known]]
        size = votes.n_tasks if members is None else int(members.sum())
        return difference_estimate(parts, found, size, model.confidence, is_share=instead_of is None)

    in_group = {name: group == a for a, name in enumerate(votes.groups.names)}
    enough = {name: int(members[known].sum()) >= _FEWEST_LABELS for name, members in in_group.items()}
    rates: dict[str, dict[str, AccuracyEstimate] | None] = {}
    for name, members in in_group.items():
        row = {
            class_name: estimate(lambda _, k=k: np.full(votes.n_tasks, k, dtype=np.int32), None, members)  # type: ignore[misc]
            for k, class_name in enumerate(votes.classes.names[:n_classes])
            if enough[name]
        }
        rates[name] = {class_name: found for class_name, found in row.items() if found is not None} or None

    def by_group(labels: Callable[[_Made], Codes]) -> dict[str, AccuracyEstimate | None]:
        return {name: estimate(labels, None, members) if enough[name] else None for name, members in in_group.items()}

    before, changed = _found(estimate(lambda made: made.before)), float((final.before != final.after).mean())
    return GoldEstimates(
        accuracy=_near(_found(estimate(lambda made: made.after)), before, changed),
        accuracy_before=before,
        price=_near(_found(estimate(lambda made: made.after, lambda made: made.before)), None, changed),
        group_accuracy=by_group(lambda made: made.after),
        group_accuracy_before=by_group(lambda made: made.before),
        truth_rates=rates,
        truth_gap=_gap([rates[name] for a, name in enumerate(in_group) if a not in votes.left_out]),
    )


def accuracy_by_epsilon(
    model: CalibratedCrowd, epsilons: Sequence[float], asked: Mapping[str, Any]
) -> list[AccuracyEstimate]:
    """Estimate the accuracy of the fair labels for each of some epsilons."""
    votes = votes_in_memory(model.votes_)
    fits, found = list(model.cross_fits()), []
    known = np.concatenate([fit.task for fit in fits])
    truth = np.concatenate([fit.truth for fit in fits])
    for epsilon in epsilons:
        make = partial(fair_labels, asked={**asked, "epsilon": epsilon})
        parts = [part_of(fit, _made(fit.posterior, votes, make).after) for fit in fits]
        before, after = _made(model.posterior_.in_memory(), votes, make)
        right = found_values(known, truth, after)
        one = _found(difference_estimate(parts, right, votes.n_tasks, model.confidence))
        found.append(_near(one, model.accuracy_, float((before != after).mean())))
    return found


def fair_labels(problem: Problem, asked: Mapping[str, Any]) -> Codes:
    """Return fair labels; ``asked`` are arguments of ``solve_problem``."""
    found: Codes = solve_problem(problem, **asked).solved.labels
    return found


def _made(posterior: Posterior, votes: VoteTable, make: Callable[[Problem], Codes]) -> _Made:
    return _Made(posterior.label_codes, make(from_posterior(posterior, votes)))


def _near(found: AccuracyEstimate, before: AccuracyEstimate | None, changed: float) -> AccuracyEstimate:
    """Limit an accuracy to what a share of changed labels can make of that before; a price (None) to that share."""
    limited = {}
    for name in ("estimate", "low", "high"):
        centre = 0.0 if before is None else getattr(before, name)
        limited[name] = min(max(getattr(found, name), centre - changed), centre + changed)
    return replace(found, **limited)


def _found(estimate: AccuracyEstimate | None) -> AccuracyEstimate:
    assert estimate is not None  # noqa: S101 - a CalibratedCrowd has known labels
    return estimate


def _gap(rates: Sequence[dict[str, AccuracyEstimate] | None]) -> AccuracyEstimate | None:
    """Return the largest difference between two groups' rates of a class.

    The interval of the difference of two independent estimates follows from their own (Zou and Donner's MOVER). The
    gap is the largest of several differences: the upper end of the largest one is among theirs, so that the highest of
    them is an upper end of the gap; the lower ends must hold all at once (Bonferroni), so they are farther away.
    """
    rows = [row for row in rates if row is not None]
    if len(rows) < len(rates) or not rows:
        return None
    columns = list(zip(*(row.values() for row in rows), strict=True))
    pairs = [pair for column in columns for pair in permutations(column, 2)]
    if not pairs:
        return None
    confidence = rows[0][next(iter(rows[0]))].confidence
    tail = (1 - confidence) / 2
    n_different = len(pairs) // (2 if len(columns) == 2 else 1)  # the first of two classes mirrors the second
    farther = float(ndtri(tail / n_different) / ndtri(tail))
    gap = max(one.estimate - other.estimate for one, other in pairs)
    low, high = 0.0, gap
    for one, other in pairs:
        difference = one.estimate - other.estimate
        below = math.hypot(one.estimate - one.low, other.high - other.estimate)
        above = math.hypot(one.high - one.estimate, other.estimate - other.low)
        low, high = max(low, difference - farther * below), max(high, difference + above)
    n_gold = sum(next(iter(row.values())).n_gold for row in rows)
    return AccuracyEstimate(gap, min(low, gap), min(high, 1.0), confidence, n_gold)


def _plain(value: object) -> Any:
    if isinstance(value, AccuracyEstimate):
        return value.to_dict()
    return {name: _plain(part) for name, part in value.items()} if isinstance(value, dict) else value
