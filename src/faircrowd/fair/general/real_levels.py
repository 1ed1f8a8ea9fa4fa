"""What known labels say about constraints that speak of the truth: the real level, estimated, with an interval.

Each known label is compared with a label that was made without it. The interval is that of a bootstrap over the known
labels. The level is the largest of several differences, so with few known labels the estimate is rather too high.
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from faircrowd.aggregate.calibration.accuracy_estimate import AccuracyEstimate
from faircrowd.fair.constraints.constraint_kind import Constraint
from faircrowd.fair.constraints.quantities import GroupedTasks
from faircrowd.fair.general.constrained_certificate import ConstrainedCertificate
from faircrowd.fair.general.constrained_solve import ConstrainedProblem
from faircrowd.fair.general.partitions import checked_comparisons, in_several
from faircrowd.votes.vocabulary import Codes

__all__ = ["KnownLabels", "estimated_levels", "level_against_truth", "real_levels", "with_real_levels"]

_REPLICATES = 400


class KnownLabels(NamedTuple):
    """Tasks whose truth is known, with the outcome that each gets if the model does not know it.

    Attributes
    ----------
    task : ndarray of int64
    truth, outcome : ndarray of int32
    confidence : float
        Of the intervals.
    """

    task: NDArray[np.int64]
    truth: Codes
    outcome: Codes
    confidence: float = 0.95


def with_real_levels(
    certificate: ConstrainedCertificate, problem: ConstrainedProblem, known: KnownLabels
) -> ConstrainedCertificate:
    """Return a certificate with the real level, estimated from known labels, of constraints that speak of the truth."""
    kept = list(certificate.constraints)
    for c, constraint in enumerate(problem.constraints):
        if constraint.is_about_truth:
            found = _estimate(constraint, *_grouped(problem, c, known), known)
            kept[c] = replace(kept[c], estimated=None if found is None else found.to_dict())
    return replace(certificate, constraints=kept)


def estimated_levels(problem: ConstrainedProblem, known: KnownLabels) -> dict[str, AccuracyEstimate]:
    """Return the level of each constraint, by its text, as estimated from tasks whose truth and outcome are given."""
    found = {str(one): _estimate(one, *_grouped(problem, c, known), known) for c, one in enumerate(problem.constraints)}
    return {text: level for text, level in found.items() if level is not None}


def real_levels(
    problem: ConstrainedProblem, known: KnownLabels, constraints: Iterable[int] | None = None
) -> dict[str, float]:
    """Return the level of constraints, by their text, on tasks whose truth is known.

    ``constraints`` are their numbers; by default, all that speak of the truth.
    """
    about_truth = [c for c, constraint in enumerate(problem.constraints) if constraint.is_about_truth]
    found = {}
    for c in about_truth if constraints is None else constraints:
        tasks, group = _grouped(problem, c, known)
        level = level_against_truth(problem.constraints[c], tasks, _counts(tasks, group, known)) if group.size else None
        if level is not None:
            found[str(problem.constraints[c])] = level
    return found


def _grouped(problem: ConstrainedProblem, number: int, known: KnownLabels) -> tuple[GroupedTasks, NDArray[np.float64]]:
    """Return the groups that a constraint compares, and the probability of each for each task whose truth is known.

    It is 0 or 1 for groups that are known.
    """
    partition = problem.compared[number].partition
    groups, weights = problem.memberships(partition, problem.atom[known.task])
    chances = np.zeros((known.task.size, problem.grouped[partition].mass.size))
    np.put_along_axis(chances, groups, weights, axis=1)
    return problem.grouped[partition], chances


def _counts(tasks: GroupedTasks, chances: NDArray[np.float64], known: KnownLabels) -> NDArray[np.float64]:
    """Count tasks by group, true class and outcome; uncertain ones by their probabilities."""
    n_groups, _, n_outcomes = tasks.shape
    counts = np.zeros((tasks.n_classes, n_outcomes, n_groups))
    inside = known.truth >= 0
    np.add.at(counts, (known.truth[inside], known.outcome[inside]), chances[inside])
    return np.ascontiguousarray(np.moveaxis(counts, 2, 0))


def _estimate(
    constraint: Constraint, tasks: GroupedTasks, chances: NDArray[np.float64], known: KnownLabels
) -> AccuracyEstimate | None:
    level = level_against_truth(constraint, tasks, _counts(tasks, chances, known))
    inside = np.flatnonzero(known.truth >= 0)
    n_known = inside.size
    if level is None:
        return None
    # Tasks of one group, truth and outcome are drawn together.
    kinds, size = np.unique(
        np.column_stack([known.truth[inside], known.outcome[inside], chances[inside]]),
        axis=0,
        return_counts=True,
    )
    one_each = KnownLabels(
        np.arange(size.size), kinds[:, 0].astype(np.int32), kinds[:, 1].astype(np.int32), known.confidence
    )
    draws = np.random.default_rng(0).multinomial(n_known, size / n_known, size=_REPLICATES)
    levels = [
        level_against_truth(constraint, tasks, _counts(tasks, kinds[:, 2:] * draw[:, None], one_each)) for draw in draws
    ]
    found = np.array([value for value in levels if value is not None])
    low, high = np.quantile(found, [(1 - known.confidence) / 2, (1 + known.confidence) / 2])
    return AccuracyEstimate(level, min(float(low), level), max(float(high), level), known.confidence, n_known)


def level_against_truth(
    constraint: Constraint, tasks: GroupedTasks, counts: NDArray[np.int64] | NDArray[np.float64]
) -> float | None:
    """Return the level of labels whose truth is known; None if there is nothing to compare.

    Parameters
    ----------
    tasks : GroupedTasks
        Whose groups are compared.
    counts : ndarray, shape (n_groups, n_classes, n_outcomes)
        The number of tasks by group, true class and outcome.
    """
    total = float(counts.sum())
    size = counts.sum(axis=(1, 2))
    known, _ = in_several(
        constraint,
        replace(
            tasks,
            strata=tuple((name, members[size[members] > 0]) for name, members in tasks.strata),
            tasks=np.rint(size).astype(np.int64),
            mass=size / total,
            belief=counts.sum(axis=2) / total,
        ),
    )
    amounts = np.concatenate([counts.sum(axis=1, keepdims=True), counts], axis=1) / total
    levels = [
        (comparison.miss(values), comparison.level(values))
        for comparison in (checked_comparisons(constraint, known) if known.strata else ())
        for values in [np.array([quantity.of(amounts) for quantity in comparison.quantities])]
    ]
    return max(levels)[1] if levels else None
