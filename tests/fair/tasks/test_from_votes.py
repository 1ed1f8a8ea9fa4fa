"""From votes to a problem: which known labels are meant, where votes and groups come from, and what is refused."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from faircrowd import BayesVote, DawidSkene, MajorityVote, read_votes, simulate_crowd
from faircrowd.constraints import ChangeBudget, Constraint, DemographicParity
from faircrowd.errors import InputError, OptionError
from faircrowd.fair.tasks.from_votes import (
    fit_constrained,
    fit_problem,
    from_posterior,
    known_labels,
    new_problem,
    problem_of,
)

CROWD = simulate_crowd(60, 8, random_state=3)
GROUPS = CROWD.sensitive_features
TASKS = pd.DataFrame({"task": GROUPS.index, "side": GROUPS.to_numpy(), "truth": CROWD.truth.to_numpy()})


@pytest.mark.parametrize(
    ("estimator", "args", "kwargs", "found"),
    [
        (MajorityVote(), ("skills",), {"true_labels": "t"}, None),
        (DawidSkene(), (), {}, None),
        (DawidSkene(), (), {"true_labels": "t"}, "t"),
        (DawidSkene(), ("first", "second"), {}, "first"),
        (object(), ("first",), {}, "first"),
        (None, (), {"true_labels": "t"}, "t"),
    ],
)
def test_which_arguments_are_known_labels(estimator: Any, args: Any, kwargs: Any, found: Any) -> None:
    assert known_labels(estimator, args, kwargs) == found


def test_known_labels_may_be_a_column_of_the_tasks(tmp_path: Path) -> None:
    """Given by place or by name, as a Series or as the name of a column, they make one and the same posterior."""
    wanted = BayesVote().fit(CROWD.votes, CROWD.truth, sensitive_features=GROUPS).probas_
    unlike = BayesVote().fit(CROWD.votes, 1 - CROWD.truth, sensitive_features=GROUPS).probas_
    assert not np.allclose(wanted, unlike)
    file = tmp_path / "tasks.csv"
    TASKS.rename(columns={"task": "item"}).to_csv(file, index=False, sep=";")
    votes = tmp_path / "votes.csv"
    CROWD.votes.rename(columns={"task": "item"}).to_csv(votes, index=False, sep=";")
    read: dict[str, str] = {"task": "item", "delimiter": ";"}
    ways = [
        fit_problem(BayesVote(), CROWD.votes, CROWD.truth, sensitive_features=GROUPS),
        fit_problem(BayesVote(), CROWD.votes, true_labels=CROWD.truth, sensitive_features=GROUPS),
        fit_problem(BayesVote(), CROWD.votes, "truth", sensitive_features="side", tasks=TASKS),
        fit_problem(BayesVote(), CROWD.votes, true_labels="truth", sensitive_features="side", tasks=TASKS),
        fit_problem(BayesVote(), votes, "truth", sensitive_features="side", tasks=file, read_options=read),
        fit_problem(BayesVote(), votes, true_labels="truth", sensitive_features="side", tasks=file, read_options=read),
    ]
    for problem in ways:
        np.testing.assert_allclose(problem.posterior, wanted.to_numpy())
        assert problem.group.tolist() == GROUPS.tolist()


def test_arguments_after_the_known_labels_are_passed_on() -> None:
    """A prior error rate by place, behind the name of a column of known labels."""

    class Noted(DawidSkene):
        def fit(self, data: Any, *args: Any, **kwargs: Any) -> Any:
            self.given = args, kwargs
            return super().fit(data, args[0])

    model = Noted()
    fit_problem(model, CROWD.votes, "truth", "more", sensitive_features="side", tasks=TASKS, other=3, true_labels=None)
    (facts, more), named = model.given
    assert facts.fact.tolist() == CROWD.truth.tolist()
    assert (more, named) == ("more", {"other": 3})


def test_votes_that_are_read_already() -> None:
    table = read_votes(CROWD.votes)
    problem = fit_problem(MajorityVote(), table, sensitive_features="side", tasks=TASKS)
    assert problem.group.tolist() == GROUPS.tolist()
    assert fit_problem(MajorityVote(), table, sensitive_features=GROUPS).group.tolist() == GROUPS.tolist()
    ready = read_votes(CROWD.votes, sensitive_features=GROUPS)
    assert fit_problem(MajorityVote(), ready, tasks=TASKS).group.tolist() == GROUPS.tolist()
    said = r"^These votes are read already; give read_options, and tasks in Spark, when they are read\.$"
    with pytest.raises(OptionError, match=said):
        fit_problem(MajorityVote(), ready, read_options={"task": "task"})
    with pytest.raises(InputError, match=r"^FairCrowd needs the group of each task; give sensitive_features=\.\.\.$"):
        fit_problem(MajorityVote(), table, tasks=TASKS)


@pytest.mark.parametrize(
    ("constraints", "names"),
    [
        ([DemographicParity(0.1, group="side"), DemographicParity(0.1, group=("side", "half"))], ["side"]),
        ([ChangeBudget(0.5), DemographicParity(0.1, group=("side", "half"))], ["side", "half"]),
        ([DemographicParity(0.1)], ["side", "half"]),
    ],
)
def test_the_group_of_a_task_is_that_of_the_first_constraint(constraints: list[Constraint], names: list[str]) -> None:
    columns = pd.DataFrame({"side": GROUPS, "half": np.arange(60) // 30}, index=GROUPS.index)
    problem, _ = fit_constrained(MajorityVote(), CROWD.votes, constraints=constraints, sensitive_features=columns)
    wanted = columns.loc[problem.tasks.to_list(), names]
    values = wanted[names[0]].tolist() if len(names) == 1 else list(wanted.itertuples(index=False, name=None))
    assert [problem.groups.to_list()[code] for code in problem.group] == values


def test_a_posterior_takes_no_options_of_reading() -> None:
    shares = MajorityVote().fit(CROWD.votes).probas_
    said = r"^tasks and read_options are for votes and an aggregator of faircrowd; leave them out\.$"
    for given in ({"tasks": TASKS}, {"read_options": {"task": "item"}}):
        with pytest.raises(OptionError, match=said):
            fit_problem(None, shares, sensitive_features=GROUPS, **given)
    plain = fit_problem(None, shares, sensitive_features=GROUPS, read_options={})
    np.testing.assert_array_equal(plain.posterior, shares.to_numpy())
    assert plain.evidence is None


def test_one_group_is_refused_in_a_fit_and_taken_for_new_tasks() -> None:
    one = pd.Series("x", index=GROUPS.index)
    model = MajorityVote().fit(CROWD.votes, sensitive_features=one)
    with pytest.raises(InputError, match="Parity compares groups"):
        problem_of(model)
    assert new_problem(model, CROWD.votes, one).group.tolist() == [0] * 60
    assert new_problem(None, model.probas_, one).group.tolist() == [0] * 60
    both = problem_of(MajorityVote().fit(CROWD.votes, sensitive_features=GROUPS))
    assert both.sizes.tolist() == np.bincount(GROUPS).tolist()
    with pytest.raises(InputError, match=r"^The rule goes by group; give sensitive_features for these tasks\.$"):
        new_problem(model, CROWD.votes, None)
    with pytest.raises(InputError, match="no predict of its own"):
        new_problem(object(), CROWD.votes, one)


@pytest.mark.parametrize("ties", ["first", "last"])
def test_ties_are_those_of_the_aggregator(ties: str) -> None:
    votes = pd.DataFrame([(0, 0, 0), (0, 1, 1), (1, 0, 1), (1, 1, 1)], columns=["task", "worker", "label"])
    table = read_votes(votes, sensitive_features={0: "a", 1: "b"})
    problem = from_posterior(MajorityVote(ties=ties).fit(table).posterior_, table)
    assert problem.ties == ties
    assert problem.own.tolist() == [int(ties == "last"), 1]
    assert problem.evidence.tolist() == [2, 2]
    assert problem.log_odds is None
    assert problem.posterior.tolist() == [[0.5, 0.5], [0.0, 1.0]]
