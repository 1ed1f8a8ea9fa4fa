"""Samples of lm-evaluation-harness."""

import json
from pathlib import Path

from votes.exports.examples import LM_EVAL, packed
from votes.exports.reading import see, write

STAMP = "2025-01-02T03-04-05.678"


def test_lines_of_two_filters_are_one_answer(tmp_path: Path) -> None:
    path = write(tmp_path / "gpt.jsonl", LM_EVAL)
    assert see(path, label="exact_match,strict-match").rows == [(0, "gpt", 1.0), (1, "gpt", 0.0)]
    assert see(path, label="exact_match,flexible-extract").rows == [(0, "gpt", 1.0), (1, "gpt", 1.0)]


def test_the_metric_is_taken_unasked_and_the_answer_when_named(tmp_path: Path) -> None:
    path = write(tmp_path / "gpt.jsonl", LM_EVAL[:2])
    assert see(path).rows == [(0, "gpt", 1.0), (1, "gpt", 0.0)]
    answered = see(path, label="filtered_resps")
    assert answered.rows == [(0, "gpt", "4"), (1, "gpt", "[invalid]")]
    assert answered.golden == {0: "4", 1: "4"}


def test_folders_are_models(tmp_path: Path) -> None:
    lines = "\n".join(json.dumps(one) for one in LM_EVAL[:2])
    files = {f"{model}/samples_{task}_{STAMP}.jsonl": lines for model in ("m1", "m2") for task in ("gsm8k", "law_hard")}
    seen = see(packed(files, tmp_path / "results"))
    assert (seen.tasks, seen.workers, seen.votes) == (4, 2, 8)
    assert {task for task, _, _ in seen.rows} == {"gsm8k/0", "gsm8k/1", "law_hard/0", "law_hard/1"}
