"""What the page is about: data, date, groups, labels, title and note, as a person gave them."""

import html
import itertools
import json
import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import faircrowd as fc
from faircrowd.errors import OptionError
from faircrowd.runs.options import PageOptions

Run = Callable[..., tuple[int, str, str]]
TITLE, NOTE = "Comments of <b>May</b>", "To train a filter.\nNot to judge & <script>alert(1)</script> people."


@pytest.fixture(scope="module")
def crowd(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("about")
    drawn = fc.simulate_crowd(120, 9, random_state=3)
    long = "a group whose name is longer than any chart has room for, number "
    votes = drawn.votes.assign(side=[f"{long}{drawn.sensitive_features[task]}" for task in drawn.votes["task"]])
    votes.to_csv(folder / "votes.csv", index=False)
    return folder


@pytest.fixture(scope="module")
def told(crowd: Path) -> Path:
    from faircrowd.cli.app import run

    given = ("--group", "side", "--method", "majority", "--epsilon", "0.1", "--title", TITLE, "--note", NOTE)
    out = ("--date", "2026-11-18", "--out", str(crowd / "told"))
    assert run(["aggregate", str(crowd / "votes.csv"), *given, *out]) == 0
    return crowd / "told"


def test_the_page_says_what_it_measures(told: Path, crowd: Path) -> None:
    page = (told / "report.html").read_text(encoding="utf-8")
    about = page[page.index('id="about"') : page.index('id="frontier"')]
    assert f"<bdi>{crowd.name}/votes.csv</bdi>" in about
    assert "<dt>date</dt><dd>2026-11-18</dd>" in about
    assert "<bdi>side</bdi>: <bdi>a group whose name is longer" in about
    assert "<dt>labels</dt><dd><bdi>0</bdi> (" in about
    assert "<title>Comments of &lt;b&gt;May&lt;/b&gt; · faircrowd</title>" in page
    assert '<p class="of"><bdi>Comments of &lt;b&gt;May&lt;/b&gt;</bdi></p>' in page
    assert "Not to judge &amp; &lt;script&gt;alert(1)&lt;/script&gt; people." in page


def test_names_that_are_cut_have_a_key(told: Path) -> None:
    page = (told / "report.html").read_text(encoding="utf-8")
    key = page[page.index("Names in full") : page.index("The result in exact terms")]
    for number in (0, 1):
        full = f"a group whose name is longer than any chart has room for, number {number}"
        assert re.search(f"<bdi>#{number + 1} a group whose[^<]*…</bdi></td><td><bdi>{full}</bdi>", key)
        assert f">#{number + 1} a group whose name" in page[page.index('id="chart-rates"') :]


def test_evidence_keeps_them_and_verify_repeats_them(told: Path, faircrowd: Run, tmp_path: Path) -> None:
    said = json.loads((told / "evidence.json").read_text())["options"]
    assert {name: said[name] for name in ("title", "note", "date")} == {
        "title": TITLE,
        "note": NOTE,
        "date": "2026-11-18",
    }
    code, out, _ = faircrowd("verify", told, "--json")
    assert (code, json.loads(out)["differences"]) == (0, [])
    page = (told / "report.html").read_text(encoding="utf-8").replace("2026-11-18", "2026-11-19")
    (told / "report.html").write_text(page, encoding="utf-8")
    code, out, _ = faircrowd("verify", told, "--json")
    assert code != 0
    (told / "report.html").write_text(page.replace("2026-11-19", "2026-11-18"), encoding="utf-8")


def test_python_writes_the_same_page(told: Path, crowd: Path, tmp_path: Path) -> None:
    fair = fc.FairCrowd(fc.MajorityVote(), epsilon=0.1).fit(crowd / "votes.csv", sensitive_features="side")
    fair.report(tmp_path / "page.html", title=TITLE, note=NOTE, date="2026-11-18")
    assert (tmp_path / "page.html").read_bytes() == (told / "report.html").read_bytes()


def test_the_command_on_the_page_has_them(told: Path) -> None:
    page = (told / "report.html").read_text(encoding="utf-8")
    words = shlex.split(html.unescape(re.search(r"<pre><code>(.*?)</code></pre>", page, re.DOTALL)[1]))
    given = dict(itertools.pairwise(words))
    assert (given["--title"], given["--note"], given["--date"]) == (TITLE, NOTE, "2026-11-18")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (("--title", "x" * 151), "--title has 151 characters; at most 150 fit."),
        (("--note", "x" * 2001), "--note has 2,001 characters; at most 2,000 fit."),
        (("--title", " "), "--title is empty"),
        (("--title", "two\nlines"), "--title has several lines; give it one, and the rest as --note TEXT"),
        (("--date", "18.11.2026"), "--date must be a day such as 2026-11-18, or today; got '18.11.2026'."),
    ],
)
def test_what_the_page_cannot_say(
    given: tuple[str, ...], message: str, crowd: Path, tmp_path: Path, faircrowd: Run
) -> None:
    code, _, err = faircrowd("aggregate", crowd / "votes.csv", *given, "--out", tmp_path / "run")
    assert code == 2
    assert message in err
    assert not (tmp_path / "run").exists()


def test_days(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SOURCE_DATE_EPOCH", raising=False)
    assert PageOptions.given().date is None
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1794960000")
    assert PageOptions.given().date == "2026-11-18"
    assert PageOptions.given(date="2026-01-02").date == "2026-01-02"
    before = pd.Timestamp.now().date()
    assert PageOptions.given(date="today").date in (str(before), str(pd.Timestamp.now().date()))
    wrong: Any = 5
    with pytest.raises(OptionError, match="title must be text; got int"):
        PageOptions.given(title=wrong)
