"""How kernels are compiled: loops over arrays, as machine code that releases the interpreter lock.

numba keeps what it has compiled beside the modules. What the first run of all waits for is compiling, so no kernel gets
an entry point that nobody uses: kernels have none for C, and those that only other kernels call have none for Python,
which takes a third off.
"""

from collections.abc import Callable
from typing import Any, TypeVar

import numba

from faircrowd._compiling import listen_to_numba

__all__ = ["inner_kernel", "kernel"]

_Function = TypeVar("_Function", bound=Callable[..., Any])

listen_to_numba()


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
