"""What a fitted ``FairCrowd`` shows: its card in notebooks, its charts, its labels as a frame, and its score."""

from typing import Any

import numpy as np
import pyarrow as pa

from faircrowd._checks import check_choice
from faircrowd._display import in_short
from faircrowd._types import ByTask
from faircrowd.aggregate.calibration.calibrate import CalibratedCrowd
from faircrowd.aggregate.calibration.reliability import reliability
from faircrowd.errors import NotFittedError, OptionError
from faircrowd.fair.certificate import Certificate
from faircrowd.fair.estimator import FairCrowd
from faircrowd.fair.general.constrained_certificate import ConstrainedCertificate
from faircrowd.fair.general.constrained_result import ConstrainedResult
from faircrowd.fair.make import FairResult
from faircrowd.fair.tasks.problem import Problem
from faircrowd.report.notebooks import Chart, plot_of
from faircrowd.report.notebooks.notebook_card import OPEN, Card, render
from faircrowd.report.notebooks.result_cards import constrained_card, parity_card
from faircrowd.report.notebooks.result_charts import FAIR_CHARTS, frontier_of, reliability_plot
from faircrowd.report.notebooks.result_frames import as_frame, table_of
from faircrowd.report.opening.plain_words import parity_verdict
from faircrowd.report.tables import label_tables
from faircrowd.report.words.fair_words import excess_in_words
from faircrowd.runs.run import Run
from faircrowd.runs.run_of_estimator import facts_of, has_run, run_of
from faircrowd.runs.write import more_columns
from faircrowd.votes.groups import has_ids
from faircrowd.votes.scoring import scoring_truth, share_right
from faircrowd.votes.vocabulary import Codes

__all__ = ["CHARTS_OF_ESTIMATOR", "chart_of_estimator", "frame_of_estimator", "html_of_estimator", "score_of_estimator"]

_IN_PYTHON = {
    "the column why of labels.csv": "the column why of to_frame(why=True)",
    "use labels.csv for": "use labels_ for",
    "and rule.json for": "and rule_ for",
}
"""Names of files, and what has the same in Python."""

CHARTS_OF_ESTIMATOR = (*FAIR_CHARTS, "reliability", "workers")
_NEXT = ("summary()", "plot()", "frontier_.plot()", "to_frame()", "score(truth)", "report('report.html')")


def html_of_estimator(fair: FairCrowd) -> str:
    """Return the card of an estimator as HTML."""
    return render(_card(fair))


def _card(fair: FairCrowd) -> Card:
    try:
        result = fair.result_
    except NotFittedError as error:
        return Card("FairCrowd", asked=_asked(fair), answer=str(error), mark=OPEN)
    run = run_of(fair, with_hashes=False) if has_run(fair) else None
    model = "" if fair.estimator_ is None else f" of {in_short(fair.estimator_)}"
    told: dict[str, Any] = {
        "kind": f"FairCrowd: fair labels{model}",
        "estimates": fair.gold_estimates_,
        "alarms": [result.alarm] * bool(result.alarm) if run is None else _alarms(run),
        "notes": None if run is None else _notes(run),
        "is_checked": run is not None,
        "next_steps": _NEXT if run is not None else ("labels_", "plot()", "to_frame()"),
    }
    certificate = fair.certificate_
    if isinstance(certificate, ConstrainedCertificate):
        return constrained_card(certificate, **told)
    assert isinstance(result, FairResult)  # noqa: S101 - the two kinds there are
    sizes = dict(zip(result.problem.groups.names, result.problem.sizes.tolist(), strict=True))
    verdict = "" if run is None else parity_verdict(certificate, run.summary, asked=True)
    return parity_card(certificate, sizes=sizes, verdict=verdict, **told)


def _asked(fair: FairCrowd) -> str:
    """Return what an estimator that is not fitted will be asked for."""
    limit = f"a gap of at most {fair.epsilon:g}" if fair.constraints is None else ", ".join(map(str, fair.constraints))
    return f"{limit}, from {'a posterior' if fair.estimator is None else repr(fair.estimator)}"


def _alarms(run: Run) -> list[str]:
    """Return what the terminal warns of, and why the believed accuracy may be far off: it is in large print."""
    return [*run.warnings, *run.summary.doubts]


