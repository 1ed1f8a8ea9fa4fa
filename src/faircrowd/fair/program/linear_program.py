r"""The linear program over atoms, solved by HiGHS.

Maximise :math:`\sum_j m_j \sum_k U_{jk} x_{jk}` over :math:`x_j` in the simplex, with one free centre
:math:`c_k` a class: :math:`|r_{ak} - c_k| \le \varepsilon/2` for every group a and class k, where
:math:`r_{ak}` is the rate of class k in group a. Some atoms may be decided beforehand; others may be allowed
a part of the classes only.
"""

from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from faircrowd.fair.tolerances import PROGRAM
from faircrowd.votes.vocabulary import Codes

__all__ = ["Program", "solve_linear_program"]

_NOTHING = 1e-11
"""A part of a group that is left out: less than what a gap is told by."""


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
    epsilon: float,
) -> Program | None:
    """Solve the program over the atoms that are left; None if there is no solution.

    Parameters
    ----------
    allowed : ndarray of bool, shape (n_atoms, n_classes)
        The labels that an atom may get.
    decided : ndarray, shape (n_groups, n_classes)
        Mass that is labelled already.
    group_mass : ndarray, shape (n_groups,)
        Mass of each group, decided or not.
    """
    from scipy.optimize import linprog
    from scipy.sparse import coo_array, csr_array, hstack, vstack

    n_groups, n_classes = decided.shape
    # The unknowns are parts of the weight of a group, not of an atom: all coefficients are then alike, however weights
    # differ. Atoms that weigh nothing beside their group are left out; they get their best label at the end.
    parts = mass / group_mass[group]
    tiny = _tiny(parts, group, n_groups)
    rows = np.flatnonzero(~tiny)
    # What is left makes up the group, or rates of different sums would have to be alike.
    kept = np.bincount(group[rows], weights=parts[rows], minlength=n_groups)
    left = 1.0 - decided.sum(axis=1) / group_mass
    parts = parts * np.divide(left, kept, out=np.ones(n_groups), where=kept > 0)[group]
    scale = 1.0 / float(parts[rows].mean()) if rows.size else 1.0
    atom, label = np.nonzero(allowed[rows])
    n_pairs, n_cells = atom.size, n_groups * n_classes
    cell = group[rows][atom].astype(np.int64) * n_classes + label
    rates: Any = coo_array((np.ones(n_pairs), (cell, np.arange(n_pairs))), shape=(n_cells, n_pairs))
    cells = np.arange(n_cells)
    centres: Any = coo_array((-np.ones(n_cells), (cells, cells % n_classes)), shape=(n_cells, n_classes))
    inner: Any = hstack([rates, centres], format="csr")
    room = np.full(n_cells, scale * epsilon / 2)
    fixed = (scale * decided / group_mass[:, None]).ravel()
    one_each: Any = csr_array((np.ones(n_pairs), (atom, np.arange(n_pairs))), shape=(rows.size, n_pairs + n_classes))
    shares = group_mass / group_mass.sum()
    solved = partial(
        linprog,
        np.concatenate([-shares[group[rows][atom]] * gains[rows][atom, label], np.zeros(n_classes)]),
        A_ub=vstack([inner, -inner], format="csr"),
        b_ub=np.concatenate([room - fixed, room + fixed]),
        A_eq=one_each if rows.size else None,
        b_eq=scale * parts[rows] if rows.size else None,
        bounds=[(0, None)] * n_pairs + [(None, None)] * n_classes,
        method="highs",
    )
    options = {"primal_feasibility_tolerance": PROGRAM, "dual_feasibility_tolerance": PROGRAM}
    found = solved(options=options)
    if found.status != 0:
        # Without room for a gap, presolve can take the rounding of weights over many orders for a contradiction.
        found = solved(options={**options, "presolve": False})
    if found.status != 0:
        return None
    prices = -np.asarray(found.ineqlin.marginals)
    multipliers = (prices[:n_cells] - prices[n_cells:]).reshape(n_groups, n_classes)
    labelled = np.zeros((rows.size, n_classes))
    labelled[atom, label] = np.maximum(np.asarray(found.x)[:n_pairs], 0.0)
    fractions = np.zeros(allowed.shape)
    scores = np.where(allowed, gains - (multipliers / shares[:, None])[group], -np.inf)
    fractions[np.arange(mass.size), np.argmax(scores, axis=1)] = 1.0
    some = labelled.sum(axis=1) > 0.0
    fractions[rows[some]] = labelled[some] / labelled[some].sum(axis=1, keepdims=True)
    return Program(fractions, multipliers)


def _tiny(parts: NDArray[np.float64], group: Codes, n_groups: int) -> NDArray[np.bool_]:
    """Say of atoms whether they and all lighter ones of their group together weigh next to nothing."""
    order = np.lexsort((parts, group))
    tiny = np.zeros(parts.size, dtype=bool)
    bounds = np.searchsorted(group[order], np.arange(n_groups + 1))
    for first, last in pairwise(bounds):
        members = order[first:last]
        tiny[members] = np.cumsum(parts[members]) <= _NOTHING
    return tiny
