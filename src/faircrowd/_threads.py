"""How many threads to use: no more than there are processors for, also in containers and in pools of processes."""

import functools
import math
import os
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

__all__ = ["available_threads", "for_rows_in_threads", "map_in_threads"]

_GROUP = Path("/sys/fs/cgroup")

_ROWS_AT_A_TIME = 1 << 17

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")


def available_threads() -> int:
    """Return how many threads to use: ``FAIRCROWD_THREADS``, or as many as processors that this process may use.

    These are the processors it may run on, or fewer if its control group (a container's) has a quota, which is read
    once: reading it takes as long as a pass over 100,000 tasks. A process of a pool (:mod:`multiprocessing`, joblib)
    uses one, as the others of the pool use the rest.
    """
    asked = os.environ.get("FAIRCROWD_THREADS", "")
    if asked.isdecimal() and int(asked) > 0:
        return int(asked)
    import multiprocessing  # the command line asks for its version without it

    if multiprocessing.parent_process() is not None:
        return 1
    some = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(some, _quota(_GROUP) or some)


def map_in_threads(function: Callable[[_Item], _Result], items: Sequence[_Item]) -> list[_Result]:
    """Return what a function returns for each item, in their order; it pays if the function runs kernels or sorts.

    Examples
    --------
    >>> map_in_threads(len, ["a", "bc"])
    [1, 2]
    """
    threads = min(available_threads(), len(items)) if len(items) > 1 else 1
    if threads == 1:
        return [function(item) for item in items]
    from concurrent.futures import Future

    results: dict[int, _Result] = {}
    waiting = deque(enumerate(items))
    others: list[Future[None]] = []

    def work() -> None:
        try:
            while True:
                try:
                    i, item = waiting.popleft()
                except IndexError:  # nothing waits any more
                    return
                results[i] = function(item)
        except BaseException:
            waiting.clear()  # nobody begins another item
            raise

    try:
        with suppress(RuntimeError):  # no thread can be started, or Python is ending: this thread can do it all
            for _ in range(threads - 1):
                others.append(_pool().submit(work))  # noqa: PERF401 - those that were started must be known
        work()
    finally:
        waiting.clear()
        others = [other for other in others if not other.cancel()]  # one that has not begun may wait for this thread
        for other in others:
            other.exception()  # waits until it has ended
    for other in others:
        other.result()
    return [results[i] for i in range(len(items))]


def for_rows_in_threads(function: Callable[[slice], object], n_rows: int) -> None:
    """Call a function for ranges of rows that make up all; what it does for one must not depend on the others."""
    map_in_threads(function, [slice(i, i + _ROWS_AT_A_TIME) for i in range(0, n_rows, _ROWS_AT_A_TIME)])


@functools.cache
def _pool() -> "ThreadPoolExecutor":
    """Return threads that wait for work: to start one takes longer than many a kernel."""
    from concurrent.futures import ThreadPoolExecutor

    return ThreadPoolExecutor(max(os.cpu_count() or 1, 2), thread_name_prefix="faircrowd")


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pool.cache_clear)  # the threads of a process do not live on in its forks


@functools.cache
def _quota(folder: Path) -> int | None:
    """Return how many processors the quota of the control group allows, rounded up; None if it has none."""
    quota, _, period = _content(folder / "cpu.max").partition(" ")  # version 2
    if not quota:
        quota, period = (_content(folder / "cpu" / f"cpu.cfs_{what}_us") for what in ("quota", "period"))
    if quota.isdecimal() and period.isdecimal() and int(period) > 0:  # neither "max" nor -1
        return max(math.ceil(int(quota) / int(period)), 1)
    return None


def _content(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError):
        return ""
