"""Plans: how many votes per task are needed, and how well a number of known labels would tell the accuracy."""

from faircrowd.audit.planner.crowd_plan import CrowdPlan, plan_crowd
from faircrowd.audit.planner.gold_plan import GoldPlan, plan_gold

__all__ = ["CrowdPlan", "GoldPlan", "plan_crowd", "plan_gold"]
