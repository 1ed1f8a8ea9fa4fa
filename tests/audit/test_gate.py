"""The verdict on labels: how often it is wrong, what it accepts, and what it refuses."""

import json

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

from faircrowd.audit import gate
from faircrowd.audit.gate import Verdict, _population, _whole_counts, check_labels
from faircrowd.audit.intervals import gap_limits
from faircrowd.errors import InputError, OptionError


def sample(*rates: float, n: int = 1000) -> tuple[pd.Series, pd.Series]:
    """Labels of one group per rate, and the groups, by task."""
    labels = np.concatenate([np.arange(n) < round(rate * n) for rate in rates]).astype(int)
    tasks = pd.Index([f"t{i}" for i in range(labels.size)], name="task")
    return pd.Series(labels, index=tasks), pd.Series(np.repeat(list("abcd")[: len(rates)], n), index=tasks)


@pytest.mark.parametrize(
    ("rates", "epsilon", "status"),
    [
        ((0.5, 0.51), 0.1, "pass"),
        ((0.5, 0.7), 0.1, "fail"),
        ((0.5, 0.58), 0.1, "not enough evidence"),
        ((0.5, 0.6), 0.1, "not enough evidence"),
        ((0.5, 0.52, 0.49), 0.1, "pass"),
        ((0.5, 0.52, 0.7), 0.1, "fail"),
        ((0.0, 0.0), 0.01, "pass"),
        ((0.0, 1.0), 0.9, "fail"),
        ((0.5, 0.5), 0.0, "not enough evidence"),
        ((0.0, 1.0), 1.0, "pass"),
    ],
)
def test_status(rates: tuple[float, ...], epsilon: float, status: str) -> None:
    verdict = check_labels(*sample(*rates), epsilon=epsilon)
    assert verdict.status == status
    assert verdict.gap == pytest.approx(max(rates) - min(rates))
    assert verdict.low <= verdict.gap <= verdict.high
    assert f"epsilon {epsilon:g}" in verdict.reason
    assert verdict.groups == dict.fromkeys("abcd"[: len(rates)], 1000)
    assert {name: row.get("1", 0) / 1000 for name, row in verdict.counts.items()} == pytest.approx(
        dict(zip("abcd", rates, strict=False))
    )


def test_a_verdict_can_be_read_and_stored() -> None:
    verdict = check_labels(*sample(0.5, 0.7), epsilon=0.1)
    assert verdict.reason == f"the gap is at least {verdict.low:.4f} with 95% confidence, above epsilon 0.1"
    assert verdict.widest in (("1", "b", "a"), ("0", "a", "b"))
    stored = json.loads(json.dumps(verdict.to_dict()))
    rates = stored.pop("rates")
    assert Verdict(**stored) == verdict
    assert rates["b"]["1"] == 0.7


