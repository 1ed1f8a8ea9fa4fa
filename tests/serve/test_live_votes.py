from typing import Any

import pytest

from faircrowd.errors import InputError
from faircrowd.serve.live_votes import LiveVotes
from publish.finished_runs import label_studio_task


def rows(votes: LiveVotes) -> list[tuple[Any, ...]]:
    return list(zip(*(column.to_pylist() for column in votes.table().columns), strict=True))


def test_tasks_and_annotations_become_votes() -> None:
    votes = LiveVotes(group=("data.gender",))
    assert votes.set_task(label_studio_task(1, "12", gender="w"))
    assert not votes.set_task(label_studio_task(1, "12", gender="w"))  # nothing new
    assert votes.set_task(label_studio_task(2, "2"))
    assert rows(votes) == [(1, "1", "1", "w"), (1, "2", "2", "w"), (2, "1", "2", None)]
    control = votes.control()
    assert control is not None
    assert (control.name, control.about, control.kind) == ("better", "text", "choices")


def test_webhooks_add_change_and_remove() -> None:
    votes = LiveVotes("better", ("gender",))
    task = label_studio_task(5, "12", gender="m")
    first, second = task["annotations"]
    votes.set_annotation(5, first, task)
    assert rows(votes) == [(5, "1", "1", "m")]
    votes.set_annotation(5, second)
    votes.set_annotation(5, {**first, "result": second["result"]})
    assert rows(votes) == [(5, "1", "2", "m"), (5, "2", "2", "m")]
    votes.remove_annotations([first["id"], 999, None, "x"])
    assert rows(votes) == [(5, "2", "2", "m")]
    votes.remove_tasks([5, 6])
    assert (rows(votes), votes.n_tasks) == ([], 0)


def test_the_last_vote_of_a_worker_counts() -> None:
    votes = LiveVotes("better")
    task = label_studio_task(1, "12")
    for annotation in task["annotations"]:
        annotation["completed_by"] = {"id": 4, "email": "a@example.com"}
    votes.set_task(task)
    assert rows(votes) == [(1, "4", "2")]
    task["annotations"][0]["updated_at"] = "2027-01-01T00:00:00Z"
    votes.set_task(task)
    assert rows(votes) == [(1, "4", "1")]


def test_what_is_no_vote_is_counted() -> None:
    votes = LiveVotes("better")
    task = label_studio_task(1, "1212")
    skipped, golden, several, _ = task["annotations"]
    skipped["was_cancelled"] = True
    golden["ground_truth"] = True
    several["result"][0]["value"]["choices"] = ["1", "2"]
    votes.set_task(task)
    assert len(rows(votes)) == 1
    assert sum(votes.left_out.values()) == 3


def test_several_questions_need_a_name() -> None:
    votes = LiveVotes()
    task = label_studio_task(1, "1")
    task["annotations"][0]["result"].append(
        {"from_name": "sev", "to_name": "text", "type": "rating", "value": {"rating": 3}}
    )
    votes.set_task(task)
    with pytest.raises(InputError, match="several questions"):
        votes.table()
    named = LiveVotes("sev")
    named.set_task(task)
    assert rows(named) == [(1, "1", "3")]


@pytest.mark.parametrize("number", [None, "1", 1.5, True, 1 << 70, [], {}])
def test_ids_are_numbers(number: Any) -> None:
    with pytest.raises(InputError, match="no id"):
        LiveVotes().set_task({"id": number})
    with pytest.raises(InputError, match="no id"):
        LiveVotes().set_annotation(1, {"id": number})


@pytest.mark.parametrize("place", ["label", "worker", "group", "question", "no id"])
def test_what_is_refused_changes_nothing(place: str) -> None:
    votes = LiveVotes(group=("data.gender",))
    votes.set_task(label_studio_task(1, "12", gender="w"))
    before = rows(votes)
    half = "\ud83d"
    task = label_studio_task(1, "21", gender=half if place == "group" else "m")
    last = task["annotations"][-1]
    if place == "label":
        last["result"][0]["value"]["choices"] = [half]
    elif place == "worker":
        last["completed_by"] = {"email": half}
    elif place == "question":
        last["result"][0]["from_name"] = half
    elif place == "no id":
        del last["id"]
    with pytest.raises(InputError, match=r"UTF-8|no id"):
        votes.set_task(task)
    with pytest.raises(InputError, match=r"UTF-8|no id"):
        votes.set_annotation(1, last, task)
    assert (rows(votes), list(votes.controls), votes._count) == (before, ["better"], 2)
