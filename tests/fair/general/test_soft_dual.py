"""Multipliers of many atoms: so near to the best that the linear program over few atoms proves the optimum."""

import numpy as np
import pytest

from faircrowd.fair.general.cell_atoms import highest_scores, prices_at
from faircrowd.fair.general.constrained_solve import ConstrainedProblem
from faircrowd.fair.general.soft_dual import good_multipliers

from .test_constrained_solve import LISTS, posed, solved, tasks
from .whole_program import upper_limits

N = 40_000  # more atoms than are seen at all temperatures


def assert_near(problem: ConstrainedProblem, bound: float) -> None:
    """The multipliers prove a bound that is as near to the best one as they say."""
    near, width = good_multipliers(problem.atoms, problem.rows, problem.n_cells)
    shape = (problem.n_cells, problem.atoms.n_features, problem.n_outcomes)
    proved = highest_scores(problem.atoms, prices_at(problem.rows, near, shape)) + problem.rows.dual_cost(near)
    assert bound - 1e-12 <= proved <= bound + 2 * width


@pytest.mark.parametrize("name", LISTS)
def test_multipliers_of_few_tasks_are_near_the_best(name: str) -> None:
    problem = posed(*tasks(300, 3, seed=8), LISTS[name])
    assert_near(problem, solved(problem, decision="randomized").best.bound)


@pytest.mark.parametrize("name", ["two partitions", "ratio", "odds", "review", "many"])
def test_many_tasks_are_proved_optimal_within_every_limit(name: str) -> None:
    posterior, groups = tasks(N, 3, seed=8)
    problem = posed(posterior, groups, LISTS[name])
    best = solved(problem, decision="randomized").best
    assert best.bound - best.value <= 1e-9
    chances = best.fractions[problem.atom]
    worth = np.column_stack([posterior, np.ones(N)])[:, : chances.shape[1]]
    assert float((worth * chances).sum()) / N == pytest.approx(best.value, abs=1e-12)
    limits = upper_limits(posterior, groups, LISTS[name], np.full(N, 1 / N), chances.shape[1] > 3)
    assert max(float((row * chances).sum()) - high for row, high in limits) <= 1e-9
    assert_near(problem, best.bound)


def test_more_rows_than_are_worth_a_curvature(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = posed(*tasks(N, 3, seed=8), LISTS["two partitions"])
    wanted = solved(problem, decision="randomized").best.value
    monkeypatch.setattr("faircrowd.fair.general.soft_dual._MOST_CURVED_ROWS", 0)
    assert solved(problem, decision="randomized").best.value == pytest.approx(wanted, abs=1e-9)
