"""What a chart of the page is: its place, how it is made from the results of a run, and what it shows in words."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from faircrowd.aggregate.calibration.reliability import Reliability
from faircrowd.aggregate.posterior import Posterior
from faircrowd.audit.crowd_audit import CrowdAudit
from faircrowd.fair.frontier import Frontier
from faircrowd.fair.make import FairResult
from faircrowd.fair.tasks.tally import Tally
from faircrowd.report.shown_groups import shown_groups
from faircrowd.votes import VoteTable

__all__ = ["ChartFacts", "PageChart", "Specification"]

Specification: TypeAlias = dict[str, Any]
"""A Vega-Lite specification."""


@dataclass(frozen=True, eq=False)
class ChartFacts:
    """The results of a run that charts may show.

    Attributes
    ----------
    votes : VoteTable
    posterior : Posterior
        The aggregator's.
    result : FairResult
        The fair labels; for epsilon 1, which changes nothing, if no epsilon was asked for.
    tally : Tally
        Their counts by group, before and after.
    frontier : Frontier
        Every epsilon at once, with the real accuracy where the truth is known.
    audit : CrowdAudit
    groups, classes : list of str
        The names of groups and classes.
    asked : bool
        Whether an epsilon was asked for.
    reliability : mapping of str to Reliability
        Confidence and share of right labels of the aggregator's own labels: one entry where the truth is known, or one
        before and one after calibration. Empty if neither is known.
    chosen : sequence of mapping
        The labels that the slider starts at: the gap allowed, and the accuracy, believed and where it is known real.
    columns : sequence of str
        Those of the groups, if they are known.
    """

    votes: VoteTable
    posterior: Posterior
    result: FairResult
    tally: Tally
    frontier: Frontier
    audit: CrowdAudit
    groups: list[str]
    classes: list[str]
    asked: bool
    reliability: Mapping[str, Reliability] = field(default_factory=dict)
    chosen: Sequence[Mapping[str, float]] = ()
    columns: Sequence[str] = ()

    @cached_property
    def members(self) -> NDArray[np.int64]:
        """The groups that are shown: all, or the extremes where there are many."""
        counts = self.tally.tasks.sum(axis=2)
        return shown_groups(counts / counts.sum(axis=1, keepdims=True))


@dataclass(frozen=True)
class PageChart:
    """A chart of the page.

    Attributes
    ----------
    name : str
        Unique; also the name of the picture that the command line draws.
    section : str
        The id of the section of the page that shows it.
    make : callable
        Returns the specification, or None if there is nothing to show.
    caption : callable
        Returns what the chart shows, also for readers who cannot see it.
    """

    name: str
    section: str
    make: Callable[[ChartFacts], Specification | None]
    caption: Callable[[ChartFacts], str]
