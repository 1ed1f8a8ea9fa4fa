"""Why a task has its label, in words."""

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from faircrowd.fair.atoms import merge
from faircrowd.fair.make import FairResult
from faircrowd.votes.naming import value_names
from faircrowd.votes.vocabulary import Codes

__all__ = ["reasons", "task_thresholds"]

_ROUNDING = 1e-15
_NEAR = 1e-9


def task_thresholds(result: FairResult) -> NDArray[np.float64] | None:
    """Two classes: return the threshold of each task's group; None for more classes."""
    thresholds = result.rule.thresholds
    return None if thresholds is None else thresholds[result.problem.group]


def reasons(result: FairResult) -> Any:
    """Return a text a task, as an Arrow column: the side of a threshold, the rank in a tie, or the draw."""
    problem, labels = result.problem, result.solved.labels
    scores = result.rule.scores(problem.posterior, problem.group)
    first, second = (-np.partition(-scores, 1, axis=1)[:, :2]).T
    reached = np.take_along_axis(scores, labels[:, None].astype(np.int64), axis=1)[:, 0]
    near = _ROUNDING if _is_sorted(result) else _NEAR
    # 0: the best label by the rule; 1: one of several; 2: another, since counts without a coin are whole.
    kind = np.where(first - reached > near, 2, np.where(first - second > near, 0, 1))
    texts, code = (_by_prices if result.rule.thresholds is None else _by_threshold)(result, kind, labels)
    said = pa.DictionaryArray.from_arrays(pa.array(code.astype(np.int32)), pa.array(texts)).cast(pa.string())
    words = _drawn(result) if result.certificate.decision == "randomized" else _ranks(result)
    if not words:
        return said
    rows = np.sort(np.fromiter(words, dtype=np.int64, count=len(words)))
    mask = np.zeros(labels.size, dtype=bool)
    mask[rows] = True
    return pc.replace_with_mask(said, pa.array(mask), pa.array([words[row] for row in rows.tolist()]))


def _is_sorted(result: FairResult) -> bool:
    """Whether the labels come from sorting two groups, not from a program whose prices are near the optimum."""
    return result.problem.n_classes == 2 and result.problem.n_groups == 2


def _by_threshold(result: FairResult, kind: NDArray[Any], labels: Codes) -> tuple[list[str], NDArray[Any]]:
    """Two classes: return the texts that many tasks share, and the number of each task's text."""
    problem, thresholds, texts = result.problem, result.rule.thresholds, []
    assert thresholds is not None  # noqa: S101 - there are two classes
    zero, one = value_names(problem.classes)
    for name, threshold in zip(value_names(problem.groups), thresholds, strict=True):
        of = f"group {name}'s threshold {threshold:.4g}"
        texts += [f"below {of}", f"above {of}"]
        texts += [f"at {of}; kept", f"at {of}; changed to keep the gap within epsilon"]
        texts += [f"above {of}; {zero} by rounding to whole labels", f"below {of}; {one} by rounding to whole labels"]
    return texts, problem.group * 6 + 2 * kind + np.where(kind == 1, labels != problem.own, labels)


def _by_prices(result: FairResult, kind: NDArray[Any], labels: Codes) -> tuple[list[str], NDArray[Any]]:
    """More classes: return the texts that many tasks share, and the number of each task's text."""
    problem, texts = result.problem, ["the likeliest label"]
    classes = value_names(problem.classes)
    for name in value_names(problem.groups):
        texts += [f"group {name}'s prices favour {label} over the likeliest label" for label in classes]
        favour = f"group {name}'s prices favour another label"
        texts += [f"{favour}; {label} by rounding to whole labels" for label in classes]
        texts += [f"tied in group {name}; kept", f"tied in group {name}; changed to keep the gap within epsilon"]
    n, changed = len(classes), labels != problem.own
    place = np.choose(kind, [labels, 2 * n + changed, n + labels])
    return texts, np.where((kind == 0) & ~changed, 0, 1 + problem.group * (2 * n + 2) + place)


def _ranks(result: FairResult) -> dict[int, str]:
    """Return a text for each task that only its rank among equal tasks tells from others of another label."""
    problem, labels = result.problem, result.solved.labels
    by_odds = problem.log_odds is not None and _is_sorted(result)
    keys = np.ascontiguousarray(problem.log_odds[:, None]) if by_odds else problem.posterior  # type: ignore[index]
    atoms = merge(keys, problem.group, None)
    if atoms.of_task is None:
        return {}
    low, high = np.full(atoms.mass.size, np.iinfo(np.int32).max), np.full(atoms.mass.size, -1)
    np.minimum.at(low, atoms.of_task, labels)
    np.maximum.at(high, atoms.of_task, labels)
    rows = np.flatnonzero((low < high)[atoms.of_task])
    rows = problem.ordered(rows, result.rule.random_state, atoms.of_task[rows])
    atom = atoms.of_task[rows]
    starts = np.flatnonzero(np.append(True, atom[1:] != atom[:-1])) if rows.size else np.empty(0, dtype=np.int64)
    sizes = np.diff(np.append(starts, rows.size))
    rank = np.arange(rows.size) - np.repeat(starts, sizes) + 1
    kept = np.where(labels[rows] == problem.own[rows], "kept", "changed")
    total = np.repeat(sizes, sizes)
    return {
        int(row): f"tie, {how} by rank {r:,} of {n:,}" for row, how, r, n in zip(rows, kept, rank, total, strict=True)
    }


def _drawn(result: FairResult) -> dict[int, str]:
    law, labels = result.solved.probabilities, result.solved.labels
    chance = np.take_along_axis(law, labels[:, None].astype(np.int64), axis=1)[:, 0]
    return {int(row): f"tie, drawn with probability {chance[row]:.4g}" for row in np.flatnonzero(chance < 1)}
