"""Agreement of workers in lines of text, plain values, and the section of the page."""

import math
from typing import Any

import numpy as np

from faircrowd.audit.pair_agreement import PairAgreement
from faircrowd.report.charts import PlacedChart
from faircrowd.report.charts.agreement_chart import SHOWN_WORKERS, pairs_chart

__all__ = ["agreement_dict", "agreement_lines", "agreement_story"]

_SHOWN_GROUPS = 8
_ENOUGH_PAIRS = 20
"""Workers who share fewer votes with others are not called out."""


def agreement_lines(found: PairAgreement, *, with_alpha: bool = False) -> list[tuple[str, str]]:
    """Return agreement as pairs of a heading and a text, perhaps with Krippendorff's alpha."""
    rows = found.groups().to_pylist()
    everybody = rows[-1]
    if everybody["agreement"] is None:
        return [("pairs", "no task has two votes, so nobody can agree")]
    told = f"{everybody['agreement']:.1%} of the pairs of votes on a task agree ({_ends(everybody)})"
    groups = [row for row in rows[:-1] if row["agreement"] is not None]
    if len(groups) > 1:
        parts = [f"{row['agreement']:.1%} in {row['group']} ({_ends(row)})" for row in groups[:_SHOWN_GROUPS]]
        parts += [f"{len(groups) - _SHOWN_GROUPS:,} more in agreement.csv"] if len(groups) > _SHOWN_GROUPS else []
        told += f"; {', '.join(parts)}"
    lines = [("pairs", told)]
    if with_alpha:
        said = "not defined, as all votes are alike" if math.isnan(found.alpha) else f"{found.alpha:.3f}"
        lines.insert(0, ("alpha", f"{said} (Krippendorff: 1 is full agreement, 0 agreement by chance)"))
    lowest = _lowest(found)
    if lowest is not None:
        worker, share, pairs = lowest
        told = f"the lowest agreement with others is that of {worker}: {share:.1%} of {pairs:,} pairs of votes"
        lines.append(("least", told))
    return lines


def _ends(row: dict[str, Any]) -> str:
    return f"{row['low']:.1%} to {row['high']:.1%}"


def _lowest(found: PairAgreement) -> tuple[str, float, int] | None:
    """Return the worker who agrees least with others, among those with enough votes beside theirs."""
    enough = np.flatnonzero(found.worker_pairs >= _ENOUGH_PAIRS)
    if enough.size < 2:
        return None
    share = found.worker_agreed[enough] / found.worker_pairs[enough]
    at = int(enough[np.argmin(share)])
    return found.votes.workers.names[at], float(share.min()), int(found.worker_pairs[at])


def agreement_dict(found: PairAgreement) -> dict[str, Any]:
    """Return agreement by group as plain values, ready for JSON."""
    return {
        "confidence": found.confidence,
        "groups": found.groups().to_pylist(),
        "workers": int(found.votes.n_workers),
        "compared_in_pairs": int(found.shown.size),
    }


def agreement_story(found: PairAgreement, *, with_alpha: bool = False) -> dict[str, Any]:
    """Return the section of the page about agreement, and its chart."""
    lines = [_sentence(*line) for line in agreement_lines(found, with_alpha=with_alpha)]
    charts = []
    if (drawn := pairs_chart(found)) is not None:
        n_shown = min(SHOWN_WORKERS, found.shown.size)
        which = f"the {n_shown} workers with the most votes" if n_shown < found.votes.n_workers else "all workers"
        caption = f"How often each two of {which} agree on the tasks that both voted on; empty where there are none."
        charts = [PlacedChart("agreement", "agreement", caption, drawn)]
    return {"agreement": {"lines": lines}, "charts": charts}


def _sentence(heading: str, text: str) -> str:
    """Return a line of the terminal as a sentence; only that of alpha needs its heading to be understood.

    Examples
    --------
    >>> _sentence("alpha", "0.612 (Krippendorff)"), _sentence("pairs", "no task has two votes")
    ('Alpha is 0.612 (Krippendorff).', 'No task has two votes.')
    """
    if heading == "alpha":
        text = f"alpha is {text}"
    return f"{text[0].upper()}{text[1:]}."
