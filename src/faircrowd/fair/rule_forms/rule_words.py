"""A rule in words: thresholds for two classes, what each group favours for more, and in which turn labels are tried."""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from faircrowd._checks import few
from faircrowd.votes import Vocabulary

if TYPE_CHECKING:
    from faircrowd.fair.rule import FairRule

__all__ = ["added_by", "favour", "favours", "rule_in_full", "rule_in_short"]

_NO_FAVOUR = 5e-5
"""What is added to a posterior is shown to four digits; less than this is nothing."""

_NONE = "favours no label"


def rule_in_short(rule: "FairRule") -> str:
    """Return one sentence with the thresholds of two classes; for more classes, the rule in full."""
    thresholds = rule.thresholds
    if thresholds is None:
        return rule_in_full(rule)
    groups, classes = _names(rule)
    texts = [
        f"group {name} needs a posterior above {t:.4f}"
        for a, (name, t) in enumerate(zip(groups, thresholds, strict=True))
        if a not in rule.left_out
    ]
    return ", ".join(texts) + f" for label {classes[1]}"


def rule_in_full(rule: "FairRule") -> str:
    """Return one line on the rule, and one per group."""
    groups, classes = _names(rule)
    compared = [name for a, name in enumerate(groups) if a not in rule.left_out]
    first = f"fair rule, gap at most {rule.epsilon:g} between groups {few(compared)}"
    if rule.thresholds is not None:
        said = [f": {classes[1]} where its posterior is above {threshold:.4f}" for threshold in rule.thresholds]
    else:
        is_accuracy = np.array_equal(rule.gain_matrix, np.eye(len(classes))) and not rule.gain_offset.any()
        of = "posterior" if is_accuracy else "gain"
        if rule.in_turn is None:
            first += f"; the label with the highest {of} wins, after favours"
            said = [f": {favours(classes, prices) or _NONE}" for prices in rule.prices]
        else:
            first += (
                f"; labels are tried in turn, from {classes[-1]} to {classes[0]}, and one wins if its {of}, after "
                "favours, is above those of the labels still to come, after their favours as rivals"
            )
            pairs = zip(rule.prices, rule.in_turn.rivals, strict=True)
            said = [f": {_favours_in_turn(classes, *pair)}" for pair in pairs]
    for a in rule.left_out:
        said[a] = ", left out of the gap: the label that gains the most"
    return "\n".join([first, *(f"  group {name}{words}" for name, words in zip(groups, said, strict=True))])


def _names(rule: "FairRule") -> tuple[list[str], list[str]]:
    """Return the names of groups and of classes."""
    return Vocabulary.of(list(rule.groups)).names, Vocabulary.of(list(rule.classes)).names


def favours(classes: list[str], prices: NDArray[np.float64], of: str = "") -> str:
    """Return which labels of a group are favoured, and by how much: what is added to their posterior (or gain).

    Only differences count, so as many labels as possible have nothing added; of several choices, the middle price. The
    text is empty if no label is favoured; ``of`` follows every amount.
    """
    return _said(classes, added_by(prices), of)


def _favours_in_turn(classes: list[str], prices: NDArray[np.float64], rivals: NDArray[np.float64]) -> str:
    """Return what is added to the posteriors (or gains) of labels when they are tried, and when they are rivals.

    Only differences from the first label count, which is never tried: it is what is left. The last is never a rival.
    """
    own, others = rivals[0] - prices, rivals[0] - rivals
    own[0] = others[-1] = 0.0
    return f"{_said(classes, own) or _NONE}; as rivals, {_said(classes, others) or _NONE}"


def _said(classes: list[str], added: NDArray[np.float64], of: str = "") -> str:
    """Return which labels are favoured and which are not, the strongest first."""
    order = np.argsort(-np.abs(added), kind="stable")
    return ", ".join(said for k in order if (said := favour(classes[k], float(added[k]), of)))


def favour(name: str, added: float, of: str = "") -> str:
    """Return what it is that a number is added to a label; empty if it is nothing.

    Examples
    --------
    >>> favour("hire", -0.02, " times the posterior of hire")
    'disfavours hire by 0.0200 times the posterior of hire'
    """
    if abs(added) < _NO_FAVOUR:
        return ""
    return f"{'favours' if added > 0 else 'disfavours'} {name} by {abs(added):.4f}{of}"


def added_by(prices: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return what prices add to each label: nothing for as many as possible."""
    added = -prices
    equal = (np.abs(added[:, None] - added) < _NO_FAVOUR).sum(axis=1)
    usual = np.sort(added[equal == equal.max()])
    return np.asarray(added - usual[(usual.size - 1) // 2])
