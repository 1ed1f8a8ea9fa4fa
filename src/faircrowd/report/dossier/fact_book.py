"""Facts: numbers that remember where they are from, and texts made of them, in HTML, Markdown and plain."""

import html
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple, TypeAlias
from urllib.parse import quote

from faircrowd.report.safe_names import short

__all__ = [
    "TO_FILL",
    "Code",
    "Fact",
    "FactBook",
    "Name",
    "Part",
    "Prose",
    "Text",
    "as_html",
    "as_markdown",
    "as_plain",
    "clean",
    "count",
    "joined",
    "share",
    "three",
    "whole",
]

_MARKDOWN = re.compile(r"([\\`*_\[\]|~$]|:(?=//)|(?<=www)\.|^[#+=-])", re.IGNORECASE)
"""What Markdown may read as something else than itself: also addresses, and how a heading or a list begins."""
TO_FILL = "to be filled in"


class Fact(NamedTuple):
    """A number or a short text that a document shows, and where it is from.

    Attributes
    ----------
    file : str
        A file of the folder of the run.
    place : str
        Where in it: a JSON pointer (RFC 6901), or of a table the column and what was computed of it.
    value : object
    shown : str
        As people read it.
    """

    file: str
    place: str
    value: Any
    shown: str

    def __str__(self) -> str:
        return self.shown


class Name(str):
    """A name from the data: shown as it is, whatever characters it has, unless it is longer than ``longest``."""

    __slots__ = ()
    longest: ClassVar[int] = 120


class Prose(Name):
    """The same for what a person wrote: a title, a note."""

    __slots__ = ()
    longest: ClassVar[int] = 2000


class Code(Name):
    """The same for what a machine reads: a command."""

    __slots__ = ()
    longest: ClassVar[int] = 4000


Part: TypeAlias = str | Fact
"""A part of a text: words of ours, a :class:`Name`, :class:`Code`, or a :class:`Fact`."""
Text: TypeAlias = tuple[Part, ...]
"""A text of a document."""


def count(value: float) -> str:
    """Return a whole number as people read it.

    Examples
    --------
    >>> count(44900), share(0.058), three(0.04961), whole(15.5)
    ('44,900', '5.8%', '0.050', '15.5')
    """
    return f"{value:,}"


def share(value: float) -> str:
    """Return a share in percent."""
    return f"{value:.1%}"


def three(value: float) -> str:
    """Return a number with three digits after the point."""
    return f"{value:.3f}"


def whole(value: float) -> str:
    """Return a number without digits that are zero."""
    return f"{value:,g}"


@dataclass(frozen=True)
class FactBook:
    """The JSON files of a run, and every fact that was taken from them or from its tables.

    Attributes
    ----------
    documents : mapping of str to object
        What the JSON files hold, by name.
    facts : dict
        The facts taken so far, by file, place and the form in which they are shown.

    Examples
    --------
    >>> book = FactBook({"summary.json": {"votes": 1200, "group_shares": {"a/b": {"yes": 0.25}}}})
    >>> print(book.take("summary.json", "votes"), book.take("summary.json", "group_shares", "a/b", "yes", form=share))
    1,200 25.0%
    >>> [fact.place for fact in book.facts.values()]
    ['/votes', '/group_shares/a~1b/yes']
    """

    documents: Mapping[str, Any]
    facts: dict[tuple[str, str, str], Fact] = field(default_factory=dict)

    def value(self, file: str, *path: str | int) -> Any:
        """Return what a JSON file holds at a place; None if there is nothing."""
        found = self.documents.get(file)
        for step in path:
            if isinstance(found, Mapping):
                found = found.get(step)
            elif isinstance(found, list) and isinstance(step, int) and step < len(found):
                found = found[step]
            else:
                return None
        return found

    def take(self, file: str, *path: str | int, form: Callable[[Any], str] = count) -> Fact:
        """Return the fact at a place of a JSON file."""
        value = self.value(file, *path)
        return self.keep(file, "".join(f"/{_escaped(step)}" for step in path), value, form(value))

    def keep(self, file: str, place: str, value: object, shown: str) -> Fact:
        """Return a fact of a table: what was computed, and how it is shown."""
        return self.facts.setdefault((file, place, shown), Fact(file, place, value, shown))

    def to_list(self) -> list[dict[str, Any]]:
        """Return all facts as plain values, ready for JSON."""
        return [fact._asdict() for fact in self.facts.values()]


