"""Check the properties of the fair rule on random and adversarial instances, for any length of time.

``python tests/long/properties.py --minutes 60`` prints its seed, one line per minute, and each violation with the call
that repeats it.

Properties, for up to 8 classes, 6 groups and 5,000 tasks: the randomized solution keeps epsilon to 1e-9, reaches the
optimum that HiGHS finds over all tasks (by a different program: pairs of groups, no atoms, no multipliers) to 1e-7, and
its value is its bound; labels drawn from it are within one task of each expected rate. Deterministic labels keep the
gap that their certificate allows (epsilon, or less than one task of the smallest group more; with weights, less than
the largest part that a task has of its group more), lose no more than rounding explains if they are not to the letter,
and their value is at most the bound where they are. The rule, applied to the same tasks, gives the
probabilities of the solution where no classes are nearly tied, and keeps epsilon to less than two tasks of the smallest
group.
"""

import argparse
import itertools
import sys
import time
import warnings
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog
from scipy.sparse import csr_array, eye_array, kron, vstack

from faircrowd import make_fair
from faircrowd.fair.tolerances import tie_widths

KINDS = (
    "plain",
    "close",
    "ends",
    "few votes",
    "tiny share",
    "attainable",
    "heavy",
    "one class",
    "equal",
    "tiny groups",
    "no common factor",
)
PRIMES = (2, 3, 5, 7, 11, 13, 29, 53, 97, 211, 421, 599)
GAP, VALUE = 1e-9, 1e-7


class Instance(NamedTuple):
    """A problem of a kind."""

    posterior: NDArray[np.float64]
    group: NDArray[np.int64]
    epsilon: float
    weights: NDArray[np.float64] | None


