"""The steps of the paper's Algorithm 1, each by hand."""

import numpy as np
import pytest
from scipy.optimize import check_grad

from baselines.crowds import smooth_crowd, two
from faircrowd.baselines.smoothed_steps import (
    search_tie_weights,
    soft_dual,
    soft_prices,
    spread_by_rank,
    spread_by_value,
)


def test_posteriors_near_one_are_spread_by_value() -> None:
    p = np.array([0.5, 0.95, 0.96, 0.99, 0.99, 1.0, 0.04, 0.0])
    spread = spread_by_value(two(p), 0.04)
    third = 0.04 / 3  # three different values at the high end, two at the low one
    expected = [0.5, 0.95, 0.96 + third, 0.96 + 2 * third, 0.96 + 2 * third, 1.0, 0.02, 0.0]
    np.testing.assert_allclose(spread[:, 1], expected, atol=1e-15)
    np.testing.assert_allclose(spread.sum(axis=1), 1.0)


def test_spreading_keeps_the_order() -> None:
    p = np.sort(np.random.default_rng(0).beta(0.1, 0.1, 500))
    assert (np.diff(spread_by_value(two(p), 0.04)[:, 1]) >= 0).all()


def test_order_survives_where_posteriors_round_to_one() -> None:
    posterior = np.array([[1e-20, 1.0], [1e-30, 1.0], [0.5, 0.5]])
    spread = spread_by_value(posterior, 0.04)
    assert 0.96 < spread[0, 1] < spread[1, 1] == 1.0


def test_posteriors_near_one_are_ranked_within_each_part() -> None:
    p = np.array([0.99, 0.97, 0.99, 0.98, 0.02, 0.96])
    keys = np.array([5, 0, 4, 0, 0, 0], dtype=np.uint64)
    spread = spread_by_rank(two(p), 0.04, keys, np.array([0, 0, 0, 1, 1, 1], dtype=np.int32))
    # Group 0 has three: .97, then the two of .99 by key; group 1 has one at each end; the other column is unchanged.
    np.testing.assert_allclose(spread[:, 1], [0.96 + 0.08 / 3, 0.96, 0.96 + 0.04 / 3, 0.96, 0.02, 0.96], atol=1e-15)
    np.testing.assert_allclose(spread[:, 0], [0.01, 0.03, 0.01, 0.02, 0.96, 0.04], atol=1e-15)


@pytest.mark.parametrize(
    ("above", "tied", "beta", "expected"),
    [
        ((0.2, 0.3), (0.0, 0.4), 0.1, (0.0, 0.5)),  # .3 + .4 / 2 - .2 = .3
        ((0.2, 0.3), (0.4, 0.0), -0.1, (1.0, 0.0)),  # the nearest to -.3 is .3 - .6
        ((0.2, 0.3), (0.5, 0.5), 0.0, (0.0, 0.0)),  # already within epsilon
        ((0.1, 0.6), (0.4, 0.1), 0.0, (0.5, 0.0)),  # .6 - .1 - .4 / 2 = .3, the smallest weight that is enough
        ((0.2, 0.5), (0.2, 0.2), 0.1, (0.0, 0.0)),  # of many pairs, the smallest
    ],
)
def test_tie_weights_by_hand(above, tied, beta, expected) -> None:
    found = search_tie_weights(np.array(above), np.array(tied), 0.3, beta, 101)
    np.testing.assert_allclose(found, expected, atol=1e-9)


@pytest.mark.parametrize("one_price", [True, False])
def test_the_gradient_of_the_dual(one_price: bool) -> None:
    p, group = smooth_crowd(50)
    dual = soft_dual(two(p), group, 0.05, 0.05, one_price=one_price)
    x = np.random.default_rng(1).uniform(0.01, 0.2, 2 if one_price else 4)
    assert check_grad(lambda x: dual(x)[0], lambda x: dual(x)[1], x) < 1e-6


def test_the_dual_by_hand() -> None:
    # One task per group, pi = 1/2 and beta = .2: the scores are .5 P_k -+ .1 in group 1, +- in group 0.
    dual = soft_dual(two(np.array([0.2, 0.9])), np.array([0, 1]), 0.3, 0.1, one_price=True)

    def soft(x: float, y: float) -> float:
        return float(np.average([x, y], weights=np.exp(np.array([x, y]) / 0.1)))

    expected = soft(0.4 - 0.1, 0.1 + 0.1) + soft(0.05 + 0.1, 0.45 - 0.1) + 0.3 * 0.2
    assert dual(np.array([0.2, 0.0]))[0] == pytest.approx(expected)


def test_prices_are_zero_if_the_gap_is_within_epsilon() -> None:
    p, group = smooth_crowd(200)
    prices = soft_prices(two(p), group.astype(np.int32), 0.9, 1e-4, one_price=True)
    assert prices.converged
    assert (prices.beta == 0).all()
