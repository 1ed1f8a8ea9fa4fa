"""Compare the fair rule with np.sort, fairlearn and the paper's smoothed dual: seconds, memory and quality in one run.

Each line is the best of several repeats in a fresh process, with packages loaded and code compiled; methods that are
compared to the millisecond take turns in one process. ``python fair.py --tasks 1e5`` is a quick run.
"""

import argparse
import json
import os
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from faircrowd import make_fair
from measure_fit import memory
from smoothed import smoothed_labels

EPSILON = 0.05


class Crowd(NamedTuple):
    """A posterior, the group of each task, and a truth drawn from the posterior (fairlearn needs one)."""

    posterior: NDArray[np.float64]
    group: NDArray[np.int64]
    truth: NDArray[np.int64]


def crowd(tasks: int, classes: int, groups: int, tied: bool) -> Crowd:
    """Return posteriors whose labels have a gap well above epsilon; tied posteriors are shares of five votes."""
    rng = np.random.default_rng(0)
    group = rng.integers(0, groups, tasks)
    weights = 1.0 + 2.0 * ((np.arange(groups)[:, None] + np.arange(classes)) % classes) / classes
    if tied:
        prior = np.cumsum(weights / weights.sum(axis=1, keepdims=True), axis=1)
        class_ = (rng.random(tasks)[:, None] > prior[group, :-1]).sum(axis=1)
        votes = np.where(rng.random((tasks, 5)) < 0.5, class_[:, None], rng.integers(0, classes, (tasks, 5)))
        posterior = np.stack([(votes == k).sum(axis=1) for k in range(classes)], axis=1) / 5
    else:
        posterior = np.empty((tasks, classes))
        for a in range(groups):
            posterior[group == a] = rng.dirichlet(weights[a], (group == a).sum())
    truth = (rng.random(tasks)[:, None] > np.cumsum(posterior, axis=1)[:, :-1]).sum(axis=1)
    return Crowd(posterior, group, truth)


def sort(data: Crowd) -> Callable[[], Any]:
    numbers = data.posterior[:, 1].copy()
    return lambda: np.sort(numbers)


def ours(data: Crowd, frontier: bool = False) -> Callable[[], Any]:
    def run() -> Any:
        fair = make_fair(data.posterior, data.group, epsilon=EPSILON)
        return fair, fair.labels, fair.frontier if frontier else None

    return run


def fairlearn(data: Crowd) -> Callable[[], Any]:
    """Fit a ThresholdOptimizer around an estimator that returns the posterior it is given as X."""
    from fairlearn.postprocessing import ThresholdOptimizer  # type: ignore[import-untyped]

    from given_posterior import GivenPosterior

    estimator = GivenPosterior().fit(data.posterior, data.truth)

    def run() -> Any:
        rule = ThresholdOptimizer(
            estimator=estimator,
            constraints="demographic_parity",
            objective="accuracy_score",
            prefit=True,
            predict_method="predict_proba",
            tol=EPSILON,
        )
        return rule.fit(data.posterior, data.truth, sensitive_features=data.group)

    return run


def smoothed(data: Crowd, exact_gradient: bool = True) -> Callable[[], Any]:
    return partial(smoothed_labels, data.posterior, data.group, EPSILON, exact_gradient=exact_gradient)


METHODS: dict[str, Callable[[Crowd], Callable[[], Any]]] = {
    "np.sort": sort,
    "make_fair": ours,
    "make_fair, frontier": partial(ours, frontier=True),
    "fairlearn": fairlearn,
    "smoothed": smoothed,
    "smoothed, differences": partial(smoothed, exact_gradient=False),
}


