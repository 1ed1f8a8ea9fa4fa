"""The page as a file: its order, its size, its numbers, and every kind of run."""

import json
import os
import re
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import faircrowd as fc
from faircrowd.cli.app import run
from faircrowd.report.safe_names import short, shorts

Make = Callable[..., Path]

SECTIONS = ["about", "frontier", "rates", "posterior", "changes", "workers", "crowd", "limits", "method", "reproduce"]
WITH_TRUTH = [*SECTIONS[:4], "truth", *SECTIONS[4:]]
LARGE = (200_010, 3_000, 30, 12) if os.environ.get("FAIRCROWD_SLOW") else (2_600, 350, 13, 7)
"""Tasks, workers, groups and classes of the large input; FAIRCROWD_SLOW=1 makes it larger."""
CHARTS = ["frontier", "funnel", "posterior", "rates"]


class Page(HTMLParser):
    """What a page holds: sections in order, elements with their attributes, and the text of each kind of element."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.html = path.read_text(encoding="utf-8")
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: dict[str, list[str]] = {}
        self._open: list[str] = []
        self.feed(self.html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in ("meta", "input", "br"):
            self._open.append(tag)
            self.texts.setdefault(tag, []).append("")

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        for tag in set(self._open):
            self.texts[tag][-1] += data

    @property
    def sections(self) -> list[str]:
        return [attributes["id"] for tag, attributes in self.elements if tag == "section" and "id" in attributes]

    @property
    def data(self) -> Any:
        return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', self.html)[1])

    def cards(self) -> dict[str, str]:
        found = re.findall(r'<div class="card"><b.*?>(.*?)</b><span>(.*?)</span>', self.html)
        return {name: value for value, name in found}


@pytest.fixture(scope="module")
def crowd(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("crowd")
    drawn = fc.simulate_crowd(300, 15, random_state=5)
    drawn.votes.to_csv(folder / "votes.csv", index=False)
    tasks = pd.DataFrame({"group": drawn.sensitive_features.map({0: "a", 1: "b"}), "truth": drawn.truth, "one": "same"})
    tasks["three"] = ["xyz"[i % 3] for i in range(len(tasks))]
    tasks.rename_axis("task").to_csv(folder / "tasks.csv")
    return folder


def given(crowd: Path, group: str = "group") -> tuple[Any, ...]:
    return (crowd / "votes.csv", "--tasks", crowd / "tasks.csv", "--group", group)


@pytest.fixture(scope="module")
def fair(crowd: Path, make: Make) -> Path:
    return make("aggregate", *given(crowd), "--epsilon", 0.05, "--truth", "truth", out=crowd / "fair")


def test_sections_stand_in_order(fair: Path) -> None:
    page = Page(fair / "report.html")
    assert page.sections == WITH_TRUTH
    headings = ["".join(text.split("\n")) for text in page.texts["h2"]]
    assert len(headings) == len(WITH_TRUTH) - 1  # what the page is about has none
    places = [page.html.index(part) for part in ("<h1>", 'class="lead"', 'class="cards many"', 'id="frontier"')]
    assert places == sorted(places)
    assert len(page.cards()) == 8
    assert sorted(page.data["charts"]) == sorted([*CHARTS, "reliability"])


def test_numbers_are_those_of_the_certificate(fair: Path) -> None:
    page = Page(fair / "report.html")
    said = json.loads((fair / "certificate.json").read_text())
    cost = said["believed_accuracy_before"] - said["believed_accuracy"]
    labels = pd.read_csv(fair / "labels.csv", index_col="task")
    tasks = pd.read_csv(fair.parent / "tasks.csv", index_col="task")
    right = [(labels[name] == tasks["truth"]).mean() for name in ("label_before", "label")]
    true_rates = tasks["truth"].groupby(tasks["group"]).mean()
    assert page.cards() == {
        "gap before": f"{said['gap_before']:.3f}",
        "gap after": f"{said['gap']:.3f}",
        "gap of the true labels": f"{abs(true_rates['a'] - true_rates['b']):.3f}",
        "labels changed": f"{said['changed']} ({said['changed_share']:.1%})",
        "believed accuracy": f"{said['believed_accuracy']:.1%}",
        "real accuracy": f"{right[1]:.1%}",
        "believed accuracy given up": f"{100 * cost:.2f} points",
        "real accuracy given up": f"{100 * (right[0] - right[1]):.2f} points",
    }
    now, limit, before = (f"{100 * said[name]:.1f}" for name in ("gap", "epsilon", "gap_before"))
    (verdict,) = page.texts["h1"]
    assert (
        verdict == f"The labels keep the limit, but {1 - right[1]:.0%} of them are wrong ({1 - right[0]:.1%} before): "
        f"the groups are {now} points apart ({limit} allowed, {before} before)."
    )
    answer = exact_terms(page.html)
    assert f"from {said['gap_before']:.3f} to {said['gap']:.3f} (epsilon 0.05)" in answer
    assert f"{said['changed']} of 300 labels" in answer
    start = next(int(attributes["value"]) for tag, attributes in page.elements if tag == "input")
    stop = page.data["stops"][start]
    assert stop["epsilon"] == "0.050"
    assert (stop["gap"], stop["believed"]) == (f"{said['gap']:.3f}", f"{said['believed_accuracy']:.2%}")
    assert stop["changed"] == str(said["changed"])
    rates = {(row["row"], row["labels"]): row["rate"] for row in page.data["charts"]["rates"]["data"]["values"]}
    for kind, named in (("before", said["rates_before"]), ("after", said["rates"])):
        for group in "ab":
            assert rates[f"label 1, group = {group}", kind] == pytest.approx(named[group]["1"])
    method = page.html[page.html.index('id="method"') :]
    assert f"{said['bound']:.6f}" in method


def exact_terms(html: str) -> str:
    return re.search(r"The result in exact terms</summary><p>(.*?)</p>", html, re.DOTALL)[1]


def section(html: str, name: str) -> str:
    return re.search(rf'id="{name}">(.*?)</section>', html, re.DOTALL)[1]


def cells(row: str) -> list[str]:
    return [re.sub("<.*?>", "", cell) for cell in re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row)]


def test_belief_stands_beside_truth(fair: Path) -> None:
    """Accuracy before and after, and its price; by group; and the rates of the true labels."""
    said = json.loads((fair / "summary.json").read_text())
    tasks = pd.read_csv(fair.parent / "tasks.csv", index_col="task")
    labels = pd.read_csv(fair / "labels.csv", index_col="task")
    posterior = labels[["posterior_0", "posterior_1"]].to_numpy()
    real = {name: labels[name] == tasks["truth"] for name in ("label_before", "label")}
    believed = {name: pd.Series(posterior[np.arange(300), labels[name]], labels.index) for name in real}
    assert said["accuracy_before"] == pytest.approx(real["label_before"].mean())
    assert said["accuracy"] == pytest.approx(real["label"].mean())
    assert said["believed_accuracy_before"] == pytest.approx(believed["label_before"].mean())
    assert said["believed_accuracy"] == pytest.approx(believed["label"].mean())
    whole, groups, truth = re.findall(r"<tbody>(.*?)</tbody>", section((fair / "report.html").read_text(), "truth"))
    rows = [cells(row) for row in whole.split("<tr")[1:]]
    names = ["accuracy before fairness", "accuracy", "price of fairness"]
    numbers = [
        [part["label_before"].mean(), part["label"].mean(), part["label_before"].mean() - part["label"].mean()]
        for part in (believed, real)
    ]
    shown = [[name, f"{r:.2%}", f"{b:.2%}"] for name, b, r in zip(names, *numbers, strict=True)]
    shown[-1][1:] = [text.replace("%", " points") for text in shown[-1][1:]]  # a difference of two shares
    assert [row[:3] for row in rows] == shown
    for row, group in zip([cells(row) for row in groups.split("<tr>")[1:]], "ab", strict=True):
        inside = tasks["group"] == group
        ones = inside & (tasks["truth"] == 1)
        assert row[:2] == [group, str(inside.sum())]
        for place, part, where in ((2, real, inside), (3, believed, inside), (5, real, ones)):
            before, after = (part[name][where].mean() for name in ("label_before", "label"))
            assert row[place] == f"{before:.1%} → {after:.1%}"
    for row, group in zip([cells(row) for row in truth.split("<tr>")[1:]], "ab", strict=True):
        share = tasks["truth"][tasks["group"] == group].mean()
        assert row[2:] == [f"{1 - share:.1%}", f"{share:.1%}"]


def test_what_is_far_from_the_truth_is_red_and_in_words(tmp_path: Path, make: Make) -> None:
    """Workers who all err together: Dawid-Skene is sure, and wrong."""
    rng = np.random.default_rng(0)
    truth = rng.integers(2, size=200)
    seen = np.where(rng.random(200) < 0.3, 1 - truth, truth)  # what every worker takes for the truth
    votes = [(i, w, seen[i] if rng.random() < 0.95 else 1 - seen[i]) for i in range(200) for w in range(7)]
    pd.DataFrame(votes, columns=["task", "worker", "label"]).to_csv(tmp_path / "votes.csv", index=False)
    tasks = pd.DataFrame({"group": ["ab"[i % 2] for i in range(200)], "truth": truth})
    tasks.rename_axis("task").to_csv(tmp_path / "tasks.csv")
    out = make("aggregate", *given(tmp_path), "--truth", "truth", "--epsilon", 0.01, out=tmp_path / "run")
    html = (out / "report.html").read_text()
    (words,) = re.findall(r'<b class="off">[^<]*</b><span>real accuracy</span><span class="off">(.*?)</span>', html)
    said = json.loads((out / "summary.json").read_text())
    assert said["believed_accuracy"] - said["accuracy"] > 0.2
    assert words == f"believed is {100 * (said['believed_accuracy'] - said['accuracy']):.1f} points too high"
    assert section(html, "truth").count(words) == 1
    assert section(html, "truth").count('<tr class="off">') == 2  # not the price


def test_known_labels_that_were_learned_from_do_not_test(crowd: Path, tmp_path: Path, make: Make) -> None:
    out = make(
        "aggregate", *given(crowd), "--method", "bayes", "--truth", "truth", "--epsilon", 0.05, out=tmp_path / "r"
    )
    page = Page(out / "report.html")
    assert "so they cannot test it" in page.html
    assert sorted(page.data["charts"]) == CHARTS
    assert not re.search(r'class="[^"]*off"', page.html)
    assert "real" not in page.data["stops"][0]


@pytest.mark.parametrize("known", [49, 50])
def test_few_known_labels_make_no_reliability_chart(known: int, crowd: Path, tmp_path: Path, make: Make) -> None:
    tasks = pd.read_csv(crowd / "tasks.csv", dtype=str)
    tasks.loc[known:, "truth"] = ""
    tasks.to_csv(tmp_path / "tasks.csv", index=False)
    files = (crowd / "votes.csv", "--tasks", tmp_path / "tasks.csv", "--group", "group", "--truth", "truth")
    page = Page(make("aggregate", *files, out=tmp_path / "run") / "report.html")
    assert ("reliability" in page.data["charts"]) == (known >= 50)
    assert page.sections == WITH_TRUTH
    assert len(page.cards()) == 6


def test_changes_are_those_of_the_labels(fair: Path) -> None:
    """Also the examples: each task named changed in that group and that way."""
    labels = pd.read_csv(fair / "labels.csv", dtype=str)
    changed = labels[labels["changed"] == "true"]
    html = Page(fair / "report.html").html
    section = re.search(r'id="changes">(.*?)</section>', html, re.DOTALL)[1]
    rows = [re.findall(r"<bdi>(.*?)</bdi>|<td class=\"n\">(.*?)</td>", row) for row in section.split("<tr>")[2:]]
    total = 0
    for row in rows:
        (group, _), (before, _), (after, _), (_, count), *examples = row
        kind = changed[(changed["group"] == group) & (changed["label_before"] == before) & (changed["label"] == after)]
        assert len(kind) == int(count)
        named = [name for name, _ in examples]
        assert len(named) == min(5, len(kind))
        assert set(named) <= set(kind["task"])
        total += len(kind)
    assert total == len(changed) > 0


def test_few_changes_of_a_kind_name_no_others(crowd: Path, tmp_path: Path, make: Make) -> None:
    """A kind of change with fewer tasks than are shown ends with its own."""
    out = make("aggregate", *given(crowd, "three"), "--method", "majority", "--epsilon", 0, out=tmp_path / "run")
    test_changes_are_those_of_the_labels(out)
    counts = [row["tasks"] for row in json.loads((out / "certificate.json").read_text())["changes"]]
    assert min(counts) < 5


def test_asks_for_nothing(fair: Path) -> None:
    page = Page(fair / "report.html")
    assert {"link", "img", "iframe", "base", "object", "embed"}.isdisjoint(tag for tag, _ in page.elements)
    for _, attributes in page.elements:
        assert {"src", "href", "srcset", "action", "data"}.isdisjoint(attributes)
    policy = next(a["content"] for tag, a in page.elements if tag == "meta" and "http-equiv" in a)
    assert policy.startswith("default-src 'none'")
    assert "unsafe-eval" not in policy
    assert "url(" not in "".join(page.texts["style"])
    assert "@import" not in "".join(page.texts["style"])


def test_same_input_gives_the_same_page(crowd: Path, fair: Path, make: Make) -> None:
    page = (fair / "report.html").read_bytes()
    make("aggregate", *given(crowd), "--epsilon", 0.05, "--truth", "truth", out=fair)
    assert (fair / "report.html").read_bytes() == page


RUNS = {
    "no epsilon": [],
    "no truth": ["--epsilon", 0.1],
    "randomized": ["--epsilon", 0.05, "--decision", "randomized", "--truth", "truth"],
    "f1": ["--epsilon", 0.05, "--objective", "f1"],
    "confidence": ["--epsilon", 0.3, "--confidence", 0.8, "--pooling", "none"],
    "by group": ["--epsilon", 0.05, "--by-group"],
    "nothing to change": ["--epsilon", 1],
    "no gap allowed": ["--epsilon", 0, "--method", "majority"],
}


@pytest.mark.parametrize("name", RUNS)
def test_every_kind_of_run_renders(name: str, crowd: Path, tmp_path: Path, make: Make) -> None:
    page = Page(make("aggregate", *given(crowd), *RUNS[name], out=tmp_path / "run") / "report.html")
    scored = "--truth" in RUNS[name]
    assert page.sections == (WITH_TRUTH if scored else SECTIONS)
    assert sorted(page.data["charts"]) == sorted([*CHARTS, *(["reliability"] if scored else [])])
    assert len(page.cards()) == (8 if scored else 4 if name == "no epsilon" else 5)
    answer = exact_terms(page.html)
    text = {
        "no epsilon": "No epsilon was asked for",
        "nothing to change": "no label was changed",
        "confidence": "no label was changed",
        "randomized": "on average over draws, no labels with a gap of at most 0.05, drawn at random or not, have a ",
    }.get(name, "The gap between groups fell")
    assert text in answer
    kinds = {row["labels"] for row in page.data["charts"]["rates"]["data"]["values"]}
    assert kinds == ({"before"} if name == "no epsilon" else {"before", "after"})
    assert ("No true labels were given" in page.html) == ("--truth" not in RUNS[name])
    assert ("The promise for tasks that were not seen" in page.html) == (name == "confidence")
    assert ("by group" in page.html[page.html.index('id="method"') :].split("</section>")[0]) == (name == "by group")


@pytest.mark.parametrize("more", [[], ["--confidence", 0.6]])
def test_the_rule_of_three_classes_is_that_of_the_labels(more: list[Any], tmp_path: Path, make: Make) -> None:
    """A promise is about another rule, and the page says so."""
    drawn = fc.simulate_crowd(
        300, 12, class_shares=[[0.1, 0.3, 0.6], [0.6, 0.3, 0.1]], skill_ranges=[(0.4, 0.8)] * 2, random_state=1
    )
    votes = drawn.votes.assign(group=[drawn.sensitive_features[task] for task in drawn.votes["task"]])
    votes.to_csv(tmp_path / "votes.csv", index=False)
    out = make("aggregate", tmp_path / "votes.csv", "--group", "group", "--epsilon", 0.2, *more, out=tmp_path / "run")
    html = Page(out / "report.html").html
    assert (", also for new tasks: of all labels" in html) == (not more)
    assert ("New tasks have a rule of their own, which the promise is about (rule.json)." in html) == bool(more)
    assert ("in_turn" in (out / "rule.json").read_text()) == bool(more)


@pytest.mark.parametrize("more", [[], ["--strict"], ["--decision", "randomized"]])
def test_three_classes_and_groups_render(more: list[str], tmp_path: Path, make: Make) -> None:
    drawn = fc.simulate_crowd(
        200, 12, class_shares=[[0.2, 0.3, 0.5], [0.5, 0.3, 0.2]], skill_ranges=[(0.4, 0.8)] * 2, random_state=1
    )
    votes = drawn.votes.assign(group=[f"g{task % 3}" for task in drawn.votes["task"]])
    votes.to_csv(tmp_path / "votes.csv", index=False)
    out = make("aggregate", tmp_path / "votes.csv", "--group", "group", "--epsilon", 0.05, *more, out=tmp_path / "run")
    page = Page(out / "report.html")
    assert page.sections == SECTIONS
    assert len(page.data["stops"][0]["rows"]) == 3
    assert len(page.data["stops"][0]["rows"][0]) == 4  # three rates and the labels changed: no threshold
    assert "thresholds" not in json.dumps(page.data["charts"])
    last = page.data["stops"][-1]
    assert last["changed"] == "0"
    assert last["gap"] == f"{json.loads((out / 'certificate.json').read_text())['gap_before']:.3f}"
    said = "This run keeps epsilon 0.05 to the letter (strict). At every other epsilon the slider shows labels without"
    assert (said in page.html) == ("--strict" in more)
    assert ("The slider shows the labels that each epsilon gives; the line" in page.html) == (more == [])
    assert ("each epsilon gives, one draw for each; the line" in page.html) == ("randomized" in more)


def test_the_stops_of_a_strict_run_of_two_groups_keep_their_epsilons(crowd: Path, tmp_path: Path, make: Make) -> None:
    """Group sizes without a common factor: without strict, some stops would exceed their epsilon by a task."""
    tasks = pd.read_csv(crowd / "tasks.csv")
    tasks["side"] = np.where(np.arange(len(tasks)) % 3, "a", "b")
    tasks.iloc[:-1].to_csv(tmp_path / "tasks.csv", index=False)
    votes = pd.read_csv(crowd / "votes.csv")
    votes[votes["task"].isin(tasks["task"][:-1])].to_csv(tmp_path / "votes.csv", index=False)
    files = (tmp_path / "votes.csv", "--tasks", tmp_path / "tasks.csv", "--group", "side", "--method", "majority")
    strict = Page(make("aggregate", *files, "--epsilon", 0.01, "--strict", out=tmp_path / "run") / "report.html")
    assert "gives if it is kept to the letter, as in this run (strict); the line" in strict.html
    assert all(float(stop["gap"]) <= float(stop["epsilon"]) + 5e-4 for stop in strict.data["stops"])
    loose = Page(make("aggregate", *files, "--epsilon", 0.01, out=tmp_path / "loose") / "report.html")
    assert "kept to the letter" not in loose.html.split('id="frontier"')[1].split("</section>")[0]


@pytest.mark.parametrize(
    ("more", "note"),
    [([], "No sensitive group was given"), (["--group", "one"], "All tasks belong to one group")],
)
def test_without_groups_to_compare(more: list[str], note: str, crowd: Path, tmp_path: Path, make: Make) -> None:
    files = (crowd / "votes.csv", "--tasks", crowd / "tasks.csv")
    page = Page(make("aggregate", *files, *more, out=tmp_path / "run") / "report.html")
    assert page.sections == ["about", "method", "reproduce"]
    assert note in page.html
    assert page.data == {"charts": {}, "stops": []}
    assert len(page.html) < 20_000


def test_without_groups_truth_is_shown_too(crowd: Path, tmp_path: Path, make: Make) -> None:
    files = (crowd / "votes.csv", "--tasks", crowd / "tasks.csv", "--truth", "truth")
    page = Page(make("aggregate", *files, out=tmp_path / "run") / "report.html")
    assert page.sections == ["about", "truth", "method", "reproduce"]
    cards = list(page.cards())
    assert (cards[0], cards[-1]) == ("real accuracy", "believed accuracy")


@pytest.mark.parametrize("rows", ["1,a,x,p\n1,b,y,p\n2,a,y,q\n3,b,x,q\n", "1,a,x,p\n2,b,y,q\n"])
def test_a_few_tasks(rows: str, tmp_path: Path, make: Make) -> None:
    """Also where no worker has votes in two groups, so that there is no funnel."""
    (tmp_path / "votes.csv").write_text(f"task,worker,label,group\n{rows}")
    given = ("--group", "group", "--epsilon", 0, "--min-group", 1)
    out = make("aggregate", tmp_path / "votes.csv", *given, out=tmp_path / "run")
    page = Page(out / "report.html")
    assert page.sections == SECTIONS
    assert ("funnel" in page.data["charts"]) == ("1,b" in rows)


def test_pages_of_the_other_commands(crowd: Path, tmp_path: Path, make: Make) -> None:
    page = Page(
        make("audit", *given(crowd), "--control", "three", "--replicates", 50, out=tmp_path / "a") / "report.html"
    )
    assert page.sections == [*SECTIONS[:7], "agreement", *SECTIONS[7:]]
    assert "of the pairs of votes on a task agree" in page.html
    assert "If tasks and workers were drawn again" in page.html
    assert "Within strata of the control feature" in page.html
    page = Page(make("demo", out=tmp_path / "d") / "report.html")
    assert page.sections == WITH_TRUTH
    assert "right of true" in page.html


def test_page_and_charts_are_optional(crowd: Path, tmp_path: Path, make: Make) -> None:
    out = make("aggregate", *given(crowd), "--no-report", "--epsilon", 0.1, out=tmp_path / "run")
    assert not (out / "report.html").exists()
    assert "report.html" not in json.loads((out / "evidence.json").read_text())["outputs"]
    for command, more in (("aggregate", ["--epsilon", 0.1]), ("audit", ["--replicates", 0])):
        charts = tmp_path / command
        make(command, *given(crowd), *more, "--charts", charts, "--no-report", out=tmp_path / "charted")
        assert sorted(path.name for path in charts.iterdir()) == sorted(
            f"{name}.{kind}"
            for name in [*CHARTS, *(["agreement"] if command == "audit" else [])]
            for kind in ("png", "svg")
        )
        for path in charts.iterdir():
            head = path.read_bytes()
            assert head.startswith(b"\x89PNG\r\n" if path.suffix == ".png" else b"<svg")
            assert len(head) > 4000
    assert not (tmp_path / "charted" / "report.html").exists()
    out = make("aggregate", *given(crowd), out=out)  # a later run leaves no page of an older one behind
    make("aggregate", *given(crowd), "--no-report", out=out)
    assert not (out / "report.html").exists()


def test_command_and_hashes_are_on_the_page(crowd: Path, tmp_path: Path) -> None:
    import hashlib
    import shlex

    arguments = ["aggregate", *map(str, given(crowd)), "--epsilon", "0.1", "--out", str(tmp_path / "a b")]
    assert run(arguments) == 0
    page = Page(tmp_path / "a b" / "report.html")
    (command,) = page.texts["pre"]
    expected = ["aggregate", *map(str, given(crowd)), "--method", "dawid-skene", "--epsilon", "0.1"]
    assert shlex.split(command) == ["faircrowd", *expected, "--out", "reproduced"]
    for name in ("votes.csv", "tasks.csv"):
        assert hashlib.sha256((crowd / name).read_bytes()).hexdigest() in page.html
    assert fc.__version__ in page.html[page.html.index('id="reproduce"') :]


def test_large_input_makes_no_large_page(tmp_path: Path, make: Make) -> None:
    """What is shown does not grow with tasks, workers, groups and classes."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng(0)
    n, n_workers, n_groups, n_classes = LARGE
    group = np.arange(n) % n_groups  # of one size: whole tasks of others take long to round at every stop of the slider
    task = np.repeat(np.arange(n), 2)
    label = (group[task] * 5 + rng.integers(n_classes - 2, size=task.size)) % n_classes
    names = np.array([f"{k:02} of a rather long name of a class" for k in range(n_classes)])
    votes = {"task": task, "worker": rng.integers(n_workers, size=task.size), "label": names[label]}
    pq.write_table(pa.table(votes), tmp_path / "votes.parquet")
    pq.write_table(pa.table({"task": np.arange(n), "group": group}), tmp_path / "tasks.parquet")
    files = (tmp_path / "votes.parquet", "--tasks", tmp_path / "tasks.parquet", "--group", "group")
    out = make("aggregate", *files, "--method", "majority", out=tmp_path / "run")
    assert (out / "report.html").stat().st_size < 2_000_000
    page = Page(out / "report.html")
    assert f"the 6 with the lowest rates are shown; {n_groups - 12} are not." in page.html
    assert f"The 6 labels with the largest gaps of {n_classes} are shown" in page.html
    assert f"The 300 most notable of {n_workers:,} workers are shown" in page.html
    assert len(page.data["stops"]) <= 11
    rows = {name: len(chart["data"]["values"]) for name, chart in page.data["charts"].items()}
    assert max(rows.values()) <= n_workers < n
    shown = {row["group"] for row in page.data["charts"]["posterior"]["data"]["values"]}
    assert len(shown & {f"group = {a}" for a in range(n_groups)}) == len(shown) == 12


def test_short_names() -> None:
    assert short("x" * 32) == "x" * 32
    assert short("x" * 33) == "x" * 31 + "…"
    assert short("\u202eabc\u2066") == "�abc�"
    assert shorts(["a", "b"]) == ["a", "b"]
    long = shorts(["x" * 40, "x" * 41, "y"])
    assert len(set(long)) == 3
    assert max(map(len, long)) <= 32
