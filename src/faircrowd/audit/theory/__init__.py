"""The paper's theorems, one function per result; docs/theory.md compares them with the paper.

The bounds on the majority's gap are in :mod:`faircrowd.audit.majority.bounds`.
"""

from faircrowd.audit.majority.bounds import majority_derivative, majority_gap_bound_given_truth
from faircrowd.audit.theory.convergence import AsymptoticFairness, asymptotic_fairness, convergence_bound
from faircrowd.audit.theory.disparity import (
    PointwiseFair,
    gap_over_features,
    local_disparity,
    pointwise_fair_example,
)
from faircrowd.audit.theory.divergence import (
    BayesDivergence,
    CrowdPartition,
    MajorityDivergence,
    bayes_divergence,
    majority_divergence,
    partition_workers,
)
from faircrowd.audit.theory.exact_majority import ExactMajority, exact_majority, exact_majority_given_truth
from faircrowd.audit.theory.exponents import bayes_exponent, error_bound, majority_exponent

__all__ = [
    "AsymptoticFairness",
    "BayesDivergence",
    "CrowdPartition",
    "ExactMajority",
    "MajorityDivergence",
    "PointwiseFair",
    "asymptotic_fairness",
    "bayes_divergence",
    "bayes_exponent",
    "convergence_bound",
    "error_bound",
    "exact_majority",
    "exact_majority_given_truth",
    "gap_over_features",
    "local_disparity",
    "majority_derivative",
    "majority_divergence",
    "majority_exponent",
    "majority_gap_bound_given_truth",
    "partition_workers",
    "pointwise_fair_example",
]
