"""``FairClassifier``: the most accurate labels within epsilon, from any scikit-learn classifier's probabilities."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin
from sklearn.frozen import FrozenEstimator
from sklearn.metrics import accuracy_score
from sklearn.utils import Bunch, column_or_1d, get_tags, indexable
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from faircrowd._checks import check_choice, check_count, few, suggestion, warn
from faircrowd._keywords import check_names, names_checked, names_of_arguments
from faircrowd.errors import DataWarning, FaircrowdError, InputError, OptionError, UnknownGroupError
from faircrowd.exact.hashing import draw, task_keys
from faircrowd.fair.classifier.classifier_views import ClassifierViews
from faircrowd.fair.classifier.held_out_estimates import (
    HeldOutEstimates,
    held_out_estimates,
    held_out_labels,
    posed_problem,
    warn_of_transfer,
)
from faircrowd.fair.classifier.held_out_rows import (
    HeldOutRows,
    check_classifier,
    fixed_model,
    hold_out,
    is_share,
    probabilities_of,
    rows_of,
)
from faircrowd.fair.classifier.row_groups import RowGroups, columns_of, read_row_groups, some_groups
from faircrowd.fair.classifier.row_keys import KeyedRows, row_keys
from faircrowd.fair.constraints.constraint_kind import Constraint
from faircrowd.fair.constraints.demographic_parity import DemographicParity
from faircrowd.fair.constraints.listed import (
    EPSILON,
    epsilon_or_constraints,
    needed_columns,
    plain_parity,
)
from faircrowd.fair.general.constrained_certificate import ConstrainedCertificate
from faircrowd.fair.general.constrained_result import ConstrainedResult
from faircrowd.fair.general.constrained_rule import ConstrainedRule
from faircrowd.fair.make import FairResult, solve_posterior, warn_of_groups_and_labels
from faircrowd.fair.outcome.alarms import alarm_of_classifier
from faircrowd.fair.rule import FairRule
from faircrowd.fair.tasks.read_posterior import NamedPosterior
from faircrowd.votes import Vocabulary
from faircrowd.votes.group_policy import MIN_GROUP
from faircrowd.votes.lookup import is_missing
from faircrowd.votes.vocabulary import Codes

if TYPE_CHECKING:
    from faircrowd._types import ColumnsLike

__all__ = ["FairClassifier"]

_NO_GROUPS = "fit(X, y) was not given sensitive_features"


@names_checked
class FairClassifier(ClassifierViews, ClassifierMixin, MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc] # has no types
    """The most accurate labels whose gap between groups is at most epsilon, from any classifier's probabilities.

    It stands where fairlearn's ``ThresholdOptimizer`` does, for any number of classes and groups. Its labels are
    deterministic by default, and come with a certificate.

    ``fit`` learns a rule from the probabilities that the classifier gives to rows that it has not seen
    (cross-validation), and then fits the classifier to all rows. A classifier is overconfident about rows that it was
    fitted to, and a rule learned from these would not keep its promise on new ones.

    Parameters
    ----------
    estimator : classifier
        Any classifier of scikit-learn with ``predict_proba``; one in a ``CalibratedClassifierCV`` where its
        probabilities are not to be trusted.
    epsilon : float
        The largest gap allowed: over classes, the largest difference between two groups' rates.
    constraints : sequence of Constraint or str, optional
        What the labels must keep instead of ``epsilon``: constraints of :mod:`faircrowd.constraints`, over any columns
        of ``sensitive_features``. A review budget is not among them, as a classifier has a label for every row.
    objective : {"accuracy", "f1"} or array-like
        As in :func:`faircrowd.make_fair`.
    prefit : bool
        Whether ``estimator`` is fitted already; then ``fit`` only learns the rule, and should be given rows that the
        estimator has not seen. An estimator in scikit-learn's ``FrozenEstimator`` is always taken so.
    cv : int, float, cross-validation splitter or iterable
        How rows are held out. An int is a number of folds, which are stratified by class and do not depend on the order
        of rows: each is held out from a model of its own, and the final model is fitted to all rows. A float is the
        share of the rows that is held out from the one model that there is, which is not fitted again: choose it for
        a classifier whose probabilities change a lot from fold to fold, as those of a small tree do.
    decision : {"deterministic", "randomized"}
        Rows that are tied between labels get one by their features (so that equal rows get equal labels), or by a draw
        for each row of each call. Both have ``label_probabilities``; where ``X`` has few kinds of rows, only the second
        can split those that are equal.
    random_state : int
        Seed of both.
    sensitive_columns : str, int or list of these, optional
        Columns of ``X`` that are the sensitive features where none are given to a method: then no metadata need be
        routed in a pipeline, a grid search or a scorer. The estimator sees these columns, too.
    unknown : {"error", "own"}
        What ``predict`` does with rows of groups that ``fit`` has not seen: raise, or give them the likeliest class.
    strict, positive, min_group, small_groups, on_missing_group, confidence, promise
        As in :func:`faircrowd.make_fair`; ``confidence`` only with ``prefit=True`` or a float ``cv``, as it is about
        the model whose probabilities the rule was learned from.
    n_jobs : int, optional
        Number of processes for cross-validation.

    Attributes
    ----------
    classes_ : ndarray
    estimator_ : classifier
        Fitted to all rows; to those that are not held out, if ``cv`` is a float.
    rule_ : FairRule or ConstrainedRule, or None
        From probabilities and groups to labels; as text, JSON or SQL for other machines. None without groups.
    certificate_ : Certificate or ConstrainedCertificate, or None
        About ``labels_``, as ``probas_`` believes: it proves that no labels within epsilon are believed to be better.
        It says nothing about other rows, nor whether belief is right; ``held_out_`` does.
    rows_ : ndarray of int
        The numbers of the rows that the rule was learned from: all, unless ``cv`` is a float.
    labels_ : ndarray, shape (n_rows,)
        Their certified labels.
    probas_ : ndarray, shape (n_rows, n_classes)
        Their probabilities, from models that have not seen them (with ``prefit``, from the estimator).
    result_ : FairResult or ConstrainedResult, or None
        Labels, rule, certificate and frontier of these rows in one object, as :func:`faircrowd.make_fair` returns them.
    frontier_ : Frontier or LimitFrontier
        Every epsilon at once; with constraints, what other limits of the first would give.
    held_out_ : HeldOutEstimates or None
        Real accuracy, and real levels of the constraints, of labels by rules and models that have not seen their rows,
        compared with ``y``, with intervals. None without groups, or if there are too few rows to hold some out.

    Warns
    -----
    DataWarning
        If there are no groups, and so nothing to keep; if a constraint that speaks of the truth is missed on held-out
        rows; if the same rule gives very different labels with the models of different folds, so that it cannot be
        relied on with the final one; and what :func:`faircrowd.make_fair` warns of.

    See Also
    --------
    faircrowd.FairCrowd : The same for votes of a crowd.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> rng = np.random.default_rng(0)
    >>> sex = rng.choice(["f", "m"], 2000)
    >>> X = rng.normal(size=(2000, 3)) + 0.3 * (sex == "m")[:, None]
    >>> y = np.where(X.sum(axis=1) + rng.normal(size=2000) > 0.5, "yes", "no")
    >>> fair = FairClassifier(LogisticRegression(), epsilon=0.05).fit(X, y, sensitive_features=sex)
    >>> labels = fair.predict(X, sensitive_features=sex)
    >>> fair.certificate_.gap <= 0.05 < fair.certificate_.gap_before
    True
    >>> found = fair.held_out_.accuracy
    >>> bool(found.low < np.mean(fair.labels_ == y) < found.high)
    True
    """

    rule_: FairRule | ConstrainedRule | None

    def __init__(
        self,
        estimator: Any,
        *,
        epsilon: float = EPSILON,
        constraints: Sequence[Constraint | str] | None = None,
        objective: str | ArrayLike = "accuracy",
        prefit: bool = False,
        cv: Any = 5,
        decision: str = "deterministic",
        random_state: int = 0,
        sensitive_columns: str | int | Sequence[str | int] | None = None,
        unknown: str = "error",
        strict: bool = False,
        positive: object = None,
        min_group: int = MIN_GROUP,
        small_groups: str = "leave-out",
        on_missing_group: str = "error",
        confidence: float | None = None,
        promise: str = "required",
        n_jobs: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.epsilon = epsilon
        self.constraints = constraints
        self.objective = objective
        self.prefit = prefit
        self.cv = cv
        self.decision = decision
        self.random_state = random_state
        self.sensitive_columns = sensitive_columns
        self.unknown = unknown
        self.strict = strict
        self.positive = positive
        self.min_group = min_group
        self.small_groups = small_groups
        self.on_missing_group = on_missing_group
        self.confidence = confidence
        self.promise = promise
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any, *, sensitive_features: ColumnsLike | None = None, **fit_params: Any) -> Self:
        """Learn the rule, and fit the estimator.

        Parameters
        ----------
        X : array-like, sparse matrix or frame, shape (n_rows, n_features)
            Whatever the estimator takes.
        y : array-like, shape (n_rows,)
            The true classes.
        sensitive_features : Series, frame, dict of columns or array-like, optional
            The group of each row, by position (by index, where this and ``X`` are of pandas and their indexes differ).
            Several columns are intersected, unless constraints name them. Without it there is nothing to compare, and
            the labels are the estimator's own; there is a warning.
        **fit_params
            Passed on to the estimator's ``fit``. ``sample_weight`` weighs rows for the estimator, not for constraints.
        """
        self._check_options()
        X, y = indexable(X, column_or_1d(y, warn=True))
        lacking = np.flatnonzero([is_missing(value) for value in y]) if y.dtype == object else np.empty(0)
        if lacking.size:
            raise InputError(f"y has no class in {lacking.size:,} rows: {few(lacking.tolist())}.", parameter="y")
        check_classification_targets(y)
        constraints = epsilon_or_constraints(self.epsilon, self.constraints)
        by_column = plain_parity(constraints) is None
        groups = self._groups(X, sensitive_features, needed_columns(constraints) if by_column else None)
        self._check_names(fit_params)
        routed = self._routed(fit_params)
        keys = row_keys(X, self.random_state)
        self.classes_ = np.asarray(self.estimator.classes_) if self._is_prefit else np.unique(y)
        truth = self._truth(y)
        if self._is_prefit:
            found = fixed_model(self.estimator, X, truth, keys, self.cv)
        else:
            try:
                found = hold_out(
                    self.estimator,
                    X,
                    y,
                    truth,
                    keys,
                    cv=self.cv,
                    fit_params=routed.estimator.fit,
                    split_params=routed.splitter.split,
                    n_jobs=self.n_jobs,
                )
            except (TypeError, ValueError) as error:
                if not isinstance(error, FaircrowdError):
                    self._explain_columns(X, error)
                raise
        self.estimator_, self.rows_, self.probas_ = found.model, found.rows, found.probas
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(self.estimator_, name):
                setattr(self, name, getattr(self.estimator_, name))
        if groups is None and plain_parity(constraints) is not None:
            self._has_no_groups()
        else:
            rows = KeyedRows(keys[found.rows])
            self._learn(constraints, some_groups(groups, found.rows), truth[found.rows], found, rows)
        return self

    def predict(self, X: Any, *, sensitive_features: ColumnsLike | None = None) -> NDArray[Any]:
        """Return the fair label of each row; parameters are those of ``fit``."""
        chances = self.label_probabilities(X, sensitive_features=sensitive_features)

        def keys(rows: NDArray[np.int64]) -> NDArray[np.uint64]:
            found = row_keys(rows_of(X, rows), self.random_state)
            if self.decision == "deterministic":
                return found
            # The same call has the same draws, but rows that are asked for one by one have draws of their own.
            generator = np.random.default_rng([self.random_state, int(found.sum())])
            return generator.integers(2**64, size=rows.size, dtype=np.uint64)

        return np.asarray(self.classes_[draw(chances, keys)])

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the estimator's probability of each class, by which ``predict`` goes: what the classifier believes.

        It is not the probability of the fair label; ``label_probabilities`` is.
        """
        check_is_fitted(self, "estimator_")
        return probabilities_of(self.estimator_, X)

    def label_probabilities(self, X: Any, *, sensitive_features: ColumnsLike | None = None) -> NDArray[np.float64]:
        """Return the probability of each label by the rule: 0 or 1, except where labels are tied."""
        probas = self.predict_proba(X)
        if self.rule_ is None:
            if sensitive_features is not None:
                raise InputError(
                    f"{_NO_GROUPS}, so that there is no rule for groups; fit it with them.",
                    parameter="sensitive_features",
                )
            return np.asarray(np.eye(len(self.classes_))[probas.argmax(axis=1)])
        names = self.rule_.columns if isinstance(self.rule_, ConstrainedRule) else None
        groups = self._groups(X, sensitive_features, names)
        if groups is None and names != ():
            raise InputError(
                "The rule goes by groups; give sensitive_features=... to predict and score (through a Pipeline by "
                "metadata routing), or name columns of X by sensitive_columns.",
                parameter="sensitive_features",
            )
        return self._chances(self.rule_, probas, groups)

    def score(
        self,
        X: Any,
        y: Any,
        *,
        sensitive_features: ColumnsLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> float:
        """Return the accuracy of ``predict``."""
        labels = self.predict(X, sensitive_features=sensitive_features)
        return float(accuracy_score(y, labels, sample_weight=sample_weight))

    def get_metadata_routing(self) -> Any:
        """Return which metadata are passed on: those of ``fit`` to the estimator and to the splitter."""
        fits = MethodMapping().add(caller="fit", callee="fit")
        router = MetadataRouter(owner=type(self).__name__).add_self_request(self)
        router.add(estimator=self.estimator, method_mapping=fits)
        return router.add(splitter=self.cv, method_mapping=MethodMapping().add(caller="fit", callee="split"))

    def __sklearn_tags__(self) -> Any:
        tags, inner = super().__sklearn_tags__(), get_tags(self.estimator)
        tags.input_tags = inner.input_tags
        if inner.classifier_tags is not None:
            tags.classifier_tags.multi_class = inner.classifier_tags.multi_class
        tags.non_deterministic = inner.non_deterministic
        return tags

    @property
    def _is_prefit(self) -> bool:
        return bool(self.prefit) or isinstance(self.estimator, FrozenEstimator)

    def _check_options(self) -> None:
        check_classifier(self.estimator)
        check_choice("decision", self.decision, ("deterministic", "randomized"))
        check_choice("unknown", self.unknown, ("error", "own"))
        check_count("random_state", self.random_state)
        if self.prefit:
            check_is_fitted(self.estimator)
        if self.confidence is not None and not (self._is_prefit or is_share(self.cv)):
            raise OptionError(
                "confidence promises epsilon for the model whose probabilities the rule was learned from, and with "
                f"cv={self.cv!r} these are several; hold out a share of the rows instead (cv=0.3), or give a fitted "
                "estimator and prefit=True.",
                parameter=("confidence", "cv"),
            )

    def _truth(self, y: NDArray[Any]) -> Codes:
        """Return the code of each true class."""
        if len(self.classes_) < 2 or len(np.unique(y)) < 2:
            raise InputError(f"y has one class, {few(np.unique(y).tolist())}; a classifier needs at least two.")
        codes = np.searchsorted(self.classes_, y)
        strange = self.classes_[np.minimum(codes, len(self.classes_) - 1)] != y
        if strange.any():
            raise InputError(
                f"y has classes that the fitted estimator does not know: {few(np.unique(y[strange]).tolist())}; it "
                f"knows {few(self.classes_.tolist())}."
            )
        return codes.astype(np.int32)

    def _groups(self, X: Any, sensitive_features: ColumnsLike | None, names: Sequence[str] | None) -> RowGroups | None:
        """Return the groups of rows, if there are any, by the names of columns; None intersects all columns."""
        given = sensitive_features
        if given is None and self.sensitive_columns is not None:
            given = columns_of(X, self.sensitive_columns)
        if given is None:
            return None
        return read_row_groups(X, given, by_column=names is not None, names=names or ())

    def _explain_columns(self, X: Any, error: Exception) -> None:
        """Raise with advice if the estimator may have failed because sensitive columns of ``X`` are not numbers."""
        columns = {} if self.sensitive_columns is None else columns_of(X, self.sensitive_columns)
        if texts := [name for name, column in columns.items() if column.dtype.kind not in "biuf"]:
            raise InputError(
                f"{type(self.estimator).__name__} cannot be fitted to X, and sees its sensitive columns {few(texts)} "
                f"as well ({' '.join(str(error).split())}). Drop what it need not see: "
                f"make_pipeline(make_column_transformer(('drop', {texts!r}), remainder='passthrough'), "
                f"{type(self.estimator).__name__}()), or encode it.",
                parameter="sensitive_columns",
            ) from error

    def _check_names(self, given: Mapping[str, Any]) -> None:
        """Raise for arguments that neither ``fit`` nor the estimator's has: the latter would be blamed."""
        from sklearn import get_config

        if get_config()["enable_metadata_routing"]:
            return
        known, own = names_of_arguments(self.estimator.fit), "sensitive_features"
        if known is None:  # such as a pipeline, which takes the names of its steps
            known = tuple(name for name in given if not suggestion(name, [own]))
        check_names(f"{type(self).__name__}.fit", given, [own, *known])

    def _routed(self, fit_params: Mapping[str, Any]) -> Any:
        """Return the metadata of ``fit`` by whom they are for; without routing, all are the estimator's."""
        from sklearn import get_config

        if get_config()["enable_metadata_routing"]:
            return process_routing(self, "fit", **fit_params)
        return Bunch(estimator=Bunch(fit=dict(fit_params)), splitter=Bunch(split={}))

    def _has_no_groups(self) -> None:
        """Become the plain classifier."""
        self.rule_ = self.certificate_ = self.held_out_ = self.result_ = None
        self.labels_ = self.classes_[self.probas_.argmax(axis=1)]
        warn(f"{_NO_GROUPS}: there are no groups to compare, and the labels are the estimator's own.", DataWarning)

    def _learn(
        self,
        constraints: tuple[Constraint, ...],
        groups: RowGroups | None,
        truth: Codes,
        found: HeldOutRows,
        rows: Vocabulary,
    ) -> None:
        """Learn the rule from held-out probabilities."""
        if any(constraint.adds_review for constraint in constraints):
            raise OptionError(
                "A review budget leaves some rows without a label, and a classifier labels all; use make_fair for it, "
                "or leave it out.",
                parameter="constraints",
            )
        posterior = NamedPosterior(self.probas_, self._classes, rows)
        promised = {"confidence": self.confidence, "promise": self.promise}
        result = solve_posterior(posterior, groups, constraints, **self._asked | promised)
        warn_of_groups_and_labels(result, alarm_of_classifier)
        # With a promise, epsilon is tightened.
        solved = (DemographicParity(result.certificate.epsilon),) if isinstance(result, FairResult) else constraints
        relaxed = self._asked | {"decision": "randomized", "strict": False}  # the same rule, without whole labels

        def label(train: NDArray[np.int64], test: NDArray[np.int64]) -> Codes:
            part = NamedPosterior(self.probas_[train], self._classes)
            rule = solve_posterior(part, some_groups(groups, train), solved, **relaxed).rule
            chances = self._chances(rule, self.probas_[test], some_groups(groups, test), "own")
            return draw(chances, lambda unsure: task_keys(rows, test[unsure], self.random_state))

        held_out = held_out_labels(found.fold, label)
        self.result_, self.rule_, self.certificate_ = result, result.rule, result.certificate
        self.labels_ = self.classes_[result.labels]
        self.held_out_ = None
        if held_out is not None:
            problem = posed_problem(result, constraints)
            self.held_out_ = held_out_estimates(problem, truth, held_out)
            if not found.is_fixed:
                warn_of_transfer(problem, found.fold, held_out)
        if isinstance(result, ConstrainedResult) and self.held_out_ is not None:
            self.certificate_ = _with_real_levels(result.certificate, constraints, self.held_out_)

    @property
    def _classes(self) -> Vocabulary:
        return Vocabulary.of(self.classes_.tolist())

    @property
    def _asked(self) -> dict[str, Any]:
        """The arguments of ``solve_posterior``."""
        names = ("objective", "decision", "random_state", "strict", "positive")
        return {name: getattr(self, name) for name in (*names, "min_group", "small_groups", "on_missing_group")}

    def _chances(
        self,
        rule: FairRule | ConstrainedRule,
        probas: NDArray[np.float64],
        groups: RowGroups | None,
        unknown: str | None = None,
    ) -> NDArray[np.float64]:
        """Return the probabilities of labels by a rule."""
        posterior: Any = NamedPosterior(probas, self._classes)
        given: Any = groups
        policy = self.unknown if unknown is None else unknown
        missing = self.on_missing_group
        try:
            return np.asarray(rule.predict_proba(posterior, given, unknown=policy, on_missing_group=missing))
        except UnknownGroupError as error:
            advice = "FairClassifier(..., unknown='own'), or set_params(unknown='own'), gives them the likeliest class."
            raise UnknownGroupError(error.found.replace(" tasks ", " rows ", 1), advice, parameter="unknown") from None


def _with_real_levels(
    certificate: ConstrainedCertificate, constraints: Sequence[Constraint], held_out: HeldOutEstimates
) -> ConstrainedCertificate:
    """Return the certificate with the real levels of constraints that speak of the truth; warn if they are missed."""
    kept = list(certificate.constraints)
    for c, constraint in enumerate(constraints):
        real = held_out.levels.get(str(constraint))
        if real is None or not constraint.is_about_truth:
            continue
        kept[c] = replace(kept[c], estimated=real.to_dict())
        limit = constraint.level if constraint.level_name else np.nan
        if real.high < limit if constraint.is_floor else real.low > limit:
            warn(
                f"{constraint} is kept as the estimator believes, and missed in truth: on held-out rows it is "
                f"{real.estimate:.3f} ({real.low:.3f} to {real.high:.3f}). The estimator's probabilities are not right "
                "in each group; calibrate them (CalibratedClassifierCV), with the groups among the features.",
                DataWarning,
            )
    return replace(certificate, constraints=kept)
