"""Arguments that were mistyped or misplaced: the message says what was meant."""

import inspect

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import faircrowd as fc
from faircrowd.errors import DataWarning, InputError, MissingColumnError, OptionError

CROWD = fc.simulate_crowd(60, 8, random_state=0)
VOTES, GROUPS = CROWD.votes, CROWD.sensitive_features


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: fc.FairCrowd(eps=0.05), r"FairCrowd\(\) got .* 'eps'\. Did you mean 'epsilon'\?"),
        (lambda: fc.FairCrowd(model=None), r"'model'\. Did you mean 'estimator'\?"),
        (lambda: fc.FairClassifier(LogisticRegression(), eps=0.05), r"FairClassifier\(\) got .* mean 'epsilon'\?"),
        (lambda: fc.make_fair([[0.5, 0.5]], ["a"], eps=0.05), r"make_fair\(\) got .* Did you mean 'epsilon'\?"),
        (
            lambda: fc.FairCrowd(fc.DawidSkene()).fit(VOTES, sensitive_feature=GROUPS),
            r"FairCrowd.fit\(\) got .* Did you mean 'sensitive_features'\?",
        ),
        (
            lambda: fc.FairCrowd(fc.MajorityVote()).fit(VOTES, groups=GROUPS),
            r"FairCrowd.fit\(\) .*'sensitive_features'",
        ),
        (lambda: fc.FairCrowd(fc.Wawa()).fit(VOTES, sensitive_features=GROUPS, on_duplicat="last"), "'on_duplicate'"),
        (lambda: fc.FairCrowd().fit([[0.5, 0.5]], sensitive_features=["a"], true_labels=[1]), "'true_labels'"),
        (lambda: classifier().fit(*rows(), sensitive_feature=[1]), r"FairClassifier.fit\(\) .*'sensitive_features'\?"),
        (
            lambda: classifier(make_pipeline(StandardScaler(), LogisticRegression())).fit(
                *rows(), sensitive_feature=[1]
            ),
            r"FairClassifier.fit\(\) .*'sensitive_features'\?",
        ),
    ],
)
def test_mistyped_names_say_what_was_meant(call: object, said: str) -> None:
    with pytest.raises(TypeError, match=said):
        call()  # type: ignore[operator]


@pytest.mark.parametrize(
    ("estimator", "said"),
    [
        (0.05, r"estimator=0\.05 is a number, .* FairCrowd\(DawidSkene\(\), epsilon=0\.05\)"),
        ("dawid-skene", r"name of a method .* as DawidSkene\(pooling='learned'\)"),
        ("majority", r"give it as MajorityVote\(\)"),
        ("votes", "estimator='votes' has no fit_predict_proba; give an aggregator, such as"),
        (fc.DawidSkene, r"estimator is the class DawidSkene; give an object of it, DawidSkene\(\)"),
    ],
)
@pytest.mark.parametrize("constraints", [None, ["parity <= 0.1", "rate(label=1) <= 0.9"]])
@pytest.mark.parametrize("tasks", [None, pd.DataFrame({"task": [0]})])
def test_what_is_no_aggregator(estimator: object, said: str, constraints: object, tasks: object) -> None:
    fair = fc.FairCrowd(estimator, constraints=constraints)
    with pytest.raises(OptionError, match=said):
        fair.fit(VOTES, sensitive_features=GROUPS, tasks=tasks)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("estimator", "said"),
    [
        (0.05, r"FairClassifier\(LogisticRegression\(\), epsilon=0\.05\)"),
        (LogisticRegression, r"give an object of it, LogisticRegression\(\)"),
        ("logistic", "estimator='logistic' is no classifier"),
    ],
)
def test_what_is_no_classifier(estimator: object, said: str) -> None:
    with pytest.raises(OptionError, match=said):
        fc.FairClassifier(estimator).fit(*rows(), sensitive_features=["a", "b"] * 20)


def classifier(estimator: object = None) -> fc.FairClassifier:
    return fc.FairClassifier(LogisticRegression() if estimator is None else estimator)


def rows() -> tuple[np.ndarray, np.ndarray]:
    X = np.random.default_rng(0).normal(size=(40, 2))
    return X, (X[:, 0] > 0).astype(int)


def test_an_estimator_that_cannot_read_sensitive_columns_is_told_to_drop_them() -> None:
    X, y = rows()
    frame = pd.DataFrame(X, columns=["a", "b"]).assign(sex=["f", "m"] * 20)
    fair = fc.FairClassifier(LogisticRegression(), sensitive_columns="sex", epsilon=0.5)
    with pytest.raises(InputError, match=r"make_column_transformer\(\('drop', \['sex'\]\), remainder='passthrough'\)"):
        fair.fit(frame, y)
    with pytest.raises(ValueError, match="could not convert") as raised:  # not because of sensitive columns
        classifier().fit(frame, y, sensitive_features=frame["sex"])
    assert not isinstance(raised.value, InputError)


def test_all_missing_columns_are_named_at_once() -> None:
    with pytest.raises(
        MissingColumnError, match=r"No columns 'task' .*, 'worker' .* and 'label' .*; its columns are 'a'"
    ):
        fc.read_votes(pd.DataFrame({"a": [1], "b": [2], "c": [3]}))
    with pytest.raises(MissingColumnError, match=r"No columns 'who' and 'what' in the votes"):
        fc.read_votes(VOTES, worker="who", label="what")


def test_a_table_of_tasks_is_not_taken_for_votes() -> None:
    tasks = pd.DataFrame({"task": [1, 2], "gender": ["f", "m"], "truth": [0, 1]})
    with pytest.raises(
        MissingColumnError, match=r"looks like a table of tasks, not of votes: .* only 'gender', 'truth'"
    ):
        fc.FairCrowd(fc.DawidSkene()).fit(tasks, sensitive_features="gender")


def test_votes_of_one_class_are_warned_of() -> None:
    with pytest.warns(DataWarning, match="All votes have the label 7, so that every task gets it"):
        fc.FairCrowd(fc.DawidSkene()).fit(VOTES.assign(label=7), sensitive_features=GROUPS)


def test_signatures_are_short_enough_to_read() -> None:
    """``help`` shows the names of types, not what they stand for."""
    for name in fc.__all__:
        thing = getattr(fc, name)
        if name[0].islower() and not callable(thing):
            continue
        methods = ("fit", "predict", "fit_predict") if inspect.isclass(thing) else ()
        for one in [thing, *(getattr(thing, method) for method in methods if hasattr(thing, method))]:
            if callable(one) and not isinstance(one, type(inspect)):
                try:
                    told = str(inspect.signature(one))
                except ValueError:
                    continue
                assert "_NestedSequence" not in told, (name, told)
                assert "narwhals._native" not in told, (name, told)
