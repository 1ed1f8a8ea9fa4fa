"""Results as frames: in the kind of frame that came in, with the numbers of the result."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import faircrowd as fc
import notebook_objects
from faircrowd import audit, make_fair
from faircrowd.constraints import parse_constraint
from faircrowd.errors import OptionError

FRAMED = [
    *("Aggregator", "FairCrowd", "FairResult", "ConstrainedResult", "Certificate", "ConstrainedCertificate"),
    *("Frontier", "LimitFrontier", "GoldEstimates", "Calibration", "Reliability", "CrowdAudit", "WorkerAudit"),
    *("PairAgreement", "Verdict", "ConstraintVerdict", "RequirementsVerdict", "MeasuredConstraint", "ImpactTable"),
    *("CrowdPlan", "GoldPlan"),
]


def test_all_tables_are_tried() -> None:
    found = {name for name, one in notebook_objects.shown().items() if hasattr(one, "to_frame")}
    assert found - {"DawidSkene", "CalibratedCrowd"} == set(FRAMED) - {"Aggregator"}


@pytest.mark.parametrize("name", FRAMED)
def test_every_kind_of_frame_has_the_same_rows(name: str) -> None:
    one = notebook_objects.shown()["DawidSkene" if name == "Aggregator" else name]
    found = one.to_frame()
    assert isinstance(found, pd.DataFrame)
    assert len(found)
    table, frame = one.to_frame(backend="pyarrow"), one.to_frame(backend="polars")
    assert isinstance(table, pa.Table) and isinstance(frame, pl.DataFrame)  # noqa: PT018
    assert list(found) == table.column_names == frame.columns
    pd.testing.assert_frame_equal(found, table.to_pandas())
    assert frame.to_arrow().to_pylist() == table.to_pylist()
    with pytest.raises(OptionError, match="use one of 'pandas', 'polars', 'pyarrow'"):
        one.to_frame(backend="excel")


def test_certificates_have_a_row_per_group_and_label() -> None:
    c = notebook_objects.fair().certificate_
    found = c.to_frame().set_index(["group", "label"])
    assert len(found) == 4
    for (group, label), row in found.iterrows():
        assert row["rate"] == c.rates[group][label]
        assert row["rate_before"] == c.rates_before[group][label]
    gap = found["rate"].unstack()
    assert float((gap.max() - gap.min()).max()) == pytest.approx(c.gap)


def test_frontiers_have_a_row_per_epsilon() -> None:
    fair = notebook_objects.fair()
    found = fair.frontier_.to_frame()
    assert list(found) == ["epsilon", "value", "changed", "believed_accuracy"]
    for row in found.itertuples():
        assert fair.frontier_.at(min(row.epsilon, 1.0)).value == pytest.approx(row.value)
    limits = notebook_objects.constrained().frontier_
    assert limits.to_frame()["limit"].tolist() == [point.limit for point in limits]


def test_workers_have_a_row_each() -> None:
    found = notebook_objects.shown()["CrowdAudit"]
    frame = found.to_frame()
    assert len(frame) == len(found.workers.workers)
    assert frame["verdict"].tolist() == found.workers.verdict.tolist()


@pytest.mark.parametrize(("table", "rows"), [("workers", 20), ("tasks", 300), ("groups", 3)])
def test_tables_of_agreement(table: str, rows: int) -> None:
    found = notebook_objects.shown()["PairAgreement"]
    assert len(found.to_frame(table)) == rows
    assert found.to_frame("pairs", "pyarrow").equals(found.pairs())
    with pytest.raises(OptionError, match="use one of 'workers'"):
        found.to_frame("people")


def test_verdicts_have_wilson_intervals() -> None:
    frame = notebook_objects.shown()["Verdict"].to_frame()
    assert ((frame["low"] <= frame["rate"]) & (frame["rate"] <= frame["high"])).all()
    assert frame.groupby("group")["labelled"].sum().tolist() == frame.groupby("group")["tasks"].first().tolist()


def test_polars_in_polars_out() -> None:
    crowd = notebook_objects.crowd()
    votes = pl.from_pandas(crowd.votes)
    groups = pl.DataFrame({"task": crowd.sensitive_features.index, "group": crowd.sensitive_features.to_numpy()})
    fair = fc.FairCrowd(fc.MajorityVote()).fit(votes, sensitive_features=groups)
    table = fc.read_votes(votes, sensitive_features=groups)
    asked = [parse_constraint("parity <= 0.1"), parse_constraint("changed <= 0.9")]
    limited = fc.FairCrowd(fc.MajorityVote(), constraints=asked).fit(votes, sensitive_features=groups)
    labels = fair.estimator_.posterior_.label_codes
    for one in (
        *(fair, fair.result_, fair.certificate_, fair.frontier_, fair.estimator_),
        *(limited, limited.result_, limited.certificate_, limited.frontier_),
        *(audit.audit_crowd(table, labels), audit.audit_workers(table), audit.pair_agreement(table)),
    ):
        assert isinstance(one.to_frame(), pl.DataFrame), one


def test_a_posterior_in_an_array() -> None:
    p = np.array([0.9, 0.8, 0.7, 0.6, 0.4, 0.3, 0.2, 0.1])
    result = make_fair(np.stack([1 - p, p], axis=1), [1, 1, 1, 1, 0, 0, 0, 0], epsilon=0.5)
    found = result.to_frame()
    assert found["label"].tolist() == result.labels.tolist()
    assert found["changed"].sum() == result.certificate.changed
    assert found["group"].tolist() == [1, 1, 1, 1, 0, 0, 0, 0]
    assert found["posterior_1"].tolist() == p.tolist()
    assert "votes" not in found


def test_reviewed_tasks_have_no_label_yet() -> None:
    p = np.linspace(0.02, 0.98, 100)
    asked = [parse_constraint("parity(side) <= 0.1"), parse_constraint("reviewed <= 0.1")]
    result = make_fair(np.stack([1 - p, p], axis=1), {"side": [i // 50 for i in range(100)]}, constraints=asked)
    found = result.to_frame()
    assert (found["review"] == result.reviewed).all()
    assert found["review"].any()
    assert (found.loc[found["review"], "label"] == "review").all()
    assert found["group"].tolist() == [i // 50 for i in range(100)]
