"""Whole counts of many groups, group by group: near the integer program over all of them."""

import numpy as np
import pytest

from faircrowd import make_fair
from faircrowd.fair.program import rounding
from faircrowd.fair.program.near_centres import totals_near_centres


@pytest.mark.parametrize("n_classes", [3, 4, 6])
@pytest.mark.parametrize("epsilon", [0.0, 0.05, 0.2])
def test_counts_are_whole_add_up_and_are_within_a_task(n_classes: int, epsilon: float) -> None:
    rng = np.random.default_rng(n_classes)
    mass = rng.integers(20, 60, 40).astype(float)
    centre = rng.dirichlet(np.full(n_classes, 5.0))
    rates = centre + epsilon / 2 * rng.uniform(-1, 1, (40, n_classes))
    rates += (1 - rates.sum(axis=1, keepdims=True)) / n_classes
    totals = np.maximum(rates, 0) * mass[:, None]
    totals *= (mass / totals.sum(axis=1))[:, None]
    found = totals_near_centres(np.floor(totals), totals, mass, rng.normal(size=totals.shape), epsilon)
    assert found is not None
    assert (found >= 0).all()
    np.testing.assert_array_equal(found.sum(axis=1), mass)
    assert (np.abs(found - totals) < 3).all()
    gap, before = (float(np.ptp(x / mass[:, None], axis=0).max()) for x in (found, totals))
    assert gap <= max(before, epsilon) + 2 / mass.min()


def test_too_many_classes_are_left_to_the_integer_program() -> None:
    totals = np.full((3, 13), 2.0)
    assert totals_near_centres(totals, totals, np.full(3, 26.0), np.zeros((3, 13)), 0.1) is None


@pytest.mark.parametrize("seed", range(3))
def test_labels_are_nearly_as_good_as_those_of_the_integer_program(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(seed)
    posterior, group = rng.dirichlet([1, 1, 1], 600), rng.integers(0, 8, 600)
    exact = make_fair(posterior, group, epsilon=0.1).certificate
    monkeypatch.setattr(rounding, "_MANY_CELLS", 0)
    quick = make_fair(posterior, group, epsilon=0.1).certificate
    assert quick.gap <= quick.gap_allowed + 1e-12
    assert quick.value >= exact.value - 16 / 600
