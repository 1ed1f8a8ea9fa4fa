"""An export as a source of columns: every engine, command and function reads it as it reads a table of votes."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TypeAlias

import pyarrow as pa

from faircrowd._checks import few, suggestion
from faircrowd.errors import FaircrowdError, FileError, MissingColumnError, OptionError
from faircrowd.storage.content_hash import content_files
from faircrowd.votes.exports.answers import GOLDEN, ExportFormat
from faircrowd.votes.exports.export_file import ExportFile
from faircrowd.votes.exports.questions import (
    NO,
    AnswerOptions,
    asked_question,
    find_question,
    label_notes,
    labels_of,
    question_columns,
    refuse_personal,
)
from faircrowd.votes.exports.tidy_answers import TASK, WORKER, TidyAnswers, gather
from faircrowd.votes.frames import has_column
from faircrowd.votes.readers.reader import Columns, Reader, Source
from faircrowd.votes.readers.shared import MixedValues, plain_integers
from faircrowd.votes.vocabulary import Column, as_objects

__all__ = ["FileState", "export_reader", "file_state", "refuse_options"]

_KEPT = 2
"""How many exports are kept in tidy form, so that none is parsed again for each column that is asked for."""
FileState: TypeAlias = tuple[tuple[str, int, int], ...]


def export_reader(kind: ExportFormat) -> Reader:
    """Return the reader of an export's columns.

    They are ``task`` and ``worker``, the questions, the facts about tasks under dotted names, and ``golden`` where
    there are known labels.
    """
    return Reader(
        kind.name,
        (),
        kind.title,
        header=lambda source: _Export(source, kind).header(),
        columns=lambda source, names: _Export(source, kind).columns(names),
        blocks=lambda source, names: _Export(source, kind).blocks(names),
        json_blocks=lambda source, names: _Export(source, kind).json_blocks(names),
        left_out=lambda source: _Export(source, kind).left_out(),
        roles=lambda source, named: _Export(source, kind).roles(named),
        fact_names=lambda source: list(_Export(source, kind).tidy.facts),
        notes=lambda source: _Export(source, kind).notes(),
        check_name=lambda source, name: refuse_personal(name, _Export(source, kind).tidy.personal, str(source.path)),
        takes_folders=True,
        is_export=True,
    )


class _Export:
    """An export that is open: its tidy answers, and how they become labels."""

    def __init__(self, source: Source, kind: ExportFormat) -> None:
        self.source, self.kind = source, kind
        self.where = str(source.path)
        self.options = source.answers or AnswerOptions()

    @cached_property
    def state(self) -> FileState:
        return file_state(self.source.path)

    @cached_property
    def tidy(self) -> TidyAnswers:
        return _tidy(self.source.path, self.kind, self.source.delimiter, self.state)

    @property
    def question(self) -> str:
        """The column of the labels."""
        return find_question(self.tidy.questions, self.options, self.where)

    def header(self) -> list[str]:
        tidy = self.tidy
        ids = [name for name, has in ((TASK, tidy.has_task), (WORKER, tidy.has_worker)) if has]
        golden = [GOLDEN] if any(tidy.golden.values()) else []
        return [*ids, *question_columns(tidy.questions, self.options.multi), *tidy.facts, *golden]

    def roles(self, named: Mapping[str, str | None]) -> dict[str, str | None]:
        """Return the columns of task, worker and label, where users have not named them."""
        if (label := named["label"]) is not None and not has_column(self.header(), label):
            refuse_personal(label, self.tidy.personal, self.where)
            known = question_columns(self.tidy.questions, self.options.multi)
            parts = [part.strip() for part in label.split(",")]
            only_one = " Labels are the answers to one question; name one." if set(parts) <= set(known) else ""
            raise MissingColumnError(
                f"{self.where} has no question {label!r}; its questions: {few(known, limit=12)}."
                f"{only_one or suggestion(label, known)}",
                parameter="label",
            )
        own = self.kind.own_names
        found = {role: role if name is not None and own.get(name) == role else name for role, name in named.items()}
        return {**found, "label": named["label"] or self.question}

    def columns(self, names: Sequence[str]) -> Columns:
        return {name: self._column(name) for name in names}

    def blocks(self, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        found = {name: self._column(name) for name in names}
        if not all(isinstance(column, pa.Array | pa.ChunkedArray) for column in found.values()):
            raise MixedValues
        table = pa.table(found)
        yield pa.RecordBatch.from_pylist([], schema=table.schema)
        yield from table.to_batches()

    def json_blocks(self, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        found = {}
        for name in names:
            column = self._column(name)
            values = column.to_pylist() if isinstance(column, pa.Array | pa.ChunkedArray) else column.tolist()
            found[name] = pa.array([None if value is None else json.dumps(value) for value in values], pa.string())
        yield from pa.table(found).to_batches()

    def left_out(self) -> dict[str, int]:
        tidy, golden = self.tidy, 0
        if tidy.in_golden is not None and not self.options.keep_golden:
            golden = int(tidy.in_golden.sum())
        return {**tidy.left_out, **({GOLDEN: golden} if golden else {})}

    def notes(self) -> list[str]:
        """Return what a reader should know: what the file was taken for, and what became of its answers."""
        tidy, question = self.tidy, self.question
        found = [f"{self.where} is read as {self.kind.title} (format={self.kind.name!r}); the labels are {question!r}"]
        found += _file_notes(self.source.path, self.kind, self.source.delimiter, self.state)
        found += [*tidy.notes, *label_notes(question, tidy.questions, self.options, self._no_options(question))]
        if known := tidy.golden.get(asked_question(question, tidy.questions, self.options.multi)):
            if self.options.keep_golden:
                found += self._about_golden(len(known))
            else:
                found.append(
                    f"{len(known):,} tasks have known labels: aggregate can learn from them (calibrate='golden'), if "
                    "people gave them; labels that a program wrote back are no truth"
                )
        return found

    def _no_options(self, question: str) -> int:
        """Return how many answers choose none of the options that a column of labels asks for one of."""
        asked = asked_question(question, self.tidy.questions, self.options.multi)
        if asked == question:
            return 0
        return int(self.tidy.texts(asked, keep_golden=self.options.keep_golden).null_count)

    def _about_golden(self, n_known: int) -> list[str]:
        """Return why golden labels tell less than those of tasks drawn at random, and which tasks they bring along."""
        tidy, found = self.tidy, list[str]()
        if tidy.in_golden is not None:
            in_all, others = (len(tidy.texts(TASK, keep_golden=kept).unique()) for kept in (True, False))
            if others and in_all > others:
                found.append(
                    f"{in_all - others:,} golden tasks were added to the {others:,} others, with their votes: they "
                    "get labels, and count in the groups and all numbers"
                )
        found.append(
            f"the {n_known:,} known labels are of tasks that someone chose, not of a random sample: what is learned "
            "from them holds for tasks like these; make sure that none was written back by faircrowd"
        )
        return found

    def _column(self, name: str) -> Column:
        tidy, options = self.tidy, self.options
        if name == GOLDEN:
            texts = tidy.texts(TASK, keep_golden=options.keep_golden)
            question = self.question
            about = asked_question(question, tidy.questions, options.multi)
            known = tidy.golden.get(about, {})
            answers = [known.get(task) for task in texts.dictionary.to_pylist()]
            given = [answer for answer in dict.fromkeys(answers) if answer is not None]
            labels = dict(zip(given, labels_of(question, given, tidy.questions, options, self.where), strict=True))
            return self._typed(name, texts.indices, [None if a is None else labels[a] for a in answers])
        stored = asked_question(name, tidy.questions, options.multi)
        texts = tidy.texts(stored, keep_golden=options.keep_golden)
        distinct = texts.dictionary.to_pylist()
        if stored not in tidy.questions:
            return self._typed(name, texts.indices, [json.loads(text) for text in distinct])
        column = self._typed(name, texts.indices, labels_of(name, distinct, tidy.questions, options, self.where))
        if stored != name and isinstance(column, pa.ChunkedArray):  # an option that was asked for: yes or no
            column = column.fill_null(NO)
        return column

    def _typed(self, name: str, codes: pa.Array, values: Sequence[object]) -> Column:
        """Return a column of values of one type as Arrow, else as Python objects."""
        kinds = {type(value) for value in values if value is not None}
        kind = {str: pa.string(), int: pa.int64(), bool: pa.bool_(), float: pa.float64()}.get(next(iter(kinds), str))
        if len(kinds) <= 1 and kind is not None:
            with suppress(pa.ArrowInvalid, OverflowError):  # integers beyond 64 bits
                column = pa.chunked_array([pa.array(values, kind).take(codes)])
                is_text = kind == pa.string() and _is_text(self.source.path, self.source.delimiter, self.state)
                return plain_integers(self.source.path, name, column) if is_text else column
        return as_objects([None if code is None else values[code] for code in codes.to_pylist()])


def file_state(path: Path) -> FileState:
    """Return what changes when a file, or a file of a folder, changes."""
    files = content_files(path) if path.is_dir() else [path]
    facts = ((str(file), file.stat()) for file in files)
    return tuple((name, one.st_mtime_ns, one.st_size) for name, one in facts)


@lru_cache(maxsize=_KEPT)
def _tidy(path: Path, kind: ExportFormat, delimiter: str | None, state: FileState) -> TidyAnswers:
    """Read an export into tidy form; once per process, unless the file changes."""
    export = ExportFile(path, delimiter)
    try:
        found = gather(kind.answers(export), str(path))
    except FileError as error:
        # Only what the parser of tables says is left out: a reader's own words tell more.
        if not isinstance(error.__context__, pa.ArrowInvalid) or _looks_like(kind, export):
            raise
        raise FileError(f"{path} does not look like {kind.title}; is format=... right?") from None
    if not found.rows:
        export.check_not_empty()
        aside = ", ".join(f"{count:,} {reason}" for reason, count in found.left_out.items())
        what = f" that is a vote ({aside})." if aside else "; is format=... right?"
        raise FileError(f"{path}, read as {kind.title}, holds no answer{what}")
    return found


def _looks_like(kind: ExportFormat, export: ExportFile) -> bool:
    """Return whether a format recognises a file, or would if it were whole."""
    try:
        return kind.recognises(export)
    except FaircrowdError:
        return True


@lru_cache(maxsize=_KEPT)
def _file_notes(path: Path, kind: ExportFormat, delimiter: str | None, state: FileState) -> tuple[str, ...]:
    return tuple(kind.notes(ExportFile(path, delimiter)))


@lru_cache(maxsize=_KEPT)
def _is_text(path: Path, delimiter: str | None, state: FileState) -> bool:
    return ExportFile(path, delimiter).is_text


def refuse_options(options: AnswerOptions | None, path: Path) -> None:
    """Raise if options of exports are given for a table of votes."""
    if options is not None and (options.multi != "error" or options.bins):
        which = "multi" if options.multi != "error" else "bins"
        raise OptionError(
            f"{which} is for exports of platforms, and {path} is read as a table of votes.", parameter=which
        )
