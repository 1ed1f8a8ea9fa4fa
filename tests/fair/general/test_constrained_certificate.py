"""What a certificate says of each constraint: levels keep what is allowed, which is no harder than the limit."""

import pytest

from faircrowd.fair.general.constrained_certificate import certify_constraints

from .test_constrained_solve import LISTS, posed, solved, tasks


@pytest.mark.parametrize("name", LISTS)
def test_levels_keep_what_is_allowed(name: str) -> None:
    problem = posed(*tasks(150, 3, seed=4), LISTS[name])
    for constraint, kept in zip(
        LISTS[name], certify_constraints(solved(problem), "deterministic").constraints, strict=True
    ):
        assert kept.kept
        if kept.limit is None or kept.allowed is None:  # a range has two
            assert name == "range"
            continue
        easier = -1 if constraint.is_floor else 1
        assert easier * kept.limit <= easier * kept.allowed + 1e-12
        assert easier * kept.level <= easier * kept.allowed + 1e-9
        assert abs(kept.allowed - kept.limit) <= 0.2  # less than a task of the smallest group, or of a class in it
