"""Two runs side by side: their numbers, and the tasks that got different labels."""

from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from faircrowd.studio.task_story import RunTables

__all__ = ["compare_runs"]

_SHOWN = 50


def compare_runs(first: RunTables, second: RunTables) -> dict[str, Any]:
    """Return how the labels of two runs differ.

    Returns
    -------
    dict
        ``common`` tasks, ``differ`` (how many of these), ``moves`` (label, label, number of tasks; the most frequent
        first), ``tasks`` (some of those that differ), and ``only_first`` and ``only_second``.
    """
    one, two = first.labels, second.labels
    place = pc.index_in(one["task"], value_set=two["task"].combine_chunks())
    rows, there = np.flatnonzero(pc.is_valid(place)), place.drop_null()
    before, after = one["label"].take(pa.array(rows)).to_pylist(), two["label"].take(there).to_pylist()
    differ = [i for i, (old, new) in enumerate(zip(before, after, strict=True)) if old != new]
    moves = Counter((before[i], after[i]) for i in differ)
    return {
        "common": int(rows.size),
        "differ": len(differ),
        "moves": sorted(((a, b, n) for (a, b), n in moves.items()), key=lambda move: (-move[2], move[0], move[1])),
        "tasks": [
            {
                "task": one["task"][int(rows[i])].as_py(),
                "first": before[i],
                "second": after[i],
                "second_row": there[i].as_py(),
            }
            for i in differ[:_SHOWN]
        ],
        "only_first": int(one.num_rows - rows.size),
        "only_second": int(two.num_rows - rows.size),
    }
