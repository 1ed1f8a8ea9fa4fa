"""The registry of charts: a new one needs a module and a line, and the page shows it."""

import base64
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import faircrowd as fc
from faircrowd.aggregate.calibration.reliability import reliability
from faircrowd.fair.frontier import Frontier
from faircrowd.report.accuracy_curves import AccuracyCurve, accuracy_curves
from faircrowd.report.charts import CHARTS, ChartFacts, PageChart, frontier_chart, images, register
from faircrowd.report.charts.reliability_chart import reliability_chart
from faircrowd.report.charts.vega_lite import layered_chart, quantity


def _changes(facts: ChartFacts) -> dict[str, object] | None:
    rows = [{"group": row["group"], "tasks": row["tasks"]} for row in facts.result.certificate.changes]
    bars = {"mark": "bar", "encoding": {"x": quantity("tasks", "labels changed", ",d"), "y": {"field": "group"}}}
    return layered_chart("Labels changed", {"values": rows}, [bars], height=100) if rows else None


@pytest.fixture
def toy() -> Iterator[PageChart]:
    chart = PageChart("toy", "changes", _changes, lambda facts: f"Changed <b>labels</b> of {len(facts.groups)} groups.")
    register(chart)
    yield chart
    del CHARTS[chart.name]


@pytest.mark.parametrize("epsilon", [0.02, 1.0])
def test_a_new_chart_is_one_module_and_one_line(toy: PageChart, epsilon: float, tmp_path) -> None:  # type: ignore[no-untyped-def]
    crowd = fc.simulate_crowd(n_tasks=200, n_workers=20, votes_per_task=5, random_state=0)
    fair = fc.FairCrowd(fc.MajorityVote(), epsilon=epsilon)
    fair.fit(crowd.votes, sensitive_features=crowd.sensitive_features)
    fair.write(tmp_path / "out", charts=tmp_path / "pictures")
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    at = page.index('<section id="changes">')
    section = page[at : page.index("</section>", at)]
    shown = fair.certificate_.changed > 0
    assert shown == (epsilon < 1)
    assert ('id="chart-toy"' in section) == shown
    assert ("Changed &lt;b&gt;labels&lt;/b&gt; of 2 groups." in section) == shown
    assert (tmp_path / "pictures" / "toy.png").exists() == shown
    assert (tmp_path / "pictures" / "frontier.svg").exists()
    assert list(CHARTS) == ["frontier", "rates", "posterior", "reliability", "funnel", "toy"]


# Reliability.

BEFORE = reliability([0.6, 0.6, 0.8, 0.8, 0.99, 0.995, 1.0, 1.0], [1, 0, 1, 1, 0, 1, 1, 0], n_bins=8)
AFTER = reliability([0.5, 0.5, 0.7, 0.7], [1, 0, 1, 1])


def test_bins_that_would_hide_each_other_are_drawn_as_one() -> None:
    chart = reliability_chart({"labels": BEFORE})
    rows = chart["data"]["values"]
    assert [row["count"] for row in rows] == [2, 2, 4]
    assert [row["right"] for row in rows] == [0.5, 1.0, 0.5]
    assert [row["confidence"] for row in rows] == pytest.approx([0.6, 0.8, (0.99 + 0.995 + 2) / 4])
    assert all(row["low"] <= row["right"] <= row["high"] for row in rows)
    diagonal = chart["layer"][0]["data"]["values"]
    assert [row["confidence"] for row in diagonal] == [row["right"] for row in diagonal] == [0.5, 1.0]


def test_before_and_after_calibration_are_two_series() -> None:
    chart = reliability_chart({"before calibration": BEFORE, "after calibration": AFTER})
    assert [row["labels"] for row in chart["data"]["values"]] == [
        *["before calibration"] * 3,
        *["after calibration"] * 2,
    ]
    assert images("reliability", chart)["reliability.png"].startswith(b"\x89PNG")
    drawn = images("reliability", chart)["reliability.svg"].decode()
    assert "before calibration" in drawn
    assert "after calibration" in drawn


# The frontier.

GAP = np.array([0.4, 0.2, 0.2, 0.0])
FRONTIER = Frontier(GAP, GAP, np.arange(4.0), np.array([0.9, 0.8, 0.7, 0.5]), 0.0, exact=True)


def test_accuracy_along_a_frontier_is_read_like_the_frontier() -> None:
    (believed,) = accuracy_curves(FRONTIER)
    for gap in (0.0, 0.1, 0.2, 0.3, 0.4, 1.0):
        assert believed.at(gap) == FRONTIER.at(gap).believed_accuracy
    assert believed.price(0.1) == pytest.approx(0.9 - 0.6)
    assert list(believed.columns()) == ["believed_accuracy"]


def test_an_estimated_accuracy_with_an_interval_is_one_more_curve() -> None:
    middle = np.array([0.7, 0.65, 0.6, 0.5])
    estimated = AccuracyCurve("estimated", GAP, middle, middle - 0.1, middle + 0.1)
    assert list(estimated.columns()) == ["estimated_accuracy", "estimated_accuracy_low", "estimated_accuracy_high"]
    dots = [{"gap": 0.1, "accuracy": 0.6}, {"gap": 0.1, "accuracy": 0.55}]
    chart = frontier_chart(FRONTIER, chosen=dots, curves=[*accuracy_curves(FRONTIER), estimated])
    rows = chart["data"]["values"]
    assert [row["kind"] for row in rows] == [*["believed"] * 4, *["estimated"] * 4]
    assert [row.get("low") for row in rows] == [*[None] * 4, *(middle - 0.1)]
    assert chart["layer"][-1]["data"]["values"] == dots
    assert "estimated" in images("frontier", chart)["frontier.svg"].decode()


# How the page gets its charts.


@pytest.fixture(scope="module")
def small() -> fc.FairCrowd:
    crowd = fc.simulate_crowd(n_tasks=200, n_workers=20, votes_per_task=5, random_state=0)
    fair = fc.FairCrowd(fc.MajorityVote(), epsilon=0.02)
    return fair.fit(crowd.votes, sensitive_features=crowd.sensitive_features)


def test_the_page_is_small_and_needs_no_library_of_charts(
    small: fc.FairCrowd, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    small.report(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert page.count('<svg class="drawn"') == 4
    assert len(page.encode()) < 120_000


def test_a_chart_that_asks_for_more_is_a_picture(small: fc.FairCrowd, toy: PageChart, tmp_path: Path) -> None:
    def make(facts: ChartFacts) -> dict[str, object] | None:
        found = _changes(facts)
        assert found is not None
        found["layer"][0]["encoding"]["x"]["aggregate"] = "sum"  # type: ignore[index]
        return found

    register(PageChart("toy", "changes", make, lambda _: "Sums."))
    small.report(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    picture = page[page.index('id="chart-toy"') :]
    content = base64.b64decode(picture.split("data:image/svg+xml;base64,")[1].split('"')[0])
    assert content.startswith(b"<svg")
    assert b"labels changed" in content


def test_one_point_of_accuracy_is_no_cliff() -> None:
    for believed in ([0.93, 0.925, 0.922, 0.92], [0.99, 0.985, 0.98, 0.98], [0.02, 0.015, 0.01, 0.01]):
        curve = Frontier(GAP, GAP, np.arange(4.0), np.array(believed), 0.0, exact=True)
        for layer in frontier_chart(curve)["layer"]:
            low, high = layer["encoding"]["y"]["scale"]["domain"]
            assert high - low >= 0.2 - 1e-12
            assert 0 <= low <= min(believed) <= max(believed) <= high <= 1
