"""A rule in words: thresholds for two classes; for more, which labels are raised or lowered before one wins."""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from faircrowd._checks import few
from faircrowd.votes import Vocabulary

if TYPE_CHECKING:
    from faircrowd.fair.rule import FairRule

__all__ = [
    "NO_CHANGE",
    "added_by",
    "change_in_words",
    "changes_in_words",
    "rule_in_full",
    "rule_in_short",
    "threshold_text",
]

_NOTHING = 5e-5
"""What is added to a posterior is shown to four digits; less than this is nothing."""

_SMALL = 1e-3
"""Thresholds that are closer to 0 or 1 than this are shown by their distance: four digits would say that it is none."""

_NONE_LEFT = 1e-15
"""A distance that prices, which are near 1, cannot tell from none."""

NO_CHANGE = "no label raised or lowered"
"""What a group says whose labels are compared by their posteriors as they are."""


def rule_in_short(rule: "FairRule") -> str:
    """Return one sentence with the thresholds of two classes; for more, one on how labels win and a line per group."""
    thresholds = rule.thresholds
    if thresholds is None:
        first, said = _by_group(rule)
        return _lines(rule, first, said)
    groups, classes = _names(rule)
    texts = [
        f"group {name} needs a posterior above {threshold_text(t)}"
        for a, (name, t) in enumerate(zip(groups, thresholds, strict=True))
        if a not in rule.left_out
    ]
    return ", ".join(texts) + f" for label {classes[1]}"


def threshold_text(threshold: float) -> str:
    """Return a threshold of a posterior with as many digits as tell it from 0 and 1.

    Examples
    --------
    >>> [threshold_text(threshold) for threshold in (0.80042, 0.00000321, 0.99999987, -0.1, 1.2)]
    ['0.8004', '3.2e-06', '1 - 1.3e-07', '0 (all have it)', '1 (none has it)']
    """
    if threshold < _NONE_LEFT:
        return "0 (all have it)"
    if 1 - threshold < _NONE_LEFT:
        return "1 (none has it)"
    if threshold < _SMALL:
        return f"{threshold:.2g}"
    return f"1 - {1 - threshold:.2g}" if 1 - threshold < _SMALL else f"{threshold:.4f}"


def rule_in_full(rule: "FairRule") -> str:
    """Return one line on the rule, and one per group."""
    groups, classes = _names(rule)
    compared = [name for a, name in enumerate(groups) if a not in rule.left_out]
    first = f"fair rule, gap at most {rule.epsilon:g} between groups {few(compared)}"
    if rule.thresholds is not None:
        said = [
            f": {classes[1]} where its posterior is above {threshold_text(threshold)}" for threshold in rule.thresholds
        ]
    else:
        wins, said = _by_group(rule)
        first += f"; {wins}"
    return _lines(rule, first, said)


def _by_group(rule: "FairRule") -> tuple[str, list[str]]:
    """Return how a label of more than two wins, and what each group raises and lowers before."""
    _, classes = _names(rule)
    is_accuracy = np.array_equal(rule.gain_matrix, np.eye(len(classes))) and not rule.gain_offset.any()
    of = "posterior" if is_accuracy else "gain"
    if rule.in_turn is None:
        said = [f": {changes_in_words(classes, prices) or NO_CHANGE}" for prices in rule.prices]
        return f"the label with the highest {of} wins, after these changes:", said
    pairs = zip(rule.prices, rule.in_turn.rivals, strict=True)
    first = (
        f"labels are tried in turn, from {classes[-1]} to {classes[0]}, and one wins if its {of}, after these changes, "
        "is above those of the labels still to come, after their changes as rivals:"
    )
    return first, [f": {_changes_in_turn(classes, *pair)}" for pair in pairs]


def _lines(rule: "FairRule", first: str, said: list[str]) -> str:
    for a in rule.left_out:
        said[a] = ", left out of the gap: the label that gains the most"
    groups, _ = _names(rule)
    return "\n".join([first, *(f"  group {name}{words}" for name, words in zip(groups, said, strict=True))])


def _names(rule: "FairRule") -> tuple[list[str], list[str]]:
    """Return the names of groups and of classes."""
    return Vocabulary.of(list(rule.groups)).names, Vocabulary.of(list(rule.classes)).names


def changes_in_words(classes: list[str], prices: NDArray[np.float64], of: str = "") -> str:
    """Return which labels of a group are raised or lowered: what is added to their posterior (or gain).

    Only differences count, so as many labels as possible have nothing added; of several choices, the middle price. The
    text is empty if nothing is added; ``of`` follows every amount.
    """
    return _said(classes, added_by(prices), of)


def _changes_in_turn(classes: list[str], prices: NDArray[np.float64], rivals: NDArray[np.float64]) -> str:
    """Return what is added to the posteriors (or gains) of labels when they are tried, and when they are rivals.

    Only differences from the first label count, which is never tried: it is what is left. The last is never a rival.
    """
    own, others = rivals[0] - prices, rivals[0] - rivals
    own[0] = others[-1] = 0.0
    return f"{_said(classes, own) or NO_CHANGE}; as rivals, {_said(classes, others) or NO_CHANGE}"


def _said(classes: list[str], added: NDArray[np.float64], of: str = "") -> str:
    """Return which labels are raised and lowered, the strongest first."""
    order = np.argsort(-np.abs(added), kind="stable")
    return ", ".join(said for k in order if (said := change_in_words(classes[k], float(added[k]), of)))


def change_in_words(name: str, added: float, of: str = "") -> str:
    """Return what it is that a number is added to a label; empty if it is nothing.

    Examples
    --------
    >>> change_in_words("hire", -0.02, " times the posterior of hire")
    'label hire lowered by 0.0200 times the posterior of hire'
    >>> change_in_words("hire", 4e-10 - 1)
    'label hire lowered by almost 1: even some that the model is sure of change'
    """
    if abs(added) < _NOTHING:
        return ""
    by, rest = f"{abs(added):.4f}", 1 - abs(added)
    if 0 < rest < _NOTHING and not of:
        by = "almost 1: even some that the model is sure of change"
    return f"label {name} {'raised' if added > 0 else 'lowered'} by {by}{of}"


def added_by(prices: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return what prices add to each label: nothing for as many as possible."""
    added = -prices
    equal = (np.abs(added[:, None] - added) < _NOTHING).sum(axis=1)
    usual = np.sort(added[equal == equal.max()])
    return np.asarray(added - usual[(usual.size - 1) // 2])
