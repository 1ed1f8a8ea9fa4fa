"""Less work for the garbage collector of Spark's Python processes.

After each task, Spark's Python process collects garbage. It then visits every object that numba, Arrow and faircrowd
made while they were loaded: a tenth of a second, which is longer than the kernel takes for the votes of a partition.
These objects stay as long as the process, so that they need not be visited again.
"""

import gc
from collections.abc import Callable, Iterator
from functools import wraps
from typing import ParamSpec, TypeVar

__all__ = ["spare_loaded_objects"]

_MANY_OBJECTS = 20_000
"""To visit this many takes about ten milliseconds."""

P = ParamSpec("P")
ItemT = TypeVar("ItemT")


def spare_loaded_objects(run: Callable[P, Iterator[ItemT]]) -> Callable[P, Iterator[ItemT]]:
    """Make a function that runs on executors leave out, in later collections, what is loaded when it has finished.

    It does so only if there are many objects that are not left out yet: after the first task of a process, and after
    tasks that loaded another kernel. Garbage is collected before, and what is left out is still freed when the last
    reference to it goes.
    """

    @wraps(run)
    def finished(*args: P.args, **options: P.kwargs) -> Iterator[ItemT]:
        yield from run(*args, **options)
        if len(gc.get_objects()) > _MANY_OBJECTS:  # those that are left out are not among them
            gc.collect()
            gc.freeze()

    return finished
