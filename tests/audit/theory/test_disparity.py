"""Gaps at every point and overall."""

import numpy as np
import pytest

from faircrowd.audit.theory import (
    gap_over_features,
    local_disparity,
    pointwise_fair_example,
)
from faircrowd.errors import OptionError


def test_fair_at_every_point_and_not_overall() -> None:
    example = pointwise_fair_example()
    assert (example.local == 0).all()
    assert example.gap == pytest.approx(0.3, abs=1e-15)
    rng = np.random.default_rng(2)
    group = rng.integers(0, 2, 200_000)
    point = (rng.random(group.size) < example.point_shares[1, group]).astype(int)
    says = rng.random(group.size) < example.rates[point, group]
    assert says[group == 1].mean() - says[group == 0].mean() == pytest.approx(0.3, abs=0.01)


def test_with_equal_point_shares_the_gap_is_within_the_local_ones() -> None:
    rng = np.random.default_rng(3)
    for _ in range(50):
        rates, shares = rng.random((4, 3)), rng.dirichlet(np.ones(4))[:, None]
        assert gap_over_features(rates, np.repeat(shares, 3, axis=1)) <= local_disparity(rates) @ shares[:, 0] + 1e-12


@pytest.mark.parametrize(
    "call",
    [
        lambda: gap_over_features([[0.1, 0.2]], [[0.5, 0.5]]),
        lambda: gap_over_features([[0.1, 0.2]], [[1.0], [0.0]]),
    ],
)
def test_shares_that_do_not_fit_are_refused(call: object) -> None:
    with pytest.raises(OptionError):
        call()
