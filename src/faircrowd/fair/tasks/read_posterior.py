"""From what users have to a problem: posteriors, groups and weights, read and checked."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from faircrowd._checks import check_choice, few
from faircrowd._kernels import kernel
from faircrowd._threads import map_in_threads
from faircrowd.aggregate.posterior import TIES, choose
from faircrowd.errors import InputError
from faircrowd.fair.tasks.problem import Problem
from faircrowd.fair.tolerances import ROUNDED_PROBABILITY, SUM_TO_ONE
from faircrowd.votes import Vocabulary
from faircrowd.votes.alignment import check_index
from faircrowd.votes.encode import encode
from faircrowd.votes.facts import Numbers, find_facts, pandas_array
from faircrowd.votes.frames import column_of, find_column, frame_of, is_frame
from faircrowd.votes.groups import Grouped, groups_of
from faircrowd.votes.lookup import is_missing
from faircrowd.votes.style import Style
from faircrowd.votes.vocabulary import Codes, as_objects, shown

if TYPE_CHECKING:
    from faircrowd._types import ByTask, ValuesLike

__all__ = [
    "NamedPosterior",
    "RowNumbers",
    "by_task",
    "check_groups",
    "check_posterior",
    "encode_in_order",
    "label_codes",
    "read_posterior",
    "values_in_order",
]


class RowNumbers(Vocabulary):
    """The ids of tasks without any: the numbers 0, 1, ..., n - 1, which are written out only where all are needed.

    Examples
    --------
    >>> RowNumbers(10_000_000)
    Vocabulary(10000000: 0, 1, 2, 3, …)
    """

    def __init__(self, n: int) -> None:
        object.__setattr__(self, "_n", n)  # the base is frozen

    def __len__(self) -> int:
        return int(self._n)  # type: ignore[attr-defined]

    @property
    def values(self) -> Any:
        """The numbers as Arrow; created at each call, so that nothing holds them."""
        return pa.array(np.arange(len(self)))

    @property
    def is_mixed(self) -> bool:
        """Never: they are integers."""
        return False

    def take(self, codes: NDArray[Any]) -> Vocabulary:
        """Return the numbers at ``codes``: the codes themselves."""
        return Vocabulary(pa.array(np.asarray(codes, dtype=np.int64)))


class NamedPosterior(NamedTuple):
    """A posterior as an array whose classes have names, and perhaps its rows; results are arrays, as for an array.

    Attributes
    ----------
    values : ndarray, shape (n_tasks, n_classes)
    classes : Vocabulary
    tasks : Vocabulary, optional
        By default the tasks are 0, 1, ...
    """

    values: NDArray[np.floating[Any]]
    classes: Vocabulary
    tasks: Vocabulary | None = None

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the numbers."""
        return self.values.dtype


_LARGEST_WEIGHT = 1e290

_ROWS_AT_A_TIME = 1 << 18


def read_posterior(
    posterior: object,
    sensitive_features: "ByTask | None",
    *,
    sample_weight: "ValuesLike | None" = None,
    log_posterior: object = None,
    evidence: "ValuesLike | None" = None,
    ties: str = "first",
    one_group_will_do: bool = False,
    without_groups: bool = False,
    on_missing_group: str = "error",
) -> Problem:
    """Check a posterior and its groups, and return them as a problem.

    With ``without_groups``, all tasks are of one group.
    """
    check_choice("ties", ties, TIES)
    tasks, classes, style, values, as_array = _values(posterior)
    check_posterior(values, tasks)
    if without_groups:
        codes, groups, left_out = Grouped(np.zeros(len(tasks), dtype=np.int32), Vocabulary.of(["all tasks"]), {})
    elif sensitive_features is None:
        raise InputError("The group of each task is needed; give sensitive_features=...")
    else:
        codes, groups, left_out = groups_of(tasks, sensitive_features, on_missing_group=on_missing_group)
    if not (one_group_will_do or without_groups):
        check_groups(groups)
    log_odds, scores = None, values
    if log_posterior is not None:
        logs = _logarithms(log_posterior, tasks, classes)
        if len(classes) == 2:
            log_odds = logs[:, 1] - logs[:, 0]
            scores = np.stack([-log_odds, log_odds], axis=1)
        else:  # classes whose posteriors were rounded to the same number
            scores = np.where(values == values.max(axis=1, keepdims=True), logs, -np.inf)
    return Problem(
        tasks=tasks,
        classes=classes,
        groups=groups,
        style=style,
        posterior=values,
        group=codes,
        own=choose(scores, ties),
        weights=None if sample_weight is None else _weights(by_task(sample_weight, tasks, "sample_weight"), len(tasks)),
        log_odds=log_odds,
        evidence=None if evidence is None else _counts(by_task(evidence, tasks, "evidence"), len(tasks)),
        ties=ties,
        as_array=as_array,
        left_out=left_out,
    )


