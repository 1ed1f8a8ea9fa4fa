"""``FairCrowd``: votes to fair labels, with any aggregator."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from copy import copy
from dataclasses import dataclass, field, replace
from functools import partial
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from faircrowd._checks import warn
from faircrowd._display import Displayed, parameters_in_short
from faircrowd._keywords import check_names, names_checked, names_of_arguments
from faircrowd._params import Parameters
from faircrowd._types import ByTask, PathOrText, TableLike
from faircrowd.aggregate.calibration.accuracy_estimate import AccuracyEstimate
from faircrowd.aggregate.calibration.calibrate import CalibratedCrowd
from faircrowd.engines import in_spark
from faircrowd.errors import DataWarning, InfeasibleError, NotFittedError, OptionError
from faircrowd.fair.certificate import Certificate
from faircrowd.fair.constraints.constraint_kind import Constraint
from faircrowd.fair.constraints.listed import EPSILON, epsilon_or_constraints, main_columns, plain_parity
from faircrowd.fair.frontier import Frontier
from faircrowd.fair.general.constrained_certificate import ConstrainedCertificate
from faircrowd.fair.general.constrained_result import (
    ConstrainedResult,
    refuse_with_constraints,
    solve_constrained,
    warn_of_constrained,
)
from faircrowd.fair.general.constrained_rule import ConstrainedRule
from faircrowd.fair.general.constrained_solve import ConstrainedProblem
from faircrowd.fair.general.limit_frontier import LimitFrontier
from faircrowd.fair.general.real_levels import KnownLabels, with_real_levels
from faircrowd.fair.known_labels import GoldEstimates, estimates_of, fair_labels
from faircrowd.fair.make import FairResult, solve_problem, warn_of_result
from faircrowd.fair.rule import FairRule
from faircrowd.fair.tasks.from_votes import (
    VotesLike,
    fit_constrained,
    fit_problem,
    from_posterior,
    known_labels,
    missing_group_alone,
    new_constrained,
    new_problem,
)
from faircrowd.fair.tasks.group_columns import GroupColumns, are_uncertain, is_read
from faircrowd.fair.tasks.problem import Problem
from faircrowd.fair.tasks.read_posterior import read_posterior
from faircrowd.votes import VoteTable, read_votes
from faircrowd.votes.frames import is_frame, names_of
from faircrowd.votes.group_policy import MIN_GROUP
from faircrowd.votes.vocabulary import Codes

if TYPE_CHECKING:
    from faircrowd._display import Chart

__all__ = ["FairCrowd", "FitInputs", "check_believed"]


@dataclass(frozen=True, eq=False, repr=False)
class FitInputs(Displayed):
    """What ``fit`` was given, as far as the files of a run record it.

    Attributes
    ----------
    votes : Path or None
        The file of votes; None if they were given in memory.
    columns : tuple of str
        The columns of votes given as a frame.
    tasks, sensitive_features, true_labels, read_options
        As given to ``fit``.
    more : mapping of str to object
        Other arguments of the aggregator's ``fit``, such as ``initial_error``.
    """

    votes: Path | None = None
    columns: tuple[str, ...] = ()
    tasks: TableLike | None = None
    sensitive_features: ByTask | None = None
    true_labels: ByTask | None = None
    read_options: Mapping[str, str] = field(default_factory=dict)
    more: Mapping[str, object] = field(default_factory=dict)


_READING = tuple(
    name
    for name in signature(read_votes).parameters
    if name not in ("source", "sensitive_features", "tasks", "min_group", "small_groups")
)
"""The arguments of ``read_votes`` that ``fit`` takes as well."""


@names_checked
@dataclass(eq=False, repr=False)
class FairCrowd(Parameters):
    """The best labels whose gap between groups is at most epsilon, from any aggregator's posterior.

    Parameters
    ----------
    estimator : aggregator or None
        One of ours, any object with crowd-kit's ``fit_predict_proba``, or None if ``fit`` is given a posterior.
    epsilon : float
        The largest gap allowed: over classes, the largest difference between two groups' rates.
    objective : {"accuracy", "f1"} or array-like
        As in :func:`faircrowd.make_fair`. For "f1" the posterior should be calibrated, as that of
        :class:`faircrowd.CalibratedCrowd` is.
    decision : {"deterministic", "randomized"}
    random_state : int
    strict : bool
    confidence : float, optional
    promise : {"required", "best-effort"}
    positive : class, optional
        As in :func:`faircrowd.make_fair`.
    min_group : int
        Groups with fewer tasks are small; 1 compares every group.
    small_groups : {"leave-out", "merge", "error"}
        What to do with small groups, as in :func:`faircrowd.make_fair`. For tasks without a group, see ``read_options``
        of ``fit``.
    constraints : sequence of Constraint, optional
        What the labels must keep instead of ``epsilon``: constraints of :mod:`faircrowd.constraints`, over any columns
        of ``sensitive_features``. ``result_`` is then a ``ConstrainedResult``, unless demographic parity between the
        groups of all columns is all that is asked for.
    believed : bool
        Constraints that speak of the truth (equal opportunity, equalized odds, accuracy parity) are kept only as far as
        the posterior is right, so they need an estimator that is calibrated on known labels
        (:class:`faircrowd.CalibratedCrowd`), or your consent: with True they are kept as the aggregator believes.

    Attributes
    ----------
    labels_
        The fair label of each task.
    probas_
        The aggregator's posterior.
    rule_ : FairRule
        For new tasks.
    certificate_ : Certificate
    frontier_ : Frontier
        Every epsilon at once.
    result_ : FairResult
        All of these in one object.
    estimator_
        The fitted aggregator.
    accuracy_, accuracy_before_, price_ : AccuracyEstimate or None
        With a :class:`faircrowd.CalibratedCrowd` as estimator: the accuracy of the fair labels, that of the
        aggregator's own, and what fairness costs, as estimated from the known labels; otherwise None.
    gold_estimates_ : GoldEstimates or None
        These, the same by group, and the gap of the true labels.

    Warns
    -----
    DataWarning
        If groups are left out or merged; if more than a quarter of the labels are changed, a label vanishes, or nearly
        all tasks get the same one (:class:`~faircrowd.errors.DrasticChangeWarning`); or if F1 is to be maximised under
        the posterior of an aggregator that is not a ``CalibratedCrowd``.

    Examples
    --------
    >>> from faircrowd import DawidSkene, simulate_crowd
    >>> crowd = simulate_crowd(random_state=0)
    >>> fair = FairCrowd(DawidSkene(by_group=True), epsilon=0.05)
    >>> fair = fair.fit(crowd.votes, sensitive_features=crowd.sensitive_features)
    >>> fair.certificate_.gap <= 0.05 < fair.certificate_.gap_before
    True
    """

    estimator: Any = None
    epsilon: float = EPSILON
    objective: Any = "accuracy"
    decision: str = "deterministic"
    random_state: int = 0
    strict: bool = False
    confidence: float | None = None
    promise: str = "required"
    positive: Any = None
    min_group: int = MIN_GROUP
    small_groups: str = "leave-out"
    constraints: Any = None
    believed: bool = False

    _result: FairResult | None = field(default=None, init=False, repr=False)
    _constrained: ConstrainedResult | None = field(default=None, init=False, repr=False)
    _certificate: ConstrainedCertificate | None = field(default=None, init=False, repr=False)
    _inputs: FitInputs | None = field(default=None, init=False, repr=False)
    _estimates: GoldEstimates | None = field(default=None, init=False, repr=False)

    def fit(
        self,
        data: VotesLike,
        *args: Any,
        sensitive_features: ByTask | None = None,
        tasks: TableLike | None = None,
        read_options: Mapping[str, str] | None = None,
        **kwargs: Any,
    ) -> Self:
        """Aggregate votes (or take a posterior) and find the fair labels.

        Parameters
        ----------
        data : frame, path or VoteTable
            Votes; a posterior if ``estimator`` is None.
        *args, **kwargs
            Passed on to the estimator's ``fit``: ``true_labels``, for those of ours that learn from known labels. They
            may be the name of a column of ``tasks``. Arguments of :func:`faircrowd.read_votes` may be given by their
            names, too: ``on_missing_group="drop"`` is short for ``read_options={"on_missing_group": "drop"}``.
        sensitive_features
            The group of each task, as in :func:`faircrowd.read_votes`.
        tasks : frame or path, optional
            A table with one row per task, where columns named in ``sensitive_features`` are looked up.
        read_options : mapping, optional
            Further arguments of :func:`faircrowd.read_votes`, such as ``{"task": "item", "on_duplicate": "first"}``, or
            ``{"on_missing_group": "drop"}`` to leave tasks without a group out of the constraint.
        """
        self._result = self._constrained = self._certificate = self._inputs = self._estimates = None
        self.estimator_ = copy(self.estimator)
        reading = {name: kwargs.pop(name) for name in _READING if name in kwargs}
        given = {**(read_options or {}), **reading}
        self._check_names(kwargs)
        constraints = self._constraints
        epsilon = plain_parity(constraints)
        if epsilon is None or are_uncertain(sensitive_features):
            return self._fit_constrained(constraints, data, args, kwargs, sensitive_features, tasks, given)
        problem = fit_problem(
            self.estimator_,
            data,
            *args,
            sensitive_features=sensitive_features,
            tasks=tasks,
            read_options=given,
            min_group=self.min_group,
            small_groups=self.small_groups,
            **kwargs,
        )
        self._result = solve_problem(problem, **self._asked | {"epsilon": epsilon})
        warn_of_result(self._result)
        self._note_f1()
        gold = known_labels(self.estimator_, args, kwargs)
        more = _other_arguments(args if gold is None else args[1:], kwargs)
        self._inputs = _inputs(data, tasks, sensitive_features, gold, given, more)
        return self

    def _check_names(self, given: Mapping[str, object]) -> None:
        """Raise for arguments that neither ``fit`` nor the estimator's has: the latter would be blamed."""
        known = () if self.estimator is None else names_of_arguments(getattr(self.estimator, "fit", self.fit))
        if known is not None:
            own = ("sensitive_features", "tasks", "read_options", *_READING)
            check_names(f"{type(self).__name__}.fit", given, [*own, *known])

    @property
    def _constraints(self) -> tuple[Constraint, ...]:
        """What the labels must keep."""
        return epsilon_or_constraints(self.epsilon, self.constraints)

    def _fit_constrained(
        self,
        constraints: tuple[Constraint, ...],
        data: VotesLike,
        args: tuple[Any, ...],
        kwargs: Mapping[str, Any],
        sensitive_features: ByTask | GroupColumns | None,
        tasks: TableLike | None,
        given: dict[str, Any],
    ) -> Self:
        """Fit under constraints other than demographic parity between all groups."""
        refuse_with_constraints(self.confidence, self.promise, self.positive, self.small_groups)
        check_believed(constraints, self.estimator_, believed=self.believed)
        problem, columns = fit_constrained(
            self.estimator_,
            data,
            *args,
            constraints=constraints,
            sensitive_features=sensitive_features,
            tasks=tasks,
            read_options=given,
            min_group=self.min_group,
            **kwargs,
        )
        missing = given.get("on_missing_group", "error")
        self._constrained = solve_constrained(
            problem, columns, constraints, **self._asked_of_constraints, on_missing_group=missing
        )
        warn_of_constrained(self._constrained)
        gold = known_labels(self.estimator_, args, kwargs)
        more = _other_arguments(args if gold is None else args[1:], kwargs)
        groups = None if is_read(sensitive_features) else sensitive_features
        self._inputs = _inputs(data, tasks, groups, gold, given, more)
        return self

    @property
    def _asked_of_constraints(self) -> dict[str, Any]:
        """The arguments of ``solve_constrained``."""
        names = ("objective", "decision", "random_state", "strict", "min_group")
        return {name: getattr(self, name) for name in names}

    def fit_predict(
        self,
        data: VotesLike,
        *args: Any,
        sensitive_features: ByTask | None = None,
        **kwargs: Any,
    ) -> Any:
        """Fit and return the fair labels."""
        return self.fit(data, *args, sensitive_features=sensitive_features, **kwargs).labels_

    def fit_predict_proba(
        self,
        data: VotesLike,
        *args: Any,
        sensitive_features: ByTask | None = None,
        **kwargs: Any,
    ) -> Any:
        """Fit and return the aggregator's posterior, as ``probas_``."""
        return self.fit(data, *args, sensitive_features=sensitive_features, **kwargs).probas_

    def predict(
        self,
        data: VotesLike,
        *,
        sensitive_features: ByTask | None = None,
        unknown: str = "error",
        tasks: TableLike | None = None,
        read_options: Mapping[str, str] | None = None,
    ) -> Any:
        """Label new tasks by the rule, from their votes (from a posterior, if there is no estimator).

        Parameters
        ----------
        data : frame, path or VoteTable
            Votes; a posterior if ``estimator`` is None.
        sensitive_features : optional
            As in ``fit``; not needed if neither the rule nor the aggregator goes by groups.
        unknown : {"error", "own"}
            What to do with tasks of groups that the rule does not know: raise, or give them the aggregator's own label.
        tasks : frame or path, optional
            As in ``fit``, a table of the new tasks.
        read_options : mapping, optional
            As in ``fit``, and by default the same: with ``{"on_missing_group": "drop"}``, say, new tasks without a
            group are labelled as those of ``fit`` were.
        """
        rule = self.rule_
        if isinstance(rule, ConstrainedRule):
            if self.estimator_ is None:
                policy = missing_group_alone(tasks, self._read_as_in_fit(data, read_options))
                posterior: Any = data
                return rule.predict(posterior, sensitive_features, unknown=unknown, on_missing_group=policy)
            new, columns = self._new_constrained(rule, data, sensitive_features, tasks, read_options)
            return rule.predict_problem(new, columns, unknown)
        problem = self._new_problem(data, sensitive_features, tasks, read_options)
        if self.estimator_ is None:
            rule = rule.for_posterior(data, problem)
        return rule.predict_problem(problem, unknown)

    def predict_proba(
        self,
        data: VotesLike,
        *,
        sensitive_features: ByTask | None = None,
        tasks: TableLike | None = None,
        read_options: Mapping[str, str] | None = None,
    ) -> Any:
        """Return the aggregator's posterior of new tasks, as ``probas_``; parameters are those of ``predict``."""
        rule = self.rule_
        if isinstance(rule, ConstrainedRule):
            if self.estimator_ is None:
                return read_posterior(data, None, without_groups=True).probas
            return self._new_constrained(rule, data, sensitive_features, tasks, read_options)[0].probas
        return self._new_problem(data, sensitive_features, tasks, read_options).probas

    def _new_problem(
        self,
        data: VotesLike,
        sensitive_features: ByTask | None,
        tasks: TableLike | None,
        read_options: Mapping[str, str] | None,
    ) -> Any:
        given = self._read_as_in_fit(data, read_options)
        return new_problem(self.estimator_, data, sensitive_features, tasks=tasks, read_options=given)

    def _new_constrained(
        self,
        rule: ConstrainedRule,
        data: VotesLike,
        sensitive_features: ByTask | None,
        tasks: TableLike | None,
        read_options: Mapping[str, str] | None,
    ) -> tuple[Problem, GroupColumns]:
        """Read new tasks and the columns that the rule, or the aggregator, goes by."""
        columns = self._constrained.problem.columns if self._constrained is not None else {}
        return new_constrained(
            self.estimator_,
            data,
            sensitive_features,
            rule.columns,
            main_columns(self._constraints, columns),
            tasks=tasks,
            read_options=self._read_as_in_fit(data, read_options),
        )

    def _read_as_in_fit(self, data: VotesLike, read_options: Mapping[str, str] | None) -> Mapping[str, str]:
        """Return the options of reading new tasks: those of ``fit``, unless others are given or all is read already."""
        if read_options is not None:
            return read_options
        return {} if in_spark(data) or isinstance(data, VoteTable) else self.inputs_.read_options

    @property
    def labels_(self) -> Any:
        """The fair label of each task."""
        return self.result_.labels

    @property
    def probas_(self) -> Any:
        """The aggregator's posterior."""
        problem = self.result_.problem
        return problem.tasks.probas if isinstance(problem, ConstrainedProblem) else problem.probas

    @property
    def rule_(self) -> FairRule | ConstrainedRule:
        """The rule, for new tasks."""
        return self.result_.rule

    @property
    def certificate_(self) -> Certificate | ConstrainedCertificate:
        """What was promised, what was reached, and the numbers to check it with."""
        certificate = self.result_.certificate
        if not isinstance(self.estimator_, CalibratedCrowd):
            return certificate
        if isinstance(certificate, ConstrainedCertificate):
            return self._with_gold(certificate)
        found = self.estimator_.calibration_.to_dict()
        estimates = self.gold_estimates_
        found |= {"accuracy_before": self.estimator_.accuracy_.to_dict()} if estimates is None else estimates.to_dict()
        return replace(certificate, calibration=found)

    @property
    def accuracy_(self) -> AccuracyEstimate | None:
        """The accuracy of the fair labels as estimated from known labels; None without a CalibratedCrowd."""
        return None if self.gold_estimates_ is None else self.gold_estimates_.accuracy

    @property
    def accuracy_before_(self) -> AccuracyEstimate | None:
        """The same of the aggregator's own labels."""
        return None if self.gold_estimates_ is None else self.gold_estimates_.accuracy_before

    @property
    def price_(self) -> AccuracyEstimate | None:
        """The accuracy given up for fairness as estimated from known labels; None without a CalibratedCrowd."""
        return None if self.gold_estimates_ is None else self.gold_estimates_.price

    @property
    def gold_estimates_(self) -> GoldEstimates | None:
        """What known labels say about accuracy, price and the truth's own gap (computed when first used).

        None without a :class:`faircrowd.CalibratedCrowd`, and for votes in Spark.
        """
        result, model = self.result_, self.estimator_
        if not isinstance(model, CalibratedCrowd) or not isinstance(model.votes_, VoteTable):
            return None
        if self._estimates is None:
            # With `confidence`, the certificate has the tightened epsilon.
            if isinstance(result, ConstrainedResult):
                with suppress(InfeasibleError):  # a posterior without some known labels may leave no room
                    self._estimates = estimates_of(model, result.label_codes, self._constrained_labels)
                return self._estimates
            asked = {**self._asked, "epsilon": result.certificate.epsilon, "confidence": None, "promise": "required"}
            self._estimates = estimates_of(model, result.solved.labels, partial(fair_labels, asked=asked))
        return self._estimates

    def _constrained_labels(self, problem: Problem) -> Codes:
        """Return the labels of the same tasks with another posterior."""
        return self._solve_again(problem).label_codes

    def _solve_again(self, problem: Problem) -> ConstrainedResult:
        columns = self._constrained.problem.columns if self._constrained is not None else {}
        return solve_constrained(problem, columns, self._constraints, **self._asked_of_constraints)

    def _with_gold(self, certificate: ConstrainedCertificate) -> ConstrainedCertificate:
        """Return the certificate with what known labels say."""
        result, model = self._constrained, self.estimator_
        if result is None or not isinstance(model.votes_, VoteTable):
            return certificate
        if self._certificate is None:
            found, estimates = model.calibration_.to_dict(), self.gold_estimates_
            found |= {} if estimates is None else estimates.to_dict()
            certificate = replace(certificate, calibration=found)
            with suppress(InfeasibleError):
                certificate = self._with_real_levels(certificate, result)
            self._certificate = certificate
        return self._certificate

    def _with_real_levels(
        self, certificate: ConstrainedCertificate, result: ConstrainedResult
    ) -> ConstrainedCertificate:
        """Return the certificate with the real levels of constraints that speak of the truth."""
        model = self.estimator_
        if any(kept.is_believed for kept in certificate.constraints):
            parts = [
                (
                    fit.task,
                    fit.truth,
                    self._solve_again(from_posterior(fit.posterior, model.votes_)).solved.outcomes,
                )
                for fit in model.cross_fits()
            ]
            known = KnownLabels(
                np.concatenate([task for task, _, _ in parts]),
                np.concatenate([truth for _, truth, _ in parts]),
                np.concatenate([outcomes[task] for task, _, outcomes in parts]),
                model.confidence,
            )
            return with_real_levels(certificate, result.problem, known)
        return certificate

    @property
    def frontier_(self) -> Frontier | LimitFrontier:
        """Every epsilon at once; with constraints, what other limits of the first would give."""
        return self.result_.frontier

    @property
    def result_(self) -> FairResult | ConstrainedResult:
        """Labels, rule, certificate and frontier in one object, as :func:`faircrowd.make_fair` returns them."""
        if self._constrained is not None:
            return self._constrained
        if self._result is None:
            raise NotFittedError("This FairCrowd is not fitted yet; call fit(votes, sensitive_features=...) first.")
        return self._result

    def __sklearn_is_fitted__(self) -> bool:
        """Return whether there are labels: ``sklearn.utils.validation.check_is_fitted`` asks."""
        return self._result is not None or self._constrained is not None

    @property
    def inputs_(self) -> FitInputs:
        """What ``fit`` was given."""
        self.result_  # noqa: B018 - raises before fit
        return FitInputs() if self._inputs is None else self._inputs

    def _note_f1(self) -> None:
        """Warn if F1 is maximised under a posterior that is not calibrated."""
        if self.result_.certificate.objective != "f1" or self.estimator_ is None:
            return
        if not isinstance(self.estimator_, CalibratedCrowd):
            warn(
                f"objective='f1' takes probabilities at their word, and those of {type(self.estimator_).__name__} are "
                "not calibrated, so the real F1 may be far below the believed one. Calibrate them on known labels: "
                "CalibratedCrowd().",
                DataWarning,
            )

    @property
    def _asked(self) -> dict[str, Any]:
        """The arguments of ``solve_problem``."""
        # What is settled before there is a problem to solve:
        others = ("estimator", "min_group", "small_groups", "constraints", "believed")
        return {name: value for name, value in self.get_params(deep=False).items() if name not in others}

    # The files, the page and the text of a run are made to the right of this stage, so these methods import it when
    # they are called: the one exception to the order of stages.

    def write(
        self,
        folder: PathOrText,
        *,
        truth: ByTask | None = None,
        report: bool = True,
        charts: PathOrText | None = None,
        title: str | None = None,
        note: str | None = None,
        date: str | None = None,
    ) -> None:
        """Write what ``faircrowd aggregate`` writes: labels, workers, model, rule, certificate, page and evidence.

        Votes and tasks that ``fit`` was given as files are recorded with their hashes, so that ``faircrowd verify`` can
        repeat the run; of those in memory the evidence has rows, columns and a hash of the content.

        Parameters
        ----------
        folder : path
            The files appear there together, or after an error not at all.
        truth : optional
            True labels to score by: a Series indexed by task, a dict, a frame, or the name of a column of ``tasks``.
        report : bool
            Whether to write the page, report.html.
        charts : path, optional
            A folder for the charts of the page as PNG and SVG.
        title, note : str, optional
            What was labelled, in a line, and what the labels are for: the page shows both, the evidence keeps them.
        date : str, optional
            The day that the page states, such as "2026-11-18", or "today". By default that of the environment variable
            ``SOURCE_DATE_EPOCH``, or none: the same votes and options give the same files on any day.

        Examples
        --------
        >>> import tempfile
        >>> from faircrowd import MajorityVote, simulate_crowd
        >>> crowd = simulate_crowd(200, 20, random_state=0)
        >>> fair = FairCrowd(MajorityVote()).fit(crowd.votes, sensitive_features=crowd.sensitive_features)
        >>> with tempfile.TemporaryDirectory() as place:
        ...     fair.write(place, truth=crowd.truth, report=False)
        ...     sorted(os.listdir(place))[:4]
        ['certificate.json', 'evidence.json', 'labels.csv', 'model.json']
        """
        from faircrowd.runs.options import PageOptions
        from faircrowd.runs.run_of_estimator import run_of

        page = PageOptions.given(title, note, date)
        run_of(self, truth, page=page).write(folder, report=report, charts=charts)

    def report(
        self,
        path: PathOrText,
        *,
        truth: ByTask | None = None,
        title: str | None = None,
        note: str | None = None,
        date: str | None = None,
    ) -> None:
        """Write the page alone: one HTML file that opens without a network.

        Parameters
        ----------
        path : path
            The file, such as ``report.html``.
        truth, title, note, date : optional
            As in ``write``.
        """
        from faircrowd.runs.options import PageOptions
        from faircrowd.runs.run_of_estimator import run_of

        run_of(self, truth, page=PageOptions.given(title, note, date)).write_page(path)

    def summary(self, *, truth: ByTask | None = None) -> str:
        """Return the run in a few lines of text, as ``faircrowd aggregate`` prints it.

        Examples
        --------
        >>> from faircrowd import MajorityVote, simulate_crowd
        >>> crowd = simulate_crowd(200, 20, random_state=0)
        >>> fair = FairCrowd(MajorityVote()).fit(crowd.votes, sensitive_features=crowd.sensitive_features)
        >>> print(fair.summary().splitlines()[2])
        crowd      200 tasks, 20 workers, 2 classes
        """
        from faircrowd.runs.run_of_estimator import run_of

        return run_of(self, truth, with_hashes=False).text()

    def plot(self, chart: str = "rates", *, truth: ByTask | None = None) -> Chart:
        """Return a chart of the result, which notebooks show; ``save("rates.png")`` writes it.

        Parameters
        ----------
        chart : {"rates", "frontier", "posterior", "reliability", "workers"}
            The share of each label in each group, before and after (with constraints, what they compare); what a
            smaller gap or another limit costs; the distribution of the posterior in each group; the share of right
            labels against their confidence, which needs known labels; or how each worker's votes differ between groups.
        truth : optional
            As in ``write``: for real accuracy beside the believed one, for reliability, and to compare workers on tasks
            of the same true label.

        Examples
        --------
        >>> from faircrowd import MajorityVote, simulate_crowd
        >>> crowd = simulate_crowd(200, 20, random_state=0)
        >>> fair = FairCrowd(MajorityVote()).fit(crowd.votes, sensitive_features=crowd.sensitive_features)
        >>> fair.plot()
        Chart('Labels by group, before and after')
        """
        from faircrowd.runs.estimator_views import chart_of_estimator

        return chart_of_estimator(self, chart, truth)

    def to_frame(self, backend: str | None = None, *, why: bool = False) -> Any:
        """Return one row per task, as labels.csv has it: label, label before, votes, posterior, group and threshold.

        Parameters
        ----------
        backend : str, optional
            "pandas", "polars" or "pyarrow"; by default the kind of frame that the votes came in.
        why : bool
            Whether to add the reason of each label, a sentence.

        Examples
        --------
        >>> from faircrowd import MajorityVote, simulate_crowd
        >>> crowd = simulate_crowd(200, 20, random_state=0)
        >>> fair = FairCrowd(MajorityVote()).fit(crowd.votes, sensitive_features=crowd.sensitive_features)
        >>> list(fair.to_frame())[:6]
        ['task', 'label', 'label_before', 'changed', 'votes', 'posterior_0']
        """
        from faircrowd.runs.estimator_views import frame_of_estimator

        return frame_of_estimator(self, backend, why=why)

    def score(self, truth: ByTask) -> float:
        """Return the real accuracy: the share of the fair labels that are right.

        Tasks whose truth is not known are left out, and so is the truth of other tasks. A true label that nobody voted
        for counts as missed; a task that is sent to a person counts as right.

        Parameters
        ----------
        truth
            True labels by task: a Series, a dict, a frame, or the name of a column of the ``tasks`` given to ``fit``;
            for a posterior given as an array, also an array in the same order.

        Examples
        --------
        >>> from faircrowd import MajorityVote, simulate_crowd
        >>> crowd = simulate_crowd(200, 20, random_state=0)
        >>> fair = FairCrowd(MajorityVote()).fit(crowd.votes, sensitive_features=crowd.sensitive_features)
        >>> fair.score(crowd.truth) == float((fair.labels_ == crowd.truth).mean())
        True
        """
        from faircrowd.runs.estimator_views import score_of_estimator

        return score_of_estimator(self, truth)

    def __repr__(self) -> str:
        always = ("epsilon",) if self.constraints is None else ()
        return parameters_in_short(self, self.get_params(deep=False), always)

    def _repr_html_(self) -> str:
        from faircrowd.runs.estimator_views import html_of_estimator

        return html_of_estimator(self)


