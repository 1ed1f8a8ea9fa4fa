"""Each kind of result as a table, in the kind of frame that its input came in."""

from collections.abc import Sequence
from dataclasses import asdict
from functools import singledispatch
from typing import Any

import numpy as np
import pyarrow as pa

from faircrowd._checks import check_choice
from faircrowd.aggregate.base import Aggregator
from faircrowd.aggregate.calibration.accuracy_estimate import AccuracyEstimate
from faircrowd.aggregate.calibration.calibration_quality import Calibration
from faircrowd.aggregate.calibration.reliability import Reliability
from faircrowd.audit.constraint_gate import ConstraintVerdict, RequirementsVerdict
from faircrowd.audit.crowd_audit import CrowdAudit
from faircrowd.audit.gate import Verdict
from faircrowd.audit.impact_table import ImpactTable
from faircrowd.audit.intervals import wilson
from faircrowd.audit.metrics.constraint_levels import MeasuredConstraint
from faircrowd.audit.pair_agreement import PairAgreement
from faircrowd.audit.planner.crowd_plan import CrowdPlan
from faircrowd.audit.planner.gold_plan import GoldPlan
from faircrowd.audit.workers.worker_audit import WorkerAudit
from faircrowd.engines import votes_in_memory
from faircrowd.fair.certificate import Certificate
from faircrowd.fair.classifier.classifier_views import ClassifierViews
from faircrowd.fair.frontier import Frontier
from faircrowd.fair.general.constrained_certificate import ConstrainedCertificate
from faircrowd.fair.general.constrained_result import ConstrainedResult
from faircrowd.fair.general.limit_frontier import LevelPoint, LimitFrontier
from faircrowd.fair.known_labels import GoldEstimates
from faircrowd.fair.make import FairResult
from faircrowd.report.accuracy_curves import accuracy_curves
from faircrowd.report.constrained.constrained_reasons import constrained_columns
from faircrowd.report.reasons import Reasons
from faircrowd.report.tables import labels_table, posterior_table
from faircrowd.report.worker_tables import audited_workers
from faircrowd.votes.groups import Grouped
from faircrowd.votes.style import Style

__all__ = ["as_frame", "table_of"]

_BACKENDS = ("pandas", "polars", "pyarrow")
_WHY = "why"
_TABLES = ("workers", "pairs", "tasks", "groups")


def table_of(result: object, backend: str | None = None, table: str | None = None, *, why: bool = True) -> Any:
    """Return a result as a frame; ``table`` says which, where there are several."""
    return as_frame(_table(result, table), _style(result), backend, why=why)


def as_frame(table: pa.Table, style: Style, backend: str | None = None, *, why: bool = True) -> Any:
    """Return a table as a frame: as the style says, or of the kind that ``backend`` names.

    ``why`` says whether it has the reason of each label.
    """
    if not why and _WHY in table.column_names:
        table = table.drop_columns(_WHY)
    if backend is not None:
        check_choice("backend", backend, _BACKENDS)
        style = Style(backend)
    return style.table(table)


def _style(result: Any) -> Style:
    """Return the style of what a result came from; pandas where that is not known."""
    if isinstance(result, FairResult | ConstrainedResult):
        return result.certificate.style
    if isinstance(result, CrowdAudit):
        return result.workers.style
    if isinstance(result, Aggregator):
        return result.posterior_.in_memory().style
    if isinstance(result, PairAgreement):
        return result.votes.style
    found = getattr(result, "style", None)
    return found if isinstance(found, Style) else Style()


@singledispatch
def _table(result: object, table: str | None) -> pa.Table:
    raise TypeError(f"{type(result).__name__} is no table.")


@_table.register
def _labels_of_model(result: Aggregator, table: str | None) -> pa.Table:
    return labels_table(votes_in_memory(result.votes_), result.posterior_.in_memory())


@_table.register
def _labels_of_result(result: FairResult, table: str | None) -> pa.Table:
    problem = result.problem.in_memory("A frame of all tasks", "use labels, which is a Spark frame")
    group = {"group": Grouped(problem.group, problem.groups, {})}
    return posterior_table(problem, result.solved.labels, group, Reasons.of(result).columns)


@_table.register
def _labels_of_constrained(result: ConstrainedResult, table: str | None) -> pa.Table:
    tasks, columns = result.problem.tasks, result.problem.columns
    is_drawn = result.certificate.decision == "randomized"
    why = constrained_columns(result.rule, tasks, columns, result.solved.outcomes, is_drawn=is_drawn)
    first = next(iter(columns.values()), None)
    group = {"group": first} if len(columns) == 1 and isinstance(first, Grouped) else {}  # of several, `why` has each
    return posterior_table(tasks, result.label_codes, group, why)


@_table.register
def _rows_of_classifier(result: ClassifierViews, table: str | None) -> pa.Table:
    found = _table(result.certified, None)
    return found.set_column(0, "row", pa.array(result.rows_))


@_table.register
def _certificate(result: Certificate, table: str | None) -> pa.Table:
    return _of_rows(
        [
            {
                "group": group,
                "label": label,
                "rate_before": result.rates_before[group][label],
                "rate": rate,
                "compared": group not in result.left_out,
            }
            for group, row in result.rates.items()
            for label, rate in row.items()
        ]
    )


