"""The dual of the fair program against plain numpy, and the smoothed one against the linear program."""

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from scipy.special import logsumexp, softmax

from fair import optima
from faircrowd.fair.program import dual
from faircrowd.fair.program.atoms import Atoms, DecidedTasks
from faircrowd.fair.program.dual import (
    atom_margins,
    dual_value,
    label_margins,
    near_best_labels,
    smoothed_multipliers,
)
from faircrowd.fair.program.relaxed import solve_relaxed
from faircrowd.fair.rate_constraint import Constraint, RateParity, prices_of

EPSILON = 0.05
PARITY = RateParity(EPSILON)


def some(n: int = 60, n_classes: int = 3, n_groups: int = 3, seed: int = 0) -> tuple[Atoms, np.ndarray]:
    """Atoms of unequal mass in groups that differ, and the mass of the groups."""
    rng = np.random.default_rng(seed)
    group = np.append(np.arange(n_groups), rng.integers(0, n_groups, n - n_groups)).astype(np.int32)
    gains = rng.dirichlet(np.ones(n_classes), n)
    gains[:, -1] += 0.4 * group / n_groups
    mass = rng.integers(1, 5, n).astype(float)
    return Atoms(gains, mass, group), np.bincount(group, weights=mass)


MULTIPLIERS = np.array([[0.1, -0.05, 0.0], [-0.02, 0.03, 0.04], [-0.08, 0.02, -0.04]])


def scores(atoms: Atoms, mass: np.ndarray, multipliers: np.ndarray) -> np.ndarray:
    return atoms.gains - np.array([multipliers[a] * mass.sum() / mass[a] for a in atoms.group])


def softened(atoms: Atoms, mass: np.ndarray, multipliers: np.ndarray, epsilon: float, temperature: float) -> float:
    """The dual with the maximum and the absolute value softened."""
    each = np.array([(mass[a] / mass.sum()) for a in atoms.group])[:, None] * scores(atoms, mass, multipliers)
    soft = temperature * logsumexp(each / temperature, axis=1)
    expected = sum(soft[atoms.group == a] @ atoms.mass[atoms.group == a] / mass[a] for a in range(mass.size))
    return float(expected + epsilon / 2 * np.hypot(multipliers, 0.1 * temperature).sum())


def test_the_dual_value() -> None:
    atoms, mass = some()
    best = scores(atoms, mass, MULTIPLIERS).max(axis=1)
    wanted = atoms.mass @ best / mass.sum() + EPSILON / 2 * np.abs(MULTIPLIERS).sum()
    assert dual_value(atoms, mass, MULTIPLIERS, PARITY) == pytest.approx(wanted, abs=1e-14)
    # The same with the first atoms counted with the labels that they have at these multipliers.
    label = scores(atoms, mass, MULTIPLIERS).argmax(axis=1)
    counted, value = np.zeros((3, 3)), 0.0
    for j in range(20):
        counted[atoms.group[j], label[j]] += atoms.mass[j]
        value += atoms.mass[j] * atoms.gains[j, label[j]]
    part = Atoms(atoms.gains[20:], atoms.mass[20:], atoms.group[20:], decided=DecidedTasks(counted, value))
    assert dual_value(part, mass, MULTIPLIERS, PARITY) == pytest.approx(wanted, abs=1e-14)


def test_a_sum_of_many_small_terms_loses_nothing() -> None:
    n = 4_000
    gains = np.full((n, 2), 0.1)
    gains[0] = 1e8
    atoms = Atoms(gains, np.ones(n), np.arange(n, dtype=np.int32) % 2)
    found = dual_value(atoms, np.full(2, n / 2), np.zeros((2, 2)), RateParity(0.0))
    assert found == pytest.approx((1e8 + 0.1 * (n - 1)) / n, rel=2e-16)


