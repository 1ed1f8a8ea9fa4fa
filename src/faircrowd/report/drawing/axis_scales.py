"""From values to places on an axis, and which numbers stand at it."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["Axis", "Names", "Numbers", "nice_ticks", "number_text", "numbers_of"]

_USUAL_TICKS = 10
_LOG_STEPS = (1, 2, 5)


@dataclass(frozen=True)
class Numbers:
    """An axis of numbers.

    Attributes
    ----------
    low, high : float
        The ends of the axis.
    kind : {"linear", "log", "sqrt"}
    inset : float
        The share of the axis that is left free at both ends.
    """

    low: float
    high: float
    kind: str = "linear"
    inset: float = 0.0

    def place(self, value: float) -> float:
        """Return where a value is, from 0 to 1.

        Examples
        --------
        >>> Numbers(0, 4).place(1), Numbers(1, 100, "log").place(10), Numbers(0, 4, "sqrt").place(1)
        (0.25, 0.5, 0.5)
        """
        low, high, at = (self._bent(number) for number in (self.low, self.high, value))
        share = (at - low) / (high - low) if high > low else 0.5
        return self.inset + (1 - 2 * self.inset) * share

    def ticks(self, count: int) -> list[float]:
        """Return about ``count`` round numbers on the axis."""
        if self.kind != "log":
            return nice_ticks(self.low, self.high, count)
        powers = range(math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)) + 1)
        found = [float(step * 10**power) for power in powers for step in _LOG_STEPS]
        return [value for value in found if self.low <= value <= self.high]

    def _bent(self, value: float) -> float:
        return math.log(value) if self.kind == "log" else math.sqrt(value) if self.kind == "sqrt" else value


@dataclass(frozen=True)
class Names:
    """An axis of names, one after the other, each as wide as the others."""

    values: Sequence[object]

    def place(self, value: object) -> float:
        """Return the middle of a name's part of the axis, from 0 to 1.

        Examples
        --------
        >>> Names(["a", "b"]).place("b")
        0.75
        """
        return (list(self.values).index(value) + 0.5) / len(self.values)


Axis = Numbers | Names


def nice_ticks(low: float, high: float, count: int) -> list[float]:
    """Return the multiples of 1, 2 or 5 times a power of ten between two numbers, about ``count`` of them.

    Examples
    --------
    >>> nice_ticks(0, 1, 5), nice_ticks(0.62, 0.87, 5)
    ([0.0, 0.2, 0.4, 0.6, 0.8, 1.0], [0.65, 0.7, 0.75, 0.8, 0.85])
    """
    if not high > low:
        return [low]
    step, digits = _step(low, high, count)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [round(number * step, digits) for number in range(first, last + 1)]


def _step(low: float, high: float, count: int) -> tuple[float, int]:
    """Return the distance of ticks, and how many decimals they have."""
    rough = (high - low) / max(count, 1)
    power = math.floor(math.log10(rough))
    error = rough / 10.0**power
    factor = 10 if error >= math.sqrt(50) else 5 if error >= math.sqrt(10) else 2 if error >= math.sqrt(2) else 1
    return factor * 10.0**power, max(1 - power, 0)


def numbers_of(
    values: Sequence[float],
    *,
    zero: bool = True,
    domain: Sequence[float] | None = None,
    kind: str = "linear",
    nice: bool = True,
    inset: float = 0.0,
) -> Numbers:
    """Return the axis of some values.

    Parameters
    ----------
    zero : bool
        Whether it begins at 0.
    domain : sequence of two floats, optional
        Its ends; otherwise it reaches from the smallest to the largest value.
    nice : bool
        Whether its ends are round numbers, unless they are given.

    Examples
    --------
    >>> numbers_of([0.1, 0.87])
    Numbers(low=0, high=0.9, kind='linear', inset=0.0)
    """
    if domain is not None:
        return Numbers(float(domain[0]), float(domain[1]), kind, inset)
    low, high = (min(values), max(values)) if values else (0.0, 1.0)
    if kind != "log" and zero:
        low, high = min(low, 0), max(high, 0)
    if low == high:
        low, high = (low, low + 1) if low == 0 else (low - abs(low) / 2, low + abs(low) / 2)
    if nice and kind == "linear":
        step, digits = _step(low, high, _USUAL_TICKS)
        low = low if low == 0 else round(math.floor(low / step + 1e-9) * step, digits)
        high = round(math.ceil(high / step - 1e-9) * step, digits)
    return Numbers(low, high, kind, inset)


def number_text(value: float, form: str) -> str:
    """Return a number in the format of an axis: one of Python, with ``~`` where zeros at its end are left out.

    Examples
    --------
    >>> number_text(0.5, ".2~f"), number_text(0.25, ".0%"), number_text(1200.0, ",d"), number_text(-0.5, ".1f")
    ('0.5', '25%', '1,200', '−0.5')
    """
    text = format(round(value) if form.endswith("d") else value, form.replace("~", ""))
    if "~" in form and "." in text:
        text = text.rstrip("0").rstrip(".")
    return text.replace("-", "−")
