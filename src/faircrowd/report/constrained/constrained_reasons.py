"""The reason for the label of each task under a list of constraints: which constraint moved it, and by how much."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from faircrowd.fair.general.constrained_rule import ConstrainedRule
from faircrowd.fair.general.constrained_solve import outcome_names
from faircrowd.fair.rule_forms.price_table import PriceTable, TaskGroups, priced
from faircrowd.fair.tasks.group_columns import GroupColumns
from faircrowd.fair.tasks.problem import Problem
from faircrowd.report.tables import value_column
from faircrowd.votes import Vocabulary
from faircrowd.votes.groups import Grouped
from faircrowd.votes.vocabulary import Codes

__all__ = ["constrained_columns", "reasons_of"]

_NO_EFFECT = 1e-9
_ROUNDED = ", tied and rounded"


def constrained_columns(
    rule: ConstrainedRule, problem: Problem, columns: GroupColumns, outcomes: Codes, *, is_drawn: bool
) -> Callable[[slice], dict[str, Any]]:
    """Return what gives further columns of labels.csv for a slice of the tasks: groups, the reason, and reviews.

    Of several sensitive columns each has its groups, as ``group_`` and its name; one that is known by probabilities has
    none. Under a review budget, also the label: a task that is sent to a person has none yet, and "review" instead.

    Parameters
    ----------
    outcomes : ndarray of int32
        The outcome of each task, coded as in the problem.
    is_drawn : bool
        Whether tied outcomes were drawn, rather than rounded to whole tasks.
    """
    why = reasons_of(rule, problem, columns, outcomes, is_drawn=is_drawn)
    names = pa.array(outcome_names(problem.classes.names), type=pa.string())
    grouped = {name: of for name, of in columns.items() if isinstance(of, Grouped)} if len(columns) > 1 else {}

    def found(rows: slice) -> dict[str, Any]:
        groups = {f"group_{name}": _groups(of, rows) for name, of in grouped.items()}
        reason: dict[str, Any] = {**groups, "why": pa.array(why[rows].tolist(), type=pa.string())}
        if not rule.has_review:
            return reason
        label = names.take(pa.array(outcomes[rows]))
        return {"label": label, "review": pa.array(outcomes[rows] == problem.n_classes), **reason}

    return found


def _groups(grouped: Grouped, rows: slice) -> Any:
    """Return the groups of some tasks; null where there is none."""
    codes = grouped.group[rows]
    return value_column(grouped.groups).take(pa.array(codes, mask=codes < 0))


def reasons_of(
    rule: ConstrainedRule, problem: Problem, columns: GroupColumns, outcomes: Codes, *, is_drawn: bool
) -> NDArray[np.object_]:
    """Return the reason for each label: the constraints whose prices moved it."""
    posterior, own, groups = rule.coded(problem, columns)
    chosen = rule.from_order_of(problem, outcomes)
    names = [*Vocabulary.of(list(rule.classes)).names, *map(str, rule.outcomes[len(rule.classes) :])]
    why = np.full(chosen.size, "kept: the label with the highest score", dtype=object)
    strange = groups.is_unknown
    why[strange] = "kept: the rule does not know its group"
    chances = rule.probabilities(posterior, groups.or_first(), own)
    chance = np.where(strange, 1.0, chances[np.arange(chosen.size), chosen])
    for i in np.flatnonzero((chosen == own) & (chance < 1)).tolist():
        drawn = is_drawn and chance[i] > 0
        why[i] = f"kept {_drawn(chance[i])}" if drawn else "kept: tied with another label, and rounded"
    moved = np.flatnonzero((chosen != own) & ~strange)
    effects = np.stack(
        [
            _effect(table, posterior, TaskGroups(codes[:, None], (shares,)), own, chosen, moved)
            for table, codes, shares in zip(rule.tables, groups.codes.T, groups.chances, strict=True)
        ],
        axis=1,
    )
    gains = posterior[moved] @ rule.gain_matrix + rule.gain_offset
    group_names = [table.group_names() for table in rule.tables]
    for n, i in enumerate(moved.tolist()):
        before, after = names[own[i]], names[chosen[i]]
        how = "" if chance[i] >= 1 else f" {_drawn(chance[i])}" if is_drawn and chance[i] > 0 else _ROUNDED
        order = np.argsort(-effects[n], kind="stable").tolist()
        words = [_moves(rule.tables[t], group_names[t][groups.codes[i, t]], after, float(effects[n, t])) for t in order]
        said = [" and ".join(words[r] for r, t in enumerate(order) if effects[n, t] > _NO_EFFECT)]
        said += [", ".join(words[r] for r, t in enumerate(order) if effects[n, t] < -_NO_EFFECT)] if said[0] else []
        told = ", although ".join(filter(None, said))
        if chosen[i] == len(rule.classes):
            why[i] = f"sent to a person{how}: {before} has a posterior of {posterior[i, own[i]]:.3g}"
        elif told or how:
            why[i] = f"changed from {before} to {after}{how}{': ' if told else ''}{told}"
        elif gains[n, chosen[i]] > gains[n, own[i]] + _NO_EFFECT:
            why[i] = f"changed from {before} to {after}, which gains more under the objective"
        else:
            why[i] = f"changed from {before} to {after}: tied or nearly so, and chosen to keep the constraints"
    return why


def _drawn(chance: float) -> str:
    return f"by a draw with probability {chance:.4g}"


def _effect(
    table: PriceTable,
    posterior: NDArray[np.float64],
    groups: TaskGroups,
    own: Codes,
    chosen: Codes,
    rows: NDArray[np.int64],
) -> NDArray[np.float64]:
    """Return by how much a constraint raises the outcome of some tasks over their own label."""
    some, each = groups.some(rows), np.arange(rows.size)
    prices = priced(table, posterior[rows], some.codes[:, 0], some.chances[0])
    return np.asarray(prices[each, own[rows]] - prices[each, chosen[rows]])


def _moves(table: PriceTable, group: str, label: str, effect: float) -> str:
    where = "" if table.by_own_label or not table.columns else f" for {group}"
    if table.uncertain:
        where = f" by the probabilities of {table.uncertain}"
    return f"{table.constraint} {'raises' if effect > 0 else 'lowers'} {label} by {abs(effect):.3g}{where}"
