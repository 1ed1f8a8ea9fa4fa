"""Mistyped names of arguments: an error that says which was meant."""

from collections.abc import Callable, Iterable, Mapping
from functools import wraps
from inspect import Parameter, signature
from typing import Any, TypeVar

from faircrowd._checks import suggestion

__all__ = ["check_names", "names_checked", "names_of_arguments"]

Called = TypeVar("Called", bound=Callable[..., Any])

_ALSO_CALLED = {
    "sensitive_features": ("group", "groups", "sensitive", "protected", "sensitive_attribute"),
    "epsilon": ("tol", "tolerance", "gap", "max_gap", "threshold", "difference_bound"),
    "true_labels": ("gold", "truth", "known", "known_labels", "gold_labels", "y", "labels"),
    "estimator": ("model", "aggregator", "classifier", "method"),
}
"""What arguments are called elsewhere."""


def names_checked(function: Called) -> Called:
    """Let a function, or the constructor of a class, say which argument was meant where there is none of a name.

    Examples
    --------
    >>> @names_checked
    ... def solve(posterior, *, epsilon=0.05): ...
    >>> solve([1], eps=0.1)
    Traceback (most recent call last):
    TypeError: solve() got an unexpected keyword argument 'eps'. Did you mean 'epsilon'?
    """
    target: Any = vars(function)["__init__"] if isinstance(function, type) else function

    @wraps(target)
    def checked(*args: Any, **kwargs: Any) -> Any:
        check_names(function.__name__, kwargs, names)
        return target(*args, **kwargs)

    names = names_of_arguments(target) or ()
    if not isinstance(function, type):
        return checked  # type: ignore[return-value] # has the same arguments
    function.__init__ = checked  # type: ignore[misc]
    return function


def names_of_arguments(function: Callable[..., Any]) -> tuple[str, ...] | None:
    """Return the names of a function's arguments; None if it takes any.

    Examples
    --------
    >>> names_of_arguments(lambda posterior, epsilon: None), names_of_arguments(lambda **options: None)
    (('posterior', 'epsilon'), None)
    """
    taken = signature(function).parameters
    return None if any(one.kind is Parameter.VAR_KEYWORD for one in taken.values()) else tuple(taken)


def check_names(called: str, given: Mapping[str, object], names: Iterable[str]) -> None:
    """Raise for arguments that a function does not have, and propose what was meant.

    Examples
    --------
    >>> check_names("FairCrowd.fit", {"groups": None}, ["data", "sensitive_features"])
    Traceback (most recent call last):
    TypeError: FairCrowd.fit() got an unexpected keyword argument 'groups'. Did you mean 'sensitive_features'?
    """
    known = tuple(names)
    for name in given:
        if name not in known:
            meant = [own for own, others in _ALSO_CALLED.items() if own in known and name.casefold() in others]
            hint = f" Did you mean {meant[0]!r}?" if meant else suggestion(name, known)
            raise TypeError(f"{called}() got an unexpected keyword argument {name!r}.{hint}")
