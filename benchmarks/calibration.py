"""Measure on real crowds with known truth whether probabilities come true, with and without known labels.

``python benchmarks/calibration.py FOLDER`` prints tables of means over crowds. FOLDER has the folders ``accuracy/*``,
``tweets-hate-3class``, ``politifact-6class``, ``faces-4class``, ``crowd-judgement`` and ``jigsaw-toxicity``. Votes on
tasks without truth are left out, so that known labels are a random sample of all tasks. In each draw some labels are
known, of a random sample of the tasks. Labels are scored on the *other* tasks; estimates of accuracy and price, with
95% intervals, are compared with the accuracy and price over all tasks. Crowds with fewer than twice as many tasks as
known labels are left out. Log losses count a probability below 1e-10 as 1e-10.
"""

import argparse
import time
import warnings
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

import faircrowd as fc
from faircrowd.aggregate.calibration.accuracy_estimate import AccuracyEstimate
from faircrowd.aggregate.calibration.reliability import calibration_error
from faircrowd.datasets import load_crowd_judgement, load_jigsaw_toxicity, load_tables
from faircrowd.votes import VoteTable
from measure_fit import crowd as simulated

GROUPS = {"tweets-hate-3class": "dialect", "politifact-6class": "party", "faces-4class": "orientation"}
SINGLE = {
    "majority": fc.MajorityVote(),
    "Wawa": fc.Wawa(),
    "DawidSkene": fc.DawidSkene(),
    'DawidSkene(pooling="learned")': fc.DawidSkene(pooling="learned"),
    "OneCoinDawidSkene": fc.OneCoinDawidSkene(),
}
SHOWN = ("majority", "DawidSkene", 'DawidSkene(pooling="learned")')
BEST, CALIBRATED, BY_GROUP = "best single by known labels", "CalibratedCrowd", "CalibratedCrowd(by_group=True)"
EPSILON = 0.05
F1_SHARE = 0.4
F1_MODELS = {
    "majority": (fc.MajorityVote(), False),
    "DawidSkene": (fc.DawidSkene(), False),
    'DawidSkene(pooling="learned")': (fc.DawidSkene(pooling="learned"), False),
    "BayesVote": (fc.BayesVote(), True),
    "CalibratedCrowd": (fc.CalibratedCrowd(), True),
    "CalibratedCrowd(BayesVote())": (fc.CalibratedCrowd(fc.BayesVote()), True),
}
COLUMNS = {
    "accuracy": "accuracy",
    "off": "believed, off by",
    "ece": "ECE",
    "loss": "log loss",
    "error": "estimate, off by",
    "covered": "interval right",
    "fair": "fair accuracy",
    "fair_off": "believed, off by",
    "fair_error": "estimate, off by",
    "fair_covered": "interval right",
    "price_off": "believed price, off by",
    "price_error": "estimate, off by",
    "price_covered": "interval right",
}
Row = dict[str, float]


class Data(NamedTuple):
    """A crowd all of whose tasks have a known truth; truth as the codes of the classes of the votes."""

    name: str
    votes: VoteTable
    truth: pd.Series
    codes: NDArray[np.int64]


def crowds(folder: Path) -> Iterator[Data]:
    """Load the crowds, and leave out tasks without truth."""
    for place in sorted(path.parent for path in (folder / "accuracy").glob("*/votes.csv")):
        yield _data(place.name, load_tables(place), None)
    for name, group in GROUPS.items():
        yield _data(name, load_tables(folder / name), group)
    for name, load in (("crowd-judgement", load_crowd_judgement), ("jigsaw-toxicity", load_jigsaw_toxicity)):
        yield _data(name, load(folder, download=False), None)


def _data(name: str, crowd: Any, group: str | None) -> Data:
    truth = crowd.truth.dropna()
    groups = crowd.groups if group is None or isinstance(crowd.groups, pd.Series) else crowd.groups[group]
    votes = fc.read_votes(crowd.votes[crowd.votes["task"].isin(truth.index)], sensitive_features=groups)
    truth = truth.reindex(votes.tasks.to_list())
    return Data(name, votes, truth, pd.Index(votes.classes.to_list()).get_indexer(truth))


