"""Probabilities for rows that the model has not seen: what a rule is learned from.

There are three ways. A model that is fitted already gives them to all rows. With ``cv=0.3`` it is fitted to 70% of the
rows and gives them to the others, and stays as it is. With ``cv=5``, each fifth of the rows gets them from a model that
was fitted to the others, and the model of new rows is fitted to all. The last uses every row twice, but the rule is
learned from other models than the one whose probabilities it gets.
"""

from collections.abc import Mapping, Sequence
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.model_selection import check_cv, cross_val_predict

from faircrowd._checks import check_count, few
from faircrowd.errors import InputError, OptionError
from faircrowd.votes.frames import frame_of, is_frame
from faircrowd.votes.vocabulary import Codes

__all__ = ["HeldOutRows", "check_classifier", "fixed_model", "hold_out", "is_share", "probabilities_of", "rows_of"]

_FOLDS = 5
"""Of rows whose model is fixed, for estimates."""


class HeldOutRows(NamedTuple):
    """What a rule is learned from.

    Attributes
    ----------
    model : classifier
        Fitted, for new rows.
    rows : ndarray of int64
        The rows with probabilities.
    probas : ndarray, shape (n_rows, n_classes)
    fold : ndarray of int64, shape (n_rows,)
        Which rows are held out together; of rows with models of different folds, the fold that the model has not seen.
    is_fixed : bool
        Whether all probabilities are those of ``model``.
    """

    model: Any
    rows: NDArray[np.int64]
    probas: NDArray[np.float64]
    fold: NDArray[np.int64]
    is_fixed: bool


def fixed_model(model: Any, X: Any, truth: Codes, keys: NDArray[np.uint64], cv: object) -> HeldOutRows:
    """Take the probabilities of a fitted model."""
    n_folds = check_count("cv", cv, least=2) if isinstance(cv, Integral) else _FOLDS
    rows = np.arange(truth.size)
    return HeldOutRows(model, rows, probabilities_of(model, X), _folds(truth, keys, n_folds), True)


def hold_out(
    estimator: Any,
    X: Any,
    y: NDArray[Any],
    truth: Codes,
    keys: NDArray[np.uint64],
    *,
    cv: Any,
    fit_params: Mapping[str, Any],
    split_params: Mapping[str, Any],
    n_jobs: int | None = None,
) -> HeldOutRows:
    """Fit an estimator, and give rows that it has not seen probabilities.

    Parameters
    ----------
    truth : ndarray of int32
        The code of each class.
    keys : ndarray of uint64
        By which rows are assigned to folds, so that their order does not matter.
    cv
        As in :class:`~faircrowd.FairClassifier`.
    fit_params, split_params : mapping
        Arguments of the estimator's ``fit``, and of the splitter.
    """
    check_classifier(estimator)
    if is_share(cv):
        return _hold_out_share(estimator, X, y, truth, keys, float(cv), fit_params)
    if isinstance(cv, Integral) and not isinstance(cv, bool):
        n_folds, rarest = check_count("cv", cv, least=2), int(np.bincount(truth).min())
        if rarest < 2:
            raise InputError(
                "One row of at least one class is held out with no other to learn the class from; give y "
                "two rows of each class, or leave out classes that have one."
            )
        fold = _folds(truth, keys, min(n_folds, truth.size))
        splits = [(np.flatnonzero(fold != f), np.flatnonzero(fold == f)) for f in range(fold.max() + 1)]
    else:
        splits = list(check_cv(cv, y, classifier=True).split(X, y, **split_params))
        fold = np.full(truth.size, -1, dtype=np.int64)
        for number, (_, test) in enumerate(splits):
            fold[test] = number
    probas = cross_val_predict(
        estimator, X, y, cv=splits, method="predict_proba", n_jobs=n_jobs, params=dict(fit_params)
    )
    model = clone(estimator).fit(X, y, **fit_params)
    return HeldOutRows(model, np.arange(truth.size), np.asarray(probas), fold, False)


def is_share(cv: object) -> bool:
    """Return whether a share of the rows is held out, rather than one fold after the other; raise if it cannot be.

    Examples
    --------
    >>> is_share(0.3), is_share(5)
    (True, False)
    """
    if isinstance(cv, Integral) or not isinstance(cv, Real):
        return False
    if not 0 < float(cv) < 1:
        raise OptionError(f"cv={cv} is a share of the rows, between 0 and 1; for folds, give an int.", parameter="cv")
    return True


def _hold_out_share(
    estimator: Any,
    X: Any,
    y: NDArray[Any],
    truth: Codes,
    keys: NDArray[np.uint64],
    share: float,
    fit_params: Mapping[str, Any],
) -> HeldOutRows:
    order = np.lexsort((keys, truth))
    steps = np.floor(np.arange(order.size + 1) * share)
    test, train = (np.sort(order[np.diff(steps) == held_out]) for held_out in (1, 0))
    if np.unique(truth[train]).size < np.unique(truth).size or not test.size:
        raise InputError(
            f"cv={share:g} of {truth.size:,} rows are held out, which leaves no row of at least one class to fit to, "
            "or none to learn the rule from; give more rows, or another share."
        )
    given = {
        name: rows_of(value, train) if _length(value) == truth.size else value for name, value in fit_params.items()
    }
    model = clone(estimator).fit(rows_of(X, train), y[train], **given)
    probas = probabilities_of(model, rows_of(X, test))
    return HeldOutRows(model, test, probas, _folds(truth[test], keys[test], _FOLDS), True)


def _folds(truth: Codes, keys: NDArray[np.uint64], n_folds: int) -> NDArray[np.int64]:
    """Return the fold of each row: stratified by class, and by content, so that the order of rows does not matter."""
    fold = np.empty(truth.size, dtype=np.int64)
    fold[np.lexsort((keys, truth))] = np.arange(truth.size) % n_folds
    return fold


def probabilities_of(model: Any, X: Any) -> NDArray[np.float64]:
    """Return the probability of each class for each row."""
    check_classifier(model)
    return np.asarray(model.predict_proba(X))


def check_classifier(estimator: Any) -> None:
    """Raise unless an estimator gives probabilities; say what was meant by a class, or by a number."""
    if isinstance(estimator, type):
        said = f"estimator is the class {estimator.__name__}; give an object of it, {estimator.__name__}()."
    elif hasattr(estimator, "predict_proba"):
        return
    elif isinstance(estimator, Real):
        said = (
            f"estimator={estimator!r} is a number, and the first argument is the classifier; give epsilon by its name: "
            f"FairClassifier(LogisticRegression(), epsilon={estimator!r})."
        )
    elif not hasattr(estimator, "fit"):
        said = f"estimator={few([estimator])} is no classifier of scikit-learn, such as LogisticRegression()."
    else:
        said = (
            f"{type(estimator).__name__} has no predict_proba, and fair labels go by probabilities; "
            "sklearn.calibration.CalibratedClassifierCV gives it one."
        )
    raise OptionError(said, parameter="estimator")


def rows_of(table: Any, rows: NDArray[np.int64]) -> Any:
    """Return some rows of a table of features, or of a column."""
    if is_frame(table):
        return frame_of(table)[rows].to_native()
    if hasattr(table, "iloc"):
        return table.iloc[rows]
    if hasattr(table, "tocsr"):
        return table.tocsr()[rows]
    return [table[i] for i in rows.tolist()] if isinstance(table, Sequence) else np.asarray(table)[rows]


def _length(value: Any) -> int | None:
    if hasattr(value, "shape"):
        return int(value.shape[0]) if value.shape else None
    return len(value) if isinstance(value, Sequence) and not isinstance(value, str | bytes) else None
