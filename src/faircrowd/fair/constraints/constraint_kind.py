"""What every constraint has: the groups that it compares, and the comparisons that it makes of them."""

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence, Set
from dataclasses import fields, replace
from typing import Any, ClassVar, Self

from faircrowd._checks import check_number, few, suggestion
from faircrowd.errors import OptionError
from faircrowd.fair.constraints.constraint_tokens import label_text, name_text, number_text
from faircrowd.fair.constraints.quantities import Comparison, GroupedTasks
from faircrowd.votes import Vocabulary

__all__ = ["Columns", "Constraint", "about", "as_columns", "check_level", "label_code"]

Columns = str | Sequence[str] | None
"""The name of one column, or the names of several."""


class Constraint(ABC):
    """Something that fair labels must keep, linear in the labels.

    A kind of constraint is a frozen dataclass with a method ``comparisons``. It may have the fields ``group`` (the
    column, or columns, whose groups are compared; all sensitive columns if it is None) and ``within`` (the column, or
    columns, of the strata within which they are compared).

    Examples
    --------
    Of the tasks that get a label, at least a share must truly be of its class, in every group:

    >>> from dataclasses import dataclass
    >>> from faircrowd.constraints import Constraint, Range
    >>> @dataclass(frozen=True)
    ... class PrecisionFloor(Constraint):
    ...     floor: float
    ...     label: object
    ...     group: str | None = None
    ...     is_about_truth = True
    ...     def comparisons(self, tasks):
    ...         k = self.code_of(self.label, tasks.classes)
    ...         groups = [a for _, members in tasks.strata for a in members]
    ...         margins = [tasks.labelled_where(a, k, k) - self.floor * tasks.labelled(a, k) for a in groups]
    ...         return [Range(margins, low=0.0, about=f"precision of {self.label} minus {self.floor}")]
    """

    word: ClassVar[str] = ""
    """Its name in text, as in ``parity(gender) <= 0.05``; by default the name of the class."""

    unit: ClassVar[str] = "level"
    """What its limit is a limit of, in words."""

    level_name: ClassVar[str] = ""
    """The field that holds the limit, which a frontier varies; empty if there is no single one."""

    is_floor: ClassVar[bool] = False
    """Whether the limit is one from below."""

    is_about_truth: ClassVar[bool] = False
    """Whether it speaks of the truth, so that it is kept only as far as the posterior is right."""

    by_own_label: ClassVar[bool] = False
    """Whether its groups are the aggregator's own labels."""

    adds_review: ClassVar[bool] = False
    """Whether it lets tasks be sent to a person instead of getting a label."""

    compares_groups: ClassVar[bool] = True
    """Whether it needs at least two groups."""

    def __post_init__(self) -> None:
        """Turn lists of columns and labels into tuples, and check the limit."""
        for name in ("group", "within", "labels"):
            given = getattr(self, name, None)
            if name == "labels" and isinstance(given, str):
                raise OptionError(f"{type(self).__name__}.labels is a list of labels; for one label, give label=...")
            if name != "labels" and given is not None:
                object.__setattr__(self, name, _column_texts(given))
            elif given is not None:
                object.__setattr__(self, name, tuple(sorted(given, key=str) if isinstance(given, Set) else given))
        if getattr(self, "labels", None) == ():
            raise OptionError(f"{type(self).__name__}.labels is empty; leave it out for all labels.")
        if getattr(self, "label", None) is not None and getattr(self, "labels", None) is not None:
            raise OptionError(f"{type(self).__name__} has label and labels; give one of the two.")
        if isinstance(type(self).level_name, str) and self.level_name:  # a property names one of several limits
            check_level(self, self.level_name)

    @abstractmethod
    def comparisons(self, tasks: GroupedTasks) -> Sequence[Comparison]:
        """Return what is compared with what."""

    @property
    def group_columns(self) -> tuple[str, ...] | None:
        """The columns whose groups are compared; None for all sensitive columns."""
        return as_columns(getattr(self, "group", None))

    @property
    def stratum_columns(self) -> tuple[str, ...]:
        """The columns of the strata."""
        return as_columns(getattr(self, "within", None)) or ()

    @property
    def level(self) -> float:
        """The limit."""
        return float(getattr(self, self.level_name))

    def with_level(self, level: float) -> Self:
        """Return the same constraint with another limit."""
        return replace(self, **{self.level_name: level})  # type: ignore[type-var]

    @staticmethod
    def code_of(label: object, classes: Vocabulary) -> int:
        """Return the code of a label, which may be given by its text."""
        return label_code(label, classes)

    def labels_of(self, classes: Vocabulary) -> list[int]:
        """Return the codes of the labels that it is about: ``label``, ``labels``, or all."""
        label, labels = getattr(self, "label", None), getattr(self, "labels", None)
        if label is not None:
            return [label_code(label, classes)]
        return list(range(len(classes))) if labels is None else [label_code(name, classes) for name in labels]

    def __str__(self) -> str:
        """Return the constraint as ``--require`` reads it: ``ratio(race, label=hire) >= 0.8``."""
        label, labels = getattr(self, "label", None), getattr(self, "labels", None)
        inside = []
        if self.group_columns:
            inside.append(" * ".join(map(name_text, self.group_columns)))
        elif self.group_columns is None and hasattr(self, "group") and not self.compares_groups:
            inside.append("*")  # every group of all columns, which no column at all would not say
        if self.stratum_columns:
            inside.append(f"within={' * '.join(map(name_text, self.stratum_columns))}")
        if label is not None:
            inside.append(f"label={label_text(label)}")
        elif labels is not None:
            inside.append(f"labels={' * '.join(map(label_text, labels))}")
        if not self.word:  # a kind of the user's own, which is told apart by all that it was given
            named = ("group", "within", "label", "labels", self.level_name)
            more = [field.name for field in fields(self) if field.name not in named]  # type: ignore[arg-type]
            inside += [f"{name}={getattr(self, name)!r}" for name in more]
        word = self.word or type(self).__name__
        return (f"{word}({', '.join(inside)}) {self.limit_text}" if inside else f"{word} {self.limit_text}").rstrip()

    @property
    def limit_text(self) -> str:
        """The limit in text: ``<= 0.05``."""
        return f"{'>=' if self.is_floor else '<='} {number_text(self.level)}" if self.level_name else ""

    @classmethod
    def limit_fields(cls, low: float | None, high: float | None) -> dict[str, float]:
        """Return the field that holds the limit, given as text gives it: from below, or from above.

        Examples
        --------
        >>> from faircrowd.constraints import RateRatio
        >>> RateRatio.limit_fields(0.8, None)
        {'ratio': 0.8}
        """
        given, other = (low, high) if cls.is_floor else (high, low)
        if given is None or other is not None:
            right, wrong = (">=", "<=") if cls.is_floor else ("<=", ">=")
            raise OptionError(f"{cls.word!r} takes one limit, with {right}, not with {wrong}")
        return {cls.level_name: given}

    def relaxed_words(self, level: float, n_tasks: int) -> str:
        """Say what it is to relax this constraint to a limit."""
        return f"allow {type(self).__name__} {self.easier(level)} instead of {self.level:g}"

    def easier(self, level: float) -> str:
        """Return a limit in four digits, rounded to the side that is easier to keep."""
        step = 10.0 ** (math.floor(math.log10(max(abs(level), 1e-12))) - 3)
        rounded = math.floor(level / step + 1e-9) if self.is_floor else math.ceil(level / step - 1e-9)
        return f"{min(max(rounded * step, 0.0), 1.0):.4g}"

    def to_dict(self) -> dict[str, Any]:
        """Return the constraint as plain values."""
        found = {field.name: getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]
        return {"constraint": type(self).__name__} | {
            name: list(value) if isinstance(value, tuple) else value for name, value in found.items()
        }


