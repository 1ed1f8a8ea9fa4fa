"""An order that does not depend on names."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from faircrowd.aggregate.calibration.name_free_order import name_free_order
from strategies import examples


def jury(n_judges: int, n_tasks: int, n_classes: int, seed: int) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
    """Labels of judges (with many ties), and the truth."""
    rng = np.random.default_rng(seed)
    logs = np.full((n_judges, n_tasks, n_classes), -2.0)
    label = rng.integers(0, n_classes, (n_judges, n_tasks))
    np.put_along_axis(logs, label[:, :, None], -0.1, axis=2)
    logs[rng.random((n_judges, n_tasks)) < 0.3] = 0.0
    return logs, rng.integers(0, n_classes, n_tasks).astype(np.int32)


@given(st.integers(1, 6), st.integers(1, 12), st.integers(2, 3), st.integers(0, 10_000))
@settings(max_examples=examples(60), deadline=None)
def test_what_is_ordered_does_not_depend_on_names(n_judges: int, n_tasks: int, n_classes: int, seed: int) -> None:
    logs, truth = jury(n_judges, n_tasks, n_classes, seed)
    family = np.arange(n_judges, dtype=np.int32) // 2
    rng = np.random.default_rng(seed + 1)
    a, b = rng.permutation(n_judges), rng.permutation(n_tasks)
    judges, tasks = name_free_order(logs, truth, family)
    assert sorted(judges) == list(range(n_judges))
    assert sorted(tasks) == list(range(n_tasks))
    others, elsewhere = name_free_order(logs[np.ix_(a, b)], truth[b], family[a])
    np.testing.assert_array_equal(logs[np.ix_(judges, tasks)], logs[np.ix_(a, b)][np.ix_(others, elsewhere)])
    np.testing.assert_array_equal(truth[tasks], truth[b][elsewhere])


def test_tasks_that_judges_tell_apart_only_together() -> None:
    # Each task has one vote for the truth, by another judge; judges differ only in what they say of the last task.
    logs = np.zeros((3, 4, 2))
    logs[[0, 1, 2], [0, 1, 2], 0] = -1.0
    logs[:, 3, 0] = [-0.1, -0.2, -0.3]
    truth = np.zeros(4, dtype=np.int32)
    alone = np.arange(3, dtype=np.int32)
    judges, tasks = name_free_order(logs, truth, alone)
    assert [int(judges[list(judges).index(t)]) for t in tasks if t < 3] == [t for t in tasks if t < 3]
    swapped = name_free_order(logs[::-1], truth, alone)
    assert (2 - swapped.judges).tolist() == judges.tolist()
    assert swapped.tasks.tolist() == tasks.tolist()


@pytest.mark.parametrize("covariate", [[0.0, 1.0], [1.0, 0.0]])
def test_a_covariate_tells_tasks_apart(covariate: list[float]) -> None:
    logs, truth = np.zeros((1, 2, 2)), np.zeros(2, dtype=np.int32)
    found = name_free_order(logs, truth, np.zeros(1, dtype=np.int32), np.array(covariate))
    assert found.tasks.tolist() == np.argsort(covariate).tolist()
