"""The files that commands of the documentation name, small, in the folder where they are run."""

import csv
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from faircrowd import simulate_crowd

__all__ = ["SETTINGS", "Setting", "fill"]


@dataclass(frozen=True)
class Setting:
    """What a page finds in its folder: the names of the two labels, the number of tasks, and commands run before."""

    labels: tuple[str, str] = ("0", "1")
    tasks: int = 400
    before: tuple[str, ...] = ()


_RUN = "faircrowd aggregate votes.csv --tasks tasks.csv --group gender --epsilon 0.05 --no-report --out"
_HIRE = ("reject", "hire")
SETTINGS = {
    "docs/audit.md": Setting(_HIRE, before=(f"{_RUN} out",)),
    "docs/constraints.md": Setting(_HIRE),
    "docs/dossier.md": Setting(_HIRE, before=(f"{_RUN} labels",)),
    "docs/evidence.md": Setting(before=(f"{_RUN} DIR",)),
    "docs/gate.md": Setting(_HIRE, before=(f"{_RUN} out",)),
    "docs/promise.md": Setting(tasks=2400),
    "docs/review.md": Setting(before=(f"{_RUN} labels",)),
}


def fill(folder: Path, setting: Setting) -> None:
    """Write votes and tasks, new ones of the same workers, finished labels, and exports of two platforms."""
    crowd = simulate_crowd(setting.tasks, 40, 5, random_state=0)
    newer = simulate_crowd(100, 40, 5, random_state=1)
    for name, some, facts in (("votes", crowd, "tasks"), ("new", newer, "new_tasks")):
        votes = [(task, worker, setting.labels[label]) for task, worker, label in some.votes.itertuples(index=False)]
        _write(folder / f"{name}.csv", ["task", "worker", "label"], votes)
        rng = np.random.default_rng(0)
        rows = []
        for task, group in some.sensitive_features.items():
            truth = setting.labels[some.truth[task]]
            gender, race, known = "fm"[group], "abc"[rng.integers(3)], truth if rng.random() < 0.3 else ""
            rows.append((task, gender, gender, race, truth, known))
        _write(folder / f"{facts}.csv", ["task", "gender", "sex", "race", "truth", "known"], rows)
    (folder / "new_votes.csv").write_bytes((folder / "new.csv").read_bytes())
    ends = [(task, setting.labels[label]) for task, label in crowd.truth.items()]
    _write(folder / "labels.csv", ["task", "label"], ends)
    _write_exports(folder)


def _write_exports(folder: Path) -> None:
    """An export of Label Studio with two questions, and the assignments of a pool of Toloka."""
    rng = np.random.default_rng(0)
    tasks, rows = [], []
    for task in range(60):
        gender, annotations = "fm"[task % 2], []
        for worker in range(3):
            word = ["rude", "kind"][int(rng.random() < 0.35 + 0.3 * (task % 2))]
            results = [
                {"from_name": name, "to_name": "text", "type": "choices", "value": {"choices": [word]}}
                for name in ("sentiment", "tone")
            ]
            annotations.append({"id": 10 * task + worker, "completed_by": worker + 1, "result": results})
            rows.append((gender, word, f"t{task}", f"w{worker}", "APPROVED"))
        tasks.append({"id": task + 1, "data": {"gender": gender, "text": f"text {task}"}, "annotations": annotations})
    (folder / "export.json").write_text(json.dumps(tasks), encoding="utf-8")
    names = ["INPUT:target_group", "OUTPUT:tone", "ASSIGNMENT:task_id", "ASSIGNMENT:worker_id", "ASSIGNMENT:status"]
    _write(folder / "assignments.tsv", names, rows, "\t")
    golden = [(*row, "rude" if int(row[2][1:]) % 2 else "") for row in rows]  # every second task is a control task
    _write(folder / "export.tsv", [*names, "GOLDEN:tone"], golden, "\t")


def _write(path: Path, header: Sequence[str], rows: Iterable[Sequence[object]], delimiter: str = ",") -> None:
    with path.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream, delimiter=delimiter, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(rows)
