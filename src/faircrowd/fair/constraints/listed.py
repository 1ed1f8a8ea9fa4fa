"""A list of constraints as users give it: epsilon for short, which columns it needs, and whether it is plain parity."""

from collections.abc import Sequence

from faircrowd._checks import check_number
from faircrowd.errors import OptionError
from faircrowd.fair.constraints.constraint_kind import Constraint
from faircrowd.fair.constraints.demographic_parity import DemographicParity
from faircrowd.fair.constraints.grammar import parse_constraint

__all__ = ["is_about_all", "listed_constraints", "needed_columns", "plain_parity"]


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


def is_about_all(constraint: Constraint) -> bool:
    """Return whether a constraint is about the groups of all sensitive columns that there are.

    Examples
    --------
    >>> is_about_all(DemographicParity(0.1)), is_about_all(DemographicParity(0.1, group="sex"))
    (True, False)
    """
    return hasattr(constraint, "group") and constraint.group_columns is None
