"""How much memory new work can take: what the system has, what a container may use, what a limit allows."""

import os
from collections.abc import Iterator
from pathlib import Path

__all__ = ["free_memory"]

_UNKNOWN = 4 << 30


def free_memory(root: str = "/") -> int:
    """Return the bytes that new work can take without swapping, or without being refused.

    Parameters
    ----------
    root : str, default="/"
        Where ``proc`` and ``sys`` lie.
    """
    rooms: list[int] = []
    for find in (_of_system, _of_control_groups, _of_address_space):
        try:
            rooms += find(Path(root))
        except (OSError, ValueError, IndexError, ImportError):
            continue  # another system
    if not rooms:
        try:
            rooms = [os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2]
        except (AttributeError, ValueError, OSError):
            rooms = [_UNKNOWN]
    return max(min(rooms), 0)


def _of_system(root: Path) -> Iterator[int]:
    lines = (root / "proc/meminfo").read_text(encoding="ascii").splitlines()
    yield from (int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:"))


def _of_control_groups(root: Path) -> Iterator[int]:
    """Yield the room in the groups of this process and in those around them, of both versions of control groups."""
    for line in (root / "proc/self/cgroup").read_text(encoding="utf-8").splitlines():
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
            try:
                allowed = (folder / most).read_text(encoding="ascii").strip()
                used = int((folder / now).read_text(encoding="ascii"))
                stat = dict(row.split() for row in (folder / "memory.stat").read_text(encoding="ascii").splitlines())
            except OSError:
                continue
            if allowed != "max":
                # Pages of files that nobody has used lately are given back when memory is asked for.
                yield int(allowed) - used + int(stat.get(cached, 0))


def _of_address_space(root: Path) -> Iterator[int]:
    """Yield what ``ulimit -v`` leaves."""
    import resource

    most, _ = resource.getrlimit(resource.RLIMIT_AS)
    if most != resource.RLIM_INFINITY:
        pages = int((root / "proc/self/statm").read_text(encoding="ascii").split()[0])
        yield most - pages * resource.getpagesize()
