"""Labels, truths and groups of a sample brought together as codes, and how often they meet."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from faircrowd._checks import check_memory, few
from faircrowd.audit.metrics.columns import check_length, read_features, read_labels, read_weights, warn_of_order
from faircrowd.errors import InputError
from faircrowd.votes.encode import encode
from faircrowd.votes.vocabulary import Codes, Vocabulary, as_objects

__all__ = ["Sample", "read_sample", "tally"]


@dataclass(frozen=True, eq=False)
class Sample:
    """Rows with a label and a group each.

    Attributes
    ----------
    classes, groups : Vocabulary
    label, group : ndarray of int32, shape (n_rows,)
    truth : ndarray of int32, shape (n_rows,), or None
        The true class, -1 where it is not known.
    weights : ndarray, shape (n_rows,), or None
    positive : int or None
        The class 1, if labels are binary: within {0, 1} or {-1, 1}, or any two of which one is 1.
    """

    classes: Vocabulary
    groups: Vocabulary
    label: Codes
    group: Codes
    truth: Codes | None
    weights: NDArray[np.float64] | None
    positive: int | None


def read_sample(
    y_pred: Any, sensitive_features: Any, *, y_true: Any = None, sample_weight: Any = None, truth_may_lack: bool = False
) -> Sample:
    """Read labels and groups and, if given, true labels and weights.

    Raises
    ------
    InputError
        If lengths differ, a label, a group or (unless it may lack) a truth is missing, or a group has no weight.
    """
    label, classes = read_labels(y_pred, "y_pred")
    group, groups = read_features(sensitive_features, "sensitive_features", label.size)
    truth = None
    if y_true is not None:
        truth, truths = read_labels(y_true, "y_true", may_lack=truth_may_lack)
        check_length(truth, "y_true", label.size)
        classes, place, true_place = _shared(classes, truths)
        label, truth = place[label], np.append(true_place, np.int32(-1))[truth]
    weights = read_weights(sample_weight, label.size)
    if weights is not None and not (held := np.bincount(group, weights=weights)).all():
        raise InputError(f"All rows of group {few(groups.some([int(held.argmin())]))} have weight 0; leave them out.")
    warn_of_order(y_pred, sensitive_features=sensitive_features, y_true=y_true, sample_weight=sample_weight)
    classes, positive = _positive(classes)
    return Sample(classes, groups, label, group, truth, weights, positive)


def tally(*parts: tuple[Codes, int], weights: NDArray[np.float64] | None = None) -> NDArray[np.float64]:
    """Return the weight of each combination of codes; a part is a pair (codes, number of different codes).

    Examples
    --------
    >>> import numpy as np
    >>> tally((np.array([0, 0, 1]), 2), (np.array([1, 1, 0]), 2))
    array([[0., 2.],
           [1., 0.]])
    """
    shape = [n for _, n in parts]
    size = math.prod(shape)
    check_memory(
        size, f"Counts of {' x '.join(f'{n:,}' for n in shape)} kinds", "check that these are labels and groups"
    )
    place = np.zeros(parts[0][0].size, dtype=np.int64)
    for codes, n in parts:
        place *= n
        place += codes
    return np.bincount(place, weights=weights, minlength=size).reshape(shape).astype(np.float64)


def _shared(labels: Vocabulary, truths: Vocabulary) -> tuple[Vocabulary, Codes, Codes]:
    """Return the classes that labels and truths have between them, and the place there of each of the two."""
    own, theirs = labels.to_list(), truths.to_list()
    # `code_of` takes "1" of a file and 1 of a frame for one class; a dict takes True and 1 for one, as numpy does.
    equal = {value: code for code, value in enumerate(own)}
    found = [
        equal.get(value, -1) if code < 0 else code
        for code, value in zip(labels.code_of(truths.values).tolist(), theirs, strict=True)
    ]
    new = [value for code, value in zip(found, theirs, strict=True) if code < 0]
    if not new:
        return labels, np.arange(len(own), dtype=np.int32), np.array(found, dtype=np.int32)
    place, classes = encode(as_objects([*own, *new]))
    added = iter(place[len(own) :])
    true_place = [place[code] if code >= 0 else next(added) for code in found]
    return classes, place[: len(own)], np.array(true_place, dtype=np.int32)


def _positive(classes: Vocabulary) -> tuple[Vocabulary, int | None]:
    """Find the class 1 of binary labels; it is added to labels that are all 0 or all -1."""
    values = classes.to_list()
    if len(values) == 1 and values[0] in (0, -1):
        return Vocabulary.of([values[0], type(values[0])(1)]), 1
    return classes, values.index(1) if len(values) <= 2 and 1 in values else None
