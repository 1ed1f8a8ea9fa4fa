"""What the tests of data sets share: small raw files, and comparisons of crowds."""

from pathlib import Path
from typing import Any

import pandas as pd

from faircrowd.datasets import (
    Crowd,
)


def labels_of(crowd: Crowd) -> dict[tuple[Any, Any], Any]:
    return {(task, worker): label for task, worker, label in crowd.votes.itertuples(index=False)}


def assert_same_crowd(one: Crowd, two: Crowd) -> None:
    pd.testing.assert_frame_equal(one.votes, two.votes)
    for a, b in ((one.groups, two.groups), (one.truth, two.truth)):
        if a is None or b is None:
            assert a is b
        else:
            (pd.testing.assert_series_equal if isinstance(a, pd.Series) else pd.testing.assert_frame_equal)(a, b)
    assert one.aside == two.aside


def write_judgement(folder: Path, votes: str, tasks: str) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "MTURK_RACE.csv").write_bytes(votes.replace("\n", "\r").encode())
    (folder / "BROWARD_CLEAN_SUBSET.csv").write_bytes(tasks.replace("\n", "\r\n").encode())
    return folder
