"""A rule by itself: its scores, ties, thresholds, words and JSON, against what they are by hand."""

import json
import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from faircrowd import FairRule
from faircrowd.errors import DataWarning, InputError
from faircrowd.fair.rule import thresholds_of
from faircrowd.fair.tasks.read_posterior import read_posterior
from faircrowd.votes import Vocabulary


def made(prices: Any, *, classes: Any = None, groups: Any = None, **more: Any) -> FairRule:
    """Return a rule with these prices; by default of accuracy, and of groups of equal shares."""
    prices = np.asarray(prices, dtype=np.float64)
    n_groups, n_classes = prices.shape
    settings = {
        "gain_matrix": np.eye(n_classes),
        "gain_offset": np.zeros(n_classes),
        "shares": np.full(n_groups, 1 / n_groups),
        "epsilon": 0.1,
        **{name: np.asarray(value) if isinstance(value, list) else value for name, value in more.items()},
    }
    classes = tuple(range(n_classes)) if classes is None else classes
    return FairRule(classes, tuple(range(n_groups)) if groups is None else groups, prices, **settings)


PRICES = [[0.3, -0.2], [-0.4, 0.1], [0.0, 0.0]]
GAINS = [[2.0, -1.0], [-3.0, 1.5]]


@pytest.mark.parametrize("offset", [[0.0, 0.0], [0.25, -0.5]])
def test_at_its_threshold_a_task_is_worth_as_much_with_either_label(offset: list[float]) -> None:
    rule = made(PRICES, gain_matrix=GAINS, gain_offset=offset)
    for a, p in enumerate(thresholds_of(rule.prices, rule.gain_matrix, rule.gain_offset)):
        assert rule.thresholds is not None
        assert rule.thresholds[a] == p
        for shift in (-0.01, 0.0, 0.01):
            zero, one = (
                (1 - p - shift) * GAINS[0][k] + (p + shift) * GAINS[1][k] + offset[k] - PRICES[a][k] for k in (0, 1)
            )
            assert one - zero == pytest.approx(7.5 * shift, abs=1e-12)
            scores = rule.scores(np.array([[1 - p - shift, p + shift]]), np.array([a]))
            np.testing.assert_allclose(scores, [[zero, one]], atol=1e-12)


@pytest.mark.parametrize(
    ("gains", "known"),
    [([[1.0, 0.0], [0.0, 1.0]], True), ([[1.0, 1.0], [2.0, 2.0]], False), ([[0.0, 1.0], [1.0, 0.0]], False)],
)
def test_thresholds_are_of_gains_that_rise_with_the_posterior(gains: Any, known: bool) -> None:
    assert (made(PRICES, gain_matrix=gains).thresholds is not None) is known


def test_three_classes_have_no_threshold_and_multipliers_are_prices_times_shares() -> None:
    rule = made([[0.1, 0.2, -0.3], [0.4, 0.0, -0.4]], shares=[0.25, 0.75])
    assert rule.thresholds is None
    np.testing.assert_array_equal(rule.multipliers, [[0.025, 0.05, -0.075], [0.75 * 0.4, 0.0, 0.75 * -0.4]])


# Ties. Scores are set by the prices alone: gains are 0.

FLAT: dict[str, Any] = {"gain_matrix": np.zeros((3, 3))}
UNIFORM = np.full((1, 3), 1 / 3)


@pytest.mark.parametrize(
    ("below", "tied"), [(0.0, True), (1e-13, True), (1e-9, True), (1.0099e-9, True), (1.0101e-9, False), (2e-9, False)]
)
def test_scores_this_close_are_tied(below: float, tied: bool) -> None:
    rule = made([[0.0, below, 5.0]], **FLAT, ties={(0, (0, 1)): (0.25, 0.75)})
    expected = [0.25, 0.75, 0.0] if tied else [1.0, 0.0, 0.0]
    np.testing.assert_array_equal(rule.probabilities(UNIFORM, np.array([0])), [expected])


