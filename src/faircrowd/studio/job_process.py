"""The process of one job: reads what was asked for, does it, and writes the result and the state.

A process of its own can be cancelled, and takes nothing with it if it is killed.
"""

import multiprocessing
import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import TYPE_CHECKING, Any

from faircrowd._steps import watch_steps
from faircrowd._threads import available_threads
from faircrowd.errors import FaircrowdError
from faircrowd.studio.workspace import DONE, FAILED, Job, write_json

if TYPE_CHECKING:
    from faircrowd.aggregate.em import OnRound

__all__ = ["do_job", "start_process", "warm_up"]

_OFTEN = 0.2
"""Seconds between two reports of progress."""
_TRACEBACK = "traceback.txt"


class FileProgress:
    """Writes what a run is doing into a file that the studio reads."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._last = 0.0

    def show(self, text: str, share: float | None = None, *, at_once: bool = False) -> None:
        """Write what is being done, unless something was written a moment ago."""
        now = time.monotonic()
        if at_once or now - self._last > _OFTEN:
            self._last = now
            write_json(self._path, {"text": text, "share": share})

    def step(self, what: str, number: int, total: int) -> None:
        """Show a step of a loop."""
        self.show(f"{what} {number:,} of {total:,}", number / total)

    @contextmanager
    def waiting(self, what: str) -> Iterator[None]:
        """Show that something is being done inside the ``with`` block."""
        self.show(what, at_once=True)
        yield

    @contextmanager
    def rounds(self, what: str) -> Iterator["OnRound | None"]:
        """Show the rounds of a model fitted inside the ``with`` block."""
        self.show(f"{what}: fitting", at_once=True)

        def on_round(number: int, *_: Any) -> None:
            self.show(f"{what}: round {number:,}")

        yield on_round

    def tell(self, line: str) -> None:
        """Show a line until something else is done."""
        self.show(line, at_once=True)


def do_job(folder: Path) -> None:
    """Do the job of a folder; if it fails, write down why."""
    job = Job(folder)
    progress = FileProgress(folder / "progress.json")
    try:
        asked = job.asked
        with watch_steps(progress.step):
            _KINDS[asked["kind"]](job, asked, progress)
    except FaircrowdError as error:
        from faircrowd.runs.wording import spoken

        job.set_state(FAILED, spoken(str(error)))
    except MemoryError:
        job.set_state(FAILED, "There is not enough memory for this job.")
    except Exception as error:
        (folder / _TRACEBACK).write_text(traceback.format_exc(), encoding="utf-8", newline="\n")
        what = f"This job ended with an error that is not yours ({type(error).__name__})"
        job.set_state(FAILED, f"{what}; {folder / _TRACEBACK} says where. Please report it.")
    else:
        job.set_state(DONE)


_IMPORTED = (
    "scipy.optimize",
    "faircrowd.audit.crowd_audit",
    "faircrowd.report.page",
    "faircrowd.runs.fit",
    "faircrowd.studio.data_overview",
    "faircrowd.studio.limit_prices",
    "faircrowd.studio.studio_form",
    "faircrowd.studio.task_story",
    "faircrowd.studio.trust_check",
)
"""What jobs need. Importing it starts no threads that a fork would lose; drawing charts does, and is left to jobs."""


def warm_up() -> None:
    """Let the process from which jobs are forked import what they need, while a person chooses files."""
    if sys.platform == "linux":
        from multiprocessing import forkserver

        forkserver.set_forkserver_preload(list(_IMPORTED))
        forkserver.ensure_running()


def start_process(job: Job) -> BaseProcess:
    """Start the process of a job.

    On Linux it is forked, in milliseconds, from a process that has imported what it needs and has done nothing else;
    elsewhere each starts a Python of its own.
    """
    forks = sys.platform == "linux"
    context = multiprocessing.get_context("forkserver") if forks else multiprocessing.get_context("spawn")
    given = str(job.folder), available_threads()  # of this process: that of a job is alone, and none of a pool
    process = context.Process(target=_main, args=given, name=f"faircrowd-job-{job.name}", daemon=True)
    process.start()
    return process


def _main(folder: str, threads: int) -> None:
    """Be the process of a job."""
    os.environ["FAIRCROWD_THREADS"] = str(threads)
    if os.name == "posix":
        os.setsid()  # Ctrl-C in the terminal is for the studio, which ends its jobs
    signal.signal(signal.SIGINT, signal.default_int_handler)
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nowhere, stream)
    write_json(Path(folder) / "process.json", {"pid": os.getpid(), "threads": available_threads()})
    threading.Thread(target=_end_with_studio, daemon=True).start()
    try:
        do_job(Path(folder))
    except KeyboardInterrupt:
        os._exit(130)


def _end_with_studio() -> None:
    """End this process when that of the studio has ended, however it did."""
    studio = multiprocessing.parent_process()
    if studio is not None:
        studio.join()
        os._exit(1)


def _overview(job: Job, asked: dict[str, Any], progress: FileProgress) -> None:
    from faircrowd.studio.data_overview import column_names, data_overview
    from faircrowd.studio.studio_form import read_options

    read = read_options(asked["read"])
    job.result.mkdir(exist_ok=True)
    with progress.waiting("reading the files"):
        try:
            found = data_overview(read)
        except FaircrowdError:
            write_json(job.result / "columns.json", column_names(read))  # for a person to choose from
            raise
    write_json(job.result / "overview.json", found)


def _run(job: Job, asked: dict[str, Any], progress: FileProgress) -> None:
    from faircrowd.runs.fit import fit
    from faircrowd.studio.studio_form import run_options
    from faircrowd.studio.task_story import write_run_facts

    run = fit(run_options(asked), progress)
    with progress.waiting("writing labels, page and evidence"):
        run.write(job.result, progress=progress)
    with progress.waiting("preparing the pages of the studio"):
        write_run_facts(run, job.folder)


def _prices(job: Job, asked: dict[str, Any], progress: FileProgress) -> None:
    from faircrowd.runs.fit import fit
    from faircrowd.studio.limit_prices import limit_prices
    from faircrowd.studio.studio_form import limits_of, price_options
    from faircrowd.studio.trust_check import trust_check

    run = fit(price_options(asked), progress)
    job.result.mkdir(exist_ok=True)
    with progress.waiting("comparing what the method believes with what is known"):
        trust = trust_check(run, job.result)
    prices = limit_prices(run, limits_of(asked)[0], progress)
    facts = {"trust": trust, "classes": list(run.votes.classes.names), **prices}
    write_json(job.result / "prices.json", facts)


_KINDS: dict[str, Callable[[Job, dict[str, Any], FileProgress], None]] = {
    "overview": _overview,
    "run": _run,
    "prices": _prices,
}
"""What a job may be."""
