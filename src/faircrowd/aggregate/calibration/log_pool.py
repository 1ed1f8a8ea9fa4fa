r"""Log-linear pools: one posterior from those of several models, with weights learned from known labels.

The pooled probability of class k for a task is proportional to
:math:`\exp(b_k + e(v) \sum_m w_m \log p_{mk})`, where :math:`p_{mk}` is the probability that model m gives. The votes
of a task depend on each other, and models do not know: :math:`e(v) = 1 / (1 + 0.4 (v - 1))` makes v votes count as
:math:`v e(v)` independent ones, as in a survey with clusters. A weight :math:`w_m` below one makes a model less sure
of itself still. For a single model, v is the mean number of votes; so there is one temperature, and the order of tasks
stays as it is. The shift :math:`b_k` mends that a crowd calls a class too often or too seldom.

Weights and shifts minimise the log loss on the known labels plus a ridge penalty toward :math:`\log w_m = -0.5` and no
shift, which decides where few labels are known. References: Guo et al. (2017) for the temperature; Genest and Zidek
(1986) for log-linear pools; Kish (1965) for clusters (the design effect).
"""

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from faircrowd.aggregate.posterior import log_probabilities, probabilities
from faircrowd.engines import Block
from faircrowd.engines.spark.blocks import Named, Piece
from faircrowd.engines.spark.passes import Steps, run_steps
from faircrowd.exact.sums import PROBABILITY_UNIT, to_limbs
from faircrowd.votes.vocabulary import Codes

__all__ = [
    "Calibrator",
    "Member",
    "belief_limbs",
    "believed_sums",
    "evidence",
    "fit_calibrator",
    "gold_rows",
    "member_logs",
    "natural_order",
    "penalised_loss",
    "pool",
    "pooled_rows",
    "uncalibrated",
]

_USUAL_LOG_WEIGHT = -0.5
_WEIGHT_PENALTY, _SHIFT_PENALTY, _GROUP_PENALTY = 0.5, 2.0, 8.0
_VOTE_CORRELATION = 0.4
"""How much two votes of a task go together, beyond what the models explain: the best for real crowds of 0.2 to 1."""
_PSEUDO_VOTES = 0.3
"""Added to the votes for each class, where a model gives shares of votes: none of them is zero then."""
_SMALLEST_LOG = -700.0
_DIGITS = 6
"""Weights and shifts are rounded to this many digits, beyond which they depend on how the minimum is searched."""

Logs: TypeAlias = NDArray[np.float64]
"""Log-probabilities by model, task and class."""


class Calibrator(NamedTuple):
    """What is learned from known labels.

    Attributes
    ----------
    weights : ndarray, shape (n_models,)
    shifts : ndarray, shape (n_groups or 1, n_classes)
    """

    weights: NDArray[np.float64]
    shifts: NDArray[np.float64]


class Member(NamedTuple):
    """How a model scores a block of votes in Spark.

    Attributes
    ----------
    steps : tuple
        The model's kernel and functions of what it returns, by name.
    worker : ndarray of int32 or None
        The model's own codes of workers, in place of those of the block.
    by_group, is_log : bool
        Whether the kernel sees groups, and whether scores are logarithms.
    votes_per_task : float or None
        See :func:`member_logs`; None stands for each task's own number.
    """

    steps: tuple[tuple[Named, tuple[object, ...]], ...]
    worker: Codes | None
    by_group: bool
    is_log: bool
    votes_per_task: float | None


def uncalibrated(n_models: int, n_classes: int) -> Calibrator:
    """Return the pool that uses no known labels: all models alike."""
    return Calibrator(np.full(n_models, 1 / n_models), np.zeros((1, n_classes)))


def member_logs(
    scores: NDArray[np.float64], is_log: bool, votes_per_task: NDArray[np.float64] | NDArray[np.int64] | float
) -> NDArray[np.float64]:
    """Return the log-probabilities that a model's scores stand for, all of them finite.

    Scores that are sums of weights give shares of votes, many of which are zero or one; they are smoothed as if each
    class had a few more votes. With one number of votes for all tasks this keeps the order of the tasks.
    """
    if is_log:
        return np.maximum(log_probabilities(scores, True), _SMALLEST_LOG)
    total = scores.sum(axis=1, keepdims=True)
    votes = np.asarray(votes_per_task, dtype=np.float64).reshape(-1, 1)
    shares = scores / total * votes
    return np.asarray(np.log((shares + _PSEUDO_VOTES) / (votes + scores.shape[1] * _PSEUDO_VOTES)))


