"""Measure on crowd-judgement how far equal opportunity as an aggregator believes it is from the truth.

``python benchmarks/constraints_and_truth.py FOLDER [--draws 20]`` prints the gap that the certificate believes and the
real one, without known labels and with 100 of them (``CalibratedCrowd``), on average over draws of the known labels.
FOLDER has the folder ``crowd-judgement``. Real gaps are over all tasks with truth.
"""

import argparse
import warnings
from pathlib import Path

import numpy as np
import pandas as pd

import faircrowd as fc
from faircrowd.constraints import EqualOpportunity
from faircrowd.datasets import load_crowd_judgement

EPSILON, LABEL, KNOWN = 0.02, 1, 100


def gap(labels: pd.Series, truth: pd.Series, groups: pd.Series) -> float:
    """Return the largest difference in how often tasks that are truly of the class get its label."""
    is_true = truth[truth == LABEL].index
    rates = (labels.loc[is_true] == LABEL).groupby(groups.loc[is_true]).mean()
    return float(np.ptp(rates))


def main() -> None:
    """Print one line per model."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--draws", type=int, default=20)
    given = parser.parse_args()
    crowd = load_crowd_judgement(given.folder, download=False)
    truth, groups = crowd.truth.dropna(), crowd.groups
    asked = [EqualOpportunity(EPSILON, label=LABEL)]
    rows: dict[str, list[tuple[float, float, float]]] = {}
    for draw in range(given.draws):
        known = truth.sample(KNOWN, random_state=draw)
        for name, model, gold in (
            ("majority", fc.MajorityVote(), ()),
            ("DawidSkene", fc.DawidSkene(), ()),
            ("DawidSkene(by_group=True)", fc.DawidSkene(by_group=True), ()),
            (f"CalibratedCrowd, {KNOWN} known labels", fc.CalibratedCrowd(), (known,)),
            (f"CalibratedCrowd(by_group=True), {KNOWN} known labels", fc.CalibratedCrowd(by_group=True), (known,)),
        ):
            if not gold and name in rows:
                continue
            fair = fc.FairCrowd(model, constraints=asked, believed=not gold)
            fair.fit(crowd.votes, *gold, sensitive_features=groups)
            own = gap(fair.estimator_.labels_, truth, groups)
            found = gap(fair.labels_, truth, groups), own, fair.certificate_.constraints[0].level
            rows.setdefault(name, []).append(found)
    print(f"{len(truth):,} tasks; equal opportunity of label {LABEL} within {EPSILON:g}")
    print(f"{'':<50}{'believed':>10}{'real':>10}{'real, own labels':>18}")
    for name, found in rows.items():
        real, own, believed = np.mean(found, axis=0)
        print(f"{name:<50}{believed:>10.3f}{real:>10.3f}{own:>18.3f}")


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main()
