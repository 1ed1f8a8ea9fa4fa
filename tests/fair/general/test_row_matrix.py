"""The cost of limits: its smooth form has the slope and curvature that it says."""

import numpy as np
import pytest

from .test_constrained_solve import LISTS, posed, tasks


@pytest.mark.parametrize("name", ["parity", "ratio", "range", "many"])
def test_smooth_cost_has_its_slope_and_curvature_and_tends_to_the_cost(name: str) -> None:
    rows = posed(*tasks(200, 3, seed=3), LISTS[name]).rows
    at, width, step = np.random.default_rng(0).normal(scale=1e-3, size=rows.n_rows), 1e-3, 1e-7
    _, slope = rows.smooth_dual_cost(at, width)
    curvature = rows.smooth_dual_curvature(at, width)
    for r, unit in enumerate(np.eye(rows.n_rows)):
        (high, up), (low, down) = (rows.smooth_dual_cost(at + sign * step * unit, width) for sign in (1, -1))
        assert (high - low) / (2 * step) == pytest.approx(slope[r], abs=1e-6)
        assert (up - down)[r] / (2 * step) == pytest.approx(curvature[r], rel=1e-5, abs=1e-5)
    assert rows.smooth_dual_cost(at, 1e-12)[0] == pytest.approx(rows.dual_cost(at), abs=1e-9)


@pytest.mark.parametrize("name", ["parity", "ratio", "range", "many"])
def test_balanced_multipliers_are_the_nearest_that_centres_allow(name: str) -> None:
    rows = posed(*tasks(200, 3, seed=3), LISTS[name]).rows
    at = np.random.default_rng(1).normal(size=rows.n_rows)
    found = rows.balanced(at)
    on_centres = np.zeros((rows.n_rows, rows.n_centres))
    has = rows.centre >= 0
    on_centres[has, rows.centre[has]] = rows.on_centre[has]
    assert found @ on_centres == pytest.approx(np.zeros(rows.n_centres), abs=1e-12)
    moved, *_ = np.linalg.lstsq(on_centres, at, rcond=None)  # the projection on what centres forbid
    assert found == pytest.approx(at - on_centres @ moved)