def quality(name: str, data: Crowd, found: Any) -> dict[str, float]:
    """Return gap and believed accuracy of the labels; for fairlearn, of its rule's probabilities before the draw.

    For ours, also those of the randomized solution, and how far both are below the bound, which is computed here from
    posterior and multipliers.
    """

    def reached(chances: NDArray[np.float64]) -> tuple[float, float]:
        rates = [chances[data.group == a].mean(axis=0) for a in np.unique(data.group)]
        return float(np.ptp(rates, axis=0).max()), float((data.posterior * chances).sum() / data.group.size)

    if name == "np.sort":
        return {}
    if name == "fairlearn":
        gap, accuracy = reached(found._pmf_predict(data.posterior, sensitive_features=data.group))
        return {"gap": gap, "accuracy": accuracy}
    one_hot = np.eye(data.posterior.shape[1])
    if name.startswith("smoothed"):
        gap, accuracy = reached(one_hot[found])
        return {"gap": gap, "accuracy": accuracy}
    fair, labels, _ = found
    gap, accuracy = reached(one_hot[labels])
    randomized_gap, randomized_accuracy = reached(fair.probabilities)
    multipliers = np.asarray(fair.certificate.multipliers)
    prices = multipliers / (np.bincount(data.group) / data.group.size)[:, None]
    bound = float((data.posterior - prices[data.group]).max(axis=1).mean() + EPSILON / 2 * np.abs(multipliers).sum())
    return {
        "gap": gap,
        "accuracy": accuracy,
        "randomized gap": randomized_gap,
        "randomized accuracy": randomized_accuracy,
        "randomized left": bound - randomized_accuracy,
        "left": bound - accuracy,
    }


def work(job: dict[str, Any]) -> dict[str, dict[str, float]]:
    """Measure methods in turns; return seconds, memory added at the peak (MB) and quality of each."""
    warnings.simplefilter("ignore")
    few = crowd(5000, job["classes"], job["groups"], job["tied"])
    data = crowd(job["tasks"], job["classes"], job["groups"], job["tied"])
    for name in job["methods"]:
        METHODS[name](few)()
    ready = {name: METHODS[name](data) for name in job["methods"]}
    rows: dict[str, dict[str, float]] = {name: {"seconds": np.inf, "extra": 0.0} for name in ready}
    for _ in range(job["repeat"]):
        for name, run in ready.items():
            Path("/proc/self/clear_refs").write_text("5")  # reset the high-water mark
            before = memory("VmRSS")
            start = time.perf_counter()
            found = run()
            rows[name]["seconds"] = min(rows[name]["seconds"], time.perf_counter() - start)
            rows[name]["extra"] = max(rows[name]["extra"], memory("VmHWM") - before)
            del found  # so that its memory is free for the next method
    if job.get("quality", True):
        for name, run in ready.items():
            rows[name] |= quality(name, data, run())
    return rows


def measure(*methods: str, fresh: bool = False, **job: Any) -> Any:
    """Run a job in a process of its own, which keeps freed memory or (fresh) returns it to the system."""
    keep = {"MALLOC_MMAP_THRESHOLD_": str(2**16 if fresh else 2**25), "MALLOC_TRIM_THRESHOLD_": str(2**40)}
    complete = {"methods": methods, "groups": 2, "tied": False, **job}
    command = [sys.executable, __file__, "--job", json.dumps(complete)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, env={**os.environ, **keep})
    return json.loads(done.stdout.splitlines()[-1])


def line(name: str, row: dict[str, float], *notes: str) -> None:
    reached = f"{row['gap']:>10.6f}{row['accuracy']:>11.7f}" if "gap" in row else " " * 21
    print(f"  {name:<42}{row['seconds']:>9.4f} s{reached}  {'; '.join(notes)}", flush=True)


def goal(text: str, value: float, *, least: float = -np.inf, most: float = np.inf) -> str:
    """Return a figure in words, and whether it reaches its goal."""
    asked = f"at least {least:g}" if least > -np.inf else f"at most {most:g}"
    return f"{value:.3g} {text} ({asked}: {'yes' if least <= value <= most else 'NO'})"


def ours_line(row: dict[str, float], *notes: str) -> None:
    line("make_fair, certificate included", row, *notes, f"bound - value {row['left']:.1e}")
    left = goal("bound - value", row["randomized left"], most=1e-9)
    reached = f"{row['randomized gap']:>10.6f}{row['randomized accuracy']:>11.7f}"
    print(f"  {'its randomized solution':<53}{reached}  {left}")


