"""Values as texts that name columns of reports and files."""

from faircrowd.votes.vocabulary import Vocabulary, distinct_names

__all__ = ["value_name", "value_names"]


def value_name(value: object) -> str:
    """Return a class or a group as text; the parts of an intersection are joined.

    Examples
    --------
    >>> value_name(("left", "open"))
    'left & open'
    """
    if isinstance(value, tuple):
        return " & ".join(map(value_name, value))
    return value.decode("utf-8", "backslashreplace") if isinstance(value, bytes) else str(value)


def value_names(vocabulary: Vocabulary) -> list[str]:
    """Return the values as texts that serve as names: no two are the same."""
    return distinct_names(vocabulary.to_list(), text=value_name)
