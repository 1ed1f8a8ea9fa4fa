"""The rule as SQL: one CASE expression that any warehouse can run."""

from collections import Counter
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from faircrowd._checks import few
from faircrowd.errors import InputError
from faircrowd.fair.in_turn import InTurn
from faircrowd.fair.solution import TieWeights
from faircrowd.votes.vocabulary import value_name

__all__ = ["case_expression"]


def case_expression(
    classes: Sequence[Any],
    groups: Sequence[Any],
    prices: NDArray[np.float64],
    gain_matrix: NDArray[np.float64],
    gain_offset: NDArray[np.float64],
    ties: TieWeights,
    *,
    widths: NDArray[np.float64],
    posterior: str,
    group: str,
    uniform: str | None,
    in_turn: InTurn | None = None,
    left_out: Collection[int] = (),
) -> str:
    """Return a CASE expression that gives the label; only comparisons and arithmetic are used.

    Parameters
    ----------
    widths : ndarray, shape (n_groups,)
        How near to each other the scores of a task of each group must be to be tied.
    posterior : str
        Names of the columns with the posterior, with ``{}`` for the class.
    group : str
        Name of the column with the group.
    uniform : str, optional
        Name of a column with one number in [0, 1) per task, to choose among tied classes; without it the likeliest
        is chosen.
    in_turn : InTurn, optional
        Of a rule that tries labels in turn.
    left_out : collection of int
        The codes of groups whose tasks get the label that gains the most.
    """
    for what, names in (("classes", classes), ("groups", groups)):
        _check_apart(what, names)
    columns = [f"CAST({identifier(posterior.format(value_name(name)))} AS DOUBLE)" for name in classes]
    n_classes = len(classes)

    def score(k: int, price: float) -> str:
        parts = [
            column if weight == 1 else f"{weight!r} * {column}"
            for column, weight in zip(columns, gain_matrix[:, k].tolist(), strict=True)
            if weight
        ]
        return f"({' + '.join(parts) or '0.0'} + ({float(gain_offset[k] - price)!r}))"

    arms = []
    for a, name in enumerate(groups):
        scores, tie = [score(k, prices[a, k]) for k in range(n_classes)], float(widths[a])
        if in_turn is not None and a not in left_out:
            rivals = [score(k, in_turn.rivals[a, k]) for k in range(n_classes)]
            inner = _tried_in_turn(classes, scores, rivals, in_turn.splits[a].tolist(), tie, uniform)
            arms.append(f"WHEN {identifier(group)} = {literal(name)} THEN CASE {' '.join(inner)} END")
            continue
        inner = []
        for (of, members), weights in sorted(ties.items()):
            if of != a:
                continue
            tests = [f"{scores[k]} >= {scores[j]} - {tie!r}" for k in members for j in range(n_classes) if j != k]
            outside = [k for k in range(n_classes) if k not in members]
            tests += [f"{scores[k]} < {scores[members[0]]} - {tie!r}" for k in outside]
            inner.append(f"WHEN {' AND '.join(tests)} THEN {_choice(classes, members, weights, uniform)}")
        for k in range(n_classes):
            rest = [f"{scores[k]} >= {scores[j]}" for j in range(n_classes) if j != k]
            inner.append(f"WHEN {' AND '.join(rest)} THEN {literal(classes[k])}")
        arms.append(f"WHEN {identifier(group)} = {literal(name)} THEN CASE {' '.join(inner)} END")
    return "CASE " + "\n     ".join(arms) + "\nEND"


def _tried_in_turn(
    classes: Sequence[Any],
    scores: Sequence[str],
    rivals: Sequence[str],
    splits: Sequence[float],
    tie: float,
    uniform: str | None,
) -> list[str]:
    """Return the arms of one group of a rule that tries labels in turn, from the last to the first."""
    inner = []
    for k in range(len(classes) - 1, 0, -1):
        leads = " AND ".join(f"{scores[k]} > {rivals[j]} + {tie!r}" for j in range(k))
        inner.append(f"WHEN {leads} THEN {literal(classes[k])}")
        is_tied = [f"{scores[k]} >= {rivals[j]} - {tie!r}" for j in range(k)]
        if uniform is not None:
            is_tied.append(f"{identifier(uniform)} >= {splits[k]!r}")
        if uniform is not None or splits[k] <= 0.5:
            inner.append(f"WHEN {' AND '.join(is_tied)} THEN {literal(classes[k])}")
    return [*inner, f"ELSE {literal(classes[0])}"]


def _check_apart(what: str, names: Sequence[Any]) -> None:
    """Raise if two names have the same text: 1 and '1' would share a column, and be the same label."""
    texts = [value_name(name) for name in names]
    count = Counter(texts)
    shared = [name for name, text in zip(names, texts, strict=True) if count[text] > 1]
    if shared:
        raise InputError(f"The {what} {few(shared)} have the same text, so SQL cannot tell them apart; rename one.")


def _choice(classes: Sequence[Any], members: tuple[int, ...], weights: tuple[float, ...], uniform: str | None) -> str:
    if uniform is None:
        return literal(classes[members[int(np.argmax(weights))]])
    steps = np.cumsum(weights)[:-1].tolist()
    arms = [
        f"WHEN {identifier(uniform)} < {step!r} THEN {literal(classes[k])}"
        for k, step in zip(members, steps, strict=False)
    ]
    return f"CASE {' '.join(arms)} ELSE {literal(classes[members[-1]])} END"


def identifier(name: str) -> str:
    """Quote the name of a column."""
    return '"' + name.replace('"', '""') + '"'


def literal(value: object) -> str:
    """Write a value: numbers as they are, anything else as text."""
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, int | float):
        return repr(value)
    return "'" + value_name(value).replace("'", "''") + "'"
