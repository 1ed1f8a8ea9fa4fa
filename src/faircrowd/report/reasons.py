"""The reason for the label of each task, as text."""

from typing import Any, NamedTuple

import numba
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from faircrowd.fair.make import FairResult
from faircrowd.fair.program.atoms import merge
from faircrowd.fair.tasks.left_out import compared_groups
from faircrowd.votes.vocabulary import Codes

__all__ = ["Reasons"]

_ROUNDING = 1e-15
_NEAR = 1e-9


class Reasons:
    """The columns of labels.csv that give the reason for each label.

    Parameters
    ----------
    result : FairResult

    Examples
    --------
    >>> from faircrowd import make_fair
    >>> result = make_fair([[0.1, 0.9], [0.3, 0.7], [0.4, 0.6], [0.8, 0.2]], [0, 0, 1, 1], epsilon=0.5)
    >>> Reasons(result).columns(slice(0, 2))["why"].to_pylist()
    ["above group 0's threshold 0.5", "above group 0's threshold 0.5"]
    """

    def __init__(self, result: FairResult) -> None:
        self.result = result
        self._near = _ROUNDING if _is_sorted(result) else _NEAR
        self._drawn = result.certificate.decision == "randomized"
        self._ranks = None if self._drawn else _ranks(result)
        self._texts = pa.array(
            _price_texts(result) if result.rule_of_labels.thresholds is None else _threshold_texts(result)
        )

    def columns(self, rows: slice) -> dict[str, Any]:
        """Return the threshold of the group (two classes) and the reason for the label of some tasks."""
        group, thresholds = self.result.problem.group[rows], self.result.rule_of_labels.thresholds
        return {**({} if thresholds is None else {"threshold": thresholds[group]}), "why": self._why(rows)}

    def _why(self, rows: slice) -> Any:
        """Return the reason for each label: above or below a threshold, the rank in a tie, or the random draw."""
        problem, rule, labels = self.result.problem, self.result.rule_of_labels, self.result.solved.labels[rows]
        group, changed = problem.group[rows], labels != problem.own[rows]
        scores = rule.scores(problem.posterior[rows], group)
        first, second = (-np.partition(-scores, 1, axis=1)[:, :2]).T
        reached = np.take_along_axis(scores, labels[:, None].astype(np.int64), axis=1)[:, 0]
        # 0: the best label by the rule; 1: one of several; 2: another, as deterministic labels are whole tasks.
        kind = np.where(first - reached > self._near, 2, np.where(first - second > self._near, 0, 1))
        if rule.thresholds is not None:
            code = group * 6 + 2 * kind + np.where(kind == 1, changed, labels)
        else:
            n = problem.n_classes
            place = np.choose(kind, [labels, 2 * n + changed, n + labels])
            code = np.where((kind == 0) & ~changed, 0, 1 + group * (2 * n + 2) + place)
        said = pa.DictionaryArray.from_arrays(pa.array(code.astype(np.int32)), self._texts).cast(pa.string())
        tied, words = self._ties(rows, labels, changed)
        if tied.size:
            mask = np.zeros(labels.size, dtype=bool)
            mask[tied] = True
            said = pc.replace_with_mask(said, pa.array(mask), pa.array(words))
        for a, why in problem.left_out.items():
            text = f"group {problem.groups.names[a]} is left out of the gap ({why}); the label that gains the most"
            said = pc.if_else(pa.array(group == a), pa.scalar(text), said)
        return said

    def _ties(self, rows: slice, labels: Codes, changed: NDArray[np.bool_]) -> tuple[NDArray[np.int64], list[str]]:
        """Return which of some tasks were decided by a draw or a rank, and the text for each."""
        if self._ranks is None:
            drawn = self.result.solved.probabilities[rows]
            chance = np.take_along_axis(drawn, labels[:, None].astype(np.int64), axis=1)[:, 0]
            tied = np.flatnonzero(chance < 1)
            return tied, [f"tie, drawn with probability {p:.4g}" for p in chance[tied]]
        low, high = np.searchsorted(self._ranks.task, [rows.start, rows.stop])
        tied, rank, total = (part[low:high] for part in self._ranks)
        tied = tied - rows.start
        how = np.where(changed[tied], "changed", "kept")
        return tied, [f"tie, {h} by rank {r:,} of {n:,}" for h, r, n in zip(how, rank, total, strict=True)]


