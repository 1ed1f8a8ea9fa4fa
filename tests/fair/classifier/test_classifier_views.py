"""What a fitted ``FairClassifier`` shows: its card, its charts, and its certified labels as a frame."""

import pickle
from functools import cache

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression

from faircrowd import FairClassifier
from faircrowd.errors import DataWarning, InputError


@cache
def people() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    sex = np.array(["f", "m"])[np.arange(400) % 2]  # groups of one size: a frontier takes a tenth of the time
    X = rng.normal(size=(400, 2)) + 0.8 * (sex == "m")[:, None]
    return X, np.where(X.sum(axis=1) + rng.normal(size=400) > 0.5, "yes", "no"), sex


@cache
def fitted(cv: float = 3, constraints: tuple[str, ...] | None = None) -> FairClassifier:
    X, y, sex = people()
    asked = None if constraints is None else list(constraints)
    fair = FairClassifier(LogisticRegression(), cv=cv, constraints=asked)
    return fair.fit(X, y, sensitive_features=pd.DataFrame({"sex": sex}))


@pytest.mark.parametrize(("cv", "constraints"), [(3, None), (0.5, None), (3, ("parity(sex) <= 0.1", "changed <= 0.5"))])
def test_frames_have_the_rows_of_the_rule(cv: float, constraints: tuple[str, ...] | None) -> None:
    fair = fitted(cv, constraints)
    found = fair.to_frame()
    assert found["row"].tolist() == fair.rows_.tolist()
    assert found["label"].tolist() == fair.labels_.tolist()
    assert found["group"].tolist() == people()[2][fair.rows_].tolist()
    assert np.array_equal(found[["posterior_no", "posterior_yes"]].to_numpy(), fair.probas_)
    assert list(fair.to_frame(why=True)) == [*found, "why"]


def test_the_card_has_what_was_asked_for_and_what_is_real() -> None:
    fair = fitted()
    shown = fair._repr_html_()
    for told in (
        "FairClassifier: fair labels of LogisticRegression",
        "gap of at most 0.05",
        "400 rows",
        "Held-out rows",
    ):
        assert told in shown
    assert f"{fair.held_out_.accuracy.estimate:.1%}" in shown
    assert fair._repr_mimebundle_() == {"text/plain": repr(fair), "text/html": shown}
    assert "constraints kept" in fitted(3, ("parity(sex) <= 0.1", "changed <= 0.5"))._repr_html_()
    assert "call fit" in FairClassifier(LogisticRegression())._repr_html_()


def test_charts_and_frontier_are_those_of_the_result() -> None:
    fair = fitted()
    assert fair.frontier_.at(0.05).believed_accuracy >= fair.certificate_.believed_accuracy - 1e-12
    for chart in ("rates", "frontier", "posterior"):
        assert fair.plot(chart).to_dict() == fair.result_.plot(chart).to_dict()


@pytest.mark.parametrize("constraints", [None, ("parity(sex) <= 0.1", "changed <= 0.5")])
def test_it_can_be_pickled(constraints: tuple[str, ...] | None) -> None:
    fair = fitted(3, constraints)
    again = pickle.loads(pickle.dumps(fair))  # noqa: S301 - our own
    assert again.frontier_.to_frame().equals(fair.frontier_.to_frame())
    assert again.to_frame(why=True).equals(fair.to_frame(why=True))


def test_epsilon_is_always_shown() -> None:
    assert repr(FairClassifier(LogisticRegression())) == "FairClassifier(estimator=LogisticRegression(), epsilon=0.05)"
    assert "epsilon" not in repr(FairClassifier(LogisticRegression(), constraints=["odds <= 0.1"]))


def test_without_groups_there_is_nothing_to_show() -> None:
    X, y, _ = people()
    with pytest.raises(NotFittedError):
        FairClassifier(LogisticRegression()).plot()
    with pytest.warns(DataWarning, match="no groups to compare"):
        alone = FairClassifier(LogisticRegression()).fit(X, y)
    with pytest.raises(InputError, match="no groups to show"):
        alone.to_frame()
    assert "No groups were given to fit" in alone._repr_html_()