def check_believed(constraints: Sequence[Constraint], estimator: object, *, believed: bool) -> None:
    """Raise for constraints that speak of the truth, unless labels are calibrated or belief was asked for."""
    about_truth = [str(constraint) for constraint in constraints if constraint.is_about_truth]
    if about_truth and not believed and not isinstance(estimator, CalibratedCrowd):
        raise OptionError(
            f"{', '.join(about_truth)} speaks of the truth, of which an aggregator has only a belief that may be "
            "far off: correct it by known labels (CalibratedCrowd()), or give believed=True "
            "to keep it as the aggregator believes.",
            parameter="believed",
        )


def _other_arguments(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> dict[str, object]:
    """Return the arguments of an aggregator's ``fit`` that results depend on, besides known labels."""
    named = {name: value for name, value in kwargs.items() if name not in ("true_labels", "checkpoint", "on_round")}
    given = {**{f"argument {n}": value for n, value in enumerate(args, 1)}, **named}
    return {name: value for name, value in given.items() if value is not None}


def _inputs(
    data: VotesLike,
    tasks: TableLike | None,
    sensitive_features: ByTask | None,
    true_labels: ByTask | None,
    read_options: Mapping[str, str],
    more: Mapping[str, object],
) -> FitInputs:
    votes = Path(data) if isinstance(data, str | os.PathLike) else None
    columns = tuple(map(str, names_of(data))) if votes is None and not in_spark(data) and is_frame(data) else ()
    return FitInputs(votes, columns, tasks, sensitive_features, true_labels, read_options, more)
