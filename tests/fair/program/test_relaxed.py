"""Many atoms by the smoothed dual, against the linear program over all."""

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from fair import optima
from faircrowd.errors import SolverError
from faircrowd.fair.program import relaxed
from faircrowd.fair.program.atoms import Atoms, DecidedTasks
from faircrowd.fair.program.dual import atom_margins, near_best_labels
from faircrowd.fair.program.relaxed import Relaxed, _has_several, solve_relaxed
from faircrowd.fair.rate_constraint import RateParity

EPSILON = 0.04
PARITY = RateParity(EPSILON)


def some(n: int = 90, seed: int = 0) -> tuple[Atoms, np.ndarray]:
    rng = np.random.default_rng(seed)
    group = np.append(np.arange(3), rng.integers(0, 3, n - 3)).astype(np.int32)
    gains = rng.dirichlet(np.ones(4), n)
    gains[:, -1] += 0.3 * group
    mass = rng.integers(1, 5, n).astype(float)
    return Atoms(gains, mass, group), np.bincount(group, weights=mass)


def assert_optimal(found: Relaxed, atoms: Atoms, mass: np.ndarray, optimum: float) -> None:
    rates = np.zeros((3, 4)) if atoms.decided is None else atoms.decided.mass.copy()
    np.add.at(rates, atoms.group, atoms.mass[:, None] * found.fractions)
    assert np.ptp(rates / mass[:, None], axis=0).max() <= EPSILON + 1e-9
    gained = (atoms.mass[:, None] * found.fractions * atoms.gains).sum() + (
        atoms.decided.value if atoms.decided else 0.0
    )
    assert found.value == pytest.approx(gained / mass.sum(), abs=1e-12)
    assert found.value == pytest.approx(optimum, abs=1e-9)
    assert found.value <= found.bound <= found.value + 1e-10


def test_few_atoms_go_to_the_program_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    atoms, mass = some()
    optimum = optima.best_randomized(atoms.gains, atoms.group, EPSILON, atoms.mass)
    monkeypatch.setattr(relaxed, "_MAX_ATOMS_AT_ONCE", 90)
    found = solve_relaxed(atoms, mass, PARITY)
    assert found.solver == "linear program over 90 atoms"
    assert_optimal(found, atoms, mass, optimum)
    monkeypatch.setattr(relaxed, "_MAX_ATOMS_AT_ONCE", 89)
    found = solve_relaxed(atoms, mass, PARITY)
    assert found.solver.startswith("smoothed dual, then linear program over ")
    assert found.solver.endswith(" of 90 atoms")
    assert int(found.solver.split()[6]) < 45
    assert_optimal(found, atoms, mass, optimum)


def widths(monkeypatch: pytest.MonkeyPatch, near: np.ndarray, atoms: Atoms, mass: np.ndarray) -> tuple[Any, Any, Any]:
    """Solve from given multipliers; return the solution, the widths of labels in turn, and how often nothing fits."""
    asked, failed, plain = [], [], relaxed.solve_linear_program

    def labels(atoms: Atoms, mass: np.ndarray, multipliers: np.ndarray, width: float) -> Any:
        asked.append((bool((multipliers == near).all()), width))
        return near_best_labels(atoms, mass, multipliers, width)

    def program(*given: Any) -> Any:
        found = plain(*given)
        failed.append(found is None)
        return found

    monkeypatch.setattr(relaxed, "_MAX_ATOMS_AT_ONCE", 10)
    monkeypatch.setattr(relaxed, "_solved_near", lambda *_: None)
    monkeypatch.setattr(relaxed, "smoothed_multipliers", lambda *_: near)
    monkeypatch.setattr(relaxed, "near_best_labels", labels)
    monkeypatch.setattr(relaxed, "solve_linear_program", program)
    return solve_relaxed(atoms, mass, PARITY), asked, failed


def test_from_poor_multipliers_more_and_more_labels_are_let_in(monkeypatch: pytest.MonkeyPatch) -> None:
    atoms, mass = some()
    optimum = optima.best_randomized(atoms.gains, atoms.group, EPSILON, atoms.mass)
    found, asked, failed = widths(monkeypatch, np.zeros((3, 4)), atoms, mass)
    assert_optimal(found, atoms, mass, optimum)
    assert failed[0]
    assert not failed[-1]
    expected, width = [(True, 3e-4)], 3e-4
    for none in failed[:-1]:
        width *= 4 if none else 2  # in no time far enough, then with care
        expected += [(True, width)] if none else [(True, width), (False, width)]
    assert asked == [(given, pytest.approx(within)) for given, within in expected]


