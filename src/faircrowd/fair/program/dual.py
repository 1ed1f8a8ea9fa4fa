r"""The dual of the fair program: exact, and smoothed.

With multipliers :math:`L_{ak}`, :math:`\sum_a L_{ak} = 0`, no labelling of gap at most :math:`\varepsilon` gains more
than

.. math:: D(L) = \sum_a E_a[\max_k(\pi_a U_k - L_{ak})] + \tfrac{\varepsilon}{2} \sum_{ak} |L_{ak}|.

The smallest such bound equals the value of the best randomized labelling. For two groups it is the paper's
:math:`\mathcal M(\beta)`. The last term and the condition on the sum are those of demographic parity
(:class:`~faircrowd.fair.rate_constraint.RateParity`); other constraints on rates have others.
"""

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from faircrowd._kernels import kernel
from faircrowd._threads import for_rows_in_threads
from faircrowd.exact.quasi_newton import minimize_smooth
from faircrowd.fair.program.atoms import Atoms, order_by_group
from faircrowd.fair.rate_constraint import Constraint, prices_of, rates_of
from faircrowd.votes.vocabulary import Codes

__all__ = [
    "ROUGH",
    "atom_margins",
    "dual_value",
    "label_margins",
    "near_best_labels",
    "rough_multipliers",
    "smoothed_multipliers",
]

_TEMPERATURES = (1e-1, 3e-2, 1e-2, 3e-3, 1e-3, 3e-4)
_SAMPLE_TEMPERATURES = _TEMPERATURES[:5]
ROUGH = _TEMPERATURES[2]
"""The temperature of ``rough_multipliers``: by about how much they may err."""

_LAST_TEMPERATURES = (1e-3, 3e-4)
_REACH = (1e-2, 3e-3)
"""At the last temperatures, how near to each other labels must be to change places: ten temperatures."""

_TOO_FAR = 10.0
"""If multipliers move by so many times the reach, labels that were taken as fixed would have changed."""

_SIMILAR = _TEMPERATURES[3]
"""By about how much the multipliers of a similar epsilon err."""

_SAMPLED_ATOMS = 20_000


def dual_value(
    atoms: Atoms, group_mass: NDArray[np.float64], multipliers: NDArray[np.float64], constraint: Constraint
) -> float:
    """Return the dual value D(L): no labelling that keeps the constraint gains more."""
    prices = prices_of(multipliers, group_mass)
    total = _dual(atoms.gains, atoms.mass, atoms.group, group_mass, prices)
    if atoms.decided is not None:
        total += (atoms.decided.value - float((atoms.decided.mass * prices).sum())) / group_mass.sum()
    return float(total + constraint.dual_cost(multipliers))


def near_best_labels(
    atoms: Atoms, group_mass: NDArray[np.float64], multipliers: NDArray[np.float64], width: float
) -> NDArray[np.bool_]:
    """Return whether the score of each label of each atom is within ``width`` of its best.

    ``width`` is in units of multipliers, as is their error: the scores of a group err by it divided by the group's
    share.
    """
    margin, best = atom_margins(atoms, group_mass, multipliers)
    widths = width / (group_mass / group_mass.sum())
    allowed = np.zeros(atoms.gains.shape, dtype=bool)
    allowed[np.arange(best.size), best] = True
    rows = np.flatnonzero(margin <= widths[atoms.group])  # mostly few
    scores = atoms.gains[rows] - prices_of(multipliers, group_mass)[atoms.group[rows]]
    allowed[rows] = scores >= scores.max(axis=1, keepdims=True) - widths[atoms.group[rows]][:, None]
    return allowed


def atom_margins(
    atoms: Atoms, group_mass: NDArray[np.float64], multipliers: NDArray[np.float64]
) -> tuple[NDArray[np.float64], Codes]:
    """Return by how much the best label of each atom beats the second best, and the best label."""
    return label_margins(atoms.gains, atoms.group, prices_of(multipliers, group_mass))


