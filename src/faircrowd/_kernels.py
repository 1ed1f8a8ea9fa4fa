"""How kernels are compiled: loops over arrays, as machine code that releases the interpreter lock.

numba keeps what it has compiled beside the modules. What the first run of all waits for is compiling, so no kernel gets
an entry point that nobody uses: kernels have none for C, and those that only other kernels call have none for Python,
which takes a third off. And Python looks for garbage less often while a kernel is compiled: numba makes millions of
small objects that live as long as it compiles the kernel, and looking through them takes up to an eighth.
"""

import gc
from collections.abc import Callable
from typing import Any, TypeVar

import numba
from numba.core import event

from faircrowd._compiling import is_ours, listen_to_numba

__all__ = ["inner_kernel", "kernel"]

_OBJECTS_PER_SEARCH = 50_000
"""How many new objects Python then waits for until it looks for garbage among them; 700 by default."""

_Function = TypeVar("_Function", bound=Callable[..., Any])


class _CollectSeldom(event.Listener):
    """Lets Python look for garbage less often while a kernel is compiled, with those that it calls.

    numba compiles one kernel at a time and holds a lock meanwhile, so that counting is safe in threads.
    """

    def __init__(self) -> None:
        self._depth, self._before = 0, gc.get_threshold()

    def on_start(self, event: Any) -> None:
        if is_ours(event.data):
            if self._depth == 0:
                self._before = new, *older = gc.get_threshold()
                gc.set_threshold(max(new, _OBJECTS_PER_SEARCH) if new else new, *older)  # 0 turns it off
            self._depth += 1

    def on_end(self, event: Any) -> None:
        if is_ours(event.data) and self._depth:
            self._depth -= 1
            if self._depth == 0:
                gc.set_threshold(*self._before)


listen_to_numba()
event.register("numba:compile", _CollectSeldom())  # type: ignore[no-untyped-call]


def kernel(function: _Function) -> _Function:
    """Compile a function at its first call with arguments of new types, and keep the result on disk."""
    return _compiled(function)


def inner_kernel(function: _Function) -> _Function:
    """Compile a function that only kernels call: called by Python, it would crash (a test looks for such calls)."""
    return _compiled(function, no_cpython_wrapper=True)


def _compiled(function: _Function, **options: bool) -> _Function:
    compile_: Any = numba.njit  # its types do not know the options for entry points
    compiled: _Function = compile_(cache=True, nogil=True, no_cfunc_wrapper=True, **options)(function)
    return compiled
