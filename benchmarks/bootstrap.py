"""How often the bootstrap interval of the gap covers the true gap, for crowds of few and of many workers.

Crowds of one kind are drawn again and again: workers who lean, each in their own way in each group, and tasks. The true
gap is the mean over many crowds. ``python benchmarks/bootstrap.py`` prints the share of intervals that cover it, and
their mean reach. docs/audit.md has its output.
"""

import argparse

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from faircrowd import read_votes
from faircrowd.audit.bootstrap import bootstrap_gap
from faircrowd.audit.intervals import gap_interval

KINDS = [(1000, n_workers, each) for each in (1, 3) for n_workers in (5, 10, 20, 50)]


def draw(
    rng: np.random.Generator, n_tasks: int, n_workers: int, each: int, effect: float
) -> tuple[NDArray[np.int64], NDArray[np.bool_], NDArray[np.int64]]:
    """Draw workers who lean, each in their own way in each group: who votes on each task, how, and the groups."""
    group = rng.integers(0, 2, n_tasks)
    truth = rng.random(n_tasks) < 1 / (1 + np.exp(-effect * (2 * group - 1)))
    worker = np.argsort(rng.random((n_tasks, n_workers)), axis=1)[:, :each]
    lean = rng.normal(0, 1, (n_workers, 1)) + rng.normal(0, 1, (n_workers, 2))
    odds = 1.5 * (2 * truth[:, None] - 1) + lean[worker, group[:, None]]
    return worker, rng.random((n_tasks, each)) < 1 / (1 + np.exp(-odds)), group


def rates(label: NDArray[np.bool_], group: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the share of majority labels 1 in each group."""
    marked = label.sum(axis=1) * 2 > label.shape[1]
    return np.array([marked[group == a].mean() for a in (0, 1)])


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=1000)
    parser.add_argument("--effect", type=float, default=0.7)
    given = parser.parse_args()
    print("| tasks | workers | votes per task | covered | mean reach | covered, over tasks alone |")
    print("|---|---|---|---|---|---|")
    for n_tasks, n_workers, each in KINDS:
        rng = np.random.default_rng(1)
        true = np.ptp(np.mean([rates(*draw(rng, n_tasks, n_workers, each, given.effect)[1:]) for _ in range(8000)], 0))
        found, alone, reach = [], [], []
        for i in range(given.repeats):
            worker, label, group = draw(rng, n_tasks, n_workers, each, given.effect)
            frame = {
                "task": np.repeat(np.arange(n_tasks), each),
                "worker": worker.ravel(),
                "label": label.ravel().astype(int),
            }
            votes = read_votes(pa.table(frame), sensitive_features=dict(enumerate(group.tolist())))
            got = bootstrap_gap(votes, replicates=400, random_state=i)
            marked = label.sum(axis=1) * 2 > each
            closed = gap_interval([[np.sum(marked[group == a] == k) for k in (0, 1)] for a in (0, 1)])
            found.append(got.low <= true <= got.high)
            alone.append(closed.low <= true <= closed.high)
            reach.append(got.high - got.gap)
        means = " | ".join(f"{np.mean(values):.3f}" for values in (found, reach, alone))
        print(f"| {n_tasks} | {n_workers} | {each} | {means} |", flush=True)


if __name__ == "__main__":
    main()
