"""The distinct values of a column, in one canonical order."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from faircrowd.votes.lookup import comparable, integer_lookup, python_lookup

__all__ = ["Codes", "Column", "Vocabulary", "as_objects", "distinct_names", "shown", "value_name"]

Codes: TypeAlias = NDArray[np.int32]
"""Positions in a vocabulary; -1 stands for a missing or unknown value."""

Column: TypeAlias = pa.Array | pa.ChunkedArray | NDArray[Any]
"""The values of a column, one per row; an array of dtype object may hold any hashable values, mixed."""


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
        """Build a vocabulary from values that are distinct and in the wanted order."""
        kinds = {type(value) for value in values}
        if len(kinds) == 1 and kinds <= {str, int, bool, float}:
            try:
                return cls(pa.array(values))
            except (pa.ArrowInvalid, OverflowError, UnicodeEncodeError):  # beyond 64 bits, or half a character
                pass
        return cls(as_objects(values))

    @property
    def is_mixed(self) -> bool:
        """Whether the values are Python objects rather than of one Arrow type."""
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

    def code_of(self, values: Column) -> Codes:
        """Return the codes of other values.

        Values of one type are compared as they are. Where the types differ (ids read from a file against ids
        of a frame), their text is compared, as files write it: 2, 2.0 and "2" are the same, and True and "true".

        Parameters
        ----------
        values : pyarrow.Array, pyarrow.ChunkedArray or ndarray of object

        Returns
        -------
        codes : ndarray of int32
            The code of each value, -1 where it is not in the vocabulary.
        """
        if len(self) == 0:
            return np.full(len(values), -1, dtype=np.int32)
        if isinstance(values, pa.ChunkedArray):
            values = values.unify_dictionaries().combine_chunks()
        if isinstance(values, pa.DictionaryArray):
            inner = np.append(self.code_of(values.dictionary), np.int32(-1))
            return np.asarray(inner[values.indices.cast(pa.int32()).fill_null(-1).to_numpy(zero_copy_only=False)])
        pair = None if self.is_mixed or isinstance(values, np.ndarray) else comparable(self.values, values)
        if pair is None:
            return python_lookup(
                self.to_list(), values.tolist() if isinstance(values, np.ndarray) else values.to_pylist()
            )
        if (places := integer_lookup(*pair)) is not None:
            return places
        found = pc.index_in(pair[1], value_set=pair[0], skip_nulls=True)
        return np.asarray(found.fill_null(-1).to_numpy(zero_copy_only=False), dtype=np.int32)

    @property
    def names(self) -> list[str]:
        """The values as texts that serve as names in reports and files: no two are the same.

        Examples
        --------
        >>> Vocabulary.of([1, "1", ("left", "open")]).names
        ['1', "'1'", 'left & open']
        """
        return distinct_names(self.to_list(), text=value_name)

    def __repr__(self) -> str:
        head = ", ".join(map(repr, self.some(range(min(4, len(self))))))
        return f"Vocabulary({len(self)}: {head}{', …' if len(self) > 4 else ''})"


def as_objects(values: Sequence[Any]) -> NDArray[Any]:
    """Return a one-dimensional object array, also of values that are themselves sequences."""
    array = np.empty(len(values), dtype=object)
    array[:] = list(values)
    return array


def distinct_names(
    values: Sequence[Any], *, text: Callable[[Any], str] = str, taken: Collection[str] = ()
) -> list[str]:
    """Return a text for each value, no two the same: 1 and "1" become ``1`` and ``'1'``.

    Parameters
    ----------
    text
        Returns the text of a value; one that is shared or ``taken`` is replaced by the value's ``repr``.
    """
    texts = [text(value) for value in values]
    count = Counter([*texts, *taken])
    used = set(taken)
    names = []
    for name, value in zip(texts, values, strict=True):
        candidate = name if count[name] == 1 else repr(value)
        while candidate in used:
            candidate += "_"
        used.add(candidate)
        names.append(candidate)
    return names


def shown(values: Iterable[Any]) -> list[Any]:
    """Return values as messages show them: intersections of several columns by their name, others as they are.

    Examples
    --------
    >>> shown([1, ("left", "open")])
    [1, 'left & open']
    """
    return [value_name(value) if isinstance(value, tuple) else value for value in values]


def value_name(value: object) -> str:
    """Return a class or a group as text; the parts of an intersection are joined.

    Examples
    --------
    >>> value_name(("left", "open"))
    'left & open'
    """
    if isinstance(value, tuple):
        return " & ".join(map(value_name, value))
    return value.decode("utf-8", "backslashreplace") if isinstance(value, bytes) else str(value)
