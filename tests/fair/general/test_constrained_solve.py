"""Any list of constraints: against the whole program over all tasks, and against every labelling of a few tasks."""

from itertools import product

import numpy as np
import pytest
from numpy.typing import NDArray

from faircrowd.constraints import (
    AccuracyParity,
    ChangeBudget,
    Constraint,
    DemographicParity,
    EqualizedOdds,
    EqualOpportunity,
    RateRange,
    RateRatio,
    ReviewBudget,
)
from faircrowd.fair.general import constrained_solve
from faircrowd.fair.general.best_fractions import BestFractions
from faircrowd.fair.general.constrained_solve import ConstrainedProblem, ConstrainedSolution, pose, solve_constraints
from faircrowd.fair.objective import make_gain
from faircrowd.fair.tasks.read_posterior import read_posterior
from faircrowd.votes import Vocabulary
from faircrowd.votes.groups import Grouped

from .whole_program import upper_limits, whole_program

Groups = dict[str, NDArray[np.int64]]
LISTS: dict[str, list[Constraint]] = {
    "parity": [DemographicParity(0.03, group="race")],
    "one label": [DemographicParity(0.03, group="race", label=1)],
    "two partitions": [DemographicParity(0.02, group="sex"), DemographicParity(0.05, group="race")],
    "hierarchy": [
        DemographicParity(0.05, group="sex"),
        DemographicParity(0.05, group="race"),
        DemographicParity(0.15, group=("sex", "race")),
    ],
    "ratio": [RateRatio(0.8, group="race")],
    "ratio of one label": [RateRatio(0.9, group="race", label=0), DemographicParity(0.1, group="sex")],
    "strata": [DemographicParity(0.02, group="sex", within="race")],
    "opportunity": [EqualOpportunity(0.02, label=1, group="race")],
    "odds": [EqualizedOdds(0.05, group="sex")],
    "accuracy": [AccuracyParity(0.01, group="race")],
    "range": [RateRange(low=0.25, high=0.5, label=1, group="race")],
    "changes": [DemographicParity(0.1, group="sex"), ChangeBudget(0.15)],
    "review": [DemographicParity(0.02, group="race"), ReviewBudget(0.05)],
    "many": [
        DemographicParity(0.04, group="sex"),
        RateRatio(0.8, group="race", label=1),
        EqualOpportunity(0.06, label=1, group="race"),
        ChangeBudget(0.2),
        ReviewBudget(0.03),
    ],
}


def tasks(n: int, n_classes: int, seed: int, levels: int = 0) -> tuple[NDArray[np.float64], Groups]:
    """Make posteriors that favour some groups; with ``levels``, many tasks have the same one."""
    rng = np.random.default_rng(seed)
    sex, race = rng.integers(0, 2, n), rng.integers(0, 3, n)
    scores = rng.normal(size=(n, n_classes))
    scores[:, -1] += 0.8 * sex + 0.5 * (race == 2)
    posterior = np.exp(scores)
    posterior /= posterior.sum(axis=1, keepdims=True)
    if levels:
        posterior = np.round(posterior * levels) + 0.5
        posterior /= posterior.sum(axis=1, keepdims=True)
    return posterior, {"sex": sex, "race": race}


def posed(
    posterior: NDArray[np.float64], groups: Groups, constraints: list[Constraint], weights: object = None
) -> ConstrainedProblem:
    columns = {
        name: Grouped(codes.astype(np.int32), Vocabulary.of(list(range(int(codes.max()) + 1))), {})
        for name, codes in groups.items()
    }
    problem = read_posterior(posterior, groups["sex"], sample_weight=weights, one_group_will_do=True)
    return pose(problem, constraints, columns, make_gain("accuracy", posterior.shape[1]))


def solved(problem: ConstrainedProblem, **options: object) -> ConstrainedSolution:
    found = solve_constraints(problem, **options)  # type: ignore[arg-type]
    assert isinstance(found, ConstrainedSolution)
    return found


@pytest.mark.parametrize("name", LISTS)
@pytest.mark.parametrize(("n", "n_classes", "levels"), [(120, 2, 0), (90, 3, 0), (400, 3, 0), (300, 2, 4)])
def test_value_and_bound_are_those_of_the_whole_program(name: str, n: int, n_classes: int, levels: int) -> None:
    posterior, groups = tasks(n, n_classes, seed=n + n_classes, levels=levels)
    wanted = whole_program(posterior, groups, LISTS[name])
    # What whole labels would cost is another matter, and takes an integer program.
    found = solve_constraints(posed(posterior, groups, LISTS[name]), "randomized")
    if wanted is None:
        assert isinstance(found, BestFractions)
        assert not found.is_feasible
        return
    assert isinstance(found, ConstrainedSolution)
    assert found.best.value == pytest.approx(wanted, abs=1e-8)
    assert found.best.bound - found.best.value <= 1e-9


