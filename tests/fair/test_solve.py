"""One problem to labels: each way of solving, and the small rules that they share."""

from typing import Any

import numpy as np
import pytest

from fair import optima
from faircrowd.errors import OptionError
from faircrowd.fair import solve as solving
from faircrowd.fair.objective import f1_gain, make_gain
from faircrowd.fair.program import solve as module
from faircrowd.fair.program.atoms import Atoms, DecidedTasks, atom_hashes, collect
from faircrowd.fair.program.relaxed import Relaxed, solve_relaxed
from faircrowd.fair.program.rounding import round_counts
from faircrowd.fair.rate_constraint import RateParity
from faircrowd.fair.solution import Solution
from faircrowd.fair.solve import solve
from faircrowd.fair.tasks.problem import Problem
from faircrowd.fair.tasks.read_posterior import read_posterior


def some(n: int, n_classes: int, n_groups: int, seed: int = 0, votes: int | None = None, **given: Any) -> Problem:
    rng = np.random.default_rng(seed)
    group = np.append(np.arange(n_groups), rng.integers(0, n_groups, n - n_groups))
    p = rng.dirichlet(np.ones(n_classes), n)
    p[:, -1] += group / n_groups
    p /= p.sum(axis=1, keepdims=True)
    if votes:
        p = np.stack([rng.multinomial(votes, row) / votes for row in p])
    return read_posterior(p, group, **given)


def gap_of(problem: Problem, chances: np.ndarray) -> float:
    weights = np.ones(problem.group.size) if problem.weights is None else problem.weights
    rates = [
        weights[problem.group == a] @ chances[problem.group == a] / weights[problem.group == a].sum()
        for a in range(problem.n_groups)
    ]
    return float(np.ptp(rates, axis=0).max())


def value_of(problem: Problem, chances: np.ndarray, gains: np.ndarray) -> float:
    weights = np.ones(problem.group.size) if problem.weights is None else problem.weights
    return float(weights @ (chances * gains).sum(axis=1) / weights.sum())


def assert_sound(problem: Problem, found: Solution, gains: np.ndarray, epsilon: float) -> None:
    """The probabilities keep epsilon and their value is the bound; labels agree with them where they are certain."""
    chances = found.probabilities
    np.testing.assert_allclose(chances.sum(axis=1), 1.0, atol=1e-9)
    assert gap_of(problem, chances) <= epsilon + 1e-9
    optimum = optima.best_randomized(gains, problem.group, epsilon, problem.weights)
    assert value_of(problem, chances, gains) == pytest.approx(optimum, abs=1e-9)
    assert found.dual_bound == pytest.approx(optimum, abs=1e-9)
    np.testing.assert_allclose(found.multipliers.sum(axis=0), 0.0, atol=1e-9)


