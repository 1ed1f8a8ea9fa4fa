"""A pytest plugin that records which lines each test reaches and how long it takes; slow tests are left out."""

import json
import os
import signal
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from types import FrameType

import coverage
import pytest
from hypothesis import Phase, settings

__all__ = ["Reach", "processor_seconds", "quick_profile"]


def processor_seconds() -> float:
    """Return the seconds that this process and its children have worked: a busy machine does not change them."""
    spent = os.times()
    return spent.user + spent.system + spent.children_user + spent.children_system


def quick_profile() -> None:
    """Let hypothesis stop at the first failing example, without searching for a smaller one."""
    settings.register_profile("mutants", settings.default, phases=(Phase.explicit, Phase.generate), database=None)
    settings.load_profile("mutants")


class Reach:
    """Record lines and processor seconds of each test that passes, and write them as JSON at the end.

    Parameters
    ----------
    out : Path
    folders : list of str
        Where the lines of interest are.
    limit : int
        Processor seconds after which a test is given up.
    """

    def __init__(self, out: Path, folders: list[str], limit: int) -> None:
        self._out, self._folders, self._limit = out, folders, limit
        self._seconds: dict[str, float] = {}
        self._lines: dict[str, dict[str, list[int]]] = defaultdict(dict)

    def pytest_sessionstart(self) -> None:
        quick_profile()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        watch = coverage.Coverage(data_file=None, include=[f"{folder}/*" for folder in self._folders])
        signal.signal(signal.SIGPROF, _too_long)
        signal.setitimer(signal.ITIMER_PROF, self._limit)
        begun = processor_seconds()
        watch.start()
        try:
            return (yield)
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
            watch.stop()
            took = processor_seconds() - begun
            if self._seconds.get(item.nodeid) == 0:
                self._seconds[item.nodeid] = round(took, 3)
                data = watch.get_data()
                for path in data.measured_files():
                    self._lines[os.path.relpath(path)][item.nodeid] = sorted(data.lines(path) or [])

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call":
            self._seconds[report.nodeid] = 0.0 if report.passed else -1.0

    def pytest_sessionfinish(self) -> None:
        kept = {name: took for name, took in self._seconds.items() if took >= 0}
        self._out.write_text(json.dumps({"seconds": kept, "lines": self._lines}), encoding="utf-8")


def _too_long(number: int, frame: FrameType | None) -> None:
    while frame is not None:
        if "coverage" in frame.f_code.co_filename:  # it may hold its lock; try again
            signal.setitimer(signal.ITIMER_PROF, 0.01)
            return
        frame = frame.f_back
    raise TimeoutError("too long without compiled kernels")
