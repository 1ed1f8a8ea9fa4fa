"""Labels under a list of constraints, against fairlearn, OxonFair and the whole linear program, in one run.

Two classes and two groups, because the others know no more: all methods get the same posterior as a score. The others
also get labels drawn from it, which they need and we do not. Measured are believed accuracy and violation under the
posterior, and the same on other labels drawn from it. Then, what the others cannot do: a million tasks of five classes
under three constraints over two columns, against the bound; and HiGHS over all tasks.

The other packages are the dependency group ``rivals``: ``uv pip install --group rivals``.
"""

import argparse
import logging
import time
import warnings
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from faircrowd import make_fair
from faircrowd.constraints import Constraint, DemographicParity, EqualizedOdds, EqualOpportunity, RateRatio

EPSILON = 0.03
ASKED: dict[str, Constraint] = {
    "demographic parity": DemographicParity(EPSILON),
    "equal opportunity": EqualOpportunity(EPSILON, label=1),
    "equalized odds": EqualizedOdds(EPSILON),
}


class Crowd(NamedTuple):
    """A posterior of two classes, groups, and two draws of the truth: one to learn from and one to measure."""

    posterior: NDArray[np.float64]
    group: NDArray[np.int64]
    learned_from: NDArray[np.int64]
    truth: NDArray[np.int64]


def crowd(tasks: int) -> Crowd:
    rng = np.random.default_rng(0)
    group = rng.integers(0, 2, tasks)
    second = rng.beta(np.where(group == 1, 0.9, 0.6), np.where(group == 1, 0.6, 0.9))
    draws = [(rng.random(tasks) < second).astype(np.int64) for _ in range(2)]
    return Crowd(np.column_stack([1 - second, second]), group, *draws)


def ours(data: Crowd, asked: str) -> NDArray[np.float64]:
    return make_fair(data.posterior, data.group, constraints=[ASKED[asked]]).labels.astype(np.float64)


def ours_randomized(data: Crowd, asked: str) -> NDArray[np.float64]:
    found = make_fair(data.posterior, data.group, constraints=[ASKED[asked]], decision="randomized")
    return np.asarray(found.probabilities[:, 1])


def threshold_optimizer(data: Crowd, asked: str) -> NDArray[np.float64]:
    """Return the probability of label 1 by fairlearn's ThresholdOptimizer, on its default grid."""
    from fairlearn.postprocessing import ThresholdOptimizer  # type: ignore[import-untyped]

    from given_posterior import GivenPosterior

    names = {"equal opportunity": "true_positive_rate_parity"}
    rule = ThresholdOptimizer(
        estimator=GivenPosterior().fit(data.posterior, data.learned_from),
        constraints=names.get(asked, asked.replace(" ", "_")),
        objective="accuracy_score",
        prefit=True,
        predict_method="predict_proba",
        tol=None if asked == "equalized odds" else EPSILON,  # it takes no tolerance for equalized odds
    )
    rule.fit(data.posterior, data.learned_from, sensitive_features=data.group)
    return np.asarray(rule._pmf_predict(data.posterior, sensitive_features=data.group)[:, 1])


def exponentiated_gradient(data: Crowd, asked: str) -> NDArray[np.float64]:
    """Return the probability of label 1 by fairlearn's reduction to logistic regressions of score and group."""
    from fairlearn import reductions  # type: ignore[import-untyped]
    from sklearn.linear_model import LogisticRegression  # type: ignore[import-untyped]

    kinds = {
        "demographic parity": reductions.DemographicParity,
        "equal opportunity": reductions.TruePositiveRateParity,
        "equalized odds": reductions.EqualizedOdds,
    }
    second = np.clip(data.posterior[:, 1], 1e-9, 1 - 1e-9)
    features = np.column_stack([np.log(second / (1 - second)), data.group])
    # The difference between two groups is at most twice the difference from all tasks, which it bounds.
    rule = reductions.ExponentiatedGradient(LogisticRegression(), kinds[asked](difference_bound=EPSILON / 2))
    rule.fit(features, data.learned_from, sensitive_features=data.group)
    return np.asarray(rule._pmf_predict(features)[:, 1])


