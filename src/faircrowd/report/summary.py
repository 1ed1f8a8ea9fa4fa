"""One run in numbers, and in lines of text."""

from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from faircrowd import __version__
from faircrowd._checks import few
from faircrowd.aggregate.base import Aggregator
from faircrowd.aggregate.posterior import Posterior
from faircrowd.aggregate.weighted_votes import agreement
from faircrowd.audit.independence import Independence
from faircrowd.audit.workers.worker_counts import label_counts
from faircrowd.engines import LocalEngine
from faircrowd.fair.certificate import Certificate
from faircrowd.fair.gap import gap_of, within
from faircrowd.fair.margin import Margin
from faircrowd.report.belief_notes import CertainChanges, belief_notes, certain_changes, independence_of
from faircrowd.votes import VoteTable
from faircrowd.votes.vocabulary import Codes

__all__ = ["Summary", "fair_lines", "group_facts", "summarise"]

_SMALL_GROUP = 30
_TASKS_PER_PIECE = 1 << 18
_MAX_SHOWN_CHANGES = 8


@dataclass(frozen=True)
class Summary:
    """The results of a run in numbers.

    Attributes
    ----------
    method : str
    rows : dict
        What happened to the rows of the input.
    votes, tasks, workers, classes : int
    rounds : int or None
        Rounds of an iterative method.
    converged : bool or None
    agreement : float
        Share of the votes that agree with the labels.
    class_shares : dict
        Share of each class among the labels.
    group_shares : dict or None
        The same within each sensitive group.
    gap : float or None
        The demographic-parity gap of the labels: the largest difference, over classes, between two groups' shares.
    group_tasks : dict or None
        Number of tasks of each group.
    gap_between : list of str or None
        Where the gap is: the class, and the groups with its largest and smallest share.
    ties : int
        Tasks whose best classes are tied.
    accuracy : float or None
        Share of right labels among the tasks whose truth is known.
    accuracy_in_sample : bool
        Whether the model learned from the same labels, so that its accuracy does not test it.
    truths : int or None
        Number of tasks whose truth is known.
    independence : Independence or None
        Whether the votes of a task are independent given its class; None if the method does not assume it.
    certain_changes : CertainChanges or None
        How many of the labels that were changed to be fair were certain; None if none was changed.
    options : dict
        What the run was given, to repeat it.
    version : str
        The version of faircrowd.
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
    group_tasks: dict[str, int] | None = None
    gap_between: list[str] | None = None
    ties: int = 0
    accuracy: float | None = None
    accuracy_in_sample: bool = False
    truths: int | None = None
    independence: Independence | None = None
    certain_changes: CertainChanges | None = None
    options: dict[str, Any] = field(default_factory=dict)
    version: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return the summary as plain values, ready for JSON."""
        return {**asdict(self), "independence": self.independence and self.independence.to_dict()}

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
            sizes = self.group_tasks or {}
            said += [
                (f"group {name}", f"{sizes.get(name, 0):,} tasks, {_shares(shares)}")
                for name, shares in self.group_shares.items()
            ]
            said.append(("gap", f"{self.gap:.3f}{self._where()}"))
        if self.accuracy is not None:
            which = "it learned from (not a test)" if self.accuracy_in_sample else "whose truth is known"
            said.append(("accuracy", f"{self.accuracy:.1%} of the {self.truths:,} tasks {which}"))
        return said

    def notes(self) -> list[str]:
        """Return what a reader should know before trusting the numbers."""
        said = []
        if self.converged is False:
            said.append("the rounds ran out before the model converged; raise n_iter, or tol")
        if self.ties:
            rule = self.options.get("parameters", {}).get("ties", "first")
            tasks = f"{self.ties:,} task{'s' * (self.ties != 1)}"
            said.append(f"{tasks} with tied classes: the {rule} of them wins (ties={rule!r})")
        small = [name for name, count in (self.group_tasks or {}).items() if count < _SMALL_GROUP]
        if small:
            said.append(f"groups of fewer than {_SMALL_GROUP} tasks tell little: {few(small)}")
        return [*said, *belief_notes(self.independence, self.certain_changes)]

    def _where(self) -> str:
        if self.gap_between is None or self.group_shares is None or not self.gap:
            return ""
        name, high, low = self.gap_between
        shares = self.group_shares
        return f" (class {name}: {shares[high][name]:.1%} in group {high}, {shares[low][name]:.1%} in group {low})"

    def _rounds(self) -> str:
        if self.rounds is None:
            return ""
        return f", {self.rounds} rounds, {'converged' if self.converged else 'NOT converged'}"


