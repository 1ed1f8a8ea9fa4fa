"""One rule: facts about tasks go by id where ids are known; numbers that are no ids are refused."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

import faircrowd as fc
from faircrowd import audit
from faircrowd.aggregate.calibration.reliability import calibration_error, reliability
from faircrowd.audit.majority.majority_gap import crowd_gap
from faircrowd.errors import InputError
from faircrowd.votes import Vocabulary
from faircrowd.votes.alignment import check_index, in_order_of

N = 120
MADE = fc.simulate_crowd(N, 12, random_state=0)
IDS = [f"t{i:03d}" for i in np.random.default_rng(0).permutation(N)]
"""The id of each task: sorted, they are in another order."""
VOTES = MADE.votes.assign(task=[IDS[i] for i in MADE.votes["task"]])
TRUTH = pd.Series(MADE.truth.to_numpy(), index=pd.Index(IDS, name="task"), name="truth")
GROUPS = pd.Series(MADE.sensitive_features.to_numpy(), index=TRUTH.index, name="group")
WEIGHTS = pd.Series(np.linspace(1, 2, N), index=TRUTH.index)
TABLE = fc.read_votes(VOTES, sensitive_features=GROUPS)
POSTERIOR = fc.MajorityVote().fit(VOTES).probas_
LABELS = fc.MajorityVote().fit(VOTES).labels_
RESULT = fc.make_fair(POSTERIOR, GROUPS, epsilon=0.5)
RIGHT = LABELS.sort_index() == TRUTH.sort_index()
SURE = POSTERIOR.max(axis=1)

Call = Callable[[pd.Series], Any]

BY_ID: dict[str, tuple[pd.Series, Call]] = {
    # what goes by id, and a function of it whose result must not depend on its order
    "read_votes": (GROUPS, lambda s: fc.read_votes(VOTES, sensitive_features=s).group.tolist()),
    "FairCrowd.fit": (
        GROUPS,
        lambda s: fc.FairCrowd(fc.MajorityVote()).fit(VOTES, sensitive_features=s).certificate_.rates,
    ),
    "FairCrowd.fit of a posterior": (
        GROUPS,
        lambda s: fc.FairCrowd().fit(POSTERIOR, sensitive_features=s).certificate_.rates,
    ),
    "FairCrowd.summary": (
        TRUTH,
        lambda s: fc.FairCrowd(fc.MajorityVote()).fit(VOTES, sensitive_features=GROUPS).summary(truth=s),
    ),
    "make_fair": (GROUPS, lambda s: fc.make_fair(POSTERIOR, s, epsilon=0.05).certificate.rates),
    "make_fair, weights": (
        WEIGHTS,
        lambda s: fc.make_fair(POSTERIOR, GROUPS, epsilon=0.05, sample_weight=s).certificate.value,
    ),
    "make_fair, evidence": (
        pd.Series(np.arange(N), index=TRUTH.index),
        lambda s: fc.make_fair(POSTERIOR, GROUPS, epsilon=0.05, evidence=s).labels.tolist(),
    ),
    "rule.predict": (GROUPS, lambda s: RESULT.rule.predict(POSTERIOR, s).tolist()),
    "certificate.verify": (RESULT.labels, lambda s: RESULT.certificate.verify(POSTERIOR, GROUPS, s)),
    "DawidSkene.fit": (TRUTH[:60], lambda s: fc.DawidSkene().fit(VOTES, s).labels_.tolist()),
    "BayesVote.fit": (TRUTH[:60], lambda s: fc.BayesVote().fit(VOTES, s).labels_.tolist()),
    "GoldMajorityVote.fit": (TRUTH[:60], lambda s: fc.GoldMajorityVote().fit(VOTES, s).labels_.tolist()),
    "CalibratedCrowd.fit": (TRUTH[:80], lambda s: fc.CalibratedCrowd(fc.MajorityVote()).fit(VOTES, s).accuracy_),
    "audit_workers, groups": (GROUPS, lambda s: audit.audit_workers(VOTES, sensitive_features=s).counts.tolist()),
    "audit_workers, truth": (TRUTH, lambda s: np.nan_to_num(audit.audit_workers(TABLE, truth=s).accuracy).tolist()),
    "audit_crowd, labels": (LABELS, lambda s: audit.audit_crowd(TABLE, s).interval),
    "audit_crowd, truth": (
        TRUTH,
        lambda s: np.nan_to_num(audit.audit_crowd(TABLE, LABELS, truth=s).workers.accuracy).tolist(),
    ),
    "audit_crowd, control": (
        TRUTH,
        lambda s: audit.audit_crowd(TABLE, LABELS, control=s).strata.strata.to_dict(),  # type: ignore[union-attr]
    ),
    "crowd_gap": (
        TRUTH,
        lambda s: crowd_gap(TABLE, np.full((TABLE.n_workers, 2, 2), 0.7), truth=s).observed.strict.tolist(),
    ),
    "check_labels": (LABELS, lambda s: audit.check_labels(s, GROUPS, epsilon=0.1)),
    "check_labels, groups": (GROUPS, lambda s: audit.check_labels(LABELS, s, epsilon=0.1)),
    "by_group": (GROUPS, lambda s: audit.by_group(LABELS, sensitive_features=s).to_dict()),
    "by_group, truth": (TRUTH, lambda s: audit.by_group(LABELS, sensitive_features=GROUPS, y_true=s).to_dict()),
    "by_group, strata": (
        TRUTH,
        lambda s: audit.by_group(LABELS, sensitive_features=GROUPS, control_features=s).to_dict(),
    ),
    "conditional_gaps": (
        TRUTH,
        lambda s: audit.conditional_gaps(LABELS, sensitive_features=GROUPS, control_features=s).strata.to_dict(),
    ),
    "selection_rate": (WEIGHTS, lambda s: audit.selection_rate(None, LABELS, sample_weight=s)),
    "demographic_parity_difference": (
        GROUPS,
        lambda s: audit.demographic_parity_difference(None, LABELS, sensitive_features=s),
    ),
    "demographic_parity_ratio": (GROUPS, lambda s: audit.demographic_parity_ratio(None, LABELS, sensitive_features=s)),
    "equal_opportunity_difference": (
        TRUTH,
        lambda s: audit.equal_opportunity_difference(s, LABELS, sensitive_features=GROUPS),
    ),
    "equal_opportunity_ratio": (
        TRUTH,
        lambda s: audit.equal_opportunity_ratio(s, LABELS, sensitive_features=GROUPS),
    ),
    "equalized_odds_difference": (
        TRUTH,
        lambda s: audit.equalized_odds_difference(s, LABELS, sensitive_features=GROUPS),
    ),
    "equalized_odds_ratio": (GROUPS, lambda s: audit.equalized_odds_ratio(TRUTH, LABELS, sensitive_features=s)),
    "reliability": (RIGHT, lambda s: reliability(SURE, s).right.tolist()),
    "calibration_error": (RIGHT, lambda s: calibration_error(SURE, s)),
}


@pytest.mark.parametrize("name", BY_ID)
def test_the_order_does_not_matter_where_ids_are_known(name: str) -> None:
    facts, call = BY_ID[name]
    expected = call(facts)
    for seed in (1, 2):
        assert call(facts.sample(frac=1, random_state=seed)) == expected


@pytest.mark.parametrize("name", BY_ID)
def test_a_series_that_is_numbered_is_refused(name: str) -> None:
    """Its positions may fit the number of tasks, and still be those of other tasks."""
    facts, call = BY_ID[name]
    with pytest.raises(InputError, match=r"is numbered 0, 1, 2, \.\.\.|have an index each|do the task ids match"):
        call(pd.Series(facts.to_numpy()))


def test_a_posterior_of_another_order() -> None:
    expected = audit.audit_workers(TABLE, posterior=POSTERIOR).confusion
    moved = POSTERIOR.sample(frac=1, random_state=3)[POSTERIOR.columns[::-1]]
    np.testing.assert_array_equal(audit.audit_workers(TABLE, posterior=moved).confusion, expected)
    with pytest.raises(InputError, match="posterior must have the tasks and the classes of the votes"):
        audit.audit_workers(TABLE, posterior=POSTERIOR.rename(index={IDS[0]: "stranger"}))


def test_dicts_and_frames_go_by_id_too() -> None:
    frame = TRUTH.sample(frac=1, random_state=5).reset_index()
    expected = np.nan_to_num(audit.audit_workers(TABLE, truth=TRUTH).accuracy)
    for given in (TRUTH.to_dict(), frame):
        np.testing.assert_array_equal(np.nan_to_num(audit.audit_workers(TABLE, truth=given).accuracy), expected)
    gap = audit.audit_crowd(TABLE, LABELS).interval.gap
    assert audit.audit_crowd(TABLE, LABELS.to_dict()).interval.gap == gap
    assert audit.audit_crowd(TABLE, LABELS.sample(frac=1, random_state=1).reset_index()).interval.gap == gap


def test_arrays_of_codes_go_by_position() -> None:
    codes = TABLE.classes.code_of(np.asarray(TRUTH.loc[TABLE.tasks.to_list()]))
    expected = np.nan_to_num(audit.audit_workers(TABLE, truth=TRUTH).accuracy)
    np.testing.assert_array_equal(np.nan_to_num(audit.audit_workers(TABLE, truth=codes).accuracy), expected)


def test_labels_that_lack_a_task_or_are_no_class() -> None:
    with pytest.raises(InputError, match=r"1 of 120 tasks have no label: 't"):
        audit.audit_crowd(TABLE, LABELS[1:])
    with pytest.raises(InputError, match="120 labels are none of the classes of the votes"):
        audit.audit_crowd(TABLE, LABELS.astype(str) + "?")
    with pytest.raises(InputError, match="labels needs a class code for each of the 120 tasks"):
        audit.audit_crowd(TABLE, np.zeros(5, dtype=int))
    with pytest.raises(InputError, match="No task has a truth that is a label of the votes"):
        audit.audit_workers(TABLE, truth={"nobody": 1})
    with pytest.raises(InputError, match="sample_weight has no number for 1 of 120 tasks"):
        fc.make_fair(POSTERIOR, GROUPS, epsilon=0.1, sample_weight=WEIGHTS[1:])


def test_a_frame_of_votes_is_audited() -> None:
    found = audit.audit_workers(VOTES, sensitive_features=GROUPS)
    np.testing.assert_array_equal(found.counts, audit.audit_workers(TABLE).counts)
    with pytest.raises(InputError, match="The votes have no groups"):
        audit.audit_workers(VOTES)


def test_a_whole_table_of_tasks_is_not_taken_for_groups() -> None:
    tasks = pd.DataFrame({"group": GROUPS, "truth": TRUTH}).reset_index()
    with pytest.raises(InputError, match="would define groups, also 'truth'; give only those that do"):
        fc.read_votes(VOTES, sensitive_features=tasks)
    with pytest.raises(InputError, match="would define groups, also 'truth'"):
        audit.by_group(LABELS, sensitive_features=tasks)
    with pytest.raises(InputError, match="would define groups, also 'task'"):
        audit.by_group(LABELS.to_numpy(), sensitive_features=tasks[["task", "group"]])
    # A table with the task and its groups goes by the task.
    expected = audit.by_group(LABELS, sensitive_features=GROUPS).to_dict()
    assert audit.by_group(LABELS, sensitive_features=tasks[["task", "group"]]).to_dict() == expected


@pytest.mark.parametrize(
    ("ids", "length", "fits"),
    [
        (range(5), 5, True),
        (range(5), 3, True),  # true labels of the first tasks, whose ids are numbers
        ([0, 2, 4], 5, True),  # every task is among the numbers
        ([1, 2, 3, 4, 5], 5, False),  # one further
        (["0", "1"], 2, True),
        (list("ab"), 2, False),
        ([7], 1, False),
    ],
)
def test_when_numbers_are_ids(ids: Any, length: int, fits: bool) -> None:
    tasks = Vocabulary.of(list(ids))
    series = pd.Series(np.zeros(length))
    if fits:
        check_index(series, tasks, "truth")
    else:
        with pytest.raises(InputError, match=r"^truth is a Series without an index of its own"):
            check_index(series, tasks, "truth")
    for named in (series.rename_axis("task"), series.set_axis(range(1, length + 1)), series.to_numpy(), {}, None):
        check_index(named, tasks, "truth")


def test_rows_in_the_order_of_others() -> None:
    one = pd.Series([1, 2, 3], index=list("abc"))
    other = pd.Series([30, 10, 20, 40], index=list("cabd"))
    assert in_order_of(one, other, "other").tolist() == [10, 20, 30]
    assert in_order_of(one, other.to_frame("x"), "other")["x"].tolist() == [10, 20, 30]
    assert in_order_of(one, {"x": other}, "other")["x"].tolist() == [10, 20, 30]
    array = np.array([5, 6, 7])
    assert in_order_of(one, array, "other") is array
    assert in_order_of(array, other, "other") is other
    assert in_order_of(one, one.set_axis(one.index), "other").tolist() == [1, 2, 3]
    for bad in (other[:2], other.set_axis(list("aabc")), other.set_axis(range(4))):
        with pytest.raises(InputError, match=r"^other and y_pred have an index each"):
            in_order_of(one, bad, "other")
