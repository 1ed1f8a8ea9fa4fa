"""What a reader of an export yields (:class:`Answer`), and what such a reader is (:class:`ExportFormat`)."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from faircrowd.votes.exports.export_file import ExportFile

__all__ = ["GOLDEN", "Answer", "ExportFormat", "FreeText", "Record", "microseconds"]

Record: TypeAlias = Mapping[str, Any]
"""One row of a table, or one object of a JSON file: values by name."""

GOLDEN = "golden"
"""The reason for which answers to control tasks are left out, and the column of their known labels."""


class FreeText(str):
    """An answer in words, which is no class; a question of such answers is never taken unasked."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Answer:
    """All that one worker said about one task at one time: one row of the account.

    Attributes
    ----------
    task, worker : str, int or None
        Ids as the platform has them; None if the row has none.
    answers : mapping
        The answer to each question: a text, a number, a truth value; a list where several options may be chosen at
        once (also of one); a :class:`FreeText`. A question that was not answered is left out, or None.
    time : str, float or None
        When the answer was given, as :func:`microseconds` reads it. Of repeated answers, the last in time counts.
    facts : mapping
        What the file knows about the task, for groups. Objects inside objects get dotted names: ``data.gender``. Give
        the same object for all answers to a task where that is easy: it is then flattened once.
    golden : mapping
        The known labels of the task, by question.
    left_out : str, optional
        Why the row is no vote, in a few words: ``"skipped"``, ``"draft"``, ``"rejected"``. It is counted under this
        name. :data:`GOLDEN` is kept where known labels are asked for.
    """

    task: str | int | None
    worker: str | int | None
    answers: Record = field(default_factory=dict)
    time: str | float | None = None
    facts: Record = field(default_factory=dict)
    golden: Record = field(default_factory=dict)
    left_out: str | None = None


@dataclass(frozen=True)
class ExportFormat:
    """An export of a platform.

    Attributes
    ----------
    name : str
        What users call it, as in ``read_votes(path, format="label-studio")``.
    title : str
        What messages call it.
    recognises : function of an export
        Returns whether a file or folder is such an export, by what it holds; false for anything it does not know.
        Formats are asked in the order of the registry, and the first counts.
    answers : function of an export
        Yields the answers, one after the other, without holding the file in memory where it may be large.
    example : str
        What is recognised, in a few words, for the documentation.
    notes : function of an export
        Returns what a reader should know about this file, one sentence each.
    own_names : mapping
        What the platform itself calls the ids of tasks and workers; these names may be given for ``task`` and
        ``worker``.
    no_answer : str, optional
        A label by which the platform says that there was nothing to judge.
    """

    name: str
    title: str
    recognises: Callable[["ExportFile"], bool]
    answers: Callable[["ExportFile"], Iterator[Answer]]
    example: str = ""
    notes: Callable[["ExportFile"], Sequence[str]] = lambda export: ()
    own_names: Mapping[str, str] = field(default_factory=dict, hash=False)
    no_answer: str | None = None


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_ZONES = {"UTC": "+0000", "GMT": "+0000", "PST": "-0800", "PDT": "-0700", "EST": "-0500", "EDT": "-0400"}
_FORMATS = ("%m/%d/%Y %H:%M:%S", "%a %b %d %H:%M:%S %z %Y", "%Y-%m-%d %H:%M:%S %z")
"""The times of Appen, MTurk and Labelbox; all others write them as ISO 8601 has it."""


def microseconds(time: object) -> int | None:
    """Return a time in microseconds since 1970; None if it is none.

    Parameters
    ----------
    time
        Text as of ISO 8601, Appen (``10/4/2016 13:05:12``) or MTurk (``Tue Mar 05 10:10:00 PST 2019``), or seconds (or
        milliseconds) since 1970. A time without a zone is taken for one of UTC.

    Examples
    --------
    >>> microseconds("1970-01-01T00:00:02.5Z"), microseconds("1/1/1970 00:00:02"), microseconds(2)
    (2500000, 2000000, 2000000)
    >>> microseconds("Thu Jan 01 00:00:02 PST 1970") // 1_000_000 == 8 * 3600 + 2
    True
    >>> microseconds("soon") is None
    True
    """
    if isinstance(time, bool) or time is None:
        return None
    if isinstance(time, int | float):
        seconds = time / 1000 if abs(time) > 1e11 else time
        return round(seconds * 1e6) if abs(seconds) < 1e12 else None
    if isinstance(time, datetime):
        return _of(time)
    text = str(time).strip()
    try:
        return _of(datetime.fromisoformat(text))
    except ValueError:
        pass
    if re.fullmatch(r"\d{1,13}(\.\d+)?", text, re.ASCII):
        return microseconds(float(text))
    text = re.sub(r"\b[A-Z]{3}\b", lambda found: _ZONES.get(found[0], found[0]), text)
    for form in _FORMATS:
        try:
            return _of(datetime.strptime(text, form))
        except ValueError:
            continue
    return None


def _of(time: datetime) -> int:
    return ((time if time.tzinfo is not None else time.replace(tzinfo=UTC)) - _EPOCH) // timedelta(microseconds=1)
