"""Kernels of the tests of Spark, in a module of their own: executors look them up by name."""

import itertools
from typing import Any

import numpy as np


def even_tasks(block: Any, ids: Any) -> tuple[Any, ...]:
    """The numbers of the tasks with an even one, their votes, and the sums of their labels beside those of workers."""
    number = np.array([int(task[1:]) for task in ids.to_list()], dtype=np.int64)
    sums = [(block.label[a:b].sum(), block.worker[a:b].sum()) for a, b in itertools.pairwise(block.offsets)]
    kept = number % 2 == 0
    return number[kept], np.diff(block.offsets)[kept], np.array(sums, dtype=np.float64).reshape(-1, 2)[kept]


def number_and_group(block: Any, ids: Any) -> Any:
    """The number of each task beside its group."""
    pairs = [(int(task[1:]), group) for task, group in zip(ids.to_list(), block.group, strict=True)]
    return np.array(pairs, dtype=np.int32).reshape(-1, 2)


def times(rows: Any, factor: int) -> Any:
    """What a kernel made, multiplied."""
    return rows * np.int32(factor)


def half(block: Any) -> tuple[Any, ...]:
    """Sums that are no integers."""
    return (np.full(2, 0.5),)


def wide(block: Any, size: int) -> tuple[Any, ...]:
    """Sums of any size, of which no cell is zero."""
    return (np.full(size, block.offsets.size - 1, dtype=np.int64),)


def failing(block: Any) -> tuple[Any, ...]:
    """Fails where there are votes."""
    if block.worker.size:
        raise ArithmeticError("the kernel broke")
    return (np.zeros(1, dtype=np.int64),)
