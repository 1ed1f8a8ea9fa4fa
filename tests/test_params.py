"""Parameters by name, as scikit-learn has them."""

import pytest

import faircrowd as fc
from faircrowd.baselines import PostTD
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


def test_scikit_learn_can_clone() -> None:
    clone = pytest.importorskip("sklearn.base").clone
    fair = fc.FairCrowd(fc.DawidSkene(n_iter=7), epsilon=0.1)
    same = clone(fair)
    assert same.get_params().keys() == fair.get_params().keys()
    assert same.estimator is not fair.estimator
    assert (same.estimator.n_iter, same.epsilon) == (7, 0.1)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("epsilom", r"FairCrowd has no parameter 'epsilom'. Did you mean 'epsilon'\?"),
        ("estimator__n_itre", r"DawidSkene has no parameter 'n_itre'. Did you mean 'n_iter'\?"),
        ("estimater__n_iter", r"FairCrowd has no parameter 'estimater__n_iter'. Did you mean"),
        ("epsilon__low", "FairCrowd has no parameter 'epsilon__low': epsilon has none"),
        ("_result", "FairCrowd has no parameter '_result'"),
    ],
)
def test_unknown_parameters_are_refused_and_nothing_is_set(name: str, message: str) -> None:
    fair = fc.FairCrowd(fc.DawidSkene())
    before = fair.get_params()
    with pytest.raises(OptionError, match=message):
        fair.set_params(**{"epsilon": 0.3, name: 1})
    assert fair.get_params() == before
