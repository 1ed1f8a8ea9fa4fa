"""The rule as SQL, letter by letter."""

import datetime
from typing import Any

import duckdb
import numpy as np
import pytest

from faircrowd.errors import InputError
from faircrowd.fair.rule_forms.sql import SqlCell, case_expression, case_of_cells, identifier, literal


def written(ties: dict[Any, Any], uniform: str | None, **more: Any) -> str:
    settings: dict[str, Any] = {
        "classes": ("a", "b"),
        "groups": ("x", "y"),
        "prices": np.array([[0.25, -0.25], [0.0, 0.5]]),
        "gain_matrix": np.eye(2),
        "gain_offset": np.array([0.0, 1.0]),
        **more,
    }
    return case_expression(
        ties=ties, widths=np.full(2, 1e-12), posterior="p_{}", group="g", uniform=uniform, **settings
    )


def test_scores_are_compared_group_by_group() -> None:
    p, q = 'CAST("p_a" AS DOUBLE)', 'CAST("p_b" AS DOUBLE)'
    a, b, c, d = f"({p} + (-0.25))", f"({q} + (1.25))", f"({p} + (0.0))", f"({q} + (0.5))"
    assert written({}, None) == (
        f"CASE WHEN \"g\" = 'x' THEN CASE WHEN {a} >= {b} THEN 'a' WHEN {b} >= {a} THEN 'b' END\n"
        f"     WHEN \"g\" = 'y' THEN CASE WHEN {c} >= {d} THEN 'a' WHEN {d} >= {c} THEN 'b' END\nEND"
    )


def test_gains_are_weights_of_the_columns() -> None:
    found = written({}, None, groups=("x",), gain_matrix=np.array([[0.0, 2.0], [0.0, -0.5]]))
    assert "(0.0 + (-0.25))" in found
    assert '(2.0 * CAST("p_a" AS DOUBLE) + -0.5 * CAST("p_b" AS DOUBLE) + (1.25))' in found


@pytest.mark.parametrize("uniform", [None, "u"])
def test_ties_are_drawn_or_go_to_the_likeliest(uniform: str | None) -> None:
    classes = ("a", "b", "c")
    ties = {(0, (0, 2)): (0.25, 0.75), (0, (0, 1, 2)): (0.5, 0.3, 0.2), (1, (0, 1)): (0.0, 1.0)}
    sql = written(
        ties,
        uniform,
        classes=classes,
        prices=np.zeros((2, 3)),
        gain_matrix=np.eye(3),
        gain_offset=np.zeros(3),
    )
    close = 0.25 - 5e-13  # within the tie
    far = 0.25 - 2e-12
    rows: list[tuple[Any, ...]] = [
        ("x", 0.4, 0.2, 0.4, 0.1, "a", "c"),
        ("x", 0.4, 0.2, 0.4, 0.25, "c", "c"),
        ("x", 0.4, 0.2, 0.4, 0.9, "c", "c"),
        ("x", close, 0.1, 0.25, 0.1, "a", "c"),
        ("x", 0.25, 0.1, close, 0.9, "c", "c"),
        ("x", 0.25, 0.1, far, 0.9, "a", "a"),
        ("x", far, 0.1, 0.25, 0.1, "c", "c"),
        ("x", 0.25, 0.25, 0.25, 0.49, "a", "a"),
        ("x", 0.25, 0.25, 0.25, 0.5, "b", "a"),
        ("x", 0.25, 0.25, 0.25, 0.79, "b", "a"),
        ("x", 0.25, 0.25, 0.25, 0.8, "c", "a"),
        ("x", 0.4, 0.4, 0.2, 0.9, "a", "a"),  # a tie that the rule does not know: the first
        ("y", 0.4, 0.4, 0.2, 0.0, "b", "b"),
        ("y", 0.4, 0.2, 0.4, 0.9, "a", "a"),
        ("y", 0.1, 0.7, 0.2, 0.9, "b", "b"),
        ("z", 0.1, 0.7, 0.2, 0.9, None, None),
    ]
    connection = duckdb.connect()
    connection.execute("CREATE TABLE tasks (n INT, g TEXT, p_a DOUBLE, p_b DOUBLE, p_c DOUBLE, u DOUBLE)")
    connection.executemany("INSERT INTO tasks VALUES (?, ?, ?, ?, ?, ?)", [(i, *r[:5]) for i, r in enumerate(rows)])
    found = [label for (label,) in connection.execute(f"SELECT {sql} FROM tasks ORDER BY n").fetchall()]  # noqa: S608
    assert found == [row[5 if uniform else 6] for row in rows]


def test_names_and_values_are_quoted() -> None:
    assert identifier('a "b"') == '"a ""b"""'
    values = [True, False, 2, -1.5, "it's", ("a", 1), b"x", datetime.date(2020, 1, 2)]
    assert [literal(value) for value in values] == [
        *("TRUE", "FALSE", "2", "-1.5", "'it''s'", "'a & 1'", "'x'", "'2020-01-02'")
    ]


@pytest.mark.parametrize(("what", "names"), [("classes", (1, "1")), ("groups", ("x", True, "True"))])
def test_names_with_the_same_text_are_refused(what: str, names: tuple[Any, ...]) -> None:
    prices = np.zeros((len(names), 2))
    with pytest.raises(InputError, match=f"The {what} .* have the same text, so SQL cannot tell them apart"):
        written({}, None, **{what: names, "prices": prices})


@pytest.mark.parametrize("within", [None, 0.01])
def test_cells_with_weights_of_their_own_and_an_outcome_that_is_no_class(within: float | None) -> None:
    """Scores of x: p_a, 2 p_b - 0.5 and 0.6; ties of a and b are split by the likeliest class."""
    cell = SqlCell(
        '"g" = \'x\' AND "h" = 1',
        np.array([[1.0, 0.0, 0.0], [0.0, 2.0, 0.0]]),
        np.array([0.0, -0.5, 0.6]),
        {(0, 1): [(1.0, 0.0), (0.25, 0.75)]},
        (1e-6, 1e-12),
    )
    sql = case_of_cells(("a", "b"), ("a", "b", "ask"), [cell], posterior="p_{}", uniform="u", own_within=within)
    rows: list[tuple[Any, ...]] = [
        ("x", 1, 0.9, 0.1, 0.5, "a"),
        ("x", 1, 0.55, 0.45, 0.5, "ask"),
        ("x", 1, 0.1, 0.9, 0.5, "b"),
        ("x", 1, 0.7, 0.6, 0.0, "a"),  # tied, and a is likelier
        ("x", 1, 0.7, 0.6 - 1e-7, 0.99, "a"),
        ("x", 1, 1.5, 1.0, 0.99, "a"),
        ("x", 1, 3.5, 2.0, 0.99, "a"),
        ("x", 1, 0.5, 0.5, 0.99, "ask"),
        ("x", 1, 0.595, 0.5, 0.5, "ask" if within is None else "a"),  # near the best: the likeliest class
        ("x", 2, 0.9, 0.1, 0.5, None),
        ("y", 1, 0.9, 0.1, 0.5, None),
    ]
    connection = duckdb.connect()
    connection.execute("CREATE TABLE tasks (n INT, g TEXT, h INT, p_a DOUBLE, p_b DOUBLE, u DOUBLE)")
    connection.executemany("INSERT INTO tasks VALUES (?, ?, ?, ?, ?, ?)", [(i, *r[:5]) for i, r in enumerate(rows)])
    found = [label for (label,) in connection.execute(f"SELECT {sql} FROM tasks ORDER BY n").fetchall()]  # noqa: S608
    assert found == [row[5] for row in rows]
