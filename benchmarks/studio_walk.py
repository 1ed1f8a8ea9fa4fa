"""The studio walked in a browser, from installing it to fair labels: seconds of a person, and pictures of every step.

``python benchmarks/studio_walk.py`` prints the table of docs/studio.md. A person's seconds are those of the
keystroke-level model of Card, Moran and Newell (1980): 1.35 s to think before each act, 1.1 s to point, .2 s to click,
.28 s per key. Seconds of the machine, during which a person waits, are measured and stand apart.

``python benchmarks/studio_walk.py --pictures docs/images/studio`` writes the pictures of docs/studio.md anew. It needs
Chromium, chromedriver, selenium and Pillow.
"""

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from typing import Any, Self

from faircrowd import simulate_crowd

THINK, POINT, CLICK, KEY = 1.35, 1.1, 0.2, 0.28
WIDTHS = {"laptop": (1100, 760), "phone": (390, 760)}
COLOURS = 48


@dataclass
class Step:
    """What a person does in one step, and how long the machine takes for it."""

    name: str
    clicks: int = 0
    keys: int = 0
    machine: float = 0.0

    @property
    def person(self) -> float:
        """Seconds: each click and each typed line is thought of first."""
        typed = THINK + self.keys * KEY if self.keys else 0.0
        return typed + self.clicks * (THINK + POINT + CLICK)


