"""Columns that votes of LLM judges may have: probabilities, runs, families and abstentions.

========================  =============================================================================================
column                    meaning
========================  =============================================================================================
``probability``           the probability that the judge gives to the row's label; the other classes share the rest
``probability_<class>``   one column per class (or ``label=<class>``): its probability, or a score of at least 0
``run``                   the number or name of a run; the runs of a judge on a task are averaged into one vote
``family``                judges whose errors go together, such as models of one vendor
``abstain``               true in rows in which the judge abstains
========================  =============================================================================================
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from faircrowd._checks import few
from faircrowd.errors import InputError
from faircrowd.votes.frames import alike_columns, find_column

__all__ = ["ColumnChoice", "JudgeColumns", "find_judge_columns", "refuse_judge_columns"]

ColumnChoice: TypeAlias = str | bool | None
"""The name of a column; None to find it by its usual name; False (or "none") for none."""

_JUDGE_COLUMNS: Mapping[str, tuple[str, ...]] = {
    "probability": ("probability",),
    "run": ("run",),
    "family": ("family",),
    "abstained": ("abstain", "abstained"),
}
"""Names under which the columns of judges are known, the preferred name first."""

_PREFIX = re.compile(r"(probability[\s_:=-]+|label=)(?=.)", re.IGNORECASE)
"""The beginning of the name of a column with the probability of one class."""


@dataclass(frozen=True)
class JudgeColumns:
    """The columns of a table of votes that only votes of judges have.

    Attributes
    ----------
    probability : str or None
        The column with the probability of the row's label.
    by_class : dict of str to str
        The columns with the probability of each class, and the names of these classes.
    run, family, abstained : str or None
    abstain_label : tuple
        Labels that mean that the judge abstains.
    family_of : mapping
        The family of each judge, where it is not a column.
    """

    probability: str | None = None
    by_class: dict[str, str] = field(default_factory=dict)
    run: str | None = None
    family: str | None = None
    abstained: str | None = None
    abstain_label: tuple[object, ...] = ()
    family_of: Mapping[Any, Any] = field(default_factory=dict)

    @property
    def names(self) -> list[str]:
        """The columns to read."""
        found = (self.probability, self.run, self.family, self.abstained)
        return [*(name for name in found if name is not None), *self.by_class]

    @property
    def is_needed(self) -> bool:
        """Whether there is anything to read."""
        return bool(self.names or self.abstain_label or self.family_of)


def find_judge_columns(
    names: Sequence[str],
    where: str,
    *,
    taken: Sequence[str] = (),
    probability: ColumnChoice | Sequence[str] = None,
    run: ColumnChoice = None,
    family: ColumnChoice | Mapping[Any, Any] = None,
    abstained: ColumnChoice = None,
    abstain_label: object = None,
) -> JudgeColumns:
    """Return the columns of judges among the columns of votes, named or found by their usual names.

    Parameters
    ----------
    names : sequence of str
        The columns that there are.
    where : str
        What the table is called in messages.
    taken : sequence of str
        Columns with another meaning, which are not looked for.

    Examples
    --------
    >>> find_judge_columns(["task", "judge", "run", "probability_yes", "probability_no"], "votes.csv").by_class
    {'probability_yes': 'yes', 'probability_no': 'no'}
    """
    texts = [name for name in names if isinstance(name, str) and name not in taken]

    def found(role: str, given: ColumnChoice) -> str | None:
        if given is False or (given == "none" and given not in names):
            return None
        if isinstance(given, str):
            return find_column(role, names, given, where=where)
        alike = alike_columns(texts, _JUDGE_COLUMNS[role])
        return alike[0] if alike else None

    by_class: dict[str, str] = {}
    single: str | None = None
    if probability is None:
        by_class = {name: name[match.end() :] for name in texts if (match := _PREFIX.match(name))}
        single = found("probability", None)
        if single is not None and by_class:
            raise InputError(
                f"{where} has a column {single!r} and columns per class ({few(by_class)}); name those to use with "
                "probability=..."
            )
    elif isinstance(probability, str | bool):
        single = found("probability", probability)
    else:
        given = list(dict.fromkeys(find_column("probability", names, name, where=where) for name in probability))
        by_class = {name: _PREFIX.sub("", name, count=1) for name in given}
    if len(by_class) == 1:
        raise InputError(
            f"{where} has the probability of one class only, in {few(by_class)}; give each class a column, also the "
            "last one, such as probability_yes and probability_no, and if they are called otherwise name all of them "
            "with probability=..."
        )
    if len(set(by_class.values())) < len(by_class):
        raise InputError(
            f"The columns {few(by_class)} of {where} must hold the probabilities of different classes, one column per "
            "class; name those to use with probability=..."
        )
    labels = abstain_label if isinstance(abstain_label, list | tuple | set) else [abstain_label]
    return JudgeColumns(
        probability=single,
        by_class=by_class,
        run=found("run", run),
        family=None if isinstance(family, Mapping) else found("family", family),
        abstained=found("abstained", abstained),
        abstain_label=tuple(label for label in labels if label is not None),
        family_of=dict(family) if isinstance(family, Mapping) else {},
    )


def refuse_judge_columns(
    names: Sequence[str], where: str, engine: str, *, taken: Sequence[str] = (), **choices: Any
) -> None:
    """Raise if votes have columns of judges, which are read in memory only; choices are as in the function above."""
    found = find_judge_columns(names, where, taken=taken, **choices)
    if columns := [*found.names, *found.abstain_label, *(["family"] if found.family_of else [])]:
        several = len(columns) > 1
        raise InputError(
            f"{where} has the column{'s' * several} {few(columns)} of judges (docs/juries.md), which are read in "
            f"memory, not {engine}; use engine='memory', or a table without the column{'s' * several}."
        )
