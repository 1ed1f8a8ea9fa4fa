"""An audit in numbers, and in lines that a person reads."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from faircrowd._checks import few
from faircrowd.aggregate.posterior import Posterior
from faircrowd.audit.crowd_audit import CrowdAudit
from faircrowd.audit.intervals import GapInterval, wilson
from faircrowd.audit.workers.worker_audit import LEANS, NO_SIGN, TOO_FEW
from faircrowd.errors import InputError
from faircrowd.votes import VoteTable
from faircrowd.votes.encode import encode
from faircrowd.votes.facts import read_facts
from faircrowd.votes.value_names import value_names
from faircrowd.votes.vocabulary import Codes

__all__ = ["audit_dict", "audit_lines", "control_values", "groups_table"]


def audit_dict(audit: CrowdAudit) -> dict[str, Any]:
    """Return an audit as plain values, ready for JSON; what is not defined is null."""
    groups = value_names(audit.workers.groups)
    alphas = [_plain(value) for value in audit.agreement.by_group]
    ties = audit.ties
    return {
        "gap": _interval(audit.interval),
        "bootstrap": None if audit.bootstrap is None else _interval(audit.bootstrap),
        "workers": {
            "verdicts": _verdicts(audit),
            "basis": audit.workers.basis,
            "source": audit.workers.source,
            "confidence": audit.workers.confidence,
            "tolerance": audit.workers.tolerance,
        },
        "agreement": {"alpha": _plain(audit.agreement.alpha), "by_group": dict(zip(groups, alphas, strict=False))},
        "ties": {
            "smallest": ties.smallest,
            "largest": ties.largest,
            "exact": bool(ties.exact),
            "first": ties.first,
            "last": ties.last,
            "tied": dict(zip(groups, map(int, ties.tied), strict=True)),
        },
        "added_up": None
        if audit.added_up is None
        else {
            "mean_own_gap": _plain(audit.added_up.mean_gap),
            "implied": audit.added_up.implied.gap_strict,
            "observed": audit.added_up.observed.gap_strict,
        },
        "curve": None
        if audit.curve is None
        else {"workers": audit.curve.sizes.tolist(), "gap": audit.curve.gap_strict.tolist()},
        "bound": None if audit.bound is None else {"value": audit.bound.value, "vacuous": audit.bound.vacuous},
        "strata": None
        if audit.strata is None
        else {
            "gap": audit.strata.gap,
            "mean": _plain(audit.strata.mean),
            "largest": _plain(audit.strata.largest),
            "compared": audit.strata.compared,
            "silent": audit.strata.silent,
        },
    }


def audit_lines(audit: CrowdAudit) -> list[tuple[str, str]]:
    """Return an audit as pairs of a heading and a text."""
    counts, interval, ties = _verdicts(audit), audit.interval, audit.ties
    by = "on tasks of the same true label" if audit.workers.basis == "truth" else "as they are (the truth may differ)"
    lines = [
        ("interval", f"{interval.low:.3f} to {interval.high:.3f} ({interval.confidence:.0%}, tasks a sample)"),
        (
            "workers",
            f"{counts[LEANS]:,} lean, {counts[NO_SIGN]:,} show no sign of it, {counts[TOO_FEW]:,} have too few votes "
            f"to say; votes compared {by}",
        ),
        ("alpha", _alphas(audit)),
    ]
    if audit.bootstrap is not None:
        b = audit.bootstrap
        lines.insert(1, ("bootstrap", f"{b.low:.3f} to {b.high:.3f} ({b.confidence:.0%}, a majority; {b.method})"))
    if ties.tied.sum():
        lines.append(
            (
                "ties",
                f"{int(ties.tied.sum()):,} tied tasks leave the majority's gap between {ties.smallest:.3f} and "
                f"{ties.largest:.3f}",
            )
        )
    if audit.added_up is not None and not math.isnan(audit.added_up.mean_gap):
        a = audit.added_up
        lines.append(
            (
                "adds up",
                f"own gaps of {a.mean_gap:.3f} on average would give a majority a gap of {a.implied.gap_strict:.3f} "
                f"if votes were independent; it is {a.observed.gap_strict:.3f}",
            )
        )
    if audit.bound is not None:
        value = "vacuous: it says nothing" if audit.bound.vacuous else f"{audit.bound.value:.3f}"
        lines.append(("bound", f"on the majority's gap if all workers voted on every task: {value}"))
    if audit.strata is not None:
        s = audit.strata
        lines.append(
            (
                "strata",
                f"gap within strata {_said(s.mean)} on average, {_said(s.largest)} at most; {s.gap:.3f} over all tasks",
            )
        )
    return lines


def groups_table(votes: VoteTable, posterior: Posterior, truth: Codes | None, confidence: float) -> pa.Table:
    """Return a row a group and class: tasks, labels, rate with interval, and where known, how many are right."""
    assert votes.groups is not None and votes.group is not None  # noqa: S101, PT018
    labels, n_classes = posterior.label_codes, len(posterior.classes)
    counts = np.zeros((len(votes.groups), n_classes), dtype=np.int64)
    np.add.at(counts, (votes.group, labels), 1)
    sizes = counts.sum(axis=1, keepdims=True)
    low, high = wilson(counts, np.broadcast_to(sizes, counts.shape), confidence)
    group, label = np.indices(counts.shape).reshape(2, -1)
    columns: dict[str, Any] = {
        "group": pa.array([value_names(votes.groups)[a] for a in group]),
        "label": pa.array([value_names(posterior.classes)[k] for k in label]),
        "tasks": np.broadcast_to(sizes, counts.shape).ravel(),
        "labelled": counts.ravel(),
        "rate": (counts / sizes).ravel(),
        "low": low.ravel(),
        "high": high.ravel(),
    }
    if truth is not None and (truth >= 0).any():
        known = truth >= 0
        true, right = np.zeros_like(counts), np.zeros_like(counts)
        np.add.at(true, (votes.group[known], truth[known]), 1)
        hit = known & (labels == truth)
        np.add.at(right, (votes.group[hit], truth[hit]), 1)
        recall = np.divide(right, true, out=np.full(counts.shape, np.nan), where=true > 0)
        columns |= {"truly": true.ravel(), "right": right.ravel(), "recall": pa.array(recall.ravel(), from_pandas=True)}
    return pa.table(columns)


def control_values(votes: VoteTable, tasks: Path, column: str, **reading: Any) -> Any:
    """Return the value of a column of the tasks for each task of the votes."""
    key, fact = read_facts(tasks, column, **reading)
    codes, values = encode(fact)
    place = votes.tasks.code_of(key)
    of_task = np.full(votes.n_tasks, -1, dtype=np.int64)
    known = (place >= 0) & (codes >= 0)
    of_task[place[known]] = codes[known]
    lacking = np.flatnonzero(of_task < 0)
    if lacking.size:
        raise InputError(
            f"{lacking.size:,} of {votes.n_tasks:,} tasks have no {column!r} in {tasks}: "
            f"{few(votes.tasks.some(lacking[:5]), lacking.size)}."
        )
    return np.asarray(value_names(values), dtype=object)[of_task]


def _verdicts(audit: CrowdAudit) -> dict[str, int]:
    return {name: int((audit.workers.verdict == name).sum()) for name in (LEANS, NO_SIGN, TOO_FEW)}


def _alphas(audit: CrowdAudit) -> str:
    names = value_names(audit.workers.groups)[:8]
    parts = [f"{_said(value)} in {name}" for name, value in zip(names, audit.agreement.by_group, strict=False)]
    return f"{_said(audit.agreement.alpha)} (Krippendorff; {', '.join(parts)})"


def _said(value: float) -> str:
    return "not defined" if math.isnan(value) else f"{value:.3f}"


def _interval(found: GapInterval) -> dict[str, Any]:
    names = ("gap", "low", "high", "confidence", "method")
    return {name: getattr(found, name) for name in names}


def _plain(value: float) -> float | None:
    return None if math.isnan(value) else float(value)
