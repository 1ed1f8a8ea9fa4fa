"""The number of classes as a constant of the compiled code.

A kernel that loops over two or three classes is a third to a half faster when the compiler knows how many
there are. A number passed to a kernel is only known when it runs; the length of a tuple is part of its type.
So the number K of classes travels as a tuple of K zeros, and ``width`` reads it back; beyond a few classes,
where it gains nothing, as K.
"""

from typing import Any

import numba
from numba.core import types

__all__ = ["classes_token", "width"]

_FEW = 8


def classes_token(n_classes: int) -> Any:
    """Return what stands for the number of classes in a call of a kernel."""
    return (0,) * n_classes if n_classes <= _FEW else n_classes


def width(token: Any) -> int:
    """Return the number of classes that a token stands for."""
    return len(token) if isinstance(token, tuple) else int(token)


@numba.extending.overload(width)
def _width(token):  # type: ignore[no-untyped-def]
    if isinstance(token, types.BaseTuple):
        n_classes = len(token)
        return lambda token: n_classes
    return lambda token: token
