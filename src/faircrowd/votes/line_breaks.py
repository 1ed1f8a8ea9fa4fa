"""Ids and labels with a line break in them: seldom meant, and often the trace of a quote that was left open."""

from collections.abc import Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from faircrowd._checks import few
from faircrowd.votes.vocabulary import Vocabulary

__all__ = ["LineBreaks", "line_break_line", "line_breaks"]

LineBreaks = dict[str, tuple[int, str]]
"""By role (task, worker, label), the number of values that have a line break, and the first of them."""

_LONGEST = 200
"""Characters of the first value that are kept; an open quote may take half a file."""


def line_breaks(vocabularies: Mapping[str, Vocabulary]) -> LineBreaks:
    r"""Return how many values of each vocabulary have a line break, and the first; roles that have none are left out.

    Examples
    --------
    >>> line_breaks({"task": Vocabulary.of([1, 2]), "label": Vocabulary.of(["a", "b\n3,c"])})
    {'label': (1, 'b\n3,c')}
    """
    found = {role: _those_of(vocabulary) for role, vocabulary in vocabularies.items()}
    return {role: (len(values), str(values[0])[:_LONGEST]) for role, values in found.items() if values}


def line_break_line(what: str, count: int, first: str) -> str:
    r"""Return a line on values that have a line break.

    Examples
    --------
    >>> line_break_line("label", 1, "b\n3,c")
    "1 label has a line break in it: 'b\\n3,c'; if that is not meant, a quote was left open in the source"
    """
    have = f"{count:,} {what} has a line break in it" if count == 1 else f"{count:,} {what}s have a line break in them"
    return f"{have}: {few([first], count)}; if that is not meant, a quote was left open in the source"


def _those_of(vocabulary: Vocabulary) -> list[object]:
    values = vocabulary.values
    if vocabulary.is_mixed:
        return [value for value in values if isinstance(value, str) and ("\n" in value or "\r" in value)]
    if not (pa.types.is_string(values.type) or pa.types.is_large_string(values.type)):
        return []
    has_break = pc.or_(pc.match_substring(values, "\n"), pc.match_substring(values, "\r"))
    return vocabulary.some(np.flatnonzero(has_break.to_numpy(zero_copy_only=False)))