@pytest.mark.parametrize(("below", "tied"), [(0.0, True), (1e-11, True), (1.001e-11, False), (1e-9, False)])
def test_thresholds_are_exact(below: float, tied: bool) -> None:
    rule = made([[0.0, below], [1.0, 0.0]], gain_matrix=np.zeros((2, 2)), ties={(0, (0, 1)): (0.25, 0.75)})
    np.testing.assert_array_equal(
        rule.probabilities(np.full((1, 2), 0.5), np.array([0])), [[0.25, 0.75] if tied else [1.0, 0.0]]
    )


def test_ties_without_weights_go_to_the_own_label_or_the_first() -> None:
    rule = made([[7.0, 0.0, 0.0], [7.0, 0.0, 1e-13]], **FLAT)
    posterior, group = np.repeat(UNIFORM, 4, axis=0), np.array([0, 0, 0, 1])
    own = np.array([0, 1, 2, 2])  # the first task's own label is not among the best
    assert rule.probabilities(posterior, group, own).argmax(axis=1).tolist() == [1, 1, 2, 2]
    assert rule.probabilities(posterior, group).argmax(axis=1).tolist() == [1, 1, 1, 1]
    assert rule.probabilities(posterior, group, own).sum(axis=1).tolist() == [1.0] * 4


def test_each_tie_of_each_group_has_weights_of_its_own() -> None:
    ties = {
        (0, (0, 1)): (0.25, 0.75),
        (1, (0, 1)): (0.5, 0.5),
        (1, (0, 2)): (0.0, 1.0),
        (1, (0, 1, 2)): (0.2, 0.3, 0.5),
    }
    rule = made(np.zeros((3, 3)), ties=ties)
    ab, ac, abc, bc = [0.4, 0.4, 0.2], [0.4, 0.2, 0.4], [1 / 3] * 3, [0.2, 0.4, 0.4]
    given = [(ab, 0), (ab, 1), (ac, 0), (ac, 1), (abc, 1), (bc, 1), (ab, 2), ([0.1, 0.8, 0.1], 1), (ab, 0)]
    found = rule.probabilities(np.array([row for row, _ in given]), np.array([a for _, a in given]))
    expected = [
        *([0.25, 0.75, 0.0], [0.5, 0.5, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.2, 0.3, 0.5]),
        *([0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.25, 0.75, 0.0]),
    ]
    np.testing.assert_array_equal(found, expected)


def test_classes_are_known_by_name() -> None:
    """Columns in another order, a group the rule does not know, and tied tasks: all as in the rule's own order."""
    rng = np.random.default_rng(0)
    prices = [[0.1, 0.0, -0.1], [-0.2, 0.1, 0.1]]
    rule = made(prices, classes=(0, 1, 2), groups=("x", "y"), random_state=3, ties={(1, (1, 2)): (0.5, 0.5)})
    posterior = rng.dirichlet(np.ones(3), 40)
    group = np.array(["x", "y", "z"])[np.arange(40) % 3]
    tied = (group == "y") & (np.arange(40) < 30)
    posterior[tied] = [0.1, 0.45, 0.45]
    with pytest.warns(DataWarning, match=r"^13 tasks of unknown groups \('z'\) got the aggregator's own label\.$"):
        plain = rule.predict(posterior, group, unknown="own")
    order = [2, 0, 1]
    problem = read_posterior(posterior[:, order], group, one_group_will_do=True)
    problem = replace(problem, classes=Vocabulary.of(order))
    with pytest.warns(DataWarning, match="13 tasks"):
        assert [order[code] for code in rule.predict_problem(problem, "own")] == plain.tolist()
    with pytest.warns(DataWarning, match="13 tasks"):
        chances = rule.predict_proba(posterior, group, unknown="own")
    known = group != "z"
    np.testing.assert_array_equal(chances[~known], np.eye(3)[posterior[~known].argmax(axis=1)])
    np.testing.assert_array_equal(chances[tied], np.tile([0.0, 0.5, 0.5], (tied.sum(), 1)))
    assert set(plain[tied]) == {1, 2}
    sure = known & ~tied
    best = (posterior - np.array(prices)[np.where(group == "x", 0, 1)]).argmax(axis=1)
    np.testing.assert_array_equal(plain[sure], best[sure])
    np.testing.assert_array_equal(chances[sure], np.eye(3)[best[sure]])
    assert rule.group_codes(problem).tolist() == np.where(known, np.arange(40) % 3, -1).tolist()


