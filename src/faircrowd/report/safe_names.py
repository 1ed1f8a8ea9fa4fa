"""Names from the data, made safe to show: shortened, and unable to reverse the text after them."""

import re
from collections import Counter
from collections.abc import Sequence

__all__ = ["called", "group_in_words", "groups_in_charts", "short", "shorts"]

_MAX_LENGTH, _LONGEST_IN_TEXT, _LONGEST_IN_CHARTS = 32, 60, 28
_VAGUE = ("yes", "no", "true", "false", "none", "other")
_DIRECTION_MARKS = re.compile("[\u202a-\u202e\u2066-\u2069]")


def short(text: str, limit: int = _MAX_LENGTH) -> str:
    """Shorten a long name; characters that change the direction of text are shown as �.

    Examples
    --------
    >>> short("a long name", 8)
    'a long …'
    """
    return _DIRECTION_MARKS.sub("�", text if len(text) <= limit else f"{text[: limit - 1]}…")


def shorts(names: Sequence[str], limit: int = _MAX_LENGTH) -> list[str]:
    """Shorten long names so that no two become equal, as charts identify things by name.

    Examples
    --------
    >>> shorts(["a", "long name 1", "long name 2"], 10)
    ['a', '#2 long…', '#3 long…']
    """
    cut = [short(name, limit) for name in names]
    count = Counter(cut)
    return [text if count[text] == 1 else f"#{i} {short(text, limit - 5)}" for i, text in enumerate(cut, 1)]


def called(what: str, names: Sequence[str]) -> list[str]:
    """Put what a name stands for before it where the name is a number or a single letter.

    Examples
    --------
    >>> called("label", ["0", "yes"])
    ['label 0', 'yes']
    """
    return [f"{what} {name}" if len(name) < 2 or name.lstrip("-").isdigit() else name for name in names]


def group_in_words(name: str, columns: Sequence[str], limit: int = _LONGEST_IN_TEXT) -> str:
    """Return a group as people call it: with its column where the value alone says nothing.

    Examples
    --------
    >>> group_in_words("1", ["black"]), group_in_words("women", ["gender"]), group_in_words("no & f", ["vet", "sex"])
    ('black = 1', 'women', 'vet = no, sex = f')
    >>> group_in_words("1", [])
    'the group called 1'
    """
    values = name.split(" & ") if len(columns) > 1 else [name]
    is_vague = any(len(value) < 2 or value.lstrip("-").isdigit() or value.lower() in _VAGUE for value in values)
    if not is_vague:
        return short(name, limit)
    if len(values) != len(columns):
        return f"the group called {short(name, limit)}"
    return short(", ".join(f"{column} = {value}" for column, value in zip(columns, values, strict=True)), limit)


def groups_in_charts(names: Sequence[str], columns: Sequence[str]) -> list[str]:
    """Return the groups of a chart, no two of them equal: with their columns where these are known.

    Examples
    --------
    >>> groups_in_charts(["0", "1"], ["black"]), groups_in_charts(["0", "women"], [])
    (['black = 0', 'black = 1'], ['group 0', 'women'])
    """
    if not columns:
        return called("group", shorts(names, _LONGEST_IN_CHARTS))
    return shorts([group_in_words(name, columns, max(len(name), 200)) for name in names], _LONGEST_IN_CHARTS)
