"""How far deterministic labels may exceed epsilon: whole tasks cannot give every rate.

Groups of 281 and 319 tasks have equal rates only if all of their tasks get the same label, so epsilon 0 to the letter
would ruin the labels. Deterministic labels keep epsilon to the letter if that costs no more than rounding explains: the
worth of as many tasks as there are rates to be rounded. Otherwise their gap may exceed epsilon by less than one task
of the smallest group; there are always such labels near the best randomized ones. With ``strict``, epsilon is kept to
the letter at any cost.
"""

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from faircrowd.fair.objective import Gain
from faircrowd.fair.tasks.population import Population

if TYPE_CHECKING:
    from faircrowd.fair.certificate import Certificate

__all__ = [
    "TO_THE_LETTER",
    "WHY_DRAWS_EXCEED",
    "Allowance",
    "allowances",
    "draw_excess",
    "rounding_loss",
    "strict_price",
    "why_exceeded",
]


_LESS_THAN_ONE = 1.0 - 1e-4
"""The part of a task by which the gap may exceed epsilon, so that it is less than one task for every solver."""


class Allowance(NamedTuple):
    """What deterministic labels may do.

    Attributes
    ----------
    excess : float
        By how much their gap may exceed epsilon.
    most_loss : float
        How far their objective may be below the bound; labels that lose more are not accepted.
    """

    excess: float
    most_loss: float


TO_THE_LETTER = (Allowance(0.0, np.inf),)
"""Epsilon is kept, whatever it costs."""


def allowances(problem: Population, gain: Gain) -> tuple[Allowance, ...]:
    """Return what labels may do, in the order in which it is tried: the last is accepted at any cost.

    With weights, one task is first taken as one of average weight in the smallest group, and then as the one that has
    the largest part of its group.

    Parameters
    ----------
    problem : Population
    gain : Gain
        What is maximised.
    """
    one_task = [1.0 / int(problem.sizes.min())]
    if problem.weights is not None:
        one_task.append(float(_heaviest_parts(problem).max()))
    loss = rounding_loss(problem.sizes, problem.n_classes, gain)
    excesses = [0.0, *(_LESS_THAN_ONE * part for part in sorted(one_task))]
    losses = [loss] * (len(excesses) - 1) + [np.inf]
    return tuple(Allowance(*pair) for pair in zip(excesses, losses, strict=True))


def rounding_loss(sizes: NDArray[np.int64], n_classes: int, gain: Gain) -> float:
    """Return what rounding explains: one task per rate that is rounded, each at the most that a label can be worth.

    Examples
    --------
    >>> from faircrowd.fair.objective import make_gain
    >>> rounding_loss(np.array([281, 319]), 2, make_gain("accuracy", 2)) * 600
    2.0
    """
    worth = gain.matrix + gain.offset
    most = float((worth.max(axis=1) - worth.min(axis=1)).max())
    return sizes.size * (n_classes - 1) * most / int(sizes.sum())


def why_exceeded(epsilon: float, excess: float, sizes: NDArray[np.int64]) -> str:
    """Say why the gap may exceed epsilon; nothing if it may not."""
    if excess == 0.0:
        return ""
    return (
        f"whole tasks cannot keep epsilon {epsilon:g} to the letter without changing many more labels: the smallest "
        f"group has {int(sizes.min()):,} tasks, so the gap may exceed epsilon by less than {excess:.2g}, the part that "
        "one task has of its group"
    )


WHY_DRAWS_EXCEED = (
    "labels were drawn: on average over draws the gap is within epsilon, and each rate of a draw is within one task of "
    "its average"
)


def draw_excess(problem: Population) -> float:
    """Return by how much the gap of drawn labels may exceed that of their average: one task in each of two groups.

    With weights, it is one task for each pair of classes, and a task may be the heaviest of its group.
    """
    if problem.weights is None:
        part, pairs = 1.0 / problem.sizes, 1
    else:
        part, pairs = _heaviest_parts(problem), problem.n_classes * (problem.n_classes - 1) // 2
    return float(pairs * np.sort(part)[-2:].sum())


def strict_price(certificate: "Certificate", sizes: NDArray[np.int64]) -> str:
    """Say what ``strict`` costs."""
    lost = certificate.dual_bound - certificate.value
    return (
        f"strict=True keeps epsilon {certificate.epsilon:g} to the letter, which whole tasks (of groups of "
        f"{int(sizes.min()):,} to {int(sizes.max()):,} tasks) can do only at a price: {certificate.changed:,} of "
        f"{certificate.tasks:,} labels change, and the objective is {certificate.value:.3f}, {lost:.3f} below what "
        "randomized labels within epsilon reach. Without strict, the gap may exceed epsilon by less than one task of "
        "the smallest group."
    )


def _heaviest_parts(problem: Population) -> NDArray[np.float64]:
    """Return the largest part that one task has of each group, where tasks have weights."""
    memory = problem.in_memory("sample_weight", "leave it out")
    assert memory.weights is not None  # noqa: S101 - this is for weights
    heaviest = np.zeros(problem.n_groups)
    np.maximum.at(heaviest, memory.group, memory.weights)
    return np.asarray(heaviest / memory.group_weights())
