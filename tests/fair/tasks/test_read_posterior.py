"""Reading a posterior: what is taken, at the borders, and the words with which the rest is refused."""

import re
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from faircrowd.errors import InputError, OptionError
from faircrowd.fair.tasks.read_posterior import (
    RowNumbers,
    check_groups,
    check_posterior,
    encode_in_order,
    label_codes,
    read_posterior,
)
from faircrowd.votes import Vocabulary

P = np.array([[0.9, 0.1], [0.2, 0.8], [0.5, 0.5]])
GROUPS = [0, 1, 0]
FRAME = pd.DataFrame(P, index=pd.Index(["a", "b", "c"], name="task"), columns=["no", "yes"])


def refuses(said: str, posterior: Any = P, groups: Any = GROUPS, **more: Any) -> None:
    with pytest.raises(InputError, match=f"^{re.escape(said)}$"):
        read_posterior(posterior, groups, **more)


# What a posterior may be.


def test_an_array() -> None:
    found = read_posterior(posterior=P.tolist(), sensitive_features=GROUPS)
    assert found.as_array
    assert (found.tasks.to_list(), found.classes.to_list(), found.groups.to_list()) == ([0, 1, 2], [0, 1], [0, 1])
    np.testing.assert_array_equal(found.posterior, P)
    assert found.group.tolist() == GROUPS
    assert found.own.tolist() == [0, 1, 0]
    assert (found.weights, found.log_odds, found.evidence, found.ties) == (None, None, None, "first")
    assert read_posterior(P, GROUPS, ties="last").own.tolist() == [0, 1, 1]


@pytest.mark.parametrize("kind", ["index", "column", "index of two columns", "polars"])
def test_a_frame(kind: str) -> None:
    given = {
        "index": FRAME,
        "column": FRAME.reset_index(),
        "index of two columns": FRAME.set_index("yes", append=True).reset_index("yes")[["no", "yes"]],
        "polars": pl.DataFrame({"no": P[:, 0], "task": ["a", "b", "c"], "yes": P[:, 1]}),
    }[kind]
    found = read_posterior(given, {"b": 1, "a": 0, "c": 0})
    assert not found.as_array
    assert (found.tasks.to_list(), found.classes.to_list()) == (["a", "b", "c"], ["no", "yes"])
    np.testing.assert_array_equal(found.posterior, P)
    assert found.group.tolist() == GROUPS
    labels = found.labels(found.own)
    assert isinstance(labels, pl.DataFrame if kind == "polars" else pd.Series)
    assert label_codes(found, labels).tolist() == [0, 1, 0]


def test_columns_without_a_name_are_refused() -> None:
    said = "The posterior has a column without a name; its columns are the classes."
    refuses(said, FRAME.set_axis(["no", None], axis=1))


def test_arrays_of_other_shapes_are_refused() -> None:
    refuses("A posterior is a frame or an array of tasks x classes; got shape (2,).", [0.5, 0.5])
    refuses("A posterior is a frame or an array of tasks x classes; got shape (1, 3, 2).", P[None])
    refuses("A posterior needs at least one task and two classes; got 3 x 1.", np.ones((3, 1)))
    refuses("A posterior needs at least one task and two classes; got 0 x 2.", np.ones((0, 2)), [])
    said = "A posterior must hold numbers only, the same number in each row."
    refuses(said, [[0.5, 0.5], [1.0]])
    refuses(said, [["a", "b"]])
    refuses(said, [[{}, None]])


def test_one_task_will_do() -> None:
    check_posterior(np.array([[0.5, 0.5]]), RowNumbers(1))
    assert read_posterior([[0.5, 0.5]], ["a"], one_group_will_do=True).n_groups == 1


# Rows that are distributions: each of the three rows is spoilt in turn.

ROWS = [
    ([0.5, 0.5 + 0.9e-6], None),
    ([0.5, 0.5 - 0.9e-6], None),
    ([0.0, 1.0], None),
    ([-0.0, 1.0], None),
    ([0.5, 0.5 + 1.1e-6], "sums to 1.0000011, not to 1; normalise its row."),
    ([0.5, 0.4], "sums to 0.9, not to 1; normalise its row."),
    ([0.75, 0.5], "sums to 1.25, not to 1; normalise its row."),
    ([1.5, -0.5], "holds -0.5; probabilities are from 0 to 1."),
    ([-1e-300, 1.0], "holds -1e-300; probabilities are from 0 to 1."),
    ([0.0, np.nan], "holds nan; probabilities are from 0 to 1."),
    ([-0.5, np.nan], "holds -0.5; probabilities are from 0 to 1."),
    ([np.inf, 0.5], "holds inf; probabilities are from 0 to 1."),
    ([0.5, -np.inf], "holds -inf; probabilities are from 0 to 1."),
]