def oxonfair(data: Crowd, asked: str) -> NDArray[np.float64]:
    """Return the label by OxonFair's thresholds per group."""
    import oxonfair as rival  # type: ignore[import-untyped]
    from oxonfair.utils import group_metrics as metrics  # type: ignore[import-untyped]

    kinds = {
        "demographic parity": metrics.demographic_parity,
        "equal opportunity": metrics.equal_opportunity,
        "equalized odds": metrics.equalized_odds_max,
    }
    given = {"data": data.posterior.copy(), "target": data.learned_from, "groups": data.group}
    rule = rival.FairPredictor(None, given)
    rule.fit(metrics.accuracy, kinds[asked], EPSILON)
    return np.asarray(rule.predict({**given, "data": data.posterior.copy()}), dtype=np.float64)


METHODS: dict[str, tuple[str, Callable[[Crowd, str], NDArray[np.float64]]]] = {
    "make_fair": ("faircrowd", ours),
    "make_fair, randomized": ("faircrowd", ours_randomized),
    "fairlearn ThresholdOptimizer": ("fairlearn", threshold_optimizer),
    "fairlearn ExponentiatedGradient": ("fairlearn", exponentiated_gradient),
    "OxonFair": ("oxonfair", oxonfair),
}


def violation(
    chance: NDArray[np.float64], is_second: NDArray[np.float64], group: NDArray[np.int64], asked: str
) -> float:
    """Return the largest difference of rates of label 1 between the groups; tasks are of class 1 to some degree."""
    weights = {
        "demographic parity": [np.ones(group.size)],
        "equal opportunity": [is_second],
        "equalized odds": [is_second, 1 - is_second],
    }[asked]
    gaps = []
    for weight in weights:
        rates = [np.average(chance[group == a], weights=weight[group == a]) for a in (0, 1)]
        gaps.append(abs(rates[0] - rates[1]))
    return float(max(gaps))


def against_others(tasks: int, repeat: int) -> None:
    data = crowd(tasks)
    few = crowd(2000)
    second, real = data.posterior[:, 1], data.truth.astype(np.float64)
    for asked in ASKED:
        print(f"\n{asked} within {EPSILON}, two classes, two groups, {tasks:,} tasks")
        print(f"  {'':<34}{'seconds':>9}{'x ours':>9}{'believed':>10}{'gap':>9}{'real':>10}{'real gap':>10}")
        first = 0.0
        for name, (package, method) in METHODS.items():
            if find_spec(package) is None:
                print(f"  {name:<34} {package} is not installed: skipped")
                continue
            try:
                method(few, asked)
                seconds = np.inf
                for _ in range(repeat):
                    start = time.perf_counter()
                    chance = method(data, asked)
                    seconds = min(seconds, time.perf_counter() - start)
            except Exception as error:  # what a rival cannot do is a result, too
                print(f"  {name:<34} failed: {type(error).__name__}: {str(error).splitlines()[0][:70]}")
                continue
            first = first or seconds
            expected = float((second * chance + (1 - second) * (1 - chance)).mean())
            reached = float((real * chance + (1 - real) * (1 - chance)).mean())
            gaps = violation(chance, second, data.group, asked), violation(chance, real, data.group, asked)
            print(
                f"  {name:<34}{seconds:>9.3f}{seconds / first:>9.1f}{expected:>10.5f}{gaps[0]:>9.5f}"
                f"{reached:>10.5f}{gaps[1]:>10.5f}",
                flush=True,
            )


