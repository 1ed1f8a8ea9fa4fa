"""Whole counts of two classes: against trying all counts, and against the linear program of a transport."""

import itertools

import numpy as np
import pytest

from faircrowd.fair.program.two_class_rounding import closest_totals


@pytest.mark.parametrize("seed", range(60))
def test_counts_are_the_best_of_all(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n_groups = 2 + seed % 3
    mass = rng.integers(1, 30, n_groups).astype(float)
    share = rng.random(n_groups) * mass
    if seed % 3 == 0:  # all or none of the tasks
        share = rng.integers(0, 2) * mass
    floor = np.floor(np.column_stack([mass - share, share]))
    prices = rng.normal(size=(n_groups, 2)) * (seed % 5 > 0)
    epsilon = float(rng.choice([0.0, 0.02, 0.1, 0.3]))
    choices = [
        [c for c in range(int(f1) - 1, int(f1) + 3) if c >= 0 and -1 <= m - c - f0 <= 2 and c <= m]
        for m, (f0, f1) in zip(mass, floor, strict=True)
    ]
    worth = prices[:, 1] - prices[:, 0]
    every = [np.array(counts) for counts in itertools.product(*choices)]
    best = min((round(max(float(np.ptp(c / mass)) - epsilon, 0.0), 12), -float((c * worth).sum())) for c in every)
    found = closest_totals(floor, mass, prices, epsilon)
    np.testing.assert_array_equal(found.sum(axis=1), mass)
    assert max(np.ptp(found[:, 1] / mass) - epsilon, 0.0) == pytest.approx(best[0], abs=1e-12)
    assert -float((found[:, 1] * worth).sum()) == pytest.approx(best[1], abs=1e-9)


def test_a_thousand_groups() -> None:
    rng = np.random.default_rng(0)
    mass = rng.integers(7, 36, 1000).astype(float)
    share = np.clip(0.4 + rng.uniform(-0.025, 0.025, 1000), 0, 1) * mass
    found = closest_totals(np.floor(np.column_stack([mass - share, share])), mass, rng.normal(size=(1000, 2)), 0.05)
    assert np.ptp(found[:, 1] / mass) < 0.05 + 1 / 7
