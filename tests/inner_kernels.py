"""Kernels that only other kernels call, made ready to be called by tests."""

from collections.abc import Callable
from typing import Any, TypeVar

import numba

__all__ = ["from_python"]

_Function = TypeVar("_Function", bound=Callable[..., Any])


def from_python(inner: _Function) -> _Function:
    """Compile an inner kernel once more, with an entry point for Python; as plain Python it needs none."""
    function = getattr(inner, "py_func", None)
    return inner if function is None else numba.njit(function)
