"""Names of groups, labels, workers and tasks are anybody's text: cut, and kept from turning what follows them."""

import re
from collections import Counter
from collections.abc import Sequence

__all__ = ["short", "shorts"]

_LONG = 32
_TURNS = re.compile("[\u202a-\u202e\u2066-\u2069]")


def short(text: str, limit: int = _LONG) -> str:
    """Cut a long name; characters that turn the direction of the text after them are shown as �.

    Examples
    --------
    >>> short("a long name", 8)
    'a long …'
    """
    return _TURNS.sub("�", text if len(text) <= limit else f"{text[: limit - 1]}…")


def shorts(names: Sequence[str], limit: int = _LONG) -> list[str]:
    """Cut long names so that no two are alike: charts tell things apart by name.

    Examples
    --------
    >>> shorts(["a", "long name 1", "long name 2"], 10)
    ['a', '#2 long…', '#3 long…']
    """
    cut = [short(name, limit) for name in names]
    count = Counter(cut)
    return [text if count[text] == 1 else f"#{i} {short(text, limit - 5)}" for i, text in enumerate(cut, 1)]
