"""How often a verdict of ``faircrowd check --require "ratio(...) >= 0.8"`` is wrong, and how many tasks a pass takes.

The first table is by enumeration of all samples of two groups, as in ``benchmarks/gate.py``: the largest probability,
over a grid of rates, of a pass where the ratio is below its limit and of a fail where it is not. The second has the
smallest number of tasks per group with which labels of equal rates pass, beside what a test of the ratio itself would
need by the normal approximation of its logarithm. Run it with ``python benchmarks/ratio_gate.py``. docs/gate.md has its
output.
"""

import itertools
import math

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri
from scipy.stats import binom

from faircrowd.audit.constraint_limits import clopper_pearson

SIZES = [(10, 10), (10, 100), (30, 300), (100, 100), (100, 1000), (300, 300)]
LIMIT, ERROR = 0.8, 0.05


def limits_of(size: int, error: float) -> NDArray[np.float64]:
    """Return the limits of a rate for each count; shape (2, size + 1)."""
    return np.array([clopper_pearson(hits, size, error) for hits in range(size + 1)]).T


def verdicts(m: int, n: int) -> NDArray[np.bool_]:
    """Return for each sample whether it passes, and whether it fails; shape (2, m + 1, n + 1)."""
    (low, high), (other_low, other_high) = limits_of(m, ERROR / 2), limits_of(n, ERROR / 2)
    passes = np.minimum.outer(low, other_low) >= LIMIT * np.maximum.outer(high, other_high)
    (low, high), (other_low, other_high) = limits_of(m, ERROR / 4), limits_of(n, ERROR / 4)
    fails = np.minimum.outer(high, other_high) < LIMIT * np.maximum.outer(low, other_low)
    return np.stack([passes, fails])


def worst_errors(found: NDArray[np.bool_], steps: int = 301) -> tuple[float, float]:
    """Return the largest probability of a wrong pass and of a wrong fail over a grid of rates."""
    m, n = (size - 1 for size in found.shape[1:])
    worst = [0.0, 0.0]
    for ratio, first_is_less in itertools.product((1.0, 0.9, LIMIT, 0.75), (True, False)):
        q = np.linspace(0.0, 1.0, steps)
        p, q = (ratio * q, q) if first_is_less else (q, ratio * q)
        first = binom.pmf(np.arange(m + 1)[:, None], m, p)
        second = binom.pmf(np.arange(n + 1)[:, None], n, q)
        for kind, is_wrong in ((0, ratio <= LIMIT), (1, ratio >= LIMIT)):
            if is_wrong:
                chance = np.einsum("xr,xy,yr->r", first, found[kind].astype(float), second, optimize=True)
                worst[kind] = max(worst[kind], float(chance.max()))
    return worst[0], worst[1]


def tasks_to_pass(rate: float) -> int:
    """Return how many tasks per group labels of equal rates need to pass."""
    low, high = 1, 2

    def passes(size: int) -> bool:
        below, above = clopper_pearson(round(rate * size), size, ERROR / 2)
        return below >= LIMIT * above

    while not passes(high):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if passes(middle) else (middle, high)
    return high


def main() -> None:
    """Print the tables."""
    print("| tasks | limit | confidence | wrong pass | wrong fail |")
    print("|---|---|---|---|---|")
    for m, n in SIZES:
        wrong = " | ".join(f"{value:.4f}" for value in worst_errors(verdicts(m, n)))
        print(f"| {m}, {n} | {LIMIT:g} | {1 - ERROR:.0%} | {wrong} |", flush=True)
    print("\n| rate of both groups | tasks per group to pass | a test of the ratio itself |")
    print("|---|---|---|")
    for rate in (0.5, 0.2, 0.1):
        ideal = 2 * float(ndtri(ERROR)) ** 2 * (1 - rate) / rate / math.log(LIMIT) ** 2
        print(f"| {rate:.0%} | {tasks_to_pass(rate):,} | {math.ceil(ideal):,} |")


if __name__ == "__main__":
    main()
