"""Groups that are known by their probabilities: against a program over all tasks, known groups, and the truth."""

from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray
from scipy.optimize import linprog

from faircrowd import FairCrowd, MajorityVote, make_fair
from faircrowd.constraints import (
    AccuracyParity,
    ChangeBudget,
    Constraint,
    DemographicParity,
    EqualOpportunity,
    RateRange,
    RateRatio,
    ReviewBudget,
)
from faircrowd.errors import DataWarning, InfeasibleError, InputError, OptionError
from faircrowd.fair.general.constrained_rule import ConstrainedRule

pytestmark = pytest.mark.filterwarnings("ignore::faircrowd.errors.DataWarning")


def crowd(n: int, n_classes: int = 2, n_groups: int = 2, seed: int = 0) -> tuple[NDArray[Any], NDArray[Any], Any]:
    """Return a posterior that favours the last group, the probabilities of the groups, and the groups themselves."""
    rng = np.random.default_rng(seed)
    chances = rng.dirichlet(np.full(n_groups, 0.5), n)
    group = (chances.cumsum(axis=1) > rng.random((n, 1))).argmax(axis=1)  # probabilities are right
    scores = rng.normal(size=(n, n_classes))
    scores[:, -1] += 1.2 * (group == n_groups - 1)
    posterior = np.exp(scores)
    return posterior / posterior.sum(axis=1, keepdims=True), chances, group


def rates(labels: NDArray[Any], chances: NDArray[Any], label: int) -> NDArray[Any]:
    return (chances * (labels == label)[:, None]).sum(axis=0) / chances.sum(axis=0)


def best_value(posterior: NDArray[Any], chances: NDArray[Any], epsilon: float, truth: int | None = None) -> float:
    """Return the value of the program over all tasks, for parity, or for opportunity of one class."""
    n, n_classes = posterior.shape
    rows = []
    for k in range(n_classes) if truth is None else [truth]:
        weight = chances if truth is None else chances * posterior[:, [truth]]
        for a, b in product(range(chances.shape[1]), repeat=2):
            row = np.zeros((n, n_classes))
            row[:, k] = weight[:, a] / weight[:, a].sum() - weight[:, b] / weight[:, b].sum()
            rows.append(row.ravel())
    program: Any = linprog
    found = program(
        -posterior.ravel() / n,
        A_ub=np.array(rows),
        b_ub=np.full(len(rows), epsilon),
        A_eq=np.kron(np.eye(n), np.ones(n_classes)),
        b_eq=np.ones(n),
        bounds=(0, 1),
        method="highs",
    )
    assert found.status == 0
    return -float(found.fun)


@pytest.mark.parametrize(("n_classes", "n_groups"), [(2, 2), (2, 3), (3, 2), (3, 3)])
@pytest.mark.parametrize("epsilon", [0.0, 0.05])
def test_value_is_that_of_the_program_over_all_tasks(n_classes: int, n_groups: int, epsilon: float) -> None:
    posterior, chances, _ = crowd(150, n_classes, n_groups, seed=n_classes + n_groups)
    for truth, constraint in ((None, DemographicParity(epsilon)), (1, EqualOpportunity(epsilon, label=1))):
        # Labels of whole tasks are not looked at: at epsilon 0 they take as long as the integer program may.
        found = make_fair(posterior, chances, constraints=[constraint], decision="randomized")
        wanted = best_value(posterior, chances, epsilon, truth)
        assert found.solved.best.value == pytest.approx(wanted, abs=1e-8)
        assert found.solved.best.bound - found.solved.best.value <= 1e-9


def test_levels_are_rates_weighted_by_the_probabilities() -> None:
    posterior, chances, _ = crowd(500, 3, 3)
    found = make_fair(posterior, chances, epsilon=0.04)
    (kept,) = found.certificate.constraints
    gaps = [np.ptp(rates(found.labels, chances, k)) for k in range(3)]
    assert kept.level == pytest.approx(max(gaps), abs=1e-12)
    assert kept.level <= (kept.allowed or 0) + 1e-9
    before = [np.ptp(rates(posterior.argmax(axis=1), chances, k)) for k in range(3)]
    assert kept.level_before == pytest.approx(max(before), abs=1e-12)
    found.certificate.verify(posterior, chances, found.labels, [DemographicParity(0.04)])
    with pytest.raises(InputError, match="recomputed"):
        found.certificate.verify(posterior, chances[::-1], found.labels, [DemographicParity(0.04)])


