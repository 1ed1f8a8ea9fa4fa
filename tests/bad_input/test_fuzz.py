"""Hostile values in every public function that takes data: a valid result, or an error of faircrowd; nothing else."""

import datetime
import json
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import faircrowd as fc
from faircrowd.report.evidence import read_evidence
from strategies import examples

MODELS = [
    fc.MajorityVote,
    fc.Wawa,
    fc.ZeroBasedSkill,
    fc.GoldMajorityVote,
    fc.DawidSkene,
    fc.OneCoinDawidSkene,
    fc.GLAD,
    fc.BayesVote,
]
HOSTILE: list[Any] = [
    None, float("nan"), float("inf"), -float("inf"), pd.NA, pd.NaT, "", " ", "\0", "x", "x ", "X", 0, 1, -1, 2**63,
    2**70, -(2**63), 1.0, -0.0, 1e308, 5e-324, True, False, b"\xff", (), (1, "a"), [], [1], {}, {1}, frozenset({1}),
    1 + 2j, object, datetime.date(2024, 2, 29), datetime.datetime(1, 1, 1), pd.Timestamp("2024-01-01", tz="UTC"),
    datetime.timedelta(1), np.float32(1.5), np.int8(3), np.datetime64("NaT"), np.array([1, 2]), "\ud800", "é",
    "e\u0301", "1", "nan", "a" * 1000,
]  # fmt: skip
values = st.sampled_from(HOSTILE)
SANE = ["a", "b", "c", 1, 2, True, 0.5]
sane = st.sampled_from(SANE)
settled = st.sampled_from([0, 1, 2, 5, 0.1, 0.5, 0.9, True, False, "first", "last", "error", "majority"])
cells = st.one_of(sane, sane, sane, values)
quick = settings(
    max_examples=examples(60),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)


@st.composite
def frames(draw: st.DrawFn, names: tuple[str, ...] = ("task", "worker", "label")) -> Any:
    """Draw a frame of hostile cells: pandas mostly, polars or pyarrow if they can hold it."""
    size = draw(st.integers(0, 8))
    kinds = [draw(st.sampled_from([cells, sane, sane])) for _ in names]
    columns = {
        name: draw(st.lists(kind, min_size=size, max_size=size)) for name, kind in zip(names, kinds, strict=True)
    }
    frame = pd.DataFrame({name: pd.Series(column, dtype=object) for name, column in columns.items()})
    kind = draw(st.sampled_from(["pandas", "pandas", "polars", "pyarrow", "dict", "columns"]))
    try:
        if kind == "polars":
            return pl.DataFrame(columns, strict=False)
        if kind == "pyarrow":
            return pa.table(columns)
    except Exception:  # the library cannot hold these
        return frame
    if kind == "dict":
        return columns
    return frame.drop(columns=draw(st.sampled_from(names))) if kind == "columns" else frame


@st.composite
def facts(draw: st.DrawFn) -> Any:
    """Draw groups or true labels by task, in any form that is accepted, and in some that are not."""
    tasks = SANE if draw(st.booleans()) else draw(st.lists(cells.filter(_hashable), max_size=6))
    column = draw(st.lists(draw(st.sampled_from([cells, sane])), min_size=len(tasks), max_size=len(tasks)))
    kind = draw(st.sampled_from(["dict", "dict", "series", "series", "frame", "list", "array", "name", "other"]))
    if kind == "dict":
        return dict(zip(tasks, column, strict=True))
    if kind == "series":
        return pd.Series(column, index=pd.Index(tasks, dtype=object), dtype=object)
    if kind == "frame":
        return pd.DataFrame({"task": pd.Series(tasks, dtype=object), "group": pd.Series(column, dtype=object)})
    if kind == "array":
        return np.array([str(cell) for cell in column])
    return column if kind == "list" else draw(st.sampled_from(["group", "label"]) if kind == "name" else values)


def _hashable(value: Any) -> bool:
    try:
        return hash(value) is not None
    except TypeError:
        return False


