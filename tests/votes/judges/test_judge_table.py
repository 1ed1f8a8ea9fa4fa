"""Columns of judges: runs are averaged, probabilities kept beside the codes, abstentions counted."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import faircrowd as fc
from faircrowd.engines import read_votes_on_disk
from faircrowd.errors import DataWarning, InputError, MissingColumnError
from strategies import examples

pytestmark = pytest.mark.filterwarnings("ignore::faircrowd.errors.DataWarning")

ROWS = [
    ("a", "j1", 1, "yes", 0.9, "open", False),
    ("a", "j1", 2, "yes", 0.7, "open", False),
    ("a", "j2", 1, "no", 0.6, "open", False),
    ("b", "j1", 1, "no", 0.8, "open", False),
    ("b", "j2", 1, None, None, "open", True),
    ("b", "j3", 1, "no", None, None, False),
    ("c", "j2", 1, None, None, "open", True),
]
COLUMNS = ["task", "judge", "run", "label", "probability", "family", "abstain"]


def frame(rows: list[tuple[Any, ...]] | None = None) -> pd.DataFrame:
    return pd.DataFrame(ROWS if rows is None else rows, columns=COLUMNS)


def by_hand(votes: fc.VoteTable) -> dict[tuple[Any, Any], dict[Any, float]]:
    """The probability of each class by task and judge."""
    task = np.repeat(np.arange(votes.n_tasks), votes.votes_per_task)
    assert votes.judges is not None
    assert votes.judges.probability is not None
    return {
        (votes.tasks.to_list()[t], votes.workers.to_list()[w]): dict(zip(votes.classes.to_list(), p, strict=True))
        for t, w, p in zip(task, votes.worker, votes.judges.probability.tolist(), strict=True)
    }


def test_what_rows_become() -> None:
    votes = fc.read_votes(frame())
    found = by_hand(votes)
    assert found["a", "j1"] == pytest.approx({"yes": 0.8, "no": 0.2})  # the mean of two runs
    assert found["a", "j2"] == pytest.approx({"yes": 0.4, "no": 0.6})  # the other class has the rest
    assert found["b", "j3"] == {"yes": 0.0, "no": 1.0}  # a label without a probability
    assert votes.judges is not None
    assert votes.judges.stated is not None
    assert votes.judges.stated.tolist() == [1, 1, 1, 0]
    assert votes.judges.family is not None
    assert votes.judges.family.tolist() == [0, 0, 0, -1]
    assert [votes.classes.to_list()[code] for code in votes.label] == ["yes", "no", "no", "no"]


def test_every_row_is_accounted_for() -> None:
    report = fc.read_votes(frame()).report
    assert (report.rows_read, report.rows_abstained, report.rows_averaged) == (7, 2, 1)
    assert report.rows_read - report.rows_aside == 4
    assert report.tasks_without_votes == ("c",)
    lines = " | ".join(report.lines())
    assert "2 of 7 rows set aside: the judge abstained" in lines
    assert "1 of 7 rows are further runs of a judge on a task; the runs are averaged into one vote" in lines
    assert report.to_dict()["rows_abstained"] == 2


def test_abstentions_count_families_once() -> None:
    rows = [
        ("a", "j1", 1, "yes", None, "open", False),
        ("a", "j1", 2, None, None, "open", True),  # half of the runs of one of two judges of the family
        ("a", "j2", 1, "no", None, "open", False),
        ("a", "j3", 1, None, None, None, True),
        ("b", "j1", 1, "yes", None, "open", False),
    ]
    judges = fc.read_votes(frame(rows)).judges
    assert judges is not None
    assert judges.abstained is not None
    assert judges.abstained.tolist() == [0.25 + 1, 0]


def test_labels_that_mean_an_abstention() -> None:
    rows = pd.DataFrame(
        [("a", "j1", "yes"), ("a", "j2", "unsure"), ("b", "j1", "no"), ("b", "j2", "n/a")],
        columns=["task", "judge", "label"],
    )
    votes = fc.read_votes(rows, abstain_label=["unsure", "n/a"])
    assert votes.classes.to_list() == ["no", "yes"]
    assert votes.report.rows_abstained == 2
    assert fc.read_votes(rows, abstain_label="unsure").n_classes == 3
    with pytest.warns(DataWarning, match="no row has the label 'unsur'"):
        fc.read_votes(rows, abstain_label="unsur")


def test_one_column_per_class_needs_no_label() -> None:
    rows = pd.DataFrame({"task": [1, 1, 2], "judge": list("abb"), "probability_2": [0.3, 0.6, 0.5]})
    rows = rows.assign(probability_10=1 - rows["probability_2"])
    votes = fc.read_votes(rows)
    assert votes.classes.to_list() == [2, 10]
    assert votes.label.tolist() == [1, 0, 0]  # the most probable; of two, the first
    assert by_hand(votes)[1, "a"] == pytest.approx({2: 0.3, 10: 0.7})
    equal = rows.rename(columns={"probability_2": "label=2", "probability_10": "label=10"})
    assert by_hand(fc.read_votes(equal)) == by_hand(votes)
    named = rows.rename(columns={"probability_2": "yes", "probability_10": "no"})
    assert fc.read_votes(named, probability=["yes", "no"]).classes.to_list() == ["no", "yes"]


def test_columns_per_class_beside_labels() -> None:
    rows = pd.DataFrame({"task": [1, 2], "judge": ["a", "a"], "label": ["x", "z"]})
    rows = rows.assign(probability_x=[0.2, np.nan], probability_y=[0.8, np.nan])
    with pytest.warns(DataWarning, match="in 1 votes the label is not the most probable class"):
        votes = fc.read_votes(rows)
    assert votes.classes.to_list() == ["x", "y", "z"]
    assert votes.label.tolist() == [0, 2]  # labels stay what they are
    assert by_hand(votes)[1, "a"] == pytest.approx({"x": 0.2, "y": 0.8, "z": 0})
    assert by_hand(votes)[2, "a"] == {"x": 0, "y": 0, "z": 1}


def test_scores_are_divided_by_their_sum() -> None:
    rows = pd.DataFrame({"task": [1], "judge": ["a"], "probability_x": [3], "probability_y": [1]})
    with pytest.warns(DataWarning, match=r"in 1 rows the probabilities .* \(row 1: 4\).* divided by their sum"):
        votes = fc.read_votes(rows)
    assert by_hand(votes)[1, "a"] == {"x": 0.75, "y": 0.25}


def test_tables_without_such_columns_are_as_before() -> None:
    plain = frame()[["task", "judge", "label"]].dropna()
    assert fc.read_votes(plain).judges is None
    votes = fc.read_votes(frame(), run=False, family=False, abstained=False, probability=False)
    assert votes.judges is None
    assert votes.report.rows_missing == {"label": 2}
    numbered = plain.drop_duplicates(["task", "judge"]).assign(run=1)  # a run each: nothing to average
    one, other = fc.read_votes(numbered), fc.read_votes(numbered, run=False)
    assert one.label.tolist() == other.label.tolist()
    assert one.judges is not None
    assert not one.judges.has_probabilities


def test_a_column_of_groups_is_no_column_of_judges() -> None:
    rows = frame()[["task", "judge", "label", "family"]].dropna()
    assert fc.read_votes(rows, sensitive_features="family").judges is None


@given(order=st.permutations(range(len(ROWS))), runs=st.permutations([1, 2, 3]))
@settings(max_examples=examples(20), deadline=None)
def test_the_order_of_rows_does_not_matter(order: list[int], runs: list[int]) -> None:
    more = [
        ("b", "j1", run + 1, label, p, "open", False)
        for run, label, p in zip(runs, "xyx", (0.5, 0.61, 0.77), strict=True)
    ]
    rows = frame([*ROWS, *more])
    one = fc.read_votes(rows)
    other = fc.read_votes(rows.iloc[[*range(len(ROWS), len(rows)), *order]])
    assert by_hand(one) == by_hand(other)  # to the last bit
    assert one.label.tolist() == other.label.tolist()


def test_files_and_frames_agree(tmp_path: Path) -> None:
    expected = by_hand(fc.read_votes(frame()))
    frame().to_csv(tmp_path / "votes.csv", index=False)
    frame().to_json(tmp_path / "votes.jsonl", orient="records", lines=True)
    frame().to_parquet(tmp_path / "votes.parquet")
    kinds = (pl.DataFrame(frame().to_dict("list"), strict=False), pa.Table.from_pandas(frame()))
    for source in (*(tmp_path / f"votes.{kind}" for kind in ("csv", "jsonl", "parquet")), *kinds):
        assert by_hand(fc.read_votes(source)) == expected  # to the last bit


def test_repeated_rows_of_one_run() -> None:
    rows = frame([ROWS[0], ("a", "j1", 1, "no", 0.9, "open", False)])
    assert by_hand(fc.read_votes(rows))["a", "j1"] == pytest.approx({"no": 0.9, "yes": 0.1})
    assert by_hand(fc.read_votes(rows, on_duplicate="first"))["a", "j1"]["yes"] == pytest.approx(0.9)
    both = fc.read_votes(rows, on_duplicate="all")
    assert by_hand(both)["a", "j1"] == pytest.approx({"no": 0.5, "yes": 0.5})
    assert both.n_votes == both.report.rows_read - both.report.rows_aside
    with pytest.raises(InputError, match="1 rows repeat a judge on a task in the same run, such as task 'a'"):
        fc.read_votes(rows, on_duplicate="error")


def test_incomplete_rows() -> None:
    rows = [("a", "j1", 1, "yes", 0.9, "x", False), (None, "j1", 1, "yes", 0.9, "x", False)]
    rows += [("a", None, 1, "no", 0.9, "x", False), ("b", "j1", 1, None, 0.9, "x", False)]
    report = fc.read_votes(frame(rows)).report
    assert report.rows_missing == {"task": 1, "worker": 1, "label": 1}
    with pytest.raises(InputError, match=r"1 of 4 rows have no task \(the first is row 2\)"):
        fc.read_votes(frame(rows), on_missing="error")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"probability": 85.0}, r"Row 1 .* has the probability 85; from 0 to 1 is expected. Did you mean 0.85\?"),
        ({"probability": "high"}, "Row 1 of the votes has 'high' in column 'probability'"),
        ({"probability": -0.5}, "Row 1 of the votes has -0.5 in column 'probability'"),
        ({"abstain": "maybe"}, "Row 1 of the votes has 'maybe' in column 'abstain', where true or false"),
        ({"family": "shut"}, "Judge 'j1' has more than one family in column 'family' of the votes: 'open', 'shut'"),
    ],
)
def test_values_that_are_refused(change: dict[str, Any], message: str) -> None:
    rows = frame().astype(dict.fromkeys(change, object))
    for name, value in change.items():
        rows.loc[0, name] = value
    with pytest.raises(InputError, match=message):
        fc.read_votes(rows)


def test_the_probability_of_one_class_in_every_row_is_refused() -> None:
    p = np.linspace(0.05, 0.95, 10)
    rows = pd.DataFrame({"task": range(10), "judge": "a", "label": np.where(p > 0.5, "yes", "no"), "probability": p})
    with pytest.raises(
        InputError, match=r"In 5 of 5 rows .* label 'no', the probability is below 1/2 \(the first is row 1"
    ):
        fc.read_votes(rows)
    rows.loc[1:4, "probability"] = 0.9
    with pytest.warns(DataWarning, match="in 1 rows the probability of the row's own label is below 1/2"):
        fc.read_votes(rows)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"probability_x": [0.5]}, "the probability of one class only, in 'probability_x'; give each class a column"),
        ({"probability_x": [0.5], "probability-x": [0.5]}, "probabilities of different classes, one column per class"),
        ({"probability_x": [0.5], "probability_y": [0.5], "probability": [1]}, "name those to use with probability="),
        ({"probability_x": [0.0], "probability_y": [0]}, "Row 1 .* gives a probability of 0 to every class"),
        ({"probability_x": [0.5], "probability_y": [None]}, "Row 1 .* no value in column 'probability_y'"),
        ({"probability_x": [-1.5], "probability_y": [-0.1]}, "Row 1 .* has -1.5 .* score of at least 0"),
    ],
)
def test_columns_that_are_refused(columns: dict[str, list[Any]], message: str) -> None:
    with pytest.raises(InputError, match=message):
        fc.read_votes(pd.DataFrame({"task": [1], "judge": ["a"], "label": ["x"], **columns}))


def test_named_columns_must_be_there() -> None:
    with pytest.raises(MissingColumnError, match="No column 'runs'"):
        fc.read_votes(frame(), run="runs")


def test_other_engines_refuse_what_they_would_ignore(tmp_path: Path) -> None:
    frame().to_csv(tmp_path / "votes.csv", index=False)
    with pytest.raises(InputError, match="has the columns 'probability', 'run', 'family', 'abstain' of judges"):
        read_votes_on_disk(tmp_path / "votes.csv")
    plain = read_votes_on_disk(
        tmp_path / "votes.csv", probability=False, run=False, family="none", abstained=False, on_duplicate="first"
    )
    assert plain.n_votes == 4


def test_recoding_and_selecting_keep_probabilities_in_step() -> None:
    votes = fc.read_votes(frame())
    longer = votes.with_classes(type(votes.classes).of(["maybe", "no", "yes"]))
    assert by_hand(longer)["a", "j2"] == pytest.approx({"maybe": 0, "no": 0.6, "yes": 0.4})
    kept = votes.select(np.array([False, False, True, True]))
    assert by_hand(kept).keys() == {("b", "j1"), ("b", "j3")}
    assert kept.judges is not None
    assert kept.judges.abstained is not None
    assert kept.judges.abstained.tolist() == [0.5]


def test_families_by_judge() -> None:
    plain = frame().drop(columns="family")
    votes = fc.read_votes(plain, family={"j1": "open", "j2": "open"})
    assert votes.judges is not None
    assert votes.judges.family is not None
    assert votes.judges.family.tolist() == [0, 0, 0, -1]
    with pytest.warns(DataWarning, match="family names judges that have no votes: 'j9'"):
        fc.read_votes(plain, family={"j1": "open", "j9": "open"})
    with pytest.raises(InputError, match="family names no judge that has votes, such as 'j1', 'j2', 'j3'"):
        fc.read_votes(plain, family={"j9": "open"})


def test_logs_of_judges_are_juries(platforms: Path) -> None:
    votes = fc.read_votes(platforms / "judges" / "promptfoo_export.json", family={"llm-rubric": "x"})
    assert votes.judges is not None
    assert votes.judges.families is not None
    assert votes.judges.families.to_list() == ["x"]
    assert set(fc.JuryVote().fit_predict(votes)) == {True}


def test_a_probability_without_a_label_is_explained() -> None:
    rows = pd.DataFrame({"task": [1, 1], "judge": ["a", "b"], "Probability": [0.9, 0.2]})
    with pytest.raises(MissingColumnError, match=r"'Probability' alone does not say which class .* probability_no\.$"):
        fc.read_votes(rows)
