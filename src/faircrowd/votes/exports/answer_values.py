"""Answers that platforms write as text: lists, JSON, truth values, one column per option."""

import json
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any, TypeAlias

from faircrowd.votes.exports.answers import Record

__all__ = [
    "ROWS_FOR_QUESTIONS",
    "Scalar",
    "an_id",
    "as_json",
    "chosen",
    "has_answer",
    "is_yes",
    "only_option",
    "plain_options",
    "scalars",
    "varying_columns",
]

Scalar: TypeAlias = str | int | float | bool
ROWS_FOR_QUESTIONS = 100_000
"""How many rows are searched for questions, where no file says which columns these are."""
_YES = frozenset({"true", "yes", "on", "1"})


def an_id(value: object) -> str | int | None:
    """Return an id as it is, or as text if it is neither text nor a whole number.

    Examples
    --------
    >>> an_id("t1"), an_id(7), an_id(1.5), an_id(True), an_id(None), an_id({"a": 1})
    ('t1', 7, '1.5', 'True', None, '{"a": 1}')
    """
    if value is None or isinstance(value, str) or (isinstance(value, int) and not isinstance(value, bool)):
        return value
    return json.dumps(value, ensure_ascii=False, default=str) if isinstance(value, dict | list) else str(value)


def is_yes(value: object) -> bool:
    """Return whether a cell says yes.

    Examples
    --------
    >>> [is_yes(value) for value in (True, "TRUE", "on", 1, "false", "", None, 0, "no")]
    [True, True, True, True, False, False, False, False, False]
    """
    return str(value).strip().casefold() in _YES


def as_json(value: object) -> object:
    """Return what a text holds if it is an object or a list of JSON; anything else as it is.

    Examples
    --------
    >>> as_json('["a", "b"]'), as_json("[sic]"), as_json(3)
    (['a', 'b'], '[sic]', 3)
    """
    if isinstance(value, str) and value[:1] in ("[", "{") and value[-1:] in ("]", "}"):
        try:
            return json.loads(value)
        except (ValueError, RecursionError):
            return value
    return value


def scalars(values: Iterable[object]) -> list[Scalar]:
    """Return the texts, numbers and truth values among some values; lists and objects are no options."""
    return [value for value in values if isinstance(value, str | int | float | bool)]


def chosen(options: Mapping[str, Any]) -> list[str] | None:
    """Return the options that are true; None if not all values are truth values.

    Examples
    --------
    >>> chosen({"yes": True, "no": False}), chosen({"yes": "maybe"}), chosen({})
    (['yes'], None, None)
    """
    if not options or not all(isinstance(value, bool) for value in options.values()):
        return None
    return [name for name, value in options.items() if value]


def has_answer(answers: Record) -> bool:
    """Return whether any question is answered: an empty text or list is no answer.

    Examples
    --------
    >>> has_answer({"a": "", "b": 0}), has_answer({"a": "", "b": [], "c": None}), has_answer({})
    (True, False, False)
    """
    return any(value not in (None, "", []) for value in answers.values())


def only_option(answer: object) -> object:
    """Return an answer that is one option; None if it is a list of several or of none.

    Examples
    --------
    >>> only_option(["a"]), only_option("a"), only_option(["a", "b"]), only_option([])
    ('a', 'a', None, None)
    """
    if not isinstance(answer, list):
        return answer
    return answer[0] if len(answer) == 1 else None


def plain_options(value: object, joined_by: str) -> Scalar | list[Scalar] | None:
    """Return an answer in a cell: one option, or a list if it is one of JSON or of options joined by a sign.

    Examples
    --------
    >>> plain_options("a|b", "|"), plain_options("a", "|"), plain_options('["a"]', "|"), plain_options("{}", "|")
    (['a', 'b'], 'a', ['a'], None)
    >>> plain_options("C#", "#")
    'C#'
    """
    value = as_json(value)
    if isinstance(value, list):
        return scalars(value)
    if isinstance(value, str) and joined_by in value.strip(joined_by + " "):
        return [part for piece in value.split(joined_by) if (part := piece.strip())]
    if isinstance(value, str):
        return value.strip()
    return value if isinstance(value, int | float | bool) else None


def varying_columns(rows: Iterator[Record], task: str) -> list[str]:
    """Return the columns whose values differ between the rows of a task: answers, since all else is the same.

    Parameters
    ----------
    rows : iterator of mappings
        The first 100,000 are looked at.
    task : str
        The column of the tasks.
    """
    first: dict[object, Record] = {}
    varying: dict[str, None] = {}
    order: dict[str, None] = {}
    for row in islice(rows, ROWS_FOR_QUESTIONS):
        known = first.setdefault(row.get(task), row)
        if known is row:
            order |= dict.fromkeys(row)
            continue
        for name in row:
            if name not in varying and known.get(name) != row.get(name):
                varying[name] = None
    return [name for name in order if name in varying] + [name for name in varying if name not in order]
