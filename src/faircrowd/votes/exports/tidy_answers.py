"""The answers of an export in tidy form: one row per answer in a temporary folder, read column by column.

Every value is kept as JSON text, so that nothing is lost whatever its type; only the distinct texts of a column are
turned back into values.
"""

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from json.encoder import encode_basestring
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet
from numpy.typing import NDArray

from faircrowd._checks import few
from faircrowd.errors import FileError, InputError
from faircrowd.storage.scratch import Scratch, clear_left
from faircrowd.votes.exports.answers import GOLDEN, Answer, FreeText, Record, microseconds
from faircrowd.votes.exports.personal_data import anonymous_id, is_personal_name, is_personal_value
from faircrowd.votes.lookup import is_missing
from faircrowd.votes.readers.text import MAX_COLUMNS

__all__ = ["TASK", "WORKER", "Question", "TidyAnswers", "gather"]

TASK, WORKER = "task", "worker"
_ROWS_PER_PART, _TEXT_PER_PART = 1 << 16, 1 << 26
_DEEPEST = 20
"""Objects of facts that are nested deeper stay JSON text."""
_MOST_OPTIONS = 1000
_MANY = object()
"""In place of a golden label: there are several."""


@dataclass
class Question:
    """What was found out about a question while its answers were gathered.

    Attributes
    ----------
    rows : int
        Answers to it.
    several : int
        Answers that choose several options at once.
    is_text : bool
        Whether it is answered in words.
    options : set
        Distinct answers, as JSON text, up to 1,000.
    """

    rows: int = 0
    several: int = 0
    is_text: bool = False
    options: set[str] = field(default_factory=set)

    @property
    def values(self) -> list[str | int | float | bool]:
        """The distinct options, in order."""
        return [json.loads(text) for text in sorted(self.options)]

    @property
    def is_score(self) -> bool:
        """Whether the answers are numbers."""
        found = self.values
        return bool(found) and all(isinstance(value, int | float) and not isinstance(value, bool) for value in found)


@dataclass(frozen=True, eq=False)
class TidyAnswers:
    """Answers in files, one row per answer, in the order of their times.

    Attributes
    ----------
    questions : dict of str to Question
    facts : tuple of str
        Names of what is known about tasks; none is also the name of a question or of an id.
    stored : dict of str to str
        The columns in the files, by the names of ids, questions and facts.
    has_task, has_worker : bool
        Whether any row has one.
    rows : int
        Rows that may be votes, those of golden tasks included.
    left_out : dict of str to int
        Rows that are not among them, by reason.
    golden : dict
        The known label of each task, by question; all as JSON text.
    notes : tuple of str
        What a reader should know.
    personal : tuple of str
        Names that were left out as personal data.
    order : ndarray of int or None
        The rows in the order of their times; None if that is their own order.
    in_golden : ndarray of bool or None
        Which rows are of golden tasks; None if none is.
    """

    scratch: Scratch
    parts: tuple[Path, ...]
    questions: dict[str, Question]
    facts: tuple[str, ...]
    stored: dict[str, str]
    has_task: bool
    has_worker: bool
    rows: int
    left_out: dict[str, int]
    golden: dict[str, dict[str, str]]
    notes: tuple[str, ...]
    personal: tuple[str, ...]
    order: NDArray[np.int64] | None
    in_golden: NDArray[np.bool_] | None

    def texts(self, name: str, *, keep_golden: bool) -> pa.DictionaryArray:
        """Return a column of JSON texts, null where there is no value, in the order of times.

        Parameters
        ----------
        name : str
            ``task``, ``worker``, a question or a fact.
        keep_golden : bool
            Whether rows of golden tasks are kept.
        """
        stored, chunks = self.stored[name], []
        for part in self.parts:
            if stored in pa.parquet.read_schema(part).names:
                chunks += pa.parquet.read_table(part, columns=[stored], read_dictionary=[stored]).column(0).chunks
            else:
                chunks.append(pa.nulls(pa.parquet.read_metadata(part).num_rows, pa.string()).dictionary_encode())
        whole = pa.chunked_array(chunks, type=pa.dictionary(pa.int32(), pa.string())).unify_dictionaries()
        column = pa.concat_arrays(whole.chunks) if whole.num_chunks else pa.array([], pa.string()).dictionary_encode()
        place = self.order
        if not keep_golden and self.in_golden is not None:
            kept = ~self.in_golden if place is None else ~self.in_golden[place]
            place = np.flatnonzero(kept) if place is None else place[kept]
        return column if place is None else column.take(pa.array(place))


