"""Instances on which the long test once found a property broken; the bugs are fixed."""

import numpy as np
import pytest

from faircrowd import make_fair
from long.properties import instance, violations

FOUND = [(1794817752, "heavy"), (1794817761, "heavy"), (1795133892, "ends")]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("seed", "kind"), FOUND)
def test_the_properties_hold(seed: int, kind: str) -> None:
    assert violations(instance(seed, kind)) == []


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("seed", "n_classes", "sizes"), [(8, 7, [5, 7, 25]), (0, 7, [11, 7, 5, 13, 10]), (6, 6, [13, 5, 11])]
)
def test_small_groups_of_certain_tasks_keep_what_they_are_allowed(seed: int, n_classes: int, sizes: list[int]) -> None:
    """To exceed it by a ten-thousandth of a task gained more than it cost in the integer program."""
    group = np.repeat(np.arange(len(sizes)), sizes)
    labels = np.random.default_rng(seed).integers(0, n_classes, group.size)
    found = make_fair(np.eye(n_classes)[labels], group, epsilon=0.0).certificate
    assert found.gap <= found.gap_allowed + 1e-12 < 1 / min(sizes)