def summarise(
    method: str,
    model: Aggregator,
    votes: VoteTable,
    posterior: Posterior,
    truth: Codes | None,
    options: dict[str, Any] | None = None,
    *,
    in_sample: bool = False,
    fair: Codes | None = None,
) -> Summary:
    """Summarise a run.

    Parameters
    ----------
    truth : ndarray of int32, optional
        The true class of each task: -1 where it is not known, -2 where it is not one of the classes.
    options : dict
        What the run was given.
    in_sample : bool
        Whether the model learned from the truth.
    fair : ndarray of int32, optional
        Fair labels, instead of the aggregator's own.
    """
    labels, n_classes = posterior.label_codes if fair is None else fair, len(posterior.classes)
    names = posterior.classes.names
    agree, total = agreement(LocalEngine(votes), labels, votes.n_workers)
    grouped: dict[str, Any] = {}
    if votes.groups is not None and votes.group is not None:
        counts = label_counts(votes.group, labels, len(votes.groups), n_classes)
        grouped = group_facts(counts, votes.groups.names, names)
    known = np.empty(0, dtype=bool) if truth is None else truth != -1
    right = float((labels[known] == truth[known]).mean()) if truth is not None and known.any() else None
    pieces = (
        labels[i : i + _TASKS_PER_PIECE] for i in range(0, labels.size, _TASKS_PER_PIECE)
    )  # bincount copies what it counts
    counted = sum((np.bincount(piece, minlength=n_classes) for piece in pieces), np.zeros(n_classes, dtype=np.int64))
    shares = counted / max(labels.size, 1)
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
        ties=_tied(posterior.scores),
        accuracy=right,
        accuracy_in_sample=in_sample and right is not None,
        truths=None if right is None else int(known.sum()),
        independence=independence_of(model),
        certain_changes=None if fair is None else certain_changes(model, posterior, fair),
        options=options or {},
        version=__version__,
        **grouped,
    )


def fair_lines(certificate: Certificate) -> list[tuple[str, str]]:
    """Return what fair labels reached and what they cost, as pairs of a heading and a text."""
    c = certificate
    if c.changed == 0 and within(c.gap, c.epsilon):
        found = f"the gap was {c.gap_before:.3f}, within epsilon {c.epsilon:g}; no label was changed"
    else:
        cost = c.expected_accuracy_before - c.expected_accuracy
        found = (
            f"the gap fell from {c.gap_before:.3f} to {c.gap:.3f} (epsilon {c.epsilon:g}); "
            f"{c.changed:,} of {c.tasks:,} labels changed ({c.changed_share:.1%}), at {cost:.2%} of expected accuracy"
        )
    lines = [("fair", found)]
    if c.gap > c.epsilon + 1e-12:
        over = f"epsilon by {c.gap - c.epsilon:.2g}"
        if c.decision == "randomized":
            lines.append(("note", f"the labels that were drawn exceed {over}, by chance"))
        else:
            lines.append(("note", f"rounding to whole tasks exceeds {over}; strict=True keeps epsilon exactly"))
    if c.promise is not None:
        lines.append(("promise", str(Margin(**c.promise))))
    kind = "deterministic or randomized" if c.decision == "randomized" else "deterministic"
    proof = (
        f"no {kind} labels are better"
        if c.optimal
        else f"no labels within epsilon gain more than {max(c.optimality_gap, 0):.2g}"
    )
    lines.append(("proof", f"{proof} (bound {c.bound:.6f}, {c.objective} {c.value:.6f}; {c.solver})"))
    moved = [f"{row['tasks']:,} in group {row['group']} from {row['before']} to {row['after']}" for row in c.changes]
    if moved:
        lines.append(("changed", "; ".join(moved[:_MAX_SHOWN_CHANGES])))
    lines.append(("rule", " | ".join(line.strip() for line in c.thresholds.splitlines())))
    return lines


def group_facts(counts: NDArray[Any], groups: list[str], names: list[str]) -> dict[str, Any]:
    """Return what a summary holds about groups, from the number of labels per group (row) and class (column)."""
    rates = counts / counts.sum(axis=1, keepdims=True)
    k = int(np.argmax(np.ptp(rates, axis=0)))
    return {
        "gap": gap_of(rates),
        "gap_between": [names[k], groups[int(np.argmax(rates[:, k]))], groups[int(np.argmin(rates[:, k]))]],
        "group_tasks": dict(zip(groups, map(int, counts.sum(axis=1)), strict=True)),
        "group_shares": {
            group: dict(zip(names, map(float, row), strict=True)) for group, row in zip(groups, rates, strict=True)
        },
    }


def _tied(scores: NDArray[np.float64]) -> int:
    """Count the tasks whose best classes are tied, some tasks at a time."""
    pieces = (scores[i : i + _TASKS_PER_PIECE] for i in range(0, len(scores), _TASKS_PER_PIECE))
    return sum(int(((piece == piece.max(axis=1, keepdims=True)).sum(axis=1) > 1).sum()) for piece in pieces)


def _shares(shares: dict[str, float], limit: int = 8) -> str:
    shown = [f"{name}: {share:.1%}" for name, share in list(shares.items())[:limit]]
    return ", ".join(shown) + (f" and {len(shares) - limit:,} more classes" if len(shares) > limit else "")
