"""What is in the files, whatever their format."""

from io import BytesIO
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from faircrowd.studio.data_overview import column_names, data_overview
from faircrowd.studio.studio_form import read_options

WRITERS: dict[str, Any] = {
    "csv": lambda frame, path: frame.to_csv(path, index=False),
    "csv.gz": lambda frame, path: frame.to_csv(path, index=False),
    "tsv": lambda frame, path: frame.to_csv(path, index=False, sep="\t"),
    "jsonl": lambda frame, path: frame.to_json(path, orient="records", lines=True),
    "parquet": lambda frame, path: frame.to_parquet(path, index=False),
}


def overview(folder: Path, ending: str, frames: dict[str, pd.DataFrame]) -> dict[str, Any]:
    paths = {name: folder / f"{name}.{ending}" for name in frames}
    for name, frame in frames.items():
        WRITERS[ending](frame, paths[name])
    return data_overview(read_options({name: str(path) for name, path in paths.items()}))


@pytest.mark.parametrize("ending", list(WRITERS))
def test_every_format_shows_the_same(tmp_path: Path, crowd_files: tuple[bytes, bytes], ending: str) -> None:
    frames = {name: pd.read_csv(BytesIO(part)) for name, part in zip(("votes", "tasks"), crowd_files, strict=True)}
    found = overview(tmp_path, ending, frames)
    assert (found["votes"], found["tasks"], found["workers"]) == (len(frames["votes"]), 150, 12)
    facts = {fact["name"]: fact for fact in found["facts"]}
    sizes = frames["tasks"]["sex"].value_counts().to_dict()
    assert {value["name"]: value["tasks"] for value in facts["sex"]["values"]} == sizes
    assert facts["sex"]["looks_like"] == "group"
    assert facts["truth"]["looks_like"] == "truth"
    assert facts["truth"]["known"] == 150


def test_what_cannot_be_groups(tmp_path: Path) -> None:
    """Values that differ in nearly every task are texts for a person to read, not groups."""
    votes = pd.DataFrame({"task": [f"t{i // 3}" for i in range(36)], "worker": [i % 3 for i in range(36)]})
    votes["label"] = [i % 2 for i in range(36)]
    tasks = pd.DataFrame({"task": [f"t{i}" for i in range(12)], "text": [f"the text of task {i}" for i in range(12)]})
    tasks["few"], tasks["one"] = ["a", "b", None] * 4, "same"
    found = overview(tmp_path, "csv", {"votes": votes, "tasks": tasks})
    assert found["texts"] == ["text"]
    facts = {fact["name"]: fact for fact in found["facts"]}
    assert facts["few"]["missing"] == 4
    assert facts["few"]["gap"] is None  # groups of four tasks are not compared
    assert not facts["one"]["may_be_group"]
    assert "text" not in facts


def test_columns_of_what_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "v.csv").write_text("a,b\n1,2\n")
    assert column_names(read_options({"votes": str(tmp_path / "v.csv")})) == ["a", "b"]
    (tmp_path / "v.xyz").write_text("a,b\n1,2\n")
    assert column_names(read_options({"votes": str(tmp_path / "v.xyz")})) == []
