"""Whole counts of two classes: against trying all counts, and against the linear program of a transport."""

import itertools

import numpy as np
import pytest
from scipy.optimize import linprog

from faircrowd.fair.program.two_class_rounding import assign_two_classes, closest_totals


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


@pytest.mark.parametrize("seed", range(20))
def test_atoms_get_the_second_class_where_it_gains_the_most(seed: int) -> None:
    rng = np.random.default_rng(seed)
    gains, mass = rng.random((6, 2)).round(1), rng.integers(1, 5, 6).astype(float)
    wanted = int(rng.integers(0, mass.sum() + 1))
    found = assign_two_classes(gains, mass, np.array([int(mass.sum()) - wanted, wanted]))
    np.testing.assert_array_equal(found.sum(axis=1), mass)
    assert found[:, 1].sum() == wanted
    assert (found >= 0).all()
    bounds = [(0, most) for most in mass]
    program = linprog(gains[:, 0] - gains[:, 1], A_eq=np.ones((1, 6)), b_eq=[wanted], bounds=bounds)
    gained = ((gains[:, 1] - gains[:, 0]) * found[:, 1]).sum()
    assert gained == pytest.approx(-program.fun)


def test_a_thousand_groups() -> None:
    rng = np.random.default_rng(0)
    mass = rng.integers(7, 36, 1000).astype(float)
    share = np.clip(0.4 + rng.uniform(-0.025, 0.025, 1000), 0, 1) * mass
    found = closest_totals(np.floor(np.column_stack([mass - share, share])), mass, rng.normal(size=(1000, 2)), 0.05)
    assert np.ptp(found[:, 1] / mass) < 0.05 + 1 / 7
