"""From answers to labels."""

import json
from pathlib import Path
from typing import Any

import pytest

from faircrowd.errors import InputError, OptionError
from faircrowd.votes.exports.answers import Answer, FreeText
from faircrowd.votes.exports.questions import AnswerOptions, find_question, labels_of, question_columns, read_bins
from faircrowd.votes.exports.tidy_answers import TidyAnswers, gather
from votes.exports.reading import read, write


def gathered(*answers: dict[str, Any]) -> TidyAnswers:
    return gather((Answer(1, i, given) for i, given in enumerate(answers)), "e.json")


def test_the_only_question_that_is_not_in_words_is_taken() -> None:
    tidy = gathered({"tone": "rude", "note": FreeText("see above")}, {"tone": "kind"})
    assert find_question(tidy.questions, AnswerOptions(), "e.json") == "tone"
    with pytest.raises(OptionError, match="one question, answered in words"):
        find_question(gathered({"note": FreeText("a")}).questions, AnswerOptions(), "e.json")


def test_one_option_of_several_is_a_label() -> None:
    tidy = gathered({"flags": ["slur"]}, {"flags": ["insult"]})
    assert labels_of("flags", ['["slur"]'], tidy.questions, AnswerOptions(), "e.json") == ["slur"]
    assert question_columns(tidy.questions, "each") == ["flags"]  # nobody chose several, so there is nothing to divide


def test_the_order_of_options_does_not_matter() -> None:
    tidy = gathered({"flags": ["b", "a"]}, {"flags": ["a", "b", "a"]}, {"flags": []})
    texts = tidy.texts("flags", keep_golden=False)
    assert texts.dictionary.to_pylist() == ['["a","b"]']
    assert texts.null_count == 1


def test_answers_that_choose_no_option_are_counted(tmp_path: Path) -> None:
    given = [["insult", "slur"], ["slur"], [], [], ["insult"], []]
    rows = [{"task": i // 2, "worker": i % 2, "label": chosen, "tone": "x"} for i, chosen in enumerate(given)]
    votes = read(write(tmp_path / "v.json", rows), label="label.insult", multi="each")
    assert sum(votes.votes_per_task) == 6
    assert "3 answers choose no option of 'label', which counts as 'no' to 'label.insult'" in votes.notes()
    rows = [row for row in rows if row["label"]]
    votes = read(write(tmp_path / "w.json", rows), label="label.insult", multi="each")
    assert not any("no option" in note for note in votes.notes())


def test_a_set_must_be_told_from_its_options() -> None:
    tidy = gathered({"flags": ["a|b", "c"]})
    with pytest.raises(InputError, match=r"holds '\|'"):
        labels_of("flags", ['["a|b","c"]'], tidy.questions, AnswerOptions(multi="set"), "e.json")


@pytest.mark.parametrize("bins", ["", "1,x", "3,2", "2,2"])
def test_bins_are_rising_numbers(bins: str) -> None:
    if not bins:
        assert read_bins(bins) == ()
        return
    with pytest.raises(OptionError, match="bins"):
        AnswerOptions(bins=read_bins(bins))


def test_scores_are_said_to_be_classes(tmp_path: Path) -> None:
    rows = [{"task": i, "worker": w, "label": 1 + (i + w) % 5} for i in range(5) for w in range(3)]
    path = write(tmp_path / "v.json", rows)
    assert any("are scores" in note for note in read(path).notes())
    votes = read(path, bins="2,4")
    assert sorted(votes.classes.to_list()) == ["2 to below 4", "4 or more", "below 2"]
    assert not any("are scores" in note for note in votes.notes())
    with pytest.raises(InputError, match="bins cut scores, and 'label' has the answer 'x'"):
        read(write(tmp_path / "w.json", [{"task": 1, "worker": 1, "label": "x"}]), bins="2")


def test_options_of_exports_are_refused_for_tables(tmp_path: Path) -> None:
    path = tmp_path / "votes.csv"
    path.write_text("task,worker,label\n1,1,a\n1,2,b\n", encoding="utf-8")
    for options in ({"multi": "set"}, {"bins": "2"}):
        with pytest.raises(OptionError, match="is for exports"):
            read(path, **options)


def test_facts_that_are_called_like_ids_or_questions_are_told_apart(tmp_path: Path) -> None:
    facts = {"tone": "data", "task": "t", "a": {"b": 1, "ip": "10.0.0.1"}, "seen": "10.0.0.2", "tags": ["x", "y"]}
    answers = (Answer(1, w, {"tone": "rude"}, facts=facts) for w in range(2))
    tidy = gather(answers, "e.json")
    assert tidy.facts == ("data.tone", "data.task", "a.b", "tags")
    assert [json.loads(t) for t in tidy.texts("tags", keep_golden=False).dictionary.to_pylist()] == ['["x", "y"]']
    assert tidy.personal == ("a.ip", "seen")
    assert len(tidy.notes) == 2