def _escaped(step: str | int) -> str:
    return str(step).replace("~", "~0").replace("/", "~1")


def joined(parts: Sequence[Sequence[Part]], between: str = ", ") -> Text:
    """Return texts one after the other, with words between them.

    Examples
    --------
    >>> joined([("a",), ("b", "c")])
    ('a', ', ', 'b', 'c')
    """
    found: list[Part] = []
    for part in parts:
        found += [*([between] if found else []), *part]
    return tuple(found)


def clean(text: str) -> str:
    """Return a name on one line, shortened if it is very long; what does not print is shown as �."""
    longest = text.longest if isinstance(text, Name) else Name.longest
    return short("".join(c if c.isprintable() else " " if c.isspace() else "�" for c in text), longest)


def as_plain(text: Text) -> str:
    """Return a text without any markup.

    Examples
    --------
    >>> text = "group ", Name("<b>"), " has ", Fact("summary.json", "/group_tasks/<b>", 12, "12")
    >>> as_plain(text)
    'group <b> has 12'
    >>> as_html(text, "..")
    'group <bdi>&lt;b&gt;</bdi> has <a href="../summary.json#/group_tasks/%3Cb%3E" title="summary.json /group_tasks/&lt;b&gt;">12</a>'
    >>> as_markdown(text)
    'group &lt;b&gt; has 12'
    """  # noqa: E501 - the output of an example
    return "".join(clean(part) if isinstance(part, Name) else str(part) for part in text)


def as_html(text: Text, up: str) -> str:
    """Return a text as HTML, in which each fact is a link to its place.

    Parameters
    ----------
    up : str
        The way from the page to the folder of the run.
    """
    return "".join(_html(part, up) for part in text)


def _html(part: Part, up: str) -> str:
    if isinstance(part, Fact):
        where = html.escape(clean(f"{part.file} {part.place}"))
        link = html.escape(f"{up}/{quote(part.file)}#{quote(part.place)}")
        return f'<a href="{link}" title="{where}">{html.escape(clean(part.shown))}</a>'
    if part == TO_FILL:
        return f"<em>{TO_FILL}</em>"
    if not isinstance(part, Name):
        return html.escape(part)
    tag = "code" if isinstance(part, Code) else "bdi"
    return f"<{tag}>{html.escape(clean(part))}</{tag}>"


def as_markdown(text: Text) -> str:
    r"""Return a text as Markdown; no name in it can become markup, a link or HTML.

    Examples
    --------
    >>> as_markdown(("label ", Name("[a](http://b) | *c*")))
    'label \\[a\\](http\\://b) \\| \\*c\\*'
    >>> print(as_markdown((Name("1. # <b> www.c"),)))
    1\. # &lt;b&gt; www\.c
    """
    return "".join(_markdown(part) for part in text)


def _markdown(part: Part) -> str:
    if isinstance(part, Fact):
        return part.shown if isinstance(part.value, int | float) else _markdown(Name(part.shown))
    if part == TO_FILL:
        return f"*{TO_FILL}*"
    if isinstance(part, Code):
        fence = "`" * (1 + max(map(len, re.findall("`+", part)), default=0))
        return f"{fence} {clean(part)} {fence}"
    if not isinstance(part, Name):
        return part
    return re.sub(r"^(\d+)([.)])", r"\1\\\2", _MARKDOWN.sub(r"\\\1", html.escape(clean(part).strip(), quote=False)))
