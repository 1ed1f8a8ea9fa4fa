"""Folders of finished runs for tests, written by hand: publishing reads nothing else."""

import csv
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

Row = tuple[Any, str, str, float]
"""Task, label, the aggregator's own label, and the probability of the label."""


def write_run(folder: Path, rows: Sequence[Row], *, votes: Path | None = None, **options: Any) -> Path:
    """Write labels.csv and summary.json as a run with fair labels does."""
    folder.mkdir(parents=True, exist_ok=True)
    classes = sorted({label for _, label, before, _ in rows for label in (label, before)})
    review = options.pop("review", None)
    with (folder / "labels.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, quoting=csv.QUOTE_NONNUMERIC)
        more = [] if review is None else ["review"]
        writer.writerow(["task", "label", "label_before", "changed", *(f"posterior_{c}" for c in classes), *more])
        for number, (task, label, before, score) in enumerate(rows):
            others = (1 - score) / max(len(classes) - 1, 1)
            is_asked = review is not None and number in review
            row = [task, "review" if is_asked else label, before, str(label != before and not is_asked).lower()]
            row += [score if one == label else others for one in classes]
            writer.writerow([*row, *([] if review is None else [str(is_asked).lower()])])
    given = {"epsilon": 0.05, "method": "dawid-skene", "calibrated": False, **options}
    given = {"votes": None if votes is None else str(votes), "reading": given.pop("reading", {}), **given}
    summary = {"options": given, "class_shares": dict.fromkeys(classes, 0.5), "made_fair": True}
    (folder / "summary.json").write_text(json.dumps(summary), encoding="utf-8")
    return folder


def label_studio_task(number: int, choices: Sequence[str], **data: Any) -> dict[str, Any]:
    """Return a task of a Label Studio export with one annotation per choice."""
    annotations = [
        {
            "id": 100 * number + worker,
            "completed_by": worker + 1,
            "was_cancelled": False,
            "ground_truth": False,
            "updated_at": f"2026-01-01T00:00:{worker:02}Z",
            "result": [
                {"from_name": "better", "to_name": "text", "type": "choices", "value": {"choices": [choice]}},
                {"from_name": "note", "to_name": "text", "type": "textarea", "value": {"text": ["why"]}},
            ],
        }
        for worker, choice in enumerate(choices)
    ]
    return {"id": number, "data": {"text": f"text {number}", **data}, "annotations": annotations, "predictions": []}
