"""How many votes per task are needed: plan a crowd from the skills of its workers."""

from faircrowd.audit.planner.crowd_plan import CrowdPlan, plan_crowd

__all__ = ["CrowdPlan", "plan_crowd"]
