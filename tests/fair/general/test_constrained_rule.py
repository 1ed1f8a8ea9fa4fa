"""The rule of a list of constraints: against the labels it was learned with, as JSON, as SQL, and in words."""

import json
import os
from dataclasses import replace
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray

from faircrowd import FairRule, make_fair
from faircrowd.constraints import (
    ChangeBudget,
    Constraint,
    DemographicParity,
    EqualOpportunity,
    RateRange,
    ReviewBudget,
)
from faircrowd.errors import DataWarning, InputError
from faircrowd.fair.general.constrained_result import ConstrainedResult
from faircrowd.fair.general.constrained_rule import ConstrainedRule, PriceTable, TieSplit

from .test_constrained_solve import LISTS, tasks
from .whole_program import upper_limits

pytestmark = pytest.mark.filterwarnings(
    "ignore:.*the truth", "ignore:.*labels change", "ignore:.*no task gets the label"
)
NAMES = ["it's", 'a "b"', "c"]
"""Names of labels, some of which SQL must quote."""


def named(constraint: Constraint) -> Constraint:
    """Return a constraint about the label of this name instead of this code."""
    label = getattr(constraint, "label", None)
    return constraint if label is None else replace(constraint, label=NAMES[label])  # type: ignore[type-var]


def crossed(*kinds: tuple[int, ...]) -> list[tuple[Any, ...]]:
    """Return each list with two of four kinds of tasks: two classes and three, tied or not; all if FAIRCROWD_SLOW."""
    halves = [(0, 3), (1, 2)]  # two classes without ties and three with them, or the other way round
    return [
        (name, *kinds[k])
        for i, name in enumerate(LISTS)
        for k in (range(4) if os.environ.get("FAIRCROWD_SLOW") else halves[i % 2])
    ]


def learned(
    name: str, n: int, n_classes: int, seed: int, levels: int = 0, **options: Any
) -> tuple[pd.DataFrame, pd.DataFrame, ConstrainedResult]:
    posterior, groups = tasks(n, n_classes, seed, levels)
    index = pd.Index([f"t{i}" for i in range(n)], name="task")
    frame = pd.DataFrame(posterior, index=index, columns=NAMES[:n_classes])
    columns = pd.DataFrame(groups, index=index).assign(sex=lambda found: found["sex"].map({0: "f", 1: "m"}))
    fair = make_fair(frame, columns, constraints=[named(kept) for kept in LISTS[name]], **options)
    assert isinstance(fair, ConstrainedResult)
    return frame, columns, fair


def in_duckdb(
    rule: ConstrainedRule, frame: pd.DataFrame, columns: pd.DataFrame, uniform: str | None = "u"
) -> list[Any]:
    return rows_of_duckdb(rule, frame, columns, uniform)[0]


def rows_of_duckdb(
    rule: ConstrainedRule, frame: pd.DataFrame, columns: pd.DataFrame, *uniforms: str | None
) -> list[list[Any]]:
    """Return the labels by each of these columns of uniform numbers, in one query."""
    table = frame.add_prefix("p_").join(columns.add_prefix("of "))
    table["u"] = rule.uniforms(frame.index.tolist())
    cases = ", ".join(rule.to_sql(posterior="p_{}", group="of {}", uniform=uniform) for uniform in uniforms)
    with duckdb.connect(config={"threads": 1}) as connection:
        connection.register("tasks", table.reset_index().assign(row=np.arange(len(table))))
        rows = connection.execute(f"SELECT {cases} FROM tasks ORDER BY row").fetchall()  # noqa: S608
    return [list(labels) for labels in zip(*rows, strict=True)]


