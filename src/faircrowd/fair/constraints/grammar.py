"""Constraints in text: ``parity(gender * race, within=region, label=hire) <= 0.05``.

::

    constraint = kind limits | number "<=" kind "<=" number | number ">=" kind ">=" number
    kind       = word [ "(" argument { "," argument } ")" ]
    argument   = [ "group" "=" ] columns | "within" "=" columns | "label" "=" name | "labels" "=" names
    columns    = names | "*"                       all sensitive columns
    names      = name { "*" name }                 several columns are intersected
    limits     = ("<=" | ">=") number [ "and" ("<=" | ">=") number ]

A name that has spaces or signs in it is put in quotes, ``'hair color'``; within quotes, a doubled quote stands for one.
Numbers may be percentages. ``str`` of a constraint is the text that this module reads.
"""

from contextlib import suppress
from dataclasses import fields
from typing import Any

from faircrowd._checks import suggestion
from faircrowd.errors import OptionError
from faircrowd.fair.constraints.constraint_kind import Constraint
from faircrowd.fair.constraints.constraint_registry import CONSTRAINT_KINDS
from faircrowd.fair.constraints.constraint_tokens import Token, read_label, read_number, refuse, tokens_of

__all__ = ["parse_constraint"]

_ARGUMENTS = ("group", "within", "label", "labels")
_ASKS_FOR = {"group": "a column", "within": "a column", "label": "a label", "labels": "a label"}
_TURNED = {"<=": ">=", ">=": "<="}


def parse_constraint(text: str) -> Constraint:
    """Read a constraint from text.

    Parameters
    ----------
    text : str
        Such as ``"ratio(race, label=hire) >= 0.8"``; see docs/constraints.md.

    Raises
    ------
    OptionError
        If it cannot be read: with the character, what was expected there, and names that are near.

    Examples
    --------
    >>> parse_constraint("parity(gender * race, within=region) <= 5%")
    DemographicParity(epsilon=0.05, group=('gender', 'race'), within='region', label=None, labels=None)
    >>> parse_constraint("0.2 <= rate('hair color', label=1) <= 0.4")
    RateRange(low=0.2, high=0.4, label=1, group='hair color', within=None, labels=None)
    >>> str(parse_constraint("changed<=.1"))
    'changed <= 0.1'
    """
    if not isinstance(text, str):
        raise OptionError(f"A constraint in text is a str; got {text!r}.", parameter="require")
    return _Reader(text).constraint()


