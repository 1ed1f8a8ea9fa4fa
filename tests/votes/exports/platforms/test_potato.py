"""Exports of Potato."""

from pathlib import Path

import pytest

from faircrowd.errors import FileError, InputError
from faircrowd.votes.exports import find_export
from votes.exports.examples import POTATO_JSONL, packed, potato_state
from votes.exports.reading import see, write

VOTES = {("i1", "ann", "positive"), ("i1", "bob", "negative"), ("i2", "ann", "negative")}


def test_lines(tmp_path: Path) -> None:
    seen = see(write(tmp_path / "annotations.jsonl", POTATO_JSONL))
    assert set(seen.rows) == VOTES
    assert seen.left_out == {"not answered": 1}


@pytest.mark.parametrize("mark", ["true", "True", "on", "{option}", "{key}"])
def test_a_column_per_option(mark: str, tmp_path: Path) -> None:
    """An option that was chosen holds a mark, its own name, or its key."""
    positive, negative = mark.format(option="positive", key=1), mark.format(option="negative", key=2)
    text = (
        "instance_id,user_id,sentiment.positive,sentiment.negative\n"
        f"i1,ann,{positive},\ni1,bob,,{negative}\ni2,ann,,{negative}\ni2,bob,,\n"
    )
    for name, content in (("annotations.csv", text), ("annotations.tsv", text.replace(",", "\t"))):
        seen = see(write(tmp_path / name, content))
        assert set(seen.rows) == VOTES
        assert seen.left_out == {"not answered": 1}


@pytest.mark.parametrize(("yes", "no"), [("true", "false"), ("on", "off"), ("True", "False")])
def test_an_option_may_be_called_like_a_mark(yes: str, no: str, tmp_path: Path) -> None:
    """Alone with its own name it was chosen; beside an option that is marked with the same word, it was not."""
    own = [{yes: yes}, {no: no}]
    marked: list[dict[str, object]] = [{yes: yes, no: no}, {yes: no, no: yes}]
    for truths in (own, marked, [{yes: True, no: False}, {yes: False, no: True}]):
        given = [
            {"instance_id": "i1", "user_id": user, "labels": {"truth": truth}}
            for user, truth in zip(("ann", "bob"), truths, strict=True)
        ]
        seen = see(write(tmp_path / "annotations.jsonl", given))
        assert set(seen.rows) == {("i1", "ann", yes), ("i1", "bob", no)}
        assert seen.left_out == {}


@pytest.mark.parametrize("ending", ["", ".zip", ".tar.gz"])
def test_states_of_users(ending: str, tmp_path: Path) -> None:
    files = {
        "out/ann/user_state.json": potato_state("ann", "yes"),
        "out/bob/user_state.json": potato_state("bobby@example.org", "no"),
    }
    path = packed(files, tmp_path / f"potato{ending}")
    seen = see(path, label="toxic")
    assert sorted(row[2] for row in seen.rows) == ["no", "yes"]
    assert "example.org" not in str(seen.cells) + seen.notes
    assert sorted(row[2] for row in see(path, label="sure").rows) == ["17", "3"]


def test_several_answers_to_a_radio_question_are_not_taken(tmp_path: Path) -> None:
    """Versions of Potato kept every option that was ever clicked; which one is final, the labels do not say."""
    state = potato_state("ann", "yes")
    state["instance_id_to_label_to_value"]["i1"].append([{"schema": "toxic", "name": "no"}, True])
    path = packed({"ann/user_state.json": state, "bob/user_state.json": potato_state("bob", "no")}, tmp_path / "out")
    with pytest.raises(InputError, match="several options of 'toxic' are chosen at once in 1 of 2"):
        see(path, label="toxic")


def test_a_table_of_votes_stays_one(tmp_path: Path) -> None:
    path = write(tmp_path / "votes.csv", "instance_id,user_id,label\ni1,ann,yes\ni1,bob,no\n")
    assert find_export(path) is None


def test_two_projects_are_not_mixed(tmp_path: Path) -> None:
    files = {f"{project}/ann/user_state.json": potato_state("ann", "yes") for project in ("one", "two")}
    with pytest.raises(FileError, match="users of 2 projects"):
        see(packed(files, tmp_path / "out"))
