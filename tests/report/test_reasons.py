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
    for row in labels[~labels["changed"]].itertuples():
        check_kept(row)
    check_ranks(labels, rule)
    check_changes(labels, rule)


def check_kept(row: Any) -> None:
    """Compare the reason of a label that was kept with the posterior, the threshold and the label."""
    p, t = row.posterior_1, row.threshold
    of = f"group {row.group}'s threshold {t:.4g}"
    its = "kept: its posterior of 1 is"
    if row.why == f"{its} below {of}":
        assert p < t
        assert row.label == 0
    elif row.why == f"{its} above {of}":
        assert p > t
        assert row.label == 1
    elif row.why == f"{its} at {of}":
        assert p == pytest.approx(t, abs=1e-9)
    elif RANK.fullmatch(row.why) is None:
        assert re.fullmatch(r"kept: (no further change was needed to come within \S+|changes end at whole.*)", row.why)
        assert (p < t) if row.label == 1 else (p > t)


RANK = re.compile(
    r"kept: rank ([\d,]+) of ([\d,]+) tasks of group (.*) with this posterior, of which ([\d,]+) were changed"
)
CHANGE = re.compile(
    r"changed from (.*) to (.*) so that group (.*)'s (?:rate of 1 comes|rates come) within (\S+); "
    r"(?:number ([\d,]+) of ([\d,]+) such changes, the least certain first|1 such change)"
)


def numbers(found: pd.Series) -> pd.Series:
    return pd.to_numeric(found.str.replace(",", ""))


def check_ranks(labels: pd.DataFrame, rule: fc.FairRule) -> int:
    """Ranks of equal tasks are in the order of votes, then of the hash; those changed stand together at one end."""
    found = labels["why"].str.extract(RANK)
    tied = labels.assign(rank=numbers(found[0]), of=numbers(found[1]), moved=numbers(found[3])).dropna(subset="rank")
    assert not tied["changed"].any()
    columns = [name for name in labels if name.startswith("posterior_")]
    atoms = labels.groupby(["group", *columns])
    for place, part in tied.groupby(["group", *columns]):
        atom = atoms.get_group(place)
        if len(atom) != part["of"].iloc[0]:
            continue  # of equal posteriors some may still differ in log-odds
        assert set(part["moved"]) == {atom["changed"].sum()}
        keys = task_keys(Vocabulary(pa.array(atom["task"])), np.arange(len(atom)), rule.random_state)
        expected = atom.assign(key=keys).sort_values(["votes", "key"], ascending=[False, True])["task"].tolist()
        for row in part.itertuples():
            assert expected.index(row.task) == row.rank - 1
    return len(tied)


def check_changes(labels: pd.DataFrame, rule: fc.FairRule) -> int:
    """Changes are counted by group, label before and label after, and ranked from the least certain on."""
    changed = labels[labels["changed"]]
    found = changed["why"].str.extract(CHANGE)
    assert found[0].notna().all(), changed["why"][found[0].isna()].tolist()
    assert found[0].tolist() == changed["label_before"].astype(str).tolist()
    assert found[1].tolist() == changed["label"].astype(str).tolist()
    assert found[2].tolist() == changed["group"].tolist()
    assert set(found[3]) <= {f"{rule.epsilon:.4g}"}
    before, after = (
        np.array([row[f"posterior_{row[name]}"] for _, row in changed.iterrows()]) for name in ("label_before", "label")
    )
    ranked = changed.assign(
        rank=numbers(found[4]).fillna(1), total=numbers(found[5]).fillna(1), certainty=before - after
    )
    for _, kind in ranked.groupby(["group", "label_before", "label"]):
        ordered = kind.sort_values("rank")
        assert ordered["rank"].tolist() == list(range(1, len(kind) + 1))
        assert set(kind["total"]) == {len(kind)}
        assert (ordered["certainty"].diff().dropna() >= -1e-12).all()
    return len(changed)


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
        assert check_ranks(labels, rule) > 3
        assert check_changes(labels, rule) > 5
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
        if row.changed or RANK.fullmatch(row.why):
            continue
        if n_classes == 2:
            check_kept(row)
        else:
            check_prices(row, best[i] - scores[i, row.label], lead[i], posterior[i])
    check_ranks(labels, rule)
    assert check_changes(labels, rule) > 0


