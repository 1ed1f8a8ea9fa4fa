"""Odd sizes, odd names, odd numbers, and input that must be refused."""

import itertools
import json
import os
import subprocess
import sys
from typing import Any

import numpy as np
import pandas as pd
import pytest

from fair import optima
from faircrowd import FairRule, make_fair
from faircrowd.errors import FaircrowdError, InputError, OptionError

pytestmark = [
    pytest.mark.filterwarnings("ignore:.*fewer than 10 tasks:faircrowd.errors.DataWarning"),
    pytest.mark.filterwarnings("ignore:strict=True keeps epsilon"),
]


def binary(p: Any) -> np.ndarray:
    p = np.asarray(p, dtype=float)
    return np.stack([1 - p, p], axis=1)


def drawn(
    sizes: tuple[int, ...], n_classes: int, votes: int | None = None, seed: int = 0
) -> tuple[np.ndarray, np.ndarray]:
    """Posteriors of groups of these sizes, each with a distribution of its own; tied if made of a few votes."""
    rng = np.random.default_rng(seed)
    distributions = rng.dirichlet(np.ones(n_classes), len(sizes))
    parts = [
        rng.dirichlet(4 * distribution + 0.3, size)
        if votes is None
        else rng.multinomial(votes, distribution, size) / votes
        for distribution, size in zip(distributions, sizes, strict=True)
    ]
    return np.concatenate(parts), np.repeat(np.arange(len(sizes)), sizes)


def randomized_gap(chances: np.ndarray, group: np.ndarray) -> float:
    return float(np.ptp([chances[group == a].mean(axis=0) for a in np.unique(group)], axis=0).max())


# One huge and one tiny group.

LOPSIDED = [(5000, 1), (2, 5000), (5000, 1, 2)]


@pytest.mark.parametrize("sizes", LOPSIDED, ids=str)
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("votes", [None, 5], ids=["untied", "tied"])
@pytest.mark.parametrize("epsilon", [0.0, 0.05])
def test_a_huge_and_a_tiny_group(sizes: tuple[int, ...], n_classes: int, votes: int | None, epsilon: float) -> None:
    posterior, group = drawn(sizes, n_classes, votes)
    randomized = make_fair(posterior, group, epsilon=epsilon, decision="randomized")
    assert randomized_gap(randomized.probabilities, group) <= epsilon + 1e-9
    assert (posterior * randomized.probabilities).sum(axis=1).mean() == pytest.approx(
        randomized.certificate.bound, abs=1e-9
    )
    fair = make_fair(posterior, group, epsilon=epsilon)
    assert fair.certificate.gap <= fair.certificate.gap_allowed < epsilon + 1 / min(sizes)
    few = len(sizes) * (n_classes - 1) / sum(sizes)  # what rounding may cost
    assert fair.certificate.value >= fair.certificate.bound - few
    fair.certificate.verify(posterior, group, fair.labels)


def best_of_two_classes(p: np.ndarray, group: np.ndarray, epsilon: float) -> float:
    """The best labels, by trying all counts of the small groups; group 0 follows them."""
    ordered = [np.sort(p[group == a])[::-1] for a in np.unique(group)]
    gained = [np.concatenate([[0.0], np.cumsum(2 * each - 1)]) for each in ordered]
    rates = np.arange(ordered[0].size + 1) / ordered[0].size
    best = -np.inf
    for counts in itertools.product(*(range(each.size + 1) for each in ordered[1:])):
        small = [count / each.size for count, each in zip(counts, ordered[1:], strict=True)]
        fits = (np.abs(rates[:, None] - small) <= epsilon + 1e-12).all(axis=1)
        if fits.any() and np.ptp(small) <= epsilon + 1e-12:
            rest = sum(each[count] for each, count in zip(gained[1:], counts, strict=True))
            best = max(best, float(gained[0][fits].max() + rest))
    return (best + (1 - p).sum()) / p.size


