"""Judgments of MT-Bench."""

from pathlib import Path

from votes.exports.examples import MT_BENCH
from votes.exports.reading import see, write

TASK = "81/1/alpaca/vicuna"


def test_a_judge_that_changes_its_mind_with_the_order_sees_a_tie(tmp_path: Path) -> None:
    seen = see(write(tmp_path / "pair.jsonl", MT_BENCH))
    assert seen.rows == [(TASK, "gpt-4", "second"), (TASK, "claude-v1", "tie"), (TASK, "gpt-3.5-turbo", "tie")]
    assert seen.left_out == {"no verdict": 1}


def test_pairs_shown_the_other_way_round_are_one_task(tmp_path: Path) -> None:
    row = {"question_id": 81, "turn": 1, "judge": "expert_0"}
    rows = [
        {**row, "model_a": "vicuna", "model_b": "alpaca", "winner": "model_a"},
        {**row, "judge": "expert_1", "model_a": "alpaca", "model_b": "vicuna", "winner": "model_b"},
        {**row, "judge": "expert_2", "model_a": "alpaca", "model_b": "vicuna", "winner": "tie (inconsistent)"},
    ]
    seen = see(write(tmp_path / "human.jsonl", rows))
    assert [(task, label) for task, _, label in seen.rows] == [(TASK, "second"), (TASK, "second"), (TASK, "tie")]


def test_scores(tmp_path: Path) -> None:
    rows = [
        {"question_id": 81, "model": "vicuna", "judge": ["gpt-4", "single-v1"], "score": score, "turn": turn}
        for score, turn in [(7, 1), (-1, 2)]
    ]
    seen = see(write(tmp_path / "single.jsonl", rows))
    assert seen.rows == [("81/1/vicuna", "gpt-4", 7)]
    assert seen.left_out == {"no verdict": 1}