def as_columns(names: Columns) -> tuple[str, ...] | None:
    """Return names of columns as a tuple; None stays None."""
    return (names,) if isinstance(names, str) else None if names is None else tuple(names)


def _column_texts(given: object) -> str | tuple[str, ...]:
    """Return a column, or several, by the text of their names, in which the columns of a frame are looked up."""
    if isinstance(given, str) or not isinstance(given, Iterable):
        return str(given)
    return tuple(map(str, sorted(given, key=str) if isinstance(given, Set) else given))


def about(what: str, stratum: str) -> str:
    """Say what is compared, and within which stratum.

    Examples
    --------
    >>> about("rate of label 1", "north"), about("rate of label 1", "")
    ('rate of label 1 within north', 'rate of label 1')
    """
    return f"{what} within {stratum}" if stratum else what


def check_level(constraint: object, name: str, low: float = 0.0, high: float = 1.0) -> None:
    """Raise unless a field of a constraint is a number between two others."""
    check_number(f"{type(constraint).__name__}.{name}", getattr(constraint, name), low=low, high=high)


def label_code(label: object, classes: Vocabulary) -> int:
    """Return the code of a label, which may be given by its text.

    Examples
    --------
    >>> label_code("1", Vocabulary.of([0, 1]))
    1
    """
    values = classes.to_list()
    for known in (values, classes.names):
        for code, name in enumerate(known):
            if type(name) is type(label) and name == label:
                return code
    for code, name in enumerate(classes.names):
        if name == str(label):
            return code
    raise OptionError(f"{label!r} is not one of the labels, {few(values)}.{suggestion(label, values)}")
