"""Impact ratios of finished labels: the labels of a run, or those of anybody; counted again by hand."""

from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

import faircrowd as fc
from faircrowd.audit import impact_table
from faircrowd.runs.finished_labels.impact_file import has_finished_labels

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="module")
def crowd(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A crowd in files, with two columns of groups of which one is not known of three tasks."""
    folder = tmp_path_factory.mktemp("impact")
    drawn = fc.simulate_crowd(200, 20, random_state=1)
    drawn.votes.to_csv(folder / "votes.csv", index=False)
    people = pd.DataFrame({"sex": drawn.sensitive_features.map({0: "f", 1: "m"}), "race": drawn.truth.index % 3})
    people["race"] = people["race"].map({0: "a", 1: "b"}).where(people.index >= 3)
    people.rename_axis("task").to_csv(folder / "tasks.csv")
    return folder


def test_the_labels_of_a_run(crowd: Path, tmp_path: Path, faircrowd: Run) -> None:
    asked = ("--require", "parity(sex, label=1) <= 0.05", "--require", "rate(label=1) >= 0.2", "--method", "majority")
    given = (crowd / "votes.csv", "--tasks", crowd / "tasks.csv", "--group", "sex")
    code, _, err = faircrowd("aggregate", *given, *asked, "--out", tmp_path / "run", "--no-report")
    assert (code, err) == (0, "")
    table = ("--table", "ll144", "--selected", "1", "--out", tmp_path / "audit")
    columns = ("--tasks", crowd / "tasks.csv", "--group", "sex", "--group", "race")
    code, said, err = faircrowd("audit", tmp_path / "run" / "labels.csv", *columns, *table)
    assert (code, err) == (0, "")
    assert sorted(path.name for path in (tmp_path / "audit").iterdir()) == ["impact_ratios.csv"]
    written = pd.read_csv(tmp_path / "audit" / "impact_ratios.csv").set_index(["attribute", "category"])
    labels = pd.read_csv(tmp_path / "run" / "labels.csv", index_col="task")["label"]
    people = pd.read_csv(crowd / "tasks.csv", index_col="task").loc[labels.index]
    rates = labels.eq(1).groupby(people["sex"]).mean()
    for category, rate in rates.items():
        assert written.loc[("sex", category), "rate"] == pytest.approx(rate)
        assert written.loc[("sex", category), "ratio"] == pytest.approx(rate / rates.max())
    unknown = int(people["race"].isna().sum())
    assert written.loc[("race", "unknown"), "number"] == unknown
    assert f"race: {unknown} of 200 not known, and in none of the rates" in said
    fair = rates.max() - rates.min()
    own = (
        pd.read_csv(tmp_path / "run" / "labels.csv", index_col="task")["label_before"]
        .eq(1)
        .groupby(people["sex"])
        .mean()
    )
    assert fair < own.max() - own.min()  # it is about the fair labels, not about a fresh majority vote


def test_any_file_of_labels(tmp_path: Path, faircrowd: Run) -> None:
    table = pd.DataFrame(
        {"item": ["x", "y", "z", "w"], "answer": ["hire", "no", "hire", "no"], "sex": ["f", "f", "m", "m"]}
    )
    table.to_csv(tmp_path / "mine.csv", index=False)
    assert has_finished_labels(tmp_path / "mine.csv")
    given = ("--group", "sex", "--table", "ll144", "--selected", "hire", "--out", tmp_path / "out")
    code, said, err = faircrowd("audit", tmp_path / "mine.csv", *given)
    assert (code, err) == (0, "")
    assert "4 tasks, of which 2" in said
    expected = impact_table(table["answer"].tolist(), sensitive_features=table[["sex"]], selected="hire").table()
    pd.testing.assert_frame_equal(
        pd.read_csv(tmp_path / "out" / "impact_ratios.csv"),
        expected.to_pandas().assign(note=lambda found: found["note"].replace("", None)),
        check_dtype=False,
    )


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (("--selected", "7", "--group", "sex"), "'7' is not one of the labels"),
        (("--selected", "1"), "give --group COLUMN"),
        (("--selected", "1", "--group", "sexx"), "No column 'sexx'"),
        (("--selected", "1", "--group", "sex", "--truth", "truth"), "--truth is about votes, and"),
        (("--selected", "1", "--group", "sex", "--method", "glad"), "--method is about votes, and"),
        (("--group", "sex"), "needs --selected LABEL"),
    ],
)
def test_what_finished_labels_cannot_tell(
    crowd: Path, tmp_path: Path, faircrowd: Run, more: tuple[str, ...], message: str
) -> None:
    pd.DataFrame({"task": range(200), "label": [0, 1] * 100}).to_csv(tmp_path / "labels.csv", index=False)
    given = ("audit", tmp_path / "labels.csv", "--tasks", crowd / "tasks.csv", "--table", "ll144")
    code, out, err = faircrowd(*given, *more, "--out", tmp_path / "out")
    assert (code, out) == (2, "")
    assert message in err
    assert not (tmp_path / "out").exists()


def test_the_page_has_the_table_where_constraints_speak_of_one_label(tmp_path: Path) -> None:
    drawn = fc.simulate_crowd(200, 20, random_state=1)
    people = pd.DataFrame({"sex": drawn.sensitive_features, "unit": drawn.truth.index % 2}, index=drawn.truth.index)
    asked = ["parity(sex, label=1) <= 0.1", "rate(unit, label=1) >= 0.1"]
    for constraints, is_shown in (
        (asked, True),
        (asked[:1], False),
        (["parity(sex) <= 0.1", "rate(unit) >= 0.1"], False),
    ):
        fair = fc.FairCrowd(fc.MajorityVote(), constraints=constraints).fit(drawn.votes, sensitive_features=people)
        fair.report(tmp_path / "page.html")
        page = (tmp_path / "page.html").read_text()
        assert ('<section id="impact">' in page) == is_shown
        if is_shown:
            rate = fair.labels_.eq(1).groupby(people["sex"].reindex(fair.labels_.index)).mean()[0]
            assert f'<td class="n">{rate:.1%}</td>' in page