@st.composite
def arrays(draw: st.DrawFn) -> Any:
    """Draw a posterior: mostly numbers, often good ones, of a shape that may be wrong."""
    rows, columns = draw(st.integers(0, 6) | st.just(5)), draw(st.integers(0, 4) | st.just(2))
    numbers = st.one_of(st.floats(0, 1), st.floats(0, 1), st.floats(), st.sampled_from([0.0, 1.0, 0.5]))
    found = np.array([[draw(numbers) for _ in range(columns)] for _ in range(rows)]).reshape(rows, columns)
    if draw(st.booleans()) and found.size:
        found = np.abs(np.nan_to_num(found, nan=0.5, posinf=1, neginf=0)) % 1.0 + 1e-9
        found = found / found.sum(axis=1, keepdims=True)
    kind = draw(st.sampled_from(["array", "array", "frame", "list", "cells"]))
    if kind == "frame":
        names = draw(st.lists(cells.filter(_hashable), min_size=columns, max_size=columns))
        tasks = draw(st.lists(cells.filter(_hashable), min_size=rows, max_size=rows))
        return pd.DataFrame(found, columns=pd.Index(names, dtype=object), index=pd.Index(tasks, dtype=object))
    if kind == "cells":
        return draw(st.lists(st.lists(values, max_size=3), max_size=4))
    return found.tolist() if kind == "list" else found


