"""The number of classes as a constant of the compiled code.

A kernel that loops over two or three classes is a third to a half faster when the compiler knows how many there are.
A number passed to a kernel is only known when it runs; the length of a tuple is part of its type. So the number K of
classes is passed as a tuple of K zeros, which :func:`class_count` reads; with many classes, where this gains nothing,
it is passed as K.
"""

from typing import TypeAlias

import numba
from numba.core import types

__all__ = ["ClassesToken", "class_count", "classes_token"]

ClassesToken: TypeAlias = tuple[int, ...] | int
"""The number of classes, as a kernel takes it."""

_MAX_UNROLLED_CLASSES = 8


def classes_token(n_classes: int) -> ClassesToken:
    """Return the number of classes as a kernel takes it.

    Examples
    --------
    >>> classes_token(3), classes_token(30)
    ((0, 0, 0), 30)
    """
    return (0,) * n_classes if n_classes <= _MAX_UNROLLED_CLASSES else n_classes


def class_count(token: ClassesToken) -> int:
    """Return the number of classes that a token stands for."""
    return len(token) if isinstance(token, tuple) else int(token)


@numba.extending.overload(class_count)
def _class_count(token):  # type: ignore[no-untyped-def] # numba compares the names and the types of arguments
    if isinstance(token, types.BaseTuple):
        n_classes = len(token)
        return lambda token: n_classes
    return lambda token: token
