"""Groups that the constraint does not speak of: others are labelled as without them, and they without a constraint."""

from typing import Any

import numpy as np
import pytest

from faircrowd import DawidSkene, FairCrowd, FairRule, make_fair, simulate_crowd
from faircrowd.errors import DataWarning, InputError
from faircrowd.fair.make import solve_problem
from faircrowd.fair.tasks.from_votes import settled
from faircrowd.fair.tasks.read_posterior import read_posterior
from faircrowd.fair.what_if import choices

ASKED: dict[str, Any] = {"objective": "accuracy", "decision": "deterministic", "random_state": 0}
KINDS: dict[str, dict[str, Any]] = {
    "deterministic": {},
    "randomized": {"decision": "randomized"},
    "gains": {"objective": "gains"},
    "f1": {"objective": "f1"},
    "strict": {"strict": True},
}


def tasks(n_classes: int, sizes: tuple[int, ...], seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Posteriors of tasks in random order, in groups of these sizes."""
    rng = np.random.default_rng(seed)
    group = rng.permutation(np.repeat(np.arange(len(sizes)), sizes))
    lean = rng.dirichlet(np.ones(n_classes), len(sizes)) * 3 + 0.3
    return np.array([rng.dirichlet(lean[a]) for a in group]), group


def gains_of(kind: dict[str, Any], n_classes: int) -> dict[str, Any]:
    matrix = np.eye(n_classes) + np.arange(n_classes) / 10
    return {**ASKED, **kind, **({"objective": matrix} if kind.get("objective") == "gains" else {})}


@pytest.mark.parametrize("kind", [name for name in KINDS if name != "f1"])
@pytest.mark.parametrize(("n_classes", "sizes"), [(2, (70, 60, 3)), (3, (50, 2, 60, 4)), (2, (40, 30, 20, 1))])
def test_compared_tasks_are_labelled_as_if_the_others_were_not_there(
    kind: str, n_classes: int, sizes: tuple[int, ...]
) -> None:
    posterior, group = tasks(n_classes, sizes)
    asked = {**gains_of(KINDS[kind], n_classes), "epsilon": 0.04}
    result = solve_problem(settled(read_posterior(posterior, group), 10), **asked)
    inside = np.isin(group, [a for a, size in enumerate(sizes) if size >= 10])
    # Row numbers are the ids, by which equal tasks are ordered, so the others keep theirs.
    alone = read_posterior(posterior, group)
    alone = settled(alone, 10).compared()
    expected = solve_problem(alone, **asked)
    labels, value = result.solved.labels, result.certificate.value
    np.testing.assert_array_equal(labels[inside], expected.solved.labels)
    gain = result.solved.gain
    gains = gain.of(posterior)
    np.testing.assert_array_equal(labels[~inside], gains[~inside].argmax(axis=1))
    share = inside.mean()
    of_others = gains[~inside].max(axis=1).sum() / inside.size
    assert value == pytest.approx(share * expected.certificate.value + of_others, abs=1e-12)
    assert result.certificate.bound == pytest.approx(share * expected.certificate.bound + of_others, abs=1e-12)
    assert result.certificate.gap == pytest.approx(expected.certificate.gap, abs=1e-15)
    assert result.certificate.gap_before == pytest.approx(expected.certificate.gap_before, abs=1e-15)
    result.certificate.verify(posterior, group, labels)
    np.testing.assert_allclose(result.rule.prices[[a for a, n in enumerate(sizes) if n < 10]], 0)
    np.testing.assert_array_equal(result.solved.probabilities[~inside].argmax(axis=1), labels[~inside])


@pytest.mark.parametrize("decision", ["deterministic", "randomized"])
def test_f1_is_that_of_all_tasks(decision: str) -> None:
    """Tasks that are left out count in F1, so its last gain, and with it every label, depends on them."""
    posterior, group = tasks(2, (70, 60, 5))
    given = {**ASKED, "objective": "f1", "decision": decision}
    result = solve_problem(settled(read_posterior(posterior, group), 10), epsilon=0.03, **given)
    labels, p = result.solved.labels, posterior[:, 1]
    f1 = 2 * p[labels == 1].sum() / (p.sum() + labels.sum())
    assert result.certificate.value == pytest.approx(f1, abs=1e-12)
    if decision == "deterministic":
        result.certificate.verify(posterior, group, labels)
        assert result.certificate.bound >= f1 - 1e-12
    ratio = -result.solved.gain.offset[1]
    np.testing.assert_array_equal(labels[group == 2], (2 * p > ratio)[group == 2])


@pytest.mark.parametrize(("n_classes", "sizes"), [(2, (70, 60, 3)), (3, (50, 2, 60))])
def test_the_frontier_is_that_of_the_compared_groups_plus_a_constant(n_classes: int, sizes: tuple[int, ...]) -> None:
    posterior, group = tasks(n_classes, sizes)
    problem = settled(read_posterior(posterior, group), 10)
    result = solve_problem(problem, epsilon=0.05, **ASKED)
    whole, alone = result.frontier, solve_problem(problem.compared(), epsilon=0.05, **ASKED).frontier
    assert whole.exact == alone.exact == (n_classes == 2)
    inside = ~np.isin(group, list(problem.left_out))
    rest = posterior[~inside].max(axis=1).sum()
    for epsilon in (0.0, 0.03, 0.1, 1.0):
        one, other = whole.at(epsilon), alone.at(epsilon)
        assert one.value == pytest.approx((inside.sum() * other.value + rest) / inside.size, abs=1e-9)
        assert one.believed_accuracy == pytest.approx(one.value, abs=1e-12)
        assert one.changed == pytest.approx(other.changed, abs=1e-7)
        assert one.gap == pytest.approx(other.gap)
    truth = np.random.default_rng(1).integers(-1, n_classes, inside.size).astype(np.int32)
    found = result.frontier_against(truth)
    own = posterior.argmax(axis=1)
    known = truth >= 0
    assert found.real_accuracy is not None
    assert found.real_accuracy[0] == pytest.approx((own == truth)[known].mean(), abs=1e-9)
    only_others = np.where(inside, -1, own).astype(np.int32)
    np.testing.assert_allclose(result.frontier_against(only_others).real_accuracy, 1.0)


def test_what_another_epsilon_gives() -> None:
    posterior, group = tasks(2, (70, 60, 3))
    problem = settled(read_posterior(posterior, group), 10)
    epsilons = [0.02, 0.1]
    found = choices(solve_problem(problem, epsilon=1.0, **ASKED), epsilons)
    for choice in found:
        certificate = solve_problem(problem, epsilon=choice.epsilon, **ASKED).certificate
        assert choice.gap == pytest.approx(certificate.gap)
        assert choice.believed_accuracy == pytest.approx(certificate.believed_accuracy, abs=1e-12)
        assert choice.changed == certificate.changed
        np.testing.assert_allclose(choice.rates, [list(row.values()) for row in certificate.rates.values()])


def test_one_task_of_a_third_group_moves_no_other_label() -> None:
    """The defect: a group of one task made a gap of about .5, and hundreds of labels were moved for it."""
    crowd = simulate_crowd(1000, 100, random_state=0)
    groups = crowd.sensitive_features.astype(object)
    groups[7] = "alone"
    with pytest.warns(DataWarning, match="1 task of group 'alone' left out of the gap: fewer than 10 tasks"):
        fair = FairCrowd(DawidSkene(), epsilon=0.05, strict=True).fit(crowd.votes, sensitive_features=groups)
    c = fair.certificate_
    assert c.gap <= 0.05
    assert c.left_out == {"alone": "fewer than 10 tasks"}
    assert c.changed < 100
    assert c.rates["alone"][str(fair.labels_[7])] == 1.0
    assert fair.labels_[7] == fair.estimator_.labels_[7]
    with pytest.warns(DataWarning):
        spoilt = FairCrowd(DawidSkene(), epsilon=0.05, strict=True, min_group=1).fit(
            crowd.votes, sensitive_features=groups
        )
    assert spoilt.certificate_.changed > 2 * c.changed


def test_merged_groups() -> None:
    posterior, group = tasks(2, (70, 60, 4, 5, 3))
    names = np.array(["a", "b", "c", "d", "e"])[group]
    with pytest.warns(DataWarning, match="3 small groups merged into 'other': 'c', 'd', 'e'"):
        result = make_fair(posterior, names, epsilon=0.05, min_group=10, small_groups="merge")
    as_one = np.where(np.isin(names, list("cde")), "other", names)
    expected = make_fair(posterior, as_one, epsilon=0.05)
    np.testing.assert_array_equal(result.labels, expected.labels)
    assert result.certificate.rates == expected.certificate.rates
    assert result.certificate.merged_groups == ["c", "d", "e"]
    for groups in (names, as_one):
        result.certificate.verify(posterior, groups, result.labels)
    with pytest.raises(InputError, match="speaks of the groups 'a', 'b', 'other', and not of 'f'"):
        result.certificate.verify(posterior, np.where(names == "c", "f", names), result.labels)
    # The rule knows which groups were merged, also after it was written and read.
    rule = FairRule.from_json(result.rule.to_json())
    np.testing.assert_array_equal(rule.predict(posterior, names), expected.rule.predict(posterior, as_one))
    with pytest.raises(InputError, match="groups that the rule does not know: 'f'"):
        rule.predict(posterior[:2], ["c", "f"])


def test_a_rule_with_groups_that_are_left_out_is_read_back_and_checked() -> None:
    posterior, group = tasks(2, (70, 60, 3))
    with pytest.warns(DataWarning, match="left out"):
        rule = make_fair(posterior, group, epsilon=0.05, min_group=10).rule
    again = FairRule.from_json(rule.to_json())
    assert again.left_out == rule.left_out == (2,)
    assert "group 2, left out of the gap: the label that gains the most" in str(again)
    np.testing.assert_array_equal(again.predict(posterior, group), rule.predict(posterior, group))
    np.testing.assert_array_equal(again.predict(posterior, group)[group == 2], posterior[group == 2].argmax(axis=1))
    for bad in ("[1]", "[7]", '["2"]', "[-1]"):  # group 1 has prices
        with pytest.raises(InputError, match="do not fit its classes and groups"):
            FairRule.from_json(rule.to_json().replace('"left_out": [2]', f'"left_out": {bad}'))


def test_a_rule_without_such_groups_is_written_as_before() -> None:
    posterior, group = tasks(2, (70, 60))
    text = make_fair(posterior, group, epsilon=0.05).rule.to_json()
    assert "left_out" not in text
    assert "merged" not in text


def test_tasks_without_a_group() -> None:
    posterior, group = tasks(2, (70, 60))
    names = group.astype(object)
    names[:3] = None
    with pytest.raises(InputError, match="3 of 130 tasks have no group"):
        make_fair(posterior, names, epsilon=0.05)
    with pytest.warns(DataWarning, match="3 tasks of group 'missing' left out of the gap: no group is known"):
        dropped = make_fair(posterior, names, epsilon=0.05, on_missing_group="drop")
    np.testing.assert_array_equal(dropped.labels[:3], posterior[:3].argmax(axis=1))
    dropped.certificate.verify(posterior, names, dropped.labels)
    with pytest.warns(DataWarning, match="1 of 3 groups have fewer than 10 tasks"):
        own = make_fair(posterior, names, epsilon=0.05, on_missing_group="own")
    assert not own.certificate.left_out
    assert set(own.certificate.rates) == {"0", "1", "missing"}


def test_too_few_groups_remain() -> None:
    posterior, group = tasks(2, (70, 6, 3))
    with pytest.raises(InputError, match=r"1 of 3 are left to compare; left out are 1 \(6: fewer than 10 tasks\), 2"):
        make_fair(posterior, group, epsilon=0.05, min_group=10)
    with pytest.raises(InputError, match=r"2 of 3 groups have fewer than 10 tasks: 1 \(6\), 2 \(3\); lower min_group"):
        make_fair(posterior, group, epsilon=0.05, min_group=10, small_groups="error")


def test_tiny_groups_give_a_warning_where_every_group_is_compared() -> None:
    posterior, group = tasks(2, (70, 60, 2))
    with pytest.warns(
        DataWarning, match="one task can change their rates by 50 points: 2; min_group=10 leaves them out"
    ):
        make_fair(posterior, group, epsilon=0.2)


def test_a_promise_is_about_the_compared_groups() -> None:
    posterior, group = tasks(2, (4000, 3500, 3))
    problem = settled(read_posterior(posterior, group), 10)
    with_third = solve_problem(problem, epsilon=0.2, confidence=0.9, **ASKED)
    without = solve_problem(problem.compared(), epsilon=0.2, confidence=0.9, **ASKED)
    assert with_third.promise is not None
    assert with_third.promise.enough
    assert without.promise is not None
    assert with_third.promise.tightened == without.promise.tightened
    np.testing.assert_array_equal(with_third.rule.prices[:2], without.rule.prices)
    assert not with_third.rule.prices[2].any()
    assert with_third.rule.left_out == (2,)
    assert with_third.rule.ties == without.rule.ties
