"""The account of what happened to every row of a source."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NoReturn

from faircrowd._checks import few
from faircrowd._display import Displayed
from faircrowd.errors import InputError
from faircrowd.votes.line_breaks import LineBreaks, line_break_line

__all__ = ["VotesReport", "refuse_missing"]


@dataclass(frozen=True, repr=False)
class VotesReport(Displayed):
    """An account of the rows of a table of votes; the counts add up to ``rows_read``.

    Attributes
    ----------
    rows_read : int
        Rows in the source.
    rows_missing : dict of str to int
        Rows set aside because they have no task, worker or label, by the first of these that is missing.
    rows_repeated : int
        Rows that repeat a (task, worker) pair and were set aside (``on_duplicate`` first or last) or
        kept (``all``).
    on_missing, on_duplicate : str
        The policies that decided.
    rows_without_skill : int
        Rows set aside because their worker had no weight (``on_missing_skill="ignore"``).
    rows_left_out : dict of str to int
        Rows that the reader of a file left out, by reason.
    tasks_without_votes : tuple
        Names of the tasks that have no vote left and so get no label.
    line_breaks : dict of str to (int, str)
        By role (task, worker, label), how many values have a line break in them, and the first. Such rows are kept.
    repeated_tasks : int
        Rows of the table of tasks that repeat a task, with the same group.
    rows_abstained : int
        Rows in which a judge abstains; they are set aside.
    rows_averaged : int
        Rows that are further runs of a judge on a task: one vote is the average of all its runs.
    judge_notes : tuple of str
        What else there is to know about probabilities, runs and families of judges.
    read_as : tuple of str
        What there is to know about how an export was read.
    """

    rows_read: int = 0
    rows_missing: dict[str, int] = field(default_factory=dict)
    rows_repeated: int = 0
    on_missing: str = "drop"
    on_duplicate: str = "last"
    rows_without_skill: int = 0
    tasks_without_votes: tuple[Any, ...] = ()
    rows_left_out: dict[str, int] = field(default_factory=dict)
    line_breaks: LineBreaks = field(default_factory=dict)
    repeated_tasks: int = 0
    rows_abstained: int = 0
    rows_averaged: int = 0
    judge_notes: tuple[str, ...] = ()
    read_as: tuple[str, ...] = ()

    @property
    def rows_aside(self) -> int:
        """Number of rows that are not among the votes."""
        repeated = 0 if self.on_duplicate == "all" else self.rows_repeated
        left_out = sum(self.rows_left_out.values())
        judged = self.rows_abstained + self.rows_averaged
        return left_out + sum(self.rows_missing.values()) + repeated + self.rows_without_skill + judged

    def with_reading(self, left_out: Mapping[str, int], read_as: Sequence[str]) -> "VotesReport":
        """Return the account with what a reader reports, and the rows that it left out, which count as read."""
        rows = self.rows_read + sum(left_out.values())
        return replace(self, rows_read=rows, rows_left_out=dict(left_out), read_as=tuple(read_as))

    def lines(self) -> list[str]:
        """Return one line per reason for which rows were set aside or look wrong; empty if all rows are votes."""
        said = list(self.read_as)
        said += [
            f"{count:,} of {self.rows_read:,} rows set aside: {reason}"
            for reason, count in self.rows_left_out.items()
            if count
        ]
        said += [
            f"{count:,} of {self.rows_read:,} rows set aside: no {column} (on_missing={self.on_missing!r})"
            for column, count in self.rows_missing.items()
            if count
        ]
        if self.rows_repeated:
            option = f"(on_duplicate={self.on_duplicate!r})"
            if self.on_duplicate == "all":
                said.append(f"{self.rows_repeated:,} rows repeat a task and worker and were kept {option}")
            else:
                said.append(
                    f"{self.rows_repeated:,} of {self.rows_read:,} rows set aside: same task and worker, "
                    f"the {self.on_duplicate} vote counts {option}"
                )
        if self.rows_without_skill:
            said.append(
                f"{self.rows_without_skill:,} rows set aside: their worker has no skill (on_missing_skill='ignore')"
            )
        if self.rows_abstained:
            said.append(f"{self.rows_abstained:,} of {self.rows_read:,} rows set aside: the judge abstained")
        if self.rows_averaged:
            said.append(
                f"{self.rows_averaged:,} of {self.rows_read:,} rows are further runs of a judge on a task; the runs "
                "are averaged into one vote"
            )
        said += self.judge_notes
        if self.tasks_without_votes:
            count = len(self.tasks_without_votes)
            said.append(f"{count:,} task{'s' * (count != 1)} left with no vote: {few(self.tasks_without_votes)}")
        if self.repeated_tasks:
            rows = "row repeats" if self.repeated_tasks == 1 else "rows repeat"
            said.append(f"{self.repeated_tasks:,} {rows} a task in the table of tasks, with the same group")
        said += [line_break_line(role, *found) for role, found in self.line_breaks.items()]
        return said

    def to_dict(self) -> dict[str, Any]:
        """Return the account as plain values, ready for JSON."""
        return {
            "rows_read": self.rows_read,
            "rows_aside": self.rows_aside,
            "rows_missing": dict(self.rows_missing),
            "rows_repeated": self.rows_repeated,
            "rows_without_skill": self.rows_without_skill,
            "on_missing": self.on_missing,
            "on_duplicate": self.on_duplicate,
            "tasks_without_votes": [str(task) for task in self.tasks_without_votes[:100]],
            "n_tasks_without_votes": len(self.tasks_without_votes),
            **({"rows_left_out": dict(self.rows_left_out)} if self.rows_left_out else {}),
            **({"read_as": list(self.read_as)} if self.read_as else {}),
            **({"repeated_tasks": self.repeated_tasks} if self.repeated_tasks else {}),
            **({"rows_abstained": self.rows_abstained} if self.rows_abstained else {}),
            **({"rows_averaged": self.rows_averaged} if self.rows_averaged else {}),
            **({"line_breaks": dict(self.line_breaks)} if self.line_breaks else {}),
        }


def refuse_missing(name: str, count: int, rows: int, first: int) -> NoReturn:
    """Raise because rows lack a task, a worker or a label.

    Parameters
    ----------
    name : str
        What they lack.
    count, rows : int
        How many lack it, and how many rows there are.
    first : int
        The first that does, counted from 0.
    """
    raise InputError(
        f"{count:,} of {rows:,} rows have no {name} (the first is row {first + 1}); fill them in, or set them aside "
        "with on_missing='drop'."
    )
