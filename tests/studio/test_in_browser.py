"""The studio in a real browser: the whole flow with hostile names, by keyboard, on a phone, and with axe-core."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from selenium.webdriver.common.keys import Keys

from report.conftest import Browser, session_browser
from report.test_browser import HOSTILE
from studio.conftest import hold

__all__ = ["session_browser"]


class OpenStudio:
    """A studio as people open it, in a process of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.open()

    def open(self) -> None:
        command = [sys.executable, "-m", "faircrowd", "studio", str(self.folder), "--json"]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        self.url = json.loads(self._process.stdout.readline())["url"]

    def close(self) -> None:
        self._process.terminate()
        self._process.communicate()


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OpenStudio]:
    studio = OpenStudio(tmp_path_factory.mktemp("studio"))
    yield studio
    studio.close()


@pytest.fixture
def address(opened: OpenStudio) -> str:
    return opened.url


@pytest.fixture(scope="module")
def hostile_files(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("hostile")
    names = HOSTILE[:4]
    votes, tasks = [], []
    for i in range(60):
        task = f"{names[i % 4]} {i}"
        tasks.append({"task": task, names[1]: names[i % 2], "truth": names[i * 7 % 3 % 2]})
        votes += [{"task": task, "worker": names[w], "label": names[(i * 7 + (w * i) % 5) % 3 % 2]} for w in range(3)]
    paths = [folder / "<b>votes & co.jsonl", folder / "tasks'\".jsonl"]
    for path, rows in zip(paths, (votes, tasks), strict=True):
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return paths


def click(browser: Browser, text: str) -> None:
    browser.js(
        "[...document.querySelectorAll('button, a')].find(e => e.textContent.includes(arguments[0])).click()", text
    )


def at(browser: Browser, part: str) -> None:
    browser.until("location.pathname.includes(arguments[0]) && document.readyState === 'complete'", part)


def check(browser: Browser) -> None:
    """Nothing overflows a phone, nothing is logged, no name became markup, and axe-core finds nothing."""
    for width, scheme in ((390, "dark"), (1100, "light")):
        browser.emulate(width=width, scheme=scheme)
        assert browser.js("return document.documentElement.scrollWidth") <= width
        if browser.js("return typeof axe === 'undefined'"):
            browser.js(files("axe_core_python").joinpath("axe.min.js").read_text(encoding="utf-8"))
        found = browser.driver.execute_async_script(
            "axe.run(document, {iframes: false}).then(found => arguments[arguments.length - 1](found.violations))"
        )
        assert [(one["id"], [node["html"] for node in one["nodes"]]) for one in found] == []
    assert browser.texts("main script:not([type='application/json']), main img:not(figure > img), main b b") == []
    assert browser.messages() == []


def move(browser: Browser, number: int, place: int) -> None:
    """Move a slider, and see that nobody is asked what the stop costs."""
    browser.requests()
    browser.js(
        "const slider = document.getElementById(`stop-${arguments[0]}`);"
        "slider.value = arguments[1]; slider.dispatchEvent(new Event('input'))",
        number,
        place,
    )
    assert browser.requests() == []


def test_the_whole_flow(session_browser: Browser, address: str, hostile_files: list[Path]) -> None:
    browser = session_browser
    browser.driver.set_script_timeout(120)
    browser.emulate()
    browser.messages()
    browser.driver.get(address)
    assert "token" not in browser.driver.current_url
    check(browser)
    for number, path in enumerate(hostile_files, 1):
        browser.element("#choose").send_keys(str(path))
        browser.until("document.querySelectorAll('input[name=votes]').length === arguments[0]", number)
    check(browser)
    browser.js(
        "const pick = (name, part) => [...document.getElementsByName(name)].find(e => e.value.includes(part)).click();"
        "pick('votes', 'votes'); pick('tasks', 'tasks')"
    )
    click(browser, "Read the files")
    at(browser, "/data/")
    check(browser)
    data = browser.driver.current_url
    browser.js(
        "document.querySelector('[name=group]').checked = true; document.querySelector('#method').value = 'majority';"
        "document.querySelector('#truth').value = 'truth'"
    )
    click(browser, "how far to trust")
    at(browser, "/prices/")
    assert browser.js("return document.querySelector('figure img').naturalWidth") > 100
    check(browser)
    # A second constraint, whose kind takes no groups.
    browser.js("const kind = document.querySelector('#kind'); kind.value = 'changed <=';")
    browser.js("document.querySelector('#kind').dispatchEvent(new Event('change'))")
    assert browser.js("return [...document.querySelectorAll('[data-for]')].every(e => e.hidden)")
    browser.element("#limit").send_keys(Keys.ENTER)
    browser.until("document.querySelectorAll('[data-slider]').length === 2 && document.readyState === 'complete'")
    check(browser)
    stops = json.loads(browser.texts("#sliders")[0])
    held = [slider["held"] for slider in stops]
    move(browser, 0, 0)
    assert browser.texts("[data-shown]") == [stops[0]["stops"][0]["shown"], stops[1]["stops"][held[1]]["shown"]]
    assert browser.texts("[data-cell]") == stops[0]["stops"][0]["cells"]
    assert browser.texts("[data-own]")[-1] == "not computed"  # the level of the limit that was not moved
    other = 0 if held[1] else len(stops[1]["stops"]) - 1
    move(browser, 1, other)  # two limits were moved: nothing was computed, and no number may look as if
    assert set(browser.texts("[data-cell]")) == {"–"}
    assert "not computed" in browser.texts("#together")[0]
    move(browser, 1, held[1])
    assert browser.texts("[data-cell]") == stops[0]["stops"][0]["cells"]
    click(browser, "with these limits")
    at(browser, "/runs/")
    check(browser)
    run = browser.driver.current_url
    for page in ("/tasks", "/tasks/0", "/workers", "/export"):
        browser.driver.get(run + page)
        check(browser)
    number = run.split("/")[-1]
    for page in (f"{run.split('/runs')[0]}/compare?a={number}&b={number}", f"{data}/hand"):
        browser.driver.get(page)
        check(browser)
    body = browser.element("body")
    for key in ("1", "2", Keys.ARROW_RIGHT, "1", Keys.ARROW_LEFT, Keys.ARROW_LEFT, Keys.ARROW_LEFT, "2"):
        body.send_keys(key)
    assert browser.texts("#hand-done") == ["3"]
    click(browser, "Save and use them")
    browser.until("!location.href.includes('/hand')")
    at(browser, "/data/")
    assert any("known_label (3 known)" in text for text in browser.texts("#calibrate option"))


def test_a_wrong_file(session_browser: Browser, address: str, tmp_path: Path) -> None:
    browser = session_browser
    browser.driver.get(address)
    wrong = tmp_path / "wrong<i>.csv"
    wrong.write_text("<i>a</i>,b\n1,<script>alert(1)</script>\n")
    browser.element("#choose").send_keys(str(wrong))
    browser.until("[...document.getElementsByName('votes')].some(e => e.value.startsWith('wrong'))")
    browser.js("[...document.getElementsByName('votes')].find(e => e.value.startsWith('wrong')).click()")
    click(browser, "Read the files")
    browser.until("document.querySelector('[role=alert]')")
    assert "No column" in browser.texts("[role=alert]")[0]
    assert "<i>a</i>" in browser.texts("#role-task option")
    check(browser)


def tab_to(browser: Browser, part: str) -> None:
    """Press Tab until the control whose text, label or value holds a part has the focus."""
    from selenium.webdriver import ActionChains

    for _ in range(80):
        ActionChains(browser.driver).send_keys(Keys.TAB).perform()
        found = browser.js(
            "const e = document.activeElement; return [e.textContent, e.value, ...[...e.labels || []]"
            ".map(l => l.textContent)].join(' ')"
        )
        if part in found:
            return
    raise AssertionError(f"no Tab leads to {part!r}")


def press(browser: Browser, *keys: str) -> None:
    from selenium.webdriver import ActionChains

    ActionChains(browser.driver).send_keys(*keys).perform()


def test_by_keyboard_alone_on_a_phone(session_browser: Browser, address: str, opened: OpenStudio) -> None:
    """From the first page to labels and away; a job is cancelled and a process killed on the way."""
    browser = session_browser
    browser.driver.get(address)
    browser.emulate(width=390)
    tab_to(browser, "simulated crowd")
    press(browser, Keys.ENTER)
    at(browser, "/data/")
    tab_to(browser, "Next: how far to trust")
    press(browser, Keys.ENTER)
    at(browser, "/prices/")
    tab_to(browser, "Equal rates of labels, groups of group")
    before = browser.texts("[data-cell]")
    press(browser, Keys.HOME)
    assert browser.texts("[data-shown]") == ["0"]
    assert browser.texts("[data-cell]") != before
    limits = browser.driver.current_url
    for ends in ("cancelled", "killed"):
        browser.driver.get(limits)
        tab_to(browser, "Add it")
        press(browser, Keys.ENTER)
        at(browser, "/jobs/")
        pid = hold(opened.folder / "jobs" / browser.driver.current_url.split("/")[-1])
        if ends == "cancelled":
            tab_to(browser, "Cancel")
            press(browser, Keys.ENTER)
            browser.until("location.pathname === '/'")
            os.kill(pid, signal.SIGCONT)
            continue
        os.kill(pid, signal.SIGKILL)
        browser.until("document.querySelector('[role=alert]')")
        assert "ended by signal 9" in browser.texts("[role=alert]")[0]
    browser.driver.get(limits)
    tab_to(browser, "Make labels")
    press(browser, Keys.ENTER)
    at(browser, "/runs/")
    tab_to(browser, "Take the labels away")
    press(browser, Keys.ENTER)
    at(browser, "/export")
    assert browser.js("return document.documentElement.scrollWidth") <= 390
    browser.emulate()
    browser.messages()


def test_pages_of_other_places_cannot_use_the_studio(session_browser: Browser, address: str, tmp_path: Path) -> None:
    """A page from elsewhere, in the browser that has the cookie, can neither read nor start anything."""
    browser = session_browser
    browser.driver.get(address)
    before = browser.texts("section table tbody tr")
    place = address.split("/?")[0]
    page = tmp_path / "evil.html"
    page.write_text(
        f"<form id=f method=post action={place}/example></form><iframe src={place}/></iframe><script>"
        f"fetch('{place}/', {{credentials: 'include'}}).then(a => a.text(), () => 'blocked')"
        ".then(text => { document.title = text.slice(0, 60); })</script>"
    )
    browser.driver.get(page.as_uri())
    browser.until("document.title !== ''")
    assert "simulated" not in browser.driver.title
    browser.js("document.getElementById('f').submit()")
    browser.until("document.body.textContent.includes('other places') || document.body.textContent.includes('token')")
    browser.driver.get(address)
    assert browser.texts("section table tbody tr") == before
    browser.messages()


def test_two_tabs_work_side_by_side(session_browser: Browser, address: str) -> None:
    driver: Any = session_browser.driver
    driver.get(address)
    first = driver.current_window_handle
    driver.switch_to.new_window("tab")
    driver.get(address.split("/?")[0])
    try:
        for handle in (driver.current_window_handle, first):
            driver.switch_to.window(handle)
            click(session_browser, "simulated crowd")
        pages = set()
        for handle in driver.window_handles:
            driver.switch_to.window(handle)
            at(session_browser, "/data/")
            pages.add(driver.current_url)
        assert len(pages) == 2
    finally:
        for handle in driver.window_handles:
            if handle != first:
                driver.switch_to.window(handle)
                driver.close()
        driver.switch_to.window(first)
    session_browser.messages()


def test_a_restart_finds_the_runs(session_browser: Browser, opened: OpenStudio) -> None:
    """The last test: the studio is closed and opened again, at another address and with another token."""
    browser, before = session_browser, opened.url
    browser.driver.get(before)
    listed = browser.texts("section table tbody th a")
    opened.close()
    opened.open()
    assert opened.url != before
    browser.driver.get(opened.url)
    assert browser.texts("section table tbody th a") == listed
    rows = browser.texts("section table tbody tr")
    made = next(row for row in rows if "labels" in row and "done" in row)
    click(browser, made[:4])  # its number
    at(browser, "/runs/")
    assert browser.texts("h1") != []
