"""``faircrowd audit``: its files, its words and its numbers, which are those of Python."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.csv
import pytest

import faircrowd as fc
from faircrowd.audit import (
    audit_workers,
    bootstrap_gap,
    conditional_gaps,
    demographic_parity_difference,
    gap_interval,
    impact_table,
    krippendorff_alpha,
    majority_gap_bound,
    majority_ties,
)
from faircrowd.votes.groups import truth_codes

Run = Callable[..., tuple[int, str, str]]

FILES = [
    *("agreement.csv", "audit.json", "evidence.json", "groups.csv", "pairs.csv", "report.html"),
    *("task_agreement.csv", "workers.csv"),
]


@pytest.fixture(scope="module")
def crowd(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("audit")
    for name, shares in (("two", [[0.6, 0.4], [0.3, 0.7]]), ("three", [[0.2, 0.3, 0.5], [0.5, 0.3, 0.2]])):
        (folder / name).mkdir()
        drawn = fc.simulate_crowd(150, 12, 6, class_shares=shares, skill_ranges=[(0.5, 0.9)] * 2, random_state=5)
        drawn.votes.to_csv(folder / name / "votes.csv", index=False)
        tasks = pd.DataFrame({"group": drawn.sensitive_features.map({0: "a", 1: "b"}), "truth": drawn.truth})
        tasks["stratum"] = np.where(tasks["truth"] == 0, "easy", "hard")
        tasks.assign(one="same").rename_axis("task").to_csv(folder / name / "tasks.csv")
    return folder


def files(folder: Path, group: str = "group") -> tuple[Any, ...]:
    return (folder / "votes.csv", "--tasks", folder / "tasks.csv", "--group", group, "--no-report")


def table_of(folder: Path) -> Any:
    groups = pd.read_csv(folder / "tasks.csv", index_col="task")["group"]
    return fc.read_votes(folder / "votes.csv", sensitive_features=groups)


def lines_of(text: str) -> dict[str, str]:
    return dict(re.split(r"\s{2,}", line, maxsplit=1) for line in text.splitlines())


def read_csv(path: Path) -> pd.DataFrame:
    """Read a table, numbers to the last digit."""
    return pyarrow.csv.read_csv(path).to_pandas()


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("name", ["two", "three"])
def test_numbers_are_those_of_python(name: str, known: bool, crowd: Path, tmp_path: Path, faircrowd: Run) -> None:
    folder = crowd / name
    more = ["--truth", "truth"] if known else []
    given = (*files(folder), *more, "--control", "stratum", "--replicates", 40, "--confidence", 0.9)
    code, out, err = faircrowd("audit", *given, "--out", tmp_path / "run", "--json")
    assert (code, err) == (0, "")
    said = json.loads(out)["audit"]
    assert said == json.loads((tmp_path / "run" / "audit.json").read_text())

    table = table_of(folder)
    tasks = pd.read_csv(folder / "tasks.csv", index_col="task")
    labels = fc.MajorityVote().fit(table).labels_
    groups = tasks["group"].loc[labels.index]
    gap = demographic_parity_difference(None, labels, sensitive_features=groups)
    counts = pd.crosstab(groups, labels).to_numpy()
    interval = gap_interval(counts, 0.9)
    assert said["gap"]["gap"] == pytest.approx(gap, abs=1e-15)
    assert (said["gap"]["low"], said["gap"]["high"]) == pytest.approx((interval.low, interval.high), abs=1e-12)
    assert said["gap"]["confidence"] == 0.9

    drawn = bootstrap_gap(table, replicates=40, confidence=0.9, random_state=0)
    assert (said["bootstrap"]["low"], said["bootstrap"]["high"]) == (drawn.low, drawn.high)
    alpha = krippendorff_alpha(table)
    assert said["agreement"]["alpha"] == alpha.alpha
    assert list(said["agreement"]["by_group"].values()) == list(alpha.by_group)
    ties = majority_ties(table)
    assert (said["ties"]["smallest"], said["ties"]["largest"]) == (ties.smallest, ties.largest)
    assert sum(said["ties"]["tied"].values()) == ties.tied.sum() > 0
    strata = conditional_gaps(labels, sensitive_features=groups, control_features=tasks["stratum"].loc[labels.index])
    assert said["strata"] == {
        "gap": strata.gap,
        "mean": strata.mean,
        "largest": strata.largest,
        "compared": strata.compared,
        "silent": strata.silent,
    }

    truth = truth_codes(table, tasks["truth"])[0]
    posterior = fc.MajorityVote().fit(table).posterior_.values
    workers = audit_workers(table, confidence=0.9, **({"truth": truth} if known else {"posterior": posterior}))
    verdicts = {verdict: int((workers.verdict == verdict).sum()) for verdict in said["workers"]["verdicts"]}
    assert said["workers"]["verdicts"] == verdicts
    assert sum(verdicts.values()) == 12
    assert (said["workers"]["basis"], said["workers"]["source"]) == (("truth", "gold") if known else ("rates", "model"))
    if name == "two":
        rates = workers.rates[:, :, 1]
        assert said["bound"]["value"] == majority_gap_bound(rates).value
        assert said["added_up"]["observed"] == pytest.approx(ties.first, abs=1e-12)
        assert said["curve"]["workers"] == list(range(1, 13))
    else:
        assert (said["bound"], said["added_up"], said["curve"]) == (None, None, None)
    check_workers(tmp_path / "run" / "workers.csv", workers)
    check_groups(tmp_path / "run" / "groups.csv", labels, groups, tasks["truth"] if known else None)


def check_workers(path: Path, audit: Any) -> None:
    rows = read_csv(path)
    assert rows["worker"].tolist() == audit.workers.to_list()
    assert rows["votes"].tolist() == audit.votes.sum(axis=1).tolist()
    assert rows[["votes_a", "votes_b"]].to_numpy().tolist() == audit.votes.tolist()
    for name in ("gap", "low", "high", "shrunken", "p_value", "q_value"):
        np.testing.assert_array_equal(rows[name], getattr(audit.judged, name))
    np.testing.assert_array_equal(rows["influence"], audit.influence.influence)
    np.testing.assert_array_equal(rows[f"accuracy_a_by_{audit.source}"], audit.accuracy[:, 0])
    assert rows["verdict"].tolist() == audit.verdict.tolist()
    groups = audit.groups.to_list()
    assert rows["more_in"].tolist() == [groups[a] for a in audit.judged.more]


def check_groups(path: Path, labels: pd.Series, groups: pd.Series, truth: pd.Series | None) -> None:
    rows = read_csv(path)
    assert len(rows) == groups.nunique() * labels.nunique()
    assert ("truly" in rows) == (truth is not None)
    for row in rows.itertuples():
        member = groups == row.group
        assert row.tasks == member.sum()
        assert row.labelled == (member & (labels == row.label)).sum()
        assert row.rate == row.labelled / row.tasks
        assert row.low <= row.rate <= row.high
        if truth is not None:
            true = member & (truth.loc[labels.index] == row.label)
            assert row.truly == true.sum()
            assert row.right == (true & (labels == row.label)).sum()
            assert row.recall == row.right / row.truly


@pytest.mark.parametrize("method", ["dawid-skene", "one-coin", "wawa", "glad"])
def test_labels_are_those_of_the_method(method: str, crowd: Path, tmp_path: Path, faircrowd: Run) -> None:
    kinds = {"dawid-skene": fc.DawidSkene, "one-coin": fc.OneCoinDawidSkene, "wawa": fc.Wawa, "glad": fc.GLAD}
    given = (*files(crowd / "two"), "--method", method, "--replicates", 0, "--json", "--out", tmp_path / "run")
    code, out, _ = faircrowd("audit", *given)
    assert code == 0
    said = json.loads(out)
    table = table_of(crowd / "two")
    pooled = {"pooling": "learned"} if method == "dawid-skene" else {}  # as the command line does
    labels = kinds[method](**pooled).fit(table).labels_
    groups = pd.read_csv(crowd / "two" / "tasks.csv", index_col="task")["group"].loc[labels.index]
    assert said["gap"] == said["audit"]["gap"]["gap"]
    assert said["gap"] == pytest.approx(
        demographic_parity_difference(None, labels, sensitive_features=groups), abs=1e-15
    )
    assert said["audit"]["bootstrap"] is None
    assert said["method"] == ("pooled dawid-skene" if pooled else method)


def test_lines_and_files(crowd: Path, tmp_path: Path, faircrowd: Run) -> None:
    given = [part for part in files(crowd / "two") if part != "--no-report"]
    code, out, err = faircrowd("audit", *given, "--replicates", 30, "--control", "stratum", "--out", tmp_path / "run")
    assert (code, err) == (0, "")
    said, lines = json.loads((tmp_path / "run" / "audit.json").read_text()), lines_of(out)
    assert sorted(path.name for path in (tmp_path / "run").iterdir()) == FILES
    files_written = "workers.csv, groups.csv, agreement.csv, pairs.csv, task_agreement.csv, audit.json"
    assert lines["wrote"] == f"{tmp_path}/run/{files_written}, report.html, evidence.json"
    assert lines["interval"] == f"{said['gap']['low']:.3f} to {said['gap']['high']:.3f} (95%, tasks as a sample)"
    low, high = said["bootstrap"]["low"], said["bootstrap"]["high"]
    assert lines["bootstrap"].startswith(f"{low:.3f} to {high:.3f} (95%, majority vote; ")
    count = said["workers"]["verdicts"]
    assert lines["workers"] == (
        f"{count['leans']} lean, {count['no sign of leaning']} show no sign of it, {count['too few votes to say']} "
        "have too few votes to say; votes compared as they are (groups may truly differ)"
    )
    alphas = said["agreement"]["by_group"]
    assert lines["alpha"] == (
        f"{said['agreement']['alpha']:.3f} (Krippendorff; {alphas['a']:.3f} in a, {alphas['b']:.3f} in b)"
    )
    tied, ties = sum(said["ties"]["tied"].values()), said["ties"]
    assert lines["ties"].startswith(f"{tied} tied tasks leave the majority's gap between {ties['smallest']:.3f} and ")
    assert lines["adds up"].endswith(f"independently of each other, and has {said['added_up']['observed']:.3f}")
    assert "made fair to the groups; faircrowd aggregate with --epsilon VALUE bounds" in out  # audit has no epsilon
    assert lines["bound"].endswith(f"every task: {said['bound']['value']:.3f}")
    assert f"{said['strata']['mean']:.3f} on average" in lines["strata"]


def test_agreement_without_groups(crowd: Path, tmp_path: Path, faircrowd: Run) -> None:
    out = tmp_path / "run"
    code, said, err = faircrowd("audit", crowd / "two" / "votes.csv", "--out", out, "--charts", tmp_path / "charts")
    assert (code, err) == (0, "")
    assert (tmp_path / "charts" / "agreement.png").exists()
    found = json.loads((out / "audit.json").read_text())["agreement"]
    votes = pd.read_csv(crowd / "two" / "votes.csv")
    each = votes.groupby("task")["label"].agg(lambda of: pair_share(of.to_numpy())).dropna()
    assert found["pairs"]["groups"] == [
        {
            "group": "all tasks",
            "tasks": len(each),
            "agreement": pytest.approx(each.mean()),
            "low": pytest.approx(found["pairs"]["groups"][0]["low"]),
            "high": pytest.approx(found["pairs"]["groups"][0]["high"]),
        }
    ]
    assert f"{each.mean():.1%} of the pairs of votes on a task agree" in lines_of(said)["pairs"]
    pairs = pd.read_csv(out / "pairs.csv")
    wide = votes.pivot_table(index="task", columns="worker", values="label", aggfunc="last")
    one, other, tasks = pairs.loc[0, ["worker", "other", "tasks"]]
    assert tasks == wide[[one, other]].dropna().shape[0]
    page = (out / "report.html").read_text()
    assert "<title>Audit of the crowd · faircrowd</title>" in page
    assert "Who agrees with whom" in page
    assert faircrowd("verify", out)[0] == 0


def pair_share(labels: Any) -> float:
    if labels.size < 2:
        return float("nan")
    same = (labels[:, None] == labels[None, :]).sum() - labels.size
    return float(same / (labels.size * (labels.size - 1)))


def test_groups_in_the_votes_and_odd_names(crowd: Path, tmp_path: Path, faircrowd: Run) -> None:
    votes = pd.read_csv(crowd / "two" / "votes.csv")
    tasks = pd.read_csv(crowd / "two" / "tasks.csv", index_col="task")
    odd = votes.rename(columns={"task": "the item", "worker": "who", "label": "says"})
    odd.assign(side=odd["the item"].map(tasks["group"])).to_csv(tmp_path / "votes.tsv", sep="\t", index=False)
    named = ("--task", "the item", "--worker", "who", "--label", "says", "--group", "side", "--no-report")
    for out, given in (("one", files(crowd / "two")), ("two", (tmp_path / "votes.tsv", *named))):
        assert faircrowd("audit", *given, "--replicates", 20, "--out", tmp_path / out)[0] == 0
    for name in ("audit.json", "workers.csv", "groups.csv"):
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()


def test_several_attributes_intersect(crowd: Path, tmp_path: Path, faircrowd: Run) -> None:
    given = (*files(crowd / "two"), "--group", "stratum", "--replicates", 0, "--out", tmp_path / "run")
    assert faircrowd("audit", *given)[0] == 0
    assert set(read_csv(tmp_path / "run" / "groups.csv")["group"]) == {"a & easy", "a & hard", "b & easy", "b & hard"}


@pytest.mark.parametrize(
    "text",
    [
        "1,a,x,p\n2,b,y,q\n",
        "1,a,x,p\n1,b,y,p\n2,a,y,q\n3,b,x,q\n",
        "1,a,x,p\n2,a,x,q\n3,b,x,q\n4,b,y,q\n",
        "1,a,x,p\n2,a,y,q\n3,b,z,r\n",
    ],
)
def test_tiny_crowds_are_audited(text: str, tmp_path: Path, faircrowd: Run) -> None:
    (tmp_path / "votes.csv").write_text("task,worker,label,group\n" + text)
    ids = range(1, text.count("\n") + 1)
    (tmp_path / "tasks.csv").write_text("task,stratum\n" + "".join(f"{task},s{task}\n" for task in ids))
    given = ("--tasks", tmp_path / "tasks.csv", "--group", "group", "--control", "stratum", "--replicates", 10)
    code, out, err = faircrowd("audit", tmp_path / "votes.csv", *given, "--out", tmp_path / "run")
    assert (code, err) == (0, "")
    assert "nan" not in out
    page = (tmp_path / "run" / "report.html").read_text()
    assert re.search(r"\bnan\b", page[: page.index("<script")]) is None
    assert lines_of(out)["workers"].startswith("0 lean, 0 show no sign of it")
    assert lines_of(out)["strata"].startswith("gap within strata not defined on average")
    assert json.loads((tmp_path / "run" / "audit.json").read_text())["strata"]["mean"] is None


def test_labels_nobody_voted_for_are_noted(crowd: Path, tmp_path: Path, faircrowd: Run) -> None:
    """As for aggregate, rows that are set aside are reported."""
    tasks = pd.read_csv(crowd / "two" / "tasks.csv", dtype=str)
    tasks.loc[0, "truth"] = "other"
    tasks.to_csv(tmp_path / "tasks.csv", index=False)
    given = (
        "--tasks",
        tmp_path / "tasks.csv",
        "--group",
        "group",
        "--truth",
        "truth",
        "--replicates",
        0,
        "--no-report",
    )
    for command in ("audit", "aggregate"):
        more = given if command == "audit" else [part for part in given if part not in ("--replicates", 0)]
        code, out, err = faircrowd(command, crowd / "two" / "votes.csv", *more, "--out", tmp_path / command)
        assert (code, err) == (0, "")
        assert "has labels that nobody voted for: 'other'" in out


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--control", "nope"], "No column 'nope' in"),
        (["--control", "stratum", "--confidence", "1"], "--confidence must be below 1"),
        (["--confidence", "nan"], "confidence must be a number from 0.5"),
        (["--replicates", "-1"], "replicates must be a whole number"),
        (["--replicates", "many"], "Invalid value for '--replicates'"),
        (["--random-state", "-1"], "--random-state must be a whole number"),
        (["--method", "best"], "--method best is not known"),
        (["--method", "bayes"], "learns from known labels; give --tasks FILE --gold COLUMN"),
    ],
)
def test_bad_options(more: list[str], message: str, crowd: Path, tmp_path: Path, faircrowd: Run) -> None:
    code, out, err = faircrowd("audit", *files(crowd / "two"), *more, "--out", tmp_path / "run")
    assert (code, out) == (2, "")
    assert message in err
    assert err.count("\n") == 1
    assert not (tmp_path / "run").exists()


def test_nothing_to_compare(crowd: Path, tmp_path: Path, faircrowd: Run) -> None:
    votes, tasks = crowd / "two" / "votes.csv", crowd / "two" / "tasks.csv"
    for given, message in (
        ((votes, "--control", "stratum"), "--table VALUE compare groups; give --group COLUMN."),
        ((votes, "--tasks", tasks, "--group", "one"), "all tasks are of group 'same'"),
        ((votes, "--group", "group", "--control", "stratum"), "--control names a column of the tasks table"),
    ):
        code, out, err = faircrowd("audit", *given, "--out", tmp_path / "run")
        assert (code, out) == (2, "")
        assert message in err
    assert not (tmp_path / "run").exists()


def test_control_must_know_every_task(crowd: Path, tmp_path: Path, faircrowd: Run) -> None:
    tasks = pd.read_csv(crowd / "two" / "tasks.csv", dtype=str)
    tasks.loc[[2, 5], "stratum"] = None
    tasks.to_csv(tmp_path / "tasks.csv", index=False)
    given = ("--tasks", tmp_path / "tasks.csv", "--group", "group", "--control", "stratum", "--out", tmp_path / "run")
    code, _, err = faircrowd("audit", crowd / "two" / "votes.csv", *given)
    assert code == 2
    assert f"2 of 150 tasks have no 'stratum' in {tmp_path}/tasks.csv: 2, 5." in err


def test_an_input_is_not_overwritten(crowd: Path, tmp_path: Path, faircrowd: Run) -> None:
    (tmp_path / "workers.csv").write_text((crowd / "two" / "votes.csv").read_text())
    given = ("--tasks", crowd / "two" / "tasks.csv", "--group", "group", "--out", tmp_path)
    code, _, err = faircrowd("audit", tmp_path / "workers.csv", *given)
    assert code == 2
    assert "would overwrite the input" in err


def test_by_group_is_in_the_name_of_the_method(crowd: Path, tmp_path: Path, faircrowd: Run) -> None:
    given = (*files(crowd / "two"), "--method", "dawid-skene", "--by-group", "--replicates", 0)
    code, out, _ = faircrowd("audit", *given, "--out", tmp_path / "run")
    assert code == 0
    assert lines_of(out)["method"].startswith("pooled dawid-skene by group, ")


def test_impact_ratios(crowd: Path, tmp_path: Path, faircrowd: Run) -> None:
    """The table of Local Law 144: as in Python, printed, as CSV and as JSON, repeated and verified."""
    folder, out = crowd / "two", tmp_path / "run"
    tasks = pd.read_csv(folder / "tasks.csv")
    tasks.loc[3:6, "stratum"] = None
    tasks.to_csv(tmp_path / "people.csv", index=False)
    given = (folder / "votes.csv", "--tasks", tmp_path / "people.csv", "--group", "group", "--group", "stratum")
    more = ("--on-missing-group", "drop", "--table", "ll144", "--selected", 1, "--replicates", 0)
    code, said, err = faircrowd("audit", *given, *more, "--no-report", "--out", out)
    assert (code, err) == (0, "")
    labels = fc.MajorityVote().fit(fc.read_votes(folder / "votes.csv")).labels_
    people = tasks.set_index("task")[["group", "stratum"]]
    expected = impact_table(labels, sensitive_features=people, selected=1)
    written = read_csv(out / "impact_ratios.csv")
    np.testing.assert_equal(written.to_dict("list"), expected.table().to_pandas().to_dict("list"))
    assert re.search(r"group \* stratum: a & easy +\d+ +\d+ +[\d.]+% +[\d.]+", said)
    assert "stratum: 4 of 150 not known, and in none of the rates" in said
    code, as_json, _ = faircrowd("audit", *given, *more, "--no-report", "--out", out, "--json")
    assert json.loads(as_json)["impact"]["unknown"] == {"group": 0, "stratum": 4, "group * stratum": 4}
    assert faircrowd("verify", out)[0] == 0


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (("--table", "ll144"), "--table ll144 needs --selected LABEL, the label that counts as selected"),
        (("--table", "ll145", "--selected", "1"), "--table ll145 is not known"),
        (("--selected", "1"), "--selected and --leave-out-small go with --table ll144"),
        (("--table", "ll144", "--selected", "7"), "'7' is not one of the labels, 0, 1"),
    ],
)
def test_impact_ratios_that_cannot_be_made(
    given: tuple[str, ...], message: str, crowd: Path, tmp_path: Path, faircrowd: Run
) -> None:
    code, out, err = faircrowd("audit", *files(crowd / "two"), *given, "--out", tmp_path / "run")
    assert (code, out) == (2, "")
    assert message in err
    assert not (tmp_path / "run").exists()
