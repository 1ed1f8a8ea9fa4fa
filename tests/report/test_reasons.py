"""The reasons in labels.csv are true, task by task."""

import json
import re
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import faircrowd as fc
from faircrowd.exact.hashing import task_keys
from faircrowd.report.reasons import Reasons
from faircrowd.votes import Vocabulary

Make = Callable[..., Path]

NEAR = 1e-9
"""Scores that differ by less are tied: a program's prices are no more exact."""


EXACT: dict[str, Any] = {"float_precision": "round_trip"} if pd.__version__ < "3" else {}
"""Pandas 2 may miss the last bit of a number."""


def crowd(folder: Path, n_classes: int = 2, n_groups: int = 2, seed: int = 3, votes: int = 5) -> tuple[Any, ...]:
    """Write votes whose numbers per task differ; return the arguments that read them."""
    rng = np.random.default_rng(seed)
    shares = [np.roll([3, *[1] * (n_classes - 1)], a) / (n_classes + 2) for a in range(n_groups)]
    skills = [(0.4, 0.9)] * n_groups
    sizes = np.full(n_groups, 1 / n_groups)
    drawn = fc.simulate_crowd(
        240, 12, votes, group_shares=sizes, class_shares=shares, skill_ranges=skills, random_state=seed
    )
    fewer = drawn.votes[rng.random(len(drawn.votes)) < 0.9]
    fewer.to_csv(folder / "votes.csv", index=False)
    tasks = drawn.sensitive_features.map(dict(enumerate("abcde"))).rename("group").rename_axis("task")
    tasks[sorted(fewer["task"].unique())].to_csv(folder / "tasks.csv")
    return (folder / "votes.csv", "--tasks", folder / "tasks.csv", "--group", "group")


def read(out: Path) -> tuple[pd.DataFrame, fc.FairRule]:
    labels = pd.read_csv(out / "labels.csv", **EXACT)
    return labels, fc.FairRule.from_json((out / "rule.json").read_text())


@pytest.mark.parametrize("method", ["majority", "dawid-skene", "wawa"])
@pytest.mark.parametrize("epsilon", [0, 0.03, 0.1, 1])
def test_every_column_and_every_side(method: str, epsilon: float, tmp_path: Path, make: Make) -> None:
    given = crowd(tmp_path)
    out = make("aggregate", *given, "--method", method, "--epsilon", epsilon, "--no-report", out=tmp_path / "run")
    labels, rule = read(out)
    assert list(labels) == [
        *(
            "task",
            "label",
            "label_before",
            "changed",
            "votes",
            "posterior_0",
            "posterior_1",
            "group",
            "threshold",
            "why",
        )
    ]
    assert not labels.isna().any(axis=None)
    votes = pd.read_csv(tmp_path / "votes.csv")
    assert labels["votes"].tolist() == votes.groupby("task").size()[labels["task"]].tolist()
    thresholds = dict(zip(rule.groups, rule.thresholds, strict=True))
    assert labels["threshold"].tolist() == pytest.approx([thresholds[group] for group in labels["group"]], abs=0)
    for row in labels.itertuples():
        check_threshold(row)
    check_ranks(labels, rule)


def check_threshold(row: Any) -> None:
    """Compare the reason with the posterior, the threshold and the label."""
    p, t = row.posterior_1, row.threshold
    of = f"group {row.group}'s threshold {t:.4g}"
    if row.why == f"below {of}":
        assert p < t
        assert row.label == 0
    elif row.why == f"above {of}":
        assert p > t
        assert row.label == 1
    elif row.why.startswith(f"at {of}; "):
        assert p == pytest.approx(t, abs=1e-15)
        how = "changed to keep the gap within epsilon" if row.changed else "kept"
        assert row.why == f"at {of}; {how}"
    elif row.why.endswith(f"; {row.label} by rounding to whole tasks"):
        side = "below" if row.label == 1 else "above"
        assert row.why.startswith(f"{side} {of}; ")
        assert (p < t) if row.label == 1 else (p > t)
    else:
        how = "changed" if row.changed else "kept"
        assert re.fullmatch(rf"tie, {how} by rank [\d,]+ of [\d,]+", row.why), row


def check_ranks(labels: pd.DataFrame, rule: fc.FairRule) -> int:
    """Ranks of equal tasks are 1 to n in the order of votes, then of the hash; equal labels stand together."""
    found = labels["why"].str.extract(r"^tie, (?:kept|changed) by rank ([\d,]+) of ([\d,]+)$")
    tied = labels.assign(
        rank=pd.to_numeric(found[0].str.replace(",", "")), of=pd.to_numeric(found[1].str.replace(",", ""))
    ).dropna(subset="rank")
    columns = [name for name in labels if name.startswith("posterior_")]
    for _, atom in tied.groupby(["group", *columns]):
        for _, part in atom.groupby("of"):  # of equal posteriors some may still differ in log odds
            ordered = part.sort_values("rank")
            assert ordered["rank"].tolist() == list(range(1, int(part["of"].iloc[0]) + 1))
            keys = task_keys(Vocabulary(pa.array(part["task"])), np.arange(len(part)), rule.random_state)
            expected = part.assign(key=keys).sort_values(["votes", "key"], ascending=[False, True])
            assert ordered["task"].tolist() == expected["task"].tolist()
            runs = (ordered["label"] != ordered["label"].shift()).sum()
            assert runs == ordered["label"].nunique() > 1
    return len(tied)