def evidence(votes_per_task: NDArray[np.float64] | NDArray[np.int64] | float) -> NDArray[np.float64]:
    """Return how much each vote of a task counts, shape (n_tasks or 1, 1): the less, the more votes the task has.

    Examples
    --------
    >>> evidence(np.array([1, 6])).ravel().round(3).tolist()
    [1.0, 0.333]
    """
    votes = np.asarray(votes_per_task, dtype=np.float64).reshape(-1, 1)
    return np.asarray(1 / (1 + _VOTE_CORRELATION * np.maximum(votes - 1, 0)))


def pool(logs: Sequence[NDArray[np.float64]], calibrator: Calibrator, group: Codes | None) -> NDArray[np.float64]:
    """Return the scores of tasks (n_tasks, n_classes): logarithms of probabilities, up to a constant per task.

    Parameters
    ----------
    logs : sequence of ndarray, shape (n_tasks, n_classes)
        The log-probabilities of each model, times the :func:`evidence` of the tasks.
    """
    n_groups = len(calibrator.shifts)
    shifts = calibrator.shifts[group if group is not None and n_groups > 1 else 0]
    scores = np.zeros_like(logs[0]) + shifts
    for weight, part in zip(calibrator.weights, logs, strict=True):
        scores += weight * part
    return scores


def fit_calibrator(logs: Logs, truth: Codes, group: Codes | None = None, n_groups: int = 1) -> Calibrator:
    """Learn weights and shifts from known labels.

    Minimises the log loss plus a ridge penalty: convex but for the logarithm of the weights, and smooth.

    Parameters
    ----------
    logs : ndarray, shape (n_models, n_known, n_classes)
        Log-probabilities, times the :func:`evidence` of the tasks.
    truth : ndarray of int32, shape (n_known,)
    group : ndarray of int32, shape (n_known,), optional
        If given, each group has shifts of its own, with a stronger penalty toward those of all.
    """
    from scipy.optimize import minimize  # slow to import

    n_models, _, n_classes = logs.shape
    order = natural_order(logs, truth, group)
    logs, truth = logs[:, order], truth[order]
    group = None if group is None else group[order]
    n_rows = 0 if group is None else n_groups
    start = np.concatenate([np.full(n_models, _USUAL_LOG_WEIGHT), np.zeros((1 + n_rows) * n_classes)])
    # L-BFGS-B finds the same, but its threads of BLAS take ten times as long on a machine that is busy.
    found = minimize(
        penalised_loss, start, args=(logs, truth, group), jac=True, method="BFGS", options={"gtol": 1e-8}
    ).x
    shift, *by_group = found[n_models:].reshape(-1, 1, n_classes)
    shifts = shift + np.concatenate(by_group) if by_group else shift
    weights: NDArray[np.float64] = np.exp(found[:n_models])
    return Calibrator(weights.round(_DIGITS), shifts.round(_DIGITS))


def penalised_loss(
    at: NDArray[np.float64], logs: Logs, truth: Codes, group: Codes | None
) -> tuple[float, NDArray[np.float64]]:
    """Return what :func:`fit_calibrator` minimises, and its gradient.

    Parameters
    ----------
    at : ndarray
        The logarithms of the weights, the shift of each class and, with ``group``, what is added to it in each group.
    """
    n_models, n_known, n_classes = logs.shape
    weights, shift = np.exp(at[:n_models]), at[n_models : n_models + n_classes]
    by_group, every = at[n_models + n_classes :].reshape(-1, n_classes), np.arange(n_known)
    scores = np.einsum("m,mnk->nk", weights, logs) + shift
    if group is not None:
        scores += by_group[group]
    log_p = log_probabilities(scores, True)
    residual = np.exp(log_p)
    residual[every, truth] -= 1.0
    slopes = [weights * np.einsum("mnk,nk->m", logs, residual), residual.sum(axis=0)]
    if group is not None:
        of_groups = np.zeros_like(by_group)
        np.add.at(of_groups, group, residual)
        slopes.append(of_groups.ravel())
    sizes = [n_models, n_classes, by_group.size]
    penalty = np.repeat([_WEIGHT_PENALTY, _SHIFT_PENALTY, _GROUP_PENALTY], sizes)
    away = at - np.repeat([_USUAL_LOG_WEIGHT, 0.0, 0.0], sizes)
    value = -log_p[every, truth].sum() + (penalty * away**2).sum()
    return float(value), np.concatenate(slopes) + 2 * penalty * away