@pytest.mark.parametrize(("sizes", "epsilon"), [((2, 2), 0.1), ((4, 9), 0.3), ((9, 9), 0.5), ((3, 20), 0.2)])
@pytest.mark.parametrize("confidence", [0.8, 0.95])
def test_a_wrong_verdict_is_as_rare_as_promised(
    sizes: tuple[int, int], epsilon: float, confidence: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All samples of two groups, weighted by their probability, at true gaps on either side of epsilon."""
    monkeypatch.setattr(gate, "_needed", lambda *_: None)
    monkeypatch.setattr(gate, "_make_with", lambda *_: None)
    m, n = sizes
    found = np.array(
        [
            [_population(np.array([[m - x, x], [n - y, y]]), epsilon, confidence)["status"]
             for y in range(n + 1)]
            for x in range(m + 1)
        ]
    )  # fmt: skip
    for gap in (0.0, epsilon / 2, epsilon, 1.2 * epsilon):
        for sign in (-1, 1):
            for q in np.linspace(max(0, -sign * gap), min(1, 1 - sign * gap), 41):
                p = min(max(q + sign * gap, 0.0), 1.0)
                chance = np.outer(binom.pmf(np.arange(m + 1), m, p), binom.pmf(np.arange(n + 1), n, q))
                if gap >= epsilon:
                    assert chance[found == "pass"].sum() <= 1 - confidence + 1e-4
                if gap <= epsilon:
                    assert chance[found == "fail"].sum() <= 1 - confidence + 1e-4


def test_four_tasks_show_nothing() -> None:
    """Fisher's exact test has p = 1/3 here; an approximation found a gap with 95% confidence."""
    verdict = check_labels([1, 1, 0, 0], ["a", "a", "b", "b"], epsilon=0.05)
    assert (verdict.status, verdict.gap) == ("not enough evidence", 1)


def test_verdicts_are_not_timid(monkeypatch: pytest.MonkeyPatch) -> None:
    """At a gap well on one side of epsilon, enough tasks give a verdict nearly always."""
    monkeypatch.setattr(gate, "_needed", lambda *_: None)
    monkeypatch.setattr(gate, "_make_with", lambda *_: None)
    rng = np.random.default_rng(3)
    for gap, want in ((0.02, "pass"), (0.22, "fail")):
        counts = rng.binomial(400, [[0.4, 0.4 + gap]] * 20)
        found = [_population(np.stack([400 - x, x], axis=1), 0.12, 0.9)["status"] for x in counts]
        assert found.count(want) > 15


@settings(max_examples=8, deadline=None)
@given(st.integers(0, 100), st.integers(0, 100), st.sampled_from([0.05, 0.1, 0.3]))
def test_needed_gives_a_verdict(one: int, two: int, epsilon: float) -> None:
    verdict = check_labels(*sample(one / 100, two / 100, n=100), epsilon=epsilon)
    if verdict.status != "not enough evidence":
        assert verdict.needed is None
        return
    if verdict.needed is None:
        assert verdict.gap == pytest.approx(epsilon, abs=1e-3)
        return
    rates = np.array([[1 - one / 100, one / 100], [1 - two / 100, two / 100]])
    less, *more = (gap_limits(_whole_counts(rates, round(verdict.needed * part))) for part in (0.75, 1.0, 1.1, 1.2))
    assert any(found.high <= epsilon or found.low > epsilon for found in more)  # counts are whole, which may undo it
    assert less.low <= epsilon < less.high
    assert f"about {verdict.needed:,} tasks in each group" in verdict.reason


def test_no_number_of_tasks_is_enough_at_epsilon() -> None:
    verdict = check_labels(*sample(0.25, 0.5, n=100), epsilon=0.25)
    assert verdict.status == "not enough evidence"
    assert verdict.needed is None
    assert "the 0.2500 of these labels is too near to it for more tasks to tell" in verdict.reason


def test_one_class_everywhere() -> None:
    few, many = (check_labels(["x"] * 2 * n, ["a", "b"] * n, epsilon=0.05) for n in (10, 1000))
    assert (few.status, many.status) == ("not enough evidence", "pass")
    assert few.gap == many.gap == 0


def test_any_kind_of_labels_and_groups() -> None:
    labels, groups = sample(0.5, 0.58, n=100)
    expected = check_labels(labels, groups, epsilon=0.1)
    frame = pd.DataFrame({"task": labels.index, "label": labels.to_numpy(), "other": 1})
    table = pd.DataFrame({"task": groups.index, "group": groups.to_numpy()})
    mixed = table.sample(frac=1, random_state=0)
    for given_labels, given_groups in (
        (labels, mixed),
        (labels.to_dict(), groups.to_dict()),
        (frame, mixed),
        (frame.rename(columns={"label": "agg_label"}), groups),
        (pl.from_pandas(frame), pl.from_pandas(mixed)),
        (labels.to_numpy(), groups.to_numpy()),
        (labels.tolist(), groups.tolist()),
        (labels, groups.to_numpy()),
        (labels.sample(frac=1, random_state=1), groups),
    ):
        assert check_labels(given_labels, given_groups, epsilon=0.1) == expected


def test_several_columns_of_groups_intersect() -> None:
    labels = pd.Series([0, 1, 0, 1] * 50)
    groups = pd.DataFrame({"task": range(200), "one": ["a", "b"] * 100, "two": ["x", "x", "y", "y"] * 50})
    verdict = check_labels(labels, groups, epsilon=0.1)
    assert verdict.groups == {"a & x": 50, "a & y": 50, "b & x": 50, "b & y": 50}
    assert verdict.gap == 1


TASKS = pd.Series(["a", "b", "a"], index=[1, 2, 3])


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (pd.Series([1, None, 0], index=[1, 2, 3]), "1 of 3 rows have no label .the first is row 2."),
        (pd.Series([1, 0, 0, 1], index=[1, 2, 2, 3]), "1 tasks have more than one row of labels: 2"),
        (pd.Series([1, 0, 1], index=[1, 2, 9]), "1 of 3 tasks have no group: 9"),
        (pd.Series([1, 0], index=[1, 3]), "all tasks are of group 'a'"),
        (pd.Series([], dtype=int), "no label to check"),
        ([], "no label to check"),
        (pd.DataFrame({"task": [1, 2], "x": [1, 2], "y": [1, 2]}), "Labels must be one column"),
        (7, "go by task"),
    ],
)
def test_labels_that_cannot_be_judged(labels: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        check_labels(labels, TASKS, epsilon=0.1)


@pytest.mark.parametrize("wrong", [{"epsilon": -1}, {"epsilon": 2}, {"confidence": 1}, {"confidence": 95}])
def test_bad_options(wrong: dict) -> None:
    with pytest.raises(OptionError, match=next(iter(wrong))):
        check_labels(*sample(0.5, 0.5), **{"epsilon": 0.1, **wrong})


def test_a_limit_equal_to_epsilon() -> None:
    labels, groups = sample(0.5, 0.6, n=200)
    limits = gap_limits([[100, 100], [80, 120]])
    passed = check_labels(labels, groups, epsilon=limits.high)
    assert (passed.status, passed.needed) == ("pass", None)
    assert passed.reason == f"the gap is at most {limits.high:.4f} with 95% confidence, within epsilon {limits.high:g}"
    open_end = check_labels(labels, groups, epsilon=limits.low)
    assert open_end.status == "not enough evidence"
    assert open_end.reason == (
        f"the gap may be anywhere from {limits.low:.4f} to {limits.high:.4f} (95% confidence in each end), and "
        f"epsilon {limits.low:g} lies between; about {open_end.needed:,} tasks in each group would be enough, "
        "if the rates stay as they are"
    )
    failed = check_labels(labels, groups, epsilon=limits.low - 1e-9)
    assert failed.status == "fail"
    assert (failed.low, failed.high, failed.confidence, failed.needed) == (limits.low, limits.high, 0.95, None)
    assert check_labels(labels, groups, epsilon=0.1, confidence=0.9).low == gap_limits([[100, 100], [80, 120]], 0.9).low


@pytest.mark.parametrize(
    ("table", "epsilon"),
    [([[3, 1], [1, 3]], 0.1), ([[9, 1], [10, 3]], 0.5), ([[2], [3]], 0.2)],
)
def test_needed_is_about_the_fewest_in_two_digits(table: list[list[int]], epsilon: float) -> None:
    sizes = np.sum(table, axis=1)
    rates = np.array(table) / sizes[:, None]

    def is_clear(n: int) -> bool:
        limits = gap_limits(_whole_counts(rates, n), 0.9)
        return limits.high <= epsilon or limits.low > epsilon

    fewest = next(n for n in range(int(sizes.min()) + 1, 400) if is_clear(n))
    needed = gate._needed(np.array(table), epsilon, 0.9)
    assert 0.9 * fewest <= needed <= 1.35 * fewest + 1
    assert needed == round(needed, -(len(str(needed)) - 2))


def test_how_far_needed_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    # Twice, four times, ... 12 tasks: 768 are not enough, 1,536 are.
    few, more = np.array([[6, 6], [6, 7]]), np.array([[6, 6], [7, 9]])
    for most, table, want in ((1536, few, True), (1535, few, False), (10, few, False), (10, more, True)):
        monkeypatch.setattr(gate, "_MAX_TASKS_NEEDED", most)  # 100 times the largest group is always considered
        rates = table[:, 0] / table.sum(axis=1)
        assert (gate._needed(table, float(np.ptp(rates)) + 0.037, 0.95) is not None) == want


def test_where_the_gap_is() -> None:
    labels = ["x"] * 3 + ["y"] * 3 + ["z"] * 4 + ["x"] * 4 + ["y"] * 5 + ["z"] * 1
    verdict = check_labels(labels, ["a"] * 10 + ["b"] * 10, epsilon=0.3)
    assert verdict.widest == ("z", "a", "b")
    assert verdict.gap == pytest.approx(0.3)
    assert verdict.rates == {"a": {"x": 0.3, "y": 0.3, "z": 0.4}, "b": {"x": 0.4, "y": 0.5, "z": 0.1}}
    assert verdict.counts == {"a": {"x": 3, "y": 3, "z": 4}, "b": {"x": 4, "y": 5, "z": 1}}
    assert verdict.to_dict()["rates"] == verdict.rates


def test_rows_that_are_refused_are_counted() -> None:
    twice = pd.Series([1] * 16, index=[*range(8)] * 2)
    with pytest.raises(InputError, match="8 tasks have more than one row of labels: 0, 1, 2, 3, 4 and 3 more; a task"):
        check_labels(twice, dict.fromkeys(range(8), "a"), epsilon=0.1)
    frame = pd.DataFrame({"task": ["a", None, "b", None], "label": [1, 1, 0, 0]})
    with pytest.raises(InputError, match=r"2 of 4 rows have no task \(the first is row 2\); give every task a label"):
        check_labels(frame, {"a": 0, "b": 1}, epsilon=0.1)


def test_a_gap_that_the_certificate_allows() -> None:
    labels, groups = [1] * 8 + [0] * 12 + [1] * 10 + [0] * 10, ["a"] * 20 + ["b"] * 20
    status = {
        allowed: check_labels(labels, groups, epsilon=0.02, these_tasks=True, gap_allowed=allowed).status
        for allowed in (None, 0.02, 0.09, 0.1, 0.12)
    }
    assert status == {None: "fail", 0.02: "fail", 0.09: "fail", 0.1: "pass", 0.12: "pass"}
    assert check_labels(labels, groups, epsilon=0.1, these_tasks=True, gap_allowed=0.01).status == "pass"
    with pytest.raises(OptionError, match="gap_allowed goes with these_tasks=True"):
        check_labels(labels, groups, epsilon=0.1, gap_allowed=0.2)
    with pytest.raises(OptionError, match="gap_allowed must be"):
        check_labels(labels, groups, epsilon=0.1, these_tasks=True, gap_allowed=1.2)
