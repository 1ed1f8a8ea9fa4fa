"""FairClassifier against fairlearn's ThresholdOptimizer: accuracy and gap on new rows, and time, in one run.

The data are simulated after the Adult census: a quarter of the people have the label, twice as many of the men as of
the women, who are a third; age, years of schooling, hours, marriage and occupation say something about it. Each method
fits the same classifier to the same rows, as it comes: FairClassifier learns its rule from held-out rows,
ThresholdOptimizer from those that the classifier was fitted to. Both are then asked for labels of 50,000 other rows.
Last, both learn a rule for the same fitted classifier from the same rows: the time of the rule alone, with what
FairClassifier adds to it (certificate and held-out estimates).

Set OMP_NUM_THREADS=1 on a busy machine: gradient boosting waits for its threads.
"""

import argparse
import time
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from fairlearn.metrics import demographic_parity_difference, equalized_odds_difference  # type: ignore[import-untyped]
from fairlearn.postprocessing import ThresholdOptimizer  # type: ignore[import-untyped]
from numpy.typing import NDArray
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from faircrowd import FairClassifier

EPSILON = 0.03
NEW_ROWS = 50_000


class People(NamedTuple):
    """Features, labels and sex."""

    X: NDArray[np.float64]
    y: NDArray[np.int64]
    sex: NDArray[np.int64]


def people(n: int, seed: int) -> People:
    rng = np.random.default_rng(seed)
    sex = (rng.random(n) < 0.67).astype(np.int64)
    age = rng.gamma(8, 4.8, n) + 17 * (rng.random(n) < 0.1)
    schooling = np.clip(rng.normal(10.1, 2.6, n).round(), 1, 16)
    married = (rng.random(n) < np.where(sex == 1, 0.6, 0.16)).astype(float)
    hours = np.clip(rng.normal(36.4 + 6 * sex, 12, n).round(), 1, 99)
    work = rng.integers(0, 12, n)
    worth = np.linspace(-0.8, 0.8, 12)[work]
    score = 0.33 * (schooling - 10) + 0.03 * (hours - 40) + 1.9 * married + worth - 0.0011 * (age - 50) ** 2
    y = (rng.random(n) < 1 / (1 + np.exp(-(score + 0.12 * sex - 2.15)))).astype(np.int64)
    X = np.column_stack([age, schooling, married, hours, np.eye(12)[work], sex])
    return People(X, y, sex)


ESTIMATORS: dict[str, Callable[[], Any]] = {
    "logistic regression": lambda: make_pipeline(StandardScaler(), LogisticRegression()),
    "gradient boosting": lambda: HistGradientBoostingClassifier(max_iter=50, random_state=0),
    "random forest": lambda: RandomForestClassifier(100, random_state=0),
    "random forest, calibrated": lambda: CalibratedClassifierCV(RandomForestClassifier(100, random_state=0), cv=3),
}


def ours(estimator: Any, asked: str, data: People, prefit: bool = False) -> Any:
    constraints = None if asked == "demographic parity" else [f"odds <= {EPSILON}"]
    epsilon = {"epsilon": EPSILON} if constraints is None else {}
    model = FairClassifier(estimator, constraints=constraints, prefit=prefit, **epsilon)
    return model.fit(data.X, data.y, sensitive_features=data.sex)


def fairlearn(estimator: Any, asked: str, data: People, prefit: bool = False) -> Any:
    model = ThresholdOptimizer(
        estimator=estimator,
        constraints=asked.replace(" ", "_"),
        objective="accuracy_score",
        predict_method="predict_proba",
        prefit=prefit,
        tol=None if asked == "equalized odds" else EPSILON,  # it takes no tolerance for equalized odds
    )
    return model.fit(data.X, data.y, sensitive_features=data.sex)


def labels_of(model: Any, data: People) -> NDArray[np.int64]:
    draws = {} if isinstance(model, FairClassifier) else {"random_state": 0}
    return np.asarray(model.predict(data.X, sensitive_features=data.sex, **draws))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--samples", type=int, default=5)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    new = people(NEW_ROWS, seed=10_000)
    rates = [new.y[new.sex == a].mean() for a in (0, 1)]
    print(f"{options.rows:,} rows, {options.samples} samples, epsilon {EPSILON}, {NEW_ROWS:,} new rows")
    print(
        f"the label has {new.y.mean():.3f} of the people, {rates[1]:.3f} of the men and {rates[0]:.3f} of the women\n"
    )
    metrics = {"demographic parity": demographic_parity_difference, "equalized odds": equalized_odds_difference}
    print(
        f"{'constraint':20}{'classifier':28}{'method':20}{'accuracy':>9}{'gap: mean':>10}{'largest':>9}{'seconds':>9}"
    )
    for asked, metric in metrics.items():
        for name, make in ESTIMATORS.items():
            for method, fit in {"FairClassifier": ours, "ThresholdOptimizer": fairlearn}.items():
                accuracy, gaps, seconds = [], [], []
                for seed in range(options.samples):
                    data = people(options.rows, seed)
                    start = time.perf_counter()
                    model = fit(make(), asked, data)
                    seconds.append(time.perf_counter() - start)
                    labels = labels_of(model, new)
                    accuracy.append(np.mean(labels == new.y))
                    gaps.append(metric(new.y, labels, sensitive_features=new.sex))
                told = f"{np.mean(accuracy):9.4f}{np.mean(gaps):10.4f}{np.max(gaps):9.4f}{np.median(seconds):9.2f}"
                print(f"{asked:20}{name:28}{method:20}{told}")
    print("\nthe rule alone, of a fitted logistic regression, and its labels: seconds (median of 5)")
    for rows in (options.rows, 10 * options.rows):
        fitted, data = ESTIMATORS["logistic regression"]().fit(*people(5_000, 99)[:2]), people(rows, 1)
        for asked in metrics:
            times = {}
            for method, fit in {"FairClassifier": ours, "ThresholdOptimizer": fairlearn}.items():
                taken = []
                for _ in range(5):
                    start = time.perf_counter()
                    labels_of(fit(fitted, asked, data, prefit=True), data)
                    taken.append(time.perf_counter() - start)
                times[method] = float(np.median(taken))
            ratio = times["ThresholdOptimizer"] / times["FairClassifier"]
            told = ", ".join(f"{method} {seconds:.2f}" for method, seconds in times.items())
            print(f"{rows:9,} rows, {asked:20} {told}: {ratio:.2f} times as long")


if __name__ == "__main__":
    main()
