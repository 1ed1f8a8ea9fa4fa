"""Any other platform: a table of labels by the platform's own task ids."""

import io

import pyarrow as pa
import pyarrow.csv

from faircrowd.publish.finished_labels import FinishedLabels
from faircrowd.publish.platform_form import Form, FormOptions, PlatformForm
from faircrowd.storage.output_folder import neutralised
from faircrowd.votes.exports.export_file import ExportFile

__all__ = ["LABEL_TABLE"]


def _fill(labels: FinishedLabels, export: ExportFile | None, options: FormOptions) -> Form:
    rows = labels.labels
    table = pa.table(
        {
            "task": [str(one.task) for one in rows],
            "label": [one.label for one in rows],
            "score": [one.score for one in rows],
            "changed": [one.changed for one in rows],
            "model_version": [labels.model_version] * len(rows),
        }
    )
    safe = pa.table({name: neutralised(table[name]) for name in table.column_names})
    text = io.BytesIO()
    pyarrow.csv.write_csv(safe, text)
    return Form(table.to_pylist(), text.getvalue().decode())


LABEL_TABLE = PlatformForm(
    "csv",
    "a table",
    ".csv",
    _fill,
    "join it by the platform's own task ids; it says nothing about payments (approve, reject)",
)