def scores(p: NDArray[np.float64], codes: NDArray[np.int64]) -> Row:
    """Compare probabilities with the truth."""
    confidence, right = p.max(axis=1), p.argmax(axis=1) == codes
    return {
        "accuracy": right.mean(),
        "off": abs(confidence.mean() - right.mean()),
        "ece": calibration_error(confidence, right),
        "loss": -np.log(np.maximum(p[np.arange(codes.size), codes], 1e-10)).mean(),
    }


def compared(name: str, found: AccuracyEstimate, real: float) -> Row:
    """Compare an estimate with what it estimates."""
    return {f"{name}error": abs(found.estimate - real), f"{name}covered": found.low <= real <= found.high}


def measure(data: Data, sizes: list[int], n_draws: int, is_fair: bool) -> Iterator[tuple[int, str, Row]]:
    """Yield the number of known labels, the name of what was measured, and its scores."""
    posterior = {name: np.asarray(model.fit(data.votes).probas_) for name, model in SINGLE.items()}
    has_groups = is_fair and data.votes.groups is not None
    fair = {}
    if has_groups:
        fair = {name: fc.FairCrowd(SINGLE[name], EPSILON).fit(data.votes) for name in SHOWN}
    for n in (size for size in sizes if 2 * size <= data.votes.n_tasks):
        for draw in range(n_draws):
            known = np.zeros(data.votes.n_tasks, dtype=bool)
            known[np.random.default_rng([n, draw]).permutation(known.size)[:n]] = True
            hits = {name: (p.argmax(axis=1) == data.codes)[known].mean() for name, p in posterior.items()}
            chosen = {**{name: posterior[name] for name in SHOWN}, BEST: posterior[max(hits, key=hits.__getitem__)]}
            for name, p in chosen.items():
                row = scores(p[~known], data.codes[~known])
                if name in fair:
                    row |= fair_scores(data, known, fair[name], p.argmax(axis=1) == data.codes)
                yield n, name, row
            for name in (CALIBRATED, BY_GROUP) if has_groups else (CALIBRATED,):
                yield n, name, _calibrated(data, known, fc.CalibratedCrowd(by_group=name == BY_GROUP), has_groups)


def _calibrated(data: Data, known: NDArray[np.bool_], model: fc.CalibratedCrowd, is_fair: bool) -> Row:
    truth = np.asarray(data.truth)
    made = None
    if is_fair:
        made = fc.FairCrowd(model, EPSILON).fit(data.votes, data.truth[known])
        model = made.estimator_
    else:
        model = model.fit(data.votes, data.truth[known])
    right = np.asarray(model.labels_) == truth
    row = scores(np.asarray(model.probas_)[~known], data.codes[~known])
    row |= compared("", model.accuracy_, right.mean())
    return row if made is None else row | fair_scores(data, known, made, right)


def fair_scores(data: Data, known: NDArray[np.bool_], made: fc.FairCrowd, right: NDArray[np.bool_]) -> Row:
    """Compare fair labels with the truth, and with what is believed and estimated of them."""
    after = np.asarray(made.labels_) == np.asarray(data.truth)
    real, price, certificate = after.mean(), right.mean() - after.mean(), made.certificate_
    believed = certificate.believed_accuracy
    row = {
        "fair": after[~known].mean(),
        "fair_off": abs(believed - real),
        "price_off": abs(certificate.believed_accuracy_before - believed - price),
    }
    if made.accuracy_ is not None and made.price_ is not None:
        row |= compared("fair_", made.accuracy_, real) | compared("price_", made.price_, price)
    return row


