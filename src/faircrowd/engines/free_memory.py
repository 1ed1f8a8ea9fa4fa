"""How much memory new work can take: what the system has, what a container may use, and what a limit allows."""

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

__all__ = ["free_memory"]

_ASSUMED = 4 << 30
"""Bytes that are taken for free where the system does not say."""


def free_memory(root: str = "/") -> int:
    """Return the bytes that new work can take without swapping, or without being refused.

    Parameters
    ----------
    root : str, default="/"
        The folder that holds ``proc`` and ``sys``.
    """
    rooms: list[int] = []
    for find in (_of_system, _of_control_groups, _of_address_space):
        try:
            rooms += find(Path(root))
        except (OSError, ValueError, IndexError, ImportError, AttributeError):
            continue  # another system
    if not rooms:
        try:
            rooms = [os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2]
        except (AttributeError, ValueError, OSError):
            rooms = [_ASSUMED]
    return max(min(rooms), 0)


def _of_system(root: Path) -> Iterator[int]:
    lines = (root / "proc/meminfo").read_text(encoding="ascii").splitlines()
    yield from (int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:"))


def _of_control_groups(root: Path) -> Iterator[int]:
    """Yield what is free in the control groups (of both versions) of this process, and in those that contain them."""
    try:
        lines = (root / "proc/self/cgroup").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = ["0::/", "1:memory:/"]
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if controllers == "":
            base, most, now, cached = "sys/fs/cgroup", "memory.max", "memory.current", "inactive_file"
        elif "memory" in controllers.split(","):
            base, most, now = "sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes"
            cached = "total_inactive_file"
        else:
            continue
        own = Path(path.strip("/"))
        for group in (own, *own.parents):  # in a container only the last may be there: its own group
            folder = root / base / group
            with suppress(OSError, ValueError):  # there is no such group, or its limit is "max"
                allowed, used = (int((folder / name).read_text(encoding="ascii")) for name in (most, now))
                yield allowed - used + _given_back(folder / "memory.stat", cached)


def _given_back(path: Path, cached: str) -> int:
    """Return the bytes of files that nobody has used lately: the system frees them when memory is needed."""
    try:
        rows = [row.split() for row in path.read_text(encoding="ascii").splitlines()]
        return next(int(size) for name, size in rows if name == cached)
    except (OSError, ValueError, StopIteration):
        return 0


def _of_address_space(root: Path) -> Iterator[int]:
    """Yield what ``ulimit -v`` leaves free."""
    import resource

    most, _ = resource.getrlimit(resource.RLIMIT_AS)
    if most != resource.RLIM_INFINITY:
        pages = int((root / "proc/self/statm").read_text(encoding="ascii").split()[0])
        yield most - pages * resource.getpagesize()
