"""Columns of Python objects, which may be of mixed types, to integer codes."""

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from faircrowd.errors import InputError
from faircrowd.votes.lookup import is_missing, plain
from faircrowd.votes.vocabulary import Codes, Vocabulary, as_objects

__all__ = ["encode_objects", "text_column"]

_ABSENT = {"NoneType", "float", "NAType", "NaTType"}
"""Types of what may stand for a missing text (a float if it is NaN)."""


def text_column(column: NDArray[Any]) -> Any:
    """Return a column of texts (and missing values) as Arrow; None if it holds anything else."""
    if not {kind.__name__ for kind in set(map(type, column))} <= {"str", *_ABSENT}:
        return None
    try:
        return pa.array(column, type=pa.large_string(), from_pandas=True)
    except UnicodeEncodeError as error:
        raise _not_text(error) from None
    except (pa.ArrowInvalid, pa.ArrowTypeError):  # a float that is a number
        return None


def encode_objects(column: NDArray[Any]) -> tuple[Codes, Vocabulary]:
    """Encode Python values; a value is known by its type, too: 1, True and "1" are three."""
    try:
        found = [None if is_missing(value) else plain(value) for value in column]
        values = {(type(value), value): value for value in found if value is not None}
        for kind, value in values:
            if kind is str:
                value.encode()
    except UnicodeEncodeError as error:
        raise _not_text(error) from None
    except TypeError as error:
        raise InputError(f"Ids and labels must be hashable values ({error}).") from None
    except ValueError:
        raise InputError("A column holds arrays; ids and labels must be plain values.") from None
    ordered = _ordered(list(values.values()))
    place = {(type(value), value): code for code, value in enumerate(ordered)}
    codes = (-1 if value is None else place[type(value), value] for value in found)
    vocabulary = Vocabulary.of(ordered) if ordered else Vocabulary(as_objects([]))
    return np.fromiter(codes, dtype=np.int32, count=len(found)), vocabulary


def _not_text(error: UnicodeEncodeError) -> InputError:
    return InputError(
        f"A value holds half a character, {error.object[error.start]!r}, which no file can; mend the text."
    )


def _ordered(values: list[Any]) -> list[Any]:
    if len({type(value) for value in values}) == 1 and not isinstance(values[0], frozenset):  # sets: a partial order
        try:
            return sorted(values)
        except TypeError:
            pass
    return sorted(values, key=_mixed_order)


def _mixed_order(value: Any) -> tuple[str, float, str]:
    number = float(max(-1e300, min(1e300, value))) if isinstance(value, int | float) else 0.0
    text = str(sorted(map(repr, value))) if isinstance(value, frozenset) else str(value)
    return type(value).__name__, number, text
