"""Parameters by name, as scikit-learn has them."""

from typing import Any

import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

import faircrowd as fc
from faircrowd.aggregate.registry import AGGREGATORS
from faircrowd.baselines import FairTD, PostTD, SmoothedFairCrowd
from faircrowd.errors import OptionError


def test_parameters_of_an_estimator_inside_another() -> None:
    fair = fc.FairCrowd(fc.DawidSkene(n_iter=7), epsilon=0.1)
    assert fair.get_params(deep=False).keys() < fair.get_params().keys()
    assert fair.get_params()["estimator__n_iter"] == 7
    assert {f"estimator__{name}" for name in fc.DawidSkene().get_params()} <= fair.get_params().keys()
    assert fair.set_params(estimator__n_iter=9, estimator__tol=0.5, epsilon=0.2) is fair
    assert (fair.estimator.n_iter, fair.estimator.tol, fair.epsilon) == (9, 0.5, 0.2)
    fair.set_params(estimator__silent=False, estimator=fc.GLAD())
    assert fair.estimator.get_params()["silent"] is False
    assert PostTD(fc.Wawa()).set_params(estimator__ties="last").get_params()["estimator__ties"] == "last"


def test_all_parameters_make_the_same_estimator() -> None:
    fair = fc.FairCrowd(fc.GLAD(silent=False), strict=True)
    again = type(fair)(**fair.get_params(deep=False))
    assert again.get_params() == fair.get_params()


def estimators() -> list[Any]:
    """Every aggregator and baseline, with a parameter that is not the default, and those that hold others."""
    models = [kind.load()(ties="last") for kind in AGGREGATORS.values()]
    inside = fc.CalibratedCrowd(fc.DawidSkene(pooling="learned"))
    several = fc.CalibratedCrowd([fc.MajorityVote(), fc.DawidSkene(n_iter=3)])
    baselines = [FairTD(epsilon=0.1), PostTD(fc.Wawa(), epsilon=0.1), SmoothedFairCrowd(fc.MajorityVote())]
    fair = [fc.FairCrowd(inside, epsilon=0.1), fc.FairCrowd(several, constraints=["parity(sex) <= 0.1"])]
    return [*models, inside, several, *baselines, *fair]


def described(value: object) -> object:
    """Return an estimator as its type and parameters, and those inside it likewise."""
    if isinstance(value, list):
        return [described(item) for item in value]
    if not hasattr(value, "get_params"):
        return value
    return type(value), {name: described(inner) for name, inner in value.get_params(deep=False).items()}


@pytest.mark.parametrize("model", estimators(), ids=lambda model: type(model).__name__)
def test_scikit_learn_can_clone(model: Any) -> None:
    same = clone(model)
    assert same is not model
    assert described(same) == described(model)
    if getattr(model, "estimator", None) is not None:
        assert same.estimator is not model.estimator
    assert described(clone(model).set_params(**model.get_params())) == described(model)


@pytest.mark.parametrize("model", estimators(), ids=lambda model: type(model).__name__)
def test_scikit_learn_knows_what_an_estimator_is(model: Any) -> None:
    tags = get_tags(model)
    assert (tags.estimator_type, tags.target_tags.required) == (None, False)
    with pytest.raises(NotFittedError):
        check_is_fitted(model)
    assert "sensitive_features" in model.get_metadata_routing().fit.requests


def test_fitted_is_what_scikit_learn_calls_fitted() -> None:
    crowd = fc.simulate_crowd(60, 8, random_state=0)
    for model in (fc.MajorityVote(), PostTD(fc.MajorityVote(), epsilon=0.2), fc.FairCrowd(fc.MajorityVote())):
        check_is_fitted(model.fit(crowd.votes, sensitive_features=crowd.sensitive_features))
        with pytest.raises(NotFittedError):
            check_is_fitted(clone(model))


@pytest.mark.parametrize("is_routed", [False, True])
def test_a_crowd_is_the_last_step_of_a_pipeline(is_routed: bool) -> None:
    crowd = fc.simulate_crowd(200, 12, random_state=0)
    wanted = fc.FairCrowd(fc.MajorityVote()).fit(crowd.votes, sensitive_features=crowd.sensitive_features)
    rename = FunctionTransformer(lambda votes: votes.rename(columns={"item_no": "task"}))
    votes = crowd.votes.rename(columns={"task": "item_no"})
    with config_context(enable_metadata_routing=is_routed):
        pipe = make_pipeline(rename, fc.FairCrowd(fc.MajorityVote()))
        name = "sensitive_features" if is_routed else "faircrowd__sensitive_features"
        pipe.fit(votes, **{name: crowd.sensitive_features})
        labels = pipe.predict(votes, sensitive_features=crowd.sensitive_features)
    assert pipe[-1].labels_.equals(wanted.labels_)
    assert labels.equals(wanted.predict(crowd.votes, sensitive_features=crowd.sensitive_features))


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (
            "epsilom",
            r"Invalid parameter 'epsilom' for estimator FairCrowd. Valid .*'epsilon'.* mean 'epsilon'\?",
        ),
        ("estimator__n_itre", r"Invalid parameter 'n_itre' for estimator DawidSkene.*Did you mean 'n_iter'\?"),
        ("estimater__n_iter", r"Invalid parameter 'estimater__n_iter' for estimator FairCrowd.*Did you mean"),
        ("epsilon__low", "Invalid parameter 'epsilon__low' for estimator FairCrowd: epsilon is 0.3, which has no"),
        ("_result", "Invalid parameter '_result' for estimator FairCrowd"),
    ],
)
def test_unknown_parameters_are_refused_and_nothing_is_set(name: str, message: str) -> None:
    fair = fc.FairCrowd(fc.DawidSkene())
    before = fair.get_params()
    with pytest.raises(OptionError, match=message):
        fair.set_params(**{"epsilon": 0.3, name: 1})
    assert fair.get_params() == before
