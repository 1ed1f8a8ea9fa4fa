"""What users may hand over: the types of public parameters that take more than one kind of value.

Whatever is given is read and checked where it comes in (:mod:`faircrowd.votes`), so these are wide on purpose.
"""

from collections.abc import Mapping
from os import PathLike
from typing import Any, TypeAlias

from narwhals.typing import IntoFrame, IntoSeries
from numpy.typing import ArrayLike

__all__ = ["ByTask", "ColumnsLike", "FrameLike", "NumbersById", "PathOrText", "TableLike", "ValuesLike"]

PathOrText: TypeAlias = str | PathLike[str]
"""The path of a file."""

FrameLike: TypeAlias = IntoFrame
"""A frame of any library that narwhals knows: pandas, polars, pyarrow, ..."""

TableLike: TypeAlias = IntoFrame | PathOrText
"""A table: a frame, or the path of a file that holds one."""

ValuesLike: TypeAlias = IntoSeries | ArrayLike
"""Values in order: a Series, an array or a list."""

ByTask: TypeAlias = IntoSeries | IntoFrame | Mapping[Any, Any] | ArrayLike | PathOrText
"""Something known about tasks: by id (a Series, a dict, a frame, a file), by position, or the name of a column."""

NumbersById: TypeAlias = IntoSeries | IntoFrame | Mapping[Any, float]
"""A number for each of some workers, tasks or labels: a Series, a dict or a frame."""

ColumnsLike: TypeAlias = IntoSeries | IntoFrame | Mapping[Any, Any] | ArrayLike
"""One or several columns in the order of the rows: a Series, an array, a list, a frame, or a dict of columns."""
