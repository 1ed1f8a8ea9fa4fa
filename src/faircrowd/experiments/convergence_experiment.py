"""The convergence experiment: the gap of the consensus minus that of the truth, and bounds, as the crowd grows."""

import warnings
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from faircrowd.aggregate import BayesVote, DawidSkene, MajorityVote
from faircrowd.audit.majority.majority_gap import majority_rates
from faircrowd.audit.theory import convergence_bound, majority_gap_bound_given_truth
from faircrowd.fair.gap import gap_of
from faircrowd.votes import read_votes, simulate_crowd

__all__ = ["COLUMNS", "CROWDS", "SIZES", "Panel", "convergence_rows", "convergence_units"]

COLUMNS = ("crowd", "workers", "seed", "method", "difference")
SIZES = (3, 5, 8, 10, 15, 20, 40)
CROWDS = {
    "competent": ((0.5, 1.0), (0.6, 1.0)),
    "adversarial": ((0.2, 0.6), (0.1, 0.6)),
    "uninformative": ((0.49, 0.51), (0.49, 0.51)),
}
"""Ranges of the skills in each group."""

_TASKS = 2000


class Panel(NamedTuple):
    """A unit of work: one crowd of one kind."""

    crowd: str
    workers: int
    seed: int


def convergence_units(seeds: int) -> list[Panel]:
    """Return the units, the largest crowds first."""
    return [Panel(crowd, size, seed) for size in reversed(SIZES) for crowd in CROWDS for seed in range(seeds)]


def convergence_rows(unit: Panel) -> list[dict[str, Any]]:
    """Draw a crowd whose workers all vote on every task; return the difference of the gaps for each method.

    Besides the paper's three aggregators, the methods are the exact gap of the majority for these skills (by the
    Poisson-binomial distribution) and two bounds on it (the corrected one for small crowds, and the exponential one).
    """
    drawn = simulate_crowd(
        _TASKS,
        unit.workers,
        None,
        group_shares=(0.5, 0.5),
        class_shares=(0.5, 0.5),
        skill_ranges=CROWDS[unit.crowd],
        random_state=np.random.default_rng([unit.seed, unit.workers, list(CROWDS).index(unit.crowd)]),
    )
    votes = read_votes(drawn.votes, sensitive_features=drawn.sensitive_features)
    group, truth = np.asarray(votes.group), np.asarray(drawn.truth)
    of_truth = _gap(truth, group)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # an uninformative crowd need not converge
        made = {
            "majority": MajorityVote(ties="last").fit(votes),
            "bayes": BayesVote().fit(votes, dict(enumerate(truth.tolist()))),
            "dawid-skene": DawidSkene(by_group=True, group_priors=False, tol=1e-6, n_iter=200).fit(votes),
        }
    found = {name: _gap(model.posterior_.in_memory().label_codes, group) - of_truth for name, model in made.items()}
    found["majority, exact"] = exact_gap(drawn.skills)
    ones = np.stack([1.0 - drawn.skills, drawn.skills], axis=2)
    found["majority, small-crowd bound"] = min(majority_gap_bound_given_truth(ones, [0.5, 0.5]).value, 1.0)
    found["majority, exponential bound"] = convergence_bound(list(drawn.skills.T))
    return [{**unit._asdict(), "method": name, "difference": float(value)} for name, value in found.items()]


def exact_gap(skills: NDArray[np.float64]) -> float:
    """Return the majority's gap for these skills, with both classes equally likely in each group."""
    right, wrong = majority_rates(skills), majority_rates(1.0 - skills)
    rate = 0.5 * (right.loose + wrong.loose)
    return gap_of(np.stack([1 - rate, rate], axis=1))


def _gap(labels: NDArray[np.integer], group: NDArray[np.integer]) -> float:
    rate = np.array([labels[group == a].mean() for a in (0, 1)])
    return float(abs(rate[1] - rate[0]))
