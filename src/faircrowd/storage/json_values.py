"""Ids and labels as JSON can hold them, and back to the same values of the same types."""

import datetime
import math
from collections.abc import Iterable
from typing import Any

from faircrowd.errors import InputError

__all__ = ["from_plain", "to_plain"]

_TIMES = {kind.__name__: kind for kind in (datetime.datetime, datetime.date, datetime.time)}


def to_plain(values: Iterable[Any]) -> list[Any]:
    """Return values for JSON: texts, numbers and truth values as they are, tuples as lists, others with their type.

    Examples
    --------
    >>> to_plain(["a", 1, ("left", 2.5), datetime.date(2020, 2, 29)])
    ['a', 1, ['left', 2.5], {'date': '2020-02-29'}]
    >>> from_plain(to_plain([True, b"x", ("left", 2)]))
    [True, b'x', ('left', 2)]
    """
    return [_to_plain(value) for value in values]


def from_plain(values: Iterable[Any]) -> list[Any]:
    """Return the values that ``to_plain`` was given."""
    return [_from_plain(value) for value in values]


def _to_plain(value: Any) -> Any:
    kind = type(value)
    if kind is float and math.isinf(value):  # JSON has no infinity
        return {"float": str(value)}
    if kind in (str, bool, int, float):
        return value
    if kind is tuple:
        return to_plain(value)
    if kind is bytes:
        return {"bytes": value.hex()}
    if kind.__name__ in _TIMES and kind is _TIMES[kind.__name__]:
        return {kind.__name__: value.isoformat()}
    raise InputError(f"Values of type {kind.__name__}, such as {value!r}, cannot be saved; use texts or numbers.")


def _from_plain(value: object) -> Any:
    if isinstance(value, list):
        return tuple(from_plain(value))
    if isinstance(value, dict):
        ((kind, text),) = value.items()
        if kind == "float":
            return float(text)
        return bytes.fromhex(text) if kind == "bytes" else _TIMES[kind].fromisoformat(text)
    if value is None or value != value:
        raise ValueError(f"{value} is neither an id nor a label")
    return value
