"""What people and machines read about a run: summaries, tables, charts and the page."""

from faircrowd.report.summary import Summary, fair_lines, summarise
from faircrowd.report.tables import groups_table, label_tables, labels_table, workers_table
from faircrowd.storage.output_folder import OutputFolder

__all__ = [
    "OutputFolder",
    "Summary",
    "fair_lines",
    "groups_table",
    "label_tables",
    "labels_table",
    "summarise",
    "workers_table",
]
