"""An audit of a crowd in numbers, and in lines of text."""

import math
from typing import Any

from faircrowd.audit.crowd_audit import CrowdAudit
from faircrowd.audit.intervals import GapInterval
from faircrowd.audit.pair_agreement import PairAgreement
from faircrowd.audit.workers.worker_audit import LEANS, NO_SIGN, TOO_FEW
from faircrowd.report.words.agreement_words import agreement_dict

__all__ = ["audit_dict", "audit_lines"]


def audit_dict(audit: CrowdAudit | None, agreement: PairAgreement) -> dict[str, Any]:
    """Return an audit as plain values, ready for JSON; what is not defined is null.

    Without groups to compare, it is about agreement alone.
    """
    if audit is None:
        return {"agreement": {"alpha": _plain(agreement.alpha), "pairs": agreement_dict(agreement)}}
    groups = audit.workers.groups.names
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
        "agreement": {
            "alpha": _plain(audit.agreement.alpha),
            "by_group": dict(zip(groups, alphas, strict=False)),
            "pairs": agreement_dict(agreement),
        },
        "ties": {
            "smallest": ties.smallest,
            "largest": ties.largest,
            "exact": bool(ties.exact),
            "first": ties.first,
            "last": ties.last,
            "tied": dict(zip((groups[a] for a in audit.compared), map(int, ties.tied), strict=True)),
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
    by = (
        "on tasks of the same true label" if audit.workers.basis == "truth" else "as they are (groups may truly differ)"
    )
    lines = [
        ("interval", f"{interval.low:.3f} to {interval.high:.3f} ({interval.confidence:.0%}, tasks as a sample)"),
        (
            "workers",
            f"{counts[LEANS]:,} lean, {counts[NO_SIGN]:,} show no sign of it, {counts[TOO_FEW]:,} have too few votes "
            f"to say; votes compared {by}",
        ),
        ("alpha", _alphas(audit)),
    ]
    if audit.bootstrap is not None:
        b = audit.bootstrap
        lines.insert(1, ("bootstrap", f"{b.low:.3f} to {b.high:.3f} ({b.confidence:.0%}, majority vote; {b.method})"))
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
                f"the workers' own gaps are {a.mean_gap:.3f} on average; a majority of them would have a gap of "
                f"{a.implied.gap_strict:.3f} if they voted independently of each other, and has "
                f"{a.observed.gap_strict:.3f}",
            )
        )
    if audit.bound is not None:
        value = "1, which every gap keeps, so it tells nothing" if audit.bound.vacuous else f"{audit.bound.value:.3f}"
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


def _verdicts(audit: CrowdAudit) -> dict[str, int]:
    return {name: int((audit.workers.verdict == name).sum()) for name in (LEANS, NO_SIGN, TOO_FEW)}


def _alphas(audit: CrowdAudit) -> str:
    names = audit.workers.groups.names
    parts = [f"{_said(value)} in {name}" for name, value in zip(names[:8], audit.agreement.by_group, strict=False)]
    parts += [f"{len(names) - 8:,} more groups in audit.json"] if len(names) > 8 else []
    return f"{_said(audit.agreement.alpha)} (Krippendorff; {', '.join(parts)})"


def _said(value: float) -> str:
    return "not defined" if math.isnan(value) else f"{value:.3f}"


def _interval(found: GapInterval) -> dict[str, Any]:
    names = ("gap", "low", "high", "confidence", "method")
    return {name: getattr(found, name) for name in names}


def _plain(value: float) -> float | None:
    return None if math.isnan(value) else float(value)
