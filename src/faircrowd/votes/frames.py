"""Data frames at the edge: any frame that narwhals takes comes in, the same kind goes out."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from faircrowd._checks import few, suggestion
from faircrowd.errors import InputError, MissingColumnError
from faircrowd.votes.vocabulary import Vocabulary, as_objects, distinct_names

__all__ = ["ALIASES", "Style", "array_of", "column_of", "find_column", "frame_of", "is_frame", "names_of"]

ALIASES: Mapping[str, tuple[str, ...]] = {
    "task": ("task", "item", "question"),
    "worker": ("worker", "annotator", "annotator_id", "performer"),
    "label": ("label", "answer"),
}
"""Names under which the three columns of votes are known, the proper name first."""


def is_frame(data: Any) -> bool:
    """Whether narwhals knows this kind of frame."""
    return isinstance(_wrapped(data), nw.DataFrame | nw.LazyFrame)


def frame_of(data: Any, columns: Sequence[str] | None = None) -> "nw.DataFrame[Any]":
    """Wrap an eager frame; collect a lazy one (only ``columns``, if given)."""
    frame = _wrapped(data)
    if isinstance(frame, nw.LazyFrame):
        if columns is not None:
            frame = frame.select(*columns)
        frame = frame.collect("polars" if frame.implementation.is_polars() else "pyarrow")
    return frame  # type: ignore[no-any-return]


def names_of(data: Any) -> list[str]:
    """Return the names of a frame's columns."""
    return list(_wrapped(data).collect_schema().names())


def _wrapped(data: Any) -> Any:
    try:
        return nw.from_native(data, pass_through=True)
    except nw.exceptions.DuplicateError as error:
        again = " ".join(str(error).partition("- ")[2].split())
        raise InputError(f"The frame has several columns of one name: {again}; keep one of each.") from None


def find_column(role: str, names: Sequence[str], explicit: str | None = None, *, where: str = "the votes") -> str:
    """Find the column that plays a role, by its explicit name or by a known alias."""
    wanted = (explicit,) if explicit is not None else ALIASES[role]
    found = [name for name in wanted if names.count(name)]
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


def _hint(role: str, names: Sequence[str], explicit: str | None) -> str:
    if len(names) == 1 and any(mark in str(names[0]) for mark in ",;|\t"):
        return " Is the delimiter right?"
    return "" if explicit else f" Name it with {role}=..."


def column_of(frame: "nw.DataFrame[Any]", name: str) -> Any:
    """Return a column ready for ``encode``: a numpy array where that is free, Arrow otherwise."""
    return array_of(frame.get_column(name))


def array_of(series: "nw.Series[Any]") -> Any:
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


@dataclass(frozen=True)
class Style:
    """How results are given back: in the kind of frame, and with the column types, of the input.

    Attributes
    ----------
    backend : str
        "pandas" or another of narwhals' eager kinds. Without a frame to follow: pandas if it is installed,
        pyarrow otherwise.
    dtypes : dict
        For pandas: the dtype of the column of each role.
    """

    backend: str = ""
    dtypes: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def follow(cls, frame: "nw.DataFrame[Any]", roles: Mapping[str, str]) -> "Style":
        """Follow a frame whose columns play the given roles."""
        if not frame.implementation.is_pandas():
            return cls(frame.implementation.value)
        native = frame.to_native()
        return cls("pandas", {role: native[name].dtype for role, name in roles.items()})

    def values(self, role: str, vocabulary: Vocabulary) -> Any:
        """Return a pandas array of values of one role, in the type they came in."""
        import pandas as pd

        kind = self.dtypes.get(role)
        if vocabulary.is_mixed:
            return pd.array(vocabulary.values, dtype=kind if _is_of_pandas(kind) else object)
        plain = vocabulary.values.to_pandas()
        if kind is None or isinstance(kind, pd.CategoricalDtype) or kind == "float16":  # pandas indexes no float16
            return plain.array
        return plain.astype(kind).array

    def series(self, index: Mapping[str, Vocabulary], name: str, values: Any) -> Any:
        """One value a row: a pandas Series with that index, or a frame with the index as columns.

        ``values`` is an array, or a pair (role, Vocabulary) for values of the input.
        """
        if not self._is_pandas:
            return self._table({**index, name: values[1] if isinstance(values, tuple) else values})
        import pandas as pd

        if not len(next(iter(index.values()))):
            return pd.Series(dtype=float, name=name)
        if isinstance(values, tuple):
            values = self.values(*values)
        return pd.Series(values, index=self._index(index), name=name, dtype=values.dtype)

    def frame(
        self,
        index: Mapping[str, Vocabulary],
        columns: Vocabulary,
        values: NDArray[Any],
        *,
        columns_name: str | None = None,
    ) -> Any:
        """One row a key and one column a class."""
        if not self._is_pandas:
            names = distinct_names(columns.to_list(), taken=[*index])
            return self._table({**index, **{name: values[:, k] for k, name in enumerate(names)}})
        import pandas as pd

        if not len(next(iter(index.values()))):
            return pd.DataFrame()
        labels = self._index({"label": columns}).rename(columns_name)
        return pd.DataFrame(values, index=self._index(index), columns=labels)

    def columns(self, columns: Mapping[str, Any]) -> Any:
        """Return a plain frame of these columns."""
        if not self._is_pandas:
            return self._table(columns)
        import pandas as pd

        return pd.DataFrame(columns)

    @property
    def _is_pandas(self) -> bool:
        if self.backend:
            return self.backend == "pandas"
        try:
            import pandas  # noqa: F401
        except ImportError:
            return False
        return True

    def _index(self, index: Mapping[str, Vocabulary]) -> Any:
        import pandas as pd

        columns = {role: self.values(role, vocabulary) for role, vocabulary in index.items()}
        # The type is said, else pandas makes its own guess at what objects are.
        levels = [pd.Index(values, dtype=values.dtype, name=role, copy=False) for role, values in columns.items()]
        return levels[0] if len(levels) == 1 else pd.MultiIndex.from_arrays(levels, names=list(index))

    def _table(self, columns: Mapping[str, Any]) -> Any:
        arrays = {
            name: _arrow(values) if isinstance(values, Vocabulary) else pa.array(values)
            for name, values in columns.items()
        }
        table = pa.table(arrays)
        if self.backend in ("", "pyarrow"):
            return table
        return nw.from_arrow(table, backend=self.backend).to_native()  # type: ignore[arg-type]


def _is_of_pandas(kind: Any) -> bool:
    """Whether a type is one of those that pandas has and Arrow lacks."""
    import pandas as pd

    return isinstance(kind, pd.PeriodDtype | pd.IntervalDtype)


def _arrow(vocabulary: Vocabulary) -> Any:
    """Return values as Arrow; text stands for those that have no type in common."""
    try:
        return pa.array(vocabulary.values)
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, OverflowError):
        return pa.array([str(value) for value in vocabulary.to_list()])