def test_margins_of_best_labels() -> None:
    atoms, mass = some()
    gains = atoms.gains.copy()
    gains[:4] = [[0.5, 0.5, 0.1], [0.2, 0.7, 0.7], [0.3, 0.3, 0.3], [0.7, 0.2, 0.6]]
    margin, best = label_margins(gains, atoms.group, np.zeros((3, 3)))
    ranked = np.sort(gains, axis=1)
    np.testing.assert_array_equal(margin, ranked[:, -1] - ranked[:, -2])
    np.testing.assert_array_equal(best, gains.argmax(axis=1))  # the first of equal ones
    margin, best = atom_margins(atoms, mass, MULTIPLIERS)
    ranked = np.sort(scores(atoms, mass, MULTIPLIERS), axis=1)
    np.testing.assert_allclose(margin, ranked[:, -1] - ranked[:, -2], atol=1e-14)
    np.testing.assert_array_equal(best, scores(atoms, mass, MULTIPLIERS).argmax(axis=1))
    assert margin.dtype == np.float64
    assert best.dtype == np.int32


@pytest.mark.parametrize("within", [0.0, 0.02, 0.1])
def test_labels_within_so_much_of_the_best(within: float) -> None:
    atoms, mass = some()
    found = near_best_labels(atoms, mass, MULTIPLIERS, within)
    each = scores(atoms, mass, MULTIPLIERS)
    width = within * mass.sum() / mass[atoms.group]
    np.testing.assert_array_equal(found, each >= (each.max(axis=1) - width)[:, None])


def test_labels_just_within_and_tied() -> None:
    gains = np.array([[0.5, 0.25, 0.0], [0.5, 0.25 - 1e-9, 0.0], [0.5, 0.0, 0.5], [0.75, 0.5, 0.5]])
    atoms = Atoms(gains, np.ones(4), np.array([0, 0, 1, 1], dtype=np.int32))
    found = near_best_labels(atoms, np.array([2.0, 2.0]), np.zeros((2, 3)), 0.125)
    assert found.astype(int).tolist() == [[1, 1, 0], [1, 0, 0], [1, 0, 1], [1, 1, 1]]
    tied = near_best_labels(atoms, np.array([2.0, 2.0]), np.zeros((2, 3)), 0.0)
    assert tied.astype(int).tolist() == [[1, 0, 0], [1, 0, 0], [1, 0, 1], [1, 0, 0]]


@pytest.mark.parametrize("temperature", [0.1, 3e-3])
def test_the_softened_maximum_and_its_rates(temperature: float) -> None:
    atoms, mass = some(30)
    shares, prices = mass / mass.sum(), prices_of(MULTIPLIERS, mass)
    total, rates = dual._soft(atoms.gains, atoms.mass, atoms.group, mass, prices, temperature, shares)
    assert total == pytest.approx(softened(atoms, mass, MULTIPLIERS, 0.0, temperature), abs=1e-13)
    chances = softmax(shares[atoms.group][:, None] * scores(atoms, mass, MULTIPLIERS) / temperature, axis=1)
    wanted = [
        [atoms.mass[atoms.group == a] @ chances[atoms.group == a, k] / mass[a] for k in range(3)] for a in range(3)
    ]
    np.testing.assert_allclose(rates, wanted, atol=1e-14)


def test_labels_forty_temperatures_off_count_as_nothing() -> None:
    one = Atoms(np.array([[0.0, -39.0, -40.0, -41.0]]), np.ones(1), np.zeros(1, dtype=np.int32))
    total, rates = dual._soft(one.gains, one.mass, one.group, np.ones(1), np.zeros((1, 4)), 1.0, np.ones(1))
    assert total == 0.0
    assert rates[0].tolist() == [1.0, np.exp(-39.0), 0.0, 0.0]


