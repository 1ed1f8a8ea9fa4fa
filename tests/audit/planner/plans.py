"""What the tests of plans share."""

import json

from faircrowd.audit.planner import CrowdPlan

ONES = [0.6, 0.35]


def check_answer(plan: CrowdPlan) -> None:
    """Check that the answer of a plan is what its curve shows."""
    decides = plan.curve.distance if plan.method == "exact" else plan.curve.bound
    within = decides <= plan.delta + 1e-9
    if plan.votes is not None:
        assert plan.status == "enough"
        assert within[plan.votes - 1 :].all()
        assert plan.votes == 1 or not within[plan.votes - 2]
        assert within[plan.fewest - 1]
        assert not within[: plan.fewest - 1].any()
    elif plan.status == "not enough":
        assert not within[-1]
    assert json.loads(json.dumps(plan.to_dict(), allow_nan=False))["sentence"] == str(plan)
