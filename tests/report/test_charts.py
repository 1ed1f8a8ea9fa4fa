"""The registry of charts: a new one needs a module and a line, and the page shows it."""

from collections.abc import Iterator

import pytest

import faircrowd as fc
from faircrowd.report.charts import CHARTS, ChartFacts, PageChart, register
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
    assert list(CHARTS) == ["frontier", "rates", "posterior", "funnel", "toy"]