class _Reader:
    """Reads the pieces of a constraint from left to right."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = tokens_of(text)
        self.at = 0

    @property
    def next(self) -> Token:
        """The piece that is read next."""
        return self.tokens[self.at]

    def take(self) -> Token:
        """Return the next piece and go on."""
        token = self.next
        self.at = min(self.at + 1, len(self.tokens) - 1)
        return token

    def takes(self, sign: str) -> bool:
        """Go on if the next piece is a sign, and return whether it was."""
        if self.next.kind == "sign" and self.next.text == sign:
            self.take()
            return True
        return False

    def refuse(self, token: Token, problem: str) -> OptionError:
        return refuse(self.text, token.place, problem)

    def expected(self, what: str, hint: str = "") -> OptionError:
        """Return the error that something else was expected at the next piece."""
        return self.refuse(self.next, f"expected {what}, found {self.next}{hint and '; '}{hint}")

    def constraint(self) -> Constraint:
        """Read all of it."""
        limits: dict[str, tuple[float, Token]] = {}
        leading = self.next.kind == "word" and read_number(self.next.text) is not None
        if leading:
            value = self.number()
            sign = self.comparison()
            limits[_TURNED[sign.text]] = (value, sign)
        word = self.take()
        cls = self.kind(word)
        settings = self.arguments(word, cls) if self.takes("(") else {}
        if not leading or self.next.kind != "end":
            self.limit(limits)
        if not leading and self.next[:2] == ("word", "and"):
            self.take()
            self.limit(limits)
        if self.next.kind != "end":
            raise self.expected("the end", "give each constraint on its own")
        return self.build(cls, settings, limits)

    def kind(self, word: Token) -> type[Constraint]:
        """Return the class of a word."""
        if word.is_name and word.text in CONSTRAINT_KINDS:
            return CONSTRAINT_KINDS[word.text].load()
        near = suggestion(word.text, CONSTRAINT_KINDS) if word.is_name else ""
        listed = ", ".join(CONSTRAINT_KINDS)
        raise self.refuse(word, f"expected one of {listed}, found {word}.{near}")

    def arguments(self, word: Token, cls: type[Constraint]) -> dict[str, Any]:
        """Read what is in the brackets."""
        taken = _arguments_of(cls)
        if not taken:
            raise self.refuse(self.next, f"{word.text!r} is about all tasks and takes no columns or labels")
        found: dict[str, Any] = {}
        while True:
            start = self.next
            name = "group"
            if start.kind == "word" and self.tokens[self.at + 1].text == "=":
                name = start.text
                if name not in taken:
                    near = suggestion(name, taken)
                    raise self.refuse(start, f"{word.text!r} takes {', '.join(taken)}, found {name!r}.{near}")
                self.take(), self.take()
            value = self.value(name)
            if name in found:
                both = "write a * b for the intersection of two columns, or give two constraints"
                hint = both if name in ("group", "within") else "give labels=a * b for several labels"
                raise self.refuse(start, f"a second {name}; {hint}")
            found[name] = value
            if {"label", "labels"} <= set(found):
                raise self.refuse(start, "give label or labels, not both")
            if self.takes(")"):
                return found
            if not self.takes(","):
                hint = "a name with spaces is put in quotes" if self.next.is_name else ""
                raise self.expected("',' or ')'", hint)

    def value(self, name: str) -> object:
        """Read the value of an argument: columns, or labels."""
        if name == "group" and self.takes("*"):
            return None  # all sensitive columns
        names = [self.name(_ASKS_FOR[name])]
        while self.takes("*"):
            names.append(self.name(_ASKS_FOR[name]))
        if name == "label":
            if len(names) > 1:
                raise self.refuse(names[1], "label is one label; give labels=a * b for several")
            return read_label(names[0])
        if name == "labels":
            return tuple(map(read_label, names))
        columns = tuple(token.text for token in names)
        return columns[0] if len(columns) == 1 else columns

    def name(self, what: str) -> Token:
        """Read a name."""
        if not self.next.is_name:
            raise self.expected(what)
        return self.take()

    def comparison(self) -> Token:
        """Read <= or >=."""
        if self.next.kind == "sign" and self.next.text in ("<=", ">="):
            return self.take()
        strict = {"<": "<=", ">": ">=", "=": "<= or >="}.get(self.next.text) if self.next.kind == "sign" else None
        raise self.expected("<= or >=", f"write {strict}" if strict else "")

    def number(self) -> float:
        """Read a number."""
        value = read_number(self.next.text) if self.next.kind == "word" else None
        if value is None:
            raise self.expected("a number")
        self.take()
        return value

    def limit(self, limits: dict[str, tuple[float, Token]]) -> None:
        """Read a limit from above or below, and add it to those that were read."""
        sign = self.comparison()
        if sign.text in limits:
            raise self.refuse(sign, f"a second limit with {sign.text}")
        limits[sign.text] = (self.number(), sign)

    def build(
        self, cls: type[Constraint], settings: dict[str, Any], limits: dict[str, tuple[float, Token]]
    ) -> Constraint:
        """Make the constraint, whose own checks of its limits are told at their place."""
        low, high = (limits.get(sign, (None, None))[0] for sign in (">=", "<="))
        place = next(iter(limits.values()))[1]
        if not cls.compares_groups and "group" not in settings and "group" in _arguments_of(cls):
            settings["group"] = ()  # of all tasks
        try:
            limit_fields = cls.limit_fields(low, high)
        except OptionError as error:
            right = ""
            if len(limits) == 1:
                with suppress(OptionError):  # a limit that is out of range as well
                    right = f"; write {cls(**cls.limit_fields(high, low), **settings)}"
            raise self.refuse(place, f"{error}{right}") from None
        try:
            return cls(**limit_fields, **settings)
        except OptionError as error:
            raise self.refuse(place, str(error).replace(f"{cls.__name__}.", "")) from None


def _arguments_of(cls: type[Constraint]) -> list[str]:
    """Return the names of the arguments that a kind of constraint takes in brackets."""
    known = {field.name for field in fields(cls)}  # type: ignore[arg-type]
    return [name for name in _ARGUMENTS if name in known]
