"""One run in numbers, and in lines that a person reads."""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from faircrowd.aggregate.base import Aggregator
from faircrowd.aggregate.counting import agreement
from faircrowd.aggregate.posterior import Posterior
from faircrowd.engines import LocalEngine
from faircrowd.report.labels import value_names
from faircrowd.votes import VoteTable
from faircrowd.votes.vocabulary import Codes

__all__ = ["Summary", "summarise"]


@dataclass(frozen=True)
class Summary:
    """What came of a run.

    Attributes
    ----------
    method : str
    rows : dict
        The account of the input's rows.
    votes, tasks, workers, classes : int
    rounds : int or None
        Rounds of an iterative method.
    converged : bool or None
    agreement : float
        Share of the votes that agree with the labels.
    class_shares : dict
        Share of the labels a class.
    group_shares : dict or None
        The same within each sensitive group.
    gap : float or None
        The demographic-parity gap of the labels: the largest difference, over classes, between two groups' shares.
    accuracy : float or None
        Share of right labels among the tasks whose truth is known.
    truths : int or None
        How many these are.
    """

    method: str
    rows: dict[str, Any]
    votes: int
    tasks: int
    workers: int
    classes: int
    rounds: int | None
    converged: bool | None
    agreement: float
    class_shares: dict[str, float]
    group_shares: dict[str, dict[str, float]] | None = None
    gap: float | None = None
    accuracy: float | None = None
    truths: int | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the summary as plain values, ready for JSON."""
        return asdict(self)

    def lines(self) -> list[tuple[str, str]]:
        """Return the summary as pairs of a heading and a text."""
        said = [
            ("read", f"{self.rows['rows_read']:,} rows, {self.rows['rows_aside']:,} set aside, {self.votes:,} votes"),
            ("crowd", f"{self.tasks:,} tasks, {self.workers:,} workers, {self.classes:,} classes"),
            ("method", self.method + self._rounds()),
            ("agreement", f"{self.agreement:.1%} of the votes agree with the label of their task"),
            ("labels", _shares(self.class_shares)),
        ]
        if self.group_shares is not None:
            said += [(f"group {name}", _shares(shares)) for name, shares in self.group_shares.items()]
            said.append(("gap", f"{self.gap:.3f} between groups (largest difference of a class's share)"))
        if self.accuracy is not None:
            said.append(("accuracy", f"{self.accuracy:.1%} of the {self.truths:,} tasks whose truth is known"))
        return said

    def _rounds(self) -> str:
        if self.rounds is None:
            return ""
        return f", {self.rounds} rounds, {'converged' if self.converged else 'NOT converged'}"


def summarise(method: str, model: Aggregator, votes: VoteTable, posterior: Posterior, truth: Codes | None) -> Summary:
    """Gather what a run came to.

    Parameters
    ----------
    truth : ndarray of int32, optional
        True class of each task, -1 where it is not known.
    """
    labels, n_classes = posterior.label_codes, len(posterior.classes)
    names = value_names(posterior.classes)
    agree, total = agreement(LocalEngine(votes), labels, votes.n_workers)
    by_group, gap = None, None
    if votes.groups is not None and votes.group is not None:
        counts = np.zeros((len(votes.groups), n_classes))
        np.add.at(counts, (votes.group, labels), 1)
        rates = counts / counts.sum(axis=1, keepdims=True)
        gap = float(np.ptp(rates, axis=0).max())
        by_group = {
            group: dict(zip(names, map(float, row), strict=True))
            for group, row in zip(value_names(votes.groups), rates, strict=True)
        }
    known = np.empty(0, dtype=bool) if truth is None else truth >= 0
    right = float((labels[known] == truth[known]).mean()) if truth is not None and known.any() else None
    shares = np.bincount(labels, minlength=n_classes) / max(labels.size, 1)
    return Summary(
        method=method,
        rows=votes.report.to_dict(),
        votes=votes.n_votes,
        tasks=votes.n_tasks,
        workers=votes.n_workers,
        classes=n_classes,
        rounds=getattr(model, "n_iter_", None),
        converged=getattr(model, "converged_", None),
        agreement=float(agree.sum() / max(total.sum(), 1)),
        class_shares=dict(zip(names, map(float, shares), strict=True)),
        group_shares=by_group,
        gap=gap,
        accuracy=right,
        truths=None if right is None else int(known.sum()),
    )


def _shares(shares: dict[str, float], limit: int = 8) -> str:
    shown = [f"{name}: {share:.1%}" for name, share in list(shares.items())[:limit]]
    return ", ".join(shown) + (f" and {len(shares) - limit:,} more classes" if len(shares) > limit else "")
