"""Names of columns and files, and characters that end lines or scripts, in a real browser: shown, never run."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Make = Callable[..., Path]

NAMES = [
    "</script><script>document.title='owned'</script>",
    "<!--<script>",
    "line\u2028separator\u2029here",
    '" onmouseover="document.title=\'owned\'" x="',
    "' autofocus onfocus='document.title=1",
    "<svg/onload=document.title='owned'>",
    "javascript:document.title='owned'",
    "]]>&lt;script&gt;&amp;",
]


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory, make: Make) -> Path:
    folder = tmp_path_factory.mktemp("names")
    place = folder / "<img src=x onerror=document.title=1> & 'quoted' \u2028"
    place.mkdir()
    group = "<b onclick=x>group</b>\u2028</script>"
    rows = [
        {
            "task": f"{NAMES[i % 8]} {i}",
            "worker": NAMES[(i + j) % 8],
            "label": NAMES[(i * 3 + j) % 3],
            group: NAMES[i % 2],
        }
        for i in range(120)
        for j in range(4)
    ]
    text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    (place / "votes <i>.jsonl").write_text(text, encoding="utf-8", newline="\n")
    given = ("--group", group, "--method", "majority", "--epsilon", 0.1)
    return make("aggregate", place / "votes <i>.jsonl", *given, out=folder / "run") / "report.html"


def test_nothing_runs(page: Path, browser: Any) -> None:
    browser.open(page)
    title = browser.js("return document.title")
    assert "owned" not in title
    assert title != "1"
    assert browser.messages() == []
    assert browser.requests() == [page.as_uri()]
    assert (
        browser.js("return document.querySelectorAll('img, b[onclick], svg[onload], [onmouseover], [onfocus]').length")
        == 0
    )
    links = browser.js("return [...document.querySelectorAll('a[href]')].map(e => e.getAttribute('href'))")
    assert not [link for link in links if link.lower().startswith("javascript:")]


def test_names_are_shown_as_they_are(page: Path, browser: Any) -> None:
    browser.open(page)
    shown = browser.js("return document.body.textContent")
    assert NAMES[1] in shown
    assert NAMES[0][:31] + "…" in shown  # long names are cut


def test_scripts_end_where_they_should(page: Path) -> None:
    """In the text of the page, no name closes a script or breaks a line of one."""
    text = page.read_text(encoding="utf-8")
    assert "</script><script>document" not in text
    for part in text.split("<script")[1:]:
        inside = part.split("</script>")[0]
        assert "\u2028" not in inside
        assert "<!--" not in inside.partition(">")[2] or "vega" in inside
