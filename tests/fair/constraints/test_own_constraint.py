"""A constraint of the user's own, as docs/constraints.md shows it and with mistakes: from labels to files and back."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pytest

from faircrowd import FairCrowd, MajorityVote, make_fair, simulate_crowd
from faircrowd.cli.app import run
from faircrowd.constraints import ChangeBudget, Constraint, Difference, Range
from faircrowd.errors import OptionError
from faircrowd.fair import ConstrainedRule
from faircrowd.fair.constraints.quantities import Comparison, GroupedTasks
from faircrowd.runs.wording import spoken

CROWD = simulate_crowd(400, 30, random_state=2)
PEOPLE = pd.DataFrame({"sex": CROWD.sensitive_features.map({0: "f", 1: "m"})}).rename_axis("task")


@dataclass(frozen=True)
class PrecisionFloor(Constraint):
    floor: float
    label: object
    group: str | None = None
    is_about_truth = True
    compares_groups = False

    def comparisons(self, tasks: GroupedTasks) -> Sequence[Comparison]:
        k = self.code_of(self.label, tasks.classes)
        groups = [a for _, members in tasks.strata for a in members]
        margins = [tasks.labelled_where(a, k, k) - self.floor * tasks.labelled(a, k) for a in groups]
        return [Range(margins, low=0.0, about=f"precision of {self.label} minus {self.floor}")]


ASKED = [PrecisionFloor(0.85, 1, group="sex"), ChangeBudget(0.3)]


def test_its_text_says_all_that_it_was_given() -> None:
    assert str(ASKED[0]) == "PrecisionFloor(sex, label=1, floor=0.85)"
    said = f"'{ASKED[0]}' cannot be measured, with label='a'"
    assert spoken(said) == f"'{ASKED[0]}' cannot be measured, with --label a"


def test_files_of_a_run_and_back(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    fair = FairCrowd(MajorityVote(), constraints=ASKED, believed=True).fit(CROWD.votes, sensitive_features=PEOPLE)
    for name in ("f", "m"):  # kept, as counted by hand
        chosen = (fair.labels_ == 1) & (PEOPLE["sex"].reindex(fair.labels_.index) == name)
        assert fair.probas_.loc[chosen, 1].mean() >= 0.85 - 1e-9
    fair.write(tmp_path / "run", truth=CROWD.truth)
    rule = ConstrainedRule.from_json((tmp_path / "run" / "rule.json").read_text())
    assert rule.constraints == tuple(map(str, ASKED))
    expected = fair.rule_.predict(fair.probas_, PEOPLE)
    pd.testing.assert_series_equal(rule.predict(fair.probas_, PEOPLE), expected)
    pd.testing.assert_series_equal(fair.predict(CROWD.votes, sensitive_features=PEOPLE), expected)
    tasks = fair.probas_.add_prefix("posterior_").join(PEOPLE).reset_index()
    tasks["u"] = rule.uniforms(tasks["task"].tolist())
    found = duckdb.sql(f"SELECT {rule.to_sql(uniform='u')} AS label FROM tasks ORDER BY task").df()["label"]  # noqa: S608 - ours
    assert found.astype(int).tolist() == expected.sort_index().tolist()
    assert "PrecisionFloor(sex, label=1, floor=0.85)" in (tmp_path / "run" / "report.html").read_text()
    CROWD.votes.to_csv(tmp_path / "votes.csv", index=False)
    PEOPLE.to_csv(tmp_path / "tasks.csv")
    given = [str(tmp_path / name) for name in ("run/rule.json", "votes.csv")]
    more = ["--tasks", str(tmp_path / "tasks.csv"), "--out", str(tmp_path / "new.csv")]
    assert run(["apply", *given, *more]) == 0
    assert "'PrecisionFloor(sex, label=1, floor=0.85)' cannot be measured on these tasks" in capsys.readouterr().out
    labels = pd.read_csv(tmp_path / "new.csv", index_col="task")["label"]
    assert labels.sort_index().tolist() == expected.sort_index().tolist()


class NoDataclass(Constraint):
    def comparisons(self, tasks: GroupedTasks) -> Sequence[Comparison]:
        return [Range([tasks.rate(0, 0)], low=0.1)]


@dataclass(frozen=True)
class Returns(Constraint):
    what: Any
    group: str | None = "sex"

    def comparisons(self, tasks: GroupedTasks) -> Sequence[Comparison]:
        return self.what  # type: ignore[no-any-return]


@dataclass
class NotFrozen(Constraint):
    limits: list[float]
    group: str | None = None

    def comparisons(self, tasks: GroupedTasks) -> Sequence[Comparison]:
        return [Difference([tasks.rate(a, 1) for a in group], self.limits[0], "rate") for _, group in tasks.strata]


@pytest.mark.parametrize(
    ("constraint", "message"),
    [
        (NoDataclass(), r"NoDataclass is no dataclass.*write @dataclass\(frozen=True\) above"),
        (Returns(None), r"^Returns\(sex, what=None\): comparisons\(\) .* that of Returns returned None"),
        (Returns([3]), "that of Returns returned 3"),
        (Returns([]), "no two groups to compare"),
    ],
)
def test_mistakes_are_told(constraint: Constraint, message: str) -> None:
    posterior = MajorityVote().fit(CROWD.votes).probas_
    with pytest.raises(OptionError, match=message):
        make_fair(posterior, PEOPLE, constraints=[constraint])


def test_fields_that_are_not_hashable() -> None:
    posterior = MajorityVote().fit(CROWD.votes).probas_
    fair = make_fair(posterior, PEOPLE, constraints=[NotFrozen([0.05], group="sex")])
    rates = fair.labels.eq(1).groupby(PEOPLE["sex"].reindex(fair.labels.index)).mean()
    assert np.ptp(rates) <= 0.05 + 1 / 150
    with pytest.raises(OptionError, match="about the same; keep one"):
        make_fair(posterior, PEOPLE, constraints=[NotFrozen([0.05], group="sex")] * 2)
