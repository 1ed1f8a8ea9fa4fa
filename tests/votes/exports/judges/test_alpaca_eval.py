"""Annotations of AlpacaEval."""

from pathlib import Path

from votes.exports.examples import ALPACA_EVAL
from votes.exports.reading import see, write


def test_preferences(tmp_path: Path) -> None:
    """The third annotator saw the outputs the other way round: the first that it saw is the second in the alphabet."""
    seen = see(write(tmp_path / "annotations.json", ALPACA_EVAL))
    asked = dict(zip(seen.cells["task"], seen.cells["instruction"], strict=True))
    assert [(asked[task], worker, label) for task, worker, label in seen.rows] == [
        ("Who?", "claude", "first"),
        ("Who?", "gpt-4", "second"),
        ("Who?", "llama", "second"),
        ("Why?", "claude", "tie"),
    ]
    assert (seen.tasks, seen.left_out) == (2, {"no preference": 1})
    assert "1 preferences are weights" in seen.notes


def test_values_beyond_the_scale_are_no_preferences(tmp_path: Path) -> None:
    rows = [{**ALPACA_EVAL[0], "preference": value, "annotator": str(value)} for value in (2, 0, -1, 3, True, "1")]
    seen = see(write(tmp_path / "annotations.json", rows))
    assert [label for _, _, label in seen.rows] == ["second", "tie"]
    assert seen.left_out == {"no preference": 4}