@pytest.mark.parametrize("sizes", LOPSIDED, ids=str)
@pytest.mark.parametrize("epsilon", [0.0, 0.05, 0.4])
def test_a_huge_and_a_tiny_group_strictly_in_two_classes(sizes: tuple[int, ...], epsilon: float) -> None:
    posterior, group = drawn(sizes, 2, votes=5, seed=2)
    if sizes[0] < sizes[1]:
        group = 1 - group
    fair = make_fair(posterior, group, epsilon=epsilon, strict=True)
    assert fair.certificate.gap <= epsilon + 1e-12
    assert fair.certificate.optimal
    assert fair.certificate.value == pytest.approx(best_of_two_classes(posterior[:, 1], group, epsilon), abs=1e-9)


@pytest.mark.parametrize("sizes", LOPSIDED, ids=str)
def test_a_huge_and_a_tiny_group_strictly_in_three_classes(sizes: tuple[int, ...]) -> None:
    posterior, group = drawn(sizes, 3, votes=5, seed=2)
    fair = make_fair(posterior, group, epsilon=0.05, strict=True)
    assert fair.certificate.gap <= 0.05 + 1e-12
    assert fair.certificate.optimal
    assert fair.certificate.value >= posterior.mean(axis=0).max()  # one label for all keeps epsilon too


def test_strict_labels_keep_epsilon_where_sizes_have_no_common_factor() -> None:
    """Rates of such groups differ by less than a solver's tolerance, and yet they differ."""
    posterior, group = drawn((13, 17, 19), 2, seed=1)
    fair = make_fair(posterior, group, epsilon=0.0, strict=True)
    assert len(set(fair.labels)) == 1
    assert fair.certificate.value == pytest.approx(posterior.mean(axis=0).max(), abs=1e-12)


@pytest.mark.parametrize(
    ("sizes", "seed"), [((1500, 1500, 1500), 3), ((4000, 1000), 12), ((2500, 1500, 400, 100), 0)], ids=str
)
@pytest.mark.parametrize("epsilon", [0.01, 0.05])
def test_more_tasks_than_one_program_takes(sizes: tuple[int, ...], seed: int, epsilon: float) -> None:
    """Groups of very different distributions: a constant labelling is always fair, so there is always a best one."""
    posterior, group = drawn(sizes, 3, seed=seed)
    randomized = make_fair(posterior, group, epsilon=epsilon, decision="randomized")
    assert randomized_gap(randomized.probabilities, group) <= epsilon + 1e-9
    assert (posterior * randomized.probabilities).sum(axis=1).mean() == pytest.approx(
        randomized.certificate.bound, abs=1e-9
    )


def test_300_000_tasks() -> None:
    posterior, group = drawn((200_000, 100_000), 2)
    fair = make_fair(posterior, group, epsilon=0.01)
    assert fair.certificate.gap <= 0.01 + 1e-12
    assert 0 <= fair.certificate.optimality_gap < 1e-5
    assert optima.gap(fair.labels, group, 2) == pytest.approx(fair.certificate.gap, abs=1e-12)
    votes, group = drawn((100_000, 150_000, 50_000), 4, votes=5)
    fair = make_fair(votes, group, epsilon=0.01)
    assert optima.gap(fair.labels, group, 4) <= 0.01 + 2e-5
    assert abs(fair.certificate.optimality_gap) < 1e-4


# Odd posteriors.


