"""Names from the data, made safe to show: shortened, and unable to reverse the text after them."""

import re
from collections import Counter
from collections.abc import Sequence

__all__ = ["short", "shorts"]

_MAX_LENGTH = 32
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
