"""``faircrowd apply`` with the rule of a list of constraints: labels, reasons, levels, evidence, and bad input."""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import faircrowd as fc
from faircrowd.cli.app import run
from faircrowd.fair import ConstrainedRule
from faircrowd.fair.general.constrained_rule import PriceTable
from faircrowd.fair.tasks.group_columns import read_group_columns
from faircrowd.fair.tasks.read_posterior import read_posterior
from faircrowd.report.constrained.constrained_reasons import reasons_of
from faircrowd.runs.verify import verify

Run = Callable[..., tuple[int, str, str]]
REQUIRED = ("parity(side, label=1) <= 0.05", "rate(region, label=1) >= 0.4", "changed <= 0.5", "reviewed <= 0.05")


@pytest.fixture(scope="module")
def crowd(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two batches of one crowd: a, labelled under constraints, and b, which is new."""
    folder = tmp_path_factory.mktemp("apply")
    drawn = fc.simulate_crowd(1200, 20, 5, random_state=5)
    names = drawn.sensitive_features.map({0: "left", 1: "right"})
    for name, tasks in {"a": range(800), "b": range(800, 1200)}.items():
        drawn.votes[drawn.votes["task"].isin(tasks)].to_csv(folder / f"{name}.csv", index=False)
        facts = pd.DataFrame({"side": names.loc[tasks], "region": np.array(tasks) % 3})
        facts.rename_axis("task").to_csv(folder / f"{name}_tasks.csv")
    given = ["aggregate", str(folder / "a.csv"), "--tasks", str(folder / "a_tasks.csv"), "--method", "majority"]
    asked = [part for text in REQUIRED for part in ("--require", text)]
    assert run([*given, *asked, "--out", str(folder / "run"), "--no-report"]) == 0
    return folder


def applied(crowd: Path, faircrowd: Run, out: Path, *more: object, tasks: Path | None = None) -> tuple[int, str, str]:
    table = crowd / "b_tasks.csv" if tasks is None else tasks
    return faircrowd("apply", crowd / "run" / "rule.json", crowd / "b.csv", "--tasks", table, "--out", out, *more)


def test_apply_does_what_python_does(crowd: Path, tmp_path: Path, faircrowd: Run) -> None:
    code, said, err = applied(crowd, faircrowd, tmp_path / "new.csv")
    assert (code, err) == (0, "")
    labels = pd.read_csv(tmp_path / "new.csv", index_col="task")
    tasks = pd.read_csv(crowd / "b_tasks.csv", index_col="task").loc[labels.index]
    rule = ConstrainedRule.from_json((crowd / "run" / "rule.json").read_text())
    assert rule.constraints == REQUIRED
    posterior = labels[["posterior_0", "posterior_1"]].set_axis([0, 1], axis=1)
    expected = rule.predict(posterior, tasks)
    assert labels["label"].tolist() == expected.astype(str).tolist()
    assert labels["review"].any()
    assert ((labels["label"] == "review") == labels["review"]).all()
    # What is told of the labels, computed again; a reviewed task counts by its posterior.
    ends = np.where(labels["review"], posterior[1], labels["label"] == "1")
    rates = pd.Series(ends, labels.index).groupby(tasks["side"]).mean()
    assert f"parity(side, label=1) <= 0.05: {np.ptp(rates):.3f} on these tasks" in said
    assert f"{labels['changed'].sum()} differ from the aggregator's own label" in said
    assert f"{labels['review'].sum()} are sent to a person" in said
    code, said, _ = applied(crowd, faircrowd, tmp_path / "new.csv", "--json")
    found = json.loads(said)
    assert [level["text"] for level in found["constraints"]] == list(REQUIRED)
    assert found["constraints"][0]["level"] == pytest.approx(np.ptp(rates), abs=1e-12)
    assert (found["changed"], found["reviewed"], found["missed"]) == (
        labels["changed"].sum(),
        labels["review"].sum(),
        "",
    )


def test_reasons_name_the_constraint_that_moved_the_label(crowd: Path, tmp_path: Path, faircrowd: Run) -> None:
    applied(crowd, faircrowd, tmp_path / "new.csv")
    labels = pd.read_csv(tmp_path / "new.csv", index_col="task")
    tasks = pd.read_csv(crowd / "b_tasks.csv", index_col="task").loc[labels.index]
    rule = ConstrainedRule.from_json((crowd / "run" / "rule.json").read_text())
    (parity,) = (table for table in rule.tables if table.constraint.startswith("parity"))
    changed = labels[labels["changed"]]
    assert len(changed)
    for task, row in changed.iterrows():
        side = tasks.loc[task, "side"]
        prices = parity.prices[parity.groups.index(side), 0]
        raised = prices[row["label_before"]] - prices[int(row["label"])]
        assert row["why"].startswith(f"changed from {row['label_before']} to {row['label']}")
        assert f"parity(side, label=1) <= 0.05 raises {row['label']} by {raised:.3g} for side={side}" in row["why"]
    assert labels.loc[labels["review"], "why"].str.startswith("sent to a person").all()
    kept = labels[~labels["changed"] & ~labels["review"]]
    assert kept["why"].str.match("kept: the label with the highest score$|kept by a draw with probability 0[.]").all()


def test_labels_can_be_verified(crowd: Path, tmp_path: Path, faircrowd: Run) -> None:
    applied(crowd, faircrowd, tmp_path / "new.csv")
    proof = json.loads((tmp_path / "new.csv.evidence.json").read_text())
    assert set(proof["inputs"]) == {"rule", "model.json", "model.npz", "votes", "tasks"}
    assert verify(tmp_path / "new.csv").verified
    text = (tmp_path / "new.csv").read_text()
    (tmp_path / "new.csv").write_text(text.replace("changed from", "Changed from", 1))
    assert not verify(tmp_path / "new.csv").verified


def test_missing_columns_and_unknown_groups_are_named(crowd: Path, tmp_path: Path, faircrowd: Run) -> None:
    tasks = pd.read_csv(crowd / "b_tasks.csv")
    tasks.drop(columns="region").to_csv(tmp_path / "t.csv", index=False)
    code, _, err = applied(crowd, faircrowd, tmp_path / "o.csv", tasks=tmp_path / "t.csv")
    assert code == 2
    places = f"{tmp_path / 't.csv'} or {crowd / 'b.csv'}"
    assert f"The rule goes by the columns 'side', 'region'; 'region' is not in {places}." in err
    tasks.loc[:6, "side"] = "middle"
    tasks.to_csv(tmp_path / "t.csv", index=False)
    code, _, err = applied(crowd, faircrowd, tmp_path / "o.csv", tasks=tmp_path / "t.csv")
    assert code == 2
    assert "7 tasks are of groups that the rule does not know: 'side=middle'. --unknown own gives them" in err
    assert not (tmp_path / "o.csv").exists()
    code, said, _ = applied(crowd, faircrowd, tmp_path / "o.csv", "--unknown", "own", tasks=tmp_path / "t.csv")
    assert code == 0
    assert "7 tasks of unknown groups got the aggregator's own label" in said
    labels = pd.read_csv(tmp_path / "o.csv", index_col="task").loc[tasks["task"][:7]]
    assert set(labels["why"]) == {"kept: the rule does not know its group"}
    assert not labels["changed"].any()


def test_tasks_of_another_kind_end_with_exit_code_4(crowd: Path, tmp_path: Path, faircrowd: Run) -> None:
    """In new tasks all of one group's votes are for label 1: no price of the rule makes up for that."""
    tasks, votes = pd.read_csv(crowd / "b_tasks.csv"), pd.read_csv(crowd / "b.csv")
    left = votes["task"].isin(tasks.loc[tasks["side"] == "left", "task"])
    votes["label"] = np.where(left, 1, 0)
    votes.to_csv(tmp_path / "b.csv", index=False)
    given = ("apply", crowd / "run" / "rule.json", tmp_path / "b.csv", "--tasks", crowd / "b_tasks.csv")
    code, _, err = faircrowd(*given, "--out", tmp_path / "o.csv")
    assert code == 4
    assert "the labels miss what the rule was learned to keep: parity(side, label=1) <= 0.05 is at" in err
    assert (tmp_path / "o.csv").exists()


def test_an_edited_rule_is_refused(crowd: Path, tmp_path: Path, faircrowd: Run) -> None:
    for name in ("model.json", "model.npz"):
        (tmp_path / name).write_bytes((crowd / "run" / name).read_bytes())
    rule = json.loads((crowd / "run" / "rule.json").read_text())
    (tmp_path / "rule.json").write_text(json.dumps(rule | {"tie_width": -1}))
    given = ("apply", tmp_path / "rule.json", crowd / "b.csv", "--tasks", crowd / "b_tasks.csv")
    code, _, err = faircrowd(*given, "--out", tmp_path / "o.csv")
    assert code == 2
    assert "do not fit its classes, columns and groups" in err
    (tmp_path / "rule.json").write_text('{"kind": "x"}')
    code, _, err = faircrowd(*given, "--out", tmp_path / "o.csv")
    assert (code, "its kind is not 'faircrowd.FairRule' or 'faircrowd.ConstrainedRule'" in err) == (2, True)


def test_constraints_that_pull_against_each_other_are_both_named() -> None:
    """Prices by hand: one constraint raises hire by 0.3 for women, another lowers it by 0.1 times its posterior."""
    raises = PriceTable("up", ("sex",), False, ("f", "m"), np.array([[[0.0, -0.3], [0, 0], [0, 0]], np.zeros((3, 2))]))
    lowers = PriceTable("down", ("sex",), False, ("f", "m"), np.array([[[0, 0], [0, 0], [0, 0.1]], np.zeros((3, 2))]))
    rule = ConstrainedRule(("pass", "hire"), (raises, lowers), np.eye(2), np.zeros(2))
    problem = read_posterior(pd.DataFrame({"pass": [0.6, 0.6], "hire": [0.4, 0.4]}), None, without_groups=True)
    columns = read_group_columns(problem.tasks, pd.DataFrame({"sex": ["f", "m"]}))
    outcomes = rule.outcome_codes(problem, columns)
    assert outcomes.tolist() == [1, 0]
    assert reasons_of(rule, problem, columns, outcomes, is_drawn=True).tolist() == [
        "changed from pass to hire: up raises hire by 0.3 for sex=f, although down lowers hire by 0.04 for sex=f",
        "kept: the label with the highest score",
    ]


@pytest.mark.parametrize("first", ["rate(region, label=1) >= 0.2", "parity(side, within=region) <= 0.2"])
def test_a_model_of_known_labels_learned_by_the_groups_that_are_compared(
    crowd: Path, tmp_path: Path, faircrowd: Run, first: str
) -> None:
    tasks = pd.read_csv(crowd / "a_tasks.csv").assign(known=lambda table: (table["task"] % 2).where(table.index < 200))
    tasks.to_csv(tmp_path / "tasks.csv", index=False)
    given = ["aggregate", crowd / "a.csv", "--tasks", tmp_path / "tasks.csv", "--method", "bayes", "--gold", "known"]
    asked = ["--require", first, "--require", "parity(side) <= 0.1"]
    code, _, err = faircrowd(*given, *asked, "--out", tmp_path / "run", "--no-report")
    assert code == 0, err
    new = ["apply", tmp_path / "run" / "rule.json", crowd / "b.csv", "--tasks", crowd / "b_tasks.csv"]
    code, _, err = faircrowd(*new, "--out", tmp_path / "new.csv")
    assert code == 0, err
    assert len(pd.read_csv(tmp_path / "new.csv")) == 400
