"""Reads exports in tests: votes as plain rows, what was left out and said about them, and the known labels."""

import json
import warnings
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import faircrowd as fc
from faircrowd.errors import DataWarning, FaircrowdError, InputError
from faircrowd.votes import VoteTable
from faircrowd.votes.exports import EXPORTS, open_votes
from faircrowd.votes.exports.export_file import ExportFile
from faircrowd.votes.read import answer_options


def write(path: Path, content: str | bytes | object) -> Path:
    """Write text, bytes, or a value as JSON (a list of objects as JSON lines if the name says so)."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if isinstance(content, bytes):
        path.write_bytes(content)
    elif isinstance(content, str):
        path.write_text(content, encoding="utf-8")
    elif path.suffix in (".jsonl", ".ndjson") and isinstance(content, list):
        path.write_text("".join(f"{json.dumps(one)}\n" for one in content), encoding="utf-8")
    else:
        path.write_text(json.dumps(content, indent=1), encoding="utf-8")
    return path


def read(path: Path, **options: Any) -> VoteTable:
    """Read votes; what is said about them is in the report."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        return fc.read_votes(path, **options)


def rows(votes: VoteTable) -> set[tuple[str, str, str]]:
    """Return votes as texts: task, worker, label."""
    tasks, workers, classes = (part.to_list() for part in (votes.tasks, votes.workers, votes.classes))
    return {
        (str(tasks[i]), str(workers[votes.worker[j]]), str(classes[votes.label[j]]))
        for i in range(votes.n_tasks)
        for j in range(votes.offsets[i], votes.offsets[i + 1])
    }


def refusal(path: Path, **options: Any) -> str:
    """Return why a file is refused: one line that names it."""
    with pytest.raises(FaircrowdError) as caught:
        read(path, **options)
    message = str(caught.value)
    assert path.name in message
    assert "\n" not in message
    assert not message.endswith("?.")
    assert len(message) < 900
    return message


@dataclass(frozen=True)
class Seen:
    """An export as it was read."""

    tasks: int
    workers: int
    votes: int
    left_out: dict[str, int]
    rows: list[tuple[Any, Any, Any]]
    golden: dict[Any, Any]
    notes: str
    header: list[str]
    cells: dict[str, list[Any]]


def known_to(path: Path) -> list[str]:
    """Return the formats that recognise a file, in whatever order they are asked."""
    found = []
    for kind in EXPORTS.values():
        with suppress(FaircrowdError):  # as where formats are asked one after the other
            if kind.recognises(ExportFile(path)):
                found.append(kind.name)
    return found


def see(path: Path, **options: Any) -> Seen:
    """Read an export, with all that it holds."""
    votes = read(path, **options)
    given = {name: options.get(name) for name in ("label", "bins")}
    answers = answer_options(given["label"], options.get("multi", "error"), given["bins"], True)
    source = open_votes(path, format=options.get("format"), answers=answers)
    header = source.header()
    role = source.roles(dict.fromkeys(("task", "worker", "label")))["label"]
    known = {}
    for name in header:
        with suppress(InputError):  # a question with several options at once, which was not asked for
            column = source.columns([name])[name]
            known[name] = column.to_pylist() if hasattr(column, "to_pylist") else column.tolist()
    labels = known.get("golden", [None] * len(known["task"]))
    report = votes.report
    return Seen(
        votes.n_tasks,
        votes.n_workers,
        votes.n_votes,
        dict(report.rows_left_out) | {f"no {name}": count for name, count in report.rows_missing.items() if count},
        list(zip(known["task"], known["worker"], known[str(role)], strict=True)),
        {task: label for task, label in zip(known["task"], labels, strict=True) if label is not None},
        "\n".join(report.read_as),
        header,
        known,
    )
