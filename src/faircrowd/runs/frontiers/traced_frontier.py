"""What all frontiers share: the run they are of, what was asked for, and the files."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from faircrowd.errors import OptionError
from faircrowd.report import OutputFolder
from faircrowd.report.charts import images
from faircrowd.report.evidence import EVIDENCE
from faircrowd.runs.options import FrontierOptions
from faircrowd.runs.run import Run
from faircrowd.runs.write import evidence_of, write_evidence

__all__ = ["FRONTIER_FILES", "TracedFrontier"]

FRONTIER_FILES = ("frontier.csv", "bound.csv", "frontier.png", "frontier.svg", EVIDENCE)
"""What a frontier may write."""


@dataclass(frozen=True, eq=False)
class TracedFrontier(ABC):
    """A frontier of a run, and the files that show it.

    Attributes
    ----------
    run : Run
        With options for a frontier; its labels are not made fair.
    """

    run: Run

    @property
    def asked(self) -> FrontierOptions:
        """What the frontier is of: objective and seed, and perhaps constraints."""
        if self.run.options.frontier is None:
            raise OptionError("These are not the options of a frontier.")
        return self.run.options.frontier

    @abstractmethod
    def tables(self) -> dict[str, pa.Table]:
        """Return the tables, by the names of their files."""

    @abstractmethod
    def chart(self) -> dict[str, Any]:
        """Return the specification of the chart."""

    def fill(self, folder: OutputFolder, recorded: Mapping[str, Any] | None = None) -> None:
        """Write the files into an open folder.

        Parameters
        ----------
        recorded : mapping, optional
            The evidence of the run that this one repeats: its versions are written instead of today's.
        """
        folder.forget(*FRONTIER_FILES)
        for name, table in self.tables().items():
            folder.write_csv(name, table)
        for name, content in images("frontier", self.chart()).items():
            folder.write_bytes(name, content)
        write_evidence(evidence_of(self.run, recorded), folder, FRONTIER_FILES)