def label_codes(problem: Problem, labels: "ByTask") -> Codes:
    """Return the class of each label, in the order of the problem's tasks."""
    if isinstance(labels, np.ndarray | list):
        codes, values = encode(labels if isinstance(labels, np.ndarray) else as_objects(labels))
        place = problem.classes.code_of(values.values)[codes]
    else:
        check_index(labels, problem.tasks, "labels")
        key, (column,) = find_facts(labels, None, None, None)
        codes, values = encode(column)
        row = problem.tasks.code_of(key)
        place = np.full(len(problem.tasks), -1, dtype=np.int32)
        place[row[row >= 0]] = problem.classes.code_of(values.values)[codes][row >= 0]
    if place.shape != problem.group.shape or (place < 0).any():
        raise InputError("Every task needs a label, one of the classes of the posterior.")
    return place


def check_posterior(values: NDArray[np.float64], tasks: Vocabulary) -> None:
    """Raise unless each row is a probability distribution; its probabilities may have been rounded to six digits."""
    if values.shape[0] == 0 or values.shape[1] < 2:
        raise InputError(
            f"A posterior needs at least one task and two classes; got {values.shape[0]} x {values.shape[1]}."
        )
    row = _first_bad(values, max(SUM_TO_ONE, values.shape[1] * ROUNDED_PROBABILITY))
    if row < 0:
        return
    name, bad = few(tasks.some([row])), values[row]
    if not np.isfinite(bad).all() or (bad < 0).any():
        wrong = bad[~(np.isfinite(bad) & (bad >= 0))][0]
        raise InputError(f"The posterior of task {name} holds {wrong}; probabilities are from 0 to 1.")
    raise InputError(f"The posterior of task {name} sums to {bad.sum():.8g}, not to 1; normalise its row.")


def check_groups(groups: Vocabulary) -> None:
    """Raise unless there are two groups to compare."""
    if len(groups) < 2:
        raise InputError(
            f"Parity compares groups, and all tasks are of group {few(shown(groups.to_list()))}; "
            "give a column with at least two groups."
        )


def _first_bad(values: NDArray[np.float64], tolerance: float) -> int:
    """Return the first row that is not a probability distribution, -1 if all are."""
    starts = range(0, len(values), _ROWS_AT_A_TIME)
    found = map_in_threads(lambda i: _first_bad_row(values[i : i + _ROWS_AT_A_TIME], tolerance), starts)
    return next((start + row for start, row in zip(starts, found, strict=True) if row >= 0), -1)


@kernel
def _first_bad_row(values: NDArray[np.float64], tolerance: float) -> int:
    if values.shape[1] == 2:  # without an end in the middle, several rows are checked at a time
        n_bad = 0
        for i in range(values.shape[0]):
            is_near_1 = abs(values[i, 0] + values[i, 1] - 1.0) <= tolerance
            n_bad += not (is_near_1 & (values[i, 0] >= 0.0) & (values[i, 1] >= 0.0))
        if n_bad == 0:
            return -1
    for i in range(values.shape[0]):
        total = 0.0
        for k in range(values.shape[1]):
            if not values[i, k] >= 0.0:
                return i
            total += values[i, k]
        if not abs(total - 1.0) <= tolerance:
            return i
    return -1


