"""What known labels say about constraints that speak of the truth: the real level, estimated, with an interval.

Each known label is compared with a label that was made without it. The interval is that of a bootstrap over the known
labels. The level is the largest of several differences, so with few known labels the estimate is rather too high.
"""

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from faircrowd.aggregate.calibration.accuracy_estimate import AccuracyEstimate
from faircrowd.fair.constraints.constraint_kind import Constraint
from faircrowd.fair.constraints.quantities import GroupedTasks
from faircrowd.fair.general.constrained_certificate import ConstrainedCertificate
from faircrowd.fair.general.constrained_solve import ConstrainedProblem
from faircrowd.votes.vocabulary import Codes

__all__ = ["KnownLabels", "level_against_truth", "real_levels", "with_real_levels"]

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


def real_levels(problem: ConstrainedProblem, known: KnownLabels) -> dict[str, float]:
    """Return the level of each constraint that speaks of the truth, by its text, on tasks whose truth is known."""
    found = {}
    for c, constraint in enumerate(problem.constraints):
        if constraint.is_about_truth and known.task.size:
            tasks, group = _grouped(problem, c, known)
            level = level_against_truth(constraint, tasks, _counts(tasks, group, known))
            if level is not None:
                found[str(constraint)] = level
    return found


def _grouped(problem: ConstrainedProblem, number: int, known: KnownLabels) -> tuple[GroupedTasks, Codes]:
    """Return the groups that a constraint compares, and that of each task whose truth is known."""
    partition = problem.compared[number].partition
    cell = problem.atoms.cell[problem.atom[known.task]]
    return problem.grouped[partition], problem.of_cell[partition][cell]


def _counts(tasks: GroupedTasks, group: Codes, known: KnownLabels) -> NDArray[np.int64]:
    """Count tasks by group, true class and outcome."""
    n_groups, _, n_outcomes = tasks.shape
    shape = (n_groups, tasks.n_classes, n_outcomes)
    inside = known.truth >= 0
    cell = np.ravel_multi_index((group[inside], known.truth[inside], known.outcome[inside]), shape)
    return np.bincount(cell, minlength=int(np.prod(shape))).reshape(shape)


def _estimate(constraint: Constraint, tasks: GroupedTasks, group: Codes, known: KnownLabels) -> AccuracyEstimate | None:
    counts = _counts(tasks, group, known)
    n_known, level = int(counts.sum()), level_against_truth(constraint, tasks, counts)
    if level is None:
        return None
    rng = np.random.default_rng(0)
    draws = rng.multinomial(n_known, counts.ravel() / n_known, size=_REPLICATES)
    levels = [level_against_truth(constraint, tasks, draw.reshape(counts.shape)) for draw in draws]
    found = np.array([value for value in levels if value is not None])
    low, high = np.quantile(found, [(1 - known.confidence) / 2, (1 + known.confidence) / 2])
    return AccuracyEstimate(level, min(float(low), level), max(float(high), level), known.confidence, n_known)


def level_against_truth(constraint: Constraint, tasks: GroupedTasks, counts: NDArray[np.int64]) -> float | None:
    """Return the level of labels whose truth is known; None if there is nothing to compare.

    Parameters
    ----------
    tasks : GroupedTasks
        Whose groups are compared.
    counts : ndarray of int64, shape (n_groups, n_classes, n_outcomes)
        The number of tasks by group, true class and outcome.
    """
    total = float(counts.sum())
    size = counts.sum(axis=(1, 2))
    strata = [(name, members[size[members] > 0]) for name, members in tasks.strata]
    known = replace(
        tasks,
        strata=tuple((name, members) for name, members in strata if members.size > 1),
        tasks=size,
        mass=size / total,
        belief=counts.sum(axis=2) / total,
    )
    amounts = np.concatenate([counts.sum(axis=1, keepdims=True), counts], axis=1) / total
    levels = [
        (comparison.miss(values), comparison.level(values))
        for comparison in constraint.comparisons(known)
        for values in [np.array([quantity.of(amounts) for quantity in comparison.quantities])]
    ]
    return max(levels)[1] if levels else None
