"""Any number of classes and groups, very many tasks: the atoms that are undecided, and what the others add up to.

Near good multipliers most tasks have a label that no small change of the multipliers touches. Such tasks are counted
where they lie. The others are gathered and solved over. If the multipliers of the solution are near enough to those
that told the tasks apart, then every task that was only counted has its best label under them too: the bound holds
for all tasks, and value = bound proves the optimum. If not, the new multipliers tell the tasks apart once more, and
more of them are gathered; so too if those that were gathered cannot close the gap of the others.
"""

import numpy as np
from numpy.typing import NDArray

from faircrowd.exact.sums import limbs_to_numbers, to_limbs
from faircrowd.fair.objective import Gain
from faircrowd.fair.program.atoms import Atoms, Rest, collect, joined
from faircrowd.fair.program.dual import best_of, margins, prices_of, smoothed_multipliers
from faircrowd.fair.program.linear_program import solve_linear_program
from faircrowd.fair.program.relaxed import Relaxed, solve_relaxed
from faircrowd.fair.tasks.population import Population, Tasks
from faircrowd.fair.tasks.tally import gain_unit

__all__ = ["MOST", "solve_core"]

MOST = 1 << 22
"""Up to so many tasks, or different tasks, are gathered whole."""

_SAMPLE = 1 << 18


def solve_core(tasks: Population, gain: Gain, epsilon: float, most: int = MOST) -> tuple[Atoms, Relaxed]:
    """Solve with a coin, over atoms of which no more than about ``most`` are gathered."""
    mass = tasks.sizes.astype(np.float64)
    total = int(tasks.sizes.sum())
    sample = None if total <= most else _sample(tasks, gain, most)
    if sample is None:
        atoms = collect(tasks, gain)
        return atoms, solve_relaxed(atoms, mass, epsilon)
    centre = smoothed_multipliers(sample, mass, epsilon)
    share = most / total / 2
    while True:  # at last all tasks are gathered
        reach = _reach(sample, mass, centre, share)
        atoms = _undecided(tasks, gain, centre, reach)
        share *= 2
        if not _has_room(atoms, mass, epsilon):
            continue
        found = solve_relaxed(atoms, mass, epsilon, centre)
        if 2 * np.abs(found.multipliers - centre).max() <= reach:
            return atoms, found
        centre = found.multipliers


def _sample(tasks: Population, gain: Gain, most: int) -> Atoms | None:
    """Gather some atoms that stand for all; None if all may be gathered, or a group has none among them."""
    one_in = max(int(tasks.sizes.sum()) // min(_SAMPLE, most), 2)
    found = collect(tasks, gain, one_in)
    seen = np.bincount(found.group, weights=found.mass, minlength=tasks.sizes.size).astype(np.float64)
    if found.mass.size * one_in <= most or not seen.all():  # most tasks have their like
        return None
    return found._replace(mass=found.mass * (tasks.sizes / seen)[found.group])


def _reach(sample: Atoms, mass: NDArray[np.float64], centre: NDArray[np.float64], share: float) -> float:
    """Return how near the best labels of a task are if that is so for this share of the tasks."""
    if share >= 1:
        return np.inf
    margin, _ = margins(sample, mass, centre)
    near = np.sort(margin * (mass / mass.sum())[sample.group])
    return float(near[int(share * near.size)])


def _has_room(atoms: Atoms, mass: NDArray[np.float64], epsilon: float) -> bool:
    """Say whether some labels of the atoms bring the gap of all tasks within epsilon."""
    assert atoms.rest is not None  # noqa: S101 - the others were counted
    decided, groups = atoms.rest.mass, np.arange(mass.size, dtype=np.int32)
    left, nothing = mass - decided.sum(axis=1), np.zeros(decided.shape)
    return solve_linear_program(nothing, left, groups, nothing == 0, decided, mass, epsilon) is not None


def _undecided(tasks: Population, gain: Gain, centre: NDArray[np.float64], reach: float) -> Atoms:
    shares = tasks.sizes / tasks.sizes.sum()
    prices = prices_of(centre, tasks.sizes.astype(np.float64))
    counts, limbs = tasks.reduce(_count_decided, gain, prices, shares, reach)
    rest = Rest(counts.astype(np.float64), float(limbs_to_numbers(limbs, gain_unit(gain))))
    gains, group, mass = tasks.gather(_find_undecided, gain, prices, shares, reach)
    return joined(gains, group, mass, rest)


def _count_decided(
    tasks: Tasks, gain: Gain, prices: NDArray[np.float64], shares: NDArray[np.float64], reach: float
) -> tuple[NDArray[np.int64], ...]:
    gains = gain.of(tasks.posterior)
    margin, best = best_of(gains, tasks.group, prices)
    rows = np.flatnonzero(margin * shares[tasks.group] > reach)
    cell = tasks.group[rows].astype(np.int64) * prices.shape[1] + best[rows]
    counts = np.bincount(cell, minlength=prices.size).reshape(prices.shape)
    high, low = to_limbs(gains[rows, best[rows]], gain_unit(gain))
    return counts, np.array([high.sum(), low.sum()])


def _find_undecided(
    tasks: Tasks, gain: Gain, prices: NDArray[np.float64], shares: NDArray[np.float64], reach: float
) -> tuple[NDArray[np.float64], NDArray[np.int32], NDArray[np.float64]]:
    gains = gain.of(tasks.posterior)
    margin, _ = best_of(gains, tasks.group, prices)
    rows = np.flatnonzero(margin * shares[tasks.group] <= reach)
    return gains[rows], tasks.group[rows], np.ones(rows.size)