@pytest.mark.parametrize(
    ("name", "n", "n_classes", "levels"), crossed((400, 2, 0), (400, 3, 0), (600, 2, 4), (600, 3, 3))
)
def test_the_rule_gives_the_labels_it_was_learned_with(name: str, n: int, n_classes: int, levels: int) -> None:
    posterior, groups = tasks(n, n_classes, seed=n + n_classes, levels=levels)
    fair = make_fair(posterior, pd.DataFrame(groups), constraints=LISTS[name])
    assert isinstance(fair, ConstrainedResult)
    chances = fair.rule.predict_proba(posterior, pd.DataFrame(groups))
    tied = chances.max(axis=1) < 1
    near = is_tied(fair.rule, posterior, groups)
    assert not (tied & ~near).any()
    # Whole tasks: the integer program may move a few tasks that are near a tie.
    assert (chances.argmax(axis=1) != fair.solved.outcomes)[~near].sum() <= 2 * fair.problem.rows.n_rows
    limits = upper_limits(posterior, groups, LISTS[name], np.full(n, 1 / n), chances.shape[1] > n_classes)
    assert max(float((row * chances).sum()) - high for row, high in limits) <= 1e-9
    value = float((np.column_stack([posterior, np.ones(n)])[:, : chances.shape[1]] * chances).sum()) / n
    assert value == pytest.approx(fair.solved.best.value, abs=1e-9)


def is_tied(rule: ConstrainedRule, posterior: NDArray[np.float64], groups: dict[str, NDArray[np.int64]]) -> Any:
    """Return which tasks have two best outcomes, from the tables alone."""
    found = []
    for i, p in enumerate(posterior):
        scores = [*p, 1.0][: len(rule.outcomes)]
        for table in rule.tables:
            group: Any = tuple(groups[column][i] for column in table.columns)
            group = int(np.argmax(p)) if table.by_own_label else group[0] if len(group) == 1 else group or "all tasks"
            prices = table.prices[table.groups.index(group)]
            scores = [score - prices[0, k] - p @ prices[1:, k] for k, score in enumerate(scores)]
        first, second = sorted(scores)[::-1][:2]
        found.append(first - second < 1e-6)
    return np.array(found)


@pytest.mark.parametrize(("name", "n_classes", "levels"), crossed((2, 0), (3, 0), (2, 4), (3, 3)))
def test_json_and_a_warehouse_give_the_same_labels(name: str, n_classes: int, levels: int) -> None:
    """On the tasks it was learned from, many of them tied, and on new ones with new combinations of groups."""
    # The rule does not depend on the decision, and drawn labels need no integer program.
    frame, columns, fair = learned(name, 300, n_classes, seed=n_classes, levels=levels, decision="randomized")
    rule = ConstrainedRule.from_json(fair.rule.to_json())
    assert rule.to_json() == fair.rule.to_json()
    assert str(rule) == str(fair.rule)
    posterior, groups = tasks(300, n_classes, seed=77, levels=levels)
    new = pd.DataFrame(posterior, index="new " + frame.index, columns=frame.columns).rename_axis("task")
    new_columns = pd.DataFrame(groups, index=new.index).assign(sex=np.where(groups["sex"] == 0, "f", "m"))
    some, of = pd.concat([frame, new]), pd.concat([columns, new_columns])
    labels = fair.rule.predict(some, of).tolist()
    assert rule.predict(some, of).tolist() == labels
    assert fair.rule.predict(frame, columns).tolist() == labels[:300]
    chances = np.asarray(fair.rule.predict_proba(some, of))
    drawn, plain = rows_of_duckdb(rule, some, of, "u", None)
    assert drawn == labels
    assert plain == [rule.outcomes[k] for k in chances.argmax(axis=1)]


def test_neither_order_nor_names_matter() -> None:
    frame, columns, fair = learned("many", 400, 3, seed=5, levels=3)
    labels = fair.rule.predict(frame, columns)
    mixed = np.random.default_rng(0).permutation(400)
    again = fair.rule.predict(frame.iloc[mixed][NAMES[::-1]], columns[["race", "sex"]])
    pd.testing.assert_series_equal(again.loc[labels.index], labels)
    assert set(labels) > {"review"}
    chances = fair.rule.predict_proba(frame[NAMES[::-1]], columns)
    np.testing.assert_array_equal(chances[:, [2, 1, 0, 3]], fair.rule.predict_proba(frame, columns))
    # A column by another name, groups by other names: the same prices.
    other = columns.rename(columns={"sex": "gender"}).replace({"gender": {"f": "x", "m": "y"}})
    renamed = [replace(kept, group="gender") if getattr(kept, "group", "") == "sex" else kept for kept in LISTS["many"]]
    twin = make_fair(frame, other, constraints=[named(kept) for kept in renamed])
    assert twin.rule.columns == ("gender", "race")
    for mine, theirs in zip(fair.rule.tables, twin.rule.tables, strict=True):
        np.testing.assert_allclose(mine.prices, theirs.prices, atol=1e-9)


