"""The rule of a list of constraints in words: which labels each constraint raises or lowers, where and by how much."""

from typing import TYPE_CHECKING

import numpy as np

from faircrowd.fair.rule_forms.rule_words import NO_CHANGE, change_in_words, changes_in_words
from faircrowd.votes.vocabulary import value_name

if TYPE_CHECKING:
    from faircrowd.fair.general.constrained_rule import ConstrainedRule
    from faircrowd.fair.rule_forms.price_table import PriceTable

__all__ = ["rule_in_words"]


def rule_in_words(rule: "ConstrainedRule") -> str:
    """Return what the rule was learned to keep, and what each constraint adds to labels, group by group."""
    is_accuracy = np.array_equal(rule.gain_matrix, np.eye(len(rule.classes))) and not rule.gain_offset.any()
    outcomes = [value_name(name) for name in rule.outcomes]
    lines = [
        f"fair rule for {', '.join(rule.constraints)}",
        f"the label with the highest {'posterior' if is_accuracy else 'gain'} wins, after these changes, which add up:",
    ]
    if rule.has_review:
        worth = "1" if is_accuracy else "the true label"
        lines.append(
            f"  {outcomes[-1]} (a person finds the label) counts as {worth}, and as each label by its posterior"
        )
    for table in rule.tables:
        said = [words for words in _by_group(table, outcomes) if words]
        lines.append(f"  {table.constraint}" + ("" if said else f": {NO_CHANGE}"))
        lines += [f"    {words}" for words in said]
    if rule.ties:
        lines.append("  tied labels are drawn with probabilities that keep the constraints")
    return "\n".join(lines)


def _by_group(table: "PriceTable", outcomes: list[str]) -> list[str]:
    """Return what a table adds to the labels of each group; empty for a group where it adds nothing."""
    found = []
    n_classes = table.prices.shape[1] - 1
    classes, review = outcomes[:n_classes], outcomes[n_classes:]
    for name, prices in zip(table.group_names(), table.prices, strict=True):
        parts = [changes_in_words(classes, prices[0, :n_classes])]
        parts += [
            changes_in_words(classes, prices[1 + y, :n_classes], f" times the posterior of {truth}")
            for y, truth in enumerate(classes)
        ]
        if review:  # what it costs beyond what the labels cost that it ends with
            ends = prices[0, :n_classes] + np.diag(prices[1:, :n_classes])
            beyond = np.append(prices[0, n_classes], prices[1:, n_classes] - ends)
            of = ["", *(f" times the posterior of {truth}" for truth in classes)]
            parts += [change_in_words(review[0], -price, of[y]) for y, price in enumerate(beyond)]
        said = ", ".join(part for part in parts if part)
        found.append(f"{name}: {said}" if said else "")
    return found
