"""Data frames on the way in: any frame that narwhals knows."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
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
    "has_column",
    "has_role",
    "hold_floats",
    "is_frame",
    "lacking_columns",
    "names_of",
    "probability_columns",
    "series_column",
]

ALIASES: Mapping[str, tuple[str, ...]] = {
    "task": ("task", "item", "question"),
    "worker": ("worker", "annotator", "annotator_id", "performer", "judge"),
    "label": ("label", "answer"),
}
"""Names under which the three columns of votes are known, the preferred name first."""

_PROBABILITIES = ("probability", "prob", "confidence")
"""Names of columns with a probability that says nothing without the label that it is about."""


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


def hold_floats(data: FrameLike, names: Sequence[str]) -> bool:
    """Return whether some columns of a frame hold floating-point numbers; a lazy frame is not collected for it."""
    schema = _wrapped(data).collect_schema()
    return all(schema[name].is_float() for name in names)


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
    if explicit is not None and not found:
        found = _ending_in(names, explicit)
        if len(found) > 1:
            raise InputError(f"{few(found)} in {where} all end in {explicit!r}; give one of them in full.")
    if explicit is None and wanted[0] not in found:
        found += [name for name in alike_columns(names, wanted) if name not in found]
    if not found:
        raise lacking_columns({role: explicit}, names, where)
    name = found[0]
    if explicit is None and name != wanted[0] and len(found) > 1:
        raise InputError(f"Both {found[0]!r} and {found[1]!r} in {where} could be the {role}; name one with {role}=...")
    if names.count(name) > 1:
        raise InputError(f"Column {name!r} occurs {names.count(name)} times in {where}; keep one.")
    return name


def lacking_columns(roles: Mapping[str, str | None], names: Sequence[str], where: str) -> MissingColumnError:
    """Return the error about columns that a table lacks: all at once.

    Parameters
    ----------
    roles : mapping of str to str or None
        What the columns are for, and the names that they were given.

    Examples
    --------
    >>> print(lacking_columns({"worker": None, "label": None}, ["task", "who"], "it"))
    No columns 'worker' (or annotator, annotator_id, performer, judge) and 'label' (or answer) in it; its columns are \
'task', 'who'. Name them with worker=... and label=...
    """
    wanted = {role: ALIASES[role] if name is None else (name,) for role, name in roles.items()}
    told = [f"{one[0]!r}" + (f" (or {', '.join(one[1:])})" if len(one) > 1 else "") for one in wanted.values()]
    alike = [suggestion(one[0], names) for one in wanted.values() if one[0] not in probability_columns(names)]
    hints = [_hint(role, names, explicit) for role, explicit in roles.items()]
    unnamed = [f"{role}=..." for role, explicit in roles.items() if explicit is None]
    if unnamed and not any(hints):
        hints = [f" Name {'it' if len(roles) == 1 else 'them'} with {_listed(unnamed)}"]
    return MissingColumnError(
        f"No column{'s' * (len(roles) > 1)} {_listed(told)} in {where}; its columns are "
        f"{few(names, limit=12) if names else 'none'}.{''.join(dict.fromkeys([*alike, *hints]))}"
    )


def _listed(texts: Sequence[str]) -> str:
    return " and ".join([*([", ".join(texts[:-1])] if len(texts) > 1 else []), *texts[-1:]])


def _ending_in(names: Sequence[str], part: str) -> list[str]:
    """Return the columns whose dotted names end in a part, as ``data.gender`` and ``INPUT:gender`` do in ``gender``."""
    return [name for name in names if str(name).endswith((f".{part}", f":{part}"))]


def has_column(names: Sequence[str], name: str) -> bool:
    """Return whether a column is found by its name, or by the end of its dotted name."""
    return name in names or bool(_ending_in(names, name))


def has_role(role: str, names: Sequence[str]) -> bool:
    """Return whether a column plays a role by its name."""
    return bool(alike_columns([name for name in names if not is_missing(name)], ALIASES[role]))


def probability_columns(names: Sequence[str]) -> dict[str, list[str]]:
    """Return the columns that hold probabilities of the groups of one column, by the name of that column.

    Examples
    --------
    >>> probability_columns(["task", "race=a", "race=b", "text", "x=1"])
    {'race': ['race=a', 'race=b']}
    """
    found: dict[str, list[str]] = {}
    for name in names:
        if isinstance(name, str) and 0 < name.find("=") < len(name) - 1:
            found.setdefault(name.split("=", 1)[0], []).append(name)
    return {name: columns for name, columns in found.items() if len(columns) > 1}


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
    if explicit is not None and (columns := probability_columns(names).get(explicit)):
        return (
            f" The probabilities of its groups, {few(columns)}, are for constraints on new labels that name it, "
            f"such as parity({explicit}) <= 0.05."
        )
    parts = [part.strip() for part in (explicit or "").split(",")]
    if len(parts) > 1 and set(parts) <= set(names):
        if role == "group":
            return f" Give several columns as a list: sensitive_features={parts!r}."
        return f" One column has the {role}; name {' or '.join(map(repr, parts))}."
    if role == "task" and explicit is not None and Path(explicit).is_file():
        return f" {explicit!r} is a file; a table of tasks is given with tasks=..."
    if len(names) == 1 and any(separator in str(names[0]) for separator in ",;|\t"):
        return " Is the delimiter right?"
    if explicit is None and role == "label" and (probability := alike_columns(names, _PROBABILITIES)):
        return (
            f" {probability[0]!r} alone does not say which class it is the probability of: add the label of each row "
            "(or name its column with label=...), or give one column per class, such as probability_yes and "
            "probability_no."
        )
    return ""


def column_of(frame: "nw.DataFrame[Any]", name: str) -> Column:
    """Return a column ready for ``encode``: a numpy array where that is free, Arrow otherwise."""
    return array_of(frame.get_column(name))


def series_column(data: object) -> Column | None:
    """Return the values of a Series of any library that narwhals knows, ready for ``encode``; None for other things."""
    series = nw.from_native(data, series_only=True, pass_through=True)
    return array_of(series) if isinstance(series, nw.Series) else None


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
