"""What the solvers are given: posteriors, groups, weights, and what a label gains."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numba
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from faircrowd._checks import few
from faircrowd.aggregate.posterior import choose
from faircrowd.errors import InputError
from faircrowd.fair.hashing import task_keys
from faircrowd.votes import Vocabulary
from faircrowd.votes.encode import encode
from faircrowd.votes.facts import find_facts, pandas_array
from faircrowd.votes.frames import column_of, find_column, frame_of, is_frame
from faircrowd.votes.groups import groups_of
from faircrowd.votes.style import Style
from faircrowd.votes.vocabulary import Codes, as_objects

__all__ = ["Problem", "check_groups", "label_codes", "read_posterior"]

_SUM = 1e-6


@dataclass(frozen=True, eq=False)
class Problem:
    r"""Tasks to be labelled fairly.

    Attributes
    ----------
    posterior : ndarray, shape (n_tasks, n_classes)
        :math:`P(Y = k)` of each task.
    group : ndarray of int32, shape (n_tasks,)
    own : ndarray of int32, shape (n_tasks,)
        The aggregator's own labels: what "before" and "changed" refer to.
    weights : ndarray, shape (n_tasks,), or None
        Sample weights; None for equal ones.
    log_odds : ndarray, shape (n_tasks,), or None
        Two classes: orders posteriors that round to 0 or 1.
    evidence : ndarray, shape (n_tasks,), or None
        Number of votes; orders tasks of equal posterior.
    """

    tasks: Vocabulary
    classes: Vocabulary
    groups: Vocabulary
    style: Style
    posterior: NDArray[np.float64]
    group: Codes
    own: Codes
    weights: NDArray[np.float64] | None = None
    log_odds: NDArray[np.float64] | None = None
    evidence: NDArray[np.int64] | None = None
    ties: str = "first"
    as_array: bool = False

    @property
    def n_groups(self) -> int:
        """Number of groups."""
        return len(self.groups)

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len(self.classes)

    def labels(self, codes: Codes) -> Any:
        """Return labels as an aggregator gives them: a Series named ``agg_label``; an array for an array."""
        if self.as_array:
            return np.asarray(codes, dtype=np.int64)
        return self.style.series({"task": self.tasks}, "agg_label", ("label", self.classes.take(codes)))

    @property
    def probas(self) -> Any:
        """The posterior as it came: a frame, or an array."""
        return self.frame(self.posterior)

    def frame(self, values: NDArray[np.float64]) -> Any:
        """Return numbers a task and class as an aggregator gives them; an array for an array."""
        if self.as_array:
            return values
        return self.style.frame({"task": self.tasks}, self.classes, values, columns_name="label")

    def ordered(self, rows: NDArray[np.int64], random_state: int, *first: NDArray[Any]) -> NDArray[np.int64]:
        """Order tasks by the given keys; equal ones by more evidence, then by the seeded hash of their ids."""
        evidence = np.zeros(rows.size) if self.evidence is None else -self.evidence[rows]
        return rows[np.lexsort((task_keys(self.tasks, rows, random_state), evidence, *reversed(first)))]

    def tally(self, labels: Codes) -> "Tally":
        """Count the labels, before and after, a group; one pass over the tasks."""
        weights = np.empty(0) if self.weights is None else self.weights
        return Tally(*_tally(self.posterior, self.group, self.own, labels, weights, self.n_groups))

    def group_weights(self) -> NDArray[np.float64]:
        """Weight of each group."""
        return np.bincount(self.group, weights=self.weights, minlength=self.n_groups).astype(np.float64)

    def rates(self, labels: Codes) -> NDArray[np.float64]:
        """Share of each class in each group, shape (n_groups, n_classes)."""
        return self.tally(labels).rates


class Tally(NamedTuple):
    """Labels in numbers.

    Attributes
    ----------
    mass : ndarray, shape (n_groups, n_classes, n_classes)
        Weight of the tasks of each group, own label and label.
    tasks : ndarray of int64, of the same shape
        Number of these tasks.
    trust : ndarray, shape (2,)
        Sum of the posterior of the own labels and of the labels.
    """

    mass: NDArray[np.float64]
    tasks: NDArray[np.int64]
    trust: NDArray[np.float64]

    @property
    def rates(self) -> NDArray[np.float64]:
        """Share of each class in each group."""
        return np.asarray(self.mass.sum(axis=1) / self.mass.sum(axis=(1, 2))[:, None])

    @property
    def rates_before(self) -> NDArray[np.float64]:
        """The same for the own labels."""
        return np.asarray(self.mass.sum(axis=2) / self.mass.sum(axis=(1, 2))[:, None])

    @property
    def accuracies(self) -> tuple[float, float]:
        """Expected accuracy of the own labels and of the labels."""
        before, after = self.trust / self.mass.sum()
        return float(before), float(after)


@numba.njit(cache=True, nogil=True)
def _tally(posterior: Any, group: Any, own: Any, labels: Any, weights: Any, n_groups: int) -> Any:
    n_classes = posterior.shape[1]
    mass = np.zeros((n_groups, n_classes, n_classes))
    tasks = np.zeros((n_groups, n_classes, n_classes), np.int64)
    trust = np.zeros(2)
    for i in range(group.size):
        weight = weights[i] if weights.size else 1.0
        mass[group[i], own[i], labels[i]] += weight
        tasks[group[i], own[i], labels[i]] += 1
        trust[0] += weight * posterior[i, own[i]]
        trust[1] += weight * posterior[i, labels[i]]
    return mass, tasks, trust


def read_posterior(
    posterior: Any,
    sensitive_features: Any,
    *,
    sample_weight: Any = None,
    log_posterior: Any = None,
    evidence: Any = None,
    ties: str = "first",
    one_group_will_do: bool = False,
) -> Problem:
    """Check a posterior and its groups and bring them together."""
    tasks, classes, style, values, as_array = _values(posterior)
    check_posterior(values, tasks)
    codes, groups = groups_of(tasks, sensitive_features)
    if not one_group_will_do:
        check_groups(groups)
    log_odds = None
    if log_posterior is not None and values.shape[1] == 2:
        logs = np.asarray(_values(log_posterior)[3])
        log_odds = logs[:, 1] - logs[:, 0]
    return Problem(
        tasks=tasks,
        classes=classes,
        groups=groups,
        style=style,
        posterior=values,
        group=codes,
        own=choose(values if log_odds is None else np.stack([-log_odds, log_odds], axis=1), ties),
        weights=_weights(sample_weight, values.shape[0]),
        log_odds=log_odds,
        evidence=None if evidence is None else np.asarray(evidence, dtype=np.int64),
        ties=ties,
        as_array=as_array,
    )


def label_codes(problem: Problem, labels: Any) -> Codes:
    """Return the class of each label, in the order of the problem's tasks."""
    if isinstance(labels, np.ndarray | list):
        codes, values = encode(labels if isinstance(labels, np.ndarray) else as_objects(labels))
        place = problem.classes.code_of(values.values)[codes]
    else:
        key, (column,) = find_facts(labels, None, None, None)
        codes, values = encode(column)
        row = problem.tasks.code_of(key)
        place = np.full(len(problem.tasks), -1, dtype=np.int32)
        place[row[row >= 0]] = problem.classes.code_of(values.values)[codes][row >= 0]
    if place.shape != problem.group.shape or (place < 0).any():
        raise InputError("Every task needs a label, one of the classes of the posterior.")
    return place


