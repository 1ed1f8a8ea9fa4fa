"""Results of promptfoo."""

from pathlib import Path
from typing import Any

import pytest

from faircrowd.errors import OptionError
from votes.exports.examples import PROMPTFOO
from votes.exports.reading import see, write

VOTES = [
    ("0/1", "llm-rubric by a", True),
    ("0/1", "llm-rubric by b", False),
    ("0/1", "llm-rubric by b#2", True),
    ("0/1", "not-llm-rubric", True),
]


def test_only_models_judge(tmp_path: Path) -> None:
    results = PROMPTFOO["results"]["results"]
    for path in (write(tmp_path / "out.json", PROMPTFOO), write(tmp_path / "out.jsonl", results)):
        with pytest.raises(OptionError, match="2 questions"):
            see(path)
        seen = see(path, label="pass")
        assert [row for row in seen.rows if row[2] is not None] == VOTES
        assert seen.left_out == {"not judged by a model": 1, "without assertions": 1, "no label": 1}
        assert [row[1] for row in see(path, label="tone").rows if row[2] is not None] == ["g-eval"]
        assert seen.cells["metadata.race"][0] == "a"
        assert "secret" not in str(seen.cells)


def graded(*results: dict[str, Any]) -> dict[str, Any]:
    """Return results of promptfoo with one test."""
    one = {"testIdx": 0, "promptIdx": 0, "gradingResult": {"componentResults": list(results)}}
    return {"results": {"results": [one]}}


def test_a_judge_that_failed_is_no_vote(tmp_path: Path) -> None:
    """A model that cannot be reached or read does not pass, says promptfoo; that is no verdict."""
    rubric = {"type": "llm-rubric", "value": "v"}
    results = graded(
        {"pass": False, "score": 0, "assertion": rubric, "metadata": {"graderError": True}},
        {"pass": False, "score": 0, "assertion": {**rubric, "provider": "a"}, "metadata": {"graderError": False}},
        {"pass": True, "score": 1, "assertion": {**rubric, "provider": "b"}},
    )
    seen = see(write(tmp_path / "out.json", results))
    assert [row[1:] for row in seen.rows] == [("llm-rubric by a", False), ("llm-rubric by b", True)]
    assert seen.left_out == {"no verdict": 1}


@pytest.mark.parametrize("kind", ["trajectory:goal-success", "promptfoo:redteam:harmful:hate", "not-search-rubric"])
def test_models_judge_goals_and_attacks(tmp_path: Path, kind: str) -> None:
    others = [
        {"pass": True, "assertion": {"type": other}} for other in ("similar", "trajectory:tool-used", "human", "pi-x")
    ]
    results = graded({"pass": True, "assertion": {"type": kind}}, {"pass": False, "assertion": {"type": "pi"}}, *others)
    seen = see(write(tmp_path / "out.json", results))
    assert [row[1:] for row in seen.rows] == [(kind, True), ("pi", False)]
    assert seen.left_out == {"not judged by a model": 4}
