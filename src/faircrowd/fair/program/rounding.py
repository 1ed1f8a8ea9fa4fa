"""Deterministic labels for any number of classes and groups: the randomized solution rounded to whole tasks.

The randomized solution splits a few atoms. The counts per group and class are rounded to integers by a small integer
program that exceeds epsilon as little as possible (mostly not at all); then each group's tasks are moved to these
counts at the least loss.
"""

import functools
from typing import Any

import numpy as np
from numpy.typing import NDArray

from faircrowd.errors import SolverError
from faircrowd.fair.program.atoms import Atoms, order_by_group
from faircrowd.fair.program.dual import atom_margins
from faircrowd.fair.program.least_loss_moves import move_to_totals
from faircrowd.fair.program.near_centres import totals_near_centres
from faircrowd.fair.program.relaxed import Relaxed
from faircrowd.fair.program.two_class_rounding import closest_totals
from faircrowd.fair.rate_constraint import Constraint, RateParity, prices_of, rates_of
from faircrowd.fair.tolerances import NO_EXCESS, WHOLE_COUNT

__all__ = ["round_counts"]

_EXCESS_COST = 1e3
"""More than any loss of value, unless the excess is tiny."""

_NODES = 10_000
"""Where HiGHS ends looking for counts without any excess: there may be none."""

_LEAST_SCALE = 1e4

_MANY_CELLS = 200
_TOO_MANY_CELLS = 600
"""For more groups times classes, the integer program would take minutes."""


def round_counts(
    atoms: Atoms, group_mass: NDArray[np.float64], relaxed: Relaxed, constraint: Constraint
) -> NDArray[np.int64]:
    """Return how many tasks of each atom get each label, shape (n_atoms, n_classes)."""
    n_atoms, n_classes = relaxed.fractions.shape
    best = np.argmax(relaxed.fractions, axis=1)
    counts = np.zeros((n_atoms, n_classes), dtype=np.int64)
    counts[np.arange(n_atoms), best] = np.rint(atoms.mass).astype(np.int64)
    cell = atoms.group.astype(np.int64) * n_classes + best
    totals = np.bincount(cell, weights=atoms.mass, minlength=group_mass.size * n_classes).astype(np.float64)
    totals = totals.reshape(-1, n_classes)
    decided = np.zeros(totals.shape) if atoms.decided is None else atoms.decided.mass
    held = np.rint(totals).astype(np.int64)
    totals = totals + decided
    # Few atoms are split between labels.
    mixed = np.flatnonzero(relaxed.fractions[np.arange(n_atoms), best] < 1.0)
    real = atoms.mass[mixed, None] * relaxed.fractions[mixed]
    np.add.at(totals, atoms.group[mixed], real - counts[mixed])
    np.subtract.at(held, atoms.group[mixed], counts[mixed])
    counts[mixed] = _whole_numbers(real, counts[mixed].sum(axis=1))
    np.add.at(held, atoms.group[mixed], counts[mixed])
    if (np.abs(real - counts[mixed]) <= WHOLE_COUNT).all():
        return counts
    prices = prices_of(relaxed.multipliers, group_mass)
    targets = _rounded_totals(totals, group_mass, prices, constraint)
    margin, _ = atom_margins(atoms, group_mass, relaxed.multipliers)
    margin[mixed] = 0.0
    wanted = targets - np.rint(decided).astype(np.int64)
    by_group = order_by_group(atoms.group, group_mass.size)
    bounds = np.searchsorted(atoms.group[by_group], np.arange(group_mass.size + 1))
    for a in range(group_mass.size):
        members = by_group[bounds[a] : bounds[a + 1]]
        move_to_totals(atoms.gains, counts, members, held[a], wanted[a], prices[a], margin)
    return counts


def _whole_numbers(parts: NDArray[np.float64], sums: NDArray[np.int64]) -> NDArray[np.int64]:
    """Round each row to whole numbers with a given sum: down, and up where most was lost.

    Examples
    --------
    >>> _whole_numbers(np.array([[0.5, 0.0, 0.5], [1.2, 2.8, 0.0]]), np.array([1, 4]))
    array([[1, 0, 0],
           [1, 3, 0]])
    """
    below = np.floor(parts + WHOLE_COUNT).astype(np.int64)
    rank = np.argsort(np.argsort(below - parts, axis=1, kind="stable"), axis=1, kind="stable")
    return np.asarray(below + (rank < (sums - below.sum(axis=1))[:, None]))