@pytest.mark.parametrize("temperature", [0.1, 0.01])
@pytest.mark.parametrize("shape", [(3, 3), (2, 4), (4, 2)], ids=str)
def test_descent_ends_at_the_minimum_of_the_softened_dual(temperature: float, shape: tuple[int, int]) -> None:
    atoms, mass = some(60, *shape)
    n_groups, n_classes = mass.size, shape[0]
    zero = np.zeros((n_groups, n_classes))
    found = dual._descend(atoms, mass, mass, zero, PARITY, temperature, zero)
    np.testing.assert_allclose(found.sum(axis=0), 0.0, atol=1e-15)
    least = softened(atoms, mass, found, EPSILON, temperature)
    assert least < softened(atoms, mass, zero, EPSILON, temperature)
    for k in range(n_classes):
        for a, b in pairwise(range(n_groups)):
            step = np.zeros((n_groups, n_classes))
            step[a, k], step[b, k] = 1e-4, -1e-4
            up, down = (softened(atoms, mass, found + sign * step, EPSILON, temperature) for sign in (1, -1))
            assert abs(up - down) / 2e-4 < 2e-4  # no slope
    again = dual._descend(atoms, mass, mass, zero, PARITY, temperature, found)
    np.testing.assert_allclose(again, found, atol=1e-4)


def test_descent_with_decided_rates_and_a_lighter_sample() -> None:
    """Atoms whose label is plain may be counted beforehand; twice the mass of the sample has the same distribution."""
    atoms, mass = some(60)
    zero = np.zeros((3, 3))
    plain = np.vstack([np.eye(3) * 5, np.eye(3)[[0, 0, 1]] * 5])
    group = np.array([0, 1, 2, 0, 1, 2], dtype=np.int32)
    weight = np.array([4.0, 9.0, 2.0, 7.0, 1.0, 5.0])
    whole = Atoms(np.vstack([atoms.gains, plain]), np.append(atoms.mass, weight), np.append(atoms.group, group))
    whole_mass = mass + np.bincount(group, weights=weight)
    fixed = np.zeros((3, 3))
    np.add.at(fixed, (group, plain.argmax(axis=1)), weight)
    wanted = dual._descend(whole, whole_mass, whole_mass, zero, PARITY, 0.01, zero)
    found = dual._descend(atoms, whole_mass, whole_mass, fixed / whole_mass[:, None], PARITY, 0.01, zero)
    np.testing.assert_allclose(found, wanted, atol=1e-4)
    light = Atoms(atoms.gains, atoms.mass / 2, atoms.group)
    sampled = dual._descend(light, mass / 2, mass, zero, PARITY, 0.01, zero)
    np.testing.assert_allclose(sampled, dual._descend(atoms, mass, mass, zero, PARITY, 0.01, zero), atol=1e-4)


def test_temperatures_fall_gently_to_the_same_end() -> None:
    for steps in (dual._TEMPERATURES, dual._SAMPLE_TEMPERATURES, dual._LAST_TEMPERATURES):
        assert all(low < high < 4 * low for high, low in pairwise(steps))
    assert dual._TEMPERATURES[0] == dual._SAMPLE_TEMPERATURES[0] == 0.1
    assert dual._TEMPERATURES[-1] == dual._LAST_TEMPERATURES[-1] == 3e-4
    assert dual._SAMPLE_TEMPERATURES[-1] == dual._LAST_TEMPERATURES[0]
    np.testing.assert_allclose(dual._REACH, 10 * np.array(dual._LAST_TEMPERATURES))


def test_an_even_sample_with_small_groups_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dual, "_SAMPLED_ATOMS", 30)
    group = np.repeat([1, 0, 2, 1], [50, 3, 10, 50]).astype(np.int32)
    n = group.size
    atoms = Atoms(np.arange(3.0 * n).reshape(n, 3), np.arange(n) + 0.5, group)
    few, mass = dual._sampled(atoms, 3)
    rows = (few.gains[:, 0] / 3).astype(int)
    np.testing.assert_array_equal(few.gains, atoms.gains[rows])
    np.testing.assert_array_equal(few.mass, atoms.mass[rows])
    np.testing.assert_array_equal(few.group, group[rows])
    assert mass.tolist() == [few.mass[few.group == a].sum() for a in range(3)]
    members = [np.flatnonzero(group == a) for a in range(3)]
    assert [rows[few.group == a].tolist() for a in range(3)] == [
        part[::step].tolist() for part, step in zip(members, (1, 10, 1), strict=True)
    ]
    monkeypatch.setattr(dual, "_SAMPLED_ATOMS", 2)
    assert dual._sampled(atoms, 3)[0].group.tolist() == [0, 1, 2]  # one of each at least


