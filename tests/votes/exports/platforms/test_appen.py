"""Full reports of Appen."""

from pathlib import Path

import pytest

from faircrowd.errors import FileError, MissingColumnError
from votes.exports.examples import APPEN
from votes.exports.reading import see, write


def test_golden_and_tainted_judgments_are_no_votes(tmp_path: Path) -> None:
    seen = see(write(tmp_path / "full.csv", APPEN))
    assert seen.votes == 3
    assert seen.left_out == {"tainted": 1, "not answered": 1, "golden": 2}
    assert seen.golden == {3: "no"}, "a test question that accepts two answers has no known label"
    kept = see(write(tmp_path / "full.csv", APPEN), keep_golden=True)
    assert (kept.votes, kept.left_out) == (5, {"tainted": 1, "not answered": 1})


def test_places_and_addresses_of_workers_are_not_read(tmp_path: Path) -> None:
    seen = see(write(tmp_path / "full.csv", APPEN))
    assert seen.header == ["task", "worker", "toxic", "gender", "text", "golden"]
    told = f"{seen.cells} {seen.notes}"
    assert not [value for value in ("Exeter", "Berlin", "81.2.69", "_ip", "_city") if value in told]


def test_several_answers_in_one_cell(tmp_path: Path) -> None:
    text = '_unit_id,_worker_id,flags\n1,1,"a\nb"\n1,2,a\n2,1,"[""a"", ""c""]"\n'
    assert see(write(tmp_path / "full.csv", text), multi="set").rows == [(1, 1, "a|b"), (1, 2, "a"), (2, 1, "a|c")]


def test_the_aggregated_report_is_refused(tmp_path: Path) -> None:
    text = "_unit_id,_golden,_trusted_judgments,toxic,toxic:confidence\n1,false,3,yes,0.67\n"
    with pytest.raises(FileError, match=r"aggregated report of Appen, without workers; download the full report"):
        see(write(tmp_path / "agg.csv", text))


def test_where_all_agree_the_question_must_be_named(tmp_path: Path) -> None:
    """No file says which columns are questions: they are found by differing between the judgments of a unit."""
    path = write(tmp_path / "full.csv", "_unit_id,_worker_id,toxic,text\n1,1,yes,a\n1,2,yes,a\n2,1,no,b\n")
    with pytest.raises(MissingColumnError, match="no answer to any question"):
        see(path)
    assert see(path, label="toxic").votes == 3