def pooled_time(votes: int = 1_000_000, rounds: int = 20, repeat: int = 7) -> tuple[float, float]:
    """Return the least seconds of Dawid-Skene, plain and pooled, in turn on the same simulated votes."""
    frame = simulated(votes, 2, "numbers")
    seconds: dict[str | None, list[float]] = {None: [], "learned": []}
    for _ in range(repeat + 1):
        for pooling, taken in seconds.items():
            start = time.perf_counter()
            fc.DawidSkene(n_iter=rounds, tol=-1.0, pooling=pooling).fit_predict(frame)
            taken.append(time.perf_counter() - start)
    plain, pooled = (min(taken[1:]) for taken in seconds.values())  # the first one loads compiled code
    return plain, pooled


def measure_f1(data: Data, n_draws: int) -> dict[str, NDArray[np.float64]]:
    """Return F1 of fair labels by aggregator, of labels that maximise accuracy and of those that maximise F1."""
    truth = np.asarray(data.truth) == data.votes.classes.to_list()[1]
    found = defaultdict(list)
    for draw in range(n_draws):
        known = np.zeros(truth.size, dtype=bool)
        known[np.random.default_rng(draw).permutation(truth.size)[: int(F1_SHARE * truth.size)]] = True
        for name, (model, learns) in F1_MODELS.items():
            gold = [data.truth[known]] if learns else []
            row = []
            for objective in ("accuracy", "f1"):
                fair = fc.FairCrowd(model, epsilon=EPSILON, objective=objective).fit(data.votes, *gold)
                labels = (np.asarray(fair.labels_) == data.votes.classes.to_list()[1])[~known]
                row.append(2 * (labels & truth[~known]).sum() / (labels.sum() + truth[~known].sum()))
            found[name].append(row)
    return {name: np.mean(rows, axis=0) for name, rows in found.items()}


def draw_picture(folder: Path, picture: Path, n_known: int = 100) -> None:
    """Draw confidence against the share of right labels: ten bins of confidence, all crowds with equal weight."""
    from faircrowd.report.charts import images

    sums: dict[str, NDArray[np.float64]] = defaultdict(lambda: np.zeros((3, 10)))
    for data in crowds(folder):
        if data.votes.n_tasks < 2 * n_known:
            continue
        known = np.zeros(data.votes.n_tasks, dtype=bool)
        known[np.random.default_rng(0).permutation(known.size)[:n_known]] = True
        models = {"Dawid-Skene": fc.DawidSkene().fit(data.votes), "majority": fc.MajorityVote().fit(data.votes)}
        models[f"calibrated, {n_known} known labels"] = fc.CalibratedCrowd().fit(data.votes, data.truth[known])
        for name, model in models.items():
            p = np.asarray(model.probas_)[~known]
            confidence, right = p.max(axis=1), p.argmax(axis=1) == data.codes[~known]
            place = np.minimum((confidence * 10).astype(int), 9)
            for row, values in enumerate((np.ones(place.size), confidence, right)):
                sums[name][row] += np.bincount(place, values, minlength=10) / place.size
    rows = [
        {"labels from": name, "confidence": of[1, i] / of[0, i], "right": of[2, i] / of[0, i], "share": of[0, i]}
        for name, of in sums.items()
        for i in np.flatnonzero(of[0] > 0.02)
    ]
    axis = {"type": "quantitative", "scale": {"domain": [0.2, 1]}, "axis": {"format": "%"}}
    colour = {"field": "labels from", "sort": list(sums), "scale": {"range": ["#d55e00", "#8a8a8a", "#0072b2"]}}
    diagonal = {
        "data": {"values": [{"at": 0.2}, {"at": 1}]},
        "mark": {"type": "line", "color": "#bbbbbb", "strokeDash": [4, 4]},
        "encoding": {"x": {"field": "at", **axis}, "y": {"field": "at", **axis}},
    }
    curves = {
        "data": {"values": rows},
        "mark": {"type": "line", "point": True, "strokeWidth": 2.5},
        "encoding": {
            "x": {"field": "confidence", "title": "confidence of labels", **axis},
            "y": {"field": "right", "title": "labels that are right", **axis},
            "color": colour,
        },
    }
    chart = {
        "$schema": "https://vega.github.io/schema/vega-lite/v6.json",
        "title": "Does confidence come true? Means of twelve real crowds",
        "width": 360,
        "height": 300,
        "background": "white",
        "layer": [diagonal, curves],
    }
    picture.write_bytes(images("picture", chart)[f"picture{picture.suffix}"])


