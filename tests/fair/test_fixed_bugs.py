"""Instances on which the long test once found a property broken; the bugs are fixed."""

import pytest

from long.properties import instance, violations

FOUND = [(1794817752, "heavy"), (1794817761, "heavy")]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("seed", "kind"), FOUND)
def test_the_properties_hold(seed: int, kind: str) -> None:
    assert violations(instance(seed, kind)) == []
