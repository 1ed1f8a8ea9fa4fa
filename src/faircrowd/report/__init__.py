"""What people and machines read of a run: summaries, and files that are written whole or not at all."""

from faircrowd.report.certificate_text import fair_lines
from faircrowd.report.summary import Summary, summarise
from faircrowd.report.tables import label_tables, labels_table, workers_table
from faircrowd.storage.output_folder import OutputFolder

__all__ = [
    "OutputFolder",
    "Summary",
    "fair_lines",
    "label_tables",
    "labels_table",
    "summarise",
    "workers_table",
]
