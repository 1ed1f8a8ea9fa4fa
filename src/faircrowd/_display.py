"""How results show themselves: a short ``repr``, a card in notebooks, a chart and a frame.

Cards, charts and frames are made in ``faircrowd.report.notebooks``, to the right of every result, so they are imported
when they are asked for: this is the one place where results reach there.
"""

from collections.abc import Collection, Mapping
from dataclasses import fields
from inspect import signature
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

if TYPE_CHECKING:
    from faircrowd.report.notebooks.notebook_chart import Chart as Chart

__all__ = [
    "Displayed",
    "Drawn",
    "Labelled",
    "Tabular",
    "card_of",
    "chart_of",
    "frame_of",
    "in_short",
    "parameters_in_short",
    "values_in_short",
]

_LONGEST_VALUE = 80
_LONGEST = 480
_FEW = 6


class Displayed:
    """Mixin of results: a short ``repr``, and a card in notebooks.

    Dataclasses need ``repr=False``, as they would write their own. ``_in_short`` names the attributes that the ``repr``
    has; by default, all fields.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> @dataclass(frozen=True, repr=False)
    ... class Found(Displayed):
    ...     share: float
    ...     values: np.ndarray
    >>> Found(1 / 3, np.zeros((1000, 2)))
    Found(share=0.3333, values=<1000 x 2 numbers>)
    """

    _in_short: ClassVar[tuple[str, ...]] = ()

    def __repr__(self) -> str:
        names = self._in_short or tuple(field.name for field in fields(self) if field.repr)  # type: ignore[arg-type]
        values = {name: getattr(self, name) for name in names}
        said = {name: value for name, value in values.items() if not (isinstance(value, str) and not value)}
        return values_in_short(type(self).__name__, said)

    def _repr_html_(self) -> str:
        return card_of(self)


class Tabular(Displayed):
    """Mixin of results that are tables; ``report.notebooks.result_frames`` has the table of each."""

    def to_frame(self, backend: str | None = None) -> Any:
        """Return the result as a frame; the description of the class says what a row is.

        Parameters
        ----------
        backend : str, optional
            "pandas", "polars" or "pyarrow"; by default the kind of frame that the input came in, and where there was
            none pandas if it is installed.
        """
        return frame_of(self, backend)


class Labelled(Displayed):
    """Mixin of results that have a label for each task."""

    def to_frame(self, backend: str | None = None, *, why: bool = False) -> Any:
        """Return one row per task, as labels.csv has it: label, label before, posterior, group and threshold.

        Parameters
        ----------
        backend : str, optional
            "pandas", "polars" or "pyarrow"; by default the kind of frame that the posterior came in.
        why : bool
            Whether to add the reason of each label, a sentence.
        """
        return frame_of(self, backend, why=why)


class Drawn(Displayed):
    """Mixin of results that have one chart; ``report.notebooks.result_charts`` draws it."""

    def plot(self) -> "Chart":
        """Return the chart of the result, which notebooks show; ``save("chart.png")`` writes it."""
        return chart_of(self)


def card_of(result: object) -> str:
    """Return a result as a card: HTML that notebooks show."""
    from faircrowd.report.notebooks import html_of

    return html_of(result)


def chart_of(result: object, chart: str | None = None) -> "Chart":
    """Return a chart of a result."""
    from faircrowd.report.notebooks import plot_of

    return plot_of(result, chart)


def frame_of(result: object, backend: str | None = None, table: str | None = None, *, why: bool = True) -> Any:
    """Return a result as a frame: of the kind that it came from, or of that which ``backend`` names.

    ``why`` says whether a table of labels has the reason of each, a long text.
    """
    from faircrowd.report.notebooks import table_of

    return table_of(result, backend, table, why=why)


def values_in_short(name: str, values: Mapping[str, object]) -> str:
    """Return a call that stands for an object, with short values.

    Examples
    --------
    >>> values_in_short("Found", {"n": 12, "share": 0.123456, "names": ["a"] * 100, "text": "long " * 100})
    "Found(n=12, share=0.1235, names=<100 values>, text='long long long long long long long long long long long...')"
    """
    parts = [f"{key}={in_short(value)}" for key, value in values.items()]
    told, used = [], 0
    for part in parts:
        used += len(part) + 2
        if used > _LONGEST:
            told.append("...")
            break
        told.append(part)
    return f"{name}({', '.join(told)})"


def parameters_in_short(estimator: object, values: Mapping[str, object], always: Collection[str] = ()) -> str:
    """Return the constructor's call that makes an estimator: the parameters that are not as by default.

    Those named in ``always`` are shown in any case.

    Examples
    --------
    >>> from faircrowd import DawidSkene, FairCrowd
    >>> FairCrowd(DawidSkene(by_group=True), epsilon=0.1)
    FairCrowd(estimator=DawidSkene(by_group=True), epsilon=0.1)
    """
    usual = {name: parameter.default for name, parameter in signature(type(estimator)).parameters.items()}
    ordered = {name: values[name] for name in usual if name in values}
    given = {name: value for name, value in ordered.items() if name in always or not _same(value, usual[name])}
    return values_in_short(type(estimator).__name__, given)


def _same(value: object, other: object) -> bool:
    """Return whether a parameter is as by default; an array is not."""
    return value is other or (type(value) is type(other) and not hasattr(value, "__array__") and value == other)


def in_short(value: object) -> str:
    """Return a value as short text: long ones by their kind and size."""
    if isinstance(value, bool | int | None):
        return repr(value)
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, np.generic):
        return in_short(value.item())
    if isinstance(value, np.ndarray):
        return f"<{' x '.join(map(str, value.shape))} {'numbers' if value.dtype.kind in 'biuf' else 'values'}>"
    if isinstance(value, list | tuple) and 0 < len(value) <= _FEW:
        text = f"{', '.join(map(in_short, value))}{',' * (isinstance(value, tuple) and len(value) == 1)}"
        text = f"[{text}]" if isinstance(value, list) else f"({text})"
        return text if len(text) <= 3 * _LONGEST_VALUE else f"<{len(value):,} values>"
    if isinstance(value, str):
        return _cut(value)
    if isinstance(value, Mapping | list | tuple | set | frozenset) and len(value):
        return f"<{len(value):,} value{'s' * (len(value) != 1)}>"
    if hasattr(value, "shape") and isinstance(value, Collection):
        return f"<{type(value).__name__} of {len(value):,} rows>"
    text = repr(value)
    return text if len(text) <= 3 * _LONGEST_VALUE else f"{type(value).__name__}(...)"


def _cut(text: str) -> str:
    return repr(text) if len(text) <= _LONGEST_VALUE else repr(f"{text[:56].rstrip()}...")
