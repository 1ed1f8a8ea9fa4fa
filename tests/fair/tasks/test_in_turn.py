"""Labels tried in turn: against a plain loop over classes, as a rule, in JSON, in words and in SQL."""

import json
from typing import Any

import duckdb
import numpy as np
import pytest

from faircrowd import FairRule
from faircrowd.errors import InputError
from faircrowd.fair.tasks.in_turn import InTurn, tie_weights

GROUPS = ("x", "y")


def made(n_classes: int = 3, seed: int = 0, **more: Any) -> FairRule:
    """Return a rule whose prices are multiples of 1/8, so that posteriors of eighths have many ties, and exact ones."""
    rng = np.random.default_rng(seed)
    prices, rivals = rng.integers(-2, 3, (2, 2, n_classes)) / 8
    return FairRule(
        classes=tuple("abcdef"[:n_classes]),
        groups=GROUPS,
        prices=prices,
        gain_matrix=np.eye(n_classes),
        gain_offset=np.zeros(n_classes),
        shares=np.array([0.25, 0.75]),
        epsilon=0.1,
        random_state=3,
        in_turn=InTurn(rivals, rng.integers(0, 9, (2, n_classes)) / 8),
        **more,
    )


def eighths(n_classes: int, n: int, seed: int = 1) -> np.ndarray:
    return np.random.default_rng(seed).multinomial(8, np.full(n_classes, 1 / n_classes), n) / 8


def tried(rule: FairRule, p: np.ndarray, a: int, u: float) -> int:
    """Return the label of one task, as the definition says."""
    assert rule.in_turn is not None
    for k in range(p.size - 1, 0, -1):
        lead = (p[k] - rule.prices[a, k]) - max(p[j] - rule.in_turn.rivals[a, j] for j in range(k))
        if lead > 0 or (lead == 0 and u >= rule.in_turn.splits[a, k]):
            return k
    return 0


@pytest.mark.parametrize("n_classes", [3, 4, 5])
@pytest.mark.parametrize("seed", range(4))
def test_labels_and_their_probabilities_are_those_of_trying_in_turn(n_classes: int, seed: int) -> None:
    rule, posterior = made(n_classes, seed), eighths(n_classes, 200)
    group = np.arange(200) % 2
    numbers = (np.arange(8) + 0.5) / 8  # splits are eighths, so these represent all numbers
    expected = np.zeros(posterior.shape)
    for i, (p, a) in enumerate(zip(posterior, group, strict=True)):
        for u in numbers:
            expected[i, tried(rule, p, int(a), u)] += 1 / 8
    assert ((expected > 0) & (expected < 1)).any()
    np.testing.assert_array_equal(rule.probabilities(posterior, group.astype(np.int32)), expected)
    drawn = rule.uniforms(range(200))
    labels = [tried(rule, p, int(a), u) for p, a, u in zip(posterior, group, drawn, strict=True)]
    found = rule.predict(posterior_frame(rule, posterior), np.take(GROUPS, group))
    assert list(found) == [rule.classes[k] for k in labels]


def posterior_frame(rule: FairRule, posterior: np.ndarray) -> Any:
    import pandas as pd

    return pd.DataFrame(posterior, columns=list(rule.classes))


def test_rivals_that_cost_the_same_make_the_label_of_the_highest_score() -> None:
    rng = np.random.default_rng(0)
    prices, gains, group = rng.normal(size=(3, 5)), rng.random((400, 5)), rng.integers(0, 3, 400).astype(np.int32)
    found = InTurn(prices, np.zeros((3, 5))).scores(gains, prices, group)
    np.testing.assert_allclose(found, gains - prices[group], atol=1e-14)


def test_the_best_score_leads_by_the_distance_to_the_nearest_tie() -> None:
    rule, rng = made(4, 2), np.random.default_rng(5)
    assert rule.in_turn is not None
    posterior = rng.dirichlet(np.ones(4), 300)
    scores = np.sort(rule.scores(posterior, np.zeros(300, np.int32)), axis=1)
    for p, margin in zip(posterior, scores[:, -1] - scores[:, -2], strict=True):
        distances = []
        for k in (3, 2, 1):
            lead = (p[k] - rule.prices[0, k]) - max(p[j] - rule.in_turn.rivals[0, j] for j in range(k))
            distances.append(abs(lead))
            if lead > 0:
                break
        assert margin == pytest.approx(min(distances), abs=1e-12)


def test_tied_classes_share_the_numbers() -> None:
    rng = np.random.default_rng(1)
    for _ in range(50):
        splits = rng.random(4)
        members = tuple(np.flatnonzero(rng.random(4) < 0.7).tolist())
        if len(members) > 1:
            weights = tie_weights(members, splits)
            assert sum(weights) == pytest.approx(1)
            assert min(weights) >= 0
            assert weights[-1] == 1 - splits[members[-1]]


