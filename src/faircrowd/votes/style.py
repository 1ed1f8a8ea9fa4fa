"""Results on the way out: in the kind of frame, and with the types, that the votes came in."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import narwhals as nw
import pyarrow as pa
from numpy.typing import NDArray

from faircrowd.votes.vocabulary import Vocabulary, distinct_names

__all__ = ["Style"]


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
        if kind is None or isinstance(kind, pd.CategoricalDtype) or kind == "float16":  # pandas has no index of float16
            return plain.array
        return plain.astype(kind).array

    def series(self, index: Mapping[str, Vocabulary], name: str, values: NDArray[Any] | tuple[str, Vocabulary]) -> Any:
        """Return one value per row: a pandas Series with that index, or a frame with the index as columns.

        ``values`` is an array, or a pair (role, Vocabulary) for values of the input.
        """
        if not self._is_pandas:
            return self._table({**index, name: values[1] if isinstance(values, tuple) else values})
        import pandas as pd

        if not len(next(iter(index.values()))):
            return pd.Series(dtype=float, name=name)
        column = self.values(*values) if isinstance(values, tuple) else values
        return pd.Series(column, index=self._index(index), name=name, dtype=column.dtype)

    def frame(
        self,
        index: Mapping[str, Vocabulary],
        columns: Vocabulary,
        values: NDArray[Any],
        *,
        columns_name: str | None = None,
    ) -> Any:
        """Return a frame with one row per key and one column per class."""
        if not self._is_pandas:
            names = distinct_names(columns.to_list(), taken=[*index])
            return self._table({**index, **{name: values[:, k] for k, name in enumerate(names)}})
        import pandas as pd

        if not len(next(iter(index.values()))):
            return pd.DataFrame()
        labels = self._index({"label": columns}).rename(columns_name)
        return pd.DataFrame(values, index=self._index(index), columns=labels)

    def columns(self, columns: Mapping[str, NDArray[Any]]) -> Any:
        """Return a plain frame of these columns."""
        if not self._is_pandas:
            return self._table(columns)
        import pandas as pd

        return pd.DataFrame(columns)

    def table(self, table: pa.Table) -> Any:
        """Return an Arrow table as a frame."""
        if not self._is_pandas:
            return table if self.backend in ("", "pyarrow") else nw.from_arrow(table, backend=self.backend).to_native()  # type: ignore[arg-type]
        return table.to_pandas()

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
        # With the type given, pandas does not guess what objects are.
        levels = [pd.Index(values, dtype=values.dtype, name=role, copy=False) for role, values in columns.items()]
        return levels[0] if len(levels) == 1 else pd.MultiIndex.from_arrays(levels, names=list(index))

    def _table(self, columns: Mapping[str, NDArray[Any] | Vocabulary]) -> Any:
        arrays = {
            name: _arrow(values) if isinstance(values, Vocabulary) else pa.array(values)
            for name, values in columns.items()
        }
        return self.table(pa.table(arrays))


def _is_of_pandas(kind: object) -> bool:
    """Return whether a type is one that pandas has and Arrow lacks."""
    import pandas as pd

    return isinstance(kind, pd.PeriodDtype | pd.IntervalDtype)


def _arrow(vocabulary: Vocabulary) -> Any:
    """Return values as Arrow; as texts where they have no type in common."""
    try:
        return pa.array(vocabulary.values)
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, OverflowError):
        return pa.array([str(value) for value in vocabulary.to_list()])
