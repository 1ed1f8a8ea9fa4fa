"""Random whole numbers of tasks that are right on average: how randomized labels are drawn.

Tasks that are interchangeable (the tasks of one group at its threshold, or the tasks of one atom) get each label with
the same probability, so the expected numbers of labels are known, but they are fractions. They are rounded to whole
numbers at random so that every number has its expectation, every number and every total of a group is its expectation
rounded up or down, and each row keeps its sum (dependent rounding; Gandhi, Khuller, Parthasarathy and Srinivasan,
Journal of the ACM 53, 2006). Which of the tasks get a label is then decided by the seeded order of their ids. So each
task keeps its probability, and each rate of a draw is within one task of its expectation.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from faircrowd.exact.hashing import mix, uniforms
from faircrowd.fair.tolerances import SAME_VALUE, WHOLE_COUNT

__all__ = ["draw_counts", "uniform_numbers"]

_SALT = 0x5DEECE66D
_GROUP_FACTOR = 0x9E3779B97F4A7C15
_MAX_UINT64 = 2**64 - 1


def draw_counts(expected: NDArray[np.float64], random_state: int, group: int) -> NDArray[np.int64]:
    """Round the expected counts of one group at random.

    Parameters
    ----------
    expected : ndarray, shape (n_atoms, n_classes)
        Expected number of labels of each atom; the numbers of a row add up to an integer.
    random_state, group : int
        What the draw depends on.

    Returns
    -------
    ndarray of int64, shape (n_atoms, n_classes)

    Examples
    --------
    >>> expected = np.array([[1.5, 0.5], [0.5, 2.5]])
    >>> drawn = [draw_counts(expected, seed, 0) for seed in range(1000)]
    >>> sorted({tuple(counts.ravel().tolist()) for counts in drawn})
    [(1, 1, 1, 2), (2, 0, 0, 3)]
    >>> abs(float(np.mean([counts[0, 0] for counts in drawn])) - 1.5) < 0.05
    True
    """
    whole = np.floor(expected + WHOLE_COUNT)
    part = np.clip(expected - whole, 0.0, 1.0)
    part[part <= WHOLE_COUNT] = 0.0
    # Rows add up to integers but for the digits that a linear program is solved to.
    largest = np.arange(len(part)), np.argmax(np.where(part < 1.0, part, 0.0), axis=1)
    part[largest] += np.rint(part.sum(axis=1)) - part.sum(axis=1)
    numbers = uniform_numbers(random_state, group)
    while (path := _path(part)) is not None:
        rows, columns = path
        sign = np.where(np.arange(len(rows)) % 2 == 0, 1.0, -1.0)
        there = part[rows, columns]
        up = float(np.where(sign > 0, 1.0 - there, there).min())
        down = float(np.where(sign > 0, there, 1.0 - there).min())
        step = up if next(numbers) * (up + down) < down else -down
        part[rows, columns] = there + step * sign
    return np.asarray((whole + np.rint(part)).astype(np.int64))


def uniform_numbers(random_state: int, group: int) -> Iterator[float]:
    """Yield numbers from 0 to 1 that depend on a seed and a group alone, and not on the hashes of tasks."""
    state = mix(np.uint64((random_state ^ _SALT) + group * _GROUP_FACTOR & _MAX_UINT64))
    while True:
        state = mix(np.uint64((int(state) + _GROUP_FACTOR) & _MAX_UINT64))
        yield float(uniforms(np.array([state], dtype=np.uint64))[0])


def _path(part: NDArray[np.float64]) -> tuple[list[int], list[int]] | None:
    """Return the rows and columns of a path through entries that are no whole numbers; None if there is none.

    Each two entries after each other are in one row or in one column, in turns. The path is closed, or each end is
    alone in its column; a step of alternating sign along it then keeps the sum of every row, and of every column but
    those of the two ends.
    """
    is_open = (part > SAME_VALUE) & (part < 1.0 - SAME_VALUE)
    is_open &= is_open.sum(axis=1, keepdims=True) > 1  # an entry alone in its row is a whole number but for rounding
    in_column = is_open.sum(axis=0)
    if not in_column.any():
        return None
    alone = np.flatnonzero(in_column == 1)
    at = (1, int(alone[0]) if alone.size else int(np.flatnonzero(in_column)[0]))  # an axis, and a place on it
    seen: dict[tuple[int, int], int] = {}
    entries: list[tuple[int, int]] = []
    while at not in seen:
        seen[at] = len(entries)
        axis, place = at
        line = is_open[:, place] if axis == 1 else is_open[place]
        came = entries[-1][1 - axis] if entries else -1
        onward = [int(other) for other in np.flatnonzero(line) if other != came]
        if not onward:  # alone in its column
            first = 0
            break
        entries.append((onward[0], place) if axis == 1 else (place, onward[0]))
        at = (1 - axis, onward[0])
    else:
        first = seen[at]
    rows, columns = zip(*entries[first:], strict=True)
    return list(rows), list(columns)
