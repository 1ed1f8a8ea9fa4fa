"""Where two files that should be alike differ: each field, row and column, or line, with both values."""

import csv
import itertools
import json
import math
import re
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from faircrowd.errors import InputError
from faircrowd.storage.untrusted import FAULTS, read_arrays, read_json

__all__ = ["ABSENT", "Compared", "Difference", "Field", "compare_files", "value_differences"]

Field = tuple[str | int, ...]
"""The names and positions that lead to a value in JSON."""

_ROUNDING = 1e-9
_EXACT_DIGITS = 12
"""Numbers written with fewer digits were rounded for people, or are ids: these must be equal."""
_NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")
_DATA = '<script type="application/json" id="data">'
_MOST = 20
"""How many differences of one file are listed."""
_LONGEST = 120


class _Absent:
    def __repr__(self) -> str:
        return "absent"


ABSENT = _Absent()
"""What a field is that only one of two files has."""


class Difference(NamedTuple):
    """One place where a file is not as it should be.

    Attributes
    ----------
    file : str
    place : str
        The path of a JSON field, the row and column of a table, or the line of a page; empty for the whole file.
    written, expected : object
        What the file holds, and what it should hold.
    source : str
        Where the expected value is from.

    Examples
    --------
    >>> print(Difference("rule.json", "prices[0][1]", 0.5, 0.25))
    rule.json: prices[0][1] is 0.5, recomputed 0.25
    """

    file: str
    place: str
    written: object
    expected: object
    source: str = "recomputed"

    def __str__(self) -> str:
        where = f"{self.file}: {self.place}" if self.place else self.file
        return f"{where} is {_shown(self.written)}, {self.source} {_shown(self.expected)}"


