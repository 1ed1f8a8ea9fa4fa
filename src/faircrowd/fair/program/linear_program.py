r"""The linear program over atoms, solved by HiGHS.

Maximise :math:`\sum_j m_j \sum_k U_{jk} x_{jk}` over :math:`x_j` in the simplex, subject to the rows of a constraint on
the rates of groups (:mod:`faircrowd.fair.rate_constraint`). Some atoms may be decided beforehand; others may be
allowed only some of the classes.
"""

from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from faircrowd.fair.rate_constraint import Constraint, prices_of, rates_of
from faircrowd.fair.tolerances import HIGHS_FEASIBILITY, NEGLIGIBLE_PART
from faircrowd.votes.vocabulary import Codes

__all__ = ["Program", "solve_linear_program"]


class Program(NamedTuple):
    """A solution: what fraction of each atom gets each label, and the multipliers of the rates."""

    fractions: NDArray[np.float64]
    multipliers: NDArray[np.float64]


def solve_linear_program(
    gains: NDArray[np.float64],
    mass: NDArray[np.float64],
    group: Codes,
    allowed: NDArray[np.bool_],
    decided: NDArray[np.float64],
    group_mass: NDArray[np.float64],
    constraint: Constraint,
) -> Program | None:
    """Solve the program over the undecided atoms; None if there is no solution.

    Parameters
    ----------
    allowed : ndarray of bool, shape (n_atoms, n_classes)
        The labels that an atom may get.
    decided : ndarray, shape (n_groups, n_classes)
        Weight that is labelled already.
    group_mass : ndarray, shape (n_groups,)
        Weight of each group, decided or not.
    """
    from scipy.optimize import linprog
    from scipy.sparse import csr_array, hstack, vstack

    n_groups, n_classes = decided.shape
    # The unknowns are parts of the weight of a group, not of an atom: all coefficients are then alike, however weights
    # differ. Atoms of negligible weight in their group are left out; they get their best label at the end.
    parts = mass / group_mass[group]
    rows = np.flatnonzero(~_negligible(parts, group, n_groups))
    # What remains is scaled to make up the group; otherwise rates with different sums would have to be equal.
    kept = np.bincount(group[rows], weights=parts[rows], minlength=n_groups)
    left = 1.0 - decided.sum(axis=1) / group_mass
    parts = parts * np.divide(left, kept, out=np.ones(n_groups), where=kept > 0)[group]
    scale = 1.0 / float(parts[rows].mean()) if rows.size else 1.0
    atom, label = np.nonzero(allowed[rows])
    n_pairs, pairs = atom.size, np.arange(atom.size)
    cell = group[rows][atom].astype(np.int64) * n_classes + label
    limits = constraint.rows(n_groups, n_classes)
    n_limits, n_centres = limits.on_centres.shape
    rates = csr_array((np.ones(n_pairs), (cell, pairs)), shape=(n_groups * n_classes, n_pairs))
    inner: Any = hstack([limits.on_rates @ rates, limits.on_centres], format="csr")
    fixed = limits.on_rates @ rates_of(scale * decided, group_mass).ravel()
    one_each = csr_array((np.ones(n_pairs), (atom, pairs)), shape=(rows.size, n_pairs + n_centres))
    shares = group_mass / group_mass.sum()
    solved = partial(
        linprog,
        np.concatenate([-shares[group[rows][atom]] * gains[rows][atom, label], np.zeros(n_centres)]),
        A_ub=vstack([inner, -inner], format="csr"),
        b_ub=np.concatenate([scale * limits.upper - fixed, fixed - scale * limits.lower]),
        A_eq=one_each if rows.size else None,
        b_eq=scale * parts[rows] if rows.size else None,
        bounds=[(0, None)] * n_pairs + [(None, None)] * n_centres,
        method="highs",
    )
    options = {"primal_feasibility_tolerance": HIGHS_FEASIBILITY, "dual_feasibility_tolerance": HIGHS_FEASIBILITY}
    found = solved(options=options)
    if found.status != 0:
        # Without room for a gap, presolve can mistake the rounding of weights over many orders for a contradiction.
        found = solved(options={**options, "presolve": False})
    if found.status != 0:
        return None
    marginals = -np.asarray(found.ineqlin.marginals)
    multipliers = constraint.rate_multipliers(marginals[:n_limits] - marginals[n_limits:], n_groups, n_classes)
    labelled = np.zeros((rows.size, n_classes))
    labelled[atom, label] = np.maximum(np.asarray(found.x)[:n_pairs], 0.0)
    fractions = np.zeros(allowed.shape)
    scores = np.where(allowed, gains - prices_of(multipliers, group_mass)[group], -np.inf)
    fractions[np.arange(mass.size), np.argmax(scores, axis=1)] = 1.0
    some = labelled.sum(axis=1) > 0.0
    fractions[rows[some]] = labelled[some] / labelled[some].sum(axis=1, keepdims=True)
    return Program(fractions, multipliers)


def _negligible(parts: NDArray[np.float64], group: Codes, n_groups: int) -> NDArray[np.bool_]:
    """Return whether each atom, together with all lighter ones of its group, has a negligible weight."""
    order = np.lexsort((parts, group))
    negligible = np.zeros(parts.size, dtype=bool)
    bounds = np.searchsorted(group[order], np.arange(n_groups + 1))
    for first, last in pairwise(bounds):
        members = order[first:last]
        negligible[members] = np.cumsum(parts[members]) <= NEGLIGIBLE_PART
    return negligible
