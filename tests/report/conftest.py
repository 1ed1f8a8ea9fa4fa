"""A browser to open pages in, and runs of the command line to make them with."""

import json
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from faircrowd.cli.app import run

_NEEDED = ("chromium", "chromedriver")


class Browser:
    """A headless Chromium with what tests of a page ask of it."""

    def __init__(self, driver: Any) -> None:
        self.driver = driver

    def js(self, script: str, *arguments: Any) -> Any:
        return self.driver.execute_script(script, *arguments)

    def texts(self, selector: str) -> list[str]:
        return self.js("return [...document.querySelectorAll(arguments[0])].map(e => e.textContent)", selector)

    def element(self, selector: str) -> Any:
        return self.driver.find_element("css selector", selector)

    def until(self, condition: str, *arguments: Any) -> None:
        """Wait until a JavaScript expression is true; on a busy machine a job of the studio takes a minute."""
        from selenium.webdriver.support.wait import WebDriverWait

        WebDriverWait(self.driver, 180, 0.02).until(lambda _: self.js(f"return {condition}", *arguments), condition)

    def open(self, page: Path) -> None:
        self.messages()
        self.requests()
        self.driver.get(page.as_uri())
        self.until("document.documentElement.dataset.ready === 'yes'")

    def messages(self) -> list[dict[str, Any]]:
        """What the page has logged to the console since the last call."""
        return self.driver.get_log("browser")

    def requests(self) -> list[str]:
        """The addresses that the page has requested since the last call."""
        events = [json.loads(entry["message"])["message"] for entry in self.driver.get_log("performance")]
        kinds = {"Network.requestWillBeSent": "request", "Network.webSocketCreated": None}
        found = [event for event in events if event["method"] in kinds]
        return [event["params"].get("request", event["params"])["url"] for event in found]

    def emulate(self, *, width: int = 1100, scheme: str = "light", media: str = "screen") -> None:
        size = {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": width < 500}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": media, "features": features})


@pytest.fixture(scope="session")
def session_browser() -> Iterator[Browser]:
    """One browser for all tests; where CI is set its absence is a failure, not a skip."""
    chromium, chromedriver = (shutil.which(name) for name in _NEEDED)
    if chromium is None or chromedriver is None:
        message = f"no browser to open the page in; install {' and '.join(_NEEDED)} (Debian: chromium chromium-driver)"
        if os.environ.get("CI"):
            pytest.fail(message)
        pytest.skip(message)
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(chromedriver))
    yield Browser(driver)
    driver.quit()


@pytest.fixture
def browser(session_browser: Browser) -> Browser:
    """The browser, as wide as a desk's and in the light."""
    session_browser.emulate()
    return session_browser


@pytest.fixture(scope="session")
def make() -> Callable[..., Path]:
    """Run a command that succeeds; return its output folder."""

    def call(*arguments: Any, out: Path) -> Path:
        assert run([*map(str, arguments), "--out", str(out)]) == 0
        return out

    return call