@dataclass
class Compared:
    """What a comparison found.

    Attributes
    ----------
    differences : list of Difference or str
    notes : list of str
        Differences that change no value: numbers that differ by rounding, or another layout of the same values.
    """

    differences: list[Difference | str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def add(self, name: str, found: Iterable[Difference | str], rounded: int = 0, *, same_layout: bool = True) -> None:
        """Add the differences of a file, of which the first few are listed and the others counted.

        Parameters
        ----------
        rounded : int
            How many of its numbers differ by rounding alone.
        same_layout : bool
            Whether the files must not be called different in layout if no value differs.
        """
        listed = list(found)
        self.differences += listed[:_MOST]
        if len(listed) > _MOST:
            self.differences.append(f"{name}: {len(listed) - _MOST:,} more differences")
        if rounded:
            self.notes.append(f"{rounded:,} numbers in {name} differ by rounding, at most {_ROUNDING:g} of their size")
        elif not listed and not same_layout:
            self.notes.append(f"{name} is laid out in another way; its values are those of the run")


def compare_files(
    written: Path,
    expected: Path,
    ignored: Iterable[Field] = (),
    renamed: Mapping[str, str] | None = None,
    is_left_out: Callable[[Difference], bool] | None = None,
) -> Compared:
    """Compare a file with what it should be: byte by byte, and if that fails value by value.

    Parameters
    ----------
    written, expected : Path
        Files of the same name: JSON, CSV, arrays, a page, or anything else, which must be equal byte by byte.
    ignored : iterable of Field
        Fields of JSON that are not compared.
    renamed : mapping, optional
        Names that fields of a certificate had in earlier versions.
    is_left_out : callable, optional
        Says which differences do not count.
    """
    found, name = Compared(), written.name
    same = _same_bytes(written, expected)
    if same and not ignored:
        return found
    compare = _KINDS.get(written.suffix, _compare_bytes)
    try:
        rounding = _Rounding()
        differences = (
            _compare_json(written, expected, rounding, tuple(ignored), renamed or {})
            if written.suffix == ".json"
            else compare(written, expected, rounding)
        )
        counted = [line for line in differences if is_left_out is None or not is_left_out(line)]
        found.add(name, counted, rounding.count, same_layout=same or bool(ignored) or is_left_out is not None)
    except (InputError, OSError, csv.Error, UnicodeDecodeError, *FAULTS) as error:
        found.differences.append(f"{name} cannot be read: {str(error).removesuffix('.') or type(error).__name__}")
    return found


def value_differences(
    written: object, expected: object, file: str = "", source: str = "recomputed", rounding: "_Rounding | None" = None
) -> list[Difference]:
    """List the fields in which two JSON values differ; numbers of many digits may differ by rounding.

    A field that was written by an earlier version may be absent where None is expected.

    Examples
    --------
    >>> for line in value_differences({"gap": 0.05, "rates": [1, 2]}, {"gap": 0.06, "rates": [1, 3]}, "some.json"):
    ...     print(line)
    some.json: gap is 0.05, recomputed 0.06
    some.json: rates[1] is 2, recomputed 3
    """
    rounding = rounding or _Rounding()
    found = []
    for place, one, other in _unequal(written, expected, ()):
        if _is_number(one) and _is_number(other) and rounding.explains(repr(one), repr(other)):
            continue
        if isinstance(one, str) and isinstance(other, str) and rounding.explains_text(one, other):
            continue
        found.append(Difference(file, _spelled(place), one, other, source))
    return found


class _Rounding:
    """Counts the numbers that differ by rounding alone."""

    def __init__(self) -> None:
        self.count = 0

    def explains(self, one: str, other: str) -> bool:
        """Return whether two different texts are numbers with all their digits, equal but for rounding."""
        if max(map(_digits, (one, other))) < _EXACT_DIGITS or not (set(one) | set(other)) & set(".eE"):
            return False  # written for people; or whole numbers, which are counts and ids
        a, b = float(one), float(other)
        if a == b or not math.isclose(a, b, rel_tol=_ROUNDING, abs_tol=_ROUNDING / 1000):
            return False
        self.count += 1
        return True

    def explains_text(self, one: str, other: str) -> bool:
        """Return whether two texts are equal but for rounding of the numbers in them."""
        if _NUMBER.split(one) != _NUMBER.split(other):
            return False
        before, pairs = self.count, zip(_NUMBER.findall(one), _NUMBER.findall(other), strict=True)
        if all(a == b or self.explains(a, b) for a, b in pairs):
            return True
        self.count = before
        return False


def _compare_json(
    written: Path, expected: Path, rounding: _Rounding, ignored: tuple[Field, ...], renamed: Mapping[str, str]
) -> list[Difference]:
    one, other = (read_json(path, "result", infinite=True) for path in (written, expected))
    one = _renamed(one, renamed)
    if isinstance(one, dict) and "certificate" in one:
        one = {**one, "certificate": _renamed(one["certificate"], renamed)}
    for place in ignored:
        one, other = _without(one, place), _without(other, place)
    return value_differences(one, other, written.name, rounding=rounding)


def _compare_tables(written: Path, expected: Path, rounding: _Rounding) -> Iterator[Difference]:
    name = written.name
    with written.open(encoding="utf-8", newline="") as one, expected.open(encoding="utf-8", newline="") as other:
        rows, wanted = csv.reader(one, strict=True), csv.reader(other, strict=True)
        header, columns = next(rows, []), next(wanted, [])
        if header != columns:
            yield Difference(name, "the header", header, columns)
            return
        for number, (row, cells) in enumerate(itertools.zip_longest(rows, wanted), 1):
            if row == cells:
                continue
            if row is None or cells is None:
                have = number - 1 + (row is not None) + sum(1 for _ in rows)
                want = number - 1 + (cells is not None) + sum(1 for _ in wanted)
                yield Difference(name, "the number of rows", have, want)
                return
            which = f"row {number} ({columns[0]} {cells[0]})" if cells else f"row {number}"
            if len(row) != len(cells):
                yield Difference(name, f"{which}, the number of cells", len(row), len(cells))
                continue
            for column, a, b in zip(columns, row, cells, strict=True):
                if a != b and not (_is_text_of_number(a) and _is_text_of_number(b) and rounding.explains(a, b)):
                    yield Difference(name, f"{which}, column {column}", a, b)


def _compare_arrays(written: Path, expected: Path, rounding: _Rounding) -> Iterator[Difference]:
    name, both = written.name, []
    for path in (written, expected):
        with zipfile.ZipFile(path) as packed:
            names = sorted(packed.namelist())
        both.append(read_arrays(path, "model", dict.fromkeys(part.removesuffix(".npy") for part in names)))
    one, other = both
    if sorted(one) != sorted(other):
        yield Difference(name, "the list of arrays", sorted(one), sorted(other))
    for key in one.keys() & other.keys():
        a, b = one[key], other[key]
        if (a.shape, a.dtype) != (b.shape, b.dtype):
            yield Difference(name, key, f"{a.dtype} of shape {a.shape}", f"{b.dtype} of shape {b.shape}")
            continue
        for place in np.argwhere((a != b) & ~(_is_nan(a) & _is_nan(b))):
            at, x, y = "".join(f"[{i}]" for i in place), a[tuple(place)].item(), b[tuple(place)].item()
            if not rounding.explains(repr(x), repr(y)):
                yield Difference(name, f"{key}{at}", x, y)


def _compare_pages(written: Path, expected: Path, rounding: _Rounding) -> Iterator[Difference]:
    name = written.name
    lines, wanted = (path.read_text(encoding="utf-8").split("\n") for path in (written, expected))
    if len(lines) != len(wanted):
        yield Difference(name, "the number of lines", len(lines), len(wanted))
    for number, (one, other) in enumerate(zip(lines, wanted, strict=False), 1):
        if one == other or rounding.explains_text(one, other):
            continue
        data, new = _embedded(one), _embedded(other)
        if data is not None and new is not None:
            yield from value_differences(data, new, f"{name}: data", rounding=rounding)
            continue
        start = max(_first_difference(one, other) - _LONGEST // 4, 0)
        yield Difference(name, f"line {number}", one[start:], other[start:])


def _compare_bytes(written: Path, expected: Path, rounding: _Rounding) -> Iterator[Difference]:
    del rounding
    one, other = written.read_bytes(), expected.read_bytes()
    if one != other:
        place = next((i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
        yield Difference(written.name, f"byte {place}", one[place : place + 8].hex(), other[place : place + 8].hex())


_KINDS: dict[str, Callable[[Path, Path, _Rounding], Iterable[Difference]]] = {
    ".csv": _compare_tables,
    ".npz": _compare_arrays,
    ".html": _compare_pages,
    ".md": _compare_pages,
}
"""How files are compared, by the ending of their names; JSON has fields to leave out as well."""


def _unequal(one: Any, other: Any, place: Field) -> Iterator[tuple[Field, object, object]]:
    """Yield the places where two JSON values differ, with what is there."""
    if isinstance(one, dict) and isinstance(other, dict):
        for name in dict.fromkeys([*other, *one]):
            a, b = one.get(name, ABSENT), other.get(name, ABSENT)
            if not (a is ABSENT and b is None):
                yield from _unequal(a, b, (*place, name))
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        for i, (a, b) in enumerate(zip(one, other, strict=True)):
            yield from _unequal(a, b, (*place, i))
    elif one != other or isinstance(one, bool) != isinstance(other, bool):
        yield place, one, other


def _renamed(value: Any, names: Mapping[str, str]) -> Any:
    return {names.get(name, name): part for name, part in value.items()} if isinstance(value, dict) else value


def _without(value: Any, place: Field) -> Any:
    """Return a JSON value without one field, if it is there."""
    if not isinstance(value, dict):
        return value
    first, *rest = place
    if not rest:
        return {name: part for name, part in value.items() if name != first}
    return {name: _without(part, tuple(rest)) if name == first else part for name, part in value.items()}


def _same_bytes(one: Path, other: Path) -> bool:
    if one.stat().st_size != other.stat().st_size:
        return False
    with one.open("rb") as a, other.open("rb") as b:
        size = 1 << 20
        return all(x == y for x, y in iter(lambda: (a.read(size), b.read(size)), (b"", b"")))


def _embedded(line: str) -> Any:
    """Return the data that a line of a page holds for its script, or None."""
    if not line.startswith(_DATA):
        return None
    try:
        return json.loads(line.removeprefix(_DATA).removesuffix("</script>"))
    except ValueError:
        return None


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_text_of_number(text: str) -> bool:
    return _NUMBER.fullmatch(text) is not None


def _digits(text: str) -> int:
    return len(re.sub(r"\D", "", re.split("[eE]", text)[0]).lstrip("0"))


def _is_nan(values: Any) -> Any:
    return values != values


def _first_difference(one: str, other: str) -> int:
    return next((i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))


def _spelled(place: Field) -> str:
    """Return a place in JSON as text, such as ``rates.a[0]``."""
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in place).removeprefix(".")


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