def test_from_good_multipliers_the_first_program_is_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    atoms, mass = some()
    exact = solve_relaxed(atoms, mass, PARITY)
    found, asked, failed = widths(monkeypatch, exact.multipliers, atoms, mass)
    assert (len(asked), failed) == (1, [False])
    is_open = near_best_labels(atoms, mass, exact.multipliers, 3e-4).sum(axis=1) > 1
    assert found.solver == f"smoothed dual, then linear program over {is_open.sum()} of 90 atoms"
    assert_optimal(found, atoms, mass, exact.value)


def test_the_best_so_far_is_kept_where_value_and_bound_never_meet(monkeypatch: pytest.MonkeyPatch) -> None:
    """As with a solver of wide tolerances: the closest pair, once all labels are in."""
    atoms, mass = some()
    gaps = iter([None, 3.0, 1.0, 2.0, 2.5, 4.0, *[5.0] * 50])
    made = []

    def restricted(*given: Any) -> Relaxed | None:
        gap = next(gaps)
        made.append(given[3].copy())
        if gap is None:
            return None
        value = 7.0 - 3 * gap
        return Relaxed(np.ones((90, 4)), np.zeros((3, 4)), value, value + gap, str(gap))

    monkeypatch.setattr(relaxed, "_MAX_ATOMS_AT_ONCE", 10)
    monkeypatch.setattr(relaxed, "_restricted", restricted)
    assert solve_relaxed(atoms, mass, PARITY).solver == "1.0"
    assert made[-1].all()
    assert not made[-2].all()
    assert all((before <= after).all() for before, after in pairwise(made))  # none is taken back


@pytest.mark.parametrize("few", [10, 1000])
def test_no_solution_at_all(few: int, monkeypatch: pytest.MonkeyPatch) -> None:
    atoms, mass = some()
    monkeypatch.setattr(relaxed, "_MAX_ATOMS_AT_ONCE", few)
    monkeypatch.setattr(relaxed, "solve_linear_program", lambda *_: None)
    with pytest.raises(SolverError, match="no solution of the linear program over all tasks"):
        solve_relaxed(atoms, mass, PARITY)


def test_tasks_that_were_counted() -> None:
    atoms, mass = some()
    exact = solve_relaxed(atoms, mass, PARITY)
    margin, label = atom_margins(atoms, mass, exact.multipliers)
    far = margin > 0.15
    counted = np.zeros((3, 4))
    np.add.at(counted, (atoms.group[far], label[far]), atoms.mass[far])
    value = float(atoms.mass[far] @ atoms.gains[far, label[far]])
    part = Atoms(atoms.gains[~far], atoms.mass[~far], atoms.group[~far], decided=DecidedTasks(counted, value))
    found = solve_relaxed(part, mass, PARITY, exact.multipliers)
    assert_optimal(found, part, mass, exact.value)


@pytest.mark.parametrize("far", [0.0, 0.01, 0.3])
def test_a_start_changes_how_long_it_takes_and_not_the_optimum(far: float, monkeypatch: pytest.MonkeyPatch) -> None:
    atoms, mass = some()
    exact = solve_relaxed(atoms, mass, PARITY)
    monkeypatch.setattr(relaxed, "_MAX_ATOMS_AT_ONCE", 30)
    start = exact.multipliers + far * np.random.default_rng(1).normal(size=exact.multipliers.shape)
    assert_optimal(solve_relaxed(atoms, mass, PARITY, start - start.mean(axis=0)), atoms, mass, exact.value)


def test_near_its_multipliers_a_program_over_few_atoms_is_solved(monkeypatch: pytest.MonkeyPatch) -> None:
    atoms, mass = some()
    exact = solve_relaxed(atoms, mass, PARITY)
    monkeypatch.setattr(relaxed, "_MAX_ATOMS_AT_ONCE", 30)
    found = relaxed._solved_near(atoms, mass, PARITY, exact.multipliers)
    assert found is not None
    assert "over 1" in found.solver  # ten to some more of 90 atoms
    assert_optimal(found, atoms, mass, exact.value)
    assert relaxed._solved_near(atoms, mass, PARITY, exact.multipliers, error=1.0) is None
    monkeypatch.setattr(relaxed, "_MAX_ATOMS_AT_ONCE", 300)
    assert relaxed._solved_near(atoms, mass, PARITY, exact.multipliers) is None  # all atoms are few


def test_atoms_of_several_labels() -> None:
    allowed = np.array([[0, 0, 0], [0, 1, 0], [1, 0, 1], [1, 1, 1], [0, 1, 1], [0, 0, 1]], dtype=bool)
    assert _has_several(allowed).tolist() == [False, False, True, True, True, False]
    assert _has_several(np.ones((2, 300), dtype=bool)).all()