@_table.register
def _constrained_certificate(result: ConstrainedCertificate, table: str | None) -> pa.Table:
    return _of_rows(
        [
            {
                "constraint": kept.text,
                "about": one["about"],
                "group": group,
                "value_before": one["values_before"][group],
                "value": value,
                "level_before": one["level_before"],
                "level": one["level"],
                "limit": kept.limit,
                "kept": kept.kept,
            }
            for kept in result.constraints
            for one in kept.comparisons
            for group, value in one["values"].items()
        ],
        limit=pa.float64(),
    )


@_table.register
def _frontier(result: Frontier, table: str | None) -> pa.Table:
    columns = {"epsilon": result.gap, "value": result.value, "changed": result.changed}
    for curve in accuracy_curves(result):
        columns |= curve.columns()
    return pa.table(columns)


@_table.register
def _limits(result: LimitFrontier, table: str | None) -> pa.Table:
    kinds = dict.fromkeys(LevelPoint._fields, pa.float64()) | {"changed": pa.int64(), "reviewed": pa.int64()}
    rows = [point._asdict() for point in result]
    return _of_rows(rows, **{name: kind for name, kind in kinds.items() if name != "kept"})


@_table.register
def _workers(result: WorkerAudit, table: str | None) -> pa.Table:
    return audited_workers(result)


@_table.register
def _crowd(result: CrowdAudit, table: str | None) -> pa.Table:
    return audited_workers(result.workers)


@_table.register
def _pairs(result: PairAgreement, table: str | None) -> pa.Table:
    check_choice("table", table, _TABLES)
    found: pa.Table = getattr(result, str(table))()
    return found


@_table.register
def _verdict(result: Verdict, table: str | None) -> pa.Table:
    rows = []
    for group, counts in result.counts.items():
        low, high = wilson(list(counts.values()), result.groups[group], result.confidence)
        for (label, count), least, most in zip(counts.items(), low.tolist(), high.tolist(), strict=True):
            row = {"group": group, "label": label, "tasks": result.groups[group], "labelled": count}
            ends = {"rate": count / result.groups[group], "low": least, "high": most}
            rows.append({**row, **ends, "compared": group not in result.left_out})
    return _of_rows(rows)


@_table.register
def _measured(result: MeasuredConstraint, table: str | None) -> pa.Table:
    return _of_rows(
        [
            {"constraint": result.text, "about": one.about, "group": group, "value": value}
            | {"level": one.level, "limit": result.limit, "miss": one.miss}
            for one in result.comparisons
            for group, value in one.values.items()
        ],
        limit=pa.float64(),
    )


@_table.register
def _constraint(result: ConstraintVerdict, table: str | None) -> pa.Table:
    return _measured(result.measured, None)


@_table.register
def _requirements(result: RequirementsVerdict, table: str | None) -> pa.Table:
    return _of_rows(
        [
            {"constraint": one.measured.text, "status": one.status, "level": one.measured.level}
            | {"low": one.low, "high": one.high, "limit": one.measured.limit, "reason": one.reason}
            for one in result.constraints
        ],
        limit=pa.float64(),
    )


@_table.register
def _impact(result: ImpactTable, table: str | None) -> pa.Table:
    return result.table()


@_table.register
def _crowd_plan(result: CrowdPlan, table: str | None) -> pa.Table:
    curve = result.curve
    columns = {"gap": curve.gap, "distance": curve.distance, "bound": curve.bound}
    unknown = {name: pa.array(values, from_pandas=True) for name, values in columns.items()}
    return pa.table({"votes": curve.votes, **unknown})


@_table.register
def _gold_plan(result: GoldPlan, table: str | None) -> pa.Table:
    found = [{**asdict(one), "width": one.width} for one in (result.overall, *result.groups)]
    return _of_rows([{**row, "group": "all tasks" if row["group"] is None else row["group"]} for row in found])


@_table.register
def _gold(result: GoldEstimates, table: str | None) -> pa.Table:
    named: list[tuple[str, str | None, str | None, AccuracyEstimate | None]] = [
        ("accuracy", None, None, result.accuracy),
        ("accuracy before", None, None, result.accuracy_before),
        ("price", None, None, result.price),
        ("gap of the true labels", None, None, result.truth_gap),
        *(("accuracy", group, None, found) for group, found in result.group_accuracy.items()),
        *(("accuracy before", group, None, found) for group, found in result.group_accuracy_before.items()),
        *(
            ("rate of the true labels", group, label, found)
            for group, row in result.truth_rates.items()
            for label, found in (row or {}).items()
        ),
    ]
    rows = [
        {"what": what, "group": group, "label": label, **found.to_dict()}
        for what, group, label, found in named
        if found is not None
    ]
    return _of_rows(rows, group=pa.string(), label=pa.string())


@_table.register
def _reliability(result: Reliability, table: str | None) -> pa.Table:
    return pa.table({"confidence": result.confidence, "right": result.right, "count": result.count})


@_table.register
def _calibration(result: Calibration, table: str | None) -> pa.Table:
    parts = {"before": result.reliability_before, "after": result.reliability}
    tables = [
        _reliability(part, None).add_column(0, "posterior", pa.array([name] * part.count.size))
        for name, part in parts.items()
    ]
    return pa.concat_tables(tables)


def _of_rows(rows: Sequence[dict[str, Any]], **kinds: pa.DataType) -> pa.Table:
    """Return rows as a table; ``kinds`` are the types of columns that may be empty."""
    names = list(rows[0]) if rows else []
    return pa.table({name: pa.array([_plain(row[name]) for row in rows], kinds.get(name)) for name in names})


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value