def test_groups_without_tasks_are_not_unknown() -> None:
    rule = made(PRICES[:2], groups=("x", "y"))
    problem = read_posterior([[0.1, 0.9], [0.6, 0.4]], ["x", "y"])
    problem = replace(problem, groups=Vocabulary.of(["x", "y", "nobody"]))
    assert rule.predict_problem(problem).tolist() == [1, 0]


def test_tasks_of_unknown_groups_are_named_and_refused() -> None:
    rule = made(PRICES[:2], groups=("x", "y"))
    said = (
        "7 tasks are of groups that the rule does not know: 'a', 'b', 'c', 'd', 'e' and 2 more; it knows 'x', 'y'. "
        "unknown='own' gives them the aggregator's own label."
    )
    for refused in (rule.predict, rule.predict_proba):
        with pytest.raises(InputError, match=f"^{re.escape(said)}$"):
            refused(posterior=[[0.5, 0.5]] * 8, sensitive_features=list("abcdefgx"))
    with pytest.raises(InputError, match=r"classes 0, 1, 2 are not the rule's 0, 1\.$"):
        rule.predict(UNIFORM, ["x"])


# JSON.


TIES = {(2, (0, 1)): (0.5, 0.5), (0, (0, 1)): (1.0, 0.0)}


def edited(change: dict[str, Any]) -> str:
    return json.dumps({**json.loads(made(PRICES, random_state=4, ties=TIES).to_json()), **change})


def tie(group: int = 0, classes: Any = (0, 1), weights: Any = (0.5, 0.5)) -> dict[str, Any]:
    return {"ties": [{"group": group, "classes": classes, "weights": weights}]}


def test_json_is_plain_and_the_rule_comes_back() -> None:
    rule = made(PRICES, random_state=4, groups=("ä", "b", "c"), ties=TIES)
    text = rule.to_json()
    assert "ä" in text
    read = json.loads(text)
    assert (read["schema"], read["kind"], read["epsilon"], read["random_state"]) == (2, "faircrowd.FairRule", 0.1, 4)
    assert [row["group"] for row in read["ties"]] == [0, 2]
    back = FairRule.from_json(text)
    assert back.ties == rule.ties
    assert (back.classes, back.groups, back.epsilon, back.random_state) == ((0, 1), ("ä", "b", "c"), 0.1, 4)
    np.testing.assert_array_equal(back.prices, rule.prices)
    with pytest.raises(ValueError, match="JSON compliant"):
        made([[np.nan, 0.0]]).to_json()
    assert made(PRICES).random_state == 0
    assert made(PRICES).ties == {}


FITS: dict[str, dict[str, Any]] = {
    "epsilon 0": {"epsilon": 0},
    "epsilon 1": {"epsilon": 1},
    "no seed": {"random_state": 0},
    "the largest price": {"prices": [[1e100, -1e100], *PRICES[1:]]},
    "sure weights": tie(weights=[1, 0.0]),
    "weights that nearly sum to 1": tie(weights=[0.5, 0.5 + 9e-7]),
    "the last group": tie(group=2),
    "an older schema": {"schema": 0},
    "names alike but for their type": {"classes": [1, "1"]},
}

