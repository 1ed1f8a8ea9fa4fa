"""Properties of the fair rule: value = bound, the frontier, and what must not matter."""

from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from fair import optima
from faircrowd import make_fair
from faircrowd.fair.objective import make_gain
from faircrowd.fair.program.solve import solve_program
from faircrowd.fair.rate_constraint import RateParity
from faircrowd.fair.rule_forms.rule_words import threshold_text
from faircrowd.fair.tasks.read_posterior import read_posterior
from faircrowd.fair.thresholds.solve import solve_thresholds
from faircrowd.fair.whole_tasks.allowance import TO_THE_LETTER
from strategies import examples

pytestmark = pytest.mark.filterwarnings("ignore:strict=True keeps epsilon")

EPSILONS = (0.0, 0.01, 0.05, 0.1, 0.25, 1 / 3, 0.5)
SEEDS = st.integers(0, 2**32 - 1)


class Case(NamedTuple):
    """Posteriors whose distribution differs by group, so that epsilon mostly binds."""

    posterior: np.ndarray
    group: np.ndarray
    epsilon: float
    weights: np.ndarray | None

    @property
    def mass(self) -> np.ndarray:
        return np.ones(len(self.group)) if self.weights is None else self.weights

    @property
    def is_binary(self) -> bool:
        """Two classes, two groups."""
        return bool(self.posterior.shape[1] == np.unique(self.group).size == 2)

    def solve(self, decision: str = "randomized", **settings: Any) -> Any:
        given = {"epsilon": self.epsilon, "sample_weight": self.weights, "decision": decision, **settings}
        return make_fair(self.posterior, self.group, **given)

    def worth(self, chances: np.ndarray, gains: np.ndarray | None = None) -> float:
        gains = self.posterior if gains is None else self.posterior @ gains
        return float(np.average((gains * chances).sum(axis=1), weights=self.mass))

    def gap(self, chances: np.ndarray) -> float:
        rates = [
            np.average(chances[self.group == a], axis=0, weights=self.mass[self.group == a])
            for a in np.unique(self.group)
        ]
        return float(np.ptp(rates, axis=0).max())


@st.composite
def cases(
    draw: st.DrawFn,
    classes: tuple[int, int] = (2, 4),
    groups: tuple[int, int] = (2, 4),
    max_tasks: int = 14,
    tied: bool | None = None,
    weighted: bool | None = None,
) -> Case:
    n_classes, n_groups = draw(st.integers(*classes)), draw(st.integers(*groups))
    n_tasks = draw(st.integers(n_groups, max_tasks))
    rng = np.random.default_rng(draw(SEEDS))
    group = rng.permutation(np.concatenate([np.arange(n_groups), rng.integers(0, n_groups, n_tasks - n_groups)]))
    distribution = rng.dirichlet(np.full(n_classes, 0.7), n_groups)
    if draw(st.booleans()) if tied is None else tied:
        votes = draw(st.sampled_from([1, 3, 5, 10]))
        posterior = np.stack([rng.multinomial(votes, distribution[a]) for a in group]) / votes
    else:
        posterior = np.stack([rng.dirichlet(5 * distribution[a] + 1) for a in group])
    heavy = draw(st.booleans()) if weighted is None else weighted
    weights = rng.uniform(0.2, 5.0, n_tasks) if heavy else None
    return Case(posterior, group, draw(st.sampled_from(EPSILONS)), weights)


BINARY: dict[str, Any] = {"classes": (2, 2), "groups": (2, 2)}


# Duality.


@given(cases())
@settings(max_examples=examples(100))
def test_value_is_bound(case: Case) -> None:
    fair = case.solve()
    assert case.gap(fair.probabilities) <= case.epsilon + 1e-9
    assert case.worth(fair.probabilities) == pytest.approx(fair.certificate.bound, abs=1e-9)
    assert fair.certificate.dual_bound == fair.certificate.bound
    fair.certificate.verify(case.posterior, case.group, fair.labels, sample_weight=case.weights)


