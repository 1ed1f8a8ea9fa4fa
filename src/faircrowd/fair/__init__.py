"""Fair labels: the best labels whose gap between groups is at most epsilon, with a certificate.

Where things are
----------------
make, estimator
    ``make_fair`` (a posterior and groups to fair labels) and ``FairCrowd`` (votes to fair labels).
objective, rate_constraint, gap, tolerances
    What is maximised, parity as the solvers of one partition see it, how the gap is measured, and how near is equal.
constraints/
    What labels must keep, as users give it: each constraint, its text, and the quantities that it compares.
tasks/
    The tasks to be labelled, in memory or in Spark, and the three verbs by which solvers read them.
solve
    One problem to labels: chooses between the two solvers and solves for F1.
thresholds/
    The solver for two classes and two groups: exact thresholds.
program/
    The solver for any number of classes and groups: a linear program over atoms.
general/
    The solver for any list of constraints over any columns, with its own certificate and rule.
whole_tasks/
    How far labels of whole tasks may exceed epsilon, and how randomized ones are drawn.
rule, rule_forms/
    The rule for new tasks, which may try labels in turn; as JSON, in words and as SQL.
certificate, frontier, what_if, round_limits
    What was reached and the numbers to check it; every epsilon at once; what other epsilons give, and which to try.
promise/
    What holds for all tasks like these, not only for these.
outcome/
    Labels that keep a constraint and are of no use all the same: warnings.
known_labels
    Accuracy, price and the truth's own gap as estimated from known labels.

Words
-----
posterior
    The probability of each class for each task, as an aggregator believes it.
own labels
    The aggregator's own labels, before fairness.
unconstrained labels
    The labels that gain the most without a constraint: the own labels if the objective is accuracy.
rate
    The share of a group's tasks that get a label.
gap
    Over classes, the largest difference between the rates of two groups; *epsilon* is the largest gap allowed.
gain
    What a label adds to the objective: for accuracy, its posterior probability.
multiplier, price
    By how much the objective would rise per unit of a rate; divided by the group's share, it is the price of a label.
score
    The gain of a label minus its price. A task gets the label of highest score; near scores are *tied*.
randomized, deterministic
    Labels drawn with probabilities, or fixed ones. The best randomized labels are at least as good as any others.
atom
    The tasks of one group with the same gains, which are interchangeable.
dual bound
    What no labels that keep the constraint can exceed; it follows from multipliers and posterior alone.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from faircrowd.fair.certificate import Certificate
from faircrowd.fair.constraints.demographic_parity import DemographicParity
from faircrowd.fair.estimator import FairCrowd
from faircrowd.fair.frontier import Frontier
from faircrowd.fair.make import FairResult, make_fair
from faircrowd.fair.rule import FairRule

if TYPE_CHECKING:
    from faircrowd.fair.classifier.fair_classifier import FairClassifier
    from faircrowd.fair.classifier.held_out_estimates import HeldOutEstimates
    from faircrowd.fair.general.constrained_rule import ConstrainedRule
    from faircrowd.fair.known_labels import GoldEstimates
    from faircrowd.fair.promise.margin import Margin, margin_for
    from faircrowd.fair.promise.statement import Promise
    from faircrowd.fair.tasks.spark_problem import apply_rule

__all__ = [
    "Certificate",
    "ConstrainedRule",
    "DemographicParity",
    "FairClassifier",
    "FairCrowd",
    "FairResult",
    "FairRule",
    "Frontier",
    "GoldEstimates",
    "HeldOutEstimates",
    "Margin",
    "Promise",
    "apply_rule",
    "make_fair",
    "margin_for",
]

_IMPORTED_ON_FIRST_USE = {
    "ConstrainedRule": "general.constrained_rule",
    "FairClassifier": "classifier.fair_classifier",
    "GoldEstimates": "known_labels",
    "HeldOutEstimates": "classifier.held_out_estimates",
    "Margin": "promise.margin",
    "Promise": "promise.statement",
    "margin_for": "promise.margin",
    "apply_rule": "tasks.spark_problem",
}


def __getattr__(name: str) -> Any:
    if name not in _IMPORTED_ON_FIRST_USE:
        raise AttributeError(f"module 'faircrowd.fair' has no attribute {name!r}")
    try:
        return getattr(import_module(f"faircrowd.fair.{_IMPORTED_ON_FIRST_USE[name]}"), name)
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("sklearn"):
            needed = f"{name} needs scikit-learn 1.6 or later; pip install 'faircrowd[sklearn]'."
            raise ImportError(needed, name=error.name) from error
        raise
