"""The account of what happened to every row of a source."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from faircrowd._checks import few
from faircrowd.votes.line_breaks import LineBreaks, line_break_line

__all__ = ["VotesReport"]


@dataclass(frozen=True)
class VotesReport:
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

    @property
    def rows_aside(self) -> int:
        """Number of rows that are not among the votes."""
        repeated = 0 if self.on_duplicate == "all" else self.rows_repeated
        left_out = sum(self.rows_left_out.values())
        return left_out + sum(self.rows_missing.values()) + repeated + self.rows_without_skill

    def with_left_out(self, left_out: Mapping[str, int]) -> "VotesReport":
        """Return the account with the rows that a reader left out, which count as read."""
        if not left_out:
            return self
        return replace(self, rows_read=self.rows_read + sum(left_out.values()), rows_left_out=dict(left_out))

    def lines(self) -> list[str]:
        """Return one line per reason for which rows were set aside or look wrong; empty if all rows are votes."""
        said = [
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
            **({"repeated_tasks": self.repeated_tasks} if self.repeated_tasks else {}),
            **({"line_breaks": dict(self.line_breaks)} if self.line_breaks else {}),
        }
