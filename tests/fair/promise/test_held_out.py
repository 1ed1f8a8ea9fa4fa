"""The split of tasks: the same for any order of rows, the asked share of each group, and unlike the draw of ties."""

import numpy as np
import pandas as pd
import pytest

from faircrowd.fair.promise.held_out import split
from faircrowd.fair.tasks.problem import Problem
from faircrowd.fair.tasks.read_posterior import read_posterior


def problem(order: np.ndarray | None = None, sizes: tuple[int, ...] = (40, 103), names: str = "t{}") -> Problem:
    n = sum(sizes)
    p = np.random.default_rng(0).random(n)
    index = pd.Index([names.format(i) for i in range(n)], name="task")
    frame = pd.DataFrame({0: 1 - p, 1: p}, index=index)
    groups = pd.Series(np.repeat(np.arange(len(sizes)), sizes), index=index)
    return read_posterior(frame if order is None else frame.iloc[order], groups)


def ids(part: Problem) -> set:
    return set(part.tasks.to_list())


@pytest.mark.parametrize("share", [0.2, 0.5])
def test_each_group_gives_its_share(share: float) -> None:
    whole = problem()
    parts = split(whole, share, 3)
    assert parts is not None
    assert parts.learned.sizes.tolist() == [int(40 * share), int(103 * share)]
    assert ids(parts.learned) | ids(parts.held_out) == ids(whole)
    assert not ids(parts.learned) & ids(parts.held_out)
    expected = dict(zip(whole.tasks.to_list(), whole.posterior[:, 1], strict=True))
    for part in parts:
        assert dict(zip(part.tasks.to_list(), part.posterior[:, 1], strict=True)).items() <= expected.items()


def test_the_order_of_rows_does_not_matter_and_the_seed_does() -> None:
    mixed = problem(np.random.default_rng(1).permutation(143))
    assert ids(split(problem(), 0.5, 3).learned) == ids(split(mixed, 0.5, 3).learned)
    assert ids(split(problem(), 0.5, 3).learned) != ids(split(problem(), 0.5, 4).learned)


def test_tasks_of_low_hashes_for_ties_are_as_likely_to_be_held_out() -> None:
    from faircrowd.exact.hashing import task_keys, uniforms

    parts = split(problem(sizes=(4000, 4000)), 0.5, 7)
    numbers = uniforms(task_keys(parts.held_out.tasks, np.arange(4000), 7))
    assert abs(numbers.mean() - 0.5) < 0.02


def test_a_group_that_is_too_small() -> None:
    assert split(problem(sizes=(4, 100)), 0.2, 0) is None
    assert split(problem(sizes=(5, 100)), 0.2, 0) is not None
    assert split(problem(sizes=(1, 100)), 0.5, 0) is None
