"""Tables of a fitted model: a row a task, a row a worker."""

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from faircrowd.aggregate.counting import agreement
from faircrowd.aggregate.posterior import Posterior
from faircrowd.engines import LocalEngine
from faircrowd.votes import Vocabulary, VoteTable
from faircrowd.votes.naming import value_names
from faircrowd.votes.vocabulary import Codes

__all__ = ["labels_table", "workers_table"]


def labels_table(
    votes: VoteTable, posterior: Posterior, fair: Codes | None = None, why: dict[str, Any] | None = None
) -> pa.Table:
    """Return task, label, number of votes, the posterior a class, and the group where there is one.

    With fair labels also the label before, whether it changed, and the columns of ``why``.
    """
    names = _column(posterior.classes)
    columns: dict[str, Any] = {"task": _column(posterior.tasks)}
    columns["label"] = names.take(pa.array(posterior.label_codes if fair is None else fair))
    if fair is not None:
        columns["label_before"] = names.take(pa.array(posterior.label_codes))
        columns["changed"] = fair != posterior.label_codes
    columns["votes"] = votes.votes_per_task
    for k, name in enumerate(value_names(posterior.classes)):
        columns[f"posterior_{name}"] = posterior.values[:, k]
    if votes.groups is not None and votes.group is not None:
        columns["group"] = _column(votes.groups).take(pa.array(votes.group))
    return pa.table({**columns, **(why or {})})


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