def test_equal_tasks_are_ordered_by_rank(tmp_path: Path, make: Make) -> None:
    """A majority of few votes has many equal posteriors; another seed orders them in another way."""
    given = crowd(tmp_path)
    said = []
    for seed in (0, 1):
        out = make(
            "aggregate",
            *given,
            "--method",
            "majority",
            "--epsilon",
            0.05,
            "--random-state",
            seed,
            "--no-report",
            out=tmp_path / "run",
        )
        labels, rule = read(out)
        assert check_ranks(labels, rule) > 5
        said.append(labels["why"].tolist())
    assert said[0] != said[1]


@pytest.mark.parametrize("method", ["majority", "dawid-skene"])
@pytest.mark.parametrize(
    ("n_classes", "n_groups", "strict"), [(3, 2, False), (3, 2, True), (4, 2, False), (2, 3, False)]
)
def test_many_classes_and_groups(
    method: str, n_classes: int, n_groups: int, strict: bool, tmp_path: Path, make: Make
) -> None:
    given = crowd(tmp_path, n_classes, n_groups, seed=n_classes + n_groups)
    more = ["--strict"] if strict else []
    out = make("aggregate", *given, "--method", method, "--epsilon", 0.05, *more, "--no-report", out=tmp_path / "run")
    labels, rule = read(out)
    assert ("threshold" in labels) == (n_classes == 2)
    posterior = labels[[f"posterior_{k}" for k in range(n_classes)]].to_numpy()
    group = np.array([rule.groups.index(name) for name in labels["group"]])
    scores = posterior - rule.prices[group]
    best = scores.max(axis=1)
    lead = best - np.sort(scores, axis=1)[:, -2]
    for i, row in enumerate(labels.itertuples()):
        loss = best[i] - scores[i, row.label]
        if row.why.startswith("tie, "):
            assert ("changed" in row.why) == row.changed
        elif n_classes == 2 and (" by rounding" in row.why or row.why.startswith("at ")):
            assert (loss > NEAR) == (" by rounding" in row.why)
            assert loss > NEAR or lead[i] <= NEAR
        elif n_classes == 2:
            check_threshold(row)
        else:
            check_prices(row, loss, lead[i], posterior[i])
    check_ranks(labels, rule)


def check_prices(row: Any, loss: float, lead: float, posterior: np.ndarray) -> None:
    if row.why == "the likeliest label":
        assert posterior[row.label] == posterior.max()
        assert loss <= NEAR < lead
        assert not row.changed
    elif row.why == f"group {row.group}'s prices favour {row.label} over the likeliest label":
        assert loss <= NEAR < lead
        assert row.changed
    elif row.why == f"group {row.group}'s prices favour another label; {row.label} by rounding to whole tasks":
        assert loss > NEAR
    else:
        how = "changed to keep the gap within epsilon" if row.changed else "kept"
        assert row.why == f"tied in group {row.group}; {how}"
        assert loss <= NEAR
        assert lead <= NEAR


def test_posteriors_that_round_to_one_are_not_called_tied(tmp_path: Path, make: Make) -> None:
    """Sure aggregators: thresholds of 1e-14 still have a side above and a side below."""
    given = crowd(tmp_path, votes=11)
    out = make("aggregate", *given, "--epsilon", 0, "--by-group", "--no-report", out=tmp_path / "run")
    labels, _ = read(out)
    for row in labels.itertuples():
        check_threshold(row)
    sides = labels["why"].str.split().str[0].value_counts()
    assert sides["above"] + sides["below"] > 0.9 * len(labels)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_draws_give_their_probability(n_classes: int, tmp_path: Path, make: Make) -> None:
    given = crowd(tmp_path, n_classes)
    more = ("--method", "majority", "--epsilon", 0.05, "--decision", "randomized")
    out = make("aggregate", *given, *more, "--no-report", out=tmp_path / "run")
    labels, _ = read(out)
    groups = pd.read_csv(tmp_path / "tasks.csv", index_col="task")["group"]
    fair = fc.FairCrowd(fc.MajorityVote(), epsilon=0.05, decision="randomized")
    law = fair.fit(tmp_path / "votes.csv", sensitive_features=groups)._result.probabilities
    chance = np.array([law.at[row.task, row.label] for row in labels.itertuples()])
    drawn = labels["why"].str.extract(r"^tie, drawn with probability (.*)$")[0].astype(float)
    assert (drawn.notna() == (chance < 1)).all()
    assert drawn.notna().sum() > 3
    assert drawn.dropna().tolist() == pytest.approx(chance[chance < 1], rel=1e-3)


