"""How often a verdict of ``faircrowd check`` is wrong, by enumeration of all samples of two groups.

At each pair of true rates the probability of a wrong verdict is added up over all samples: of a pass where the gap is
epsilon or more, and of a fail where it is epsilon or less. The table has the largest probability over a grid of rates,
for the exact limits of the gate and for the approximation that it does not use (Newcombe's). Run it with
``python benchmarks/gate.py``; it takes some minutes. docs/gate.md has its output.
"""

import argparse
import itertools

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom

from faircrowd.audit.difference_test import p_value_below
from faircrowd.audit.intervals import newcombe

SIZES = [(2, 2), (5, 5), (5, 50), (10, 10), (10, 100), (10, 1000), (30, 30), (30, 300), (50, 50), (100, 100)]


def exact_verdicts(m: int, n: int, epsilon: float, error: float) -> NDArray[np.bool_]:
    """Return for each sample whether it passes, and whether it fails; shape (2, m + 1, n + 1)."""
    found = np.zeros((2, m + 1, n + 1), dtype=bool)
    for x, y in itertools.product(range(m + 1), range(n + 1)):
        both = (x, m, y, n), (y, n, x, m)
        found[0, x, y] = all(p_value_below(*one, epsilon) <= error for one in both)
        found[1, x, y] = any(p_value_below(*one, -epsilon) <= error / 2 for one in both)
    return found


def newcombe_verdicts(m: int, n: int, epsilon: float, error: float) -> NDArray[np.bool_]:
    """Return the same by Newcombe's interval."""
    x, y = np.meshgrid(np.arange(m + 1), np.arange(n + 1), indexing="ij")
    low, high = newcombe(x, m, y, n, 1 - 2 * error)
    lower, upper = newcombe(x, m, y, n, 1 - error)
    return np.stack([(high <= epsilon) & (-low <= epsilon), (lower > epsilon) | (upper < -epsilon)])


def worst_errors(verdicts: NDArray[np.bool_], epsilon: float, steps: int = 201) -> tuple[float, float]:
    """Return the largest probability of a wrong pass and of a wrong fail over a grid of rates."""
    m, n = (size - 1 for size in verdicts.shape[1:])
    worst = [0.0, 0.0]
    for gap in {epsilon, epsilon / 2, 0.0, min(1.5 * epsilon + 0.01, 1.0)}:
        for sign in (-1, 1):
            q = np.linspace(max(0.0, -sign * gap), min(1.0, 1.0 - sign * gap), steps)
            first = binom.pmf(np.arange(m + 1)[:, None], m, np.clip(q + sign * gap, 0, 1))
            second = binom.pmf(np.arange(n + 1)[:, None], n, q)
            for kind in (0, 1):
                if (gap >= epsilon) if kind == 0 else (gap <= epsilon):
                    chance = np.einsum("xr,xy,yr->r", first, verdicts[kind].astype(float), second, optimize=True)
                    worst[kind] = max(worst[kind], float(chance.max()))
    return worst[0], worst[1]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--confidence", type=float, nargs="+", default=[0.95, 0.99])
    parser.add_argument("--epsilon", type=float, nargs="+", default=[0.05, 0.2])
    given = parser.parse_args()
    print("| tasks | epsilon | confidence | wrong pass | wrong fail | by Newcombe: wrong pass | wrong fail |")
    print("|---|---|---|---|---|---|---|")
    for (m, n), epsilon, confidence in itertools.product(SIZES, given.epsilon, given.confidence):
        error = 1 - confidence
        found = [worst_errors(judge(m, n, epsilon, error), epsilon) for judge in (exact_verdicts, newcombe_verdicts)]
        numbers = " | ".join(f"{value:.4f}" for pair in found for value in pair)
        print(f"| {m}, {n} | {epsilon:g} | {confidence:g} | {numbers} |", flush=True)


if __name__ == "__main__":
    main()
