"""Properties that every aggregator has."""

import json
import os
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pandas.testing import assert_frame_equal, assert_series_equal

import crowds
import faircrowd.engines.local
from crowds import CASES, Case, Crowd, simulated
from faircrowd.aggregate.registry import AGGREGATORS
from faircrowd.errors import ConvergenceWarning, InputError, NotFittedError, OptionError
from strategies import examples

all_cases = pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
all_em = pytest.mark.parametrize(
    "case", [case for case in CASES.values() if case.is_em], ids=[name for name, case in CASES.items() if case.is_em]
)


def random_crowd(n_tasks: int, n_workers: int, n_classes: int, seed: int) -> Crowd:
    """Return random votes, one to four per task: with ties, workers of one vote, and rare classes."""
    rng = np.random.default_rng(seed)
    rows = [
        (task, worker, int(rng.integers(n_classes)))
        for task in range(n_tasks)
        for worker in rng.choice(n_workers, size=rng.integers(1, min(4, n_workers) + 1), replace=False)
    ]
    votes = pd.DataFrame(rows, columns=["task", "worker", "label"])
    return Crowd(
        votes, {t: t % 2 for t in range(n_tasks)}, {t: int(rng.integers(n_classes)) for t in range(0, n_tasks, 2)}
    )


any_crowd = st.builds(random_crowd, st.integers(2, 12), st.integers(2, 6), st.integers(2, 4), st.integers(0, 2**32 - 1))


@all_cases
def test_the_order_of_rows_does_not_matter(case: Case) -> None:
    crowd = simulated()
    here, there = case.fit(crowd), case.fit(crowd.shuffled(1))
    assert_series_equal(here.labels_, there.labels_)
    assert_frame_equal(here.probas_, there.probas_, check_exact=True)


@all_cases
@given(crowd=any_crowd, seed=st.integers(0, 1000))
@settings(max_examples=examples(10), deadline=None)
def test_the_order_of_rows_does_not_matter_in_any_crowd(case: Case, crowd: Crowd, seed: int) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        here, there = case.fit(crowd), case.fit(crowd.shuffled(seed))
    assert_frame_equal(here.probas_, there.probas_, check_exact=True)


@all_cases
@pytest.mark.parametrize("column", ["task", "worker"])
def test_names_do_not_matter(case: Case, column: str) -> None:
    crowd = simulated()
    old = np.unique(crowd.votes[column])
    names = dict(zip(old, np.random.default_rng(3).permutation([f"n{i}" for i in range(old.size)]), strict=True))
    here, there = case.fit(crowd), case.fit(crowd.renamed(column, names))
    probas = here.probas_.rename(index=names) if column == "task" else here.probas_
    labels = here.labels_.rename(index=names) if column == "task" else here.labels_
    assert labels.sort_index().to_dict() == there.labels_.sort_index().to_dict()
    np.testing.assert_array_equal(probas.sort_index().to_numpy(), there.probas_.sort_index().to_numpy())


@all_cases
def test_classes_can_be_renamed_and_reversed(case: Case) -> None:
    crowd = simulated()
    names = {0: "c", 1: "b", 2: "a"}
    opposite = {"first": "last", "last": "first"}[case.settings.get("ties", "first")]
    here, there = case.fit(crowd), case.fit(crowd.renamed("label", names), ties=opposite)
    assert here.labels_.map(names).to_dict() == there.labels_.to_dict()
    np.testing.assert_allclose(here.probas_.to_numpy(), there.probas_[["c", "b", "a"]].to_numpy(), atol=1e-9)


@all_cases
@given(crowd=any_crowd)
@settings(max_examples=examples(10), deadline=None)
def test_rows_sum_to_one_and_labels_are_the_most_probable(case: Case, crowd: Crowd) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = case.fit(crowd)
    probas = model.probas_.to_numpy()
    np.testing.assert_allclose(probas.sum(axis=1), 1.0, atol=1e-12)
    assert (probas >= 0).all()
    chosen = probas[np.arange(len(probas)), model.probas_.columns.get_indexer(model.labels_)]
    np.testing.assert_allclose(chosen, probas.max(axis=1), atol=1e-12)
    np.testing.assert_allclose(np.exp(model.log_probas_.to_numpy()), probas, atol=1e-12)