@pytest.mark.parametrize("name", ["two partitions", "opportunity", "changes"])
def test_labels_of_a_posterior_that_was_rounded(name: str) -> None:
    """Tied tasks are recognised with six digits and in 32 bits."""
    frame, columns, fair = learned(name, 600, 3, seed=3, levels=3)
    assert fair.rule.ties
    assert fair.rule.digits == 6
    chances = np.asarray(fair.rule.predict_proba(frame, columns))
    assert ((chances > 0) & (chances < 1)).any()
    six = frame.round(6)
    six = six.div(six.sum(axis=1), axis=0)
    for rounded in (six, frame.astype("float32")):
        np.testing.assert_array_equal(np.asarray(fair.rule.predict_proba(rounded, columns)), chances)
        assert fair.rule.predict(rounded, columns).equals(fair.rule.predict(frame, columns))
    assert in_duckdb(fair.rule, six, columns) == fair.rule.predict(frame, columns).tolist()


def test_a_rule_without_ties_has_none_to_lose() -> None:
    posterior, side = np.array([[0.9, 0.1], [0.2, 0.8]] * 20), pd.DataFrame({"side": np.repeat(["l", "r"], 20)})
    rule = make_fair(posterior, side, constraints=[DemographicParity(0.3, group="side")]).rule
    assert not rule.ties
    assert rule.digits == 1


def test_ties_give_way_to_tasks_beside_them() -> None:
    """A tie is no wider than the distance to a task that is not tied; a posterior in 32 bits is known to be rounded."""
    posterior = np.repeat([[0.4, 0.6], [0.9, 0.1], [0.4 + 2e-8, 0.6 - 2e-8]], [60, 60, 1], axis=0)
    side = pd.DataFrame({"side": ["l"] * 60 + ["r"] * 60 + ["l"]})
    rule = make_fair(posterior, side, constraints=[DemographicParity(0.3, group="side")]).rule
    ((_, tie),) = ((key, tie) for key, tie in rule.ties.items() if key[0] == (0,))
    assert 1e-9 < tie.width < 4e-8
    assert rule.digits > 6
    chances = rule.predict_proba(posterior, side)
    assert 0 < chances[0, 1] < 1
    assert chances[-1, 1] in (0, 1)
    np.testing.assert_array_equal(rule.predict_proba(posterior.astype(np.float32), side)[0], chances[0])


# Groups that a rule does not know.

TABLES = (
    PriceTable("parity(sex)", ("sex",), False, ("f", "m"), np.array([[[0, -0.3], [0, 0], [0, 0]], np.zeros((3, 2))])),
    PriceTable("parity(race)", ("race",), False, (1, 2), np.array([np.zeros((3, 2)), [[0, 0.2], [0, 0], [0, 0]]])),
)
BOTH = PriceTable("both", ("sex", "race"), False, (("f", 1), ("m", 2)), np.zeros((2, 3, 2)))


def made(*tables: PriceTable, **more: Any) -> ConstrainedRule:
    return ConstrainedRule(("no", "yes"), tables, np.eye(2), np.zeros(2), **more)


def given(p: float, sex: str, race: Any) -> tuple[pd.DataFrame, pd.DataFrame]:
    return pd.DataFrame({"no": [1 - p], "yes": [p]}), pd.DataFrame({"sex": [sex], "race": [race]})


@pytest.mark.parametrize(("sex", "race", "threshold"), [("f", 1, 0.35), ("f", 2, 0.45), ("m", 1, 0.5), ("m", "2", 0.6)])
def test_prices_of_several_columns_add_up_also_for_new_combinations(sex: str, race: Any, threshold: float) -> None:
    rule = made(*TABLES)
    for shift, label in ((-0.001, "no"), (0.001, "yes")):
        posterior, columns = given(threshold + shift, sex, race)
        assert rule.predict(posterior, columns).tolist() == [label]
        if race != "2":
            assert in_duckdb(rule, posterior, columns, uniform=None) == [label]


