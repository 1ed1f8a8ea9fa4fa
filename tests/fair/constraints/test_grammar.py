"""Constraints in text: what is read, what is refused and where, and that what is written is read back."""

from dataclasses import dataclass, fields
from typing import Any, ClassVar

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from faircrowd import constraints as public
from faircrowd.constraints import (
    AccuracyParity,
    ChangeBudget,
    Constraint,
    DemographicParity,
    EqualizedOdds,
    EqualOpportunity,
    Range,
    RateRange,
    RateRatio,
    ReviewBudget,
    parse_constraint,
)
from faircrowd.errors import OptionError
from faircrowd.fair.constraints.constraint_registry import (
    CONSTRAINT_KINDS,
    ConstraintKind,
    constraint_help,
    register_constraint,
)
from faircrowd.fair.constraints.constraint_tokens import label_text, name_text, number_text, read_number
from faircrowd.runs.wording import spoken
from strategies import examples

READ = {
    "parity(gender) <= 0.05": DemographicParity(0.05, group="gender"),
    "parity(gender * race) <= 0.1": DemographicParity(0.1, group=("gender", "race")),
    "parity(gender, within=region, label=hire) <= .05": DemographicParity(
        0.05, group="gender", within="region", label="hire"
    ),
    "  parity ( group = gender,within=region*'the year' ) <=5% ": DemographicParity(
        0.05, group="gender", within=("region", "the year")
    ),
    "parity <= 0": DemographicParity(0.0),
    "parity(*, label=1) ≤ 0.1": DemographicParity(0.1, label=1),
    "parity('a''b', labels=x * 'y z' * 3 * '3' * 03) <= 1": DemographicParity(
        1.0, group="a'b", labels=("x", "y z", 3, "3", "03")
    ),
    "0.1 >= parity(g)": DemographicParity(0.1, group="g"),
    "ratio(race, label=hire) >= 80%": RateRatio(0.8, group="race", label="hire"),
    "opportunity(race, label=True) <= 0.05": EqualOpportunity(0.05, group="race", label=True),
    "odds(race) <= 1e-1": EqualizedOdds(0.1, group="race"),
    "accuracy(race) <= 0.05": AccuracyParity(0.05, group="race"),
    "rate(race, label=non-toxic) >= 0.2": RateRange(low=0.2, group="race", label="non-toxic"),
    "rate(label=hire) <= 0.4": RateRange(high=0.4, group=(), label="hire"),
    "rate(*, label=hire) <= 0.4": RateRange(high=0.4, group=None, label="hire"),
    "0.2 <= rate(race, label=hire) <= 0.4": RateRange(low=0.2, high=0.4, group="race", label="hire"),
    "0.4 >= rate(race) >= 0.2": RateRange(low=0.2, high=0.4, group="race"),
    "rate(race) >= 0.2 and <= 0.4": RateRange(low=0.2, high=0.4, group="race"),
    'rate("largest ""size""") >= 0.2': RateRange(low=0.2, group='largest "size"'),
    "changed <= 0.1": ChangeBudget(0.1),
    "reviewed <= 12.5%": ReviewBudget(0.125),
}