def natural_order(logs: Logs, truth: Codes, group: Codes | None = None) -> NDArray[np.int64]:
    """Return an order of tasks that depends on what is known of them: first on what the first model says.

    The names and places of tasks do not matter; nor do names of classes and groups, unless all else is equal.
    """
    n_tasks = truth.size
    of_truth = logs[:, np.arange(n_tasks), truth]
    ranked, plain = (values.transpose(0, 2, 1).reshape(-1, n_tasks) for values in (np.sort(logs, axis=2), logs))
    keys = [*plain, truth, *([] if group is None else [group]), *of_truth, *ranked[::-1]]
    return np.lexsort(keys)


# What follows runs over blocks of votes in Spark. Models in memory have their scores in arrays.


def pooled_rows(block: Block, members: Sequence[Member], calibrator: Calibrator) -> NDArray[np.float64]:
    """Return the pooled scores of the tasks of a block."""
    return pool(_block_evidence(block, members), Calibrator(*calibrator), block.group if block.group.size else None)


def gold_rows(
    block: Block, members: Sequence[Member]
) -> tuple[NDArray[np.float64], NDArray[np.int32], NDArray[np.int32], NDArray[np.int64]]:
    """Return, for the tasks of a block whose label is known: logs by model and class, label, group, number of votes."""
    logs = np.stack(_block_logs(block, members), axis=1)
    known = block.gold >= 0 if block.gold.size else np.zeros(len(logs), dtype=bool)
    group = block.group if block.group.size else np.zeros(len(logs), dtype=np.int32)
    truth = block.gold if block.gold.size else np.empty(0, dtype=np.int32)
    return logs[known], truth[known] if truth.size else truth, group[known], np.diff(block.offsets)[known]


def believed_sums(
    block: Block, members: Sequence[Member], calibrators: Sequence[Calibrator]
) -> tuple[NDArray[np.int64]]:
    """Return, for each of some calibrators, what :func:`belief_limbs` sums over the tasks of a block."""
    logs = _block_evidence(block, members)
    group = block.group if block.group.size else None
    return (np.stack([belief_limbs(pool(logs, Calibrator(*calibrator), group)) for calibrator in calibrators]),)


def belief_limbs(scores: NDArray[np.float64]) -> NDArray[np.int64]:
    """Sum the confidence f of the labels that have the highest scores, and f (1 - f), as limbs."""
    top = probabilities(scores, True).max(axis=1, initial=0.0)
    return np.array([[limb.sum() for limb in to_limbs(values, PROBABILITY_UNIT)] for values in (top, top * (1 - top))])


def _block_evidence(block: Block, members: Sequence[Member]) -> list[NDArray[np.float64]]:
    """Return the log-probabilities of each model, times the evidence of the tasks."""
    of_task = evidence(_votes(block, Member._make(members[0])))
    return [logs * of_task for logs in _block_logs(block, members)]


def _block_logs(block: Block, members: Sequence[Member]) -> list[NDArray[np.float64]]:
    found = []
    nothing = np.empty(0, dtype=np.int32)
    for member in map(Member._make, members):
        seen = block._replace(group=block.group if member.by_group else nothing, gold=nothing)
        if member.worker is not None:
            seen = seen._replace(worker=member.worker[block.worker])
        steps: Steps = tuple((Named(*function).find(), arguments) for function, arguments in member.steps)
        scores = run_steps(steps, Piece(seen, seen.group, None), False)
        found.append(member_logs(np.asarray(scores, dtype=np.float64), member.is_log, _votes(block, member)))
    return found


def _votes(block: Block, member: Member) -> NDArray[np.int64] | float:
    return np.diff(block.offsets) if member.votes_per_task is None else member.votes_per_task
