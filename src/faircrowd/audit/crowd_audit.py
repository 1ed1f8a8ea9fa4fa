"""The audit of a crowd: its workers, how their leanings add up, and how much ties and chance leave open."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from faircrowd._display import Tabular, chart_of
from faircrowd._types import ByTask, FrameLike, TableLike
from faircrowd.audit.agreement import Agreement, krippendorff_alpha
from faircrowd.audit.bootstrap import bootstrap_gap
from faircrowd.audit.intervals import GapInterval, gap_interval
from faircrowd.audit.majority.bounds import MajorityBound, majority_gap_bound
from faircrowd.audit.majority.growing_crowd import MajorityCurve, majority_curve
from faircrowd.audit.majority.majority_gap import CrowdGap, crowd_gap
from faircrowd.audit.majority.tie_range import TieRange, majority_ties
from faircrowd.audit.strata import ConditionalGaps, conditional_gaps
from faircrowd.audit.workers.worker_audit import WorkerAudit, audit_workers
from faircrowd.audit.workers.worker_counts import (
    check_labels_of,
    check_truth,
    compared_groups_in,
    compared_votes,
    groups_in,
    label_counts,
)
from faircrowd.fair.tasks.read_posterior import check_groups
from faircrowd.votes import VoteTable, as_votes
from faircrowd.votes.group_policy import check_comparable
from faircrowd.votes.groups import has_ids, one_value_each
from faircrowd.votes.vocabulary import Codes, as_objects

if TYPE_CHECKING:
    from faircrowd._display import Chart

__all__ = ["CrowdAudit", "audit_by_truth", "audit_crowd"]

_MAX_CURVE_WORKERS = 2000


@dataclass(frozen=True, eq=False, repr=False)
class CrowdAudit(Tabular):
    """What the votes show about a crowd.

    Gaps, and what workers do to them, are between the groups that are not left out; only ``agreement`` and ``strata``
    are about all groups.

    ``to_frame()`` has one row per worker.

    Attributes
    ----------
    workers : WorkerAudit
    agreement : Agreement
        Krippendorff's alpha, over all tasks and by group.
    ties : TieRange
        The smallest and largest gap of the majority over all ways to break its ties.
    interval : GapInterval
        For the labels' gap, if tasks are a random sample.
    bootstrap : GapInterval or None
        For the majority's gap, if tasks and workers are a random sample.
    added_up : CrowdGap or None
        For two classes: the majority's gap that the workers' own rates imply, and the observed one.
    curve : MajorityCurve or None
        For two classes: that gap as more of the workers vote on each task.
    bound : MajorityBound or None
        For two classes: of the majority's gap if every worker voted on every task.
    strata : ConditionalGaps or None
        The labels' gap within strata of a control feature.
    compared : ndarray of int32
        The codes of the groups that are not left out.
    counts : ndarray of int64, shape (n_groups, n_classes)
        Number of labels by group and class.
    """

    _in_short = ("interval", "workers")

    workers: WorkerAudit
    agreement: Agreement
    ties: TieRange
    interval: GapInterval
    bootstrap: GapInterval | None
    added_up: CrowdGap | None
    curve: MajorityCurve | None
    bound: MajorityBound | None
    strata: ConditionalGaps | None
    compared: Codes
    counts: NDArray[np.int64]

    def plot(self, chart: str = "workers") -> "Chart":
        """Return a chart of the audit.

        Parameters
        ----------
        chart : {"workers", "rates"}
            How each worker's votes differ between groups, against the number of votes; or the share of each label in
            each group. Both have intervals.
        """
        return chart_of(self, chart)


def audit_crowd(
    votes: TableLike | VoteTable,
    labels: ByTask,
    *,
    sensitive_features: ByTask | None = None,
    truth: ByTask | None = None,
    posterior: FrameLike | ArrayLike | None = None,
    control: ByTask | None = None,
    confidence: float = 0.95,
    replicates: int = 0,
    random_state: int = 0,
) -> CrowdAudit:
    """Audit votes and the labels made from them.

    Parameters
    ----------
    votes : VoteTable, frame or path
        Votes with at least two groups.
    labels : Series, dict, frame or ndarray of int
        The label of each task by its id, such as ``labels_``; or an array with the class code of each task, in the
        order of ``votes.tasks``.
    sensitive_features : optional
        The group of each task, as in :func:`faircrowd.read_votes`, for votes that have none.
    truth : like labels, optional
        True labels; in an array of codes, they are negative where they are not known.
    posterior : frame or array-like, shape (n_tasks, n_classes), optional
        Of a model: to compare workers on tasks of the same class where the truth is not known.
    control : Series, dict, frame or ndarray, optional
        A feature that may explain a gap, by the id of the task or, in an array, in the order of ``votes.tasks``; the
        gap is also given within each of its values.
    confidence : float
        Of the intervals.
    replicates : int
        Number of replicates of the bootstrap over tasks and workers; 0 leaves it out.
    random_state : int

    Examples
    --------
    >>> from faircrowd import MajorityVote, read_votes, simulate_crowd
    >>> crowd = simulate_crowd(random_state=1)
    >>> votes = read_votes(crowd.votes, sensitive_features=crowd.sensitive_features)
    >>> audit = audit_crowd(votes, MajorityVote().fit(votes).posterior_.label_codes)
    >>> audit.ties.smallest <= audit.interval.gap <= audit.ties.largest
    True
    """
    votes = as_votes(votes, sensitive_features)
    group, groups = groups_in(votes)
    check_comparable(groups, votes.tasks_per_group, votes.left_out)
    labels = check_labels_of(votes, labels)
    strata: Any = control
    if control is not None and has_ids(control):
        codes, values = one_value_each(votes.tasks, control, "control")
        strata = as_objects(values.some(codes))
    workers = audit_by_truth(votes, truth, posterior, confidence)
    compared, between = compared_groups_in(votes), compared_votes(votes)
    counts = label_counts(group, labels, len(groups), votes.n_classes)
    added_up, curve, bound = None, None, None
    if votes.n_classes == 2:
        rates = workers.rates[:, compared, 1]
        added_up = crowd_gap(between, rates)
        known = rates[~np.isnan(rates).any(axis=1)][:_MAX_CURVE_WORKERS]
        if len(known):
            curve, bound = majority_curve(known), majority_gap_bound(known)
    return CrowdAudit(
        workers=workers,
        agreement=krippendorff_alpha(votes),
        ties=majority_ties(between),
        interval=gap_interval(counts[compared], confidence),
        bootstrap=None
        if replicates == 0
        else bootstrap_gap(between, replicates=replicates, confidence=confidence, random_state=random_state),
        added_up=added_up,
        curve=curve,
        bound=bound,
        strata=None if control is None else conditional_gaps(labels, sensitive_features=group, control_features=strata),
        compared=compared,
        counts=counts,
    )


def audit_by_truth(
    votes: VoteTable, truth: ByTask | None, posterior: FrameLike | ArrayLike | None, confidence: float = 0.95
) -> WorkerAudit:
    """Audit the workers alone: by the truth if it is known for some tasks, otherwise by the posterior."""
    check_groups(groups_in(votes)[1])
    if truth is not None and not has_ids(truth):
        truth = np.maximum(np.asarray(truth), -1)
    known = None if truth is None else check_truth(votes, truth)
    by_truth = known is not None and bool((known >= 0).any())
    return audit_workers(
        votes,
        truth=known if by_truth else None,
        posterior=None if by_truth else posterior,
        confidence=confidence,
    )