def check_posterior(values: NDArray[np.float64], tasks: Vocabulary) -> None:
    """Raise unless each row is a probability distribution."""
    if values.shape[0] == 0 or values.shape[1] < 2:
        raise InputError(
            f"A posterior needs at least one task and two classes; got {values.shape[0]} x {values.shape[1]}."
        )
    row = _first_bad(values)
    if row < 0:
        return
    name, bad = few(tasks.some([row])), values[row]
    if not np.isfinite(bad).all() or (bad < 0).any():
        raise InputError(f"The posterior of task {name} holds {bad[~(bad >= 0)][0]}; probabilities are from 0 to 1.")
    raise InputError(f"The posterior of task {name} sums to {bad.sum():.6g}, not to 1; normalise its row.")


def check_groups(groups: Vocabulary) -> None:
    """Raise unless there are two groups to compare."""
    if len(groups) < 2:
        raise InputError(
            f"Parity compares groups, and all tasks are of group {few(groups.to_list())}; "
            "give the column that tells them apart."
        )


@numba.njit(cache=True, nogil=True)
def _first_bad(values: Any) -> int:
    for i in range(values.shape[0]):
        total = 0.0
        for k in range(values.shape[1]):
            if not values[i, k] >= 0.0:
                return i
            total += values[i, k]
        if not abs(total - 1.0) <= _SUM:
            return i
    return -1


def _values(posterior: Any) -> tuple[Vocabulary, Vocabulary, Style, NDArray[np.float64], bool]:
    if is_frame(posterior):
        frame = frame_of(posterior)
        native = frame.to_native()
        if frame.implementation.is_pandas() and "task" not in frame.columns:
            tasks = encode_in_order(native.index)
            classes = Vocabulary.of(native.columns.tolist())
            style = Style("pandas", {"task": native.index.dtype, "label": native.columns.dtype})
            return tasks, classes, style, _floats(native.to_numpy()), False
        key = find_column("task", list(frame.columns), where="the posterior")
        names = [name for name in frame.columns if name != key]
        tasks = encode_in_order(column_of(frame, key))
        return (
            tasks,
            Vocabulary.of(names),
            Style(frame.implementation.value),
            _floats(frame.select(*names).to_numpy()),
            False,
        )
    values = _floats(np.asarray(posterior))
    if values.ndim != 2:
        raise InputError(f"A posterior is a frame or an array of tasks x classes; got shape {values.shape}.")
    tasks, classes = (Vocabulary(pa.array(np.arange(n))) for n in values.shape)
    return tasks, classes, Style(), values, True


def encode_in_order(column: Any) -> Vocabulary:
    """Return ids as a vocabulary in their own order; they must differ and none may be missing."""
    if hasattr(column, "to_series"):  # the index of a pandas frame
        column = pandas_array(column)
    codes, values = encode(column)
    if codes.size and codes.min() < 0:
        raise InputError("The posterior has rows without a task id.")
    if len(values) < codes.size:
        twice = np.flatnonzero(np.bincount(codes) > 1)
        raise InputError(
            f"The posterior has several rows for {few(values.some(twice[:5]), twice.size)}; a task has one."
        )
    return values.take(codes)


def _floats(values: Any) -> NDArray[np.float64]:
    try:
        return np.ascontiguousarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError("A posterior holds numbers only; a column holds something else.") from None


def _weights(given: Any, n_tasks: int) -> NDArray[np.float64] | None:
    if given is None:
        return None
    weights = np.asarray(given, dtype=np.float64)
    if weights.shape != (n_tasks,):
        raise InputError(
            f"sample_weight needs one number for each of the {n_tasks:,} tasks; got shape {weights.shape}."
        )
    if not (weights > 0).all() or not np.isfinite(weights).all():
        raise InputError("sample_weight must be positive; leave tasks that should not count out.")
    return None if (weights == weights[0]).all() else weights
