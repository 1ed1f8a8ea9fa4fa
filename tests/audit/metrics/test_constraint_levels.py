"""Levels of constraints: equal to fairlearn's metrics where it has them, and to counts by hand for all others."""

import itertools
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from faircrowd.audit import equalized_odds_difference, measure_constraints
from faircrowd.audit.metrics.counted_labels import count_labels
from faircrowd.constraints import Comparison, Constraint, GroupedTasks, Range, parse_constraint
from faircrowd.errors import InputError, OptionError
from strategies import examples

ROW = st.tuples(
    st.sampled_from(["x", "y", "z"]),
    st.sampled_from(["x", "y", "z"]),
    st.sampled_from(["a", "b", "c"]),
    st.sampled_from(["n", "s"]),
    st.sampled_from(["x", "y", "z"]),
)


def crowd(rows: list[tuple[str, ...]]) -> pd.DataFrame:
    return pd.DataFrame(
        rows, columns=["label", "truth", "race", "region", "before"], index=[f"t{i}" for i in range(len(rows))]
    )


def level(frame: pd.DataFrame, text: str, **options: Any) -> float:
    (found,) = measure_constraints(
        frame["label"],
        [text],
        sensitive_features=frame[["race", "region"]],
        truth=frame["truth"],
        labels_before=frame["before"],
        **options,
    )
    return found.level


def by_hand(frame: pd.DataFrame, word: str) -> float | None:
    """Return the level of a constraint over race, from the rows; None if there is nothing to compare."""

    def spread(rates: "pd.Series[float]") -> float:
        return float(rates.max() - rates.min()) if len(rates) > 1 else -1.0

    classes = sorted(set(frame["label"]) | set(frame["truth"]) | set(frame["before"]))
    by_race = frame.groupby("race")
    if word == "parity":
        return max(spread((frame["label"] == k).groupby(frame["race"]).mean()) for k in classes)
    if word == "within":
        return max(
            spread((part["label"] == k).groupby(part["race"]).mean())
            for _, part in frame.groupby("region")
            for k in classes
        )
    if word == "ratio":
        rates = [by_race["label"].agg(lambda part, k=k: (part == k).mean()) for k in classes]
        return min(float(rate.min() / rate.max()) if rate.max() else 1.0 for rate in rates)
    if word == "accuracy":
        return spread((frame["label"] == frame["truth"]).groupby(frame["race"]).mean())
    if word in ("opportunity", "odds"):
        pairs = [(k, k) for k in classes] if word == "opportunity" else itertools.product(classes, classes)
        return max(
            spread((part["label"] == k).groupby(part["race"]).mean())
            for y, k in pairs
            for part in [frame[frame["truth"] == y]]
        )
    if word == "rate":
        return float((frame["label"] == "x").mean())
    return float((frame["label"] != frame["before"]).mean())


TEXTS = {
    "parity": "parity(race) <= 0.1",
    "within": "parity(race, within=region) <= 0.1",
    "ratio": "ratio(race) >= 0.8",
    "accuracy": "accuracy(race) <= 0.1",
    "opportunity": "opportunity(race) <= 0.1",
    "odds": "odds(race) <= 0.1",
    "rate": "rate(label=x) <= 0.4",
    "changed": "changed <= 0.1",
}


@pytest.mark.parametrize("word", TEXTS)
@given(rows=st.lists(ROW, min_size=2, max_size=30))
@settings(max_examples=examples(60), deadline=None)
def test_levels_are_those_counted_by_hand(word: str, rows: list[tuple[str, ...]]) -> None:
    frame = crowd([*rows, ("x", "x", "a", "n", "y")])
    expected = by_hand(frame, word)
    assert expected is not None
    comparable = frame["race"].nunique() > 1 and expected >= 0
    if not comparable and word not in ("rate", "changed"):
        with pytest.raises(InputError, match="no two groups to compare"):
            level(frame, TEXTS[word])
    else:
        assert level(frame, TEXTS[word]) == pytest.approx(expected, abs=1e-12)