WRONG: dict[str, dict[str, Any]] = {
    "epsilon below 0": {"epsilon": -1e-9},
    "epsilon above 1": {"epsilon": 1 + 1e-9},
    "a seed below 0": {"random_state": -1},
    "a price too large": {"prices": [[2e100, 0.0], *PRICES[1:]]},
    "a gain too large": {"gain_matrix": [[2e100, 0.0], [0.0, 1.0]]},
    "an offset too low": {"gain_offset": [-2e100, 0.0]},
    "a share too large": {"shares": [0.1, 0.1, 2e100]},
    "prices of two groups": {"prices": PRICES[:2]},
    "prices of three classes": {"prices": [[0.0, 0.0, 0.0]] * 3},
    "gains of three labels": {"gain_matrix": [[1.0, 0.0, 0.0]] * 2},
    "an offset": {"gain_offset": [0.0]},
    "two shares": {"shares": [0.5, 0.5]},
    "a share of nothing": {"shares": [0.5, 0.5, 0.0]},
    "a group twice": {"groups": [0, 1, 1]},
    "a class twice": {"classes": ["a", "a"]},
    "no groups": {"groups": [], "prices": np.zeros((0, 2)).tolist(), "shares": [], "ties": []},
    "a tie of no group": tie(group=3),
    "a tie of a group before the first": tie(group=-1),
    "a tie of an unknown class": tie(classes=[0, 2]),
    "a tie of a class before the first": tie(classes=[-1, 1]),
    "a tie out of order": tie(classes=[1, 0]),
    "a tie of a class with itself": tie(classes=[1, 1]),
    "a tie of true and false": tie(classes=[False, True]),
    "a weight too few": tie(weights=[1.0]),
    "a weight below 0": tie(weights=[-5e-7, 1.0]),
    "a weight above 1": tie(weights=[1 + 5e-7, 0.0]),
    "weights of 1.1": tie(weights=[0.6, 0.5]),
    "weights of 0.9": tie(weights=[0.5, 0.4]),
    "weights that hardly sum to 1": tie(weights=[0.5, 0.5 + 2e-6]),
    "a weight that is no number": tie(weights=[True, 0.0]),
    "a group left out before the first": {"left_out": [-1]},
    "a group left out after the last": {"left_out": [3]},
    "two classes in turn": {"schema": 3, "ties": [], "in_turn": {"rivals": PRICES, "splits": [[0.0, 0.5]] * 3}},
}  # fmt: skip


@pytest.mark.parametrize("name", FITS)
def test_a_rule_that_fits_is_read(name: str) -> None:
    FairRule.from_json(edited(FITS[name]))


@pytest.mark.parametrize("name", WRONG)
def test_a_rule_that_was_edited_is_refused(name: str) -> None:
    with pytest.raises(InputError, match=r"do not fit its classes and groups; it was edited or cut off\.$"):
        FairRule.from_json(edited(WRONG[name]))


