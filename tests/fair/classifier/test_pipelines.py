"""FairClassifier in scikit-learn's pipelines and searches, with and without metadata routing."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.exceptions import UnsetMetadataPassedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_val_score
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from fair.classifier.people import gap, people
from faircrowd import FairClassifier

ONE = people(900)
SEX = ONE.groups["sex"]
FRAME = ONE.X.assign(sex=SEX)


def asking(estimator: Any, **options: Any) -> FairClassifier:
    model = FairClassifier(estimator, **options).set_fit_request(sensitive_features=True)
    return model.set_predict_request(sensitive_features=True).set_score_request(sensitive_features=True)


def gap_of(model: Any, X: pd.DataFrame, y: Any) -> float:
    return gap(model.predict(X), X["sex"], model.classes_)


def test_the_last_step_of_a_pipeline() -> None:
    scaled = StandardScaler().fit_transform(ONE.X)
    wanted = FairClassifier(GaussianNB()).fit(scaled, ONE.y, sensitive_features=SEX)
    labels = wanted.predict(scaled, sensitive_features=SEX)
    plain = make_pipeline(StandardScaler(), FairClassifier(GaussianNB()))
    plain.fit(ONE.X, ONE.y, fairclassifier__sensitive_features=SEX)
    np.testing.assert_array_equal(plain.predict(ONE.X, sensitive_features=SEX), labels)
    with config_context(enable_metadata_routing=True):
        routed = make_pipeline(StandardScaler(), asking(GaussianNB()))
        routed.fit(ONE.X, ONE.y, sensitive_features=SEX)
        np.testing.assert_array_equal(routed.predict(ONE.X, sensitive_features=SEX), labels)
        assert routed.score(ONE.X, ONE.y, sensitive_features=SEX) == np.mean(labels == ONE.y)
        np.testing.assert_array_equal(routed.predict_proba(ONE.X), wanted.predict_proba(scaled))


def test_metadata_that_nobody_asked_for_is_refused() -> None:
    with config_context(enable_metadata_routing=True):
        pipe = make_pipeline(StandardScaler(), FairClassifier(GaussianNB()))
        with pytest.raises(UnsetMetadataPassedError):
            pipe.fit(ONE.X, ONE.y, sensitive_features=SEX)
        with pytest.raises(UnsetMetadataPassedError):
            FairClassifier(GaussianNB()).fit(ONE.X, ONE.y, sensitive_features=SEX, sample_weight=np.ones(900))


def test_routing_reaches_the_estimator_and_the_splitter() -> None:
    weight, blocks = np.where(ONE.y == "yes", 5.0, 1.0), np.arange(900) // 90
    with config_context(enable_metadata_routing=True):
        inner = GaussianNB().set_fit_request(sample_weight=True)
        model = FairClassifier(inner, cv=GroupKFold(3))
        model.fit(ONE.X, ONE.y, sensitive_features=SEX, sample_weight=weight, groups=blocks)
    heavy = GaussianNB().fit(ONE.X, ONE.y, sample_weight=weight)
    np.testing.assert_array_equal(model.predict_proba(ONE.X), heavy.predict_proba(ONE.X))
    for train, test in GroupKFold(3).split(ONE.X, ONE.y, blocks):
        part = GaussianNB().fit(ONE.X.iloc[train], ONE.y[train], sample_weight=weight[train])
        np.testing.assert_allclose(model.probas_[test], part.predict_proba(ONE.X.iloc[test]))


@pytest.mark.filterwarnings("ignore:The rule depends on the model:faircrowd.errors.DataWarning")
def test_a_search_with_routed_groups() -> None:
    with config_context(enable_metadata_routing=True):
        model = asking(make_pipeline(StandardScaler(), LogisticRegression()), cv=2)
        search = GridSearchCV(model, {"estimator__logisticregression__C": [1e-6, 1.0]}, cv=2)
        search.fit(ONE.X, ONE.y, sensitive_features=SEX)
        assert search.best_params_ == {"estimator__logisticregression__C": 1.0}
        best = search.best_estimator_.predict(ONE.X, sensitive_features=SEX)
        assert set(best) == {"no", "yes"}
        scores = cross_val_score(search.best_estimator_, ONE.X, ONE.y, cv=2, params={"sensitive_features": SEX})
        assert scores.mean() == pytest.approx(search.best_score_)


def test_columns_of_the_features_need_no_routing() -> None:
    """A search over epsilon: the most accurate one whose gap on held-out rows is small enough."""
    encode = make_column_transformer((OneHotEncoder(), ["sex"]), remainder="passthrough")
    model = FairClassifier(make_pipeline(encode, GaussianNB()), sensitive_columns="sex", cv=2)
    scorers = {"accuracy": "accuracy", "gap": gap_of}
    epsilons = [0.02, 0.1, 0.9]

    def choose(results: dict[str, Any]) -> int:
        allowed = results["mean_test_gap"] <= 0.2
        return int(np.argmax(np.where(allowed, results["mean_test_accuracy"], -1)))

    search = GridSearchCV(model, {"epsilon": epsilons}, scoring=scorers, refit=choose, cv=2).fit(FRAME, ONE.y)
    gaps = search.cv_results_["mean_test_gap"]
    assert (np.diff(gaps) > 0).all()
    assert search.best_params_ == {"epsilon": 0.1}
    assert gap(search.predict(FRAME), SEX, search.classes_) < 0.2
    scores = cross_val_score(search.best_estimator_, FRAME, ONE.y, cv=2, scoring=gap_of)
    assert scores.mean() == pytest.approx(gaps[1])


def test_clones_are_not_fitted_and_equal_in_parameters() -> None:
    model = FairClassifier(LogisticRegression(C=3), constraints=["parity(sex) <= 0.1"], sensitive_columns=["sex"])
    same = clone(model)
    assert same.get_params()["estimator__C"] == 3
    assert same.set_params(estimator__C=4, cv=0.5).estimator.C == 4
    assert model.estimator.C == 3
    assert repr(same).startswith("FairClassifier(")
