"""Tables of audited workers, for files and for the page."""

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from faircrowd.audit.workers.worker_audit import LEANS, NO_SIGN, TOO_FEW, WorkerAudit

__all__ = ["audited_workers", "worker_facts"]

_MAX_ROWS = 300


def audited_workers(audit: WorkerAudit) -> pa.Table:
    """Return one row per worker: votes by group, own gap with interval, q-value, influence and verdict."""
    groups, classes = audit.groups.names, audit.classes.names
    judged = audit.judged
    columns: dict[str, Any] = {"worker": _texts(audit), "votes": audit.votes.sum(axis=1)}
    for a, name in enumerate(groups):
        columns[f"votes_{name}"] = audit.votes[:, a]
    accuracy = audit.accuracy
    if accuracy is not None:
        for a, name in enumerate(groups):
            columns[f"accuracy_{name}_by_{audit.source}"] = _numbers(accuracy[:, a])
    for name in ("gap", "low", "high", "shrunken", "p_value", "q_value"):
        columns[name] = _numbers(getattr(judged, name))
    columns["label"] = [classes[k] if k >= 0 else None for k in judged.label]
    columns["more_in"] = [groups[a] if a >= 0 else None for a in judged.more]
    columns["less_in"] = [groups[a] if a >= 0 else None for a in judged.less]
    columns["influence"] = _numbers(audit.influence.influence)
    columns["verdict"] = audit.verdict.tolist()
    return pa.table(columns)


def worker_facts(audit: WorkerAudit) -> dict[str, Any]:
    """Return what the page shows about workers: counts of verdicts and the most notable rows."""
    groups, classes = audit.groups.names, audit.classes.names
    judged, names = audit.judged, _texts(audit)
    votes = audit.votes.sum(axis=1)
    few_groups = len(groups) <= 3
    influence = np.nan_to_num(audit.influence.influence)
    rank = {LEANS: 0, NO_SIGN: 1, TOO_FEW: 2}
    verdict_rank = np.array([rank[str(v)] for v in audit.verdict], dtype=np.int64)
    order = np.lexsort((np.arange(votes.size), -votes, -np.abs(influence), verdict_rank))
    rows = []
    for w in order[:_MAX_ROWS]:
        how = ""
        if judged.label[w] >= 0:
            how = f"label {classes[judged.label[w]]} more in group {groups[judged.more[w]]}"
        rows.append(
            {
                "worker": names[w],
                "votes": int(votes[w]),
                "by_group": " / ".join(f"{n:,}" for n in audit.votes[w]) if few_groups else "",
                "gap": _or_none(judged.gap[w]),
                "low": _or_none(judged.low[w]),
                "high": _or_none(judged.high[w]),
                "q": _or_none(judged.q_value[w]),
                "influence": _or_none(audit.influence.influence[w]),
                "how": how if str(audit.verdict[w]) == LEANS else "",
                "verdict": str(audit.verdict[w]),
            }
        )
    counts = {name: int((audit.verdict == name).sum()) for name in (LEANS, NO_SIGN, TOO_FEW)}
    return {
        "total": int(votes.size),
        "rows": rows,
        "counts": counts,
        "basis": audit.basis,
        "source": audit.source,
        "confidence": audit.confidence,
        "tolerance": audit.tolerance,
        "groups": groups if few_groups else [],
    }


def _texts(audit: WorkerAudit) -> list[str]:
    return audit.workers.names


def _numbers(values: NDArray[np.float64]) -> pa.Array:
    """Return numbers as a column; unknown ones are empty."""
    return pa.array(values, from_pandas=True)


def _or_none(value: float) -> float | None:
    return None if np.isnan(value) else float(value)
