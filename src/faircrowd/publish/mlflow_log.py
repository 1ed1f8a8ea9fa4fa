"""A fitted ``FairCrowd`` in MLflow: parameters, numbers, tags and the files of the run."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from faircrowd import __version__
from faircrowd._extras import need
from faircrowd._types import ByTask
from faircrowd.errors import InputError
from faircrowd.fair import FairCrowd
from faircrowd.fair.general.constrained_certificate import ConstrainedCertificate
from faircrowd.report.constrained.constrained_story import missed_in_words
from faircrowd.runs.run_of_estimator import run_of

if TYPE_CHECKING:
    from faircrowd.runs.run import Run

__all__ = ["log_mlflow"]

_LONGEST_PARAMETER = 500
"""Characters of a value; older servers refuse more."""


def log_mlflow(
    fair: FairCrowd,
    *,
    truth: ByTask | None = None,
    report: bool = True,
    artifact_path: str | None = "faircrowd",
) -> str:
    """Log a fitted ``FairCrowd`` to MLflow: to the active run or, if there is none, to a new one, which is then ended.

    Nothing is logged unless all files could be written. Needs ``pip install 'faircrowd[mlflow]'``.

    Parameters
    ----------
    fair : FairCrowd
        Fitted to votes in memory or in a file, with one of faircrowd's aggregators.
    truth : optional
        True labels to score by, as in ``fair.write``.
    report : bool
        Whether the files include the page, report.html.
    artifact_path : str or None
        The folder of the run's artifacts that gets what ``fair.write`` writes; None for no files.

    Returns
    -------
    str
        The id of the run.

    Notes
    -----
    ==========  ==================================================================================================
    parameters  ``method``, and those of ``FairCrowd`` and its aggregator (``estimator__...``) that are not None;
                of a list of constraints, ``constraint_1``, ``constraint_2``, ... as texts
    metrics     ``believed_accuracy``, ``changed`` (a number of tasks), ``changed_share``, ``optimality_gap``, and
                ``tasks``, ``votes``, ``workers``, ``classes``; ``gap`` and ``gap_before`` or, of a list of
                constraints, ``constraint_1_level``, ``constraint_1_level_before``, ...; with ``truth``
                ``accuracy``; after calibration ``estimated_accuracy`` with ``..._low`` and ``..._high``. Accuracies
                of the aggregator's own labels end in ``_before``.
    tags        ``faircrowd.version``, ``faircrowd.optimal``, and ``faircrowd.missed``: what was asked for and not
                reached, in words; empty if nothing
    ==========  ==================================================================================================

    *Believed* accuracy is what the aggregator's posterior says, and real accuracy may be far from it.
    """
    if not isinstance(fair, FairCrowd):
        raise InputError(f"log_mlflow takes a fitted FairCrowd; got {type(fair).__name__}.", parameter="fair")
    need("mlflow", "mlflow", "log_mlflow")
    import mlflow

    run = run_of(fair, truth)
    parameters, metrics, tags = _parameters(fair, run), _metrics(run), _tags(fair)
    with tempfile.TemporaryDirectory() as place:
        if artifact_path is not None:
            run.write(Path(place, "run"), report=report)
        active = mlflow.active_run()
        used = mlflow.start_run() if active is None else active
        done = False
        try:
            mlflow.log_params(parameters)
            mlflow.log_metrics(metrics)
            mlflow.set_tags(tags)
            if artifact_path is not None:
                mlflow.log_artifacts(str(Path(place, "run")), artifact_path)
            done = True
        finally:
            if active is None:
                mlflow.end_run("FINISHED" if done else "FAILED")
    return str(used.info.run_id)


def _parameters(fair: FairCrowd, run: Run) -> dict[str, str]:
    """Return what the labels were made with."""
    given = {"method": run.options.model.method, **fair.get_params(deep=True)}
    given |= {"estimator": type(fair.estimator).__name__, "constraints": None}
    if isinstance(fair.certificate_, ConstrainedCertificate):
        given |= {"epsilon": None}
        given |= {f"constraint_{i}": kept.text for i, kept in enumerate(fair.certificate_.constraints, start=1)}
    return {name: _text(value) for name, value in given.items() if value is not None}


def _text(value: object) -> str:
    text = str(value)
    return text if len(text) <= _LONGEST_PARAMETER else f"{text[: _LONGEST_PARAMETER - 1]}…"


def _metrics(run: Run) -> dict[str, float]:
    """Return the numbers of a run; those that there are not are left out."""
    certificate, summary = run.certificate, run.summary
    found: dict[str, float | None] = {
        name: getattr(summary, name)
        for name in (
            *("votes", "tasks", "workers", "classes", "believed_accuracy", "believed_accuracy_before"),
            *("accuracy", "accuracy_before"),
        )
    }
    for name in ("estimated_accuracy", "estimated_accuracy_before"):
        if (estimate := getattr(summary, name)) is not None:
            found |= {name: estimate.estimate, f"{name}_low": estimate.low, f"{name}_high": estimate.high}
    if certificate is not None:
        found |= {name: getattr(certificate, name) for name in ("changed", "changed_share", "optimality_gap")}
    if isinstance(certificate, ConstrainedCertificate):
        found["reviewed"] = certificate.reviewed
        for i, kept in enumerate(certificate.constraints, start=1):
            found |= {f"constraint_{i}_level": kept.level, f"constraint_{i}_level_before": kept.level_before}
    elif certificate is not None:
        found |= {"gap": certificate.gap, "gap_before": certificate.gap_before}
    return {name: float(value) for name, value in found.items() if value is not None}


def _tags(fair: FairCrowd) -> dict[str, str]:
    certificate = fair.certificate_
    return {
        "faircrowd.version": __version__,
        "faircrowd.optimal": str(certificate.optimal).lower(),
        "faircrowd.missed": missed_in_words(certificate),
    }