def label_margins(
    gains: NDArray[np.float64], group: Codes, prices: NDArray[np.float64]
) -> tuple[NDArray[np.float64], Codes]:
    """Return by how much the best label of each row of gains beats the second at these prices, and the best label."""
    margin, label = np.empty(gains.shape[0]), np.zeros(gains.shape[0], dtype=np.int32)
    for_rows_in_threads(lambda at: _margins(gains[at], group[at], prices, margin[at], label[at]), margin.size)
    return margin, label


def rough_multipliers(atoms: Atoms, group_mass: NDArray[np.float64], constraint: Constraint) -> NDArray[np.float64]:
    """Minimise the dual with a softened maximum at high temperatures only; a sample of the atoms is enough for that."""
    is_small = atoms.mass.size <= _SAMPLED_ATOMS
    sample, sample_mass = (atoms, group_mass) if is_small else _sampled(atoms, group_mass.size)
    multipliers = fixed = np.zeros((group_mass.size, atoms.gains.shape[1]))
    for temperature in (heat for heat in _TEMPERATURES if heat >= ROUGH):
        multipliers = _descend(sample, sample_mass, group_mass, fixed, constraint, temperature, multipliers)
    return multipliers


def smoothed_multipliers(
    atoms: Atoms,
    group_mass: NDArray[np.float64],
    constraint: Constraint,
    start: NDArray[np.float64] | None = None,
    error: float = _SIMILAR,
) -> NDArray[np.float64]:
    """Minimise the dual with a softened maximum, at falling temperatures; the result is near the true minimum.

    High temperatures need a sample only. At low ones most atoms have a label that small changes of the multipliers
    do not change: they are counted once, and each step sums over the others. From a good ``start``, such as the
    multipliers of a similar epsilon or rough ones, only the temperatures below its ``error`` are needed.
    """
    n_groups = group_mass.size
    multipliers = np.zeros((n_groups, atoms.gains.shape[1])) if start is None else start
    error = np.inf if start is None else error
    fixed = np.zeros_like(multipliers)
    if atoms.mass.size <= _SAMPLED_ATOMS and atoms.decided is None:
        for temperature in _below(error, _TEMPERATURES):
            multipliers = _descend(atoms, group_mass, group_mass, fixed, constraint, temperature, multipliers)
        return multipliers
    if atoms.decided is None:
        sample, sample_mass = _sampled(atoms, n_groups)
        for temperature in _below(error, _SAMPLE_TEMPERATURES):
            multipliers = _descend(sample, sample_mass, group_mass, fixed, constraint, temperature, multipliers)
    for temperature, reach in zip(_LAST_TEMPERATURES, _REACH, strict=True):
        near, fixed = _near_ties(atoms, group_mass, multipliers, reach)
        found = _descend(near, group_mass, group_mass, fixed, constraint, temperature, multipliers)
        if not np.abs(found - multipliers).max() <= _TOO_FAR * reach:  # the few labels cannot keep the constraint alone
            near, fixed = _near_ties(atoms, group_mass, multipliers, np.inf)
            found = _descend(near, group_mass, group_mass, fixed, constraint, temperature, multipliers)
        multipliers = found
    return multipliers


def _below(error: float, temperatures: tuple[float, ...]) -> list[float]:
    return [temperature for temperature in temperatures if temperature < error]


