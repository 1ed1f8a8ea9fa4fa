"""Which rows are held out, and from which models."""

import numpy as np
import pytest
from sklearn.naive_bayes import GaussianNB

from faircrowd.errors import OptionError
from faircrowd.fair.classifier.held_out_rows import fixed_model, hold_out, is_share
from faircrowd.fair.classifier.row_keys import row_keys

RNG = np.random.default_rng(0)
X = RNG.normal(size=(103, 2))
TRUTH = (np.arange(103) % 5 == 0).astype(np.int32)
KEYS = row_keys(X)
NONE: dict[str, object] = {"fit_params": {}, "split_params": {}}


def test_folds_are_stratified_and_their_models_have_not_seen_them() -> None:
    found = hold_out(GaussianNB(), X, TRUTH, TRUTH, KEYS, cv=4, **NONE)
    counts = np.array([np.bincount(found.fold[k == TRUTH], minlength=4) for k in (0, 1)])
    assert (np.ptp(counts, axis=1) <= 1).all()
    assert np.ptp(counts.sum(axis=0)) <= 1
    for f in range(4):
        part = GaussianNB().fit(X[found.fold != f], TRUTH[found.fold != f])
        np.testing.assert_allclose(found.probas[found.fold == f], part.predict_proba(X[found.fold == f]))
    np.testing.assert_allclose(found.model.theta_, GaussianNB().fit(X, TRUTH).theta_)
    assert not found.is_fixed


@pytest.mark.parametrize("share", [0.2, 0.5, 0.75])
def test_a_share_is_held_out_of_the_one_model(share: float) -> None:
    found = hold_out(GaussianNB(), X, TRUTH, TRUTH, KEYS, cv=share, **NONE)
    assert abs(found.rows.size - share * 103) < 1
    assert abs(TRUTH[found.rows].sum() - share * TRUTH.sum()) < 1 + share
    rest = np.setdiff1d(np.arange(103), found.rows)
    np.testing.assert_allclose(found.model.theta_, GaussianNB().fit(X[rest], TRUTH[rest]).theta_)
    np.testing.assert_allclose(found.probas, found.model.predict_proba(X[found.rows]))
    assert found.is_fixed
    weighed = hold_out(
        GaussianNB(),
        X,
        TRUTH,
        TRUTH,
        KEYS,
        cv=share,
        split_params={},
        fit_params={"sample_weight": np.arange(1.0, 104)},
    )
    wanted = GaussianNB().fit(X[rest], TRUTH[rest], sample_weight=rest + 1.0)
    np.testing.assert_allclose(weighed.model.theta_, wanted.theta_)


def test_a_fitted_model_stays_as_it_is() -> None:
    model = GaussianNB().fit(X, TRUTH)
    found = fixed_model(model, X, TRUTH, KEYS, 0.3)
    assert found.model is model
    assert set(found.fold.tolist()) == set(range(5))
    assert set(fixed_model(model, X, TRUTH, KEYS, 3).fold.tolist()) == set(range(3))


def test_shares() -> None:
    assert [is_share(cv) for cv in (0.3, np.float32(0.3), 5, np.int64(5), None, [])] == [True, True, *[False] * 4]
    for wrong in (0.0, 1.0, -0.5, float("nan")):
        with pytest.raises(OptionError, match="is a share of the rows, between 0 and 1"):
            is_share(wrong)
