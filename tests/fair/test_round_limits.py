"""Limits to try where none are given."""

import pytest

from faircrowd.fair.round_limits import round_limits


@pytest.mark.parametrize("gap", [0.0, 1e-9, 0.003, 0.05, 0.2061, 0.4999996, 0.77, 1.0])
@pytest.mark.parametrize("most", [9, 60])
def test_limits_go_from_none_to_all_of_the_gap(gap: float, most: int) -> None:
    found = round_limits(gap, None, most)
    assert found[0] == 0
    assert gap <= found[-1] <= min(gap + 0.112, 1)
    assert found == sorted(set(found))
    assert len(found) <= most + 2
    assert round_limits(gap, 0.0123, most) == sorted({*found, 0.0123})