def _values(posterior: object) -> tuple[Vocabulary, Vocabulary, Style, NDArray[np.float64], bool]:
    if is_frame(posterior):
        frame = frame_of(posterior)
        if any(map(is_missing, frame.columns)):
            raise InputError("The posterior has a column without a name; its columns are the classes.")
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
    named = posterior if isinstance(posterior, NamedPosterior) else None
    values = _floats(posterior if named is None else named.values)
    if values.ndim != 2:
        raise InputError(f"A posterior is a frame or an array of tasks x classes; got shape {values.shape}.")
    if named is not None:
        return named.tasks or RowNumbers(len(values)), named.classes, Style(), values, True
    tasks, classes = (RowNumbers(n) for n in values.shape)
    return tasks, classes, Style(), values, True


def encode_in_order(column: Any) -> Vocabulary:
    """Return ids as a vocabulary in their own order; they must all differ, and none may be missing."""
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


def _floats(values: object) -> NDArray[np.float64]:
    try:
        return np.ascontiguousarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError("A posterior must hold numbers only, the same number in each row.") from None


def _logarithms(given: object, tasks: Vocabulary, classes: Vocabulary) -> NDArray[np.float64]:
    """Return logarithms in the order of the posterior: a frame goes by task and class, an array by position."""
    logs = values_in_order(given, tasks, classes, "log_posterior")
    if not np.isfinite(logs.max(axis=1)).all():
        raise InputError("log_posterior holds NaN, or a task whose classes are all impossible.")
    return logs


def values_in_order(
    given: object, tasks: Vocabulary, classes: Vocabulary, name: str, of: str = "the posterior"
) -> NDArray[np.float64]:
    """Return a number for each task and class, in order: those of a frame go by task and class, others by position.

    In messages they are called ``name``, and the tasks are those of ``of``.
    """
    rows, columns, _, values, _ = _values(given)
    if values.shape != (len(tasks), len(classes)):
        raise InputError(
            f"{name} needs a number for each of {len(tasks):,} tasks and {len(classes)} classes; "
            f"got {values.shape[0]:,} x {values.shape[1]}."
        )
    if isinstance(rows, RowNumbers) or isinstance(tasks, RowNumbers):
        return values
    row, column = rows.code_of(tasks.values), columns.code_of(classes.values)
    if min(row.min(), column.min()) < 0:
        raise InputError(f"{name} must have the tasks and the classes of {of}.")
    return values[np.ix_(row, column)]


def _number_per_task(name: str, given: "ValuesLike", n_tasks: int) -> NDArray[np.float64]:
    """Return one finite number per task."""
    try:
        numbers = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"{name} must hold numbers only, one per task.") from None
    if numbers.shape != (n_tasks,):
        raise InputError(f"{name} needs one number for each of the {n_tasks:,} tasks; got shape {numbers.shape}.")
    if not np.isfinite(numbers).all():
        raise InputError(f"{name} holds NaN or infinity; give a number for each task.")
    return numbers


def by_task(given: "ValuesLike", tasks: Vocabulary, name: str) -> "ValuesLike":
    """Return numbers in the order of the tasks: those of a Series or a dict go by id, others by position."""
    if not (isinstance(given, Mapping) or hasattr(given, "loc")):
        return given
    check_index(given, tasks, name)
    numbers = Numbers.read(given, "task").of(tasks)
    lacking = np.flatnonzero(np.isnan(numbers))
    if lacking.size:
        raise InputError(
            f"{name} has no number for {lacking.size:,} of {len(tasks):,} tasks: "
            f"{few(tasks.some(lacking[:5]), lacking.size)}."
        )
    return numbers


def _counts(given: "ValuesLike", n_tasks: int) -> NDArray[np.int64]:
    counts = _number_per_task("evidence", given, n_tasks)
    if not (abs(counts) < 2**53).all():
        raise InputError("evidence is the number of votes of each task; one of them is too large for that.")
    return counts.astype(np.int64)


def _weights(given: "ValuesLike", n_tasks: int) -> NDArray[np.float64] | None:
    weights = _number_per_task("sample_weight", given, n_tasks)
    if not (weights > 0).all():
        raise InputError("sample_weight must be positive; leave out tasks that should not count.")
    if (weights == weights[0]).all():
        return None
    heaviest = float(weights.max())
    return (
        weights if heaviest < _LARGEST_WEIGHT else weights / heaviest
    )  # only ratios count, and sums must not overflow
