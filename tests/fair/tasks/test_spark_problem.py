"""The fair problem of tasks in Spark, its kernels run here over blocks: as in memory. No Java is needed."""

from dataclasses import FrozenInstanceError
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from faircrowd import MajorityVote, make_fair, read_votes, simulate_crowd
from faircrowd.aggregate.kernels.class_count import classes_token
from faircrowd.aggregate.kernels.vote_counts import sum_weights
from faircrowd.aggregate.posterior import SparkPosterior
from faircrowd.engines.local import Block
from faircrowd.engines.spark.blocks import Named
from faircrowd.errors import InputError, OptionError
from faircrowd.fair.make import solve_problem
from faircrowd.fair.objective import make_gain
from faircrowd.fair.tasks.from_votes import from_posterior
from faircrowd.fair.tasks.population import Tasks
from faircrowd.fair.tasks.spark_problem import SparkProblem, _facts, _run, _Scoring, _tasks, apply_rule

CROWD = simulate_crowd(50, 6, random_state=3)
VOTES = CROWD.votes[np.arange(len(CROWD.votes)) % 7 > 0]  # so that some tasks are tied
TABLE = read_votes(VOTES, sensitive_features=CROWD.sensitive_features)
PLAIN = from_posterior(MajorityVote().fit(TABLE).posterior_, TABLE)
WEIGHTS = np.ones(TABLE.n_workers)
CUT = 20


def part(first: int, last: int) -> Block:
    """Return some tasks of the crowd as a block; it numbers its tasks from 0, as those of Spark do."""
    a, b = TABLE.offsets[first], TABLE.offsets[last]
    nothing = np.empty(0, dtype=np.int32)
    assert TABLE.group is not None
    votes = TABLE.worker[a:b], TABLE.label[a:b]
    return Block(0, TABLE.offsets[first : last + 1] - a, *votes, TABLE.group[first:last], nothing)


class Here:
    """An engine that runs what executors run, over two blocks."""

    def run(self, kernel: Any, parameters: Any, ids: bool) -> list[Any]:
        assert ids
        edges = ((0, CUT), (CUT, TABLE.n_tasks))
        return [kernel(part(a, b), TABLE.tasks.take(np.arange(a, b)), *parameters) for a, b in edges]

    def reduce(self, kernel: Any, *parameters: Any, ids: bool = False) -> list[Any]:
        return [a + b for a, b in zip(*self.run(kernel, parameters, ids), strict=True)]

    def gather(self, kernel: Any, *parameters: Any, ids: bool = False) -> list[Any]:
        return [np.concatenate(pair) for pair in zip(*self.run(kernel, parameters, ids), strict=True)]

    def emit(self, kernel: Any, *parameters: Any, ids: bool = False) -> Any:
        return np.concatenate(self.run(kernel, parameters, ids))


def problem_of(*, is_log: bool = False, n_classes: int = 2, groups: Any = TABLE.groups) -> SparkProblem:
    classes = TABLE.classes if n_classes == 2 else type(TABLE.classes).of(list(range(n_classes)))
    sizes = np.bincount(PLAIN.group)
    votes = SimpleNamespace(groups=groups, tasks_per_group=sizes, left_out={}, merged_groups=())
    steps = ((sum_weights, (classes_token(n_classes), WEIGHTS)),)
    scores = SimpleNamespace(votes=votes, steps=steps, view=SimpleNamespace(by_group=False, with_gold=False))
    problem = SparkProblem(SparkPosterior(classes, scores, is_log, "first"))
    problem.__dict__["_engine"] = Here()
    return problem


def test_what_a_problem_says_of_itself() -> None:
    problem = problem_of()
    assert (problem.n_groups, problem.n_classes, problem.ties) == (2, 2, "first")
    assert problem.sizes.tolist() == PLAIN.sizes.tolist()
    assert problem.weights is None
    assert problem.sorts is False
    assert problem.groups is TABLE.groups
    with pytest.raises(FrozenInstanceError):
        problem.weights = None  # type: ignore[misc]
    assert SparkProblem(problem.posterior) != problem
    assert problem_of(groups=None).groups.to_list() == ["all"]
    odds = [(problem_of(is_log=is_log, n_classes=n).has_odds, is_log, n) for is_log in (False, True) for n in (2, 3)]
    assert odds == [(False, False, 2), (False, False, 3), (True, True, 2), (False, True, 3)]


def sums(tasks: Tasks, plus: int) -> tuple[Any, ...]:
    return np.array([tasks.evidence.sum() + plus]), np.bincount(tasks.group, minlength=2)


def rows(tasks: Tasks) -> tuple[Any, ...]:
    return tasks.own, tasks.evidence


def other(tasks: Tasks, shift: int) -> Any:
    return ((tasks.own + shift) % 2).astype(np.int32)


def doubled(scores: Any, factor: float) -> Any:
    return factor * scores


def test_verbs_are_those_of_memory() -> None:
    problem = problem_of()
    total, groups = problem.reduce(sums, 5)
    assert total.tolist() == [TABLE.n_votes + 10]
    assert groups.tolist() == PLAIN.sizes.tolist()
    own, evidence = problem.gather(rows)
    np.testing.assert_array_equal(own, PLAIN.own)
    np.testing.assert_array_equal(evidence, PLAIN.evidence)
    np.testing.assert_array_equal(problem.emit(other, 1).rows, 1 - PLAIN.own)
    np.testing.assert_array_equal(problem.own_labels().rows, PLAIN.own)


