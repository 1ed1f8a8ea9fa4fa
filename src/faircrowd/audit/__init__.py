"""Evidence: how labels and workers treat groups, and how sure one can be."""

from faircrowd.audit.agreement import krippendorff_alpha
from faircrowd.audit.bootstrap import bootstrap_gap
from faircrowd.audit.crowd_audit import CrowdAudit, audit_crowd
from faircrowd.audit.gate import Verdict, check_labels
from faircrowd.audit.intervals import gap_interval
from faircrowd.audit.majority.bounds import majority_gap_bound, majority_gap_bound_as_printed
from faircrowd.audit.majority.majority_gap import majority_rates
from faircrowd.audit.majority.tie_range import majority_ties
from faircrowd.audit.metrics.by_group import by_group
from faircrowd.audit.metrics.differences import (
    demographic_parity_difference,
    demographic_parity_ratio,
    equal_opportunity_difference,
    equal_opportunity_ratio,
    equalized_odds_difference,
    equalized_odds_ratio,
    selection_rate,
)
from faircrowd.audit.planner import CrowdPlan, plan_crowd
from faircrowd.audit.strata import ConditionalGaps, conditional_gaps
from faircrowd.audit.workers.worker_audit import WorkerAudit, audit_workers

__all__ = [
    "ConditionalGaps",
    "CrowdAudit",
    "CrowdPlan",
    "Verdict",
    "WorkerAudit",
    "audit_crowd",
    "audit_workers",
    "bootstrap_gap",
    "by_group",
    "check_labels",
    "conditional_gaps",
    "demographic_parity_difference",
    "demographic_parity_ratio",
    "equal_opportunity_difference",
    "equal_opportunity_ratio",
    "equalized_odds_difference",
    "equalized_odds_ratio",
    "gap_interval",
    "krippendorff_alpha",
    "majority_gap_bound",
    "majority_gap_bound_as_printed",
    "majority_rates",
    "majority_ties",
    "plan_crowd",
    "selection_rate",
]
