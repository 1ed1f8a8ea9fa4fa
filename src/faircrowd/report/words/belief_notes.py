"""What there is to say about a posterior that is too certain: because votes go together, or because it is 0 or 1."""

from dataclasses import dataclass

import numpy as np

from faircrowd.aggregate.base import Aggregator
from faircrowd.aggregate.confusion import ConfusionAggregator
from faircrowd.aggregate.posterior import Posterior, probabilities
from faircrowd.audit.independence import Independence, check_independence
from faircrowd.votes.vocabulary import Codes

__all__ = ["CERTAIN", "CertainChanges", "belief_notes", "certain_changes", "independence_of"]

CERTAIN = 0.999


@dataclass(frozen=True)
class CertainChanges:
    """How certain the model was of the labels that were changed.

    Attributes
    ----------
    changed : int
        Number of labels that were changed.
    certain : int
        Number of these of whose label before the model was certain (a probability above 0.999).
    """

    changed: int
    certain: int


def independence_of(model: Aggregator) -> Independence | None:
    """Return whether votes fit a model; None if its workers are not confusion matrices, or it is calibrated."""
    return check_independence(model) if _is_uncalibrated(model) else None


def certain_changes(model: Aggregator, posterior: Posterior, labels: Codes) -> CertainChanges | None:
    """Return how certain a model was of the labels that differ from its own; None for the models that are not tested.

    Parameters
    ----------
    labels : ndarray of int32
        The fair labels.
    """
    changed = np.flatnonzero(labels != posterior.label_codes)
    if changed.size == 0 or not _is_uncalibrated(model):
        return None
    before = probabilities(posterior.scores[changed], posterior.is_log).max(axis=1)
    return CertainChanges(int(changed.size), int((before > CERTAIN).sum()))


def belief_notes(
    independence: Independence | None, changes: CertainChanges | None, *, is_scored: bool = False
) -> list[str]:
    """Return what a reader should know before believing a posterior; known labels may tell the accuracy already."""
    said = []
    if independence is not None and independence.rejected:
        said.append(
            f"{independence}; its belief of {independence.believed_accuracy:.1%} is not an accuracy: "
            f"{'known labels correct it' if is_scored else '50 known labels would tell'} (CalibratedCrowd())"
        )
    if changes is not None and 2 * changes.certain > changes.changed:
        said.append(
            f"the model was certain (more than {CERTAIN}) of {changes.certain:,} of the {changes.changed:,} labels "
            "that changed, so which labels change is decided by digits that mean little: use "
            "CalibratedCrowd() or MajorityVote()"
        )
    return said


def _is_uncalibrated(model: Aggregator) -> bool:
    return isinstance(model, ConfusionAggregator) and getattr(model, "calibration_", None) is None
