"""What a fitted ``FairCrowd`` shows: its labels as in labels.csv, its charts and its score."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import faircrowd as fc
import notebook_objects
from faircrowd.constraints import parse_constraint
from faircrowd.errors import InputError, NotFittedError, OptionError


@pytest.mark.parametrize("make", [notebook_objects.fair, notebook_objects.constrained, notebook_objects.calibrated])
def test_frames_are_those_of_the_files(make: object, tmp_path: Path) -> None:
    fair = make()  # type: ignore[operator]
    fair.write(tmp_path, report=False)
    written = pd.read_csv(tmp_path / "labels.csv", dtype={"why": "str"})
    found = fair.to_frame(why=True)
    assert list(found) == list(written)
    assert list(fair.to_frame()) == [name for name in found if name != "why"]  # a sentence for each task is wide
    for name in found:
        pd.testing.assert_series_equal(found[name], written[name], check_dtype=False, rtol=1e-12)


def test_frames_of_workers_are_those_of_the_files(tmp_path: Path) -> None:
    fair = notebook_objects.fair()
    fair.write(tmp_path, report=False)
    written = pd.read_csv(tmp_path / "workers.csv")
    audited = fc.audit.audit_workers(fair.estimator_.votes_, posterior=fair.estimator_.posterior_.values).to_frame()
    for name in ("votes", "gap", "low", "high", "q_value", "influence", "verdict"):
        pd.testing.assert_series_equal(audited[name], written[name], check_dtype=False, rtol=1e-9)


def test_scores_are_shares_of_right_labels() -> None:
    crowd, fair = notebook_objects.crowd(), notebook_objects.fair()
    right = fair.labels_ == crowd.truth
    assert fair.score(crowd.truth) == right.mean()
    some = crowd.truth.sample(40, random_state=0)
    assert fair.score(some) == right.loc[some.index].mean()
    assert fair.score(some.to_dict()) == fair.score(some)
    assert fair.score(some.rename("truth").reset_index()) == fair.score(some)
    assert f"{fair.score(some):.1%} of the 40 tasks" in fair.summary(truth=some)


def test_scores_of_a_posterior() -> None:
    p = np.array([0.9, 0.8, 0.7, 0.6, 0.4, 0.3, 0.2, 0.1])
    groups = [1] * 4 + [0] * 4
    fair = fc.FairCrowd(epsilon=0.5, min_group=1).fit(np.stack([1 - p, p], axis=1), sensitive_features=groups)
    truth = [1, 1, 1, 1, 0, 0, 0, 0]
    assert fair.score(truth) == fair.score(np.array(truth)) == (fair.labels_ == truth).mean() == 0.75
    assert fair.score({0: 1, 3: 1}) == 0.5
    with pytest.raises(OptionError, match="truth has 3 values for 8 tasks"):
        fair.score([1, 0, 1])
    assert len(fair.to_frame()) == 8
    assert "FairCrowd" in fair._repr_html_()
    with pytest.raises(OptionError, match="Reliability compares"):
        fair.plot("reliability")
    assert fair.plot("reliability", truth=truth).title


def test_reviewed_tasks_count_as_right() -> None:
    crowd = notebook_objects.crowd()
    asked = [parse_constraint("parity <= 0.1"), parse_constraint("reviewed <= 0.1")]
    fair = fc.FairCrowd(fc.MajorityVote(), constraints=asked).fit(
        crowd.votes, sensitive_features=crowd.sensitive_features
    )
    reviewed = fair.result_.reviewed
    assert reviewed.any()
    labels = fair.labels_.astype(str)
    right = (labels == crowd.truth.astype(str)).to_numpy() | reviewed
    assert fair.score(crowd.truth) == right.mean()


def test_truth_may_be_a_column_of_the_tasks(tmp_path: Path) -> None:
    crowd = notebook_objects.crowd()
    tasks = pd.DataFrame({"task": crowd.truth.index, "group": crowd.sensitive_features, "answer": crowd.truth})
    tasks.to_csv(tmp_path / "tasks.csv", index=False)
    crowd.votes.to_csv(tmp_path / "votes.csv", index=False)
    fair = fc.FairCrowd(fc.DawidSkene()).fit(
        tmp_path / "votes.csv", sensitive_features="group", tasks=tmp_path / "tasks.csv"
    )
    assert fair.score("answer") == notebook_objects.fair().score(crowd.truth)
    assert fair.plot("frontier", truth="answer").to_dict()["data"]["values"][-1]["kind"] == "real"


def test_truth_of_other_tasks_is_refused() -> None:
    with pytest.raises(InputError, match="No task of the votes has a value in truth"):
        notebook_objects.fair().score({"nowhere": 1})


@pytest.mark.parametrize("chart", ["rates", "frontier", "posterior", "reliability", "workers"])
def test_charts(chart: str) -> None:
    truth = notebook_objects.crowd().truth
    assert notebook_objects.fair().plot(chart, truth=truth).to_dict()["data"]["values"]


def test_the_real_accuracy_is_drawn_where_it_is_known() -> None:
    fair, truth = notebook_objects.fair(), notebook_objects.crowd().truth
    rows = fair.plot("frontier", truth=truth).to_dict()["data"]["values"]
    assert {row["kind"] for row in rows} == {"believed", "real"}
    own = fair.estimator_.score(truth)
    assert next(row["accuracy"] for row in rows if row["kind"] == "real") == pytest.approx(own)


def test_reliability_of_a_calibrated_model_needs_no_truth() -> None:
    rows = notebook_objects.calibrated().plot("reliability").to_dict()["data"]["values"]
    assert {row["labels"] for row in rows} == {"before calibration", "after calibration"}


def test_before_fit() -> None:
    fair = fc.FairCrowd(fc.MajorityVote())
    for call in (fair.plot, fair.to_frame, lambda: fair.score({1: 0})):
        with pytest.raises(NotFittedError):
            call()
    assert "not fitted yet" in fair._repr_html_()
