"""The audit of workers: who leans, who does not, who has too few votes to say, and the influence of each."""

from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from faircrowd._checks import check_number
from faircrowd._display import Drawn, Tabular
from faircrowd._types import ByTask, FrameLike, TableLike
from faircrowd.audit.workers.influence import Influence, worker_influence
from faircrowd.audit.workers.leaning import Leaning, compare, judge
from faircrowd.audit.workers.worker_counts import (
    compared_groups_in,
    compared_votes,
    count_votes,
    gold_confusion,
    groups_in,
    model_confusion,
)
from faircrowd.errors import OptionError
from faircrowd.fair.tasks.read_posterior import check_groups
from faircrowd.votes import Vocabulary, VoteTable, as_votes
from faircrowd.votes.style import Style

__all__ = ["LEANS", "NO_SIGN", "TOO_FEW", "WorkerAudit", "audit_workers"]

Counts: TypeAlias = NDArray[np.int64] | NDArray[np.float64]

LEANS, NO_SIGN, TOO_FEW = "leans", "no sign of leaning", "too few votes to say"


@dataclass(frozen=True, eq=False, repr=False)
class WorkerAudit(Drawn, Tabular):
    """What the votes show about each worker. Arrays have one row per worker, in the order of ``workers``.

    ``to_frame()`` has one row per worker: votes by group, own gap with interval, q-value, influence and verdict;
    ``plot()`` shows each worker's own gap, with its interval, against the number of votes.

    Attributes
    ----------
    workers, groups, classes : Vocabulary
    counts : ndarray of int64, shape (n_workers, n_groups, n_classes)
        Votes by group and label.
    leaning : Leaning
        Differences between groups of the worker's rates.
    confusion : ndarray, shape (n_workers, n_groups, n_classes, n_classes), or None
        Votes by group, true class and label; expected counts if they come from a model.
    source : {"gold", "model"} or None
        Where the true classes of ``confusion`` come from.
    given_truth : Leaning or None
        Differences between groups among tasks of the same true class, which is fairer to the worker. With a model's
        true classes it has the gap only, since a model fitted to the same votes gives no valid test.
    influence : Influence
        How the worker changes the majority's gap.
    verdict : ndarray of str
        "leans", "no sign of leaning" or "too few votes to say".
    basis : {"truth", "rates"}
        What the verdict is based on: ``given_truth`` with gold labels, ``leaning`` otherwise.
    confidence, tolerance : float
    style : Style
        The kind of frame that the votes came in, for ``to_frame``.
    """

    _in_short = ("leaning_workers", "unsettled_workers", "n_workers", "basis", "confidence")

    workers: Vocabulary
    groups: Vocabulary
    classes: Vocabulary
    counts: NDArray[np.int64]
    leaning: Leaning
    confusion: Counts | None
    source: str | None
    given_truth: Leaning | None
    influence: Influence
    verdict: NDArray[np.str_]
    basis: str
    confidence: float
    tolerance: float
    style: Style = field(default_factory=Style, repr=False)

    @property
    def n_workers(self) -> int:
        """Number of workers."""
        return len(self.workers)

    @property
    def leaning_workers(self) -> int:
        """How many workers lean."""
        return int((self.verdict == LEANS).sum())

    @property
    def unsettled_workers(self) -> int:
        """How many workers have too few votes to say."""
        return int((self.verdict == TOO_FEW).sum())

    @cached_property
    def votes(self) -> NDArray[np.int64]:
        """Number of votes, shape (n_workers, n_groups)."""
        return np.asarray(self.counts.sum(axis=2))

    @property
    def rates(self) -> NDArray[np.float64]:
        """Share of each label in each group, shape (n_workers, n_groups, n_classes); NaN without votes there."""
        return _share(self.counts, self.votes[:, :, None])

    @property
    def confusion_rates(self) -> NDArray[np.float64] | None:
        """Confusion matrices, one row per true class; NaN where the worker has no votes on that class."""
        return None if self.confusion is None else _share(self.confusion, self.confusion.sum(axis=3, keepdims=True))

    @property
    def accuracy(self) -> NDArray[np.float64] | None:
        """Share of votes that are right according to ``source``, shape (n_workers, n_groups)."""
        if self.confusion is None:
            return None
        return _share(np.trace(self.confusion, axis1=2, axis2=3), self.confusion.sum(axis=(2, 3)))

    @property
    def judged(self) -> Leaning:
        """The leaning that the verdict is based on."""
        return self.leaning if self.given_truth is None or self.basis == "rates" else self.given_truth