def check_prices(row: Any, loss: float, lead: float, posterior: np.ndarray) -> None:
    if row.why == "kept: the most probable label":
        assert posterior[row.label] == posterior.max()
        assert loss <= NEAR < lead
    elif row.why == f"kept: tied with another label by group {row.group}'s rule":
        assert loss <= NEAR
        assert lead <= NEAR
    else:
        assert re.fullmatch(r"kept: (no further change was needed to come within \S+|changes end at whole.*)", row.why)
        assert loss > NEAR


def test_posteriors_that_round_to_one_are_not_called_tied(tmp_path: Path, make: Make) -> None:
    """Sure aggregators: thresholds of 1e-14 still have a side above and a side below."""
    given = crowd(tmp_path, votes=11)
    out = make("aggregate", *given, "--epsilon", 0, "--by-group", "--no-report", out=tmp_path / "run")
    labels, _ = read(out)
    kept = labels[~labels["changed"]]
    for row in kept.itertuples():
        check_kept(row)
    assert kept["why"].str.contains(" is (?:above|below) group ").sum() > 0.9 * len(kept)


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
    drawn = labels["why"].str.extract(r"by a draw with probability ([0-9.e-]+)")[0].astype(float)
    assert (drawn.notna() == (chance < 1)).all()
    assert drawn.notna().sum() > 3
    assert (labels["why"].str.startswith("changed from ") == labels["changed"]).all()
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
        assert set(labels["why"]) == {f"kept: its posterior of 1 is at group {name}'s threshold 0.5" for name in "ab"}


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
    assert labels["why"].str.match(r"(kept|changed)\b").all()


def test_an_objective_that_prefers_another_label_says_so(tmp_path: Path) -> None:
    """Missing a 1 costs five times as much as missing a 0: labels change without any gap to close."""
    rng = np.random.default_rng(4)
    p = rng.random(100)
    result = fc.make_fair(
        np.stack([1 - p, p], axis=1), np.repeat([0, 1], 50), epsilon=1.0, objective=[[1.0, 0.0], [0.0, 5.0]]
    )
    changed = (p <= 0.5) & (p > 1 / 6)
    words = Reasons.of(result).columns(slice(0, 100))["why"].to_pylist()
    assert [word == "changed from 0 to 1, which gains more under the objective" for word in words] == changed.tolist()


def test_reasons_never_contradict_the_label(tmp_path: Path, make: Make) -> None:
    """No label is explained by a side of a threshold on which it is not."""
    for seed in range(4):
        given = crowd(tmp_path, seed=seed, votes=3)
        labels, _ = read(make("aggregate", *given, "--epsilon", 0.02, "--no-report", out=tmp_path / "run"))
        assert labels["why"].str.startswith("changed ").tolist() == labels["changed"].tolist()
        above, below = (labels["why"].str.contains(f" is {side} ") for side in ("above", "below"))
        assert set(labels["label"][above]) <= {1}
        assert set(labels["label"][below]) <= {0}
        assert not labels["why"].str.contains("rounding").any()


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
    found = Reasons.of(result).columns(slice(0, 200))
    at, words = found["threshold"], found["why"].to_pylist()
    assert len(words) == 200
    for value, threshold, label, word in zip(p, at, result.labels, words, strict=True):
        if " is above " in word or " is below " in word:
            assert (label == 1) == (value > threshold) == (" is above " in word)
    assert any(word.startswith("changed from ") for word in words)
    three = fc.make_fair(rng.dirichlet(np.ones(3), 60), np.repeat([0, 1], 30), epsilon=0.1)
    found = Reasons.of(three).columns(slice(0, 60))
    assert list(found) == ["why"]
    assert len(found["why"]) == 60


@pytest.mark.parametrize("decision", ["deterministic", "randomized"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_reasons_of_some_tasks_are_those_of_all(n_classes: int, decision: str) -> None:
    rng = np.random.default_rng(2)
    counts = rng.multinomial(3, np.full(n_classes, 1 / n_classes), 300)
    result = fc.make_fair(counts / 3, np.repeat([0, 1], [100, 200]), epsilon=0.01, decision=decision)
    why = Reasons.of(result)
    whole = why.columns(slice(0, 300))["why"].to_pylist()
    assert any(" by a draw " in word or word.startswith("kept: rank ") for word in whole)
    cuts = [0, 1, 99, 170, 171, 300]
    parts = [why.columns(slice(a, b))["why"].to_pylist() for a, b in pairwise(cuts)]
    assert [word for part in parts for word in part] == whole