REFUSED = {
    "parety(gender) <= 0.05": (1, "found 'parety'. Did you mean 'parity'?"),
    "parity(gender) >= 0.05": (16, "with <=, not with >=; write parity(gender) <= 0.05."),
    "ratio(race, label='the hire') <= .8": (31, "write ratio(race, label='the hire') >= 0.8."),
    "0.05 <= parity(gender)": (6, "write parity(gender) <= 0.05."),
    "parity(g) <= 5": (11, "epsilon must be a number from 0 to 1; got 5.0. Did you mean 0.05?"),
    "parity(g) <= -0.1": (11, "epsilon must be a number from 0 to 1; got -0.1."),
    "parity(g) <= 1e999": (11, "got inf."),
    "ratio(g) >= 1.25": (10, "at most 1; got 1.25. Did you mean 0.8?"),
    "ratio(g) >= 80": (10, "Did you mean 0.8?"),
    "changed <= 20 labels": (15, "expected the end, found 'labels'"),
    "parity(g) >= 5": (11, "with <=, not with >=."),
    "parity(g": (9, "expected ',' or ')', found the end."),
    "parity(g)) <= .1": (10, "expected <= or >=, found ')'."),
    "parity(g) < .1": (11, "write <=."),
    "parity(g) == .1": (11, "write <= or >=."),
    "parity(g)": (10, "expected <= or >=, found the end."),
    "parity(g) <= x": (14, "expected a number, found 'x'."),
    "parity(g) <= nan": (14, "expected a number, found 'nan'."),
    "parity(g) <= '0.1'": (14, "expected a number"),
    "parity(hair color) <= .1": (13, "a name with spaces is put in quotes."),
    "parity(g, race) <= .1": (11, "write a * b for the intersection of two columns, or give two constraints."),
    "parity(g,) <= .1": (10, "expected a column, found ')'."),
    "parity() <= .1": (8, "expected a column, found ')'."),
    "parity(g * ) <= .1": (12, "expected a column, found ')'."),
    "parity(g, label=) <= .1": (17, "expected a label, found ')'."),
    "parity(g, wihtin=r) <= .1": (11, "takes group, within, label, labels, found 'wihtin'. Did you mean 'within'?"),
    "accuracy(g, label=a) <= .1": (13, "takes group, within, found 'label'."),
    "parity(g, label=a*b) <= .1": (19, "give labels=a * b for several."),
    "parity(g, label=a, label=b) <= .1": (20, "give labels=a * b for several labels."),
    "parity(g, label=a, labels=b) <= .1": (20, "give label or labels, not both."),
    "changed(g) <= .1": (9, "takes no columns or labels."),
    "": (1, "found the end."),
    "0.5": (4, "expected <= or >=, found the end."),
    "0.5 <= ": (7, "found the end."),
    "parity(g) <= .1, parity(h) <= .1": (16, "give each constraint on its own."),
    "parity('g) <= .1": (8, "the quote ' is not closed."),
    "0.4 <= rate(g) <= 0.2": (5, "low is 0.4, above high, 0.2."),
    "rate(g) <= .1 and <= .2": (19, "a second limit with <=."),
    "parity(g) <= .05 and >= 0.01": (11, "takes one limit"),
    "__import__('os').system('x') <= 1": (1, "expected one of parity"),
}


@pytest.mark.parametrize("text", READ)
def test_reads(text: str) -> None:
    found = parse_constraint(text)
    assert found == READ[text]
    assert parse_constraint(str(found)) == found


@pytest.mark.parametrize("text", REFUSED)
def test_refuses_and_points_at_the_character(text: str) -> None:
    place, message = REFUSED[text]
    with pytest.raises(OptionError) as caught:
        parse_constraint(text)
    assert f"Constraint {text!r}, at character {place}: " in str(caught.value)
    assert message in str(caught.value)
    assert spoken(str(caught.value), caught.value.parameters) == str(caught.value)


def test_refuses_what_is_no_text() -> None:
    with pytest.raises(OptionError, match="is a str; got 5"):
        parse_constraint(5)  # type: ignore[arg-type]


# A fixed alphabet: hypothesis builds its table of all of Unicode on first use, which takes seconds.
NAMES = st.text("aZ7é中🙂ß\u0301\u00a0 ,;\"'=-+.%*()<>≤&\n\t\\_", max_size=6) | st.sampled_from(
    ["group", "within", "label", "and", "parity", "True", "1", "-1", "1.0", "1e3", "5%", "*", "nan", "inf", "None"]
)
COLUMNS = NAMES | st.lists(NAMES, min_size=2, max_size=3).map(tuple)
LABELS = NAMES | st.integers() | st.booleans() | st.floats(allow_nan=False, allow_infinity=False)
LEVELS = st.floats(0, 1) | st.sampled_from([0.05, 0.1, 1 / 3, 1, 0])
VALUES: dict[str, st.SearchStrategy[Any]] = {
    "group": st.none() | COLUMNS,
    "within": st.none() | COLUMNS,
    "label": st.none() | LABELS,
    "labels": st.none() | st.lists(LABELS, min_size=1, max_size=3).map(tuple),
}