@given(rows=st.lists(st.tuples(st.integers(0, 1), st.integers(0, 1), st.sampled_from("abc")), min_size=9, max_size=40))
@settings(max_examples=examples(60), deadline=None)
def test_binary_levels_are_fairlearns(rows: list[tuple[int, int, str]]) -> None:
    metrics = pytest.importorskip("fairlearn.metrics")
    everything = [*rows, *itertools.product((0, 1), (0, 1), "abc")]  # no group without a rate
    label, truth, group = (np.array(column) for column in zip(*everything, strict=True))
    texts = {
        "demographic_parity_difference": "parity <= 0.1",
        "demographic_parity_ratio": "ratio(label=1) >= 0.8",
        "equal_opportunity_difference": "opportunity(label=1) <= 0.1",
        "equalized_odds_difference": "odds <= 0.1",
    }
    found = measure_constraints(label, list(texts.values()), sensitive_features=group, truth=truth)
    for name, one in zip(texts, found, strict=True):
        expected = getattr(metrics, name)(truth, label, sensitive_features=group)
        assert one.level == pytest.approx(expected, abs=1e-12), name


def test_odds_of_many_classes_are_those_of_the_metric() -> None:
    rng = np.random.default_rng(3)
    label, truth, group = rng.integers(0, 4, 400), rng.integers(0, 4, 400), rng.integers(0, 3, 400)
    (found,) = measure_constraints(label, ["odds <= 0.1"], sensitive_features=group, truth=truth)
    assert found.level == pytest.approx(equalized_odds_difference(truth, label, sensitive_features=group))


def test_only_tasks_whose_truth_is_known_count() -> None:
    frame = crowd([("x", "x", "a", "n", "x")] * 3 + [("y", "x", "a", "n", "x")] + [("x", "x", "b", "n", "x")] * 4)
    known = frame["truth"].iloc[[0, 3, 4]]
    (found,) = measure_constraints(
        frame["label"], ["accuracy(race) <= 0.1"], sensitive_features=frame[["race"]], truth=known
    )
    assert (found.level, found.tasks, found.unknown) == (0.5, 3, 5)
    assert found.worst.values == {"a": 0.5, "b": 1.0}
    assert not found.kept


def test_groups_and_strata_that_are_not_compared_are_told() -> None:
    rows = [("x", "x", "a", "n", "x")] * 12 + [("x", "x", "b", "n", "x")] * 12 + [("x", "x", "c", "n", "x")] * 3
    frame = crowd([*rows, *[("x", "x", "a", "s", "x")] * 12])
    (found,) = measure_constraints(
        frame["label"],
        ["parity(race, within=region) <= 0.1"],
        sensitive_features=frame[["race", "region"]],
        min_group=5,
    )
    assert found.left_out == {"c & n": "fewer than 5 tasks"}
    assert found.alone == ["s"]
    assert found.sizes == {"a & n": 12, "b & n": 12, "c & n": 3, "a & s": 12}


