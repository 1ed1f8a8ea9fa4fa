"""Two answers that judges compare, in one order whatever the order in which they were shown."""

__all__ = ["FIRST", "SECOND", "TIE", "ordered"]

FIRST, SECOND, TIE = "first", "second", "tie"


def ordered(first: str, second: str, verdict: str) -> tuple[str, str, str]:
    """Return two names in alphabetical order, and a verdict about them in that order.

    Examples
    --------
    >>> ordered("b", "a", "first"), ordered("a", "b", "first"), ordered("b", "a", "tie")
    (('a', 'b', 'second'), ('a', 'b', 'first'), ('a', 'b', 'tie'))
    """
    if first <= second:
        return first, second, verdict
    return second, first, {FIRST: SECOND, SECOND: FIRST}.get(verdict, verdict)