def instance(seed: int, kind: str) -> Instance:
    """Make a problem of a kind from a seed."""
    rng = np.random.default_rng(seed)
    n_classes, n_groups = int(rng.integers(2, 9)), int(rng.integers(2, 7))
    if rng.random() < 0.4:
        n_classes = n_groups = 2
    n_tasks = int(np.exp(rng.uniform(np.log(4 * n_groups), np.log(5000))))
    shares = rng.dirichlet(np.full(n_groups, 2.0))
    group = np.append(np.arange(n_groups), rng.choice(n_groups, n_tasks - n_groups, p=shares))
    if kind == "tiny groups":  # of 1 to 5 tasks, beside a large one
        sizes = np.append(rng.integers(1, 6, n_groups - 1), rng.integers(5, 600))
        group = rng.permutation(np.repeat(np.arange(n_groups), sizes))
    elif kind == "no common factor":
        group = rng.permutation(np.repeat(np.arange(n_groups), rng.choice(PRIMES, n_groups, replace=False)))
    n_tasks = group.size
    shape = rng.gamma(1.5, 1.0, (n_groups, n_classes)) + 0.05
    posterior = rng.gamma(shape[group] + 1e-3, 1.0) + 1e-12
    posterior /= posterior.sum(axis=1, keepdims=True)
    epsilon = float(rng.choice([0.0, 0.001, 0.01, 0.05, 0.2]))
    if kind in ("tiny groups", "no common factor"):  # epsilon 0, or around what a task is of some group
        epsilon = float(rng.choice([0.0, 1e-6, 1.0, 1.0 - 1e-9])) / int(rng.choice(np.bincount(group)))
    weights = None
    if kind == "close":  # within rounding of each other
        few = posterior[rng.integers(0, max(n_tasks // 50, 1), n_tasks)]
        posterior = np.abs(few + rng.uniform(-1e-15, 1e-15, few.shape))
    elif kind == "ends":  # within rounding of 0 and 1
        at = rng.integers(0, n_classes, n_tasks)
        posterior = rng.uniform(0, 1e-15, posterior.shape) * (rng.random((n_tasks, 1)) < 0.7)
        posterior[np.arange(n_tasks), at] = 1.0
    elif kind == "few votes":
        posterior = np.stack([rng.multinomial(5, row) / 5 for row in posterior])
    elif kind == "tiny share":  # a group of very little weight
        weights = np.where(group == 0, 1e-6, 1.0)
    elif kind == "heavy":  # over twelve orders of magnitude
        weights = 10.0 ** rng.uniform(-6, 6, n_tasks)
    elif kind == "one class":
        posterior[:, 1:] *= 1e-9
        posterior[group == 0] = posterior[group == 0][:, ::-1]
    elif kind == "equal":
        posterior[:] = 1.0 / n_classes
    posterior /= posterior.sum(axis=1, keepdims=True)
    if kind == "attainable":  # epsilon is exactly the gap of some labels
        labels = np.argmax(posterior, axis=1)
        labels[rng.random(n_tasks) < 0.3] = 0
        epsilon = gap_of(np.eye(n_classes)[labels], group, None)
    return Instance(posterior, group, epsilon, weights)


def gap_of(probabilities: NDArray[np.float64], group: NDArray[np.int64], weights: NDArray[np.float64] | None) -> float:
    """Return the gap of the probabilities of labels."""
    rates = [
        np.average(probabilities[group == a], axis=0, weights=None if weights is None else weights[group == a])
        for a in np.unique(group)
    ]
    return float(np.ptp(rates, axis=0).max())


def best(problem: Instance) -> float:
    """Return the randomized optimum, by a program over all tasks whose variables are shares of a group's weight."""
    posterior, group, epsilon, weights = problem
    n_tasks, n_classes = posterior.shape
    mass = np.ones(n_tasks) if weights is None else weights
    totals = np.bincount(group, mass)
    parts = mass / totals[group]
    pairs = itertools.combinations(range(totals.size), 2)
    differences = np.array([(group == a).astype(float) - (group == b) for a, b in pairs])
    rows: Any = kron(csr_array(differences), eye_array(n_classes), format="csr")
    each: Any = kron(eye_array(n_tasks), csr_array(np.ones((1, n_classes))), format="csr")
    for more in ({}, {"presolve": False}, {"primal_feasibility_tolerance": 1e-9}):
        found = linprog(
            -((totals / totals.sum())[group][:, None] * posterior).ravel(),
            A_ub=vstack([rows, -rows], format="csr"),
            b_ub=np.full(2 * rows.shape[0], n_tasks * epsilon),
            A_eq=each,
            b_eq=n_tasks * parts,
            options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10, **more},
        )
        if found.status == 0:
            return float(-found.fun / n_tasks)
    raise RuntimeError(f"the other program: {found.message}")


def violations(problem: Instance) -> list[str]:
    """Return the properties that do not hold."""
    posterior, group, epsilon, weights = problem
    mass = np.ones(group.size) if weights is None else weights
    violated = []
    randomized = make_fair(posterior, group, epsilon=epsilon, decision="randomized", sample_weight=weights)
    probabilities = randomized.probabilities
    value = float(mass @ (probabilities * posterior).sum(axis=1) / mass.sum())
    if (gap := gap_of(probabilities, group, weights)) > epsilon + GAP:
        violated.append(f"randomized: gap {gap!r} for epsilon {epsilon!r}")
    if abs(randomized.certificate.bound - value) > VALUE:
        violated.append(f"randomized: value {value!r}, bound {randomized.certificate.bound!r}")
    if abs((optimum := best(problem)) - value) > VALUE:
        violated.append(f"randomized: value {value!r}, HiGHS finds {optimum!r}")
    deterministic = make_fair(posterior, group, epsilon=epsilon, sample_weight=weights)
    proof = deterministic.certificate
    sizes, n_classes = np.bincount(group), posterior.shape[1]
    part = 1 / sizes.min() if weights is None else max(1 / sizes.min(), (mass / np.bincount(group, mass)[group]).max())
    if proof.gap > proof.gap_allowed + GAP or proof.gap_allowed > epsilon + part:
        violated.append(f"deterministic: gap {proof.gap!r}, allowed {proof.gap_allowed!r}, epsilon {epsilon!r}")
    if weights is None and proof.value < proof.bound - (sizes.size * (n_classes - 1) + VALUE) / sizes.sum():
        violated.append(f"deterministic: value {proof.value!r} is far below the bound {proof.bound!r}")
    drawn = np.eye(n_classes)[randomized.labels]
    if weights is None:
        for a in range(sizes.size):
            off = np.abs(drawn[group == a].sum(axis=0) - probabilities[group == a].sum(axis=0)).max()
            if off >= 1 + 1e-5:
                violated.append(f"draw: {off!r} tasks off in group {a}")
    if randomized.certificate.gap > randomized.certificate.gap_allowed + GAP:
        violated.append(f"draw: gap {randomized.certificate.gap!r} for {randomized.certificate.gap_allowed!r}")
    if proof.gap <= epsilon + 1e-12 and proof.value > proof.bound + VALUE:
        violated.append(f"deterministic: value {proof.value!r} above the bound {proof.bound!r}")
    for found, labels in ((randomized.certificate, randomized.labels), (proof, deterministic.labels)):
        found.verify(posterior, group, labels, sample_weight=weights)
    scores = np.sort(deterministic.rule.scores(posterior, group.astype(np.int32)), axis=1)
    margin = scores[:, -1] - scores[:, -2]
    clear = margin * mass / mass.sum() > 1e-10  # another label would cost more than the tolerance of the value
    clear &= margin > tie_widths(deterministic.rule.prices, deterministic.rule.shares)[group]
    if not np.array_equal(randomized.rule.predict(posterior, group)[clear], np.argmax(probabilities, axis=1)[clear]):
        violated.append("the rule gives other labels to these tasks")
    gap = gap_of(randomized.rule.predict_proba(posterior, group), group, weights)
    if weights is None and gap > epsilon + 2 / np.bincount(group).min():
        violated.append(f"the rule: gap {gap!r} for epsilon {epsilon!r}")
    return violated


def main() -> int:
    """Run until the time is over; return 1 if a property was violated."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=None, help="the first of the instances; by default from the clock")
    parser.add_argument("--only", choices=KINDS, help="one instance of this kind, with --seed")
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    seed = int(time.time()) if asked.seed is None else asked.seed
    print(f"seed {seed}", flush=True)
    end, reported, done, n_violated = time.monotonic() + 60 * asked.minutes, time.monotonic(), 0, 0
    while time.monotonic() < end:
        kind = asked.only or KINDS[seed % len(KINDS)]
        try:
            violated = violations(instance(seed, kind))
        except Exception as error:  # an instance that raises is a violation, and the loop continues
            violated = [f"{type(error).__name__}: {error}"]
        done, n_violated = done + 1, n_violated + bool(violated)
        for line in violated:
            print(f"python tests/long/properties.py --seed {seed} --only '{kind}': {line}", flush=True)
        if asked.only:
            break
        if time.monotonic() - reported > 60:
            reported = time.monotonic()
            print(f"{done:,} instances, {n_violated} violated", flush=True)
        seed += 1
    print(f"{done:,} instances, {n_violated} violated")
    return int(n_violated > 0)


if __name__ == "__main__":
    sys.exit(main())