@given(cases(), SEEDS)
@settings(max_examples=examples(60))
def test_value_is_bound_for_any_gains(case: Case, seed: int) -> None:
    n_classes = case.posterior.shape[1]
    gains = np.random.default_rng(seed).normal(size=(n_classes, n_classes)) - 3.0
    fair = case.solve(objective=gains)
    assert case.gap(fair.probabilities) <= case.epsilon + 1e-9
    assert case.worth(fair.probabilities, gains) == pytest.approx(fair.certificate.bound, abs=1e-9)
    fair.certificate.verify(case.posterior, case.group, fair.labels, sample_weight=case.weights)


@given(cases(max_tasks=8, weighted=True))
@settings(max_examples=examples(40))
def test_bound_is_the_optimum_where_tasks_weigh_differently(case: Case) -> None:
    optimum = optima.best_randomized(case.posterior, case.group, case.epsilon, case.weights)
    assert case.solve().certificate.bound == pytest.approx(optimum, abs=1e-8)


@given(cases(classes=(2, 2)))
@settings(max_examples=examples(60))
def test_value_is_bound_for_f1(case: Case) -> None:
    p = case.posterior[:, 1]
    assume(p.sum() > 0)
    fair = case.solve(objective="f1")
    x = fair.probabilities[:, 1]
    reached = 2 * (case.mass * p) @ x / (case.mass @ p + case.mass @ x)
    assert case.gap(fair.probabilities) <= case.epsilon + 1e-9
    assert reached == pytest.approx(fair.certificate.bound, abs=1e-9)


# Group 1 falls at the price 3/4 * 1/3, group 0 rises at 1/4 * 1: the same, but for the last bit.
ALIKE = np.array([1.0, 2 / 3, 1 / 3, 0.0])


@given(cases() | cases(**BINARY, tied=True))
@example(Case(np.stack([1 - ALIKE, ALIKE], axis=1), np.array([1, 1, 1, 0]), 0.0, None))
@settings(max_examples=examples(150))
def test_the_rule_on_its_own_tasks_keeps_epsilon_and_reaches_the_bound(case: Case) -> None:
    """Theorem recipe_multi: scores and tie weights alone are a solution."""
    fair = case.solve()
    chances = fair.rule.predict_proba(case.posterior, case.group)
    assert case.gap(chances) <= case.epsilon + 1e-9
    assert case.worth(chances) == pytest.approx(fair.certificate.bound, abs=1e-9)


@given(cases(classes=(2, 2), groups=(2, 3), max_tasks=8, weighted=False))
@settings(max_examples=examples(40))
def test_strict_f1_is_the_best_of_all_labels(case: Case) -> None:
    assume(case.posterior[:, 1].sum() > 0)
    fair = case.solve("deterministic", objective="f1", strict=True)
    best = optima.best_deterministic_f1(case.posterior[:, 1], case.group, case.epsilon)
    assert fair.certificate.gap <= case.epsilon + 1e-12
    assert fair.certificate.value == pytest.approx(best, abs=1e-9)
    fair.certificate.verify(case.posterior, case.group, fair.labels)


@given(cases(weighted=False), st.booleans())
@settings(max_examples=examples(60))
def test_no_labels_beat_the_bound(case: Case, strict: bool) -> None:
    fair = case.solve("deterministic", strict=strict)
    chances = np.eye(case.posterior.shape[1])[fair.labels]
    assert fair.certificate.gap == pytest.approx(case.gap(chances), abs=1e-12)
    assert fair.certificate.value == pytest.approx(case.worth(chances), abs=1e-12)
    assert fair.certificate.gap < case.epsilon + 2 / np.bincount(case.group).min()
    if fair.certificate.gap <= case.epsilon + 1e-12:
        assert fair.certificate.value <= fair.certificate.bound + 1e-12
    if strict or case.is_binary:
        assert fair.certificate.gap <= case.epsilon + 1e-12
    fair.certificate.verify(case.posterior, case.group, fair.labels)


# The frontier.


