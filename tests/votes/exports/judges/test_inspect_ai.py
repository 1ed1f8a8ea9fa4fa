"""Logs of Inspect."""

import json
from pathlib import Path

from votes.exports.examples import INSPECT, packed
from votes.exports.reading import read, see, write


def test_scorers_are_workers(tmp_path: Path) -> None:
    log = {"version": 2, "status": "success", "eval": {"task": "t"}, "samples": list(INSPECT.values())}
    paths = (
        packed(INSPECT, tmp_path / "log.eval"),
        write(tmp_path / "log.json", log),
        write(tmp_path / "line.json", json.dumps(log)),
    )
    for path in paths:
        seen = see(path)
        assert seen.rows == [("1/1", "judge_a", "C"), ("1/1", "judge_b", "I"), ("1/2", "judge_a", "C")]
        assert seen.left_out == {"not scored": 2}
        assert set(seen.cells["metadata.gender"]) == {"f"}


def test_one_epoch_needs_no_number_and_scores_may_be_several(tmp_path: Path) -> None:
    sample = {"id": "s", "epoch": 1, "scores": {"judge": {"value": {"tone": 1, "fact": 0}}}}
    path = write(tmp_path / "log.json", {"eval": {}, "samples": [sample, {"id": "e", "epoch": 1, "error": {"m": 1}}]})
    seen = see(path, label="value.tone")
    assert seen.rows == [("s", "judge", 1)]
    assert seen.left_out == {"error": 1}


def test_a_grade_that_means_no_answer_is_noted_where_it_is_a_class(tmp_path: Path) -> None:
    samples = [
        {"id": i, "epoch": 1, "scores": {judge: {"value": "CIN"[(i + j) % 3]} for j, judge in enumerate("ab")}}
        for i in range(6)
    ]
    path = write(tmp_path / "log.json", {"eval": {}, "samples": samples})
    assert any("the grade 'N' means that there was no answer" in note for note in read(path).notes())
    assert not any("the grade 'N'" in note for note in read(path, abstain_label="N").notes())
    plain = write(tmp_path / "v.json", [{"task": 1, "worker": w, "label": "N"} for w in range(2)])
    assert not any("the grade 'N'" in note for note in read(plain).notes())
