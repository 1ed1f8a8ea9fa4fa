"""Exports of labelling platforms, read as votes.

An export is read into one stream of answers, whatever the platform: ``answers`` says what an answer and a reader are,
``export_file`` gives a reader the records of a file, a folder or an archive, ``platforms``, ``generic`` and ``judges``
hold one module per format. What all exports share is done once: ``tidy_answers`` keeps the answers in tidy form, by
time and without ``personal_data``; ``questions`` turns the answers to one question into labels; ``export_reader`` makes
it a source of columns, so that every engine, command and function reads an export as it reads a table of votes.

A new format is a module that defines an :class:`~faircrowd.votes.exports.answers.ExportFormat`, and its name in the
list at the end of this file.
"""

import os
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

from faircrowd._checks import check_choice
from faircrowd.errors import FaircrowdError, FileError, OptionError
from faircrowd.storage.untrusted import FAULTS, read_json
from faircrowd.votes.exports.answers import ExportFormat
from faircrowd.votes.exports.export_file import ExportFile
from faircrowd.votes.exports.export_reader import FileState, export_reader, file_state, refuse_options
from faircrowd.votes.exports.generic.lewidi import LEWIDI
from faircrowd.votes.exports.generic.list_columns import LISTS
from faircrowd.votes.exports.generic.table_records import TABLE
from faircrowd.votes.exports.generic.wide_matrix import WIDE
from faircrowd.votes.exports.judges.alpaca_eval import ALPACA_EVAL
from faircrowd.votes.exports.judges.inspect_ai import INSPECT
from faircrowd.votes.exports.judges.lm_eval import LM_EVAL
from faircrowd.votes.exports.judges.mt_bench import MT_BENCH
from faircrowd.votes.exports.judges.promptfoo import PROMPTFOO
from faircrowd.votes.exports.judges.reward_bench import REWARD_BENCH
from faircrowd.votes.exports.platforms.appen import APPEN
from faircrowd.votes.exports.platforms.argilla import ARGILLA
from faircrowd.votes.exports.platforms.cvat import CVAT
from faircrowd.votes.exports.platforms.doccano import DOCCANO
from faircrowd.votes.exports.platforms.ground_truth import GROUND_TRUTH
from faircrowd.votes.exports.platforms.label_studio import LABEL_STUDIO
from faircrowd.votes.exports.platforms.labelbox import LABELBOX
from faircrowd.votes.exports.platforms.mturk import MTURK
from faircrowd.votes.exports.platforms.potato import POTATO
from faircrowd.votes.exports.platforms.prodigy import PRODIGY
from faircrowd.votes.exports.platforms.toloka import TOLOKA
from faircrowd.votes.exports.questions import AnswerOptions
from faircrowd.votes.readers import READERS, Source, find_reader, reader_of
from faircrowd.votes.readers.shared import checked_path, ending_of
from faircrowd.votes.vocabulary import Vocabulary

__all__ = ["EXPORTS", "JUDGES", "find_export", "is_export", "no_answer_notes", "open_votes", "register_export"]

_LIST = "list"
"""The format that asks which formats there are."""
_SEE = f"format={_LIST!r} lists the formats; docs/platforms.md says what each looks like"
_EXPORTS_TOO = (
    "Exports of platforms are known by what they hold, and may also be .json, .xlsx, .zip, .tar.gz, .tgz or .eval."
)
_MOST_GUESSES = 50
"""How many files of a folder are looked at, to say what they look like."""

EXPORTS: dict[str, ExportFormat] = {}
"""All formats of exports by name, in the order in which they are asked whether they recognise a file."""


def register_export(kind: ExportFormat) -> None:
    """Add a format of exports; raise if its name is taken."""
    if kind.name in EXPORTS or kind.name in READERS:
        raise OptionError(f"There is a format {kind.name!r} already.")
    EXPORTS[kind.name] = kind


def find_export(path: Path, delimiter: str | None = None, named: Sequence[str | None] = ()) -> ExportFormat | None:
    """Return the first format that recognises a file or folder by what it holds; None if none does.

    A table that has one of the columns ``named`` by users for task, worker or label is no matrix of votes.
    """
    given = tuple(name for name in named if name is not None)
    return _found(path, delimiter, given, file_state(path), tuple(EXPORTS))


@lru_cache(maxsize=16)
def _found(
    path: Path, delimiter: str | None, named: tuple[str, ...], state: FileState, names: tuple[str, ...]
) -> ExportFormat | None:
    """Look into a file once, unless it or the registry changes."""
    export = ExportFile(path, delimiter, named)
    for kind in EXPORTS.values():
        try:
            if kind.recognises(export):
                return kind
        except FaircrowdError:
            continue  # damaged: whoever reads it says so
    return None


def is_export(
    path: str | os.PathLike[str] | None,
    format: str | None = None,
    delimiter: str | None = None,
    named: Sequence[str | None] = (),
) -> bool:
    """Return whether a path is read as an export of a platform, which is its own table of tasks as well."""
    if path is None or not os.path.exists(path):
        return False
    return find_export(Path(path), delimiter, named) is not None if format is None else format in EXPORTS