@given(cases(**BINARY, max_tasks=30), st.lists(st.floats(0, 1), min_size=3, max_size=6))
@settings(max_examples=examples(80))
def test_the_exact_frontier_is_a_falling_concave_line_of_solutions(case: Case, epsilons: list[float]) -> None:
    frontier = case.solve().frontier
    gap, value = frontier.gap, frontier.value
    assert frontier.exact
    assert gap[-1] == pytest.approx(0.0, abs=1e-15)
    assert (np.diff(gap) < 0).all()
    assert (np.diff(value) <= 1e-15).all()
    assert (np.diff(frontier.changed) > 0).all()
    # Concave: the price of a unit of gap rises as the gap falls.
    prices = np.diff(value) / np.diff(gap)
    wide = np.abs(np.diff(gap)) > 1e-9  # the quotient of two roundings says nothing
    assert (np.diff(prices[wide]) >= -1e-6).all()
    middles = (gap[:-1] + gap[1:]) / 2
    for epsilon in [*epsilons, *gap.tolist()[:8], *middles.tolist()[-8:]]:
        point = frontier.at(epsilon)
        assert point.gap <= epsilon
        assert point.value == pytest.approx(case.solve(epsilon=epsilon).certificate.bound, abs=1e-12)


@given(cases(**BINARY, weighted=False))
@settings(max_examples=examples(40))
def test_the_frontier_counts_the_labels_that_change(case: Case) -> None:
    own = np.eye(2)[case.posterior.argmax(axis=1)]
    frontier = case.solve().frontier
    for epsilon in (0.0, 0.1, 0.3):
        moved = np.abs(case.solve(epsilon=epsilon).probabilities - own).sum() / 2
        assert frontier.at(epsilon).changed == pytest.approx(moved, abs=1e-9)


