"""The distinct values of a column, in one canonical order."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

__all__ = ["Codes", "Vocabulary"]

Codes: TypeAlias = NDArray[np.int32]
"""Positions in a vocabulary; -1 stands for a missing or unknown value."""


@dataclass(frozen=True, eq=False)
class Vocabulary:
    """Distinct values; the code of a value is its position here.

    Parameters
    ----------
    values : pyarrow.Array or ndarray of object
        The values in canonical order: numbers by size, texts by code point, mixed types by the name
        of the type first. Arrow holds one type; an object array holds any mixture. The order depends
        on the values alone, so codes do not depend on the order of rows.
    """

    values: Any

    def __len__(self) -> int:
        return len(self.values)

    @classmethod
    def of(cls, values: Sequence[Any]) -> "Vocabulary":
        """Build from values that are already distinct and in the order wanted."""
        kinds = {type(value) for value in values}
        if len(kinds) == 1 and kinds <= {str, int, bool, float}:
            try:
                return cls(pa.array(values))
            except (pa.ArrowInvalid, OverflowError):  # an integer beyond 64 bits
                pass
        return cls(as_objects(values))

    @property
    def is_mixed(self) -> bool:
        """Whether the values are Python objects rather than one Arrow type."""
        return isinstance(self.values, np.ndarray)

    def to_list(self) -> list[Any]:
        """Return the values as Python objects."""
        return list(self.values.tolist() if self.is_mixed else self.values.to_pylist())

    def some(self, codes: Sequence[int] | NDArray[Any]) -> list[Any]:
        """Return the values of a few codes as Python objects."""
        return self.take(np.asarray(codes, dtype=np.int64)).to_list()

    def take(self, codes: NDArray[Any]) -> "Vocabulary":
        """Return the values at ``codes`` (which may repeat)."""
        return Vocabulary(self.values[codes] if self.is_mixed else self.values.take(pa.array(codes)))

    def code_of(self, values: Any) -> Codes:
        """Find other values here.

        Values of one kind are compared as they are. Where one side is text and the other is not (ids read
        from a file against ids of a frame), their text is compared.

        Parameters
        ----------
        values : pyarrow.Array, pyarrow.ChunkedArray or ndarray of object

        Returns
        -------
        codes : ndarray of int32
            The code of each value, -1 where it is not in the vocabulary.
        """
        own = self.values
        if len(own) == 0:
            return np.full(len(values), -1, dtype=np.int32)
        if self.is_mixed or isinstance(values, np.ndarray):
            return _python_lookup(self.to_list(), _to_list(values))
        if isinstance(values, pa.ChunkedArray):
            values = values.combine_chunks()
        if not values.type.equals(own.type):
            own, values = _comparable(own, values)
        found = pc.index_in(values, value_set=own, skip_nulls=True)
        return np.asarray(found.fill_null(-1).to_numpy(zero_copy_only=False), dtype=np.int32)

    def __repr__(self) -> str:
        head = ", ".join(map(repr, self.some(range(min(4, len(self))))))
        return f"Vocabulary({len(self)}: {head}{', …' if len(self) > 4 else ''})"


def as_objects(values: Sequence[Any]) -> NDArray[Any]:
    """Return a one-dimensional object array, also of values that are themselves sequences."""
    array = np.empty(len(values), dtype=object)
    array[:] = list(values)
    return array


def _comparable(own: Any, other: Any) -> tuple[Any, Any]:
    def is_number(kind: pa.DataType) -> bool:
        return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind))

    if is_number(own.type) and is_number(other.type):
        return own.cast(pa.float64(), safe=False), other.cast(pa.float64(), safe=False)
    if pa.types.is_null(other.type):
        return own, other.cast(own.type)
    return own.cast(pa.large_string()), other.cast(pa.large_string())


def _to_list(values: Any) -> list[Any]:
    return list(values.tolist() if isinstance(values, np.ndarray) else values.to_pylist())


def _python_lookup(own: list[Any], other: list[Any]) -> Codes:
    exact = {(type(value), value): code for code, value in enumerate(own)}
    loose = {str(value): code for code, value in reversed(list(enumerate(own)))}
    found = [exact.get((type(value), value), loose.get(str(value), -1)) for value in other]
    return np.asarray(found, dtype=np.int32)