@all_cases
def test_fit_then_predict_on_the_same_votes_agree(case: Case) -> None:
    crowd = simulated()
    model = case.fit(crowd)
    labels, probas = model.labels_, model.probas_
    groups = case.groups(crowd)
    assert_series_equal(model.predict(crowd.votes, **groups), labels)
    assert_frame_equal(model.predict_proba(crowd.votes, **groups), probas)
    assert_frame_equal(model.predict_log_proba(crowd.votes, **groups), model.log_probas_)


@all_cases
def test_predict_takes_unknown_workers_as_average_ones(case: Case) -> None:
    crowd = simulated()
    model = case.fit(crowd)
    new = pd.DataFrame({"task": [900, 900, 901], "worker": [-1, -2, -3], "label": [1, 1, 1]})
    groups = {"sensitive_features": {900: "a", 901: "a"}} if case.learns_groups else {}
    probas = model.predict_proba(new, **groups)
    assert model.predict(new, **groups).to_dict() == {900: 1, 901: 1}
    assert 1 / 3 < probas.loc[901, 1] <= probas.loc[900, 1]


@all_em
@given(crowd=any_crowd)
@settings(max_examples=examples(15), deadline=None)
def test_the_likelihood_never_falls(case: Case, crowd: Crowd) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        history = case.fit(crowd, n_iter=30, tol=-1).loss_history_
    assert (np.diff(history) >= 0).all()


@all_em
def test_rounds_that_run_out_give_a_warning(case: Case) -> None:
    with pytest.warns(UserWarning, match="Not converged: the rounds ran out"):
        model = case.fit(simulated(), n_iter=2, tol=0.0)
    assert not model.converged_
    assert model.n_iter_ == 2
    assert case.fit(simulated(), n_iter=1000, tol=1e-3).converged_


