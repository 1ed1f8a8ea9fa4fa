"""``Run``: a fitted model and everything that follows from it, each part computed when it is first asked for."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from faircrowd._types import PathOrText
from faircrowd.aggregate.base import Aggregator
from faircrowd.aggregate.calibration.accuracy_estimate import AccuracyEstimate
from faircrowd.aggregate.calibration.calibrate import CalibratedCrowd
from faircrowd.aggregate.jury import JuryVote
from faircrowd.aggregate.posterior import Posterior
from faircrowd.audit.crowd_audit import CrowdAudit, audit_by_truth, audit_crowd
from faircrowd.audit.impact_table import ImpactTable, impact_rows
from faircrowd.audit.pair_agreement import PairAgreement, pair_agreement
from faircrowd.audit.workers.worker_audit import WorkerAudit
from faircrowd.engines import votes_in_memory
from faircrowd.fair import Certificate, FairCrowd, FairResult, Frontier
from faircrowd.fair.constraints.constraint_kind import label_code
from faircrowd.fair.constraints.listed import main_columns
from faircrowd.fair.general.constrained_certificate import ConstrainedCertificate
from faircrowd.fair.general.constrained_result import ConstrainedResult
from faircrowd.fair.general.constrained_solve import ConstrainedProblem
from faircrowd.fair.general.real_levels import KnownLabels, real_levels
from faircrowd.fair.known_labels import GoldEstimates, accuracy_by_epsilon
from faircrowd.fair.make import solve_problem
from faircrowd.fair.tasks.from_votes import problem_of
from faircrowd.fair.tasks.group_columns import GroupColumns
from faircrowd.report import Summary, fair_lines, summarise
from faircrowd.report.audit_text import audit_dict, audit_lines
from faircrowd.report.constrained.constrained_story import (
    REVIEW_NOTE,
    constrained_lines,
    constrained_story,
    left_out_words,
)
from faircrowd.report.opening.plain_words import constrained_verdict, parity_verdict
from faircrowd.report.story import fair_story, plain_story
from faircrowd.report.words.agreement_words import agreement_lines, agreement_story
from faircrowd.report.words.fair_words import not_ruled_out, off_rule_in_words
from faircrowd.report.words.impact_words import impact_story
from faircrowd.report.words.unvoted_labels import unvoted_changes_in_words, unvoted_warning
from faircrowd.runs.options import RunOptions
from faircrowd.runs.progress import QUIET, Progress
from faircrowd.runs.read_inputs import control_values, read_columns
from faircrowd.runs.write import Written, write_page, write_run
from faircrowd.votes import VoteTable
from faircrowd.votes.groups import Grouped
from faircrowd.votes.vocabulary import Codes

__all__ = ["Run"]


@dataclass(frozen=True, eq=False)
class Run:
    """A run: votes aggregated, made fair if the options ask for it, and ready to be written.

    Attributes
    ----------
    options : RunOptions
        What the run was given.
    model : Aggregator
        The fitted aggregator.
    fair : FairCrowd or None
        The fitted estimator of fair labels; None if no epsilon was asked for.
    truth : ndarray of int32 or None
        The true class of each task, -1 where it is not known.
    in_sample : bool
        Whether the model learned from the truth.
    notes : tuple of str
        What there is to know about the inputs.
    in_memory : mapping of str to dict
        The inputs that did not come from files, by role: their rows, columns and SHA-256.
    places : mapping of str to Path
        Where the files are, by role, if not where the options say.
    columns : mapping
        The sensitive columns that the constraints of a frontier speak of.
    """

    options: RunOptions
    model: Aggregator
    fair: FairCrowd | None = None
    truth: Codes | None = None
    in_sample: bool = False
    notes: tuple[str, ...] = ()
    in_memory: Mapping[str, dict[str, Any]] = field(default_factory=dict)
    places: Mapping[str, Path] = field(default_factory=dict)
    columns: GroupColumns = field(default_factory=dict)

    @property
    def votes(self) -> VoteTable:
        """The votes, encoded."""
        return votes_in_memory(self.model.votes_)

    @property
    def posterior(self) -> Posterior:
        """The aggregator's posterior."""
        return self.model.posterior_.in_memory()

    @property
    def result(self) -> FairResult | None:
        """The fair labels, with their rule and certificate; None under a list of constraints."""
        found = None if self.fair is None else self.fair.result_
        return None if isinstance(found, ConstrainedResult) else found

    @property
    def constrained(self) -> ConstrainedResult | None:
        """The labels under a list of constraints, with their rule and certificate."""
        found = None if self.fair is None else self.fair.result_
        return found if isinstance(found, ConstrainedResult) else None

    @property
    def certificate(self) -> Certificate | ConstrainedCertificate | None:
        """The certificate of the fair labels."""
        return None if self.fair is None else self.fair.certificate_

    @property
    def estimates(self) -> GoldEstimates | None:
        """What known labels say about the fair labels; None without fair labels or calibration."""
        return None if self.fair is None else self.fair.gold_estimates_

    @property
    def labels(self) -> Codes:
        """The class of each task: the fair labels, or the aggregator's own."""
        if self.constrained is not None:
            return self.constrained.label_codes
        return self.posterior.label_codes if self.result is None else self.result.solved.labels

    @property
    def _group_columns(self) -> tuple[str, ...] | None:
        """Under a list of constraints, the columns that the groups of the votes are of."""
        if self.constrained is None:
            return None
        problem = self.constrained.problem
        return self.options.read.group or main_columns(problem.constraints, tuple(problem.columns))

    @property
    def named_columns(self) -> tuple[str, ...]:
        """The columns of the groups as the page names them; none if they were given without a name."""
        known = self._group_columns or self.options.read.group
        return tuple(known or self.in_memory.get("sensitive_features", {}).get("columns", ()))

    @property
    def compares_groups(self) -> bool:
        """Whether there are groups and classes to compare."""
        votes = self.votes
        return votes.groups is not None and len(votes.groups) - len(votes.left_out) > 1 and votes.n_classes > 1

    @cached_property
    def summary(self) -> Summary:
        """The run in numbers."""
        return summarise(
            self.options.model.name,
            self.model,
            self.votes,
            self.posterior,
            self.truth,
            self.options.to_dict(),
            in_sample=self.in_sample,
            fair=None if self.fair is None else self.labels,
            estimates=self.estimates,
            group_columns=self._group_columns,
            reviewed=found.reviewed if (found := self.constrained) is not None and found.problem.has_review else None,
        )

    @cached_property
    def audit(self) -> CrowdAudit | None:
        """The audit of the crowd; None without groups to compare."""
        if not self.compares_groups:
            return None
        asked: dict[str, Any] = {} if self.options.audit is None else self.options.audit.of_crowd()
        read, tasks = self.options.read, self.options.at(self.places).read.tasks_table
        if asked.get("control") is not None and tasks is not None:
            asked["control"] = control_values(self.votes, tasks, asked["control"], **read.facts)
        return audit_crowd(self.votes, self.labels, truth=self.truth, posterior=self.posterior.values, **asked)

    @cached_property
    def agreement(self) -> PairAgreement:
        """Who agrees with whom, and on which tasks."""
        asked = self.options.audit
        return pair_agreement(self.votes, self.labels, confidence=0.95 if asked is None else asked.confidence)

    @cached_property
    def impact(self) -> ImpactTable | None:
        """Selection rates and impact ratios by category; None unless they were asked for."""
        asked, read = self.options.audit, self.options.at(self.places).read
        if asked is None or asked.table is None:
            return None
        votes = self.votes
        columns = read_columns((), votes, replace(read, on_missing_group="drop"))
        hit = self.labels == label_code(asked.selected, votes.classes)
        return impact_rows(hit, columns, f"label {asked.selected}", asked.leave_out_small)

    @property
    def shown_impact(self) -> ImpactTable | None:
        """The same, for the page: also where constraints speak of one label and of several columns."""
        result = self.constrained
        if self.impact is not None or result is None:
            return self.impact
        columns = {name: column for name, column in result.problem.columns.items() if isinstance(column, Grouped)}
        if len(columns) < 2:
            return None
        labels = [getattr(one, "label", None) for one in result.problem.constraints]
        named = {str(label): label for label in labels if label is not None}
        if len(named) != 1:
            return None
        (label,) = named.values()
        hit = self.labels == label_code(label, self.votes.classes)
        return impact_rows(hit, columns, f"label {label}")

    @cached_property
    def workers(self) -> WorkerAudit | None:
        """The audit of the workers alone, which takes less time than that of the crowd."""
        if not self.compares_groups:
            return None
        if "audit" in self.__dict__ and self.audit is not None:
            return self.audit.workers
        return audit_by_truth(self.votes, self.truth, self.posterior.values)

    @cached_property
    def story(self) -> dict[str, Any]:
        """The numbers and sentences of the page."""
        told, impact = self._story(), self.shown_impact
        if impact is not None:
            told |= {"impact": impact_story(impact)}
        if self.options.audit is None:
            return told
        agreement = agreement_story(self.agreement, with_alpha=self.audit is None)
        charts = [*told.get("charts", []), *agreement["charts"]]
        return told | agreement | {"charts": charts, "title": "Audit of the crowd"}

    def _story(self) -> dict[str, Any]:
        who = "judges" if isinstance(self.model, JuryVote) else "people"
        calibration = self.model.calibration_ if isinstance(self.model, CalibratedCrowd) else None
        if self.constrained is not None and isinstance(self.certificate, ConstrainedCertificate):
            told = plain_story(self.summary, calibration, self.estimates) | {"note": None}
            return told | constrained_story(self.summary, self.constrained, self.certificate, who=who)
        if self.audit is None:
            return plain_story(self.summary, calibration, who=who)
        result = self.unconstrained() if self.result is None else self.result
        asked = self.result is not None
        return fair_story(
            self.summary,
            self.votes,
            self.posterior,
            result,
            self.audit,
            asked=asked,
            truth=self.truth,
            calibration=calibration,
            estimates=self.estimates,
            columns=self.named_columns,
            who=who,
        )

    def frontier(self, *, objective: str = "accuracy", positive: str | None = None, random_state: int = 0) -> Frontier:
        """Return the best that any labels reach for every epsilon; where the truth is known, with real accuracy."""
        result = self.unconstrained(objective, random_state, positive)
        return result.frontier if self.scoring_truth is None else result.frontier_against(self.scoring_truth)

    @property
    def scoring_truth(self) -> Codes | None:
        """The true labels, if they can score the labels: none that the model learned from."""
        return None if self.in_sample else self.truth

    def estimated_frontier(self, epsilons: Sequence[float], **asked: Any) -> list[AccuracyEstimate] | None:
        """Return the accuracy for each of some epsilons as estimated from known labels; None without calibration.

        Parameters
        ----------
        epsilons : sequence of float
        **asked
            How labels are made fair, as for ``frontier``.
        """
        if not isinstance(self.model, CalibratedCrowd):
            return None
        how = {"objective": "accuracy", "decision": "deterministic", "random_state": 0, **asked}
        return accuracy_by_epsilon(self.model, epsilons, how)

    def unconstrained(
        self, objective: str = "accuracy", random_state: int = 0, positive: str | None = None
    ) -> FairResult:
        """Return the labels for epsilon 1, with rule and frontier; for accuracy, they are the aggregator's own."""
        tasks = problem_of(self.model)
        return solve_problem(
            tasks,
            epsilon=1.0,
            objective=objective,
            decision="deterministic",
            random_state=random_state,
            positive=positive,
        )

    def write(
        self,
        folder: PathOrText,
        *,
        report: bool = True,
        charts: PathOrText | None = None,
        progress: Progress = QUIET,
    ) -> Written:
        """Write all files of the run into a folder: they appear together, or after an error not at all.

        Parameters
        ----------
        folder : path
        report : bool
            Whether to write the page, report.html.
        charts : path, optional
            A folder for the charts of the page as PNG and SVG.
        """
        pictures = None if charts is None else Path(charts)
        return write_run(self, Path(folder), report=report, charts=pictures, progress=progress)

    def write_page(self, path: PathOrText) -> None:
        """Write the page alone."""
        write_page(self, Path(path))

    def lines(self) -> list[tuple[str, str]]:
        """Return the run as pairs of a heading and a text; parameters have their Python names."""
        more: list[tuple[str, str]] = []
        prices = self.summary.real_price, self.summary.estimated_price
        if isinstance(self.certificate, ConstrainedCertificate):
            found = self.constrained
            levels = {} if found is None else self.real_levels(found.problem, found.solved.outcomes)
            more = constrained_lines(self.certificate, *prices, levels)
        elif self.certificate is not None:
            more = fair_lines(self.certificate, *prices)
        if self.options.audit is not None:
            more = [
                *([] if self.audit is None else audit_lines(self.audit)),
                *agreement_lines(self.agreement, with_alpha=self.audit is None),
            ]
        own = self.summary.lines()
        alarms = [line for line in own if line[0] == "warning"]
        alarms += [("warning", warning) for warning in self.warnings]
        return [*self._verdict(), *(line for line in own if line[0] != "warning"), *more, *alarms]

    def _verdict(self) -> list[tuple[str, str]]:
        """Return whether the labels keep what was asked for, and how many are wrong."""
        if isinstance(self.certificate, ConstrainedCertificate):
            return [("result", constrained_verdict(self.certificate, self.summary))]
        if self.certificate is None or self.options.audit is not None:
            return []
        return [("result", parity_verdict(self.certificate, self.summary, asked=True))]

    @property
    def warnings(self) -> tuple[str, ...]:
        """What speaks against using the labels, or against trusting what was estimated from known labels."""
        result = self.result or self.constrained
        found = () if result is None or not result.alarm else (result.alarm,)
        unvoted = unvoted_warning(self.votes, self.posterior.label_codes)
        found = found if unvoted is None else (*found, unvoted)
        known = self.model.calibration_ if isinstance(self.model, CalibratedCrowd | JuryVote) else None
        return found if known is None else (*found, *known.notes)

    def all_notes(self, *more: str) -> list[str]:
        """Return what a reader should know before trusting the numbers."""
        unused = self.model.unused_note(self.votes)
        own = [*self.votes.notes(), *self.notes, *([] if unused is None else [unused])]
        told = self.summary.notes(of_audit=self.options.audit is not None)
        return [*own, *more, *told, *self._notes_of_changes(), *self._notes_of_constraints(), *self._notes_of_rule()]

    def real_levels(self, problem: ConstrainedProblem, outcomes: Codes) -> dict[str, float]:
        """Return the levels that labels really reach of constraints that speak of the truth, where it is known."""
        if self.scoring_truth is None:
            return {}
        known = np.flatnonzero(self.scoring_truth >= 0)
        return real_levels(problem, KnownLabels(known, self.scoring_truth[known], outcomes[known]))

    def _notes_of_changes(self) -> list[str]:
        """Return how many labels were changed to one that nobody gave."""
        unvoted = self.summary.unvoted_changes
        return [unvoted_changes_in_words(unvoted, self.certificate.changed)] if unvoted and self.certificate else []

    def _notes_of_constraints(self) -> list[str]:
        """Return which groups constraints leave out, and how reviewed tasks are counted."""
        if not isinstance(self.certificate, ConstrainedCertificate):
            return []
        found = [left_out_words(kept.text, kept.left_out) for kept in self.certificate.constraints if kept.left_out]
        if self.certificate.reviewed:
            found.append(REVIEW_NOTE.format(tasks=self.certificate.reviewed))
            if self.estimates is not None:
                found.append("estimated accuracy counts the tasks to be reviewed with the aggregator's own label")
        return found

    def _notes_of_rule(self) -> list[str]:
        """Return how many labels are not what the rule gives, and by how much others may be better, if so."""
        result = self.result or self.constrained
        if result is None or self.certificate is None:
            return []
        told = off_rule_in_words(result)
        found = (
            [f"{told}. Nothing is wrong: use labels.csv for these tasks, and rule.json for new ones"] if told else []
        )
        return [*found, *not_ruled_out(self.certificate, strict=result.strict)]

    def details(self) -> dict[str, Any]:
        """Return the certificate or the audit, if there is one, as plain values, ready for JSON."""
        if self.options.audit is not None:
            return {"audit": audit_dict(self.audit, self.agreement)}
        return {} if self.certificate is None else {"certificate": self.certificate.to_dict()}

    def text(self) -> str:
        """Return what the command line prints about the run; parameters have their Python names."""
        pairs = [*self.lines(), *(("note", note) for note in self.all_notes())]
        width = max(len(heading) for heading, _ in pairs)
        return "\n".join(f"{heading:<{width}}  {text}" for heading, text in pairs)
