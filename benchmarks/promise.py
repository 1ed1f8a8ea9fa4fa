"""How often promises are made, how often they fail, and how much they leave of epsilon: by simulation.

A population is a large pool of tasks per group. Samples are drawn from it, with replacement, and a rule with a promise
is made from each, as ``make_fair`` makes it; the gap of the rule in the population is then known exactly. ``python
benchmarks/promise.py`` prints one row per population and number of tasks, which takes some hours; ``--only`` chooses
populations. ``--needed`` prints the table of tasks needed instead, in seconds.
"""

import argparse
import time
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from faircrowd.fair.objective import make_gain
from faircrowd.fair.promise.margin import margin_for
from faircrowd.fair.promise.rank_thresholds import LEARNED, promise_by_ranks, ranks_needed, ranks_of
from faircrowd.fair.rule import FairRule
from faircrowd.fair.tasks.read_posterior import read_posterior


class Population(NamedTuple):
    """One pool of posteriors per group, and the shares of the groups in a sample."""

    name: str
    pools: list[NDArray[np.float64]]
    sizes: tuple[float, ...]
    n: tuple[int, ...]


def populations(seed: int = 0, size: int = 20_000) -> list[Population]:
    """Return populations of two and three classes, two and four groups, common and rare labels, even and uneven."""
    rng = np.random.default_rng(seed)

    def two(*shapes: tuple[float, float], levels: int | None = None) -> list[NDArray[np.float64]]:
        found = [rng.beta(*shape, size) for shape in shapes]
        found = found if levels is None else [np.round(p * levels) / levels for p in found]
        return [np.stack([1 - p, p], axis=1) for p in found]

    many = [rng.dirichlet(shape, size) for shape in ([1.0, 2.0, 0.7], [2.0, 1.0, 1.0])]
    rare = [rng.dirichlet(shape, size) for shape in ([4.0, 0.5, 0.2], [4.0, 0.8, 0.1])]
    again = np.random.default_rng(seed + 1)
    votes = [np.array([again.multinomial(5, p) for p in pool]) / 5 for pool in many]
    six = [again.dirichlet(shape, size) for shape in ([1, 2, 3, 1, 2, 1], [2, 1, 1, 1, 3, 1])]
    return [
        Population("2 classes, 2 groups", two((2, 3), (3, 2)), (1, 1), (1000, 1500, 4000)),
        Population("the same, 5 levels of posterior", two((2, 3), (3, 2), levels=5), (1, 1), (1000, 1500)),
        Population("the same, groups 1:5", two((2, 3), (3, 2)), (1, 5), (700, 1500)),
        Population("2 classes, a rare label", two((0.3, 6), (0.5, 6)), (1, 1), (200, 500)),
        Population("2 classes, a common label", two((6, 0.3), (6, 0.5)), (1, 1), (200, 500)),
        Population("2 classes, 4 groups", two((2, 3), (3, 2), (2, 2), (4, 2)), (1, 1, 1, 1), (1700, 3000)),
        Population("3 classes, 2 groups", many, (1, 1), (1300, 1500, 3000)),
        Population("3 classes, shares of 5 votes", votes, (1, 1), (1500,)),
        Population("3 classes, two of them rare", rare, (1, 1), (500, 1000)),
        Population("3 classes, 4 groups", many + many[::-1], (1, 1, 1, 1), (2000, 3000)),
        Population("6 classes, 2 groups", six, (1, 1), (1200,)),
    ]


def population_gap(rule: FairRule, pools: Sequence[NDArray[np.float64]]) -> float:
    """Return the gap of a rule in the population."""
    rates = [rule.probabilities(p, np.full(len(p), a, np.int32)).mean(axis=0) for a, p in enumerate(pools)]
    return float(np.ptp(rates, axis=0).max())


def simulate(
    population: Population, n: int, epsilon: float, confidence: float, repeats: int, seed: int
) -> tuple[float, ...]:
    """Return how often a promise was made, how often a wrong one, the mean of what is left of epsilon, and seconds."""
    rng = np.random.default_rng(n + seed)
    made, wrong, left, start = 0, 0, 0.0, time.perf_counter()
    sizes = [round(n * size) for size in population.sizes]
    group = np.repeat(np.arange(len(sizes)), sizes)
    gain = make_gain("accuracy", population.pools[0].shape[1])
    for i in range(repeats):
        sample = np.concatenate(
            [pool[rng.integers(0, len(pool), m)] for pool, m in zip(population.pools, sizes, strict=True)]
        )
        found, rule = promise_by_ranks(read_posterior(sample, group), gain, epsilon, confidence, i)
        if rule is None:
            continue
        made += 1
        wrong += population_gap(rule, population.pools) > epsilon
        left += found.tightened
    return made / repeats, wrong / repeats, left / max(made, 1), (time.perf_counter() - start) / repeats


def print_needed() -> None:
    """Print how many tasks per group are needed by each method, and how often ranks of as many fail."""
    print("| classes, groups | rates of labels | epsilon | bound for all rules | ranks | fails |")
    print("|---|---|---|---|---|---|")
    rng = np.random.default_rng(0)
    even, third = (0.5, 0.5), (1 / 3, 1 / 3, 1 / 3)
    kinds = ((2, even), (2, (0.9, 0.1)), (4, even), (2, third), (2, (0.8, 0.1, 0.1)), (4, third), (2, (0.1,) * 10))
    kinds += ((2, (0.5, 0.49, 0.01)),)
    for n_groups, rates in kinds:
        for epsilon in (0.05, 0.1):
            uniform = margin_for([10] * n_groups, len(rates), epsilon, 0.95).needed
            same = np.tile(rates, (n_groups, 1))
            by = ranks_needed(same, epsilon, 0.95) or 0
            ranks = ranks_of(same, np.full(n_groups, by - int(by * LEARNED)))
            drawn = np.stack([rng.dirichlet(row, 200_000) for row in ranks])
            fails = (np.ptp(drawn, axis=0).max(axis=1) > epsilon).mean()
            said = ", ".join(f"{rate:.0%}" for rate in dict.fromkeys(rates))
            print(f"| {len(rates)}, {n_groups} | {said} | {epsilon:g} | {uniform:,} | {by:,} | {fails:.1%} |")


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=77, help="of the samples")
    parser.add_argument("--tasks", type=int, help="rows with as many tasks in the first group")
    parser.add_argument("--epsilon", type=float, default=0.05)
    parser.add_argument("--confidence", type=float, default=0.95)
    parser.add_argument("--needed", action="store_true", help="print the table of tasks needed")
    parser.add_argument("--only", default="", help="populations whose names contain this")
    given = parser.parse_args()
    if given.needed:
        print_needed()
        return
    print("| population | tasks in the first group | samples | promised | wrongly | mean tightened epsilon | seconds |")
    print("|---|---|---|---|---|---|---|")
    for population in populations():
        for n in population.n if given.only in population.name else ():
            if given.tasks not in (None, n):
                continue
            found = simulate(population, n, given.epsilon, given.confidence, given.repeats, given.seed)
            made, wrong, left, seconds = found
            counts = f"{n:,} | {given.repeats:,} | {made:.1%} | {wrong:.1%}"
            print(f"| {population.name} | {counts} | {left:.4f} | {seconds:.2f} |", flush=True)


if __name__ == "__main__":
    main()