def attempt(work: Callable[[], Any]) -> Any:
    """Return what work returns, or None if it is refused with a one-line message."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", fc.FaircrowdWarning)
        try:
            return work()
        except fc.FaircrowdError as error:
            message = str(error)
    assert len(message.splitlines()) == 1
    assert len(message) < 2000
    return None


@quick
@given(frames(), facts() | st.none(), st.sampled_from(["last", "first", "all", "error", "no"]))
def test_read_votes(votes: Any, groups: Any, policy: str) -> None:
    table = attempt(lambda: fc.read_votes(votes, sensitive_features=groups, on_duplicate=policy))
    if table is not None:
        assert table.n_votes + table.report.rows_aside == table.report.rows_read
        assert (np.diff(table.offsets) > 0).all()
        attempt(table.notes)
        repr(table)


@quick
@given(st.sampled_from(MODELS), frames(), facts(), frames())
def test_models(kind: Any, votes: Any, truth: Any, new: Any) -> None:
    taught = kind in (fc.GoldMajorityVote, fc.BayesVote)
    model = attempt(lambda: kind().fit(votes, *([truth] if taught else [])))
    if model is None:
        return
    check_shares(model.probas_)
    assert len(model.labels_) == model.votes_.n_tasks
    found = attempt(lambda: model.predict_proba(new))
    if found is not None:
        check_shares(found)


def check_shares(found: Any) -> None:
    numbers = found.select_dtypes("number") if isinstance(found, pd.DataFrame) else None
    if numbers is not None and numbers.size:
        np.testing.assert_allclose(numbers.to_numpy().sum(axis=1), 1.0, atol=1e-9)


@quick
@given(st.data(), arrays(), st.sampled_from(["accuracy", "accuracy", "f1", [[1, 0], [0, 1]], "x"]))
def test_make_fair(data: st.DataObject, posterior: Any, objective: Any) -> None:
    rows = len(posterior)
    groups = data.draw(
        st.lists(sane, min_size=rows, max_size=rows) | st.lists(cells, min_size=rows, max_size=rows) | facts()
    )
    epsilon = data.draw(st.sampled_from([0, 0.1, 1]) | values)
    fair = attempt(lambda: fc.make_fair(posterior, groups, epsilon=epsilon, objective=objective))
    if fair is not None:
        assert fair.certificate.gap >= 0
        json.loads(json.dumps(fair.certificate.to_dict(), allow_nan=False))
        text = attempt(fair.rule.to_json)
        again = attempt(lambda: fair.rule.predict(posterior, groups))
        assert again is None or len(again) == len(fair.labels)
        assert text is None or fc.FairRule.from_json(text).to_json() == text


@quick
@given(
    st.integers(1, 6).flatmap(
        lambda n: st.tuples(
            st.lists(st.floats(0, 1), min_size=n, max_size=n),
            st.lists(st.floats(0.1, 10) | settled, min_size=n, max_size=n) | st.lists(values, min_size=n, max_size=n),
        )
    )
)
def test_make_fair_by_weight(given: Any) -> None:
    shares, weights = np.array(given[0]), given[1]
    posterior = np.stack([1 - shares, shares], axis=1)
    groups = [str(i % 2) for i in range(shares.size)]
    attempt(lambda: fc.make_fair(posterior, groups, epsilon=0.1, sample_weight=weights))
    attempt(lambda: fc.make_fair(posterior, groups, epsilon=0.1, evidence=weights))
    attempt(lambda: fc.make_fair(posterior, groups, epsilon=0.1, log_posterior=[weights, weights]))


@quick
@given(frames(), facts())
def test_fair_crowd(votes: Any, groups: Any) -> None:
    fair = attempt(lambda: fc.FairCrowd(fc.MajorityVote(), epsilon=0.1).fit(votes, sensitive_features=groups))
    if fair is not None:
        assert len(fair.labels_) == len(fair.estimator_.labels_)
        attempt(lambda: fair.predict(votes, sensitive_features=groups))


@quick
@given(st.sampled_from(MODELS), st.data())
def test_parameters(kind: Any, data: st.DataObject) -> None:
    votes = pd.DataFrame({"task": [1, 1, 2, 2], "worker": ["a", "b", "a", "b"], "label": ["x", "y", "x", "x"]})
    name = data.draw(st.sampled_from(sorted(kind().get_params())))
    model = kind().set_params(**{name: data.draw((values | settled).filter(lambda value: not _is_large(value)))})
    truth = [{1: "x"}] if kind in (fc.GoldMajorityVote, fc.BayesVote) else []
    fitted = attempt(lambda: model.fit(votes, *truth))
    if fitted is not None:
        check_shares(fitted.probas_)


def _is_large(value: Any) -> bool:
    return type(value) is int and value > 1000  # more tasks, or rounds, than one can wait for


@quick
@given(st.data())
def test_simulate_crowd(data: st.DataObject) -> None:
    names = ["n_tasks", "n_workers", "votes_per_task", "group_shares", "class_shares", "skill_ranges", "random_state"]
    small = {"n_tasks": 5, "n_workers": 4, "votes_per_task": 2}
    name = data.draw(st.sampled_from(names))
    drawn = (values if name[0] != "n" else values.filter(lambda value: not _is_large(value))) | arrays() | settled
    options = {**small, name: data.draw(drawn)}
    crowd = attempt(lambda: fc.simulate_crowd(**options))
    if crowd is not None:
        assert set(crowd.votes["task"]) <= set(crowd.truth.index)


@quick
@given(st.data())
def test_documents(tmp_path: Path, data: st.DataObject) -> None:
    """Good documents with a hostile value somewhere."""
    votes = pd.DataFrame({"task": [1, 1, 2, 2], "worker": ["a", "b", "a", "b"], "label": ["x", "y", "x", "x"]})
    model = fc.DawidSkene().fit(votes)
    fc.save_model(model, tmp_path)
    (tmp_path / "evidence.json").write_text(json.dumps({"kind": "faircrowd.evidence", "schema": 1, "options": {}}))
    rule = fc.make_fair([[0.9, 0.1], [0.5, 0.5], [0.2, 0.8]], ["g", "h", "h"], epsilon=0.1, decision="randomized").rule
    attempt(lambda: fc.FairRule.from_json(edited(rule.to_json(), data)))
    for name, read in (("model.json", fc.load_model), ("evidence.json", read_evidence)):
        (tmp_path / name).write_text(edited((tmp_path / name).read_text(), data))
        found = attempt(lambda read=read: read(tmp_path))
        if name == "model.json" and found is not None:
            attempt(lambda found=found: found.predict_proba(votes))


def edited(text: str, data: st.DataObject) -> str:
    """Put a hostile value somewhere in a document of JSON."""
    root = at = json.loads(text)
    while True:
        key = data.draw(st.sampled_from(sorted(at) if isinstance(at, dict) else range(len(at))))
        if not isinstance(at[key], dict | list) or not at[key] or data.draw(st.booleans()):
            break
        at = at[key]
    plain = [
        None,
        True,
        -1,
        2**70,
        1e308,
        float("inf"),
        float("nan"),
        "",
        "x",
        [],
        {},
        [[]],
        {"bytes": "zz"},
        [None],
        0.5,
    ]
    at[key] = data.draw(st.sampled_from(plain))
    return json.dumps(root)


@pytest.mark.parametrize("thing", [*HOSTILE, np.zeros((2, 2)), pd.Series([1]), iter([1]), open])
def test_things_that_are_no_votes(thing: Any) -> None:
    assert attempt(lambda: fc.read_votes(thing)) is None
    assert attempt(lambda: fc.MajorityVote().fit(thing)) is None
    assert attempt(lambda: fc.load_model(thing)) is None
    assert attempt(lambda: fc.FairRule.from_json(thing)) is None


def test_an_empty_path_is_not_the_folder_one_is_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(fc.FaircrowdError, match=r"^The path of a file to read is empty\.$"):
        fc.read_votes("")


@pytest.mark.parametrize("name", [None, float("nan"), pd.NA, pd.NaT, 0, (1, 2)])
def test_columns_without_a_name(name: Any) -> None:
    votes = pd.DataFrame([[1, "a", "x", 0], [1, "b", "x", 0]])
    votes.columns = pd.Index(["task", "worker", "label", name], dtype=object)
    assert fc.read_votes(votes).n_votes == 2
    with pytest.raises(fc.FaircrowdError, match="No column 'lable'"):
        fc.read_votes(votes, label="lable")
