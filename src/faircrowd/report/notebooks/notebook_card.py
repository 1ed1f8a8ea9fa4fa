"""A card: what matters about a result, as a notebook shows it. HTML without scripts, legible on dark and light ground.

``card_for`` finds the card of a result. Each kind of result says what its card has, in a function that is registered
with it; results without one show their fields.
"""

import html
from collections.abc import Sequence
from dataclasses import dataclass, fields, is_dataclass
from functools import cache, singledispatch
from importlib.resources import files

from faircrowd._display import in_short
from faircrowd.report.safe_names import short

__all__ = ["BAD", "BELIEVED", "GOOD", "OPEN", "Card", "CardTable", "card_for", "html_of", "number", "render"]

GOOD, BAD, OPEN, BELIEVED = "good", "bad", "open", "believed"
"""What a card's mark says: as asked for, not as asked for, not known, or as asked for under a posterior that this card
knows nothing about."""

_LONGEST_TEXT = 600
_LONGEST_CELL = 60
_MOST_LINES = 12
_WARNED = "warned"
_MARKS = {GOOD: "✓", BAD: "✗", OPEN: "?", BELIEVED: "≈", _WARNED: "!"}
_BEFORE = {_WARNED: "As asked for, with a warning.", BELIEVED: "As asked for, if the posterior is right."}


@dataclass(frozen=True)
class CardTable:
    """A table of a card: its heading, the names of its columns, and its rows. The first column is text, others numbers.

    ``more`` says what is not shown.
    """

    heading: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    more: str = ""


@dataclass(frozen=True)
class Card:
    """What a card has, as plain texts in the order in which it shows them; they are escaped when it is rendered.

    Attributes
    ----------
    kind : str
        What the object is: usually its class.
    asked : str
        What was asked for.
    answer : str
        The result in a sentence.
    mark : str
        One of ``GOOD``, ``BAD``, ``OPEN`` and ``BELIEVED``, or empty. With alarms, ``GOOD`` and ``BELIEVED`` are shown
        as a warning.
    alarms : sequence of str
        What speaks against using the result.
    numbers : sequence of (str, str)
        A few numbers in large print: what each is, and the number.
    tables : sequence of CardTable
    lines : sequence of (str, str)
        Headings and texts.
    notes : sequence of str
        What a reader should know before trusting the numbers.
    next_steps : sequence of str
        What to call to see more.
    """

    kind: str
    asked: str = ""
    answer: str = ""
    mark: str = ""
    alarms: Sequence[str] = ()
    numbers: Sequence[tuple[str, str]] = ()
    tables: Sequence[CardTable] = ()
    lines: Sequence[tuple[str, str]] = ()
    notes: Sequence[str] = ()
    next_steps: Sequence[str] = ()


def html_of(result: object) -> str:
    """Return the card of a result as HTML."""
    return render(card_for(result))


@singledispatch
def card_for(result: object) -> Card:
    """Return the card of a result; of one that has none of its own, its sentence and its fields."""
    name = type(result).__name__
    told = str(result) if type(result).__str__ is not object.__str__ else ""
    if not is_dataclass(result):
        return Card(name, answer=told or repr(result))
    values = {field.name: getattr(result, field.name) for field in fields(result) if field.repr}
    lines = [(key, value if isinstance(value, str) else in_short(value)) for key, value in values.items()]
    return Card(name, answer="" if told == repr(result) else told, lines=lines)


def number(value: float | None, form: str = ".1%") -> str:
    """Return a number as text; a dash for what is not known.

    Examples
    --------
    >>> number(0.944), number(0.05, ".3f"), number(None)
    ('94.4%', '0.050', '–')
    """
    return "–" if value is None or value != value else format(value, form)


def render(card: Card) -> str:
    """Return a card as HTML: a style that applies to cards alone, and no script.

    Examples
    --------
    >>> shown = render(Card("Certificate", answer="the gap fell from <b>1</b> to 0"))
    >>> "&lt;b&gt;1&lt;/b&gt;" in shown, "<script" in shown
    (True, False)
    """
    parts = [f'<div class="faircrowd-card"><style>{_style()}</style>']
    asked = f' <span class="fc-soft">{_text(card.asked)}</span>' if card.asked else ""
    parts.append(f'<div class="fc-head"><b>{_text(card.kind)}</b>{asked}</div>')
    if card.answer:
        shown = _WARNED if card.mark in (GOOD, BELIEVED) and card.alarms else card.mark  # it may be of no use
        mark = f'<span class="fc-mark fc-{shown}">{_MARKS[shown]}</span> ' if shown else ""
        mark += f"<b>{_BEFORE[shown]}</b> " if shown in _BEFORE else ""
        parts.append(f'<div class="fc-answer">{mark}{_text(_sentence(card.answer))}</div>')
    parts += [f'<div class="fc-alarm"><b>Warning:</b> {_text(_sentence(alarm))}</div>' for alarm in card.alarms]
    if card.numbers:
        cells = "".join(f"<div><b>{_text(value)}</b><span>{_text(what)}</span></div>" for what, value in card.numbers)
        parts.append(f'<div class="fc-numbers">{cells}</div>')
    if card.tables:
        parts.append(f'<div class="fc-tables">{"".join(map(_table, card.tables))}</div>')
    if card.lines:
        rows = "".join(f"<tr><th>{_text(key)}</th><td>{_text(value)}</td></tr>" for key, value in card.lines)
        parts.append(f'<table class="fc-lines"><tbody>{rows}</tbody></table>')
    parts.append(_notes(card.notes))
    if card.next_steps:
        calls = ", ".join(f"<code>{_text(call)}</code>" for call in card.next_steps)
        parts.append(f'<div class="fc-next fc-soft">See also {calls}</div>')
    return "\n".join([*filter(None, parts), "</div>"])


def _table(table: CardTable) -> str:
    head = "".join(f"<th>{_cell(name)}</th>" for name in table.columns)
    body = "".join(
        f"<tr><th>{_cell(first)}</th>{''.join(f'<td>{_cell(value)}</td>' for value in rest)}</tr>"
        for first, *rest in table.rows
    )
    caption = f"<caption>{_text(table.heading)}</caption>" if table.heading else ""
    more = f'<div class="fc-soft">{_text(table.more.strip())}</div>' if table.more else ""
    shown = f'<table class="fc-table">{caption}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'
    return f"<div>{shown}{more}</div>"


def _notes(notes: Sequence[str]) -> str:
    if not notes:
        return ""
    more = len(notes) - _MOST_LINES
    shown = [*notes[:_MOST_LINES], *([f"{more:,} more notes"] if more > 0 else [])]
    return f'<ul class="fc-notes">{"".join(f"<li>{_text(_sentence(note))}</li>" for note in shown)}</ul>'


def _sentence(text: str) -> str:
    """Return a text of the terminal as a sentence."""
    return f"{text[:1].upper()}{text[1:]}" + ("" if text.endswith((".", "!", "?")) else ".")


def _text(text: str) -> str:
    return html.escape(short(text, _LONGEST_TEXT))


def _cell(text: str) -> str:
    return html.escape(short(text, _LONGEST_CELL))


@cache
def _style() -> str:
    return files("faircrowd.report").joinpath("templates", "card.css").read_text(encoding="utf-8").strip()
