"""How many threads to use: no more than there are processors for, also in containers and in pools of processes."""

import math
import os
from pathlib import Path

__all__ = ["available_threads"]

_GROUP = Path("/sys/fs/cgroup")


def available_threads() -> int:
    """Return how many threads to use: ``FAIRCROWD_THREADS``, or as many as processors that this process may use.

    These are the processors it may run on, or fewer if its control group (a container's) has a quota. A process of a
    pool (:mod:`multiprocessing`, joblib) uses one, as the others of the pool use the rest.
    """
    asked = os.environ.get("FAIRCROWD_THREADS", "")
    if asked.isdecimal() and int(asked) > 0:
        return int(asked)
    import multiprocessing  # the command line asks for its version without it

    if multiprocessing.parent_process() is not None:
        return 1
    some = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(some, _quota() or some)


def _quota() -> int | None:
    """Return how many processors the quota of the control group allows, rounded up; None if it has none."""
    quota, _, period = _content("cpu.max").partition(" ")  # version 2
    if not quota:
        quota, period = _content("cpu/cpu.cfs_quota_us"), _content("cpu/cpu.cfs_period_us")
    if quota.isdecimal() and period.isdecimal() and int(period) > 0:  # neither "max" nor -1
        return max(math.ceil(int(quota) / int(period)), 1)
    return None


def _content(name: str) -> str:
    try:
        return (_GROUP / name).read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError):
        return ""