def audit_workers(
    votes: TableLike | VoteTable,
    *,
    sensitive_features: ByTask | None = None,
    truth: ByTask | None = None,
    posterior: FrameLike | ArrayLike | None = None,
    confidence: float = 0.95,
    tolerance: float = 0.2,
    shrink: bool = True,
    ties: str = "split",
) -> WorkerAudit:
    """Audit every worker: how their votes differ between the groups that are not left out.

    A worker's rates also differ between groups because the truth does, or because they were given other
    tasks in one group than in the other. So a verdict by rates alone means that votes differ, not that the worker
    is unfair; where true labels are known, the verdict compares tasks of the same true class.

    The verdict is

    - "leans" if the q-value is at most 1 - confidence (see ``judged.label``, ``more`` and ``less``);
    - "no sign of leaning" if not, and the interval of the gap ends at or below ``tolerance``;
    - "too few votes to say" otherwise: more votes would settle it.

    Parameters
    ----------
    votes : VoteTable, frame or path
        Votes with at least two groups.
    sensitive_features : optional
        The group of each task, as in :func:`faircrowd.read_votes`, for votes that have none.
    truth : Series, dict, frame or ndarray of int, optional
        The true label of each task that it is known for, by the id of the task; or an array with the class code of each
        task in the order of ``votes.tasks``, -1 where it is not known.
    posterior : frame or array-like, shape (n_tasks, n_classes), optional
        A model's probability of each class, in place of ``truth``; a frame goes by task and class.
    confidence : float
        Of the intervals; 1 - confidence is the accepted share of wrong verdicts among "leans".
    tolerance : float
        The largest gap that is tolerated.
    shrink : bool
        Whether to shrink the gaps of workers with few votes toward the crowd's; if not, ``shrunken`` is NaN.
    ties : {"split", "first", "last"}
        How ties are broken in the majority whose gap workers influence; see
        :func:`~faircrowd.audit.workers.influence.worker_influence`.

    Examples
    --------
    >>> import faircrowd as fc
    >>> crowd = fc.simulate_crowd(random_state=1)
    >>> votes = fc.read_votes(crowd.votes, sensitive_features=crowd.sensitive_features)
    >>> audit = audit_workers(votes)
    >>> audit.votes.shape, audit.rates.shape
    ((100, 2), (100, 2, 2))
    """
    if truth is not None and posterior is not None:
        raise OptionError("Give truth or a posterior, not both: confusion matrices come from one of them.")
    confidence = check_number("confidence", confidence, low=0.5, high=1 - 1e-9)
    tolerance = check_number("tolerance", tolerance, low=0, high=1)
    votes = as_votes(votes, sensitive_features)
    _, groups = groups_in(votes)
    check_groups(groups)
    counts = count_votes(votes)
    compared = compared_groups_in(votes)
    leaning = judge(counts[:, None, compared], confidence, shrink=shrink).among(compared)
    confusion: Counts | None = None
    source, given_truth = None, None
    if truth is not None:
        confusion, source = gold_confusion(votes, truth), "gold"
        given_truth = judge(confusion.swapaxes(1, 2)[:, :, compared], confidence, shrink=shrink).among(compared)
    elif posterior is not None:
        confusion, source = model_confusion(votes, posterior), "model"
        given_truth = compare(confusion.swapaxes(1, 2)[:, :, compared]).among(compared)
    judged = given_truth if given_truth is not None and source == "gold" else leaning
    return WorkerAudit(
        workers=votes.workers,
        groups=groups,
        classes=votes.classes,
        counts=counts,
        leaning=leaning,
        confusion=confusion,
        source=source,
        given_truth=given_truth,
        influence=worker_influence(compared_votes(votes), ties=ties),
        verdict=_verdicts(judged, confidence, tolerance),
        basis="rates" if judged is leaning else "truth",
        confidence=confidence,
        tolerance=tolerance,
        style=votes.style,
    )


def _verdicts(leaning: Leaning, confidence: float, tolerance: float) -> NDArray[np.str_]:
    leans, fine = leaning.q_value <= 1 - confidence, leaning.high <= tolerance  # NaN is neither
    return np.where(leans, LEANS, np.where(fine, NO_SIGN, TOO_FEW))


def _share(part: Counts, total: Counts) -> NDArray[np.float64]:
    divisor = np.broadcast_to(total, part.shape)
    return np.asarray(np.divide(part, divisor, out=np.full(part.shape, np.nan), where=divisor > 0))
