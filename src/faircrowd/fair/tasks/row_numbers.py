"""The ids of tasks that have none but their row number."""

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from faircrowd.votes import Vocabulary

__all__ = ["RowNumbers"]


class RowNumbers(Vocabulary):
    """The numbers 0, 1, ..., n - 1: they are written out only where all of them are asked for.

    Examples
    --------
    >>> RowNumbers(10_000_000)
    Vocabulary(10000000: 0, 1, 2, 3, …)
    """

    def __init__(self, n: int) -> None:
        object.__setattr__(self, "_n", n)  # the base is frozen

    def __len__(self) -> int:
        return int(self._n)  # type: ignore[attr-defined]

    @property
    def values(self) -> Any:
        """The numbers as Arrow; made anew at each call, so that nobody holds them."""
        return pa.array(np.arange(len(self)))

    @property
    def is_mixed(self) -> bool:
        """Never: they are integers."""
        return False

    def take(self, codes: NDArray[Any]) -> Vocabulary:
        """Return the numbers at ``codes``: the codes themselves."""
        return Vocabulary(pa.array(np.asarray(codes, dtype=np.int64)))
