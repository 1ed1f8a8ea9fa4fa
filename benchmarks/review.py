"""What a budget of reviews buys: real accuracy at the same gap, by how the reviewed tasks are chosen.

Crowds are simulated, with posteriors that are right; a person finds the truth. Tasks to review are chosen together with
the labels (``ReviewBudget``), by uncertainty (the lowest highest posterior), or at random. Then, in all three ways, the
best labels of the other tasks are found, with the reviewed ones as they are, so that all tasks together keep the limit.
"""

import argparse
import warnings
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from faircrowd import make_fair
from faircrowd.constraints import DemographicParity, ReviewBudget

EPSILON = 0.02
BUDGETS = (0.0, 0.01, 0.02, 0.05, 0.1, 0.2)
CLASSES, GROUPS = 3, 3


class Crowd(NamedTuple):
    """A posterior, the group of each task, and a truth drawn from the posterior."""

    posterior: NDArray[np.float64]
    group: NDArray[np.int64]
    truth: NDArray[np.int64]


def crowd(tasks: int, seed: int) -> Crowd:
    """Return votes of five workers turned into posteriors; groups have different shares of the classes."""
    rng = np.random.default_rng(seed)
    group = rng.integers(0, GROUPS, tasks)
    prior = (1.0 + 2.0 * ((np.arange(GROUPS)[:, None] + np.arange(CLASSES)) % CLASSES)) ** 0.5
    prior /= prior.sum(axis=1, keepdims=True)
    truth = (rng.random(tasks)[:, None] > np.cumsum(prior, axis=1)[group, :-1]).sum(axis=1)
    skill = rng.uniform(0.45, 0.8, (tasks, 5))
    is_right = rng.random((tasks, 5)) < skill
    votes = np.where(is_right, truth[:, None], (truth[:, None] + rng.integers(1, CLASSES, (tasks, 5))) % CLASSES)
    log_posterior = np.log(prior[group])
    for k in range(CLASSES):
        says = np.where(votes == k, skill, (1 - skill) / (CLASSES - 1))
        log_posterior[:, k] += np.log(says).sum(axis=1)
    posterior = np.exp(log_posterior - log_posterior.max(axis=1, keepdims=True))
    return Crowd(posterior / posterior.sum(axis=1, keepdims=True), group, truth)


def gap(labels: NDArray[np.int64], group: NDArray[np.int64]) -> float:
    rates = np.array([[(labels[group == a] == k).mean() for k in range(CLASSES)] for a in range(GROUPS)])
    return float(np.ptp(rates, axis=0).max())


def chosen_together(data: Crowd, budget: float) -> NDArray[np.bool_]:
    """Return the tasks to review that are chosen together with the labels."""
    constraints = [DemographicParity(EPSILON), ReviewBudget(budget)]
    return np.asarray(make_fair(data.posterior, data.group, constraints=constraints).reviewed)


def first(order: NDArray[np.int64], budget: float) -> NDArray[np.bool_]:
    """Return the first tasks of an order."""
    chosen = np.zeros(order.size, dtype=bool)
    chosen[order[: int(budget * order.size)]] = True
    return chosen


def labels_after(data: Crowd, fixed: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return the truth of reviewed tasks and the best labels of the others, such that all together keep the limit."""
    from scipy.optimize import linprog
    from scipy.sparse import coo_array

    posterior, group, truth = data
    free = np.flatnonzero(~fixed)
    n, sizes = free.size, np.bincount(group, minlength=GROUPS)
    settled = np.array([[(truth[fixed & (group == a)] == k).sum() for k in range(CLASSES)] for a in range(GROUPS)])
    rows, columns, values, limits = [], [], [], []
    number = 0
    for k in range(CLASSES):
        for a in range(GROUPS):
            for b in range(GROUPS):
                if a == b:
                    continue
                for c, sign in ((a, 1.0), (b, -1.0)):
                    members = np.flatnonzero(group[free] == c)
                    rows.append(np.full(members.size, number))
                    columns.append(members * CLASSES + k)
                    values.append(np.full(members.size, sign / sizes[c]))
                limits.append(EPSILON - settled[a, k] / sizes[a] + settled[b, k] / sizes[b])
                number += 1
    matrix = coo_array((np.concatenate(values), (np.concatenate(rows), np.concatenate(columns))), (number, n * CLASSES))
    one_each = coo_array((np.ones(n * CLASSES), (np.repeat(np.arange(n), CLASSES), np.arange(n * CLASSES))))
    found = linprog(
        -posterior[free].ravel(),
        A_ub=matrix.tocsr(),
        b_ub=limits,
        A_eq=one_each.tocsr(),
        b_eq=np.ones(n),
        bounds=(0, 1),
        method="highs",
    )
    if found.x is None:
        raise RuntimeError("no labels of the other tasks keep the limit")
    labels = truth.copy()
    labels[free] = found.x.reshape(n, CLASSES).argmax(axis=1)
    return labels


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tasks", type=int, default=4000)
    parser.add_argument("--seeds", type=int, default=5)
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    print(
        f"{asked.tasks:,} tasks, {CLASSES} classes, {GROUPS} groups, gap at most {EPSILON}, mean of {asked.seeds} seeds"
    )
    print(f"{'reviewed':>9}{'together':>20}{'by uncertainty':>20}{'at random':>20}   real accuracy (real gap)")
    for budget in BUDGETS:
        found: dict[str, list[tuple[float, float]]] = {"together": [], "uncertain": [], "random": []}
        for seed in range(asked.seeds):
            data = crowd(asked.tasks, seed)
            least_sure = np.argsort(data.posterior.max(axis=1), kind="stable")
            shuffled = np.random.default_rng(seed).permutation(asked.tasks)
            ways = {
                "together": chosen_together(data, budget),
                "uncertain": first(least_sure, budget),
                "random": first(shuffled, budget),
            }
            for name, reviewed in ways.items():
                labels = labels_after(data, reviewed)
                found[name].append((float((labels == data.truth).mean()), gap(labels, data.group)))
        means = {name: np.mean(values, axis=0) for name, values in found.items()}
        cells = "".join(f"{f'{accuracy:.4f} ({reached:.3f})':>20}" for accuracy, reached in means.values())
        print(f"{budget:>9.0%}{cells}", flush=True)


if __name__ == "__main__":
    main()
