"""Evidence: how labels and workers treat groups, and how certain that is.

Public functions are imported here. Where to find them:

- ``metrics/``: gaps and rates by group, fairlearn's metrics for any number of classes, and the level of any constraint;
- ``strata``: the gap among similar tasks;
- ``intervals``, ``bootstrap``: how far the gap of the population may be from that of the labels;
- ``difference_test``: an exact test of the difference of two rates, from counts alone;
- ``gate``: pass, fail or not enough evidence, for pipelines; ``constraint_gate`` and ``constraint_limits`` for any list
  of constraints;
- ``impact_table``: selection rates and impact ratios by category, as in New York City's Local Law 144;
- ``workers/``: how each worker treats groups, with tests, and their influence on the crowd;
- ``majority/``: how the votes of workers add up in a majority, and what ties leave open;
- ``agreement``: Krippendorff's alpha; ``pair_agreement``: who agrees with whom, and on which tasks;
- ``independence``: whether the votes of a task are independent given its class, as models assume;
- ``crowd_audit``: all of this for one crowd, as the report shows it;
- ``theory/``: the paper's theorems as functions;
- ``planner/``: how many votes per task are needed, and how well known labels would tell the accuracy.
"""

from faircrowd.audit.agreement import krippendorff_alpha
from faircrowd.audit.bootstrap import bootstrap_gap
from faircrowd.audit.constraint_gate import ConstraintVerdict, RequirementsVerdict, check_constraints
from faircrowd.audit.crowd_audit import CrowdAudit, audit_crowd
from faircrowd.audit.gate import Verdict, check_labels
from faircrowd.audit.impact_table import ImpactTable, impact_table
from faircrowd.audit.independence import Independence, check_independence
from faircrowd.audit.intervals import gap_interval
from faircrowd.audit.majority.bounds import majority_gap_bound, majority_gap_bound_as_printed
from faircrowd.audit.majority.majority_gap import majority_rates
from faircrowd.audit.majority.tie_range import majority_ties
from faircrowd.audit.metrics.by_group import by_group
from faircrowd.audit.metrics.constraint_levels import MeasuredConstraint, measure_constraints
from faircrowd.audit.metrics.fairness_metrics import (
    demographic_parity_difference,
    demographic_parity_ratio,
    equal_opportunity_difference,
    equal_opportunity_ratio,
    equalized_odds_difference,
    equalized_odds_ratio,
    selection_rate,
)
from faircrowd.audit.pair_agreement import PairAgreement, pair_agreement
from faircrowd.audit.planner import CrowdPlan, GoldPlan, plan_crowd, plan_gold
from faircrowd.audit.strata import ConditionalGaps, conditional_gaps
from faircrowd.audit.workers.worker_audit import WorkerAudit, audit_workers

__all__ = [
    "ConditionalGaps",
    "ConstraintVerdict",
    "CrowdAudit",
    "CrowdPlan",
    "GoldPlan",
    "ImpactTable",
    "Independence",
    "MeasuredConstraint",
    "PairAgreement",
    "RequirementsVerdict",
    "Verdict",
    "WorkerAudit",
    "audit_crowd",
    "audit_workers",
    "bootstrap_gap",
    "by_group",
    "check_constraints",
    "check_independence",
    "check_labels",
    "conditional_gaps",
    "demographic_parity_difference",
    "demographic_parity_ratio",
    "equal_opportunity_difference",
    "equal_opportunity_ratio",
    "equalized_odds_difference",
    "equalized_odds_ratio",
    "gap_interval",
    "impact_table",
    "krippendorff_alpha",
    "majority_gap_bound",
    "majority_gap_bound_as_printed",
    "majority_rates",
    "majority_ties",
    "measure_constraints",
    "pair_agreement",
    "plan_crowd",
    "plan_gold",
    "selection_rate",
]
