"""What labels are worth on rows that neither the model nor the rule has seen: accuracy and levels, with intervals.

The certificate is about the rows that the rule was learned from, as the model believes. Here the rows of each fold are
labelled by a rule that was learned from the other folds, from probabilities of a model that has not seen them, and the
labels are compared with the true classes.
"""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binomtest, chi2

from faircrowd._checks import warn
from faircrowd._display import Displayed
from faircrowd.aggregate.calibration.accuracy_estimate import AccuracyEstimate
from faircrowd.errors import DataWarning, InfeasibleError, InputError
from faircrowd.fair.constraints.constraint_kind import Constraint
from faircrowd.fair.general.constrained_result import ConstrainedResult
from faircrowd.fair.general.constrained_solve import ConstrainedProblem, pose
from faircrowd.fair.general.real_levels import KnownLabels, estimated_levels, real_levels
from faircrowd.fair.make import FairResult
from faircrowd.fair.objective import make_gain
from faircrowd.votes.groups import Grouped
from faircrowd.votes.vocabulary import Codes

__all__ = ["HeldOutEstimates", "Result", "held_out_estimates", "held_out_labels", "posed_problem", "warn_of_transfer"]

Result = FairResult | ConstrainedResult
"""What ``make_fair`` returns."""

_CONFIDENCE = 0.95
_FEWEST_ROWS, _CHANCE, _SPREAD = 10, 1e-4, 0.05
"""Rates differ from fold to fold in groups with so many rows per fold, so improbably, and by so much."""


@dataclass(frozen=True, repr=False)
class HeldOutEstimates(Displayed):
    """Accuracy and levels on held-out rows.

    Intervals are of 95% and take the rows for a random sample. They do not cover that another sample would have given
    another model. A level is the largest of several differences, so that with few rows per group it is rather too high.

    Attributes
    ----------
    accuracy, accuracy_before : AccuracyEstimate
        How many labels are right: fair ones, and the model's own.
    levels : dict
        By the text of each constraint its level, such as the gap. Those about the truth go by the true classes, not by
        what the model believes.
    levels_before : dict
        The same of the model's own labels, without intervals.
    """

    accuracy: AccuracyEstimate
    accuracy_before: AccuracyEstimate
    levels: dict[str, AccuracyEstimate]
    levels_before: dict[str, float]

    def __str__(self) -> str:
        lines = [f"accuracy: {self.accuracy}; before {self.accuracy_before.estimate:.1%}"]
        for text, level in self.levels.items():
            before = self.levels_before[text]
            lines.append(f"{text}: {level.estimate:.3f} ({level.low:.3f} to {level.high:.3f}); before {before:.3f}")
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON."""
        return {
            "accuracy": self.accuracy.to_dict(),
            "accuracy_before": self.accuracy_before.to_dict(),
            "levels": {text: level.to_dict() for text, level in self.levels.items()},
            "levels_before": dict(self.levels_before),
        }


def held_out_labels(
    fold: NDArray[np.int64], label: Callable[[NDArray[np.int64], NDArray[np.int64]], Codes]
) -> Codes | None:
    """Return the label of each row by a rule that was learned from the other folds; None if a fold has none.

    Parameters
    ----------
    fold : ndarray of int64
    label : callable
        Labels some rows (its second argument) by a rule learned from others (its first).
    """
    found = np.empty(fold.size, dtype=np.int32)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)  # said about all rows already
        for number in np.unique(fold).tolist():
            held_out = np.flatnonzero(fold == number)
            try:
                found[held_out] = label(np.flatnonzero(fold != number), held_out)
            except (InfeasibleError, InputError):  # the other folds lack a group, or leave no room
                return None
    return found


def held_out_estimates(problem: ConstrainedProblem, truth: Codes, labels: Codes) -> HeldOutEstimates:
    """Compare held-out labels, and the model's own, with the truth."""
    own = problem.tasks.own
    rows = np.arange(truth.size)
    after, before = (KnownLabels(rows, truth, codes, _CONFIDENCE) for codes in (labels, own))
    return HeldOutEstimates(
        _share(labels == truth),
        _share(own == truth),
        estimated_levels(problem, after),
        real_levels(problem, before, range(len(problem.constraints))),
    )


def posed_problem(result: Result, constraints: Sequence[Constraint]) -> ConstrainedProblem:
    """Return constraints, and the groups that they compare in a result."""
    if isinstance(result, ConstrainedResult):
        return result.problem
    problem = result.problem
    columns = {"group": Grouped(problem.group, problem.groups, dict(problem.left_out))}
    return pose(problem, constraints, columns, make_gain("accuracy", problem.n_classes))


def warn_of_transfer(problem: ConstrainedProblem, fold: NDArray[np.int64], labels: Codes) -> None:
    """Warn if groups get labels at rates that differ from fold to fold by more than chance, and by a lot.

    The rows of each fold are labelled by a rule that was learned with other models. The final model is one more such
    model, so that its rates may be as far off as theirs. In all folds together, such errors cancel.
    """
    n_folds, n_classes = int(fold.max()) + 1, problem.tasks.n_classes
    for partition in problem.partitions:
        counts = np.zeros((len(partition.groups), n_folds, n_classes))
        inside = partition.group >= 0
        np.add.at(counts, (partition.group[inside], fold[inside], labels[inside]), 1)
        statistic, freedom, spread = 0.0, 0, (0.0, 0.0, 0.0, 0, 0)
        for a, table in enumerate(counts):
            if table.sum(axis=1).min() < _FEWEST_ROWS:
                continue
            table = table[:, table.sum(axis=0) > 0]
            rates = table / table.sum(axis=1, keepdims=True)
            expected = table.sum(axis=1, keepdims=True) * table.sum(axis=0) / table.sum()
            statistic += float(((table - expected) ** 2 / expected).sum())
            freedom += (n_folds - 1) * (table.shape[1] - 1)
            k = int(np.ptp(rates, axis=0).argmax())
            spread = max(spread, (float(np.ptp(rates[:, k])), rates[:, k].min(), rates[:, k].max(), a, k))
        # A rule fits the other folds, so that its rates on the one held out vary a little more than those of a sample.
        chance = float(chi2.sf(statistic * (n_folds - 1) / n_folds, freedom)) if freedom else 1.0
        if chance < _CHANCE and spread[0] > _SPREAD:
            _, low, high, a, k = spread
            warn(
                f"The rule depends on the model: in the folds, {low:.0%} to {high:.0%} of group "
                f"{partition.groups.names[a]} get the label {problem.tasks.classes.names[k]}, which chance does not "
                "explain. The classifier's probabilities differ from fold to fold, and with the final model the rule "
                "may miss its limits by as much. Learn it from rows that are held out from the final model: cv=0.3.",
                DataWarning,
            )
            return


def _share(right: NDArray[np.bool_]) -> AccuracyEstimate:
    found = binomtest(int(right.sum()), right.size)
    interval = found.proportion_ci(_CONFIDENCE, method="wilson")
    return AccuracyEstimate(found.statistic, float(interval.low), float(interval.high), _CONFIDENCE, right.size)
