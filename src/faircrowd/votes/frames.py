"""Data frames on the way in: any frame that narwhals knows."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, TypeGuard

import narwhals as nw
import numpy as np
import pyarrow as pa

from faircrowd._checks import few, suggestion
from faircrowd._types import FrameLike
from faircrowd.errors import InputError, MissingColumnError
from faircrowd.votes.lookup import is_missing
from faircrowd.votes.vocabulary import Column, as_objects

__all__ = [
    "ALIASES",
    "alike_columns",
    "array_of",
    "column_of",
    "find_column",
    "frame_of",
    "is_frame",
    "names_of",
]

ALIASES: Mapping[str, tuple[str, ...]] = {
    "task": ("task", "item", "question"),
    "worker": ("worker", "annotator", "annotator_id", "performer"),
    "label": ("label", "answer"),
}
"""Names under which the three columns of votes are known, the preferred name first."""


def is_frame(data: object) -> TypeGuard[FrameLike]:
    """Return whether this is a frame of a kind that narwhals knows."""
    return isinstance(_wrapped(data), nw.DataFrame | nw.LazyFrame)


def frame_of(data: FrameLike, columns: Sequence[str] | None = None) -> "nw.DataFrame[Any]":
    """Wrap an eager frame; collect a lazy one (only ``columns``, if given)."""
    frame = _wrapped(data)
    if isinstance(frame, nw.LazyFrame):
        if columns is not None:
            frame = frame.select(*columns)
        frame = frame.collect("polars" if frame.implementation.is_polars() else "pyarrow")
    return frame  # type: ignore[no-any-return]


def names_of(data: FrameLike) -> list[str]:
    """Return the names of a frame's columns, those that have one."""
    return [name for name in _wrapped(data).collect_schema().names() if not is_missing(name)]


def _wrapped(data: object) -> Any:
    try:
        return nw.from_native(data, pass_through=True)
    except nw.exceptions.DuplicateError as error:
        again = " ".join(str(error).partition("- ")[2].split())
        raise InputError(f"The frame has several columns of one name: {again}; keep one of each.") from None


def find_column(role: str, names: Sequence[str], explicit: str | None = None, *, where: str = "the votes") -> str:
    """Find the column that plays a role, by its explicit name or by a known alias."""
    wanted = (explicit,) if explicit is not None else ALIASES[role]
    names = [name for name in names if not is_missing(name)]  # pandas.NA is neither equal nor unequal to a name
    found = [name for name in wanted if names.count(name)]
    if explicit is None and wanted[0] not in found:
        found += [name for name in alike_columns(names, wanted) if name not in found]
    if not found:
        listed = few(names, limit=12) if names else "none"
        also = f" (or {', '.join(wanted[1:])})" if len(wanted) > 1 else ""
        raise MissingColumnError(
            f"No column {wanted[0]!r}{also} in {where}; its columns are {listed}."
            f"{suggestion(wanted[0], names)}{_hint(role, names, explicit)}"
        )
    name = found[0]
    if name != wanted[0] and len(found) > 1:
        raise InputError(f"Both {found[0]!r} and {found[1]!r} in {where} could be the {role}; name one with {role}=...")
    if names.count(name) > 1:
        raise InputError(f"Column {name!r} occurs {names.count(name)} times in {where}; keep one.")
    return name


def _same_name(name: object) -> str:
    """Return the name of a column without what people write in different ways: capitals, spaces, ``_`` and ``-``.

    Examples
    --------
    >>> _same_name("Annotator ID") == _same_name("annotator_id")
    True
    """
    return re.sub(r"[\s_-]+", "", str(name)).casefold()


def alike_columns(names: Sequence[str], wanted: Sequence[str]) -> list[str]:
    """Return the columns whose names are among those wanted but for capitals, spaces, ``_`` and ``-``.

    Where some are so by the first name wanted, only these.
    """
    keys = list(map(_same_name, wanted))
    found = [name for name in dict.fromkeys(names) if _same_name(name) in keys]
    return [name for name in found if _same_name(name) == keys[0]] or found


def _hint(role: str, names: Sequence[str], explicit: str | None) -> str:
    parts = [part.strip() for part in (explicit or "").split(",")]
    if len(parts) > 1 and set(parts) <= set(names):
        return f" Give several columns as a list: sensitive_features={parts!r}."
    if len(names) == 1 and any(separator in str(names[0]) for separator in ",;|\t"):
        return " Is the delimiter right?"
    return "" if explicit else f" Name it with {role}=..."


def column_of(frame: "nw.DataFrame[Any]", name: str) -> Column:
    """Return a column ready for ``encode``: a numpy array where that is free, Arrow otherwise."""
    return array_of(frame.get_column(name))


def array_of(series: "nw.Series[Any]") -> Column:
    """Return a series ready for ``encode``; Python objects where Arrow cannot hold the values."""
    native = series.to_native()
    if isinstance(native, pa.ChunkedArray):
        return native
    if series.implementation.is_pandas_like() and isinstance(native.dtype, np.dtype):
        return native.to_numpy()
    try:
        column = None if series.dtype == nw.Object else series.to_arrow()
    except pa.ArrowException:
        column = None
    if column is None or isinstance(getattr(column.type, "value_type", column.type), pa.BaseExtensionType):
        return as_objects(series.to_list())
    return column
