"""The parts of a document: rows of a heading and texts, and tables."""

from collections.abc import Sequence
from typing import NamedTuple

from faircrowd.report.dossier.fact_book import TO_FILL, Part, Text

__all__ = ["TO_BE_FILLED_IN", "Row", "Section", "Table", "say"]

TO_BE_FILLED_IN: Text = (TO_FILL,)


class Row(NamedTuple):
    """A heading, and what there is to say under it.

    Attributes
    ----------
    heading : str
    texts : list of Text
    """

    heading: str
    texts: Sequence[Text]


class Table(NamedTuple):
    """A table.

    Attributes
    ----------
    caption : Text
    header : list of str
    rows : list of list of Text
        Cells; the first of a row is its heading.
    n_words : int
        How many of the first columns hold words; the others hold numbers.
    """

    caption: Text
    header: Sequence[str]
    rows: Sequence[Sequence[Text]]
    n_words: int = 1


class Section(NamedTuple):
    """A section of a document.

    Attributes
    ----------
    id : str
        How links name it.
    title : str
    intro : list of Text
    rows : list of Row
    tables : list of Table
    """

    id: str
    title: str
    intro: Sequence[Text] = ()
    rows: Sequence[Row] = ()
    tables: Sequence[Table] = ()


def say(*parts: Part) -> Text:
    """Return a text of its parts."""
    return parts
