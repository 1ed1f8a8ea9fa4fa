"""The rule as SQL: one CASE expression that any warehouse can run."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from faircrowd._checks import few
from faircrowd.errors import InputError
from faircrowd.fair.solution import TieWeights
from faircrowd.fair.tasks.in_turn import InTurn
from faircrowd.votes.vocabulary import value_name

__all__ = ["SqlCell", "case_expression", "case_of_cells", "check_apart", "identifier", "literal", "own_label"]


class SqlCell(NamedTuple):
    """Tasks that are labelled by the same scores, such as those of one group.

    Attributes
    ----------
    where : str
        The condition for a task to be one of them.
    weights : ndarray, shape (n_classes, n_outcomes)
        How the score of each outcome depends on the posterior of each class.
    offset : ndarray, shape (n_outcomes,)
        What is added to it.
    ties : mapping
        From tied outcomes, as codes, to their probabilities: one row, or one per own label.
    widths : tuple of float
        How near to each other scores must be to be tied, for the first try, the second, ...
    rivals, splits : ndarray, shape (n_outcomes,), optional
        Of a rule that tries labels in turn: what is added to the scores of labels as rivals, and how ties are split.
    """

    where: str
    weights: NDArray[np.float64]
    offset: NDArray[np.float64]
    ties: Mapping[tuple[int, ...], Sequence[tuple[float, ...]]]
    widths: tuple[float, ...]
    rivals: NDArray[np.float64] | None = None
    splits: NDArray[np.float64] | None = None


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
    check_apart("groups", groups)
    cells = [
        SqlCell(
            f"{identifier(group)} = {literal(name)}",
            gain_matrix,
            gain_offset - prices[a],
            {members: [weights] for (of, members), weights in sorted(ties.items()) if of == a},
            (float(widths[a]),),
            *(() if in_turn is None or a in left_out else (gain_offset - in_turn.rivals[a], in_turn.splits[a])),
        )
        for a, name in enumerate(groups)
    ]
    return case_of_cells(classes, classes, cells, posterior=posterior, uniform=uniform)


def case_of_cells(
    classes: Sequence[Any],
    outcomes: Sequence[Any],
    cells: Sequence[SqlCell],
    *,
    posterior: str,
    uniform: str | None,
    own_within: float | None = None,
) -> str:
    """Return a CASE expression with one part per cell; tasks of none get NULL.

    Parameters
    ----------
    outcomes : sequence
        What is returned for each outcome: the classes, and perhaps one more.
    own_within : float, optional
        Among outcomes whose scores are this near to the best, and for whose tie a cell has no probabilities, the
        likeliest class wins, or the first. Without it, the best one does.
    """
    check_apart("classes", classes)
    columns = [_column(posterior, name) for name in classes]
    own = [own_label(classes, k, posterior) for k in range(len(classes))] if own_within is not None else []
    arms = []
    for cell in cells:
        scores = [_score(columns, cell.weights[:, k], cell.offset[k]) for k in range(len(outcomes))]
        if cell.rivals is not None and cell.splits is not None:
            rivals = [_score(columns, cell.weights[:, k], cell.rivals[k]) for k in range(len(outcomes))]
            inner = _tried_in_turn(classes, scores, rivals, cell.splits.tolist(), cell.widths[0], uniform)
            arms.append(f"WHEN {cell.where} THEN CASE {' '.join(inner)} END")
            continue
        inner = []
        for width in cell.widths:
            for members, by_own in cell.ties.items():
                test = _are_tied(scores, members, width)
                for k, weights in enumerate(by_own):
                    is_own = f"{own_label(classes, k, posterior)} AND " if len(by_own) > 1 else ""
                    inner.append(f"WHEN {is_own}{test} THEN {_choice(outcomes, members, weights, uniform)}")
        wins = [_beats(scores, k, own_within or 0.0) for k in range(len(outcomes))]
        inner += [f"WHEN {is_own} AND {wins[k]} THEN {literal(outcomes[k])}" for k, is_own in enumerate(own)]
        inner += [f"WHEN {test} THEN {literal(name)}" for test, name in zip(wins, outcomes, strict=True)]
        arms.append(f"WHEN {cell.where} THEN CASE {' '.join(inner)} END")
    return "CASE " + "\n     ".join(arms) + "\nEND"


def own_label(classes: Sequence[Any], k: int, posterior: str) -> str:
    """Return the condition for a class to be the likeliest; of several, the first is."""
    columns = [_column(posterior, name) for name in classes]
    return " AND ".join(f"{columns[k]} {'>' if j < k else '>='} {columns[j]}" for j in range(len(classes)) if j != k)


def _column(posterior: str, name: object) -> str:
    return f"CAST({identifier(posterior.format(value_name(name)))} AS DOUBLE)"


def _score(columns: Sequence[str], weights: NDArray[np.float64], offset: float) -> str:
    parts = [
        column if weight == 1 else f"{weight!r} * {column}"
        for column, weight in zip(columns, weights.tolist(), strict=True)
        if weight
    ]
    return f"({' + '.join(parts) or '0.0'} + ({float(offset)!r}))"


def _beats(scores: Sequence[str], k: int, within: float) -> str:
    """Return the condition for a score to be the highest, or nearly."""
    less = f" - {within!r}" if within else ""
    return " AND ".join(f"{scores[k]} >= {scores[j]}{less}" for j in range(len(scores)) if j != k)


def _are_tied(scores: Sequence[str], members: tuple[int, ...], width: float) -> str:
    """Return the condition for some scores, and no others, to be within a width of the highest."""
    tests = [_beats(scores, k, width) for k in members]
    for k in range(len(scores)):
        if k not in members:
            below = [f"{scores[k]} < {scores[j]} - {width!r}" for j in members]
            tests.append(below[0] if len(below) == 1 else f"({' OR '.join(below)})")
    return " AND ".join(tests)


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


def check_apart(what: str, names: Sequence[Any]) -> None:
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
