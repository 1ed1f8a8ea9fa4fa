"""The loop of expectation-maximisation, and the exact sums that its models use."""

import warnings

import pytest

from faircrowd.aggregate.em import iterate
from faircrowd.errors import ConvergenceWarning


def test_stops_when_the_rise_is_within_tol() -> None:
    run = iterate(lambda x: (-100 * 0.5**x, x + 1), 0, n_iter=50, tol=0.01, n_votes=10)
    assert run.converged
    assert len(run.history) == run.updated == 11  # round n raises the objective per vote by 10 / 2**n
    assert run.used == 10


def test_warns_when_the_rounds_run_out() -> None:
    with pytest.warns(ConvergenceWarning, match=r"n_iter=3, the last raised the objective by 1 per vote, tol=0\.1"):
        run = iterate(lambda x: (float(x), x + 1), 0, n_iter=3, tol=0.1, n_votes=1)
    assert (run.converged, run.history, run.used, run.updated) == (False, [0.0, 1.0, 2.0], 2, 3)


def test_a_fall_by_rounding_ends_the_rounds_at_the_best() -> None:
    for tol, converged in ((0.0, True), (-1.0, False)):  # a negative tolerance is never met
        values = iter([1.0, 2.0, 2.0 - 1e-15])
        run = iterate(lambda x, values=values: (next(values), x + 1), 0, n_iter=9, tol=tol, n_votes=1)
        assert (run.converged, run.history, run.used, run.updated) == (converged, [1.0, 2.0], 1, 2)


@pytest.mark.parametrize(("fall", "tol", "settled"), [(1e-12, 0.0, True), (1e-3, 0.01, True), (1e-3, 1e-6, False)])
def test_a_fall_beyond_rounding_and_tol_is_no_convergence(fall: float, tol: float, settled: bool) -> None:
    values = iter([1.0, 2.0, 2.0 - fall])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        run = iterate(lambda x: (next(values), x + 1), 0, n_iter=9, tol=tol, n_votes=1)
    assert (run.converged, run.history, run.used, run.updated) == (settled, [1.0, 2.0], 1, 2)
    said = [str(warning.message) for warning in caught]
    assert said == [] if settled else "Not converged: round 3 lowered the objective by 0.001 per vote" in said[0]
    assert [warning.category for warning in caught] == [] if settled else [ConvergenceWarning]


def test_an_objective_that_is_no_number_is_no_convergence() -> None:
    values = iter([1.0, float("nan")])
    with pytest.warns(ConvergenceWarning, match="lowered the objective by nan"):
        assert not iterate(lambda x: (next(values), x + 1), 0, n_iter=9, tol=0.1, n_votes=1).converged


def test_no_rounds_and_no_votes_leave_the_start() -> None:
    for n_iter, n_votes in ((0, 5), (5, 0)):
        run = iterate(lambda x: (0.0, x + 1), 7, n_iter=n_iter, tol=0.1, n_votes=n_votes)
        assert (run.used, run.updated, run.history) == (None, 7, [])


def test_each_round_is_reported() -> None:
    seen: list[tuple[int, int, float]] = []
    iterate(
        lambda x: (float(min(x, 1)), x + 1),
        0,
        n_iter=9,
        tol=0.1,
        n_votes=2,
        on_round=lambda *round_: seen.append(round_),
    )
    assert seen == [(1, 9, 0.0), (2, 9, 0.5), (3, 9, 0.5)]