def test_atoms_near_a_change_and_the_rates_of_others() -> None:
    atoms, mass = some()
    each, reach = scores(atoms, mass, MULTIPLIERS), 0.05
    ranked = np.sort(each, axis=1)
    is_near = (ranked[:, -1] - ranked[:, -2]) * mass[atoms.group] / mass.sum() <= reach
    near, fixed = dual._near_ties(atoms, mass, MULTIPLIERS, reach)
    np.testing.assert_array_equal(near.gains, atoms.gains[is_near])
    np.testing.assert_array_equal(near.mass, atoms.mass[is_near])
    np.testing.assert_array_equal(near.group, atoms.group[is_near])
    wanted = np.zeros((3, 3))
    for j in np.flatnonzero(~is_near):
        wanted[atoms.group[j], each[j].argmax()] += atoms.mass[j] / mass[atoms.group[j]]
    np.testing.assert_allclose(fixed, wanted, atol=1e-14)
    decided = DecidedTasks(np.arange(9.0).reshape(3, 3), 0.0)
    _, more = dual._near_ties(atoms._replace(decided=decided), mass, MULTIPLIERS, reach)
    np.testing.assert_allclose(more - fixed, decided.mass / mass[:, None], atol=1e-14)
    tied = Atoms(np.array([[0.5, 0.25]]), np.ones(1), np.zeros(1, dtype=np.int32))
    assert dual._near_ties(tied, np.ones(1), np.zeros((1, 2)), 0.25)[0].mass.size == 1  # just within


def steps(monkeypatch: pytest.MonkeyPatch, *given: Any) -> tuple[np.ndarray, list[tuple[float, int, float]]]:
    """Return the multipliers, and temperature, number of atoms and mass of group 0 of each descent."""
    seen, plain = [], dual._descend

    def descend(
        atoms: Atoms, mass: Any, group_mass: Any, fixed: Any, constraint: Constraint, heat: float, start: Any
    ) -> Any:
        seen.append((heat, atoms.mass.size, float(mass[0])))
        return plain(atoms, mass, group_mass, fixed, constraint, heat, start)

    with monkeypatch.context() as patched:
        patched.setattr(dual, "_descend", descend)
        return smoothed_multipliers(*given), seen


def assert_near(atoms: Atoms, mass: np.ndarray, *founds: np.ndarray) -> None:
    """The dual value is near the optimum of the linear program, and multipliers are near each other."""
    exact = optima.best_randomized(atoms.gains, atoms.group, EPSILON, atoms.mass)
    for found in founds:
        np.testing.assert_allclose(found.sum(axis=0), 0.0, atol=1e-12)
        assert 0 <= dual_value(atoms, mass, found, PARITY) - exact < 1e-4
        np.testing.assert_allclose(found, founds[0], atol=2e-3)


def test_the_smoothed_dual_is_near_the_linear_program(monkeypatch: pytest.MonkeyPatch) -> None:
    atoms, mass = some(300, 3, 2)
    monkeypatch.setattr(dual, "_SAMPLED_ATOMS", 300)  # this many are not too many
    cold, seen = steps(monkeypatch, atoms, mass, PARITY)
    assert seen == [(heat, 300, mass[0]) for heat in dual._TEMPERATURES]
    warm, seen = steps(monkeypatch, atoms, mass, PARITY, cold)
    assert seen == [(heat, 300, mass[0]) for heat in dual._LAST_TEMPERATURES]
    assert_near(atoms, mass, cold, warm)