def _rounded_totals(
    totals: NDArray[np.float64], group_mass: NDArray[np.float64], prices: NDArray[np.float64], constraint: Constraint
) -> NDArray[np.int64]:
    """Round the counts per group and class so that the constraint is exceeded as little as possible."""
    n_groups, n_classes = totals.shape
    if isinstance(constraint, RateParity) and n_classes == 2:
        return closest_totals(np.floor(totals + WHOLE_COUNT), group_mass, prices, constraint.epsilon)
    n_cells = n_groups * n_classes
    if isinstance(constraint, RateParity) and n_cells > _MANY_CELLS:
        near = totals_near_centres(np.floor(totals + WHOLE_COUNT), totals, group_mass, prices, constraint.epsilon)
        one_task = 1.0 / float(group_mass.min())
        if near is not None and (n_cells > _TOO_MANY_CELLS or constraint.excess(rates_of(near, group_mass)) < one_task):
            return near
    return _by_integer_program(totals.tobytes(), group_mass.tobytes(), prices.tobytes(), constraint).copy()


@functools.lru_cache(maxsize=64)
def _by_integer_program(
    totals_bytes: bytes, mass_bytes: bytes, prices_bytes: bytes, constraint: Constraint
) -> NDArray[np.int64]:
    """Round by an integer program; ``_rounded`` in solve.py asks for the same one at many an epsilon of a frontier."""
    from scipy.optimize import Bounds, LinearConstraint, milp

    group_mass = np.frombuffer(mass_bytes)
    totals, prices = (np.frombuffer(given).reshape(group_mass.size, -1) for given in (totals_bytes, prices_bytes))
    n_groups, n_classes = totals.shape
    n_cells = totals.size
    limits = constraint.rows(n_groups, n_classes)
    n_centres = limits.on_centres.shape[1]
    floor = np.floor(totals + WHOLE_COUNT)
    group = np.repeat(np.arange(n_groups), n_classes)
    # Unknowns: how many tasks to add to each floor, the centres, and the excess over epsilon. Rates are scaled so that
    # the absolute tolerances of HiGHS (1e-6) are far below one task, and below any epsilon that matters.
    scale = max(_LEAST_SCALE, float(group_mass.max()))
    inner = np.hstack([scale * limits.on_rates.toarray() / group_mass[group], limits.on_centres.toarray()])
    above, below = np.column_stack([inner, -limits.relief]), np.column_stack([inner, limits.relief])
    rates = limits.on_rates @ rates_of(floor, group_mass).ravel()
    of_group = np.zeros((n_groups, n_cells + n_centres + 1))
    of_group[group, np.arange(n_cells)] = 1.0
    left = np.rint(group_mass - floor.sum(axis=1))
    # Prices choose among roundings of equal excess.
    cost = np.concatenate([-prices.ravel(), np.zeros(n_centres), [_EXCESS_COST * group_mass.sum() / scale]])
    largest = float(np.abs(prices).max())

    def program(most_excess: float) -> Any:
        return milp(
            cost / max(largest, 1e-9),
            integrality=np.concatenate([np.ones(n_cells), np.zeros(n_centres + 1)]),
            bounds=Bounds(
                np.concatenate([np.maximum(-floor.ravel(), -1), np.full(n_centres, -scale), [0.0]]),
                np.concatenate([np.full(n_cells, 2.0), np.full(n_centres, 2 * scale), [most_excess]]),
            ),
            constraints=[
                LinearConstraint(above, -np.inf, scale * (limits.upper - rates)),
                LinearConstraint(below, scale * (limits.lower - rates), np.inf),
                LinearConstraint(of_group, left, left),
            ],
            # A small program needs no presolve, with which HiGHS may print a line; a large one takes minutes without.
            options={"presolve": n_cells > _MANY_CELLS, **({} if most_excess else {"node_limit": _NODES})},
        )

    def counts_of(found: Any) -> NDArray[np.int64]:
        return np.asarray((floor + np.rint(found.x[:n_cells]).reshape(totals.shape)).astype(np.int64))

    found = program(np.inf)
    if found.x is None:
        raise SolverError(
            f"HiGHS could not round the labels to whole tasks: {found.message} decision='randomized' needs no rounding."
        )
    counts = counts_of(found)
    over = constraint.excess(rates_of(counts, group_mass))
    if over > NO_EXCESS and _EXCESS_COST * group_mass.sum() * over < 3 * n_cells * largest:
        # So little may cost less than what other counts gain. There may be counts without any.
        found = program(0.0)
        counts = counts if found.x is None else counts_of(found)
    return counts
