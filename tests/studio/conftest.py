"""A studio without a browser, and votes to drop into it."""

import json
import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from starlette.testclient import TestClient

import faircrowd as fc
from faircrowd.studio.studio_app import make_app
from faircrowd.studio.workspace import Workspace

TOKEN = "t" * 32
PLACE = "http://127.0.0.1:8123"


def hold(job: Path) -> int:
    """Stop the process of a job as it begins, so that no test depends on how long the job takes; return its id."""
    place, end = job / "process.json", time.monotonic() + 300
    while not place.exists() and time.monotonic() < end:
        time.sleep(0.005)
    pid = int(json.loads(place.read_text())["pid"])
    os.kill(pid, signal.SIGSTOP)
    return pid


class Visitor(TestClient):
    """A browser that knows the token."""

    folder: Path
    """The folder of the studio."""

    def job(self, page: Any) -> Path:
        """Return the folder of the job that a page shows."""
        return self.folder / "jobs" / str(page.url.path).split("/")[-1]

    def waited(self, page: Any) -> Any:
        """Follow a job until it has ended; return the page that shows it."""
        end = time.monotonic() + 300
        while "/jobs/" in str(page.url) and time.monotonic() < end:
            if self.get(f"{page.url.path}/state").json()["is_final"]:
                return self.get(page.url.path)
            time.sleep(0.05)
        return page


@pytest.fixture
def open_studio(tmp_path: Path) -> Iterator[Callable[..., Visitor]]:
    """Open a studio in a folder; several one after the other are a studio that is closed and opened again."""
    opened: list[Visitor] = []

    def call(**options: Any) -> Visitor:
        for visitor in opened:
            visitor.__exit__(None, None, None)
        opened.clear()
        app = make_app(Workspace(tmp_path / "studio"), TOKEN, **options)
        visitor = Visitor(app, base_url=PLACE, headers={"Origin": PLACE})
        visitor.folder = tmp_path / "studio"
        visitor.__enter__()
        opened.append(visitor)
        visitor.get(f"/?token={TOKEN}")
        return visitor

    yield call
    for visitor in opened:
        visitor.__exit__(None, None, None)


@pytest.fixture(scope="session")
def crowd_files(tmp_path_factory: pytest.TempPathFactory) -> tuple[bytes, bytes]:
    """Votes and tasks as CSV."""
    crowd = fc.simulate_crowd(150, 12, random_state=5)
    sex = crowd.sensitive_features.map({0: "f", 1: "m"})
    tasks = pd.DataFrame({"sex": sex, "truth": crowd.truth}).rename_axis("task")
    return crowd.votes.to_csv(index=False).encode(), tasks.to_csv().encode()


@pytest.fixture(scope="module")
def shared_studio(tmp_path_factory: pytest.TempPathFactory, crowd_files: tuple[bytes, bytes]) -> Iterator[Visitor]:
    """A studio into which votes and tasks were dropped, for several tests: each job is a process."""
    folder = tmp_path_factory.mktemp("studio")
    with Visitor(make_app(Workspace(folder), TOKEN), base_url=PLACE) as visitor:
        visitor.folder = folder
        visitor.headers["Origin"] = PLACE
        visitor.get(f"/?token={TOKEN}")
        for name, content in zip(("votes.csv", "tasks.csv"), crowd_files, strict=True):
            assert visitor.put(f"/files/{name}", content=content).json() == {"name": name}
        yield visitor


@pytest.fixture
def studio(shared_studio: Visitor) -> Visitor:
    """The same, asked as by its own pages and with the token."""
    shared_studio.headers["Origin"] = PLACE
    shared_studio.get(f"/?token={TOKEN}")
    return shared_studio