def test_the_smoothed_dual_of_a_sample_is_near_that_of_all(monkeypatch: pytest.MonkeyPatch) -> None:
    """Atoms come in pairs that are alike, so that the sample is a good one."""
    half, _ = some(200, 3, 2)
    group = np.repeat([0, 1], 200).astype(np.int32)
    gains = np.repeat(half.gains[np.argsort(half.group, kind="stable")], 2, axis=0)
    atoms, mass = Atoms(gains, np.repeat(half.mass, 2), group), np.bincount(group, np.repeat(half.mass, 2))
    cold = smoothed_multipliers(atoms, mass, PARITY)
    monkeypatch.setattr(dual, "_SAMPLED_ATOMS", 200)
    sampled, seen = steps(monkeypatch, atoms, mass, PARITY)
    few, few_mass = dual._sampled(atoms, 2)
    assert few.mass.size == 200
    assert seen[:5] == [(heat, 200, few_mass[0]) for heat in dual._SAMPLE_TEMPERATURES]
    assert [(heat, own) for heat, _, own in seen[5:]] == [(heat, mass[0]) for heat in dual._LAST_TEMPERATURES]
    assert all(size < 400 for _, size, _ in seen)
    warm, seen = steps(monkeypatch, atoms, mass, PARITY, sampled)
    assert [heat for heat, _, _ in seen] == [dual._LAST_TEMPERATURES[0], *dual._LAST_TEMPERATURES]
    assert seen[0] == (dual._LAST_TEMPERATURES[0], 200, few_mass[0])
    assert_near(atoms, mass, cold, sampled, warm)


def test_the_smoothed_dual_with_tasks_that_were_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    atoms, mass = some(300, 3, 2)
    cold = smoothed_multipliers(atoms, mass, PARITY)
    margin, label = atom_margins(atoms, mass, cold)
    plain = margin * (mass / mass.sum())[atoms.group] > 0.05
    counted = np.zeros((2, 3))
    np.add.at(counted, (atoms.group[plain], label[plain]), atoms.mass[plain])
    value = float(atoms.mass[plain] @ atoms.gains[plain, label[plain]])
    part = Atoms(atoms.gains[~plain], atoms.mass[~plain], atoms.group[~plain], decided=DecidedTasks(counted, value))
    found, seen = steps(monkeypatch, part, mass, PARITY, cold + 1e-4 * np.array([[1, -1, 0], [-1, 1, 0]]))
    assert [(heat, own) for heat, _, own in seen] == [(heat, mass[0]) for heat in dual._LAST_TEMPERATURES]
    np.testing.assert_allclose(found, cold, atol=2e-3)
    assert abs(dual_value(part, mass, found, PARITY) - dual_value(atoms, mass, cold, PARITY)) < 1e-5


def test_multipliers_stay_where_labels_change() -> None:
    """From 0, few labels of these 40,000 tasks are near a tie, too few to keep the gap by themselves."""
    rng = np.random.default_rng(0)
    n = 40_000
    group = rng.integers(0, 3, n).astype(np.int32)
    truth = np.where((group == 1) & (rng.random(n) < 0.2), 2, rng.integers(0, 3, n))
    skill = rng.uniform(0.67, 0.93, (n, 5))
    other = (truth[:, None] + rng.integers(1, 3, (n, 5))) % 3
    vote = np.where(rng.random((n, 5)) < skill, truth[:, None], other)
    logs = [np.where(vote == k, np.log(skill), np.log((1 - skill) / 2)).sum(axis=1) for k in range(3)]
    gains = softmax(np.stack(logs, axis=1), axis=1)
    best, mass = gains.argmax(axis=1), np.bincount(group).astype(np.float64)
    rates = np.array([np.bincount(best[group == a], minlength=3) / mass[a] for a in range(3)])
    constraint = RateParity(0.95 * float(np.ptp(rates, axis=0).max()))
    atoms = Atoms(gains, np.ones(n), group)
    assert np.abs(smoothed_multipliers(atoms, mass, constraint, np.zeros((3, 3)))).max() < 1
    found = solve_relaxed(atoms, mass, constraint, np.zeros((3, 3)))
    assert found.bound - found.value <= 1e-9
    assert "of 40,000 atoms" in found.solver
    assert int(found.solver.split()[-4].replace(",", "")) < 2_000  # the linear program is small
