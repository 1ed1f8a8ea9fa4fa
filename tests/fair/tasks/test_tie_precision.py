"""A rule learned from an exact posterior keeps its ties, and its gap, on a rounded one: in Python and in SQL."""

import json
import warnings
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pytest

import faircrowd as fc
from faircrowd.errors import DataWarning
from faircrowd.fair.gap import gap_of
from faircrowd.fair.objective import make_gain
from faircrowd.fair.tasks.read_posterior import read_posterior
from faircrowd.fair.tasks.tie_precision import digits_of, learn_tie_precision, sensitivity
from faircrowd.fair.tolerances import tie_widths


def crowd(votes: int, n_classes: int, groups: int) -> tuple[pd.DataFrame, pd.Series]:
    """Majority shares of few votes per task, of which many are equal, and the group of each task."""
    rng = np.random.default_rng(votes + 10 * n_classes)
    group = rng.integers(0, groups, 6000)
    lean = np.linspace(0.35, 0.65, groups)[group]
    chances = np.column_stack([lean, *[(1 - lean) / (n_classes - 1)] * (n_classes - 1)])
    shares = rng.multinomial(votes, chances) / votes
    names = [f"c{k}" for k in range(n_classes)]
    tasks = [f"t{i}" for i in range(6000)]
    return pd.DataFrame(shares, index=tasks, columns=names), pd.Series(group, index=tasks).map("g{}".format)


def gap(labels: pd.Series, group: pd.Series) -> float:
    return gap_of(pd.crosstab(group, labels, normalize="index").to_numpy())


CASES = [(3, 2, 2), (5, 2, 2), (7, 2, 3), (3, 3, 2), (7, 3, 3)]


@pytest.mark.parametrize("case", CASES)
def test_rounded_posteriors_have_the_labels_of_exact_ones(case: tuple[int, int, int]) -> None:
    posterior, group = crowd(*case)
    rule = fc.make_fair(posterior, group, epsilon=0.05).rule
    assert rule.ties
    assert rule.digits <= 6
    exact = rule.predict(posterior, group)
    spread = 4 * np.sqrt(0.25 / group.value_counts().min())  # tied tasks are drawn
    assert gap(exact, group) <= 0.05 + spread
    six = posterior.round(6)
    six.iloc[:, -1] = (1 - six.iloc[:, :-1].sum(axis=1)).round(6)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert (rule.predict(posterior.astype("float32"), group) == exact).all()
        assert (rule.predict(six, group) == exact).all()
        assert (rule.predict(posterior, group) == exact).all()


def without_precision(rule: fc.FairRule) -> fc.FairRule:
    """The rule as an earlier version wrote it."""
    read = json.loads(rule.to_json())
    del read["tie_widths"], read["tied_shares"]
    return fc.FairRule.from_json(json.dumps({**read, "schema": 1}))


def test_a_rule_of_an_earlier_version_is_read_and_misses_its_gap_on_rounded_posteriors() -> None:
    posterior, group = crowd(3, 2, 2)
    rule = fc.make_fair(posterior, group, epsilon=0.05).rule
    old = without_precision(rule)
    assert (old.predict(posterior, group) == rule.predict(posterior, group)).all()
    assert gap(old.predict(posterior.round(6), group), group) > 0.1
    assert gap(rule.predict(posterior.round(6), group), group) < 0.07


def test_half_precision_widens_ties_too() -> None:
    posterior, group = crowd(3, 2, 2)
    rule = fc.make_fair(posterior, group, epsilon=0.05).rule
    half = ((posterior * 2048).round() / 2048).astype("float16")  # rows still sum to one
    assert (rule.predict(half, group) == rule.predict(posterior, group)).all()


def test_too_few_digits_give_a_warning_that_says_what_to_do() -> None:
    posterior, group = crowd(3, 2, 2)
    rule = fc.make_fair(posterior, group, epsilon=0.05).rule
    with pytest.warns(DataWarning, match=r"tasks are beside a tie .*have 3 digits.*at least 6 digits") as caught:
        rule.predict(posterior.round(3), group)
    assert [warning.filename for warning in caught] == [__file__]


