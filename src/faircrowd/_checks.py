"""Checks of arguments, and pieces of text that error messages share. Importing this module imports no numpy."""

import difflib
import math
import os
import sys
import warnings
from collections.abc import Iterable, Sequence
from itertools import islice
from numbers import Integral, Real
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

from faircrowd._searches import ONCE_PER_SEARCH, is_told_in_search
from faircrowd.errors import FileError, InputError, OptionError

if TYPE_CHECKING:
    import numpy as np

__all__ = [
    "LARGEST",
    "check_choice",
    "check_confidence",
    "check_count",
    "check_memory",
    "check_number",
    "check_path",
    "check_random_state",
    "few",
    "suggestion",
    "warn",
]

_LONGEST_COMPARED_NAME, _MAX_COMPARED_OPTIONS = 200, 2000

LARGEST = 1e100
"""The largest weight or pseudo-count that is accepted: sums and products of a few of them stay finite."""


def few(values: Iterable[object], total: int | None = None, *, limit: int = 5) -> str:
    """Return the first few of many values as text, and how many more there are.

    Examples
    --------
    >>> few(["a", "b", "c"], limit=2)
    "'a', 'b' and 1 more"
    """
    values = list(values)
    total = len(values) if total is None else total
    shown = [_short(repr(value)) for value in values[:limit]]
    rest = total - len(shown)
    return ", ".join(shown) + (f" and {rest:,} more" if rest else "")


def _short(text: str, limit: int = 60) -> str:
    text = " ".join(text.splitlines())  # the text of an array has several
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


def suggestion(name: object, options: Iterable[object]) -> str:
    """Return a sentence that proposes the option closest to a mistyped name, or nothing; case is ignored.

    Examples
    --------
    >>> suggestion("Lable", ["task", "worker", "label"])
    " Did you mean 'label'?"
    """
    wanted = str(name).casefold().strip()
    known = {str(option).casefold(): str(option) for option in islice(options, _MAX_COMPARED_OPTIONS)}
    # What is too long to be a name, such as the contents of a file, is not compared letter by letter.
    close = difflib.get_close_matches(wanted, known, n=1) if len(wanted) <= _LONGEST_COMPARED_NAME else []
    return f" Did you mean {known[close[0]]!r}?" if close else ""


def warn(message: str, kind: type[Warning]) -> None:
    """Warn at the line that called faircrowd, however deep inside the warning arises; in a search, once."""
    is_told = is_told_in_search(message, kind) if "sklearn.model_selection" in sys.modules else None
    if is_told:
        return
    if is_told is not None:
        message = f"{message.removesuffix('.')}. {ONCE_PER_SEARCH}"
    level = 2
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "faircrowd":
        level, frame = level + 1, frame.f_back
    warnings.warn(message, kind, stacklevel=level)


def check_choice(name: str, value: object, options: Sequence[object]) -> None:
    """Raise unless ``value`` is one of ``options``."""
    try:
        known = value in options
    except (TypeError, ValueError):  # an array, or pandas.NA, is neither equal nor unequal
        known = False
    if not known:
        listed = ", ".join(repr(option) for option in options)
        raise OptionError(
            f"{name}={few([value])} is not known; use one of {listed}.{suggestion(value, options)}", parameter=name
        )


def check_count(name: str, value: object, *, least: int = 0) -> int:
    """Return ``value`` as an int of at least ``least``, or raise."""
    if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
        raise OptionError(f"{name} must be a whole number of at least {least}; got {few([value])}.", parameter=name)
    return int(value)


def check_memory(n_numbers: int, what: str, advice: str) -> None:
    """Raise if this many numbers do not fit into memory: the system would kill the process without a message."""
    try:
        memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):  # not every system says how much it has
        return
    if 8 * n_numbers > memory:
        needed, available = (f"{size / 1e9:,.0f} GB" for size in (8 * n_numbers, memory))
        raise InputError(f"{what} take about {needed} of memory, and this machine has {available}; {advice}.")


def check_number(name: str, value: object, *, low: float = -math.inf, high: float = math.inf) -> float:
    """Return ``value`` as a float within ``[low, high]``, or raise."""
    try:
        number = float(value) if isinstance(value, Real) and not isinstance(value, bool) else math.nan
    except OverflowError:
        number = math.nan
    if not low <= number <= high:
        if low == -math.inf and high == math.inf:
            span = "a number"
        elif high == math.inf:
            span = f"a number of at least {low:g}"
        else:
            span = f"a number from {low:g} to {high:g}"
        percent = low >= 0 and high == 1 and 1 < number <= 100
        meant = f" Did you mean {number / 100:g}?" if percent else ""
        raise OptionError(f"{name} must be {span}; got {few([value])}.{meant}", parameter=name)
    return number


def check_confidence(name: str, value: object) -> float:
    """Return ``value`` as a confidence level, from 0.5 up to but not including 1, or raise."""
    number = check_number(name, value, low=0.5, high=1)
    if number == 1:
        raise OptionError(f"{name} must be below 1, as nothing is certain; 0.95 is usual.", parameter=name)
    return number


def check_path(path: Path) -> None:
    """Raise if the name of a file is not text (on Linux it may be any bytes)."""
    if "\0" in str(path):
        raise FileError(f"There is no file {str(path)!r}: a name cannot contain a NUL character.")
    try:
        str(path).encode()
    except UnicodeEncodeError:
        raise FileError(f"The name {str(path)!r} is not UTF-8 text; rename the file or folder.") from None


def check_random_state(random_state: object) -> "np.random.Generator":
    """Return a random generator made from a seed; a generator is returned as it is."""
    import numpy as np

    if isinstance(random_state, np.random.Generator):
        return random_state
    return np.random.default_rng(check_count("random_state", random_state))
