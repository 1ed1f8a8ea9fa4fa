"""Optima by other means: a linear program over all tasks (pairs of groups, no centres), and every labelling."""

import itertools

import numpy as np
from scipy.optimize import linprog


def gap(labels: np.ndarray, group: np.ndarray, n_classes: int) -> float:
    rates = np.array([[np.mean(labels[group == a] == k) for k in range(n_classes)] for a in np.unique(group)])
    return float(np.ptp(rates, axis=0).max())


def best_with_coin(gains: np.ndarray, group: np.ndarray, epsilon: float, weights: np.ndarray | None = None) -> float:
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


def best_without_coin(gains: np.ndarray, group: np.ndarray, epsilon: float) -> float:
    n_tasks, n_classes = gains.shape
    return max(
        float(gains[np.arange(n_tasks), labels].mean())
        for labels in labellings(n_tasks, n_classes)
        if gap(labels, group, n_classes) <= epsilon + 1e-12
    )


def best_f1(p: np.ndarray, group: np.ndarray, epsilon: float) -> float:
    best = 0.0
    for labels in labellings(p.size, 2):
        if gap(labels, group, 2) <= epsilon + 1e-12:
            best = max(best, 2 * float(p @ labels) / (p.sum() + labels.sum()))
    return best
