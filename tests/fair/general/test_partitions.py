"""Cells: tasks that are in the same group of every partition."""

import numpy as np
import pytest

from faircrowd.fair.general.partitions import Partition, PartitionKey, cells_of
from faircrowd.votes import Vocabulary


@pytest.mark.parametrize("n_partitions", [1, 3, 13])  # of 64 groups each: 13 have more combinations than int64 counts
def test_a_cell_is_what_is_in_one_group_of_every_partition(n_partitions: int) -> None:
    rng = np.random.default_rng(n_partitions)
    some = rng.integers(0, 64, (20, n_partitions))
    codes = some[rng.integers(0, 20, 200)].astype(np.int32)
    groups = Vocabulary.of([f"g{i:02}" for i in range(64)])
    cell, of_cell = cells_of(
        [Partition(PartitionKey((f"c{t}",)), codes[:, t], groups, {}) for t in range(n_partitions)]
    )
    assert (np.column_stack(of_cell)[cell] == codes).all()
    assert np.unique(cell).tolist() == list(range(len(set(map(tuple, codes.tolist())))))