def _is_sorted(result: FairResult) -> bool:
    """Return whether the labels come from sorting two groups, not from a program with approximate multipliers."""
    return result.problem.n_classes == 2 and compared_groups(result.problem).size == 2


def _threshold_texts(result: FairResult) -> list[str]:
    """Two classes: return the texts that many tasks share."""
    problem, thresholds, texts = result.problem, result.rule_of_labels.thresholds, []
    assert thresholds is not None  # noqa: S101 - there are two classes
    zero, one = problem.classes.names
    for name, threshold in zip(problem.groups.names, thresholds, strict=True):
        of = f"group {name}'s threshold {threshold:.4g}"
        texts += [f"below {of}", f"above {of}"]
        texts += [f"at {of}; kept", f"at {of}; changed to keep the gap within epsilon"]
        texts += [f"above {of}; {zero} by rounding to whole tasks", f"below {of}; {one} by rounding to whole tasks"]
    return texts


def _price_texts(result: FairResult) -> list[str]:
    """More classes: return the texts that many tasks share."""
    problem, texts = result.problem, ["the likeliest label"]
    classes = problem.classes.names
    for name in problem.groups.names:
        texts += [f"group {name}'s prices favour {label} over the likeliest label" for label in classes]
        favour = f"group {name}'s prices favour another label"
        texts += [f"{favour}; {label} by rounding to whole tasks" for label in classes]
        texts += [f"tied in group {name}; kept", f"tied in group {name}; changed to keep the gap within epsilon"]
    return texts


class _Ranks(NamedTuple):
    """Tasks that differ from equal tasks with another label only by their rank among them, in order."""

    task: NDArray[np.int64]
    rank: NDArray[np.int64]
    total: NDArray[np.int64]


def _ranks(result: FairResult) -> _Ranks:
    problem, labels = result.problem, result.solved.labels
    by_odds = problem.log_odds is not None and _is_sorted(result)
    rows = np.arange(labels.size)
    if problem.n_classes == 2:
        key = problem.posterior[:, 1]
        if problem.log_odds is not None and by_odds:
            key = problem.log_odds
        low, high = np.full(problem.n_groups, np.inf), np.full(problem.n_groups, -np.inf)
        rows = _between(key, problem.group, labels, low, high)
    keys = problem.log_odds[rows, None] if by_odds else problem.posterior[rows]  # type: ignore[index]
    of_task = merge(np.ascontiguousarray(keys), problem.group[rows], None).of_task if rows.size else None
    if of_task is None:
        return _Ranks(*np.empty((3, 0), dtype=np.int64))
    least, most = np.full(of_task.max() + 1, np.iinfo(np.int32).max), np.full(of_task.max() + 1, -1)
    np.minimum.at(least, of_task, labels[rows])
    np.maximum.at(most, of_task, labels[rows])
    mixed = (least < most)[of_task]
    # `ordered` returns tasks; the rows are sorted, so a search finds the atom of each.
    tasks = problem.ordered(rows[mixed], result.rule.random_state, of_task[mixed])
    atom = of_task[np.searchsorted(rows, tasks)]
    starts = np.flatnonzero(np.append(True, atom[1:] != atom[:-1])) if tasks.size else np.empty(0, dtype=np.int64)
    sizes = np.diff(np.append(starts, tasks.size))
    rank = np.arange(tasks.size) - np.repeat(starts, sizes) + 1
    by_task = np.argsort(tasks)
    return _Ranks(tasks[by_task], rank[by_task], np.repeat(sizes, sizes)[by_task])


@numba.njit(cache=True, nogil=True)
def _between(
    key: NDArray[np.float64], group: Codes, labels: Codes, low: NDArray[np.float64], high: NDArray[np.float64]
) -> NDArray[np.int64]:
    """Return the tasks of two classes that may be equal to a task with the other label.

    Their key is between the lowest of label 1 and the highest of label 0 in their group.
    """
    for i in range(key.size):
        a = group[i]
        if labels[i] == 1:
            low[a] = min(low[a], key[i])
        else:
            high[a] = max(high[a], key[i])
    count = 0
    for i in range(key.size):
        count += low[group[i]] <= key[i] <= high[group[i]]
    rows, count = np.empty(count, np.int64), 0
    for i in range(key.size):
        if low[group[i]] <= key[i] <= high[group[i]]:
            rows[count] = i
            count += 1
    return rows
