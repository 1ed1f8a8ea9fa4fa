"""Jobs that wait and run: one process per job, one after the other, in the order they were asked for."""

import os
import signal
import threading
from collections import deque
from multiprocessing.process import BaseProcess

from faircrowd.studio.job_process import start_process, warm_up
from faircrowd.studio.workspace import CANCELLED, FAILED, FINAL, QUEUED, RUNNING, Job, Workspace

__all__ = ["JobQueue"]

_PATIENCE = 5.0
"""Seconds that a process has to end by itself once its job is cancelled."""
_ENDED = "The studio ended while this job ran; start it again."


class JobQueue:
    """Runs the jobs of a workspace.

    A process that is killed fails its job alone. Jobs that waited when the studio ended are waiting again when it
    starts; one that ran then has failed.

    Parameters
    ----------
    workspace : Workspace
    """

    def __init__(self, workspace: Workspace) -> None:
        self._waiting: deque[Job] = deque()
        self._changed = threading.Condition()
        self._current: tuple[Job, BaseProcess] | None = None
        self._cancelled: set[str] = set()
        self._is_open = True
        for job in reversed(workspace.jobs()):
            state = job.state["state"]
            if state == RUNNING:
                job.set_state(FAILED, _ENDED)
            elif state == QUEUED:
                self._waiting.append(job)
        warm_up()
        self._thread = threading.Thread(target=self._work, name="jobs", daemon=True)
        self._thread.start()

    def add(self, job: Job) -> None:
        """Let a job wait for its turn."""
        with self._changed:
            self._waiting.append(job)
            self._changed.notify_all()

    def place(self, job: Job) -> int:
        """Return how many jobs are before this one; 0 if it runs or has ended."""
        with self._changed:
            if job not in self._waiting:
                return 0
            is_busy = self._current is not None and self._current[0].state["state"] not in FINAL
            return self._waiting.index(job) + is_busy

    def cancel(self, job: Job) -> None:
        """End a job that waits or runs; nothing of its result is kept."""
        with self._changed:
            if job in self._waiting:
                self._waiting.remove(job)
                job.set_state(CANCELLED)
            elif self._current is not None and self._current[0] == job:
                self._cancelled.add(job.name)
                _stop(self._current[1])

    def close(self) -> None:
        """End the job that runs, and start no other."""
        with self._changed:
            self._is_open = False
            if self._current is not None:
                _stop(self._current[1])
            self._changed.notify_all()
        self._thread.join(2 * _PATIENCE)

    def _work(self) -> None:
        while True:
            with self._changed:
                while self._is_open and not self._waiting:
                    self._changed.wait()
                if not self._is_open:
                    return
                job = self._waiting.popleft()
                job.set_state(RUNNING)
                try:
                    process = start_process(job)
                except OSError as error:
                    job.set_state(FAILED, f"The process of this job could not be started: {error.strerror}.")
                    continue
                self._current = job, process
            process.join()
            with self._changed:
                self._current = None
                self._settle(job, process.exitcode or 0)

    def _settle(self, job: Job, code: int) -> None:
        """Write down how a job ended, if its process has not done so."""
        if job.name in self._cancelled:
            self._cancelled.discard(job.name)
            if not job.is_done:
                job.set_state(CANCELLED)
        elif job.state["state"] in FINAL:
            return
        elif not self._is_open:
            job.set_state(FAILED, _ENDED)
        else:
            how = f"was ended by signal {-code}" if code < 0 else f"ended with code {code}"
            job.set_state(FAILED, f"The process of this job {how}. If the data are large, memory may have run out.")


def _stop(process: BaseProcess) -> None:
    """Ask a process to end, and kill it if it does not soon."""
    if not process.is_alive() or process.pid is None:
        return
    if os.name == "posix":
        os.kill(process.pid, signal.SIGINT)
    else:
        process.terminate()

    def kill() -> None:
        if process.is_alive():
            process.kill()

    timer = threading.Timer(_PATIENCE, kill)
    timer.daemon = True
    timer.start()
