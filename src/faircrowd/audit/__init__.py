"""Evidence: how labels and workers treat groups, and how sure one can be."""

from faircrowd.audit.metrics import (
    demographic_parity_difference,
    demographic_parity_ratio,
    equal_opportunity_difference,
    equal_opportunity_ratio,
    equalized_odds_difference,
    equalized_odds_ratio,
    selection_rate,
)
from faircrowd.audit.strata import ConditionalGaps, conditional_gaps
from faircrowd.audit.table import by_group

__all__ = [
    "ConditionalGaps",
    "by_group",
    "conditional_gaps",
    "demographic_parity_difference",
    "demographic_parity_ratio",
    "equal_opportunity_difference",
    "equal_opportunity_ratio",
    "equalized_odds_difference",
    "equalized_odds_ratio",
    "selection_rate",
]