def test_groups_left_out_get_the_label_that_gains_the_most() -> None:
    rule = made(left_out=(1,))
    prices = rule.prices.copy()
    prices[1] = 0.0
    rule = FairRule.from_json(json.dumps({**json.loads(rule.to_json()), "prices": prices.tolist()}))
    assert rule.in_turn is not None
    rule.in_turn.rivals[1] = 0.0
    posterior, own = eighths(3, 100), eighths(3, 100).argmax(axis=1).astype(np.int32)
    found = rule.probabilities(posterior, np.ones(100, np.int32), own)
    np.testing.assert_array_equal(found.argmax(axis=1), own)
    assert (found.max(axis=1) == 1).all()


def test_json_has_a_schema_of_its_own_and_comes_back() -> None:
    rule = made()
    read = json.loads(rule.to_json())
    assert read["schema"] == 3
    assert set(read["in_turn"]) == {"rivals", "splits"}
    back = FairRule.from_json(rule.to_json())
    assert back.to_json() == rule.to_json()
    assert back.digits == rule.digits > 1


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"rivals": [[0.0] * 3] * 3}, "do not fit"),
        ({"splits": [[0.0] * 3]}, "do not fit"),
        ({"splits": [[0.0, 1.5, 0.0]] * 2}, "do not fit"),
        ({"splits": [[0.0, -0.1, 0.0]] * 2}, "do not fit"),
        ({"rivals": [[0.0, 2e100, 0.0]] * 2}, "do not fit"),
        ({"more": 1}, "its 'in_turn' is not a set of tables of numbers, 'rivals', 'splits'"),
        ({"rivals": None}, "not a rule of faircrowd|do not fit"),
    ],
)
def test_an_edited_rule_is_refused(change: dict[str, Any], said: str) -> None:
    read = json.loads(made().to_json())
    with pytest.raises(InputError, match=said):
        FairRule.from_json(json.dumps({**read, "in_turn": {**read["in_turn"], **change}}))
    with pytest.raises(InputError, match="not a rule of faircrowd"):
        FairRule.from_json(json.dumps({**read, "in_turn": 3}))
    with pytest.raises(InputError, match="in_turn belongs to schema 3"):
        FairRule.from_json(json.dumps({**read, "schema": 2}))
    without = {name: value for name, value in read.items() if name != "in_turn"}
    with pytest.raises(InputError, match="in_turn belongs to schema 3"):
        FairRule.from_json(json.dumps(without))
    ties = [{"group": 0, "classes": [0, 1], "weights": [0.5, 0.5]}]
    with pytest.raises(InputError, match="do not fit"):
        FairRule.from_json(json.dumps({**read, "ties": ties}))


def test_words_say_what_is_added_to_labels_and_to_rivals() -> None:
    rule = made()
    assert rule.in_turn is not None
    rule.prices[:] = [[9.0, 0.5, 0.25], [0.0, 0.0, 0.0]]
    rule.in_turn.rivals[:] = [[0.25, 0.5, 7.0], [0.0, 0.0, 0.0]]
    assert str(rule).splitlines() == [
        "fair rule, gap at most 0.1 between groups 'x', 'y'; labels are tried in turn, from c to a, and one wins if "
        "its posterior, after these changes, is above those of the labels still to come, after their changes as "
        "rivals:",
        "  group x: label b lowered by 0.2500; as rivals, label b lowered by 0.2500",
        "  group y: no label raised or lowered; as rivals, no label raised or lowered",
    ]


@pytest.mark.parametrize("seed", range(3))
def test_sql_gives_the_same_labels(seed: int) -> None:
    rule, posterior = made(4, seed, merged=("z",)), eighths(4, 300, seed)
    names = np.array(["x", "y", "z"])[np.arange(300) % 3]
    expected = rule.predict(posterior_frame(rule, posterior), names)
    rows = [(i, g, *p, u) for i, (g, p, u) in enumerate(zip(names, posterior, rule.uniforms(range(300)), strict=True))]
    connection = duckdb.connect()
    connection.execute("CREATE TABLE t (n INT, g TEXT, p_a DOUBLE, p_b DOUBLE, p_c DOUBLE, p_d DOUBLE, u DOUBLE)")
    connection.executemany("INSERT INTO t VALUES (?, ?, ?, ?, ?, ?, ?)", [tuple(map(_plain, row)) for row in rows])
    sql = rule.to_sql(posterior="p_{}", group="g", uniform="u")
    found = [label for (label,) in connection.execute(f"SELECT {sql} FROM t ORDER BY n").fetchall()]  # noqa: S608
    assert found == list(expected)
    likeliest = rule.to_sql(posterior="p_{}", group="g")
    found = [label for (label,) in connection.execute(f"SELECT {likeliest} FROM t ORDER BY n").fetchall()]  # noqa: S608
    chances = rule.probabilities(posterior, np.minimum(np.arange(300) % 3, 1).astype(np.int32))
    pairs = (chances > 0).sum(axis=1) <= 2
    chosen = chances[np.arange(300), [rule.classes.index(label) for label in found]]
    assert (chosen[pairs] >= 0.5).all()


def _plain(value: Any) -> Any:
    return value.item() if hasattr(value, "item") else value
