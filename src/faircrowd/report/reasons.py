"""The reason for the label of each task, as text: why it was kept, or why it was changed and as which of how many."""

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from faircrowd._kernels import kernel
from faircrowd.fair.gap import within
from faircrowd.fair.make import FairResult
from faircrowd.fair.program.atoms import merge
from faircrowd.fair.rule import FairRule
from faircrowd.fair.tasks.left_out import compared_groups
from faircrowd.fair.tasks.problem import Problem
from faircrowd.report.words.belief_notes import CERTAIN
from faircrowd.votes.vocabulary import Codes, Vocabulary

__all__ = ["Reasons"]

_ROUNDING = 1e-15
_NEAR = 1e-9

_BY_RULE, _TIED, _BEYOND = range(3)
"""How a label that was kept stands to the rule: its label, one of several, or not its label."""


class Reasons:
    """The columns of labels.csv that give the reason for each label.

    Parameters
    ----------
    problem : Problem
        The tasks; classes and groups are coded as in the rule.
    rule : FairRule
    labels : ndarray of int32
        The class of each task.
    chances : ndarray, shape (n_tasks, n_classes), optional
        The probability of each label, where some were drawn.
    near : float
        Scores that differ by less are tied.
    is_within : bool
        Whether the labels keep epsilon.
    ranks : bool
        Whether equal tasks with different labels were chosen by rank.
    is_new : bool
        Whether the rule was learned on other tasks.

    Examples
    --------
    >>> from faircrowd import make_fair
    >>> posterior = [[0.1, 0.9], [0.3, 0.7], [0.45, 0.55], [0.8, 0.2], [0.9, 0.1]]
    >>> why = Reasons.of(make_fair(posterior, [0, 0, 0, 1, 1], epsilon=0.7)).columns(slice(0, 5))["why"]
    >>> for line in why.to_pylist():
    ...     print(line)
    kept: its posterior of 1 is above group 0's threshold 0.55
    kept: its posterior of 1 is above group 0's threshold 0.55
    changed from 1 to 0 so that group 0's rate of 1 comes within 0.7; 1 such change
    kept: its posterior of 1 is below group 1's threshold 0.425
    kept: its posterior of 1 is below group 1's threshold 0.425
    """

    def __init__(
        self,
        problem: Problem,
        rule: FairRule,
        labels: Codes,
        chances: NDArray[np.float64] | None = None,
        *,
        near: float = _NEAR,
        is_within: bool = True,
        ranks: bool = True,
        is_new: bool = False,
    ) -> None:
        self.problem, self.rule, self.labels = problem, rule, labels
        self._chances, self._near, self._is_new = chances, near, is_new
        self._classes, self._groups = problem.classes.names, problem.groups.names
        self._changes = _changes(problem, rule, labels, near)
        self._ranks = _ranks(problem, rule, labels) if ranks else _NO_RANKS
        self._kept = pa.array(self._kept_texts(is_within))

    @classmethod
    def of(cls, result: FairResult) -> "Reasons":
        """Return the reasons for the labels of a result."""
        problem, certificate = result.problem, result.certificate
        is_drawn = certificate.decision == "randomized"
        return cls(
            problem,
            result.rule_of_labels,
            result.solved.labels,
            result.solved.probabilities if is_drawn else None,
            near=_ROUNDING if _is_sorted(problem) else _NEAR,
            is_within=within(certificate.gap, certificate.epsilon),
            ranks=not is_drawn,
        )

    @classmethod
    def of_rule(cls, rule: FairRule, problem: Problem, labels: Codes) -> "Reasons":
        """Return the reasons for the labels that a rule gives to new tasks, some perhaps of groups that it lacks."""
        column = Vocabulary.of(list(rule.classes)).code_of(problem.classes.values)
        place = np.array(rule.codes_of_groups(problem))
        strange = np.flatnonzero(place < 0)
        place[strange] = len(rule.groups) + np.arange(strange.size, dtype=np.int32)
        posterior = np.empty_like(problem.posterior)
        posterior[:, column] = problem.posterior
        groups = (*rule.groups, *problem.groups.some(strange))
        left_out = dict.fromkeys(rule.left_out, "it was when the rule was learned")
        coded = replace(
            problem,
            classes=Vocabulary.of(list(rule.classes)),
            groups=Vocabulary.of(list(groups)),
            posterior=posterior,
            group=place[problem.group],
            own=column[problem.own],
            left_out=left_out | {int(place[a]): why for a, why in problem.left_out.items()},
        )
        is_known = coded.group < len(rule.groups)
        chances = np.ones(posterior.shape)
        chances[is_known] = rule.probabilities(posterior[is_known], coded.group[is_known], coded.own[is_known])
        known = replace(  # groups that the rule does not know have no prices, so that tasks keep their own labels
            rule,
            groups=groups,
            prices=np.concatenate([rule.prices, np.zeros((strange.size, len(rule.classes)))]),
            shares=np.append(rule.shares, np.ones(strange.size)),
            precision=None,
            in_turn=None if rule.in_turn is None else rule.in_turn.placed(np.arange(len(rule.groups)), len(groups)),
        )
        found = cls(coded, known, column[labels], chances, ranks=False, is_new=True)
        return found._with_unknown(len(rule.groups))

    def _with_unknown(self, n_known: int) -> "Reasons":
        """Replace the reasons of the groups after the first ``n_known``: the rule does not know these groups."""
        texts, per_group = self._kept.to_pylist(), 3 * self.problem.n_classes
        for a, name in enumerate(self._groups[n_known:], start=n_known):
            texts[a * per_group : (a + 1) * per_group] = [f"kept: the rule does not know group {name}"] * per_group
        self._kept = pa.array(texts)
        return self

    def columns(self, rows: slice) -> dict[str, Any]:
        """Return the threshold of the group (two classes) and the reason for the label of some tasks."""
        group, thresholds = self.problem.group[rows], self.rule.thresholds
        return {**({} if thresholds is None else {"threshold": thresholds[group]}), "why": self._why(rows)}

    def _why(self, rows: slice) -> pa.Array:
        problem, labels = self.problem, self.labels[rows]
        group = problem.group[rows]
        scores = self.rule.scores(problem.posterior[rows], group)
        first, second = (-np.partition(-scores, 1, axis=1)[:, :2]).T
        reached = _chosen(scores, labels)
        kind = np.where(first - reached > self._near, _BEYOND, np.where(first - second > self._near, _BY_RULE, _TIED))
        code = (group * 3 + kind) * problem.n_classes + labels
        said = pa.DictionaryArray.from_arrays(pa.array(code.astype(np.int32)), self._kept).cast(pa.string())
        words: dict[int, str] = {}
        low, high = np.searchsorted(self._ranks.task, [rows.start, rows.stop])
        for task, rank, total, moved in zip(*(part[low:high].tolist() for part in self._ranks), strict=True):
            name = self._groups[problem.group[task]]
            of = f"{total:,} tasks of group {name} with this posterior, of which {moved:,} were changed"
            words[task - rows.start] = f"kept: rank {rank:,} of {of}"
        low, high = np.searchsorted(self._changes.task, [rows.start, rows.stop])
        for task, rank, total in zip(*(part[low:high].tolist() for part in self._changes), strict=True):
            words[task - rows.start] = self._changed(task, rank, total)
        if self._chances is not None:
            chance = _chosen(self._chances[rows], labels)
            for place in np.flatnonzero(chance < 1).tolist():
                words[place] = self._drawn(rows.start + place, chance[place])
        if not words:
            return said
        mask = np.zeros(labels.size, dtype=bool)
        mask[list(words)] = True
        return pc.replace_with_mask(said, pa.array(mask), pa.array([words[place] for place in sorted(words)]))

    def _changed(self, task: int, rank: int, total: int) -> str:
        """Return why a label was changed; the rank is 0 where another label gains more without any constraint."""
        if rank == 0:
            return f"{self._from_to(task)}, which gains more under the objective"
        which = f"number {rank:,} of {total:,} such changes, the least certain first" if total > 1 else "1 such change"
        if total > 1 and self.problem.posterior[task, self.problem.own[task]] > CERTAIN:
            which = f"one of {total:,} such changes; its old label had a posterior above {CERTAIN:g}, "
            which += "so which tasks change means little"
        return f"{self._from_to(task)} {self._aim(task)}; {which}"

    def _drawn(self, task: int, chance: float) -> str:
        drawn = f"by a draw with probability {chance:.4g}"
        if self.labels[task] == self.problem.own[task]:
            return f"kept {drawn}"
        return f"{self._from_to(task)} {drawn}, {self._aim(task)}"

    def _from_to(self, task: int) -> str:
        before, after = (self._classes[codes[task]] for codes in (self.problem.own, self.labels))
        return f"changed from {before} to {after}"

    def _aim(self, task: int) -> str:
        """Return what a change is for: two classes have one rate to speak of."""
        name = self._groups[self.problem.group[task]]
        if self._is_new:
            return f"by group {name}'s rule, which was learned to bring rates within {self.rule.epsilon:.4g}"
        rate = f"rate of {self._classes[1]} comes" if self.problem.n_classes == 2 else "rates come"
        return f"so that group {name}'s {rate} within {self.rule.epsilon:.4g}"

    def _kept_texts(self, is_within: bool) -> list[str]:
        """Return the texts that many tasks share, by group, how the label stands to the rule, and the label."""
        thresholds, texts = self.rule.thresholds, []
        enough = f"kept: no further change was needed to come within {self.rule.epsilon:.4g}"
        if not is_within:
            enough = "kept: changes end at whole tasks, just before this one"
        for a, name in enumerate(self._groups):
            if thresholds is None:
                best = f"kept: the best label by group {name}'s rule" if self._has_gains else _MOST_PROBABLE
                tied = [f"kept: tied with another label by group {name}'s rule"] * self.problem.n_classes
                texts += [best] * self.problem.n_classes + tied
            else:
                of = f"group {name}'s threshold {thresholds[a]:.4g}"
                its = f"kept: its posterior of {self._classes[1]} is"
                texts += [f"{its} below {of}", f"{its} above {of}", *[f"{its} at {of}"] * 2]
            texts += [f"kept: tied by group {name}'s rule" if self._is_new else enough] * self.problem.n_classes
        per_group = 3 * self.problem.n_classes
        for a, why in self.problem.left_out.items():
            out = f"kept: group {self._groups[a]} is left out of the gap ({why})"
            texts[a * per_group : (a + 1) * per_group] = [out] * per_group
        return texts

    @property
    def _has_gains(self) -> bool:
        """Whether the objective is not accuracy, so that the best label need not be the most probable one."""
        n_classes = self.problem.n_classes
        return not (np.array_equal(self.rule.gain_matrix, np.eye(n_classes)) and not self.rule.gain_offset.any())


