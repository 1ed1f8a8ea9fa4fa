"""The cards of aggregators, of their calibration, and of votes."""

import numpy as np

from faircrowd.aggregate.base import Aggregator
from faircrowd.aggregate.calibration.calibrate import CalibratedCrowd
from faircrowd.aggregate.calibration.calibration_quality import Calibration
from faircrowd.aggregate.jury import JuryVote
from faircrowd.aggregate.posterior import Posterior
from faircrowd.errors import NotFittedError
from faircrowd.report.belief_and_truth import believed_accuracy
from faircrowd.report.notebooks.notebook_card import OPEN, Card, card_for
from faircrowd.report.notebooks.result_cards import estimate_line
from faircrowd.report.words.belief_notes import belief_notes, independence_of
from faircrowd.votes import VoteTable
from faircrowd.votes.simulate import SimulatedCrowd

__all__: list[str] = []

_MOST_LABELS = 8


@card_for.register
def _aggregator(result: Aggregator) -> Card:
    name = type(result).__name__
    try:
        votes, posterior = result.votes_, result.posterior_
    except NotFittedError as error:
        return Card(name, asked=_parameters(result), answer=str(error), mark=OPEN)
    lines = [("votes", repr(votes))]
    if (rounds := getattr(result, "n_iter_", None)) is not None:
        converged = "converged" if getattr(result, "converged_", True) else "NOT converged: raise n_iter, or tol"
        lines.append(("rounds", f"{rounds}, {converged}"))
    numbers = []
    if isinstance(result, CalibratedCrowd):
        numbers.append(estimate_line("accuracy", result.accuracy_))
    if isinstance(posterior, Posterior):
        believed = believed_accuracy(posterior.values, posterior.label_codes)
        numbers.append(("believed accuracy: the mean posterior of the labels", f"{believed:.1%}"))
        lines.append(("labels", _shares(posterior)))
    known = result.calibration_ if isinstance(result, CalibratedCrowd | JuryVote) else None
    if known is not None:
        lines.append(("calibration", _calibrated(known)))
    return Card(
        name,
        asked=_parameters(result),
        alarms=belief_notes(independence_of(result), None) if known is None else known.notes,
        numbers=numbers,
        lines=lines,
        next_steps=[
            *("labels_", "probas_"),
            *(("to_frame()", "score(truth)") if isinstance(posterior, Posterior) else ()),
            *(("calibration_.plot()",) if known else ()),
        ],
    )


def _parameters(model: Aggregator) -> str:
    return repr(model).partition("(")[2].removesuffix(")")


def _shares(posterior: Posterior) -> str:
    counts = np.bincount(posterior.label_codes, minlength=len(posterior.classes))
    shares = counts / max(posterior.label_codes.size, 1)
    names = posterior.classes.names
    told = ", ".join(f"{names[k]}: {shares[k]:.1%}" for k in range(min(len(names), _MOST_LABELS)))
    return told + (f" and {len(names) - _MOST_LABELS:,} more" if len(names) > _MOST_LABELS else "")


def _calibrated(found: Calibration) -> str:
    return (
        f"on {found.n_gold:,} known labels; mean distance of confidence from the share of right labels "
        f"{found.calibration_error:.1%}, {found.calibration_error_before:.1%} before"
    )


@card_for.register
def _calibration(result: Calibration) -> Card:
    weights = ", ".join(f"{name} {weight:.2f}" for name, weight in list(result.weights.items())[:_MOST_LABELS])
    return Card(
        "Calibration",
        asked=f"{result.method}, {result.n_gold:,} known labels, each compared with a posterior that has not seen it",
        alarms=result.notes,
        numbers=[
            ("calibration error (before)", f"{result.calibration_error:.1%} ({result.calibration_error_before:.1%})"),
            ("log loss (before)", f"{result.log_loss:.3f} ({result.log_loss_before:.3f})"),
        ],
        lines=[("weights", weights)],
        next_steps=["plot()", "to_frame()"],
    )


@card_for.register
def _votes(result: VoteTable) -> Card:
    groups = [] if result.groups is None else [("groups", f"{len(result.groups):,}")]
    counts = {
        "votes": result.n_votes,
        "tasks": result.n_tasks,
        "workers": result.n_workers,
        "classes": result.n_classes,
    }
    return Card("VoteTable", numbers=[*((name, f"{n:,}") for name, n in counts.items()), *groups], notes=result.notes())


@card_for.register
def _simulated(result: SimulatedCrowd) -> Card:
    counts = {"votes": len(result.votes), "tasks": len(result.truth), "workers": len(result.skills)}
    return Card(
        "SimulatedCrowd",
        asked="votes whose truth is known",
        numbers=[(name, f"{n:,}") for name, n in counts.items()],
        next_steps=["votes", "sensitive_features", "truth", "skills"],
    )