SHAPES = [(2, 2), (2, 3), (3, 2), (3, 3)]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("decision", ["deterministic", "randomized"])
def test_every_way_of_solving(shape: tuple[int, int], weighted: bool, decision: str) -> None:
    weights = np.arange(1, 31) % 4 + 0.5 if weighted else None
    problem = some(30, *shape, sample_weight=weights)
    gain, epsilon = make_gain("accuracy", shape[0]), 0.1
    found = solve(problem, gain, RateParity(epsilon), decision, 3)
    assert_sound(problem, found, problem.posterior, epsilon)
    chances = found.probabilities
    assert found.bound == found.dual_bound
    assert found.optimal == (decision == "randomized" or (shape == (2, 2) and not weighted))
    if shape == (2, 2):
        rounded = "labels rounded to whole tasks" if decision == "deterministic" else "exact"
        said = f"one sort of each group, {rounded}" if weighted else "thresholds by selection, exact"
    else:
        said = "linear program over 30 atoms"
    assert found.solver == said
    sure = chances.max(axis=1) == 1.0
    assert sure.sum() >= 24
    moved = (found.labels != chances.argmax(axis=1)) & sure
    assert moved.sum() <= (0 if decision == "randomized" else 5)
    assert value_of(problem, np.eye(shape[0])[found.labels], problem.posterior) >= found.bound - 0.05
    assert found.gain is gain


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("weighted", [False, True])
def test_multipliers_and_ties_are_the_probabilities(shape: tuple[int, int], weighted: bool) -> None:
    """The best class at the prices; where several are, their weights are what the solution gives to such tasks."""
    for votes, seed in ((None, 0), (3, 0), (3, 1)):
        weights = np.arange(1, 31) % 4 + 0.5 if weighted else np.ones(30)
        problem = some(30, *shape, seed=seed, votes=votes, sample_weight=weights if weighted else None)
        found = solve(problem, make_gain("accuracy", shape[0]), RateParity(0.1), "randomized", 3)
        shares = np.bincount(problem.group, weights=weights) / weights.sum()
        scores = problem.posterior - (found.multipliers / shares[:, None])[problem.group]
        best = scores >= scores.max(axis=1, keepdims=True) - 1e-10
        chances, sums = found.probabilities, {}
        assert (chances[np.arange(30), found.labels] > 0).all()
        for i, marks in enumerate(best):
            members = tuple(np.flatnonzero(marks).tolist())
            if len(members) == 1:
                assert chances[i, members[0]] == pytest.approx(1.0, abs=1e-9)
            else:
                at = (int(problem.group[i]), members)
                sums[at] = sums.get(at, 0.0) + weights[i] * chances[i, members]
        assert sums or not found.multipliers.any()
        for at, total in sums.items():
            assert found.ties[at] == pytest.approx(tuple(total / total.sum()), abs=1e-9)


@pytest.mark.parametrize("shape", SHAPES[1:], ids=str)
def test_labels_are_the_counts_of_the_rounding(shape: tuple[int, int]) -> None:
    for seed in (0, 1):
        problem, gain = some(60, *shape, seed=seed, votes=3), make_gain("accuracy", shape[0])
        found = solve(problem, gain, RateParity(0.05), "deterministic", 3)
        numbers = module.number_groups(problem, gain)
        atoms, relaxed = module.solve_many(problem, gain, RateParity(0.05), numbers=numbers)
        mass = module.in_order(problem.sizes.astype(float), numbers)
        counts = module._rounded(atoms, mass, relaxed, RateParity(0.05))
        labelled = np.zeros(counts.shape, dtype=int)
        place = np.searchsorted(atoms.hashes, atom_hashes(problem.posterior, numbers[problem.group]))
        np.add.at(labelled, (place, found.labels), 1)
        np.testing.assert_array_equal(labelled, counts)
        assert ((counts > 0).sum(axis=1) > 1).any()


def test_deterministic_labels_of_two_groups_keep_epsilon() -> None:
    for votes in (None, 3):
        problem = some(30, 2, 2, votes=votes)
        found = solve(problem, make_gain("accuracy", 2), RateParity(0.1), "deterministic", 3)
        assert gap_of(problem, np.eye(2)[found.labels]) <= 0.1 + 1e-9


def test_gains_are_judged_by_cost_where_log_odds_are_known() -> None:
    """A label may gain the most though it is the less likely one."""
    p = np.array([0.3, 0.15, 0.1, 0.45, 0.9, 0.15, 0.3, 0.05])
    posterior = np.stack([1 - p, p], axis=1)
    problem = read_posterior(posterior, [0] * 4 + [1] * 4, log_posterior=np.log(posterior))
    gain = make_gain([[1.0, 0.0], [0.0, 4.0]], 2)
    label = gain.of(posterior).argmax(axis=1)
    assert label.tolist() == [1, 0, 0, 1, 1, 0, 1, 0]
    found = solve(problem, gain, RateParity(0.0), "deterministic", 0)
    assert found.solver == "nothing to change"
    np.testing.assert_array_equal(found.labels, label)
    np.testing.assert_array_equal(found.probabilities, np.eye(2)[label])
    assert found.bound == pytest.approx(gain.of(posterior).max(axis=1).mean(), abs=1e-12)


