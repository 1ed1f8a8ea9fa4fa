"""Groups that the constraint does not speak of: a solution for the compared groups becomes one for all tasks.

Without a constraint on its rates, a task of such a group gets the label that gains the most. So the best labels of all
tasks are the best labels of the compared ones and these, the multipliers of the groups that are left out are 0, and a
bound for the compared tasks becomes one for all: gains add up.
"""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from faircrowd.fair.gap import gap_of
from faircrowd.fair.program.assign import unconstrained_labels, unconstrained_probabilities
from faircrowd.fair.solution import Solution, TieWeights
from faircrowd.fair.tasks.population import Population, Rows, compared_codes

__all__ = ["compared_gap", "compared_groups", "spread_over_groups", "with_left_out"]


def compared_groups(population: Population) -> NDArray[np.int64]:
    """Return the codes of the groups that the constraint speaks of."""
    return np.flatnonzero(compared_codes(population.n_groups, population.left_out) >= 0)


def compared_gap(population: Population, rates: NDArray[np.float64]) -> float:
    """Return the gap between the groups that the constraint speaks of, from the rates of all groups."""
    return gap_of(rates[compared_groups(population)])


def spread_over_groups(population: Population, multipliers: NDArray[np.float64], share: float) -> NDArray[np.float64]:
    """Return the multipliers of all groups from those of the compared ones, whose tasks are this share of all."""
    found = np.zeros((population.n_groups, population.n_classes))
    found[compared_groups(population)] = share * multipliers
    return found


def with_left_out(population: Population[Rows], compared: Population[Rows], solved: Solution[Rows]) -> Solution[Rows]:
    """Return the solution for all tasks that follows from one for the compared tasks."""
    gain = solved.gain
    labels = population.with_left_out(solved.labels, unconstrained_labels, gain)
    whole, part = population.tally(labels, gain), compared.tally(solved.labels, gain)
    share = float(part.mass.sum() / whole.mass.sum())
    value, reached = whole.gain_of_labels(gain), part.gain_of_labels(gain)
    codes = compared_groups(population)
    ties: TieWeights = {(int(codes[a]), members): weights for (a, members), weights in solved.ties.items()}
    if population.n_classes == 2:
        last = gain.is_accuracy and population.ties == "last"
        ties |= {(a, (0, 1)): (0.0, 1.0) if last else (1.0, 0.0) for a in population.left_out}
    return replace(
        solved,
        labels=labels,
        compute_probabilities=lambda: population.with_left_out(solved.probabilities, unconstrained_probabilities, gain),
        multipliers=spread_over_groups(population, solved.multipliers, share),
        ties=ties,
        bound=value + share * (solved.bound - reached),
        dual_bound=value + share * (solved.dual_bound - reached),
    )
