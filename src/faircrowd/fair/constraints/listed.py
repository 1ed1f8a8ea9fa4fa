"""A list of constraints as users give it: epsilon for short, which columns it needs, and whether it is plain parity."""

from collections.abc import Iterable, Sequence
from dataclasses import is_dataclass, replace
from typing import Any

from faircrowd._checks import check_number
from faircrowd.errors import OptionError
from faircrowd.fair.constraints.constraint_kind import Constraint
from faircrowd.fair.constraints.demographic_parity import DemographicParity
from faircrowd.fair.constraints.grammar import parse_constraint

__all__ = [
    "EPSILON",
    "about_columns",
    "epsilon_or_constraints",
    "is_about_all",
    "listed_constraints",
    "main_columns",
    "needed_columns",
    "plain_parity",
]

EPSILON = 0.05
"""The gap that estimators allow if nothing is said."""


def epsilon_or_constraints(epsilon: float, constraints: Sequence[Constraint] | None) -> tuple[Constraint, ...]:
    """Return the constraints of an estimator, which are given instead of ``epsilon``.

    Examples
    --------
    >>> [str(one) for one in epsilon_or_constraints(EPSILON, ["odds(race) <= 0.1"])]
    ['odds(race) <= 0.1']
    """
    if constraints is not None and epsilon != EPSILON:
        raise OptionError(
            f"epsilon={epsilon} and constraints are both given; add DemographicParity({epsilon}) to the constraints "
            "instead.",
            parameter=("epsilon", "constraints"),
        )
    return listed_constraints(epsilon if constraints is None else None, constraints)


def listed_constraints(epsilon: float | None, constraints: Sequence[Constraint] | None) -> tuple[Constraint, ...]:
    """Return all constraints that were asked for; ``epsilon`` is short for demographic parity.

    Examples
    --------
    >>> listed_constraints(0.05, None)
    (DemographicParity(epsilon=0.05, group=None, within=None, label=None, labels=None),)
    """
    if epsilon is None and constraints is None:
        raise OptionError("Give epsilon=..., the largest gap allowed, or constraints=[...].", parameter="epsilon")
    listed = [constraints] if isinstance(constraints, Constraint | str) else list(constraints or ())
    if constraints is not None and not listed:
        raise OptionError("constraints is an empty list; give at least one, or leave it out.", parameter="constraints")
    listed = [parse_constraint(one) if isinstance(one, str) else one for one in listed]
    for constraint in listed:
        if not isinstance(constraint, Constraint):
            raise OptionError(
                "constraints is a list of constraints of faircrowd.constraints, such as DemographicParity(0.05), or of "
                "texts, such as 'parity(gender) <= 0.05'; "
                f"got {constraint!r}.",
                parameter="constraints",
            )
        if not is_dataclass(constraint):
            name = type(constraint).__name__
            raise OptionError(
                f"{name} is no dataclass, so that its limits cannot be read; write @dataclass(frozen=True) above its "
                "class.",
                parameter="constraints",
            )
    if epsilon is not None:
        listed.insert(0, DemographicParity(check_number("epsilon", epsilon, low=0, high=1)))
    return tuple(listed)


def plain_parity(constraints: Sequence[Constraint]) -> float | None:
    """Return epsilon if demographic parity between the groups of all sensitive columns is all that is asked for."""
    if len(constraints) == 1 and constraints[0] == DemographicParity(
        epsilon := getattr(constraints[0], "epsilon", 0.0)
    ):
        return float(epsilon)
    return None


def needed_columns(constraints: Sequence[Constraint]) -> tuple[str, ...]:
    """Return the sensitive columns that constraints name."""
    names: list[str] = []
    for constraint in constraints:
        names += [*(constraint.group_columns or ()), *constraint.stratum_columns]
    return tuple(dict.fromkeys(names))


def main_columns(constraints: Sequence[Constraint], columns: Iterable[str]) -> tuple[str, ...]:
    """Return the columns whose groups are those of the tasks: of the first constraint that compares groups of its own.

    Without such a constraint, these are all columns that there are.

    Examples
    --------
    >>> from faircrowd.constraints import RateRange
    >>> main_columns([RateRange(low=0.1, group="race"), DemographicParity(0.1, group="sex")], ["race", "sex"])
    ('sex',)
    """
    named = (one.group_columns for one in constraints if one.compares_groups and one.group_columns)
    return next(named, None) or tuple(columns)


def is_about_all(constraint: Constraint) -> bool:
    """Return whether a constraint is about the groups of all sensitive columns that there are.

    Examples
    --------
    >>> is_about_all(DemographicParity(0.1)), is_about_all(DemographicParity(0.1, group="sex"))
    (True, False)
    """
    return constraint.group_columns is None and not (constraint.by_own_label or constraint.adds_review)


def about_columns(constraints: Sequence[Constraint], group: Sequence[str]) -> tuple[Constraint, ...]:
    """Return constraints in which those about all sensitive columns name them.

    Examples
    --------
    >>> [str(one) for one in about_columns([DemographicParity(0.1)], ["sex", "race"])]
    ['parity(sex * race) <= 0.1']
    """
    names = group[0] if len(group) == 1 else tuple(group)
    found: list[Constraint] = []
    for one in constraints:
        given: Any = one
        found.append(replace(given, group=names) if is_about_all(one) and hasattr(one, "group") else one)
    return tuple(found)
