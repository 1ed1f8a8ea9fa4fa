"""What the verdict on a list of constraints says of groups that it leaves out."""

import numpy as np
import pytest

from faircrowd.audit.constraint_gate import check_constraints


@pytest.mark.parametrize(
    ("small", "said"),
    [
        ({"c": 2}, ["parity <= 0.5: group 'c' left out, fewer than 10 tasks"]),
        ({"c": 2, "d": 9}, ["parity <= 0.5: 2 groups 'c', 'd' left out, fewer than 10 tasks"]),
        ({}, []),
    ],
)
def test_groups_that_are_left_out_are_named(small: dict[str, int], said: list[str]) -> None:
    group = np.repeat(["a", "b", *small], [50, 50, *small.values()])
    label = np.arange(group.size) % 2
    found = check_constraints(label, ["parity <= 0.5"], sensitive_features=group, min_group=10)
    assert found.constraints[0].notes == said
    assert found.constraints[0].measured.level == 0.0
