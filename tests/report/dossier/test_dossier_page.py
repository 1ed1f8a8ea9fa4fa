"""The page of a dossier in a browser: accessible, on a phone, in the dark, and on paper."""

from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

import faircrowd as fc
from runs.dossiers.finished_folders import HOSTILE, aggregate, write_crowd


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("page")
    crowd = write_crowd(place, names=HOSTILE)
    asked = ("--require", "parity(sex) <= 0.05", "--require", "parity(age) <= 0.3", "--on-missing-group", "own")
    run = aggregate(crowd, place / "run", "--truth", "truth", *asked)
    fc.write_dossier(run, selected=HOSTILE["label"][1])
    return run / "dossier" / "dossier.html"


@pytest.mark.parametrize(("width", "scheme"), [(1100, "light"), (390, "dark")])
def test_the_page_is_accessible_and_quiet(page: Path, browser: Any, width: int, scheme: str) -> None:
    browser.emulate(width=width, scheme=scheme)
    browser.messages(), browser.requests()
    browser.driver.get(page.as_uri())
    assert browser.requests() == [page.as_uri()]
    assert browser.messages() == []
    assert browser.js("return document.documentElement.scrollWidth") <= width
    assert browser.js("return document.querySelectorAll('script, img').length") == 0
    # The page forbids scripts; the test puts axe-core in by the debugger, which is not bound by that.
    browser.driver.execute_cdp_cmd(
        "Runtime.evaluate", {"expression": files("axe_core_python").joinpath("axe.min.js").read_text(encoding="utf-8")}
    )
    found = browser.driver.execute_async_script(
        "axe.run(document, {iframes: false}).then(found => arguments[arguments.length - 1](found.violations))"
    )
    assert [(one["id"], [node["html"] for node in one["nodes"]][:3]) for one in found] == []
