"""Measure a round of Dawid-Skene against a plain pass over the same votes, and rounds with and without acceleration.

Processor seconds of one thread, the best of several. The plain pass reads the codes of each vote, reads a row of a
table and adds to a row of another: what any round must do at least. A folder of crowds (votes.csv in folders) adds,
for three tolerances, the rounds and seconds until Dawid-Skene settles, plain and accelerated.
"""

import argparse
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
import numpy as np

import faircrowd as fc
from faircrowd.aggregate.confusion import Confusion, VoteCounter, normalised
from faircrowd.aggregate.kernels.confusion_counts import expected_counts
from faircrowd.engines import Block
from measure_fit import crowd


@numba.njit(nogil=True)
def plain_pass(block: Block, table: np.ndarray, counts: np.ndarray) -> float:
    _, offsets, worker, label, _, _ = block
    total = 0.0
    for i in range(np.uint64(offsets[0]), np.uint64(offsets[-1])):
        row = np.uint64(worker[i]) * np.uint64(table.shape[1]) + np.uint64(label[i])
        for k in range(table.shape[1]):
            total += table[row, k]
            counts[row, k] += 1
    return total


def best(call: Callable[[], Any], repeat: int = 7) -> float:
    found = []
    for _ in range(repeat + 1):  # the first compiles
        start = time.process_time()
        call()
        found.append(time.process_time() - start)
    return min(found[1:])


def compare_rounds(n_votes: int, n_classes: int) -> None:
    votes = fc.read_votes(crowd(n_votes, n_classes, "numbers"))
    counter = VoteCounter(votes, by_group=False)
    counts = counter.from_shares()
    for _ in range(3):
        model = Confusion(normalised(counts.errors + 1e-10, axis=2), normalised(counts.priors, axis=1))
        counts, _ = counter.expected(model)
    tables, blocks = counter._tables(model), counter.engine.blocks
    sums = np.zeros(tables[0].shape, np.int64)
    base = best(lambda: [plain_pass(block, tables[0], sums) for block in blocks])
    ours = best(lambda: [expected_counts(block, counter.token, *tables, *counter.units) for block in blocks])
    print(f"{n_classes:>7}{base / n_votes * 1e9:>12.2f}{ours / n_votes * 1e9:>12.2f}{ours / base:>8.1f}", flush=True)


def compare_crowds(folder: Path) -> None:
    fc.DawidSkene(n_iter=3, tol=-1.0, accelerate=True).fit(crowd(1000, 3, "numbers"))  # loads compiled code
    print("\nuntil rounds settle: rounds and processor seconds, plain and accelerated")
    for pooling in (None, "learned"):
        for tol in (1e-4, 1e-6, 1e-8):
            rounds, seconds = np.zeros(2, int), np.zeros(2)
            for path in sorted(folder.glob("**/votes.csv")):
                votes = fc.read_votes(path)
                for i, accelerate in enumerate((False, True)):
                    start = time.process_time()
                    model = fc.DawidSkene(n_iter=5000, tol=tol, pooling=pooling, accelerate=accelerate).fit(votes)
                    seconds[i] += time.process_time() - start
                    rounds[i] += model.n_iter_
            shown = f"{rounds[0]:>6}{rounds[1]:>6}{rounds[1] / rounds[0]:>6.2f}{seconds[0]:>8.2f}{seconds[1]:>8.2f}"
            name = f"{'pooled' if pooling else 'plain':<8}tol {tol:<8g}"
            print(f"  {name}{shown}{seconds[1] / seconds[0]:>6.2f}", flush=True)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("folder", type=Path, nargs="?", help="folder with one folder per crowd")
    options.add_argument("--votes", type=float, default=2e6)
    given = options.parse_args()
    warnings.simplefilter("ignore")
    print(f"{'classes':>7}{'plain pass':>12}{'a round':>12}{'ratio':>8}   nanoseconds per vote, one thread")
    for n_classes in (2, 3, 5):
        compare_rounds(int(given.votes), n_classes)
    if given.folder is not None:
        compare_crowds(given.folder)


if __name__ == "__main__":
    main()