def gather(answers: Iterator[Answer], where: str) -> TidyAnswers:
    """Write answers in tidy form into a temporary folder, which is removed with the object returned.

    Parameters
    ----------
    answers : iterator of Answer
    where : str
        What the export is called in messages.

    Raises
    ------
    InputError
        If the answers cannot be kept: too many names, texts that are no Unicode, lists nested too deeply.
    """
    try:
        clear_left()
        scratch = Scratch()
    except OSError as error:
        raise FileError(f"The folder for temporary files cannot be written: {error.strerror or error}.") from None
    gathered = _Gathered(scratch, where)
    try:
        for answer in answers:
            gathered.add(answer)
        return gathered.finished()
    except BaseException as error:
        scratch.remove()
        if isinstance(error, UnicodeEncodeError):
            raise InputError(f"{where} holds a text that is no Unicode (half of a pair); export it again.") from None
        if isinstance(error, RecursionError):
            raise InputError(f"{where}: its lists are nested too deeply to be an export.") from None
        if isinstance(error, OSError):
            raise FileError(f"{scratch.path.parent} cannot be written: {error.strerror or error}.") from None
        raise


class _Gathered:
    """Answers on their way to files."""

    def __init__(self, scratch: Scratch, where: str) -> None:
        self.scratch, self.where = scratch, where
        self.parts: list[Path] = []
        self.rows: list[tuple[str | None, str | None, dict[str, str], int]] = []
        self.facts_of_part: list[dict[str, str]] = []
        self.text_bytes = 0
        self.times: list[int] = []
        self.in_golden: list[bool] = []
        self.all_times: list[NDArray[np.int64]] = []
        self.all_golden: list[NDArray[np.bool_]] = []
        self.without_time = 0
        self.questions: dict[str, Question] = {}
        self.facts: dict[str, None] = {}
        self.has = {TASK: False, WORKER: False}
        self.left_out: Counter[str] = Counter()
        self.golden: dict[str, dict[str, object]] = {}
        self.personal: dict[str, None] = {}
        self.personal_values: Counter[str] = Counter()
        self.hidden_workers: set[str] = set()
        self.last_facts: Record | None = None

    def add(self, answer: Answer) -> None:
        task = _text(answer.task)
        for question, label in answer.golden.items():
            if task is not None and (text := _text(label)) is not None:
                known = self.golden.setdefault(self._question_name(question), {})
                known[task] = text if known.get(task, text) == text else _MANY
        if answer.left_out is not None and answer.left_out != GOLDEN:
            self.left_out[answer.left_out] += 1
            return
        worker = answer.worker
        if is_personal_value(worker):
            self.hidden_workers.add(str(worker))
            worker = anonymous_id(str(worker))
        answers = {}
        for name, given in answer.answers.items():
            question = self._question_name(name)
            if (text := self._answered(question, given)) is not None:
                answers[question] = text
                self.text_bytes += len(text)
        if self.last_facts is not answer.facts:  # answers to one task often share their facts
            self.last_facts = answer.facts
            self.facts_of_part.append(self._flat(answer.facts))
            self.text_bytes += sum(map(len, self.facts_of_part[-1].values()))
        row = (task, _text(worker), answers, len(self.facts_of_part) - 1)
        self.has[TASK] |= row[0] is not None
        self.has[WORKER] |= row[1] is not None
        self.rows.append(row)
        self.in_golden.append(answer.left_out == GOLDEN)
        time = microseconds(answer.time)
        self.without_time += time is None
        self.times.append(0 if time is None else time)
        if len(self.rows) >= _ROWS_PER_PART or self.text_bytes > _TEXT_PER_PART:
            self._write()

    def _question_name(self, name: str) -> str:
        return f"answer.{name}" if name in (TASK, WORKER, GOLDEN) else name

    def _answered(self, name: str, given: object) -> str | None:
        """Return an answer as JSON text, None if there is none; remember what the question is like."""
        question = self.questions.get(name)
        if question is None:
            question = self.questions[name] = Question()
            self._check_width()
        if isinstance(given, list | tuple | set | frozenset):
            chosen = sorted({text for option in given if (text := _text(option)) is not None})
            question.several += len(chosen) > 1
            found = f"[{','.join(chosen)}]" if chosen else None
        else:
            found = _text(given)
            chosen = [] if found is None else [found]
            question.is_text |= isinstance(given, FreeText)
        question.rows += bool(chosen)
        if len(question.options) < _MOST_OPTIONS:
            question.options.update(chosen)
        return found

    def _flat(self, facts: Record) -> dict[str, str]:
        """Return facts by dotted names, as JSON texts, without personal data."""
        found: dict[str, str] = {}
        waiting: list[tuple[str, object, int]] = [
            (str(name), value, 1) for name, value in reversed(list(facts.items()))
        ]
        while waiting:
            name, value, depth = waiting.pop()
            if is_personal_name(name):
                self.personal[name] = None
                continue
            if isinstance(value, Mapping) and depth < _DEEPEST:
                waiting += [(f"{name}.{key}", inner, depth + 1) for key, inner in reversed(list(value.items()))]
                continue
            if isinstance(value, Mapping | list | tuple):
                value = json.dumps(value, ensure_ascii=False, default=str)
            if is_personal_value(value):
                self.personal_values[name] += 1
                continue
            if (text := _text(value)) is not None:
                found[name] = text
            if name not in self.facts:
                self.facts[name] = None
                self._check_width()
        return found

    def _check_width(self) -> None:
        if len(self.facts) + len(self.questions) > MAX_COLUMNS:
            raise InputError(
                f"{self.where} has more than {MAX_COLUMNS:,} names of questions and facts; is it an export of answers?"
            )

    def _write(self) -> None:
        if not self.rows:
            return
        given = [row[2] for row in self.rows]
        columns: dict[str, pa.Array] = {
            TASK: pa.array([row[0] for row in self.rows], pa.string()),
            WORKER: pa.array([row[1] for row in self.rows], pa.string()),
        }
        # Names may hold dots, which mean something else in Parquet, so columns are numbered.
        for number, name in enumerate(self.questions):
            columns[f"q{number}"] = pa.array([one.get(name) for one in given], pa.string())
        place = pa.array([row[3] for row in self.rows], pa.int32())
        present = {name for one in self.facts_of_part for name in one}
        for number, name in enumerate(self.facts):
            if name in present:
                values = pa.array([one.get(name) for one in self.facts_of_part], pa.string())
                columns[f"f{number}"] = values.dictionary_encode().take(place)
        table = pa.table({name: _in_dictionary(column) for name, column in columns.items()})
        path = self.scratch.path / f"part-{len(self.parts)}.parquet"
        pa.parquet.write_table(table, path, compression="zstd")
        self.parts.append(path)
        self.all_times.append(np.array(self.times, dtype=np.int64))
        self.all_golden.append(np.array(self.in_golden, dtype=bool))
        self.rows, self.times, self.in_golden, self.text_bytes = [], [], [], 0
        self.facts_of_part, self.last_facts = [], None

    def _fact_name(self, name: str) -> str:
        """Return the column of a fact; one that is called like a question or an id is told apart."""
        return f"data.{name}" if name in (TASK, WORKER, GOLDEN) or name in self.questions else name

    def finished(self) -> TidyAnswers:
        self._write()
        times = np.concatenate(self.all_times) if self.all_times else np.empty(0, dtype=np.int64)
        golden = np.concatenate(self.all_golden) if self.all_golden else np.empty(0, dtype=bool)
        is_timed = self.without_time == 0
        order = np.argsort(times, kind="stable") if is_timed and (np.diff(times) < 0).any() else None
        facts = {self._fact_name(name): f"f{number}" for number, name in enumerate(self.facts)}
        return TidyAnswers(
            self.scratch,
            tuple(self.parts),
            self.questions,
            tuple(facts),
            {TASK: TASK, WORKER: WORKER, **facts} | {name: f"q{number}" for number, name in enumerate(self.questions)},
            self.has[TASK],
            self.has[WORKER],
            int(times.size),
            dict(self.left_out),
            {q: {t: str(v) for t, v in known.items() if v is not _MANY} for q, known in self.golden.items()},
            tuple(self._notes()),
            (*self.personal, *(name for name in self.personal_values if name not in self.facts)),
            order,
            golden if golden.any() else None,
        )

    def _notes(self) -> Iterator[str]:
        if self.personal:
            yield f"left out as personal data: {few(list(self.personal))}"
        for name, count in self.personal_values.items():
            yield f"left out as personal data: {count:,} values of {name!r}, which are e-mail or IP addresses"
        if self.hidden_workers:
            yield f"the ids of {len(self.hidden_workers):,} workers are e-mail or IP addresses; codes stand for them"
        total = sum(part.size for part in self.all_times)
        if 0 < self.without_time < total:
            yield (
                f"{self.without_time:,} of {total:,} answers have no time that can be read, so of repeated answers "
                "the last row counts"
            )
        several = sum(value is _MANY for known in self.golden.values() for value in known.values())
        if several:
            yield f"{several:,} golden tasks have several known labels; none of these is taken"


def _in_dictionary(column: pa.Array) -> pa.DictionaryArray:
    return column if pa.types.is_dictionary(column.type) else column.dictionary_encode()


def _text(value: object) -> str | None:
    """Return a value as JSON text; None if it is missing, also if it is an empty text."""
    if isinstance(value, str):
        return encode_basestring(value) if value and not value.isspace() else None
    if type(value) is int:
        return str(value)
    if value is None or is_missing(value):
        return None
    return json.dumps(value, ensure_ascii=False, default=str)