@pytest.mark.parametrize(
    "constraints",
    [
        [DemographicParity(0.03, group="race")],
        [RateRatio(0.8, group="race", label=1), ChangeBudget(0.2)],
        [EqualOpportunity(0.05, label=1, group="race"), AccuracyParity(0.1, group="race")],
        [RateRange(high=0.6, label=1, group="race"), ReviewBudget(0.05)],
        [DemographicParity(0.05, group=("race", "sex")), DemographicParity(0.02, group="sex", within="race")],
    ],
)
def test_certain_probabilities_are_known_groups(constraints: list[Constraint]) -> None:
    posterior, _, race = crowd(300, 2, 3, seed=3)
    sex = np.random.default_rng(1).choice(["f", "m"], 300)
    known = pd.DataFrame({"race": np.array(["a", "b", "c"])[race], "sex": sex})
    surely = pd.DataFrame({f"race={name}": (race == code).astype(float) for code, name in enumerate("abc")})
    one = make_fair(posterior, known, constraints=constraints)
    other = make_fair(posterior, surely.assign(sex=sex), constraints=constraints)
    assert other.solved.best.value == pytest.approx(one.solved.best.value, abs=1e-9)
    for kept, same in zip(one.certificate.constraints, other.certificate.constraints, strict=True):
        assert same.level_before == pytest.approx(kept.level_before, abs=1e-12)
        assert kept.uncertain is None
        if same.uncertain is not None and same.uncertain["level"] is not None:  # nothing is left to chance
            assert same.uncertain["level"] == pytest.approx(same.level, abs=1e-9)


def test_every_labelling_of_a_few_tasks() -> None:
    posterior, chances, _ = crowd(9, 2, 2, seed=8)
    best = -1.0
    for labels in map(np.array, product([0, 1], repeat=9)):
        if np.ptp(rates(labels, chances, 1)) <= 0.1:
            best = max(best, float(posterior[np.arange(9), labels].mean()))
    found = make_fair(posterior, chances, constraints=[DemographicParity(0.1)], strict=True)
    assert found.certificate.value == pytest.approx(best, abs=1e-12)
    assert found.certificate.constraints[0].level <= 0.1 + 1e-9


@pytest.mark.parametrize("seed", range(6))
def test_the_worst_case_covers_the_real_gap(seed: int) -> None:
    posterior, chances, group = crowd(4000, 2, 2, seed=seed)
    found = make_fair(posterior, chances, epsilon=0.02)
    (kept,) = found.certificate.constraints
    assert kept.uncertain is not None
    real = [float((found.labels[group == a] == 1).mean()) for a in range(2)]
    assert abs(real[0] - real[1]) > kept.level + 0.05  # labels depend on the group: the estimate is too low
    assert kept.uncertain["level"] >= abs(real[0] - real[1]) - 0.02  # probabilities are right on average only
    assert [comparison["about"] for comparison in kept.comparisons] == ["rate of label 0", "rate of label 1"]
    for name, (low, high) in kept.uncertain["ranges"][1].items():
        assert low - 0.02 <= real[int(name)] <= high + 0.02


def test_the_estimate_is_right_if_labels_do_not_depend_on_the_group() -> None:
    rng = np.random.default_rng(4)
    n = 40_000
    chances = rng.beta(0.4, 0.4, n)
    group = rng.random(n) < chances
    p = np.clip(0.2 + 0.6 * chances + rng.normal(0, 0.1, n), 0.01, 0.99)  # of the probability alone
    found = make_fair(np.stack([1 - p, p], axis=1), np.stack([1 - chances, chances], axis=1), epsilon=0.05)
    real = abs(found.labels[group].mean() - found.labels[~group].mean())
    assert real == pytest.approx(found.certificate.constraints[0].level, abs=0.02)


