"""Find the number of atoms above which the smoothed dual is faster than the linear program over all atoms.

``python few_atoms.py`` prints seconds and their ratio. Both methods solve six epsilons in turn and are certified; their
values must be the same.
"""

import time
from unittest.mock import patch

import numpy as np

from faircrowd.fair.program import relaxed
from faircrowd.fair.program.atoms import Atoms, merge
from faircrowd.fair.rate_constraint import RateParity

SIZES = ((100, 3, 2), (300, 3, 2), (1000, 3, 2), (2900, 3, 2), (300, 8, 6), (1000, 8, 6), (2900, 8, 6))


def seconds(atoms: Atoms, few: int) -> tuple[float, list[float]]:
    """Time the solution for epsilons from 0.2 to 0; up to ``few`` atoms all go to the linear program."""
    mass, values, start = np.bincount(atoms.group).astype(np.float64), [], None
    began = time.perf_counter()
    with patch.object(relaxed, "_MAX_ATOMS_AT_ONCE", few):
        for epsilon in np.linspace(0.2, 0.0, 6):
            found = relaxed.solve_relaxed(atoms, mass, RateParity(float(epsilon)), start)
            start = found.multipliers
            values.append(found.value)
    return time.perf_counter() - began, values


def main() -> None:
    """Print one line per size."""
    for n_atoms, n_classes, n_groups in SIZES:
        rng = np.random.default_rng(n_atoms)
        group = rng.integers(0, n_groups, n_atoms).astype(np.int32)
        posterior = rng.dirichlet(np.ones(n_classes), n_atoms) ** np.where(group == 0, 1.5, 1.0)[:, None]
        atoms = merge(posterior / posterior.sum(axis=1, keepdims=True), group, None)
        runs = [[seconds(atoms, few) for few in (n_atoms, 0)] for _ in range(3)]
        program, smoothed = (min(run[way][0] for run in runs) for way in (0, 1))
        np.testing.assert_allclose(runs[0][0][1], runs[0][1][1], rtol=0, atol=1e-12)
        print(
            f"{n_atoms:5} atoms, {n_classes} classes, {n_groups} groups: "
            f"program {program:.3f} s, smoothed dual {smoothed:.3f} s, ratio {program / smoothed:.1f}"
        )


if __name__ == "__main__":
    main()
