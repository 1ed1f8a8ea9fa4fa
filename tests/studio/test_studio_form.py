"""From the fields of forms to what jobs hold."""

from typing import Any

import pytest

from faircrowd.errors import OptionError
from faircrowd.fair.constraints.constraint_registry import CONSTRAINT_KINDS
from faircrowd.fair.constraints.grammar import parse_constraint
from faircrowd.studio.constraint_builder import constraint_text, constraint_words, kinds_offered
from faircrowd.studio.studio_form import chosen_limits, limits_of, run_options

ASKED: dict[str, Any] = {"read": {"votes": "v.csv", "group": ["sex"]}, "epsilon": 0.05, "require": []}
PRICES = {
    "sliders": [
        {"start": 1, "stops": [{"require": f"parity(sex) <= {limit}"} for limit in (0.0, 0.05, 0.1)]},
        {"start": 0, "stops": [{"require": "changed <= 0.2"}]},
    ],
    "fixed": ["rate(sex, label=a) >= 0.1 and <= 0.3"],
}


@pytest.mark.parametrize(
    ("fields", "kind", "require"),
    [
        ({"do": ["run"]}, "run", ["parity(sex) <= 0.05", "changed <= 0.2", PRICES["fixed"][0]]),
        ({"do": ["again"], "stop-0": ["2"]}, "prices", ["parity(sex) <= 0.1", "changed <= 0.2", PRICES["fixed"][0]]),
        ({"do": ["remove-0"]}, "prices", ["changed <= 0.2", PRICES["fixed"][0]]),
        ({"do": ["remove-fixed-0"]}, "prices", ["parity(sex) <= 0.05", "changed <= 0.2"]),
        (
            {"do": ["add"], "kind": ["ratio >="], "columns": ["sex", "race"], "label": ["it's"], "limit": ["0.8"]},
            "prices",
            ["parity(sex) <= 0.05", "changed <= 0.2", PRICES["fixed"][0], 'ratio(sex * race, label="it\'s") >= 0.8'],
        ),
    ],
)
def test_limits_are_moved_added_and_removed(fields: dict[str, list[str]], kind: str, require: list[str]) -> None:
    found = chosen_limits(ASKED, PRICES, fields)
    assert (found["kind"], found["require"], found["epsilon"]) == (kind, require, None)


@pytest.mark.parametrize("stop", ["3", "-1", "x", "1.5"])
def test_there_are_no_other_stops(stop: str) -> None:
    with pytest.raises(OptionError, match="no stop"):
        chosen_limits(ASKED, PRICES, {"stop-0": [stop]})


def test_a_gap_between_the_chosen_groups_is_epsilon() -> None:
    """So that the page, the rule and the certificate are those of epsilon; anything else is a list of constraints."""
    for require, epsilon in (
        (["parity(sex) <= 0.1"], 0.1),
        (["parity <= 0.1"], 0.1),
        (["parity(race) <= 0.1"], None),
        (["parity(sex, label=a) <= 0.1"], None),
        (["parity(sex) <= 0.1", "changed <= 0.2"], None),
    ):
        found = limits_of({**ASKED, "epsilon": None, "require": require})
        assert found == ((epsilon, ()) if epsilon else (None, tuple(require)))
    fair = run_options({**ASKED, "require": ["changed <= 0.2"]}).fair
    assert fair is not None
    assert list(map(str, fair.constraints)) == ["parity(sex) <= 0.05", "changed <= 0.2"]


def test_every_registered_kind_can_be_built() -> None:
    offered = kinds_offered()
    assert {kind.key.split()[0] for kind in offered} == set(CONSTRAINT_KINDS)
    for kind in offered:
        text = constraint_text(kind.key, ["sex"], ["region"], "a", str(kind.limit))
        built = parse_constraint(text)
        assert str(built) == text
        assert built.level == kind.limit
        assert built.is_floor == kind.key.endswith(">=")
        assert ("region" in constraint_words(built)) == ("within" in kind.takes)


@pytest.mark.parametrize(("limit", "message"), [("", "Give the limit"), ("two", "a number"), ("3", "from 0 to 1")])
def test_limits_that_are_none(limit: str, message: str) -> None:
    with pytest.raises(OptionError, match=message):
        constraint_text("parity <=", ["sex"], [], "", limit)