def test_a_rule_of_one_group_is_read_and_of_one_class_refused() -> None:
    FairRule.from_json(made([[0.0, 0.0]]).to_json())
    with pytest.raises(InputError, match="do not fit"):
        FairRule.from_json(made([[0.0], [0.0]]).to_json())


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (edited({"schema": 4}), r"^This rule has schema 4, newer than 3; update faircrowd\.$"),
        (edited({"kind": "other"}), r"^This is not a rule of faircrowd: its kind is not 'faircrowd.FairRule'\.$"),
        ("[]", r"^This is not a rule of faircrowd: its kind is not 'faircrowd.FairRule'\.$"),
        ('{"kind": "faircrowd.FairRule", "schema": 4}', r"^This rule has schema 4, newer than 3"),
        ('{"kind": "faircrowd.FairRule", "schema": 1}', r"^This is not a rule of faircrowd: 'classes', "),
        (edited({"shares": [5.0, 5.0]}), r"^This rule's numbers do not fit"),
        (
            edited({"colour": 1, "age": 2}),
            r"^This is not a rule of faircrowd: it has 'age', 'colour', which no rule has\.$",
        ),
        (edited({"epsilon": "much"}), r"^This is not a rule of faircrowd: its 'epsilon' is not a number\.$"),
        (
            edited({"random_state": None}),
            r"^This is not a rule .* its 'random_state' is not a whole number\.$",
        ),
        (edited({"epsilon": 10**400}), r"^This is not a rule of faircrowd: its 'epsilon' is not a number\.$"),
        (edited({"epsilon": "x" * 500}), r"^.{1,100}$"),
        (edited({"schema": "2"}), r"its 'schema' is not a whole number\.$"),
        (edited({"prices": [["low"]]}), r"its 'prices' is not a list or table of numbers\.$"),
        (edited({"groups": 3}), r"its 'groups' is not a list of names\.$"),
        (
            edited({"ties": [{"group": 0}]}),
            r"its 'ties' is not a list of ties, each with group, classes ",
        ),
        (edited({"left_out": 1}), r"its 'left_out' is not a list\.$"),
        (edited({"tie_widths": [1e-9] * 3}), r"'tied_shares' is missing\.$"),
        ("{}", r"^This is not a rule of faircrowd: its kind is not"),
    ],
)
def test_what_is_no_rule_is_refused(text: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        FairRule.from_json(text)


def test_a_rule_is_read_from_text() -> None:
    with pytest.raises(InputError, match="from JSON text, not from a dict"):
        FairRule.from_json({})  # type: ignore[arg-type]


# Words.


def test_words_of_two_classes_are_thresholds() -> None:
    rule = made(PRICES[:2], classes=("no", "yes"), groups=("x", ("y", 1)))
    assert str(rule).splitlines() == [
        "fair rule, gap at most 0.1 between groups 'x', 'y & 1'",
        "  group x: yes where its posterior is above 0.2500",
        "  group y & 1: yes where its posterior is above 0.7500",
    ]


@pytest.mark.parametrize("nothing", [0.0, -0.0, 1e-9])
def test_words_of_three_classes_are_what_is_added(nothing: float) -> None:
    rule = made([[0.25, nothing, -0.5]], classes=("a", "b", "c"))
    assert str(rule).splitlines() == [
        "fair rule, gap at most 0.1 between groups '0'; the label with the highest posterior wins, after "
        "these changes:",
        "  group 0: label c raised by 0.5000, label a lowered by 0.2500",
    ]
    same = made([[0.25 + 7, nothing + 7, -0.5 + 7]], classes=("a", "b", "c"))
    assert str(same) == str(rule)
    assert str(made([[0.1, 0.1 + nothing, 0.1]], classes=("a", "b", "c"))).endswith(
        "  group 0: no label raised or lowered"
    )


def test_the_changes_in_words_are_the_rule() -> None:
    """Labels computed from the words, with 4 digits, are those of the rule but for near ties."""
    rng = np.random.default_rng(0)
    classes = ("a", "b", "c", "d")
    prices = rng.choice([0.0, 0.1, -0.05, 0.2], (3, 4)) + rng.random((3, 1))
    rule = made(prices, classes=classes, groups=("x", "y", "z"))
    added = np.zeros((3, 4))
    for a, line in enumerate(str(rule).splitlines()[1:]):
        for name, sign, amount in re.findall(r"label (\w) (raised|lowered) by ([0-9.]+)", line):
            added[a, classes.index(name)] = float(amount) * (1 if sign == "raised" else -1)
        assert (added[a] == 0).sum() == max(np.isclose(rule.prices[a], price).sum() for price in rule.prices[a])
    posterior, group = rng.dirichlet(np.ones(4), 500), rng.integers(0, 3, 500)
    scores = posterior + added[group]
    clear = np.diff(np.sort(scores, axis=1)[:, -2:], axis=1)[:, 0] > 1e-3
    wanted = rule.scores(posterior, group.astype(np.int32)).argmax(axis=1)
    assert (scores.argmax(axis=1) == wanted)[clear].all()