def test_frames_of_any_kind_and_a_dict_agree() -> None:
    frame = crowd([("x", "y", "a", "n", "x"), ("y", "y", "b", "s", "y"), ("x", "x", "b", "s", "x")] * 5)
    text = "parity(race * region, label=x) <= 5%"
    expected = level(frame, text)
    table = pl.from_pandas(frame.rename_axis("task").reset_index())
    (again,) = measure_constraints(
        table.select("task", "label"),
        [parse_constraint(text)],
        sensitive_features=table.select("task", "race", "region"),
    )
    (more,) = measure_constraints(dict(frame["label"]), text, sensitive_features=frame[["race", "region"]])  # type: ignore[arg-type]
    assert again.level == more.level == expected
    assert again.to_dict()["comparisons"][0]["about"] == "rate of label x"


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        ("parity(rac) <= 0.1", InputError, "column 'rac'.*Did you mean 'race'"),
        ("parity(race, label=hire) <= 0.1", OptionError, "'hire' is not one of the labels"),
        ("reviewed <= 0.1", OptionError, "a person is to label, which labels alone do not tell"),
        ("parety(race) <= 0.1", OptionError, "Did you mean 'parity'"),
    ],
)
def test_what_cannot_be_measured_says_why(text: str, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        level(crowd([("x", "x", "a", "n", "x"), ("y", "x", "b", "n", "x")]), text)


def test_what_is_not_given_is_asked_for() -> None:
    with pytest.raises(InputError, match=r"accuracy <= 0.1 is about the truth; .*truth=\.\.\."):
        measure_constraints([1, 0], ["accuracy <= 0.1"], sensitive_features=["a", "b"])
    with pytest.raises(InputError, match=r"labels_before=\.\.\."):
        measure_constraints([1, 0], ["changed <= 0.1"])
    with pytest.raises(OptionError, match=r"sensitive_features=\.\.\."):
        measure_constraints([1, 0], ["parity <= 0.1"])
    with pytest.raises(InputError, match="no two groups to compare"):
        measure_constraints([1, 0], ["parity <= 0.1"], sensitive_features=["a", "a"])
    with pytest.raises(InputError, match="truth has 3 rows for 2 tasks"):
        measure_constraints([1, 0], ["rate <= 0.9"], truth=[1, 0, 0])


@dataclass(frozen=True)
class PrecisionFloor(Constraint):
    """A constraint of one's own, which is no rate: of tasks with a label, a share is truly of its class."""

    floor: float
    is_about_truth: ClassVar[bool] = True

    def comparisons(self, tasks: GroupedTasks) -> list[Comparison]:
        groups = [a for _, members in tasks.strata for a in members]
        return [
            Range(
                [tasks.labelled_where(a, 0, 0) - self.floor * tasks.labelled(a, 0) for a in groups],
                low=0.0,
                about="margin",
            )
        ]


def test_constraints_of_ones_own_are_measured() -> None:
    label, truth, group = [0, 0, 0, 1], [0, 1, 0, 1], ["a", "a", "b", "b"]
    (found,) = measure_constraints(label, [PrecisionFloor(0.75)], sensitive_features=group, truth=truth)
    assert found.worst.values == pytest.approx({"a": (1 - 2 * 0.75) / 4, "b": 0.25 / 4})
    assert not found.kept
    (counted,) = count_labels(label, [PrecisionFloor(0.75)], sensitive_features=group, truth=truth)
    rate = counted.rate(counted.comparisons[0].quantities[0])
    assert (rate.scale, rate.span, rate.most) == (0.0, 1.0, 0.75 / 4)


@pytest.mark.parametrize(
    ("text", "name", "hits", "size"),
    [
        ("parity(race, label=x) <= 0.1", "a", 2, 3),
        ("opportunity(race, label=x) <= 0.1", "a", 1, 2),
        ("accuracy(race) <= 0.1", "a", 1, 3),
        ("rate(label=x) <= 0.5", "all tasks", 3, 5),
        ("changed <= 0.1", "all tasks", 2, 5),
    ],
)
def test_rates_are_counts(text: str, name: str, hits: int, size: int) -> None:
    rows = [("x", "x", "a", "n", "x"), ("x", "y", "a", "n", "y"), ("y", "x", "a", "n", "y")]
    frame = crowd([*rows, ("x", "x", "b", "n", "x"), ("y", "y", "b", "n", "x")])
    (counted,) = count_labels(
        frame["label"],
        [text],
        sensitive_features=frame[["race"]],
        truth=frame["truth"],
        labels_before=frame["before"],
    )
    rate = counted.rate(counted.comparisons[0].quantities[0])
    assert (rate.name, rate.hits, rate.size, rate.scale) == (name, hits, size, 1.0)


def test_two_labels_of_two_are_one_fact() -> None:
    (counted,) = count_labels([0, 1, 1, 0], ["parity <= 0.1"], sensitive_features=["a", "a", "b", "b"])
    first, second = (tuple(counted.rate(q).key for q in one.quantities) for one in counted.comparisons)
    assert first == second
    (counted,) = count_labels([0, 1, 2, 0], ["parity <= 0.1"], sensitive_features=["a", "a", "b", "b"])
    assert len({tuple(counted.rate(q).key for q in one.quantities) for one in counted.comparisons}) == 3
