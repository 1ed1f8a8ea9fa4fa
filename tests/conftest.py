"""Fixtures that many tests share."""

import gc
import multiprocessing.util
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

import pytest
from hypothesis import settings

import faircrowd as package
from engines.spark.spark_session import java, spark
from faircrowd.cli.app import run
from strategies import examples

__all__ = ["java", "spark"]

# Kernels compile on their first call, so no example has a deadline; where CI is set, a run can be repeated exactly.
settings.register_profile(
    "faircrowd", deadline=None, derandomize=bool(os.environ.get("CI")), max_examples=examples(100)
)
settings.load_profile("faircrowd")

os.environ["FAIRCROWD_QUIET"] = "1"  # tests compare what is printed, whether or not kernels are compiled by then

# The first three compile the kernels that others find. Those after them have few tests, which take long or wait a lot;
# they start early, so that none of them runs alone at the end.
EARLY = (
    "aggregate/test_properties.py",
    "fair/test_properties.py",
    "cli/test_commands.py",
    "engines/spark/test_servers.py",
    "test_determinism.py",
    "engines/spark/test_fair_in_spark.py",
    "report/test_browser.py",
    "faults/test_killed.py",
    "storage/test_scratch.py",
    "experiments/test_reproduce.py",
    "fair/test_whole_tasks.py",
    "runs/test_recorded_runs.py",
    "studio/test_studio_app.py",
    "pages/test_pages.py",
)

# Files that share what takes long to make: a session of Spark, syntax trees, runs of every command. One process runs
# them all.
TOGETHER = (
    (
        "engines/spark/test_engine.py",
        "engines/spark/test_spark_page.py",
        "engines/spark/test_fair_in_spark.py",
        "aggregate/test_spark_models.py",
        "runs/test_spark_run.py",
        "audit/test_independence.py",
    ),
    ("test_architecture.py", "test_tree.py", "test_security.py"),
    ("faults/test_killed.py", "faults/test_full_disk.py", "faults/test_interrupted.py"),
    ("report/test_browser.py", "studio/test_in_browser.py"),
)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    from xdist.scheduler import LoadFileScheduling

    first = {f"tests/{name}": f"tests/{names[0]}" for names in TOGETHER for name in names}

    class ByFile(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            name = super()._split_scope(nodeid)
            return first.get(name, name)

    return ByFile(config, log)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    # Modules and tests stay until the end. To look for garbage among so many objects would take a third of collecting.
    gc.freeze()
    gc.enable()
    place = {Path(__file__).parent / name: at for at, name in enumerate(EARLY)}
    items.sort(key=lambda item: place.get(item.path, len(place)))


def pytest_unconfigure() -> None:
    gc.unfreeze()  # DuckDB prints which of its objects are never freed


def pytest_configure(config: pytest.Config) -> None:
    """Give the run a temporary folder of its own, and drop kernels that are older than any kernel's source.

    What other runs on the machine left must not be found by this one. Numba looks at the file of the caller alone.
    """
    gc.disable()
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as a shell's background job: commands would not be stopped
        signal.signal(signal.SIGINT, signal.default_int_handler)
    # No test cuts the power: tests/storage/test_output_folder.py sees that files are synced, and in which order.
    os.fsync = lambda _: None
    if hasattr(config, "workerinput"):  # the process that started this one has seen to it
        return
    # For the processes that run tests, and those that tests start: where there are as many as cores, the threads of
    # OpenBLAS wait for each other, and the many small steps of scipy's L-BFGS-B take ten times as long.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", tempfile.gettempdir())  # folders of tests stay where they were
    multiprocessing.util.get_temp_dir()  # removed by Python itself when it ends, after the folder below
    own = tempfile.mkdtemp(prefix="tests-of-faircrowd-")
    os.environ["TMPDIR"] = tempfile.tempdir = own
    config.add_cleanup(lambda: shutil.rmtree(own, ignore_errors=True))
    folder = Path(package.__file__).parent
    sources = [path for path in folder.rglob("*.py") if "_kernels import" in path.read_text(encoding="utf-8")]
    newest = max(path.stat().st_mtime for path in sources)
    for kernel in folder.rglob("__pycache__/*.nbi"):
        if kernel.stat().st_mtime < newest:
            kernel.unlink(missing_ok=True)


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """The folder of real crowds, beside the project or FAIRCROWD_TEST_DATA; without it, tests that read it say so.

    Where CI is set its absence is a failure, not a skip.
    """
    beside = Path(__file__).parents[2] / "shared" / "data"
    folder = Path(os.environ.get("FAIRCROWD_TEST_DATA", beside))
    if not (folder / "accuracy").is_dir():
        _lack(f"no real crowds at {folder}; set FAIRCROWD_TEST_DATA to a folder that has them")
    return folder


@pytest.fixture(scope="session")
def platforms(data_folder: Path) -> Path:
    """The folder of real exports of labelling platforms, in that of real crowds."""
    folder = data_folder / "platforms"
    if not folder.is_dir():
        _lack(f"no exports of platforms at {folder}")
    return folder


def _lack(what: str) -> NoReturn:
    """Skip a test that lacks its data; where CI is set, fail."""
    if os.environ.get("CI"):
        pytest.fail(what)
    pytest.skip(what)


@pytest.fixture
def faircrowd(capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    """Run a command in this process; return its code and what it printed."""

    def call(*arguments: Any) -> tuple[int, str, str]:
        capsys.readouterr()
        code = run([str(argument) for argument in arguments])
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    return call


@pytest.fixture
def spawn() -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run a command in a process of its own."""

    def call(*arguments: Any, **settings: Any) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "faircrowd", *map(str, arguments)]
        return subprocess.run(command, capture_output=True, text=True, check=False, encoding="utf-8", **settings)

    return call