def _sampled(atoms: Atoms, n_groups: int) -> tuple[Atoms, NDArray[np.float64]]:
    """Take an even sample of each group, and all atoms of small groups."""
    order = order_by_group(atoms.group, n_groups)
    bounds = np.searchsorted(atoms.group[order], np.arange(n_groups + 1))
    each = max(_SAMPLED_ATOMS // n_groups, 1)
    chosen = [order[a : b : max((b - a) // each, 1)] for a, b in pairwise(bounds)]
    rows = np.concatenate(chosen)
    few = Atoms(atoms.gains[rows], atoms.mass[rows], atoms.group[rows])
    return few, np.bincount(few.group, weights=few.mass, minlength=n_groups).astype(np.float64)


def _near_ties(
    atoms: Atoms, group_mass: NDArray[np.float64], multipliers: NDArray[np.float64], reach: float
) -> tuple[Atoms, NDArray[np.float64]]:
    """Return the atoms whose best labels are near each other, and the rates of the labels of all others."""
    margin, best = atom_margins(atoms, group_mass, multipliers)
    shares = group_mass / group_mass.sum()
    is_near = margin * shares[atoms.group] <= reach
    rows = np.flatnonzero(is_near)
    cell = atoms.group * np.int64(multipliers.shape[1]) + best
    others = np.where(is_near, 0.0, atoms.mass)
    fixed = np.bincount(cell, weights=others, minlength=multipliers.size).reshape(multipliers.shape)
    labelled = fixed + (0.0 if atoms.decided is None else atoms.decided.mass)
    return Atoms(atoms.gains[rows], atoms.mass[rows], atoms.group[rows]), rates_of(labelled, group_mass)


def _descend(
    atoms: Atoms,
    mass: NDArray[np.float64],
    group_mass: NDArray[np.float64],
    fixed: NDArray[np.float64],
    constraint: Constraint,
    temperature: float,
    start: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Minimise the softened dual of atoms from a start; ``fixed`` holds the rates of the labels of all other tasks."""
    n_groups, n_classes = start.shape
    shares = group_mass / group_mass.sum()

    def loss(x: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        multipliers = constraint.from_free_coordinates(x, n_groups, n_classes)
        prices = prices_of(multipliers, group_mass)
        value, rates = _soft(atoms.gains, atoms.mass, atoms.group, mass, prices, temperature, shares)
        cost, slope = constraint.smooth_dual_cost(multipliers, 0.1 * temperature)
        gradient = -rates - fixed + slope
        total = value - float((fixed * multipliers).sum()) + cost
        return total, constraint.free_gradient(gradient)

    first = constraint.free_coordinates(start)
    return constraint.from_free_coordinates(minimize_smooth(loss, first), n_groups, n_classes)


@kernel
def _dual(
    gains: NDArray[np.float64],
    mass: NDArray[np.float64],
    group: Codes,
    group_mass: NDArray[np.float64],
    prices: NDArray[np.float64],
) -> float:
    total, lost = 0.0, 0.0  # what rounding lost is added back
    whole = group_mass.sum()
    for j in range(gains.shape[0]):
        best = -np.inf
        for k in range(gains.shape[1]):
            best = max(best, gains[j, k] - prices[group[j], k])
        term = mass[j] * best / whole - lost
        new = total + term
        lost = (new - total) - term
        total = new
    return total


@kernel
def _soft(
    gains: NDArray[np.float64],
    mass: NDArray[np.float64],
    group: Codes,
    group_mass: NDArray[np.float64],
    prices: NDArray[np.float64],
    temperature: float,
    shares: NDArray[np.float64],
) -> tuple[float, NDArray[np.float64]]:
    n_classes = gains.shape[1]
    rates = np.zeros(prices.shape)
    score = np.empty(n_classes)
    total = 0.0
    for j in range(gains.shape[0]):
        a = group[j]
        scale = temperature / shares[a]
        top = -np.inf
        for k in range(n_classes):
            score[k] = gains[j, k] - prices[a, k]
            top = max(top, score[k])
        sum_ = 0.0
        for k in range(n_classes):
            away = (score[k] - top) / scale
            score[k] = 1.0 if away == 0.0 else np.exp(away) if away > -40.0 else 0.0
            sum_ += score[k]
        part = mass[j] / group_mass[a]
        total += part * (shares[a] * top + temperature * np.log(sum_))
        for k in range(n_classes):
            rates[a, k] += part * score[k] / sum_
    return total, rates


@kernel
def _margins(
    gains: NDArray[np.float64],
    group: Codes,
    prices: NDArray[np.float64],
    margin: NDArray[np.float64],
    label: Codes,
) -> None:
    """Fill in margins and best labels; of equal scores the first is the best.

    Which label is best is hard to foresee: minima and maxima take a tenth of the time of branches.
    """
    for j in range(gains.shape[0]):
        best, second, label_ = -np.inf, -np.inf, 0
        for k in range(gains.shape[1]):
            score = gains[j, k] - prices[group[j], k]
            # Invariant: best and second are the two highest scores of the labels up to k.
            second = max(second, min(best, score))
            label_ = k if score > best else label_
            best = max(best, score)
        margin[j], label[j] = best - second, label_