@pytest.mark.parametrize(
    ("tables", "sex", "race", "said"),
    [
        (TABLES, "x", 1, "1 tasks are of groups that the rule does not know: 'sex=x'"),
        (TABLES, "x", 7, "1 tasks are of groups that the rule does not know: 'sex=x', 'race=7'"),
        ((BOTH,), "f", 2, "1 tasks are of groups that the rule does not know: 'sex=f, race=2'"),
    ],
)
def test_groups_that_are_not_known(tables: Any, sex: str, race: Any, said: str) -> None:
    rule, (posterior, columns) = made(*tables), given(0.45, sex, race)
    with pytest.raises(InputError, match=said + r"\. unknown='own' gives them the aggregator's own label\."):
        rule.predict(posterior, columns)
    with pytest.warns(DataWarning, match=said):
        assert rule.predict(posterior, columns, unknown="own").tolist() == ["no"]
    assert in_duckdb(rule, posterior, columns, uniform=None) == [None]


def test_missing_columns_and_other_classes_are_named() -> None:
    posterior, columns = given(0.5, "f", 1)
    with pytest.raises(InputError, match=r"'race'.*the sensitive columns are 'sex'"):
        made(*TABLES).predict(posterior, columns[["sex"]])
    with pytest.raises(InputError, match=r"classes 'no', 'maybe' are not the rule's 'no', 'yes'"):
        made(*TABLES).predict(posterior.set_axis(["no", "maybe"], axis=1), columns)


def test_sql_of_many_combinations_is_refused() -> None:
    tables = [PriceTable(f"c{j}", (f"c{j}",), False, tuple(range(40)), np.zeros((40, 3, 2))) for j in range(3)]
    with pytest.raises(InputError, match="more than 20,000 combinations of groups"):
        made(*tables).to_sql()
    twins = PriceTable("c", ("c",), False, (1, "1"), np.zeros((2, 3, 2)))
    with pytest.raises(InputError, match=r"values of 'c' .* have the same text"):
        made(twins).to_sql()


# JSON

RULE = made(*TABLES, ties={((0, 1), (0, 1)): TieSplit(((0.25, 0.75),), 1e-9)}, random_state=3)


def edited(change: dict[str, Any]) -> str:
    return json.dumps(json.loads(RULE.to_json()) | change)


def table_with(**change: Any) -> dict[str, Any]:
    tables = json.loads(RULE.to_json())["tables"]
    return {"tables": [tables[0] | change, tables[1]]}