@pytest.mark.parametrize("name", LISTS)
def test_randomized_outcomes_keep_every_limit(name: str) -> None:
    posterior, groups = tasks(400, 3, seed=5)
    found = solved(posed(posterior, groups, LISTS[name]), decision="randomized")
    chances, n = found.probabilities, posterior.shape[0]
    np.testing.assert_allclose(chances.sum(axis=1), 1.0)
    limits = upper_limits(posterior, groups, LISTS[name], np.full(n, 1 / n), chances.shape[1] > 3)
    assert max(float((row * chances).sum()) - high for row, high in limits) <= 1e-9


@pytest.mark.parametrize("name", LISTS)
def test_whole_labels_are_near_the_bound_and_the_limits(name: str) -> None:
    posterior, groups = tasks(400, 3, seed=6)
    found = solved(posed(posterior, groups, LISTS[name]))
    n_outcomes = found.probabilities.shape[1]
    one_hot = np.eye(n_outcomes)[found.outcomes]
    limits = upper_limits(posterior, groups, LISTS[name], np.full(400, 1 / 400), n_outcomes > 3)
    smallest = min(int(np.bincount(groups["sex"] * 3 + groups["race"]).min()), 400)
    allowed = 1.0 / smallest if found.excess else 1e-9
    assert max(float((row * one_hot).sum()) - high for row, high in limits) <= allowed
    worth = np.column_stack([posterior, np.ones(400)])[:, :n_outcomes]
    value = float((worth * one_hot).sum()) / 400
    assert value == pytest.approx(found.value, abs=1e-12)
    assert found.best.value - value <= found.problem.rows.n_rows / 400


@pytest.mark.parametrize("name", ["two partitions", "ratio", "opportunity", "odds", "accuracy", "range", "changes"])
@pytest.mark.parametrize("seed", range(4))
def test_strict_labels_are_the_best_of_all_labellings(name: str, seed: int) -> None:
    posterior, groups = tasks(9, 2, seed=seed)
    groups = {"sex": np.arange(9) % 2, "race": np.arange(9) // 3}
    problem = posed(posterior, groups, LISTS[name])
    limits = upper_limits(posterior, groups, LISTS[name], np.full(9, 1 / 9))
    best = -1.0
    for labels in product(range(2), repeat=9):
        one_hot = np.eye(2)[list(labels)]
        if all(float((row * one_hot).sum()) <= high + 1e-12 for row, high in limits):
            best = max(best, float((posterior * one_hot).sum()) / 9)
    if best < 0:
        from faircrowd.errors import OptionError

        if isinstance(solve_constraints(problem), ConstrainedSolution):
            with pytest.raises(OptionError, match="strict"):
                solve_constraints(problem, strict=True)
        return
    found = solved(problem, strict=True)
    assert found.value == pytest.approx(best, abs=1e-9)
    one_hot = np.eye(2)[found.outcomes]
    assert max(float((row * one_hot).sum()) - high for row, high in limits) <= 1e-9


def test_weights_count() -> None:
    posterior, groups = tasks(200, 3, seed=9)
    weights = np.random.default_rng(1).uniform(0.2, 3.0, 200)
    wanted = whole_program(posterior, groups, LISTS["hierarchy"], weights)
    found = solved(posed(posterior, groups, LISTS["hierarchy"], weights))
    assert found.best.value == pytest.approx(wanted, abs=1e-8)


def test_labels_do_not_depend_on_the_order_of_rows() -> None:
    posterior, groups = tasks(600, 3, seed=2, levels=3)
    order = np.random.default_rng(0).permutation(600)
    import pandas as pd

    def labels(rows: NDArray[np.int64]) -> dict[int, int]:
        frame = pd.DataFrame(posterior[rows], index=rows)
        problem = read_posterior(frame, pd.Series(groups["sex"][rows], index=rows))
        columns = {
            name: Grouped(codes[rows].astype(np.int32), Vocabulary.of(list(range(int(codes.max()) + 1))), {})
            for name, codes in groups.items()
        }
        found = solved(pose(problem, LISTS["hierarchy"], columns, make_gain("accuracy", 3)))
        return dict(zip(rows.tolist(), found.outcomes.tolist(), strict=True))

    assert labels(np.arange(600)) == labels(order)


def test_draws_have_the_probabilities_and_stay_near_them(monkeypatch: pytest.MonkeyPatch) -> None:
    posterior, groups = tasks(300, 3, seed=4, levels=3)
    problem = posed(posterior, groups, LISTS["two partitions"])
    best = constrained_solve.find_best_fractions(problem.atoms, problem.rows, problem.n_cells)
    monkeypatch.setattr(constrained_solve, "find_best_fractions", lambda *_: best)  # the same whatever the seed
    chances = solved(problem, decision="randomized").probabilities
    outcomes = [solved(problem, decision="randomized", random_state=seed).outcomes for seed in range(400)]
    drawn = np.eye(3)[np.array(outcomes)]
    for name in ("sex", "race"):
        for a in np.unique(groups[name]):
            part = groups[name] == a
            away = drawn[:, part].sum(axis=1) - chances[part].sum(axis=0)
            assert (np.abs(away) < 1.0 * problem.n_cells).all()
    error = np.abs(drawn.mean(axis=0) - chances)
    assert float(error.max()) < 5 * 0.5 / np.sqrt(400)