def _notes(run: Run) -> list[str]:
    """Return what else the terminal says below its lines, and why limits are exceeded."""
    certificate, doubts = run.certificate, run.summary.doubts
    why = excess_in_words(certificate) if isinstance(certificate, Certificate) else certificate and certificate.why
    notes = (note for note in run.all_notes() if note not in doubts)
    return [*([why] if why else []), *map(_without_files, notes)]


def _without_files(note: str) -> str:
    """Name what Python has in the place of files that only the command line writes."""
    for file, name in _IN_PYTHON.items():
        note = note.replace(file, name)
    return note


def chart_of_estimator(fair: FairCrowd, chart: str = "rates", truth: ByTask | None = None) -> Chart:
    """Return a chart of a fitted estimator; see :meth:`faircrowd.FairCrowd.plot`."""
    check_choice("chart", chart, CHARTS_OF_ESTIMATOR)
    result = fair.result_
    if chart == "reliability":
        return _reliability(fair, truth)
    if chart == "workers":
        run = run_of(fair, truth, with_hashes=False)
        if run.workers is None:
            raise OptionError("There are no groups whose votes could be compared.", parameter="chart")
        return run.workers.plot()
    if chart == "frontier" and truth is not None and isinstance(result, FairResult):
        return Chart(frontier_of(result, result.frontier_against(_truth(fair, truth))))
    return plot_of(result, chart)


def _reliability(fair: FairCrowd, truth: ByTask | None) -> Chart:
    if truth is None:
        if not isinstance(fair.estimator_, CalibratedCrowd):
            raise OptionError(
                "Reliability compares probabilities with true labels: give truth=..., or calibrate them on known "
                "labels (CalibratedCrowd).",
                parameter="truth",
            )
        return plot_of(fair.estimator_.calibration_)
    tasks, known = _tasks(fair), _truth(fair, truth)
    rows = np.flatnonzero(known != -1)
    confidence = tasks.posterior[rows, tasks.own[rows]]
    return reliability_plot({"labels": reliability(confidence, tasks.own[rows] == known[rows])})


def frame_of_estimator(fair: FairCrowd, backend: str | None = None, *, why: bool = False) -> Any:
    """Return one row per task, as labels.csv has it; the reason of each label only if asked for."""
    result = fair.result_
    if not has_run(fair):
        return table_of(result, backend, why=why)
    run = run_of(fair, with_hashes=False)
    table = pa.concat_tables(label_tables(run.votes, run.posterior, run.labels, more_columns(run)))
    return as_frame(table, run.votes.style, backend, why=why)


def score_of_estimator(fair: FairCrowd, truth: ByTask) -> float:
    """Return the share of fair labels that are right; see :meth:`faircrowd.FairCrowd.score`."""
    result, known = fair.result_, _truth(fair, truth)
    labels: Codes = result.label_codes if isinstance(result, ConstrainedResult) else result.solved.labels
    if isinstance(result, ConstrainedResult):
        labels = np.where(result.reviewed, known, labels)  # a person finds the truth
    found = share_right(labels, known)
    assert found is not None  # noqa: S101 - some of the truth is known
    return found


def _tasks(fair: FairCrowd) -> Problem:
    result = fair.result_
    if isinstance(result, ConstrainedResult):
        return result.problem.tasks
    return result.problem.in_memory("A score", "compare labels_, which is a Spark frame, with the truth there")


def _truth(fair: FairCrowd, truth: ByTask) -> Codes:
    """Return the true class of each task: by id or, for a posterior given as an array, by position."""
    tasks, given = _tasks(fair), fair.inputs_
    facts: Any = facts_of(given, truth)
    if tasks.as_array and not has_ids(truth):
        values = np.asarray(truth)
        if values.shape != tasks.own.shape:
            raise OptionError(
                f"truth has {values.size:,} values for {tasks.own.size:,} tasks; give one for each, in their order.",
                parameter="truth",
            )
        facts = dict(enumerate(values.tolist()))
    what = f"column {truth!r} of {given.tasks}" if isinstance(truth, str) else "truth"
    return scoring_truth(tasks, facts, what, str(given.votes or "the votes"))[0]
