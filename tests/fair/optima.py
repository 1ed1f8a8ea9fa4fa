"""Optima by other means: a linear program over all tasks (pairs of groups, no centres), and every labelling."""

import itertools

import numpy as np
from scipy.optimize import linprog


def gap(labels: np.ndarray, group: np.ndarray, n_classes: int) -> np.ndarray:
    """Return the gap of labels, or of each row of labels."""
    each = [[(labels[..., group == a] == k).mean(axis=-1) for k in range(n_classes)] for a in np.unique(group)]
    return np.ptp(np.array(each), axis=0).max(axis=0)


def best_randomized(gains: np.ndarray, group: np.ndarray, epsilon: float, weights: np.ndarray | None = None) -> float:
    n_tasks, n_classes = gains.shape
    weights = np.ones(n_tasks) if weights is None else weights
    rows, groups = [], np.unique(group)
    for k in range(n_classes):
        for a, b in itertools.permutations(groups, 2):
            row = np.zeros((n_tasks, n_classes))
            row[group == a, k] = weights[group == a] / weights[group == a].sum()
            row[group == b, k] -= weights[group == b] / weights[group == b].sum()
            rows.append(row.ravel())
    found = linprog(
        -(weights[:, None] * gains).ravel() / weights.sum(),
        A_ub=np.array(rows),
        b_ub=np.full(len(rows), epsilon),
        A_eq=np.kron(np.eye(n_tasks), np.ones(n_classes)),
        b_eq=np.ones(n_tasks),
        bounds=(0, 1),
    )
    return float(-found.fun)


def labellings(n_tasks: int, n_classes: int) -> np.ndarray:
    return np.array(list(itertools.product(range(n_classes), repeat=n_tasks)))


def best_deterministic(gains: np.ndarray, group: np.ndarray, epsilon: float) -> float:
    """Return the value of the best labels whose gap is at most epsilon."""
    return _best_of(*_all_labels(gains, group), epsilon)


def best_allowed(gains: np.ndarray, group: np.ndarray, epsilon: float, bound: float) -> tuple[float, float]:
    """Return the value of the best labels that may be chosen, and what their gap may be.

    To the letter, if that is at most one task per group and class but one below the bound; otherwise labels may exceed
    epsilon by less than one task of the smallest group. A label is worth at most 1.
    """
    few = np.unique(group).size * (gains.shape[1] - 1) / len(group)
    return _allowed(*_all_labels(gains, group), group, epsilon, bound - few)


def best_allowed_f1(p: np.ndarray, group: np.ndarray, epsilon: float, bound: float) -> tuple[float, float]:
    """Return the same for F1, which a label changes by at most 2 / sum(p)."""
    few = 2 * np.unique(group).size / p.sum()
    return _allowed(*_all_f1(p, group), group, epsilon, bound - few)


def best_deterministic_f1(p: np.ndarray, group: np.ndarray, epsilon: float) -> float:
    """Return the F1 of the best labels whose gap is at most epsilon."""
    return _best_of(*_all_f1(p, group), epsilon)


def _all_f1(p: np.ndarray, group: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    labels = labellings(p.size, 2)
    marked, total = labels @ p, p.sum() + labels.sum(axis=1)
    values = np.divide(2 * marked, total, out=np.zeros_like(marked), where=total > 0)
    return values, gap(labels, group, 2)


def _allowed(
    values: np.ndarray, gaps: np.ndarray, group: np.ndarray, epsilon: float, least: float
) -> tuple[float, float]:
    strictly = _best_of(values, gaps, epsilon)
    if strictly >= least:
        return strictly, epsilon
    limit = epsilon + 1 / np.bincount(group).min()
    return float(values[gaps < limit - 1e-12].max()), limit


def _all_labels(gains: np.ndarray, group: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the value and the gap of every labelling."""
    n_tasks, n_classes = gains.shape
    labels = labellings(n_tasks, n_classes)
    return gains[np.arange(n_tasks), labels].mean(axis=1), gap(labels, group, n_classes)


def _best_of(values: np.ndarray, gaps: np.ndarray, epsilon: float) -> float:
    return float(values[gaps <= epsilon + 1e-12].max())