@given(cases(classes=(2, 3), groups=(2, 3)))
@settings(max_examples=examples(15))
def test_points_of_any_frontier_are_certified_solutions(case: Case) -> None:
    frontier = case.solve().frontier
    assert frontier.optimality_gap <= 1e-9
    assert (np.diff(frontier.value) <= 1e-9).all()
    for epsilon in frontier.gap[:: max(frontier.gap.size // 5, 1)]:
        alone = case.solve(epsilon=float(epsilon)).certificate
        assert frontier.at(float(epsilon)).value == pytest.approx(alone.bound, abs=1e-9)
    for epsilon in (0.03, 0.17):  # between points it promises no more than there is
        assert frontier.at(epsilon).value <= case.solve(epsilon=epsilon).certificate.bound + 1e-9


@given(cases(classes=(2, 2), groups=(2, 3)))
@settings(max_examples=examples(10))
def test_points_of_the_f1_frontier_are_solutions(case: Case) -> None:
    assume(case.posterior[:, 1].sum() > 0)
    frontier = case.solve(objective="f1").frontier
    assert frontier.optimality_gap <= 1e-9
    assert (np.diff(frontier.value) <= 1e-9).all()
    for epsilon in frontier.gap[::7]:
        alone = case.solve(epsilon=float(epsilon), objective="f1").certificate
        assert frontier.at(float(epsilon)).value == pytest.approx(alone.bound, abs=1e-9)


@given(cases(), st.tuples(st.floats(0, 1), st.floats(0, 1)).map(sorted))
@settings(max_examples=examples(40))
def test_a_larger_epsilon_costs_nothing(case: Case, epsilons: list[float]) -> None:
    less, more = (case.solve(epsilon=epsilon).certificate.bound for epsilon in epsilons)
    assert less <= more + 1e-9


@given(cases(max_tasks=9, weighted=False), st.tuples(st.floats(0, 1), st.floats(0, 1)).map(sorted))
@settings(max_examples=examples(25))
def test_a_larger_epsilon_costs_nothing_if_deterministic(case: Case, epsilons: list[float]) -> None:
    less, more = (case.solve("deterministic", epsilon=e, strict=True).certificate.value for e in epsilons)
    assert less <= more + 1e-9


# What must not matter.


def framed(case: Case, order: np.ndarray | None = None) -> tuple[pd.DataFrame, pd.Series]:
    ids = pd.Index([f"task {i}" for i in range(len(case.group))], name="task")
    frame = pd.DataFrame(case.posterior, index=ids)
    return (frame if order is None else frame.iloc[order]), pd.Series(case.group, index=ids)


@given(cases(max_tasks=20), SEEDS, st.sampled_from(["deterministic", "randomized", "strict"]))
@settings(max_examples=examples(50))
def test_order_of_rows(case: Case, seed: int, decision: str) -> None:
    assume(decision != "strict" or case.weights is None)
    order = np.random.default_rng(seed).permutation(len(case.group))
    options = {"strict": True} if decision == "strict" else {"decision": decision}
    here, there = (
        make_fair(*framed(case, rows), epsilon=case.epsilon, sample_weight=weights, **options)
        for rows, weights in ((None, case.weights), (order, None if case.weights is None else case.weights[order]))
    )
    assert there.labels.reindex(here.labels.index).to_dict() == here.labels.to_dict()
    assert there.certificate.bound == pytest.approx(here.certificate.bound, abs=1e-12)
    np.testing.assert_allclose(there.probabilities.loc[here.probabilities.index], here.probabilities, atol=1e-9)


def renamed(case: Case, class_order: np.ndarray, group_order: np.ndarray, decision: str) -> tuple[Any, np.ndarray]:
    """Solve with classes and groups renamed, their order changed; labels come back by their old numbers."""
    names = np.array([f"class {chr(97 + k)}" for k in class_order])
    frame = pd.DataFrame(case.posterior, columns=names).rename_axis("task")[sorted(names)]
    parties = np.array([f"group {chr(97 + a)}" for a in group_order])[case.group]
    fair = make_fair(
        frame, parties, epsilon=case.epsilon, sample_weight=case.weights, decision=decision, strict=case.weights is None
    )
    return fair, fair.labels.map({name: k for k, name in enumerate(names)}).to_numpy()


@given(cases(), SEEDS)
@settings(max_examples=examples(40))
def test_names_of_classes_and_groups(case: Case, seed: int) -> None:
    rng = np.random.default_rng(seed)
    orders = rng.permutation(case.posterior.shape[1]), rng.permutation(np.unique(case.group).size)
    plain = case.solve()
    other, labels = renamed(case, *orders, "randomized")
    assert other.certificate.bound == pytest.approx(plain.certificate.bound, abs=1e-9)
    assert case.gap(np.eye(orders[0].size)[labels]) == pytest.approx(other.certificate.gap, abs=1e-12)
    if case.weights is None:
        kept = case.solve("deterministic", strict=True)
        other, _ = renamed(case, *orders, "deterministic")
        assert other.certificate.value == pytest.approx(kept.certificate.value, abs=1e-9)


@given(cases(tied=False), SEEDS)
@settings(max_examples=examples(60))
def test_names_leave_labels_alone_where_nothing_is_tied(case: Case, seed: int) -> None:
    rng = np.random.default_rng(seed)
    orders = rng.permutation(case.posterior.shape[1]), rng.permutation(np.unique(case.group).size)
    other, _ = renamed(case, *orders, "randomized")
    chances = other.probabilities.to_numpy()[:, orders[0]]  # column j of the sorted names is class j of the order
    np.testing.assert_allclose(chances, case.solve().probabilities, atol=1e-7)


@given(cases(**BINARY))
@settings(max_examples=examples(60))
def test_swapping_the_groups(case: Case) -> None:
    swapped = case._replace(group=1 - case.group)
    here, there = case.solve(), swapped.solve()
    assert there.certificate.bound == pytest.approx(here.certificate.bound, abs=1e-12)
    np.testing.assert_allclose(there.rule.thresholds, here.rule.thresholds[::-1], atol=1e-12)
    here, there = case.solve("deterministic"), swapped.solve("deterministic")
    if case.weights is None:
        assert there.certificate.value == pytest.approx(here.certificate.value, abs=1e-12)
        assert there.certificate.changed == here.certificate.changed


@pytest.mark.filterwarnings("ignore:.*fewer than 10 tasks:faircrowd.errors.DataWarning")  # repeats make others large
@given(cases(weighted=False), SEEDS)
@settings(max_examples=examples(60))
def test_merging_equal_tasks_into_heavier_ones(case: Case, seed: int) -> None:
    times = np.random.default_rng(seed).integers(1, 6, len(case.group))
    merged = case._replace(weights=times.astype(float))
    spread = case._replace(posterior=np.repeat(case.posterior, times, axis=0), group=np.repeat(case.group, times))
    one, many = merged.solve(), spread.solve()
    assert one.certificate.bound == pytest.approx(many.certificate.bound, abs=1e-9)
    assert merged.worth(one.probabilities) == pytest.approx(spread.worth(many.probabilities), abs=1e-9)
    if case.is_binary:
        for epsilon in EPSILONS:
            assert one.frontier.at(epsilon).value == pytest.approx(many.frontier.at(epsilon).value, abs=1e-12)


@given(cases(max_tasks=10), st.integers(2, 4))
@settings(max_examples=examples(40))
def test_copies_of_every_task(case: Case, times: int) -> None:
    copies = Case(
        np.tile(case.posterior, (times, 1)),
        np.tile(case.group, times),
        case.epsilon,
        None if case.weights is None else np.tile(case.weights, times),
    )
    assert copies.solve().certificate.bound == pytest.approx(case.solve().certificate.bound, abs=1e-9)
    if case.weights is None:  # the labels of one copy serve all, and more may be had
        one, many = (each.solve("deterministic", strict=True).certificate for each in (case, copies))
        assert many.value >= one.value - 1e-9


@given(cases(), st.sampled_from(["first", "last"]), st.sampled_from(["deterministic", "randomized"]))
@settings(max_examples=examples(60))
def test_epsilon_one_changes_nothing(case: Case, ties: str, decision: str) -> None:
    fair = case.solve(decision, epsilon=1.0, ties=ties)
    best = case.posterior == case.posterior.max(axis=1, keepdims=True)
    own = best.argmax(axis=1) if ties == "first" else best.shape[1] - 1 - best[:, ::-1].argmax(axis=1)
    np.testing.assert_array_equal(fair.labels, own)
    assert fair.certificate.changed == 0
    assert fair.certificate.optimality_gap == pytest.approx(0.0, abs=1e-12)
    assert not np.any(fair.certificate.multipliers)


@given(cases(tied=True), st.sampled_from(["first", "last"]))
@settings(max_examples=examples(60))
def test_a_rule_with_nothing_to_change_repeats_the_labels(case: Case, ties: str) -> None:
    fair = case.solve(epsilon=1.0, ties=ties)
    np.testing.assert_array_equal(fair.rule.predict(case.posterior, case.group), fair.labels)


@given(cases())
@settings(max_examples=examples(60))
def test_epsilon_zero_leaves_no_gap(case: Case) -> None:
    fair = case.solve(epsilon=0.0)
    assert case.gap(fair.probabilities) <= 1e-9
    if case.weights is None:
        assert case.solve("deterministic", epsilon=0.0, strict=True).certificate.gap <= 1e-12


@given(cases(), st.floats(-5, 5), st.floats(0.1, 10))
@settings(max_examples=examples(40))
def test_costs_of_errors_are_accuracy_by_another_scale(case: Case, shift: float, scale: float) -> None:
    plain = case.solve()
    moved = case.solve(objective=scale * np.eye(case.posterior.shape[1]) + shift)
    expected = scale * plain.certificate.bound + shift
    assert moved.certificate.bound == pytest.approx(expected, abs=1e-8)


# Two roads to one answer.


@given(cases(**BINARY, max_tasks=20))
@settings(max_examples=examples(60))
def test_two_classes_by_the_general_path(case: Case) -> None:
    problem = read_posterior(case.posterior, case.group, sample_weight=case.weights)
    gain = make_gain("accuracy", 2)
    special = solve_thresholds(problem, gain, case.epsilon, (), 0)
    general = solve_program(problem, gain, RateParity(case.epsilon), (), 0, strict=False)
    assert general.bound == pytest.approx(special.bound, abs=1e-9)
    assert case.worth(general.probabilities) == pytest.approx(case.worth(special.probabilities), abs=1e-9)
    if case.weights is None:
        exact = solve_thresholds(problem, gain, case.epsilon, TO_THE_LETTER, 0)
        strict = solve_program(problem, gain, RateParity(case.epsilon), TO_THE_LETTER, 0, strict=True)
        values = [case.worth(np.eye(2)[solved.labels]) for solved in (exact, strict)]
        assert values[0] == pytest.approx(values[1], abs=1e-9)


@pytest.mark.parametrize("epsilon", [0.0, 0.05, 0.2])
def test_many_tasks_of_two_classes_by_the_general_path(epsilon: float) -> None:
    """More tasks than the linear program takes whole: one sort leads to the same optimum."""
    rng = np.random.default_rng(5)
    group = rng.integers(0, 2, 8000)
    p = rng.beta(1 + group, 2 - group)
    problem = read_posterior(np.stack([1 - p, p], axis=1), group)
    gain = make_gain("accuracy", 2)
    special = solve_thresholds(problem, gain, epsilon, (), 0)
    general = solve_program(problem, gain, RateParity(epsilon), (), 0, strict=False)
    assert general.solver == "one sort of 8,000 atoms"
    assert general.bound == pytest.approx(special.bound, abs=1e-9)
    prices = [solved.multipliers[:, 1] - solved.multipliers[:, 0] for solved in (special, general)]
    np.testing.assert_allclose(prices[0], prices[1], atol=1e-3)  # they are free between two tasks


# The paper's theorem for two classes and two groups.


def dual_of_the_paper(case: Case, beta: float) -> float:
    """M(beta), as printed."""
    total = case.epsilon * abs(beta)
    for a, sign in ((0, -1.0), (1, 1.0)):
        members = case.group == a
        share = case.mass[members].sum() / case.mass.sum()
        scores = share * case.posterior[members] - sign * beta / 2 * np.array([-1.0, 1.0])
        total += float(np.average(scores.max(axis=1), weights=case.mass[members]))
    return total


@given(cases(**BINARY, max_tasks=30))
@settings(max_examples=examples(100))
def test_the_papers_threshold_and_dual(case: Case) -> None:
    fair = case.solve()
    multipliers = np.array(fair.certificate.multipliers)
    beta = 2 * multipliers[1, 1]
    np.testing.assert_allclose(multipliers, beta / 2 * np.array([[1.0, -1.0], [-1.0, 1.0]]), atol=1e-15)
    assert dual_of_the_paper(case, beta) == pytest.approx(fair.certificate.bound, abs=1e-12)
    for other in (*np.linspace(-1, 1, 41), beta - 1e-3, beta + 1e-3):
        assert dual_of_the_paper(case, other) >= fair.certificate.bound - 1e-12
    signed = np.diff(
        [np.average(fair.probabilities[case.group == a, 1], weights=case.mass[case.group == a]) for a in (0, 1)]
    )[0]
    if beta:  # the gap is then epsilon itself, on the side of beta
        assert signed == pytest.approx(np.sign(beta) * case.epsilon, abs=1e-9)
    for a, sign in ((0, -1.0), (1, 1.0)):
        members = case.group == a
        share = case.mass[members].sum() / case.mass.sum()
        threshold = (share + sign * beta) / (2 * share)
        assert fair.rule.thresholds[a] == pytest.approx(threshold, abs=1e-12)
        assert (
            f"group {a} needs a posterior above {threshold_text(fair.rule.thresholds[a])}"
            in fair.certificate.thresholds
        )
        p, x = case.posterior[members, 1], fair.probabilities[members, 1]
        assert (x[p > threshold + 1e-13] == 1).all()
        assert (x[p < threshold - 1e-13] == 0).all()
        for level in np.unique(p):
            assert np.ptp(x[p == level]) <= 1e-12  # the tied have one chance, omega
