"""Rules as JSON texts that others may have written: read with care, and refused with a reason."""

from collections.abc import Callable, Collection
from typing import Any, TypeVar

from faircrowd._checks import few
from faircrowd.errors import InputError
from faircrowd.fair.tolerances import SUM_TO_ONE
from faircrowd.storage.untrusted import parse_json

__all__ = ["CONSTRAINED", "EDITED", "PARITY", "is_tie", "kind_of_rule", "read_rule_json"]

PARITY = "faircrowd.FairRule"
"""The kind of a rule for demographic parity."""

CONSTRAINED = "faircrowd.ConstrainedRule"
"""The kind of a rule for a list of constraints."""

EDITED = "it was edited or cut off."

_NOT_A_RULE = "This is not a rule of faircrowd"
Rule = TypeVar("Rule")
_READ_BY = {PARITY: "FairRule.from_json", CONSTRAINED: "ConstrainedRule.from_json"}


def kind_of_rule(text: str) -> str:
    """Return the kind of a rule; raise if it is none.

    Examples
    --------
    >>> kind_of_rule('{"kind": "faircrowd.FairRule"}')
    'faircrowd.FairRule'
    """
    return str(_parsed(text, f"{PARITY!r} or {CONSTRAINED!r}")["kind"])


def _parsed(text: str, wanted: str) -> dict[str, Any]:
    if not isinstance(text, str):
        raise InputError(f"A rule is read from JSON text, not from a {type(text).__name__}.")
    read = parse_json(text, _NOT_A_RULE)
    kind = read.get("kind") if isinstance(read, dict) else None
    if not isinstance(kind, str) or kind not in _READ_BY:
        raise InputError(f"{_NOT_A_RULE}: its kind is not {wanted}.")
    assert isinstance(read, dict)  # noqa: S101 - only a dict has a kind
    return read


def read_rule_json(
    text: str,
    kind: str,
    schema: int,
    keys: Collection[str],
    further: Collection[str],
    make: Callable[[dict[str, Any]], Rule],
) -> Rule:
    """Read a rule of a kind.

    Parameters
    ----------
    schema : int
        The newest schema that is known.
    keys, further : collection of str
        The names that a rule of the kind has, and those that it may have.
    make : callable
        Makes the rule from what was read.

    Raises
    ------
    InputError
        If it is not such a rule.
    """
    read = _parsed(text, repr(kind))
    if read["kind"] != kind:
        raise InputError(
            f"This rule is of the kind {read['kind']!r}, not {kind!r}: read it by {_READ_BY[read['kind']]}."
        )
    try:
        if type(read.get("schema", 0)) is not int:
            raise InputError(f"{_NOT_A_RULE}: its 'schema' is not a whole number.")
        if read.get("schema", 0) > schema:
            raise InputError(f"This rule has schema {read['schema']}, newer than {schema}; update faircrowd.")
        if lacking := sorted(set(keys) - read.keys()):
            raise InputError(f"{_NOT_A_RULE}: {few(lacking)} is missing.")
        if strange := sorted(read.keys() - set(keys) - set(further)):
            raise InputError(f"{_NOT_A_RULE}: it has {few(strange)}, which no rule has.")
        return make(read)
    except InputError:
        raise
    except (AttributeError, LookupError, TypeError, ValueError, OverflowError, RecursionError) as error:
        reason = " ".join(str(error).split())[:200]
        raise InputError(f"{_NOT_A_RULE} ({type(error).__name__}: {reason}).") from None


def is_tie(members: tuple[Any, ...], weights: tuple[Any, ...], n_classes: int) -> bool:
    """Return whether these are some of the classes in order, and their probabilities.

    Examples
    --------
    >>> is_tie((0, 2), (0.25, 0.75), 3), is_tie((2, 0), (0.25, 0.75), 3), is_tie((0, 2), (0.25, 0.5), 3)
    (True, False, False)
    """
    return (
        len(members) == len(weights)
        and all(type(member) is int and 0 <= member < n_classes for member in members)
        and list(members) == sorted(set(members))
        and all(type(weight) in (float, int) and 0 <= weight <= 1 for weight in weights)
        and abs(sum(weights) - 1) <= SUM_TO_ONE
    )
