"""Rounding with weights: what is labelled before the integer program is near the randomized solution."""

import numpy as np
import pytest

from faircrowd.fair.program.atoms import Atoms
from faircrowd.fair.program.weighted_rounding import round_weighted_counts
from faircrowd.fair.rate_constraint import RateParity


@pytest.mark.parametrize("n_classes", [2, 3, 4])
@pytest.mark.parametrize("seed", range(5))
def test_without_an_integer_program_each_task_gets_a_label_of_its_atom(
    n_classes: int, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("faircrowd.fair.program.weighted_rounding.best_counts_of_free_atoms", lambda *_: None)
    rng = np.random.default_rng(seed)
    weight, n_tasks, group = rng.uniform(0.5, 3.0, 60), rng.integers(1, 6, 60), np.repeat([0, 1], 30).astype(np.int32)
    fractions = rng.dirichlet(np.ones(n_classes), 60)
    fractions[rng.random(60) < 0.3] = np.eye(n_classes)[-1]
    fractions[:, 1] *= rng.random(60) < 0.7  # some atoms give nothing to a label
    fractions[fractions.sum(axis=1) == 0, 0] = 1.0
    fractions /= fractions.sum(axis=1, keepdims=True)
    atoms = Atoms(rng.random((60, n_classes)), weight * n_tasks, group, task_weight=weight)
    mass = np.bincount(group, weights=atoms.mass)
    counts = round_weighted_counts(atoms, mass, fractions, np.zeros((2, n_classes)), RateParity(0.1))
    expected = n_tasks[:, None] * fractions
    assert (counts.sum(axis=1) == n_tasks).all()
    assert (counts >= np.floor(expected + 1e-9)).all()
    assert (counts[fractions == 0] == 0).all()
    for a in range(2):
        off = (weight[:, None] * (counts - expected))[group == a].sum(axis=0)
        assert np.abs(off).max() <= (n_classes - 1) * weight[group == a].max()
