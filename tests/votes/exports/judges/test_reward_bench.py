"""Results of RewardBench."""

import json
from pathlib import Path

import pytest

from faircrowd.errors import FileError
from votes.exports.examples import REWARD_BENCH, packed
from votes.exports.reading import see, write

MODEL = "openai/gpt-4"


def test_one_model(tmp_path: Path) -> None:
    for content in (json.dumps(REWARD_BENCH), json.dumps(REWARD_BENCH, indent=1)):
        seen = see(write(tmp_path / "scores.json", content))
        assert seen.rows == [(30, MODEL, "chosen"), (31, MODEL, "rejected"), (32, MODEL, "tie")]
        assert seen.left_out == {"no verdict": 1}
        assert seen.cells["subset"] == ["alpacaeval-easy", "alpacaeval-easy", "refusals"]


def test_a_folder_of_models(tmp_path: Path) -> None:
    files = {f"org/{name}.json": {**REWARD_BENCH, "model": name} for name in ("a", "b", "c")}
    assert (see(packed(files, tmp_path / "scores")).workers, see(packed(files, tmp_path / "s.zip")).votes) == (3, 9)


def test_lists_of_different_lengths_are_refused(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="id, subset and results have 4, 4 and 1 values"):
        see(write(tmp_path / "scores.json", {**REWARD_BENCH, "results": [1]}))