def two_classes(tasks: int) -> dict[str, float]:
    print(f"\nTwo classes, two groups, {tasks:,} tasks, no ties")
    methods = "np.sort", "make_fair", "make_fair, frontier"
    warm, fresh = (measure(*methods, tasks=tasks, classes=2, repeat=40, fresh=fresh) for fresh in (False, True))
    sorting, fair, frontier = (warm[name] for name in methods)
    line("np.sort of the same numbers", sorting)
    ours_line(fair, goal("x np.sort", fair["seconds"] / sorting["seconds"], most=4))
    line("with the full frontier", frontier, goal("x np.sort", frontier["seconds"] / sorting["seconds"], most=12))
    for name, row in fresh.items():
        line(f"{name}, fresh memory", row, f"{row['seconds'] / fresh['np.sort']['seconds']:.3g} x np.sort")
    peers(tasks, 2, warm["make_fair"], tied=False)
    return dict(warm["make_fair"])


def peers(tasks: int, classes: int, fair: dict[str, float], *, tied: bool) -> None:
    """Measure the other methods on the same crowd; without ties, their ratios to ours have goals."""

    def times(row: dict[str, float], least: float | None = None) -> str:
        ratio = row["seconds"] / fair["seconds"]
        return f"{ratio:.3g} x ours" if tied or least is None else goal("x ours", ratio, least=least)

    job: dict[str, Any] = {"tasks": tasks, "classes": classes, "tied": tied}
    if classes == 2 and find_spec("fairlearn") is None:
        print("  fairlearn is not installed: skipped (pip install fairlearn)")
    elif classes == 2:
        row = measure("fairlearn", **job, repeat=2)["fairlearn"]
        line("fairlearn ThresholdOptimizer, fit only", row, times(row, 100))
    row = measure("smoothed", **job, repeat=7)["smoothed"]
    name = "Algorithm 1, exact gradient" if classes > 2 else "Algorithm 1 (smoothed, SLSQP, noise)"
    line(name, row, times(row))
    if classes > 2:
        row = measure("smoothed, differences", **job, repeat=1)["smoothed, differences"]
        line("Algorithm 1 (without a gradient)", row, times(row, 3))


def many_classes(tasks: int) -> dict[str, float]:
    print(f"\nFive classes, two groups, {tasks:,} tasks, no ties")
    fair = measure("make_fair", tasks=tasks, classes=5, repeat=5)["make_fair"]
    ours_line(fair)
    peers(tasks, 5, fair, tied=False)
    print(f"\nSix classes, four groups, {tasks // 10:,} tasks, no ties")
    row = measure("make_fair", tasks=tasks // 10, classes=6, groups=4, repeat=3)["make_fair"]
    ours_line(row)
    return dict(fair)


def ties(tasks: int, classes: int, untied: dict[str, float], most: float) -> None:
    print(f"\n{'Two' if classes == 2 else 'Five'} classes, two groups, {tasks:,} tasks of five votes")
    fair = measure("make_fair", tasks=tasks, classes=classes, tied=True, repeat=25 if classes == 2 else 5)["make_fair"]
    ours_line(fair, goal("x without ties", fair["seconds"] / untied["seconds"], most=most))
    peers(tasks, classes, fair, tied=True)


def room(tasks: int) -> None:
    """Measure the peak of resident memory during the call, less what was resident before it (posterior and groups)."""
    row = measure("make_fair", tasks=tasks, classes=2, repeat=2, quality=False, fresh=True)["make_fair"]
    print(f"\nTwo classes, two groups, {tasks:,} tasks: memory that make_fair adds to the input at its peak")
    array = tasks * 8 / 2**20
    line("make_fair", row, f"{row['extra']:.0f} MB", goal(f"arrays of {tasks:,} floats", row["extra"] / array, most=3))


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--tasks", type=float, default=1e6, help="number of tasks; sets all sizes (default 1e6)")
    options.add_argument("--job", help=argparse.SUPPRESS)
    given = options.parse_args()
    if given.job:
        print(json.dumps(work(json.loads(given.job))))
        return
    tasks = int(given.tasks)
    print(
        f"epsilon {EPSILON}. From array to labels, certificate and rule. Seconds are the best of several warm repeats."
    )
    print("Gap and believed accuracy are of the labels; for fairlearn, of its rule's probabilities before the draw.")
    print("Memory is reused between repeats; fresh: every array gets new pages. A plain script is in between.")
    print(f"  {'':<42}{'':>11}{'gap':>10}{'accuracy':>11}")
    two = two_classes(tasks)
    ties(tasks, 2, two, most=1)
    five = many_classes(tasks)
    ties(tasks, 5, five, most=0.2)
    room(10 * tasks)


if __name__ == "__main__":
    main()
