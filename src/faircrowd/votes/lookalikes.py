"""Values that a person would take for the same: they differ by a space, by case, or by letters that look alike."""

import re
import unicodedata
from collections.abc import Callable, Iterable
from typing import Any

from faircrowd._checks import few
from faircrowd.errors import InputError
from faircrowd.votes.account import VotesReport
from faircrowd.votes.vocabulary import Vocabulary, shown, value_name

__all__ = ["alike_line", "looks", "notes_on"]

_MAX_COMPARED = 100_000
"""More values than these are not classes that people chose, and are not compared."""

# Letters of Cyrillic and Greek that look like Latin ones.
_LATIN = str.maketrans("аеорсухіјѕԁһАВЕКМНОРСТХІЈЅΑΒΕΖΗΙΚΜΝΟΡΤΥΧο", "aeopcyxijsdhABEKMHOPCTXIJSABEZHIKMNOPTYXo")


def alike_line(what: str, vocabulary: Vocabulary) -> str | None:
    """Return which values look the same to people, and in what they differ; None if all look different.

    Parameters
    ----------
    what : str
        What the values are, in the plural.

    Examples
    --------
    >>> alike_line("labels", Vocabulary.of(["no", "yes", "yes "]))
    "labels 'yes' and 'yes ' differ only by spaces; they count as two"
    """
    if len(vocabulary) > _MAX_COMPARED:
        return None
    first: dict[str, Any] = {}
    pairs = []
    for value in vocabulary.to_list():
        if (look := looks(value)) in first:
            pairs.append((first[look], value))
        first.setdefault(look, value)
    if not pairs:
        return None
    (one, other), how = pairs[0], _difference(*pairs[0])
    names = map(ascii, pairs[0]) if how == _LETTERS else (few(shown([one])), few(shown([other])))
    more = f" (and {len(pairs) - 1:,} more such pairs)" if len(pairs) > 1 else ""
    return f"{what} {' and '.join(names)} differ only by {how}{more}; they count as two"


def refuse_alike(what: str, values: Iterable[Any], classes: Vocabulary) -> None:
    """Raise if a value is no class, but differs from one only by case or spaces.

    Parameters
    ----------
    what : str
        What the values are, in the singular.
    values : iterable
        Values that are not among the classes.

    Examples
    --------
    >>> refuse_alike("known label", ["Yes"], Vocabulary.of(["no", "yes"]))
    Traceback (most recent call last):
    faircrowd.errors.InputError: The known label 'Yes' is no label of the votes; did you mean 'yes'? They differ only \
by case or spaces; write them alike.
    """
    if len(classes) > _MAX_COMPARED:
        return
    known = {_spaces(value_name(name)).casefold(): name for name in classes.to_list()}
    for value in values:
        near = known.get(_spaces(value_name(value)).casefold())
        if near is not None:
            raise InputError(
                f"The {what} {few([value])} is no label of the votes; did you mean {few([near])}? They differ only by "
                "case or spaces; write them alike."
            )


def notes_on(report: VotesReport, classes: Vocabulary, groups: Vocabulary | None) -> list[str]:
    """Return what users should know: which rows were set aside, and which labels or groups look alike."""
    alike = [alike_line("labels", classes), None if groups is None else alike_line("groups", groups)]
    return [*report.lines(), *(line for line in alike if line is not None)]


def looks(value: object) -> str:
    """Return a value without the differences that people overlook: one text for all values that look alike."""
    text = value_name(value)
    for _, reduce in _OVERLOOKED:
        text = reduce(text)
    return text


def _spaces(text: str) -> str:
    return " ".join(text.split())


def _letters(text: str) -> str:
    if text.isascii():
        return text
    shown = (letter for letter in unicodedata.normalize("NFKC", text) if unicodedata.category(letter) != "Cf")
    return "".join(shown).translate(_LATIN)


def _number(text: str) -> str:
    return re.sub(r"^\+?(-?)0*([0-9]+)(?:\.0*)?$", r"\1\2", text)


_LETTERS = "letters that look alike"
_OVERLOOKED: tuple[tuple[str, Callable[[str], str]], ...] = (
    (_LETTERS, _letters),
    ("spaces", _spaces),
    ("case", str.casefold),
    ("the way a number is written", _number),
)


def _difference(one: object, other: object) -> str:
    texts = value_name(one), value_name(other)
    if texts[0] == texts[1]:
        return f"type ({type(one).__name__} and {type(other).__name__})"
    for name, reduce in _OVERLOOKED:
        if reduce(texts[0]) == reduce(texts[1]):
            return name
    return "spaces, case or letters that look alike"
