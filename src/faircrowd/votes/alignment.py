"""One rule for whatever is known about tasks or rows: it goes by id where ids are known, and never by chance.

- A Series, a dict, a frame with a task column and a file have ids. They are matched by id, in any order.
- An array or a list has none. It is matched by position, and must have one value per row.
- A pandas Series that nobody gave an index is numbered 0, 1, 2, ... If these numbers are not the ids of the tasks, it
  is refused: its positions may happen to fit, or be those of other tasks.
- A Series with the index of the votes, of which there are several per task, has one value per vote. It is refused: by
  id, the values of the first votes would become those of tasks that happen to have their numbers as ids.
"""

from collections.abc import Mapping
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from faircrowd._checks import few
from faircrowd.errors import InputError
from faircrowd.votes.frames import ALIASES
from faircrowd.votes.vocabulary import Vocabulary

__all__ = ["check_index", "has_index", "in_order_of", "is_strange_index", "refuse_rows_of_votes"]

T = TypeVar("T")


def check_index(facts: object, tasks: Vocabulary, what: str) -> None:
    """Raise if a Series was never given an index, and the numbers that it has instead are not the ids of the tasks.

    Parameters
    ----------
    facts : object
        What is known about tasks; anything but a pandas Series is left to whoever reads it.
    tasks : Vocabulary
    what : str
        What the facts are called in the message.
    """
    if is_strange_index(facts, tasks) and not hasattr(facts, "columns"):
        strange = np.flatnonzero(~_are_numbers(tasks, max(len(_index(facts)), 1)))
        raise InputError(
            f"{what} is a Series without an index of its own (it is numbered 0, 1, 2, ...), but the tasks have other "
            f"ids, such as {few(tasks.some(strange[:3]))}. Give it the ids of its tasks as index."
        )


def refuse_rows_of_votes(facts: object, votes: object, n_tasks: int, what: str) -> None:
    """Raise if a Series or frame has one row per vote instead of one per task.

    Parameters
    ----------
    facts : object
        What is known about tasks.
    votes : object
        The frame of the votes.
    n_tasks : int
        How many tasks these have.
    what : str
        What the facts are called in the message.
    """
    index, own = _index(facts), _index(votes)
    if index is None or own is None or facts is votes or not len(index) == len(own) > n_tasks:
        return
    if index.equals(own) and not (hasattr(facts, "columns") and set(ALIASES["task"]) & set(facts.columns)):
        raise InputError(
            f"{what} has the index of the votes, one row per vote ({len(own):,}), but it goes by task ({n_tasks:,} "
            "tasks). Add it to the votes as a column and give the column's name, or give it the tasks' ids as index."
        )


def has_index(facts: object) -> bool:
    """Return whether facts are a Series or a frame of pandas, whose rows have ids."""
    return _index(facts) is not None


def is_strange_index(facts: object, tasks: Vocabulary) -> bool:
    """Return whether rows of pandas were never given ids, and their numbers are not the ids of the tasks."""
    index = _index(facts)
    if index is None or not _is_default(index) or len(tasks) == 0:
        return False
    return not (_are_numbers(tasks, max(len(index), 1)).all() or _are_numbers(tasks, len(tasks)).all())


def in_order_of(reference: object, other: T, what: str, to: str = "y_pred") -> T:
    """Return a column in the order of a reference, by the index of both where both are of pandas; else as it is.

    Parameters
    ----------
    reference, other : object
        Columns or frames, or for ``other`` a dict of columns.
    what, to : str
        What they are called in messages.

    Raises
    ------
    InputError
        If both have an index, but rows of the reference are not in that of the other, or an index repeats ids.
    """
    if isinstance(other, Mapping):
        return {name: in_order_of(reference, column, f"{what}[{name!r}]", to) for name, column in other.items()}  # type: ignore[return-value]
    index, second = _index(reference), _index(other)
    if index is None or second is None or index.equals(second):
        return other
    if index.nlevels != second.nlevels or not (index.is_unique and second.is_unique and index.isin(second).all()):
        default = {to: _is_default(index), what: _is_default(second)}
        named = [name for name, is_default in default.items() if is_default]
        found = f" ({named[0]} has none of its own: it is numbered 0, 1, 2, ...)" if len(named) == 1 else ""
        raise InputError(
            f"{what} and {to} have an index each, and rows of {to} are not found in that of {what}, or an id is there "
            f"twice{found}. Give both the same ids as index, or, if their rows are in the same order, the values alone "
            "with .to_numpy()."
        )
    rows: Any = other
    return rows.loc[index]  # type: ignore[no-any-return]


def _index(values: object) -> Any:
    """Return the index of a Series or frame of pandas, or None."""
    index = getattr(values, "index", None)
    return index if hasattr(index, "isin") and hasattr(values, "loc") else None


def _are_numbers(tasks: Vocabulary, n: int) -> NDArray[np.bool_]:
    """Return whether the id of each task is one of the numbers 0, 1, ..., n - 1, or written as one."""
    return np.asarray(Vocabulary(pa.array(np.arange(n))).code_of(tasks.values) >= 0)


def _is_default(index: Any) -> bool:
    return type(index).__name__ == "RangeIndex" and index.name is None and index.start == 0 and index.step == 1
