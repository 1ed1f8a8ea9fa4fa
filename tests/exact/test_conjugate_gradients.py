"""Conjugate gradients: the minimum that scipy finds, and the same bits in any order of the unknowns."""

import numpy as np
import pytest
from scipy.optimize import minimize, rosen, rosen_der

from faircrowd.exact.conjugate_gradients import minimise


def test_the_minimum_of_rosenbrocks_valley() -> None:
    found = minimise(lambda x: (float(rosen(x)), rosen_der(x)), np.full(6, -0.5), max_iter=1000, tol=1e-8)
    np.testing.assert_allclose(found, np.ones(6), atol=1e-7)


def logistic(weight: np.ndarray, sign: np.ndarray) -> tuple[float, np.ndarray]:
    """A strictly convex loss in which each unknown has a curvature of its own."""
    x = weight * sign
    return float(np.logaddexp(0, x).sum() + 0.005 * (weight**2).sum()), sign / (1 + np.exp(-x)) + 0.01 * weight


def test_the_minimum_that_scipy_finds() -> None:
    sign = np.random.default_rng(0).normal(size=40)
    found = minimise(lambda x: logistic(x, sign), np.zeros(40), max_iter=1000, tol=1e-9)
    expected = minimize(logistic, np.zeros(40), (sign,), jac=True, method="BFGS", options={"gtol": 1e-9}).x
    np.testing.assert_allclose(found, expected, atol=2e-5)  # values alone tell no closer points apart


def test_the_order_of_unknowns_does_not_matter() -> None:
    rng = np.random.default_rng(1)
    scale, goal = 10 ** rng.uniform(-2, 2, 30_000), rng.normal(size=30_000)

    def found(order: np.ndarray) -> np.ndarray:
        s, g = scale[order], goal[order]
        value = lambda x: float(np.sort(s * (x - g) ** 2).sum())  # noqa: E731 - the same in every order
        return minimise(lambda x: (value(x), 2 * s * (x - g)), np.zeros(s.size), max_iter=25, tol=1e-12)

    order = rng.permutation(scale.size)
    np.testing.assert_array_equal(found(order), found(np.arange(scale.size))[order])


@pytest.mark.parametrize("max_iter", [1, 2, 5])
def test_a_search_that_is_cut_short_never_raises_the_loss(max_iter: int) -> None:
    start = np.array([-1.2, 1.0, 3.0])
    found = minimise(lambda x: (float(rosen(x)), rosen_der(x)), start, max_iter=max_iter, tol=0.0)
    assert rosen(found) < rosen(start)


def test_steps_into_where_the_loss_is_infinite_are_taken_back() -> None:
    def loss(x: np.ndarray) -> tuple[float, np.ndarray]:
        if (x >= 1).any():
            return np.inf, np.full_like(x, np.nan)
        return float(-np.log1p(-x).sum() - 50 * x.sum()), 1 / (1 - x) - 50

    np.testing.assert_allclose(minimise(loss, np.zeros(3), max_iter=200, tol=1e-9), np.full(3, 0.98), atol=1e-9)


def test_a_start_at_the_minimum_is_returned() -> None:
    start = np.ones(4)
    assert minimise(lambda x: (float(rosen(x)), rosen_der(x)), start, max_iter=10, tol=1e-12) is start