@st.composite
def constraints(draw: st.DrawFn) -> Constraint:
    """Draw any constraint that has a text."""
    cls = draw(st.sampled_from([kind.load() for kind in CONSTRAINT_KINDS.values()]))
    names = [field.name for field in fields(cls)]  # type: ignore[arg-type]
    given_values = {name: draw(VALUES[name]) for name in VALUES if name in names}
    if given_values.get("label") is not None:
        given_values.pop("labels", None)
    if "low" in names:
        ends = sorted([draw(LEVELS), draw(LEVELS)])
        limits = draw(st.sampled_from([{"low": ends[0]}, {"high": ends[0]}, {"low": ends[0], "high": ends[1]}]))
        given_values["group"] = draw(st.none() | st.just(()) | COLUMNS)
    else:
        limits = {str(cls.level_name): draw(LEVELS)}
    return cls(**limits, **given_values)


@given(constraints())
@settings(max_examples=examples(600), deadline=None)
def test_what_is_written_is_read_back(constraint: Constraint) -> None:
    again = parse_constraint(str(constraint))
    assert again == constraint
    assert [type(value) for value in vars(again).values() if not isinstance(value, int | float)] == [
        type(value) for value in vars(constraint).values() if not isinstance(value, int | float)
    ]


@given(st.text("parity(gender*ra,tio)<>=\"' 0.5%1", max_size=30))
@settings(max_examples=examples(600), deadline=None)
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        found = parse_constraint(text)
    except OptionError:
        return
    assert parse_constraint(str(found)) == found


@given(st.floats(0, 1))
def test_numbers_are_written_with_the_digits_they_need(number: float) -> None:
    assert read_number(number_text(number)) == number


def test_percentages_are_decimals() -> None:
    assert all(read_number(f"{n}%") == float(f"0.{n:02d}") for n in range(100))
    assert read_number("0.1%") == 0.001


def test_labels_of_other_types_are_quoted_texts() -> None:
    assert (label_text(("a", "b")), label_text(float("inf")), name_text("")) == ("\"('a', 'b')\"", "inf", "''")


def test_the_registry_lists_every_public_constraint() -> None:
    classes = {name for name in public.__all__ if isinstance(getattr(public, name), type)}
    kinds = {name for name in classes if issubclass(getattr(public, name), Constraint) and name != "Constraint"}
    assert kinds == {kind.class_name for kind in CONSTRAINT_KINDS.values()}
    for word, kind in CONSTRAINT_KINDS.items():
        assert kind.load().word == word
        assert str(parse_constraint(kind.example)) == kind.example
        assert not kind.summary.endswith(".")
    assert len(constraint_help()) == len(CONSTRAINT_KINDS)


@dataclass(frozen=True)
class PrecisionFloor(Constraint):
    """A constraint of one's own: of the tasks with a label, a share is truly of its class."""

    floor: float
    label: Any
    group: str | None = None
    word: ClassVar[str] = "precision"
    level_name: ClassVar[str] = "floor"
    is_floor: ClassVar[bool] = True

    def comparisons(self, tasks: public.GroupedTasks) -> list[public.Comparison]:
        return [Range([], low=self.floor)]


def test_a_new_constraint_is_one_entry() -> None:
    entry = ConstraintKind("precision", "PrecisionFloor", __name__, "precision(g, label=1) >= 0.9", "as said")
    register_constraint(entry)
    try:
        assert parse_constraint(entry.example) == PrecisionFloor(0.9, label=1, group="g")
        assert str(PrecisionFloor(0.9, label=1, group="g")) == entry.example
        with pytest.raises(OptionError, match="registered already"):
            register_constraint(entry)
    finally:
        del CONSTRAINT_KINDS["precision"]
