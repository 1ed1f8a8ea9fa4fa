"""The chart of each kind of result: those of the page, made from what a result holds."""

from collections.abc import Mapping, Sequence
from functools import singledispatch
from typing import Any

import numpy as np

from faircrowd._checks import check_choice
from faircrowd.aggregate.calibration.calibration_quality import Calibration
from faircrowd.aggregate.calibration.reliability import Reliability
from faircrowd.audit.crowd_audit import CrowdAudit
from faircrowd.audit.gate import Verdict
from faircrowd.audit.pair_agreement import PairAgreement
from faircrowd.audit.workers.worker_audit import WorkerAudit
from faircrowd.errors import InputError
from faircrowd.fair.frontier import Frontier
from faircrowd.fair.general.constrained_certificate import ConstrainedCertificate
from faircrowd.fair.general.constrained_result import ConstrainedResult
from faircrowd.fair.general.limit_frontier import LimitFrontier, without_limit
from faircrowd.fair.make import FairResult
from faircrowd.report.charts.agreement_chart import pairs_chart
from faircrowd.report.charts.frontier_chart import frontier_chart
from faircrowd.report.charts.funnel_chart import workers_chart
from faircrowd.report.charts.limit_chart import limit_chart
from faircrowd.report.charts.page_chart import Specification
from faircrowd.report.charts.posterior_chart import posterior_by_group
from faircrowd.report.charts.rates_chart import group_rates_chart, rates_chart
from faircrowd.report.charts.reliability_chart import reliability_chart
from faircrowd.report.notebooks.notebook_chart import Chart
from faircrowd.report.safe_names import called, short, shorts
from faircrowd.report.shown_groups import shown_groups

__all__ = ["FAIR_CHARTS", "frontier_of", "plot_of", "reliability_plot"]

FAIR_CHARTS = ("rates", "frontier", "posterior")
"""The charts that fair labels have without the votes that they come from."""

_MOST_ROWS = 40
_LONG_NAMES = 320


def plot_of(result: object, chart: str | None = None) -> Chart:
    """Return a chart of a result; ``chart`` says which, where there are several."""
    return Chart(_plot(result, chart))


@singledispatch
def _plot(result: object, chart: str | None) -> Specification:
    raise TypeError(f"{type(result).__name__} has no chart.")


@_plot.register
def _frontier(result: Frontier, chart: str | None) -> Specification:
    return frontier_chart(result)


@_plot.register
def _limits(result: LimitFrontier, chart: str | None) -> Specification:
    if not any(point.can_hold for point in result):
        raise InputError(
            f"None of the limits of {without_limit(result.constraint)} can be kept together with the other "
            "constraints, so there is nothing to draw."
        )
    return limit_chart(result, result.constraint.level, short(result.text, 60), result.objective)


@_plot.register
def _fair_result(result: FairResult, chart: str | None) -> Specification:
    chart = chart or "rates"
    check_choice("chart", chart, FAIR_CHARTS)
    problem = result.problem
    is_weighted = problem.weights is not None
    counts = result.tally.mass if is_weighted else result.tally.tasks
    groups, classes = problem.groups.names, problem.classes.names
    before, after = counts.sum(axis=2), counts.sum(axis=1)
    members = shown_groups(before / before.sum(axis=1, keepdims=True))
    if chart == "frontier":
        return frontier_of(result, result.frontier)
    if chart == "posterior":
        tasks = problem.in_memory("The chart of the posterior", "draw that of the rates")
        thresholds = result.rule_of_labels.thresholds
        return posterior_by_group(tasks.posterior, tasks.group, groups, classes, members, thresholds)
    shown = {"before": before, "after": after}
    return group_rates_chart(shown, groups, classes, members, None if is_weighted else 0.95)


def frontier_of(result: FairResult, frontier: Frontier) -> Specification:
    """Return the chart of a frontier with a dot for the labels of the result."""
    found = result.certificate
    chosen = {"gap": min(found.epsilon, frontier.widest), "accuracy": found.believed_accuracy}
    return frontier_chart(frontier, chosen=[chosen])


@_plot.register
def _constrained(result: ConstrainedResult, chart: str | None) -> Specification:
    chart = chart or "rates"
    check_choice("chart", chart, ("rates", "frontier"))
    return _limits(result.frontier, None) if chart == "frontier" else _kept(result.certificate)


def _kept(certificate: ConstrainedCertificate) -> Specification:
    """Draw what each constraint compares, by group, before and after."""
    rows: list[dict[str, Any]] = []
    by_group = [kept for kept in certificate.constraints if any(len(one["values"]) > 1 for one in kept.comparisons)]
    listed = [(kept, one) for kept in certificate.constraints for one in kept.comparisons]
    for kept, one in listed:
        values, before = one["values"], one["values_before"]
        names = list(values)
        members = shown_groups(np.array([[before[name]] for name in names]))
        if rows and len(rows) + 2 * len(members) > 2 * _MOST_ROWS:
            break
        head = f"{short(kept.text, 44)}\n" if len(by_group) > 1 else ""  # groups of two columns may have one name
        for a, group in zip(members, called("group", shorts([names[a] for a in members], 24)), strict=True):
            row = f"{head}{short(one['about'], 44)}, {group}" if len(names) > 1 else short(kept.text, 44)
            for labels, found in (("before", before), ("after", values)):
                rows.append({"row": row, "labels": labels, "rate": found[names[a]]})
    return rates_chart(rows, "What the constraints compare", label_limit=_LONG_NAMES)


@_plot.register
def _workers(result: WorkerAudit, chart: str | None) -> Specification:
    drawn = workers_chart(result)
    if drawn is None:
        raise InputError("No worker has votes in two groups, so there is nothing to draw.")
    return drawn


@_plot.register
def _crowd(result: CrowdAudit, chart: str | None) -> Specification:
    chart = chart or "workers"
    check_choice("chart", chart, ("workers", "rates"))
    if chart == "workers":
        return _workers(result.workers, None)
    groups, classes = result.workers.groups.names, result.workers.classes.names
    return _counted(result.counts, groups, classes, result.interval.confidence)


@_plot.register
def _verdict(result: Verdict, chart: str | None) -> Specification:
    groups = list(result.counts)
    classes = list(next(iter(result.counts.values())))
    counts = np.array([[result.counts[group][name] for name in classes] for group in groups])
    return _counted(counts, groups, classes, result.confidence)


def _counted(counts: Any, groups: Sequence[str], classes: Sequence[str], confidence: float) -> Specification:
    members = shown_groups(counts / np.maximum(counts.sum(axis=1, keepdims=True), 1))
    return group_rates_chart({"labels": counts}, groups, classes, members, confidence)


@_plot.register
def _pairs(result: PairAgreement, chart: str | None) -> Specification:
    drawn = pairs_chart(result)
    if drawn is None:
        raise InputError("No two workers share a task, so there is nothing to draw.")
    return drawn


@_plot.register
def _reliability(result: Reliability, chart: str | None) -> Specification:
    return reliability_chart({"labels": result})


@_plot.register
def _calibration(result: Calibration, chart: str | None) -> Specification:
    return reliability_chart({"before calibration": result.reliability_before, "after calibration": result.reliability})


def reliability_plot(series: Mapping[str, Reliability]) -> Chart:
    """Return a chart of one or two reliabilities, by name."""
    return Chart(reliability_chart(series))
