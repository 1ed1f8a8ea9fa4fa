"""What happened to one task: its votes, the posterior, the label before and after, and why."""

from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from faircrowd.errors import InputError
from faircrowd.report.opening.plain_words import text_of
from faircrowd.runs.wording import spoken
from faircrowd.studio.workspace import Job, write_json
from faircrowd.votes.readers import read_header

if TYPE_CHECKING:
    from faircrowd.runs.run import Run

__all__ = ["SHOWN", "RunTables", "load_tables", "write_run_facts"]

_VOTES = "votes.arrow"
_CALLS = {
    "score(truth), CalibratedCrowd()": "choose or enter them beside the data",
    "CalibratedCrowd()": "choose or enter them beside the data",
    "MajorityVote()": "the method majority",
    "score(truth)": "choose or enter them beside the data",
}
"""What messages advise to call in Python, in the words of the form."""
_MOST_KEPT = 3
SHOWN = 50
"""How many tasks a page shows."""


def write_run_facts(run: "Run", folder: Path) -> None:
    """Write beside the result of a run what the studio shows of it: its votes by task, and its text.

    Parameters
    ----------
    folder : Path
        The folder of the job.
    """
    votes = run.votes
    table = pa.table(
        {
            "task": np.repeat(np.arange(votes.n_tasks, dtype=np.int32), votes.votes_per_task),
            "worker": pa.DictionaryArray.from_arrays(pa.array(votes.worker), pa.array(list(votes.workers.names))),
            "label": pa.DictionaryArray.from_arrays(pa.array(votes.label), pa.array(list(votes.classes.names))),
        }
    )
    with pa.OSFile(str(folder / _VOTES), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)
    facts = {
        "lines": [[heading, spoken(text)] for heading, text in run.lines()],
        "warnings": list(map(_here, run.warnings)),
        "notes": list(map(spoken, run.all_notes())),
        "classes": list(votes.classes.names),
        "story": _plain_story(run),
    }
    write_json(folder / "facts.json", facts)


def _plain_story(run: "Run") -> dict[str, Any]:
    """Return the verdict, the first paragraph and the cards of the page."""
    told = run.story
    found = {name: told[name] for name in ("title", "answer", "cards", "verdict")}
    return found | {"opening": text_of(told["opening"]), "alarms": list(map(_here, told.get("alarms", ())))}


def _here(text: str) -> str:
    """Return a message in the words of the studio: what it advises to call is a choice of the form here."""
    for call, words in _CALLS.items():
        text = text.replace(call, words)
    return text


class RunTables:
    """The tables of a finished run, in memory.

    Parameters
    ----------
    job : Job
        A run that is done.

    Attributes
    ----------
    labels : pyarrow.Table
        One row per task, all cells as text.
    votes : pyarrow.Table
        One row per vote, sorted by task.
    """

    def __init__(self, job: Job) -> None:
        path = job.result / "labels.csv"
        if not path.is_file():
            raise InputError("This run has no labels.csv.")
        as_text = pa.csv.ConvertOptions(column_types=dict.fromkeys(read_header(path), pa.string()))
        self.labels = pa.csv.read_csv(
            path, convert_options=as_text, parse_options=pa.csv.ParseOptions(newlines_in_values=True)
        )
        with pa.memory_map(str(job.folder / _VOTES)) as source:
            self.votes = pa.ipc.open_file(source).read_all()
        counts = np.bincount(self.votes["task"].to_numpy(), minlength=self.labels.num_rows)
        self._starts = np.concatenate([[0], np.cumsum(counts)])
        workers = job.result / "workers.csv"
        names = pa.csv.ConvertOptions(column_types={"worker": pa.string()})
        self.workers = pa.csv.read_csv(workers, convert_options=names) if workers.is_file() else None

    def search(self, text: str, *, changed: bool = False, start: int = 0) -> tuple[list[dict[str, Any]], int]:
        """Return some tasks whose id holds a text, and how many there are."""
        table = self.labels.append_column("row", pa.array(np.arange(self.labels.num_rows)))
        if changed and "changed" in table.column_names:
            table = table.filter(pc.equal(pc.utf8_lower(table["changed"]), "true"))
        if text:
            table = table.filter(pc.match_substring(table["task"], text, ignore_case=True))
        return table.slice(start, SHOWN).to_pylist(), table.num_rows

    def story(self, row: int) -> dict[str, Any]:
        """Return everything about the task of a row."""
        if not 0 <= row < self.labels.num_rows:
            raise InputError("There is no such task in this run.")
        votes = self.votes.slice(self._starts[row], self._starts[row + 1] - self._starts[row]).drop_columns(["task"])
        found = votes.to_pylist()
        for vote in found:
            vote["agreement"] = self._agreement.get(vote["worker"])
        return {"facts": self.labels.slice(row, 1).to_pylist()[0], "votes": found}

    @cached_property
    def _agreement(self) -> dict[str, float]:
        """How often each worker agrees with the labels."""
        if self.workers is None or "agreement" not in self.workers.column_names:
            return {}
        return dict(zip(*(self.workers[name].to_pylist() for name in ("worker", "agreement")), strict=True))


@lru_cache(_MOST_KEPT)
def load_tables(job: Job) -> RunTables:
    """Return the tables of a run; those of the last few runs stay in memory."""
    return RunTables(job)
