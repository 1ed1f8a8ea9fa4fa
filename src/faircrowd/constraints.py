"""Constraints that fair labels keep: ``make_fair(..., constraints=[...])`` and ``FairCrowd(constraints=[...])``.

Each is a frozen dataclass. Any list of them may be kept at once, over different columns. To write one of your own,
subclass :class:`Constraint`. :func:`parse_constraint` reads one from text, as ``str`` writes it.

>>> from faircrowd.constraints import DemographicParity, RateRatio
>>> DemographicParity(0.05, group="gender")
DemographicParity(epsilon=0.05, group='gender', within=None, label=None, labels=None)
>>> parse_constraint("ratio(race, label=hire) >= 0.8")
RateRatio(ratio=0.8, group='race', within=None, label='hire', labels=None)
"""

from faircrowd.fair.constraints.accuracy_parity import AccuracyParity
from faircrowd.fair.constraints.budgets import ChangeBudget, ReviewBudget
from faircrowd.fair.constraints.constraint_kind import Constraint
from faircrowd.fair.constraints.demographic_parity import DemographicParity
from faircrowd.fair.constraints.equal_opportunity import EqualizedOdds, EqualOpportunity
from faircrowd.fair.constraints.grammar import parse_constraint
from faircrowd.fair.constraints.quantities import Comparison, Difference, GroupedTasks, Quantity, Range, Ratio
from faircrowd.fair.constraints.rate_range import RateRange
from faircrowd.fair.constraints.rate_ratio import RateRatio

__all__ = [
    "AccuracyParity",
    "ChangeBudget",
    "Comparison",
    "Constraint",
    "DemographicParity",
    "Difference",
    "EqualOpportunity",
    "EqualizedOdds",
    "GroupedTasks",
    "Quantity",
    "Range",
    "RateRange",
    "RateRatio",
    "Ratio",
    "ReviewBudget",
    "parse_constraint",
]