def tie_with(**change: Any) -> dict[str, Any]:
    return {"ties": [json.loads(RULE.to_json())["ties"][0] | change]}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[]", r"its kind is not 'faircrowd.ConstrainedRule'\.$"),
        (edited({"kind": "other"}), r"its kind is not 'faircrowd.ConstrainedRule'\.$"),
        (edited({"schema": 2}), r"^This rule has schema 2, newer than 1; update faircrowd\.$"),
        (edited({"colour": 1}), r"it has 'colour', which no rule has\.$"),
        ('{"kind": "faircrowd.ConstrainedRule", "schema": 1}', r": 'classes', 'gain_matrix', .* is missing\.$"),
        (edited({"tie_width": 10**400}), r"\(OverflowError: "),
        (edited(table_with(colour=1)), r"\(ValueError: 'colour' is missing or unknown in a table or a tie\)"),
        (edited({"tables": [1]}), r"\(AttributeError: "),
        *(
            (
                edited(change),
                r"^This rule's numbers do not fit its classes, columns and groups; it was edited or cut off",
            )
            for change in (
                {"tables": []},
                {"tie_width": -1.0},
                {"random_state": -1},
                {"has_review": 1},
                {"has_review": True},
                {"classes": ["no", "no"]},
                {"gain_matrix": [[1.0, 0.0]]},
                {"gain_offset": [1e300, 0.0]},
                table_with(groups=["f"]),
                table_with(groups=["f", "f"]),
                table_with(columns=[1]),
                table_with(columns=["sex", "race"]),
                table_with(columns=[]),
                table_with(by_own_label=True),
                table_with(by_own_label="yes"),
                table_with(constraint=None),
                tie_with(groups=[0]),
                tie_with(groups=[0, 2]),
                tie_with(groups=[0, -1]),
                tie_with(outcomes=[1, 0]),
                tie_with(weights=[[0.5, 0.6]]),
                tie_with(weights=[]),
                tie_with(weights=[[0.5, 0.5]] * 3),
                tie_with(width=0.0),
            )
        ),
    ],
)
def test_what_is_no_such_rule_is_refused(text: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        ConstrainedRule.from_json(text)


def test_the_two_kinds_of_rules_know_each_other() -> None:
    with pytest.raises(InputError, match=r"'faircrowd.ConstrainedRule', not 'faircrowd.FairRule': read it by Constrai"):
        FairRule.from_json(RULE.to_json())
    posterior = np.array([[0.2, 0.8], [0.7, 0.3]])
    plain = make_fair(posterior, [0, 1], epsilon=0.5).rule.to_json()
    with pytest.raises(InputError, match=r"'faircrowd.FairRule', not 'faircrowd.ConstrainedRule': read it by FairRule"):
        ConstrainedRule.from_json(plain)
    with pytest.raises(InputError, match="A rule is read from JSON text, not from a bytes"):
        ConstrainedRule.from_json(b"{}")  # type: ignore[arg-type]


# Words


def test_a_rule_in_words() -> None:
    changed = PriceTable(
        "changed <= 0.1", (), True, ("no", "yes"), np.array([[[0, 0.03], [0, 0], [0, 0]], [[0.03, 0], [0, 0], [0, 0]]])
    )
    truth = PriceTable(
        "opportunity(sex, label=yes) <= 0.1",
        ("sex",),
        False,
        ("f", "m"),
        np.array([[[0, 0], [0, 0], [0, -0.25]], np.zeros((3, 2))]),
    )
    rule = made(*TABLES, BOTH, changed, truth)
    assert str(rule).splitlines() == [
        "fair rule for parity(sex), parity(race), both, changed <= 0.1, opportunity(sex, label=yes) <= 0.1",
        "the label with the highest posterior wins, after these changes, which add up:",
        "  parity(sex)",
        "    sex=f: label yes raised by 0.3000",
        "  parity(race)",
        "    race=2: label no raised by 0.2000",
        "  both: no label raised or lowered",
        "  changed <= 0.1",
        "    own label no: label no raised by 0.0300",
        "    own label yes: label yes raised by 0.0300",
        "  opportunity(sex, label=yes) <= 0.1",
        "    sex=f: label yes raised by 0.2500 times the posterior of yes",
    ]


@pytest.mark.parametrize(
    "constraints", [[ReviewBudget(0.1)], [RateRange(high=0.4, label="yes", group=()), ChangeBudget(1)]]
)
def test_rules_without_columns_need_none(constraints: list[Constraint]) -> None:
    rng = np.random.default_rng(1)
    p = rng.random(100)
    frame = pd.DataFrame({"no": 1 - p, "yes": p})
    side = pd.DataFrame({"side": rng.integers(0, 2, 100)})
    fair = make_fair(frame, side, constraints=constraints)
    assert fair.rule.columns == ()
    assert fair.rule.predict(frame, side).tolist() == in_duckdb(fair.rule, frame, side)


def test_a_class_named_review_is_told_from_a_review() -> None:
    rng = np.random.default_rng(2)
    p = rng.random(200)
    frame, side = pd.DataFrame({"no": 1 - p, "review": p}), pd.DataFrame({"side": rng.integers(0, 2, 200)})
    fair = make_fair(frame, side, constraints=[EqualOpportunity(0.1, label="no", group="side"), ReviewBudget(0.1)])
    assert fair.rule.outcomes == ("no", "review", "review_")
    assert in_duckdb(fair.rule, frame, side) == fair.rule.predict(frame, side).tolist()
    assert "review_ (a person finds the label) counts as 1" in str(fair.rule)