_MOST_PROBABLE = "kept: the most probable label"


def _chosen(values: NDArray[np.float64], codes: Codes) -> NDArray[np.float64]:
    """Return the value of one class of each task."""
    return np.asarray(np.take_along_axis(values, codes[:, None].astype(np.int64), axis=1)[:, 0])


def _is_sorted(problem: Problem) -> bool:
    """Return whether labels come from sorting two groups, not from a program with approximate multipliers."""
    return problem.n_classes == 2 and compared_groups(problem).size == 2


class _Changes(NamedTuple):
    """Tasks whose label was changed, in order, with their rank among the changes of their kind, and how many these are.

    A kind is a group, a label before and a label after; the least certain label comes first. Labels that gain more
    than the aggregator's own without any constraint have rank 0.
    """

    task: NDArray[np.int64]
    rank: NDArray[np.int64]
    total: NDArray[np.int64]


def _changes(problem: Problem, rule: FairRule, labels: Codes, near: float) -> _Changes:
    tasks = np.flatnonzero(labels != problem.own)
    gains = problem.posterior[tasks] @ rule.gain_matrix + rule.gain_offset
    cost = _chosen(gains, problem.own[tasks]) - _chosen(gains, labels[tasks])
    rank, total = np.zeros(tasks.size, dtype=np.int64), np.zeros(tasks.size, dtype=np.int64)
    chosen = np.flatnonzero(cost >= -near)
    rows = tasks[chosen]
    kind = (problem.group[rows] * problem.n_classes + problem.own[rows]) * problem.n_classes + labels[rows]
    certainty = cost[chosen]
    if problem.n_classes == 2 and problem.log_odds is not None:
        # Posteriors that round to 1 differ in their log-odds.
        certainty = np.abs(problem.log_odds[rows])
    ordered = np.searchsorted(rows, problem.ordered(rows, rule.random_state, kind, certainty))
    starts, sizes = _runs(kind[ordered])
    rank[chosen[ordered]] = np.arange(rows.size) - np.repeat(starts, sizes) + 1
    total[chosen[ordered]] = np.repeat(sizes, sizes)
    return _Changes(tasks, rank, total)


