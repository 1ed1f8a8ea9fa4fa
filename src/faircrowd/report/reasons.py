"""Why a task has its label, in words."""

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from faircrowd.fair.atoms import merge
from faircrowd.fair.make import FairResult
from faircrowd.votes.naming import value_names

__all__ = ["reasons", "task_thresholds"]

_NEAR = 1e-9


def task_thresholds(result: FairResult) -> NDArray[np.float64] | None:
    """Two classes: return the threshold of each task's group; None for more classes."""
    thresholds = result.rule.thresholds
    return None if thresholds is None else thresholds[result.problem.group]


def reasons(result: FairResult) -> Any:
    """Return a text a task, as an Arrow column: the side of a threshold, the rank in a tie, or the draw."""
    problem, labels = result.problem, result.solved.labels
    scores = result.rule.scores(problem.posterior, problem.group)
    best = scores.max(axis=1)
    reached = np.take_along_axis(scores, labels[:, None].astype(np.int64), axis=1)[:, 0]
    at_best = reached >= best - _NEAR
    second = np.partition(scores, -2, axis=1)[:, -2]
    is_clear = at_best & (best - second > _NEAR)
    texts, code = _sides(result, is_clear, labels)
    said = pa.DictionaryArray.from_arrays(pa.array(code), pa.array(texts)).cast(pa.string())
    words = _drawn(result) if result.certificate.decision == "randomized" else _ranks(result)
    if not words:
        return said
    rows = np.fromiter(words, dtype=np.int64, count=len(words))
    mask = np.zeros(labels.size, dtype=bool)
    mask[rows] = True
    return pc.replace_with_mask(said, pa.array(mask), pa.array([words[row] for row in np.sort(rows)]))


def _sides(result: FairResult, is_clear: NDArray[np.bool_], labels: Any) -> tuple[list[str], NDArray[np.int32]]:
    """Return the texts that many tasks share, and the number of each task's text."""
    problem, thresholds = result.problem, result.rule.thresholds
    groups, classes = value_names(problem.groups), value_names(problem.classes)
    changed = labels != problem.own
    if thresholds is not None:
        texts = []
        for name, threshold in zip(groups, thresholds, strict=True):
            of = f"group {name}'s threshold {threshold:.4g}"
            texts += [f"below {of}", f"above {of}", f"at {of}; chosen to keep the gap within epsilon"]
        return texts, (problem.group * 3 + np.where(is_clear, labels, 2)).astype(np.int32)
    texts = ["the likeliest label"]
    for name in groups:
        texts += [f"group {name}'s prices favour {label} over the likeliest label" for label in classes]
        texts.append(f"tied in group {name}; chosen to keep the gap within epsilon")
    place = 1 + problem.group * (len(classes) + 1) + np.where(is_clear, labels, len(classes))
    return texts, np.where(is_clear & ~changed, 0, place).astype(np.int32)


def _ranks(result: FairResult) -> dict[int, str]:
    """Return a text for each task that only its rank among equal tasks tells from others of another label."""
    problem, labels = result.problem, result.solved.labels
    keys = problem.posterior if problem.log_odds is None else np.ascontiguousarray(problem.log_odds[:, None])
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