@pytest.mark.parametrize(("row", "said"), ROWS, ids=str)
@pytest.mark.parametrize("at", [0, 2])
def test_each_row_is_a_distribution(row: list[float], said: str | None, at: int) -> None:
    posterior = P.copy()
    posterior[at] = row
    if said is None:
        read_posterior(posterior, GROUPS)
    else:
        refuses(f"The posterior of task {at} {said}", posterior)
        frame = pd.DataFrame(posterior, index=FRAME.index)
        refuses(f"The posterior of task {'abc'[at]!r} {said}", frame)


@pytest.mark.parametrize("n_classes", [3, 4, 10])
def test_probabilities_of_six_digits_are_read(n_classes: int) -> None:
    """Each may be off by half a millionth, and all of them to the same side."""
    exact = np.full(n_classes, 1 / n_classes)
    for error in (0.5e-6, -0.5e-6):
        some = np.vstack([exact, exact + error])
        assert abs(some[1].sum() - 1) > 1e-6
        assert read_posterior(some, ["a", "b"]).posterior.tolist() == some.tolist()
    with pytest.raises(InputError, match=r"task 1 sums to .*, not to 1; normalise its row"):
        read_posterior(np.vstack([exact, exact + 0.51e-6]), ["a", "b"])
    rng = np.random.default_rng(n_classes)
    read_posterior(rng.dirichlet(np.ones(n_classes), 2000).round(6), np.arange(2000) % 2)


# Tasks.


def test_ids_keep_their_order_and_differ() -> None:
    assert encode_in_order(np.array(["b", "a", "c"], dtype=object)).to_list() == ["b", "a", "c"]
    assert encode_in_order(np.array([3, 1, 2])).to_list() == [3, 1, 2]
    assert len(encode_in_order(np.array([], dtype=np.int64))) == 0
    ids = ["f", "a", "b", "c", "d", "e", "x", *"fabcde"]
    said = "The posterior has several rows for 'a', 'b', 'c', 'd', 'e' and 1 more; a task has one."
    with pytest.raises(InputError, match=f"^{re.escape(said)}$"):
        encode_in_order(np.array(ids, dtype=object))
    with pytest.raises(InputError, match=r"^The posterior has rows without a task id\.$"):
        encode_in_order(np.array(["a", None, "b"], dtype=object))


def test_groups_are_two() -> None:
    check_groups(Vocabulary.of(["a", "b"]))
    said = "Parity compares groups, and all tasks are of group 'x'; give a column with at least two groups."
    refuses(said, groups=["x"] * 3)
    assert read_posterior(P, ["x"] * 3, one_group_will_do=True).group.tolist() == [0, 0, 0]
    with pytest.raises(OptionError, match="ties='both' is not known"):
        read_posterior(P, GROUPS, ties="both")


# Labels of tasks.


def test_labels_by_position_or_by_task() -> None:
    plain, named = read_posterior(P, GROUPS), read_posterior(FRAME, dict(zip("abc", GROUPS, strict=True)))
    for given in ([1, 0, 1], np.array([1, 0, 1])):
        assert label_codes(plain, given).tolist() == [1, 0, 1]
    assert label_codes(named, ["yes", "no", "yes"]).tolist() == [1, 0, 1]
    assert label_codes(named, {"c": "yes", "a": "yes", "z": "yes", "b": "no"}).tolist() == [1, 0, 1]
    for wrong in (["yes", "no"], ["yes", "no", "perhaps"], {"a": "yes", "b": "no"}, {"a": "x", "b": "no", "c": "no"}):
        with pytest.raises(InputError, match=r"^Every task needs a label, one of the classes of the posterior\.$"):
            label_codes(named, wrong)


# Weights, evidence, logarithms.