def open_votes(
    path: str | os.PathLike[str] | Source,
    *,
    format: str | None = None,
    delimiter: str | None = None,
    answers: AnswerOptions | None = None,
    named: Sequence[str | None] = (),
) -> Source:
    """Return votes as a source to read: a table, or an export of a platform, which is recognised by its content.

    Parameters
    ----------
    path : path or Source
        A source is returned as it is.
    format : str, optional
        The name of a format of :data:`faircrowd.votes.readers.READERS` or :data:`EXPORTS`; by default the content
        decides, then the ending.
    delimiter : str, optional
        The separator of a text file.
    answers : AnswerOptions, optional
        How the answers of an export become votes.
    named : sequence of str or None
        The columns of task, worker and label, where users name them.

    Raises
    ------
    FileError
        If there is no such file, or its format is not known.
    """
    if isinstance(path, Source):
        return path
    path = checked_path(path)
    if format == _LIST:
        raise OptionError(f"The formats of votes are {', '.join((*READERS, *EXPORTS))}.")
    if format is not None:
        check_choice("format", format, (*READERS, *EXPORTS))
    kind = EXPORTS.get(format) if format is not None else find_export(path, delimiter, named)
    if kind is not None:
        return Source(path, export_reader(kind), delimiter, answers)
    if format is None and find_reader(path) is None:
        raise _not_known(path, delimiter)
    refuse_options(answers, path)
    return Source(path, reader_of(path, format), delimiter)


def no_answer_notes(source: Source, classes: Vocabulary) -> list[str]:
    """Return that a grade which means no answer has become a class, if one has."""
    kind = EXPORTS.get(source.reader.name)
    if kind is None or kind.no_answer is None or kind.no_answer not in classes.names:
        return []
    grade = kind.no_answer
    return [
        f"the grade {grade!r} means that there was no answer in {kind.title}, and is a class here; aggregate with "
        f"abstain_label={grade!r} takes it for an abstention"
    ]


def _guess(export: ExportFile, delimiter: str | None) -> str:
    """Return which files of a folder are exports or tables, as a sentence; which formats there are if none is."""
    found = []
    for name in export.members[:_MOST_GUESSES]:
        path = export.path / name
        kind, reader = find_export(path, delimiter), find_reader(path)
        if kind is not None or reader is not None:
            found.append((name, "a table" if kind is None else kind.title))
    if not found:
        return f"no file in it is one, or a table ({_SEE})"
    first, title = next(((name, title) for name, title in found if title != "a table"), found[0])
    others = len(found) - 1
    more = "1 more file" if others == 1 else f"{others:,} more files"
    return f"{first} in it looks like {title}" + (f", and {more} can be read" if others else "")


def _written_by_faircrowd(path: Path) -> str:
    """Return which votes are meant by a folder that faircrowd has written, as a sentence; empty for any other."""
    try:
        if (path / "account.json").is_file() and (path / "votes.csv").is_file():
            return f"{path} is a folder that faircrowd convert has written; its votes are {path / 'votes.csv'}."
        if not (path / "evidence.json").is_file():
            return ""
        said = read_json(path / "evidence.json", "evidence")
        votes, command = said["inputs"].get("votes", {}).get("path"), str(said["command"])
    except (FaircrowdError, *FAULTS):
        return ""
    told = f"{path} is the folder of a run of faircrowd {command}, which holds results and no votes"
    return f"{told}; the votes that it was made from are {votes}." if votes else f"{told}; give a file of votes."


def _not_known(path: Path, delimiter: str | None) -> FileError:
    """Return the error for a file whose format neither content nor ending tells; raise if it is a damaged one."""
    export = ExportFile(path, delimiter)
    if path.is_dir():
        if told := _written_by_faircrowd(path):
            return FileError(told)
        return FileError(
            f"{path} is a folder; name a file in it. As a whole it is no export that is known: "
            f"{_guess(export, delimiter)}."
        )
    try:
        kind = export.kind
    except FileError:
        kind = "table"
    if kind == "table" and ending_of(path)[0] == ".json":
        _ = export.document  # raises if it is not JSON
        return FileError(f"{path} holds one JSON value, and neither objects nor an array of them; export it again.")
    if kind == "table":
        try:
            reader_of(path)
        except FileError as error:  # which lists the endings of tables
            return FileError(f"{error} {_EXPORTS_TOO}")
    if kind in ("json", "jsonl", "xlsx"):
        export.check_not_empty()
        next(iter(export.records()), None)  # raises if it is damaged, or if reading it takes another package
    elif kind == "object":
        _ = export.document  # raises if it is damaged
    return FileError(f"{path}: this {kind} file is no export that is known; name its format with format=... ({_SEE}).")


_PLATFORMS = (LABEL_STUDIO, TOLOKA, MTURK, APPEN, GROUND_TRUTH, PRODIGY, ARGILLA, LABELBOX, POTATO, CVAT, DOCCANO)
_JUDGES = (INSPECT, PROMPTFOO, MT_BENCH, ALPACA_EVAL, LM_EVAL, REWARD_BENCH)
JUDGES = frozenset(kind.name for kind in _JUDGES)
"""The formats that are logs of judges."""
for _kind in (*_PLATFORMS, *_JUDGES, LEWIDI, LISTS, TABLE, WIDE):
    register_export(_kind)
