"""Random crowds for the tests of workers."""

import numpy as np
import pandas as pd

import faircrowd as fc
from faircrowd.votes import VoteTable


def random_crowd(
    seed: int, n_tasks: int, n_workers: int, n_classes: int, n_groups: int, repeats: bool = False
) -> pd.DataFrame:
    """Random votes, with a column of groups; some workers miss groups, some tasks have one vote."""
    rng = np.random.default_rng(seed)
    rows = []
    for task in range(n_tasks):
        group = task if task < n_groups else rng.integers(n_groups)
        voters = rng.choice(n_workers, rng.integers(1, n_workers + 1), replace=repeats)
        rows += [(task, int(worker), int(rng.integers(n_classes)), int(group)) for worker in voters]
    return pd.DataFrame(rows, columns=["task", "worker", "label", "group"])


def read_crowd(frame: pd.DataFrame) -> VoteTable:
    groups = frame.drop_duplicates("task").set_index("task")["group"]
    return fc.read_votes(frame[["task", "worker", "label"]], sensitive_features=groups, on_duplicate="all")


def counts_of(seed: int, *shape: int) -> np.ndarray:
    """Counts of votes of workers, of whom some have no votes in a group or at all."""
    counts = np.random.default_rng(seed).integers(0, 8, shape)
    counts[0] = 0
    counts[1, :, 0] = 0
    counts[2, :, 1:] = 0
    counts[3, 0] *= 40
    return counts


ROWS = [(0, "u", 1), (0, "v", 0), (1, "u", 2), (2, "u", 0), (2, "v", 2), (3, "v", 1), (4, "u", 1), (4, "v", 1)]


def read_small(groups: str = "abbab") -> VoteTable:
    frame = pd.DataFrame(ROWS, columns=["task", "worker", "label"])
    return fc.read_votes(frame, sensitive_features=dict(enumerate(groups)))