@pytest.mark.parametrize("votes", [4, 5, 10, 20])
def test_shares_that_are_exact_with_few_digits_give_no_warning(votes: int) -> None:
    posterior, group = crowd(votes, 2, 2)
    rule = fc.make_fair(posterior, group, epsilon=0.05).rule
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        rule.predict(posterior, group)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("kind", ["DOUBLE", "FLOAT", "DECIMAL(9, 6)"])
def test_sql_keeps_the_ties(case: tuple[int, int, int], kind: str) -> None:
    posterior, group = crowd(*case)
    rule = fc.make_fair(posterior, group, epsilon=0.05).rule
    names = [f"posterior_{name}" for name in posterior]
    table = posterior.set_axis(names, axis=1).assign(group=group, u=rule.uniforms(posterior.index))
    columns = ", ".join(f"{name}::{kind} AS {name}" for name in names)
    sql = rule.to_sql(uniform="u")
    connection = duckdb.connect()
    connection.register("given", table.reset_index())
    rows = connection.execute(f'SELECT {sql} FROM (SELECT {columns}, "group", u FROM given)').fetchall()  # noqa: S608
    assert [label for (label,) in rows] == rule.predict(posterior, group).tolist()


def brute_widths(posterior: np.ndarray, group: np.ndarray, prices: np.ndarray) -> list[tuple[float, float]]:
    """The smallest difference to the best score that is no tie, and the share of tied tasks, of each group."""
    least = tie_widths(prices, np.bincount(group) / group.size)
    found = []
    for a in range(prices.shape[0]):
        scores = posterior[group == a] - prices[a]
        below = np.sort(scores.max(axis=1, keepdims=True) - scores, axis=1)[:, 1:]
        found.append((below[below > least[a]].min(), (below <= least[a]).any(axis=1).mean()))
    return found


@pytest.mark.parametrize("seed", range(20))
def test_no_task_lies_between_a_tie_and_twice_its_width(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n_classes = 2 + seed % 3
    values = rng.dirichlet(np.ones(n_classes), 400).round(1 + seed % 7)
    values[:, 0] += 1 - values.sum(axis=1)
    values[:50, 1] += rng.uniform(-1e-6, 1e-6, 50) * 10.0 ** rng.integers(-4, 1, 50)
    values = np.abs(values) / np.abs(values).sum(axis=1, keepdims=True)
    group = rng.integers(0, 3, 400)
    problem = read_posterior(values, group)
    prices = np.zeros((3, n_classes))
    prices[:, 0] = [0.1, -0.2, 0.0]
    ties: Any = {(a, (0, 1)): (0.5, 0.5) for a in range(3)}
    gain = make_gain("accuracy", n_classes)
    shares = problem.sizes / 400
    widths, tied = learn_tie_precision(problem, gain, prices, shares, ties)
    for a, (nearest, share) in enumerate(brute_widths(values, group, prices)):
        base = tie_widths(prices, shares)[a]
        assert tied[a] == share
        assert widths[a] == base or 2 * widths[a] <= nearest
        assert widths[a] >= min(nearest / 4, 1.25e-6) * 0.999 or widths[a] == base
    assert (learn_tie_precision(problem, gain, prices, shares, {}).tie_widths == tie_widths(prices, shares)).all()


def test_the_only_task_of_a_group_is_all_of_its_ties() -> None:
    problem = read_posterior(np.array([[0.5, 0.5], [0.5, 0.5], [0.9, 0.1]]), np.array([0, 1, 1]))
    ties: Any = {(a, (0, 1)): (0.5, 0.5) for a in range(2)}
    found = learn_tie_precision(problem, make_gain("accuracy", 2), np.zeros((2, 2)), np.array([1, 2]) / 3, ties)
    assert found.tied_shares.tolist() == [1.0, 0.5]


def test_sensitivity_bounds_how_far_scores_move() -> None:
    rng = np.random.default_rng(0)
    for _ in range(20):
        matrix = rng.normal(size=(3, 3))
        moved = rng.choice([-1.0, 1.0], (2000, 3)) @ matrix
        differences = np.abs(moved[:, :, None] - moved[:, None, :]).max()
        assert differences == pytest.approx(sensitivity(matrix))  # some signs reach it


@pytest.mark.parametrize("digits", [1, 2, 3, 5])
def test_digits_are_counted(digits: int) -> None:
    values = np.random.default_rng(1).dirichlet(np.ones(3), 50)
    assert digits_of(values.round(digits)) == digits
    assert digits_of(values) is None