def test_the_rule_gives_the_labels_again(tmp_path: Any) -> None:
    posterior, chances, _ = crowd(800, 3, 3, seed=2)
    sex = np.random.default_rng(5).choice(["f", "m"], 800)
    frame = pd.DataFrame(chances, columns=["race=a", "race=b", "race=c"]).assign(sex=sex)
    texts = ["parity(race) <= 0.03", "parity(race * sex) <= 0.08", "opportunity(race, label=2) <= 0.1"]
    found = make_fair(posterior, frame, constraints=texts)
    rule = ConstrainedRule.from_json(found.rule.to_json())
    assert rule.to_json() == found.rule.to_json()
    again = rule.predict(posterior, frame)
    assert (again == found.labels).mean() > 0.98  # but for tasks that are tied, and rounded
    np.testing.assert_allclose(rule.predict_proba(posterior, frame), found.probabilities, atol=1e-6)
    turned = frame[["sex", "race=c", "race=a", "race=b"]].iloc[::-1]
    np.testing.assert_array_equal(rule.predict(posterior, turned), again)
    with pytest.raises(InputError, match=r"probabilities of the groups of .race."):
        rule.to_sql()
    known = frame[["sex"]].assign(race="a")  # a group that is known by now has probability 1
    surely = frame[["sex"]].assign(**{"race=a": 1.0, "race=b": 0.0, "race=c": 0.0})
    np.testing.assert_array_equal(rule.predict(posterior, known), rule.predict(posterior, surely))
    with pytest.raises(InputError, match="does not know"):
        rule.predict(posterior, frame[["sex"]].assign(**{"race=a": 0.5, "race=x": 0.5}))
    certain = make_fair(posterior, frame[["sex"]], constraints=["parity(sex) <= 0.03"]).rule
    with pytest.raises(InputError, match="was not learned for these"):
        certain.predict(posterior, pd.DataFrame({"sex=f": np.full(800, 0.5), "sex=m": np.full(800, 0.5)}))
    assert "times its probability" in str(rule)


def test_messages() -> None:
    posterior, chances, _ = crowd(60)
    with pytest.warns(DataWarning, match=r"the groups of group are known by probabilities, so 0\.\d+ is an estimate"):
        make_fair(posterior, chances, epsilon=0.2)
    frame = pd.DataFrame(chances, columns=["race=a", "race=b"])
    two = frame.assign(**{"sex=f": 0.3, "sex=m": 0.7})
    with pytest.raises(OptionError, match="sex and race are both given as probabilities"):
        make_fair(posterior, two, constraints=[DemographicParity(0.1, group=("sex", "race"))])
    make_fair(posterior, two, constraints=[DemographicParity(0.9, group="sex"), DemographicParity(0.5, group="race")])
    off = frame.copy()
    off.loc[7, "race=a"] = 0.9
    with pytest.raises(InputError, match="must sum to one; those of 1 tasks do not, among them 7"):
        make_fair(posterior, off, constraints=["parity(race) <= 0.1"])
    off.loc[7] = np.nan
    with pytest.raises(InputError, match="1 of 60 tasks have no group"):
        make_fair(posterior, off, constraints=["parity(race) <= 0.1"])
    found = make_fair(posterior, off, constraints=["parity(race) <= 0.1"], on_missing_group="drop")
    rest = np.delete(np.arange(60), 7)
    gap = np.ptp(rates(found.labels[rest], chances[rest], 1))
    assert found.certificate.constraints[0].level == pytest.approx(gap, abs=1e-9)
    with pytest.raises(OptionError, match="cannot be a group of their own"):
        make_fair(posterior, off, constraints=["parity(race) <= 0.1"], on_missing_group="own")
    with pytest.raises(InputError, match="is no number"):
        make_fair(posterior, frame.astype({"race=a": object}).replace({"race=a": {frame["race=a"][0]: "x"}}),
                  constraints=["parity(race) <= 0.1"])  # fmt: skip
    with pytest.raises(InfeasibleError, match="cannot both hold"):
        make_fair(posterior, frame, constraints=["parity(race) <= 0", "changed <= 0"])


