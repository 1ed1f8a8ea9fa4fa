"""Constraints built by clicks: the kinds that are offered, what each asks for, and what is said about them."""

from collections.abc import Sequence
from dataclasses import dataclass, fields

from faircrowd.errors import OptionError
from faircrowd.fair.constraints.constraint_kind import Constraint
from faircrowd.fair.constraints.constraint_registry import CONSTRAINT_KINDS
from faircrowd.fair.constraints.grammar import parse_constraint

__all__ = ["KindOffered", "constraint_text", "constraint_words", "kinds_offered"]

_WORDS = {
    "parity <=": ("Equal rates of labels", "each label is given equally often in all groups, but for", 0.05),
    "ratio >=": ("Ratio of rates (four fifths rule)", "the lowest rate of a label, as a share of the highest, is", 0.8),
    "rate >=": ("Rate of a label, at least", "the share of tasks that get the label is", 0.1),
    "rate <=": ("Rate of a label, at most", "the share of tasks that get the label is", 0.9),
    "opportunity <=": (
        "Equal opportunity",
        "tasks that truly have the label get it equally often in all groups, but for",
        0.05,
    ),
    "odds <=": ("Equalized odds", "tasks of the same true label get each label equally often, but for", 0.1),
    "accuracy <=": ("Equal accuracy", "labels are right equally often in all groups, but for", 0.05),
    "changed <=": ("Few labels changed", "the share of labels that are changed is", 0.1),
    "reviewed <=": ("Tasks reviewed by a person", "the share of tasks that are sent to a person is", 0.05),
}
"""By kind and sign: the name, a sentence that the limit ends, and the limit that is proposed."""


@dataclass(frozen=True)
class KindOffered:
    """A kind of constraint that can be built.

    Attributes
    ----------
    key : str
        Its word and sign, as in ``"ratio >="``.
    name, sentence : str
    limit : float
        The limit that is proposed.
    takes : tuple of str
        Which of ``"group"``, ``"within"`` and ``"label"`` it may be given.
    """

    key: str
    name: str
    sentence: str
    limit: float
    takes: tuple[str, ...]


def kinds_offered() -> list[KindOffered]:
    """Return every registered kind of constraint, once for each side from which it may have a limit.

    Examples
    --------
    >>> [kind.key for kind in kinds_offered()][:4]
    ['parity <=', 'ratio >=', 'rate >=', 'rate <=']
    """
    found = []
    for word, kind in CONSTRAINT_KINDS.items():
        cls = kind.load()
        takes = tuple(name for name in ("group", "within", "label") if name in {item.name for item in fields(cls)})  # type: ignore[arg-type]
        for sign, limits in ((">=", (0.5, None)), ("<=", (None, 0.5))):
            try:
                cls.limit_fields(*limits)
            except OptionError:
                continue
            name, sentence, limit = _WORDS.get(f"{word} {sign}", (word, f"as in {kind.example}: {kind.summary};", 0.1))
            found.append(KindOffered(f"{word} {sign}", name, sentence, limit, takes))
    return found


def constraint_words(constraint: Constraint) -> str:
    """Return what a constraint asks for, up to its limit.

    Examples
    --------
    >>> constraint_words(parse_constraint("parity(sex, within=region, label=hire) <= 0.1"))
    'Equal rates of labels, groups of sex, within each region, label hire: at most'
    """
    sign = ">=" if constraint.is_floor else "<="
    name = _WORDS.get(f"{constraint.word} {sign}", (str(constraint).partition("(")[0], "", 0.0))[0]
    name = name.partition(", at ")[0]
    parts = [name]
    if constraint.group_columns:
        parts.append(f"groups of {' × '.join(constraint.group_columns)}")
    if constraint.stratum_columns:
        parts.append(f"within each {' × '.join(constraint.stratum_columns)}")
    if getattr(constraint, "label", None) is not None:
        parts.append(f"label {getattr(constraint, 'label')}")  # noqa: B009 - not every kind has one
    return f"{', '.join(parts)}: {'at least' if constraint.is_floor else 'at most'}"


def constraint_text(key: str, columns: Sequence[str], within: Sequence[str], label: str, limit: str) -> str:
    """Return a constraint that was built by clicks as the text that ``--require`` takes.

    What its kind does not take is left out: the fields of a form are there for all kinds.

    Examples
    --------
    >>> constraint_text("ratio >=", ["race"], [], "hire", "0.8")
    'ratio(race, label=hire) >= 0.8'
    >>> constraint_text("changed <=", ["race"], [], "", "0.1")
    'changed <= 0.1'
    """
    kind = {kind.key: kind for kind in kinds_offered()}.get(key)
    if kind is None:
        raise OptionError(f"There is no kind of constraint {key!r}.")
    arguments = []
    if columns and "group" in kind.takes:
        arguments.append(" * ".join(map(_quoted, columns)))
    if within and "within" in kind.takes:
        arguments.append(f"within={' * '.join(map(_quoted, within))}")
    if label and "label" in kind.takes:
        arguments.append(f"label={_quoted(label)}")
    word, _, sign = key.partition(" ")
    head = f"{word}({', '.join(arguments)})" if arguments else word
    if not limit.strip():
        raise OptionError("Give the limit of the constraint: a number from 0 to 1.")
    return str(parse_constraint(f"{head} {sign} {limit}"))


def _quoted(name: str) -> str:
    return "'" + name.replace("'", "''") + "'"
