"""What docs/spark.md shows in Python, run in Spark."""

from pathlib import Path
from typing import Any

import pytest

from faircrowd import DawidSkene, FairCrowd, simulate_crowd
from pages.blocks import PROJECT, blocks_of


@pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas")
def test_the_page(spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    crowd = simulate_crowd(100, 6, 4, skill_ranges=((0.85, 0.95),), random_state=0)  # rounds of Spark are slow
    votes = crowd.votes.assign(group=crowd.votes["task"].map(crowd.sensitive_features))
    for name in ("votes", "new"):
        votes.to_parquet(tmp_path / f"{name}.parquet")
        (tmp_path / f"{name}.parquet").rename(tmp_path / name)
    fair = FairCrowd(DawidSkene(by_group=True), epsilon=0.05)
    fair.fit(crowd.votes, sensitive_features=crowd.sensitive_features).write("DIR")
    names: dict[str, Any] = {}
    blocks = [block for block in blocks_of(PROJECT / "docs" / "spark.md") if block.language == "python"]
    for block in blocks[:2]:
        text = block.text.replace('parquet("', f'parquet("{tmp_path}/')  # Java has a current folder of its own
        exec(text, names)  # noqa: S102
    in_spark = {row["task"]: row["agg_label"] for row in names["fair"].labels_.toArrow().to_pylist()}
    assert in_spark == fair.labels_.to_dict()
    assert names["fair"].certificate_.gap == fair.certificate_.gap