def test_own_ties_are_kept_where_nothing_changes(tmp_path: Path, make: Make) -> None:
    text = "task,worker,label,group\n" + "".join(
        f"{t},{w},{(t + w) % 2},{'ab'[t // 20]}\n" for t in range(40) for w in (0, 1)
    )
    (tmp_path / "votes.csv").write_text(text)
    for ties, label in (("first", 0), ("last", 1)):
        given = ("--group", "group", "--method", "majority", "--ties", ties, "--epsilon", 0.5)
        labels, _ = read(make("aggregate", tmp_path / "votes.csv", *given, "--no-report", out=tmp_path / "run"))
        assert set(labels["label"]) == {label}
        assert set(labels["why"]) == {"at group a's threshold 0.5; kept", "at group b's threshold 0.5; kept"}


def test_without_epsilon_there_are_no_reasons(tmp_path: Path, make: Make) -> None:
    labels = pd.read_csv(make("aggregate", *crowd(tmp_path), "--no-report", out=tmp_path / "run") / "labels.csv")
    assert list(labels) == ["task", "label", "votes", "posterior_0", "posterior_1", "group"]


def test_formulas_are_neutralised(tmp_path: Path, make: Make) -> None:
    """Ids, groups and labels that a spreadsheet would run are texts, in each file."""
    rows = []
    for t in range(40):
        group, task = "@x" if t % 2 else "=cmd()", f"=1+{t}"
        rows += [
            {"task": task, "worker": f"-{w}|", "label": ["+a", "-b"][(t + w) % 3 == 0], "group": group}
            for w in range(3)
        ]
    (tmp_path / "votes.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    out = make(
        "aggregate", tmp_path / "votes.jsonl", "--group", "group", "--epsilon", 0.1, "--no-report", out=tmp_path / "run"
    )
    make(
        "audit", tmp_path / "votes.jsonl", "--group", "group", "--replicates", 0, "--no-report", out=tmp_path / "audit"
    )
    for path in (
        out / "labels.csv",
        out / "workers.csv",
        tmp_path / "audit" / "workers.csv",
        tmp_path / "audit" / "groups.csv",
    ):
        table = pd.read_csv(path, dtype=str, keep_default_na=False)
        for cell in [*table, *table.to_numpy().ravel()]:
            assert not re.match(r"[=@+\t\r]|-(?![0-9.]+(e-?[0-9]+)?$)", cell), (path.name, cell)
    labels = pd.read_csv(out / "labels.csv")
    assert set(labels["group"]) == {"'@x", "'=cmd()"}
    assert labels["task"].tolist()[:2] == ["'=1+0", "'=1+1"]
    assert set(labels["label"]) <= {"'+a", "'-b"}
    assert labels["why"].str.match(r"(above|below|at|tie|the|group|tied)\b").all()


def test_row_order_does_not_change_a_word(tmp_path: Path, make: Make) -> None:
    given = crowd(tmp_path)
    first, _ = read(
        make("aggregate", *given, "--method", "majority", "--epsilon", 0.05, "--no-report", out=tmp_path / "run")
    )
    votes = pd.read_csv(tmp_path / "votes.csv")
    votes.sample(frac=1, random_state=1).to_csv(tmp_path / "votes.csv", index=False)
    second, _ = read(
        make("aggregate", *given, "--method", "majority", "--epsilon", 0.05, "--no-report", out=tmp_path / "run")
    )
    pd.testing.assert_frame_equal(
        first.sort_values("task", ignore_index=True), second.sort_values("task", ignore_index=True)
    )


def test_any_posterior_has_reasons() -> None:
    """Also one that came from elsewhere: no votes, no log odds."""
    rng = np.random.default_rng(1)
    p = rng.random(200).round(2)
    result = fc.make_fair(np.stack([1 - p, p], axis=1), np.repeat([0, 1], [80, 120]), epsilon=0.0)
    found = Reasons(result).columns(slice(0, 200))
    at, words = found["threshold"], found["why"].to_pylist()
    assert len(words) == 200
    for value, threshold, label, word in zip(p, at, result.labels, words, strict=True):
        if word.startswith(("above", "below")) and "rounding" not in word:
            assert (label == 1) == (value > threshold) == word.startswith("above")
    three = fc.make_fair(rng.dirichlet(np.ones(3), 60), np.repeat([0, 1], 30), epsilon=0.1)
    found = Reasons(three).columns(slice(0, 60))
    assert list(found) == ["why"]
    assert len(found["why"]) == 60


@pytest.mark.parametrize("decision", ["deterministic", "randomized"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_reasons_of_some_tasks_are_those_of_all(n_classes: int, decision: str) -> None:
    rng = np.random.default_rng(2)
    counts = rng.multinomial(3, np.full(n_classes, 1 / n_classes), 300)
    result = fc.make_fair(counts / 3, np.repeat([0, 1], [100, 200]), epsilon=0.01, decision=decision)
    why = Reasons(result)
    whole = why.columns(slice(0, 300))["why"].to_pylist()
    assert any(word.startswith("tie, ") for word in whole)
    cuts = [0, 1, 99, 170, 171, 300]
    parts = [why.columns(slice(a, b))["why"].to_pylist() for a, b in pairwise(cuts)]
    assert [word for part in parts for word in part] == whole