def test_ties_at_no_price() -> None:
    """Tasks of even odds close the gap for nothing; the other group keeps the ties of the aggregator."""
    p = np.array([0.5, 0.5, 0.2, 0.2, 0.9, 0.9, 0.2, 0.2])
    problem = read_posterior(np.stack([1 - p, p], axis=1), [0] * 4 + [1] * 4)
    found = solve(problem, make_gain("accuracy", 2), RateParity(0.0), "deterministic", 0)
    assert found.labels.tolist() == [1, 1, 0, 0] * 2
    assert not found.multipliers.any()
    assert found.ties == {(0, (0, 1)): (0.0, 1.0), (1, (0, 1)): (1.0, 0.0)}


def test_within_epsilon_nothing_changes() -> None:
    """Also at exactly epsilon, and beyond it no more."""
    p = np.array([0.9, 0.2, 0.3, 0.1, 0.9, 0.8, 0.3, 0.1])
    for n_groups, group in ((2, [0] * 4 + [1] * 4), (3, [0] * 4 + [1] * 4 + [2] * 4)):
        posterior = np.stack([1 - p, p], axis=1)
        posterior = np.vstack([posterior, posterior[:4]]) if n_groups == 3 else posterior
        problem = read_posterior(posterior, group)
        gain = make_gain("accuracy", 2)
        own = posterior.argmax(axis=1)
        value = posterior.max(axis=1).mean()
        for decision in ("deterministic", "randomized"):
            found = solve(problem, gain, RateParity(0.25), decision, 3)
            assert found.solver == "nothing to change"
            assert found.optimal
            assert (found.bound, found.dual_bound) == (pytest.approx(value), found.bound)
            assert not found.multipliers.any()
            assert found.multipliers.shape == (n_groups, 2)
            np.testing.assert_array_equal(found.labels, own)
            np.testing.assert_array_equal(found.probabilities, np.eye(2)[own])
            assert solve(problem, gain, RateParity(0.2499), decision, 3).solver != "nothing to change"