@all_cases
def test_threads_and_blocks_do_not_matter(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    crowd = simulated(n_tasks=300, n_workers=5)
    results = [case.fit(crowd).probas_]  # in one block
    monkeypatch.setattr(faircrowd.engines.local, "VOTES_PER_BLOCK", 32)
    for threads in ("1", "2", "7"):
        monkeypatch.setenv("FAIRCROWD_THREADS", threads)
        results.append(case.fit(crowd).probas_)
    for probas in results[1:]:
        assert_frame_equal(results[0], probas, check_exact=True)


@pytest.fixture(scope="module")
def digests_elsewhere() -> list[dict[str, str]]:
    """The digests of a larger crowd with one thread, and with three where all are renamed, each in its own process.

    Libraries of linear algebra read the number of threads when they are loaded, and use several for vectors of more
    than 10,000 numbers only.
    """
    found: list[dict[str, str]] = []
    for threads, renamed in (("1", "nobody"), ("3", "everybody")):
        names = ("OPENBLAS", "OMP", "MKL", "NUMBA")
        setting = {f"{name}_NUM_THREADS": threads for name in names} | {"FAIRCROWD_THREADS": threads}
        code = f"import crowds, json; print(json.dumps(crowds.digests({renamed!r})))"
        path = os.pathsep.join([str(Path(crowds.__file__).parent), os.environ.get("PYTHONPATH", "")])
        done = subprocess.run(
            [sys.executable, "-W", "ignore", "-c", code],
            env={**os.environ, **setting, "PYTHONPATH": path},
            capture_output=True,
            text=True,
            check=True,
        )
        found.append(json.loads(done.stdout))
    return found


@all_cases
def test_threads_of_libraries_and_names_do_not_matter(case: Case, digests_elsewhere: list[dict[str, str]]) -> None:
    (name,) = (name for name, other in CASES.items() if other is case)
    one, other = digests_elsewhere
    assert one[name] == other[name]


@all_cases
def test_kinds_of_frames_agree(case: Case) -> None:
    import polars as pl
    import pyarrow as pa

    crowd = simulated()
    expected = case.fit(crowd)
    for frame in (pl.DataFrame(crowd.votes.to_dict("list")), pa.Table.from_pandas(crowd.votes, preserve_index=False)):
        model = case.fit(Crowd(frame, crowd.groups, crowd.gold))
        assert type(model.labels_) is type(frame)
        assert type(model.probas_) is type(frame)
        labels = pl.DataFrame(model.labels_)
        assert labels.columns == ["task", "agg_label"]
        assert dict(labels.iter_rows()) == expected.labels_.to_dict()
        np.testing.assert_array_equal(pl.DataFrame(model.probas_).drop("task").to_numpy(), expected.probas_.to_numpy())


@all_cases
@pytest.mark.filterwarnings("ignore:(Only 1|All) known label:faircrowd.errors.DataWarning")
@pytest.mark.parametrize(
    "votes",
    [
        [("t", "w", "yes")],
        [("t", "w", "yes"), ("u", "w", "no")],
        [("t", "w", "yes"), ("t", "v", "yes"), ("u", "v", "yes")],
    ],
    ids=["one vote", "one worker", "one class"],
)
def test_small_crowds_work(case: Case, votes: list[tuple[str, str, str]]) -> None:
    frame = pd.DataFrame(votes, columns=["task", "worker", "label"])
    model = case.fit(Crowd(frame, {"t": 0, "u": 1}, {"t": "yes"}))
    assert set(model.labels_.index) == set(frame.task)
    assert model.labels_["t"] == "yes"


@all_cases
def test_no_votes_are_refused(case: Case) -> None:
    empty = pd.DataFrame({"task": [], "worker": [], "label": []})
    with pytest.raises(InputError, match="There is no vote to learn from"):
        case.fit(Crowd(empty, {}, {}))


@all_cases
def test_no_new_votes_give_no_labels(case: Case) -> None:
    crowd = simulated()
    groups = {"sensitive_features": {}} if case.learns_groups else {}
    assert len(case.fit(crowd).predict(crowd.votes[:0], **groups)) == 0


@all_cases
def test_results_before_fit_are_refused(case: Case) -> None:
    model = case.kind(**case.settings)
    assert not hasattr(model, "labels_")
    with pytest.raises(NotFittedError, match="call fit"):
        model.predict(simulated().votes)


@all_cases
def test_labels_unknown_to_the_model_are_refused(case: Case) -> None:
    crowd = simulated()
    model = case.fit(crowd)
    new = pd.DataFrame({"task": [1], "worker": [1], "label": [77]})
    with pytest.raises(InputError, match="not seen in fit: 77; known are 0, 1, 2"):
        model.predict(new, **({"sensitive_features": {1: "a"}} if case.learns_groups else {}))


@all_cases
def test_predicted_classes_keep_the_type_they_had_in_fit(case: Case) -> None:
    crowd = simulated().renamed("label", {0: 0, 1: 200, 2: 300})
    model = case.fit(crowd)
    new = pd.DataFrame({"task": [1], "worker": [1], "label": np.array([0], dtype=np.int8)})
    probas = model.predict_proba(new, **({"sensitive_features": {1: "a"}} if case.learns_groups else {}))
    assert list(probas.columns) == [0, 200, 300]


@all_cases
def test_a_failed_fit_leaves_no_mix_of_two_models(case: Case) -> None:
    crowd = simulated()
    model = case.fit(crowd)
    with pytest.raises(InputError):
        model.fit(crowd.votes.drop(columns="label"), *case.truth(crowd), **case.groups(crowd))
    with pytest.raises(NotFittedError, match="call fit"):
        model.predict(crowd.votes)


@all_em
@pytest.mark.parametrize("method", ["fit", "fit_predict"])
def test_warnings_name_the_line_of_the_caller(case: Case, method: str) -> None:
    crowd = simulated()
    model = case.kind(**{**case.settings, "n_iter": 1})
    with pytest.warns(ConvergenceWarning) as caught:
        getattr(model, method)(crowd.votes, **case.groups(crowd))
    assert [warning.filename for warning in caught] == [__file__]


@all_cases
def test_parameters_are_read_and_set(case: Case) -> None:
    model = case.kind(**case.settings)
    assert case.settings.items() <= model.get_params().items()
    assert model.set_params(ties="last").get_params()["ties"] == "last"
    with pytest.raises(OptionError, match=r"Invalid parameter 'tiez' .* Did you mean 'ties'\?"):
        model.set_params(tiez="last")
    with pytest.raises(OptionError, match="ties='middle' is not known"):
        case.fit(simulated(), ties="middle")


def test_every_aggregator_is_tested_here() -> None:
    assert {case.name for case in CASES.values()} == set(AGGREGATORS)
