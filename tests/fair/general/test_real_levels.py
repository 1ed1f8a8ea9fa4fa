"""Levels against the truth: what a run says of its labels is what the audit measures of the same labels."""

import numpy as np
import pandas as pd
import pytest

from fair.constraints.test_own_constraint import PrecisionFloor
from faircrowd import make_fair
from faircrowd.audit import measure_constraints
from faircrowd.constraints import (
    AccuracyParity,
    Constraint,
    DemographicParity,
    EqualizedOdds,
    EqualOpportunity,
    parse_constraint,
)
from faircrowd.fair.general.real_levels import KnownLabels, real_levels


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("known_share", [1.0, 0.3])
@pytest.mark.parametrize(
    "constraint",
    [
        EqualOpportunity(0.1, label=1, group="sex"),
        EqualizedOdds(0.1, group=("sex", "unit")),
        AccuracyParity(0.1, group="sex", within="unit"),
        PrecisionFloor(0.6, 1, group="sex"),
        PrecisionFloor(0.6, 1, group="one"),
    ],
    ids=str,
)
def test_the_audit_measures_the_same(constraint: Constraint, known_share: float) -> None:
    rng = np.random.default_rng(5)
    people = pd.DataFrame({"sex": rng.integers(0, 2, 300), "unit": rng.integers(0, 3, 300), "one": 0})
    posterior = rng.dirichlet([2, 1.5, 1], 300)
    truth = np.array([rng.choice(3, p=p) for p in posterior])
    is_known = rng.random(300) < known_share
    fair = make_fair(posterior, people, constraints=[constraint, DemographicParity(0.5, group="sex")])
    task = np.flatnonzero(is_known)
    known = KnownLabels(task, truth[task].astype(np.int32), fair.solved.outcomes[task])
    (measured,) = measure_constraints(
        fair.labels, [constraint], sensitive_features=people, truth=pd.Series(truth).where(is_known).to_numpy()
    )
    assert real_levels(fair.problem, known) == {str(constraint): pytest.approx(measured.level, abs=1e-12)}


def test_columns_that_no_constraint_names_may_have_holes() -> None:
    people = pd.DataFrame({"sex": ["f", "f", "m", "m"], "unit": ["x", None, "y", "y"]})
    (found,) = measure_constraints([1, 0, 1, 1], ["parity(sex, label=1) <= 0.1"], sensitive_features=people)
    assert found.level == 0.5
    assert str(parse_constraint("parity(sex, label=1) <= 0.1")) == found.text
