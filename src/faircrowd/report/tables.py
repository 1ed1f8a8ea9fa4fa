"""Tables of a fitted model: a row a task, a row a worker."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from faircrowd.aggregate.posterior import Posterior
from faircrowd.aggregate.weighted_votes import agreement
from faircrowd.engines import LocalEngine
from faircrowd.storage.mapped_arrays import release
from faircrowd.votes import Vocabulary, VoteTable
from faircrowd.votes.value_names import value_names
from faircrowd.votes.vocabulary import Codes

__all__ = ["label_tables", "labels_table", "workers_table"]

_PIECE = 1 << 17


def labels_table(votes: VoteTable, posterior: Posterior, fair: Codes | None = None) -> pa.Table:
    """Return task, label, number of votes, the posterior a class, and the group where there is one.

    With fair labels also the label before, and whether it changed.
    """
    return pa.concat_tables(label_tables(votes, posterior, fair))


def label_tables(
    votes: VoteTable,
    posterior: Posterior,
    fair: Codes | None = None,
    why: Callable[[slice], dict[str, Any]] | None = None,
    piece: int = _PIECE,
) -> Iterator[pa.Table]:
    """Yield the table of labels, some tasks at a time: so large a table need not be held.

    ``why`` gives more columns of some tasks.
    """
    classes, tasks = _column(posterior.classes), _column(posterior.tasks)
    groups = None if votes.groups is None else _column(votes.groups)
    names = value_names(posterior.classes)
    for start in range(0, max(len(tasks), 1), piece):
        rows = slice(start, min(start + piece, len(tasks)))
        before = posterior.label_codes[rows]
        columns: dict[str, Any] = {"task": tasks[rows]}
        columns["label"] = classes.take(pa.array(before if fair is None else fair[rows]))
        if fair is not None:
            columns["label_before"] = classes.take(pa.array(before))
            columns["changed"] = fair[rows] != before
        offsets = votes.offsets[rows.start : rows.stop + 1]
        columns["votes"] = np.diff(offsets)
        release(offsets)
        for k, name in enumerate(names):
            columns[f"posterior_{name}"] = posterior.values[rows, k]
        if groups is not None and votes.group is not None:
            columns["group"] = groups.take(pa.array(votes.group[rows]))
        yield pa.table({**columns, **({} if why is None else why(rows))})


def workers_table(votes: VoteTable, labels: Codes) -> pa.Table:
    """Return worker, number of votes, and the share of them that agree with the labels."""
    agree, total = agreement(LocalEngine(votes), labels, votes.n_workers)
    share: NDArray[np.float64] = agree / np.maximum(total, 1)
    return pa.table({"worker": _column(votes.workers), "votes": total, "agreement": share})


def _column(vocabulary: Vocabulary) -> Any:
    """Return values as an Arrow column; mixed values, bytes, and tuples of several attributes, as text."""
    if vocabulary.is_mixed or _is_bytes(vocabulary.values.type):
        return pa.array(value_names(vocabulary), type=pa.string())
    return vocabulary.values


def _is_bytes(kind: pa.DataType) -> bool:
    return bool(pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_fixed_size_binary(kind))
