"""The chart of each kind of result: numbers as in the result, drawn without a complaint."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

import faircrowd as fc
import notebook_objects
from faircrowd import audit, make_fair
from faircrowd.audit.intervals import wilson
from faircrowd.errors import InputError, OptionError
from faircrowd.report.notebooks import Chart

DRAWN = [
    *("FairResult", "Frontier", "ConstrainedResult", "LimitFrontier", "CrowdAudit", "WorkerAudit", "PairAgreement"),
    *("Verdict", "Calibration", "Reliability"),
]


def values(chart: Chart) -> list[dict[str, Any]]:
    return chart.to_dict()["data"]["values"]


def test_all_that_can_be_drawn_is_tried() -> None:
    assert {name for name, one in notebook_objects.shown().items() if hasattr(one, "plot")} == {*DRAWN, "FairCrowd"}


@pytest.mark.parametrize("name", DRAWN)
def test_specifications_are_valid_and_have_rows(name: str) -> None:
    chart = notebook_objects.shown()[name].plot()
    assert values(chart)
    altair = pytest.importorskip("altair")
    assert isinstance(chart.to_altair(), altair.LayerChart)


@pytest.mark.parametrize("name", ["FairResult", "ConstrainedResult", "PairAgreement"])
def test_pictures_are_drawn_by_both_versions(name: str) -> None:
    """JupyterLab draws version 5 of Vega-Lite, the page version 6: charts look the same in both."""
    import vl_convert

    bundle, _ = notebook_objects.shown()[name].plot()._repr_mimebundle_()
    shown = bundle["application/vnd.vegalite.v5+json"]
    newer = shown | {"$schema": "https://vega.github.io/schema/vega-lite/v6.json"}
    older = vl_convert.vegalite_to_svg(shown, vl_version="5.21")
    assert older.count("<path") == vl_convert.vegalite_to_svg(newer).count("<path")


def test_rates_are_those_of_the_certificate() -> None:
    result = notebook_objects.fair().result_
    c, sizes = result.certificate, dict(zip(result.problem.groups.names, result.problem.sizes, strict=True))
    for row in values(result.plot()):
        group = row["row"].removeprefix("label 1, group ")
        rate = (c.rates_before if row["labels"] == "before" else c.rates)[group]["1"]
        assert row["rate"] == pytest.approx(rate)
        low, high = wilson(round(rate * sizes[group]), sizes[group])
        assert (row["low"], row["high"]) == pytest.approx((float(low), float(high)))


def test_weighted_rates_are_those_of_the_certificate() -> None:
    rng = np.random.default_rng(0)
    posterior, weights = rng.dirichlet(np.ones(2), 200), rng.uniform(0.5, 2.0, 200)
    groups = rng.integers(0, 2, 200)
    result = make_fair(posterior, groups, epsilon=0.05, sample_weight=weights)
    for row in values(result.plot()):
        rates = result.certificate.rates_before if row["labels"] == "before" else result.certificate.rates
        assert row["rate"] == pytest.approx(rates[row["row"].removeprefix("label 1, group ")]["1"])
        assert "low" not in row  # an interval of weighted tasks is another thing


def test_constraints_over_two_columns_do_not_share_a_row() -> None:
    """Groups of two columns may have the same names: each dot has a row of its own."""
    rows = values(notebook_objects.constrained().plot())
    places = [(row["row"], row["labels"]) for row in rows]
    assert len(set(places)) == len(places)
    assert any(row["row"].startswith("parity(side) <= 0.1\n") for row in rows)
    assert any(row["row"].startswith("parity(age) <= 0.1\n") for row in rows)


def test_the_dot_of_the_frontier_is_what_was_chosen() -> None:
    fair = notebook_objects.fair()
    layers = fair.plot("frontier").to_dict()["layer"]
    (chosen,) = layers[-1]["data"]["values"]
    assert chosen == {"gap": fair.epsilon, "accuracy": fair.certificate_.believed_accuracy}


def test_limits_are_drawn_as_in_the_tuple() -> None:
    frontier = notebook_objects.constrained().frontier_
    kept = [point for point in frontier if point.can_hold]
    assert [row["limit"] for row in values(frontier.plot())] == [point.limit for point in kept]


def test_charts_of_an_audit() -> None:
    found = notebook_objects.shown()["CrowdAudit"]
    assert "Workers" in found.plot().title
    rates = {row["row"]: row["rate"] for row in values(found.plot("rates"))}
    assert list(rates.values()) == pytest.approx((found.counts[:, 1] / found.counts.sum(axis=1)).tolist())


def test_unknown_charts_are_refused() -> None:
    for name in ("FairCrowd", "FairResult", "ConstrainedResult", "CrowdAudit"):
        with pytest.raises(OptionError, match="chart='pie' is not known"):
            notebook_objects.shown()[name].plot("pie")


def test_nothing_to_draw_is_said() -> None:
    votes = pd.DataFrame({"task": [1, 2, 3, 4], "worker": ["a", "b", "c", "d"], "label": [0, 1, 0, 1]})
    table = fc.read_votes(votes, sensitive_features={1: "x", 2: "x", 3: "y", 4: "y"})
    with pytest.raises(InputError, match="No two workers share a task"):
        audit.pair_agreement(table).plot()
    with pytest.raises(InputError, match="No worker has votes in two groups"):
        audit.audit_workers(table).plot()


def test_many_groups_are_cut() -> None:
    posterior = np.random.default_rng(0).dirichlet(np.ones(3), 3000)
    chart = make_fair(posterior, [i % 60 for i in range(3000)], epsilon=0.3).plot()
    assert len({row["row"] for row in values(chart)}) == 3 * 12
