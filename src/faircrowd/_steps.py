"""Long loops that tell how far they are to whoever watches: the command line does, Python by default does not."""

from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

__all__ = ["count_steps", "watch_steps"]

ItemT = TypeVar("ItemT")
Watcher = Callable[[str, int, int], None]
_watcher: ContextVar[Watcher | None] = ContextVar("watcher", default=None)


def count_steps(items: Collection[ItemT], what: str) -> Iterator[ItemT]:
    """Yield the items, and tell a watcher before each which it is; ``what`` names an item.

    Examples
    --------
    >>> with watch_steps(lambda what, number, total: print(f"{what} {number} of {total}")):
    ...     squares = [n * n for n in count_steps((7, 8), "number")]
    number 1 of 2
    number 2 of 2
    >>> squares
    [49, 64]
    """
    watcher = _watcher.get()
    for number, item in enumerate(items, 1):
        if watcher is not None:
            watcher(what, number, len(items))
        yield item


@contextmanager
def watch_steps(watcher: Watcher) -> Iterator[None]:
    """Call ``watcher(what, number, total)`` at each step of each loop that begins inside the ``with`` block."""
    token = _watcher.set(watcher)
    try:
        yield
    finally:
        _watcher.reset(token)