def _runs(values: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return where runs of equal values start, and how long they are."""
    starts = np.flatnonzero(np.append(True, values[1:] != values[:-1])) if values.size else np.empty(0, dtype=np.int64)
    return starts, np.diff(np.append(starts, values.size))


class _Ranks(NamedTuple):
    """Tasks whose label was kept while that of equal tasks was changed, by their rank among them; in order."""

    task: NDArray[np.int64]
    rank: NDArray[np.int64]
    total: NDArray[np.int64]
    changed: NDArray[np.int64]


_NO_RANKS = _Ranks(*np.empty((4, 0), dtype=np.int64))


def _ranks(problem: Problem, rule: FairRule, labels: Codes) -> _Ranks:
    by_odds = problem.log_odds is not None and _is_sorted(problem)
    rows = np.arange(labels.size)
    if problem.n_classes == 2:
        key = np.ascontiguousarray(problem.posterior[:, 1])  # log-odds are: one kernel serves both
        if problem.log_odds is not None and by_odds:
            key = problem.log_odds
        low, high = np.full(problem.n_groups, np.inf), np.full(problem.n_groups, -np.inf)
        is_between = np.empty(labels.size, dtype=bool)
        _mark_between(key, problem.group, labels, low, high, is_between)
        rows = np.flatnonzero(is_between)
    keys = problem.log_odds[rows, None] if by_odds else problem.posterior[rows]  # type: ignore[index]
    of_task = merge(np.ascontiguousarray(keys), problem.group[rows], None).of_task if rows.size else None
    if of_task is None:
        return _NO_RANKS
    is_changed = labels[rows] != problem.own[rows]
    size = np.bincount(of_task)
    moved = np.bincount(of_task, weights=is_changed).astype(np.int64)
    mixed = ((moved > 0) & (moved < size))[of_task]
    # `ordered` returns tasks; the rows are sorted, so a search finds the atom of each.
    tasks = problem.ordered(rows[mixed], rule.random_state, of_task[mixed])
    atom = of_task[np.searchsorted(rows, tasks)]
    starts, sizes = _runs(atom)
    rank = np.arange(tasks.size) - np.repeat(starts, sizes) + 1
    kept = labels[tasks] == problem.own[tasks]
    by_task = np.flatnonzero(kept)[np.argsort(tasks[kept])]
    return _Ranks(tasks[by_task], rank[by_task], size[atom[by_task]], moved[atom[by_task]])


@kernel
def _mark_between(
    key: NDArray[np.float64],
    group: Codes,
    labels: Codes,
    low: NDArray[np.float64],
    high: NDArray[np.float64],
    is_between: NDArray[np.bool_],
) -> None:
    """Mark the tasks of two classes that may be equal to a task with the other label.

    Their key is between the lowest of label 1 and the highest of label 0 in their group.
    """
    for i in range(key.size):
        a = group[i]
        if labels[i] == 1:
            if key[i] < low[a]:
                low[a] = key[i]
        elif key[i] > high[a]:
            high[a] = key[i]
    for i in range(key.size):
        is_between[i] = low[group[i]] <= key[i] <= high[group[i]]