@dataclass
class Walk:
    """A studio in a process of its own, a browser, and the steps so far."""

    folder: Path
    steps: list[Step] = field(default_factory=list)
    pictures: Path | None = None

    def __enter__(self) -> Self:
        from selenium import webdriver
        from selenium.webdriver.chrome.service import Service

        options = webdriver.ChromeOptions()
        options.binary_location = shutil.which("chromium") or ""
        for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"):
            options.add_argument(argument)
        self.driver: Any = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))
        self.driver.set_script_timeout(600)
        command = [sys.executable, "-m", "faircrowd", "studio", str(self.folder), "--json"]
        start = time.perf_counter()
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        self.url = json.loads(self._process.stdout.readline())["url"]  # type: ignore[union-attr]
        self.started = time.perf_counter() - start
        return self

    def __exit__(self, *_: object) -> None:
        self.driver.quit()
        self._process.terminate()
        self._process.communicate()

    def js(self, script: str, *arguments: object) -> Any:
        """Run a script in the page."""
        return self.driver.execute_script(script, *arguments)

    def until(self, condition: str, *arguments: object) -> None:
        """Wait until an expression is true in the page."""
        from selenium.common.exceptions import WebDriverException

        end = time.monotonic() + 900
        while time.monotonic() < end:
            try:
                if self.js(f"return {condition}", *arguments):
                    return
            except WebDriverException:  # between two pages
                pass
            time.sleep(0.01)
        raise TimeoutError(condition)

    def at(self, part: str) -> None:
        """Wait until a page is there."""
        self.until("location.pathname.includes(arguments[0]) && document.readyState === 'complete'", part)

    def press(self, text: str) -> None:
        """Click on a button or link."""
        first = "[...document.querySelectorAll('button, a')].find(e => e.textContent.includes(arguments[0]))"
        self.js(f"{first}.click()", text)

    def set(self, selector: str, value: object, event: str = "change") -> None:
        """Give a field a value, as a person does."""
        field = "const field = document.querySelector(arguments[0]); field.value = arguments[1];"
        self.js(f"{field} field.dispatchEvent(new Event(arguments[2]))", selector, value, event)

    def choose(self, files: dict[str, Path]) -> None:
        """Drop files into the page."""
        for number, path in enumerate(files.values(), 1):
            self.driver.find_element("css selector", "#choose").send_keys(str(path))
            self.until("document.querySelectorAll('input[name=votes]').length === arguments[0]", number)

    def done(self, name: str, start: float, *, clicks: int = 0, keys: int = 0) -> None:
        """Note a step."""
        self.steps.append(Step(name, clicks, keys, time.perf_counter() - start))

    def picture(self, name: str, *, top: str | None = None) -> None:
        """Take a picture on a laptop's and a phone's width, from an element on."""
        if self.pictures is None:
            return
        from PIL import Image

        for kind, (width, height) in WIDTHS.items():
            size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": kind == "phone"}
            self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
            self.js("window.scrollTo(0, 0)")
            if top is not None:
                self.js("document.querySelector(arguments[0]).scrollIntoView()", top)
            time.sleep(0.2)
            image = Image.open(BytesIO(self.driver.get_screenshot_as_png())).convert("RGB")
            image.quantize(COLOURS, dither=Image.Dither.NONE).save(self.pictures / f"{name}-{kind}.png", optimize=True)
        self.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def crowd_files(folder: Path, tasks: int) -> dict[str, Path]:
    """Write votes and tasks of a simulated crowd."""
    crowd = simulate_crowd(tasks, max(100, tasks // 200), votes_per_task=5, random_state=0)
    files = {"votes": folder / "votes.csv", "tasks": folder / "tasks.csv"}
    crowd.votes.to_csv(files["votes"], index=False)
    facts = crowd.sensitive_features.map({0: "women", 1: "men"}).to_frame("gender").assign(truth=crowd.truth)
    facts.to_csv(files["tasks"], index_label="task")
    return files


def to_fair_labels(walk: Walk, files: dict[str, Path]) -> None:
    """Walk from a terminal to labels.csv, as a person would who wants nothing special."""
    for command, seconds in (("pip install '.[studio]'", 0.0), ("faircrowd studio", walk.started)):
        walk.steps.append(Step(f"type: {command}", keys=len(command) + 1, machine=seconds))
    start = time.perf_counter()
    walk.driver.get(walk.url)
    walk.picture("start")
    walk.choose(files)
    walk.done("drop two files", start, clicks=2)
    walk.picture("files")
    start = time.perf_counter()
    walk.press("Read the files")
    walk.at("/data/")
    walk.done("read the files", start, clicks=1)
    walk.picture("data")
    start = time.perf_counter()
    walk.set("#truth", "truth")
    walk.press("Next: how far")
    walk.at("/prices/")
    walk.done("compare with the truth (2 clicks), next", start, clicks=3)
    walk.picture("trust")
    walk.picture("limits", top="#limits")
    start = time.perf_counter()
    walk.set("#stop-0", int(walk.js("return document.querySelector('#stop-0').value")) - 2, "input")
    walk.done("move the slider", start, clicks=1)
    start = time.perf_counter()
    walk.press("Make labels with")
    walk.at("/runs/")
    walk.done("make labels", start, clicks=1)
    walk.picture("result")
    start = time.perf_counter()
    walk.press("Take the labels away")
    walk.at("/export")
    walk.done("take labels.csv away", start, clicks=2)
    walk.picture("export")


def more_pictures(walk: Walk) -> None:
    """Take pictures of what is beside the shortest way: two constraints, known labels, tasks, workers, two runs."""
    run = walk.js("return location.href").removesuffix("/export")
    for name, page in (("tasks", "/tasks?changed=1"), ("workers", "/workers")):
        walk.driver.get(run + page)
        walk.picture(name)
    walk.driver.get(f"{run}/tasks?changed=1")
    walk.js("document.querySelector('tbody th a').click()")
    walk.at("/tasks/")
    walk.picture("story")
    walk.driver.get(run)
    walk.press("Change the choices")
    walk.at("/data/")
    data = walk.js("return location.href")
    walk.driver.get(f"{data}/hand")
    walk.picture("hand")
    walk.driver.get(data)
    walk.press("Next: how far")
    walk.at("/prices/")
    walk.set("#kind", "ratio >=")
    walk.picture("builder", top="#builder-heading")
    walk.press("Add it")
    walk.until("document.querySelectorAll('[data-slider]').length === 2")
    walk.picture("sliders", top="#limits")
    walk.press("Make labels with")
    walk.at("/runs/")
    walk.press("Compare")
    walk.at("/compare")
    walk.picture("compare")


def main() -> None:
    """Walk, and print the seconds of each step."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pictures", type=Path, help="folder for pictures of every step")
    parser.add_argument("--tasks", type=int, default=1000)
    asked = parser.parse_args()
    if asked.pictures is not None:
        asked.pictures.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as place:
        files = crowd_files(Path(place), asked.tasks)
        with Walk(Path(place, "my-labels"), pictures=asked.pictures) as walk:
            to_fair_labels(walk, files)
            if asked.pictures is not None:
                more_pictures(walk)
                return  # pictures take time
    print("| step | clicks | keys | a person's seconds | the machine's seconds |\n|---|---|---|---|---|")
    for step in walk.steps:
        print(f"| {step.name} | {step.clicks} | {step.keys} | {step.person:.1f} | {step.machine:.1f} |")
    total = [sum(getattr(step, name) for step in walk.steps) for name in ("clicks", "keys", "person", "machine")]
    print(f"| **all** | {total[0]} | {total[1]} | **{total[2]:.1f}** | {total[3]:.1f} |")


if __name__ == "__main__":
    main()