def many_classes(tasks: int, classes: int = 5) -> tuple[NDArray[np.float64], Any]:
    """Return posteriors that favour groups of two columns differently, and the columns."""
    import pandas as pd

    rng = np.random.default_rng(0)
    gender, race = rng.integers(0, 2, tasks), rng.choice(4, tasks, p=[0.5, 0.25, 0.15, 0.1])
    weights = 1 + 2 * ((gender[:, None] + race[:, None] + np.arange(classes)) % classes) / classes
    posterior = rng.gamma(weights)
    posterior /= posterior.sum(axis=1, keepdims=True)
    return posterior, pd.DataFrame({"gender": gender, "race": race})


def at_scale(tasks: int, repeat: int) -> None:
    lists: dict[str, list[Constraint]] = {
        "parity(gender), ratio(race), opportunity(gender)": [
            DemographicParity(EPSILON, group="gender"),
            RateRatio(0.8, group="race"),
            EqualOpportunity(0.05, group="gender"),
        ],
        "odds(gender)": [EqualizedOdds(EPSILON, group="gender")],
    }
    posterior, columns = many_classes(tasks)
    few = many_classes(25_000)
    for name, constraints in lists.items():
        make_fair(*few, constraints=constraints)
        seconds = processor = np.inf
        for _ in range(repeat):
            start, busy = time.perf_counter(), time.process_time()
            found = make_fair(posterior, columns, constraints=constraints)
            seconds = min(seconds, time.perf_counter() - start)
            processor = min(processor, time.process_time() - busy)
        best, certificate = found.solved.best, found.certificate
        print(f"\n{name}, five classes, {tasks:,} tasks")
        print(f"  make_fair with certificate and rule {seconds:.2f} s ({processor:.2f} s of processor time)")
        print(
            f"  bound - value: randomized {best.bound - best.value:.1e}, whole tasks {certificate.optimality_gap:.1e}"
        )
        print(f"  {certificate.solver}; kept: {certificate.kept}", flush=True)


def whole_program(tasks: int) -> None:
    """Compare with HiGHS over all tasks: equalized odds of two classes, the label of each task one unknown."""
    from scipy.optimize import linprog
    from scipy.sparse import csr_array

    data = crowd(tasks)
    constraint = EqualizedOdds(EPSILON)
    ours(crowd(25_000), "equalized odds")
    start = time.perf_counter()
    found = make_fair(data.posterior, data.group, constraints=[constraint], decision="randomized")
    seconds = time.perf_counter() - start
    weights = [data.posterior[:, y] for y in (1, 0)]
    rows = []
    for weight in weights:
        shares = [np.where(data.group == a, weight, 0.0) / weight[data.group == a].sum() for a in (0, 1)]
        rows += [shares[0] - shares[1], shares[1] - shares[0]]
    start = time.perf_counter()
    whole: Any = linprog(
        -(data.posterior[:, 1] - data.posterior[:, 0]) / tasks,
        A_ub=csr_array(np.array(rows)),
        b_ub=np.full(len(rows), EPSILON),
        bounds=(0, 1),
        method="highs",
    )
    whole_seconds = time.perf_counter() - start
    value = -float(whole.fun) + float(data.posterior[:, 0].mean())
    print(f"\nequalized odds within {EPSILON}, two classes, two groups, {tasks:,} tasks")
    print(f"  make_fair {seconds:.2f} s, HiGHS over all tasks {whole_seconds:.2f} s ({whole_seconds / seconds:.1f} x)")
    print(f"  our randomized value - its value: {found.solved.best.value - value:.1e}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tasks", type=float, default=2e4, help="tasks of the comparison with other packages")
    parser.add_argument("--many", type=float, default=1e6, help="tasks of our own run")
    parser.add_argument("--whole", type=float, default=1e5, help="tasks of the comparison with HiGHS")
    parser.add_argument("--repeat", type=int, default=2)
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    against_others(int(asked.tasks), asked.repeat)
    whole_program(int(asked.whole))
    at_scale(int(asked.many), asked.repeat)


if __name__ == "__main__":
    main()