def test_weights() -> None:
    found = read_posterior(P, GROUPS, sample_weight=[1, 2.5, 1e-9]).weights
    assert found is not None
    assert found.tolist() == [1, 2.5, 1e-9]
    assert read_posterior(P, GROUPS, sample_weight=[3, 3, 3]).weights is None
    for wrong in ([1, 0, 1], [1, -1, 1]):
        refuses("sample_weight must be positive; leave out tasks that should not count.", sample_weight=wrong)
    for wrong in ([1, np.nan, 1], [1, np.inf, 1]):
        refuses("sample_weight holds NaN or infinity; give a number for each task.", sample_weight=wrong)
    for wrong in (["a", "b", "c"], [1, [2], 3], object()):
        refuses("sample_weight must hold numbers only, one per task.", sample_weight=wrong)
    refuses("sample_weight needs one number for each of the 3 tasks; got shape (2,).", sample_weight=[1, 2])
    refuses("sample_weight needs one number for each of the 3 tasks; got shape (3, 1).", sample_weight=[[1], [2], [3]])


def test_evidence() -> None:
    found = read_posterior(P, GROUPS, evidence=[2**53 - 1, 0, 3.0]).evidence
    assert found is not None
    assert found.dtype == np.int64
    assert found.tolist() == [2**53 - 1, 0, 3]
    said = "evidence is the number of votes of each task; one of them is too large for that."
    for wrong in ([1, 2**53, 1], [1, -(2.0**53), 1]):
        refuses(said, evidence=wrong)
    refuses("evidence needs one number for each of the 3 tasks; got shape (4,).", evidence=[1] * 4)


def test_logarithms() -> None:
    """They go by task and class where both have names, and by position where one has none."""
    logs = np.array([[0.0, -50.0], [-40.0, 0.0], [-1.0, -3.0]])
    wanted = [-50.0, 40.0, -2.0]
    frame = pd.DataFrame(logs, index=FRAME.index, columns=FRAME.columns)
    groups = dict(zip("abc", GROUPS, strict=True))
    mixed = frame.iloc[[2, 0, 1], [1, 0]]
    for posterior, given in [(P, logs), (FRAME, logs), (P, frame), (FRAME, frame), (FRAME, mixed)]:
        found = read_posterior(posterior, GROUPS if posterior is P else groups, log_posterior=given)
        assert found.log_odds is not None
        assert found.log_odds.tolist() == wanted
        assert found.own.tolist() == [0, 1, 0]
    assert read_posterior(P, GROUPS, log_posterior=-logs).own.tolist() == [1, 0, 1]  # they decide
    three = np.full((3, 3), 1 / 3)
    assert read_posterior(three, GROUPS, log_posterior=np.log(three)).log_odds is None


def test_logarithms_that_do_not_fit_are_refused() -> None:
    needs = "log_posterior needs a number for each of 3 tasks and 2 classes; got "
    refuses(f"{needs}2 x 2.", log_posterior=np.log(P[:2]))
    refuses(f"{needs}3 x 4.", log_posterior=np.zeros((3, 4)))
    refuses(f"{needs}1,200 x 2.", log_posterior=np.zeros((1200, 2)))
    said = "log_posterior holds NaN, or a task whose classes are all impossible."
    for row in ([np.nan, 0.0], [-np.inf, -np.inf], [0.0, np.inf]):
        refuses(said, log_posterior=[[0.0, 0.0], [0.0, 0.0], row])
    groups = dict(zip("abc", GROUPS, strict=True))
    said = "log_posterior must have the tasks and the classes of the posterior."
    refuses(said, FRAME, groups, log_posterior=np.log(FRAME).rename(index={"a": "z"}))
    refuses(said, FRAME, groups, log_posterior=np.log(FRAME).rename(columns={"no": "nay"}))
    read_posterior(P, GROUPS, log_posterior=[[0.0, -np.inf], [-np.inf, 0.0], [0.0, 0.0]])


@pytest.mark.parametrize("ties", ["first", "last"])
def test_logarithms_of_many_classes_tell_rounded_ones_apart(ties: str) -> None:
    values = np.array([[0.5, 0.5, 0.0], [0.5, 0.5, 0.0], [0.2, 0.3, 0.5], [0.4, 0.4, 0.2]])
    logs = np.log(np.maximum(values, 1e-9))
    logs[0, 1] += 1e-12
    logs[1, 0] += 1e-12
    logs[2, 0] += 5  # contradicts the posterior, which decides
    own = read_posterior(values, [0, 1, 0, 1], log_posterior=logs, ties=ties).own
    assert own.tolist() == [1, 0, 2, 0 if ties == "first" else 1]