@pytest.mark.parametrize("ties", ["first", "last"])
@pytest.mark.parametrize("n_groups", [2, 3])
def test_ties_of_the_aggregator_are_kept_in_the_rule(ties: str, n_groups: int) -> None:
    posterior = [[0.5, 0.5], [0.75, 0.25]] * n_groups
    problem = read_posterior(posterior, np.arange(2 * n_groups) // 2, ties=ties)
    found = solve(problem, make_gain("accuracy", 2), RateParity(0.5), "deterministic", 0)
    last = ties == "last"
    assert found.labels.tolist() == [int(last), 0] * n_groups
    weight = (0.0, 1.0) if last else (1.0, 0.0)
    assert found.ties == {(a, (0, 1)): weight for a in range(n_groups)}


def test_ties_of_several_classes() -> None:
    """Each group and set of tied classes once; those within rounding count as tied."""
    third = 1 / 3
    rows = [[0.4, 0.4, 0.2], [0.2, 0.4, 0.4], [third, third, third], [0.4 + 1e-13, 0.4 - 1e-13, 0.2], [0.5, 0.4, 0.1]]
    problem = read_posterior(rows * 2, [0] * 5 + [1] * 5)
    found = solve(problem, make_gain("accuracy", 3), RateParity(0.0), "deterministic", 0)
    wanted = {(a, (0, 1)): (1.0, 0.0) for a in (0, 1)} | {(a, (1, 2)): (1.0, 0.0) for a in (0, 1)}
    assert found.ties == wanted | {(a, (0, 1, 2)): (1.0, 0.0, 0.0) for a in (0, 1)}


@pytest.mark.parametrize("decision", ["deterministic", "randomized"])
@pytest.mark.parametrize("shape", [(2, 2), (2, 3)], ids=str)
@pytest.mark.parametrize("weighted", [False, True])
def test_f1(decision: str, shape: tuple[int, int], weighted: bool) -> None:
    weights = np.arange(10) % 3 + 0.5 if weighted else None
    problem = some(10, *shape, seed=4, sample_weight=weights)
    epsilon = 0.35
    found = solve(problem, make_gain("f1", 2), RateParity(epsilon), decision, 1)
    assert found.solver.startswith("Dinkelbach over ")
    p, w = problem.posterior[:, 1], np.ones(10) if weights is None else weights
    x = found.probabilities[:, 1]
    reached = 2 * (w * p) @ x / (w @ p + w @ x)
    best = max(
        2 * (w * p) @ labels / (w @ p + w @ labels)
        for labels in optima.labellings(10, 2)
        if gap_of(problem, np.eye(2)[labels]) <= epsilon + 1e-12
    )
    assert best <= found.bound + 1e-9
    assert found.bound == pytest.approx(found.dual_bound, abs=1e-9)
    if decision == "randomized":
        assert reached == pytest.approx(found.bound, abs=1e-9)
    elif shape == (2, 2) and not weighted:
        labels = found.labels
        assert 2 * p @ labels / (p.sum() + labels.sum()) == pytest.approx(best, abs=1e-12)
    assert found.gain.name == "f1"


def test_strict() -> None:
    problem = some(7, 3, 2)
    gain = make_gain("accuracy", 3)
    best = optima.best_deterministic(problem.posterior, problem.group, 0.2)
    found = solve(problem, gain, RateParity(0.2), "deterministic", 0, strict=True)
    chances = np.eye(3)[found.labels]
    assert gap_of(problem, chances) <= 0.2 + 1e-9
    assert value_of(problem, chances, problem.posterior) == pytest.approx(best, abs=1e-9)
    assert found.bound == pytest.approx(best, abs=1e-8)
    assert found.dual_bound > found.bound + 1e-3
    assert found.optimal
    assert found.solver.endswith(", then integer program")


def test_strict_is_refused_where_it_takes_too_long(monkeypatch: pytest.MonkeyPatch) -> None:
    gain = make_gain("accuracy", 3)
    problem = some(60, 3, 2)
    plain = module.solve_many
    monkeypatch.setattr(module, "solve_many", lambda *given, **more: plain(*given, max_gathered=30, **more))
    with pytest.raises(OptionError, match="up to 4,194,304 different tasks; leave it out"):
        solve(problem, gain, RateParity(0.05), "deterministic", 0, strict=True)


def test_a_strict_solution_short_of_its_bound_is_not_called_optimal(monkeypatch: pytest.MonkeyPatch) -> None:
    problem, gain = some(7, 3, 2), make_gain("accuracy", 3)
    plain = module.strict_counts
    for far, optimal in ((5e-10, True), (2e-9, False)):

        def short(*given: Any, far: float = far) -> Any:
            kept = plain(*given)
            atoms, mass = given[:2]
            return kept._replace(bound=float((kept.counts * atoms.gains).sum() / mass.sum()) + far)

        monkeypatch.setattr(module, "strict_counts", short)
        assert solve(problem, gain, RateParity(0.2), "deterministic", 0, strict=True).optimal is optimal


def atoms_of(rows: list[list[float]], group: list[int], mass: list[float]) -> Atoms:
    return Atoms(np.array(rows), np.array(mass, dtype=float), np.array(group, dtype=np.int32))


def test_the_weights_of_ties_are_averages_over_the_atoms_of_a_group() -> None:
    rows = [
        [0.4, 0.4 - 5e-12, 0.2],  # tied to within rounding
        [0.45, 0.45, 0.1],
        [0.4, 0.4, 0.2],
        [0.4, 0.4 - 3e-11, 0.2],  # not tied
        [0.2, 0.4, 0.4],
        [0.5, 0.1, 0.4],
    ]
    atoms = atoms_of([*rows, [0.4, 0.4, 0.2]], [0, 0, 1, 1, 1, 0, 2], [1, 3, 2, 2, 2, 2, 0])
    fractions = np.array([[1, 0, 0], [0.5, 0.5, 0], [0.25, 0.75, 0], [0, 0, 1], [0, 0.5, 0.5], [1, 0, 0], [1, 0, 0]])
    mass = np.array([6.0, 6.0, 1.0])
    relaxed = Relaxed(fractions.astype(float), np.zeros((3, 3)), 0.0, 0.0, "given")
    ties = module._tie_weights(atoms, mass, relaxed)
    assert ties == {(0, (0, 1)): (0.625, 0.375), (1, (0, 1)): (0.25, 0.75), (1, (1, 2)): (0.5, 0.5)}
    # At the prices of multipliers other classes are tied.
    moved = Relaxed(relaxed.fractions, np.array([[0, 0, -0.1 * 6 / 13], [0, 0, 0], [0, 0, 0]]), 0.0, 0.0, "given")
    assert module._tie_weights(atoms, mass, moved) == {
        (0, (0, 1)): (0.625, 0.375),
        (0, (0, 2)): (1.0, 0.0),
        (1, (0, 1)): (0.25, 0.75),
        (1, (1, 2)): (0.5, 0.5),
    }


def test_below_one_task_the_better_of_two_roundings_is_taken() -> None:
    """Epsilon or none at all: the one of less excess, then of more gain."""
    chosen = set()
    for seed in range(3):
        problem = some(14, 3, 3, seed=seed)
        atoms, mass = collect(problem, make_gain("accuracy", 3)), problem.sizes.astype(float)
        for epsilon in (0.05, 0.99 / mass.min()):
            relaxed = solve_relaxed(atoms, mass, RateParity(epsilon))
            plain = round_counts(atoms, mass, relaxed, RateParity(epsilon))
            even = round_counts(atoms, mass, solve_relaxed(atoms, mass, RateParity(0.0)), RateParity(0.0))
            found = module._rounded(atoms, mass, relaxed, RateParity(epsilon))
            assert (found == plain).all() or (found == even).all()
            ranks = []
            for counts in (found, plain, even):
                totals = np.zeros((3, 3))
                np.add.at(totals, atoms.group, counts)
                excess = float(np.ptp(totals / mass[:, None], axis=0).max()) - epsilon
                ranks.append((max(excess, 1e-12), -(counts * atoms.gains).sum()))
            assert ranks[0] == min(ranks)
            chosen.add(ranks[1] <= ranks[2])
    assert chosen == {True, False}


@pytest.mark.parametrize("case", ["none", "rest"])
def test_where_no_other_epsilon_can_help_there_is_one_rounding(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    problem = some(14, 3, 3, seed=1)
    atoms, mass = collect(problem, make_gain("accuracy", 3)), problem.sizes.astype(float)
    epsilon = {"none": 0.0, "rest": 0.05}[case]
    relaxed = solve_relaxed(atoms, mass, RateParity(epsilon))
    if case == "rest":
        atoms = atoms._replace(decided=DecidedTasks(np.zeros((3, 3)), 0.0))
    wanted = round_counts(atoms, mass, relaxed, RateParity(epsilon))
    monkeypatch.setattr(module, "solve_relaxed", None)
    np.testing.assert_array_equal(module._rounded(atoms, mass, relaxed, RateParity(epsilon)), wanted)


def test_dinkelbach_ends_where_nothing_is_gained(monkeypatch: pytest.MonkeyPatch) -> None:
    problem, ratios, bounds = some(40, 2, 2, seed=5), [], []
    plain = solving._solve_affine

    def watched(*given: Any) -> Solution:
        ratios.append(-float(given[1].offset[1]))
        bounds.append(plain(*given).bound)
        return plain(*given)

    monkeypatch.setattr(solving, "_solve_affine", watched)
    found = solve(problem, f1_gain(0.0), RateParity(0.05), "deterministic", 0)
    assert ratios[0] == 0.0
    assert ratios == sorted(set(ratios))
    assert 3 <= len(ratios) <= 8
    x, p = found.labels, problem.posterior[:, 1]
    assert ratios[-1] == pytest.approx(2 * p @ x / (p.sum() + x.sum()), abs=1e-12)
    assert found.bound == pytest.approx(bounds[-1] / p.mean(), abs=1e-12)  # nothing gains more than the last bound
    assert found.bound > ratios[-1] + 1e-6
    monkeypatch.setattr(solving, "_MAX_F1_STEPS", 2)
    ratios.clear()
    solve(problem, f1_gain(0.0), RateParity(0.05), "deterministic", 0)
    assert len(ratios) == 2
