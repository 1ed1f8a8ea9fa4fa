"""Confusion matrices given by the user, for Dawid-Skene to start from."""

from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from faircrowd._checks import LARGEST, few, warn
from faircrowd._types import FrameLike
from faircrowd.engines import Votes, votes_in_memory
from faircrowd.errors import DataWarning, InputError
from faircrowd.votes import VoteTable
from faircrowd.votes.frames import column_of, find_column, frame_of
from faircrowd.votes.vocabulary import as_objects

__all__ = ["read_initial_error"]


def read_initial_error(votes: Votes, given: FrameLike, *, assign: bool) -> NDArray[np.float64]:
    """Return the given counts as an array (worker, label, true class).

    Parameters
    ----------
    given : frame
        A pandas frame indexed by worker and label, or any frame with these columns; it has one column per true class.
    assign : bool
        Whether the matrices replace estimated ones: then they must have every worker and label of the votes, and
        probabilities must sum to one.
    """
    worker, label, columns = _parts(given)
    shape = (votes.n_workers, votes.n_classes, votes.n_classes)
    w, y = votes.workers.code_of(worker), votes.classes.code_of(label)
    known = (w >= 0) & (y >= 0)
    counts = np.zeros(shape)
    listed = np.zeros(shape[:2], dtype=bool)
    listed[w[known], y[known]] = True
    names = votes.classes.to_list()
    for k, name in enumerate(names):
        values = columns.pop(name, None)
        values = columns.pop(str(name), None) if values is None else values
        if values is not None:
            counts[w[known], y[known], k] = np.nan_to_num(np.asarray(values, dtype=np.float64))[known]
    if columns:
        warn(
            f"initial_error has columns that are not classes of the votes, and are not used: {few(columns)}.",
            DataWarning,
        )
    if (counts < 0).any() or (counts > LARGEST).any():
        raise InputError("initial_error must be finite numbers that are not negative.")
    if assign:
        _check_complete(votes_in_memory(votes), listed, counts)
    return counts


def _check_complete(votes: VoteTable, listed: NDArray[np.bool_], counts: NDArray[np.float64]) -> None:
    voted = np.zeros_like(listed)
    voted[votes.worker, votes.label] = True
    lacking = np.flatnonzero((voted & ~listed).any(axis=1))
    if lacking.size:
        raise InputError(
            "All the workers in data should be in initial_error: it lacks "
            f"{few(votes.workers.some(lacking[:5]), lacking.size)}."
        )
    if (counts <= 1).all() and not np.allclose(counts.sum(axis=1), 1.0):
        raise InputError("The sum of each worker's error matrix in initial_error should be 1.0")


def _parts(given: FrameLike) -> tuple[Any, Any, dict[Any, NDArray[Any]]]:
    """Return the worker and the label of each row, and the other columns by name."""
    index: Any = getattr(given, "index", None)
    if getattr(index, "nlevels", 1) > 1:
        if list(index.names) != ["worker", "label"]:
            raise InputError(f"The index of initial_error must be ['worker', 'label'], but got: {list(index.names)}.")
        keys = [as_objects(index.get_level_values(level).tolist()) for level in ("worker", "label")]
        table: Any = given
        return keys[0], keys[1], {name: table[name].to_numpy() for name in table.columns}
    frame: nw.DataFrame[Any] = frame_of(given)
    names = list(frame.columns)
    worker = find_column("worker", names, where="initial_error")
    label = find_column("label", names, where="initial_error")
    rest = {name: frame.get_column(name).to_numpy() for name in names if name not in (worker, label)}
    return _arrow(column_of(frame, worker)), _arrow(column_of(frame, label)), rest


def _arrow(column: NDArray[Any] | pa.ChunkedArray) -> Any:
    return pa.array(column) if isinstance(column, np.ndarray) and column.dtype != object else column
