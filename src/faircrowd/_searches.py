"""Fits inside a search or a cross-validation of scikit-learn: each warning is said once per search, not once per fit.

A search fits many models on parts of the data, and what speaks against one of them speaks against most. The model that
is kept is fitted last, on all of the data and outside of the folds, and says all that it has to say.
"""

import re
import sys
from types import FrameType
from typing import Any
from weakref import WeakKeyDictionary

__all__ = ["ONCE_PER_SEARCH", "is_told_in_search"]

ONCE_PER_SEARCH = "(This is one of the fits of a search or cross-validation; others that warn of the same are silent.)"
"""What is added to a warning of a fit that others of its kind will not repeat."""

_FOLD = "_fit_and_score"
"""The function of scikit-learn that fits one model on one part of the data."""

_told: "WeakKeyDictionary[Any, tuple[int, set[object]]]" = WeakKeyDictionary()


class _Process:
    """Stands for the search where only one of its workers is seen."""


_PROCESS = _Process()


def is_told_in_search(message: str, kind: type[Warning]) -> bool | None:
    """Return whether a search has told a warning of this kind; None outside of a search.

    Warnings are the same if they differ in numbers alone; those of subclasses of ``DataWarning`` that have a meaning
    of their own, such as ``DrasticChangeWarning``, whatever they say.
    """
    search = _search()
    if search is None:
        return None
    owner, frame = search
    try:
        known = _told.get(owner)
    except TypeError:  # an estimator of somebody else that cannot be hashed, or not be referred to weakly
        owner, known = _PROCESS, _told.get(_PROCESS)
    if known is None or known[0] != frame:
        known = _told[owner] = (frame, set())
    what = kind if kind.__name__ != "DataWarning" else (kind, re.sub(r"\d[\d.,]*", "0", message))
    is_told = what in known[1]
    known[1].add(what)
    return is_told


def _search() -> tuple[Any, int] | None:
    """Return what searches, and where it is called from, if this is a fit on a part of the data."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and not (frame.f_code.co_name == _FOLD and _is_sklearn(frame)):
        frame = frame.f_back
    found: tuple[Any, int] | None = None if frame is None else (_PROCESS, 0)
    while frame is not None:  # the outermost call of scikit-learn is the search, or a function such as cross_validate
        owner = frame.f_locals.get("self", frame.f_locals.get("estimator"))
        if _is_sklearn(frame) and frame.f_code.co_name != _FOLD and hasattr(owner, "get_params"):
            found = owner, id(frame)
        frame = frame.f_back
    return found


def _is_sklearn(frame: FrameType) -> bool:
    return str(frame.f_globals.get("__name__", "")).startswith("sklearn.model_selection")
