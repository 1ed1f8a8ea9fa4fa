"""Very many tied atoms: solved for together where they are alike, as well as one by one."""

import numpy as np
import pandas as pd
import pytest

from faircrowd import make_fair
from faircrowd.fair.general import best_fractions

pytestmark = pytest.mark.filterwarnings("ignore::faircrowd.errors.DataWarning")


def tied(n: int, n_classes: int, seed: int) -> tuple[np.ndarray, pd.DataFrame]:
    """Make a posterior of which equal rates and nearly equal opportunity leave no use in one of the groups."""
    rng = np.random.default_rng(seed)
    groups = pd.DataFrame({"a": rng.integers(0, 2, n), "b": rng.integers(0, 3, n)})
    posterior = rng.dirichlet(np.ones(n_classes), n)
    posterior[:, 1] += 0.3 * groups["a"]
    return posterior / posterior.sum(axis=1, keepdims=True), groups


@pytest.mark.parametrize("n_classes", [2, 3])
def test_atoms_together_are_worth_as_much_as_one_by_one(n_classes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    posterior, groups = tied(2500, n_classes, seed=n_classes)
    asked = ["parity(a) <= 0", "ratio(b, label=1) >= 0.9", "opportunity(a, label=1) <= 0.05"]
    one_by_one = make_fair(posterior, groups, constraints=asked)
    monkeypatch.setattr(best_fractions, "_MOST_OPEN", 150)
    together = make_fair(posterior, groups, constraints=asked)
    assert together.solved.best.value == pytest.approx(one_by_one.solved.best.value, abs=1e-8)
    assert together.solved.best.bound - together.solved.best.value <= 1e-8
    assert together.certificate.kept


def test_parting_tells_atoms_apart() -> None:
    likeness = np.array([0, 0, 0, 1, 1])
    alike = np.array([[0.1], [0.4], [0.11], [0.1], [0.9]])
    everything = best_fractions._parted(likeness, np.ones(5, dtype=bool), alike, 8)
    assert everything[0] == everything[2] != everything[1]
    assert len({*everything.tolist()}) == 4
    some = best_fractions._parted(likeness, likeness == 1, alike, 8)
    assert some[0] == some[1] == some[2]
    assert len({*some.tolist()}) == 3
