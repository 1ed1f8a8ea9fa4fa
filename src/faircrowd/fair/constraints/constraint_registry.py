"""The constraints that have a name in text, as in ``parity(gender) <= 0.05``: one entry each.

The grammar, the help of the command line and the documentation read this list. A new constraint is a module with a
class and one entry here (or one call of :func:`register_constraint`).
"""

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING

from faircrowd.errors import OptionError

if TYPE_CHECKING:
    from faircrowd.fair.constraints.constraint_kind import Constraint

__all__ = ["CONSTRAINT_KINDS", "ConstraintKind", "constraint_help", "register_constraint"]


@dataclass(frozen=True)
class ConstraintKind:
    """A constraint as the registry knows it.

    Attributes
    ----------
    word : str
        Its name in text; the class attribute ``word`` is the same.
    class_name, module : str
        The class, and the module that defines it.
    example : str
        A constraint of this kind in text.
    summary : str
        One line of help: what the example asks for.
    """

    word: str
    class_name: str
    module: str
    example: str
    summary: str

    def load(self) -> "type[Constraint]":
        """Import and return the class."""
        found: type[Constraint] = getattr(import_module(self.module), self.class_name)
        return found


CONSTRAINT_KINDS: dict[str, ConstraintKind] = {}
"""The constraints by their word, in the order in which help shows them."""


def register_constraint(kind: ConstraintKind) -> None:
    """Add a constraint.

    Raises
    ------
    OptionError
        If there is one of this word already.
    """
    if kind.word in CONSTRAINT_KINDS:
        raise OptionError(f"The constraint {kind.word!r} is registered already.")
    CONSTRAINT_KINDS[kind.word] = kind


def constraint_help() -> list[tuple[str, str]]:
    """Return an example of each constraint in text, and what it asks for.

    Examples
    --------
    >>> for example, summary in constraint_help()[:2]:
    ...     print(f"{example:32} {summary}")
    parity(gender) <= 0.05           each label is given equally often in all groups, but for 0.05
    ratio(race, label=hire) >= 0.8   no group gets the label less than 0.8 times as often as another
    """
    return [(kind.example, kind.summary) for kind in CONSTRAINT_KINDS.values()]


_FOLDER = "faircrowd.fair.constraints"

for _kind in (
    ConstraintKind(
        word="parity",
        class_name="DemographicParity",
        module=f"{_FOLDER}.demographic_parity",
        example="parity(gender) <= 0.05",
        summary="each label is given equally often in all groups, but for 0.05",
    ),
    ConstraintKind(
        word="ratio",
        class_name="RateRatio",
        module=f"{_FOLDER}.rate_ratio",
        example="ratio(race, label=hire) >= 0.8",
        summary="no group gets the label less than 0.8 times as often as another",
    ),
    ConstraintKind(
        word="rate",
        class_name="RateRange",
        module=f"{_FOLDER}.rate_range",
        example="rate(race, label=hire) >= 0.2",
        summary="at least a fifth of every group gets the label; without a column, of all tasks",
    ),
    ConstraintKind(
        word="opportunity",
        class_name="EqualOpportunity",
        module=f"{_FOLDER}.equal_opportunity",
        example="opportunity(race, label=hire) <= 0.05",
        summary="tasks of this true class get its label equally often in all groups, but for 0.05",
    ),
    ConstraintKind(
        word="odds",
        class_name="EqualizedOdds",
        module=f"{_FOLDER}.equal_opportunity",
        example="odds(race) <= 0.1",
        summary="tasks of the same true class get each label equally often in all groups, but for 0.1",
    ),
    ConstraintKind(
        word="accuracy",
        class_name="AccuracyParity",
        module=f"{_FOLDER}.accuracy_parity",
        example="accuracy(race) <= 0.05",
        summary="labels are right equally often in all groups, but for 0.05",
    ),
    ConstraintKind(
        word="changed",
        class_name="ChangeBudget",
        module=f"{_FOLDER}.budgets",
        example="changed <= 0.1",
        summary="at most a tenth of the aggregator's own labels is changed",
    ),
    ConstraintKind(
        word="reviewed",
        class_name="ReviewBudget",
        module=f"{_FOLDER}.budgets",
        example="reviewed <= 0.05",
        summary="at most a twentieth of the tasks is sent to a person",
    ),
):
    register_constraint(_kind)
