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
    n_tasks, n_classes = gains.shape
    labels = labellings(n_tasks, n_classes)
    values = gains[np.arange(n_tasks), labels].mean(axis=1)
    return float(values[gap(labels, group, n_classes) <= epsilon + 1e-12].max())


def best_f1(p: np.ndarray, group: np.ndarray, epsilon: float) -> float:
    labels = labellings(p.size, 2)
    marked, total = labels @ p, p.sum() + labels.sum(axis=1)
    values = np.divide(2 * marked, total, out=np.zeros_like(marked), where=total > 0)
    return float(values[gap(labels, group, 2) <= epsilon + 1e-12].max())
