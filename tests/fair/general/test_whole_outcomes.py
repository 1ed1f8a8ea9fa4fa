"""Atoms that are left to the integer program: of each cell those with the lowest costs."""

import numpy as np
import pytest

from faircrowd.fair.general.whole_outcomes import _lowest_of_cells


@pytest.mark.parametrize("seed", range(20))
def test_lowest_of_cells_is_the_start_of_a_stable_sort(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n_cells, number = int(rng.integers(1, 6)), int(rng.integers(1, 9))
    cell = rng.integers(0, n_cells, 30).astype(np.int32)
    cost = rng.integers(0, 6, 30).astype(np.float64)  # many are equal
    found = _lowest_of_cells(cost, cell, n_cells, number)
    for c in range(n_cells):
        members = np.flatnonzero(cell == c)
        wanted = members[np.argsort(cost[members], kind="stable")][:number]
        assert found[c].tolist() == wanted.tolist() + [-1] * (number - wanted.size)
