"""When two values are the same: ids and labels from different files and frames."""

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from faircrowd.errors import InputError

__all__ = ["comparable", "integer_lookup", "is_missing", "plain", "python_lookup"]

_LOOKUP_PIECE = 1 << 20
"""Integers are looked up this many at a time, to hold little memory."""


def is_missing(value: object) -> bool:
    """Return whether a Python value stands for a missing one: None, NaN, NaT or ``pandas.NA``."""
    return value is None or type(value).__name__ in ("NAType", "NaTType") or bool(value != value)


def plain(value: object) -> Any:
    """Return a Python value for a numpy scalar, and 0.0 for -0.0: one value has one type and one form."""
    if isinstance(value, np.generic) and not isinstance(value, np.datetime64 | np.timedelta64):
        value = value.item()
    return value + 0.0 if type(value) is float else value


def comparable(own: pa.Array, other: pa.Array) -> tuple[pa.Array, pa.Array] | None:
    """Cast two Arrow arrays to one type in which the same values, and only these, are equal; None if there is none."""
    if own.type.equals(other.type):
        return own, other
    try:
        if pa.types.is_integer(own.type) and pa.types.is_integer(other.type):
            return own.cast(pa.int64()), other.cast(pa.int64())
    except pa.ArrowInvalid:  # beyond 63 bits
        pass
    if _is_text_or_integer(own.type) and _is_text_or_integer(other.type):
        texts = own.cast(pa.large_string()), other.cast(pa.large_string())
        if pa.types.is_integer(own.type) != pa.types.is_integer(other.type):  # 4 is often written 4.0
            return tuple(pc.replace_substring_regex(text, r"^(-?[0-9]+)\.0+$", r"\1") for text in texts)
        return texts
    return None


def integer_lookup(own: pa.Array, other: pa.Array) -> NDArray[np.int32] | None:
    """Return the place of each integer of ``other`` in ``own``, -1 for none; None unless ``own`` is increasing."""
    if not pa.types.is_integer(own.type) or own.null_count or len(own) == 0:
        return None
    values = own.to_numpy()
    if not (values[1:] > values[:-1]).all():
        return None
    low, high = values[0], values[-1]
    has_gaps = int(high) - int(low) != values.size - 1
    found = np.empty(len(other), dtype=np.int32)
    for i in range(0, len(other), _LOOKUP_PIECE):
        piece = other.slice(i, _LOOKUP_PIECE)
        wanted = piece.fill_null(int(low)).to_numpy(zero_copy_only=False)
        inside = np.clip(wanted, low, high)
        # As unsigned numbers of the same width, differences that overflow wrap around to the right value.
        place = np.searchsorted(values, inside) if has_gaps else (inside - low).view(f"u{inside.dtype.itemsize}")
        is_known = (wanted == inside) & (values[place] == inside) & piece.is_valid().to_numpy(zero_copy_only=False)
        found[i : i + _LOOKUP_PIECE] = np.where(is_known, place.astype(np.int32), -1)
    return found


def python_lookup(own: list[Any], other: list[Any]) -> NDArray[np.int32]:
    """Return the place of each value of ``other`` in ``own``: the same value, or one that files write the same way."""
    exact = {(type(value), value): code for code, value in enumerate(own)}
    loose = {text: code for code, value in reversed(list(enumerate(own))) for text in _texts(value)}

    def find(value: object) -> int:
        if is_missing(value):
            return -1
        value = plain(value)
        code = exact.get((type(value), value))
        return code if code is not None else next((loose[text] for text in _texts(value) if text in loose), -1)

    try:
        return np.fromiter(map(find, other), dtype=np.int32, count=len(other))
    except (TypeError, ValueError):
        raise InputError("Ids and labels must be hashable values, not lists or arrays.") from None


def _is_text_or_integer(kind: pa.DataType) -> bool:
    types = pa.types
    return bool(
        types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind) or types.is_integer(kind)
    )


def _texts(value: object) -> tuple[str, ...]:
    """Return the ways in which files write a value: True or true, 2.0 or 2."""
    if isinstance(value, bool):
        return str(value), str(value).lower()
    if isinstance(value, float) and value.is_integer():
        return str(value), str(int(value))
    return (str(value),)