@pytest.mark.parametrize("objective", [None, "f1", [[2.0, -1.0], [-3.0, 1.0]]])
def test_labels_are_counted_as_in_memory(objective: Any) -> None:
    gain = None if objective is None else make_gain(objective, 2)
    labels = (PLAIN.own + 1) % 2
    problem = problem_of()
    found, wanted = problem.tally(problem.emit(other, 1), gain), PLAIN.tally(labels, gain)
    for name in wanted._fields:
        np.testing.assert_array_equal(getattr(found, name), getattr(wanted, name))


@pytest.mark.parametrize("shift", [0, 1])
def test_agreement_is_the_share_of_votes_for_the_label(shift: int) -> None:
    problem = problem_of()
    labels = (PLAIN.own + shift) % 2
    of_vote = np.repeat(labels, TABLE.votes_per_task)
    assert problem.agreement(problem.emit(other, shift)) == np.mean(of_vote == TABLE.label)


def test_the_solution_is_that_of_memory() -> None:
    asked: dict[str, Any] = {"epsilon": 0.05, "objective": "accuracy", "decision": "deterministic", "random_state": 2}
    here, there = solve_problem(problem=PLAIN, **asked), solve_problem(problem_of(), **asked)
    np.testing.assert_array_equal(there.solved.labels.rows, here.solved.labels)
    assert there.rule.to_json() == here.rule.to_json()
    one, two = ({**each.certificate.to_dict(), "seconds": 0, "solver": ""} for each in (here, there))
    assert one == two


@pytest.mark.parametrize("is_log", [False, True])
@pytest.mark.parametrize("by_group", [False, True])
def test_tasks_follow_from_the_steps_of_a_model(is_log: bool, by_group: bool) -> None:
    first = Named.of(sum_weights), (classes_token(2), WEIGHTS)
    scoring = _Scoring((first, (Named(__name__, "doubled"), (2.0,))), by_group, is_log, "last")
    block, ids = part(CUT, 50), TABLE.tasks.take(np.arange(CUT, 50))
    votes = np.array([np.bincount(TABLE.label[a:b], minlength=2) for a, b in pairwise(TABLE.offsets[CUT:])])
    assert (votes[:, 0] == votes[:, 1]).any()
    found = _tasks(block, ids, scoring)
    np.testing.assert_array_equal(found.own, votes[:, 1] >= votes[:, 0])
    shares = np.exp(2.0 * votes) if is_log else votes
    np.testing.assert_allclose(found.posterior, shares / shares.sum(axis=1, keepdims=True))
    odds = 2.0 * (votes[:, 1] - votes[:, 0])
    np.testing.assert_allclose(found.log_odds, odds if is_log else [], atol=1e-12)
    np.testing.assert_array_equal(found.group, PLAIN.group[CUT:])
    np.testing.assert_array_equal(found.evidence, votes.sum(axis=1))
    assert (found.ids, found.first) == (ids, 0)
    alone = _tasks(block._replace(group=block.group[:0]), ids, scoring)
    assert alone.group.tolist() == [0] * 30
    assert _run(block, ids, scoring, Named(__name__, "sums"), (7,))[0].tolist() == [votes.sum() + 7]


def seen_groups(block: Block, token: Any) -> Any:
    """Scores that tell whether a model sees the groups."""
    return np.tile([1.0, 1.0 + (block.group.size > 0), 0.0], (block.offsets.size - 1, 1))


@pytest.mark.parametrize("by_group", [False, True])
def test_only_a_model_that_knows_groups_sees_them(by_group: bool) -> None:
    scoring = _Scoring(((Named(__name__, "seen_groups"), (None,)),), by_group, True, "first")
    found = _tasks(part(0, 9), TABLE.tasks.take(np.arange(9)), scoring)
    assert found.own.tolist() == [int(by_group)] * 9
    assert found.log_odds.size == 0  # there are three classes
    np.testing.assert_array_equal(found.group, PLAIN.group[:9])


def test_a_rule_needs_groups() -> None:
    rule = make_fair(PLAIN.posterior, PLAIN.group, epsilon=0.1).rule
    with pytest.raises(InputError, match=r"^The rule goes by group; give sensitive_features for these tasks\.$"):
        apply_rule(rule=rule, model=MajorityVote().fit(TABLE), data=VOTES)


def test_a_rule_for_votes_in_memory_is_refused() -> None:
    rule = make_fair(PLAIN.posterior, PLAIN.group, epsilon=0.1).rule
    with pytest.raises(InputError, match=r"^apply_rule is for votes in Spark; for votes in memory, use rule\.predict"):
        apply_rule(rule, MajorityVote().fit(TABLE), TABLE)


def test_what_needs_tasks_in_memory_is_refused() -> None:
    problem = problem_of()
    for asked, said in [
        (
            lambda: problem.in_memory("strict=True", "leave it out"),
            "strict=True is for tasks in memory; in Spark, leave",
        ),
        (
            lambda: problem.from_memory(np.zeros(3)),
            "An array with one row per task is for tasks in memory; in Spark, use",
        ),
    ]:
        with pytest.raises(OptionError, match=f"^{said}"):
            asked()


def test_no_votes_agree_with_nothing() -> None:
    problem = problem_of()
    problem.__dict__["_engine"] = SimpleNamespace(reduce=lambda *_, ids: [np.array([0, 0])], emit=Here().emit)
    assert problem.agreement(problem.own_labels()) == 0.0


def test_facts_of_tasks() -> None:
    """Label, own label and posterior, one row per task."""
    problem = problem_of()
    rows = problem.emit(_facts, Named(__name__, "other"), (1,)).rows
    np.testing.assert_array_equal(rows, np.column_stack([1 - PLAIN.own, PLAIN.own, PLAIN.posterior]))
