"""Compare accuracy with crowd-kit on real crowds with known truth: a folder of folders with votes.csv and tasks.csv.

Both packages get the same votes (if a worker voted on a task more than once, the last vote).
"""

import argparse
import time
import warnings
from importlib import import_module
from pathlib import Path

import numpy as np
import pandas as pd

import faircrowd

METHODS = ("MajorityVote", "Wawa", "ZeroBasedSkill", "DawidSkene", "OneCoinDawidSkene", "GLAD")


def patch_crowdkit() -> None:
    """Make crowd-kit 1.4 run with newer versions of scikit-learn, whose check for fitted models it does not pass."""
    for name in ("wawa", "zero_based_skill", "gold_majority_vote"):
        import_module(f"crowdkit.aggregation.classification.{name}").check_is_fitted = lambda *_, **__: None


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("folder", type=Path, help="folder with one folder per crowd")
    options.add_argument("--methods", nargs="*", default=METHODS)
    given = options.parse_args()
    warnings.simplefilter("ignore")
    patch_crowdkit()
    print(f"{'method':<18}{'crowd':<18}{'ours':>8}{'theirs':>8}{'same labels':>12}{'ours s':>9}{'theirs s':>9}")
    for method in given.methods:
        rows = []
        for folder in sorted(path.parent for path in given.folder.glob("*/votes.csv")):
            votes = pd.read_csv(folder / "votes.csv").drop_duplicates(["task", "worker"], keep="last")
            truth = pd.read_csv(folder / "tasks.csv").set_index("task")["truth"].dropna()
            labels, seconds = [], []
            for package in (faircrowd, import_module("crowdkit.aggregation")):
                start = time.perf_counter()
                labels.append(getattr(package, method)().fit_predict(votes).sort_index())
                seconds.append(time.perf_counter() - start)
            accuracy = [(found.reindex(truth.index) == truth).mean() for found in labels]
            rows.append([*accuracy, (labels[0] == labels[1]).mean(), *seconds])
            print(f"{method:<18}{folder.name:<18}" + _row(rows[-1]), flush=True)
        print(f"{method:<18}{'mean':<18}" + _row(np.mean(rows, axis=0)), flush=True)


def _row(values: list[float]) -> str:
    ours, theirs, same, here, there = values
    return f"{ours:>8.4f}{theirs:>8.4f}{same:>12.4f}{here:>9.2f}{there:>9.2f}"


if __name__ == "__main__":
    main()
