"""Any number of classes and groups, many tasks: gather the undecided tasks, and only count the others.

Near good multipliers most tasks have a label that no small change of the multipliers alters. Such tasks are counted
where they lie. The others are gathered, and the program is solved over them. If the multipliers of the solution are
near enough to those that the tasks were sorted out by, then every task that was only counted has its best label under
them too: the bound holds for all tasks, and value = bound proves the optimum. If not, tasks are sorted out by the new
multipliers, and more of them are gathered; likewise if the gathered tasks cannot close the gap of the others.
"""

import numpy as np
from numpy.typing import NDArray

from faircrowd.exact.sums import limbs_to_numbers, to_limbs
from faircrowd.fair.objective import Gain
from faircrowd.fair.program.atoms import Atoms, DecidedTasks, collect, join
from faircrowd.fair.program.dual import atom_margins, label_margins, smoothed_multipliers
from faircrowd.fair.program.linear_program import solve_linear_program
from faircrowd.fair.program.relaxed import Relaxed, solve_relaxed
from faircrowd.fair.rate_constraint import Constraint, prices_of
from faircrowd.fair.tasks.population import Population, Tasks
from faircrowd.fair.tasks.tally import gain_unit
from faircrowd.votes.vocabulary import Codes

__all__ = ["MAX_GATHERED_TASKS", "in_order", "solve_many"]

MAX_GATHERED_TASKS = 1 << 22
"""Where all tasks must be gathered, these may be as many, or as many different ones."""

_GATHERED_TASKS = 1 << 17
"""Otherwise about so many are gathered: of a million, the program over all takes two to three times as long."""

_SAMPLED_TASKS = 1 << 18


def solve_many(
    tasks: Population,
    gain: Gain,
    constraint: Constraint,
    max_gathered: int | None = None,
    numbers: Codes | None = None,
    gather_all: bool = False,
) -> tuple[Atoms, Relaxed]:
    """Find the best randomized labelling, over atoms of which no more than about ``max_gathered`` are gathered.

    Groups of atoms and multipliers are numbered by ``numbers``, or as those of the tasks. With ``gather_all``, all of
    up to :data:`MAX_GATHERED_TASKS` are gathered.
    """
    numbers = np.arange(tasks.n_groups, dtype=np.int32) if numbers is None else numbers
    mass = in_order(tasks.sizes.astype(np.float64), numbers)
    total = int(tasks.sizes.sum())
    if max_gathered is None:
        max_gathered = MAX_GATHERED_TASKS if gather_all else _GATHERED_TASKS
    sample = None if total <= max_gathered else _sample(tasks, gain, numbers, max_gathered)
    if sample is None:
        atoms = collect(tasks, gain, numbers)
        return atoms, solve_relaxed(atoms, mass, constraint)
    centre = smoothed_multipliers(sample, mass, constraint)
    share, is_sampled = max_gathered / total / 2, True
    while True:  # in the end all tasks are gathered
        reach = _reach(sample, mass, centre, share)
        atoms = _undecided(tasks, gain, numbers, centre, reach)
        if np.isinf(reach) or _has_room(atoms, mass, constraint):
            found = solve_relaxed(atoms, mass, constraint, centre)
            if 2 * np.abs(found.multipliers - centre).max() <= reach:
                return atoms, found
            centre = found.multipliers
            if is_sampled:  # multipliers of a sample err, and these mostly do not: they need no more tasks
                is_sampled = False
                continue
        share *= 2


def in_order(by_group: NDArray[np.float64], numbers: Codes) -> NDArray[np.float64]:
    """Return what is known by group in the order of the numbers of the groups."""
    found = np.empty_like(by_group)
    found[numbers] = by_group
    return found


def _sample(tasks: Population, gain: Gain, numbers: Codes, max_gathered: int) -> Atoms | None:
    """Gather a sample of atoms, weighted to represent all; None if all may be gathered, or a group has none in it."""
    total = int(tasks.sizes.sum())
    size = _SAMPLED_TASKS if total > MAX_GATHERED_TASKS else min(_SAMPLED_TASKS, max_gathered)
    one_in = max(total // size, 2)
    found = collect(tasks, gain, numbers, one_in)
    seen = np.bincount(found.group, weights=found.mass, minlength=tasks.sizes.size).astype(np.float64)
    if found.mass.size * one_in <= max_gathered or not seen.all():  # most tasks have equals
        return None
    sizes = in_order(tasks.sizes.astype(np.float64), numbers)
    return found._replace(mass=found.mass * (sizes / seen)[found.group])


def _reach(sample: Atoms, mass: NDArray[np.float64], centre: NDArray[np.float64], share: float) -> float:
    """Return the margin between the best two labels, in units of multipliers, that this share of the tasks is below."""
    if share >= 1:
        return np.inf
    margin, _ = atom_margins(sample, mass, centre)
    near = np.sort(margin * (mass / mass.sum())[sample.group])
    return float(near[int(share * near.size)])


def _has_room(atoms: Atoms, mass: NDArray[np.float64], constraint: Constraint) -> bool:
    """Return whether some labels of the atoms make all tasks keep the constraint."""
    assert atoms.decided is not None  # noqa: S101 - the others were counted
    decided, groups = atoms.decided.mass, np.arange(mass.size, dtype=np.int32)
    left, nothing = mass - decided.sum(axis=1), np.zeros(decided.shape)
    return solve_linear_program(nothing, left, groups, nothing == 0, decided, mass, constraint) is not None


def _undecided(tasks: Population, gain: Gain, numbers: Codes, centre: NDArray[np.float64], reach: float) -> Atoms:
    shares = tasks.sizes / tasks.sizes.sum()
    prices = prices_of(centre[numbers], tasks.sizes.astype(np.float64))
    counts, limbs = tasks.reduce(_count_decided, gain, prices, shares, reach)
    by_number = in_order(counts.astype(np.float64), numbers)
    decided = DecidedTasks(by_number, float(limbs_to_numbers(limbs, gain_unit(gain))))
    gains, group, mass = tasks.gather(_find_undecided, gain, prices, shares, reach)
    return join(gains, numbers[group], mass, decided)


def _count_decided(
    tasks: Tasks, gain: Gain, prices: NDArray[np.float64], shares: NDArray[np.float64], reach: float
) -> tuple[NDArray[np.int64], ...]:
    gains = gain.of(tasks.posterior)
    margin, best = label_margins(gains, tasks.group, prices)
    rows = np.flatnonzero(margin * shares[tasks.group] > reach)
    cell = tasks.group[rows].astype(np.int64) * prices.shape[1] + best[rows]
    counts = np.bincount(cell, minlength=prices.size).reshape(prices.shape)
    high, low = to_limbs(gains[rows, best[rows]], gain_unit(gain))
    return counts, np.array([high.sum(), low.sum()])


def _find_undecided(
    tasks: Tasks, gain: Gain, prices: NDArray[np.float64], shares: NDArray[np.float64], reach: float
) -> tuple[NDArray[np.float64], NDArray[np.int32], NDArray[np.float64]]:
    gains = gain.of(tasks.posterior)
    margin, _ = label_margins(gains, tasks.group, prices)
    rows = np.flatnonzero(margin * shares[tasks.group] <= reach)
    return gains[rows], tasks.group[rows], np.ones(rows.size)