def test_one_task_weighs_the_same_whatever_is_known_of_the_others() -> None:
    posterior, chances, _ = crowd(200, seed=6)
    frame = pd.DataFrame(chances, columns=["race=a", "race=b"])
    frame.iloc[:180] = np.nan
    asked: list[Any] = [DemographicParity(0.0, group="race"), ChangeBudget(1.0)]
    with pytest.warns(DataWarning, match="180 of 200 tasks have no probabilities of race"):
        found = [make_fair(posterior, frame, constraints=one, on_missing_group="drop") for one in (asked, asked[::-1])]
    allowed = [{kept.text: kept.allowed for kept in one.certificate.constraints} for one in found]
    assert allowed[0]["parity(race) <= 0"] == allowed[1]["parity(race) <= 0"]
    smallest = np.nansum(frame.to_numpy(), axis=0).min()
    assert allowed[0]["parity(race) <= 0"] <= 1 / smallest + 1e-9


def test_columns_of_probabilities_are_of_the_same_tasks() -> None:
    posterior, chances, _ = crowd(20)
    parts = {f"race={name}": pd.Series(column) for name, column in zip("ab", chances.T, strict=True)}
    found = make_fair(posterior, parts, constraints=["parity(race) <= 0.3"])
    same = make_fair(posterior, pd.DataFrame(parts), constraints=["parity(race) <= 0.3"])
    np.testing.assert_array_equal(found.labels, same.labels)
    with pytest.raises(InputError, match="columns of different tasks"):
        make_fair(posterior, parts | {"race=b": parts["race=b"][::-1]}, constraints=["parity(race) <= 0.3"])
    twice = pd.concat([pd.DataFrame(parts), pd.DataFrame(parts).iloc[:3] * (1 + 1e-13)])
    make_fair(posterior, twice, constraints=["parity(race) <= 0.3"])


def test_tasks_without_probabilities_are_no_members_of_a_group() -> None:
    votes = pd.DataFrame(
        [(t, w, (t + w) % 2) for t in range(40) for w in range(3)], columns=["task", "worker", "label"]
    )
    chance = np.where(np.arange(40) % 3 == 0, np.nan, np.linspace(0.1, 0.9, 40))
    frame = pd.DataFrame({"race=a": chance, "race=b": 1 - chance}, index=pd.RangeIndex(40, name="task"))
    fair = FairCrowd(MajorityVote(), constraints=["parity(race) <= 0.5"]).fit(
        votes, sensitive_features=frame, read_options={"on_missing_group": "drop"}
    )
    table = fair.estimator_.votes_
    assert table.groups.to_list() == ["a", "b", "missing"]
    assert table.tasks_per_group.tolist()[2] == np.isnan(chance).sum()
    assert table.left_out == {2: "no group is known"}


def test_fair_crowd_with_probabilities() -> None:
    rng = np.random.default_rng(0)
    n = 300
    chance = rng.beta(0.5, 0.5, n)
    group = rng.random(n) < chance
    truth = rng.random(n) < 0.3 + 0.4 * group
    votes = pd.DataFrame(
        [(f"t{i}", f"w{w}", int(truth[i] ^ (rng.random() < 0.2))) for i in range(n) for w in range(5)],
        columns=["task", "worker", "label"],
    )
    index = pd.Index([f"t{i}" for i in range(n)], name="task")
    frame = pd.DataFrame({"race=a": 1 - chance, "race=b": chance}, index=index)
    fair = FairCrowd(MajorityVote(), constraints=["parity(race) <= 0.05"]).fit(votes, sensitive_features=frame)
    weights = frame.loc[fair.labels_.index].to_numpy()
    assert np.ptp(rates(fair.labels_.to_numpy(), weights, 1)) <= 0.05 + 1 / weights.sum(axis=0).min()
    again = fair.predict(votes, sensitive_features=frame)
    assert (again == fair.labels_).mean() > 0.95
    short = FairCrowd(MajorityVote(), epsilon=0.05).fit(votes, sensitive_features=frame)
    assert short.labels_.equals(fair.labels_)
    bare = FairCrowd(MajorityVote(), epsilon=0.05).fit(votes, sensitive_features=frame.set_axis(["a", "b"], axis=1))
    assert bare.labels_.equals(fair.labels_)