@pytest.mark.parametrize("decision", ["deterministic", "randomized"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_one_task_a_group(n_classes: int, decision: str) -> None:
    posterior = np.eye(n_classes)
    fair = make_fair(posterior, list("abc")[:n_classes], epsilon=0.0, decision=decision, strict=True)
    assert fair.certificate.bound == pytest.approx(1 / n_classes)
    if decision == "deterministic":
        assert len(set(fair.labels)) == 1


@pytest.mark.parametrize("row", [[0.5, 0.5], [0.3, 0.7], [0.0, 1.0], [0.2, 0.3, 0.5], [1 / 3, 1 / 3, 1 / 3]], ids=str)
def test_all_posteriors_equal(row: list[float]) -> None:
    fair = make_fair(np.tile(row, (12, 1)), [0] * 5 + [1] * 7, epsilon=0.0)
    assert fair.certificate.changed == 0
    assert fair.certificate.gap == 0
    assert set(fair.labels) == {int(np.argmax(row))}
    assert fair.certificate.bound == pytest.approx(max(row))


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("epsilon", [0.0, 0.1, 0.5, 1.0])
def test_posteriors_of_exactly_0_and_1(n_classes: int, epsilon: float) -> None:
    posterior, group = drawn((12, 9), n_classes, votes=1)
    randomized = make_fair(posterior, group, epsilon=epsilon, decision="randomized")
    assert randomized.certificate.bound == pytest.approx(optima.best_randomized(posterior, group, epsilon), abs=1e-9)
    fair = make_fair(posterior, group, epsilon=epsilon, strict=True)
    assert fair.certificate.gap <= epsilon + 1e-12
    fair.certificate.verify(posterior, group, fair.labels)


def test_certain_logarithms_may_be_infinite() -> None:
    posterior = binary([1.0, 1.0, 0.9, 0.0, 0.2, 0.0])
    with np.errstate(divide="ignore"):
        logs = np.log(posterior)
    plain, logged = (
        make_fair(posterior, [1, 1, 1, 0, 0, 0], epsilon=0.3, log_posterior=given) for given in (None, logs)
    )
    assert logged.certificate.value == pytest.approx(plain.certificate.value, abs=1e-12)
    assert logged.certificate.gap <= 0.3


def test_posteriors_that_differ_by_less_than_a_solvers_tolerance() -> None:
    rng = np.random.default_rng(1062)
    group = rng.permutation(np.concatenate([[0, 1], rng.integers(0, 2, 8)]))
    posterior = rng.dirichlet(np.ones(3), 3)[rng.integers(0, 3, 10)] + rng.uniform(0, 1e-7, (10, 3))
    posterior /= posterior.sum(axis=1, keepdims=True)
    randomized = make_fair(posterior, group, epsilon=0.0, decision="randomized")
    assert randomized_gap(randomized.probabilities, group) <= 1e-9
    assert (posterior * randomized.probabilities).sum(axis=1).mean() == pytest.approx(
        randomized.certificate.bound, abs=1e-9
    )


def test_strict_labels_of_posteriors_that_differ_by_less_than_a_solvers_tolerance() -> None:
    p = [
        0.96168517,
        7.8380661e-4,
        4.1618397e-8,
        0.89781209,
        6.368518e-6,
        0.89333928,
        1.5694531e-9,
        0.96639032,
        0.97507753,
    ]
    group = np.array([1, 2, 2, 1, 2, 0, 2, 1, 1])
    for numbers in itertools.permutations(range(3)):
        posterior, group_now = binary(p), np.array(numbers)[group]
        fair = make_fair(posterior, group_now, epsilon=1 / 3, strict=True)
        best = optima.best_deterministic(posterior, group_now, 1 / 3)
        assert fair.certificate.value == pytest.approx(best, abs=1e-12)
        assert fair.certificate.bound >= best - 1e-12


def test_single_precision_rows_have_a_bound_above_their_value() -> None:
    """Their rows sum to 1 but for 1e-8; the certificate must hold for them as they are."""
    posterior, group = drawn((300, 200), 2)
    posterior = posterior.astype(np.float32)
    for decision in ("deterministic", "randomized"):
        fair = make_fair(posterior, group, epsilon=0.05, decision=decision)
        fair.certificate.verify(posterior, group, fair.labels)
    assert (posterior * fair.probabilities).sum(axis=1).mean() == pytest.approx(fair.certificate.bound, abs=1e-12)


def test_own_labels_are_those_of_the_rows_as_they_are() -> None:
    """A row that sums to 1 - 1e-7, within tolerance, favours class 1 by that much: epsilon 1 must not change it."""
    fair = make_fair([[0.4999999, 0.5], [0.2, 0.8], [0.7, 0.3], [0.9, 0.1]], [0, 0, 1, 1], epsilon=1.0)
    assert fair.labels.tolist() == [1, 1, 0, 0]
    assert fair.certificate.changed == 0


def test_own_labels_are_those_of_the_log_odds() -> None:
    """Votes that cancel but for rounding give log-odds of 1e-17 and a posterior of exactly one half."""
    log_odds = np.array([1e-17, 3.0, -2.0, -3.0])
    posterior = binary(1 / (1 + np.exp(-log_odds)))
    logs = np.stack([-log_odds / 2, log_odds / 2], axis=1)  # up to a constant a task
    fair = make_fair(posterior, [0, 0, 1, 1], epsilon=1.0, log_posterior=logs)
    assert fair.labels.tolist() == [1, 1, 0, 0]
    assert fair.certificate.changed == 0


# Objectives.


def test_f1_of_a_posterior_without_positives() -> None:
    for settings in ({}, {"decision": "randomized"}, {"sample_weight": [1.0, 2.0, 3.0, 4.0]}):
        fair = make_fair(binary([0.0] * 4), [0, 0, 1, 1], epsilon=0.1, objective="f1", **settings)
        assert fair.labels.tolist() == [0, 0, 0, 0]
        assert fair.certificate.value == fair.certificate.bound == 0.0


def test_costs_that_are_all_negative() -> None:
    posterior, group = drawn((40, 25), 3)
    costs = -np.array([[0.5, 2.0, 9.0], [1.0, 0.1, 4.0], [3.0, 3.0, 0.2]])
    fair = make_fair(posterior, group, epsilon=0.05, objective=costs, strict=True)
    assert fair.certificate.gap <= 0.05 + 1e-12
    assert fair.certificate.value == pytest.approx((posterior @ costs)[np.arange(65), fair.labels].mean(), abs=1e-12)
    assert fair.certificate.value <= fair.certificate.bound + 1e-9 < 0
    fair.certificate.verify(posterior, group, fair.labels)


@pytest.mark.parametrize("gains", [np.ones((2, 2)), [[0, 1], [0, 1]], np.zeros((2, 2))], ids=str)
@pytest.mark.parametrize("epsilon", [0.1, 1.0])
def test_gains_that_do_not_look_at_the_truth(gains: Any, epsilon: float) -> None:
    """No threshold of the posterior tells the labels apart; there is still a best labelling."""
    fair = make_fair(binary([0.9, 0.2, 0.4, 0.7]), [0, 0, 1, 1], epsilon=epsilon, objective=gains)
    assert fair.certificate.value == pytest.approx(np.max(gains))
    json.dumps(fair.certificate.to_dict(), allow_nan=False)
    assert FairRule.from_json(fair.rule.to_json()).to_json() == fair.rule.to_json()
    assert "nan" not in str(fair.rule)
    assert "inf" not in str(fair.rule)


def test_words_of_a_rule_that_rewards_the_unlikely_label() -> None:
    """Where label 1 gains by being wrong, it is given below a posterior, not above."""
    fair = make_fair(binary([0.9, 0.2, 0.4, 0.7]), [0, 0, 1, 1], epsilon=1.0, objective=[[0, 1], [1, 0]])
    assert fair.labels.tolist() == [0, 1, 1, 0]
    assert "above" not in str(fair.rule)
    assert "above" not in fair.certificate.thresholds


# Weights.


@pytest.mark.parametrize("epsilon", [0.2, 0.4, 0.6, 0.8])
def test_whole_labels_keep_close_to_epsilon_where_tasks_weigh_differently(epsilon: float) -> None:
    weights = np.random.default_rng(0).uniform(1.0, 2.0, 200)
    posterior = np.repeat([[0.6, 0.4, 0.0], [0.4, 0.6, 0.0]], 100, axis=0)
    group = np.repeat([0, 1], 100)
    fair = make_fair(posterior, group, epsilon=epsilon, sample_weight=weights)
    assert fair.certificate.gap < epsilon + 2 * weights.max() / np.bincount(group, weights).min()


def test_strict_keeps_epsilon_where_tasks_weigh_differently_or_says_that_it_cannot() -> None:
    posterior, group = drawn((12, 9, 8), 3, votes=5)
    weights = np.random.default_rng(0).uniform(0.5, 2.0, group.size)
    try:
        fair = make_fair(posterior, group, epsilon=0.02, sample_weight=weights, strict=True)
    except OptionError:
        return
    assert fair.certificate.gap <= 0.02 + 1e-12


# Names and ids.

NAMES = {
    "unicode": ["ß", "中🙂", "é\u0301", 'a "b" \\ \n'],
    "ints": [-3, 0, 7, 2**60],
    "floats": [-0.5, 0.0, 0.25, 1e300],
    "mixed": ["1", 1, 2.5, "x"],
    "bytes": [b"a", b"\xff", b"", b"b"],
}


@pytest.mark.parametrize(
    ("kind", "n_groups", "n_classes"), [("bools", 2, 2), *itertools.product(NAMES, (2, 3), (2, 3))]
)
def test_a_rule_of_odd_names_survives_json(kind: str, n_groups: int, n_classes: int) -> None:
    names = NAMES.get(kind, [False, True])
    posterior, group = drawn((30, 20, 15)[:n_groups], n_classes, votes=5)
    frame = pd.DataFrame(posterior, columns=pd.Index(names[:n_classes], dtype=object)).rename_axis("task")
    parties = {task: names[-1 - a] for task, a in enumerate(group)}
    fair = make_fair(frame, parties, epsilon=0.05, decision="randomized")
    back = FairRule.from_json(fair.rule.to_json())
    assert back.classes == fair.rule.classes
    assert back.groups == fair.rule.groups
    assert list(map(type, back.classes + back.groups)) == list(map(type, fair.rule.classes + fair.rule.groups))
    assert back.to_json() == fair.rule.to_json()
    assert back.predict(frame, parties).to_dict() == fair.rule.predict(frame, parties).to_dict()
    assert set(fair.labels) <= set(names[:n_classes])
    json.dumps(fair.certificate.to_dict(), allow_nan=False)


def test_several_attributes_are_intersected_and_survive_json() -> None:
    posterior, code = drawn((20, 20, 20, 20), 2)
    groups = pd.DataFrame({"task": np.arange(80), "sex": np.array(["f", "m"])[code % 2], "old": code > 1})
    frame = pd.DataFrame(posterior).rename_axis("task")
    fair = make_fair(frame, groups, epsilon=0.05)
    assert set(fair.rule.groups) == {("f", False), ("f", True), ("m", False), ("m", True)}
    plain = make_fair(posterior, code, epsilon=0.05)
    assert fair.certificate.bound == pytest.approx(plain.certificate.bound, abs=1e-12)
    back = FairRule.from_json(fair.rule.to_json())
    assert back.groups == fair.rule.groups
    assert back.predict(frame, groups).to_dict() == fair.rule.predict(frame, groups).to_dict()
    with pytest.raises(InputError, match="does not know"):
        back.predict(frame, groups.assign(sex="x"))


IDS = [["é", "中", "🙂", ""], [True, 2.5, "x", 7], [-1, 0, 2**62, 5], [2, "2", 5, "5"]]


@pytest.mark.parametrize("ids", IDS, ids=str)
@pytest.mark.parametrize("decision", ["deterministic", "randomized"])
def test_ids_of_any_kind(ids: list[Any], decision: str) -> None:
    """The first two are tied and only one may keep its label: which, depends on the ids alone."""
    frame = pd.DataFrame(binary([0.6, 0.6, 0.1, 0.1]), index=pd.Index(ids, dtype=object, name="task"))
    groups = dict(zip(ids, "aabb", strict=True))
    here = make_fair(frame, groups, epsilon=0.5, decision=decision).labels
    assert here.index.tolist() == ids
    if decision == "deterministic":
        assert sorted(here) == [0, 0, 0, 1]
    for order in ([1, 0, 2, 3], [2, 3, 1, 0]):
        there = make_fair(frame.iloc[order], groups, epsilon=0.5, decision=decision).labels
        assert there.tolist() == here.iloc[order].tolist()


SCRIPT = """
import json, sys
import numpy as np, pandas as pd
from faircrowd import make_fair
said = []
for n_classes, n_groups in ((2, 2), (3, 3)):
    rng = np.random.default_rng(0)
    distribution = rng.dirichlet(np.ones(n_classes), n_groups)
    group = rng.integers(0, n_groups, 200)
    votes = np.stack([rng.multinomial(5, distribution[a]) for a in group]) / 5
    ids = [f"täsk {i}" for i in range(200)]
    frame = pd.DataFrame(votes, index=ids, columns=list("xyz")[:n_classes]).rename_axis("task")
    groups = {t: f"group {a}" for t, a in zip(ids, group)}
    for settings in ({"decision": "deterministic"}, {"decision": "randomized"}, {"strict": True}):
        fair = make_fair(frame, groups, epsilon=0.05, random_state=3, **settings)
        said.append([fair.labels.to_dict(), fair.rule.to_json(), fair.rule.predict(frame, groups).to_dict()])
print(json.dumps(said))
"""


def test_labels_do_not_depend_on_the_process(capsys: pytest.CaptureFixture[str]) -> None:
    """Another process with other hashes says what this one says."""
    other = "1" if os.environ.get("PYTHONHASHSEED") == "2718" else "2718"
    there = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        env={**os.environ, "PYTHONHASHSEED": other},
        capture_output=True,
        check=True,
        text=True,
    ).stdout
    exec(SCRIPT, {})  # noqa: S102 - our own
    assert len(json.loads(there)) == 6
    assert capsys.readouterr().out == there


@pytest.mark.parametrize("shape", [(2, 2), (3, 3)], ids=str)
@pytest.mark.parametrize("decision", ["deterministic", "randomized"])
def test_tied_tasks_do_not_depend_on_the_order_of_rows(shape: tuple[int, int], decision: str) -> None:
    """Every posterior occurs twice, once side by side, once far apart; the tied pairs must be split alike."""
    n_classes, n_groups = shape
    for seed in range(3):
        posterior, group = drawn((491, 502, 513)[:n_groups], n_classes, seed=seed)
        twice = np.repeat(np.random.default_rng(seed).permutation(group.size), 2)
        ids = pd.Index([f"t{i}" for i in range(twice.size)], name="task")
        frame, groups = pd.DataFrame(posterior[twice], index=ids), pd.Series(group[twice], index=ids)
        here = make_fair(frame, groups, epsilon=0.05, decision=decision)
        there = make_fair(frame.sample(frac=1, random_state=seed), groups, epsilon=0.05, decision=decision)
        assert int((there.labels.loc[ids] != here.labels).sum()) == 0


@pytest.mark.parametrize("shape", [(2, 2), (3, 3)], ids=str)
def test_a_rule_labels_parts_as_it_labels_the_whole(shape: tuple[int, int]) -> None:
    posterior, group = drawn((60, 45, 50)[: shape[1]], shape[0], votes=3)
    frame = pd.DataFrame(posterior, index=[f"t{i}" for i in range(group.size)]).rename_axis("task")
    groups = pd.Series(group, index=frame.index)
    rule = make_fair(frame, groups, epsilon=0.02, decision="randomized").rule
    assert rule.ties
    parts = [rule.predict(frame.iloc[start::3], groups.iloc[start::3]) for start in range(3)]
    assert pd.concat(parts).loc[frame.index].tolist() == rule.predict(frame, groups).tolist()


def test_seeds_choose_among_the_tied_only() -> None:
    posterior, group = drawn((120, 80), 2, votes=5)
    found = [make_fair(posterior, group, epsilon=0.03, random_state=seed) for seed in range(5)]
    assert np.ptp([fair.certificate.value for fair in found]) <= 1e-12
    assert len({tuple(fair.labels) for fair in found}) > 1


# Input that must be refused: an error of ours, with words to act on, and no traceback of a library.

GOOD = binary([0.9, 0.2, 0.4, 0.7])
BAD: dict[str, tuple[Any, Any, dict[str, Any], str]] = {
    "epsilon NaN": (GOOD, "aabb", {"epsilon": float("nan")}, "epsilon must be a number from 0 to 1"),
    "epsilon None": (GOOD, "aabb", {"epsilon": None}, "Give epsilon"),
    "epsilon text": (GOOD, "aabb", {"epsilon": "0.1"}, "epsilon must be a number from 0 to 1"),
    "epsilon bool": (GOOD, "aabb", {"epsilon": True}, "epsilon must be a number from 0 to 1"),
    "no group of a task": (GOOD, ["a", "b", None, "b"], {}, "1 of 4 tasks have no group"),
    "a NaN group": (GOOD, np.array([0, 1, np.nan, 1]), {}, "1 of 4 tasks have no group"),
    "no groups at all": (GOOD, None, {}, "group of each task is needed"),
    "a row of zeros": ([[0.5, 0.5], [0.0, 0.0]], "ab", {}, "sums to 0, not to 1"),
    "a row of infinity": ([[0.5, 0.5], [np.inf, 0.0]], "ab", {}, "task 1"),
    "no rows": (np.empty((0, 2)), "", {}, "at least one task"),
    "one class": (np.ones((4, 1)), "aabb", {}, "two classes"),
    "one dimension": ([0.2, 0.8], "ab", {}, "tasks x classes"),
    "rows of different length": ([[0.5, 0.5], [1.0]], "ab", {}, "posterior"),
    "texts": ([["a", "b"], ["c", "d"]], "ab", {}, "numbers only"),
    "weights of text": (GOOD, "aabb", {"sample_weight": ["a", "b", "c", "d"]}, "sample_weight"),
    "weights NaN": (GOOD, "aabb", {"sample_weight": [1, 1, 1, np.nan]}, "sample_weight"),
    "weights too few": (GOOD, "aabb", {"sample_weight": [1, 2]}, "sample_weight"),
    "gains of text": (GOOD, "aabb", {"objective": [["a", "b"], ["c", "d"]]}, "gains"),
    "gains of different length": (GOOD, "aabb", {"objective": [[1, 2], [3]]}, "gains"),
    "gains NaN": (GOOD, "aabb", {"objective": [[1, np.nan], [0, 1]]}, "gains"),
    "an unknown objective": (GOOD, "aabb", {"objective": "auc"}, "objective='auc'"),
    "an unknown tie rule": (GOOD, "aabb", {"ties": "banana"}, "ties='banana'"),
    "too little evidence": (GOOD, "aabb", {"evidence": [1, 2]}, "evidence"),
    "too much evidence": (GOOD, "aabb", {"evidence": [1] * 9}, "evidence"),
    "evidence of NaN": (GOOD, "aabb", {"evidence": [1, 2, np.nan, 4]}, "evidence"),
    "logarithms of NaN": (GOOD, "aabb", {"log_posterior": np.full((4, 2), np.nan)}, "log_posterior"),
    "logarithms of fewer tasks": (GOOD, "aabb", {"log_posterior": np.log(GOOD[:3])}, "log_posterior"),
    "logarithms of more classes": (GOOD, "aabb", {"log_posterior": np.zeros((4, 3))}, "log_posterior"),
    "a negative seed": (GOOD, "aabb", {"random_state": -1}, "random_state"),
    "no seed": (GOOD, "aabb", {"random_state": None}, "random_state"),
}


@pytest.mark.parametrize("name", list(BAD))
def test_bad_input_is_refused(name: str) -> None:
    posterior, groups, settings, message = BAD[name]
    groups = list(groups) if isinstance(groups, str) else groups
    with pytest.raises(FaircrowdError, match=message):
        make_fair(posterior, groups, **{"epsilon": 0.1, **settings})


@pytest.mark.parametrize(
    ("ids", "classes", "message"),
    [
        (["a", "b", "a", "c"], ["x", "y"], "several rows for 'a'"),
        (["a", "b", None, "c"], ["x", "y"], "without a task id"),
        (["a", "b", "c", "d"], ["x", "x"], "several columns of one name: 'x'"),
        (["a", "b", "c", "z"], ["x", "y"], "1 of 4 tasks have no group: 'z'"),
    ],
)
def test_bad_frames_are_refused(ids: list[Any], classes: list[str], message: str) -> None:
    frame = pd.DataFrame(GOOD, index=pd.Index(ids, name="task"), columns=classes)
    with pytest.raises(InputError, match=message):
        make_fair(frame, {"a": 0, "b": 1, "c": 1, "d": 0}, epsilon=0.1)


def test_logarithms_go_by_task_and_class() -> None:
    frame = pd.DataFrame(GOOD, index=pd.Index(list("abcd"), name="task"))
    groups = dict(zip("abcd", "xxyy", strict=True))
    logs = np.log(frame)
    plain = make_fair(frame, groups, epsilon=1.0)
    for other in (logs.iloc[[2, 0, 3, 1]], logs[[1, 0]]):
        try:
            mixed = make_fair(frame, groups, epsilon=1.0, log_posterior=other)
        except InputError:
            continue  # to refuse another order is as good as to follow it
        assert mixed.labels.to_dict() == plain.labels.to_dict()


def test_bad_input_to_a_rule_is_refused() -> None:
    frame = pd.DataFrame(GOOD, columns=["no", "yes"]).rename_axis("task")
    rule = make_fair(frame, list("aabb"), epsilon=0.1).rule
    with pytest.raises(InputError, match="posterior of task 2 holds nan"):
        rule.predict(frame.replace(0.4, np.nan), list("aabb"))
    with pytest.raises(InputError, match="sums to"):
        rule.predict(frame / 2, list("aabb"))
    with pytest.raises(InputError, match="'maybe'"):
        rule.predict(frame.rename(columns={"yes": "maybe"}), list("aabb"))
    with pytest.raises(InputError, match="'maybe'"):
        rule.predict(frame.assign(maybe=0.0), list("aabb"))
    with pytest.raises(InputError, match="have no group"):
        rule.predict(frame, ["a", "b", None, "b"])
    with pytest.raises(InputError, match="have no group"):
        rule.predict(frame, ["a", "b", None, "b"], unknown="own")
    with pytest.raises(InputError, match="2 tasks are of groups that the rule does not know: 'z'"):
        rule.predict(frame, list("zzbb"))
    with pytest.raises(OptionError, match="unknown='guess'"):
        rule.predict(frame, list("aabb"), unknown="guess")
    np.testing.assert_array_equal(rule.predict(frame[["yes", "no"]], list("aabb")), rule.predict(frame, list("aabb")))


@pytest.mark.parametrize("n_groups", [2, 3])
def test_tasks_of_unknown_groups_may_keep_their_own_label_and_are_counted(n_groups: int) -> None:
    posterior, group = drawn((20,) * n_groups, 3)
    rule = make_fair(posterior, group, epsilon=0.0).rule
    strange = np.where(np.arange(group.size) % 2, group, 99)
    with pytest.warns(UserWarning, match=f"{10 * n_groups} tasks of unknown groups"):
        labels = rule.predict(posterior, strange, unknown="own")
    np.testing.assert_array_equal(labels[::2], posterior.argmax(axis=1)[::2])
    np.testing.assert_array_equal(labels[1::2], rule.predict(posterior, group)[1::2])
