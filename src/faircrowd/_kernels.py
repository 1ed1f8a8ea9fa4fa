"""How kernels are compiled: loops over arrays, as machine code that releases the interpreter lock.

numba keeps what it has compiled beside the modules. What the first run of all waits for is compiling, so no kernel gets
an entry point that nobody uses: kernels have none for C, and those that only other kernels call have none for Python,
which takes a third off. Nor does Python look for garbage while a kernel is compiled: numba makes millions of small
objects that live as long as the kernel is being compiled, and looking through them takes an eighth.
"""

import gc
from collections.abc import Callable
from typing import Any, TypeVar

import numba
from numba.core import event

from faircrowd._compiling import is_ours, listen_to_numba

__all__ = ["inner_kernel", "kernel"]

_Function = TypeVar("_Function", bound=Callable[..., Any])


class _CollectLater(event.Listener):
    """Turns the garbage collector off while a kernel is compiled, with those that it calls, and on again after it.

    numba compiles one kernel at a time and holds a lock meanwhile, so that counting is safe in threads.
    """

    def __init__(self) -> None:
        self._depth, self._was_on = 0, False

    def on_start(self, event: Any) -> None:
        if is_ours(event.data):
            if self._depth == 0:
                self._was_on = gc.isenabled()
                gc.disable()
            self._depth += 1

    def on_end(self, event: Any) -> None:
        if is_ours(event.data) and self._depth:
            self._depth -= 1
            if self._depth == 0 and self._was_on:
                self._was_on = False
                gc.enable()


listen_to_numba()
event.register("numba:compile", _CollectLater())  # type: ignore[no-untyped-call]


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
