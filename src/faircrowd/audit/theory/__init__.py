"""The paper's theorems as functions, one a result; docs/theory.md has them side by side.

The majority's bounds themselves are in :mod:`faircrowd.audit.majority.bounds`.
"""

from faircrowd.audit.theory.convergence import AsymptoticFairness, asymptotic_fairness, convergence_bound
from faircrowd.audit.theory.derivative import majority_derivative
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
from faircrowd.audit.theory.enumerate import ExactMajority, exact_majority, exact_majority_given_truth
from faircrowd.audit.theory.exponents import bayes_exponent, error_bound, majority_exponent
from faircrowd.audit.theory.given_truth import majority_gap_bound_given_truth

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
