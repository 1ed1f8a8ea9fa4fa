r"""The linear program over atoms, solved by HiGHS.

Maximise :math:`\sum_j m_j \sum_k U_{jk} x_{jk}` over :math:`x_j` in the simplex, with one free centre
:math:`c_k` a class: :math:`|r_{ak} - c_k| \le \varepsilon/2` for every group a and class k, where
:math:`r_{ak}` is the rate of class k in group a. Some atoms may be decided beforehand; others may be allowed
a part of the classes only.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from faircrowd.votes.vocabulary import Codes

__all__ = ["Program", "solve_program"]

_TOLERANCE = 1e-10


class Program(NamedTuple):
    """A solution: what fraction of each atom gets each label, and the multipliers of the rates."""

    fractions: NDArray[np.float64]
    multipliers: NDArray[np.float64]


def solve_program(
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
    atom, label = np.nonzero(allowed)
    n_pairs, n_cells = atom.size, n_groups * n_classes
    scale = float(mass.mean()) if mass.size else 1.0
    cell = group[atom].astype(np.int64) * n_classes + label
    totals: Any = coo_array((mass[atom] / scale, (cell, np.arange(n_pairs))), shape=(n_cells, n_pairs))
    a, k = np.divmod(np.arange(n_cells), n_classes)
    centres: Any = coo_array((-group_mass[a] / scale, (np.arange(n_cells), k)), shape=(n_cells, n_classes))
    inner: Any = hstack([totals, centres], format="csr")
    room = np.repeat(group_mass * epsilon / 2, n_classes) / scale
    fixed = decided.ravel() / scale
    one_each: Any = csr_array((np.ones(n_pairs), (atom, np.arange(n_pairs))), shape=(mass.size, n_pairs + n_classes))
    found = linprog(
        np.concatenate([-(mass[atom] / scale) * gains[atom, label], np.zeros(n_classes)]),
        A_ub=vstack([inner, -inner], format="csr"),
        b_ub=np.concatenate([room - fixed, room + fixed]),
        A_eq=one_each if mass.size else None,
        b_eq=np.ones(mass.size) if mass.size else None,
        bounds=[(0, None)] * n_pairs + [(None, None)] * n_classes,
        method="highs",
        options={"primal_feasibility_tolerance": _TOLERANCE, "dual_feasibility_tolerance": _TOLERANCE},
    )
    if found.status != 0:
        return None
    fractions = np.zeros(allowed.shape)
    fractions[atom, label] = np.clip(np.asarray(found.x)[:n_pairs], 0.0, 1.0)
    if mass.size:
        fractions /= fractions.sum(axis=1, keepdims=True)
    prices = -np.asarray(found.ineqlin.marginals)
    shares = group_mass / group_mass.sum()
    multipliers = (prices[:n_cells] - prices[n_cells:]).reshape(n_groups, n_classes) * shares[:, None]
    return Program(fractions, multipliers)
