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
    "PSEUDO_VOTES",
    "Calibrator",
    "Member",
    "WeightPrior",
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
PSEUDO_VOTES = 0.3
"""Added to the votes for each class, where a model gives shares of votes, or a judge a label: none is zero then."""
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
    slopes : ndarray, shape (n_covariates, n_classes)
        What a unit of each covariate of a task adds to its scores.
    """

    weights: NDArray[np.float64]
    shifts: NDArray[np.float64]
    slopes: NDArray[np.float64] = np.zeros((0, 1))


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
    return np.asarray(np.log((shares + PSEUDO_VOTES) / (votes + scores.shape[1] * PSEUDO_VOTES)))


def evidence(votes_per_task: NDArray[np.float64] | NDArray[np.int64] | float) -> NDArray[np.float64]:
    """Return how much each vote of a task counts, shape (n_tasks or 1, 1): the less, the more votes the task has.

    Examples
    --------
    >>> evidence(np.array([1, 6])).ravel().round(3).tolist()
    [1.0, 0.333]
    """
    votes = np.asarray(votes_per_task, dtype=np.float64).reshape(-1, 1)
    return np.asarray(1 / (1 + _VOTE_CORRELATION * np.maximum(votes - 1, 0)))


def pool(
    logs: Sequence[NDArray[np.float64]],
    calibrator: Calibrator,
    group: Codes | None,
    covariates: NDArray[np.float64] | None = None,
) -> NDArray[np.float64]:
    """Return the scores of tasks (n_tasks, n_classes): logarithms of probabilities, up to a constant per task.

    Parameters
    ----------
    logs : sequence of ndarray, shape (n_tasks, n_classes)
        The log-probabilities of each model, times the :func:`evidence` of the tasks.
    covariates : ndarray, shape (n_tasks, n_covariates), optional
    """
    n_groups = len(calibrator.shifts)
    shifts = calibrator.shifts[group if group is not None and n_groups > 1 else 0]
    scores = np.zeros_like(logs[0]) + shifts
    for weight, part in zip(calibrator.weights, logs, strict=True):
        scores += weight * part
    if covariates is not None:
        scores += covariates @ calibrator.slopes
    return scores


class WeightPrior(NamedTuple):
    """What weights are drawn toward where few labels are known: a normal distribution of their logarithms.

    Attributes
    ----------
    usual : float
        Its mean, the same for all models.
    precision : ndarray, shape (n_models, n_models)
        The inverse of its covariance.
    """

    usual: float
    precision: NDArray[np.float64]


def fit_calibrator(
    logs: Logs,
    truth: Codes,
    group: Codes | None = None,
    n_groups: int = 1,
    *,
    prior: WeightPrior | None = None,
    covariates: NDArray[np.float64] | None = None,
) -> Calibrator:
    """Learn weights and shifts from known labels.

    Minimises the log loss plus a ridge penalty: convex but for the logarithm of the weights, and smooth.

    Parameters
    ----------
    logs : ndarray, shape (n_models, n_known, n_classes)
        Log-probabilities, times the :func:`evidence` of the tasks.
    truth : ndarray of int32, shape (n_known,)
    group : ndarray of int32, shape (n_known,), optional
        If given, each group has shifts of its own, with a stronger penalty toward those of all.
    prior : WeightPrior, optional
        By default the logarithms of the weights are independent, with mean -0.5 and variance 1.
    covariates : ndarray, shape (n_known, n_covariates), optional
        Numbers of the tasks; a unit of each adds something to the score of each class, with the penalty of a shift.
    """
    from scipy.optimize import minimize  # slow to import

    n_models, _, n_classes = logs.shape
    order = natural_order(logs, truth, group)
    logs, truth = logs[:, order], truth[order]
    group = None if group is None else group[order]
    covariates = None if covariates is None else covariates[order]
    n_rows = 0 if group is None else n_groups
    n_slopes = 0 if covariates is None else covariates.shape[1]
    usual = _USUAL_LOG_WEIGHT if prior is None else prior.usual
    start = np.concatenate([np.full(n_models, usual), np.zeros((1 + n_rows + n_slopes) * n_classes)])
    # L-BFGS-B finds the same, but its threads of BLAS take ten times as long on a machine that is busy.
    given = (logs, truth, group, prior, covariates)
    found = minimize(penalised_loss, start, args=given, jac=True, method="BFGS", options={"gtol": 1e-8}).x
    shift, *by_group = found[n_models : start.size - n_slopes * n_classes].reshape(-1, 1, n_classes)
    shifts = shift + np.concatenate(by_group) if by_group else shift
    weights: NDArray[np.float64] = np.exp(found[:n_models])
    slopes = found[start.size - n_slopes * n_classes :].reshape(n_slopes, n_classes)
    return Calibrator(weights.round(_DIGITS), shifts.round(_DIGITS), slopes.round(_DIGITS))


def penalised_loss(
    at: NDArray[np.float64],
    logs: Logs,
    truth: Codes,
    group: Codes | None,
    prior: WeightPrior | None = None,
    covariates: NDArray[np.float64] | None = None,
) -> tuple[float, NDArray[np.float64]]:
    """Return what :func:`fit_calibrator` minimises, and its gradient.

    Parameters
    ----------
    at : ndarray
        The logarithms of the weights, the shift of each class, with ``group`` what is added to it in each group, and
        the slopes of covariates.
    """
    n_models, n_known, n_classes = logs.shape
    n_slopes = 0 if covariates is None else covariates.shape[1]
    weights, shift = np.exp(at[:n_models]), at[n_models : n_models + n_classes]
    more, every = at[n_models + n_classes :].reshape(-1, n_classes), np.arange(n_known)
    by_group, by_covariate = more[: len(more) - n_slopes], more[len(more) - n_slopes :]
    scores = np.einsum("m,mnk->nk", weights, logs) + shift
    if group is not None:
        scores += by_group[group]
    if covariates is not None:
        scores += covariates @ by_covariate
    log_p = log_probabilities(scores, True)
    residual = np.exp(log_p)
    residual[every, truth] -= 1.0
    gradient = [weights * np.einsum("mnk,nk->m", logs, residual), residual.sum(axis=0)]
    if group is not None:
        of_groups = np.zeros_like(by_group)
        np.add.at(of_groups, group, residual)
        gradient.append(of_groups.ravel())
    if covariates is not None:
        gradient.append((covariates.T @ residual).ravel())
    sizes = [n_models, n_classes, by_group.size, by_covariate.size]
    usual, weight_penalty = (_USUAL_LOG_WEIGHT, _WEIGHT_PENALTY) if prior is None else (prior.usual, 0.0)
    penalty = np.repeat([weight_penalty, _SHIFT_PENALTY, _GROUP_PENALTY, _SHIFT_PENALTY], sizes)
    away = at - np.repeat([usual, 0.0, 0.0, 0.0], sizes)
    value, of_penalty = (penalty * away**2).sum(), 2 * penalty * away
    if prior is not None:
        drawn = prior.precision @ away[:n_models]
        value, of_penalty[:n_models] = value + away[:n_models] @ drawn / 2, drawn
    return float(-log_p[every, truth].sum() + value), np.concatenate(gradient) + of_penalty


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
