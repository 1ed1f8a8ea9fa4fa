"""The pieces of a constraint in text: words, names in quotes, signs; and names, labels and numbers as such pieces."""

import re
from decimal import Decimal
from numbers import Integral, Real
from typing import Literal, NamedTuple

from faircrowd.errors import OptionError

__all__ = ["Token", "label_text", "name_text", "number_text", "read_label", "read_number", "refuse", "tokens_of"]

_PATTERN = re.compile(
    r"""\s*(?:
        (?P<sign><=|>=|≤|≥|[()*,=<>])
      | '(?P<single>(?:[^']|'')*)'
      | "(?P<double>(?:[^"]|"")*)"
      | (?P<word>[^\s()*,=<>≤≥'"]+)
    )""",
    re.VERBOSE,
)
_WORD = re.compile(r"""[^\s()*,=<>≤≥'"]+""")
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?(?P<percent>%?)")
_SAME_SIGN = {"≤": "<=", "≥": ">="}

Kind = Literal["sign", "word", "quoted", "end"]


class Token(NamedTuple):
    """A piece of a constraint.

    Attributes
    ----------
    kind : {"sign", "word", "quoted", "end"}
    text : str
        Without quotes.
    place : int
        The number of its first character, from 1.
    """

    kind: Kind
    text: str
    place: int

    @property
    def is_name(self) -> bool:
        """Whether it may name a column or a label."""
        return self.kind in ("word", "quoted")

    def __str__(self) -> str:
        """Return it as messages name it."""
        return "the end" if self.kind == "end" else repr(self.text)


def tokens_of(text: str) -> list[Token]:
    """Split a constraint into its pieces; the last one is the end.

    Examples
    --------
    >>> [token.text for token in tokens_of("rate('hair color', label=hire) <= 5%")]
    ['rate', '(', 'hair color', ',', 'label', '=', 'hire', ')', '<=', '5%', '']
    """
    found, at, end = [], 0, len(text.rstrip())
    while at < end:
        match = _PATTERN.match(text, at)
        if match is None:  # only a quote that is not closed fits nothing
            place = at + len(text[at:]) - len(text[at:].lstrip())
            raise refuse(text, place + 1, f"the quote {text[place]} is not closed")
        kind = match.lastgroup or ""
        place = match.start(kind) + (kind not in ("single", "double"))
        if kind == "sign":
            found.append(Token("sign", _SAME_SIGN.get(match[kind], match[kind]), place))
        elif kind == "word":
            found.append(Token("word", match[kind], place))
        else:
            quote = "'" if kind == "single" else '"'
            found.append(Token("quoted", match[kind].replace(quote * 2, quote), place))
        at = match.end()
    return [*found, Token("end", "", end + 1)]


def refuse(text: str, place: int, problem: str) -> OptionError:
    """Return the error that names a constraint, the character where it cannot be read, and the problem."""
    end = "" if problem.endswith(("?", ".")) else "."
    return OptionError(f"Constraint {text!r}, at character {place}: {problem}{end}", parameter="require")


def read_number(word: str) -> float | None:
    """Return a number, or a percentage; None if a word is neither.

    Examples
    --------
    >>> read_number("5%"), read_number(".05"), read_number("five")
    (0.05, 0.05, None)
    """
    match = _NUMBER.fullmatch(word)
    if match is None:
        return None
    # As decimals: 0.1 / 100 as floats might not be the float that is written 0.001.
    return float(Decimal(word[:-1]) / 100 if match["percent"] else word)


def number_text(number: float) -> str:
    """Return a number with as many digits as it needs to be read back as the same.

    Examples
    --------
    >>> number_text(0.05), number_text(1.0), number_text(1 / 3)
    ('0.05', '1', '0.3333333333333333')
    """
    short = f"{number:g}"
    return short if float(short) == number else repr(float(number))


def name_text(name: str) -> str:
    """Return the name of a column as a constraint in text has it: in quotes where it must be.

    Examples
    --------
    >>> print(name_text("gender"), name_text("hair color"), name_text("it's"))
    gender 'hair color' "it's"
    """
    if _WORD.fullmatch(name):
        return name
    quote = '"' if "'" in name and '"' not in name else "'"
    return quote + name.replace(quote, quote * 2) + quote


def label_text(label: object) -> str:
    """Return a label as a constraint in text has it; a text that looks like a number is in quotes.

    Examples
    --------
    >>> label_text("hire"), label_text(1), label_text("1"), label_text(True)
    ('hire', '1', "'1'", 'True')
    """
    if isinstance(label, bool):
        return str(label)
    if isinstance(label, Integral):
        return str(int(label))
    if isinstance(label, Real):
        return repr(float(label))
    text = str(label)
    quoted = name_text(text)
    return f"'{text}'" if quoted == text and not isinstance(read_label(Token("word", text, 0)), str) else quoted


def read_label(token: Token) -> str | int | float | bool:
    """Return the label that a piece of text names: a number only if it is written as Python writes it.

    Examples
    --------
    >>> [read_label(token) for token in tokens_of("hire 1 '1' 01 True")[:-1]]
    ['hire', 1, '1', '01', True]
    """
    if token.kind == "word":
        if token.text in ("True", "False"):
            return token.text == "True"
        for kind in (int, float):
            if _NUMBER.fullmatch(token.text) and not token.text.endswith("%"):
                try:
                    value = kind(token.text)
                except ValueError:
                    continue
                if repr(value) == token.text:
                    return value
    return token.text