def show(title: str, rows: dict[tuple[int, str], dict[str, Row]], columns: list[str]) -> None:
    """Print means over crowds as a Markdown table."""
    print(f"\n{title}\n")
    print("| known | crowds | labels from | " + " | ".join(COLUMNS[column] for column in columns) + " |")
    print("|---" * (3 + len(columns)) + "|")
    for (n, name), by_crowd in rows.items():
        means = []
        for column in columns:
            values = [row[column] for row in by_crowd.values() if column in row]
            means.append(f"{np.mean(values):.4f}" if values else "")
        print(f"| {n} | {len(by_crowd)} | {name} | " + " | ".join(means) + " |", flush=True)


def show_means(given: argparse.Namespace) -> None:
    """Measure and print labels, estimates and fair labels."""
    rows: dict[tuple[int, str], dict[str, Row]] = defaultdict(dict)
    grouped: dict[tuple[int, str], dict[str, Row]] = defaultdict(dict)
    label_columns, fair_columns = list(COLUMNS)[:6], ["accuracy", "ece", "loss", *list(COLUMNS)[6:]]
    for data in crowds(given.folder):
        if given.crowds and data.name not in given.crowds:
            continue
        found: dict[tuple[int, str], list[Row]] = defaultdict(list)
        for n, name, row in measure(data, given.known, given.draws, "fair" in given.only):
            found[n, name].append(row)
        own: dict[tuple[int, str], dict[str, Row]] = {}
        for key, draws in found.items():
            own[key] = {data.name: {column: float(np.mean([row[column] for row in draws])) for column in draws[0]}}
            if key[1] != BY_GROUP:
                rows[key] |= own[key]
            if data.votes.groups is not None and key[1] != BEST:
                grouped[key] |= own[key]
        if given.each and own:
            has_groups = "fair" in given.only and data.votes.groups is not None
            show(f"{data.name}, {data.votes.n_tasks:,} tasks", own, list(COLUMNS) if has_groups else label_columns)
    show(f"means over crowds of means over {given.draws} draws", dict(sorted(rows.items(), key=_size)), label_columns)
    if "fair" in given.only:
        show(f"crowds with groups, epsilon {EPSILON}", dict(sorted(grouped.items(), key=_size)), fair_columns)


def _size(item: tuple[tuple[int, str], object]) -> int:
    return item[0][0]


def main() -> None:
    parts = ("labels", "fair", "f1", "time")
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("folder", type=Path, help="folder with the crowds")
    options.add_argument("--draws", type=int, default=20)
    options.add_argument("--known", type=int, nargs="+", default=[25, 50, 100, 200], help="numbers of known labels")
    options.add_argument("--crowds", nargs="+", help="only these crowds")
    options.add_argument("--each", action="store_true", help="one table per crowd, too")
    options.add_argument("--only", nargs="+", choices=parts, default=parts, help="what is measured")
    options.add_argument("--picture", type=Path, help="draw confidence against the share of right labels, too")
    given = options.parse_args()
    warnings.simplefilter("ignore")
    if {"labels", "fair"} & set(given.only):
        show_means(given)
    if "f1" in given.only:
        print(f"\nF1 of fair labels, epsilon {EPSILON}, {F1_SHARE:.0%} of labels known: most accurate, best F1\n")
        for data in crowds(given.folder):
            if data.votes.groups is not None and data.votes.n_classes == 2:
                for name, (accurate, best) in measure_f1(data, given.draws).items():
                    print(f"| {data.name} | {name} | {accurate:.3f} | {best:.3f} |", flush=True)
    if "time" in given.only:
        plain, pooled = pooled_time()
        print(f"\nDawid-Skene, 20 rounds, 1M votes: {plain:.2f} s; pooled {pooled:.2f} s, {pooled / plain:.2f} of it")
    if given.picture is not None:
        draw_picture(given.folder, given.picture)


if __name__ == "__main__":
    main()
