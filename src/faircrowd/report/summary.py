"""One run in numbers, and in lines of text."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from faircrowd import __version__
from faircrowd._checks import few
from faircrowd.aggregate.base import Aggregator
from faircrowd.aggregate.calibration.accuracy_estimate import AccuracyEstimate
from faircrowd.aggregate.calibration.calibrate import CalibratedCrowd
from faircrowd.aggregate.posterior import Posterior
from faircrowd.aggregate.weighted_votes import agreement
from faircrowd.audit.agreement import krippendorff_alpha
from faircrowd.audit.independence import Independence
from faircrowd.audit.workers.worker_counts import label_counts
from faircrowd.engines import LocalEngine
from faircrowd.fair.certificate import Certificate
from faircrowd.fair.gap import gap_of, within
from faircrowd.fair.known_labels import GoldEstimates
from faircrowd.fair.promise.statement import Promise
from faircrowd.report.belief_and_truth import Pair, believed_accuracy, truth_facts, warning
from faircrowd.report.shown_groups import not_shown, shown_groups
from faircrowd.report.words.belief_notes import CertainChanges, belief_notes, certain_changes, independence_of
from faircrowd.report.words.fair_words import (
    cost_in_words,
    estimate_texts,
    estimated_gap_in_words,
    excess_in_words,
    gap_in_words,
    proof_in_words,
)
from faircrowd.report.words.unvoted_labels import unvoted_changes
from faircrowd.votes import VoteTable
from faircrowd.votes.group_policy import left_out_lines
from faircrowd.votes.scoring import share_right
from faircrowd.votes.vocabulary import Codes, value_name

__all__ = ["Summary", "estimate_facts", "fair_lines", "group_facts", "rule_lines", "summarise"]

_SMALL_GROUP = 30
_TASKS_PER_PIECE = 1 << 18
_MAX_SHOWN_CHANGES = 8
_MAX_SHOWN_GROUPS = 6
_MAX_SHOWN_RULE = 16


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
    left_out : dict
        The groups that are left out of ``gap`` and of the constraint on it, with the reason.
    merged_groups : list of str
        Small groups that became the last group.
    gap_between : list of str or None
        Where the gap is: the class, and the groups with its largest and smallest share.
    ties : int
        Tasks whose best classes are tied.
    alpha : float or None
        Krippendorff's alpha of the votes: 1 for full agreement, 0 for agreement by chance; None if it is not defined,
        as where all votes are alike, and for votes in Spark.
    believed_accuracy : float or None
        Mean posterior probability of the labels: their accuracy if the posterior is right.
    believed_accuracy_before : float or None
        The same of the aggregator's own labels, where the labels were made fair.
    accuracy : float or None
        Real accuracy: the share of right labels among the tasks whose truth is known.
    accuracy_before : float or None
        The same of the aggregator's own labels, where the labels were made fair.
    accuracy_by_group : dict or None
        In each group: the real accuracy of the aggregator's own labels, and of the fair ones.
    accuracy_in_sample : bool
        Whether the model learned from the same labels, so that its accuracy does not test it.
    truths : int or None
        Number of tasks whose truth is known.
    truth_gap : float or None
        The gap of the true labels themselves; with ``truth_gap_between``, ``truth_shares`` and ``truth_tasks`` as for
        the labels.
    estimated_accuracy, estimated_accuracy_before, estimated_price, estimated_truth_gap : AccuracyEstimate or None
        The accuracy, what fairness costs of it, and the gap of the true labels, as estimated from the known labels that
        the model was calibrated on.
    estimated_by_group : dict or None
        The accuracy in each group, as estimated; None for groups with too few known labels.
    independence : Independence or None
        Whether the votes of a task are independent given its class; None if the method does not assume it.
    certain_changes : CertainChanges or None
        How many of the labels that were changed to be fair were certain; None if none was changed.
    unvoted_changes : int or None
        How many labels were changed to one that none of the voters of the task gave; None without fair labels, and
        where it is not known: judges gave probabilities, or votes are in Spark.
    made_fair : bool or None
        Whether the labels were made fair to the groups, which takes an epsilon; None without groups.
    group_columns : list of str or None
        Under a list of constraints, the columns that ``group_shares``, ``gap`` and ``truth_gap`` are about.
    reviewed : int or None
        Under a review budget, the number of tasks that are sent to a person. They count as right, and toward shares and
        gap by their posterior, as the constraints count them.
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
    left_out: dict[str, str] = field(default_factory=dict)
    merged_groups: list[str] = field(default_factory=list)
    ties: int = 0
    alpha: float | None = None
    believed_accuracy: float | None = None
    believed_accuracy_before: float | None = None
    accuracy: float | None = None
    accuracy_before: float | None = None
    accuracy_by_group: dict[str, tuple[float, float]] | None = None
    accuracy_in_sample: bool = False
    truths: int | None = None
    truth_gap: float | None = None
    truth_gap_between: list[str] | None = None
    truth_shares: dict[str, dict[str, float]] | None = None
    truth_tasks: dict[str, int] | None = None
    estimated_accuracy: AccuracyEstimate | None = None
    estimated_accuracy_before: AccuracyEstimate | None = None
    estimated_price: AccuracyEstimate | None = None
    estimated_by_group: dict[str, AccuracyEstimate | None] | None = None
    estimated_truth_gap: AccuracyEstimate | None = None
    independence: Independence | None = None
    certain_changes: CertainChanges | None = None
    unvoted_changes: int | None = None
    made_fair: bool | None = None
    group_columns: list[str] | None = None
    reviewed: int | None = None
    options: dict[str, Any] = field(default_factory=dict)
    version: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return the summary as plain values, ready for JSON."""
        found = {**asdict(self), "independence": self.independence and self.independence.to_dict()}
        of_constraints = ("group_columns", "reviewed")
        return {name: value for name, value in found.items() if name not in of_constraints or value is not None}

    @property
    def real_price(self) -> float | None:
        """The real accuracy that fair labels gave up; None if it is not known."""
        if self.accuracy is None or self.accuracy_before is None or self.accuracy_in_sample:
            return None
        return self.accuracy_before - self.accuracy

    def pairs(self) -> list[Pair]:
        """Return what is believed beside what is real, where the truth is known and the model did not learn from it."""
        if self.accuracy is None or self.believed_accuracy is None or self.accuracy_in_sample:
            return []
        if self.accuracy_before is None or self.believed_accuracy_before is None:
            return [Pair("accuracy", self.believed_accuracy, self.accuracy, self.truths)]
        price = self.believed_accuracy_before - self.believed_accuracy, self.accuracy_before - self.accuracy
        return [
            Pair("accuracy before fairness", self.believed_accuracy_before, self.accuracy_before, self.truths),
            Pair("accuracy", self.believed_accuracy, self.accuracy, self.truths),
            Pair("price of fairness", *price, self.truths, is_difference=True),
        ]

    def lines(self) -> list[tuple[str, str]]:
        """Return the summary as pairs of a heading and a text."""
        said = [
            ("read", f"{self.rows['rows_read']:,} rows, {self.rows['rows_aside']:,} set aside, {self.votes:,} votes"),
            ("crowd", f"{self.tasks:,} tasks, {self.workers:,} workers, {self.classes:,} classes"),
            ("method", self.method + self._rounds()),
            ("agreement", f"{self.agreement:.1%} of the votes agree with the label of their task"),
            ("labels", _shares(self.class_shares)),
        ]
        if self.group_shares is not None and self.group_columns is None:  # else each constraint lists its own groups
            sizes = self.group_tasks or {}
            rates = np.array([list(shares.values()) for shares in self.group_shares.values()])
            shown = [list(self.group_shares)[a] for a in shown_groups(rates)]
            said += [
                (
                    f"group {name}",
                    f"{_tasks(sizes.get(name, 0))}, {_shares(self.group_shares[name])}{self._left_out(name)}",
                )
                for name in shown
            ]
            if rest := not_shown(len(rates)):
                said.append(("groups", rest.strip()))
            said.append(("gap", f"{self.gap:.3f}{_where(self.gap, self.gap_between, self.group_shares)}"))
        if self.truth_gap is not None:
            where = _where(self.truth_gap, self.truth_gap_between, self.truth_shares)
            some = "" if self.truths == self.tasks else f", of the {self.truths:,} tasks whose truth is known"
            found = f"{self.truth_gap:.3f} between the true labels of the groups{self._columns}{some}{where}"
            said.append(("true gap", found + self._forced(self.truth_gap)))
        elif self.estimated_truth_gap is not None:
            gap = self.estimated_truth_gap
            found, how = f"{gap.estimate:.3f}", ", by all of them: they are known"
            if gap.n_gold < self.tasks:
                found, how = estimated_gap_in_words(gap), f", by {gap.n_gold:,} known labels"
            untold = ", which cannot tell whether the groups truly differ" if gap.low == 0 < gap.high else ""
            where = f"between the true labels of the groups{self._columns}"
            said.append(("true gap", f"{found} {where}{how}{untold}{self._forced(gap.low)}"))
        if self.estimated_accuracy is not None:
            said.append(("estimated", self._estimated(self.estimated_accuracy)))
            if self.estimated_by_group and not self.accuracy_by_group:
                said.append(("by group", _estimates_in_words(self.estimated_by_group)))
        elif self.estimated_accuracy_before is not None:
            said.append(("estimated", f"accuracy before fairness {self.estimated_accuracy_before}"))
        if self.believed_accuracy is not None:
            believed = f"{self.believed_accuracy:.1%} accuracy{self._before(believed=True)}"
            said.append(("believed", f"{believed}: the mean posterior probability of the labels"))
        if self.accuracy is not None:
            which = "it learned from (not a test)" if self.accuracy_in_sample else "whose truth is known"
            real = f"{self.accuracy:.1%} of the {self.truths:,} tasks {which}{self._before(believed=False)}"
            said.append(("accuracy", real))
            if self.accuracy_by_group and not self.accuracy_in_sample:
                said.append(("by group", _by_group_in_words(self.accuracy_by_group)))
        return [*said, *(("warning", line) for line in self.warnings_of_belief)]

    def notes(self, *, of_audit: bool = False) -> list[str]:
        """Return what a reader should know before trusting the numbers; an audit cannot make labels fair itself."""
        said = []
        if self.made_fair is False:
            how = "faircrowd aggregate with epsilon=..." if of_audit else "epsilon=..."
            said.append(f"the labels are not made fair to the groups; {how} bounds the gap between them")
        if self.converged is False:
            said.append("the rounds ran out before the model converged; raise n_iter, or tol")
        if self.ties:
            rule = self.options.get("parameters", {}).get("ties", "first")
            tasks = f"{self.ties:,} task{'s' * (self.ties != 1)}"
            said.append(f"{tasks} with tied classes: the {rule} of them wins (ties={rule!r})")
        sizes = self.group_tasks or {}
        said += left_out_lines(self.left_out, sizes, self.merged_groups)
        small = [name for name, n in sizes.items() if n < _SMALL_GROUP and name not in self.left_out]
        if small:
            said.append(f"groups of fewer than {_SMALL_GROUP} tasks tell little: {few(small)}")
        return [*said, *(self.doubts if self.is_scored else [])]  # otherwise they are among the lines

    @property
    def is_scored(self) -> bool:
        """Whether known labels tell the accuracy, or an estimate of it."""
        return self.estimated_accuracy is not None or (self.accuracy is not None and not self.accuracy_in_sample)

    @property
    def warnings_of_belief(self) -> list[str]:
        """How far the believed accuracy is off where known labels tell it, else why it may be."""
        if not self.is_scored:
            return self.doubts
        found = warning(self.pairs())
        return [] if found is None else [found]

    @property
    def doubts(self) -> list[str]:
        """Why the believed accuracy may be far off, if there are signs of it."""
        return belief_notes(self.independence, self.certain_changes, is_scored=self.is_scored)

    def _forced(self, true_gap: float) -> str:
        """Say that fair labels are closer than the true ones, which are this far apart at least."""
        is_closer = self.made_fair and self.gap is not None and round(self.gap, 3) < round(true_gap, 3)
        return "; labels that are closer cannot all be right" if is_closer else ""

    @property
    def _columns(self) -> str:
        return f" of {' * '.join(self.group_columns)}" if self.group_columns else ""

    def _left_out(self, name: str) -> str:
        return f"; left out of the gap: {self.left_out[name]}" if name in self.left_out else ""

    def _before(self, *, believed: bool) -> str:
        before = self.believed_accuracy_before if believed else self.accuracy_before
        return "" if before is None else f" ({before:.1%} before fairness)"

    def _estimated(self, accuracy: AccuracyEstimate) -> str:
        before, price = self.estimated_accuracy_before, self.estimated_price
        if before is None or price is None:
            return f"accuracy {accuracy}"
        cost, low, high = estimate_texts(price, "points")
        around = "" if price.n_gold == self.tasks else f" ({low} to {high})"
        counted = f"{accuracy.estimate:.1%}, counted: all tasks are known"
        told = str(accuracy) if accuracy.n_gold < self.tasks else counted
        return f"accuracy {told}; {before.estimate:.1%} before fairness, whose price is {cost}{around}"

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
    estimates: GoldEstimates | None = None,
    group_columns: Sequence[str] | None = None,
    reviewed: NDArray[np.bool_] | None = None,
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
    estimates : GoldEstimates, optional
        What known labels say about the fair labels.
    group_columns : sequence of str, optional
        Under a list of constraints: the columns of the groups.
    reviewed : ndarray of bool, optional
        Under a review budget: which tasks are sent to a person; ``fair`` has the aggregator's own label of these.
    """
    labels, n_classes = posterior.label_codes if fair is None else fair, len(posterior.classes)
    names = posterior.classes.names
    agree, total = agreement(LocalEngine(votes), labels, votes.n_workers)
    grouped: dict[str, Any] = {}
    if votes.groups is not None and votes.group is not None:
        counts: NDArray[Any] = label_counts(votes.group, labels, len(votes.groups), n_classes)
        if reviewed is not None:
            counts = counts + _by_posterior(votes.group, labels, posterior.values, reviewed, len(votes.groups))
        grouped = group_facts(counts, votes.groups.names, names, votes.left_out)
        grouped["merged_groups"] = list(map(value_name, votes.merged_groups))
    own = None if fair is None else posterior.label_codes
    right = share_right(_as_reviewed(labels, truth, reviewed), truth)
    pieces = (
        labels[i : i + _TASKS_PER_PIECE] for i in range(0, labels.size, _TASKS_PER_PIECE)
    )  # bincount copies what it counts
    counted = sum((np.bincount(piece, minlength=n_classes) for piece in pieces), np.zeros(n_classes, dtype=np.int64))
    moved = 0.0 if reviewed is None else _by_posterior(np.zeros_like(labels), labels, posterior.values, reviewed, 1)[0]
    shares = (counted + moved) / max(labels.size, 1)
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
        alpha=_known(krippendorff_alpha(votes).alpha),
        believed_accuracy=believed_accuracy(posterior.values, labels, reviewed),
        believed_accuracy_before=None if own is None else believed_accuracy(posterior.values, own),
        accuracy=right,
        accuracy_before=None if own is None else share_right(own, truth),
        accuracy_by_group=None if own is None else _by_group(votes, own, _as_reviewed(labels, truth, reviewed), truth),
        accuracy_in_sample=in_sample and right is not None,
        truths=None if truth is None or right is None else int(np.count_nonzero(truth != -1)),
        **estimate_facts(model, estimates, is_fair=fair is not None),
        independence=independence_of(model),
        certain_changes=None if fair is None else certain_changes(model, posterior, fair),
        unvoted_changes=None if own is None else unvoted_changes(votes, own, labels, reviewed),
        made_fair=fair is not None if "gap" in grouped else None,
        group_columns=None if group_columns is None else list(group_columns),
        reviewed=None if reviewed is None else int(reviewed.sum()),
        options=options or {},
        version=__version__,
        **grouped,
        **truth_facts(votes, truth, names),
    )


def _by_posterior(
    group: Codes, labels: Codes, posterior: NDArray[np.float64], reviewed: NDArray[np.bool_], n_groups: int
) -> NDArray[np.float64]:
    """Return what to add to counts of labels by group, so that reviewed tasks count by their posterior."""
    rows = np.flatnonzero(reviewed)
    added = np.zeros((n_groups, posterior.shape[1]))
    np.add.at(added, group[rows], posterior[rows])
    np.add.at(added, (group[rows], labels[rows]), -1.0)
    return added


def _as_reviewed(labels: Codes, truth: Codes | None, reviewed: NDArray[np.bool_] | None) -> Codes:
    """Return labels in which a person has found the truth of reviewed tasks, where it is known."""
    return labels if truth is None or reviewed is None else np.where(reviewed, truth, labels)


def _by_group(
    votes: VoteTable, own: Codes, labels: Codes, truth: Codes | None
) -> dict[str, tuple[float, float]] | None:
    """Return the share of right labels of each group, before and after; None if there is no truth or no group."""
    if votes.groups is None or votes.group is None or truth is None:
        return None
    known = np.flatnonzero(truth != -1)
    group, n_groups = votes.group[known], len(votes.groups)
    tasks = np.bincount(group, minlength=n_groups)
    before, after = (
        np.bincount(group, weights=codes[known] == truth[known], minlength=n_groups) for codes in (own, labels)
    )
    rows = zip(votes.groups.names, tasks.tolist(), before.tolist(), after.tolist(), strict=True)
    return {name: (one / n, other / n) for name, n, one, other in rows if n}


def _by_group_in_words(right: Mapping[str, tuple[float, float]]) -> str:
    """Return where labels became right less or more often, the largest loss first if groups are many.

    Examples
    --------
    >>> _by_group_in_words({"a": (0.8, 0.7), "b": (0.6, 0.6)})
    '70.0% in group a (80.0% before), 60.0% in group b (as before)'
    """
    shown = list(right.items())
    if len(shown) > _MAX_SHOWN_GROUPS:
        shown = sorted(shown, key=lambda item: item[1][1] - item[1][0])[:_MAX_SHOWN_GROUPS]
    said = []
    for name, (before, after) in shown:
        was = "as before" if f"{before:.1%}" == f"{after:.1%}" else f"{before:.1%} before"
        said.append(f"{after:.1%} in group {name} ({was})")
    rest = len(right) - len(shown)
    return ", ".join(said) + (f" and {rest:,} more groups, which lost less" if rest > 0 else "")


def _estimates_in_words(found: Mapping[str, AccuracyEstimate | None]) -> str:
    """Return the accuracy of groups as estimated, those with the lowest first if groups are many.

    Examples
    --------
    >>> _estimates_in_words({"a": AccuracyEstimate(0.8, 0.7, 0.9, 0.95, 40), "b": None})
    'estimated 80.0% (70.0% to 90.0%) in group a, too few known labels in group b'
    """
    shown = list(found.items())
    if len(shown) > _MAX_SHOWN_GROUPS:
        shown = sorted(shown, key=lambda item: 2.0 if item[1] is None else item[1].estimate)[:_MAX_SHOWN_GROUPS]
    said = []
    for name, one in shown:
        value, low, high = ("too few known labels", "", "") if one is None else estimate_texts(one)
        said.append(f"{value} in group {name}" if one is None else f"{value} ({low} to {high}) in group {name}")
    first = "" if shown[0][1] is None else "estimated "
    rest = len(found) - len(shown)
    return first + ", ".join(said) + (f" and {rest:,} more groups" if rest > 0 else "")


def estimate_facts(model: Aggregator, estimates: GoldEstimates | None, *, is_fair: bool) -> dict[str, Any]:
    """Return what a summary holds of accuracy as estimated from known labels.

    Parameters
    ----------
    estimates : GoldEstimates, optional
        Of fair labels; not known of votes in Spark.
    is_fair : bool
        Whether the labels were made fair.
    """
    if estimates is None:
        name = "estimated_accuracy_before" if is_fair else "estimated_accuracy"
        return {name: model.accuracy_} if isinstance(model, CalibratedCrowd) else {}
    return {
        "estimated_accuracy": estimates.accuracy,
        "estimated_accuracy_before": estimates.accuracy_before,
        "estimated_price": estimates.price,
        "estimated_by_group": estimates.group_accuracy,
        "estimated_truth_gap": estimates.truth_gap,
    }


def fair_lines(
    certificate: Certificate, real_price: float | None = None, estimated_price: AccuracyEstimate | None = None
) -> list[tuple[str, str]]:
    """Return what fair labels reached and what they cost, as pairs of a heading and a text.

    Parameters
    ----------
    certificate : Certificate
    real_price : float, optional
        The real accuracy that they gave up, where it is known.
    estimated_price : AccuracyEstimate, optional
        The accuracy that they gave up as estimated from known labels.
    """
    c = certificate
    if c.changed == 0 and within(c.gap, c.epsilon):
        found = f"the gap was {c.gap_before:.3f}, within epsilon {c.epsilon:g}; no label was changed"
    else:
        found = (
            f"the gap {gap_in_words(c)}; {c.changed:,} of {c.tasks:,} labels changed ({c.changed_share:.1%}), "
            f"{cost_in_words(c, real_price, estimated_price)}"
        )
    lines = [("fair", found)]
    if (excess := excess_in_words(c)) is not None:
        lines.append(("note", excess))
    if c.promise is not None:
        lines.append(("promise", str(Promise(**c.promise))))
    lines.append(("optimum" if c.optimal else "bound", proof_in_words(c)))
    changes = c.changes
    if len(changes) > _MAX_SHOWN_CHANGES:  # the largest are shown
        changes = sorted(changes, key=lambda row: -row["tasks"])
    moved = [f"{row['tasks']:,} in group {row['group']} from {row['before']} to {row['after']}" for row in changes]
    if moved:
        rest = sum(row["tasks"] for row in changes[_MAX_SHOWN_CHANGES:])
        others = len(moved) - _MAX_SHOWN_CHANGES
        more = [f"{rest:,} in {others} other way{'s' * (others != 1)} (see labels.csv)"] if rest else []
        lines.append(("changed", "; ".join([*moved[:_MAX_SHOWN_CHANGES], *more])))
    lines += rule_lines(c.thresholds)
    if c.promise is not None and c.promise["rule"]:
        lines += rule_lines(c.promise["rule"], "new tasks")
    return lines


def rule_lines(words: str, heading: str = "rule") -> list[tuple[str, str]]:
    r"""Return a rule in words as pairs of a heading and a text, one line each.

    Examples
    --------
    >>> rule_lines("a: above 0.5\nb: above 0.6")
    [('rule', 'a: above 0.5'), ('', 'b: above 0.6')]
    >>> rule_lines("\n".join(f"group {a}: above 0.5" for a in range(20)))[-1]
    ('', 'and 4 more lines (see rule.json)')
    """
    rule = [line.rstrip() for line in words.splitlines()]
    more = [f"and {len(rule) - _MAX_SHOWN_RULE:,} more lines (see rule.json)"] if len(rule) > _MAX_SHOWN_RULE else []
    headings = [heading, *[""] * len(rule)]
    return list(zip(headings, [*rule[:_MAX_SHOWN_RULE], *more], strict=False))


def group_facts(
    counts: NDArray[Any], groups: list[str], names: list[str], left_out: Mapping[int, str] | None = None
) -> dict[str, Any]:
    """Return what a summary holds about groups, from the number of labels per group (row) and class (column)."""
    rates = counts / counts.sum(axis=1, keepdims=True)
    compared = [a for a in range(len(groups)) if a not in (left_out or {})] or list(range(len(groups)))
    between = rates[compared]
    k = int(np.argmax(np.ptp(between, axis=0)))
    most, least = (groups[compared[int(find(between[:, k]))]] for find in (np.argmax, np.argmin))
    return {
        "gap": gap_of(between),
        "gap_between": [names[k], most, least],
        "left_out": {groups[a]: why for a, why in (left_out or {}).items()},
        "group_tasks": dict(zip(groups, map(round, counts.sum(axis=1).tolist()), strict=True)),
        "group_shares": {
            group: dict(zip(names, map(float, row), strict=True)) for group, row in zip(groups, rates, strict=True)
        },
    }


def _tied(scores: NDArray[np.float64]) -> int:
    """Count the tasks whose best classes are tied, some tasks at a time."""
    pieces = (scores[i : i + _TASKS_PER_PIECE] for i in range(0, len(scores), _TASKS_PER_PIECE))
    return sum(int(((piece == piece.max(axis=1, keepdims=True)).sum(axis=1) > 1).sum()) for piece in pieces)


def _known(value: float) -> float | None:
    return None if math.isnan(value) else value


def _where(gap: float | None, between: list[str] | None, shares: dict[str, dict[str, float]] | None) -> str:
    """Return the class and the groups that a gap is between."""
    if between is None or shares is None or not gap:
        return ""
    name, high, low = between
    return f" (class {name}: {shares[high][name]:.1%} in group {high}, {shares[low][name]:.1%} in group {low})"


def _tasks(count: int) -> str:
    return f"{count:,} task{'s' * (count != 1)}"


def _shares(shares: dict[str, float], limit: int = 8) -> str:
    shown = [f"{name}: {share:.1%}" for name, share in list(shares.items())[:limit]]
    return ", ".join(shown) + (f" and {len(shares) - limit:,} more classes" if len(shares) > limit else "")
