r"""More than two classes: rules learned from one half of the tasks, and tested on the other half.

**Procedure.** On the first half the best rule is learned for each of a rising sequence of gaps e, from 0 to just below
epsilon. On the second half each is tested: do its labels there show, at level 1 - confidence, that its gap in the
population is at most epsilon? The tests are done in this order, each at the full level, until one fails; the last rule
that passed is taken (fixed-sequence testing, as in Learn then Test). A wrong promise needs a wrong pass of the first
rule of the sequence whose gap is too large, so its probability is at most the level, for any number of rules.

A test (:func:`faircrowd.fair.promise.difference_test.gap_is_below`) is exact: given the rule, the labels of the second
half are independent draws, whatever the posterior is and however ties are drawn.

References
----------
A. N. Angelopoulos, S. Bates, E. J. Candès, M. I. Jordan and L. Lei, Learn then Test: calibrating predictive algorithms
to achieve risk control, arXiv:2110.01052 (2021).
"""

import math

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from faircrowd.fair.constraint import DemographicParity
from faircrowd.fair.objective import Gain
from faircrowd.fair.promise.difference_test import gap_is_below
from faircrowd.fair.promise.held_out import split
from faircrowd.fair.promise.statement import Promise
from faircrowd.fair.rule import FairRule, rule_of
from faircrowd.fair.solve import solve
from faircrowd.fair.tasks.problem import Problem

__all__ = ["promise_by_test", "tasks_needed"]

LEARNED = 0.5
"""The share of the tasks that rules are learned from."""

_STEPS = 16
_MISSED = 0.1


def promise_by_test(
    problem: Problem, gain: Gain, epsilon: float, confidence: float, random_state: int
) -> tuple[Promise, FairRule | None]:
    """Return the promise for any number of classes, and the rule that it is about; None if the first test fails."""
    parts = split(problem, LEARNED, random_state)
    best: FairRule | None = None
    tightened, rates = 0.0, np.full((problem.n_groups, problem.n_classes), 0.5)
    for step in range(_STEPS):
        if parts is None:
            break
        asked = epsilon * step / _STEPS
        solved = solve(parts.learned, gain, DemographicParity(asked), "randomized", random_state)
        rule = rule_of(parts.learned, solved, parts.learned.sizes, epsilon, random_state)
        counts = _counts(parts.held_out, rule)
        if step == 0:
            rates = counts / counts.sum(axis=1, keepdims=True)
        if not gap_is_below(counts, epsilon, 1 - confidence):
            break
        best, tightened = rule, asked
    held_out = 0 if parts is None else parts.held_out.group.size
    found = Promise(
        method="test",
        epsilon=epsilon,
        confidence=confidence,
        tightened=epsilon if best is None else tightened,
        enough=best is not None,
        needed=tasks_needed(rates, epsilon, confidence) if best is None else None,
        learned=problem.group.size - held_out,
        held_out=held_out,
        grounds=f"it passed an exact test on {held_out:,} held-out tasks",
    )
    return found, best


def _counts(held_out: Problem, rule: FairRule) -> NDArray[np.int64]:
    labels = rule.label_codes(held_out).astype(np.int64)
    cells = np.bincount(held_out.group * held_out.n_classes + labels, minlength=held_out.n_groups * held_out.n_classes)
    return cells.reshape(held_out.n_groups, held_out.n_classes)


def tasks_needed(rates: NDArray[np.float64], epsilon: float, confidence: float) -> int | None:
    r"""Return how many tasks in each group make the first test pass nine times out of ten at about these rates.

    With a standard deviation s of a difference of rates, the limit of the test is :math:`z s` above the difference it
    sees, which is one of a rule that errs by another s: :math:`(z + \sqrt 2 z') s = \varepsilon`, where :math:`z'` is
    for the largest of all differences.

    Examples
    --------
    >>> tasks_needed(np.full((2, 3), 1 / 3), 0.05, 0.95)
    7703
    """
    if epsilon <= 0:
        return None
    n_groups, n_classes = rates.shape
    differences = math.comb(n_groups, 2) * (1 if n_classes == 2 else n_classes)
    level, missed = -float(ndtri(1 - confidence)), -float(ndtri(_MISSED / (2 * differences)))
    variance = float((rates * (1 - rates)).max())
    tested = 2 * variance * ((level + math.sqrt(2) * missed) / epsilon) ** 2
    return math.ceil(tested / (1 - LEARNED))
