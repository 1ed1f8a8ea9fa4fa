"""Output folders of SageMaker Ground Truth."""

from pathlib import Path

import pytest

from faircrowd.errors import FileError
from faircrowd.votes.exports.platforms.crowd_form import form_answers
from votes.exports.examples import GROUND_TRUTH, packed
from votes.exports.reading import see

RESPONSE = "annotations/worker-response/iteration-1/0/2024-01-01_00:00:00.json"


@pytest.mark.parametrize("ending", ["", ".zip", ".tar.gz"])
def test_rows_of_the_manifest_are_tasks(ending: str, tmp_path: Path) -> None:
    seen = see(packed(GROUND_TRUTH, tmp_path / f"job{ending}"))
    assert seen.rows == [(0, "private.1", "cat"), (0, "private.2", "dog")]
    assert seen.left_out == {"not answered": 2, "labelled by a model": 1}
    assert seen.header == ["task", "worker", "crowd-classifier", "source", "gender"]
    assert "secret-token" not in str(seen.cells)


def test_an_answer_given_again_counts_by_its_time(tmp_path: Path) -> None:
    def answered(label: str, minute: int) -> dict[str, object]:
        return {
            "answers": [
                {
                    "answerContent": {"q": {"label": label}},
                    "submissionTime": f"2024-01-01T00:{minute:02d}:00Z",
                    "workerId": "w",
                }
            ]
        }

    files = {RESPONSE: answered("late", 9), RESPONSE.replace("iteration-1", "iteration-2"): answered("early", 1)}
    seen = see(packed(files, tmp_path / "job"))
    assert seen.votes == 1
    assert seen.rows[-1] == (0, "w", "late")


def test_custom_forms() -> None:
    assert form_answers({"result": '{"tone": {"good": true, "bad": false}, "stars": 4}'}) == {
        "result.tone": ["good"],
        "result.stars": 4,
    }
    assert form_answers({"q": {"labels": ["a", "b"]}}) == {"q": ["a", "b"]}
    assert form_answers({"q": {"boundingBoxes": [{"left": 1}]}, "empty": {}}) == {}


def test_two_jobs_are_not_mixed(tmp_path: Path) -> None:
    """Both number their rows from 0."""
    files = {name.replace("job/", f"{job}/"): value for job in ("one", "two") for name, value in GROUND_TRUTH.items()}
    with pytest.raises(FileError, match=r"holds 2 jobs \('one/annotations/', 'two/annotations/'\)"):
        see(packed(files, tmp_path / "jobs"))
