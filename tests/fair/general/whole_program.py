"""The whole linear program over all tasks, written straight from the definitions: what the solver is compared with.

It shares no code with the solver: rates are sums over tasks, differences are rows for each pair of groups, and HiGHS
gets every task and label.
"""

from itertools import permutations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog
from scipy.sparse import csr_array, eye_array, kron

from faircrowd.constraints import (
    AccuracyParity,
    ChangeBudget,
    Constraint,
    DemographicParity,
    EqualizedOdds,
    EqualOpportunity,
    RateRange,
    RateRatio,
    ReviewBudget,
)

Groups = dict[str, NDArray[np.int64]]


def whole_program(
    posterior: NDArray[np.float64],
    groups: Groups,
    constraints: list[Constraint],
    weights: NDArray[np.float64] | None = None,
    gains: NDArray[np.float64] | None = None,
) -> float | None:
    """Return the value of the best randomized labels; None if none keep the constraints."""
    n, n_classes = posterior.shape
    weights = np.full(n, 1 / n) if weights is None else weights / weights.sum()
    review = any(isinstance(constraint, ReviewBudget) for constraint in constraints)
    worth = posterior @ (np.eye(n_classes) if gains is None else gains)
    if review:
        worth = np.column_stack([worth, np.ones(n)])
    limits = upper_limits(posterior, groups, constraints, weights, review)
    found = linprog(
        -(weights[:, None] * worth).ravel(),
        A_ub=csr_array(np.array([row.ravel() for row, _ in limits])),
        b_ub=[high for _, high in limits],
        A_eq=kron(eye_array(n), np.ones((1, worth.shape[1])), format="csr"),
        b_eq=np.ones(n),
        bounds=(0, 1),
        method="highs",
    )
    return -float(found.fun) if found.status == 0 else None


def upper_limits(
    posterior: NDArray[np.float64],
    groups: Groups,
    constraints: list[Constraint],
    weights: NDArray[np.float64],
    review: bool = False,
) -> list[tuple[NDArray[np.float64], float]]:
    """Return rows over (task, outcome) and what each may be at most."""
    n, n_classes = posterior.shape
    n_outcomes = n_classes + review

    def label(k: int) -> NDArray[np.float64]:
        row = np.zeros((n, n_outcomes))
        row[:, k] = 1.0
        if review:
            row[:, n_classes] = posterior[:, k]
        return row

    def label_where(y: int, k: int) -> NDArray[np.float64]:
        row = np.zeros((n, n_outcomes))
        row[:, k] = posterior[:, y]
        if review and y == k:
            row[:, n_classes] = posterior[:, y]
        return row

    limits: list[tuple[NDArray[np.float64], float]] = []
    for constraint in constraints:
        if isinstance(constraint, ChangeBudget):
            row = np.zeros((n, n_outcomes))
            row[:, :n_classes] = 1.0
            row[np.arange(n), posterior.argmax(axis=1)] = 0.0
            limits.append((weights[:, None] * row, constraint.share))
            continue
        if isinstance(constraint, ReviewBudget):
            row = np.zeros((n, n_outcomes))
            row[:, n_classes] = 1.0
            limits.append((weights[:, None] * row, constraint.share))
            continue
        names = [constraint.group] if isinstance(constraint.group, str) else list(constraint.group or groups)
        within = [constraint.within] if isinstance(constraint.within, str) else list(constraint.within or ())
        strata = combined([groups[name] for name in within], n)
        of_group = combined([groups[name] for name in names], n)
        labels = range(n_classes) if getattr(constraint, "label", None) is None else [int(constraint.label)]
        for stratum in np.unique(strata):
            members = [weights * ((of_group == a) & (strata == stratum)) for a in np.unique(of_group)]
            members = [part for part in members if part.any()]
            rates: list[list[NDArray[np.float64]]] = []
            if isinstance(constraint, DemographicParity | RateRatio | RateRange):
                rates = [[part[:, None] * label(k) / part.sum() for part in members] for k in labels]
            elif isinstance(constraint, AccuracyParity):
                right = sum(label_where(k, k) for k in range(n_classes))
                rates = [[part[:, None] * right / part.sum() for part in members]]
            elif isinstance(constraint, EqualOpportunity | EqualizedOdds):
                pairs = [(k, k) for k in labels]
                if isinstance(constraint, EqualizedOdds):
                    pairs = [(y, k) for y in range(n_classes) for k in labels]
                rates = [
                    [part[:, None] * label_where(y, k) / (part @ posterior[:, y]) for part in members] for y, k in pairs
                ]
            for of_label in rates:
                if isinstance(constraint, RateRange):
                    for rate in of_label:
                        limits += [(rate, constraint.high)] if constraint.high is not None else []
                        limits += [(-rate, -constraint.low)] if constraint.low is not None else []
                    continue
                for one, other in permutations(of_label, 2):
                    if isinstance(constraint, RateRatio):
                        limits.append((constraint.ratio * one - other, 0.0))
                    else:
                        limits.append((one - other, constraint.epsilon))  # type: ignore[attr-defined]
    return limits


def combined(columns: list[NDArray[np.int64]], n: int) -> NDArray[np.int64]:
    """Return one code for the values of several columns."""
    code = np.zeros(n, dtype=np.int64)
    for column in columns:
        code = code * (int(column.max()) + 1) + column
    return code
