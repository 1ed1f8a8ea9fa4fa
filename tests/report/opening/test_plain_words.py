"""The opening of the page: words that a manager understands, with the numbers of the certificate."""

import re
from dataclasses import replace
from importlib.resources import files
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import faircrowd as fc
from faircrowd.report.opening.plain_words import Named, Said, parity_opening, parity_verdict, text_of
from faircrowd.report.opening.terms import TERMS
from faircrowd.report.summary import Summary, fair_lines
from faircrowd.runs.run_of_estimator import run_of

JARGON = re.compile(r"posterior|coin|epsilon|group [0-9]|class|aggregator|dawid|demographic|parity", re.IGNORECASE)


@pytest.fixture(scope="module")
def fair() -> fc.FairCrowd:
    crowd = fc.simulate_crowd(300, 15, random_state=5)
    groups = crowd.sensitive_features.rename("side")
    return fc.FairCrowd(fc.DawidSkene(), epsilon=0.05).fit(crowd.votes, sensitive_features=groups)


def test_numbers_are_those_of_the_certificate(fair: fc.FairCrowd) -> None:
    c, said = fair.certificate_, text_of(run_of(fair).story["opening"])
    before, after = ([100 * rates[group]["1"] for group in "01"] for rates in (c.rates_before, c.rates))
    high, low = int(np.argmax(before)), int(np.argmin(before))
    assert f"label 1 would go to {before[high]:.1f}% of the tasks of side = {high}" in said
    assert f"to {before[low]:.1f}% of those of side = {low}: {100 * c.gap_before:.1f} points apart" in said
    assert f"it goes to {after[high]:.1f}% and {after[low]:.1f}%" in said
    assert f"{c.changed} labels ({c.changed_share:.1%}) were changed for it" in said
    assert "How many labels are right is not known: no true labels were given." in said
    assert f"{c.believed_accuracy_before:.1%} without the limit" in said
    assert "Not known: whether labels are right equally often in each group" in said


def test_there_is_no_jargon(fair: fc.FairCrowd) -> None:
    for story in (run_of(fair).story, run_of(fair, truth=dict.fromkeys(range(300), 1)).story):
        assert not JARGON.search(text_of(story["opening"]))
        assert not JARGON.search(story["verdict"])


def test_real_accuracy_comes_before_what_is_believed(fair: fc.FairCrowd) -> None:
    truth = fc.simulate_crowd(300, 15, random_state=5).truth
    run = run_of(fair, truth=truth)
    names = [card["name"] for card in run.story["cards"]]
    assert names[0] == "real accuracy"
    assert names.index("real accuracy") < names.index("gap of the true labels") < names.index("believed accuracy")
    said = text_of(run.story["opening"])
    right = float((fair.labels_ == truth).mean())
    assert f"Of the 300 tasks whose true label is known, {right:.1%} now have the right one" in said
    assert run.summary.truth_gap is not None
    assert f"true labels themselves are {100 * run.summary.truth_gap:.1f} points apart" in said


def test_every_word_that_is_explained_has_a_meaning(fair: fc.FairCrowd) -> None:
    told = [part for part in run_of(fair).story["opening"] if isinstance(part, Said)]
    assert {part.key for part in told} >= {"vote", "gap", "epsilon", "changed", "believed"}
    assert all(part.key in TERMS for part in told)
    assert all(text.endswith(".") and not JARGON.search(text) for text in TERMS.values())


def test_every_meaning_is_used_somewhere() -> None:
    """On the page, in its opening, or in the studio."""
    report = files("faircrowd.report")
    pages = [report / "templates" / "report.html", report / "opening" / "plain_words.py"]
    pages.append(files("faircrowd.studio") / "templates" / "terms.html")
    text = "".join(page.read_text(encoding="utf-8") for page in pages)
    unused = [key for key in TERMS if not re.search(rf"""(term|Said)\("{key}"|terms\.{key}\b""", text)]
    assert unused == []


def test_a_verdict_that_misses_shows_by_how_much() -> None:
    p = np.linspace(0.05, 0.95, 9)
    found = fc.make_fair(np.stack([1 - p, p], axis=1), [0, 0, 0, 0, 1, 1, 1, 1, 1], epsilon=0.3)
    c = found.certificate
    assert c.gap != c.epsilon
    told = parity_verdict(c, asked=True)
    assert f"({100 * c.epsilon:.1f} allowed" in told
    assert f"the groups are {100 * c.gap:.1f} points" in told
    assert "keep the limit" in told
    assert parity_verdict(c, asked=False) == f"The groups are {100 * c.gap_before:.1f} points apart; no limit was set."


def test_names_stay_apart_from_the_text() -> None:
    """Also one that looks like markup, or like a term."""
    hostile = "<b>[gap]</b> \u202e {{7*7}}"
    crowd = fc.simulate_crowd(60, 9, random_state=1)
    groups = crowd.sensitive_features.map({0: hostile, 1: "women"})
    fair = fc.FairCrowd(fc.MajorityVote(), epsilon=0.05).fit(crowd.votes, sensitive_features=groups)
    run = run_of(fair)
    assert isinstance(run.summary, Summary)
    parts = parity_opening(run.summary, fair.certificate_, ["sex"], asked=True)
    names = {part.name for part in parts if isinstance(part, Named)}
    assert {"<b>[gap]</b> � {{7*7}}", "women"} <= names
    assert all("<b>" not in part for part in parts if isinstance(part, str))


def test_who_pays_in_right_labels_is_said(fair: fc.FairCrowd) -> None:
    crowd = fc.simulate_crowd(300, 15, random_state=5)
    run = run_of(fair, truth=crowd.truth)
    both = fair.estimator_.labels_, fair.labels_
    right = [(labels == crowd.truth).groupby(crowd.sensitive_features).mean() for labels in both]
    lost = (right[1] - right[0]).idxmin()
    said = text_of(run.story["opening"])
    assert f"went from {right[0][lost]:.1%} to {right[1][lost]:.1%} in side = {lost}" in said


def test_doubts_about_what_is_believed_open_the_page_unless_known_labels_tell(data_folder: Path) -> None:
    folder = data_folder / "tweets-hate-3class"
    votes, tasks = (pd.read_csv(folder / f"{name}.csv") for name in ("votes", "tasks"))
    tasks = tasks.set_index("task")
    fair = fc.FairCrowd(fc.DawidSkene(pooling="learned"), epsilon=0.05).fit(votes, sensitive_features=tasks["dialect"])
    run = run_of(fair)
    together, certain = run.story["alarms"]
    assert "is not an accuracy" in together
    assert "digits that mean little" in certain
    (told,) = run_of(fair, truth=tasks["truth"].dropna()).story["alarms"]
    assert "accuracy 93.9% believed, 69.2% real" in told
    assert "is not an accuracy" in fair.estimator_._repr_html_()  # its own card shows the belief in large print, too


def test_the_largest_changes_are_shown(fair: fc.FairCrowd) -> None:
    rows = [{"group": "0", "before": "a", "after": f"b{n}", "tasks": n} for n in range(1, 11)]
    (told,) = [text for heading, text in fair_lines(replace(fair.certificate_, changes=rows)) if heading == "changed"]
    assert told.startswith("10 in group 0 from a to b10; 9 in")
    assert told.endswith("; 3 in 2 other ways (see labels.csv)")
